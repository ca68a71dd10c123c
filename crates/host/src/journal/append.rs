//! The one writer of a journal.
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use std::marker::PhantomData;

use loop_core::machine::{FACT_BYTES_MAX, JournalEntry, Machine};
use loop_core::run::Run;
use loop_core::time::At;
use thiserror::Error;

use super::FILE;
use super::chain::{ChainHash, head_of};
use super::format::{encode, header};
use super::head::JournalHead;
use super::read::{ReadError, Reading, read_of};

/// The journal of a machine, open for writing. Its owner holds the lock of the run too.
#[derive(Debug)]
pub struct Journal<M: Machine = Run> {
    file: File,
    path: PathBuf,
    seq: u64,
    /// The hash of the last line.
    chain: ChainHash,
    /// The file as this writer left it.
    left: FileState,
    /// The last line that this writer has synced.
    synced: Option<JournalHead>,
    /// A file beside it says how it ended.
    has_head: bool,
    machine: PhantomData<M>,
}

/// What tells whether somebody else wrote to a file, or put another one in its place. Only the kernel sets the change
/// time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileState {
    device: u64,
    inode: u64,
    bytes: u64,
    changed: (i64, i64),
}

impl FileState {
    fn of(found: &Metadata) -> Self {
        let changed = (found.ctime(), found.ctime_nsec());
        Self { device: found.dev(), inode: found.ino(), bytes: found.len(), changed }
    }

    fn is_same_file(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
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
    /// Somebody else wrote to it while it was driven.
    #[error("something other than this loop changed {}: {why}", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
        /// How that was noticed.
        why: &'static str,
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
    /// Begins a new journal in a folder that has none. Of it nothing is synced yet; the file that says how it ended is.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn create(folder: &Path, program: &str) -> Result<Self, JournalError> {
        let path = folder.join(FILE);
        let mut chain = ChainHash::default();
        let first = header::<M>(&mut chain, program);
        let make = || {
            let mut file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(&path)?;
            file.write_all(first.as_bytes())?;
            JournalHead::new(0, &chain).begin(folder)?;
            let left = FileState::of(&fs::metadata(&path)?);
            Ok((file, left))
        };
        let (file, left) = make().map_err(|source| JournalError::Io { path: path.clone(), source })?;
        Ok(Self { file, path, seq: 0, chain, left, synced: None, has_head: true, machine: PhantomData })
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
            let left = FileState::of(&fs::metadata(&path)?);
            Ok((file, left))
        };
        let (file, left) = open().map_err(|source| JournalError::Io { path: path.clone(), source })?;
        if left.bytes != reading.whole_bytes {
            return Err(JournalError::Changed { path, why: "it changed while it was read" });
        }
        let seq = reading.entries.last().map_or(0, |entry| entry.seq);
        let chain = reading.head.clone();
        let has_head = reading.has_head;
        Ok((Self { file, path, seq, chain, left, synced: None, has_head, machine: PhantomData }, reading))
    }

    /// The folder of the journal was renamed.
    pub(crate) fn moved_to(&mut self, folder: &Path) {
        self.path = folder.join(FILE);
    }

    /// Writes the facts of one step down, as one write; if one of them must be safe before anything
    /// follows from it, all of them are when this returns.
    ///
    /// # Errors
    /// When they could not be written, or not be made safe, or when somebody else wrote to the journal: then nothing may
    /// follow from them.
    pub fn append(&mut self, at: At, facts: &[M::Fact]) -> Result<Vec<JournalEntry<M::Fact>>, JournalError> {
        let mut lines = String::new();
        let mut entries = Vec::with_capacity(facts.len());
        let mut chain = self.chain.clone();
        for (fact, seq) in facts.iter().zip(self.seq + 1..) {
            let line = encode::<M::Fact>(&mut chain, seq, at, fact).map_err(|error| self.refused(error.into()))?;
            if line.len() > FACT_BYTES_MAX {
                return Err(JournalError::TooLong { bytes: line.len() });
            }
            lines.push_str(&line);
            entries.push(JournalEntry { seq, at, fact: fact.clone() });
        }
        if lines.is_empty() {
            return Ok(entries);
        }
        self.compare()?;
        self.file.write_all(lines.as_bytes()).map_err(|source| self.refused(source))?;
        self.adopt(u64::try_from(lines.len()).unwrap_or(u64::MAX))?;
        self.chain = chain;
        self.seq = entries.last().map_or(self.seq, |entry| entry.seq);
        if facts.iter().any(M::needs_sync) {
            self.file.sync_data().map_err(|source| self.refused(source))?;
            self.synced = Some(JournalHead::new(self.seq, &self.chain));
        }
        Ok(entries)
    }

    /// The driver is done for now: the whole journal must be as it was written. The last line that is safe on disk is
    /// stored beside it.
    ///
    /// # Errors
    /// When somebody else wrote to it.
    pub fn close(&mut self) -> Result<(), JournalError> {
        self.compare()?;
        self.compare_whole()?;
        // Without it a cut would not be noticed; nothing else depends on it. A line that a power cut may still take
        // away must not be in it.
        if let (Some(head), Some(folder)) = (&self.synced, self.path.parent()) {
            head.write(folder).ok();
        }
        Ok(())
    }

    /// The file must be as this writer left it, and what says how it ended must be there. Usually that takes two `stat`s.
    fn compare(&mut self) -> Result<(), JournalError> {
        let found = self.look()?;
        if self.has_head && !self.path.parent().is_some_and(JournalHead::is_there) {
            return Err(self.changed("journal.head beside it is missing or empty"));
        }
        if found == self.left {
            return Ok(());
        }
        self.check_place(&found, self.left.bytes)?;
        // Only the time differs: its mode was changed, or somebody wrote over it.
        self.compare_whole()?;
        self.left = found;
        Ok(())
    }

    /// Every line must be the one that was written.
    fn compare_whole(&self) -> Result<(), JournalError> {
        let bytes = fs::read(&self.path).map_err(|source| self.refused(source))?;
        if head_of(&bytes).as_ref() == Some(&self.chain) {
            return Ok(());
        }
        Err(self.changed("a line is not what was written"))
    }

    /// After a write of so many bytes: nothing else may have come.
    fn adopt(&mut self, written: u64) -> Result<(), JournalError> {
        let found = self.look()?;
        self.check_place(&found, self.left.bytes.saturating_add(written))?;
        self.left = found;
        Ok(())
    }

    fn check_place(&self, found: &FileState, bytes: u64) -> Result<(), JournalError> {
        if !found.is_same_file(&self.left) {
            return Err(self.changed("another file is in its place"));
        }
        if found.bytes < bytes {
            return Err(self.changed("it was cut"));
        }
        if found.bytes > bytes {
            return Err(self.changed("somebody else wrote to it"));
        }
        Ok(())
    }

    fn look(&self) -> Result<FileState, JournalError> {
        let found = fs::metadata(&self.path).map_err(|error| {
            let gone = error.kind() == io::ErrorKind::NotFound;
            self.refused(if gone { io::Error::new(io::ErrorKind::NotFound, "somebody removed it") } else { error })
        })?;
        Ok(FileState::of(&found))
    }

    fn refused(&self, source: io::Error) -> JournalError {
        JournalError::Io { path: self.path.clone(), source }
    }

    fn changed(&self, why: &'static str) -> JournalError {
        JournalError::Changed { path: self.path.clone(), why }
    }
}
