//! What the gates and the guard make of an iteration: verdicts over several tries, regressions, the best state, the signs
//! that the breaker counts, and whether it is done.
use super::event::Target;
use super::fact::{GatePoint, News};
use super::outcome::{Proof, ProofGate};
use super::report::{Certified, Few, GateReport, Guarded};
use super::state::{GateMemory, LastGate, RunState, Stage};
use crate::agent::signature;
use crate::ids::OrderId;
use crate::policy::breaker::{Counts, Signs};
use crate::policy::gate::{self, Tally, Verdict};
use crate::policy::rank::{GateScore, Rank};
use crate::policy::{crash, reserve::Reserved};
use crate::settings::GateSpec;
use crate::text;

/// How much of an error its signature is made of.
const ERROR_BYTES_MAX: usize = 4096;

/// What a call of an agent that nobody knows counts as.
const WORST_MICROS: u64 = 5_000_000;

/// What the run knows about how good its states are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Judged {
    /// The newest state, by its gates.
    pub rank: Option<Rank>,
    /// The best one so far.
    pub best: Option<Best>,
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
    pub certified: Option<(GatePoint, Certified)>,
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

/// What the run knows about its protected files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Guarding {
    /// How many there are; none before they were looked at for the first time.
    pub files: Option<u32>,
    /// Something ran since they were looked at.
    pub due: bool,
    /// It was a gate that ran last, and not the agent.
    pub gates_ran: bool,
    /// How many iterations changed one.
    pub times: u32,
    /// What was found last, while it concerns the state that is judged.
    pub found: Option<Guarded>,
    /// It was the gates that changed them: their answers are void.
    pub by_gates: bool,
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
        let improved = self.judged.rank.is_some_and(|before| rank > before);
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
                None if memory.judged == Some(Verdict::Kept) && last.verdict == Verdict::Broken => {
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
                failed: report.failed(),
                changes: self.changes,
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
            self.tell(News::Regressed { what: self.judged.regressed.clone(), reverted: self.judged.reverting });
        }
        let signs = self.signs(improved);
        if signs.says_done && self.gated() && !kept {
            self.tell(News::NotDone);
        }
        let thresholds = self.settings.breaker.clone();
        self.judged.counts.take(signs, &thresholds);
    }

    fn signs(&self, improved: bool) -> Signs {
        let report = self.report.as_ref();
        let heard = report.map(|report| &report.heard);
        let claim = heard.and_then(|heard| heard.claimed.as_ref());
        let failed = report.is_some_and(|report| report.failed());
        let says_done = !failed && claim.is_some_and(|claim| claim.complete() || claim.completion_indicators > Some(0));
        let gates_same = self.gates.iter().all(|gate| gate.said_the_same);
        let files = self.measured.files;
        let moved = match files {
            Some(files) => files > 0 || self.measured.ignored,
            None if self.gated() => !gates_same,
            None => claim.is_some_and(|claim| claim.claims_progress()),
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
            words: heard.and_then(|heard| heard.words.as_ref()).map(|words| words.sha256.clone()),
            words_bytes: heard.and_then(|heard| heard.words.as_ref()).map_or(0, |words| words.bytes),
            says_tests: claim.is_some_and(|claim| claim.test_only()),
            block: claim.is_some(),
            says_done,
            exit_signal: claim.is_some_and(|claim| claim.exit_signal),
        }
    }

    /// The error that the agent ended in, if it did: by its program, or by its own account.
    fn error_signature(&self) -> Option<String> {
        let report = self.report.as_ref()?;
        let claim = report.heard.claimed.as_ref();
        let errors = claim.is_some_and(|claim| claim.claims_errors());
        if !(report.failed() || errors) {
            return None;
        }
        let summary = claim.filter(|_| errors).and_then(|claim| claim.summary.clone());
        let words = report.heard.error.clone().or(summary).unwrap_or_else(|| report.said.clone());
        Some(signature::signature(text::tail(&words, ERROR_BYTES_MAX)))
    }

    /// Whether the iteration changed nothing, as far as anybody measured.
    #[must_use]
    pub fn quiet(&self) -> bool {
        self.measured.files.is_none_or(|files| files == 0)
    }

    /// Whether every required gate was kept when it was last asked, all at the same point, on protected files that are
    /// what they were.
    #[must_use]
    pub fn gates_kept(&self) -> bool {
        let Stage::Gating { point, next } = self.stage else { return false };
        let all = usize::try_from(next).is_ok_and(|next| next >= self.gates.len());
        let kept = |memory: &GateMemory| {
            memory.last.as_ref().is_some_and(|last| last.point == point && last.verdict == Verdict::Kept)
        };
        let mut required = self.settings.gates.iter().zip(&self.gates).filter(|(gate, _)| !gate.watch);
        let clean = !self.guarding.by_gates && !self.stands_tampered();
        all && self.gated() && clean && required.all(|(_, memory)| kept(memory))
    }

    /// What was said about the proof of the state that is judged.
    #[must_use]
    pub fn certified(&self) -> Option<&Certified> {
        let Stage::Gating { point, .. } = self.stage else { return None };
        self.judged.certified.as_ref().filter(|(at, _)| *at == point).map(|(_, certified)| certified)
    }

    pub(super) fn certify(&mut self, point: GatePoint, certified: &Certified) {
        self.judged.certified = Some((point, certified.clone()));
        if self.tests_are_missed() {
            self.tell(News::WeakerTests { how: self.weaker() });
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

    /// Whether the protected files are to be kept, because nothing has run yet.
    #[must_use]
    pub fn guard_first(&self) -> bool {
        self.guarding.files.is_none() && self.spec.as_ref().is_some_and(|spec| spec.guard.is_some())
    }

    /// Whether the protected files are to be looked at before anything else.
    #[must_use]
    pub fn guard_due(&self) -> bool {
        let wanted = self.spec.as_ref().is_some_and(|spec| spec.guard.is_some());
        wanted && self.guarding.due && self.guarding.files.is_some_and(|files| files > 0)
    }

    /// What some tries of a gate said of another state says nothing about this one.
    pub(super) fn forget_tries(&mut self) {
        self.gates.iter_mut().for_each(|gate| gate.tally = Tally::default());
    }

    /// Somebody else had the workspace since: what was found before says nothing about it.
    pub(super) fn forget_tamper(&mut self) {
        (self.guarding.found, self.guarding.by_gates) = (None, false);
    }

    /// Whether a protected file is not what it was, and nobody wants that.
    fn stands_tampered(&self) -> bool {
        let allowed = self.settings.resolved.get("on_tamper") == "allow";
        !allowed && self.guarding.found.as_ref().is_some_and(|found| !found.restored)
    }

    pub(super) fn guarded(&mut self, by_gates: bool, guarded: &Guarded) {
        (self.guarding.due, self.guarding.gates_ran) = (false, false);
        self.guarding.files = Some(guarded.files);
        if guarded.tampered.is_nothing() {
            return;
        }
        self.guarding.times = self.guarding.times.saturating_add(1);
        self.guarding.found = Some(guarded.clone());
        if self.settings.resolved.get("on_tamper") == "allow" {
            return;
        }
        self.guarding.by_gates |= by_gates;
        let files = few(&guarded.tampered);
        self.tell(News::Tampered { files, restored: guarded.restored, by_gates });
    }

    /// What the ledger of all runs says about the next call.
    pub(super) fn reserved(&mut self, reserved: &Reserved) {
        let denied = reserved.number().is_none();
        if denied && self.asks_for_status() {
            return self.go_on_without_status();
        }
        self.call = Some(reserved.clone());
    }

    /// What a call counts as whose cost nobody tells.
    #[must_use]
    pub fn worst_micros(&self) -> u64 {
        let own = self.agent().map_or(WORST_MICROS, |agent| agent.worst_cost_micros());
        self.settings.caps.worst_micros.unwrap_or(own)
    }

    /// What the run has cost so far, with the worst of what nobody told.
    #[must_use]
    pub fn cost_micros(&self) -> u64 {
        let worst = self.worst_micros().saturating_mul(self.spent.cost_untold.into());
        self.spent.usage.cost_micros.unwrap_or(0).saturating_add(worst)
    }

    /// The tokens that it has used so far, with the worst of what nobody told.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        let worst = self.settings.caps.worst_tokens.saturating_mul(self.spent.tokens_untold.into());
        self.spent.usage.tokens().unwrap_or(0).saturating_add(worst)
    }

    /// The breaker is closed, and everything that it counted is gone.
    pub(super) fn close_breaker(&mut self) {
        let tree = self.keeping.tree.clone();
        self.judged.counts = Counts::default();
        self.judged.counts.saw(tree.as_deref());
        self.judged.reset = true;
    }
}

/// The names, and how many are not named.
fn few(all: &Few) -> Vec<String> {
    let more = usize::try_from(all.count).unwrap_or(usize::MAX).saturating_sub(all.first.len());
    let more = (more > 0).then(|| format!("{more} more"));
    all.first.iter().cloned().chain(more).collect()
}
