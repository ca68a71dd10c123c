//! What a run keeps of outputs is bounded: past the bound the oldest go, and that is said once.
use std::fs;
use std::path::{Path, PathBuf};

use crate::runs::{RunFolder, bytes_of};

/// The most that the outputs of one run may take together.
pub(crate) const RUN_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// The newest iterations keep theirs whatever they take: the next prompt quotes them.
const ITERATIONS_SPARED: usize = 2;

/// Keeps count of what a run's outputs take.
#[derive(Debug)]
pub(crate) struct Retention {
    bytes: u64,
    most: u64,
    told: bool,
}

impl Retention {
    pub(crate) fn new(run: &RunFolder) -> Self {
        Self { bytes: bytes_of(&run.path.join("iterations")), most: RUN_BYTES_MAX, told: false }
    }

    /// Something was written. Past the bound the oldest outputs go; what comes back is to be said.
    pub(crate) fn add(&mut self, bytes: u64, run: &RunFolder) -> Option<String> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes <= self.most {
            return None;
        }
        self.bytes = thin(&run.path.join("iterations"), self.most / 10 * 9);
        let first = !std::mem::replace(&mut self.told, true);
        first.then(|| {
            format!("the outputs of this loop reached {} MiB: from now on the oldest are removed", self.most >> 20)
        })
    }
}

/// Removes the outputs of the oldest iterations until the rest takes less than this. Prompts stay.
pub fn thin(iterations: &Path, most: u64) -> u64 {
    let mut bytes = bytes_of(iterations);
    let mut folders: Vec<PathBuf> =
        fs::read_dir(iterations).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    folders.sort();
    folders.truncate(folders.len().saturating_sub(ITERATIONS_SPARED));
    for folder in folders {
        if bytes <= most {
            break;
        }
        let before = bytes_of(&folder);
        for stream in streams(&folder) {
            // What cannot be removed now is tried again with the next output.
            fs::remove_dir_all(stream).ok();
        }
        bytes = bytes.saturating_sub(before.saturating_sub(bytes_of(&folder)));
    }
    bytes
}

/// The folders that hold outputs: of attempts, and of gates.
fn streams(iteration: &Path) -> Vec<PathBuf> {
    let inside =
        |path: &Path| fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path()).collect::<Vec<_>>();
    let owners =
        inside(iteration).into_iter().flat_map(|path| if path.ends_with("gates") { inside(&path) } else { vec![path] });
    owners.flat_map(|path| [path.join("stdout"), path.join("stderr")]).filter(|path| path.is_dir()).collect()
}
