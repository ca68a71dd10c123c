//! The gates of a run, each with what is remembered of it.
use std::sync::Arc;

use super::event::GateIndex;
use super::fact::{CancelCause, GatePoint};
use super::judgement::{GateJudgement, TestSetStability};
use super::report::{GateProgram, GateReport, ToolChange};
use crate::ended::Ended;
use crate::ids::OrderId;
use crate::policy::gate::{EarlierTests, ExitContradiction, Tally, Verdict};
use crate::settings::GateSpec;
use crate::test_output::{SameNames, TestsSeen};

/// All gates of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gates {
    list: Vec<Gate>,
    ended: Option<EndedGate>,
    unverifiable_streak: u32,
    /// Programs that were not those of the start when a gate started.
    swapped: Vec<ToolChange>,
}

/// One gate: what it is, and what it said so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gate {
    spec: GateSpec,
    last: Option<LastGate>,
    /// It has run to its own end in this run.
    completed: bool,
    /// What it printed the time before, and how it ended then.
    output_before: Option<OutputBefore>,
    tally: Tally,
    at_round_end: Option<Verdict>,
    cost_ms: Option<u64>,
    first_order: Option<OrderId>,
    first_tests: Option<TestCount>,
    first_round: Option<FirstRound>,
    /// How many tests ran at most in one round.
    most_tests: u32,
    /// How many tests failed before iteration 1, where the gate passed.
    accepted_failures: u32,
    /// Why the exit code of its newest try was not believed.
    contradiction: Option<ExitContradiction>,
    /// The trees on which it failed, the newest last.
    failed_trees: Vec<String>,
    /// Whether it runs the same tests on every run of one tree, where that was tried in clean copies, or where two rounds
    /// on one tree, before an agent worked, ran another number of tests.
    test_set: Option<SameNames>,
    /// The hash of the file with the names that were seen so far.
    known_tests: Option<String>,
    first_programs: Vec<GateProgram>,
    /// The hash of the record of what lay outside of the workspace before iteration 1.
    first_outside: Option<String>,
    first_rest: Option<String>,
}

/// How many trees are remembered on which a gate failed.
const FAILED_TREES_MAX: usize = 64;

/// How many programs are remembered that were not those of the start.
const SWAPPED_MAX: usize = 16;

fn add_swapped(all: &mut Vec<ToolChange>, more: &[ToolChange]) {
    for change in more {
        if all.len() < SWAPPED_MAX && !all.contains(change) {
            all.push(change.clone());
        }
    }
}

/// How many tests a gate ran before iteration 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TestCount {
    /// All of them.
    pub total: u32,
    /// Those that were skipped.
    pub skipped: u32,
}

/// What a gate printed, and how it ended: enough to know whether it says the same again.
#[derive(Debug, Clone, PartialEq, Eq)]
struct OutputBefore {
    sha256: String,
    ended: Ended,
}

impl OutputBefore {
    fn of(report: &GateReport) -> Self {
        Self { sha256: report.output.sha256.clone(), ended: report.ended.clone() }
    }
}

/// What a gate said before iteration 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirstRound {
    /// Its verdict.
    pub verdict: Verdict,
    /// What its last try reported.
    report: Arc<GateReport>,
}

impl FirstRound {
    /// How its last try ended.
    #[must_use]
    pub fn ended(&self) -> &Ended {
        &self.report.ended
    }

    /// The tests of it.
    #[must_use]
    pub fn tests(&self) -> Option<&TestsSeen> {
        self.report.tests.as_deref()
    }

    /// Whether something could not be built or loaded.
    #[must_use]
    pub fn did_not_build(&self) -> bool {
        self.report.did_not_build || self.tests().is_some_and(|tests| tests.files_only)
    }

    /// Whether another round on the same tree says the same.
    #[must_use]
    pub fn is_like(&self, verdict: Verdict, report: &GateReport) -> bool {
        let same_tests = match (self.tests(), report.tests.as_deref()) {
            (Some(first), Some(now)) if first.uncounted || now.uncounted => true,
            (Some(first), Some(now)) => (first.passed, first.failed) == (now.passed, now.failed),
            (None, None) => self.verdict == Verdict::Pass || shape(&self.report.excerpt) == shape(&report.excerpt),
            (Some(_), None) | (None, Some(_)) => false,
        };
        self.verdict == verdict && *self.ended() == report.ended && same_tests
    }
}

/// A text without what differs between two runs: digits, spaces, paths of folders.
fn shape(text: &str) -> String {
    let words = text.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word));
    words.flat_map(str::chars).filter(|letter| letter.is_alphabetic()).collect()
}

/// The newest verdict of a gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastGate {
    /// The order that ran it, which names the folder of its output.
    pub order: OrderId,
    /// The iteration in whose folder that is.
    pub iteration: u32,
    /// What it judged.
    pub point: GatePoint,
    /// The hash of the tree that it judged, where that is known.
    pub tree: Option<String>,
    /// What came of it.
    pub report: GateReport,
    /// What that means.
    pub verdict: Verdict,
}

/// In which round a gate was judged.
#[derive(Debug, Clone, Copy)]
pub(super) struct JudgedRound<'a> {
    pub(super) point: GatePoint,
    pub(super) iteration: u32,
    pub(super) tree: Option<&'a str>,
}

/// A gate that ended and has no verdict yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EndedGate {
    pub(super) order: OrderId,
    pub(super) gate: GateIndex,
    pub(super) report: GateReport,
    pub(super) cancelled: Option<CancelCause>,
}

impl Gate {
    /// What it is.
    #[must_use]
    pub fn spec(&self) -> &GateSpec {
        &self.spec
    }

    /// Whether a run is not done without it.
    #[must_use]
    pub fn is_required(&self) -> bool {
        !self.spec.watch
    }

    /// Its newest verdict.
    #[must_use]
    pub fn last(&self) -> Option<&LastGate> {
        self.last.as_ref()
    }

    /// Whether it has run to its own end in this run.
    #[must_use]
    pub fn completed(&self) -> bool {
        self.completed
    }

    /// Whether its newest output equals the one before.
    #[must_use]
    pub fn same_output(&self) -> bool {
        let (Some(before), Some(last)) = (&self.output_before, &self.last) else { return false };
        before.sha256 == last.report.output.sha256 && before.ended == last.report.ended
    }

    /// What several tries said so far, while they are under way.
    #[must_use]
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// The verdict when all gates had one last.
    #[must_use]
    pub fn at_round_end(&self) -> Option<Verdict> {
        self.at_round_end
    }

    /// How long it took before iteration 1.
    #[must_use]
    pub fn cost_ms(&self) -> Option<u64> {
        self.cost_ms
    }

    /// The order that ran it before iteration 1, which names the folder of its output.
    #[must_use]
    pub fn first_order(&self) -> Option<OrderId> {
        self.first_order
    }

    /// What its earlier rounds said about tests.
    #[must_use]
    pub fn earlier_tests(&self) -> EarlierTests {
        EarlierTests { most: self.most_tests, accepted: self.accepted_failures }
    }

    /// Why the exit code 0 of its newest try was not believed.
    #[must_use]
    pub fn contradiction(&self) -> Option<ExitContradiction> {
        self.contradiction
    }

    /// Whether it failed on this tree in an earlier round.
    #[must_use]
    pub fn failed_on(&self, tree: &str) -> bool {
        self.failed_trees.iter().any(|failed| failed == tree)
    }

    /// Whether it runs other tests on every run of one tree.
    #[must_use]
    pub fn is_selective(&self) -> bool {
        self.test_set == Some(SameNames::No)
    }

    /// Whether it runs the same tests on every run of one tree; none where that is not known.
    #[must_use]
    pub fn test_set(&self) -> Option<SameNames> {
        self.test_set
    }

    /// The hash of the file with the names of tests that were seen so far.
    #[must_use]
    pub fn known_tests(&self) -> Option<&str> {
        self.known_tests.as_deref()
    }

    /// What it said before iteration 1.
    #[must_use]
    pub fn first_round(&self) -> Option<&FirstRound> {
        self.first_round.as_ref()
    }

    /// How many tests the first round ran that could count them.
    #[must_use]
    pub fn first_tests(&self) -> Option<TestCount> {
        self.first_tests
    }

    /// The programs that its command named before iteration 1.
    #[must_use]
    pub fn first_programs(&self) -> &[GateProgram] {
        &self.first_programs
    }

    /// The hash of the record of what lay outside of the workspace before iteration 1.
    #[must_use]
    pub fn first_outside(&self) -> Option<&str> {
        self.first_outside.as_deref()
    }

    /// The hash of the record of further files that it used before iteration 1, and that are not protected.
    #[must_use]
    pub fn first_rest(&self) -> Option<&str> {
        self.first_rest.as_deref()
    }

    /// The programs of a report that are not those of the start.
    fn swapped_in(&self, report: &GateReport) -> Vec<ToolChange> {
        let change = |now: &GateProgram| {
            let before = self.first_programs.iter().find(|first| first.name == now.name)?.file.clone();
            Some(ToolChange { program: now.name.clone(), before, after: now.file.clone() })
        };
        report.programs.iter().filter_map(change).collect()
    }
}

impl Gate {
    /// Whether a round shows that it chooses other tests each time: two rounds of one tree ran another number of tests.
    /// Only before an agent worked: one that changes ignored files makes another gate of the same tree.
    pub(super) fn chose_other_tests(&self, round: JudgedRound<'_>, report: &GateReport, verdict: Verdict) -> bool {
        let ran = |report: &GateReport| report.tests.as_ref().map(|tests| tests.ran());
        let both_first = |before: &&LastGate| (before.iteration, round.iteration) == (0, 0);
        let same_tree = |before: &&LastGate| before.tree.is_some() && before.tree.as_deref() == round.tree;
        self.last.as_ref().filter(both_first).filter(same_tree).is_some_and(|before| {
            // One that stopped early, or could not begin, did not choose its tests.
            before.verdict == verdict && ran(&before.report).is_some() && ran(&before.report) != ran(report)
        })
    }

    /// Stores what a round with a verdict shows about its tests.
    fn round_on(&mut self, round: JudgedRound<'_>, report: &GateReport, verdict: Verdict) {
        let tests = report.tests.as_deref();
        if let Some(tests) = tests {
            let could_count = self.first_tests.is_some_and(|first| first.total > 0);
            if round.iteration == 0 || !could_count {
                self.first_tests = Some(TestCount { total: tests.total(), skipped: tests.skipped });
            }
            self.most_tests = self.most_tests.max(tests.ran());
        }
        if round.iteration == 0 {
            self.first_round = Some(FirstRound { verdict, report: Arc::new(report.clone()) });
            let failed = tests.map_or(0, |tests| tests.failed);
            self.accepted_failures = if verdict == Verdict::Pass { failed } else { 0 };
        } else if let Some(tests) = tests.filter(|_| verdict == Verdict::Pass) {
            // What was repaired must not fail again.
            self.accepted_failures = self.accepted_failures.min(tests.failed);
        }
        if let Some(tree) = round.tree.filter(|tree| verdict == Verdict::Fail && !self.failed_on(tree)) {
            if self.failed_trees.len() >= FAILED_TREES_MAX {
                self.failed_trees.remove(0);
            }
            self.failed_trees.push(tree.to_owned());
        }
    }
}

impl Gates {
    pub(super) fn new(specs: &[GateSpec]) -> Self {
        let list = specs.iter().map(|spec| Gate { spec: spec.clone(), ..Gate::default() }).collect();
        Self { list, ..Self::default() }
    }

    /// All of them, in the order of the settings.
    pub fn iter(&self) -> impl Iterator<Item = &Gate> {
        self.list.iter()
    }

    /// Those without which a run is not done.
    pub fn required(&self) -> impl Iterator<Item = &Gate> {
        self.list.iter().filter(|gate| gate.is_required())
    }

    /// One of them.
    #[must_use]
    pub fn get(&self, gate: GateIndex) -> Option<&Gate> {
        usize::try_from(gate).ok().and_then(|at| self.list.get(at))
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Iterations in a row with a required gate that could not be run.
    #[must_use]
    pub fn unverifiable_streak(&self) -> u32 {
        self.unverifiable_streak
    }

    /// Whether every required gate passes on this state, and there is one.
    #[must_use]
    pub fn all_pass(&self, point: GatePoint) -> bool {
        let passes = |gate: &Gate| gate.last().is_some_and(|last| last.point == point && last.verdict == Verdict::Pass);
        self.required().next().is_some() && self.required().all(passes)
    }

    /// The gates in the order in which they run: as set, then the fast ones first, as the first round showed.
    #[must_use]
    pub fn at(&self, next: u32) -> Option<GateIndex> {
        let mut order: Vec<(usize, &Gate)> = self.list.iter().enumerate().collect();
        order.sort_by_key(|(at, gate)| (gate.spec.order, gate.cost_ms, *at));
        let (at, _) = order.get(usize::try_from(next).ok()?)?;
        u32::try_from(*at).ok()
    }

    /// Which try of the gate is next, where it has several.
    #[must_use]
    pub fn next_try(&self, gate: GateIndex) -> Option<u32> {
        let gate = self.get(gate)?;
        (gate.spec.needs().tries > 1).then(|| gate.tally.tries() + 1)
    }

    /// How long they took when they ran last, with all their tries.
    pub(super) fn duration_ms(&self) -> u64 {
        let one = |gate: &Gate| Some(gate.spec.needs().all_tries_ms(gate.last()?.report.duration_ms));
        self.list.iter().filter_map(one).sum()
    }

    pub(super) fn unjudged(&self) -> Option<&EndedGate> {
        self.ended.as_ref()
    }

    pub(super) fn ended(&mut self, ended: EndedGate) {
        self.ended = Some(ended);
    }

    /// Stores what was decided about a try. Says whether the gate has its verdict with it.
    pub(super) fn judged(&mut self, judgement: &GateJudgement, round: JudgedRound<'_>) -> bool {
        let Some(ended) = self.ended.take() else { return false };
        let gate = usize::try_from(judgement.gate).ok().and_then(|at| self.list.get_mut(at));
        let (Some(gate), Some(one)) = (gate, judgement.one) else { return false };
        let EndedGate { order, report, .. } = ended;
        gate.contradiction = judgement.contradiction;
        if let Some(known) = report.tests.as_ref().and_then(|tests| tests.known.clone()) {
            gate.known_tests = Some(known);
        }
        if round.iteration > 0 {
            let swapped = gate.swapped_in(&report);
            add_swapped(&mut self.swapped, &swapped);
        }
        gate.completed |= judgement.completed;
        gate.tally = gate.tally.with(one);
        let Some(verdict) = judgement.verdict else { return false };
        gate.tally = Tally::default();
        gate.output_before = gate.last.take().map(|last| OutputBefore::of(&last.report));
        if judgement.selective {
            gate.test_set = Some(SameNames::No);
        }
        gate.round_on(round, &report, verdict);
        // Whatever the round is called: no agent has worked yet.
        if round.iteration == 0 {
            gate.first_order = Some(order);
            gate.first_programs.clone_from(&report.programs);
            gate.first_outside = report.used.as_ref().and_then(|used| used.outside.clone());
            gate.first_rest = report.used.as_ref().and_then(|used| used.rest_record.clone());
        }
        let JudgedRound { point, iteration, tree } = round;
        gate.last = Some(LastGate { order, iteration, point, tree: tree.map(str::to_owned), report, verdict });
        true
    }

    /// Programs that were not those of the start when a gate started, at any time.
    #[must_use]
    pub fn swapped(&self) -> &[ToolChange] {
        &self.swapped
    }

    /// Stores programs that were not those of the start when a gate started on a copy.
    pub(super) fn swapped_on_copy(&mut self, swapped: &[ToolChange]) {
        add_swapped(&mut self.swapped, swapped);
    }

    /// Stores whether gates run the same tests on every run.
    pub(super) fn record_stability(&mut self, stability: &[TestSetStability]) {
        for learned in stability {
            let gate = usize::try_from(learned.gate).ok().and_then(|at| self.list.get_mut(at));
            // What two rounds have shown stays so.
            if let Some(gate) = gate.filter(|gate| !gate.is_selective()) {
                gate.test_set = Some(learned.same);
            }
        }
    }

    pub(super) fn round_ended(&mut self) {
        for gate in &mut self.list {
            gate.at_round_end = gate.last.as_ref().map(|last| last.verdict);
        }
    }

    /// The first round shows how long each takes. Not before its end: while they run their order stays what it is.
    pub(super) fn learn_costs(&mut self) {
        for gate in &mut self.list {
            gate.cost_ms = gate.last.as_ref().map(|last| last.report.duration_ms);
        }
    }

    pub(super) fn count_unverifiable(&mut self, unverifiable: bool) {
        self.unverifiable_streak = if unverifiable { self.unverifiable_streak + 1 } else { 0 };
    }

    /// What some tries said of another state says nothing about this one.
    pub(super) fn forget_tries(&mut self) {
        self.list.iter_mut().for_each(|gate| gate.tally = Tally::default());
    }
}
