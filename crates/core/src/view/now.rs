//! What a run is doing now. Every face formats this view: the live line, `loop status`, `loop watch`.
//!
//! It is made from the state and the time. What only the agent's live stream shows, such as the tool in use, the caller
//! adds by a [`LiveDigest`] where it has that stream.
use serde::{Serialize, Serializer};

use super::row::Waiting;
use super::seconds;
use crate::agent::Live;
use crate::machine::consult;
use crate::run::JudgedTree;
use crate::run::{CancelCause, HoldCause, OpenRunOrder, Order, QuestionPack, RunState, Target};
use crate::text;
use crate::time::{self, At};

/// How much of a tool's argument is kept.
const ARGUMENT_LETTERS_MAX: usize = 200;

/// What a run is doing at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Now {
    /// What it does.
    #[serde(flatten)]
    pub activity: Activity,
    /// The iteration that was begun last; 0 before the first.
    pub iteration: u32,
    /// The most there will be; null means no limit.
    pub max_iterations: Option<u32>,
    /// Since when it does that, in milliseconds since 1970.
    #[serde(rename = "since", serialize_with = "as_time")]
    pub since_ms: u64,
    /// For how long.
    #[serde(rename = "elapsed_seconds", serialize_with = "as_seconds")]
    pub elapsed_ms: u64,
    /// After how long it is ended; null where only a person ends it.
    #[serde(rename = "limit_seconds", serialize_with = "as_seconds_or_null")]
    pub limit_ms: Option<u64>,
    /// When that is, in milliseconds since 1970.
    #[serde(rename = "until", serialize_with = "as_time_or_null")]
    pub until_ms: Option<u64>,
    /// Why it was asked to end; null where it was not.
    pub ending: Option<CancelCause>,
    /// What people asked for and what is not done yet.
    pub requests: Vec<PendingRequest>,
}

/// What a run can do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "activity", rename_all = "snake_case")]
pub enum Activity {
    /// The agent works.
    Agent(AgentActivity),
    /// A gate runs.
    Gate(GateActivity),
    /// A checkpoint is taken.
    Checkpoint {
        /// Its name.
        checkpoint: String,
    },
    /// The changes of the iteration are measured.
    Measure,
    /// The protected files are checked.
    Guard,
    /// A checkpoint is being restored.
    Rollback {
        /// Which.
        checkpoint: String,
    },
    /// What is left of an interrupted attempt is ended.
    CleanUp,
    /// The gates run on a clean copy of a recorded tree.
    Judge {
        /// Which tree the copy holds.
        tree: JudgedTree,
    },
    /// The proof is recorded.
    Certify,
    /// An agent writes a short text, outside of the workspace.
    Text {
        /// What for.
        purpose: String,
        /// Which agent.
        agent: String,
    },
    /// The ledger of all runs is asked for a call.
    Reserve,
    /// It waits for the provider, or for a free call.
    Wait {
        /// What for, until when, and how that is known.
        waiting: Waiting,
        /// What the provider refused; null for a limit of the loop's own.
        failure: Option<&'static str>,
    },
    /// The delay between two iterations.
    Delay,
    /// A person paused it.
    Paused,
    /// A person must fix something first.
    Blocked {
        /// What.
        why: String,
    },
    /// A person must answer the agent first.
    Question {
        /// What it asks.
        question: String,
    },
    /// Several ways are tried beside each other in copies.
    Branches {
        /// How many.
        branches: u32,
    },
    /// It is stuck after all recovery attempts, and a person is to help.
    Stuck {
        /// What the person needs to know.
        questions: QuestionPack,
    },
    /// Nothing is open: the next order comes at once.
    Between,
}

/// The agent at work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct AgentActivity {
    /// Which agent.
    pub agent: String,
    /// Why this one, in one line, where several are enabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The attempt at the iteration, from 1.
    pub attempt: u32,
    /// It is only asked for the status block that it left out.
    pub status_only: bool,
    /// The tool that it used last, where the live stream is known.
    pub tool: Option<ToolUse>,
}

/// A gate that runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct GateActivity {
    /// Its name.
    pub gate: String,
    /// Which of the gates it is, from 1.
    pub number: u32,
    /// How many gates there are.
    pub gates: u32,
    /// Which try of it, from 1.
    #[serde(rename = "try")]
    pub try_number: u32,
    /// How many tries it may have.
    pub tries: u32,
}

/// A tool that an agent used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolUse {
    /// What the agent calls it.
    pub name: String,
    /// The most useful argument, on one line.
    pub argument: String,
}

/// Something that a person asked for and that is not done yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "request", rename_all = "snake_case")]
pub enum PendingRequest {
    /// Stop after the iteration.
    Stop {
        /// Who asked.
        by: String,
    },
    /// Stop now.
    Abort {
        /// Who asked.
        by: String,
    },
    /// End it for good.
    Cancel {
        /// Who asked.
        by: String,
    },
    /// Pause after the iteration.
    Pause {
        /// Who asked.
        by: String,
    },
    /// Go back to a checkpoint.
    Rollback {
        /// Which.
        to: String,
        /// Now, and not after the iteration.
        now: bool,
    },
    /// Texts for the next prompt.
    Inject {
        /// How many.
        texts: u32,
    },
}

/// What is known from the agent's live stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LiveDigest {
    tool: Option<ToolUse>,
}

impl LiveDigest {
    /// Takes one piece of the stream in.
    pub fn add(&mut self, live: &Live) {
        if let Live::Tool(name, argument) = live {
            let name = text::one_line(name, ARGUMENT_LETTERS_MAX);
            self.tool = Some(ToolUse { name, argument: text::one_line(argument, ARGUMENT_LETTERS_MAX) });
        }
    }

    /// The tool that the agent used last.
    #[must_use]
    pub fn tool(&self) -> Option<&ToolUse> {
        self.tool.as_ref()
    }
}

impl Now {
    /// What the run is doing; none before its first fact and after its end. Whether a process drives it the caller knows.
    #[must_use]
    pub fn of(state: &RunState, now: At, live: &LiveDigest) -> Option<Self> {
        state.spec.as_ref().filter(|_| state.over.is_none())?;
        let open = state.main_order().map(|(_, open)| open);
        let limit_ms = open.and_then(|open| limit_of(state, open));
        let since = open.map_or(state.now, |open| open.since);
        Some(Self {
            activity: open.map_or(Activity::Between, |open| activity(state, &open.order, live)),
            iteration: state.iteration,
            max_iterations: state.settings.shown().values.iterations_max(),
            since_ms: since.wall_ms,
            elapsed_ms: now.ms_since(since),
            limit_ms,
            until_ms: limit_ms.map(|limit| since.wall_ms.saturating_add(limit)),
            ending: open.and_then(OpenRunOrder::cancelled),
            requests: requests(state),
        })
    }

    /// `3/10`, or `3` where there is no limit.
    #[must_use]
    pub fn progress(&self) -> String {
        iteration_text(self.iteration, self.max_iterations)
    }

    /// The agent, where it works.
    #[must_use]
    pub fn agent(&self) -> Option<&AgentActivity> {
        if let Activity::Agent(agent) = &self.activity { Some(agent) } else { None }
    }

    /// Whether something is being done: it neither waits nor holds.
    #[must_use]
    pub fn works(&self) -> bool {
        match &self.activity {
            Activity::Wait { .. }
            | Activity::Delay
            | Activity::Paused
            | Activity::Blocked { .. }
            | Activity::Question { .. }
            | Activity::Stuck { .. }
            | Activity::Between => false,
            Activity::Agent(_)
            | Activity::Gate(_)
            | Activity::Checkpoint { .. }
            | Activity::Measure
            | Activity::Guard
            | Activity::Rollback { .. }
            | Activity::CleanUp
            | Activity::Certify
            | Activity::Judge { .. }
            | Activity::Branches { .. }
            | Activity::Text { .. }
            | Activity::Reserve => true,
        }
    }

    /// How long it still takes at most.
    #[must_use]
    pub fn left_ms(&self, now: At) -> Option<u64> {
        self.until_ms.map(|until| until.saturating_sub(now.wall_ms))
    }
}

/// How many iterations of its own a run has at most: what branches took is not left. None without a limit.
#[must_use]
pub fn own_iterations_max(state: &RunState) -> Option<u32> {
    state.settings.shown().values.iterations_max().map(|most| state.own_iterations(most))
}

/// `3/10`, or `3` where there is no limit.
#[must_use]
pub fn iteration_text(iteration: u32, most: Option<u32>) -> String {
    most.map_or_else(|| iteration.to_string(), |most| format!("{iteration}/{most}"))
}

fn activity(state: &RunState, order: &Order, live: &LiveDigest) -> Activity {
    match order {
        Order::RunAgent { attempt, status_only, .. } => Activity::Agent(AgentActivity {
            agent: state.agent_name().to_owned(),
            rule: state.agent.rule().map(str::to_owned),
            attempt: *attempt,
            status_only: *status_only,
            tool: live.tool.clone(),
        }),
        Order::RunGate { gate, again, .. } => {
            let spec = state.gates.get(*gate).map(crate::run::Gate::spec);
            Activity::Gate(GateActivity {
                gate: spec.map(|spec| spec.name.clone()).unwrap_or_default(),
                number: gate.saturating_add(1),
                gates: u32::try_from(state.gates.len()).unwrap_or(u32::MAX),
                try_number: again.unwrap_or(1),
                tries: spec.map_or(1, |spec| spec.needs().tries),
            })
        }
        Order::Checkpoint { name } => Activity::Checkpoint { checkpoint: name.to_string() },
        Order::ManualCheckpoint { name } => Activity::Checkpoint { checkpoint: name.clone() },
        Order::Measure { .. } => Activity::Measure,
        Order::Guard { .. } => Activity::Guard,
        Order::Rollback { to, .. } => Activity::Rollback { checkpoint: to.clone() },
        Order::CleanUp { .. } => Activity::CleanUp,
        Order::Certify { .. } => Activity::Certify,
        Order::Judge { tree, .. } => Activity::Judge { tree: *tree },
        Order::WriteText { purpose, choice, .. } => {
            Activity::Text { purpose: purpose.words(), agent: choice.agent.clone() }
        }
        Order::Reserve { .. } => Activity::Reserve,
        Order::Hold { cause, .. } => hold(state, *cause),
        Order::Branches { branches, .. } => {
            Activity::Branches { branches: u32::try_from(branches.len()).unwrap_or(u32::MAX) }
        }
        Order::Notify { .. } => Activity::Between,
    }
}

fn hold(state: &RunState, cause: HoldCause) -> Activity {
    match cause {
        HoldCause::Paused => Activity::Paused,
        HoldCause::Blocked => Activity::Blocked {
            why: text::one_line(state.trouble.blocked().or(state.trouble.held()).unwrap_or_default(), 400),
        },
        HoldCause::Question => {
            Activity::Question { question: text::one_line(state.agent.question().unwrap_or_default(), 400) }
        }
        HoldCause::Stuck => Activity::Stuck { questions: state.recovery.questions().cloned().unwrap_or_default() },
        HoldCause::Delay => Activity::Delay,
        HoldCause::Limit | HoldCause::Calls => {
            let failure = state.waiting().map(|wait| wait.failure.word());
            Waiting::of(state).map_or(Activity::Delay, |waiting| Activity::Wait { waiting, failure })
        }
    }
}

/// After how long an order is ended: by its own limit, by the end of a wait, or by the time of the whole run.
fn limit_of(state: &RunState, open: &OpenRunOrder) -> Option<u64> {
    if open.order.hold_cause().is_some_and(HoldCause::waits_for_person) {
        return None;
    }
    let own = match state.waits_until(open) {
        Some(until) => until.saturating_sub(open.since.wall_ms),
        None => open.order.limit_ms(state.settings.shown()),
    };
    let run = consult(|deciding| state.time_limit(deciding));
    // It counts from the start of the order, too.
    Some(run.map_or(own, |run| run.after_ms.min(own)))
}

fn requests(state: &RunState) -> Vec<PendingRequest> {
    let asked = &state.requests;
    let by = |by: &Option<String>| by.as_ref().map(|by| text::one_line(by, ARGUMENT_LETTERS_MAX));
    let injections = state.prompt.injections();
    let texts = injections.newest.saturating_sub(injections.given);
    let rollback = |target: &Target| PendingRequest::Rollback { to: target.to.clone(), now: target.now };
    [
        by(&asked.cancel).map(|by| PendingRequest::Cancel { by }),
        by(&asked.abort).map(|by| PendingRequest::Abort { by }),
        by(&asked.stop).map(|by| PendingRequest::Stop { by }),
        by(&asked.pause).filter(|_| !state.is_paused()).map(|by| PendingRequest::Pause { by }),
        asked.rollback.as_ref().map(rollback),
        (texts > 0).then_some(PendingRequest::Inject { texts }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn as_time<S: Serializer>(wall_ms: &u64, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(&time::rfc3339(*wall_ms))
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn as_seconds<S: Serializer>(ms: &u64, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_f64(seconds(*ms))
}

#[expect(clippy::ref_option, reason = "serde asks for a reference")]
fn as_time_or_null<S: Serializer>(wall_ms: &Option<u64>, out: S) -> Result<S::Ok, S::Error> {
    wall_ms.map(time::rfc3339).serialize(out)
}

#[expect(clippy::ref_option, reason = "serde asks for a reference")]
fn as_seconds_or_null<S: Serializer>(ms: &Option<u64>, out: S) -> Result<S::Ok, S::Error> {
    ms.map(seconds).serialize(out)
}
