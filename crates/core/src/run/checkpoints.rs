//! What is known about the checkpoints of a run, and about rollbacks.
use serde::{Deserialize, Serialize};

use super::event::Target;
use super::report::{CheckpointReport, RollbackReport};

/// The checkpoint of the workspace before iteration 1.
pub const INITIAL: &str = "initial";

/// The newest checkpoints, and how the workspace compares with them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checkpoints {
    newest: Option<String>,
    before: Option<String>,
    tree: Option<String>,
    initial_tree: Option<String>,
    known: Known,
    named: u32,
    rollback: Rollback,
    /// A person did not wait for the checkpoint of a cut-off attempt.
    gave_up_saving: bool,
    verified_before: Option<String>,
}

/// How well the workspace is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Known {
    /// It may have changed since the newest checkpoint: something ran, or a person had time to edit.
    #[default]
    MayDiffer,
    /// It was compared with the newest checkpoint since the gates ran.
    Compared,
    /// No driver watched it since the newest checkpoint.
    Unwatched,
}

/// What is known about rollbacks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Rollback {
    count: u32,
    begun: Begun,
    own: Option<OwnRollback>,
    /// A wanted rollback may be tried now: it is tried once for each request.
    may_try: bool,
    undo: Option<String>,
    /// The checkpoint that was restored after the run had ended.
    left_its_end: Option<String>,
    refused: Option<String>,
}

/// Rollbacks that were begun and have not come to their end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Begun {
    #[default]
    No,
    /// One: the workspace may be half-restored.
    Once,
    /// Another one after it, too.
    Again,
}

/// A rollback that the loop itself decided.
#[derive(Debug, Clone, PartialEq, Eq)]
struct OwnRollback {
    to: String,
    cause: RollbackCause,
}

/// Why the workspace is rolled back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RollbackCause {
    /// A person asked for it.
    #[default]
    Request,
    /// The iteration broke something that had passed.
    Regression,
    /// The loop is stuck, and the next try begins with its best state.
    Recovery,
    /// The best of several branches is better than the state of a run that is stuck.
    Branch,
    /// The attempt was interrupted.
    Interruption,
    /// A rollback before it did not come to its end.
    Undo,
    /// The run ended without success, and its best state is to stay.
    KeepBest,
}

impl Checkpoints {
    /// The checkpoint that the workspace was last known to equal.
    #[must_use]
    pub fn newest(&self) -> Option<&str> {
        self.newest.as_deref()
    }

    /// The one that the iteration's agent began on.
    #[must_use]
    pub fn before(&self) -> Option<&str> {
        self.before.as_deref()
    }

    /// The hash of the newest tree.
    #[must_use]
    pub fn tree(&self) -> Option<&str> {
        self.tree.as_deref()
    }

    /// The hash of the tree before iteration 1: what the agent changed is seen by comparing with it.
    #[must_use]
    pub fn initial_tree(&self) -> Option<&str> {
        self.initial_tree.as_deref()
    }

    /// How many checkpoints people asked for without a name.
    #[must_use]
    pub fn named(&self) -> u32 {
        self.named
    }

    /// Whether a rollback was begun and has not come to its end.
    #[must_use]
    pub fn rolling_back(&self) -> bool {
        self.rollback.begun != Begun::No
    }

    /// Why the newest rollback was not done.
    #[must_use]
    pub fn refused(&self) -> Option<&str> {
        self.rollback.refused.as_deref()
    }

    /// What was there before the newest rollback.
    #[must_use]
    pub fn undo(&self) -> Option<&str> {
        self.rollback.undo.as_deref()
    }

    /// What is there before the next rollback will be called so, or is already.
    #[must_use]
    pub fn undo_name(&self) -> String {
        format!("undo-{}", self.rollback.count + 1)
    }

    /// Whether there was a rollback after the run had ended.
    #[must_use]
    pub fn left_its_end(&self) -> bool {
        self.rollback.left_its_end.is_some()
    }

    /// Whether the loop rolls back because the iteration broke something.
    #[must_use]
    pub fn is_reverting(&self) -> bool {
        self.rollback.own.as_ref().is_some_and(|own| own.cause == RollbackCause::Regression)
    }

    pub(super) fn gave_up_saving(&self) -> bool {
        self.gave_up_saving
    }

    pub(super) fn give_up_saving(&mut self) {
        self.gave_up_saving = true;
    }

    pub(super) fn may_try_rollback(&self) -> bool {
        self.rollback.may_try
    }

    pub(super) fn is_compared(&self) -> bool {
        self.known == Known::Compared
    }

    pub(super) fn is_unwatched(&self) -> bool {
        self.known == Known::Unwatched
    }

    /// Which checkpoint is restored, and why: what a person asked for, else what the loop decided, else the target of a
    /// rollback that was begun.
    pub(super) fn target(&self, asked: Option<&Target>) -> Option<(Target, RollbackCause)> {
        let own = |to: String, cause| (Target { to, now: true, git: false, paths: Vec::new() }, cause);
        match (asked, &self.rollback.own, self.rollback.begun) {
            (Some(target), _, _) => Some((target.clone(), RollbackCause::Request)),
            (None, Some(decided), _) => Some(own(decided.to.clone(), decided.cause)),
            (None, None, Begun::Once | Begun::Again) => Some(own(self.undo_name(), RollbackCause::Undo)),
            (None, None, Begun::No) => None,
        }
    }

    pub(super) fn taken(&mut self, report: &CheckpointReport, between_iterations: bool) {
        self.set_tree(report.tree.as_deref());
        if report.checkpoint.as_deref() == Some(INITIAL) {
            self.initial_tree.clone_from(&report.tree);
        }
        self.newest = report.checkpoint.clone().or(self.newest.take());
        self.known = if between_iterations { Known::Compared } else { Known::MayDiffer };
    }

    pub(super) fn set_tree(&mut self, tree: Option<&str>) {
        self.tree = tree.map(str::to_owned).or(self.tree.take());
    }

    /// Somebody may have changed the workspace.
    pub(super) fn may_differ(&mut self) {
        if self.known == Known::Compared {
            self.known = Known::MayDiffer;
        }
    }

    pub(super) fn opened(&mut self) {
        self.gave_up_saving = false;
        self.known = Known::Unwatched;
        self.rollback.may_try = true;
    }

    pub(super) fn iteration_begins(&mut self) {
        self.before = self.newest.clone();
    }

    pub(super) fn count_manual(&mut self) {
        self.named += 1;
    }

    /// A person asked again.
    pub(super) fn allow_rollback(&mut self, allowed: bool) {
        self.rollback.may_try = allowed;
    }

    pub(super) fn plan_rollback(&mut self, to: &str, cause: RollbackCause) {
        self.rollback.own = Some(OwnRollback { to: to.to_owned(), cause });
        self.rollback.may_try = true;
    }

    pub(super) fn drop_plan(&mut self) {
        self.rollback.own = None;
    }

    /// The checkpoint on which the run was verified before a person opened it again.
    #[must_use]
    pub fn verified_before(&self) -> Option<&str> {
        self.verified_before.as_deref()
    }

    /// A person opened the run again, which was verified on this checkpoint.
    pub(super) fn opened_again(&mut self, verified: Option<String>) {
        self.verified_before = verified.or(self.verified_before.take());
    }

    pub(super) fn forget_end(&mut self) {
        self.rollback.left_its_end = None;
    }

    pub(super) fn rollback_begins(&mut self) {
        self.rollback.begun = if self.rolling_back() { Begun::Again } else { Begun::Once };
        self.rollback.may_try = false;
    }

    /// It was not done, and a person gives the run up.
    pub(super) fn rollback_given_up(&mut self, why: &str) {
        self.rollback.own = None;
        self.rollback.refused = Some(why.to_owned());
    }

    /// Nothing was changed by this one. If an earlier one had begun, that one is undone.
    pub(super) fn rollback_refused(&mut self, why: &str, was_undo: bool) {
        let half_done = self.rollback.begun == Begun::Again && !was_undo;
        self.rollback.begun = if half_done { Begun::Once } else { Begun::No };
        self.rollback.may_try = half_done;
        self.rollback.own = None;
        self.rollback.refused = Some(why.to_owned());
    }

    pub(super) fn rolled_back(&mut self, back: &RollbackReport, after_end: bool, within_iteration: bool) {
        self.rollback.own = None;
        self.rollback.begun = Begun::No;
        self.rollback.count += 1;
        if after_end {
            self.rollback.left_its_end = Some(back.to.clone());
        }
        self.rollback.undo = Some(back.undo.clone());
        self.rollback.refused = None;
        let newest = back.newest.as_ref().unwrap_or(&back.to);
        self.newest = Some(newest.clone());
        self.tree = back.tree.clone();
        self.known = Known::MayDiffer;
        if within_iteration {
            // The changes of the iteration are measured from here.
            self.before = Some(newest.clone());
        }
    }
}
