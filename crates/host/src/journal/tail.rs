//! Reading a journal on while it is written. There is one sequence and one file, so nothing is missed or seen twice.
use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use std::marker::PhantomData;

use loop_core::machine::{JournalEntry, Machine};
use loop_core::run::Run;

use super::FILE;
use super::chain::ChainHash;
use super::format::{Decoded, decode};

/// A reader of one journal.
#[derive(Debug)]
pub struct Tail<M: Machine = Run> {
    path: PathBuf,
    offset: u64,
    /// How many lines were read.
    lines: u64,
    /// The hash of the last of them.
    head: ChainHash,
    machine: PhantomData<M>,
}

impl<M: Machine> Tail<M> {
    /// From the beginning of a journal.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        let path = folder.join(FILE);
        Self { path, offset: 0, lines: 0, head: ChainHash::default(), machine: PhantomData }
    }

    /// The entries that have come; a line that is not whole yet is left for the next call.
    ///
    /// # Errors
    /// When the file cannot be read, or a line is damaged.
    pub fn next_entries(&mut self) -> io::Result<Vec<JournalEntry<M::Fact>>> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(self.offset))?;
        let mut reader = BufReader::new(file);
        let mut entries = Vec::new();
        loop {
            let mut line = Vec::new();
            reader.read_until(b'\n', &mut line)?;
            let Some(whole) = line.strip_suffix(b"\n") else { return Ok(entries) };
            let Some(head) = self.head.check(whole) else {
                // What came before it is shown first. A torn end is cut off by the next driver.
                let is_torn = whole.contains(&0);
                return if is_torn || !entries.is_empty() { Ok(entries) } else { Err(self.damaged()) };
            };
            if let Decoded::Known(entry) = decode::<M>(whole) {
                entries.push(*entry);
            }
            self.offset += u64::try_from(line.len()).unwrap_or(0);
            self.lines += 1;
            self.head = head;
        }
    }

    fn damaged(&self) -> io::Error {
        let text = format!("{}, line {} is damaged", self.path.display(), self.lines + 1);
        io::Error::new(io::ErrorKind::InvalidData, text)
    }
}
