//! A copy of the workspace as it is now, for checks. It is removed with this.
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use loop_core::settings::Values;

use crate::checkpoint::user_git::GitUser;
use crate::checkpoint::{CheckpointContext, Recorded, RunCheckpoints, open_folder};
use crate::fs::fresh_id;
use crate::workspace::copy::{self, Copies, CopyExtras, CopyRequest};

/// The name of its one checkpoint.
const NAME: &str = "now";

#[derive(Debug)]
pub(super) struct CheckCopy {
    /// The files.
    pub(super) tree: PathBuf,
    /// A folder beside them, for outputs.
    pub(super) room: PathBuf,
    copies: Option<Copies>,
}

impl CheckCopy {
    /// Copies a workspace, with ignored files and the repository: checks need what is installed.
    pub(super) fn make(copies: &Path, workspace: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(copies)?;
        copy::sweep(copies)?;
        let own = Copies::open(copies, &format!("check-{}", fresh_id()?))?;
        let room = own.room();
        let made = Self { tree: room.join("tree"), room, copies: Some(own) };
        let context = CheckpointContext {
            run: "check".to_owned(),
            store: made.room.join("checkpoints/check"),
            workspace: workspace.to_owned(),
            settings: Values::default().checkpoint,
            backend: "git".to_owned(),
            litter: Vec::new(),
            user: GitUser::of_environment(),
        };
        let mut checkpoints = RunCheckpoints::open(context.clone(), Arc::new(AtomicBool::new(false)))?;
        checkpoints.take(NAME, None).map_err(|error| io::Error::other(error.to_string()))?;
        let recorded = Recorded::open(&context, NAME)?;
        std::fs::create_dir(&made.tree)?;
        let (from, to) = (open_folder(workspace)?, open_folder(&made.tree)?);
        let along = CopyExtras { workspace: &from, now: &recorded.checkpoint, ignored: true, git: true };
        let request = CopyRequest { checkpoint: &recorded.checkpoint, source: recorded.source(), key: NAME, along };
        copy::put(&request, &to)?;
        copy::copy_extras(&request, &to)?;
        Ok(made)
    }
}

impl Drop for CheckCopy {
    fn drop(&mut self) {
        // What stays is removed by the next sweep.
        self.copies.take().map(Copies::remove_all);
    }
}
