//! Reading a journal, whatever state a crash left it in.
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use loop_core::machine::{self, JournalEntry, Machine};
use loop_core::run::Run;
use thiserror::Error;

use super::FILE;
use super::chain::ChainHash;
use super::format::{Decoded, FORMAT, FirstLine, decode, early_format, first_line};
use super::head::JournalHead;

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
    /// The hash of the last whole line.
    pub head: ChainHash,
    /// From its first line on, a file beside it says how it ended.
    pub has_head: bool,
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
    /// The file is empty, or has no facts.
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
    /// A line is not what was written.
    #[error("{}, line {line} is damaged: {why}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
        /// What is wrong with it.
        why: &'static str,
    },
}

/// Reads the journal of a run's folder. A torn end is left out, never an error.
///
/// # Errors
/// When there is none, it is newer than this program, or it is damaged.
pub fn read(folder: &Path) -> Result<Reading, ReadError> {
    read_of::<Run>(folder)
}

/// The same for any machine.
///
/// # Errors
/// When there is none, it is another machine's or newer than this program, or it is damaged.
pub fn read_of<M: Machine>(folder: &Path) -> Result<Reading<M>, ReadError> {
    let path = folder.join(FILE);
    let bytes = fs::read(&path).map_err(|source| ReadError::Io { path: path.clone(), source })?;
    parse(&bytes, &path, JournalHead::read(folder).as_ref())
}

/// Why a line is damaged.
const OTHER_BYTES: &str = "its hash is another, so it is not what was written there";
const NO_FACT: &str = "it is not an entry of a journal";
const OTHER_NUMBER: &str = "its number does not follow the one before";
const CUT: &str = "it is missing, and was there when the loop ended";
const MADE_AGAIN: &str = "it is not the line that was there when the loop ended";
const NO_HEAD: &str =
    "whether lines are missing is not known: journal.head, which was there from the first line on, is missing or empty";

fn parse<M: Machine>(bytes: &[u8], path: &Path, ended_at: Option<&JournalHead>) -> Result<Reading<M>, ReadError> {
    let damaged = |line: usize, why: &'static str| ReadError::Damaged { path: path.to_owned(), line, why };
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let first = lines.next().ok_or_else(|| ReadError::NoJournal { path: path.to_owned() })?;
    let total = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    let (head, has_head) = parse_first::<M>(first, path)?;
    let mut reading = Reading { entries: Vec::new(), unknown: None, whole_bytes: 0, bytes: total, head, has_head };
    let (mut whole, mut seq) = (first.len(), 0);
    for (line, number) in lines.zip(2..) {
        let found = line.strip_suffix(b"\n").and_then(|line| Some((reading.head.check(line)?, decode::<M>(line))));
        let Some((hash, decoded)) = found else {
            // A crash leaves a part of the last write: without its end, or with blocks that were never written.
            let is_last = whole + line.len() == bytes.len();
            if is_last && (!line.ends_with(b"\n") || line.contains(&0)) {
                break;
            }
            return Err(damaged(number, OTHER_BYTES));
        };
        seq += 1;
        match decoded.seq() {
            None => return Err(damaged(number, NO_FACT)),
            Some(found) if found != seq => return Err(damaged(number, OTHER_NUMBER)),
            Some(_) => {}
        }
        if ended_at.is_some_and(|head| head.contradicts(seq, &hash)) {
            return Err(damaged(number, MADE_AGAIN));
        }
        reading.head = hash;
        whole += line.len();
        match decoded {
            Decoded::Known(entry) => reading.entries.push(*entry),
            Decoded::Unknown { seq } => reading.unknown = reading.unknown.or(Some(seq)),
            Decoded::Garbage => {}
        }
    }
    if ended_at.is_some_and(|head| head.seq > seq) {
        return Err(damaged(line_of(seq) + 1, CUT));
    }
    reading.whole_bytes = u64::try_from(whole).unwrap_or(u64::MAX);
    check_evidence(&reading).map_err(|(seq, why)| damaged(line_of(seq), why))?;
    if has_head && ended_at.is_none() {
        return Err(damaged(line_of(seq) + 1, NO_HEAD));
    }
    Ok(reading)
}

/// The line of an entry: the first line of the file has none.
fn line_of(seq: u64) -> usize {
    usize::try_from(seq).unwrap_or(usize::MAX).saturating_add(1)
}

/// The hash of the first line, where it is one of this machine in this format, and whether a file says how it ended.
fn parse_first<M: Machine>(line: &[u8], path: &Path) -> Result<(ChainHash, bool), ReadError> {
    let path = path.to_owned();
    let whole = line.strip_suffix(b"\n").unwrap_or_default();
    let Some(hash) = ChainHash::default().check(whole) else {
        return Err(match early_format(whole) {
            Some(format) => ReadError::Older { path, format },
            None => ReadError::Damaged { path, line: 1, why: OTHER_BYTES },
        });
    };
    let Some(FirstLine { format, machine, head }) = first_line(whole) else {
        return Err(ReadError::NoJournal { path });
    };
    if format < FORMAT {
        return Err(ReadError::Older { path, format });
    }
    if format > FORMAT {
        return Err(ReadError::Newer { path, format });
    }
    if machine != M::NAME {
        return Err(ReadError::OtherMachine { path, found: machine, wanted: M::NAME });
    }
    Ok((hash, head))
}

/// Facts that need evidence must have it in the state before them. The number of the first that has none, and why.
/// What stands after a fact of a later version cannot be checked.
fn check_evidence<M: Machine>(reading: &Reading<M>) -> Result<(), (u64, &'static str)> {
    let known = reading.entries.iter().take_while(|entry| reading.unknown.is_none_or(|unknown| entry.seq < unknown));
    let needs = known.clone().filter(|entry| M::needs_evidence(&entry.fact)).map(|entry| entry.seq).last();
    let Some(last) = needs else { return Ok(()) };
    let mut state = M::State::default();
    for entry in known.take_while(|entry| entry.seq <= last) {
        if M::needs_evidence(&entry.fact) {
            M::check_evidence(&state, &entry.fact).map_err(|why| (entry.seq, why))?;
        }
        M::apply(&mut state, &entry.fact);
    }
    Ok(())
}
