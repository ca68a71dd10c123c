//! Hidden gates on this machine: read from the user's own settings when a run begins, and again before they run. The run's
//! folder has only their number and a hash. What they print is stored beside the folder of runs, in one of its own, of
//! which no agent is given the path. An agent of the same user that searches the disk can still find both.
use std::fs;
use std::path::{Path, PathBuf};

use loop_core::ids::RunId;
use loop_core::run::HiddenGates;
use loop_core::settings::{GateSpec, HiddenSettings, text_of_gates};
use loop_core::text::escaped;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::fs::hex;
use crate::paths::from_home;
use crate::run_folder::RunFolder;
use crate::settings_files::{self, FilesError};

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
pub fn record_of(gates: &[GateSpec], run: &RunId) -> Option<HiddenGates> {
    let first = gates.first()?;
    let tries = gates.iter().map(|gate| gate.needs().tries).fold(0, u32::saturating_add);
    let timeout_ms = gates.iter().map(|gate| gate.timeout_ms).fold(first.timeout_ms, Option::max);
    let count = u32::try_from(gates.len()).unwrap_or(u32::MAX);
    Some(HiddenGates { count, sha256: hash_of(gates, run), tries, timeout_ms })
}

fn hash_of(gates: &[GateSpec], run: &RunId) -> String {
    hex(&Sha256::digest(format!("{run}\n{}", text_of_gates(gates)).as_bytes()))
}

/// The hidden gates of a run, as the settings have them now.
///
/// # Errors
/// Why they cannot be run: the settings cannot be read, or have other gates than the run.
pub fn known_gates(config: &Path, workspace: &Path, known: &HiddenGates, run: &RunId) -> Result<Vec<GateSpec>, String> {
    let gates = hidden_gates(config, workspace).map_err(|error| format!("your settings cannot be read: {error}"))?;
    if hash_of(&gates, run) != known.sha256 {
        return Err("the hidden gates in your settings changed since the loop was started".to_owned());
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
