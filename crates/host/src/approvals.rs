//! Which project files the user has approved: by path and by content, stored outside any workspace.
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::fs::hex;
use crate::paths::write_whole;
use crate::settings_files::ProjectFile;

const FILE: &str = "approvals";
/// So many are remembered; the oldest are asked for again.
const APPROVALS_MAX: usize = 1000;

/// Whether this very text was approved for this very workspace.
#[must_use]
pub fn is_approved(state: &Path, workspace: &Path, text: &str) -> bool {
    let wanted = name_of(workspace, text);
    fs::read_to_string(state.join(FILE)).is_ok_and(|known| known.lines().any(|line| line == wanted))
}

/// Remembers that it is.
///
/// # Errors
/// When that cannot be written.
pub fn approve(state: &Path, workspace: &Path, text: &str) -> io::Result<()> {
    let known = match fs::read_to_string(state.join(FILE)) {
        Ok(known) => known,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error),
    };
    let own = name_of(workspace, text);
    let mut lines: Vec<&str> = known.lines().filter(|line| *line != own).collect();
    lines.push(&own);
    let surplus = lines.len().saturating_sub(APPROVALS_MAX);
    write_whole(&state.join(FILE), &format!("{}\n", lines.split_off(surplus).join("\n")))
}

/// The approval of the settings file that a workspace has now, where it was approved: what a run relies on.
#[must_use]
pub fn relied_on(state: &Path, workspace: &Path) -> Option<String> {
    let file = ProjectFile::find(workspace).ok()??;
    is_approved(state, workspace, &file.text).then(|| name_of(workspace, &file.text))
}

/// One hash of both: the same words elsewhere would run other files.
pub(crate) fn name_of(workspace: &Path, text: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(workspace.as_os_str().as_bytes());
    hash.update([0]);
    hash.update(text.as_bytes());
    hex(&hash.finalize())
}
