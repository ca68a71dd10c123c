//! The events of a run. The list is closed on purpose: to know what can happen, read these enums.
use serde::{Deserialize, Serialize};

use super::report::Answer;
use super::spec::{HiddenGates, RunSpec};
use super::surroundings::AroundEvent;
use crate::agent::Described;
use crate::ids::{OrderId, ProcessId};
use crate::policy::router::ScoreRow;
use crate::settings::keys;
use crate::time::At;

/// One thing that happened, and when the driver saw it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// When the driver saw it. In the journal it is once in each line, beside the fact.
    #[serde(skip)]
    pub at: At,
    /// What happened.
    pub event: Event,
}

/// Everything that can happen to a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The run was made. Always the first.
    Created(Box<RunSpec>),
    /// A driver opened the journal.
    Opened,
    /// A person's command opened it again, after a crash or after it had ended.
    Reopened {
        /// Who or what asked.
        by: String,
        /// Settings that are to hold from now on.
        changes: Vec<Change>,
        /// No person can see it work.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unattended: bool,
        /// The hidden gates that the user's settings have now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hidden: Option<HiddenGates>,
        /// The agent asked something before the end, and this is the answer of a person: the run continues.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        answers: bool,
        /// A text for the next prompt that came with the command.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        injected: Option<Injected>,
        /// The PID namespace in which it was opened, where a person opened it: from now on persons speak from there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pid_namespace: Option<u64>,
        /// What the ledger has recorded of its agents, where the router learns from it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        scores: Vec<ScoreRow>,
    },
    /// A person's command opened it for one request; the run does not continue.
    OpenedForRequest {
        /// Which command.
        by: String,
    },
    /// The executor's one answer to an order.
    Answered {
        /// Which order.
        order: OrderId,
        /// What came of it.
        answer: Answer,
    },
    /// A request of a person.
    Requested {
        /// What.
        request: Request,
        /// By which way: a signal, the stop file.
        by: String,
    },
    /// Something worth writing down that closes no order.
    Noticed(Notice),
    /// Something around the run changed: the inbox, a variable of the harness, files of the workspace.
    Around(Box<AroundEvent>),
    /// The time of [`super::RunState::next_deadline`] has come.
    DeadlinePassed,
}

/// A setting that a person changed, as text, checked against the catalogue before it got here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The key.
    pub key: String,
    /// Its new value.
    pub value: String,
    /// The agent that it names, where the person's own settings describe it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub described: Option<Box<Described>>,
}

impl Change {
    /// This key gets this value.
    #[must_use]
    pub fn new(key: &str, value: String) -> Self {
        Self { key: key.to_owned(), value, described: None }
    }

    /// Whether another agent, command or model works from now on.
    pub(super) fn is_about_agent(&self) -> bool {
        [keys::agent(), keys::agents(), keys::agent_cmd(), keys::agent_model()].iter().any(|key| key.name == self.key)
    }

    /// Whether it is the limit of time that changes.
    pub(super) fn limits_time(&self) -> bool {
        self.key == "max_time"
    }
}

/// Which gate of a run, from 0 in the order of the settings.
pub type GateIndex = u32;

/// What a person can ask of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Stop after this iteration.
    Stop,
    /// Stop now.
    Abort,
    /// Hold after this iteration, for any time.
    Pause,
    /// Go on.
    Resume,
    /// Stop now, for good.
    Cancel,
    /// Tell the agent something.
    Inject(Injected),
    /// Let these settings hold from now on.
    Set(Vec<Change>),
    /// Keep the workspace as it is now under this name.
    Checkpoint {
        /// The name.
        name: String,
    },
    /// Restore a checkpoint.
    Rollback(Target),
    /// Stop now, for good, and restore the initial checkpoint.
    CancelRollback,
    /// Accept the pass as it is, although something speaks against it.
    Accept {
        /// Why, in the person's words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        because: Option<String>,
    },
    /// Add a note to all later prompts, or strike one.
    Note(NoteChange),
    /// Close the breaker: every count of it is gone.
    Reset {
        /// The agent's conversation is forgotten, too.
        session: bool,
    },
}

/// What a person does to the notes of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteChange {
    /// A new note.
    Add {
        /// One line.
        text: String,
    },
    /// This note is struck.
    Strike {
        /// Its number.
        id: u32,
    },
}

/// The target of a rollback.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// The checkpoint's name.
    pub to: String,
    /// At once, and not when the iteration is done.
    #[serde(default)]
    pub now: bool,
    /// The user's own repository too.
    #[serde(default)]
    pub git: bool,
    /// Only these paths from the workspace, escaped; none means everything.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
}

/// A text for the next prompt: a file of the run, written before this is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Injected {
    /// Numbers them from 1; names the file.
    pub number: u32,
    /// How long it is.
    pub bytes: u64,
    /// Whether it stays in all later prompts.
    pub keep: bool,
}

/// Rare notices that are no answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notice {
    /// The process of an order runs: who to look for if we are killed now.
    Started {
        /// Which order.
        order: OrderId,
        /// The process.
        process: ProcessId,
    },
    /// The process of an order has shown no sign of life for its limit: no output, no file, no CPU.
    Silent {
        /// Which order.
        order: OrderId,
    },
    /// The agent waits for its provider by itself, where the run would rather wait with nothing running.
    Retrying {
        /// Which order.
        order: OrderId,
    },
    /// The agent reported the id of its session. It is resumed if we are killed now.
    Session {
        /// Which order.
        order: OrderId,
        /// The name.
        id: String,
    },
    /// Something that the person should read.
    Message {
        /// The words.
        text: String,
    },
}
