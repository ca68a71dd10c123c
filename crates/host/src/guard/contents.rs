//! The contents of all originals in one file, so that thousands of them need only one sync. The record has the
//! offset and the hash of each.
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::record::{OriginalKind, Record};

const NAME: &str = "contents";
const PIECE_BYTES: usize = 128 * 1024;

#[derive(Debug)]
pub(super) struct OriginalContents {
    file: File,
    /// Where each lies, by its hash.
    added: HashMap<String, u64>,
}

impl OriginalContents {
    /// An empty one. What a killed process left is dropped.
    pub(super) fn new(folder: &Path) -> io::Result<Self> {
        Self::opened(folder, true)
    }

    pub(super) fn open(folder: &Path, record: &Record) -> io::Result<Self> {
        let mut all = Self::opened(folder, false)?;
        all.added = record.files.values().filter_map(|original| original.what.location()).collect();
        Ok(all)
    }

    fn opened(folder: &Path, is_new: bool) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file =
            options.read(true).write(true).create(is_new).truncate(is_new).mode(0o600).open(folder.join(NAME))?;
        Ok(Self { file, added: HashMap::new() })
    }

    /// Adds a content of this length.
    pub(super) fn add(&mut self, from: &File, bytes: u64) -> io::Result<OriginalKind> {
        let at = self.file.seek(SeekFrom::End(0))?;
        let (sha256, copied) = hashed(&mut from.take(bytes), &mut self.file)?;
        if copied != bytes {
            self.file.set_len(at)?;
            return Err(io::Error::other("it changed while it was read"));
        }
        // What another one has too lies there once.
        let known = self.added.get(&sha256).copied();
        if known.is_some() {
            self.file.set_len(at)?;
        }
        let at = known.unwrap_or(at);
        self.added.insert(sha256.clone(), at);
        Ok(OriginalKind::File { sha256, at, bytes })
    }

    /// Writes a content into an empty file. A damaged one is an error.
    pub(super) fn write(&self, at: u64, bytes: u64, sha256: &str, to: &mut File) -> io::Result<()> {
        let mut from = At { file: &self.file, at, left: bytes };
        let (found, copied) = hashed(&mut from, to)?;
        if copied == bytes && found == sha256 { Ok(()) } else { Err(io::Error::other("its stored content is damaged")) }
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

/// A piece of a file.
struct At<'a> {
    file: &'a File,
    at: u64,
    left: u64,
}

impl Read for At<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let room = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let Some(buffer) = buffer.get_mut(..room) else { return Ok(0) };
        let read = self.file.read_at(buffer, self.at)?;
        let moved = u64::try_from(read).unwrap_or(0);
        self.at += moved;
        self.left = self.left.saturating_sub(moved);
        Ok(read)
    }
}

/// Copies, and returns the hash and how much it was.
pub(super) fn hashed(from: &mut impl Read, to: &mut impl Write) -> io::Result<(String, u64)> {
    let (mut hash, mut all, mut piece) = (Sha256::new(), 0_u64, vec![0; PIECE_BYTES]);
    loop {
        let read = match from.read(&mut piece) {
            Ok(0) => return Ok((crate::fs::hex(&hash.finalize()), all)),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let piece = piece.get(..read).unwrap_or_default();
        hash.update(piece);
        to.write_all(piece)?;
        all += u64::try_from(read).unwrap_or(0);
    }
}
