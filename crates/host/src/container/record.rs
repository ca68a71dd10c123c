//! What the next command must know to clean up what a killed harness left in a container: a small file in the run's
//! folder.
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::engine::Engine;
use super::mark::{Gone, Mark};
use super::own::remove_of_run;
use super::watcher::{Ending, end};

const FILE: &str = "container.json";
/// After a crash the agent gets only a short time to save its work.
const AFTER_A_CRASH: Ending = Ending { gentle: "TERM", grace: Duration::from_secs(2), most: Duration::from_secs(15) };

/// Where the agents of a run are started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContainerRecord {
    /// The engine's socket.
    pub socket: PathBuf,
    /// The container's id.
    pub container: String,
    /// The run, which is what they are marked with.
    pub run: String,
    /// Where the workspace is inside.
    #[serde(default)]
    pub workdir: String,
    /// Whether the container is the run's own, and goes with it.
    pub own: bool,
}

impl ContainerRecord {
    /// Writes it down, whole or not at all, before the first agent is started.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        let (path, beside) = (folder.join(FILE), folder.join(".container.json"));
        let mut file = File::options().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        file.sync_data()?;
        fs::rename(beside, path)
    }

    /// The folder inside for what an agent is to read. Each attempt writes over that of the one before.
    #[must_use]
    pub fn files(&self) -> String {
        format!("/loop-files/{}", self.run)
    }

    /// The record in a run's folder; none if its agents are in no container.
    #[must_use]
    pub fn read(folder: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(folder.join(FILE)).ok()?).ok()
    }

    /// Ends whatever is left of the run in its container.
    #[must_use]
    pub fn clean(&self) -> Gone {
        clean(&self.socket, &self.container, &self.run)
    }

    /// The run is over: a container of its own goes, and so does the file.
    ///
    /// # Errors
    /// When the container could not be removed.
    pub fn remove(&self, folder: &Path) -> Result<(), super::EngineError> {
        if self.own {
            remove_of_run(&self.socket, &self.run)?;
        }
        fs::remove_file(folder.join(FILE)).ok();
        Ok(())
    }
}

/// Ends whatever a run left in a container. A container that is gone or stopped has nothing of it.
#[must_use]
pub fn clean(socket: &Path, container: &str, run: &str) -> Gone {
    end(&Engine::at(socket), container, &Mark::of(run), None, AFTER_A_CRASH)
}
