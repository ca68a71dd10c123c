//! Decisions about alerts: which is due next, and which comes with an end.
use super::fact::GatePoint;
use super::outcome::{Outcome, Reason, ReasonCode};
use super::phase::Phase;
use super::state::RunState;
use crate::machine::Deciding;
use crate::policy::alert::{self, Alert, AlertEvidence, AlertRules, AlertedEnd, LimitUse, RungEvidence};
use crate::policy::runaway::{self, Alarm, RunawayEvidence};
use crate::settings::Settings;

fn rules(settings: &Settings) -> AlertRules {
    let values = &settings.values;
    AlertRules {
        all: values.alerts.alerts,
        every: values.alert_every(),
        stuck_after: values.recovery.stuck_after,
        runaway: values.limits.warnings(),
        pause_on_critical: values.pauses_on_critical(),
        notify: values.output.notify,
    }
}

/// Signs of a runaway loop.
fn signs(state: &RunState, settings: &Settings) -> RunawayEvidence {
    let limits = &settings.values.limits;
    RunawayEvidence {
        iterations: state.iterations_done(),
        limited: settings.values.iterations_max().is_some() || limits.max_time.is_some(),
        identical: state.trouble.alerts.identical,
        short: state.trouble.alerts.short,
    }
}

impl RunState {
    /// Whether the loop runs away, for people: as it stands now, told or not.
    #[must_use]
    pub fn runaway(&self) -> Option<Alarm> {
        let settings = self.settings.shown();
        runaway::judge(signs(self, settings), settings.values.limits.warnings())
    }
}

/// The rung of recovery that is under way.
fn rung(state: &RunState) -> Option<RungEvidence> {
    let began = &state.recovery.rung()?.began;
    let (agent, model) = (began.choice.agent.as_ref(), began.choice.model.as_ref());
    let other_model = match (agent, model) {
        (Some(agent), Some(model)) => Some(format!("{agent} ({model})")),
        (Some(one), None) | (None, Some(one)) => Some(one.clone()),
        (None, None) => None,
    };
    let question = began.questions.as_ref().map(|questions| questions.sentence(state.id_text()));
    let (trigger, cause, number) = (began.trigger, began.cause.words(), began.number);
    Some(RungEvidence { trigger, cause, number, strategy: began.rung.name(), other_model, question })
}

/// The next alert that is due, where a driver works on the run.
pub(super) fn next(state: &RunState, deciding: &Deciding) -> Option<Alert> {
    if !state.is_driven() || state.over.is_some() {
        return None;
    }
    let settings = state.settings.read(deciding);
    let limits = &settings.values.limits;
    let iteration = state.iterations_done();
    let elapsed_ms = state.active_ms(state.now);
    let memory = &state.trouble.alerts;
    let evidence = AlertEvidence {
        iteration,
        judged: matches!(state.phase, Phase::Deciding { point: GatePoint::Iteration(_) }),
        passes: state.gates_pass(),
        elapsed_ms,
        time: limits.max_time_ms().map(|most| LimitUse { used: elapsed_ms, most }),
        iterations: settings.values.iterations_max().map(|most| LimitUse { used: iteration.into(), most: most.into() }),
        no_progress: state.progress.streaks().no_progress,
        runaway: signs(state, settings),
        rung: rung(state),
    };
    alert::next(&evidence, &rules(settings), &|cause, since| memory.is_told(cause, since), deciding)
}

/// The alert that is reported with an end.
pub(super) fn at_end(state: &RunState, outcome: Outcome, reason: &Reason, deciding: &Deciding) -> Option<Alert> {
    let end = match (reason.code, outcome) {
        (ReasonCode::GoalComplete, _) => AlertedEnd::Done,
        (_, Outcome::Unable) => AlertedEnd::Unable,
        _ => return None,
    };
    let alert = alert::at_end(end, &reason.text, &rules(state.settings.read(deciding)), deciding)?;
    let alert = Alert { iteration: state.iterations_done(), ..alert }.text("reason", reason.code.name());
    (!state.trouble.alerts.is_told(alert.cause, alert.since)).then_some(alert)
}
