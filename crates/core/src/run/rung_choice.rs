//! What a rung of recovery changes: the form of the prompt, the effort, the model or the agent.
use super::choice::{self, AgentChoice, PromptVariant, Readiness};
use super::recovery::RungChoice;
use super::state::RunState;
use crate::agent::Agent;
use crate::policy::ladder::RungKind;
use crate::policy::router::{AgentArm, ModelRow, most_capable, next_up};
use crate::settings::{RouterMode, Settings};

/// What a rung changes.
///
/// # Errors
/// Why it has nothing to change.
pub(super) fn of_rung(state: &RunState, settings: &Settings, rung: RungKind) -> Result<RungChoice, String> {
    let now = choice::without_rung(state, settings);
    let fresh = RungChoice { prompt: Some(PromptVariant::Fresh), ..RungChoice::default() };
    let with = |arm: AgentArm| RungChoice { agent: Some(arm.agent), model: arm.model, ..fresh.clone() };
    let effort =
        || more_effort(state, settings, &now).map(|effort| RungChoice { effort: Some(effort), ..fresh.clone() });
    match rung {
        RungKind::Human | RungKind::Branches(_) => Ok(RungChoice::default()),
        RungKind::Fresh => Ok(fresh),
        RungKind::Mutate(kind) => {
            // The model stays what it is, also where rules would choose another one.
            let routed = matches!(settings.values.router.router, RouterMode::Auto | RouterMode::Learned);
            let same = state.agent.choice().filter(|_| routed).map_or_else(RungChoice::default, |now| with(now.arm()));
            Ok(RungChoice { prompt: Some(PromptVariant::Mutated(kind)), ..same })
        }
        RungKind::Effort => effort(),
        RungKind::Model => next_model(state, settings, &now).map(with),
        RungKind::EffortOrModel => effort().or_else(|no_effort| {
            let model = next_model(state, settings, &now);
            model.map(with).map_err(|no_model| format!("{no_effort}, and {no_model}"))
        }),
        RungKind::Vendor => other_vendor(state, settings, &now).map(with),
    }
}

/// The next level of effort above the one in use.
fn more_effort(state: &RunState, settings: &Settings, now: &AgentChoice) -> Result<String, String> {
    let agent = state.agent_named(&now.agent, settings);
    let levels = agent.as_ref().map_or(&[][..], Agent::efforts);
    if levels.is_empty() {
        return Err(format!("{} has no switch for its effort", now.agent));
    }
    // Of several such rungs each goes one level up.
    let tried = tried(state).filter(|choice| choice.agent.is_none()).filter_map(|choice| choice.effort.as_ref()).last();
    let next = match tried.or(now.effort.as_ref()) {
        None => levels.first(),
        Some(effort) => levels.iter().skip_while(|level| *level != effort).nth(1),
    };
    next.map(|level| (*level).to_owned()).ok_or_else(|| format!("{} works with its highest effort already", now.agent))
}

/// What the rungs of this ladder have chosen so far.
fn tried(state: &RunState) -> impl Iterator<Item = &RungChoice> {
    state.recovery.climb().into_iter().flat_map(|climb| &climb.tried).map(|tried| &tried.choice)
}

fn arm_of(choice: &RungChoice) -> Option<AgentArm> {
    choice.agent.as_ref().map(|agent| AgentArm { agent: agent.clone(), model: choice.model.clone() })
}

/// One step up from the model in use, or from the one that was tried last. Where rules choose, the most capable one.
fn next_model(state: &RunState, settings: &Settings, now: &AgentChoice) -> Result<AgentArm, String> {
    let (values, enabled) = (&settings.values, settings.values.enabled());
    let able = |arm: &AgentArm| choice::readiness(state, settings, arm) != Readiness::Unable;
    if values.router.router == RouterMode::Auto {
        let rows: Vec<&ModelRow> = values.router.models.enabled(&enabled).filter(|row| able(&row.arm())).collect();
        let known: Vec<AgentArm> = tried(state).filter_map(arm_of).chain([now.arm()]).collect();
        let best = most_capable(&rows).map(ModelRow::arm).filter(|arm| !known.contains(arm));
        return best.ok_or_else(|| "the most capable model works already".to_owned());
    }
    let last = tried(state).filter_map(arm_of).last().unwrap_or_else(|| now.arm());
    let refused: Vec<AgentArm> =
        values.router.models.rows().iter().map(ModelRow::arm).filter(|arm| !able(arm)).collect();
    let next = next_up(&values.router.models, &last, &enabled, &refused).map(ModelRow::arm);
    next.ok_or_else(|| format!("no stronger model than {last} is enabled"))
}

/// The next enabled agent that is another one and was not tried.
fn other_vendor(state: &RunState, settings: &Settings, now: &AgentChoice) -> Result<AgentArm, String> {
    let known: Vec<&str> =
        tried(state).filter_map(|choice| choice.agent.as_deref()).chain([now.agent.as_str()]).collect();
    let enabled = settings.values.enabled();
    let other = enabled.into_iter().find(|arm| {
        !known.contains(&arm.agent.as_str()) && choice::readiness(state, settings, arm) != Readiness::Unable
    });
    other.ok_or_else(|| format!("no other agent than {} is enabled (--agent a,b)", now.agent))
}

/// This choice with what recovery names. Another agent does not get model and effort of the one before.
pub(super) fn with(choice: AgentChoice, chosen: &RungChoice) -> AgentChoice {
    let same_agent = chosen.agent.as_ref().is_none_or(|agent| *agent == choice.agent);
    AgentChoice {
        model: chosen.model.clone().or_else(|| choice.model.clone().filter(|_| same_agent)),
        effort: chosen.effort.clone().or_else(|| choice.effort.clone().filter(|_| same_agent)),
        prompt: chosen.prompt.unwrap_or(choice.prompt),
        agent: chosen.agent.clone().unwrap_or(choice.agent),
    }
}
