//! What differs between two checkpoints: which paths and how, how many lines, and a patch that `git apply` accepts.
//! No diff program is run. All work has limits, and the result says what was left out.
//!
//! | file | what it does | what it does not do |
//! |---|---|---|
//! | `walk` | which names differ | read contents |
//! | `rename` | finds renames, with git's rules | compare more pairs than the limit |
//! | `lines` | line counts and hunks, with git's algorithm | start a comparison that could take too long |
//! | `patch` | the text of a patch, in pieces | |
mod lines;
mod patch;
mod rename;
mod walk;

use std::io::{self, Write};

use loop_core::run::Changes;
use loop_core::text;

pub(crate) use lines::{can_compare, is_binary, line_changes};
pub use patch::{PatchPiece, patch, patch_of_texts, quoted};

use super::git::between::Differences;
use super::git::object::{Id, ObjectKind};
use super::git::store::{Store, StoredEntry, StoredKind};

/// How much is done at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// A file longer than this is named, not compared.
    pub file_bytes: usize,
    /// So much is read in all; what comes after it is named, not compared.
    pub all_bytes: u64,
    /// The most steps that comparing two files may need, which is known beforehand. About 5 ns each.
    pub file_steps: u64,
    /// So many steps are made in all.
    pub all_steps: u64,
    /// Renames are not searched among more than this many pairs of a file that went and one that came.
    pub rename_pairs: usize,
    /// Nor when these are so many bytes.
    pub rename_bytes: u64,
    /// Nor when their lines are this many comparisons.
    pub rename_steps: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            file_bytes: 16 << 20,
            all_bytes: 512 << 20,
            file_steps: 200_000_000,
            all_steps: 1_000_000_000,
            rename_pairs: 1_000_000,
            rename_bytes: 256 << 20,
            rename_steps: 1_000_000_000,
        }
    }
}

/// How alike two files must be for one to be the other renamed, in percent: git's default.
pub const SIMILARITY_MIN: u8 = 50;
/// How many names [`Difference::names`] gives at most, and how many bytes they have together.
pub const NAMES_MAX: usize = 100;
/// So that they fit into a fact.
pub const NAMES_BYTES_MAX: usize = 8 * 1024;

/// A log of a nested repository that is longer is not read.
const LOG_BYTES_MAX: usize = 1 << 20;

/// Where the bytes of files come from. The ids may be any that are equal when the bytes are.
pub trait ContentReader {
    /// The bytes of a file, or where a link leads. Of more than `bytes_max` only the beginning.
    ///
    /// # Errors
    /// When it cannot be read.
    fn read(&self, id: &Id, bytes_max: usize) -> io::Result<Content>;
}

/// What was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// All of it.
    Whole(Vec<u8>),
    /// The beginning of what is too long.
    Beginning(Vec<u8>),
}

impl Content {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Whole(bytes) | Self::Beginning(bytes) => bytes,
        }
    }
}

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A file.
    File,
    /// A link.
    Link,
    /// A folder.
    Folder,
}

impl FileKind {
    /// For people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Link => "link",
            Self::Folder => "folder",
        }
    }
}

/// A name before or after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Side {
    /// What it is.
    pub kind: FileKind,
    /// Its permissions; only as good as git knows them where both sides have the same.
    pub mode: u32,
    /// Its content, or where it leads; none for a folder.
    pub id: Option<Id>,
}

impl Side {
    /// What git calls its mode.
    #[must_use]
    pub fn git_mode(&self) -> u32 {
        match self.kind {
            FileKind::Link => 0o120_000,
            FileKind::Folder => 0o40_000,
            FileKind::File if self.mode & 0o100 == 0 => 0o100_644,
            FileKind::File => 0o100_755,
        }
    }

    fn is_folder(&self) -> bool {
        self.kind == FileKind::Folder
    }
}

/// One name that is not the same on both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// From the workspace.
    pub path: Vec<u8>,
    /// What it was.
    pub from: Option<Side>,
    /// What it is.
    pub to: Option<Side>,
}

/// What happened to a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeKind {
    /// It was not there.
    Made,
    /// It is gone.
    Removed,
    /// Another content, or a link that leads elsewhere; perhaps other permissions too.
    Changed,
    /// Other permissions only.
    Mode,
    /// A file became a link or a folder, or the reverse.
    Kind,
    /// It had another name.
    Renamed {
        /// The name it had.
        from: Vec<u8>,
        /// How much of it is the same, in percent.
        similarity: u8,
    },
}

impl ChangeKind {
    /// For programs and people.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Made => "made",
            Self::Removed => "removed",
            Self::Changed => "changed",
            Self::Mode => "mode",
            Self::Kind => "kind",
            Self::Renamed { .. } => "renamed",
        }
    }
}

/// How many lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    /// So many came and so many went.
    Counted {
        /// Came.
        insertions: u64,
        /// Went.
        deletions: u64,
    },
    /// It is no text: a NUL in its first 8000 bytes, as git sees it.
    Binary,
    /// It is too large to compare line by line, past one of the [`Bounds`]. Counts as a file without lines.
    TooLarge,
}

/// A path with what happened to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The path, its new one if it was renamed.
    pub path: Vec<u8>,
    /// What happened.
    pub what: ChangeKind,
    /// What it was.
    pub from: Option<Side>,
    /// What it is.
    pub to: Option<Side>,
    /// How many lines.
    pub lines: Lines,
}

impl Change {
    /// Whether it concerns a file or a link; folders are named but not counted, as git does.
    #[must_use]
    pub fn is_of_files(&self) -> bool {
        [self.from, self.to].into_iter().flatten().any(|side| !side.is_folder())
    }

    /// The name it had.
    #[must_use]
    pub fn old_path(&self) -> &[u8] {
        if let ChangeKind::Renamed { from, .. } = &self.what { from } else { &self.path }
    }
}

/// All that differs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Difference {
    /// Sorted by path.
    pub changes: Vec<Change>,
    /// Names that became one file.
    pub joined: Vec<Vec<Vec<u8>>>,
    /// Names that are not one file any more.
    pub parted: Vec<Vec<Vec<u8>>>,
    /// Renames by similarity were not searched: too many files came and went.
    pub renames_given_up: bool,
    /// Nested repositories whose own files (`.git`) differ. These are kept, and are neither counted nor compared.
    pub nested: Vec<NestedRepository>,
}

/// A nested repository that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NestedRepository {
    /// The folder that it is in.
    pub path: Vec<u8>,
    /// How many commits were made in it, where its log tells.
    pub commits: Option<usize>,
}

impl NestedRepository {
    /// `libs/a: 1 commit`.
    #[must_use]
    pub fn words(&self) -> String {
        let what = match self.commits {
            Some(1) => "1 commit".to_owned(),
            Some(commits) if commits > 1 => format!("{commits} commits"),
            Some(_) | None => "its repository changed".to_owned(),
        };
        format!("{}: {what}", text::escape_path(&self.path))
    }
}

impl Difference {
    /// Whether nothing differs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.joined.is_empty() && self.parted.is_empty() && self.nested.is_empty()
    }

    /// The sums. A file that is not text, or is too large, counts as a file without lines.
    #[must_use]
    pub fn totals(&self) -> Changes {
        let mut totals = Changes::default();
        for change in self.changes.iter().filter(|change| change.is_of_files()) {
            totals.files = totals.files.saturating_add(1);
            if let Lines::Counted { insertions, deletions } = change.lines {
                totals.insertions += insertions;
                totals.deletions += deletions;
            }
        }
        totals
    }

    /// The first names of files, so many as fit into a fact.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let mut room = NAMES_BYTES_MAX;
        let names = self.changes.iter().filter(|change| change.is_of_files());
        let names = names.map(|change| text::escape_path(&change.path)).take(NAMES_MAX);
        names
            .take_while(|name| {
                let left = room.checked_sub(name.len());
                room = left.unwrap_or(0);
                left.is_some()
            })
            .collect()
    }
}

/// The commits of two checkpoints. From none means from nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommitPair {
    /// The one before.
    pub from: Option<Id>,
    /// The one after.
    pub to: Id,
}

/// What differs between two checkpoints. `contents` reads files: the store itself, or the snapshots.
///
/// # Errors
/// When something of them is missing or damaged.
pub fn changes(
    store: &Store,
    contents: &dyn ContentReader,
    commits: CommitPair,
    bounds: &Bounds,
) -> io::Result<Difference> {
    let walked = walk::walk(store, commits.from, commits.to)?;
    let mut difference = weigh(walked.pairs, contents, bounds)?;
    difference.joined = walked.joined;
    difference.parted = walked.parted;
    for nested in walked.nested {
        let (from, to) = nested.log;
        let commits = commits_between(from, to, contents);
        difference.nested.push(NestedRepository { path: nested.path, commits });
    }
    Ok(difference)
}

/// How many commits the log of a HEAD has gained; none where it cannot be told.
fn commits_between(from: Option<Side>, to: Option<Side>, contents: &dyn ContentReader) -> Option<usize> {
    let read = |side: Option<Side>| match side.and_then(|side| side.id) {
        Some(id) => match contents.read(&id, LOG_BYTES_MAX).ok()? {
            Content::Whole(bytes) => Some(bytes),
            Content::Beginning(_) => None,
        },
        None => Some(Vec::new()),
    };
    let (before, after) = (read(from)?, read(Some(to?))?);
    let new = after.strip_prefix(before.as_slice())?;
    let is_commit = |line: &&[u8]| {
        let message = line.iter().position(|byte| *byte == b'\t').and_then(|at| line.get(at + 1..));
        message.is_some_and(|message| message.starts_with(b"commit"))
    };
    Some(new.split(|byte| *byte == b'\n').filter(is_commit).count())
}

/// Finds renames and counts lines in names that are known to differ, each once.
///
/// # Errors
/// When a content cannot be read.
pub fn weigh(mut pairs: Vec<Pair>, contents: &dyn ContentReader, bounds: &Bounds) -> io::Result<Difference> {
    pairs.sort_by(|one, other| one.path.cmp(&other.path));
    let mut reader = Reader { contents, bounds: *bounds, bytes_left: bounds.all_bytes, steps_left: bounds.all_steps };
    let found = rename::find(&pairs, &reader)?;
    let mut changes = Vec::new();
    for (at, pair) in pairs.iter().enumerate() {
        let moved_away = found.gone.contains(&at);
        if moved_away && (pair.to.is_none() || has_below(&pairs, &pair.path)) {
            continue;
        }
        let source = found.renamed.get(&at).and_then(|(source, score)| Some((pairs.get(*source)?, *score)));
        let own = pair.from.filter(|_| !moved_away);
        let from = source.map_or(own, |(source, _)| source.from);
        let what = match (from, pair.to, source) {
            (_, _, Some((source, similarity))) => ChangeKind::Renamed { from: source.path.clone(), similarity },
            (None, _, None) => ChangeKind::Made,
            (_, None, None) => ChangeKind::Removed,
            (Some(from), Some(to), None) if from.kind != to.kind => ChangeKind::Kind,
            (Some(from), Some(to), None) if from.id == to.id => ChangeKind::Mode,
            (Some(_), Some(_), None) => ChangeKind::Changed,
        };
        let lines = reader.lines(from, pair.to)?;
        changes.push(Change { path: pair.path.clone(), what, from, to: pair.to, lines });
    }
    Ok(Difference { changes, renames_given_up: found.given_up, ..Difference::default() })
}

/// A file or link that has another name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rename {
    pub(crate) from: Vec<u8>,
    pub(crate) to: Vec<u8>,
}

/// The renames among differences. Empty files are not paired: that they are the same says nothing. None where there
/// are too many to search.
///
/// # Errors
/// When a content cannot be read.
pub(crate) fn renames(differ: &Differences, contents: &dyn ContentReader, bounds: &Bounds) -> io::Result<Vec<Rename>> {
    let nothing = Id::of(ObjectKind::Blob, b"");
    let side = |entry: &Option<StoredEntry>| {
        entry.as_ref().map(walk::side_of).filter(|side| side.id.is_some_and(|id| id != nothing))
    };
    let mut pairs = Vec::new();
    for (path, (from, to)) in differ {
        let pair = Pair { path: path.clone(), from: side(from), to: side(to) };
        // A name that is there on both sides is not a candidate, whatever it is.
        let is_file =
            |entry: &Option<StoredEntry>| entry.as_ref().is_some_and(|entry| entry.what != StoredKind::Folder);
        if is_file(from) != is_file(to) {
            pairs.push(pair);
        }
    }
    let reader = Reader { contents, bounds: *bounds, bytes_left: bounds.all_bytes, steps_left: bounds.all_steps };
    let found = rename::find(&pairs, &reader)?;
    let path = |at: usize| pairs.get(at).map(|pair| pair.path.clone());
    let each =
        found.renamed.into_iter().filter_map(|(to, (from, _))| Some(Rename { from: path(from)?, to: path(to)? }));
    Ok(each.collect())
}

/// Whether something in a folder is among sorted pairs.
fn has_below(pairs: &[Pair], folder: &[u8]) -> bool {
    let inside = [folder, b"/"].concat();
    let first = pairs.partition_point(|pair| pair.path < inside);
    pairs.get(first).is_some_and(|pair| pair.path.starts_with(&inside))
}

/// Reads within bounds.
struct Reader<'a> {
    contents: &'a dyn ContentReader,
    bounds: Bounds,
    bytes_left: u64,
    steps_left: u64,
}

impl Reader<'_> {
    /// A side for a comparison. Of a file that is not text, only as much is read as shows that.
    fn side(&mut self, side: Option<Side>) -> io::Result<Content> {
        let Some(id) = side.and_then(|side| side.id) else { return Ok(Content::Whole(Vec::new())) };
        let mut content = self.contents.read(&id, lines::BINARY_CHECK_BYTES.min(self.bounds.file_bytes))?;
        let room = usize::try_from(self.bytes_left).unwrap_or(usize::MAX).min(self.bounds.file_bytes);
        if matches!(&content, Content::Beginning(bytes) if !lines::is_binary(bytes) && bytes.len() < room) {
            content = self.contents.read(&id, room)?;
        }
        self.bytes_left = self.bytes_left.saturating_sub(u64::try_from(content.bytes().len()).unwrap_or(u64::MAX));
        Ok(content)
    }

    fn lines(&mut self, from: Option<Side>, to: Option<Side>) -> io::Result<Lines> {
        let ids = (from.and_then(|side| side.id), to.and_then(|side| side.id));
        if let (Some(id), true) = (ids.1, ids.0 == ids.1) {
            let beginning = self.contents.read(&id, lines::BINARY_CHECK_BYTES)?;
            let same = Lines::Counted { insertions: 0, deletions: 0 };
            return Ok(if lines::is_binary(beginning.bytes()) { Lines::Binary } else { same });
        }
        let (before, after) = (self.side(from)?, self.side(to)?);
        if lines::is_binary(before.bytes()) || lines::is_binary(after.bytes()) {
            return Ok(Lines::Binary);
        }
        let (Content::Whole(before), Content::Whole(after)) = (before, after) else { return Ok(Lines::TooLarge) };
        let steps_max = self.bounds.file_steps.min(self.steps_left);
        let Some(counted) = lines::count(&before, &after, steps_max) else { return Ok(Lines::TooLarge) };
        self.steps_left = self.steps_left.saturating_sub(counted.steps);
        Ok(Lines::Counted { insertions: counted.insertions, deletions: counted.deletions })
    }
}

impl ContentReader for Store {
    fn read(&self, id: &Id, bytes_max: usize) -> io::Result<Content> {
        let mut bounded = Bounded { bytes: Vec::new(), bytes_max, full: false };
        match self.copy(id, &mut bounded) {
            Ok(ObjectKind::Blob) => Ok(Content::Whole(bounded.bytes)),
            Ok(ObjectKind::Commit | ObjectKind::Tree) => Err(io::Error::other(format!("object {id} is not a file"))),
            Err(_) if bounded.full => Ok(Content::Beginning(bounded.bytes)),
            Err(error) => Err(error),
        }
    }
}

/// Takes so much and no more; the refusal ends the reading.
struct Bounded {
    bytes: Vec<u8>,
    bytes_max: usize,
    full: bool,
}

impl Write for Bounded {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let room = self.bytes_max.saturating_sub(self.bytes.len());
        self.bytes.extend_from_slice(piece.get(..room).unwrap_or(piece));
        if piece.len() > room {
            self.full = true;
            return Err(io::Error::other("longer than is wanted"));
        }
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
