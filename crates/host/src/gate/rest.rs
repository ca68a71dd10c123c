//! The files that a gate uses beyond those that a fact can hold: a list in the folder of the run, which the journal names by
//! its hash. They are not protected; a change of one is a finding.
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use loop_core::run::RunState;
use sha2::{Digest, Sha256};

use crate::fs::hashed::{HashedFile, read_hashed, write_hashed};
use crate::fs::hex;

/// How the file in the folder of a run begins.
const FILE: &str = "gate-files-";
/// So much of the hash is in its name.
const HASH_IN_NAME: usize = 16;
/// A longer list was not written here.
const BYTES_MAX: u64 = 64 * 1024 * 1024;

fn name_of(hash: &str) -> String {
    format!("{FILE}{}", hash.get(..HASH_IN_NAME).unwrap_or(hash))
}

/// Writes the list. Its hash; none where it is empty.
pub(super) fn write(run: &Path, paths: &[String]) -> io::Result<Option<String>> {
    if paths.is_empty() {
        return Ok(None);
    }
    let text = serde_json::to_vec(paths)?;
    let hash = hex(&Sha256::digest(&text));
    write_hashed(run, ".gate-files-new", &name_of(&hash), &text)?;
    Ok(Some(hash))
}

/// The files of all gates of a run.
///
/// # Errors
/// The list that is missing, or is not the one that was written.
pub(super) fn read(run: &Path, state: &RunState) -> Result<BTreeSet<String>, PathBuf> {
    let mut all = BTreeSet::new();
    for hash in state.gates.iter().filter_map(|gate| gate.first_rest()) {
        let path = run.join(name_of(hash));
        let HashedFile::Same(text) = read_hashed(&path, hash, BYTES_MAX) else { return Err(path) };
        let paths: Vec<String> = serde_json::from_slice(&text).map_err(|_| path)?;
        all.extend(paths);
    }
    Ok(all)
}
