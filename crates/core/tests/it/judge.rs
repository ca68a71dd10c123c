//! The model that the simulation judges by: a workspace, a purse, a ledger and clocks of its own. It uses none of the
//! core's judgement; what it knows is what it answered and what was asked of it.
use std::collections::BTreeMap;

use loop_core::agent::{Claim, Failure, Reset, ResetSource};
use loop_core::policy::gate::Verdict;
use loop_core::policy::reserve::{Cap, Day, Reserved};
use loop_core::run::*;
use loop_core::time::At;

use crate::simulation::answered;
use crate::world::{Seed, place_of};

const HOUR_MS: u64 = 3_600_000;

/// What the agent said last that counts.
#[derive(Debug, Default, Clone)]
struct Said {
    failed: bool,
    tag: bool,
    complete: bool,
    exit: bool,
    signs: u64,
}

impl Said {
    fn done(&self) -> bool {
        !self.failed && (self.complete || self.exit || self.signs > 0)
    }
}

/// What was true, whatever the run believes.
#[derive(Debug, Default)]
pub(crate) struct Judge {
    settings: BTreeMap<&'static str, String>,
    guard: bool,
    keeps: bool,
    /// The workspace, by number; what checkpoints hold; the newest of them.
    tree: u64,
    trees: u64,
    saved: BTreeMap<String, u64>,
    newest: String,
    tampered: bool,
    /// Whether the iteration's agent changed anything.
    changed: bool,
    agent_runs: bool,
    said: Said,
    files: Option<u32>,
    completion: u32,
    /// What the gates answered on the tree as it is, and the tests at the start and now.
    kept: BTreeMap<u32, u32>,
    first_tests: BTreeMap<u32, (u32, u32)>,
    tests: BTreeMap<u32, Option<(u32, u32)>>,
    weaker: Option<bool>,
    /// Trees whose clean copy did not pass; whether a failing test was not noticed in this round.
    unclean: Vec<u64>,
    canary_missed: bool,
    /// A copy of the initial tree said something else, or none passed before an agent worked: the workspace decides.
    workspace_only: bool,
    /// What each gate said before iteration 1.
    first_said: BTreeMap<u32, GateReport>,
    /// There is a hidden gate, and the tree on which it was last seen to pass.
    hidden: bool,
    hidden_on: Option<u64>,
    /// How often the agent heard of it since a person opened the run.
    heard: u32,
    worked: bool,
    /// Iterations that were measured since the breaker was closed, and whether each changed something.
    moved: Vec<Option<bool>>,
    to_judge: bool,
    cost: u64,
    tokens: u64,
    active_ms: u64,
    /// The same at each fact: time of which no fact is left is not known to anybody.
    marks: Vec<u64>,
    last: Option<At>,
    driven: bool,
    /// Somebody opened it again, and no agent was asked since.
    anew: bool,
    begun: bool,
    /// The ledger: a clock of its own, calls, and what is granted.
    true_ms: u64,
    calls: Vec<u64>,
    made: Vec<u64>,
    granted: Option<i64>,
    number: i64,
    person_goes_back: Option<String>,
}

impl Judge {
    pub(crate) fn new(settings: &[(&'static str, &'static str)], guard: bool, keeps: bool) -> Self {
        let settings = settings.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        Self { settings, guard, keeps, ..Self::default() }
    }

    /// The same with a hidden gate.
    pub(crate) fn with_hidden(self, hidden: bool) -> Self {
        Self { hidden, ..self }
    }

    fn get(&self, key: &str) -> &str {
        self.settings.get(key).map_or("", String::as_str)
    }

    fn number(&self, key: &str) -> Option<u64> {
        self.get(key).parse().ok()
    }

    /// Dollars as millionths.
    fn money(&self, key: &str) -> Option<u64> {
        let (whole, part) = self.get(key).split_once('.')?;
        Some(whole.parse::<u64>().ok()? * 1_000_000 + part.parse::<u64>().ok()? * 10_000)
    }

    fn max_time_ms(&self) -> Option<u64> {
        match self.get("max_time") {
            "10m" => Some(600_000),
            "2h" => Some(7_200_000),
            _ => None,
        }
    }

    /// Which gates are required, and how many of their tries must hold.
    fn required(&self) -> Vec<(u32, u32)> {
        let promise = !self.get("promise").is_empty();
        let flaky = self.get("gate").starts_with("flaky").then_some((u32::from(promise), 2));
        promise.then_some((0, 1)).into_iter().chain(flaky).collect()
    }

    /// Somebody or something wrote in the workspace.
    pub(crate) fn edited(&mut self) {
        self.trees += 1;
        self.tree = self.trees;
        self.kept.clear();
    }

    pub(crate) fn fresh(&self, state: &RunState) -> Result<(), String> {
        let zero = counted(state).iter().all(|count| *count == 0);
        if zero && *state.budget.spent() == Spent::default() {
            Ok(())
        } else {
            Err("a new run inherits a count".to_owned())
        }
    }

    /// Remembers how long the run had worked when a fact was written.
    pub(crate) fn mark(&mut self) {
        self.marks.push(self.active_ms);
    }

    pub(crate) fn counts(&self, state: &RunState) -> Result<(), String> {
        let most = u32::try_from(self.moved.len()).unwrap_or(u32::MAX);
        let fine = counted(state).iter().all(|count| *count <= most);
        if fine {
            Ok(())
        } else {
            Err(format!("a count is more than {most} iterations: {:?}", state.progress.streaks()))
        }
    }

    pub(crate) fn before(&mut self, event: &Event, state: &RunState, now: At) -> Result<(), String> {
        let passed = self.last.map_or(0, |last| now.ms_since(last));
        self.true_ms += passed;
        self.begun |= !matches!(event, Event::Created(_) | Event::Opened);
        self.active_ms += if self.driven && !state.is_paused() { passed } else { 0 };
        self.last = Some(now);
        match event {
            Event::Opened => (self.driven, self.anew) = (true, self.begun),
            Event::Reopened { changes, hidden, .. } => {
                (self.driven, self.anew) = (true, true);
                (self.hidden, self.heard) = (hidden.is_some(), 0);
                // What was asked before does not hold any more.
                self.person_goes_back = None;
                for change in changes.iter().filter(|change| change.key == "max_iterations") {
                    self.settings.insert("max_iterations", change.value.clone());
                }
                let reset = changes.iter().any(|change| change.key == "reset_circuit");
                if reset {
                    self.settings.insert("reset_circuit", "true".to_owned());
                }
                if self.get("breaker_reset") == "resume" || self.get("reset_circuit") == "true" {
                    self.forget();
                }
            }
            Event::Requested { request: Request::Reset { .. }, .. } => self.forget(),
            Event::Requested { request: Request::Rollback(target), .. } => {
                self.person_goes_back = Some(target.to.clone())
            }
            Event::Answered { answer: Answer::Refused { .. }, .. } => self.person_goes_back = None,
            Event::Answered { answer: Answer::Measurement(measured), .. } => {
                self.files = measured.changes.map(|changes| changes.files);
                self.to_judge = !self.get("promise").is_empty() || !self.get("gate").is_empty();
                self.moved.push(self.files.map(|files| files > 0));
                self.completion = if self.said.done() { self.completion + 1 } else { 0 };
            }
            Event::Created(_)
            | Event::OpenedForRequest { .. }
            | Event::Answered { .. }
            | Event::Requested { .. }
            | Event::Noticed(_)
            | Event::Around(_)
            | Event::DeadlinePassed => {}
        }
        Ok(())
    }

    fn forget(&mut self) {
        // An iteration that the gates still have to judge is counted when they have.
        let kept = if self.to_judge { self.moved.len().saturating_sub(1) } else { self.moved.len() };
        self.moved.drain(..kept);
        self.completion = u32::from(self.to_judge && self.said.done());
    }

    pub(crate) fn after(&mut self, event: &Event, facts: &[Fact], state: &RunState) -> Result<(), String> {
        if let Some((_, Answer::RolledBack(back))) = answered(event) {
            let person = self.person_goes_back.take_if(|to| *to == back.to).is_some();
            if person && state.over.is_none() && counted(state).iter().any(|count| *count > 0) {
                return Err("a count is inherited from before a rollback".to_owned());
            }
            self.completion = 0;
        }
        if facts.iter().any(|fact| matches!(fact, Fact::Concluded { .. })) {
            self.driven = false;
        }
        let at_work = state.main_order().filter(|(_, open)| self.in_time(&open.order));
        let late = self.max_time_ms().is_some_and(|most| self.active_ms >= most);
        if late && *event == Event::DeadlinePassed && at_work.is_some_and(|(_, open)| !open.is_cancelled()) {
            return Err("an agent or a gate works past the time of the loop".to_owned());
        }
        Ok(())
    }

    /// What may not go on past the time of the run.
    fn in_time(&self, order: &Order) -> bool {
        let judged = |point: &GatePoint| matches!(point, GatePoint::Baseline | GatePoint::Iteration(_));
        let gate = matches!(order, Order::RunGate { point, .. } if judged(point)) && !self.anew;
        gate || matches!(order, Order::RunAgent { .. })
    }

    /// Looks at an order as it is begun.
    pub(crate) fn begin(&mut self, order: &Order, _: At) -> Result<(), String> {
        match order {
            Order::RunAgent { iteration, reservation, notes, attempt, .. } => {
                self.worked = true;
                self.heard += u32::from(*attempt == 1 && notes.iter().any(hears_of_hidden));
                if self.heard > 3 {
                    return Err("the agent hears more than three times of a hidden gate".to_owned());
                }
                let over = |cap: Option<u64>, spent: u64| cap.is_some_and(|most| spent >= most);
                if over(self.number("max_iterations").map(|most| most + 1), u64::from(*iteration)) {
                    return Err("iterations are overshot".to_owned());
                }
                if over(self.max_time_ms(), self.active_ms) {
                    return Err(format!("a call comes after {} ms, past the time", self.active_ms));
                }
                if over(self.money("max_cost"), self.cost) || over(self.number("max_tokens"), self.tokens) {
                    return Err(format!("a call comes after ${} and {} tokens", self.cost, self.tokens));
                }
                self.made.push(self.true_ms);
                let recent = self.made.iter().filter(|call| self.true_ms - **call < HOUR_MS).count() as u64;
                if self.number("max_calls_per_hour").is_some_and(|most| recent > most) {
                    return Err("more calls in an hour than may be".to_owned());
                }
                let shared = self.number("max_calls_per_hour").or(self.number("max_calls_per_day"));
                if self.granted.take() != *reservation || (shared.is_some() && reservation.is_none()) {
                    return Err("a call is made that nobody reserved".to_owned());
                }
                (self.agent_runs, self.weaker, self.to_judge) = (true, None, false);
                self.anew = false;
            }
            Order::RunGate { gate, again, .. } => {
                if self.in_time(order) && self.max_time_ms().is_some_and(|most| self.active_ms >= most) {
                    return Err(format!("a gate is asked after {} ms, past the time", self.active_ms));
                }
                self.weaker = None;
                self.canary_missed = false;
                if again.is_none_or(|again| again == 1) {
                    self.kept.remove(gate);
                }
            }
            Order::CleanUp { .. }
            | Order::WriteText { .. }
            | Order::Branches { .. }
            | Order::Checkpoint { .. }
            | Order::Reserve { .. }
            | Order::Guard { .. }
            | Order::Certify { .. }
            | Order::Judge { .. }
            | Order::Hold { .. }
            | Order::Measure { .. }
            | Order::ManualCheckpoint { .. }
            | Order::Rollback { .. }
            | Order::Notify { .. } => {}
        }
        Ok(())
    }

    /// The harness died: what ran may have done anything.
    pub(crate) fn crashed(&mut self, journal: &[Entry]) {
        self.marks.truncate(journal.len());
        self.active_ms = self.marks.last().copied().unwrap_or(0);
        self.driven = false;
        self.granted = None;
        if std::mem::take(&mut self.agent_runs) {
            self.untold();
            self.edited();
            self.changed = true;
            self.tampered |= self.guard;
        }
    }

    fn untold(&mut self) {
        self.cost += self.money("worst_cost").unwrap_or(0);
        self.tokens += self.number("worst_tokens").unwrap_or(0);
    }

    pub(crate) fn concluded(&self, outcome: Outcome, reason: &Reason, state: &RunState) -> Result<(), String> {
        match outcome {
            Outcome::Verified => self.kept_rightly(),
            Outcome::PassedBut => self.passed_but_rightly(state),
            Outcome::Accepted => Err("nobody accepted it".to_owned()),
            Outcome::Claimed => self.claimed_rightly(),
            Outcome::Tampered if self.get("on_tamper") != "stop" => Err("tamper was not to stop it".to_owned()),
            Outcome::Tripped => self.tripped_rightly(reason),
            Outcome::Paused if self.get("pause_on_critical") != "true" => Err("no alert was to pause it".to_owned()),
            Outcome::Exhausted if reason.code == ReasonCode::IterationLimit => {
                let done = Some(u64::from(state.iterations_done())) >= self.number("max_iterations");
                if done { Ok(()) } else { Err("it has iterations left".to_owned()) }
            }
            Outcome::Exhausted
            | Outcome::Blocked
            | Outcome::Tampered
            | Outcome::Stopped
            | Outcome::Paused
            | Outcome::Cancelled
            | Outcome::Unable => Ok(()),
        }
    }

    /// The gates passed on this very tree, and something is named that speaks against it.
    fn passed_but_rightly(&self, state: &RunState) -> Result<(), String> {
        let kept = |(gate, need): &(u32, u32)| self.kept.get(gate).copied().unwrap_or(0) >= *need;
        let findings = state.proof_judgement().map_or(0, |judgement| judgement.findings.len());
        match (self.required().iter().all(kept), findings) {
            (false, _) => Err("passed, but: a gate was not kept on this very tree".to_owned()),
            (true, 0) => Err("passed, but: nothing speaks against it".to_owned()),
            (true, _) => Ok(()),
        }
    }

    fn kept_rightly(&self) -> Result<(), String> {
        let check = |fine: bool, what: &str| if fine { Ok(()) } else { Err(format!("called done: {what}")) };
        let required = self.required();
        check(!required.is_empty(), "there is no gate")?;
        let kept = |(gate, need): &(u32, u32)| self.kept.get(gate).copied().unwrap_or(0) >= *need;
        check(required.iter().all(kept), "a gate was not kept on this very tree")?;
        check(!self.agent_runs, "an agent is alive")?;
        check(!self.tampered || self.get("on_tamper") == "allow", "the tree is tampered")?;
        check(!self.keeps || self.saved.get(&self.newest) == Some(&self.tree), "no checkpoint holds it")?;
        let clean = self.workspace_only || !self.unclean.contains(&(self.tree % 5));
        check(clean, "its clean copy does not pass")?;
        check(!self.canary_missed, "the gates do not notice a failing test")?;
        check(!self.hidden || self.hidden_on == Some(self.tree), "the hidden gate did not pass on it")?;
        let Some(weaker) = self.weaker else { return check(false, "nobody certified it") };
        if self.get("require_tests_kept") == "true" {
            let first = self.first_tests.iter().filter(|(gate, _)| required.iter().any(|(known, _)| known == *gate));
            let fewer =
                first.into_iter().any(|(gate, (total, skipped))| match self.tests.get(gate).copied().flatten() {
                    None => *total > 0,
                    // Where no test was there to count, the first round that could count takes its place.
                    Some(_) if *total == 0 => false,
                    Some((now, left_out)) => now < *total || left_out > *skipped,
                });
            check(!weaker && !fewer, "the tests are weaker")?;
        }
        Ok(())
    }

    /// What the gates say on a copy.
    fn judge_copy(&mut self, tree: JudgedTree, seed: &mut Seed) -> Answer {
        if tree == JudgedTree::Initial {
            return self.judge_initial(seed);
        }
        if seed.one_in(8) {
            return self.no_copy(tree);
        }
        let passes = match tree {
            JudgedTree::Final | JudgedTree::Again => !seed.one_in(4),
            JudgedTree::Hidden { .. } => seed.one_in(2),
            JudgedTree::WithoutNewTests => !seed.one_in(4),
            JudgedTree::Canary | JudgedTree::Undone | JudgedTree::Hunks { .. } | JudgedTree::Initial => seed.one_in(4),
        };
        match tree {
            JudgedTree::Final if !passes && !self.worked => self.workspace_only = true,
            JudgedTree::Final if !passes => self.unclean.push(self.tree % 5),
            // Asked again, it may say something else: the newest answer counts.
            JudgedTree::Final | JudgedTree::Again if passes => self.unclean.retain(|tree| *tree != self.tree % 5),
            JudgedTree::Final | JudgedTree::Again => {}
            JudgedTree::Canary => self.canary_missed = passes,
            JudgedTree::Hidden { .. } => self.hidden_on = passes.then_some(self.tree),
            JudgedTree::Initial | JudgedTree::WithoutNewTests | JudgedTree::Undone | JudgedTree::Hunks { .. } => {}
        }
        let Answer::GateEnded(report) = crate::play::gate(Ended::Exit(i32::from(!passes)), "copy") else {
            return Answer::Held;
        };
        let verdict = if passes { Verdict::Pass } else { Verdict::Fail };
        let numbers: Vec<u32> = if let JudgedTree::Hidden { .. } = tree {
            vec![0]
        } else {
            self.required().into_iter().map(|(gate, _)| gate).collect()
        };
        let gates = numbers.into_iter().map(|gate| {
            // The tests of the workspace, all of them passing.
            let seen = self.tests.get(&gate).copied().flatten().filter(|_| passes);
            let tests =
                seen.map(|(total, skipped)| TestsSeen { passed: total - skipped, skipped, ..TestsSeen::default() });
            let report = GateReport { tests: tests.map(Box::new), ..report.clone() };
            JudgedGate { gate, verdict, tries: 1, report, contradiction: None, same_tests: None }
        });
        let gates = gates.collect();
        Answer::Judged(Box::new(JudgeReport { gates, place: place_of(tree), ..JudgeReport::default() }))
    }

    /// Nothing was judged. Of the final tree that speaks against the pass, unless no agent has worked yet.
    fn no_copy(&mut self, tree: JudgedTree) -> Answer {
        if tree == JudgedTree::Final && self.worked {
            self.unclean.push(self.tree % 5);
        } else if tree == JudgedTree::Final {
            self.workspace_only = true;
        }
        let why = "no copy can be made".to_owned();
        let why = if tree.is_probe() { NotJudged::NoProbe { why } } else { NotJudged::HostFailed { why } };
        Answer::Judged(Box::new(JudgeReport::not_done(why)))
    }

    /// A copy of the initial state says what the workspace said. If it does not, the workspace decides from then on.
    fn judge_initial(&mut self, seed: &mut Seed) -> Answer {
        let is_like = !seed.one_in(3);
        let first = |gate: u32| self.first_said.get(&gate).filter(|_| is_like);
        let all: Option<Vec<JudgedGate>> = self
            .required()
            .into_iter()
            .map(|(gate, need)| {
                let report = first(gate).filter(|_| need == 1)?.clone();
                let verdict = match report.ended {
                    Ended::Exit(0) => Verdict::Pass,
                    Ended::Exit(1) => Verdict::Fail,
                    Ended::Exit(_) | Ended::Signal(_) | Ended::ByUs | Ended::NotStarted(_) => Verdict::Unverifiable,
                };
                Some(JudgedGate { gate, verdict, tries: 1, report, contradiction: None, same_tests: None })
            })
            .collect();
        let gates = all.unwrap_or_else(|| {
            self.workspace_only = true;
            let Answer::GateEnded(report) = crate::play::gate(Ended::Exit(77), "other") else { return Vec::new() };
            let gate = |(gate, _): (u32, u32)| JudgedGate {
                gate,
                verdict: Verdict::Fail,
                tries: 1,
                report: report.clone(),
                contradiction: None,
                same_tests: None,
            };
            self.required().into_iter().map(gate).collect()
        });
        Answer::Judged(Box::new(JudgeReport { gates, place: JudgePlace::OwnPath, ..JudgeReport::default() }))
    }

    fn claimed_rightly(&self) -> Result<(), String> {
        let said = &self.said;
        let strict = self.get("strict_completion") == "true";
        let often = u64::from(self.completion).max(said.signs) >= 2;
        let word = said.tag
            || (!strict && (said.complete || said.exit))
            || (strict && said.exit && often && self.files.is_none_or(|files| files == 0));
        let fine = self.required().is_empty() && word && !said.failed;
        if fine { Ok(()) } else { Err(format!("claimed: {said:?} {} times, {:?}", self.completion, self.files)) }
    }

    fn tripped_rightly(&self, reason: &Reason) -> Result<(), String> {
        let least = if reason.code == ReasonCode::NoProgress { 3 } else { 2 };
        let idle = self.moved.iter().rev().take(3).all(|moved| *moved != Some(true));
        let undone = self.get("on_regression") == "revert";
        let fine = self.get("breaker") == "on" && self.moved.len() >= least;
        let fair = reason.code != ReasonCode::NoProgress || idle || undone;
        if fine && fair { Ok(()) } else { Err(format!("tripped by {reason:?} after {:?}", self.moved)) }
    }

    /// The one answer to an order, and what is true from then on.
    pub(crate) fn answer(
        &mut self,
        order: &Order,
        cancelled: Option<CancelCause>,
        (seed, now): (&mut Seed, At),
    ) -> Answer {
        match order {
            Order::RunAgent { status_only, .. } => self.agent(*status_only, cancelled.is_some(), (seed, now)),
            Order::RunGate { point, gate, .. } => self.gate((*point, *gate), cancelled.is_some(), seed),
            Order::Checkpoint { name } => self.checkpoint(*name, seed),
            Order::Measure { .. } => self.measure(seed),
            Order::Rollback { to, undo, .. } => self.go_back(to, undo),
            Order::Guard { .. } => self.look(),
            Order::WriteText { .. } => crate::play::text_written(true),
            Order::Branches { .. } => Answer::Branches(Box::default()),
            Order::Reserve { .. } => self.reserve(self.true_ms + self.last.map_or(0, |last| now.ms_since(last))),
            Order::Judge { tree, .. } => self.judge_copy(*tree, seed),
            Order::Certify { .. } => {
                let weaker = seed.one_in(6).then(|| "Makefile: test".to_owned());
                self.weaker = Some(weaker.is_some());
                Answer::Certify(CertifyReport { weaker: weaker.into_iter().collect(), ..CertifyReport::default() })
            }
            Order::CleanUp { .. } => Answer::Cleaned { killed: 0 },
            Order::Hold { .. } => Answer::Held,
            Order::ManualCheckpoint { name } => Answer::ManualCheckpoint(CheckpointReport {
                checkpoint: Some(name.clone()),
                ..CheckpointReport::default()
            }),
            Order::Notify { .. } => Answer::Notified { exit_code: None },
        }
    }

    fn agent(&mut self, status_only: bool, cancelled: bool, (seed, now): (&mut Seed, At)) -> Answer {
        self.agent_runs = false;
        if !status_only {
            (self.changed, self.said) = (!seed.one_in(3), Said::default());
        }
        if self.changed && !status_only {
            self.edited();
        }
        if self.guard && seed.one_in(5) {
            self.edited();
            self.tampered = true;
        }
        if seed.one_in(80) {
            self.untold();
            return if cancelled { Answer::Lost { left: Vec::new() } } else { Answer::Failed { what: "x".to_owned() } };
        }
        let heard = words(seed, now);
        match heard.usage.cost_micros {
            Some(cost) => self.cost += cost,
            None => self.cost += self.money("worst_cost").unwrap_or(0),
        }
        match heard.usage.input_tokens {
            Some(tokens) => self.tokens += tokens,
            None => self.tokens += self.number("worst_tokens").unwrap_or(0),
        }
        let ended = if cancelled { Ended::ByUs } else { Ended::Exit(i32::from(heard.failure.is_some())) };
        self.said = Said {
            failed: self.said.failed || (!status_only && ended != Ended::Exit(0) && ended != Ended::ByUs),
            tag: heard.promise.as_deref() == Some("COMPLETE"),
            complete: heard.claimed.as_ref().is_some_and(|claim| claim.status == "COMPLETE"),
            exit: heard.claimed.as_ref().is_some_and(|claim| claim.exit_signal),
            signs: heard.claimed.as_ref().and_then(|claim| claim.completion_indicators).unwrap_or(0),
        };
        crate::play::agent_heard(ended, heard)
    }

    fn gate(&mut self, (point, gate): (GatePoint, u32), cancelled: bool, seed: &mut Seed) -> Answer {
        let ended = match seed.below(9) {
            _ if cancelled => Ended::ByUs,
            0..=2 => Ended::Exit(0),
            3 => Ended::Exit(127),
            4 => Ended::Signal(9),
            _ => Ended::Exit(1),
        };
        let said = ["one", "two", "three"][seed.below(3) as usize];
        let tests = (!cancelled && seed.one_in(2)).then(|| TestsSeen {
            passed: seed.below(4) as u32,
            failed: seed.below(3) as u32,
            skipped: seed.below(2) as u32,
            newly_failing: NameList::of(seed.one_in(4).then_some("t::one").into_iter()),
            ..TestsSeen::default()
        });
        let seen = tests.as_ref().map(|tests| (tests.passed + tests.failed + tests.skipped, tests.skipped));
        *self.kept.entry(gate).or_default() += u32::from(ended == Ended::Exit(0));
        self.tests.insert(gate, seen);
        if matches!(point, GatePoint::Baseline | GatePoint::Reopened(0) | GatePoint::RolledBack(0)) {
            self.first_tests.remove(&gate);
            self.first_tests.extend(seen.map(|seen| (gate, seen)));
        }
        if self.guard && seed.one_in(40) {
            self.tampered = true;
            if self.get("on_tamper") != "allow" {
                self.edited();
            }
        }
        let Answer::GateEnded(report) = crate::play::gate(ended, said) else { return Answer::Held };
        let report = GateReport { tests: tests.map(Box::new), duration_ms: seed.below(9), ..report };
        if !self.worked && report.ended != Ended::ByUs {
            self.first_said.insert(gate, report.clone());
        }
        Answer::GateEnded(report)
    }

    fn checkpoint(&mut self, name: CheckpointName, seed: &mut Seed) -> Answer {
        if name != CheckpointName::Initial && seed.one_in(60) {
            return Answer::Blocked { why: "the disk is full".to_owned() };
        }
        let tree = Some(format!("tree {}", self.tree % 5));
        if !self.keeps {
            return Answer::Checkpoint(CheckpointReport::default());
        }
        let others = matches!(name, CheckpointName::BetweenIterations(_));
        if others && self.saved.get(&self.newest) == Some(&self.tree) {
            return Answer::Checkpoint(CheckpointReport { tree, ..CheckpointReport::default() });
        }
        let mut name = name.to_string();
        while self.saved.contains_key(&name) && others {
            name.push('+');
        }
        // What is there already is kept.
        let there = *self.saved.entry(name.clone()).or_insert(self.tree);
        if there != self.tree {
            self.saved.insert(name.clone(), self.tree);
        }
        self.newest.clone_from(&name);
        let changes = others.then(|| Changes { files: 1, ..Changes::default() });
        Answer::Checkpoint(CheckpointReport { checkpoint: Some(name), tree, changes, ..CheckpointReport::default() })
    }

    fn measure(&self, seed: &mut Seed) -> Answer {
        if !self.keeps && seed.one_in(2) {
            return Answer::Measurement(Measurement::default());
        }
        let files = if self.changed { 1 + seed.below(3) as u32 } else { 0 };
        let tests = seed.below(u64::from(files) + 1) as u32;
        Answer::Measurement(Measurement {
            changes: Some(Changes { files, ..Changes::default() }),
            tests,
            ..Measurement::default()
        })
    }

    fn go_back(&mut self, to: &str, undo: &str) -> Answer {
        let Some(tree) = self.saved.get(to).copied() else {
            return Answer::Refused { why: "there is no such checkpoint".to_owned() };
        };
        self.saved.insert(undo.to_owned(), self.tree);
        self.edited();
        self.tree = tree;
        self.newest = to.to_owned();
        let (to, undo) = (to.to_owned(), undo.to_owned());
        Answer::RolledBack(Box::new(RollbackReport { to, undo, ..RollbackReport::default() }))
    }

    fn look(&mut self) -> Answer {
        let tampered = NameList::of(self.tampered.then_some("t/one").into_iter());
        let restored = self.tampered && self.get("on_tamper") == "restore";
        if restored {
            self.edited();
            self.tampered = false;
        }
        Answer::Guard(Box::new(GuardReport { files: 2, tampered, restored, ..GuardReport::default() }))
    }

    /// Allowed and counted in one step.
    fn reserve(&mut self, true_ms: u64) -> Answer {
        self.granted = None;
        let recent: Vec<u64> = self.calls.iter().copied().filter(|call| true_ms - call < HOUR_MS).collect();
        let (hour_calls, day) = (recent.len() as u32, Day { calls: self.calls.len() as u32, ..Day::default() });
        let full = |key: &str, count: usize| self.number(key).is_some_and(|most| count as u64 >= most);
        if full("max_calls_per_day", self.calls.len()) {
            return Answer::Reserved(Reserved::Denied {
                ledger: None,
                cap: Cap::CallsPerDay,
                free_in_ms: None,
                hour_calls,
                day,
            });
        }
        if full("max_calls_per_hour", recent.len()) {
            let free_in_ms = recent.first().map(|call| call + HOUR_MS - true_ms);
            return Answer::Reserved(Reserved::Denied {
                ledger: None,
                cap: Cap::CallsPerHour,
                free_in_ms,
                hour_calls,
                day,
            });
        }
        self.calls.push(true_ms);
        self.number += 1;
        self.granted = Some(self.number);
        let reservation = self.number;
        Answer::Reserved(Reserved::Granted {
            ledger: None,
            reservation,
            hour_calls,
            oldest_ms: None,
            next_free_ms: None,
            day,
            left_micros: None,
            left_tokens: None,
        })
    }
}

fn words(seed: &mut Seed, now: At) -> StreamReport {
    let mut heard = StreamReport { session: seed.one_in(2).then(|| "s1".to_owned()), ..StreamReport::default() };
    if seed.one_in(2) {
        heard.usage.cost_micros = Some(seed.below(600_000));
        heard.usage.input_tokens = Some(seed.below(900));
    }
    let word = ["w1", "w2"][seed.below(2) as usize].to_owned();
    heard.words = seed.one_in(2).then(|| TextDigest { sha256: word, bytes: seed.below(4000) });
    heard.promise = seed.one_in(14).then(|| "COMPLETE".to_owned());
    heard.budget_hit = seed.one_in(60);
    heard.asks = seed.one_in(10);
    heard.error = seed.one_in(4).then(|| "the same error".to_owned());
    if seed.one_in(2) {
        let status = ["IN_PROGRESS", "COMPLETE", "COMPLETE", "ERROR", "BLOCKED"][seed.below(5) as usize].to_owned();
        let signs = seed.one_in(3).then(|| seed.below(3));
        let exit_signal = seed.one_in(2);
        heard.claimed = Some(Claim { status, exit_signal, completion_indicators: signs, ..Claim::default() });
    }
    heard.failure = match seed.below(40) {
        0 => Some(Failure::Auth),
        1..=4 => Some(Failure::Crash),
        5 | 6 => Some(Failure::RateLimit),
        7 => Some(Failure::Overload),
        _ => None,
    };
    let reset = Reset { at_ms: now.wall_ms + seed.below(HOUR_MS), source: ResetSource::Provider };
    heard.reset = seed.one_in(2).then_some(reset);
    heard
}

/// Whether a note is about a hidden gate.
fn hears_of_hidden(note: &PromptNote) -> bool {
    let PromptNote::NotProven { findings } = note else { return false };
    findings.iter().any(|finding| finding.contains("further check"))
}

fn counted(state: &RunState) -> [u32; 9] {
    let counts = &state.progress.streaks();
    [
        counts.no_progress,
        counts.same_error,
        counts.oscillation,
        counts.identical,
        counts.test_only,
        counts.decline,
        counts.missing_status,
        counts.done_claims,
        counts.completion,
    ]
}
