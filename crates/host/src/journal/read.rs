//! Reading a journal, whatever state a crash left it in.
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use loop_core::machine::{self, JournalEntry, Machine};
use loop_core::run::Run;
use thiserror::Error;

use super::FILE;
use super::format::{Decoded, FORMAT, decode, first_line};

/// A journal as it was found.
#[derive(Debug)]
pub struct Reading<M: Machine = Run> {
    /// Its facts.
    pub entries: Vec<JournalEntry<M::Fact>>,
    /// The first fact of an unknown kind: a later program wrote it, so this one may only look.
    pub unknown: Option<u64>,
    /// How many bytes are whole lines; what follows was torn by a crash.
    pub whole_bytes: u64,
    /// How many bytes the file has.
    pub bytes: u64,
}

impl<M: Machine> Reading<M> {
    /// The state that these facts make.
    #[must_use]
    pub fn fold(&self) -> M::State {
        machine::fold::<M>(self.entries.iter().map(|entry| &entry.fact))
    }
}

/// Why a journal cannot be read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The system refused.
    #[error("cannot read {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The first line is missing or no header.
    #[error("{} is not a journal", path.display())]
    NoJournal {
        /// The file.
        path: PathBuf,
    },
    /// It has the facts of another machine.
    #[error("{} is the journal of a {found}, not of a {wanted}", path.display())]
    OtherMachine {
        /// The file.
        path: PathBuf,
        /// Whose it is.
        found: String,
        /// Whose it should be.
        wanted: &'static str,
    },
    /// A program wrote it that was never released.
    #[error("{} has format {format} of an early version, which this program cannot read", path.display())]
    Older {
        /// The file.
        path: PathBuf,
        /// Its format.
        format: u32,
    },
    /// A later program wrote it.
    #[error("{} has format {format}; this program knows up to {FORMAT}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        format: u32,
    },
    /// A line in the middle is not what was written.
    #[error("{}, line {line} is damaged", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
    },
}

/// Reads the journal of a run's folder. A torn end is left out, never an error.
///
/// # Errors
/// When there is none, it is newer than this program, or it is damaged before its end.
pub fn read(folder: &Path) -> Result<Reading, ReadError> {
    read_of::<Run>(folder)
}

/// The same for any machine.
///
/// # Errors
/// When there is none, it is another machine's or newer than this program, or it is damaged before its end.
pub fn read_of<M: Machine>(folder: &Path) -> Result<Reading<M>, ReadError> {
    let path = folder.join(FILE);
    let bytes = fs::read(&path).map_err(|source| ReadError::Io { path: path.clone(), source })?;
    parse(&bytes, &path)
}

fn parse<M: Machine>(bytes: &[u8], path: &Path) -> Result<Reading<M>, ReadError> {
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let first = lines.next().filter(|line| line.ends_with(b"\n")).unwrap_or_default();
    let header = first_line(first).ok_or_else(|| ReadError::NoJournal { path: path.to_owned() })?;
    let format = header.format;
    if format < FORMAT {
        return Err(ReadError::Older { path: path.to_owned(), format });
    }
    if format > FORMAT {
        return Err(ReadError::Newer { path: path.to_owned(), format });
    }
    if header.machine != M::NAME {
        return Err(ReadError::OtherMachine { path: path.to_owned(), found: header.machine, wanted: M::NAME });
    }
    let total = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    let mut reading = Reading { entries: Vec::new(), unknown: None, whole_bytes: 0, bytes: total };
    let (mut whole, mut torn, mut seq) = (first.len(), None, 0);
    for (number, line) in lines.enumerate() {
        let decoded = line.strip_suffix(b"\n").map_or(Decoded::Garbage, decode::<M>);
        let next = match &decoded {
            Decoded::Known(entry) => Some(entry.seq),
            Decoded::Unknown { seq } => Some(*seq),
            Decoded::Garbage => None,
        };
        match (next, torn) {
            // A line after a damaged one: the damage is not a torn end.
            (Some(_), Some(line)) => return Err(ReadError::Damaged { path: path.to_owned(), line }),
            (None, _) => torn = torn.or(Some(number + 2)),
            (Some(next), None) if next != seq + 1 => {
                return Err(ReadError::Damaged { path: path.to_owned(), line: number + 2 });
            }
            (Some(next), None) => {
                seq = next;
                whole += line.len();
                match decoded {
                    Decoded::Known(entry) => reading.entries.push(*entry),
                    Decoded::Unknown { seq } => reading.unknown = reading.unknown.or(Some(seq)),
                    Decoded::Garbage => {}
                }
            }
        }
    }
    reading.whole_bytes = u64::try_from(whole).unwrap_or(u64::MAX);
    Ok(reading)
}
