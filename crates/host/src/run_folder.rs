//! The folders of runs and plans: created completely or not at all, one driver each, found by any unique prefix of the
//! id.
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use loop_core::ids::{OrderId, RunId};
use loop_core::machine::{FACT_BYTES_MAX, JournalEntry, Machine, decide};
use loop_core::run::{Event, FileRef, INLINE_BYTES_MAX, Run, RunSpec, RunState, StoredText, WorkspaceRef};
use loop_core::text;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::clock;
use crate::fs::{hex, lock, sync_folder, write_synced};
use crate::journal::{ChainHash, Journal, JournalError, encode};
use crate::paths::{Home, socket_of, text_of};

/// Stands before the id while the folder of a run is created or removed. A crash leaves it; the next start removes it.
const UNFINISHED: &str = ".new-";
pub(crate) const LOCK: &str = "lock";
/// The file extension of the register of a run's shims.
pub(crate) const REGISTER: &str = "shim";
/// The file that marks a run whose outputs were removed to make room for others.
pub(crate) const THINNED: &str = "thinned";

/// A machine whose journals have a folder each, and which works in a workspace.
pub trait HasFolder: Machine {
    /// Where it works; none before its first fact.
    fn workspace(state: &Self::State) -> Option<&WorkspaceRef>;
}

impl HasFolder for Run {
    fn workspace(state: &RunState) -> Option<&WorkspaceRef> {
        state.spec.as_ref().map(|spec| &spec.workspace)
    }
}

/// The folder of one run, or of one plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFolder {
    /// Its id.
    pub id: RunId,
    /// Its path.
    pub path: PathBuf,
}

/// A run or a plan that is locked: no other process can drive it while this value lives.
#[derive(Debug)]
pub struct Held<M: Machine> {
    /// Its folder.
    pub folder: RunFolder,
    /// Its journal, open for writing.
    pub journal: Journal<M>,
    /// Its state, read from the journal.
    pub state: M::State,
    /// The entries of its journal up to there.
    pub past: Vec<JournalEntry<M::Fact>>,
    pub(crate) lock: File,
    /// The handle with the lock of the workspace.
    pub(crate) claim: Option<OwnedFd>,
}

/// A run that is locked.
pub type HeldRun = Held<Run>;

/// The process that drives a run, as written in its lock file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The driver's process.
    pub pid: u32,
    /// The workspace, as [`text::escape_path`] writes it.
    pub workspace: String,
    /// Its device.
    pub device: u64,
    /// Its inode.
    pub inode: u64,
    /// The control socket, as [`text::escape_path`] writes it.
    #[serde(default)]
    pub socket: String,
}

/// Why a run cannot be found, locked or created.
#[derive(Debug, Error)]
pub enum RunsError {
    /// No id has this prefix.
    #[error("no loop has an id that begins with {0:?}")]
    Unknown(String),
    /// Several ids have it.
    #[error("{prefix:?} is the beginning of several ids: {}", ids.join(", "))]
    Ambiguous {
        /// What was given.
        prefix: String,
        /// Some of these ids.
        ids: Vec<String>,
    },
    /// Another process drives it.
    #[error("loop {id} is at work (process {pid})")]
    Driven {
        /// Which run.
        id: RunId,
        /// The process.
        pid: u32,
    },
    /// Its journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A file or folder cannot be used.
    #[error("cannot use {}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> RunsError {
    let path = path.to_owned();
    move |source| RunsError::Io { path, source }
}

impl RunFolder {
    /// The folder of an iteration.
    #[must_use]
    pub fn iteration(&self, number: u32) -> PathBuf {
        self.path.join("iterations").join(format!("{number:06}"))
    }

    /// The folder of an attempt.
    #[must_use]
    pub fn attempt(&self, iteration: u32, attempt: u32) -> PathBuf {
        self.iteration(iteration).join(format!("attempt-{attempt}"))
    }

    /// The folder of one run of a gate.
    #[must_use]
    pub fn gate(&self, iteration: u32, order: OrderId) -> PathBuf {
        self.iteration(iteration).join("gates").join(format!("{:06}", order.0))
    }

    /// Where the outputs of its hidden gates are: beside the folder of runs, not in the folder of the run, whose path an
    /// agent may know.
    #[must_use]
    pub fn hidden(&self) -> PathBuf {
        let home = self.path.parent().and_then(Path::parent).unwrap_or(&self.path);
        home.join("hidden").join(self.id.as_str())
    }

    /// The file of an injected text.
    #[must_use]
    pub fn injected(&self, number: u32) -> PathBuf {
        self.path.join("inject").join(format!("{number:06}.md"))
    }

    /// The control socket, which is there while the run is driven.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        let state = self.path.parent().and_then(Path::parent).unwrap_or(&self.path);
        socket_of(state, self.id.as_str())
    }

    /// The register of the shims that contain the run's processes; beside the socket.
    #[must_use]
    pub fn register(&self) -> PathBuf {
        self.socket().with_extension(REGISTER)
    }

    /// Whether outputs of this run were removed to make room for others.
    #[must_use]
    pub fn is_thinned(&self) -> bool {
        self.path.join(THINNED).exists()
    }

    /// The process that drives the run; none if the run is not driven. Process 0 where this cannot be found out.
    #[must_use]
    pub fn holder(&self) -> Option<Holder> {
        let unknown = Holder { pid: 0, workspace: String::new(), device: 0, inode: 0, socket: String::new() };
        let mut file = match File::open(self.path.join(LOCK)) {
            Ok(file) => file,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return None,
            Err(_) => return Some(unknown),
        };
        if flock(&file, FlockOperation::NonBlockingLockShared).is_ok() {
            return None;
        }
        let mut text = String::new();
        file.read_to_string(&mut text).ok();
        Some(serde_json::from_str(&text).unwrap_or(unknown))
    }

    /// Locks the run for driving and reads its journal.
    ///
    /// # Errors
    /// When another process drives it, or its journal may not be written.
    pub fn hold(self) -> Result<HeldRun, RunsError> {
        self.hold_as()
    }

    /// The same for any machine.
    ///
    /// # Errors
    /// When another process drives it, or its journal may not be written.
    pub fn hold_as<M: HasFolder>(self) -> Result<Held<M>, RunsError> {
        let lock = lock(&self.path.join(LOCK)).map_err(at(&self.path))?;
        let Some(lock) = lock else {
            let pid = self.holder().map_or(0, |holder| holder.pid);
            return Err(RunsError::Driven { id: self.id, pid });
        };
        let (journal, reading) = Journal::open(&self.path)?;
        let state = reading.fold();
        let held = Held { folder: self, journal, state, past: reading.entries, lock, claim: None };
        held.write_holder()?;
        Ok(held)
    }

    /// Locks the run so that no process can begin to drive it; none if one does already, or if the run is gone.
    pub(crate) fn try_lock(&self) -> Option<File> {
        lock(&self.path.join(LOCK)).ok().flatten()
    }

    /// Removes the run with all its files. The folder is renamed first, so that no reader sees a part of a run.
    ///
    /// # Errors
    /// When another process drives it, or its folder cannot be removed.
    pub fn remove(&self) -> Result<(), RunsError> {
        let held = lock(&self.path.join(LOCK)).map_err(at(&self.path))?;
        if held.is_none() {
            let pid = self.holder().map_or(0, |holder| holder.pid);
            return Err(RunsError::Driven { id: self.id.clone(), pid });
        }
        // A killed driver left its socket behind.
        fs::remove_file(self.socket()).ok();
        match fs::remove_dir_all(self.hidden()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(at(&self.path)(error)),
            Err(_) | Ok(()) => {}
        }
        let gone = self.path.with_file_name(format!("{UNFINISHED}{}", self.id));
        fs::rename(&self.path, &gone).map_err(at(&self.path))?;
        fs::remove_dir_all(&gone).map_err(at(&gone))
    }
}

impl<M: HasFolder> Held<M> {
    /// Holds the lock of the workspace too, as long as the run is locked.
    #[must_use]
    pub fn with_claim(self, claim: impl Into<OwnedFd>) -> Self {
        Self { claim: Some(claim.into()), ..self }
    }

    fn write_holder(&self) -> Result<(), RunsError> {
        let Some(place) = M::workspace(&self.state) else { return Ok(()) };
        write_holder(&self.folder.path.join(LOCK), place, &self.folder.socket())
    }
}

/// Writes into the lock file that this process drives the run.
fn write_holder(path: &Path, place: &WorkspaceRef, socket: &Path) -> Result<(), RunsError> {
    let holder = Holder {
        pid: std::process::id(),
        workspace: place.path.clone(),
        device: place.device,
        inode: place.inode,
        socket: text_of(socket),
    };
    let text = serde_json::to_string(&holder).unwrap_or_default();
    // Written in place: a new file would not have the lock.
    let write = || {
        let mut file = OpenOptions::new().write(true).truncate(true).open(path)?;
        file.write_all(text.as_bytes())
    };
    write().map_err(at(path))
}

/// Texts that are too long for a fact, each as its file name and its text.
pub type LongTexts = Vec<(String, String)>;

/// A text for a fact: a short one inline, a long one as the file `name` in the run's folder.
pub fn store_text(text: &str, name: &str, files: &mut LongTexts) -> StoredText {
    if text.len() <= INLINE_BYTES_MAX {
        return StoredText { head: text.to_owned(), file: None };
    }
    StoredText { head: text::head(text, 512).to_owned(), ..store_as_file(text, name, files) }
}

/// A text for a fact, always as a file: many short texts would make a fact too long.
pub fn store_as_file(text: &str, name: &str, files: &mut LongTexts) -> StoredText {
    let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
    let file = FileRef { name: name.to_owned(), sha256: hex(&Sha256::digest(text.as_bytes())), bytes };
    files.push((name.to_owned(), text.to_owned()));
    StoredText { head: text::head(text, 64).to_owned(), file: Some(file) }
}

/// The whole text that a fact names.
///
/// # Errors
/// When its file cannot be read, or its hash is not the recorded one.
pub fn read_text(folder: &RunFolder, stored: &StoredText) -> io::Result<String> {
    let Some(file) = &stored.file else { return Ok(stored.head.clone()) };
    let text = fs::read_to_string(folder.path.join(&file.name))?;
    if hex(&Sha256::digest(text.as_bytes())) == file.sha256 {
        Ok(text)
    } else {
        Err(io::Error::other(format!("{} is not what was written", file.name)))
    }
}

/// The name of a workspace's store: the same for all runs in the same folder.
#[must_use]
pub fn store_name(workspace: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    let mut name = hex(&Sha256::digest(workspace.as_os_str().as_bytes()));
    name.truncate(STORE_NAME_LETTERS);
    name
}

/// Enough digits to tell workspaces apart.
const STORE_NAME_LETTERS: usize = 16;

/// One start at a time: held while a run is created and its workspace claimed.
#[derive(Debug)]
pub struct StartLock(#[expect(dead_code, reason = "held for its lock")] File);

impl StartLock {
    /// Waits for other starts, which are short.
    ///
    /// # Errors
    /// When the lock file cannot be created.
    pub fn take(home: &Home) -> Result<Self, RunsError> {
        let path = home.state.join("start.lock");
        let take = || {
            let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path)?;
            flock(&file, FlockOperation::LockExclusive)?;
            Ok(file)
        };
        take().map(Self).map_err(at(&path))
    }
}

/// Creates a run: complete and synced to disk when this returns, or not there at all.
///
/// # Errors
/// When it cannot be created.
pub fn create(home: &Home, start: &StartLock, spec: &RunSpec, files: &LongTexts) -> Result<HeldRun, RunsError> {
    let new = NewFolder { id: spec.id.clone(), program: &spec.program, files };
    create_as(&home.runs(), start, &new, Event::Created(Box::new(spec.clone())))
}

/// What a new folder gets beside its first facts.
#[derive(Debug)]
pub struct NewFolder<'a> {
    /// Its id.
    pub id: RunId,
    /// The version of the program that makes it.
    pub program: &'a str,
    /// Texts that are too long for its facts.
    pub files: &'a LongTexts,
}

/// The same for any machine, in the folder that has one for each of them.
///
/// # Errors
/// When it cannot be created.
pub fn create_as<M: HasFolder>(
    all: &Path,
    _start: &StartLock,
    new: &NewFolder<'_>,
    first: M::Event,
) -> Result<Held<M>, RunsError> {
    let id = new.id.clone();
    let now = clock::now();
    let facts = decide::<M>(&M::State::default(), now, first);
    for fact in &facts {
        // Checked before anything is created.
        let bytes = encode(&mut ChainHash::default(), 1, now, fact).map_or(usize::MAX, |line| line.len());
        if bytes > FACT_BYTES_MAX {
            return Err(JournalError::TooLong { bytes }.into());
        }
    }
    let mut state = M::State::default();
    facts.iter().for_each(|fact| M::apply(&mut state, fact));
    remove_unfinished(all);
    let half = all.join(format!("{UNFINISHED}{id}"));
    let path = all.join(id.as_str());
    DirBuilder::new().mode(0o700).create(&half).map_err(at(&half))?;
    let lock = lock(&half.join(LOCK)).map_err(at(&half))?;
    let Some(lock) = lock else { return Err(RunsError::Driven { id, pid: 0 }) };
    let folder = RunFolder { id, path: path.clone() };
    if let Some(place) = M::workspace(&state) {
        write_holder(&half.join(LOCK), place, &folder.socket())?;
    }
    for (name, text) in new.files {
        let file = half.join(name);
        write_synced(&file, text.as_bytes()).map_err(at(&file))?;
    }
    let mut journal = Journal::create(&half, &format!("loop {}", new.program))?;
    let past = journal.append(now, &facts)?;
    sync_folder(&half).map_err(at(&half))?;
    fs::rename(&half, &path).map_err(at(&path))?;
    journal.moved_to(&path);
    sync_folder(all).map_err(at(all))?;
    Ok(Held { folder, journal, state, past, lock, claim: None })
}

/// Removes what a killed start or removal left. What is locked belongs to a living process and stays.
fn remove_unfinished(runs: &Path) {
    let Ok(entries) = fs::read_dir(runs) else { return };
    for entry in entries.flatten() {
        let ours = entry.file_name().as_encoded_bytes().starts_with(UNFINISHED.as_bytes());
        if ours && lock(&entry.path().join(LOCK)).is_ok_and(|lock| lock.is_some()) {
            // If this fails, the next start tries again.
            drop(fs::remove_dir_all(entry.path()));
        }
    }
}

/// All runs, in no order.
///
/// # Errors
/// When the folder cannot be read.
pub fn all(home: &Home) -> Result<Vec<RunFolder>, RunsError> {
    all_in(&home.runs())
}

/// The same for any folder of such folders.
///
/// # Errors
/// When the folder cannot be read.
pub fn all_in(folder: &Path) -> Result<Vec<RunFolder>, RunsError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(RunsError::Io { path: folder.to_owned(), source: error }),
    };
    let folder = |entry: fs::DirEntry| {
        let id = RunId::parse(entry.file_name().to_str()?).ok()?;
        Some(RunFolder { id, path: entry.path() })
    };
    Ok(entries.flatten().filter_map(folder).collect())
}

/// The run whose id has this prefix.
///
/// # Errors
/// When there is none, or more than one.
pub fn find(home: &Home, prefix: &str) -> Result<RunFolder, RunsError> {
    find_among(all(home)?, prefix)
}

/// The run or the plan whose id has this prefix. The ids of both never collide.
///
/// # Errors
/// When there is none, or more than one.
pub fn find_any(home: &Home, prefix: &str) -> Result<FoundFolder, RunsError> {
    let plans = home.plans();
    let both = all(home)?.into_iter().chain(all_in(&plans)?).collect();
    let found = find_among(both, prefix)?;
    Ok(if found.path.parent() == Some(plans.as_path()) { FoundFolder::Plan(found) } else { FoundFolder::Run(found) })
}

/// What an id names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FoundFolder {
    /// One loop.
    Run(RunFolder),
    /// Several loops for one goal.
    Plan(RunFolder),
}

fn find_among(all: Vec<RunFolder>, prefix: &str) -> Result<RunFolder, RunsError> {
    let mut found: Vec<RunFolder> = all.into_iter().filter(|run| run.id.as_str().starts_with(prefix)).collect();
    if let Some(exact) = found.iter().position(|run| run.id.as_str() == prefix) {
        return Ok(found.swap_remove(exact));
    }
    match (found.len(), prefix.is_empty()) {
        (1, false) => Ok(found.swap_remove(0)),
        (0, _) | (_, true) => Err(RunsError::Unknown(prefix.to_owned())),
        _ => {
            let mut ids: Vec<String> = found.iter().map(|run| run.id.to_string()).collect();
            ids.sort();
            ids.truncate(8);
            Err(RunsError::Ambiguous { prefix: prefix.to_owned(), ids })
        }
    }
}
