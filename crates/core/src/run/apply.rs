//! Bookkeeping: the only place where state changes, live and on replay. It copies, counts and stores; it asks no
//! policy and reads no setting.
use std::sync::Arc;

use super::agent::{AttemptKind, EndedAttempt};
use super::branches::BranchesReport;
use super::checkpoint_name::MANUAL;
use super::checkpoints::{INITIAL, RollbackCause};
use super::choice::{AgentChoice, ChoiceCause};
use super::clock::DriverMode;
use super::event::{Change, Event, Input, NoteChange, Notice, Request, Target};
use super::fact::{CancelCause, CheckpointName, Decision, Fact, GatePoint, HoldCause, Order, PromptNote};
use super::gates::{EndedGate, Gates};
use super::judge_report::{JudgeReport, NotJudged};
use super::judgement::{DroppedOrder, TextJudgement};
use super::memory::NoteAuthor;
use super::outcome::{Acceptance, Ending, Outcome};
use super::phase::{AfterAttempt, Phase};
use super::proving::UnjudgedCopy;
use super::recovery::RecoveryDecision;
use super::report::{Answer, CheckpointReport, RollbackReport};
use super::spec::RunSpec;
use super::state::{OpenRunOrder, Requests, RunSettings, RunState};
use super::surroundings::{AroundEvent, InboxEffect, InboxFile};
use super::text_order::EndedText;
use crate::agent::AgentReport;
use crate::ended::Ended;
use crate::ids::OrderId;
use crate::policy::router::AgentArm;
use crate::settings::Settings;
use crate::time::At;

impl RunState {
    /// Takes one fact in.
    pub fn apply(&mut self, fact: &Fact) {
        match fact {
            Fact::Happened(input) => self.happened(input),
            Fact::Ordered { id, order } => self.ordered(*id, order),
            Fact::OrderCancelled { id, cause: CancelCause::TimeUp } => self.orders.kill(*id),
            Fact::OrderCancelled { id, cause } => {
                if *cause == CancelCause::Urgent {
                    self.prompt.surroundings.agent_interrupted();
                }
                self.orders.cancel(*id, *cause);
            }
            Fact::Decided(decision) => self.decided(decision),
            Fact::Concluded { outcome, reason, proof } => {
                self.clock.close(self.now);
                self.over =
                    Some(Ending { outcome: *outcome, reason: reason.clone(), at: self.now, proof: proof.clone() });
                self.progress.concluded();
            }
        }
    }

    fn decided(&mut self, decision: &Decision) {
        match decision {
            Decision::OrderDropped { id, then } => self.order_dropped(*id, *then),
            Decision::Attempt(judgement) => self.attempt_judged(judgement),
            Decision::Interruption { rollback_to } => self.interruption_judged(rollback_to.as_deref()),
            Decision::StatusSkipped => self.status_skipped(),
            Decision::Measurement(judgement) => self.measurement_judged(judgement),
            Decision::Gate(judgement) => self.gate_judged(judgement),
            Decision::Round(judgement) => self.round_judged(judgement),
            Decision::Protect(judgement) => self.guard.protect(judgement),
            Decision::Guard(judgement) => self.guard_judged(judgement),
            Decision::Clean(judgement) => {
                self.gates.record_stability(&judgement.stability);
                self.proving.copy_judged(judgement, self.checkpoints.tree());
            }
            Decision::Proof(judgement) => self.proof_judged(judgement),
            Decision::UrgentWaits { .. } => {}
            Decision::TextWanted { purpose } => self.prompt.memory.want_text(*purpose),
            Decision::Text(judgement) => self.text_judged(judgement),
            Decision::Recovery(decision) => self.recovery_decided(decision),
            Decision::Chosen { choice, why, rule, .. } => self.chosen(choice, *why, rule.as_deref()),
            Decision::AgentOut { agent, why } => {
                self.agent.routing.cannot_work(&AgentArm::new(agent, None), *why);
                self.progress.forget_crashes();
            }
            Decision::UsedUp { until_ms, .. } => {
                self.agent.routing.used_up(*until_ms);
                self.budget.forget_call();
            }
            Decision::Alert(alert) => self.trouble.alerts.record(alert, self.now),
            Decision::BreakerClosed => self.close_breaker(),
        }
    }

    fn text_judged(&mut self, judgement: &TextJudgement) {
        match self.prompt.memory.take_ended_text().map(|ended| ended.result) {
            Some(Ok(report)) => self.budget.text_ended(&report.stream, judgement.cost_micros),
            // Whether the agent was started is not known.
            Some(Err(_)) => self.budget.call_lost(),
            None => {}
        }
        self.prompt.memory.text_judged(judgement, self.iterations_done());
    }

    fn recovery_decided(&mut self, decision: &RecoveryDecision) {
        if let RecoveryDecision::Began(began) = decision
            && let Some(to) = &began.restore
        {
            self.checkpoints.plan_rollback(to, RollbackCause::Recovery);
        }
        if let RecoveryDecision::Takes(taken) = decision {
            self.checkpoints.plan_rollback(&taken.restore, RollbackCause::Branch);
        }
        self.recovery.decided(decision, self.iteration);
    }

    /// A person wants the loop to try again: nothing that was counted holds any more.
    fn close_breaker(&mut self) {
        self.progress.close_breaker(self.checkpoints.tree());
        self.recovery.forget_counts();
    }

    fn chosen(&mut self, choice: &AgentChoice, why: ChoiceCause, rule: Option<&str>) {
        // The model that was reported is the one of the choice before.
        if self.agent.choice().is_some_and(|before| before != choice) {
            self.budget.forget_model();
        }
        self.agent.choose(choice, why, rule);
    }

    fn happened(&mut self, input: &Input) {
        if !matches!(input.event, Event::Opened | Event::Reopened { .. } | Event::OpenedForRequest { .. }) {
            self.now = input.at;
        }
        match &input.event {
            Event::Created(spec) => self.created(input.at, spec),
            Event::Opened => self.opened(input.at),
            Event::Reopened { changes, unattended, hidden, answers, injected, pid_namespace, scores, .. } => {
                if !scores.is_empty() {
                    self.agent.routing.learn(scores);
                }
                injected.iter().for_each(|text| self.prompt.inject(text));
                if *answers {
                    self.question_answered();
                }
                self.reopened(input.at, changes);
                if let (Some(spec), Some(namespace)) = (&mut self.spec, pid_namespace) {
                    Arc::make_mut(spec).pid_namespace = Some(*namespace);
                }
                self.proving.opened_with(hidden.as_ref());
                self.clock.set_unattended(*unattended);
            }
            Event::OpenedForRequest { .. } => self.opened_for_request(input.at),
            Event::Answered { order, answer } => self.answered(*order, answer),
            Event::Requested { request, by } => self.requested(request, by),
            Event::Noticed(Notice::Started { order, process }) => self.orders.started(*order, *process),
            Event::Noticed(Notice::Session { order, id }) => {
                if self.orders.get(*order).is_some() {
                    self.agent.met(id, self.now);
                }
            }
            Event::Around(around) => self.around_changed(around),
            Event::Noticed(Notice::Message { .. } | Notice::Silent { .. } | Notice::Retrying { .. })
            | Event::DeadlinePassed => {}
        }
    }

    fn around_changed(&mut self, around: &AroundEvent) {
        match around {
            AroundEvent::Inbox { file, effect } => self.took_from_inbox(file, effect),
            AroundEvent::Environment { changes, set, pause, by } => {
                self.prompt.surroundings.changed(changes);
                self.change(set);
                match pause {
                    Some(true) => self.requested(&Request::Pause, by),
                    Some(false) => self.requested(&Request::Resume, by),
                    None => {}
                }
            }
            AroundEvent::Files(files) => self.prompt.surroundings.files(files),
        }
    }

    fn took_from_inbox(&mut self, file: &InboxFile, effect: &InboxEffect) {
        self.prompt.surroundings.took(file);
        match effect {
            InboxEffect::Text(text) => self.prompt.inject(text),
            InboxEffect::Urgent(text) => {
                self.prompt.inject(text);
                self.prompt.lead_with(text.number);
            }
            InboxEffect::Pause => self.requested(&Request::Pause, &format!("{} in the inbox", file.name)),
            InboxEffect::Resume => self.requested(&Request::Resume, &format!("{} in the inbox", file.name)),
            InboxEffect::Status | InboxEffect::Ignored { .. } => {}
        }
    }

    fn requested(&mut self, request: &Request, by: &str) {
        match request {
            Request::Stop => self.requests.stop = Some(by.to_owned()),
            Request::Abort => self.requests.abort = Some(by.to_owned()),
            Request::Pause => self.requests.pause = Some(by.to_owned()),
            Request::Resume => {
                self.end_wait();
                self.requests.pause = None;
                self.trouble.alerts.resumed();
                self.trouble.unblock();
                self.checkpoints.allow_rollback(true);
            }
            Request::Cancel => {
                self.requests.cancel = Some(by.to_owned());
                if !self.checkpoints.rolling_back() {
                    self.requests.rollback = None;
                    self.checkpoints.drop_plan();
                }
            }
            Request::CancelRollback => {
                self.requests.cancel = Some(by.to_owned());
                self.request_rollback(&Target { to: INITIAL.to_owned(), now: true, git: false, paths: Vec::new() });
            }
            Request::Rollback(target) => self.request_rollback(target),
            Request::Checkpoint { .. } => {}
            Request::Note(NoteChange::Add { text }) => {
                self.prompt.memory.note(self.iteration, text, NoteAuthor::Person)
            }
            Request::Note(NoteChange::Strike { id }) => self.prompt.memory.strike(*id, NoteAuthor::Person),
            Request::Reset { session } => {
                self.close_breaker();
                if *session {
                    self.agent.forget_sessions();
                }
            }
            Request::Accept { because } => {
                self.requests.accept = Some(Acceptance { command: by.to_owned(), because: because.clone() });
            }
            Request::Inject(text) => self.prompt.inject(text),
            Request::Set(changes) => self.change(changes),
        }
    }

    fn request_rollback(&mut self, target: &Target) {
        self.requests.rollback = Some(target.clone());
        self.checkpoints.drop_plan();
        self.checkpoints.allow_rollback(true);
    }

    /// A person asked to continue at once: the run waits neither for the provider nor for an answer.
    fn end_wait(&mut self) {
        match self.main_order().and_then(|(_, open)| open.order.hold_cause()) {
            Some(HoldCause::Limit) => self.agent.provider.stop_waiting(),
            Some(HoldCause::Question) => self.question_answered(),
            Some(HoldCause::Stuck) => {
                self.close_breaker();
                self.recovery.person_came();
            }
            Some(HoldCause::Paused | HoldCause::Delay | HoldCause::Blocked | HoldCause::Calls) | None => {}
        }
    }

    /// A person lets the agent continue after its question; what they say is a text of its own.
    fn question_answered(&mut self) {
        self.prompt.drop_unanswered();
        let question = self.agent.take_question();
        question.into_iter().for_each(|question| self.prompt.note(PromptNote::Answered { question }));
        self.agent.continue_next();
    }

    fn change(&mut self, changes: &[Change]) {
        for change in changes {
            self.settings.change(change);
            if change.is_about_agent() {
                self.recovery.person_chose();
                // Another agent, or another model, has a provider of its own.
                self.agent.provider.stop_waiting();
                self.agent.provider.forget_refused();
                self.agent.routing.forget();
            }
            if let Some(described) = &change.described {
                self.agent.describe(described);
            }
            if change.limits_time() {
                self.clock.limit_changed();
            }
        }
    }

    fn created(&mut self, at: At, spec: &RunSpec) {
        self.clock.create(at);
        self.clock.set_unattended(spec.unattended);
        self.proving.opened_with(spec.hidden.as_ref());
        let settings = Settings::of(&spec.settings);
        self.gates = Gates::new(&settings.gates);
        self.settings = RunSettings::from(settings);
        self.phase = if spec.guard.is_some() { Phase::StartGuard } else { Phase::InitialCheckpoint };
        if let Some(described) = &spec.described {
            self.agent.describe(described);
        }
        self.agent.routing.learn(&spec.scores);
        self.spec = Some(std::sync::Arc::new(spec.clone()));
    }

    fn opened(&mut self, at: At) {
        self.clock.open(self.now, at, !self.phase.is_fresh());
        self.guard.opened();
        self.now = at;
        self.checkpoints.opened();
        // Nobody keeps a call for a driver that died; how long the next one would have to wait is asked again.
        self.budget.forget_call();
    }

    /// As after the end of a driver: the run does not continue until it is opened again.
    fn opened_for_request(&mut self, at: At) {
        self.opened(at);
        self.clock.open_for_request();
        self.forget_requests();
        // Nothing is done but what this command asks for. What failed before may work now.
        self.trouble.forget_host_failure();
        self.trouble.unblock();
        self.checkpoints.allow_rollback(false);
    }

    fn reopened(&mut self, at: At, changes: &[Change]) {
        self.opened(at);
        self.change(changes);
        self.forget_requests();
        self.recovery.person_came();
        self.recovery.resumed_by_person();
        self.progress.forget_crashes();
        self.gates.count_unverifiable(false);
        self.guard.forget();
        self.gates.forget_tries();
        self.trouble.forget();
        self.agent.forget_failures();
        self.agent.provider.forget_refused();
        self.agent.routing.forget();
        self.trouble.alerts.resumed();
        self.checkpoints.forget_end();
        // Somebody may have worked on it since: neither an end nor a verdict from before is believed, all gates run again.
        let verified = self.over.take().filter(|over| over.outcome == Outcome::Verified);
        self.checkpoints.opened_again(verified.and_then(|over| over.proof?.checkpoint));
        match self.phase {
            Phase::BeforeGates { point } | Phase::Gates { point, .. } | Phase::GateEnded { point, .. } => {
                self.enter_gates(point);
            }
            // An iteration that was judged is not judged, and counted, a second time.
            Phase::RoundEnded { .. } | Phase::GatesGuard { .. } | Phase::Deciding { .. } => {
                self.enter_gates(GatePoint::Reopened(self.iteration));
            }
            Phase::New
            | Phase::StartGuard
            | Phase::InitialCheckpoint
            | Phase::Agent
            | Phase::AttemptEnded
            | Phase::AttemptGuard(_)
            | Phase::InterruptedCheckpoint
            | Phase::InterruptedSaved
            | Phase::IterationCheckpoint
            | Phase::Measuring
            | Phase::Measured => {}
        }
    }

    /// What was asked for before does not hold any more, but a rollback that was begun comes to its end.
    fn forget_requests(&mut self) {
        let begun = self.checkpoints.rolling_back();
        let rollback = self.requests.rollback.take().filter(|_| begun);
        self.requests = Requests { rollback, ..Requests::default() };
        if !begun {
            self.checkpoints.drop_plan();
        }
    }

    /// The gates are next, where there are any.
    pub(super) fn enter_gates(&mut self, point: GatePoint) {
        let first_judgement = matches!(point, GatePoint::Baseline | GatePoint::Iteration(_));
        self.phase = match (self.gates.is_empty(), first_judgement) {
            (false, _) => Phase::BeforeGates { point },
            (true, true) => Phase::RoundEnded { point },
            (true, false) => Phase::Deciding { point },
        };
    }

    fn ordered(&mut self, id: OrderId, order: &Order) {
        match order {
            Order::RunAgent { iteration, attempt, choice, injected, session, .. } => {
                let first = *attempt == 1;
                self.agent.attempt_begins(session.as_deref());
                self.agent.provider.attempt_begins(&choice.agent);
                self.clock.agent_begins();
                self.budget.call_begins();
                self.guard.agent_begins();
                self.prompt.attempt_begins(first, injected.map(|(_, last)| last));
                self.prompt.surroundings.attempt_begins(first);
                if first {
                    self.checkpoints.iteration_begins();
                }
                self.iteration = *iteration;
                self.attempt = *attempt;
                self.phase = Phase::Agent;
            }
            Order::WriteText { .. } => self.budget.call_begins(),
            Order::Hold { cause, .. } => {
                if cause.lets_people_edit() {
                    self.guard.people_had_time();
                }
                if self.clock.stops_for(*cause) {
                    self.clock.stop(self.now);
                }
            }
            Order::Rollback { .. } => {
                self.guard.people_had_time();
                self.checkpoints.rollback_begins();
                self.budget.forget_call();
            }
            Order::Branches { .. } => {
                self.budget.forget_call();
                self.clock.agent_begins();
                self.recovery.branches_begin();
            }
            Order::ManualCheckpoint { name } if name.starts_with(MANUAL) => self.checkpoints.count_manual(),
            Order::RunGate { point, .. } => {
                if let Phase::BeforeGates { .. } = self.phase {
                    self.phase = Phase::Gates { point: *point, next: 0 };
                }
                self.guard.gate_begins(matches!(self.phase, Phase::Gates { next: 0, .. }));
                self.checkpoints.may_differ();
                // It may take an hour: a call that was granted before is not valid then.
                self.budget.forget_call();
                self.proving.forget();
            }
            Order::ManualCheckpoint { .. }
            | Order::Reserve { .. }
            | Order::Guard { .. }
            | Order::Certify { .. }
            | Order::Judge { .. }
            | Order::CleanUp { .. }
            | Order::Checkpoint { .. }
            | Order::Measure { .. }
            | Order::Notify { .. } => {}
        }
        self.orders.add(id, order, self.now);
    }

    /// It is not known how the order ended.
    fn order_dropped(&mut self, id: OrderId, then: DroppedOrder) {
        let Some(open) = self.orders.close(id) else { return };
        match then {
            DroppedOrder::Again => {}
            DroppedOrder::GatesAgain => {
                self.gates.forget_tries();
                self.enter_gates(GatePoint::Reopened(self.iteration));
            }
            DroppedOrder::CutOff => {
                self.budget.call_lost();
                self.cut_off();
            }
            DroppedOrder::TextLost => {
                if let Order::WriteText { purpose, .. } = &open.order {
                    let result = Err("the harness ended while the agent wrote it".to_owned());
                    self.prompt.memory.text_ended(EndedText { purpose: *purpose, result });
                }
            }
            DroppedOrder::Forgotten => return,
        }
        // Nobody works on a hold, so nothing can be left of it. A number of another start of the machine names
        // another process.
        if open.order.hold_cause().is_none() {
            self.trouble.may_run(open.process.filter(|_| open.since.boot_id == self.now.boot_id));
        }
    }

    /// An attempt ended from outside: what it left gets a checkpoint, and another attempt follows.
    pub(super) fn cut_off(&mut self) {
        self.agent.continue_next();
        self.prompt.give_again();
        self.prompt.note(PromptNote::Interrupted { attempt: self.attempt });
        self.after_attempt(AfterAttempt::Interrupted);
    }

    /// The protected files are checked first, where there are any.
    pub(super) fn after_attempt(&mut self, next: AfterAttempt) {
        match self.guard.due() {
            Some(_) => self.phase = Phase::AttemptGuard(next),
            None => self.after_attempt_guard(next),
        }
    }

    pub(super) fn after_attempt_guard(&mut self, next: AfterAttempt) {
        self.phase = match next {
            AfterAttempt::Iteration => Phase::IterationCheckpoint,
            AfterAttempt::Interrupted => Phase::InterruptedCheckpoint,
            AfterAttempt::Retry => Phase::Deciding { point: GatePoint::Interrupted(self.iteration, self.attempt) },
        };
    }

    /// An answer to an order from before a crash finds no open order and changes nothing.
    fn answered(&mut self, id: OrderId, answer: &Answer) {
        let Some(open) = self.orders.close(id) else { return };
        match (&open.order, answer) {
            (Order::Notify { .. } | Order::ManualCheckpoint { .. }, _) => {}
            (Order::Rollback { cause, .. }, Answer::RolledBack(back)) => self.rolled_back(back, *cause),
            (Order::Rollback { to, undo, .. }, Answer::Refused { why }) => {
                self.requests.rollback = None;
                self.checkpoints.rollback_refused(why, to == undo);
            }
            (Order::Rollback { .. }, Answer::Blocked { why }) if self.requests.cancel.is_some() => {
                self.requests.rollback = None;
                self.checkpoints.rollback_given_up(why);
            }
            // Nothing was done yet that a pause could keep.
            (Order::Checkpoint { name: CheckpointName::Initial }, Answer::Blocked { why }) => {
                self.trouble.host_failed(why);
            }
            (Order::Checkpoint { .. } | Order::Measure { .. } | Order::Rollback { .. }, Answer::Blocked { why }) => {
                self.trouble.block(why, self.now);
            }
            (Order::CleanUp { .. }, Answer::Cleaned { .. }) => self.trouble.cleaned(),
            (Order::Hold { cause, .. }, Answer::Held) => {
                if *cause == HoldCause::Delay {
                    self.agent.delay_is_over();
                }
                if cause.lets_people_edit() {
                    self.checkpoints.may_differ();
                }
                // A call that was granted before is not valid any more.
                self.budget.forget_call();
                self.clock.go_on(self.now);
            }
            (Order::Checkpoint { name }, Answer::Checkpoint(report)) => self.checkpoint_taken(*name, report),
            (Order::RunAgent { .. }, Answer::AgentEnded(report)) => self.agent_ended_with(&open, report),
            (Order::WriteText { purpose, .. }, Answer::TextEnded(report)) => {
                self.prompt.memory.text_ended(EndedText { purpose: *purpose, result: Ok(report.as_ref().clone()) });
            }
            (Order::Measure { .. }, Answer::Measurement(measured)) => self.measured(measured),
            (Order::RunGate { gate, .. }, Answer::GateEnded(report)) => {
                let Phase::Gates { point, next } = self.phase else { return };
                let cancelled = open.cancelled();
                self.guard.gate_used(report.used.as_deref());
                self.gates.ended(EndedGate { order: id, gate: *gate, report: report.clone(), cancelled });
                self.phase = Phase::GateEnded { point, next };
            }
            (Order::Reserve { wanted }, Answer::Reserved(reserved)) => {
                self.budget.reserved(reserved, wanted.scarce_per_day);
            }
            (Order::Guard { point }, Answer::Guard(report)) => self.guard.checked(*point, report),
            (Order::Certify { point }, Answer::Certify(report)) => self.proving.certify(*point, report),
            (Order::Judge { point, tree }, Answer::Judged(report)) => {
                let (report, cancelled) = (report.as_ref().clone(), open.cancelled());
                self.gates.swapped_on_copy(&report.swapped);
                self.proving.reported(UnjudgedCopy { point: *point, tree: *tree, report, cancelled });
            }
            (Order::Branches { .. }, Answer::Branches(report)) => {
                self.clock.agent_ended(report.unfinished && open.cancelled() == Some(CancelCause::TimeLimit));
                self.branches_reported(report);
            }
            // A record that clean copies are made from is damaged: nothing else may decide instead.
            (Order::Judge { .. }, Answer::Blocked { why }) => self.trouble.host_failed(why),
            (Order::Judge { point, tree }, Answer::Failed { what }) => {
                let report = JudgeReport::not_done(NotJudged::HostFailed { why: what.clone() });
                let cancelled = open.cancelled();
                self.proving.reported(UnjudgedCopy { point: *point, tree: *tree, report, cancelled });
            }
            (order, answer) => self.not_done(order, &open, answer),
        }
    }

    fn not_done(&mut self, order: &Order, open: &OpenRunOrder, answer: &Answer) {
        if let Order::RunAgent { .. } = order {
            self.agent.ended(EndedAttempt::default());
            self.phase = Phase::AttemptEnded;
        }
        // Given up because a person wants something else: it is done again when it is due.
        let given_up = matches!(open.cancelled(), Some(CancelCause::Abort | CancelCause::Rollback));
        match (order, answer) {
            (Order::Checkpoint { name: CheckpointName::Interrupted(..) }, Answer::Failed { .. }) if given_up => {
                self.checkpoints.give_up_saving();
            }
            (Order::Checkpoint { .. } | Order::Measure { .. } | Order::Rollback { .. }, Answer::Failed { .. })
                if given_up => {}
            (Order::RunAgent { .. } | Order::RunGate { .. }, Answer::Failed { what }) => {
                // It may have been started before it failed.
                self.trouble.may_run(None);
                self.trouble.host_failed(what);
            }
            // No run ends because a text is missing.
            (Order::WriteText { purpose, .. }, Answer::Failed { what }) => {
                self.prompt.memory.text_ended(EndedText { purpose: *purpose, result: Err(what.clone()) });
            }
            (_, Answer::Failed { what }) => self.trouble.host_failed(what),
            (Order::RunAgent { .. } | Order::WriteText { .. }, Answer::Lost { left }) => {
                self.trouble.may_run(open.process);
                self.trouble.agent_lost(left.join(", "));
            }
            (_, Answer::Lost { left }) => {
                self.trouble.may_run(open.process);
                self.trouble.host_failed(&format!("could not be ended: {}", left.join(", ")));
            }
            (_, answer) => {
                self.trouble.host_failed(&format!("a bug of loop: {answer:?} is not an answer to this order"))
            }
        }
    }

    fn branches_reported(&mut self, report: &BranchesReport) {
        // People had time while they worked.
        self.checkpoints.may_differ();
        let spent = self.recovery.branches_reported(report);
        self.budget.branches_ended(&spent);
    }

    fn checkpoint_taken(&mut self, name: CheckpointName, report: &CheckpointReport) {
        self.checkpoints.taken(report, matches!(name, CheckpointName::BetweenIterations(_)));
        self.proving.set_baseline(report.judge_baseline.as_deref());
        match name {
            CheckpointName::Initial => self.enter_gates(GatePoint::Baseline),
            CheckpointName::Iteration(_) => self.phase = Phase::Measuring,
            CheckpointName::Interrupted(..) => self.phase = Phase::InterruptedSaved,
            CheckpointName::BetweenIterations(_) => {
                if let Some(changes) = report.changes {
                    self.progress.others_changed();
                    self.recovery.others_changed();
                    self.guard.people_had_time();
                    self.prompt.note(PromptNote::ChangedByOthers { files: changes.files, names: report.names.clone() });
                    self.progress.saw(report.tree.as_deref());
                }
            }
        }
    }

    pub(super) fn interruption_judged(&mut self, rollback_to: Option<&str>) {
        if let Some(to) = rollback_to {
            self.checkpoints.plan_rollback(to, RollbackCause::Interruption);
        }
        self.enter_gates(GatePoint::Interrupted(self.iteration, self.attempt));
    }

    fn rolled_back(&mut self, back: &RollbackReport, cause: RollbackCause) {
        // A person who asks meanwhile takes the rollback over.
        let own = matches!(cause, RollbackCause::Regression | RollbackCause::Recovery | RollbackCause::Branch);
        let reverted = own && self.requests.rollback.is_none();
        self.requests.rollback = None;
        self.checkpoints.rolled_back(back, self.over.is_some(), !self.agent_ended());
        // The files are those of its end again, as after an undo.
        let judged = self.over.as_ref().and_then(|over| over.proof.as_ref()?.tree.as_ref());
        if judged.is_some() && judged == back.tree.as_ref() {
            self.checkpoints.forget_end();
        }
        // Somebody still has to look at what was in the way: a loop that held goes on holding.
        self.trouble.hold_after_rollback();
        self.prompt.rolled_back(reverted);
        self.gates.count_unverifiable(false);
        self.progress.rolled_back();
        // A person who goes back begins again; a reverted iteration, and a best state that stays at the end, do not.
        let for_request = self.clock.driver() == DriverMode::OneRequest;
        if !reverted && (self.over.is_none() || for_request) {
            self.progress.close_breaker(back.tree.as_deref());
            self.recovery.forget_counts();
        } else {
            self.progress.saw(back.tree.as_deref());
            self.progress.forget_claims();
        }
        self.guard.forget();
        self.gates.forget_tries();
        self.prompt.note(PromptNote::RolledBack { to: back.to.clone(), paths: back.paths.clone() });
        if !self.phase.is_fresh() {
            self.enter_gates(GatePoint::RolledBack(self.iteration));
        }
    }

    fn agent_ended_with(&mut self, open: &OpenRunOrder, report: &AgentReport) {
        let by_time = report.ended == Ended::ByUs && open.cancelled() == Some(CancelCause::TimeLimit);
        self.clock.agent_ended(by_time);
        let Order::RunAgent { session, status_only, .. } = &open.order else { return };
        let kind = match (status_only, session) {
            (true, _) => AttemptKind::StatusOnly,
            (false, Some(_)) => AttemptKind::Continued,
            (false, None) => AttemptKind::Fresh,
        };
        if let Some(what) = report.not_stored.as_ref().filter(|_| kind != AttemptKind::StatusOnly) {
            self.trouble.host_failed(what);
        }
        if let Some(id) = &report.stream.session {
            self.agent.met(id, self.now);
        }
        let cancelled = open.cancelled();
        self.agent.ended(EndedAttempt { report: Some(report.clone()), cancelled, kind });
        self.phase = Phase::AttemptEnded;
    }
}
