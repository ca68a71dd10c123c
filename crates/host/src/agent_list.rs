//! From `--agent claude,codex` and `--agent auto` to the agent that works first and the list of those that may work.
use loop_core::agent::{Agent, Described};
use loop_core::policy::router::{AUTO, AgentArm, AgentList};
use loop_core::run::Change;
use loop_core::settings::{Key, Layer, Origin, RouterMode, Settings, keys};

use crate::agents::find;
use crate::refusal::LaunchRefusal;
use crate::usable_agent::{UsableAgent, find_agent};

/// The calls a day of the scarcest model with `--agent auto`, where no setting says it.
const AUTO_DAILY_LIMIT: &str = "50";

/// Writes the list into the settings: `agent` and `agent_model` are the one that works first, `agents` are all of them.
/// A single agent over a list of a weaker layer stands alone.
pub(crate) fn settle_agents(settings: &mut Settings) {
    let layer = |key: &Key| settings.resolved.origin(key).map(|origin| origin.layer);
    let origin = |key: &Key| {
        settings.resolved.origin(key).cloned().unwrap_or(Origin { layer: Layer::Default, place: String::new() })
    };
    let (of_agent, of_agents) = (layer(keys::agent()), layer(keys::agents()));
    let named = AgentList::parse(settings.resolved.text(keys::agent())).unwrap_or_default();
    let listed = settings.values.router.agents.clone();
    let is_list = is_list(&named);
    let (list, origin, first) = if !listed.0.is_empty() && (of_agents > of_agent || (!is_list && of_agents == of_agent))
    {
        let typed_too = of_agents == of_agent && of_agent != Some(Layer::Default);
        (listed, origin(keys::agents()), named.0.first().filter(|_| typed_too).cloned())
    } else if is_list {
        (named, origin(keys::agent()), None)
    } else {
        let origin = origin(keys::agent());
        if !listed.0.is_empty() {
            settings.put(keys::agents(), String::new(), origin);
        }
        return;
    };
    let list = if origin.layer == Layer::Default { only_installed(list) } else { list };
    for (key, value) in written(&list, first.as_ref(), settings) {
        settings.put(key, value, origin.clone());
    }
}

/// A list that no person wrote, but a profile has, is what is installed of it; the whole where that is nothing.
fn only_installed(list: AgentList) -> AgentList {
    let here: Vec<AgentArm> = list.0.iter().filter(|arm| is_installed(&arm.agent)).cloned().collect();
    if here.is_empty() { list } else { AgentList(here) }
}

/// The same for changes of a run: what a new list means for the keys beside it.
pub(crate) fn implied(list: &AgentList, before: &Settings) -> Vec<Change> {
    written(list, None, before).into_iter().map(|(key, value)| Change::new(key.name, value)).collect()
}

/// Whether it is more than the name of one agent.
pub(crate) fn is_list(list: &AgentList) -> bool {
    list.0.len() > 1 || list.is_auto() || list.0.iter().any(|arm| arm.model.is_some())
}

/// The keys that a list sets, with their values.
fn written(list: &AgentList, first: Option<&AgentArm>, settings: &Settings) -> Vec<(&'static Key, String)> {
    let mut values = Vec::new();
    let mut arms = list.0.clone();
    if list.is_auto() {
        arms = installed(settings);
        let unset = |key: &Key| settings.resolved.origin(key).is_none_or(|origin| origin.layer == Layer::Default);
        if unset(keys::router()) && settings.values.router.router == RouterMode::Fixed {
            values.push((keys::router(), RouterMode::Auto.word().to_owned()));
        }
        if unset(keys::opus_daily_limit()) {
            values.push((keys::opus_daily_limit(), AUTO_DAILY_LIMIT.to_owned()));
        }
    }
    let of_agent = |name: &str| arms.iter().position(|arm| arm.agent == name);
    let default = || settings.values.router.cli_default.as_deref().and_then(of_agent);
    let at = first.and_then(|first| of_agent(&first.agent)).or_else(default).unwrap_or(0);
    if arms.is_empty() {
        // Where none is installed, the start says so.
        return vec![(keys::agent(), AUTO.to_owned()), (keys::agents(), String::new())];
    }
    let first = arms.remove(at);
    values.push((keys::agent(), first.agent.clone()));
    if let Some(model) = &first.model {
        values.push((keys::agent_model(), model.clone()));
    }
    arms.insert(0, first);
    let several = if arms.len() > 1 { AgentList(arms).to_string() } else { String::new() };
    values.push((keys::agents(), several));
    values
}

/// The agents of the table of models whose programs are here; in a container, all of the table.
fn installed(settings: &Settings) -> Vec<AgentArm> {
    let mut arms: Vec<AgentArm> = Vec::new();
    for row in settings.values.router.models.rows() {
        let arm = AgentArm::new(&row.agent, None);
        if !arms.contains(&arm) && (settings.values.agent.in_container() || is_installed(&row.agent)) {
            arms.push(arm);
        }
    }
    arms
}

fn is_installed(name: &str) -> bool {
    Agent::find(name, &[], "").and_then(|agent| agent.program().and_then(find)).is_some()
}

/// Every enabled agent, the one that works first at the front, or why one of them cannot work.
///
/// # Errors
/// When one is unknown or not installed, or something that was asked for does not fit it.
pub(crate) fn find_agents(
    settings: &Settings,
    described: &[Described],
    line: &str,
) -> Result<Vec<UsableAgent>, LaunchRefusal> {
    let origin = settings.resolved.origin(keys::agent()).cloned();
    let origin = origin.unwrap_or(Origin { layer: Layer::Default, place: String::new() });
    let mut found = vec![find_agent(settings, described, line)?];
    for arm in settings.values.enabled().into_iter().skip(1) {
        let mut alone = settings.clone();
        alone.put(keys::agents(), String::new(), origin.clone());
        alone.put(keys::agent(), arm.agent, origin.clone());
        alone.put(keys::agent_model(), arm.model.unwrap_or_default(), origin.clone());
        if alone.values.agent.agent != "custom" {
            alone.put(keys::agent_cmd(), String::new(), origin.clone());
        }
        alone.put(keys::agent_args(), String::new(), origin.clone());
        found.push(find_agent(&alone, described, line)?);
    }
    let own: Vec<&str> =
        found.iter().filter_map(|found| found.described.as_ref()).map(|described| described.name.as_str()).collect();
    if let [one, other, ..] = own.as_slice() {
        return Err(LaunchRefusal::wrong(format!("{one} and {other} are both described by your settings"))
            .because("a loop records one description")
            .hint("leave one of them out of the list"));
    }
    Ok(found)
}
