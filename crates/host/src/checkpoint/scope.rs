//! The rules for whoever walks folders alone: the watcher. All that it needs of them is here.
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{FileType, Mode, OFlags, fstat, openat};

use super::rules::{self, FolderRules, Rules, ignore_rules};

/// As the walk has it: a `.gitignore` longer than this is no list of rules.
const IGNORE_BYTES_MAX: u64 = 1024 * 1024;

/// What holds for the names of one folder.
#[derive(Debug, Clone)]
pub(crate) struct Scope(FolderRules);

impl Scope {
    /// What holds above the workspace's own `.gitignore`.
    pub(crate) fn above_all() -> Self {
        Self(FolderRules::default())
    }

    /// What holds in a folder that this is the outer scope of, once its own `.gitignore` was read.
    pub(crate) fn inside(&self, folder: BorrowedFd<'_>, path: &[u8]) -> Self {
        Self(self.0.below(own_rules(folder).map(|text| ignore_rules(path, &text)).as_ref()))
    }

    /// Whether a folder is left out.
    pub(crate) fn leaves_out(&self, rules: &Rules, path: &[u8]) -> bool {
        rules.scope(&self.0, path, true) != rules::Scope::In
    }
}

/// A folder's `.gitignore`, if it is a plain file.
pub(super) fn own_rules(folder: BorrowedFd<'_>) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(folder.as_fd(), ".gitignore", flags, Mode::empty()).ok()?;
    let stat = fstat(&file).ok()?;
    let plain = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    let size = u64::try_from(stat.st_size).ok().filter(|size| plain && *size <= IGNORE_BYTES_MAX)?;
    let mut bytes = Vec::new();
    io::Read::take(std::fs::File::from(file), size).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
