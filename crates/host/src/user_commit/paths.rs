//! Which paths a commit has: those that the loop changed, that are still as they were judged, and that git would commit.
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use loop_core::text;

use super::LeftPath;
use super::few;
use super::git::GitProgram;
use super::rules::RepositoryPlace;
use crate::checkpoint::diff::{Bounds, FileKind, Side};
use crate::checkpoint::user_git::clean::CleanGit;
use crate::checkpoint::{Checkpoint, CheckpointContext, Comparison, Recorded, workspace_now};
use crate::paths::Home;
use crate::refusal::LaunchRefusal;

/// A longer content is compared by its hash only.
const CONTENT_BYTES_MAX: usize = 16 << 20;

/// A path that the loop changed and that git would commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TouchedPath {
    /// Below the workspace.
    pub(super) path: Vec<u8>,
    /// Git does not know it yet.
    pub(super) is_untracked: bool,
    /// At the start it was not as in the commit that was checked out.
    pub(super) had_edits: bool,
}

/// What was found.
#[derive(Debug, Default)]
pub(super) struct FoundPaths {
    pub(super) touched: Vec<TouchedPath>,
    pub(super) left: Vec<LeftPath>,
}

fn unreadable(error: &io::Error) -> LaunchRefusal {
    LaunchRefusal::unable("nothing can be committed")
        .because(format!("the checkpoints of the loop cannot be read: {error}"))
        .hint("commit it by hand: git add -p")
}

/// The two checkpoints between which the work is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Judged<'a> {
    /// Whose they are: a loop or a plan.
    pub(super) what: &'a str,
    pub(super) from: &'a str,
    /// The state that was judged.
    pub(super) to: &'a str,
}

/// Finds them.
pub(super) fn find(
    git: &GitProgram,
    place: &RepositoryPlace,
    context: &CheckpointContext,
    judged: &Judged<'_>,
    home: &Home,
) -> Result<FoundPaths, LaunchRefusal> {
    let comparison = Comparison::open(context, judged.from, judged.to).map_err(|error| unreadable(&error))?;
    let difference = comparison.changes(&Bounds::default()).map_err(|error| unreadable(&error))?;
    // Each path with what it was at the start.
    let mut before: BTreeMap<Vec<u8>, Option<Side>> = BTreeMap::new();
    for change in difference.changes.iter().filter(|change| change.is_of_files()) {
        let old = change.old_path();
        if old != change.path {
            before.insert(change.path.clone(), None);
        }
        before.insert(old.to_vec(), change.from);
    }
    check_as_judged(context, judged, &before, home)?;
    let statuses = statuses(git, place)?;
    let at_start = StartCommit::read(git, place, context, &comparison)?;
    let mut found = FoundPaths::default();
    let mut rest = Vec::new();
    for (path, side) in &before {
        let Some(status) = statuses.get(path) else {
            rest.push(path.clone());
            continue;
        };
        let (is_untracked, had_edits) = (status == b"??", at_start.had_edits(path, *side)?);
        found.touched.push(TouchedPath { path: path.clone(), is_untracked, had_edits });
    }
    let ignored = ignored(git, &rest)?;
    for path in rest {
        let why = if is_nested(context, &path) {
            "it is in a repository of its own"
        } else if ignored.contains(&path) {
            "git ignores it"
        } else {
            continue; // It is as in HEAD: the agent committed it, or undid its own change.
        };
        found.left.push(LeftPath { path: text::escape_path(&path), why });
    }
    Ok(found)
}

/// Refuses where a path is not as it was judged any more.
fn check_as_judged(
    context: &CheckpointContext,
    judged: &Judged<'_>,
    before: &BTreeMap<Vec<u8>, Option<Side>>,
    home: &Home,
) -> Result<(), LaunchRefusal> {
    let recorded = Recorded::open(context, judged.to).map_err(|error| unreadable(&error))?;
    let name = crate::fs::fresh_id().map_err(|error| unreadable(&error))?;
    let scratch = home.copies().join(format!("commit-{name}"));
    let now = workspace_now(context, &recorded.checkpoint, &scratch);
    std::fs::remove_dir_all(&scratch).ok();
    let now: Checkpoint = now.map_err(|error| unreadable(&error))?;
    let then = &recorded.checkpoint.names;
    let is_other = |path: &&Vec<u8>| then.get(*path).map(|entry| &entry.what) != now.names.get(*path).map(|e| &e.what);
    let other: Vec<String> = before.keys().filter(is_other).map(|path| text::escape_path(path)).collect();
    if other.is_empty() {
        return Ok(());
    }
    let (run, Judged { what, to, .. }) = (&context.run, judged);
    Err(LaunchRefusal::wrong(format!("{what} {run} is not committed"))
        .because(format!("files are not as they were judged any more: {}", few(&other)))
        .hint(format!("what was judged: loop rollback {run} {to} && loop commit {run}"))
        .hint("or commit by hand what is there now: git add -p"))
}

/// What git says about each path of the workspace that is not as in HEAD.
fn statuses(git: &GitProgram, place: &RepositoryPlace) -> Result<BTreeMap<Vec<u8>, Vec<u8>>, LaunchRefusal> {
    let words = ["status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--", "."];
    let answer = git.ask(&words)?;
    if !answer.succeeded {
        return Err(LaunchRefusal::unable("nothing can be committed").because(answer.message).hint("git status"));
    }
    let each = |line: &[u8]| {
        let (status, path) = (line.get(..2)?, line.get(3..)?.strip_prefix(&place.prefix[..])?);
        Some((path.to_vec(), status.to_vec()))
    };
    Ok(answer.pieces().filter_map(each).collect())
}

fn ignored(git: &GitProgram, paths: &[Vec<u8>]) -> Result<BTreeSet<Vec<u8>>, LaunchRefusal> {
    if paths.is_empty() {
        return Ok(BTreeSet::new());
    }
    let input: Vec<u8> = paths.iter().flat_map(|path| [path, &b"\0"[..]].concat()).collect();
    let answer = git.ask_about(&["check-ignore", "-z", "--stdin"], &input)?;
    Ok(answer.pieces().map(<[u8]>::to_vec).collect())
}

/// Whether a folder above it, below the workspace, is a repository.
fn is_nested(context: &CheckpointContext, path: &[u8]) -> bool {
    let path = Path::new(OsStr::from_bytes(path));
    let above = path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
    above.into_iter().any(|above| context.workspace.join(above).join(".git").symlink_metadata().is_ok())
}

/// The commit that was checked out at the start, to see what had edits then.
struct StartCommit<'a> {
    git: &'a GitProgram,
    comparison: &'a Comparison,
    /// Mode and object of each path below the workspace.
    entries: BTreeMap<Vec<u8>, (String, String)>,
}

impl<'a> StartCommit<'a> {
    fn read(
        git: &'a GitProgram,
        place: &RepositoryPlace,
        context: &CheckpointContext,
        comparison: &'a Comparison,
    ) -> Result<Self, LaunchRefusal> {
        // A repository above the workspace is not saved at the start: then HEAD of now counts.
        let start = CleanGit::of(context).map_or(place.has_commit.then(|| "HEAD".to_owned()), |saved| saved.head());
        let mut entries = BTreeMap::new();
        if let Some(start) = start {
            let answer = git.ask(&["ls-tree", "-r", "-z", &start])?;
            for line in answer.pieces() {
                let Some(tab) = line.iter().position(|byte| *byte == b'\t') else { continue };
                let (about, path) = (String::from_utf8_lossy(&line[..tab]), line[tab + 1..].to_vec());
                let mut words = about.split(' ');
                let (mode, id) = (words.next().unwrap_or_default(), words.nth(1).unwrap_or_default());
                entries.insert(path, (mode.to_owned(), id.to_owned()));
            }
        }
        Ok(Self { git, comparison, entries })
    }

    /// Whether a path was not as in this commit at the start. Line ends do not count: git can convert them.
    fn had_edits(&self, path: &[u8], side: Option<Side>) -> Result<bool, LaunchRefusal> {
        let side = side.filter(|side| side.kind != FileKind::Folder);
        let (side, (mode, id)) = match (side, self.entries.get(path)) {
            (None, None) => return Ok(false),
            (Some(side), Some(entry)) => (side, entry),
            (Some(_), None) | (None, Some(_)) => return Ok(true),
        };
        if *mode != format!("{:06o}", side.git_mode()) {
            return Ok(true);
        }
        if side.id.is_some_and(|own| own.to_string() == *id) {
            return Ok(false);
        }
        let Some(ours) = self.comparison.bytes(&side, CONTENT_BYTES_MAX) else { return Ok(true) };
        let theirs = self.git.ask(&["cat-file", "blob", id])?;
        let plain = |bytes: &[u8]| bytes.iter().copied().filter(|byte| *byte != b'\r').collect::<Vec<u8>>();
        Ok(plain(&ours) != plain(&theirs.stdout))
    }
}
