//! The one writer of a journal.
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use std::marker::PhantomData;

use loop_core::machine::{FACT_BYTES_MAX, JournalEntry, Machine};
use loop_core::run::Run;
use loop_core::time::At;
use thiserror::Error;

use super::FILE;
use super::format::{encode, header};
use super::read::{ReadError, Reading, read_of};

/// The journal of a machine, open for writing. Its owner holds the lock of the run too.
#[derive(Debug)]
pub struct Journal<M: Machine = Run> {
    file: File,
    path: PathBuf,
    seq: u64,
    machine: PhantomData<M>,
}

/// Why nothing can be recorded. The machine must not go on then.
#[derive(Debug, Error)]
pub enum JournalError {
    /// The system refused.
    #[error("cannot write {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A fact is longer than a fact may be.
    #[error("a fact of {bytes} bytes is too long for the journal (at most {FACT_BYTES_MAX})")]
    TooLong {
        /// How long.
        bytes: usize,
    },
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A later program wrote facts into it that this one does not know.
    #[error("fact {seq} was written by a later version of loop; this one may only read the run")]
    ReadOnly {
        /// Which fact.
        seq: u64,
    },
}

impl<M: Machine> Journal<M> {
    /// Begins a new journal in a folder that has none. Nothing is synced yet.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn create(folder: &Path, program: &str) -> Result<Self, JournalError> {
        let path = folder.join(FILE);
        let make = || {
            let mut file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(&path)?;
            file.write_all(header::<M>(program).as_bytes())?;
            Ok(file)
        };
        let file = make().map_err(|source| JournalError::Io { path: path.clone(), source })?;
        Ok(Self { file, path, seq: 0, machine: PhantomData })
    }

    /// Opens a journal and cuts a torn end off.
    ///
    /// # Errors
    /// When it cannot be read, or may only be read.
    pub fn open(folder: &Path) -> Result<(Self, Reading<M>), JournalError> {
        let reading = read_of::<M>(folder)?;
        if let Some(seq) = reading.unknown {
            return Err(JournalError::ReadOnly { seq });
        }
        let path = folder.join(FILE);
        let open = || {
            let file = OpenOptions::new().append(true).open(&path)?;
            if reading.whole_bytes < reading.bytes {
                file.set_len(reading.whole_bytes)?;
                file.sync_data()?;
            }
            Ok(file)
        };
        let file = open().map_err(|source| JournalError::Io { path: path.clone(), source })?;
        let seq = reading.entries.last().map_or(0, |entry| entry.seq);
        Ok((Self { file, path, seq, machine: PhantomData }, reading))
    }

    /// Writes the facts of one step down, as one write; if one of them must be safe before anything
    /// follows from it, all of them are when this returns.
    ///
    /// # Errors
    /// When they could not be written, or not be made safe: then nothing may follow from them.
    pub fn append(&mut self, at: At, facts: &[M::Fact]) -> Result<Vec<JournalEntry<M::Fact>>, JournalError> {
        let mut lines = String::new();
        let mut entries = Vec::with_capacity(facts.len());
        for (fact, seq) in facts.iter().zip(self.seq + 1..) {
            let line = encode::<M::Fact>(seq, at, fact)
                .map_err(|error| JournalError::Io { path: self.path.clone(), source: error.into() })?;
            if line.len() > FACT_BYTES_MAX {
                return Err(JournalError::TooLong { bytes: line.len() });
            }
            lines.push_str(&line);
            entries.push(JournalEntry { seq, at, fact: fact.clone() });
        }
        self.write(&lines, facts.iter().any(M::needs_sync))
            .map_err(|source| JournalError::Io { path: self.path.clone(), source })?;
        self.seq = entries.last().map_or(self.seq, |entry| entry.seq);
        Ok(entries)
    }

    fn write(&mut self, lines: &str, sync: bool) -> io::Result<()> {
        self.file.write_all(lines.as_bytes())?;
        if !sync {
            return Ok(());
        }
        if self.file.metadata()?.nlink() == 0 {
            return Err(io::Error::new(io::ErrorKind::NotFound, "somebody removed it"));
        }
        self.file.sync_data()
    }
}
