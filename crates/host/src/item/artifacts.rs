//! Looks at one artifact: by no link, never outside of the workspace.
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use loop_core::policy::item::ArtifactOnDisk;
use rustix::fs::{FileType, Mode, OFlags, fstat, openat2};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use crate::fs::handle::{BENEATH, open_file, open_folder};
use crate::fs::hex;

/// A longer file is compared by its time only.
const HASHED_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// What is at a path below a folder.
#[must_use]
pub fn look_at_artifact(workspace: &Path, path: &str) -> ArtifactOnDisk {
    match open_folder(workspace) {
        Ok(folder) => look(&folder, path),
        Err(error) => ArtifactOnDisk::Unreadable(error.to_string()),
    }
}

pub(super) fn look(folder: &OwnedFd, path: &str) -> ArtifactOnDisk {
    let leads_elsewhere = path.starts_with('/') || path.split('/').any(|part| part == "..");
    if leads_elsewhere || path.is_empty() {
        return ArtifactOnDisk::Outside;
    }
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = match openat2(folder, path, flags, Mode::empty(), BENEATH) {
        Ok(opened) => opened,
        Err(Errno::NOENT | Errno::NOTDIR) => return ArtifactOnDisk::Absent,
        Err(Errno::LOOP) => return ArtifactOnDisk::Link,
        Err(Errno::XDEV) => return ArtifactOnDisk::Outside,
        Err(error) => return ArtifactOnDisk::Unreadable(error.to_string()),
    };
    let stat = match fstat(&opened) {
        Ok(stat) => stat,
        Err(error) => return ArtifactOnDisk::Unreadable(error.to_string()),
    };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {
            let seconds = u64::try_from(stat.st_mtime).unwrap_or(0);
            let millis = stat.st_mtime_nsec / 1_000_000;
            let modified_ms = seconds.saturating_mul(1000).saturating_add(millis);
            ArtifactOnDisk::File { modified_ms, bytes: u64::try_from(stat.st_size).unwrap_or(0) }
        }
        FileType::Symlink => ArtifactOnDisk::Link,
        FileType::Directory
        | FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => ArtifactOnDisk::NotAFile,
    }
}

/// The hash of a file; none where there is none, or it is too long.
pub(super) fn hash_of(folder: impl AsFd, path: &str) -> Option<String> {
    let file = open_file(folder, path.as_bytes()).ok()?;
    if file.metadata().ok()?.len() > HASHED_BYTES_MAX {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(HASHED_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    Some(hex(&Sha256::digest(&bytes)))
}
