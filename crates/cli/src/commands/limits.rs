//! `loop limits`: can work of some hours be started now? What providers said, the pace of the last hours, own caps.
use std::collections::BTreeSet;

use clap::Args;
use loop_core::agent::Agent;
use loop_core::policy::budget::money_text;
use loop_core::policy::forecast::{DayCap, Outlook, PACE_MS, RUNS_MIN, WindowForecast, typical};
use loop_core::policy::reserve::{Cap, DAY_MS, Day, day_of};
use loop_core::settings::Settings;
use loop_core::text;
use loop_core::time;
use loop_core::time::At;
use loop_host::ledger::{FinishedRun, Ledger};
use loop_host::{clock, launch, settings_files};
use serde_json::{Value, json};

use super::counted::{self, CountedDay};
use super::list;
use super::usage::{ledger_error, open_ledger};
use crate::context::{Context, Done, files_error};
use crate::render::error::{CommandError, Kind};
use crate::render::moment;
use crate::render::table::table_on_screen;
use crate::render::windows;

/// The version of the JSON.
const JSON_VERSION: u32 = 1;
/// Agents that were not called for longer are not named.
const LATELY_DAYS: u64 = 7;

const EXAMPLES: &str = "\
Examples:
  loop limits                    what is left of each limit, and how long it lasts
  loop limits --for 6h           can six hours of work be started now? (exit code 1: no)
  loop limits --agent claude     only this agent";

/// Say whether work can be started now: limits of providers, the pace of the last hours, your own caps
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LimitsArgs {
    /// How long the work is to take
    #[arg(long = "for", value_name = "DURATION", default_value = "6h")]
    work: String,
    /// Only this agent
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What is known about one agent.
struct AgentLimits {
    name: String,
    windows: Vec<WindowForecast>,
    finished: Vec<FinishedRun>,
}

/// One cap of the user's own.
struct OwnCap {
    cap: Cap,
    day: DayCap,
    outlook: Outlook,
    /// What its amount is made of; none where it is no money.
    parts: Option<CountedDay>,
}

/// The answer to the question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CanStart {
    Yes,
    No,
    Unknown,
}

pub(crate) fn run(context: &Context, args: &LimitsArgs) -> Done {
    let work_ms = list::age_ms(&args.work).ok().filter(|work| *work > 0).ok_or_else(|| {
        CommandError::new(Kind::Wrong, format!("--for cannot be {:?}", text::one_line(&args.work, 40)))
            .because("it is not a duration")
            .hint("for example 6h or 90m")
    })?;
    if let Some(name) = &args.agent {
        check_agent(context, name)?;
    }
    let now = clock::now();
    let settings = launch::own_settings(&context.home)?;
    let (agents, caps) = match open_ledger(context)? {
        Some(ledger) => {
            let agents = agents(&ledger, args.agent.as_deref(), now, work_ms).map_err(|error| ledger_error(&error))?;
            (agents, own_caps(&ledger, &settings, now, work_ms).map_err(|error| ledger_error(&error))?)
        }
        None => (Vec::new(), Vec::new()),
    };
    let answer = answer(&agents, &caps);
    if args.json {
        context.printer.json(&as_json(&agents, &caps, answer, work_ms));
    } else {
        show(context, args, &agents, &caps, now.wall_ms);
        context.printer.answer(&sentence(answer, &agents, &caps, Asked { work_ms, now_ms: now.wall_ms }));
    }
    Ok(u8::from(answer == CanStart::No))
}

/// Refuses a name that no agent has, with the names that are known.
fn check_agent(context: &Context, name: &str) -> Result<(), CommandError> {
    let described = settings_files::described(&context.home.config).map_err(|error| files_error(&error))?;
    let known: Vec<&str> = Agent::names(&described).collect();
    if known.contains(&name) {
        return Ok(());
    }
    Err(CommandError::new(Kind::Wrong, format!("there is no agent {:?}", text::one_line(name, 40)))
        .because("loop does not know it, and your own config.toml does not describe it")
        .hint(format!("known: {}", text::one_line(&known.join(", "), 400))))
}

/// Those that were called lately or that something is known about; or the one that is asked for.
fn agents(
    ledger: &Ledger,
    only: Option<&str>,
    now: At,
    work_ms: u64,
) -> Result<Vec<AgentLimits>, loop_host::ledger::LedgerError> {
    let mut names: BTreeSet<String> = BTreeSet::new();
    let first = day_of(now.wall_ms).saturating_sub(LATELY_DAYS);
    names.extend(ledger.reported_since(first)?.into_iter().map(|day| day.account));
    names.extend(ledger.accounts_seen(now.wall_ms.saturating_sub(LATELY_DAYS * DAY_MS))?);
    if let Some(only) = only {
        names = BTreeSet::from([only.to_owned()]);
    }
    let one = |name: String| {
        let windows = ledger.forecast(&name, now.wall_ms, Some(work_ms))?;
        let finished = ledger.finished_runs(&name)?;
        Ok(AgentLimits { name, windows, finished })
    };
    names.into_iter().map(one).collect()
}

fn own_caps(
    ledger: &Ledger,
    settings: &Settings,
    now: At,
    work_ms: u64,
) -> Result<Vec<OwnCap>, loop_host::ledger::LedgerError> {
    let caps = &settings.caps;
    let most = [
        (Cap::CallsPerDay, caps.calls_per_day.map(u64::from)),
        (Cap::CostPerDay, caps.cost_per_day_micros),
        (Cap::TokensPerDay, caps.tokens_per_day),
    ];
    if most.iter().all(|(_, most)| most.is_none()) {
        return Ok(Vec::new());
    }
    let counted = CountedDay::read(ledger, now)?;
    let today = counted.day;
    let lately = ledger.counted_since(now.wall_ms.saturating_sub(PACE_MS))?;
    let of = |cap: Cap, day: Day| match cap {
        Cap::CallsPerHour | Cap::CallsPerDay | Cap::ScarcePerDay => u64::from(day.calls),
        Cap::CostPerDay => day.cost_micros,
        Cap::TokensPerDay => day.tokens,
    };
    let one = |(cap, most): (Cap, Option<u64>)| {
        let day = DayCap { used: of(cap, today), most: most?, lately: of(cap, lately) };
        let parts = (cap == Cap::CostPerDay).then_some(counted);
        Some(OwnCap { cap, day, outlook: day.outlook(now.wall_ms, Some(work_ms)), parts })
    };
    Ok(most.into_iter().filter_map(one).collect())
}

/// No, where something known stands against it; yes, where all is known.
fn answer(agents: &[AgentLimits], caps: &[OwnCap]) -> CanStart {
    let windows = || agents.iter().flat_map(|agent| &agent.windows).map(|window| window.outlook);
    let all = || windows().chain(caps.iter().map(|cap| cap.outlook));
    let stands = |outlook: Outlook| matches!(outlook, Outlook::Reached { .. } | Outlook::UsedUp { .. });
    let unknown = |outlook: Outlook| matches!(outlook, Outlook::Unknown(_));
    let nothing_said = agents.is_empty() || agents.iter().any(|agent| agent.windows.is_empty());
    if all().any(stands) {
        CanStart::No
    } else if nothing_said || windows().any(unknown) {
        CanStart::Unknown
    } else {
        CanStart::Yes
    }
}

fn show(context: &Context, args: &LimitsArgs, agents: &[AgentLimits], caps: &[OwnCap], now_ms: u64) {
    let rows: Vec<Vec<String>> = agents
        .iter()
        .flat_map(|agent| agent.windows.iter().map(|window| windows::cells(&agent.name, window, now_ms)))
        .collect();
    if !rows.is_empty() {
        context.printer.answer(&format!("{}\n", table_on_screen(&windows::HEAD, &rows)));
    }
    for agent in agents {
        if agent.windows.is_empty() {
            context.printer.answer(&format!("{}\n", nothing_known(&agent.name)));
        }
        context.printer.answer(&format!("{}\n", of_runs(agent)));
    }
    if agents.is_empty() {
        let name = args.agent.as_deref().unwrap_or("any agent");
        context.printer.answer(&format!("{}\n", nothing_known(&text::one_line(name, 40))));
    }
    for cap in caps {
        context.printer.answer(&format!("{}\n", cap_words(cap, now_ms)));
    }
}

fn nothing_known(agent: &str) -> String {
    format!(
        "{agent}: nothing is known about its limits: its provider has said nothing in the calls of the last days\n  \
         claude says it in events when a plan is used, codex in the file of its session, others only when they refuse"
    )
}

/// What the finished runs of an agent used.
fn of_runs(agent: &AgentLimits) -> String {
    let (name, runs) = (&agent.name, agent.finished.len());
    if runs < RUNS_MIN {
        return format!("{name}: {runs} of the {RUNS_MIN} finished loops that are needed to say what a loop uses");
    }
    let costs: Vec<u64> = agent.finished.iter().filter_map(|run| run.cost_micros).collect();
    let calls: Vec<u64> = agent.finished.iter().map(|run| run.calls).collect();
    let cost = typical(&costs).map_or_else(|| "a cost that is not known".to_owned(), money_text);
    let calls = typical(&calls).unwrap_or(0);
    format!("{name}: 3 of 4 loops make up to {calls} calls for {cost} (from {runs} that finished)")
}

fn cap_words(cap: &OwnCap, now_ms: u64) -> String {
    let amount = |amount: u64| match cap.cap {
        Cap::CostPerDay => money_text(amount),
        Cap::CallsPerDay | Cap::CallsPerHour | Cap::TokensPerDay | Cap::ScarcePerDay => amount.to_string(),
    };
    let (used, most, lately) = (amount(cap.day.used), amount(cap.day.most), amount(cap.day.lately));
    let outlook = windows::outlook(cap.outlook, now_ms);
    let of = counted::words(cap.parts.as_ref());
    format!("your own {}: {used} of {most} used today{of}, {lately} in the last 3 hours: {outlook}", cap.cap.key())
}

/// What was asked, and when.
#[derive(Clone, Copy)]
struct Asked {
    work_ms: u64,
    now_ms: u64,
}

fn sentence(answer: CanStart, agents: &[AgentLimits], caps: &[OwnCap], asked: Asked) -> String {
    let work = time::spaced(asked.work_ms);
    let when = first_stop(agents, caps, asked.now_ms);
    match answer {
        CanStart::Yes => format!("{work} of work can be started now: everything that is known lasts at this pace\n"),
        CanStart::No => format!("{work} of work cannot be done without a wait: {when}\n"),
        CanStart::Unknown => format!("whether {work} of work can be done is not known; what is known stands above\n"),
    }
}

/// The limit that is met first.
fn first_stop(agents: &[AgentLimits], caps: &[OwnCap], now_ms: u64) -> String {
    let at = |outlook: Outlook| match outlook {
        Outlook::Reached { .. } => Some(0),
        Outlook::UsedUp { at_ms, .. } => Some(at_ms),
        Outlook::Lasts | Outlook::Unknown(_) => None,
    };
    let windows = agents.iter().flat_map(|agent| agent.windows.iter().map(move |window| (agent, window)));
    let windows = windows.filter_map(|(agent, window)| {
        let again = match window.outlook {
            Outlook::UsedUp { again_ms: Some(again), .. } => {
                format!("; it begins again at {}", moment::ahead(again, now_ms))
            }
            Outlook::Reached { .. } | Outlook::UsedUp { .. } | Outlook::Lasts | Outlook::Unknown(_) => String::new(),
        };
        let outlook = windows::outlook(window.outlook, now_ms);
        Some((at(window.outlook)?, format!("the {} limit of {}: {outlook}{again}", window.name, agent.name)))
    });
    let own = caps.iter().filter_map(|cap| Some((at(cap.outlook)?, cap_words(cap, now_ms))));
    windows.chain(own).min().map(|(_, words)| words).unwrap_or_default()
}

fn as_json(agents: &[AgentLimits], caps: &[OwnCap], answer: CanStart, work_ms: u64) -> Value {
    let agent = |agent: &AgentLimits| {
        let costs: Vec<u64> = agent.finished.iter().filter_map(|run| run.cost_micros).collect();
        let list: Vec<Value> = agent.windows.iter().map(|window| windows::as_json(&agent.name, window)).collect();
        json!({
            "agent": agent.name, "windows": list, "finished_loops": agent.finished.len(),
            "typical_cost_micros": typical(&costs),
        })
    };
    let cap = |cap: &OwnCap| {
        json!({
            "key": cap.cap.key(), "used_today": cap.day.used, "most": cap.day.most, "last_hours": cap.day.lately,
            "outlook": windows::outlook_json(cap.outlook),
        })
    };
    let word = match answer {
        CanStart::Yes => "yes",
        CanStart::No => "no",
        CanStart::Unknown => "unknown",
    };
    json!({
        "version": JSON_VERSION, "for_ms": work_ms, "answer": word,
        "agents": agents.iter().map(agent).collect::<Vec<_>>(), "caps": caps.iter().map(cap).collect::<Vec<_>>(),
    })
}
