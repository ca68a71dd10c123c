//! What is known about a pass: clean copies, probes, the proof and what was decided about it.
use super::fact::{CancelCause, GatePoint};
use super::judge_report::{HunkReport, JudgePlace, JudgeReport, JudgedGate, JudgedTree, Remark};
use super::judgement::{CleanJudgement, CopyVerdict, ProofJudgement, WorkspaceOnly};
use super::report::CertifyReport;
use super::spec::HiddenGates;
use crate::policy::gate::Verdict;
use crate::policy::proof::{FindingKind, RefusedBefore};

/// How many trees are remembered that were judged in a clean copy.
const CLEAN_TREES_MAX: usize = 16;

/// What the run knows about its passes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proving {
    pass: Option<Pass>,
    unjudged: Option<UnjudgedCopy>,
    clean: Vec<CleanTree>,
    /// Why this project cannot be judged in a clean copy.
    workspace_only: Option<WorkspaceOnly>,
    /// What spoke against the pass before.
    refused: Vec<FindingKind>,
    /// The hidden gates, and how many passes they refused since a person opened the run.
    hidden: Option<HiddenGates>,
    refused_by_hidden: u32,
    spent_ms: u64,
    /// The hash of the record of what was there before the first agent.
    baseline: Option<String>,
}

/// The pass that is judged now.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Pass {
    point: GatePoint,
    copies: Vec<JudgedCopy>,
    certified: Option<CertifyReport>,
    judgement: Option<ProofJudgement>,
}

/// A report that nothing was decided about yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UnjudgedCopy {
    pub(super) point: GatePoint,
    pub(super) tree: JudgedTree,
    pub(super) report: JudgeReport,
    /// Why its order was cancelled.
    pub(super) cancelled: Option<CancelCause>,
}

/// What was decided about one copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgedCopy {
    /// Which tree it held.
    pub tree: JudgedTree,
    /// What it shows.
    pub verdict: CopyVerdict,
    /// Where the gates ran.
    pub place: JudgePlace,
    /// The pieces that were taken back.
    pub hunks: Option<HunkReport>,
    /// What a person should know about the copy.
    pub remarks: Vec<Remark>,
    /// Folders of dependencies that are as the agent installed them.
    pub installed: Vec<String>,
    /// How long its gates ran.
    pub gates_ms: u64,
    /// A gate failed because something could not be built or loaded.
    pub did_not_build: bool,
}

/// A tree that was judged in a clean copy.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CleanTree {
    tree: String,
    copy: JudgedCopy,
}

impl Proving {
    fn pass(&self, point: GatePoint) -> Option<&Pass> {
        self.pass.as_ref().filter(|pass| pass.point == point)
    }

    /// With what the gates were run, where the proof of this state was asked for.
    #[must_use]
    pub fn certified(&self, point: GatePoint) -> Option<&CertifyReport> {
        self.pass(point)?.certified.as_ref()
    }

    /// What was decided about the pass of this state.
    #[must_use]
    pub fn judgement(&self, point: GatePoint) -> Option<&ProofJudgement> {
        self.pass(point)?.judgement.as_ref()
    }

    /// All copies that were judged for this state.
    #[must_use]
    pub fn copies(&self, point: GatePoint) -> &[JudgedCopy] {
        self.pass(point).map_or(&[], |pass| &pass.copies)
    }

    /// What a copy of this kind showed for this state.
    #[must_use]
    pub fn copy(&self, point: GatePoint, is: fn(JudgedTree) -> bool) -> Option<&JudgedCopy> {
        self.pass(point)?.copies.iter().find(|copy| is(copy.tree))
    }

    /// What a clean copy of the tree that passed showed, for this state or earlier in this run.
    #[must_use]
    pub fn clean_copy(&self, point: GatePoint, tree: Option<&str>) -> Option<&JudgedCopy> {
        let again = self.copy(point, |tree| tree == JudgedTree::Again);
        let again = again.filter(|copy| copy.verdict == CopyVerdict::Passes);
        let now = again.or_else(|| self.copy(point, |tree| tree == JudgedTree::Final));
        now.or_else(|| self.clean.iter().find(|clean| Some(clean.tree.as_str()) == tree).map(|clean| &clean.copy))
    }

    /// What the hidden gates showed for this state.
    #[must_use]
    pub fn hidden_copy(&self, point: GatePoint) -> Option<&JudgedCopy> {
        self.copy(point, |tree| matches!(tree, JudgedTree::Hidden { .. }))
    }

    /// Why this project cannot be judged in a clean copy.
    #[must_use]
    pub fn workspace_only(&self) -> Option<&WorkspaceOnly> {
        self.workspace_only.as_ref()
    }

    /// What was refused before.
    #[must_use]
    pub fn refused(&self) -> RefusedBefore<'_> {
        RefusedBefore { kinds: &self.refused, by_hidden_gates: self.refused_by_hidden }
    }

    /// The hidden gates.
    #[must_use]
    pub fn hidden(&self) -> Option<&HiddenGates> {
        self.hidden.as_ref()
    }

    /// A person opened the run, with the hidden gates that their settings have now.
    pub(super) fn opened_with(&mut self, hidden: Option<&HiddenGates>) {
        self.hidden = hidden.cloned();
        self.refused_by_hidden = 0;
    }

    /// How long clean copies and probes took in all.
    #[must_use]
    pub fn spent_ms(&self) -> u64 {
        self.spent_ms
    }

    /// The hash of the record of ignored files and settings in HOME before the first agent.
    #[must_use]
    pub fn baseline(&self) -> Option<&str> {
        self.baseline.as_deref()
    }

    pub(super) fn set_baseline(&mut self, hash: Option<&str>) {
        self.baseline = hash.map(str::to_owned).or(self.baseline.take());
    }

    pub(super) fn proof_is_unjudged(&self) -> bool {
        self.pass.as_ref().is_some_and(|pass| pass.certified.is_some() && pass.judgement.is_none())
    }

    pub(super) fn unjudged(&self) -> Option<&UnjudgedCopy> {
        self.unjudged.as_ref()
    }

    /// A copy was judged by the host.
    pub(super) fn reported(&mut self, copy: UnjudgedCopy) {
        self.spent_ms = self.spent_ms.saturating_add(copy.report.duration_ms);
        self.set_baseline(copy.report.baseline.as_deref());
        self.unjudged = Some(copy);
    }

    /// Stores what was decided about it. `tree` is the hash of the tree that passed in the workspace.
    pub(super) fn copy_judged(&mut self, judgement: &CleanJudgement, tree: Option<&str>) {
        let Some(UnjudgedCopy { point, report, .. }) = self.unjudged.take() else { return };
        if judgement.verdict == CopyVerdict::Cancelled {
            return;
        }
        if let Some(why) = &judgement.workspace_only {
            self.workspace_only = Some(why.clone());
        }
        if judgement.drop_earlier {
            self.clean.clear();
            self.pass_at(point).copies.clear();
        }
        let gate_ms = |judged: &JudgedGate| judged.report.duration_ms.saturating_mul(u64::from(judged.tries.max(1)));
        let failed = |judged: &&JudgedGate| judged.verdict != Verdict::Pass;
        let copy = JudgedCopy {
            tree: judgement.tree,
            verdict: judgement.verdict.clone(),
            place: report.place,
            hunks: report.hunks,
            remarks: report.remarks,
            installed: report.installed,
            gates_ms: report.gates.iter().map(gate_ms).fold(0, u64::saturating_add),
            did_not_build: report.gates.iter().find(failed).is_some_and(|judged| judged.report.did_not_build),
        };
        let has_result = matches!(copy.verdict, CopyVerdict::Passes | CopyVerdict::Disagrees { .. });
        if let (JudgedTree::Final, Some(tree), true) = (judgement.tree, tree, has_result) {
            if self.clean.len() >= CLEAN_TREES_MAX {
                self.clean.remove(0);
            }
            self.clean.push(CleanTree { tree: tree.to_owned(), copy: copy.clone() });
        }
        self.pass_at(point).copies.push(copy);
    }

    fn pass_at(&mut self, point: GatePoint) -> &mut Pass {
        let pass = self.pass.take().filter(|pass| pass.point == point);
        let new = || Pass { point, copies: Vec::new(), certified: None, judgement: None };
        self.pass.insert(pass.unwrap_or_else(new))
    }

    pub(super) fn certify(&mut self, point: GatePoint, report: &CertifyReport) {
        let pass = self.pass_at(point);
        pass.certified = Some(report.clone());
        pass.judgement = None;
    }

    pub(super) fn judged(&mut self, judgement: &ProofJudgement) {
        let point = self.pass.as_ref().map(|pass| pass.point);
        let at_start =
            matches!(point, Some(GatePoint::Baseline | GatePoint::Reopened(0) | GatePoint::RolledBack(0)) | None);
        // What was so before an agent worked is not a second time by what it did.
        let kinds = judgement.findings.iter().map(|finding| finding.kind).filter(|_| !at_start);
        self.refused = kinds.collect();
        self.refused_by_hidden += u32::from(judgement.refused_by_hidden);
        if let Some(pass) = &mut self.pass {
            pass.judgement = Some(judgement.clone());
        }
    }

    /// The gates run again: forget the results for the old pass.
    pub(super) fn forget(&mut self) {
        self.pass = None;
        self.unjudged = None;
    }
}
