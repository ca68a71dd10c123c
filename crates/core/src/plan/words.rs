//! What a plan and its nodes are, in plain sentences.
use super::fact::{EndedEarly, NodeEnd, NotStarted, RunPurpose};
use super::report::{ConflictReport, GatesReport};
use super::spec::{NodeId, NodeWork};
use super::state::{NodeStage, NodeState, PlanState};
use crate::policy::candidate::Ranking;
use crate::run::Outcome;
use crate::text;

/// Longest sentence of a reason, in bytes. It is stored in two facts.
const REASON_BYTES_MAX: usize = 2000;
/// How much of a question or of an answer stands in a sentence, in bytes.
const ASKED_BYTES_MAX: usize = 300;

/// A reason that is not too long for a fact.
pub(super) fn bounded(words: &str) -> String {
    text::head(words, REASON_BYTES_MAX).to_owned()
}

/// How many of something: `1 branch`, `3 branches`.
pub(super) fn count(number: usize, one: &str, more: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { more })
}

impl PlanState {
    /// Where a node is, in a few words.
    #[must_use]
    pub fn node_words(&self, node: &NodeState) -> String {
        match &node.stage {
            NodeStage::Waiting if node.resume => "waits to be resumed".to_owned(),
            NodeStage::Waiting => self.waits_for(node),
            NodeStage::Copying => "copying".to_owned(),
            NodeStage::Running => match node.progress {
                Some(progress) => format!("running, iteration {}", progress.iterations.saturating_add(1)),
                None => "running".to_owned(),
            },
            NodeStage::RunEnded | NodeStage::Ran => "ran".to_owned(),
            NodeStage::Merging | NodeStage::Conflicted => "merging".to_owned(),
            NodeStage::MergeGates | NodeStage::MergeJudged => "merging: its gates run".to_owned(),
            NodeStage::Checking | NodeStage::Checked => "its checks run".to_owned(),
            NodeStage::Recording | NodeStage::Recorded => "checked".to_owned(),
            NodeStage::Applying => "its result is applied".to_owned(),
            NodeStage::Ticking | NodeStage::TickEnded => "it is ticked".to_owned(),
            NodeStage::Asking | NodeStage::Said => question(node),
            NodeStage::Ended(end) => self.end_words(node, end),
        }
    }

    fn waits_for(&self, node: &NodeState) -> String {
        let open = |id: &&NodeId| self.node(id).is_some_and(|other| !other.is_done());
        let wanted: Vec<&str> = node.spec.depends_on.iter().filter(open).map(NodeId::as_str).collect();
        if wanted.is_empty() { "waiting".to_owned() } else { format!("waits for {}", wanted.join(", ")) }
    }

    /// How a node ended, and why, in one sentence without its name.
    #[must_use]
    pub fn end_words(&self, node: &NodeState, end: &NodeEnd) -> String {
        let run = || node.result.as_ref().map_or_else(String::new, |run| format!(": {}", run.reason.text));
        match end {
            NodeEnd::Merged => "merged".to_owned(),
            NodeEnd::Passed => "passed".to_owned(),
            NodeEnd::Ticked => "ticked".to_owned(),
            NodeEnd::NotTicked { why } => format!("its result is in the workspace, and it is not ticked: {why}"),
            NodeEnd::GaveUp(end) => end.words(),
            NodeEnd::Answered => format!("answered{}", said(node)),
            NodeEnd::Refused => format!("refused by a person{}", said(node)),
            NodeEnd::RanOnly => "ran, and its result is not merged yet".to_owned(),
            NodeEnd::NotPassed => format!("{}{}", not_passed_words(node), run()),
            NodeEnd::EndedEarly(why) => match why {
                EndedEarly::Stopped => "stopped; it can be resumed".to_owned(),
                EndedEarly::PassedFirst(other) => format!("ended: branch {other} passed first"),
                EndedEarly::Pruned(other) => format!("ended: worse than branch {other}, and than the start"),
                EndedEarly::OtherFailed(other) => format!("stopped, because {other} failed; it can be resumed"),
                EndedEarly::Killed => "its process was killed again and again; it can be resumed".to_owned(),
                EndedEarly::Budget if node.result.is_some() => {
                    "its share of the budget is used up; it can be resumed with more".to_owned()
                }
                EndedEarly::Budget => "not resumed: the budget of the plan is used up".to_owned(),
            },
            NodeEnd::NotStarted(why) => format!("not started: {}", self.not_started_words(why)),
            NodeEnd::Conflict => {
                let paths = node.conflict.as_ref().map_or_else(String::new, |found| format!(": {}", found.words()));
                let tried = node.result.as_ref().filter(|_| node.purpose == RunPurpose::Resolve);
                let tried = tried.map(|run| format!("; an agent could not resolve it: {}", run.reason.text));
                format!("conflict{paths}{}", tried.unwrap_or_default())
            }
            NodeEnd::FailedMergeGates => {
                let gates = node.gates.as_ref().map_or_else(String::new, |gates| format!(": {}", gates.words()));
                format!("it passes alone, and gates fail on the merged tree{gates}")
            }
            NodeEnd::HostFailure { why } if node.run.is_none() => format!("not started: {why}"),
            NodeEnd::HostFailure { why } => format!("could not work: {why}"),
        }
    }

    fn not_started_words(&self, why: &NotStarted) -> String {
        match why {
            NotStarted::DependsOn(other) => {
                format!("depends on {other}, which {}", self.node(other).map_or("is gone", did_words))
            }
            NotStarted::Budget => "the budget of the plan is used up".to_owned(),
            NotStarted::Stopped => "the plan was stopped".to_owned(),
            NotStarted::PassedFirst(other) => format!("branch {other} passed first"),
            NotStarted::OtherFailed(other) => format!("{other} failed"),
            NotStarted::Unable => "the plan could not work".to_owned(),
        }
    }
}

/// The question of a node, in one line.
pub(super) fn question(node: &NodeState) -> String {
    match &node.spec.work {
        NodeWork::Ask { question } => format!("asks: {}", text::one_line(question, ASKED_BYTES_MAX)),
        NodeWork::Loop(_) => "asks a person".to_owned(),
    }
}

/// What a person answered, in one line.
fn said(node: &NodeState) -> String {
    let words = node.answer.as_ref().map(|answer| text::one_line(&answer.text, ASKED_BYTES_MAX));
    words.filter(|words| !words.is_empty()).map_or_else(String::new, |words| format!(": {words}"))
}

/// What a run that did not pass came to.
fn not_passed_words(node: &NodeState) -> &'static str {
    match node.result.as_ref().map(|run| run.outcome) {
        Some(Outcome::PassedBut) => "passed, but something speaks against it",
        Some(Outcome::Cancelled) => "cancelled",
        Some(Outcome::Blocked) => "the agent is blocked",
        Some(Outcome::Tripped) => "no progress",
        Some(Outcome::Paused) => "paused by a critical alert",
        Some(Outcome::Tampered) => "protected files were changed",
        Some(Outcome::Verified | Outcome::Accepted | Outcome::Claimed) => "it passed, and its result is not there",
        Some(Outcome::Exhausted | Outcome::Stopped | Outcome::Unable) | None => "did not pass",
    }
}

/// What a node that is not done did: for one that depends on it.
fn did_words(node: &NodeState) -> &'static str {
    match node.end() {
        Some(NodeEnd::NotPassed) => "did not pass",
        Some(NodeEnd::Refused) => "a person refused",
        Some(NodeEnd::Conflict) => "has a conflict",
        Some(NodeEnd::FailedMergeGates) => "fails on the merged tree",
        Some(NodeEnd::HostFailure { .. }) => "could not work",
        Some(NodeEnd::EndedEarly(_)) => "was stopped",
        Some(NodeEnd::NotStarted(_)) => "was not started",
        Some(NodeEnd::RanOnly) => "is not merged",
        Some(NodeEnd::NotTicked { .. }) => "was not ticked",
        Some(NodeEnd::GaveUp(_)) => "did not pass",
        Some(NodeEnd::Merged | NodeEnd::Passed | NodeEnd::Answered | NodeEnd::Ticked) => "is done",
        None => "is not done",
    }
}

impl ConflictReport {
    /// For people: the paths, and where both versions are.
    #[must_use]
    pub fn words(&self) -> String {
        let more = usize::try_from(self.count).unwrap_or(usize::MAX).saturating_sub(self.paths.len());
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let paths = self.paths.join(", ");
        format!("both versions change {paths}{more}; they are the checkpoints {} and {}", self.ours, self.theirs)
    }
}

impl GatesReport {
    /// For people: the gates that do not pass.
    #[must_use]
    pub fn words(&self) -> String {
        let one = |gate: &super::report::FailedGate| {
            let says = if gate.says.is_empty() { String::new() } else { format!(" ({})", gate.says) };
            format!("{} of {}{says}", gate.gate, gate.node)
        };
        let named: Vec<String> = self.first.iter().map(one).collect();
        let more = usize::try_from(self.not_passed).unwrap_or(usize::MAX).saturating_sub(named.len());
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        format!("{}{more}", named.join(", "))
    }
}

/// The best state of branches of which none passes, where there is one.
pub(super) fn best_state(state: &PlanState, ranking: &Ranking) -> Option<String> {
    ranking.rows.iter().find_map(|row| {
        let node = state.nodes.iter().find(|node| node.id().as_str() == row.name)?;
        let run = node.result.as_ref()?;
        let checkpoint = run.checkpoint.as_ref()?;
        Some(format!("the best state is {checkpoint} of run {} (branch {}): {}", run.run, row.name, run.rank.words()))
    })
}
