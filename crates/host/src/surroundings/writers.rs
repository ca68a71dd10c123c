//! Which processes have a file open for writing, as far as this user may see them.
use std::fs;
use std::os::unix::fs::MetadataExt;

use crate::fs::FolderId;

/// The flags of a file that is open for reading only end with this digit.
const READ_ONLY: char = '0';

/// A process that has a file open for writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Writer {
    pub(super) file: FolderId,
    pub(super) process: i32,
}

/// All processes that have one of these files open for writing. Processes of other users, and of other containers, are
/// not seen.
pub(super) fn writers_of(files: &[FolderId]) -> Vec<Writer> {
    let mut found = Vec::new();
    if files.is_empty() {
        return found;
    }
    let processes = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let processes = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    for process in processes {
        let Ok(handles) = fs::read_dir(format!("/proc/{process}/fd")) else { continue };
        for handle in handles.filter_map(Result::ok) {
            let Ok(open) = fs::metadata(handle.path()) else { continue };
            let file = FolderId { device: open.dev(), inode: open.ino() };
            let name = handle.file_name();
            if files.contains(&file) && writes(process, &name.to_string_lossy()) {
                found.push(Writer { file, process });
            }
        }
    }
    found
}

/// Whether a handle can write: the last digit of its flags, which are octal. In doubt it can.
fn writes(process: i32, handle: &str) -> bool {
    let Ok(text) = fs::read_to_string(format!("/proc/{process}/fdinfo/{handle}")) else { return true };
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:")).unwrap_or_default();
    !flags.trim().ends_with([READ_ONLY, '4'])
}
