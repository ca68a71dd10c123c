//! Reading a stream while it is written: by segment and offset. Gaps are reported.
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;

use super::transcript::{SEGMENT_BYTES_MAX, files};

/// The most that is read at a time.
const PIECE_BYTES_MAX: u64 = 256 * 1024;
/// A fast writer removes segments before they are read; how often the next one is tried.
const TRIES_MAX: u32 = 8;

/// A reader of one stream.
#[derive(Debug)]
pub struct Follower {
    folder: PathBuf,
    /// The segment that is being read, and how far.
    at: Option<(PathBuf, u64)>,
    /// Something was lost since the last piece.
    gap: bool,
}

/// What came since the last call.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// The bytes; none means nothing new.
    pub bytes: Vec<u8>,
    /// Something before them is gone: the stream was longer than what is stored of it.
    pub gap: bool,
}

impl Follower {
    /// From the beginning of the stream in this folder.
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, at: None, gap: false }
    }

    /// The next piece.
    ///
    /// # Errors
    /// When a segment cannot be read.
    pub fn next_piece(&mut self) -> io::Result<Piece> {
        for _ in 0..TRIES_MAX {
            // Listed before it is read: if a newer one is there, this one is complete.
            let files = files(&self.folder);
            let first = || files.first().map(|first| (first.clone(), 0));
            let Some((path, offset)) = self.at.clone().or_else(first) else { break };
            let read = read_from(&path, offset)?;
            if let Some(bytes) = read.as_ref().filter(|bytes| !bytes.is_empty()) {
                self.at = Some((path, offset + u64::try_from(bytes.len()).unwrap_or(0)));
                return Ok(Piece { bytes: read.unwrap_or_default(), gap: std::mem::take(&mut self.gap) });
            }
            // The next that there is, which may not be the one that followed this.
            let Some(next) = files.into_iter().find(|file| *file > path) else { break };
            let rest_lost = read.is_none() && offset < SEGMENT_BYTES_MAX;
            self.gap |= rest_lost || number_of(&next) != number_of(&path) + 1;
            self.at = Some((next, 0));
        }
        Ok(Piece::default())
    }
}

/// The number of a segment; `head` is 0.
fn number_of(path: &std::path::Path) -> u64 {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.strip_prefix("tail-").and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// What a segment holds from there on; none if it is gone.
fn read_from(path: &std::path::Path, offset: u64) -> io::Result<Option<Vec<u8>>> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.take(PIECE_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}
