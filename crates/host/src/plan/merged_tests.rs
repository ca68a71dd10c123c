//! What the loops of a plan know of their tests. A gate on a merged tree, or in the workspace, is judged with that: its exit
//! code alone decides there as little as in a loop.
use std::cell::OnceCell;

use loop_core::ids::RunId;
use loop_core::machine::consult;
use loop_core::policy::proof::FindingKind;
use loop_core::policy::protect::asks_to_remove_test;
use loop_core::run::{Gate, MergedTests, RunState, lost_in_merge};
use loop_core::settings::GateSpec;
use loop_core::test_output::{SameNames, TestStatus, Tests};

use crate::gate::{GateMemory, TestHistory, stored_tests};
use crate::journal;
use crate::paths::Home;
use crate::run_folder::{RunFolder, read_text};

/// A run whose result is in the tree.
#[derive(Debug)]
struct MergedRun {
    folder: RunFolder,
    state: OnceCell<Option<Box<RunState>>>,
}

impl MergedRun {
    /// Its state; none where its journal cannot be read.
    fn state(&self) -> Option<&RunState> {
        let read = || journal::read(&self.folder.path).ok().map(|reading| Box::new(reading.fold()));
        self.state.get_or_init(read).as_deref()
    }

    /// A gate of it, and its place.
    fn gate(&self, spec: &GateSpec) -> Option<(u32, &Gate)> {
        let gates = self.state()?.gates.iter().zip(0..);
        let is_same = |gate: &Gate| gate.spec().command == spec.command && gate.spec().name == spec.name;
        gates.map(|(gate, at)| (at, gate)).find(|(_, gate)| is_same(gate))
    }

    /// The tests of its last round.
    fn last(&self, gate: &Gate) -> Option<Tests> {
        let last = gate.last()?;
        stored_tests(&self.folder.gate(last.iteration, last.order))
    }

    /// The tests before any work.
    fn first(&self, gate: &Gate) -> Option<Tests> {
        stored_tests(&self.folder.gate(0, gate.first_order()?))
    }

    /// Whether it was there when this run began, and not when it ended; or its task asks for that.
    fn removes(&self, spec: &GateSpec, name: &str) -> bool {
        let asks = || {
            let goal = &self.state()?.spec.as_ref()?.goal;
            let task = read_text(&self.folder, goal).unwrap_or_else(|_| goal.head.clone());
            Some(asks_to_remove_test(&task, name))
        };
        let ran = |tests: &Tests| matches!(tests.statuses.get(name), Some(TestStatus::Passed | TestStatus::Failed));
        let left_out = || {
            let (_, gate) = self.gate(spec)?;
            Some(ran(&self.first(gate)?) && !ran(&self.last(gate)?))
        };
        asks() == Some(true) || left_out() == Some(true)
    }
}

/// The runs whose results are in a tree.
#[derive(Debug)]
pub(super) struct MergedRuns {
    runs: Vec<MergedRun>,
}

impl MergedRuns {
    pub(super) fn new(home: &Home, runs: &[RunId]) -> Self {
        let folder = |id: &RunId| RunFolder { path: home.runs().join(id.as_str()), id: id.clone() };
        let run = |id: &RunId| MergedRun { folder: folder(id), state: OnceCell::new() };
        Self { runs: runs.iter().map(run).collect() }
    }

    fn of(&self, run: Option<&RunId>) -> Option<&MergedRun> {
        self.runs.iter().find(|merged| Some(&merged.folder.id) == run)
    }

    /// What a run knows of one of its gates.
    pub(super) fn memory(&self, run: Option<&RunId>, spec: &GateSpec) -> GateMemory {
        let known = || {
            let of = self.of(run)?;
            let (at, gate) = of.gate(spec)?;
            let history = Some(TestHistory::on_copy(&of.folder, of.state()?, at));
            Some(GateMemory { completed: true, earlier: Some(gate.earlier_tests()), history })
        };
        known().unwrap_or_else(|| GateMemory::fresh(true))
    }

    /// Why a pass of a gate of this run is not believed. `again`: the tests of one more run on the same tree.
    pub(super) fn lost(
        &self,
        run: Option<&RunId>,
        spec: &GateSpec,
        now: Option<&Tests>,
        again: impl FnOnce() -> Option<Tests>,
    ) -> Option<String> {
        let of = self.of(run).filter(|_| !spec.promise().wants_failure())?;
        let (_, gate) = of.gate(spec)?;
        let is_accepted = of.state()?.settings.shown().accepted.contains(&FindingKind::RenamedTests);
        let before = of.last(gate).filter(|_| !is_accepted)?;
        let ran = |tests: &Tests| tests.passed.saturating_add(tests.failed);
        let at_end = self.runs.iter().filter_map(|run| Some(ran(&run.last(run.gate(spec)?.1)?)));
        let fewest = at_end.min().unwrap_or_else(|| ran(&before));
        let is_removed = |name: &str| self.runs.iter().any(|run| run.removes(spec, name));
        let judge = |same: Option<SameNames>| {
            let tests = MergedTests { gate, before: &before, now, same, fewest };
            consult(|deciding| lost_in_merge(&tests, &is_removed, deciding))
        };
        judge(None)?;
        // A gate may choose other tests each time: then nothing is lost.
        let second = again();
        judge(now.zip(second.as_ref()).and_then(|(now, second)| now.same_names(second)))
    }
}
