//! Hidden gates on this machine: read from the user's own settings when a run begins, and again before they run. The run's
//! folder has only their number and a hash. What they print is stored beside the folder of runs, in one of its own, of
//! which no agent is given the path. An agent of the same user that searches the disk can still find both.
use std::fs;
use std::path::{Path, PathBuf};

use loop_core::ids::RunId;
use loop_core::policy::protect::absolute_paths_in;
use loop_core::run::HiddenGates;
use loop_core::settings::{GateSpec, HiddenSettings, text_of_gates};
use loop_core::text::escaped;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::fs::hex;
use crate::paths::{from_home, user_home};
use crate::run_folder::RunFolder;
use crate::settings_files::{self, FilesError};

/// So many files that hidden gates name are hashed, each of at most so many bytes.
const FILES_MAX: usize = 1000;
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// What the system has there is not of the hidden gates.
const OF_THE_SYSTEM: &[&str] = &["/usr/", "/bin/", "/sbin/", "/lib", "/dev/", "/proc/", "/sys/"];

/// What each said, beside the outputs.
const RESULTS: &str = "results.json";

/// The hidden gates of runs in this workspace, in the order in which they run.
///
/// # Errors
/// The first thing that is wrong with the settings.
pub fn hidden_gates(config: &Path, workspace: &Path) -> Result<Vec<GateSpec>, FilesError> {
    let HiddenSettings { gates, .. } = settings_files::hidden(config)?;
    let here = workspace.canonicalize().unwrap_or_else(|_| workspace.to_owned());
    let is_for = |folder: &String| from_home(folder).canonicalize().is_ok_and(|folder| here.starts_with(folder));
    let mut gates: Vec<GateSpec> = gates
        .into_iter()
        .filter(|hidden| hidden.workspace.as_ref().is_none_or(is_for))
        .map(|hidden| hidden.gate)
        .collect();
    gates.sort_by(|one, other| (one.order, &one.name).cmp(&(other.order, &other.name)));
    Ok(gates)
}

/// What is said of hidden gates that run nowhere, because the folder that they are for does not exist. Their names are not
/// in it: an agent may read this.
///
/// # Errors
/// The first thing that is wrong with the settings.
pub fn warnings(config: &Path) -> Result<Vec<String>, FilesError> {
    let HiddenSettings { gates, .. } = settings_files::hidden(config)?;
    let folders = gates.into_iter().filter_map(|hidden| hidden.workspace);
    let missing = folders.filter(|folder| !from_home(folder).is_dir());
    let warning = |folder: String| {
        let folder = escaped(&folder);
        format!("warning: a hidden gate of your settings runs in no workspace: {folder} does not exist")
    };
    Ok(missing.map(warning).collect())
}

/// What a run records of its hidden gates; none where it has none.
#[must_use]
pub fn record_of(gates: &[GateSpec], workspace: &Path, run: &RunId) -> Option<HiddenGates> {
    let first = gates.first()?;
    let tries = gates.iter().map(|gate| gate.needs().tries).fold(0, u32::saturating_add);
    let timeout_ms = gates.iter().map(|gate| gate.timeout_ms).fold(first.timeout_ms, Option::max);
    let count = u32::try_from(gates.len()).unwrap_or(u32::MAX);
    Some(HiddenGates { count, sha256: hash_of(gates, workspace, run), tries, timeout_ms })
}

/// A hash of the gates, and of the files outside of the workspace that their commands name.
fn hash_of(gates: &[GateSpec], workspace: &Path, run: &RunId) -> String {
    let home = user_home().map(|home| home.to_string_lossy().into_owned()).unwrap_or_default();
    let mut hash = Sha256::new();
    hash.update(format!("{run}\n{}", text_of_gates(gates)));
    let mut left = FILES_MAX;
    for path in gates.iter().flat_map(|gate| absolute_paths_in(&gate.command, &home)) {
        let is_of_system = OF_THE_SYSTEM.iter().any(|folder| path.starts_with(folder));
        let path = Path::new(&path);
        if !is_of_system && !path.starts_with(workspace) {
            add_file(path, &mut hash, &mut left);
        }
    }
    hex(&hash.finalize())
}

/// Adds a file, or the files of a folder. What test runners write beside tests is left out.
fn add_file(path: &Path, hash: &mut Sha256, left: &mut usize) {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if *left == 0 || name.starts_with('.') || name == "__pycache__" || name.ends_with(".pyc") {
        return;
    }
    *left -= 1;
    hash.update(format!("\n{}\n", path.display()));
    if path.is_dir() {
        let mut inside: Vec<PathBuf> =
            fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        inside.sort_unstable();
        inside.iter().for_each(|path| add_file(path, hash, left));
    } else if fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() <= FILE_BYTES_MAX) {
        hash.update(fs::read(path).unwrap_or_default());
    }
}

/// The hidden gates of a run, as the settings have them now.
///
/// # Errors
/// Why they cannot be run: the settings cannot be read, or have other gates than the run.
pub fn known_gates(config: &Path, workspace: &Path, known: &HiddenGates, run: &RunId) -> Result<Vec<GateSpec>, String> {
    let gates = hidden_gates(config, workspace).map_err(|error| format!("your settings cannot be read: {error}"))?;
    if hash_of(&gates, workspace, run) != known.sha256 {
        let what = "the hidden gates in your settings, or files that they name, changed since the loop was started";
        return Err(what.to_owned());
    }
    Ok(gates)
}

/// What one hidden gate said. It is stored beside its output, never in the folder of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HiddenResult {
    /// Its name.
    pub name: String,
    /// Whether it passed.
    pub passed: bool,
    /// How it ended, in words.
    pub ended: String,
    /// The folder of its output.
    pub output: PathBuf,
}

/// What the hidden gates of a run said last; none where none ran.
#[must_use]
pub fn newest_results(run: &RunFolder) -> Option<Vec<HiddenResult>> {
    serde_json::from_slice(&fs::read(run.hidden().join(RESULTS)).ok()?).ok()
}

/// Makes the folder empty for another round: only the newest round stays.
pub(crate) fn empty_folder(run: &RunFolder) -> std::io::Result<PathBuf> {
    use std::os::unix::fs::DirBuilderExt;
    let folder = run.hidden();
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        Err(_) | Ok(()) => {}
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
    Ok(folder)
}

/// Stores what they said.
pub(crate) fn store_results(run: &RunFolder, results: &[HiddenResult]) -> std::io::Result<()> {
    crate::paths::write_whole(&run.hidden().join(RESULTS), &serde_json::to_string(results)?)
}
