//! Decisions, as they are recorded: what `step` made of an event, so that `apply` only has to store it.
use serde::{Deserialize, Serialize};

use super::event::GateIndex;
use super::fact::{GatePoint, GuardPoint, PromptNote};
use super::judge_report::JudgedTree;
use super::spec::StoredText;
use super::text_order::TextPurpose;
use crate::agent::Failure;
use crate::policy::breaker::{IterationEvidence, StreakChanges};
use crate::policy::gate::{ExitContradiction, Verdict};
use crate::policy::proof::{Finding, ProofResult, StrengthReport};
use crate::policy::rank::Rank;
use crate::policy::score::Score;
use crate::policy::stuck::StuckJudgement;
use crate::policy::wait::Wait;
use crate::test_output::SameNames;
use crate::text::NameList;

fn is_false(value: &bool) -> bool {
    !*value
}

/// What becomes of an order whose end is not known, when a run is opened again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DroppedOrder {
    /// It is given again when it is due.
    Again,
    /// The agent was cut off: what it left gets a checkpoint, and another attempt follows.
    CutOff,
    /// The gates run again: what they judged may have been restored since.
    GatesAgain,
    /// It does not matter any more.
    Forgotten,
    /// A text that an agent was asked for: it is not asked again, and what the call cost is not known.
    TextLost,
}

/// What an attempt of the agent was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptResult {
    /// It ends the agent's work on the iteration.
    Iteration,
    /// It was ended from outside; another attempt follows.
    CutOff,
    /// The provider refused it; another attempt follows after a wait.
    Limited,
    /// Its agent cannot work, or refused the model; another attempt follows with another one.
    AgentUnable,
    /// The conversation that it was to continue is gone; another attempt begins a new one.
    SessionLost,
    /// It left out the status block and is asked for it once.
    StatusMissing,
    /// It was asked for the status block, and this is the answer.
    StatusAnswered,
}

/// What was decided about an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptJudgement {
    /// What it was.
    pub result: AttemptResult,
    /// What it cost, in millionths of a dollar, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
    /// Why the agent could not work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// What it asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// What the next attempt waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<Wait>,
    /// The wait is so long that the gates run before it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub gates_first: bool,
    /// The next attempt continues its conversation, whatever is set.
    #[serde(default, skip_serializing_if = "is_false")]
    pub continue_session: bool,
    /// Its conversation is not continued: the model has said and done nothing in it, and some programs do not store that.
    #[serde(default, skip_serializing_if = "is_false")]
    pub forget_session: bool,
    /// It was stopped at its own time limit.
    #[serde(default, skip_serializing_if = "is_false")]
    pub timed_out: bool,
    /// What the next prompt says about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<PromptNote>,
}

/// What was decided when the changes of an iteration were measured.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MeasurementJudgement {
    /// It changed nothing and asks in words.
    #[serde(skip_serializing_if = "is_false")]
    pub asks: bool,
    /// Why the agent could not work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// What it asks, by its words alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// What the next prompt says about it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<PromptNote>,
}

/// What was decided about one try of a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateJudgement {
    /// Which gate, from 0.
    pub gate: u32,
    /// What this try says; none where the gate was cancelled and its end says nothing.
    #[serde(rename = "try", default, skip_serializing_if = "Option::is_none")]
    pub one: Option<Verdict>,
    /// The verdict of the gate, as soon as no further try can change it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// It ran to its own end.
    #[serde(default, skip_serializing_if = "is_false")]
    pub completed: bool,
    /// Why its exit code 0 is not believed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contradiction: Option<ExitContradiction>,
    /// Two rounds on one tree, before an agent worked, ran another number of tests.
    #[serde(default, skip_serializing_if = "is_false")]
    pub selective: bool,
}

/// What was decided when all gates had a verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundJudgement {
    /// What they judged.
    pub point: GatePoint,
    /// How good this state is.
    pub rank: Rank,
    /// Better than any state before.
    #[serde(default, skip_serializing_if = "is_false")]
    pub improved: bool,
    /// Whether it is the best state so far.
    pub best: BestJudgement,
    /// What the iteration was, where an iteration is judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iteration: Option<IterationJudgement>,
}

/// Whether a state is the best so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BestJudgement {
    /// It is not compared: it is no state of its own, or protected files are changed in it.
    NotCompared,
    /// Another one is better.
    No,
    /// It is.
    Yes,
}

/// What was decided about an iteration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct IterationJudgement {
    /// It made progress.
    pub progress: bool,
    /// Why that is so, for people.
    pub why: String,
    /// What fails now and had passed, a bounded number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub regressed: Vec<String>,
    /// The checkpoint that is restored because of that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revert_to: Option<String>,
    /// A required gate could not be run.
    #[serde(skip_serializing_if = "is_false")]
    pub unverifiable: bool,
    /// The agent failed and changed nothing.
    #[serde(skip_serializing_if = "is_false")]
    pub crashed: bool,
    /// The agent took less time than an iteration should.
    #[serde(skip_serializing_if = "is_false")]
    pub short: bool,
    /// What it does to each count of the breaker.
    pub streaks: StreakChanges,
    /// Whether it leaves the loop stuck, and why.
    #[serde(skip_serializing_if = "StuckJudgement::is_nothing")]
    pub stuck: StuckJudgement,
    /// What the counts were made of.
    pub evidence: IterationEvidence,
    /// What the next prompt says about it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<PromptNote>,
    /// How much came of it, where its output was compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<Score>,
    /// What later prompts say about it; none in an old journal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Box<IterationMemory>>,
}

/// What later prompts say about an iteration, beside its agent and how much it changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct IterationMemory {
    /// The first files that it changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Tests that failed before it and pass now.
    #[serde(skip_serializing_if = "NameList::is_nothing")]
    pub fixed: NameList,
    /// Tests that passed before it and fail now.
    #[serde(skip_serializing_if = "NameList::is_nothing")]
    pub broken: NameList,
    /// The error that is left, by its signature: of the agent, else of the first gate that fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What the agent says in one line. No person checked it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
    /// It changed something and the gates say no more than before. The same words name the same dead end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dead_end: Option<String>,
    /// What it wrote, where prompts have that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw: Option<RawMemory>,
}

/// What an agent wrote in an iteration, for prompts with a window of the last ones.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RawMemory {
    /// The beginning of what it wrote.
    pub text: String,
    /// Its marks of progress.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub markers: Vec<String>,
    /// How many iterations are kept as they are from now on.
    pub window: u32,
}

/// What was decided about a short text that an agent was asked for, or was not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextJudgement {
    /// What for.
    pub purpose: TextPurpose,
    /// The text; none where the extract of loop itself serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<StoredText>,
    /// Why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What the call cost, in millionths of a dollar, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
}

/// What was decided when the protected files had been checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuardJudgement {
    /// After what.
    pub point: GuardPoint,
    /// What was found.
    pub tamper: Tamper,
    /// A changed file is left that people did not change.
    #[serde(default, skip_serializing_if = "is_false")]
    pub suspect: bool,
    /// This file was restored in the two iterations before, and was changed again: a person is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asks: Option<String>,
    /// What the next prompt says about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<PromptNote>,
}

/// What a check of the protected files found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tamper {
    /// They are what they were.
    None,
    /// The same that was found before and left.
    Known,
    /// Some were changed, which is allowed.
    Allowed,
    /// Some were changed.
    Found,
}

fn is_verified(result: &ProofResult) -> bool {
    *result == ProofResult::Verified
}

/// What was decided about the gates on a copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CleanJudgement {
    /// Which tree the copy held.
    pub tree: JudgedTree,
    /// What it shows.
    #[serde(rename = "result")]
    pub verdict: CopyVerdict,
    /// Gates of which it is known now whether they run the same tests on every run.
    #[serde(rename = "names", default, skip_serializing_if = "Vec::is_empty")]
    pub stability: Vec<TestSetStability>,
    /// This project cannot be judged in a clean copy: the workspace decides in this run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_only: Option<WorkspaceOnly>,
    /// Earlier results do not count: they compared test names before it was known how stable the names are.
    #[serde(default, skip_serializing_if = "is_false")]
    pub drop_earlier: bool,
}

/// Whether a gate runs the same tests on every run, on one tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestSetStability {
    /// Which gate, from 0.
    pub gate: GateIndex,
    /// Whether it does.
    pub same: SameNames,
}

/// What the gates said on a copy. Of a canary and of undone sources `ProbeResult` says what that means: there `Passes` is
/// *not noticed*.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CopyVerdict {
    /// All required gates ran and passed.
    Passes,
    /// A required gate did not pass, or the setup command failed.
    Disagrees {
        /// Which, and what it said.
        what: String,
    },
    /// The initial tree: the required gates said what they said in the workspace before iteration 1.
    LikeBaseline,
    /// The initial tree: a required gate said something else.
    UnlikeBaseline {
        /// Which, and what it said.
        what: String,
    },
    /// There is no such probe for these gates.
    NoProbe {
        /// Why.
        why: String,
    },
    /// There is no result.
    NotDone {
        /// Why.
        why: String,
    },
    /// A person stopped it: nothing is recorded, and it is ordered again when it is due.
    Cancelled,
}

/// Why only the workspace decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceOnly {
    /// The reason, for people.
    pub why: String,
    /// Ignored files that changed since the start: no copy has them, and in the workspace they had a part in the pass.
    #[serde(default, skip_serializing_if = "NameList::is_nothing")]
    pub changed_ignored: NameList,
}

/// What was decided about the tests behind a pass.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProofJudgement {
    /// How the tests are weaker than at the start.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub weaker: Vec<String>,
    /// What speaks against the pass.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// What does not count against the pass, each with the reason: it is named with the proof.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub named: Vec<Finding>,
    /// How strong the gates are, where it was tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strength: Option<Box<StrengthReport>>,
    /// What follows.
    #[serde(skip_serializing_if = "is_verified")]
    pub result: ProofResult,
    /// A hidden gate refused the pass. This is counted.
    #[serde(skip_serializing_if = "is_false")]
    pub refused_by_hidden: bool,
    /// What the next prompt says about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<PromptNote>,
}
