//! What the newest checkpoint is and what becomes of a run when somebody goes back to one.
use super::event::Target;
use super::fact::{CheckpointName, GatePoint, Order, PromptNote};
use super::report::{Answer, CheckpointReport, RollbackReport};
use super::state::{Asked, IterationDelta, RunState, Stage};

impl RunState {
    pub(super) fn saved(&mut self, name: CheckpointName, saved: &CheckpointReport) {
        self.keeping.tree = saved.tree.clone().or(self.keeping.tree.take());
        self.keeping.newest = saved.checkpoint.clone().or(self.keeping.newest.take());
        self.keeping.compared = matches!(name, CheckpointName::BetweenIterations(_));
        self.keeping.unwatched = false;
        self.stage = match name {
            CheckpointName::Initial => Stage::Gating { point: GatePoint::Baseline, next: 0 },
            CheckpointName::Iteration(_) => Stage::Saved,
            CheckpointName::Interrupted(iteration, attempt) => {
                let cut_off = self.wait.is_none() && self.asked.rollback.is_none();
                if self.settings.resolved.get("on_interrupt") == "rollback" && cut_off {
                    let to = self.keeping.before.clone();
                    self.asked.rollback = to.map(|to| Target { to, now: true, git: false });
                }
                Stage::Gating { point: GatePoint::Interrupted(iteration, attempt), next: 0 }
            }
            CheckpointName::BetweenIterations(_) => {
                self.guarding.people |= saved.changes.is_some();
                if let Some(changes) = saved.changes {
                    self.tell(PromptNote::ChangedByOthers { files: changes.files });
                    self.judged.counts.saw(saved.tree.as_deref());
                }
                return;
            }
        };
        if name == CheckpointName::Initial && self.gates.is_empty() {
            self.round_over(GatePoint::Baseline);
        }
    }

    /// What comes back when something of the workspace was to be kept or gone back to.
    pub(super) fn keeping_answered(&mut self, order: &Order, answer: &Answer) -> bool {
        match (order, answer) {
            (Order::Rollback { .. }, Answer::RolledBack(back)) => self.rolled_back(back),
            (Order::Rollback { to, undo, .. }, Answer::Refused { why }) => self.refused(why, (to, undo)),
            (Order::Rollback { .. }, Answer::Blocked { why }) if self.asked.cancel.is_some() => {
                self.asked.rollback = None;
                self.keeping.refused = Some(why.clone());
            }
            (Order::ManualCheckpoint { .. }, _) => {}
            // Nothing was done yet that a pause could keep.
            (Order::Checkpoint { name: CheckpointName::Initial }, Answer::Blocked { why }) => {
                self.host_failure = Some(why.clone());
            }
            (Order::Checkpoint { .. } | Order::Measure { .. } | Order::Rollback { .. }, Answer::Blocked { why }) => {
                self.blocked = Some(why.clone());
            }
            _ => return false,
        }
        true
    }

    fn rolled_back(&mut self, back: &RollbackReport) {
        self.asked.rollback = None;
        self.keeping.rolling_back = false;
        self.keeping.rollbacks += 1;
        self.keeping.left_its_end |= self.over.is_some();
        self.keeping.newest = Some(back.to.clone());
        self.keeping.tree = back.tree.clone();
        self.keeping.undo = Some(back.undo.clone());
        self.keeping.refused = None;
        if !self.agent_ended {
            // What the iteration does is measured from here.
            self.keeping.before = Some(back.to.clone());
        }
        // Somebody still has to look at what was in the way: a loop that held goes on holding.
        if let Some(why) = self.blocked.take() {
            self.asked.pause = self.asked.pause.take().or(Some(why));
        }
        // The workspace is what it was then: what was counted and told since says nothing about it.
        let why = |note: &PromptNote| matches!(note, PromptNote::Regressed { .. } | PromptNote::Tampered { .. });
        let still =
            self.judged.reverting.then(|| self.notes.iter().filter(|note| why(note)).cloned().collect::<Vec<_>>());
        self.notes.clear();
        self.changed_names.clear();
        (self.unverifiable_streak, self.crash_streak) = (0, 0);
        (self.changes, self.measured) = (None, IterationDelta::default());
        // A person who goes back begins anew; harm that is undone, and a best state that is kept at the end, are none.
        let person = !std::mem::take(&mut self.judged.reverting) && (self.over.is_none() || self.visiting);
        if person {
            self.close_breaker();
        } else {
            self.judged.counts.saw(back.tree.as_deref());
            self.judged.counts.completion = 0;
        }
        self.forget_tamper();
        self.forget_tries();
        self.keeping.unwatched = false;
        self.notes.extend(still.into_iter().flatten());
        self.tell(PromptNote::RolledBack { to: back.to.clone() });
        if self.stage != Stage::Fresh {
            self.stage = Stage::Gating { point: GatePoint::RolledBack(self.iteration), next: 0 };
        }
        self.keeping.compared = false;
    }

    /// What was asked for before does not hold any more, but a rollback that was begun comes to its end, or is
    /// undone: the workspace would be neither this nor that.
    pub(super) fn forget_asked(&mut self) {
        let undo = Target { to: self.undo_name(), now: true, git: false };
        let rollback = self.asked.rollback.take().unwrap_or(undo);
        self.asked = Asked { rollback: self.keeping.rolling_back.then_some(rollback), ..Asked::default() };
    }

    /// What is there before the next rollback will be called so, or is already.
    #[must_use]
    pub fn undo_name(&self) -> String {
        format!("undo-{}", self.keeping.rollbacks + 1)
    }

    /// Nothing was changed by this one. If an earlier one had begun, it is undone.
    fn refused(&mut self, why: &str, (to, undo): (&str, &str)) {
        let half_done = self.keeping.half_done && to != undo;
        self.asked.rollback = half_done.then(|| Target { to: undo.to_owned(), now: true, git: false });
        (self.keeping.rolling_back, self.keeping.may_try) = (half_done, half_done);
        self.keeping.refused = Some(why.to_owned());
    }

    /// Whether the gates would judge a workspace that no checkpoint holds: somebody may have edited while nobody watched.
    #[must_use]
    pub fn must_keep_first(&self) -> bool {
        self.keeps() && self.keeping.unwatched && self.keeping.newest.is_some()
    }

    /// Whether the workspace must be compared with what is kept before the agent is asked: others may have changed it.
    #[must_use]
    pub fn must_compare(&self) -> bool {
        self.keeps() && !self.keeping.compared && (self.agent_ended || self.iteration == 0)
    }
}
