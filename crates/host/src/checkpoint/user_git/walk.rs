//! Which objects are saved: everything that can be reached from the user's refs, but not from refs of a remote.
//! Commits are visited by date, the newest first, like git's own `rev-list`, until only those of the remotes are
//! left: so a large fetched history is not read as a whole. Where dates are wrong, or a file was moved, too much is
//! saved rather than too little.
use std::collections::{BTreeSet, BinaryHeap, HashMap, HashSet};
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::index::COMMIT_MODE;
use super::objects::{HELD_BYTES_MAX, Objects};
use super::packs::GitObjectKind;
use crate::checkpoint::git::object::{FOLDER, Id, TreeEntry, read_tree};

/// A tag may name a tag; not without end.
const TAGS_MAX: usize = 16;
/// So many folders are remembered as they were read.
const TREES_HELD_MAX: usize = 20_000;
/// So many ids of missing objects are remembered.
const MISSING_MAX: usize = 1000;

/// How much is saved of a repository at most. Past one of these no objects are saved at all, and that is reported.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Objects that are visited or saved.
    pub objects: usize,
    /// Bytes of the pack.
    pub bytes: u64,
    /// Time for all of it.
    pub time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { objects: 5_000_000, bytes: 4 * 1024 * 1024 * 1024, time: Duration::from_secs(120) }
    }
}

/// What is to be saved.
#[derive(Debug, Default)]
pub(super) struct ObjectsToSave {
    /// In the order in which they are written.
    pub(super) ids: Vec<Id>,
    pub(super) known: HashSet<Id>,
    /// Commits of the remotes on which the others lean.
    pub(super) leans_on: BTreeSet<Id>,
    /// Objects that are named but not there (a shallow or partial clone), or damaged.
    pub(super) missing: BTreeSet<Id>,
    /// How many objects were read to know this.
    pub(super) gone_through: usize,
}

impl ObjectsToSave {
    pub(super) fn add(&mut self, id: Id) -> bool {
        let fresh = self.known.insert(id);
        if fresh {
            self.ids.push(id);
        }
        fresh
    }

    pub(super) fn miss(&mut self, id: Id) {
        if self.missing.len() < MISSING_MAX {
            self.missing.insert(id);
        }
    }
}

/// Where the walk begins.
#[derive(Debug, Default)]
pub(super) struct Tips {
    /// What the user has: an object that is not there is reported.
    pub(super) ours: BTreeSet<Id>,
    /// What only logs remember: git may have thrown it away.
    pub(super) remembered: BTreeSet<Id>,
    /// What remotes are known to have.
    pub(super) theirs: BTreeSet<Id>,
    /// Commits whose parents were never fetched.
    pub(super) shallow: HashSet<Id>,
}

#[derive(Debug)]
struct Commit {
    tree: Id,
    parents: Vec<Id>,
    date: i64,
    theirs: bool,
    waits: bool,
}

/// A walk in progress.
pub(super) struct Walk<'a> {
    objects: &'a mut Objects,
    limits: Limits,
    began: Instant,
    commits: HashMap<Id, Commit>,
    queue: BinaryHeap<(i64, Id)>,
    /// How many in the queue are the user's.
    ours_wait: usize,
    /// What the user's refs name, behind their tags.
    ends: BTreeSet<Id>,
    read: usize,
    trees: HashMap<Id, Rc<Vec<TreeEntry>>>,
    pub(super) wanted: ObjectsToSave,
}

/// A limit was passed: which.
pub(super) type Stopped = String;

impl<'a> Walk<'a> {
    pub(super) fn new(objects: &'a mut Objects, limits: Limits, began: Instant) -> Self {
        let wanted = ObjectsToSave::default();
        let (commits, queue, trees) = (HashMap::new(), BinaryHeap::new(), HashMap::new());
        let ends = BTreeSet::new();
        Self { objects, limits, began, commits, queue, ours_wait: 0, ends, read: 0, trees, wanted }
    }

    pub(super) fn done(self) -> ObjectsToSave {
        ObjectsToSave { gone_through: self.read, ..self.wanted }
    }

    fn count(&mut self) -> Result<(), Stopped> {
        self.read += 1;
        if self.read > self.limits.objects {
            return Err(format!("it has more than {} objects", self.limits.objects));
        }
        if self.read.is_multiple_of(256) && self.began.elapsed() > self.limits.time {
            return Err(format!("going through it took more than {} seconds", self.limits.time.as_secs()));
        }
        Ok(())
    }

    /// Goes from the tips to everything that is to be saved.
    pub(super) fn run(&mut self, tips: &Tips) -> Result<(), Stopped> {
        for id in &tips.theirs {
            self.begin(*id, true, tips)?;
        }
        for id in tips.ours.iter().chain(&tips.remembered) {
            self.begin(*id, false, tips)?;
        }
        while self.ours_wait > 0 {
            let Some((_, id)) = self.queue.pop() else { break };
            self.visit(id, tips)?;
        }
        // Commits of one second come in any order: the remotes' may still lead to what seems to be ours.
        let oldest = self.commits.values().filter(|commit| !commit.theirs).map(|commit| commit.date).min();
        while let Some((_, id)) =
            self.queue.peek().copied().filter(|(date, _)| oldest.is_some_and(|oldest| *date >= oldest))
        {
            self.queue.pop();
            self.visit(id, tips)?;
        }
        let mut ours: Vec<(i64, Id)> =
            self.commits.iter().filter(|(_, commit)| !commit.theirs).map(|(id, commit)| (commit.date, *id)).collect();
        ours.sort_unstable_by(|one, other| other.cmp(one));
        let theirs = |id: &&Id| self.commits.get(id).is_some_and(|commit| commit.theirs);
        self.wanted.leans_on.extend(self.ends.iter().filter(theirs));
        for (_, id) in &ours {
            self.wanted.add(*id);
        }
        for (_, id) in ours {
            self.files_of(&id)?;
        }
        Ok(())
    }

    /// Takes one tip: through tags, to a commit, or to a tree or file that a ref names itself.
    fn begin(&mut self, tip: Id, theirs: bool, tips: &Tips) -> Result<(), Stopped> {
        let mut id = tip;
        for _ in 0..TAGS_MAX {
            if !theirs && tips.ours.contains(&tip) {
                self.ends.insert(id);
            }
            if self.commits.contains_key(&id) {
                return Ok(());
            }
            if self.wanted.known.contains(&id) {
                return Ok(());
            }
            self.count()?;
            // What is large is a file, and needs not be read here.
            let (kind, bytes) = match self.objects.read(&id, HELD_BYTES_MAX) {
                Ok(Some(body)) => body,
                Ok(None) | Err(()) => {
                    if !theirs && tips.ours.contains(&tip) {
                        self.wanted.miss(id);
                    }
                    return Ok(());
                }
            };
            match kind {
                GitObjectKind::Commit => return self.queue_up(id, &bytes, theirs, tips),
                GitObjectKind::Tag => {
                    if !theirs {
                        self.wanted.add(id);
                    }
                    let Some(next) = id_behind(&bytes, b"object ") else { return Ok(()) };
                    id = next;
                }
                GitObjectKind::Tree if !theirs => return self.tree(id, Vec::new()),
                GitObjectKind::Blob if !theirs => {
                    self.wanted.add(id);
                    return Ok(());
                }
                GitObjectKind::Tree | GitObjectKind::Blob => return Ok(()),
            }
        }
        Ok(())
    }

    fn queue_up(&mut self, id: Id, bytes: &[u8], theirs: bool, tips: &Tips) -> Result<(), Stopped> {
        let Some(mut commit) = commit_of(bytes, theirs) else {
            self.wanted.miss(id);
            return Ok(());
        };
        if tips.shallow.contains(&id) {
            commit.parents.clear();
        }
        self.ours_wait += usize::from(!theirs);
        self.queue.push((commit.date, id));
        self.commits.insert(id, commit);
        Ok(())
    }

    fn visit(&mut self, id: Id, tips: &Tips) -> Result<(), Stopped> {
        let Some(commit) = self.commits.get_mut(&id) else { return Ok(()) };
        commit.waits = false;
        let theirs = commit.theirs;
        let parents = commit.parents.clone();
        self.ours_wait -= usize::from(!theirs);
        for parent in parents {
            if self.commits.contains_key(&parent) {
                if theirs {
                    self.mark(parent);
                }
                continue;
            }
            self.count()?;
            match self.objects.read(&parent, HELD_BYTES_MAX) {
                Ok(Some((GitObjectKind::Commit, bytes))) => self.queue_up(parent, &bytes, theirs, tips)?,
                Ok(_) | Err(()) if !theirs => self.wanted.miss(parent),
                Ok(_) | Err(()) => {}
            }
        }
        Ok(())
    }

    /// A commit that turns out to be the remotes', and all that is known behind it.
    fn mark(&mut self, id: Id) {
        let mut stack = vec![id];
        while let Some(id) = stack.pop() {
            let Some(commit) = self.commits.get_mut(&id).filter(|commit| !commit.theirs) else { continue };
            commit.theirs = true;
            self.ours_wait -= usize::from(commit.waits);
            stack.extend(&commit.parents);
        }
    }

    /// The folders and files of a commit that none of its parents has.
    fn files_of(&mut self, id: &Id) -> Result<(), Stopped> {
        let Some(commit) = self.commits.get(id) else { return Ok(()) };
        let (tree, mut before) = (commit.tree, Vec::new());
        for parent in &commit.parents {
            let Some(known) = self.commits.get(parent) else { continue };
            before.push(known.tree);
            if known.theirs {
                self.wanted.leans_on.insert(*parent);
            }
        }
        self.tree(tree, before)
    }

    /// A folder and everything in it that is not in the folders of the same name before.
    pub(super) fn tree(&mut self, id: Id, before: Vec<Id>) -> Result<(), Stopped> {
        let mut stack = vec![(id, before)];
        while let Some((id, before)) = stack.pop() {
            if before.contains(&id) || self.wanted.known.contains(&id) {
                continue;
            }
            let Some(entries) = self.entries(&id)? else {
                self.wanted.miss(id);
                continue;
            };
            self.wanted.add(id);
            let mut olds = Vec::new();
            for old in before {
                olds.extend(self.entries(&old)?);
            }
            let maps: Vec<HashMap<&[u8], &TreeEntry>> =
                olds.iter().map(|old| old.iter().map(|entry| (entry.name.as_slice(), entry)).collect()).collect();
            for entry in entries.iter().filter(|entry| entry.mode != COMMIT_MODE) {
                let same =
                    |map: &HashMap<&[u8], &TreeEntry>| map.get(entry.name.as_slice()).map(|old| (old.id, old.mode));
                let olds: Vec<(Id, u32)> = maps.iter().filter_map(same).collect();
                if olds.iter().any(|(old, _)| *old == entry.id) {
                    continue;
                }
                if entry.mode == FOLDER {
                    let folders = olds.into_iter().filter(|(_, mode)| *mode == FOLDER).map(|(old, _)| old);
                    stack.push((entry.id, folders.collect()));
                } else {
                    self.wanted.add(entry.id);
                }
            }
        }
        Ok(())
    }

    /// All ids in the tree of a commit, so that it is known what the index has beside it.
    pub(super) fn ids_in_tree_of(&mut self, commit: &Id) -> Result<HashSet<Id>, Stopped> {
        let mut ids = HashSet::new();
        let tree = match self.objects.read(commit, HELD_BYTES_MAX) {
            Ok(Some((GitObjectKind::Commit, bytes))) => id_behind(&bytes, b"tree "),
            Ok(_) | Err(()) => None,
        };
        let mut stack: Vec<Id> = tree.into_iter().collect();
        while let Some(id) = stack.pop() {
            if !ids.insert(id) {
                continue;
            }
            for entry in self.entries(&id)?.iter().flat_map(|entries| entries.iter()) {
                if entry.mode == FOLDER {
                    stack.push(entry.id);
                } else {
                    ids.insert(entry.id);
                }
            }
        }
        Ok(ids)
    }

    /// The names in a folder; none if it is not there or is none.
    fn entries(&mut self, id: &Id) -> Result<Option<Rc<Vec<TreeEntry>>>, Stopped> {
        if let Some(entries) = self.trees.get(id) {
            return Ok(Some(Rc::clone(entries)));
        }
        self.count()?;
        let Ok(Some((GitObjectKind::Tree, bytes))) = self.objects.read(id, HELD_BYTES_MAX) else { return Ok(None) };
        let Some(entries) = read_tree(&bytes).map(Rc::new) else { return Ok(None) };
        if self.trees.len() == TREES_HELD_MAX {
            self.trees.clear();
        }
        self.trees.insert(*id, Rc::clone(&entries));
        Ok(Some(entries))
    }
}

/// The id behind a word at the beginning of a line of an object's head.
fn id_behind(bytes: &[u8], word: &[u8]) -> Option<Id> {
    let line = bytes.split(|byte| *byte == b'\n').take_while(|line| !line.is_empty());
    line.filter_map(|line| line.strip_prefix(word)).find_map(|digits| Id::parse(std::str::from_utf8(digits).ok()?))
}

/// The parents that a commit names.
pub(super) fn parents_of(bytes: &[u8]) -> Vec<Id> {
    let lines = bytes.split(|byte| *byte == b'\n').take_while(|line| !line.is_empty());
    let digits = lines.filter_map(|line| line.strip_prefix(b"parent "));
    digits.filter_map(|digits| Id::parse(std::str::from_utf8(digits).ok()?)).collect()
}

fn commit_of(bytes: &[u8], theirs: bool) -> Option<Commit> {
    let tree = id_behind(bytes, b"tree ")?;
    let mut lines = bytes.split(|byte| *byte == b'\n').take_while(|line| !line.is_empty());
    let by = lines.find_map(|line| line.strip_prefix(b"committer "));
    let date = by.and_then(|by| {
        let behind = by.get(by.iter().rposition(|byte| *byte == b'>')? + 1..)?;
        std::str::from_utf8(behind).ok()?.split_whitespace().next()?.parse().ok()
    });
    Some(Commit { tree, parents: parents_of(bytes), date: date.unwrap_or(0), theirs, waits: true })
}

/// What a tag names.
pub(super) fn named_by_tag(bytes: &[u8]) -> Option<Id> {
    id_behind(bytes, b"object ")
}
