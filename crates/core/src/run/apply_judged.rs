//! Bookkeeping of what was judged: attempts, measurements, gates, rounds, protected files, proofs.
use super::checkpoints::RollbackCause;
use super::choice::AgentChoice;
use super::fact::{CancelCause, GatePoint};
use super::gates::JudgedRound;
use super::judgement::{
    AttemptJudgement, AttemptResult, BestJudgement, GateJudgement, GuardJudgement, IterationJudgement,
    MeasurementJudgement, ProofJudgement, RoundJudgement,
};
use super::memory::{AttemptLine, RawIteration};
use super::phase::{AfterAttempt, Phase};
use super::progress::Best;
use super::report::Measurement;
use super::state::RunState;

impl RunState {
    pub(super) fn attempt_judged(&mut self, judgement: &AttemptJudgement) {
        let ended = self.agent.take_ended();
        match &ended.report {
            Some(report) => {
                self.agent.used(report.stream.usage);
                self.budget.call_ended(&report.stream, judgement.cost_micros);
                self.model_reported(report.stream.model.as_deref());
            }
            None => self.budget.call_lost(),
        }
        if judgement.forget_session {
            self.agent.forget_session();
        }
        match judgement.result {
            AttemptResult::CutOff => return self.cut_off(),
            AttemptResult::Limited => {
                self.agent.provider.limited(judgement.wait.as_ref());
                self.agent.continue_next();
                self.prompt.give_again();
                self.prompt.add(&judgement.notes);
                let long = judgement.gates_first;
                return self.after_attempt(if long { AfterAttempt::Interrupted } else { AfterAttempt::Retry });
            }
            AttemptResult::AgentUnable => {
                let arm = self.agent.choice().map(AgentChoice::arm);
                if let (Some(arm), Some(failure)) = (arm, judgement.failure) {
                    self.agent.routing.cannot_work(&arm, failure);
                }
                self.prompt.give_again();
                self.prompt.add(&judgement.notes);
                return self.after_attempt(AfterAttempt::Retry);
            }
            AttemptResult::SessionLost => {
                self.agent.forget_session();
                self.prompt.give_again();
                return self.after_attempt(AfterAttempt::Retry);
            }
            AttemptResult::StatusMissing => {
                self.agent.provider.answered();
                self.agent.ask_for_status();
                self.prompt.clear_notes();
                self.prompt.add(&judgement.notes);
                return self.after_attempt(AfterAttempt::Retry);
            }
            AttemptResult::StatusAnswered => {
                self.prompt.surroundings.iteration_ended();
                self.agent.finish_without_status(self.iteration);
                if let Some(report) = &ended.report {
                    self.agent.status_answered(&report.stream, judgement);
                }
            }
            AttemptResult::Iteration => {
                self.agent.provider.answered();
                if let Some(report) = &ended.report {
                    self.prompt.memory.claimed(self.iteration, &report.stream);
                }
                self.prompt.surroundings.iteration_ended();
                self.agent.finish(self.iteration, judgement);
                if judgement.timed_out {
                    self.progress.count_timeout();
                }
            }
        }
        self.prompt.clear_notes();
        self.prompt.add(&judgement.notes);
        self.after_attempt(AfterAttempt::Iteration);
    }

    /// Which model an agent uses where none is named for it.
    pub(super) fn model_reported(&mut self, model: Option<&str>) {
        let unnamed = self.agent.choice().filter(|choice| choice.model.is_none()).map(|choice| choice.agent.clone());
        if let (Some(agent), Some(model)) = (unnamed, model) {
            self.agent.routing.reports(&agent, model);
        }
    }

    /// The status block is not asked for: the iteration is what it is.
    pub(super) fn status_skipped(&mut self) {
        self.budget.forget_call();
        self.prompt.surroundings.iteration_ended();
        self.agent.finish_without_status(self.iteration);
        self.prompt.clear_notes();
        self.after_attempt(AfterAttempt::Iteration);
    }

    pub(super) fn measured(&mut self, measured: &Measurement) {
        self.progress.measured(measured);
        self.checkpoints.set_tree(measured.tree.as_deref());
        self.prompt.changed(&measured.names);
        self.phase = Phase::Measured;
    }

    pub(super) fn measurement_judged(&mut self, judgement: &MeasurementJudgement) {
        self.agent.measured(judgement.asks, judgement.failure, judgement.question.as_ref());
        self.prompt.add(&judgement.notes);
        self.enter_gates(GatePoint::Iteration(self.iteration));
    }

    pub(super) fn gate_judged(&mut self, judgement: &GateJudgement) {
        let Phase::GateEnded { point, next } = self.phase else { return };
        let by_time = self.gates.unjudged().is_some_and(|ended| ended.cancelled == Some(CancelCause::TimeLimit));
        if judgement.one.is_none() && by_time {
            self.clock.gate_ended_by_time();
        }
        let ended = self.gates.unjudged().filter(|_| judgement.one.is_some());
        self.prompt.memory.gate_ended(ended.and_then(|ended| ended.report.tests.as_deref()));
        let round = JudgedRound { point, iteration: self.iteration, tree: self.checkpoints.tree() };
        let next = next + u32::from(self.gates.judged(judgement, round));
        let all = usize::try_from(next).is_ok_and(|next| next >= self.gates.len());
        self.phase = if all { Phase::RoundEnded { point } } else { Phase::Gates { point, next } };
    }

    pub(super) fn round_judged(&mut self, judgement: &RoundJudgement) {
        let point = judgement.point;
        let of_work = judgement.iteration.is_some() || matches!(point, GatePoint::RolledBack(_));
        let iteration = if of_work { self.iteration } else { 0 };
        let checkpoint = self.checkpoints.newest().map(str::to_owned);
        self.progress.round(judgement, Best { iteration, checkpoint, rank: judgement.rank });
        self.gates.round_ended();
        if judgement.best == BestJudgement::Yes {
            self.prompt.memory.best(self.gates.iter().map(|gate| gate.last().map(|last| last.verdict)).collect());
        }
        match (&judgement.iteration, point) {
            (Some(iteration), _) => {
                self.remember(iteration);
                self.gates.count_unverifiable(iteration.unverifiable);
                self.progress.iteration(iteration);
                self.trouble.alerts.iteration(iteration);
                self.recovery.iteration(&iteration.stuck);
                self.prompt.add(&iteration.notes);
                if let Some(to) = &iteration.revert_to {
                    self.checkpoints.plan_rollback(to, RollbackCause::Regression);
                }
            }
            (None, GatePoint::Baseline | GatePoint::Reopened(0) | GatePoint::RolledBack(0)) => {
                self.gates.learn_costs();
                self.progress.saw(self.checkpoints.tree());
            }
            (None, _) => {}
        }
        self.phase = Phase::Deciding { point };
        if self.guard.due().is_some() || self.guard.has_new() || (self.guard.watched_due() && self.gates_pass()) {
            self.phase = Phase::GatesGuard { point };
        }
    }

    /// A line of the ledger; an old journal has none.
    pub(super) fn remember(&mut self, judgement: &IterationJudgement) {
        let Some(measured) = &judgement.memory else { return };
        let choice = self.agent.choice();
        let reported = self.agent.report().and_then(|report| report.stream.model.clone());
        let mut line = AttemptLine {
            iteration: self.iteration,
            agent: choice.map_or_else(String::new, |choice| choice.agent.clone()),
            model: reported.or_else(|| choice.and_then(|choice| choice.model.clone())),
            changes: self.progress.changes(),
            measured: measured.as_ref().clone(),
            reverted_to: judgement.revert_to.clone(),
            improved: judgement.evidence.improved,
        };
        if let Some(raw) = line.measured.raw.take() {
            let raw_iteration = RawIteration {
                iteration: line.iteration,
                agent: line.agent.clone(),
                model: line.model.clone(),
                score: judgement.score.map(|score| score.total),
                markers: raw.markers,
                text: raw.text,
            };
            self.prompt.memory.wrote(raw_iteration, raw.window);
        }
        self.prompt.memory.iteration(line);
    }

    pub(super) fn guard_judged(&mut self, judgement: &GuardJudgement) {
        if self.guard.judged(judgement) {
            self.progress.best_is_void();
            self.prompt.memory.best_is_void();
            self.recovery.better_is_void();
        }
        judgement.note.iter().cloned().for_each(|note| self.prompt.note(note));
        match self.phase {
            Phase::StartGuard => self.phase = Phase::InitialCheckpoint,
            Phase::AttemptGuard(next) => self.after_attempt_guard(next),
            Phase::GatesGuard { point } => self.phase = Phase::Deciding { point },
            Phase::New
            | Phase::InitialCheckpoint
            | Phase::Agent
            | Phase::AttemptEnded
            | Phase::InterruptedCheckpoint
            | Phase::InterruptedSaved
            | Phase::IterationCheckpoint
            | Phase::Measuring
            | Phase::Measured
            | Phase::BeforeGates { .. }
            | Phase::Gates { .. }
            | Phase::GateEnded { .. }
            | Phase::RoundEnded { .. }
            | Phase::Deciding { .. } => {}
        }
    }

    pub(super) fn proof_judged(&mut self, judgement: &ProofJudgement) {
        self.proving.judged(judgement);
        judgement.note.iter().cloned().for_each(|note| self.prompt.note(note));
    }
}
