//! What a plan does with whole trees, on a thread of its own: checkpoints, copies, differences, merges, the apply. One job
//! after the other; the driver reacts to people and processes meanwhile.
use std::collections::BTreeSet;
use std::fs::DirBuilder;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use loop_core::ids::OrderId;
use loop_core::plan::{ApplyReport, ConflictReport, CopyReport, MeasureReport, PlanAnswer, PlanRolledBack};
use loop_core::run::RollbackReport;
use loop_core::text;
use rustix::event::{EventfdFlags, eventfd};

use super::coverage::covered;
use super::list::{ReadRequest, RecordRequest};
use super::resolve;
use super::trees::{PlanTrees, StoredTree};
use crate::checkpoint::diff::{self, Bounds, CommitPair};
use crate::checkpoint::{
    CheckpointContext, CheckpointError, Recorded, RollbackRequest, RunCheckpoints, Store, left_out, open_folder,
    rules_of,
};
use crate::merge::{self, ApplyOutcome, ApplyRequest, Conflict, MergeOutcome, MergeRequest, Signs};
use crate::paths::text_of;
use crate::workspace::copy::{Copies, CopyExtras, CopyMethod, CopyRequest};

/// So much that checkpoints leave out comes along into a copy; where there is more, nothing of it does.
const ALONG_NAMES_MAX: usize = 1_000_000;
const ALONG_BYTES_MAX: u64 = 16 * 1024 * 1024 * 1024;
/// So many names of it are said.
const ALONG_SAID_MAX: usize = 6;
/// So many conflicts are named.
const CONFLICTS_NAMED_MAX: usize = 20;
/// The checkpoint of the workspace as a copy is made; it is gone after that.
const SEEN: &str = "seen";

/// What is to be done with trees.
#[derive(Debug)]
pub(super) enum TreeJob {
    Record {
        name: String,
    },
    Copy {
        copy: String,
        tree: String,
    },
    /// With what a coverage report in the copy says.
    Compare {
        base: String,
        tree: String,
        copy: PathBuf,
    },
    Merge {
        base: String,
        ours: String,
        theirs: String,
        name: String,
        /// Conflicts become a tree with both versions, for an agent.
        mark: Option<MarkJob>,
    },
    Apply {
        base: String,
        tree: String,
        undo: String,
    },
    /// A copy that was made by an earlier process of the plan is there, and mounted.
    Ready {
        copy: String,
    },
    RollBack {
        to: String,
        undo: String,
    },
    Drop {
        copy: String,
    },
    /// The list is read.
    ReadList(Box<ReadRequest>),
    /// What an item came to is written down.
    RecordItem(Box<RecordRequest>),
}

/// How a tree with conflicts is written.
#[derive(Debug)]
pub(super) struct MarkJob {
    pub(super) signs: Signs,
    /// The folder in which its files are named.
    pub(super) folder: PathBuf,
}

/// How a rollback that was refused begins.
pub(super) const NOTHING_CHANGED: &str = "nothing was rolled back and nothing changed";

/// What a rollback did, for the journal of the plan.
pub(super) fn rolled_back(done: RollbackReport) -> PlanRolledBack {
    let RollbackReport { to, undo, tree, written, removed, aside, remarks, .. } = done;
    PlanRolledBack { to, undo, tree, written, removed, aside, remarks }
}

/// The thread, and the channels to it and back.
#[derive(Debug)]
pub(super) struct PlanWorker {
    work: Option<Sender<(OrderId, TreeJob, Vec<String>)>>,
    done: Receiver<(OrderId, PlanAnswer)>,
    answers: Sender<(OrderId, PlanAnswer)>,
    wake: OwnedFd,
    cancels: Arc<Cancels>,
    thread: Option<JoinHandle<()>>,
}

impl PlanWorker {
    /// Starts the thread. `copies` is the folder of the copies of all plans.
    pub(super) fn new(context: CheckpointContext, copies: PathBuf) -> io::Result<Self> {
        let (work, jobs) = channel::<(OrderId, TreeJob, Vec<String>)>();
        let (answers, done) = channel();
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let (bell, results) = (wake.try_clone()?, answers.clone());
        let cancels = Arc::new(Cancels::default());
        let asked = Arc::clone(&cancels);
        let thread = thread::Builder::new().name("trees".to_owned()).spawn(move || {
            let cancel = Arc::clone(&asked.flag);
            let mut state = TreeState { context, copies_folder: copies, copies: None, checkpoints: None, cancel };
            for (id, job, owners) in jobs {
                // A copy that is not needed any more goes in any case.
                let begins = asked.begin(id) || matches!(job, TreeJob::Drop { .. });
                let done = if begins { state.carry_out(job, &owners) } else { Err(CheckpointError::Cancelled) };
                asked.end();
                let answer = done.unwrap_or_else(|error| match error {
                    CheckpointError::Cancelled => PlanAnswer::Cancelled,
                    CheckpointError::Refused(why) | CheckpointError::Blocked(why) | CheckpointError::Gone(why) => {
                        failed(&why)
                    }
                });
                if results.send((id, answer)).is_err() {
                    return;
                }
                // If this fails, the driver sees the answer at its next deadline.
                rustix::io::write(&bell, &1_u64.to_ne_bytes()).ok();
            }
        })?;
        Ok(Self { work: Some(work), done, answers, wake, cancels, thread: Some(thread) })
    }

    /// Begins a job; its answer comes later. `owners` are the plan and its runs: whose checkpoints are looked at.
    pub(super) fn begin(&self, id: OrderId, job: TreeJob, owners: Vec<String>) {
        if let Some(work) = &self.work {
            // A thread that is gone gives no answer: the order is then ended by its deadline.
            work.send((id, job, owners)).ok();
        }
    }

    /// Does something short on a thread of its own.
    pub(super) fn beside(&self, id: OrderId, work: impl FnOnce() -> PlanAnswer + Send + 'static) -> io::Result<()> {
        let (answers, bell) = (self.answers.clone(), self.wake.try_clone()?);
        thread::Builder::new().name("tell".to_owned()).spawn(move || {
            answers.send((id, work())).ok();
            rustix::io::write(&bell, &1_u64.to_ne_bytes()).ok();
        })?;
        Ok(())
    }

    /// Cancels a job, as far as it can be; its answer still comes. No other job is cancelled with it.
    pub(super) fn cancel(&self, id: OrderId) {
        self.cancels.cancel(id);
    }

    /// What came of jobs.
    pub(super) fn take(&self) -> Vec<(OrderId, PlanAnswer)> {
        let mut bytes = [0_u8; 8];
        rustix::io::read(&self.wake, &mut bytes).ok();
        self.done.try_iter().collect()
    }

    pub(super) fn wants(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}

impl Drop for PlanWorker {
    fn drop(&mut self) {
        self.work = None;
        self.cancels.cancel_all();
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

/// Which jobs are cancelled. One job is under way at a time, the others wait.
#[derive(Debug, Default)]
struct Cancels {
    /// What the job under way looks at.
    flag: Arc<AtomicBool>,
    jobs: Mutex<CancelledJobs>,
}

#[derive(Debug, Default)]
struct CancelledJobs {
    under_way: Option<OrderId>,
    /// Jobs that wait and are not begun any more.
    waiting: BTreeSet<OrderId>,
    /// None is begun any more.
    all: bool,
}

impl Cancels {
    fn jobs(&self) -> MutexGuard<'_, CancelledJobs> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a job is begun now: it is not where it was cancelled while it waited.
    fn begin(&self, id: OrderId) -> bool {
        let mut jobs = self.jobs();
        let is_cancelled = jobs.waiting.remove(&id) || jobs.all;
        self.flag.store(false, Ordering::Relaxed);
        jobs.under_way = Some(id);
        !is_cancelled
    }

    fn end(&self) {
        self.jobs().under_way = None;
    }

    fn cancel(&self, id: OrderId) {
        let mut jobs = self.jobs();
        if jobs.under_way == Some(id) {
            self.flag.store(true, Ordering::Relaxed);
        } else {
            jobs.waiting.insert(id);
        }
    }

    fn cancel_all(&self) {
        self.jobs().all = true;
        self.flag.store(true, Ordering::Relaxed);
    }
}

fn failed(why: &str) -> PlanAnswer {
    PlanAnswer::Failed { why: text::one_line(why, 1000) }
}

/// What the thread has.
struct TreeState {
    /// Of the plan itself.
    context: CheckpointContext,
    copies_folder: PathBuf,
    copies: Option<Copies>,
    checkpoints: Option<RunCheckpoints>,
    cancel: Arc<AtomicBool>,
}

impl TreeState {
    fn carry_out(&mut self, job: TreeJob, owners: &[String]) -> Result<PlanAnswer, CheckpointError> {
        match job {
            TreeJob::Record { name } => {
                let report = self.checkpoints()?.take(&name, None)?;
                let tree = report.tree.ok_or_else(|| CheckpointError::Blocked("it has no tree".to_owned()))?;
                Ok(PlanAnswer::Recorded { tree })
            }
            TreeJob::Copy { copy, tree } => self.copy(&copy, &tree, owners),
            TreeJob::Compare { base, tree, copy } => {
                let trees = self.trees()?;
                let (base, tree) = (trees.find(owners, &base)?, trees.find(owners, &tree)?);
                let commits = CommitPair { from: Some(base.id), to: tree.id };
                let changed = diff::changes(trees.store(), trees.store(), commits, &Bounds::default())?.totals();
                let (before, after) = (covered(&self.context.workspace), covered(&copy));
                let coverage = after.zip(before).map(|(after, before)| after - before);
                Ok(PlanAnswer::Measured(MeasureReport { changed, coverage, ..MeasureReport::default() }))
            }
            TreeJob::Merge { base, ours, theirs, name, mark } => {
                self.merge([&base, &ours, &theirs], &name, mark.as_ref(), owners)
            }
            TreeJob::Apply { base, tree, undo } => self.apply(&base, &tree, &undo, owners),
            TreeJob::Ready { copy } => {
                self.ready(&copy)?;
                Ok(PlanAnswer::Done)
            }
            TreeJob::RollBack { to, undo } => self.roll_back(&to, &undo),
            TreeJob::Drop { copy } => {
                self.drop_copy(&copy)?;
                Ok(PlanAnswer::Done)
            }
            TreeJob::ReadList(request) => Ok(request.carry_out()),
            TreeJob::RecordItem(request) => Ok(request.carry_out()),
        }
    }

    fn checkpoints(&mut self) -> io::Result<&mut RunCheckpoints> {
        let opened = match self.checkpoints.take() {
            Some(opened) => opened,
            None => RunCheckpoints::open(self.context.clone(), Arc::clone(&self.cancel))?,
        };
        Ok(self.checkpoints.insert(opened))
    }

    fn trees(&self) -> io::Result<PlanTrees> {
        PlanTrees::open(&self.context)
    }

    fn copies(&mut self) -> io::Result<&Copies> {
        let opened = match self.copies.take() {
            Some(opened) => opened,
            None => {
                DirBuilder::new().recursive(true).mode(0o700).create(&self.copies_folder)?;
                Copies::open(&self.copies_folder, &self.context.run)?
            }
        };
        Ok(self.copies.insert(opened))
    }

    fn copy(&mut self, copy: &str, tree: &str, owners: &[String]) -> Result<PlanAnswer, CheckpointError> {
        let StoredTree { owner, name, id } = self.trees()?.find(owners, tree)?;
        let recorded = Recorded::open(&CheckpointContext { run: owner, ..self.context.clone() }, &name)?;
        let now = self.workspace_now()?;
        let workspace = open_folder(&self.context.workspace)?;
        let (ignored, remarks) = along(&workspace, &self.context);
        self.drop_copy(copy)?;
        let key = format!("{id}-{}", now.tree.get(..12).unwrap_or_default());
        let request = CopyRequest {
            checkpoint: &recorded.checkpoint,
            source: recorded.source(),
            key: &key,
            along: CopyExtras { workspace: &workspace, now: &now.checkpoint, ignored, git: true },
        };
        let copies = self.copies()?;
        let made = copies.make(&request, None, &[copy])?;
        let method = match made.method {
            CopyMethod::Snapshot => "snapshot",
            CopyMethod::Overlay => "overlay",
            CopyMethod::Checkout => "files",
        };
        let path = text_of(&copies.path(copy));
        Ok(PlanAnswer::Copied(CopyReport { path, method: method.to_owned(), remarks }))
    }

    /// A copy of an earlier process: an overlay is mounted again where it is not mounted any more.
    fn ready(&mut self, copy: &str) -> io::Result<()> {
        let unable = |error: io::Error| {
            io::Error::new(error.kind(), format!("the copy {copy} cannot be used, so nothing works in it: {error}"))
        };
        let copies = self.copies().map_err(unable)?;
        let is_there = copies.list().map_err(unable)?.iter().any(|there| there == copy) && copies.path(copy).is_dir();
        if is_there { Ok(()) } else { Err(unable(io::Error::from(io::ErrorKind::NotFound))) }
    }

    fn roll_back(&mut self, to: &str, undo: &str) -> Result<PlanAnswer, CheckpointError> {
        let request = RollbackRequest { to, undo, git: false, paths: &[] };
        match self.checkpoints()?.roll_back(&request) {
            Ok(done) => Ok(PlanAnswer::RolledBack(rolled_back(done))),
            Err(CheckpointError::Refused(why)) => Ok(failed(&format!("{NOTHING_CHANGED}: {why}"))),
            Err(other) => Err(other),
        }
    }

    /// The workspace as it is: what it has beside that is what its rules leave out.
    fn workspace_now(&mut self) -> Result<Recorded, CheckpointError> {
        let context = self.context.clone();
        let full = format!("{}/{SEEN}", context.run);
        let forget = || Store::open(&context.store).and_then(|store| store.remove(&full));
        if Store::open(&context.store)?.named(&full).is_ok() {
            forget()?;
        }
        self.checkpoints()?.take(SEEN, None)?;
        let now = Recorded::open(&context, SEEN)?;
        forget()?;
        Ok(now)
    }

    fn drop_copy(&mut self, copy: &str) -> io::Result<()> {
        if !self.copies_folder.join(&self.context.run).is_dir() {
            return Ok(());
        }
        let copies = self.copies()?;
        if copies.list()?.iter().any(|there| there == copy) { copies.remove(copy) } else { Ok(()) }
    }

    fn merge(
        &self,
        trees: [&str; 3],
        name: &str,
        mark: Option<&MarkJob>,
        owners: &[String],
    ) -> Result<PlanAnswer, CheckpointError> {
        let known = self.trees()?;
        let own = std::slice::from_ref(&self.context.run);
        let find_own = |tree| known.find(own, tree).or_else(|_| known.find(owners, tree));
        let [base, ours, theirs] = trees;
        let (base, ours, theirs) = (find_own(base)?, find_own(ours)?, known.find(owners, theirs)?);
        let full = format!("{}/{name}", self.context.run);
        let mut store = Store::open(&self.context.store)?;
        let request = MergeRequest { base: base.id, ours: ours.id, theirs: theirs.id, name: &full };
        Ok(match merge::three_way(&mut store, &request)? {
            MergeOutcome::Merged(merged) => PlanAnswer::Merged { tree: merged.tree },
            MergeOutcome::Conflicts(found) => {
                let mut report = conflicts(&found, ours.full_name(), theirs.full_name());
                if let Some(job) = mark {
                    let full = format!("{}/marked-{name}", self.context.run);
                    let marked = merge::mark(&mut store, &MergeRequest { name: &full, ..request }, &job.signs)?;
                    if let Some(marked) = &marked {
                        resolve::store(&job.folder, &job.signs.label, marked)?;
                    }
                    report.marked = marked.map(|marked| marked.tree);
                }
                PlanAnswer::Conflicts(report)
            }
        })
    }

    fn apply(&mut self, base: &str, tree: &str, undo: &str, owners: &[String]) -> Result<PlanAnswer, CheckpointError> {
        let trees = self.trees()?;
        let own = std::slice::from_ref(&self.context.run);
        let (base, theirs) = (trees.find(own, base)?, trees.find(owners, tree)?.full_name());
        let applied = format!("{undo}-applied");
        let request = ApplyRequest { base: &base.name, theirs: &theirs, before: undo, applied: &applied };
        Ok(match merge::apply(self.checkpoints()?, &request)? {
            ApplyOutcome::Applied(done) => PlanAnswer::Applied(ApplyReport {
                files: u32::try_from(done.written.len() + done.removed.len()).unwrap_or(u32::MAX),
                undo: done.before,
                tree: done.tree,
            }),
            ApplyOutcome::Conflicts(refused) => {
                PlanAnswer::Conflicts(conflicts(&refused.conflicts, refused.ours, refused.theirs))
            }
        })
    }
}

fn conflicts(found: &[Conflict], ours: String, theirs: String) -> ConflictReport {
    let paths = found.iter().take(CONFLICTS_NAMED_MAX).map(|one| text::one_line(&one.words(), 300)).collect();
    ConflictReport { count: u32::try_from(found.len()).unwrap_or(u32::MAX), paths, ours, theirs, marked: None }
}

/// Whether what checkpoints leave out comes along into a copy, and what is said about it.
fn along(workspace: &OwnedFd, context: &CheckpointContext) -> (bool, Vec<String>) {
    let found = left_out(workspace, &rules_of(context), ALONG_NAMES_MAX, &|path| path == b".git");
    if found.names.is_empty() {
        return (false, Vec::new());
    }
    let bytes = found.names.iter().map(|name| u64::try_from(name.stat.st_size).unwrap_or(0)).sum::<u64>();
    let tops: Vec<String> =
        found.names.iter().filter(|name| name.is_top).map(|name| text::escape_path(&name.path)).collect();
    let more = tops.len().saturating_sub(ALONG_SAID_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let names = format!("{}{more}", tops.get(..ALONG_SAID_MAX).unwrap_or(&tops).join(", "));
    let fits = !found.is_cut && bytes <= ALONG_BYTES_MAX;
    let said = if fits {
        format!("ignored files came along: {names} ({})", text::size(bytes))
    } else {
        format!("ignored files did not come along, there are too many: {names}; --setup can install them in each copy")
    };
    (fits, vec![text::one_line(&said, 500)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cancelling_a_job_that_waits_leaves_the_one_under_way() {
        let cancels = Cancels::default();
        assert!(cancels.begin(OrderId(1)));
        cancels.cancel(OrderId(2));
        assert!(!cancels.flag.load(Ordering::Relaxed), "job 1 continues");
        cancels.end();
        assert!(!cancels.begin(OrderId(2)), "job 2 is not begun");
        cancels.end();
        assert!(cancels.begin(OrderId(3)));
    }

    #[test]
    fn cancelling_the_job_under_way_leaves_those_that_wait() {
        let cancels = Cancels::default();
        assert!(cancels.begin(OrderId(1)));
        cancels.cancel(OrderId(1));
        assert!(cancels.flag.load(Ordering::Relaxed));
        cancels.end();
        assert!(cancels.begin(OrderId(2)));
        assert!(!cancels.flag.load(Ordering::Relaxed));
    }
}
