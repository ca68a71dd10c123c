//! A snapshot as the source of file contents. What is in it is recorded in the store, as for every checkpoint.
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use crate::checkpoint::git::object::Id;
use crate::checkpoint::restore::tree::FileContent;
use crate::fs::content::fill;
use crate::fs::handle::open_file;

/// A snapshot of a workspace, open for reading. It is read-only.
#[derive(Debug)]
pub struct Snapshot {
    pub(super) folder: OwnedFd,
}

impl Snapshot {
    /// Its root folder.
    #[must_use]
    pub fn folder(&self) -> &OwnedFd {
        &self.folder
    }

    /// One of its files.
    ///
    /// # Errors
    /// When it is not there, or is not a file.
    pub fn file(&self, path: &[u8]) -> io::Result<File> {
        open_file(&self.folder, path)
    }
}

impl FileContent for Snapshot {
    /// Shared where both lie on the same file system.
    fn write(&self, path: &[u8], _: &Id, to: &mut File) -> io::Result<()> {
        fill(&self.file(path)?, to).map(drop)
    }
}
