//! Writing so that a power cut loses nothing, or leaves the old file.
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::fresh_id;

/// Syncs a folder: what was created or renamed in it survives a power cut.
///
/// # Errors
/// When the file system could not.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Writes a new file and syncs its content. Its folder must be synced too.
pub(crate) fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.sync_data()
}

/// Writes a file under a temporary name and renames it. Not synced: after a power cut it is the old one, the new one,
/// or missing.
pub(crate) fn write_beside(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = path.with_file_name(format!("tmp_{}.lock", fresh_id()?));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
    let written = file.write_all(bytes).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        fs::remove_file(&beside).ok();
    }
    written
}
