//! Which agent works in an attempt, with which model and which form of the prompt, and why.
use serde::{Deserialize, Serialize};

use super::decide;
use super::fact::PromptNote;
use super::judge;
use super::rung_choice;
use super::state::RunState;
use crate::agent::{Agent, Failure};
use crate::machine::consult;
use crate::policy::budget::money_text;
use crate::policy::failures::FailureAction;
use crate::policy::gate::Verdict;
use crate::policy::ladder::MutationKind;
use crate::policy::router::{
    AgentArm, ArmScore, ModelRow, TaskAnalysis, TaskEvidence, TaskSigns, TaskWords, analyse, draw, most_capable, route,
    seed_of, task_class,
};
use crate::settings::{RouterMode, RunPriority, Settings, keys};
use crate::time;

/// What one attempt uses.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentChoice {
    /// The agent, by the name that `--agent` has for it.
    pub agent: String,
    /// The model, by the agent's own name for it; none is the agent's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How long the model thinks, by the agent's own word for it; none is the agent's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// The form of the prompt.
    #[serde(default, skip_serializing_if = "PromptVariant::is_standard")]
    pub prompt: PromptVariant,
}

impl AgentChoice {
    /// The agent and its model.
    #[must_use]
    pub fn arm(&self) -> AgentArm {
        AgentArm { agent: self.agent.clone(), model: self.model.clone() }
    }

    pub(super) fn of(arm: AgentArm) -> Self {
        Self { agent: arm.agent, model: arm.model, effort: None, prompt: PromptVariant::Standard }
    }
}

/// Which form the prompt has. `prompt/compose.rs` has the words of each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptVariant {
    /// Task, gates, notes and injected texts.
    #[default]
    Standard,
    /// The same for a new beginning: what failed so far, one failure, its cause first.
    Fresh,
    /// The task in another form.
    Mutated(MutationKind),
}

impl PromptVariant {
    fn is_standard(&self) -> bool {
        *self == Self::Standard
    }
}

/// Why this agent and model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChoiceCause {
    /// The settings that the run was started with name them.
    Settings,
    /// A person changed them since, by `loop resume` or `loop set`.
    Person,
    /// A rule of the router.
    Router,
    /// The one before it in the list waits for a limit or cannot work.
    FailOver,
    /// The scarcest model is used up for today.
    DailyLimit,
    /// The loop is stuck, and a rung of the ladder is tried.
    Rung,
    /// A rung of the ladder worked, and what it chose stays.
    Kept,
}

/// What the learned router drew before an attempt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drawn {
    /// The agent that it chose, or would have chosen.
    pub agent: String,
    /// With this model; none is the agent's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The class of the task.
    pub class: String,
    /// The seed of all random numbers, in hexadecimal digits.
    pub seed: String,
    /// It was only recorded: another rule chose.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shadow: bool,
}

/// What an attempt is asked for, beside the state of the run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AttemptRequest {
    /// The iteration, from 1.
    pub iteration: u32,
    /// The attempt in it, from 1.
    pub attempt: u32,
    /// Which agent and model it uses.
    pub choice: AgentChoice,
    /// What the prompt has to say beside goal and gates.
    pub notes: Vec<PromptNote>,
    /// The numbers of the first and the last injected text that is new in it.
    pub injected: Option<(u32, u32)>,
}

impl RunState {
    /// What the next attempt would be asked for, if it began now with these settings.
    #[must_use]
    pub fn next_request(&self, settings: &Settings) -> AttemptRequest {
        let (iteration, attempt) = decide::next_attempt(self);
        let injections = self.prompt.injections();
        let injected = (injections.newest > injections.given).then_some((injections.given + 1, injections.newest));
        let choice = choose(self, settings).choice;
        let notes = [self.prompt.notes(), &self.prompt.surroundings.notes()].concat();
        AttemptRequest { iteration, attempt, choice, notes, injected }
    }
}

/// The cheapest enabled agent and model that can be asked now, for short texts: by the table of models, else the first
/// of the list.
pub(super) fn cheapest(state: &RunState, settings: &Settings) -> Option<AgentChoice> {
    let enabled = settings.values.enabled();
    let is_ready = |arm: &AgentArm| readiness(state, settings, arm) == Readiness::Ready;
    let rows = settings.values.router.models.enabled(&enabled).filter(|row| is_ready(&row.arm()));
    let row = rows.min_by_key(|row| row.cost).map(ModelRow::arm);
    row.or_else(|| enabled.iter().find(|arm| is_ready(arm)).cloned()).map(AgentChoice::of)
}

/// A choice with its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reasoned {
    pub(super) choice: AgentChoice,
    pub(super) why: ChoiceCause,
    /// The reason in one line, where several agents are enabled.
    pub(super) rule: Option<String>,
    /// What the learned router drew, where it was asked.
    pub(super) drawn: Option<Drawn>,
}

/// Whether an agent with a model can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Readiness {
    /// Now.
    Ready,
    /// When a limit is over.
    Waits,
    /// Not in this run, unless a person helps.
    Unable,
}

/// What the next attempt uses.
pub(super) fn choose(state: &RunState, settings: &Settings) -> Reasoned {
    if let Some(choice) = state.agent.choice().filter(|_| judge::asks_for_status(state)) {
        // Only the agent that left its status block out can be asked for it.
        return Reasoned { choice: choice.clone(), why: ChoiceCause::Settings, rule: None, drawn: None };
    }
    let enabled = settings.values.enabled();
    let reasoned = recovered(state, preferred(state, settings, &enabled));
    let (preferred, effort) = (reasoned.choice.arm(), reasoned.choice.effort.clone());
    let (prompt, drawn) = (reasoned.choice.prompt, reasoned.drawn.clone());
    let reasoned = match readiness(state, settings, &preferred) {
        Readiness::Ready => reasoned,
        Readiness::Waits | Readiness::Unable => instead_of(state, settings, &enabled, &preferred),
    };
    let mut reasoned = within_daily_limit(state, settings, &enabled, reasoned);
    // The form of the prompt holds for every agent; the effort is the word of one agent.
    reasoned.choice.prompt = prompt;
    reasoned.choice.effort = effort.filter(|_| reasoned.choice.agent == preferred.agent);
    let rule = reasoned.rule.or_else(|| returns(state, &reasoned.choice));
    let reasoned = Reasoned { rule, drawn, ..reasoned };
    match settings.values.router.router {
        RouterMode::Shadow => with_shadow(state, settings, &enabled, reasoned),
        RouterMode::Fixed | RouterMode::Auto | RouterMode::Learned => reasoned,
    }
}

/// What the learned router draws for the next iteration, and its reason. None where nothing is recorded, or only one
/// agent can be asked.
fn learned(state: &RunState, settings: &Settings, enabled: &[AgentArm]) -> Option<(AgentArm, Drawn, String)> {
    let class = state.task_class()?;
    let can = |least: Readiness| -> Vec<AgentArm> {
        enabled.iter().filter(|arm| readiness(state, settings, arm) <= least).cloned().collect()
    };
    let ready = can(Readiness::Ready);
    let arms = if ready.is_empty() { can(Readiness::Waits) } else { ready };
    let run = state.spec.as_ref().map_or("", |spec| spec.id.as_str());
    // Every attempt of an iteration draws the same.
    let seed = seed_of(run, decide::next_attempt(state).0);
    let score = draw(state.agent.routing.scores(), &arms, class, seed).filter(|_| enabled.len() > 1)?;
    let AgentArm { agent, model } = score.arm.clone();
    let drawn = Drawn { agent, model, class: class.to_owned(), seed: format!("{seed:016x}"), shadow: false };
    Some((score.arm.clone(), drawn, results(&score, class)))
}

/// The results of an agent in one line.
fn results(score: &ArmScore, class: &str) -> String {
    let ArmScore { tries, passes, .. } = score;
    if *tries == 0 {
        return format!("{class}: no tries recorded yet");
    }
    let cost = score.cost_per_pass.map_or_else(String::new, |cost| format!(", {} a pass", money_text(cost)));
    format!("{class}: {passes} of {tries} tries passed{cost}")
}

/// The same choice, with what the learned router would have chosen.
fn with_shadow(state: &RunState, settings: &Settings, enabled: &[AgentArm], reasoned: Reasoned) -> Reasoned {
    let shadow = match learned(state, settings, enabled) {
        Some((arm, drawn, results)) => {
            let same = if arm == reasoned.choice.arm() { "the same" } else { "another" };
            (format!("shadow: {same}, {arm} ({results})"), Some(Drawn { shadow: true, ..drawn }))
        }
        None if enabled.len() > 1 => ("shadow: no results are recorded yet".to_owned(), None),
        None => return reasoned,
    };
    let rule = reasoned.rule.map_or_else(|| shadow.0.clone(), |rule| format!("{rule}; {}", shadow.0));
    Reasoned { rule: Some(rule), drawn: shadow.1, ..reasoned }
}

/// What recovery has chosen comes before everything else.
fn recovered(state: &RunState, preferred: Reasoned) -> Reasoned {
    let chosen = state.recovery.choice();
    if chosen.is_nothing() {
        return preferred;
    }
    let why = if state.recovery.rung().is_some() { ChoiceCause::Rung } else { ChoiceCause::Kept };
    Reasoned { choice: rung_choice::with(preferred.choice, &chosen), why, ..preferred }
}

/// What the next attempt would use if no rung were under way.
pub(super) fn without_rung(state: &RunState, settings: &Settings) -> AgentChoice {
    let preferred = preferred(state, settings, &settings.values.enabled());
    rung_choice::with(preferred.choice, state.recovery.kept())
}

/// What is used where nothing prevents it.
fn preferred(state: &RunState, settings: &Settings, enabled: &[AgentArm]) -> Reasoned {
    let values = &settings.values;
    let first = AgentArm { agent: values.agent.agent.clone(), model: values.agent.agent_model.clone() };
    let several = values.router.router == RouterMode::Auto || enabled.len() > 1;
    let priority = Some(values.environment.priority).filter(|priority| several && *priority != RunPriority::None);
    if values.router.router == RouterMode::Auto || priority.is_some() {
        let can = |least: Readiness| -> Vec<&ModelRow> {
            let fits = |row: &&ModelRow| readiness(state, settings, &row.arm()) <= least;
            values.router.models.enabled(enabled).filter(fits).collect()
        };
        let ready = can(Readiness::Ready);
        let rows = if ready.is_empty() { can(Readiness::Waits) } else { ready };
        if let Some(row) = priority.and_then(|priority| by_priority(priority, &rows)) {
            let rule = format!("priority: {}", values.environment.priority.word());
            return Reasoned {
                choice: AgentChoice::of(row.arm()),
                why: ChoiceCause::Router,
                rule: Some(rule),
                drawn: None,
            };
        }
        let routed = route(&task_of(state, settings), &rows, values.router.prefer_cheap);
        if let Some(routed) = routed {
            let rule = Some(format!("rule: {}", routed.rule));
            return Reasoned { choice: AgentChoice::of(routed.row.arm()), why: ChoiceCause::Router, rule, drawn: None };
        }
    }
    let mut rule = None;
    if values.router.router == RouterMode::Learned && enabled.len() > 1 {
        if let Some((arm, drawn, results)) = learned(state, settings, enabled) {
            let rule = Some(format!("learned: {results}"));
            return Reasoned { choice: AgentChoice::of(arm), why: ChoiceCause::Router, rule, drawn: Some(drawn) };
        }
        rule = Some("learned: no results are recorded yet, the first of the list works".to_owned());
    }
    let at_start = state.spec.as_ref().map(|spec| &spec.settings);
    let same = [keys::agent(), keys::agent_model(), keys::agent_cmd()]
        .iter()
        .all(|key| at_start.is_none_or(|at_start| at_start.text(key) == settings.resolved.text(key)));
    let why = if same { ChoiceCause::Settings } else { ChoiceCause::Person };
    Reasoned { choice: AgentChoice::of(first), why, rule, drawn: None }
}

/// The cheapest, or the most capable, of these models.
fn by_priority<'a>(priority: RunPriority, rows: &[&'a ModelRow]) -> Option<&'a ModelRow> {
    match priority {
        RunPriority::None => None,
        RunPriority::Speed | RunPriority::Cost => rows.iter().copied().min_by_key(|row| row.cost),
        RunPriority::Quality => most_capable(rows),
    }
}

/// What kind of task this is now.
pub(super) fn task_of(state: &RunState, settings: &Settings) -> TaskAnalysis {
    let spec = state.spec.as_ref();
    let texts = spec.into_iter().flat_map(|spec| std::iter::once(&spec.goal).chain(&spec.inject));
    let bytes = texts.map(|text| text.file.as_ref().map_or(text.head.len() as u64, |file| file.bytes)).sum();
    let evidence = TaskEvidence {
        signs: spec.map(|spec| spec.task.unwrap_or_else(|| task_signs(&spec.goal.head, settings))).unwrap_or_default(),
        text_bytes: bytes,
        iterations: state.iterations_done(),
        without_progress: state.progress.streaks().no_progress,
        stuck_after: settings.values.recovery.stuck_after.unwrap_or(0),
    };
    analyse(&evidence)
}

/// What the words of a task say, by the lists of words that are set.
#[must_use]
pub fn task_signs(goal: &str, settings: &Settings) -> TaskSigns {
    let router = &settings.values.router;
    let words = TaskWords {
        implementation: &router.implementation_words,
        research: &router.research_words,
        complex: &router.complex_words,
    };
    TaskSigns::of(goal, &words)
}

/// Whether an agent with this model can be asked now.
pub(super) fn readiness(state: &RunState, settings: &Settings, arm: &AgentArm) -> Readiness {
    if state.agent.routing.refused().contains(arm) || state.agent.routing.unable(&arm.agent).is_some() {
        return Readiness::Unable;
    }
    let Some(wait) = state.agent.provider.wait_of(&arm.agent) else { return Readiness::Ready };
    let table = &settings.values.agent.on_failure;
    match consult(|deciding| table.action(wait.failure, deciding)) {
        FailureAction::Next => Readiness::Ready,
        FailureAction::Stop => Readiness::Unable,
        FailureAction::Wait { tries_max, .. } if state.agent.provider.refused_of(&arm.agent) > tries_max => {
            Readiness::Unable
        }
        FailureAction::Wait { .. } if wait.until_ms > state.now.wall_ms => Readiness::Waits,
        FailureAction::Wait { .. } => Readiness::Ready,
    }
}

/// Another enabled agent, because the preferred one waits or cannot work. The preferred one where no other is better.
fn instead_of(state: &RunState, settings: &Settings, enabled: &[AgentArm], preferred: &AgentArm) -> Reasoned {
    let until = |arm: &AgentArm| state.agent.provider.wait_of(&arm.agent).map_or(0, |wait| wait.until_ms);
    let refused = state.agent.routing.refused().contains(preferred);
    // Where only the model was refused, the other models of the table come behind the list.
    let of_table = settings.values.router.models.enabled(enabled).map(ModelRow::arm).filter(|_| refused);
    let all: Vec<AgentArm> = enabled.iter().cloned().chain(of_table).collect();
    let best = all.iter().min_by_key(|arm| {
        let ready = readiness(state, settings, arm);
        // Of several that wait, the one that can be asked first. The order of the list decides the rest.
        (ready, if ready == Readiness::Waits { until(arm) } else { 0 })
    });
    let better = |arm: &&AgentArm| {
        let (one, other) = (readiness(state, settings, arm), readiness(state, settings, preferred));
        one < other || (one == other && one == Readiness::Waits && until(arm) < until(preferred))
    };
    match best.filter(better) {
        Some(arm) => Reasoned {
            choice: AgentChoice::of(arm.clone()),
            why: ChoiceCause::FailOver,
            rule: Some(why_not(state, preferred)),
            drawn: None,
        },
        None => {
            Reasoned { choice: AgentChoice::of(preferred.clone()), why: ChoiceCause::Settings, rule: None, drawn: None }
        }
    }
}

/// Why an agent is not asked.
fn why_not(state: &RunState, arm: &AgentArm) -> String {
    let agent = &arm.agent;
    if let (Some(model), true) = (&arm.model, state.agent.routing.refused().contains(arm)) {
        return format!("{agent} has no model {model}");
    }
    match (state.agent.routing.unable(agent), state.agent.provider.wait_of(agent)) {
        (Some(Failure::Auth), _) => format!("{agent} is not signed in"),
        (Some(Failure::Billing), _) => format!("{agent} has no credit left"),
        (Some(failure), _) => format!("{agent} cannot work: {}", failure.word()),
        (None, Some(wait)) => format!("{agent} waits until {}: {}", time::rfc3339(wait.until_ms), wait.failure.word()),
        (None, None) => format!("{agent} cannot work"),
    }
}

/// The next most capable enabled model where the chosen one is used up for today.
fn within_daily_limit(state: &RunState, settings: &Settings, enabled: &[AgentArm], reasoned: Reasoned) -> Reasoned {
    let used_up = state.agent.routing.used_up_until_ms().is_some_and(|until| until > state.now.wall_ms);
    if !used_up || !is_scarce(state, settings, &reasoned.choice.arm()) {
        return reasoned;
    }
    let agents: Vec<AgentArm> = enabled.iter().map(|arm| AgentArm::new(&arm.agent, None)).collect();
    let table = &settings.values.router.models;
    let others = |wanted: Readiness| -> Vec<&ModelRow> {
        let fits = |row: &&ModelRow| {
            let arm = row.arm();
            !is_scarce(state, settings, &arm) && readiness(state, settings, &arm) == wanted
        };
        table.enabled(&agents).filter(fits).collect()
    };
    let row = most_capable(&others(Readiness::Ready)).or_else(|| most_capable(&others(Readiness::Waits)));
    let Some(row) = row else { return reasoned };
    let model = table.scarcest().map_or("the scarcest model", |row| row.model.as_str());
    let rule = format!("{model} is used up for today");
    Reasoned {
        choice: AgentChoice::of(row.arm()),
        why: ChoiceCause::DailyLimit,
        rule: Some(rule),
        drawn: reasoned.drawn,
    }
}

/// Whether this would be a call of the scarcest model: by its name, or by what the agent reported before.
pub(super) fn is_scarce(state: &RunState, settings: &Settings, arm: &AgentArm) -> bool {
    let model = arm.model.as_deref().or_else(|| state.agent.routing.reported(&arm.agent));
    model.is_some_and(|model| settings.values.router.models.is_scarcest(&arm.agent, model))
}

/// The agent that was left works again.
fn returns(state: &RunState, choice: &AgentChoice) -> Option<String> {
    let before = state.agent.choice().filter(|before| before.agent != choice.agent)?;
    state.agent.failed_over().then(|| format!("{} can work again, instead of {}", choice.agent, before.agent))
}

/// Whether the scarcest model is used up for today, and no other enabled one is left to use.
pub(super) fn is_used_up(state: &RunState, settings: &Settings) -> bool {
    let used_up = state.agent.routing.used_up_until_ms().is_some_and(|until| until > state.now.wall_ms);
    used_up && is_scarce(state, settings, &choose(state, settings).choice.arm())
}

impl RunState {
    /// How many calls a day the scarcest model has, where the next call is one of these.
    #[must_use]
    pub fn scarce_limit(&self, settings: &Settings) -> Option<u32> {
        let limit = settings.values.router.opus_daily_limit?;
        is_scarce(self, settings, &self.next_choice(settings).arm()).then_some(limit)
    }

    /// The class of the task now, by what its gates say; none without a gate.
    #[must_use]
    pub fn task_class(&self) -> Option<&'static str> {
        let failing = self.gates.required().filter_map(|gate| gate.last()).filter(|last| last.verdict != Verdict::Pass);
        let (did_not_build, tests) = failing.fold((false, 0_u32), |(did_not_build, tests), last| {
            let failed = last.report.tests.as_deref().map_or(0, |tests| tests.failed);
            (did_not_build || last.report.did_not_build, tests.saturating_add(failed))
        });
        (!self.gates.is_empty()).then(|| task_class(did_not_build, tests))
    }

    /// What works next, if these settings hold.
    #[must_use]
    pub fn next_choice(&self, settings: &Settings) -> AgentChoice {
        choose(self, settings).choice
    }

    /// The agent that works next, if these settings hold.
    #[must_use]
    pub fn next_agent(&self, settings: &Settings) -> Option<Agent> {
        self.agent_named(&self.next_choice(settings).agent, settings)
    }

    /// The agent of that name. A custom one has the command that is set.
    #[must_use]
    pub fn agent_named(&self, name: &str, settings: &Settings) -> Option<Agent> {
        let described = self.agent.described().map_or(&[][..], std::slice::from_ref);
        Agent::find(name, described, &settings.agent_cmd)
    }

    /// The name of the agent that works or worked last; before the first attempt the one that is set.
    #[must_use]
    pub fn agent_name(&self) -> &str {
        self.agent.choice().map_or(&self.settings.shown().values.agent.agent, |choice| &choice.agent)
    }

    /// The model that was chosen for it; none is the agent's default.
    #[must_use]
    pub fn model_chosen(&self) -> Option<&str> {
        let set = || self.settings.shown().values.agent.agent_model.as_deref();
        self.agent.choice().map_or_else(set, |choice| choice.model.as_deref())
    }

    /// The agent that works or worked last, for people and for the host; before the first attempt the one that is set.
    #[must_use]
    pub fn agent_in_use(&self) -> Option<Agent> {
        self.agent_named(self.agent_name(), self.settings.shown())
    }
}
