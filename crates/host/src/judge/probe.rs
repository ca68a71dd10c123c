//! A probe changes the copy of the final tree in a way that good gates must notice. What is changed is decided in core
//! (`policy/probe`); here it is read from the checkpoints and written into the copy.
//!
//! Each written file gets a time of its own, in whole seconds and after all that was there: make and cargo build again,
//! and Python, which compares seconds and sizes, does not take compiled files of another version.
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use loop_core::policy::probe::{
    Canary, CanaryRequest, ChangedFile, FileRole, Hunk, LineChange, NoCanary, NoUndo, TreeVersion, UndoPlan, UndoStep,
    canary, first_test_line, in_order, is_worth_trying, join_near, role_of, undo,
};
use loop_core::policy::protect::{FileChange, GateReads, OpportunityKind, judging_scripts_at, opportunity};
use loop_core::run::{GateIndex, HunkReport, NameList};
use loop_core::settings::GateSpec;
use loop_core::test_output::Tests;
use rustix::fs::{AtFlags, Mode, fchmod, mkdirat, renameat, statat, symlinkat, unlinkat};
use rustix::io::Errno;
use thiserror::Error;

use crate::checkpoint::diff::{Bounds, is_binary, line_changes};
use crate::checkpoint::{
    ContentSource, FileContent, Recorded, RecordedTrees, StoredEntry, StoredKind, new_part, open_folder,
};
use crate::fs::clear::remove_folder;
use crate::fs::handle::{folder_beneath, split};
use crate::gate::opportunity::{gate_texts, read_changes};

/// A longer file is one piece.
const FILE_BYTES_MAX: usize = 4 << 20;
/// No file of a probe is so far ahead of the clock.
const FUTURE_SECONDS_MAX: u64 = 3600;
/// How long the word is that names a canary.
const WORD_LETTERS: usize = 8;

/// What a probe has to work with.
#[derive(Debug, Clone, Copy)]
pub struct ProbeContext<'a> {
    /// The copy, which holds the final tree.
    pub copy: &'a Path,
    /// The tree before the first iteration.
    pub initial: &'a Recorded,
    /// The tree on which the gates passed.
    pub last: &'a Recorded,
    /// The required gates.
    pub gates: &'a [ProbeGate<'a>],
    /// The files that they use to judge.
    pub gate_files: &'a [String],
}

/// A gate, and what is known of its last run on the final tree.
#[derive(Debug, Clone, Copy)]
pub struct ProbeGate<'a> {
    /// Which one.
    pub gate: GateIndex,
    /// Its command.
    pub spec: &'a GateSpec,
    /// What its output said about tests.
    pub tests: Option<&'a Tests>,
    /// The ids of the tests that failed before the first iteration.
    pub red: &'a [String],
    /// The files of the workspace that it opened; empty where that is not known.
    pub opened: &'a [String],
}

/// Why a probe was not made.
#[derive(Debug, Error)]
pub enum ProbeError {
    /// There is no such probe for these gates and this change.
    #[error("{0}")]
    None(String),
    /// The copy or a checkpoint could not be read or written.
    #[error("the copy could not be changed: {0}")]
    Unable(#[from] io::Error),
}

impl From<NoUndo> for ProbeError {
    fn from(why: NoUndo) -> Self {
        Self::None(why.to_string())
    }
}

/// The failing tests that are in the copy now. Only their gates say something about them, and each of these must fail:
/// another gate may fail because of the style of the new lines.
#[derive(Debug, Default)]
pub struct Canaries {
    /// One for each gate that has one.
    pub placed: Vec<PlacedCanary>,
    /// The other gates.
    pub without: Vec<GateWithout>,
}

/// A failing test in the copy.
#[derive(Debug)]
pub struct PlacedCanary {
    /// The gate that must notice it.
    pub gate: GateIndex,
    /// The test.
    pub canary: Canary,
}

/// A gate without a canary.
#[derive(Debug)]
pub struct GateWithout {
    /// Which one.
    pub gate: GateIndex,
    /// Why.
    pub why: NoCanary,
}

/// A random word for the name of a canary, which no agent can know before.
///
/// # Errors
/// When the machine has no random numbers.
pub fn probe_word() -> io::Result<String> {
    let mut word = String::new();
    while word.len() < WORD_LETTERS {
        let id = crate::fs::fresh_id()?.to_string();
        let letters = id.bytes().map(|byte| char::from(b'a' + byte % 26));
        word.extend(letters.take(WORD_LETTERS - word.len()));
    }
    Ok(word)
}

/// Adds one failing test for each gate to the copy, in the way of its runner.
///
/// # Errors
/// When no gate has one, or the copy cannot be changed.
pub fn apply_canary(context: &ProbeContext<'_>, word: &str) -> Result<Canaries, ProbeError> {
    let trees = RecordedTrees::new(context.initial, context.last);
    let (initial, last) = (plain_files(context.initial), plain_files(context.last));
    let mut canaries = Canaries::default();
    let mut written: BTreeMap<String, String> = BTreeMap::new();
    for (at, gate) in context.gates.iter().enumerate() {
        let read = |version: TreeVersion, path: &str| match (version, written.get(path)) {
            (TreeVersion::Last, Some(text)) => Some(text.clone()),
            (TreeVersion::Initial | TreeVersion::Last, _) => trees.text(version, path),
        };
        // Two tests of one name in one file would be a fault of ours.
        let own = format!("{word}{}", "x".repeat(at));
        let request = CanaryRequest {
            command: &gate.spec.command,
            tests: gate.tests,
            red: gate.red,
            initial: &initial,
            last: &last,
            opened: gate.opened,
            word: &own,
            read: &read,
        };
        match canary(&request) {
            Ok(canary) => {
                written.insert(canary.path.clone(), canary.contents.clone());
                canaries.placed.push(PlacedCanary { gate: gate.gate, canary });
            }
            Err(why) => canaries.without.push(GateWithout { gate: gate.gate, why }),
        }
    }
    if canaries.placed.is_empty() {
        let why = canaries.without.first().map(|gate| gate.why.to_string());
        return Err(ProbeError::None(why.unwrap_or_else(|| "there is no gate".to_owned())));
    }
    let mut copy = ProbedCopy::open(context)?;
    for (path, text) in &written {
        let mode = trees.entry(TreeVersion::Last, path.as_bytes()).map_or(0o644, |entry| entry.mode);
        copy.write(path.as_bytes(), text.as_bytes(), mode)?;
    }
    Ok(canaries)
}

/// Sets all sources of the copy back to the initial tree; tests and what says how they are run stay as they are.
///
/// # Errors
/// When sources and tests cannot be told apart, or the copy cannot be changed.
pub fn apply_undone(context: &ProbeContext<'_>) -> Result<UndoPlan, ProbeError> {
    let trees = RecordedTrees::new(context.initial, context.last);
    let changed = trees.changed();
    let read = |version: TreeVersion, path: &str| trees.text(version, path);
    let plan = undo(&changed, &gate_files(context), &read)?;
    let mut copy = ProbedCopy::open(context)?;
    for step in &plan.steps {
        match step {
            UndoStep::Restore(path) => copy.put(path.as_bytes(), context.initial)?,
            UndoStep::Remove(path) => copy.remove_with_folders(path.as_bytes(), context.initial)?,
            UndoStep::Write { path, contents } => {
                let mode = trees.entry(TreeVersion::Initial, path.as_bytes()).map_or(0o644, |entry| entry.mode);
                copy.write(path.as_bytes(), contents.as_bytes(), mode)?;
            }
        }
    }
    Ok(plan)
}

/// Takes back one piece of the change after the other, the largest first, lets the gates run each time, and puts it
/// back. `run_gates` says whether a required gate did not pass; none means that it was stopped. The copy is the final
/// tree again afterwards.
///
/// # Errors
/// When a checkpoint cannot be read, or the copy cannot be changed.
pub fn try_hunks(
    context: &ProbeContext<'_>,
    budget: Duration,
    run_gates: &mut dyn FnMut() -> Option<bool>,
) -> io::Result<HunkReport> {
    let started = Instant::now();
    let trees = RecordedTrees::new(context.initial, context.last);
    let pieces = trees.pieces(&gate_files(context))?;
    let mut copy = ProbedCopy::open(context)?;
    let mut report = HunkReport { all: u32::try_from(pieces.len()).unwrap_or(u32::MAX), ..HunkReport::default() };
    let mut not_noticed: Vec<String> = Vec::new();
    for piece in &pieces {
        if started.elapsed() >= budget {
            break;
        }
        let path = piece.path.as_bytes();
        match &piece.lines {
            None => copy.put(path, context.initial)?,
            Some(lines) => {
                let mode = trees.entry(TreeVersion::Last, path).map_or(0o644, |entry| entry.mode);
                copy.write(path, &trees.without(path, lines)?, mode)?;
            }
        }
        let noticed = run_gates();
        copy.put(path, context.last)?;
        let Some(noticed) = noticed else { break };
        report.tried += 1;
        report.noticed += u32::from(noticed);
        if !noticed {
            not_noticed.push(piece.name());
        }
    }
    report.not_noticed = NameList::of(not_noticed.iter().map(String::as_str));
    Ok(report)
}

/// What stays with the tests: the scripts of the gates, and new files that a test runner or make reads by itself.
fn gate_files(context: &ProbeContext<'_>) -> Vec<String> {
    let trees = RecordedTrees::new(context.initial, context.last);
    let commands: Vec<String> = context.gates.iter().map(|gate| gate.spec.command.clone()).collect();
    let mut files: Vec<String> = commands.iter().flat_map(|command| judging_scripts_at(command, "")).collect();
    files.extend(context.gate_files.iter().cloned());
    // Only what the gates themselves name makes a file one of a runner.
    let reads = GateReads::of(&gate_texts(&trees, &commands, context.gate_files), &[]);
    for change in read_changes(&trees).into_iter().filter(|change| change.what == FileChange::New) {
        let by_name = opportunity(&change.path, FileChange::New).filter(|_| !change.path.ends_with("build.rs"));
        if by_name.or_else(|| reads.kind(&change.borrowed(), &|_, _| None)) == Some(OpportunityKind::NewRunnerFile) {
            files.push(change.path);
        }
    }
    files
}

/// The plain files of a tree.
fn plain_files(recorded: &Recorded) -> Vec<String> {
    let files = recorded.checkpoint.names.iter().filter(|(_, entry)| matches!(entry.what, StoredKind::File(_)));
    files.filter_map(|(path, _)| String::from_utf8(path.clone()).ok()).collect()
}

impl RecordedTrees<'_> {
    /// The pieces of all sources, the largest first.
    fn pieces(&self, gate_files: &[String]) -> io::Result<Vec<Hunk>> {
        let mut pieces = Vec::new();
        for file in self.changed() {
            if role_of(&file.path, gate_files) == FileRole::Source {
                self.pieces_of(&file, &mut pieces)?;
            }
        }
        in_order(&mut pieces);
        Ok(pieces)
    }

    fn pieces_of(&self, file: &ChangedFile, pieces: &mut Vec<Hunk>) -> io::Result<()> {
        let path = file.path.as_bytes();
        let text = |version| -> io::Result<Option<Vec<u8>>> {
            Ok(self.bytes(version, path, FILE_BYTES_MAX)?.filter(|bytes| !is_binary(bytes)))
        };
        let (before, after) = (text(TreeVersion::Initial)?, text(TreeVersion::Last)?);
        let changes = match (&before, &after) {
            (Some(before), Some(after)) => line_changes(before, after, Bounds::default().file_steps),
            (Some(_), None) | (None, Some(_)) | (None, None) => None,
        };
        let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
        let (old, new) = (lines_of(&before), lines_of(&after));
        let Some(changes) = changes else {
            let all: Vec<String> =
                old.iter().chain(&new).map(|line| String::from_utf8_lossy(line).into_owned()).collect();
            let is_text = !all.is_empty();
            if !is_text && self.is_empty_file(path)
                || is_text && !is_worth_trying(&file.path, all.iter().map(String::as_str))
            {
                return Ok(());
            }
            let size = u64::try_from(all.len()).unwrap_or(u64::MAX).max(1);
            pieces.push(Hunk { path: file.path.clone(), lines: None, size });
            return Ok(());
        };
        let tests = first_test_line(&file.path, &String::from_utf8_lossy(&after)).unwrap_or(u32::MAX);
        for change in join_near(&changes) {
            let lines: Vec<String> = part(&old, &change.before)
                .iter()
                .chain(part(&new, &change.after))
                .map(|line| String::from_utf8_lossy(line).into_owned())
                .collect();
            if change.after.start >= tests || !is_worth_trying(&file.path, lines.iter().map(String::as_str)) {
                continue;
            }
            let size = u64::try_from(lines.len()).unwrap_or(u64::MAX);
            pieces.push(Hunk { path: file.path.clone(), lines: Some(change), size });
        }
        Ok(())
    }

    /// Whether both versions have nothing in them: a mark such as `__init__.py`.
    fn is_empty_file(&self, path: &[u8]) -> bool {
        let is_empty = |version| self.bytes(version, path, 0).is_ok_and(|bytes| bytes.is_some());
        let is_file = |version| matches!(self.entry(version, path).map(|entry| &entry.what), Some(StoredKind::File(_)));
        [TreeVersion::Initial, TreeVersion::Last].into_iter().filter(|version| is_file(*version)).all(is_empty)
    }

    /// The final file with these lines as they were.
    fn without(&self, path: &[u8], lines: &LineChange) -> io::Result<Vec<u8>> {
        let read = |version| {
            let bytes = self.bytes(version, path, FILE_BYTES_MAX)?;
            bytes.ok_or_else(|| io::Error::other("a file is not what it was"))
        };
        let (before, after) = (read(TreeVersion::Initial)?, read(TreeVersion::Last)?);
        let (old, new) = (lines_of(&before), lines_of(&after));
        let head = part(&new, &(0..lines.after.start));
        let tail = part(&new, &(lines.after.end..u32::MAX));
        Ok([head, part(&old, &lines.before), tail].concat().concat())
    }
}

/// The lines, each with its end.
fn lines_of(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').collect()
}

fn part<'a, 'b>(lines: &'a [&'b [u8]], range: &std::ops::Range<u32>) -> &'a [&'b [u8]] {
    let index = |at: u32| usize::try_from(at).unwrap_or(usize::MAX).min(lines.len());
    lines.get(index(range.start)..index(range.end)).unwrap_or_default()
}

/// The copy, to write into: by handle, through no link.
struct ProbedCopy {
    folder: OwnedFd,
    /// The time of the last written file, in seconds.
    written_at: u64,
}

impl ProbedCopy {
    fn open(context: &ProbeContext<'_>) -> io::Result<Self> {
        Ok(Self { folder: open_folder(context.copy)?, written_at: 0 })
    }

    /// A whole second after now, after the one before, and after that of the file which is there.
    fn next_time(&mut self, above: &OwnedFd, name: &[u8]) -> SystemTime {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        let there = statat(above, name, AtFlags::SYMLINK_NOFOLLOW).ok();
        let there = there.and_then(|stat| u64::try_from(stat.st_mtime).ok()).unwrap_or(0);
        // A file with a time far ahead does not move all others there.
        let there = if there > now + FUTURE_SECONDS_MAX { 0 } else { there };
        self.written_at = now.max(self.written_at).max(there) + 1;
        SystemTime::UNIX_EPOCH + Duration::from_secs(self.written_at)
    }

    fn write(&mut self, path: &[u8], bytes: &[u8], mode: u32) -> io::Result<()> {
        self.fill(path, mode, &mut |file| file.write_all(bytes))
    }

    /// Makes a name what it is in a checkpoint.
    fn put(&mut self, path: &[u8], recorded: &Recorded) -> io::Result<()> {
        match recorded.checkpoint.names.get(path) {
            None | Some(StoredEntry { what: StoredKind::Folder, .. }) => self.remove(path),
            Some(StoredEntry { what: StoredKind::Link(leads), .. }) => {
                let above = self.above(path)?;
                clear(&above, split(path).1)?;
                symlinkat(leads.as_slice(), &above, split(path).1).map_err(Into::into)
            }
            Some(StoredEntry { what: StoredKind::File(id), mode }) => {
                let source: &dyn FileContent = match recorded.source() {
                    ContentSource::Store(store) => store,
                    ContentSource::Snapshot(snapshot) => snapshot,
                };
                self.fill(path, *mode, &mut |file| source.write(path, id, file))
            }
        }
    }

    fn fill(&mut self, path: &[u8], mode: u32, write: &mut dyn FnMut(&mut File) -> io::Result<()>) -> io::Result<()> {
        let above = self.above(path)?;
        let name = split(path).1;
        let time = self.next_time(&above, name);
        let (part, mut file) = new_part(&above)?;
        let written = write(&mut file).and_then(|()| {
            fchmod(&file, Mode::from_raw_mode(mode))?;
            file.set_modified(time)?;
            clear(&above, name)?;
            renameat(&above, part.as_slice(), &above, name).map_err(Into::into)
        });
        if written.is_err() {
            unlinkat(&above, part.as_slice(), AtFlags::empty()).ok();
        }
        written
    }

    fn remove(&mut self, path: &[u8]) -> io::Result<()> {
        match folder_beneath(&self.folder, split(path).0) {
            Ok(above) => clear(&above, split(path).1),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The same, and the folders that are empty then and were not there at the start.
    fn remove_with_folders(&mut self, path: &[u8], initial: &Recorded) -> io::Result<()> {
        self.remove(path)?;
        let mut at = split(path).0;
        while !at.is_empty() && !initial.checkpoint.names.contains_key(at) {
            let Ok(above) = folder_beneath(&self.folder, split(at).0) else { break };
            // A folder of compiled files alone would still be a package for Python.
            if let Ok(inside) = folder_beneath(&self.folder, at) {
                clear(&inside, b"__pycache__")?;
            }
            if unlinkat(&above, split(at).1, AtFlags::REMOVEDIR).is_err() {
                break;
            }
            at = split(at).0;
        }
        Ok(())
    }

    /// The folder of a name, made where it is not there. What is there instead of a folder goes.
    fn above(&self, path: &[u8]) -> io::Result<OwnedFd> {
        let mut folder = folder_beneath(&self.folder, b"")?;
        for name in split(path).0.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            if is_other_than_folder(&folder, name)? {
                unlinkat(&folder, name, AtFlags::empty())?;
            }
            match mkdirat(&folder, name, Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            folder = folder_beneath(&folder, name)?;
        }
        Ok(folder)
    }
}

fn is_other_than_folder(folder: &OwnedFd, name: &[u8]) -> io::Result<bool> {
    match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(stat.st_mode & 0o170_000 != 0o040_000),
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Removes whatever has this name.
fn clear(folder: &OwnedFd, name: &[u8]) -> io::Result<()> {
    match unlinkat(folder, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(Errno::ISDIR) => remove_folder(std::os::fd::AsFd::as_fd(folder), name),
        Err(error) => Err(error.into()),
    }
}
