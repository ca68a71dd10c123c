//! The events of a plan. The list is closed on purpose: to know what can happen, read these enums.
use serde::{Deserialize, Serialize};

use super::report::PlanAnswer;
use super::spec::{NodeId, PlanSpec};
use crate::ids::{OrderId, ProcessId, RunId};
use crate::policy::rank::Rank;
use crate::run::Change;
use crate::time::At;

/// One thing that happened to a plan, and when the driver saw it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanInput {
    /// When the driver saw it. In the journal it is once in each line, beside the fact.
    #[serde(skip)]
    pub at: At,
    /// What happened.
    pub event: PlanEvent,
}

/// Everything that can happen to a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanEvent {
    /// The plan was made. Always the first.
    Created(Box<PlanSpec>),
    /// A driver opened the journal.
    Opened,
    /// A person's command opened it again, after a crash or after it had ended, to continue.
    Reopened {
        /// Which command.
        by: String,
        /// No person can see it work.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unattended: bool,
        /// What it is to be from now on, where the workflow file was read again. Its id, workspace and store stay.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spec: Option<Box<PlanSpec>>,
        /// What the command asks for, such as a pick. It holds before anything is decided.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<PlanRequest>,
    },
    /// A person's command opened it for one request; the plan does not continue.
    OpenedForRequest {
        /// Which command.
        by: String,
    },
    /// The executor's one answer to an order.
    Answered {
        /// Which order.
        order: OrderId,
        /// What came of it.
        answer: PlanAnswer,
    },
    /// A request of a person.
    Requested {
        /// What.
        request: PlanRequest,
        /// By which way: a signal, a command.
        by: String,
    },
    /// Something worth writing down that closes no order.
    Noticed(PlanNotice),
    /// The time of the next deadline has come.
    DeadlinePassed,
}

/// What a person can ask of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanRequest {
    /// Start nothing more; runs stop after their iteration. It can be resumed.
    Stop,
    /// Stop now; runs are ended. It can be resumed.
    Abort,
    /// Start nothing more, and runs hold after their iteration, for any time.
    Pause,
    /// Go on.
    Resume,
    /// Stop now, for good.
    Cancel,
    /// Apply this branch.
    Pick {
        /// Which.
        node: NodeId,
        /// Also where it does not pass.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        anyway: bool,
    },
    /// All runs together may cost this from now on, in millionths of a dollar; none: there is no limit.
    Budget {
        /// So much.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        most_micros: Option<u64>,
    },
    /// These limits hold from now on for each loop that is not done: from its resume, or from its start.
    Limits {
        /// The settings, with whole values.
        changes: Vec<Change>,
        /// A changed budget beside them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        budget: Option<PlanBudget>,
    },
    /// The answer to the question of a node.
    Answer {
        /// Which node.
        node: NodeId,
        /// The words, a bounded number.
        text: String,
        /// Whether what depends on it may start.
        proceed: bool,
    },
    /// Restore a checkpoint of the plan in the workspace. Only where no process drives the plan.
    Rollback {
        /// Which checkpoint.
        to: String,
        /// The name of the checkpoint of what is there just before.
        undo: String,
    },
}

/// What all runs of a plan together may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanBudget {
    /// In millionths of a dollar; none: there is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_micros: Option<u64>,
}

impl PlanRequest {
    /// The answer to the question of a node: `no` alone means that what depends on it is not to start.
    #[must_use]
    pub fn answer(node: NodeId, text: &str) -> Self {
        let text = text.trim();
        let refuses = ["no", "n"].iter().any(|word| text.eq_ignore_ascii_case(word));
        Self::Answer { node, text: text.to_owned(), proceed: !refuses }
    }
}

/// Rare notices that are not an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanNotice {
    /// The process of an order runs: who to look for if we are killed now.
    Started {
        /// Which order.
        order: OrderId,
        /// The process.
        process: ProcessId,
    },
    /// The run of an order has its id. It is resumed if we are killed now.
    RunStarted {
        /// Which order.
        order: OrderId,
        /// The run.
        run: RunId,
    },
    /// A run has ended an iteration, and this is how good its state is.
    Progress {
        /// Which order.
        order: OrderId,
        /// How many iterations have ended.
        iterations: u32,
        /// How good the state was before the first iteration.
        start: Rank,
        /// How good the best state after an iteration is.
        best: Rank,
        /// What the run has cost so far, in millionths of a dollar.
        #[serde(default)]
        cost_micros: u64,
    },
    /// Something that the person should read.
    Message {
        /// The words.
        text: String,
    },
}
