//! What a process wrote, in files of bounded size: the beginning as it came, then the newest end.
//!
//! A stream is a folder with `head` and, once that is full, `tail-000001`, `tail-000002` … of which
//! the newest few stay. A gap between head and tails can so be seen by their numbers.
use std::collections::VecDeque;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// The beginning that is stored of a stream.
const HEAD_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// The size of a tail segment.
pub(super) const SEGMENT_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// How many of them are stored.
const SEGMENTS_MAX: usize = 4;
/// How much of the end is held in memory, for reports.
const LAST_BYTES_MAX: usize = 4096;
/// How much is hashed at a time.
const HASH_BYTES: usize = 64 * 1024;

/// The most that is stored of one stream: its beginning, and the segments of its end.
pub(crate) const STREAM_BYTES_MAX: u64 = HEAD_BYTES_MAX + SEGMENTS_MAX as u64 * SEGMENT_BYTES_MAX;

/// One stream being written. Its folder is made with its first byte.
#[derive(Debug)]
pub struct Transcript {
    folder: PathBuf,
    file: Option<File>,
    room: u64,
    segment: u64,
    segments: VecDeque<PathBuf>,
    bytes: u64,
    last: Vec<u8>,
}

impl Transcript {
    /// A stream that will be stored in this folder.
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, file: None, room: 0, segment: 0, segments: VecDeque::new(), bytes: 0, last: Vec::new() }
    }

    /// How many bytes came.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The newest bytes.
    #[must_use]
    pub fn last(&self) -> &[u8] {
        &self.last
    }

    /// Takes the next piece.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&mut self, mut piece: &[u8]) -> io::Result<()> {
        self.remember(piece);
        self.bytes += u64::try_from(piece.len()).unwrap_or(0);
        while !piece.is_empty() {
            let file = self.file()?;
            let (now, later) = piece.split_at(piece.len().min(usize::try_from(file.1).unwrap_or(usize::MAX)));
            file.0.write_all(now)?;
            self.room -= u64::try_from(now.len()).unwrap_or(0);
            piece = later;
        }
        Ok(())
    }

    fn remember(&mut self, piece: &[u8]) {
        self.last.extend_from_slice(&piece[piece.len().saturating_sub(LAST_BYTES_MAX)..]);
        let surplus = self.last.len().saturating_sub(LAST_BYTES_MAX);
        self.last.drain(..surplus);
    }

    /// The file that has room, and how much.
    fn file(&mut self) -> io::Result<(&mut File, u64)> {
        if self.room == 0 {
            self.file = None;
        }
        if self.file.is_none() {
            let (name, room) = if self.segment == 0 {
                DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
                ("head".to_owned(), HEAD_BYTES_MAX)
            } else {
                (format!("tail-{:06}", self.segment), SEGMENT_BYTES_MAX)
            };
            let path = self.folder.join(name);
            self.file = Some(OpenOptions::new().append(true).create(true).mode(0o600).open(&path)?);
            if self.segment > 0 {
                self.segments.push_back(path);
            }
            if self.segments.len() > SEGMENTS_MAX
                && let Some(oldest) = self.segments.pop_front()
            {
                fs::remove_file(oldest)?;
            }
            self.room = room;
            self.segment += 1;
        }
        let room = self.room;
        self.file.as_mut().map(|file| (file, room)).ok_or_else(|| io::Error::other("no file"))
    }
}

/// The files of a stream, the oldest first.
pub(super) fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort(); // `head` stands before `tail-…`.
    files
}

/// The end of a stream that was written before, at most this many bytes.
#[must_use]
pub fn tail_of(folder: &Path, bytes_max: u64) -> Vec<u8> {
    let mut end = Vec::new();
    for path in files(folder).into_iter().rev() {
        let wanted = bytes_max.saturating_sub(u64::try_from(end.len()).unwrap_or(u64::MAX));
        if wanted == 0 {
            break;
        }
        if let Ok(mut piece) = file_end(&path, wanted) {
            piece.extend_from_slice(&end);
            end = piece;
        }
    }
    end
}

fn file_end(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let from = file.metadata()?.len().saturating_sub(bytes_max);
    file.seek(SeekFrom::Start(from))?;
    let mut piece = Vec::new();
    file.take(bytes_max).read_to_end(&mut piece)?;
    Ok(piece)
}

/// The hash of what is stored of two streams, one after the other.
pub(super) fn sha256_of(folders: [&Path; 2]) -> String {
    let mut hash = Sha256::new();
    let mut buffer = [0_u8; HASH_BYTES];
    for path in folders.into_iter().flat_map(files) {
        let Ok(mut file) = File::open(&path) else { continue };
        // A file is never held whole: a head alone would be as large as the rest of the program.
        while let Some(count) = file.read(&mut buffer).ok().filter(|count| *count > 0) {
            hash.update(&buffer[..count]);
        }
    }
    crate::fs::hex(&hash.finalize())
}
