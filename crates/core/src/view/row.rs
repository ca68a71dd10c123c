//! One run in a list.
use serde::{Deserialize, Serialize};

use super::now::iteration_text;
use super::plan::PlanView;
use super::qualification::qualification;
use super::{JSON_VERSION, seconds};
use crate::policy::reserve::{Cap, Reserved};
use crate::policy::wait::WaitSource;
use crate::run::{Outcome, RunState, Status};
use crate::settings::keys;
use crate::text;
use crate::time::{self, At};

/// How much of the goal a list shows.
const GOAL_LETTERS_MAX: usize = 200;

/// Whether a driver holds the run's lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Liveness {
    /// One does.
    Driven,
    /// None does.
    Free,
}

/// The answer of `loop list --json` and `loop status --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Listing {
    /// The version of this form.
    pub version: u32,
    /// The runs, newest first.
    pub loops: Vec<Row>,
    /// The plans, newest first; left out where there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub plans: Vec<PlanView>,
}

impl Listing {
    /// A list of rows in the given order.
    #[must_use]
    pub fn new(loops: Vec<Row>) -> Self {
        Self::with_plans(loops, Vec::new())
    }

    /// The same with plans.
    #[must_use]
    pub fn with_plans(loops: Vec<Row>, plans: Vec<PlanView>) -> Self {
        Self { version: JSON_VERSION, loops, plans }
    }
}

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Its id.
    pub id: String,
    /// Its status.
    pub status: Status,
    /// The iteration begun last.
    pub iteration: u32,
    /// The most there will be; null means no limit.
    pub max_iterations: Option<u32>,
    /// The promise command.
    pub promise: String,
    /// The agent.
    pub agent: String,
    /// Its model, where known.
    pub model: Option<String>,
    /// How long it was at work.
    pub elapsed_seconds: f64,
    /// Where; bytes that are not UTF-8 are written `\\xNN`, and then a backslash is too.
    pub workspace: String,
    /// What for.
    pub goal: String,
    /// How it ended; null before.
    pub outcome: Option<Outcome>,
    /// What must stand beside the word for the end, as `in the workspace only`; null where nothing must.
    #[serde(default)]
    pub qualification: Option<String>,
    /// The name of the reason; null before the end.
    pub reason: Option<String>,
    /// The reason in a sentence.
    pub why: Option<String>,
    /// Whether `loop resume` may continue it.
    pub resumable: bool,
    /// What it cost, where known.
    pub cost_usd: Option<f64>,
    /// How many tokens it used, where known.
    pub tokens: Option<u64>,
    /// When it was started.
    pub started_at: String,
    /// When something was last written down.
    pub updated_at: String,
    /// How much its records take on disk, where that was looked at.
    #[serde(default)]
    pub bytes: Option<u64>,
    /// What the provider makes it wait for; null while it does not.
    #[serde(default)]
    pub waiting: Option<Waiting>,
    /// The name of the project; null where it has none.
    #[serde(default)]
    pub project: Option<String>,
    /// The name of the worker; null where it has none.
    #[serde(default)]
    pub agent_name: Option<String>,
    /// Whether outputs of it were removed to keep the records of all loops within their bound.
    #[serde(default)]
    pub thinned: bool,
    /// The plan that it is a part of, where it is one of several for one goal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// Its node or branch there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// It is not a run: it stands for a whole plan in a list for people.
    #[serde(skip)]
    pub is_plan: bool,
}

/// How the end of a wait is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitingSource {
    /// A field of the provider's.
    Provider,
    /// The words of an error.
    Text,
    /// The provider did not say it: each wait is longer than the last.
    BackOff,
    /// A limit of the loop's own.
    Limit,
}

impl From<WaitSource> for WaitingSource {
    fn from(source: WaitSource) -> Self {
        match source {
            WaitSource::Provider => Self::Provider,
            WaitSource::Text => Self::Text,
            WaitSource::BackOff => Self::BackOff,
        }
    }
}

/// What a run waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// Until when.
    pub until: String,
    /// How that is known.
    pub source: WaitingSource,
    /// What for, in a sentence.
    pub why: String,
}

impl Waiting {
    /// What the run waits for now.
    #[must_use]
    pub fn of(state: &RunState) -> Option<Self> {
        if let Some(until_ms) = state.calls_free_at() {
            return Some(Self { until: time::rfc3339(until_ms), source: WaitingSource::Limit, why: full(state) });
        }
        let wait = state.waiting()?;
        Some(Self { until: time::rfc3339(wait.until_ms), source: wait.source.into(), why: wait.why.clone() })
    }
}

/// Which limit of the loop's own is reached.
fn full(state: &RunState) -> String {
    let others = |what: &str, flag: &str| format!("{what} are reserved by calls of other loops ({flag})");
    match state.budget.call() {
        Some(Reserved::Denied { cap: Cap::CallsPerDay, .. }) => others("the calls of the day", "--max-calls-per-day"),
        Some(Reserved::Denied { cap: Cap::CostPerDay, .. }) => others("the dollars of the day", "--max-cost-per-day"),
        Some(Reserved::Denied { cap: Cap::TokensPerDay, .. }) => {
            others("the tokens of the day", "--max-tokens-per-day")
        }
        Some(Reserved::Denied { cap: Cap::ScarcePerDay, .. }) => {
            others("the calls of the scarcest model", "--opus-limit")
        }
        Some(Reserved::Denied { cap: Cap::CallsPerHour, hour_calls, .. }) => {
            let calls = if *hour_calls == 1 { "1 call was".to_owned() } else { format!("{hour_calls} calls were") };
            format!("{calls} made in the last hour, the most that --max-calls-per-hour allows")
        }
        Some(Reserved::Granted { .. }) | None => "the calls of the hour are used up (--max-calls-per-hour)".to_owned(),
    }
}

/// What the user named, as one short line.
fn named(name: Option<&String>) -> Option<String> {
    name.map(|name| text::one_line(name, GOAL_LETTERS_MAX)).filter(|name| !name.is_empty())
}

/// What a person must fix or answer.
/// What a loop says that waits for a person because it is stuck.
const STUCK: &str = "stuck after all recovery attempts";

fn held_by(state: &RunState) -> Option<String> {
    let asks =
        state.agent.question().filter(|_| state.is_paused()).map(|question| format!("the agent asks: {question}"));
    let stuck = state.recovery.questions().filter(|_| state.is_paused()).map(|_| STUCK.to_owned());
    state.trouble.blocked().map(str::to_owned).or(asks).or(stuck)
}

impl Row {
    /// The row of a run, or none before its first fact.
    #[must_use]
    pub fn of(state: &RunState, liveness: Liveness, now: At) -> Option<Self> {
        let spec = state.spec.as_ref()?;
        let standing = state.standing();
        let driven = liveness == Liveness::Driven;
        let at = if driven && state.over.is_none() { now } else { state.now };
        let status = match standing {
            Some(standing) => standing.status,
            None if driven && state.is_paused() => Status::Paused,
            None if driven && Waiting::of(state).is_some() => Status::Waiting,
            None if driven => Status::Running,
            None => Status::Crashed,
        };
        Some(Self {
            id: spec.id.to_string(),
            status,
            iteration: state.iteration,
            max_iterations: state.settings.shown().values.iterations_max(),
            promise: text::one_line(state.settings.shown().resolved.text(keys::promise()), 4096),
            agent: state.agent_name().to_owned(),
            model: state
                .budget
                .spent()
                .model
                .clone()
                .or_else(|| state.model_chosen().map(|model| text::one_line(model, GOAL_LETTERS_MAX))),
            elapsed_seconds: seconds(state.active_ms(at)),
            workspace: String::from_utf8(text::unescape_path(&spec.workspace.path))
                .unwrap_or_else(|_| spec.workspace.path.clone()),
            goal: text::one_line(spec.title(), GOAL_LETTERS_MAX),
            outcome: standing.map(|standing| standing.outcome),
            qualification: qualification(state),
            reason: state.over.as_ref().map(|over| over.reason.code.name().to_owned()),
            why: state.over.as_ref().map(|over| over.reason.text.clone()).or_else(|| held_by(state)),
            resumable: if standing.is_some() { state.resumable() } else { !driven || state.is_paused() },
            cost_usd: state.budget.spent().usage.cost_usd(),
            tokens: state.budget.spent().usage.tokens(),
            started_at: time::rfc3339(state.clock.created().wall_ms),
            updated_at: time::rfc3339(state.now.wall_ms),
            bytes: None,
            waiting: Waiting::of(state).filter(|_| driven),
            project: named(state.settings.shown().values.start.project.as_ref()),
            agent_name: named(state.settings.shown().values.start.agent_name.as_ref()),
            thinned: false,
            plan: spec.plan.as_ref().map(|of| of.plan.to_string()),
            node: spec.plan.as_ref().map(|of| of.node.clone()),
            is_plan: false,
        })
    }

    /// Whether it neither runs nor waits for a person.
    #[must_use]
    pub fn is_over(&self) -> bool {
        matches!(self.status, Status::Completed | Status::Failed | Status::Cancelled | Status::Crashed)
    }

    /// Whether it ended as people wanted.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.status == Status::Completed
    }

    /// Its status with what qualifies it.
    #[must_use]
    pub fn status_words(&self) -> String {
        let qualification = self.qualification.as_ref().map_or_else(String::new, |words| format!(" ({words})"));
        // Its process has ended: `loop resume` starts one, and does not only wake it.
        let is_stopped = self.status == Status::Paused && self.outcome == Some(Outcome::Stopped);
        let status = if is_stopped { "stopped" } else { self.status.name() };
        format!("{status}{qualification}")
    }

    /// `3/10`, or `3` where there is no limit.
    #[must_use]
    pub fn progress(&self) -> String {
        iteration_text(self.iteration, self.max_iterations)
    }
}
