//! What the gates and the guard make of an iteration: verdicts over several tries, regressions, the best state, the signs
//! that the breaker counts, and whether it is done.
use super::event::Target;
use super::fact::{GatePoint, PromptNote};
use super::outcome::{Outcome, Proof, ProofGate};
use super::report::{CertifyReport, Ended, GateReport};
use super::state::{GateMemory, LastGate, RunState, Stage};
use crate::agent::signature;
use crate::ids::OrderId;
use crate::policy::breaker::{Counts, Signs};
use crate::policy::crash;
use crate::policy::gate::{self, Tally, Verdict};
use crate::policy::rank::{GateScore, Rank};
use crate::settings::GateSpec;
use crate::text;

/// How much of an error its signature is made of.
const ERROR_BYTES_MAX: usize = 4096;

/// What the run knows about how good its states are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Judged {
    /// The newest state, by its gates.
    pub rank: Option<Rank>,
    /// The best that the gates have said so far, whatever became of it.
    pub peak: Option<Rank>,
    /// The best one so far.
    pub best: Option<Best>,
    /// The best one before the newest round of gates.
    pub best_before: Option<Best>,
    /// What the breaker counts.
    pub counts: Counts,
    /// What fails since the newest iteration, and had passed.
    pub regressed: Vec<String>,
    /// Something of that is required.
    pub harmed: bool,
    /// The workspace goes back because of that.
    pub reverting: bool,
    /// Somebody closed the breaker since it tripped.
    pub reset: bool,
    /// What was said about the proof of a state.
    pub certified: Option<(GatePoint, CertifyReport)>,
    /// It was asked for the status block that it left out.
    pub status_asked: bool,
}

/// The best state so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Best {
    /// The iteration that left it; 0 is where the loop began.
    pub iteration: u32,
    /// Its checkpoint.
    pub checkpoint: Option<String>,
    /// How good it is.
    pub rank: Rank,
}

impl RunState {
    /// Whether a gate decides; else the agent's word does.
    #[must_use]
    pub fn gated(&self) -> bool {
        self.settings.gates.iter().any(|gate| !gate.watch)
    }

    /// The gates in the order in which they are asked: as set, then the cheap ones first, as the first round showed.
    #[must_use]
    pub fn gate_at(&self, next: u32) -> Option<u32> {
        let mut order: Vec<_> = self.settings.gates.iter().zip(&self.gates).enumerate().collect();
        order.sort_by_key(|(at, (gate, memory))| (gate.order, memory.cost_ms, *at));
        let (at, _) = order.get(usize::try_from(next).ok()?)?;
        u32::try_from(*at).ok()
    }

    /// Which try of the gate is next, where it has several.
    #[must_use]
    pub fn next_try(&self, gate: u32) -> Option<u32> {
        let at = usize::try_from(gate).ok()?;
        let (_, all) = self.settings.gates.get(at)?.needs();
        (all > 1).then(|| self.gates.get(at).map_or(0, |memory| memory.tally.tries()) + 1)
    }

    pub(super) fn gate_spoke(&mut self, (order, point, number): (OrderId, GatePoint, u32), report: &GateReport) {
        let Ok(index) = usize::try_from(number) else { return };
        let (Some(memory), Some(gate)) = (self.gates.get_mut(index), self.settings.gates.get(index)) else { return };
        let one = gate.promise().judge(&report.ended, memory.ran_to_an_end);
        memory.ran_to_an_end |= gate::ran_to_an_end(&report.ended);
        memory.tally = memory.tally.with(one);
        let Some(verdict) = memory.tally.verdict(gate.needs()) else { return };
        memory.tally = Tally::default();
        let before = memory.last.take();
        memory.said_the_same = before.is_some_and(|before| {
            (&before.report.output.sha256, &before.report.ended) == (&report.output.sha256, &report.ended)
        });
        // Whatever the round is called: no agent has worked yet.
        if self.iteration == 0 {
            memory.first = Some(order);
            memory.first_tests = report.tests.as_ref().map(|tests| (tests.total(), tests.skipped));
        }
        memory.last = Some(LastGate { order, iteration: self.iteration, point, report: report.clone(), verdict });
        let Stage::Gating { next, .. } = self.stage else { return };
        self.stage = Stage::Gating { point, next: next + 1 };
        if usize::try_from(next + 1).is_ok_and(|next| next >= self.gates.len()) {
            self.round_over(point);
        }
    }

    /// All gates have spoken about a state.
    pub(super) fn round_over(&mut self, point: GatePoint) {
        let rank = self.rank_now();
        // Better than ever: what a flaky test loses and finds again is no progress.
        let improved = self.judged.peak.is_some_and(|peak| rank > peak);
        self.judged.peak = self.judged.peak.max(Some(rank));
        let judges = matches!(point, GatePoint::Iteration(_));
        let (regressed, harmed) = if judges { self.regressions() } else { (Vec::new(), false) };
        for gate in &mut self.gates {
            gate.judged = gate.last.as_ref().map(|last| last.verdict);
        }
        self.judged.rank = Some(rank);
        match point {
            GatePoint::Iteration(iteration) => {
                (self.judged.regressed, self.judged.harmed) = (regressed, harmed);
                self.count_streaks();
                self.iteration_judged(improved);
                self.maybe_best(iteration, rank);
            }
            GatePoint::Baseline | GatePoint::Reopened(0) | GatePoint::RolledBack(0) => {
                // Only now: while they are asked their order stays what it is.
                for gate in &mut self.gates {
                    gate.cost_ms = gate.last.as_ref().map(|last| last.report.duration_ms);
                }
                let tree = self.keeping.tree.clone();
                self.judged.counts.saw(tree.as_deref());
                self.maybe_best(0, rank);
            }
            GatePoint::Interrupted(..) | GatePoint::Reopened(_) | GatePoint::RolledBack(_) => {}
        }
    }

    fn rank_now(&self) -> Rank {
        let scores = self.settings.gates.iter().zip(&self.gates).filter_map(|(gate, memory)| {
            let last = memory.last.as_ref()?;
            let tests = last.report.tests.as_deref();
            Some(GateScore {
                verdict: last.verdict,
                required: !gate.watch,
                passed: tests.map_or(0, |tests| tests.passed),
                failed: tests.map_or(0, |tests| tests.failed),
            })
        });
        Rank::of(scores)
    }

    /// The later of two that are equally good: it holds more of the work.
    fn maybe_best(&mut self, iteration: u32, rank: Rank) {
        // What the gates say by changed protected files says nothing about how good it is.
        if self.stands_tampered() {
            return;
        }
        self.judged.best_before = self.judged.best.clone();
        if self.judged.best.as_ref().is_none_or(|best| rank >= best.rank) {
            let checkpoint = self.keeping.newest.clone();
            self.judged.best = Some(Best { iteration, checkpoint, rank });
        }
    }

    /// What fails now and had passed when the gates last spoke: tests by name, else the gate itself; and whether any
    /// of it is required.
    fn regressions(&self) -> (Vec<String>, bool) {
        let (mut all, mut harmed) = (Vec::new(), false);
        for (gate, memory) in self.settings.gates.iter().zip(&self.gates) {
            let Some(last) = &memory.last else { continue };
            let failing = last.report.tests.as_ref().map(|tests| &tests.newly_failing);
            let before = all.len();
            match failing.filter(|failing| !failing.is_nothing()) {
                Some(failing) => all.extend(failing.first.iter().cloned()),
                None if memory.judged == Some(Verdict::Pass) && last.verdict == Verdict::Fail => {
                    all.push(format!("the gate {}", gate.name));
                }
                None => {}
            }
            harmed |= all.len() > before && !gate.watch;
        }
        all.truncate(20);
        (all, harmed)
    }

    fn count_streaks(&mut self) {
        let required = self.settings.gates.iter().zip(&self.gates).filter(|(gate, _)| !gate.watch);
        let mut answers = required.filter_map(|(_, memory)| memory.last.as_ref());
        let unverifiable = answers.any(|last| last.verdict == Verdict::Unverifiable);
        self.unverifiable_streak = if unverifiable { self.unverifiable_streak + 1 } else { 0 };
        let crashed = self.report.as_ref().is_some_and(|report| {
            crash::counts(crash::Signs {
                // Ended at a time limit again and again, it cannot work either.
                failed: report.failed() || report.ended == Ended::ByUs,
                changes: self.changes,
                noticed: self.measured.noticed,
                gates_said_the_same: self.gates.iter().all(|gate| gate.said_the_same),
            })
        });
        self.crash_streak = if crashed { self.crash_streak + 1 } else { 0 };
    }

    /// An iteration was measured and judged: the breaker counts it, and the next prompt tells of it.
    pub(super) fn iteration_judged(&mut self, improved: bool) {
        let kept = self.gates_kept();
        let revert = self.settings.resolved.get("on_regression") == "revert" && self.keeps() && !kept;
        let reverting = revert && self.judged.harmed && self.asked.rollback.is_none();
        if reverting {
            let to = self.keeping.before.clone();
            self.asked.rollback = to.map(|to| Target { to, now: true, git: false });
            (self.keeping.may_try, self.judged.reverting) = (true, self.asked.rollback.is_some());
        }
        if !self.judged.regressed.is_empty() && self.settings.resolved.get("on_regression") != "keep" {
            self.tell(PromptNote::Regressed { what: self.judged.regressed.clone(), reverted: self.judged.reverting });
        }
        let signs = self.signs(improved);
        if signs.says_done && self.gated() && !kept {
            self.tell(PromptNote::NotDone);
        }
        let thresholds = self.settings.breaker.clone();
        self.judged.counts.take(signs, &thresholds);
    }

    fn signs(&self, improved: bool) -> Signs {
        let report = self.report.as_ref();
        let stream = report.map(|report| &report.stream);
        let claim = stream.and_then(|stream| stream.claimed.as_ref());
        let failed = report.is_some_and(|report| report.failed());
        let says_done = !failed && claim.is_some_and(|claim| claim.complete() || claim.completion_indicators > Some(0));
        let gates_same = self.gates.iter().all(|gate| gate.said_the_same);
        let files = self.measured.files;
        let moved = match (files, self.measured.noticed) {
            (Some(files), _) => files > 0 || self.measured.ignored,
            (None, Some(noticed)) => noticed,
            // Nobody measures: an unchanged gate is the best evidence there is.
            (None, None) if self.gated() => !gates_same,
            (None, None) => claim.is_some_and(|claim| claim.claims_progress()),
        };
        Signs {
            iteration: self.iteration,
            progress: (moved || improved) && !self.judged.reverting,
            improved,
            gates_same,
            files,
            test_files: self.measured.tests,
            tree: self.keeping.tree.clone(),
            error: self.error_signature(),
            words: stream.and_then(|stream| stream.words.as_ref()).map(|words| words.sha256.clone()),
            words_bytes: stream.and_then(|stream| stream.words.as_ref()).map_or(0, |words| words.bytes),
            says_tests: claim.is_some_and(|claim| claim.test_only()),
            // One that failed could not say how it stands.
            block: claim.is_some() || failed,
            says_done,
            exit_signal: claim.is_some_and(|claim| claim.exit_signal),
            tampered: self.guarding.found.is_some(),
            ignored: self.measured.ignored,
            noticed: self.measured.noticed,
        }
    }

    /// The error that the agent ended in, if it did: by its program, or by its own account.
    fn error_signature(&self) -> Option<String> {
        let report = self.report.as_ref()?;
        let claim = report.stream.claimed.as_ref();
        let errors = claim.is_some_and(|claim| claim.claims_errors());
        if !(report.failed() || errors) {
            return None;
        }
        let summary = claim.filter(|_| errors).and_then(|claim| claim.summary.clone());
        let words = report.stream.error.clone().or(summary).unwrap_or_else(|| report.last_text.clone());
        let signature = signature::signature(text::tail(&words, ERROR_BYTES_MAX));
        Some(if signature.is_empty() { report.ended.brief() } else { signature })
    }

    /// Whether the iteration changed nothing, as far as anybody measured.
    #[must_use]
    pub fn quiet(&self) -> bool {
        self.measured.files.is_none_or(|files| files == 0) && self.measured.noticed != Some(true)
    }

    /// Whether every required gate was kept when it was last asked, all at the same point, on protected files that are
    /// what they were.
    #[must_use]
    pub fn gates_kept(&self) -> bool {
        let Stage::Gating { point, next } = self.stage else { return false };
        let all = usize::try_from(next).is_ok_and(|next| next >= self.gates.len());
        let kept = |memory: &GateMemory| {
            memory.last.as_ref().is_some_and(|last| last.point == point && last.verdict == Verdict::Pass)
        };
        let mut required = self.settings.gates.iter().zip(&self.gates).filter(|(gate, _)| !gate.watch);
        let clean = !self.guarding.by_gates && !self.stands_tampered();
        all && self.gated() && clean && required.all(|(_, memory)| kept(memory))
    }

    /// That the required gates hold, or which of them do not.
    pub(super) fn words_of_gates(&self, hold: bool) -> String {
        let required = self.settings.gates.iter().zip(&self.gates).filter(|(gate, _)| !gate.watch);
        let kept = |memory: &GateMemory| memory.last.as_ref().is_some_and(|last| last.verdict == Verdict::Pass);
        let meant = required.filter(|(_, memory)| hold || !kept(memory));
        let names: Vec<&str> = meant.map(|(gate, _)| gate.name.as_str()).collect();
        let (one, several) = if hold { ("holds", "hold") } else { ("does not hold", "do not hold") };
        match names[..] {
            ["promise"] | [] => format!("the promise {one}"),
            [name] => format!("the gate {name} {one}"),
            _ if hold => format!("all {} gates {several}", names.len()),
            _ => format!("the gates {} {several}", text::one_line(&names.join(", "), 200)),
        }
    }

    /// What was said about the proof of the state that is judged.
    #[must_use]
    pub fn certified(&self) -> Option<&CertifyReport> {
        let Stage::Gating { point, .. } = self.stage else { return None };
        self.judged.certified.as_ref().filter(|(at, _)| *at == point).map(|(_, certified)| certified)
    }

    pub(super) fn certify(&mut self, point: GatePoint, certified: &CertifyReport) {
        self.judged.certified = Some((point, certified.clone()));
        if self.tests_are_missed() {
            self.tell(PromptNote::WeakerTests { how: self.weaker() });
        }
    }

    /// Whether it is not done only because the tests are weaker than they were.
    #[must_use]
    pub fn tests_are_missed(&self) -> bool {
        let wanted = self.settings.resolved.is_on("require_tests_kept") && self.certified().is_some();
        wanted && !self.weaker_in(|gate| !gate.watch).is_empty()
    }

    /// How the tests are weaker than at the start.
    #[must_use]
    pub fn weaker(&self) -> Vec<String> {
        self.weaker_in(|_| true)
    }

    fn weaker_in(&self, counts: impl Fn(&GateSpec) -> bool) -> Vec<String> {
        let mut all = Vec::new();
        for (gate, memory) in self.settings.gates.iter().zip(&self.gates).filter(|(gate, _)| counts(gate)) {
            let (Some((total, skipped)), Some(last)) = (memory.first_tests, &memory.last) else { continue };
            let name = &gate.name;
            match &last.report.tests {
                None if total > 0 => all.push(format!("{name}: it ran {total} tests at the start, and none now")),
                None => {}
                Some(now) if now.total() < total => {
                    let gone =
                        if now.gone.is_nothing() { String::new() } else { format!(" (gone: {})", now.gone.words()) };
                    all.push(format!("{name}: {total} tests at the start, {} now{gone}", now.total()));
                }
                Some(_) => {}
            }
            if let Some(now) = last.report.tests.as_ref().filter(|now| now.skipped > skipped) {
                let which = &now.newly_skipped;
                let which = if which.is_nothing() { String::new() } else { format!(" ({})", which.words()) };
                all.push(format!("{name}: {skipped} tests were left out at the start, {} are now{which}", now.skipped));
            }
        }
        all.extend(self.guarding.targets.iter().cloned());
        all.extend(self.certified().into_iter().flat_map(|certified| certified.weaker.iter().cloned()));
        all
    }

    /// What stands for an end that is done.
    #[must_use]
    pub fn proof(&self, verified: bool) -> Proof {
        let gates = self.settings.gates.iter().zip(&self.gates).filter_map(|(gate, memory)| {
            let LastGate { report, verdict, .. } = memory.last.as_ref()?;
            let tests = report.tests.as_ref().map(|tests| (tests.passed, tests.failed, tests.skipped));
            let (ended, sha256) = (report.ended.clone(), report.output.sha256.clone());
            Some(ProofGate {
                name: gate.name.clone(),
                verdict: *verdict,
                ended,
                sha256,
                duration_ms: report.duration_ms,
                tests,
            })
        });
        Proof {
            verified,
            checkpoint: self.keeping.newest.clone(),
            tree: self.keeping.tree.clone(),
            gates: gates.collect(),
            tools: self.certified().map(|certified| certified.tools.clone()).unwrap_or_default(),
            weaker: self.weaker(),
        }
    }

    /// What some tries of a gate said of another state says nothing about this one.
    pub(super) fn forget_tries(&mut self) {
        self.gates.iter_mut().for_each(|gate| gate.tally = Tally::default());
    }

    /// The breaker is closed, and everything that it counted is gone.
    pub(super) fn close_breaker(&mut self) {
        let tree = self.keeping.tree.clone();
        self.judged.counts = Counts::default();
        self.judged.counts.saw(tree.as_deref());
        self.judged.reset = true;
    }
}

/// The state that stays when a run ended without success, where that is not the last one.
#[must_use]
pub(super) fn best_to_keep(state: &RunState) -> Option<String> {
    let over = state.over.as_ref()?;
    let lost = match over.outcome {
        Outcome::Exhausted | Outcome::Tripped | Outcome::Blocked | Outcome::Tampered => true,
        Outcome::Verified | Outcome::Claimed | Outcome::Stopped | Outcome::Cancelled | Outcome::Unable => false,
    };
    let wanted = lost && state.settings.resolved.get("keep") == "best" && state.unclean.is_none();
    let best = state.judged.best.as_ref().filter(|_| wanted)?.checkpoint.clone()?;
    (state.keeping.newest.as_ref() != Some(&best)).then_some(best)
}
