//! What is known about a pass: clean copies, probes, the proof and what was decided about it.
use super::fact::GatePoint;
use super::judge_report::{HunkReport, JudgePlace, JudgeReport, JudgedTree};
use super::judgement::{CleanJudgement, CleanResult, ProofJudgement};
use super::report::CertifyReport;
use crate::policy::proof::FindingKind;

/// How many trees are remembered that were judged in a clean copy.
const CLEAN_TREES_MAX: usize = 16;

/// What the run knows about its passes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proving {
    pass: Option<Pass>,
    unjudged: Option<UnjudgedCopy>,
    clean: Vec<CleanTree>,
    /// Why this project cannot be judged in a clean copy.
    workspace_only: Option<String>,
    /// What spoke against the pass before.
    refused: Vec<FindingKind>,
    spent_ms: u64,
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
}

/// What was decided about one copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgedCopy {
    /// Which tree it held.
    pub tree: JudgedTree,
    /// What was decided.
    pub result: CleanResult,
    /// Where the gates ran.
    pub place: JudgePlace,
    /// The pieces that were taken back.
    pub hunks: Option<HunkReport>,
    /// How long it took.
    pub duration_ms: u64,
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

    /// What a copy of this kind showed for this state.
    #[must_use]
    pub fn copy(&self, point: GatePoint, is: fn(JudgedTree) -> bool) -> Option<&JudgedCopy> {
        self.pass(point)?.copies.iter().find(|copy| is(copy.tree))
    }

    /// What a clean copy of this tree showed, in this run.
    #[must_use]
    pub fn clean(&self, tree: &str) -> Option<&JudgedCopy> {
        self.clean.iter().find(|clean| clean.tree == tree).map(|clean| &clean.copy)
    }

    /// Why this project cannot be judged in a clean copy.
    #[must_use]
    pub fn workspace_only(&self) -> Option<&str> {
        self.workspace_only.as_deref()
    }

    /// What spoke against the pass before.
    #[must_use]
    pub fn refused(&self) -> &[FindingKind] {
        &self.refused
    }

    /// How long clean copies and probes took in all.
    #[must_use]
    pub fn spent_ms(&self) -> u64 {
        self.spent_ms
    }

    pub(super) fn proof_is_unjudged(&self) -> bool {
        self.pass.as_ref().is_some_and(|pass| pass.certified.is_some() && pass.judgement.is_none())
    }

    pub(super) fn unjudged(&self) -> Option<&UnjudgedCopy> {
        self.unjudged.as_ref()
    }

    /// A copy was judged by the host.
    pub(super) fn reported(&mut self, point: GatePoint, tree: JudgedTree, report: &JudgeReport) {
        self.spent_ms = self.spent_ms.saturating_add(report.duration_ms);
        self.unjudged = Some(UnjudgedCopy { point, tree, report: report.clone() });
    }

    /// Stores what was decided about it. `tree` is the hash of the tree that passed in the workspace.
    pub(super) fn copy_judged(&mut self, judgement: &CleanJudgement, tree: Option<&str>) {
        let Some(UnjudgedCopy { point, report, .. }) = self.unjudged.take() else { return };
        if let CleanResult::WorkspaceOnly { why } = &judgement.result {
            self.workspace_only = Some(why.clone());
        }
        let copy = JudgedCopy {
            tree: judgement.tree,
            result: judgement.result.clone(),
            place: report.place,
            hunks: report.hunks,
            duration_ms: report.duration_ms,
        };
        if let (JudgedTree::Final, Some(tree)) = (judgement.tree, tree) {
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
        self.refused = judgement.findings.iter().map(|finding| finding.kind).collect();
        if let Some(pass) = &mut self.pass {
            pass.judgement = Some(judgement.clone());
        }
    }

    /// What was said about a pass says nothing about what is judged again.
    pub(super) fn forget(&mut self) {
        self.pass = None;
        self.unjudged = None;
    }
}
