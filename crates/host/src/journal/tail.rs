//! Reading a journal on while it is written. There is one sequence and one file, so nothing is missed or seen twice.
use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use loop_core::run::Entry;

use super::FILE;
use super::format::{Decoded, decode};

/// A reader of one journal.
#[derive(Debug)]
pub struct Tail {
    path: PathBuf,
    offset: u64,
}

impl Tail {
    /// From the beginning of a run's journal.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        Self { path: folder.join(FILE), offset: 0 }
    }

    /// The entries that have come; a line that is not whole yet waits for the next look.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn next_entries(&mut self) -> io::Result<Vec<Entry>> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(self.offset))?;
        let mut reader = BufReader::new(file);
        let mut entries = Vec::new();
        loop {
            let mut line = Vec::new();
            reader.read_until(b'\n', &mut line)?;
            let Some(whole) = line.strip_suffix(b"\n") else { return Ok(entries) };
            if let Decoded::Known(entry) = decode(whole) {
                entries.push(*entry);
            }
            self.offset += u64::try_from(line.len()).unwrap_or(0);
        }
    }
}
