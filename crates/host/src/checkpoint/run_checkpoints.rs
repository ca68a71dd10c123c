//! The checkpoints of one run: take, compare, roll back. The owner of a [`RunCheckpoints`] holds the workspace's
//! lock.
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use loop_core::run::{CheckpointReport, INITIAL, Measurement, OTHERS_NAMES_MAX, RollbackReport, RolledBackFiles};
use loop_core::text;

use super::btrfs::snapshot_store::{RecordedContents, SnapshotStore};
use super::btrfs::{self, SnapshotOwner};
use super::context::{BTRFS, CheckpointContext};
use super::diff::{self, Bounds, CommitPair, Difference};
use super::git::object::tree;
use super::git::store::NamedCheckpoint;
use super::preview;
use super::restore::ignored::restore_ignored;
use super::restore::paths::Paths;
use super::restore::tree::{PathPlan, restore, restore_paths};
use super::scan::small_ignored;
use super::scope::{self, rules_of};
use super::user_git::{self, of_run};
use super::{
    Depth, FileContent, Id, ObjectKind, RestorePlan, RestoreResult, Rules, ScanCache, ScanHint, SnapshotMoment,
    StillSnapshot, Store, TakeOutcome, TakeRequest, TreeEntry,
};
use crate::fs::handle::{open_folder, split};

/// The most that is named of anything in an answer.
pub(super) const NAMED_MAX: usize = 20;
/// At most this many left-out names are reported at a time.
const LEFT_OUT_NAMED_MAX: usize = 8;
/// A path in a sentence.
const PATH_LETTERS_MAX: usize = 200;
/// The file of a store that names the run whose rollback is in progress.
pub(super) const ROLLING_BACK: &str = "rolling-back";

/// The checkpoints of one run.
#[derive(Debug)]
pub struct RunCheckpoints {
    context: CheckpointContext,
    store: Store,
    workspace: OwnedFd,
    rules: Rules,
    cache: ScanCache,
    cancel: Arc<AtomicBool>,
    snapshots: Option<Snapshots>,
    /// What the newest checkpoint does not hold, and why.
    left_out: Vec<(Vec<u8>, String)>,
    /// What of the ignored files the newest checkpoint does not hold.
    ignored_left_out: Vec<(Vec<u8>, String)>,
    /// Those that were reported already.
    reported: BTreeSet<Vec<u8>>,
}

/// Where a run takes snapshots.
#[derive(Debug)]
struct Snapshots {
    maker: btrfs::SnapshotMaker,
    snapshot_store: SnapshotStore,
    /// Whether those that nothing leads to were removed since this was opened.
    is_swept: bool,
}

/// A snapshot: whose, and its name.
struct SnapshotName<'a> {
    owner: SnapshotOwner<'a>,
    name: &'a str,
}

/// A workspace, and what is remembered of it.
struct Scanned<'a> {
    workspace: &'a OwnedFd,
    cache: &'a mut ScanCache,
}

/// What is rolled back.
#[derive(Debug, Clone, Copy)]
pub struct RollbackRequest<'a> {
    /// To which checkpoint.
    pub to: &'a str,
    /// The name of what is there before.
    pub undo: &'a str,
    /// The user's own repository too.
    pub git: bool,
    /// Only these paths, escaped; none means everything.
    pub paths: &'a [String],
}

/// What a restore did.
struct Restored {
    written: u64,
    removed: u64,
    /// Where something was moved that is in no checkpoint.
    aside: Vec<Vec<u8>>,
    /// What stays although the target does not hold it.
    left: Vec<Vec<u8>>,
    /// Ignored files that were written.
    ignored: Vec<Vec<u8>>,
    /// Ignored files that are missing and that no checkpoint holds.
    missing: Vec<Vec<u8>>,
    /// Ignored files that were not there then, and stay.
    stays: Vec<Vec<u8>>,
    /// Ignored files that could not be written, and why.
    failed: Vec<(Vec<u8>, String)>,
}

/// The result of recording the workspace.
enum Made {
    /// A checkpoint, and what changed while it was read.
    New(Id, Vec<String>),
    /// None was needed; the hash of the tree.
    Same(String),
}

/// Why a checkpoint was not taken or not restored.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// Nothing was changed.
    #[error("{0}")]
    Refused(String),
    /// Something has to be fixed first.
    #[error("{0}")]
    Blocked(String),
    /// A checkpoint that was taken is not in the store. No wait brings it back.
    #[error("{0}")]
    Gone(String),
    /// A person cancelled it.
    #[error("it was stopped")]
    Cancelled,
}

impl From<io::Error> for CheckpointError {
    fn from(error: io::Error) -> Self {
        Self::Blocked(format!("cannot checkpoint the workspace: {error}"))
    }
}

impl RunCheckpoints {
    /// Opens the store, or makes it. When `cancel` is set, what is in progress is given up.
    ///
    /// # Errors
    /// When the machine does not allow it.
    pub fn open(context: CheckpointContext, cancel: Arc<AtomicBool>) -> io::Result<Self> {
        let workspace = open_folder(&context.workspace)?;
        let rules = rules_of(&context);
        let store = Store::open(&context.store)?;
        let mut cache = store.cache(&context.run)?;
        cache.keeps_ignored = true;
        // What git tracks is in scope although it is ignored; an index that cannot be read tracks nothing.
        cache.hold(user_git::tracked(&context.workspace).unwrap_or_default());
        let snapshots = if context.backend == BTRFS { Some(Snapshots::open(&context, &store)?) } else { None };
        Ok(Self {
            context,
            store,
            workspace,
            rules,
            cache,
            cancel,
            snapshots,
            left_out: Vec::new(),
            ignored_left_out: Vec::new(),
            reported: BTreeSet::new(),
        })
    }

    /// The folder that is recorded.
    pub(crate) fn folder(&self) -> &OwnedFd {
        &self.workspace
    }

    /// The store.
    pub(crate) fn store(&mut self) -> &mut Store {
        &mut self.store
    }

    /// Whether the contents of files are in the store, and not in snapshots.
    pub(crate) fn has_contents(&self) -> bool {
        self.snapshots.is_none()
    }

    /// What is in scope may have changed with the user's or the repository's rules.
    fn refresh_rules(&mut self) {
        let rules = rules_of(&self.context);
        if rules.texts() != self.rules.texts() {
            self.rules = rules;
        }
    }

    /// What is left out and was not reported yet.
    fn left_out(&mut self) -> Vec<String> {
        let fresh: Vec<_> = self.left_out.iter().filter(|(path, _)| !self.reported.contains(path)).cloned().collect();
        self.reported.extend(fresh.iter().map(|(path, _)| path.clone()));
        let more = fresh.len().saturating_sub(LEFT_OUT_NAMED_MAX);
        let named = fresh.iter().take(LEFT_OUT_NAMED_MAX);
        let mut remarks: Vec<String> = named.map(|(path, why)| format!("not kept: {} ({why})", short(path))).collect();
        if more > 0 {
            remarks.push(format!("not kept: {more} more names"));
        }
        remarks
    }

    /// The name of a checkpoint in the store.
    pub(crate) fn full(&self, name: &str) -> String {
        format!("{}/{name}", self.context.run)
    }

    /// The commit of a checkpoint, where it is still there.
    pub(crate) fn id(&self, name: &str) -> Option<Id> {
        let full = self.full(name);
        let id = self.store.named(&full).ok()?;
        // The snapshot may have been removed.
        let is_there = |snapshots: &Snapshots| snapshots.snapshot_store.snapshot(&full).is_ok();
        self.snapshots.as_ref().is_none_or(is_there).then_some(id)
    }

    /// Records the workspace as it is now. One of that name that exists already stays as it is.
    ///
    /// # Errors
    /// When something of it cannot be recorded; then nothing of it is.
    pub fn take(&mut self, name: &str, parent: Option<&str>) -> Result<CheckpointReport, CheckpointError> {
        if let Some(id) = self.id(name) {
            return Ok(self.saved(name, id)?);
        }
        let parent = parent.and_then(|parent| self.id(parent));
        let mut remarks = if name == INITIAL { of_run::save(&self.context) } else { Vec::new() };
        let mut made = self.save_new(name, parent)?;
        let tracked = scope::tracked_inside(&self.context, &self.cache);
        if !tracked.is_empty() {
            // Only now the nested repositories are known: it is recorded once more, with what they track.
            self.cache.hold(tracked);
            self.store.remove(&self.full(name))?;
            made = self.save_new(name, parent)?;
        }
        remarks.extend(self.left_out());
        if name == INITIAL {
            remarks.extend(not_kept(&self.ignored_left_out));
        }
        let (id, unstable) = made;
        Ok(CheckpointReport { unstable, remarks, ..self.saved(name, id)? })
    }

    /// Records the workspace as it is now; one of that name that exists already is replaced.
    pub(crate) fn take_again(&mut self, name: &str) -> Result<Id, CheckpointError> {
        if self.id(name).is_some() {
            self.store.remove(&self.full(name))?;
        }
        self.take(name, None)?;
        self.id(name).ok_or_else(|| CheckpointError::Blocked(format!("checkpoint {name} was not written")))
    }

    /// The same under a name that is free.
    pub(crate) fn take_beside(&mut self, name: &str) -> Result<Id, CheckpointError> {
        let name = self.free(name);
        self.take_again(&name)
    }

    /// Records the workspace only if it is not what the newest checkpoint holds.
    ///
    /// # Errors
    /// When something of it cannot be recorded; then nothing of it is.
    pub fn take_if_changed(&mut self, name: &str, newest: Option<&str>) -> Result<CheckpointReport, CheckpointError> {
        let before = newest.and_then(|name| Some(NamedCheckpoint { name, id: self.id(name)? }));
        // An existing checkpoint of that name is older than the present state.
        let (mut name, mut last) = (name.to_owned(), None);
        while let Some(id) = self.id(&name) {
            last = Some((name.clone(), id));
            name.push('+');
        }
        let known = last.as_ref().map(|(_, id)| *id).or(before.map(|before| before.id));
        let (name, id, unstable) = match (self.save(&name, known, known)?, last) {
            (Made::New(id, unstable), _) => (name, id, unstable),
            (Made::Same(_), Some((last, id))) if newest != Some(&last) => (last, id, Vec::new()),
            (Made::Same(tree), _) => return Ok(CheckpointReport { tree: Some(tree), ..CheckpointReport::default() }),
        };
        let difference = self.difference(before, NamedCheckpoint { name: &name, id })?;
        let (changes, mut names) = (Some(difference.totals()), difference.names());
        names.truncate(OTHERS_NAMES_MAX);
        Ok(CheckpointReport { unstable, changes, names, ..self.saved(&name, id)? })
    }

    /// A new checkpoint whatever there was before.
    fn save_new(&mut self, name: &str, parent: Option<Id>) -> Result<(Id, Vec<String>), CheckpointError> {
        match self.save(name, parent, None)? {
            Made::New(id, unstable) => Ok((id, unstable)),
            Made::Same(_) => Err(CheckpointError::Blocked("a bug of loop: a checkpoint was not written".to_owned())),
        }
    }

    /// A checkpoint, unless the workspace is what `unless` holds.
    fn save(&mut self, name: &str, parent: Option<Id>, unless: Option<Id>) -> Result<Made, CheckpointError> {
        let (full, cancel) = (self.full(name), Arc::clone(&self.cancel));
        self.refresh_rules();
        let ask = TakeRequest {
            name: &full,
            parent,
            rules: &self.rules,
            hint: ScanHint::Everything,
            depth: Depth::Whole,
            unless,
            cancel: &cancel,
        };
        let taken = match &mut self.snapshots {
            None => self.store.save(&self.workspace, &mut self.cache, &ask)?,
            Some(snapshots) => {
                snapshots.sweep(&self.store)?;
                let owner = SnapshotOwner { store: &snapshots.snapshot_store.key, run: &self.context.run };
                let scanned = Scanned { workspace: &self.workspace, cache: &mut self.cache };
                snapshots.take(SnapshotName { owner, name }, &mut self.store, scanned, &ask)?
            }
        };
        match taken {
            TakeOutcome::Saved(id, measured) => {
                self.left_out = measured.left_out;
                self.ignored_left_out = measured.ignored_left_out;
                // Only a saving of time.
                self.store.join_small().ok();
                Ok(Made::New(id, named(&measured.unstable)))
            }
            TakeOutcome::NotWritten(measured) => Ok(Made::Same(hash_of(measured.parts.files, measured.parts.manifest))),
            TakeOutcome::Unreadable(list) => Err(CheckpointError::Blocked(unreadable(&list))),
            TakeOutcome::Cancelled => Err(CheckpointError::Cancelled),
        }
    }

    fn saved(&self, name: &str, id: Id) -> io::Result<CheckpointReport> {
        let parts = self.store.parts(&id)?;
        Ok(CheckpointReport {
            checkpoint: Some(name.to_owned()),
            tree: Some(hash_of(parts.files, parts.manifest)),
            id: Some(id.to_string()),
            ..CheckpointReport::default()
        })
    }

    /// What differs between two checkpoints of this run, each by its name in the run.
    fn difference(&self, from: Option<NamedCheckpoint<'_>>, to: NamedCheckpoint<'_>) -> io::Result<Difference> {
        let (from_name, to_name) = (from.map(|from| self.full(from.name)), self.full(to.name));
        let full_from = from.zip(from_name.as_deref()).map(|(from, name)| NamedCheckpoint { name, id: from.id });
        let full_to = NamedCheckpoint { name: &to_name, id: to.id };
        let snapshot_store = self.snapshots.as_ref().map(|snapshots| &snapshots.snapshot_store);
        let contents = RecordedContents::new(&self.store, snapshot_store, full_from, full_to)?;
        let commits = CommitPair { from: from.map(|from| from.id), to: to.id };
        diff::changes(&self.store, &contents, commits, &Bounds::default())
    }

    /// What changed from one checkpoint to another.
    ///
    /// # Errors
    /// When one of them cannot be read.
    pub fn measure(&self, from: Option<&str>, to: &str) -> Result<Measurement, CheckpointError> {
        self.compare(from, to).map(|difference| measured(&difference))
    }

    pub(super) fn compare(&self, from: Option<&str>, to: &str) -> Result<Difference, CheckpointError> {
        let missing = |name: &str| CheckpointError::Gone(format!("checkpoint {name} was removed from the store"));
        let find = |name| self.id(name).map(|id| NamedCheckpoint { name, id }).ok_or_else(|| missing(name));
        Ok(self.difference(from.map(find).transpose()?, find(to)?)?)
    }

    /// Makes the workspace, or some paths of it, equal to a checkpoint. The present state is recorded first, under
    /// `undo`.
    ///
    /// # Errors
    /// When there is no such checkpoint, or something cannot be recorded or written.
    pub fn roll_back(&mut self, asked: &RollbackRequest<'_>) -> Result<RollbackReport, CheckpointError> {
        let RollbackRequest { to, undo, git, .. } = *asked;
        let Some(target) = self.id(to) else {
            return Err(CheckpointError::Refused(format!("there is no checkpoint {to}")));
        };
        let paths = Paths::of(asked.paths);
        // After a rollback that was cut off, the first undo has the original state; the present one is recorded beside
        // it.
        let begun = self.id(undo).is_some();
        if !begun {
            // The first try may have removed a path that only the workspace had.
            preview::check_paths(&mut self.store, &self.context, &self.workspace, &paths, to)?;
        }
        let name = if begun { self.free(undo) } else { undo.to_owned() };
        let saved = self.save_new(&name, None);
        let (before, _) = saved.map_err(|error| match error {
            CheckpointError::Blocked(why) if !begun => CheckpointError::Refused(why),
            error @ (CheckpointError::Blocked(_)
            | CheckpointError::Gone(_)
            | CheckpointError::Refused(_)
            | CheckpointError::Cancelled) => error,
        })?;
        self.mark(Some(to))?;
        let done = self.restore(to, &RestorePlan { target, before, cancel: &AtomicBool::new(false) }, &paths)?;
        // A list for people: a damaged checkpoint of another iteration must not fail a rollback that is done.
        let (files, unlisted) = match self.files_of(before, target, &paths, &done) {
            Ok(files) => (Some(files), None),
            Err(error) => (None, Some(format!("the changed files cannot be listed: {error}"))),
        };
        let left_state = if paths.is_all() { None } else { Some(self.take_after(undo)?) };
        self.mark(None)?;
        let left = done.left.iter().take(NAMED_MAX);
        let left = left.map(|path| format!("{} stays: a checkpoint could not have stored it", short(path)));
        let (whole, of_git) = match git {
            true => of_run::restore(&self.context, to),
            false => (true, of_run::missing(&self.context).into_iter().collect()),
        };
        let (newest, tree) = match left_state {
            Some(left) => (left.checkpoint, left.tree),
            None => (None, self.saved(to, target)?.tree),
        };
        let remarks = left
            .chain(not_restored(&done.missing))
            // Of an undo all is expected to be as it was.
            .chain(not_removed(&done.stays).filter(|_| to.starts_with("undo")))
            .chain(not_written(&done.failed))
            .chain(unlisted)
            .chain(of_git)
            .collect();
        Ok(RollbackReport {
            to: to.to_owned(),
            // Undoing a rollback that was cut off leaves the checkpoint of the state in between.
            undo: if to == undo { name } else { undo.to_owned() },
            tree,
            written: done.written,
            removed: done.removed,
            aside: named(&done.aside),
            remarks,
            git,
            incomplete: !whole,
            paths: asked.paths.to_vec(),
            newest,
            files,
        })
    }

    /// Writes the files of a checkpoint.
    fn restore(&mut self, to: &str, plan: &RestorePlan<'_>, paths: &Paths) -> Result<Restored, CheckpointError> {
        let not_done = |error: io::Error| CheckpointError::Blocked(format!("the rollback is not done: {error}"));
        let snapshot =
            self.snapshots.as_ref().map(|snapshots| snapshots.snapshot_store.snapshot(&self.full(to))).transpose()?;
        let content: &dyn FileContent = snapshot.as_ref().map_or(&self.store, |snapshot| snapshot);
        let some = PathPlan { plan, paths };
        let done = restore_paths(&self.store, content, &self.workspace, &mut self.cache, some).map_err(not_done)?;
        let ignored =
            restore_ignored(&self.store, &self.workspace, plan.before, plan.target, paths).map_err(not_done)?;
        self.cache.doubts.extend(ignored.written.iter().cloned());
        let aside = done.moved_aside.into_iter().chain(done.changed_since).map(|(_, to)| to).chain(ignored.aside);
        Ok(Restored {
            written: done.written,
            removed: done.removed,
            aside: aside.collect(),
            left: done.left.into_iter().filter(|path| !ignored.written.contains(path)).collect(),
            ignored: ignored.written,
            missing: ignored.missing,
            stays: ignored.stays,
            failed: ignored.failed,
        })
    }

    /// Makes the workspace equal to a checkpoint of this store, but for ignored files: these stay as they are. `before`
    /// was just taken.
    pub(crate) fn make_equal(&mut self, target: Id, before: Id) -> Result<RestoreResult, CheckpointError> {
        let not_done = |error: io::Error| CheckpointError::Blocked(format!("not all files are written: {error}"));
        // What is new stays in scope for this run, also where its rules ignore it.
        let new = self.store.between(&before, &target).map_err(not_done)?;
        self.cache.hold(new.into_iter().filter(|(_, (_, then))| then.is_some()).map(|(path, _)| path));
        let plan = RestorePlan { target, before, cancel: &AtomicBool::new(false) };
        restore(&self.store, &self.store, &self.workspace, &mut self.cache, &plan).map_err(not_done)
    }

    /// Records that the workspace is being changed, or is done; also after a power cut.
    pub(crate) fn mark_synced(&self, to: Option<&str>) -> io::Result<()> {
        self.mark(to)?;
        if to.is_some() {
            fs::File::open(self.context.store.join(ROLLING_BACK))?.sync_all()?;
        }
        crate::fs::sync_folder(&self.context.store)
    }

    /// What was being done to the workspace and was cut off: whose, and to what.
    pub(crate) fn cut_off(&self) -> Option<(String, String)> {
        cut_off(&self.context.store)
    }

    /// Whose checkpoints these are.
    pub(crate) fn owner(&self) -> &str {
        &self.context.run
    }

    /// Which files a rollback changed, and whose they were.
    fn files_of(&self, before: Id, target: Id, paths: &Paths, done: &Restored) -> io::Result<RolledBackFiles> {
        let differ = preview::between(&self.store, before, target, paths)?;
        let there = done.left.iter().chain(&done.ignored).cloned().collect();
        let mut files = preview::files_of(&self.store, &self.context.run, &differ, &there)?;
        files.extend(preview::ignored_files(&done.ignored));
        Ok(preview::summed(&files))
    }

    /// The state after a rollback of some paths, which no checkpoint has yet.
    fn take_after(&mut self, undo: &str) -> Result<CheckpointReport, CheckpointError> {
        let mut name = format!("{undo}+");
        while self.id(&name).is_some() {
            name.push('+');
        }
        let (id, _) = self.save_new(&name, None)?;
        Ok(self.saved(&name, id)?)
    }

    /// Records in the store that a rollback is in progress, so that no run starts on a half-restored workspace.
    fn mark(&self, to: Option<&str>) -> io::Result<()> {
        let path = self.context.store.join(ROLLING_BACK);
        match to {
            Some(to) => fs::write(path, format!("{} {to}\n", self.context.run)),
            // It may have been removed already.
            None => fs::remove_file(path)
                .or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }),
        }
    }

    fn free(&self, name: &str) -> String {
        let free = |name: &String| self.id(name).is_none();
        (2..u32::MAX).map(|number| format!("{name}.{number}")).find(free).unwrap_or_else(|| name.to_owned())
    }
}

impl Snapshots {
    fn open(context: &CheckpointContext, store: &Store) -> io::Result<Self> {
        let at = btrfs::SnapshotMaker::open(&context.workspace).map_err(io::Error::other)?;
        let above = at.path().parent().unwrap_or(at.path());
        let snapshot_store = SnapshotStore::in_folder(store, above)?;
        Ok(Self { maker: at, snapshot_store, is_swept: false })
    }

    /// Removes what a killed process left: snapshots without a checkpoint.
    fn sweep(&mut self, store: &Store) -> io::Result<()> {
        if !std::mem::replace(&mut self.is_swept, true) {
            let _alone = store.lock(true)?;
            // What cannot be removed takes room and does no other harm.
            self.snapshot_store.sweep(store).ok();
        }
        Ok(())
    }

    /// Takes a snapshot and records it in the store. Only both together are a checkpoint.
    fn take(
        &self,
        SnapshotName { owner, name }: SnapshotName<'_>,
        store: &mut Store,
        Scanned { workspace, cache }: Scanned<'_>,
        ask: &TakeRequest<'_>,
    ) -> io::Result<TakeOutcome> {
        if let Some(unless) = ask.unless {
            // Mostly nothing has changed, and then there is no snapshot to be made and removed again.
            let ids = store.save(workspace, cache, &TakeRequest { depth: Depth::Ids, ..*ask })?;
            let TakeOutcome::NotWritten(measured) = &ids else { return Ok(ids) };
            let was = store.parts(&unless)?;
            if (was.files, was.manifest) == (measured.parts.files, measured.parts.manifest) {
                return Ok(ids);
            }
        }
        // A clean-up removes snapshots that have no name in the store.
        let _lock = store.lock(false)?;
        let moment = SnapshotMoment::of(workspace)?;
        let snapshot = self.maker.take(owner, name)?;
        let ask = TakeRequest { depth: Depth::Trees, ..*ask };
        let taken = store.save_still(workspace, StillSnapshot { folder: snapshot.folder(), moment }, cache, &ask);
        if !matches!(taken, Ok(TakeOutcome::Saved(..))) {
            self.maker.remove(owner, name).ok();
        }
        taken
    }
}

impl Drop for RunCheckpoints {
    fn drop(&mut self) {
        // Without it the next process reads more.
        self.store.write_cache(&mut self.cache).ok();
    }
}

/// The rollback of a workspace that was cut off: whose, and to what.
#[must_use]
pub fn cut_off(store: &Path) -> Option<(String, String)> {
    let text = fs::read_to_string(store.join(ROLLING_BACK)).ok()?;
    let (run, to) = text.trim_end().split_once(' ')?;
    Some((run.to_owned(), to.to_owned()))
}

/// What differs, as a fact has it.
pub(super) fn measured(difference: &Difference) -> Measurement {
    Measurement { changes: Some(difference.totals()), names: difference.names(), ..Measurement::default() }
}

/// One line on what of the ignored files is not kept. Folders that tools make are named once for each name.
fn not_kept(left_out: &[(Vec<u8>, String)]) -> Option<String> {
    let mut seen = BTreeSet::new();
    let mut names = Vec::new();
    for (path, why) in left_out.iter().filter(|(_, why)| why != small_ignored::SKIPPED) {
        let (_, name) = split(path);
        let is_made = why == small_ignored::MADE_BY_TOOLS;
        if !is_made || seen.insert(name) {
            names.push(if is_made { short(name) } else { format!("{} ({why})", short(path)) });
        }
    }
    let more = names.len().saturating_sub(LEFT_OUT_NAMED_MAX);
    let shown = names.get(..LEFT_OUT_NAMED_MAX).unwrap_or(&names).join(", ");
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!names.is_empty()).then(|| format!("not kept: {shown}{more} (ignored; --checkpoint-ignored keeps them)"))
}

/// One line on what was ignored, is missing now, and cannot be restored.
pub(super) fn not_restored(missing: &[Vec<u8>]) -> Option<String> {
    let shown: Vec<String> = missing.iter().take(LEFT_OUT_NAMED_MAX).map(|path| short(path)).collect();
    let more = missing.len().saturating_sub(shown.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let words = || format!("not restored: {}{more} (ignored, and no checkpoint holds them)", shown.join(", "));
    (!missing.is_empty()).then(words)
}

/// One line on ignored files that were not there then, and are not removed.
fn not_removed(stays: &[Vec<u8>]) -> Option<String> {
    let shown: Vec<String> = stays.iter().take(LEFT_OUT_NAMED_MAX).map(|path| short(path)).collect();
    let more = stays.len().saturating_sub(shown.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!stays.is_empty()).then(|| format!("not removed: {}{more} (ignored files stay)", shown.join(", ")))
}

/// One line for each of the first ignored files that could not be written.
fn not_written(failed: &[(Vec<u8>, String)]) -> impl Iterator<Item = String> {
    let line = |(path, why): &(Vec<u8>, String)| format!("not restored: {} (ignored): {why}", short(path));
    failed.iter().take(LEFT_OUT_NAMED_MAX).map(line)
}

fn short(path: &[u8]) -> String {
    text::one_line(&text::escape_path(path), PATH_LETTERS_MAX)
}

fn named(paths: &[Vec<u8>]) -> Vec<String> {
    paths.iter().take(NAMED_MAX).map(|path| text::escape_path(path)).collect()
}

fn unreadable(list: &[(Vec<u8>, String)]) -> String {
    let shown: Vec<String> = list.iter().take(NAMED_MAX).map(|(path, why)| format!("{}: {why}", short(path))).collect();
    let more = list.len().saturating_sub(shown.len());
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    format!("cannot checkpoint the workspace: {}{more}", shown.join(", "))
}

/// The same text means the same files with the same permissions.
pub(super) fn hash_of(files: Id, manifest: Id) -> String {
    let entry = |mode, name: &[u8], id| TreeEntry { mode, name: name.to_vec(), id };
    let both = vec![entry(0o40000, b"files", files), entry(0o100_644, b"manifest", manifest)];
    Id::of(ObjectKind::Tree, &tree(both)).to_string()
}
