//! Orders about checkpoints, protected files and measurements are carried out on a thread of their own: they read and
//! write whole workspaces, and the driver must react to people and processes meanwhile. One order after the other.
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use loop_core::ids::OrderId;
use loop_core::run::{Answer, CheckpointName, CheckpointReport, Order, RunState};
use rustix::event::{EventfdFlags, eventfd};

use crate::checkpoint::{CheckpointContext, CheckpointError, RollbackRequest, RunCheckpoints};
use crate::fs::FolderId;
use crate::guard::{GuardOrder, RunGuard};
use crate::judge;
use crate::measure::Measure;
use crate::run_folder::RunFolder;
use crate::score_signals::Scored;
use crate::workspace::WorkspaceIdentity;

/// The thread, and the channels to it and back.
#[derive(Debug)]
pub(crate) struct CheckpointWorker {
    work: Sender<(OrderId, Work)>,
    done: Receiver<(OrderId, Answer)>,
    wake: OwnedFd,
    /// Set to cancel the order under way.
    cancel: Arc<AtomicBool>,
}

/// An order with what the state knows about it.
#[derive(Debug)]
enum Work {
    Take {
        name: String,
        parent: Option<String>,
    },
    TakeIfChanged {
        name: String,
        newest: Option<String>,
        /// No agent has worked yet: what clean copies get beside the tree is recorded.
        is_first: bool,
    },
    TakeManual {
        name: String,
    },
    Measure {
        from: Option<String>,
        to: String,
        /// The hash of the record of the protected files.
        record: Option<String>,
        scored: Scored,
    },
    RollBack {
        to: String,
        undo: String,
        git: bool,
        paths: Vec<String>,
    },
    Guard(GuardOrder),
    /// Without checkpoints: the first state of the workspace.
    BeginWhole,
    /// Without checkpoints: whether the workspace changed.
    MeasureWhole(Scored),
}

impl CheckpointWorker {
    /// Starts the thread.
    pub(crate) fn new(
        context: CheckpointContext,
        run: &RunFolder,
        workspace: WorkspaceIdentity,
    ) -> std::io::Result<Self> {
        let (work, orders) = channel::<(OrderId, Work)>();
        let (answers, done) = channel();
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let bell = wake.try_clone()?;
        let cancel = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&cancel);
        let folder = run.clone();
        thread::Builder::new().name("checkpoints".to_owned()).spawn(move || {
            let mut state = ThreadState {
                checkpoints: None,
                guard: RunGuard::new(&folder.path, &context),
                folder,
                measure: Measure::new(&context),
                context,
                cancel: asked,
                workspace,
            };
            for (id, work) in orders {
                let answer = state.carry_out_in_workspace(work);
                if answers.send((id, answer)).is_err() {
                    return;
                }
                // If this fails, the driver sees the answer at its next deadline.
                rustix::io::write(&bell, &1_u64.to_ne_bytes()).ok();
            }
        })?;
        Ok(Self { work, done, wake, cancel })
    }

    /// Cancels the order under way; its answer still comes.
    pub(crate) fn cancel(&self) {
        self.cancel.store(true, Ordering::Relaxed);
    }

    /// Begins an order; its answer comes later.
    pub(crate) fn begin(&self, id: OrderId, order: &Order, state: &RunState) {
        let newest = state.checkpoints.newest().map(str::to_owned);
        let has_checkpoints = state.spec.as_ref().is_some_and(|spec| spec.has_checkpoints());
        let work = match order {
            Order::Checkpoint { .. } if !has_checkpoints => Work::BeginWhole,
            Order::Measure { .. } if !has_checkpoints => Work::MeasureWhole(Scored::of(state)),
            Order::Checkpoint { name: name @ CheckpointName::BetweenIterations(_) } => {
                Work::TakeIfChanged { name: name.to_string(), newest, is_first: state.iteration == 0 }
            }
            Order::Checkpoint { name } => Work::Take { name: name.to_string(), parent: newest },
            // No parent: it must not keep the run's checkpoints from being removed.
            Order::ManualCheckpoint { name } => Work::TakeManual { name: name.clone() },
            Order::Measure { .. } => {
                let from = state.checkpoints.before().map(str::to_owned);
                let record = state.guard.record().map(str::to_owned);
                Work::Measure { from, to: newest.unwrap_or_default(), record, scored: Scored::of(state) }
            }
            Order::Rollback { to, undo, git, paths, .. } => {
                Work::RollBack { to: to.clone(), undo: undo.clone(), git: *git, paths: paths.clone() }
            }
            Order::Guard { point } => Work::Guard(GuardOrder::of(*point, state)),
            Order::CleanUp { .. }
            | Order::RunAgent { .. }
            | Order::Hold { .. }
            | Order::RunGate { .. }
            | Order::WriteText { .. }
            | Order::Reserve { .. }
            | Order::Certify { .. }
            | Order::Judge { .. }
            | Order::Branches { .. }
            | Order::Notify { .. } => return,
        };
        self.cancel.store(false, Ordering::Relaxed);
        self.work.send((id, work)).ok();
    }

    /// The handle to wait on.
    pub(crate) fn wants(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    /// The answers that came.
    pub(crate) fn take(&self) -> Vec<(OrderId, Answer)> {
        let mut count = [0; 8];
        rustix::io::read(&self.wake, &mut count).ok();
        self.done.try_iter().collect()
    }
}

/// What the thread works with.
struct ThreadState {
    workspace: WorkspaceIdentity,
    context: CheckpointContext,
    folder: RunFolder,
    cancel: Arc<AtomicBool>,
    checkpoints: Option<RunCheckpoints>,
    guard: RunGuard,
    measure: Measure,
}

impl ThreadState {
    /// Carries an order out if the workspace is still the folder that the run was begun in. Everything that reads or
    /// writes it was opened at that folder.
    fn carry_out_in_workspace(&mut self, work: Work) -> Answer {
        let is_request = matches!(work, Work::TakeManual { .. });
        let not_there = |what: String| if is_request { Answer::Refused { why: what } } else { Answer::Failed { what } };
        if let Err(replaced) = self.workspace.check() {
            return not_there(replaced.to_string());
        }
        let answer = self.carry_out(work);
        let opened = [self.guard.folder(), self.checkpoints.as_ref().map(RunCheckpoints::folder)];
        if opened.into_iter().flatten().any(|folder| FolderId::of(folder).ok() != self.workspace.id()) {
            self.checkpoints = None;
            self.guard = RunGuard::new(&self.folder.path, &self.context);
            let why = self.workspace.check().err().map_or_else(|| "and was put back".to_owned(), |why| why.to_string());
            return not_there(format!("the workspace was replaced while it was opened: {why}"));
        }
        answer
    }

    fn carry_out(&mut self, work: Work) -> Answer {
        let Self { context, folder, cancel, checkpoints, guard, measure, .. } = self;
        match &work {
            Work::Guard(order) if context.backend == "none" => return guard.carry_out(order, None),
            Work::BeginWhole => {
                measure.begin_whole(guard);
                return Answer::Checkpoint(CheckpointReport::default());
            }
            Work::MeasureWhole(scored) => {
                let measured = measure.measure_whole(guard);
                return Answer::Measurement(scored.add(folder, &context.workspace, measured));
            }
            Work::Take { .. }
            | Work::TakeIfChanged { .. }
            | Work::TakeManual { .. }
            | Work::Measure { .. }
            | Work::RollBack { .. }
            | Work::Guard(_) => {}
        }
        let opened = match checkpoints {
            Some(checkpoints) => Ok(checkpoints),
            None => RunCheckpoints::open(context.clone(), Arc::clone(cancel)).map(|opened| checkpoints.insert(opened)),
        };
        let done = opened.map_err(CheckpointError::from).and_then(|checkpoints| match &work {
            Work::Take { name, parent } => {
                measure.begin();
                checkpoints.take(name, parent.as_deref()).map(Answer::Checkpoint)
            }
            Work::TakeIfChanged { name, newest, is_first } => {
                measure.skip_gates(guard);
                let taken = checkpoints.take_if_changed(name, newest.as_deref());
                taken
                    .map(|report| if *is_first { with_baseline(report, &folder.path, context) } else { report })
                    .map(Answer::Checkpoint)
            }
            Work::TakeManual { name } => checkpoints.take(name, None).map(Answer::ManualCheckpoint),
            Work::Guard(order) => Ok(guard.carry_out(order, Some(checkpoints))),
            Work::BeginWhole | Work::MeasureWhole(_) => Ok(Answer::Measurement(measure.measure_whole(guard))),
            Work::Measure { from, to, record, scored } => {
                guard.open(record.as_deref());
                let measured = measure.measure(guard, checkpoints, from.as_deref(), to);
                measured.map(|measured| Answer::Measurement(scored.add(folder, &context.workspace, measured)))
            }
            Work::RollBack { to, undo, git, paths } => {
                let asked = RollbackRequest { to, undo, git: *git, paths };
                // The best of several branches was written by another process.
                checkpoints.store().refresh()?;
                checkpoints.roll_back(&asked).map(Box::new).map(Answer::RolledBack)
            }
        });
        match done {
            Ok(answer) => answer,
            Err(CheckpointError::Cancelled) if matches!(work, Work::TakeManual { .. } | Work::RollBack { .. }) => {
                Answer::Refused { why: "it was stopped before anything was changed".to_owned() }
            }
            Err(CheckpointError::Cancelled) => Answer::Failed { what: "the checkpoint was cancelled".to_owned() },
            Err(CheckpointError::Gone(what)) => Answer::Failed { what },
            Err(CheckpointError::Refused(why)) => Answer::Refused { why },
            Err(CheckpointError::Blocked(why)) if matches!(work, Work::TakeManual { .. }) => Answer::Refused { why },
            Err(CheckpointError::Blocked(why)) => Answer::Blocked { why },
        }
    }
}

/// Records what a clean copy must not take from an agent: before the first one begins, after the gates have run once.
fn with_baseline(report: CheckpointReport, run: &Path, context: &CheckpointContext) -> CheckpointReport {
    match judge::take_baseline(run, context) {
        Ok(hash) => CheckpointReport { judge_baseline: Some(hash), ..report },
        Err(error) => {
            let mut report = report;
            let text = format!("ignored files could not be recorded, so clean copies will not have them: {error}");
            report.remarks.push(text);
            report
        }
    }
}
