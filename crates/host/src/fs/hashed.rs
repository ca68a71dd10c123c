//! Files that a journal names by their hash: written whole, and read no further than a limit.
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;
use sha2::{Digest, Sha256};

use super::hex;

/// What became of reading such a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum HashedFile {
    /// It is the one that was written.
    Same(Vec<u8>),
    /// It has another content, or is longer than any that is written.
    Other,
    /// It cannot be read.
    Missing,
}

/// Reads a file of at most so many bytes that must have this hash. A link or a pipe is never opened for long.
pub(crate) fn read_hashed(path: &Path, hash: &str, bytes_max: u64) -> HashedFile {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let Ok(file) = OpenOptions::new().read(true).custom_flags(flags).open(path) else { return HashedFile::Missing };
    if !file.metadata().is_ok_and(|found| found.is_file() && found.len() <= bytes_max) {
        return HashedFile::Other;
    }
    let mut text = Vec::new();
    match file.take(bytes_max).read_to_end(&mut text) {
        Ok(_) if hex(&Sha256::digest(&text)) == hash => HashedFile::Same(text),
        Ok(_) => HashedFile::Other,
        Err(_) => HashedFile::Missing,
    }
}

/// Writes a file in a folder, over `new` beside it, so that it is there after a power cut.
pub(crate) fn write_hashed(folder: &Path, new: &str, name: &str, text: &[u8]) -> io::Result<()> {
    let new = folder.join(new);
    let mut to = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    to.write_all(text)?;
    to.sync_data()?;
    fs::rename(new, folder.join(name))?;
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_only_with_its_hash_and_within_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record");
        write_hashed(folder.path(), ".new", "record", b"text").unwrap();
        let hash = hex(&Sha256::digest(b"text"));
        assert_eq!(read_hashed(&path, &hash, 4), HashedFile::Same(b"text".to_vec()));
        assert_eq!(read_hashed(&path, &hash, 3), HashedFile::Other);
        assert_eq!(read_hashed(&path, "0", 9), HashedFile::Other);
        assert_eq!(read_hashed(&folder.path().join("none"), &hash, 9), HashedFile::Missing);
        fs::write(&path, b"text and more").unwrap();
        assert_eq!(read_hashed(&path, &hash, 99), HashedFile::Other);
    }

    #[test]
    fn a_pipe_or_a_link_in_its_place_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let (pipe, link) = (folder.path().join("pipe"), folder.path().join("link"));
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        assert_eq!(read_hashed(&pipe, "0", 9), HashedFile::Other);
        assert_eq!(read_hashed(&link, "0", 9), HashedFile::Missing);
    }
}
