//! Changes of the settings of a run that exists: one validation for `loop resume`, for `loop set`, and for the run itself
//! when it is asked over its socket.
use loop_core::agent::Agent;
use loop_core::policy::budget::money_exact;
use loop_core::policy::router::AgentList;
use loop_core::run::{Change, RunState};
use loop_core::settings::{
    Given, Key, Kind, Layer, Origin, Settings, UNLIMITED, catalogue, duration_text, key, keys, micros, millis,
    parse_value,
};
use loop_core::text;
use loop_core::time::At;
use loop_core::view::RunLimit;

use crate::agent_list::{find_agents, implied, is_list};
use crate::clock;
use crate::paths::Home;
use crate::process::{Mode, try_out};
use crate::refusal::LaunchRefusal;
use crate::settings_files;
use crate::usable_agent::KNOWN_AGENT_LIMITS;

/// The word of `loop set` for a pause. It is a request, and no setting.
pub const PAUSE: &str = "pause";
/// Another name of the key `agent`, as the autonomous specification has it.
const CLI: &str = "cli";

/// What the run does while its settings change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunActivity {
    /// A driver is running: the current iteration may still be the last one.
    AtWork,
    /// No driver is running: the counts do not change any more.
    Stopped,
}

/// How the changes were typed. A refusal names a setting in the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeForm {
    /// As flags, such as `--max-time 2h`.
    Flags,
    /// As pairs, such as `max_time=2h`.
    Pairs,
}

impl ChangeForm {
    fn name(self, key: &Key) -> String {
        match self {
            Self::Flags => format!("--{}", key.flag.long),
            Self::Pairs => key.name.to_owned(),
        }
    }

    fn origin(self, key: &Key) -> Origin {
        let place = match self {
            Self::Flags => self.name(key),
            Self::Pairs => "loop set".to_owned(),
        };
        Origin { layer: Layer::Flag, place }
    }
}

/// Changes that may be made, with the settings that they lead to.
#[derive(Debug)]
pub struct CheckedChanges {
    /// The changes, with whole values.
    pub changes: Vec<Change>,
    /// The settings with them.
    pub settings: Settings,
    /// The agent that works from now on, where the changes are about the agent.
    pub agent: Option<Agent>,
}

/// Reads and checks changes. A value that begins with `+` is added to the value of now.
///
/// # Errors
/// The first change that cannot be made.
pub fn check_changes(
    changes: &[Change],
    state: &RunState,
    activity: RunActivity,
    form: ChangeForm,
) -> Result<CheckedChanges, LaunchRefusal> {
    let mut changes = changes.iter().map(|change| read(change, state, form)).collect::<Result<Vec<_>, _>>()?;
    let mut names: Vec<&str> = changes.iter().map(|change| change.key.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    if names.len() < changes.len() {
        return Err(LaunchRefusal::wrong("a setting is given twice")
            .because("it can have one value only")
            .hint("name each setting once"));
    }
    add_implied(&mut changes, state.settings.shown());
    let mut settings = state.settings.shown().clone();
    changes.iter().for_each(|change| settings.change(&change.key, &change.value));
    check_limits(&settings, &changes, state, activity, form)?;
    let agent = check_agent(&settings, &mut changes, state)?;
    Ok(CheckedChanges { changes, settings, agent })
}

/// What the program of one agent is given. It does not fit another agent.
const GIVEN_TO_AGENT: [&Key; 3] = [keys::agent_cmd(), keys::agent_model(), keys::agent_args()];

/// What a change of the agent means for the settings beside it: a command alone is the custom agent, and command, model
/// and arguments of another agent do not fit the new one. Time limits that are the defaults of one kind of agent become
/// those of the other kind.
fn add_implied(changes: &mut Vec<Change>, before: &Settings) {
    let given = |changes: &[Change], key: &Key| {
        changes.iter().find(|change| change.key == key.name).map(|change| change.value.clone())
    };
    if given(changes, keys::agent()).is_none() && given(changes, keys::agent_cmd()).is_some_and(|text| !text.is_empty())
    {
        changes.push(Change::new(keys::agent().name, "custom".to_owned()));
    }
    add_list(changes, before);
    let is_another = given(changes, keys::agent()).is_some_and(|agent| agent != before.values.agent.agent);
    for key in GIVEN_TO_AGENT.into_iter().filter(|_| is_another) {
        if given(changes, key).is_none() && !before.resolved.text(key).is_empty() {
            changes.push(Change::new(key.name, String::new()));
        }
    }
    let was_custom = before.values.agent.agent == "custom";
    let is_custom = given(changes, keys::agent()).is_some_and(|agent| agent == "custom");
    for (key, known) in KNOWN_AGENT_LIMITS.into_iter().filter(|_| is_another && was_custom != is_custom) {
        let (old, new) = if was_custom { (key.default, known) } else { (known, key.default) };
        if given(changes, key).is_none() && before.resolved.text(key) == old {
            changes.push(Change::new(key.name, new.to_owned()));
        }
    }
}

/// What a list of agents means for the keys beside it. One agent alone ends the list of before.
fn add_list(changes: &mut Vec<Change>, before: &Settings) {
    let of_list = |change: &&Change| [keys::agent().name, keys::agents().name].contains(&change.key.as_str());
    let Some(change) = changes.iter().find(of_list).cloned() else { return };
    let list = AgentList::parse(&change.value).unwrap_or_default();
    if is_list(&list) || change.key == keys::agents().name {
        changes.retain(|change| !of_list(&change));
        let more = implied(&list, before);
        changes.retain(|change| more.iter().all(|one| one.key != change.key));
        changes.splice(0..0, more);
    } else if !before.values.router.agents.0.is_empty() {
        changes.push(Change::new(keys::agents().name, String::new()));
    }
}

/// Whether the agent can work that these changes name. Its description is recorded with them.
fn check_agent(settings: &Settings, changes: &mut [Change], state: &RunState) -> Result<Option<Agent>, LaunchRefusal> {
    let names = [keys::agent().name, keys::agents().name];
    let is_about_agent = |change: &Change| {
        names.contains(&change.key.as_str()) || GIVEN_TO_AGENT.iter().any(|key| key.name == change.key)
    };
    if !changes.iter().any(is_about_agent) {
        return Ok(None);
    }
    let home = Home::find(|name| std::env::var_os(name))?;
    let mut described = settings_files::described(&home.config)?;
    // Those that are recorded in the run: the one that works, and the one of the start.
    let recorded =
        state.agent.described().into_iter().chain(state.spec.as_ref().and_then(|spec| spec.described.as_ref()));
    for one in recorded {
        if described.iter().all(|known| known.name != one.name) {
            described.push(one.clone());
        }
    }
    let id = state.spec.as_ref().map(|spec| spec.id.to_string()).unwrap_or_default();
    let found = find_agents(settings, &described, &format!("loop resume {id}"))?;
    let described = found.iter().find_map(|found| found.described.clone());
    if let Some(change) = changes.iter_mut().find(|change| change.key == keys::agent().name) {
        change.described = described.map(Box::new);
    }
    Ok(found.into_iter().next().map(|first| first.agent))
}

fn read(change: &Change, state: &RunState, form: ChangeForm) -> Result<Change, LaunchRefusal> {
    if change.key == PAUSE {
        return Err(LaunchRefusal::wrong(format!("pause cannot be {:?} here", text::one_line(&change.value, 40)))
            .because("pause=true and pause=false stand alone, and are for a loop that is at work")
            .hint("loop pause, loop resume"));
    }
    let name = if change.key == CLI { keys::agent().name } else { &change.key };
    let key = key(name).ok_or_else(|| unknown(name))?;
    if !key.may_change {
        return Err(LaunchRefusal::wrong(format!("{} cannot change in a run", key.name))
            .because("it holds from the start of a run to its end")
            .hint("start another loop with it; what can change: loop set"));
    }
    let text = match change.value.strip_prefix('+') {
        Some(more) => added(key, more, state, form)?,
        None => change.value.clone(),
    };
    // An empty text unsets it.
    if text.is_empty() && GIVEN_TO_AGENT.contains(&key) {
        return Ok(Change::new(key.name, text));
    }
    let given = Given::read(key, &text, form.origin(key))?;
    if key == keys::containment() {
        check_containment_word(&given.value)?;
    }
    Ok(Change::new(key.name, given.value))
}

fn unknown(name: &str) -> LaunchRefusal {
    let near = text::nearest(name, catalogue().filter(|key| key.may_change).map(|key| key.name));
    let refusal = LaunchRefusal::wrong(format!("there is no setting {name}")).because("loop does not know this name");
    match near {
        Some(near) => refusal.hint(format!("did you mean {near}?")),
        None => refusal.hint("loop config show"),
    }
}

/// Refuses a containment that is asked for by name and is not available here.
pub(crate) fn check_containment_word(word: &str) -> Result<(), LaunchRefusal> {
    let Some(mode) = Mode::ALL.into_iter().find(|mode| mode.name() == word) else { return Ok(()) };
    try_out(mode).map_err(|why| {
        LaunchRefusal::wrong(format!("containment {word} is not available here"))
            .because(why)
            .hint("leave it out for the best that is available, and see: loop doctor")
    })
}

/// A limit below what is used already would only end the run again, with a reason that is not true.
fn check_limits(
    settings: &Settings,
    changes: &[Change],
    state: &RunState,
    activity: RunActivity,
    form: ChangeForm,
) -> Result<(), LaunchRefusal> {
    let changed = |key: &Key| changes.iter().any(|change| change.key == key.name);
    let refusal = |key: &Key, value: String, why: String| {
        let name = form.name(key);
        let sign = if form == ChangeForm::Flags { " " } else { "=" };
        LaunchRefusal::wrong(format!("{name} cannot be {value}"))
            .because(why)
            .hint(format!("give a larger one, or add to it: {name}{sign}+…"))
    };
    let now = match activity {
        RunActivity::AtWork => clock::now(),
        RunActivity::Stopped => state.now,
    };
    for limit in RunLimit::ALL.into_iter().filter(|limit| changed(limit.key())) {
        let Some(most) = limit.most(settings) else { continue };
        if let Some(why) = too_low(limit, most, state, activity, now) {
            return Err(refusal(limit.key(), limit.words(most), why));
        }
    }
    Ok(())
}

/// Why a limit cannot be so low: so much is used already.
fn too_low(limit: RunLimit, most: u64, state: &RunState, activity: RunActivity, now: At) -> Option<String> {
    let used = limit.used(state, now);
    match limit {
        // The iteration that has begun may still be the last one.
        RunLimit::Iterations => match activity {
            RunActivity::AtWork if most < u64::from(state.iteration) => {
                Some(format!("iteration {} has begun already", state.iteration))
            }
            RunActivity::Stopped if most <= used && used == 1 => Some("1 iteration is used up already".to_owned()),
            RunActivity::Stopped if most <= used => Some(format!("{used} iterations are used up already")),
            RunActivity::AtWork | RunActivity::Stopped => None,
        },
        RunLimit::Time => (most <= used).then(|| format!("{} are used up already", limit.words(used))),
        // What a call costs is known only afterwards, and a day or an hour ends: such a limit may be set at any time.
        RunLimit::Cost
        | RunLimit::Tokens
        | RunLimit::CallsPerHour
        | RunLimit::CostPerDay
        | RunLimit::TokensPerDay
        | RunLimit::CallsPerDay => None,
    }
}

/// The value of now and so much more.
///
/// # Errors
/// When nothing can be added to this setting, or not this.
fn added(key: &'static Key, more: &str, state: &RunState, form: ChangeForm) -> Result<String, LaunchRefusal> {
    let now = state.settings.shown().resolved.text(key);
    if now == UNLIMITED {
        return Ok(UNLIMITED.to_owned());
    }
    let wrong = |why: &str| {
        LaunchRefusal::wrong(format!("{} cannot be +{more}", form.name(key)))
            .because(why.to_owned())
            .hint(format!("it is {now} now; give a whole value, or an addition such as +5 or +1h"))
    };
    match key.kind {
        Kind::CountOrUnlimited(_) => {
            let more = more.parse::<u32>().ok().filter(|more| *more > 0);
            let sum = more.and_then(|more| now.parse::<u32>().ok()?.checked_add(more));
            sum.map(|sum| sum.to_string()).ok_or_else(|| wrong("it is not a whole number above zero"))
        }
        Kind::Duration | Kind::DurationOrUnlimited | Kind::DurationOrNone => {
            parse_value(Kind::Duration, more).map_err(|refusal| wrong(&refusal.why))?;
            let sum = millis(now).unwrap_or(0).saturating_add(millis(more).unwrap_or(0));
            Ok(duration_text(sum))
        }
        Kind::MoneyOrUnlimited => {
            parse_value(Kind::MoneyOrUnlimited, more).map_err(|refusal| wrong(&refusal.why))?;
            let sum = micros(now).unwrap_or(0).saturating_add(micros(more).unwrap_or(0));
            Ok(money_exact(sum))
        }
        Kind::SizeOrUnlimited
        | Kind::Fraction
        | Kind::Gates
        | Kind::Prices
        | Kind::Agents
        | Kind::Models
        | Kind::Failures
        | Kind::Ladder
        | Kind::Findings
        | Kind::Switch
        | Kind::Choice(_)
        | Kind::Command
        | Kind::Word
        | Kind::Text
        | Kind::Path
        | Kind::Paths => Err(wrong("only numbers and durations can be added to")),
    }
}
