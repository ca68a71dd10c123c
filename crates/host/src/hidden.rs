//! Hidden gates on this machine: read from the user's own settings when a run begins, and again before they run. The run's
//! folder has only their number and a hash. What they print is stored beside the folder of runs, in one of its own, of
//! which no agent is given the path. An agent of the same user that searches the disk can still find both.
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use loop_core::ids::RunId;
use loop_core::policy::outside::named_outside;
use loop_core::run::HiddenGates;
use loop_core::settings::{GateSpec, HiddenSettings, text_of_gates};
use loop_core::text::escaped;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::fs::hex;
use crate::paths::{from_home, user_home};
use crate::run_folder::RunFolder;
use crate::settings_files::{self, FilesError};

/// So many files that hidden gates name are compared. Those of more bytes, and those beyond all bytes, only by their size
/// and times.
const FILES_MAX: usize = 20_000;
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;
const ALL_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// What tools write beside tests, and version control.
const NOT_COMPARED: &[&str] = &[
    "__pycache__",
    ".git",
    ".hg",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".hypothesis",
    ".coverage",
    ".cache",
    ".tox",
    ".nox",
    ".nyc_output",
    ".gradle",
    ".DS_Store",
];
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

/// What a run records of its hidden gates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HiddenRecord {
    /// The gates.
    pub gates: HiddenGates,
    /// What a person should know about the files that they name.
    pub note: Option<String>,
}

/// What a run records of its hidden gates; none where it has none.
#[must_use]
pub fn record_of(gates: &[GateSpec], workspace: &Path, run: &RunId) -> Option<HiddenRecord> {
    let first = gates.first()?;
    let tries = gates.iter().map(|gate| gate.needs().tries).fold(0, u32::saturating_add);
    let timeout_ms = gates.iter().map(|gate| gate.timeout_ms).fold(first.timeout_ms, Option::max);
    let count = u32::try_from(gates.len()).unwrap_or(u32::MAX);
    let HiddenHash { hash, is_cut } = hash_of(gates, workspace, run);
    let text = format!(
        "note: the hidden gates name folders with more than {FILES_MAX} files; a change of the files beyond that number is \
         not noticed"
    );
    Some(HiddenRecord { gates: HiddenGates { count, sha256: hash, tries, timeout_ms }, note: is_cut.then_some(text) })
}

/// The hash of hidden gates and of their files.
struct HiddenHash {
    hash: String,
    /// There are more files than are in it.
    is_cut: bool,
}

/// A hash of the gates, and of the files outside of the workspace that their commands name.
fn hash_of(gates: &[GateSpec], workspace: &Path, run: &RunId) -> HiddenHash {
    let home = user_home().map(|home| home.to_string_lossy().into_owned());
    let mut hash = Sha256::new();
    hash.update(format!("{run}\n{}", text_of_gates(gates)));
    let here = workspace.to_string_lossy();
    let mut files = HashedFiles { left: FILES_MAX, bytes_left: ALL_BYTES_MAX, is_cut: false };
    for path in gates.iter().flat_map(|gate| named_outside(&gate.command, &here, home.as_deref())) {
        if !OF_THE_SYSTEM.iter().any(|folder| path.starts_with(folder)) {
            files.add(Path::new(&path), &mut hash);
        }
    }
    HiddenHash { hash: hex(&hash.finalize()), is_cut: files.is_cut }
}

/// How much more is compared.
struct HashedFiles {
    left: usize,
    bytes_left: u64,
    is_cut: bool,
}

impl HashedFiles {
    /// Adds a file, or the files of a folder. What test runners write beside tests is left out.
    fn add(&mut self, path: &Path, hash: &mut Sha256) {
        if self.left == 0 {
            self.is_cut = true;
            return;
        }
        self.left -= 1;
        hash.update(format!("\n{}\n", path.display()));
        if path.is_dir() {
            let entries = fs::read_dir(path).into_iter().flatten().flatten();
            let is_compared = |name: &str| !NOT_COMPARED.contains(&name) && !name.ends_with(".pyc");
            let entries = entries.filter(|entry| is_compared(&entry.file_name().to_string_lossy()));
            let mut inside: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
            inside.sort_unstable();
            inside.iter().for_each(|path| self.add(path, hash));
            return;
        }
        let Ok(found) = fs::metadata(path) else { return };
        let bytes_left = self.bytes_left.checked_sub(found.len()).filter(|_| found.len() <= FILE_BYTES_MAX);
        match bytes_left.filter(|_| found.is_file()) {
            Some(left) => {
                self.bytes_left = left;
                hash.update(fs::read(path).unwrap_or_default());
            }
            None => hash.update(format!("{} {} {}", found.len(), found.mtime(), found.mtime_nsec())),
        }
    }
}

/// The hidden gates of a run, as the settings have them now.
///
/// # Errors
/// Why they cannot be run: the settings cannot be read, or have other gates than the run.
pub fn known_gates(config: &Path, workspace: &Path, known: &HiddenGates, run: &RunId) -> Result<Vec<GateSpec>, String> {
    let gates = hidden_gates(config, workspace).map_err(|error| format!("your settings cannot be read: {error}"))?;
    if hash_of(&gates, workspace, run).hash != known.sha256 {
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
