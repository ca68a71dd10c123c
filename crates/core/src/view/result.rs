//! How a run ended, as one JSON object: the result file and the last `--json` event.
use serde::Serialize;

use super::history::exit_code;
use super::qualification::qualification;
use super::record::Claims;
use super::{Certificate, JSON_VERSION, seconds};
use crate::agent::Claim;
use crate::policy::gate::Verdict;
use crate::run::{Outcome, ReasonCode, RunState};
use crate::time;

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunResult {
    /// The version of this form.
    pub version: u32,
    /// The run.
    pub id: String,
    /// How it ended; null if it has no end.
    pub outcome: Option<Outcome>,
    /// What must stand beside the word for the end, as `in the workspace only`; null where nothing must.
    pub qualification: Option<String>,
    /// The name of the reason.
    pub reason: Option<&'static str>,
    /// The reason in a sentence.
    pub why: Option<String>,
    /// Whether the harness itself saw every gate pass.
    pub verified: bool,
    /// How many iterations came to an end.
    pub iterations: u32,
    /// What the gates said last.
    pub gates: Vec<GateResult>,
    /// The hash of the tree, where one is taken.
    pub tree: Option<String>,
    /// What it cost, where known.
    pub cost_usd: Option<f64>,
    /// How many tokens it used, where known.
    pub tokens: Option<u64>,
    /// When it was started.
    pub started_at: String,
    /// When it ended.
    pub ended_at: Option<String>,
    /// How long it was at work.
    pub elapsed_seconds: f64,
    /// The exit code of the command that drove it.
    pub exit_code: Option<u8>,
    /// The status block of the last iteration; null where there was none.
    pub status_block: Option<Claim>,
    /// Tasks that the agent says it finished, in all iterations.
    pub tasks_claimed: u64,
    /// Files that it says it changed, in all iterations.
    pub files_claimed: u64,
    /// The last recommendation or summary that it gave.
    pub recommendation: Option<String>,
    /// The last error of the agent, or why the loop could not work; null where there was none.
    pub error: Option<String>,
    /// Whether a provider's limit or the one for an hour was met.
    pub rate_limit_hit: bool,
    /// Whether it ended because money, tokens or the calls of a day were used up.
    pub budget_hit: bool,
    /// The proof; null where it is not done.
    pub certificate: Option<Certificate>,
    /// The plan that it is a part of, where it is one of several for one goal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// Its node or branch there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
}

/// What a gate said last.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GateResult {
    /// Its name.
    pub name: String,
    /// Its command.
    pub command: String,
    /// The exit code, where there was one.
    pub exit_code: Option<i32>,
    /// What its end means; null if it never ran.
    pub verdict: Option<Verdict>,
    /// How long it took.
    pub duration_seconds: Option<f64>,
    /// The hash of its stored output: stdout, then stderr.
    pub output_sha256: Option<String>,
}

impl RunResult {
    /// The result of a run, or none before its first fact.
    #[must_use]
    pub fn of(state: &RunState) -> Option<Self> {
        let spec = state.spec.as_ref()?;
        let standing = state.standing();
        let over = state.over.as_ref();
        let verified = over.is_some_and(|over| over.outcome == Outcome::Verified);
        Some(Self {
            version: JSON_VERSION,
            id: spec.id.to_string(),
            outcome: standing.map(|standing| standing.outcome),
            qualification: qualification(state),
            reason: over.map(|over| over.reason.code.name()),
            why: over.map(|over| over.reason.text.clone()),
            verified,
            // An iteration whose last attempt met a limit is over when the gates pass.
            iterations: if verified { state.iteration } else { state.iterations_done() },
            gates: gates(state),
            tree: state.checkpoints.tree().map(str::to_owned),
            cost_usd: state.budget.spent().usage.cost_usd(),
            tokens: state.budget.spent().usage.tokens(),
            started_at: time::rfc3339(state.clock.created().wall_ms),
            ended_at: over.map(|over| time::rfc3339(over.at.wall_ms)),
            elapsed_seconds: seconds(state.active_ms(state.now)),
            exit_code: standing.map(|standing| standing.exit_code),
            status_block: state.agent.report().and_then(|report| report.stream.claimed.clone()),
            tasks_claimed: 0,
            files_claimed: 0,
            recommendation: None,
            error: over.filter(|over| over.outcome == Outcome::Unable).map(|over| over.reason.text.clone()),
            rate_limit_hit: false,
            budget_hit: over.is_some_and(|over| over.reason.code == ReasonCode::BudgetLimit),
            certificate: Certificate::of(state),
            plan: spec.plan.as_ref().map(|of| of.plan.to_string()),
            node: spec.plan.as_ref().map(|of| of.node.clone()),
        })
    }

    /// With what only the whole journal shows.
    #[must_use]
    pub fn with(self, claims: &Claims) -> Self {
        Self {
            status_block: claims.status_block.clone(),
            tasks_claimed: claims.tasks,
            files_claimed: claims.files,
            recommendation: claims.recommendation.clone(),
            error: self.error.or_else(|| claims.last_error.clone()),
            rate_limit_hit: claims.rate_limit_hit,
            ..self
        }
    }
}

fn gates(state: &RunState) -> Vec<GateResult> {
    let each = state.gates.iter();
    each.map(|gate| {
        let last = gate.last();
        GateResult {
            name: gate.spec().name.clone(),
            command: gate.spec().command.clone(),
            exit_code: last.and_then(|last| exit_code(&last.report.ended)),
            verdict: last.map(|last| last.verdict),
            duration_seconds: last.map(|last| seconds(last.report.duration_ms)),
            output_sha256: last.map(|last| last.report.output.sha256.clone()),
        }
    })
    .collect()
}
