//! `loop agents`: which agents are here, and how they would be called.
use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use loop_core::agent::{
    Agent, AgentCommand, AgentEnv, AgentVariables, AttemptSpec, PERMISSIONS, Permissions, Stdin, SystemBy,
    WithheldReason, shell_words,
};
use loop_core::policy::router::{ModelRow, ModelTable, ScoreRow};
use loop_core::settings::RouterSettings;
use loop_core::text::{self, nearest};
use loop_host::agents::{SignIn, engine_sockets, find, number, sign_in, versions};
use loop_host::attempt::ambient;
use loop_host::clock::{self, LocalDay};
use loop_host::ledger::{self, Ledger};
use loop_host::paths::{is_root, text_of, user_home};
use loop_host::settings_files;
use serde_json::{Value, json};

use super::doctor::{mode_in_force, own_values};
use super::usage::{ledger_error, open_ledger};
use crate::context::{Context, Done, files_error};
use crate::render::error::{CommandError, Kind};
use crate::render::scores::{scores_as_json, scores_in_words};
use crate::render::table::table_on_screen;

const EXAMPLES: &str = "\
Examples:
  loop agents                 which agents are installed, their versions, who is signed in
  loop agents claude          how claude would be called, and which of your variables it would get
  loop agents --scores        what a pass cost with each agent in your own loops
  loop agents --json          the same for programs";

/// Show which agents are here and how they would be called
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AgentsArgs {
    /// Only this one, with every detail
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Show what the tries of each agent came to in your own loops: passes, cost, what --router learned expects
    #[arg(long)]
    scores: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// One agent as it was found.
struct Row {
    agent: Agent,
    path: Option<PathBuf>,
    version: Option<Result<String, String>>,
    sign_in: SignIn,
    chosen: AgentVariables,
}

pub(crate) fn run(context: &Context, args: &AgentsArgs) -> Done {
    if args.scores {
        return scores(context, args);
    }
    let agents = wanted(context, args.name.as_deref())?;
    let rows = look(agents);
    if args.json {
        let mode = mode_in_force(context);
        let sockets: Vec<String> = engine_sockets().iter().map(|path| text_of(path)).collect();
        let agents: Vec<Value> = rows.iter().map(as_json).collect();
        context.printer.json(&json!({
            "version": 1,
            "containment": {"mode": mode.name(), "misses": mode.misses()},
            "engine_sockets": sockets,
            "agents": agents,
            "models": models_as_json(&own_values(context).router.models, &rows),
        }));
        return Ok(0);
    }
    match (&args.name, rows.as_slice()) {
        (Some(_), [row]) => context.printer.answer(&details(row)),
        _ => context.printer.answer(&overview(context, &rows)),
    }
    Ok(0)
}

/// The results of all loops, or of one agent.
fn scores(context: &Context, args: &AgentsArgs) -> Done {
    let recorded = open_ledger(context)?.map(|ledger| ledger.scores()).transpose();
    let rows = recorded.map_err(|error| ledger_error(&error))?.unwrap_or_default();
    let shown: Vec<&ScoreRow> =
        rows.iter().filter(|row| args.name.as_ref().is_none_or(|name| *name == row.agent)).collect();
    if args.json {
        context.printer.json(&scores_as_json(&rows, &shown));
    } else {
        context.printer.answer(&scores_in_words(&rows, &shown));
    }
    Ok(0)
}

/// Those that were asked for: one by its name, or all.
fn wanted(context: &Context, name: Option<&str>) -> Result<Vec<Agent>, CommandError> {
    let described = settings_files::described(&context.home.config).map_err(|error| files_error(&error))?;
    let command = own_values(context).agent.agent_cmd.unwrap_or_default();
    let all: Vec<Agent> = Agent::names(&described).filter_map(|name| Agent::find(name, &described, &command)).collect();
    let Some(name) = name else { return Ok(all) };
    if let Some(agent) = all.iter().find(|agent| agent.name() == name) {
        return Ok(vec![agent.clone()]);
    }
    let error = CommandError::new(Kind::Wrong, format!("there is no agent {:?}", text::one_line(name, 40)))
        .because("loop does not know it, and your own config.toml does not describe it");
    Err(match nearest(name, all.iter().map(Agent::name)) {
        Some(near) => error.hint(format!("did you mean {near}?")),
        None => error.hint("loop agents lists all; describe your own as [agents.NAME] in config.toml"),
    })
}

fn look(agents: Vec<Agent>) -> Vec<Row> {
    let home = user_home();
    let mut rows: Vec<Row> = Vec::new();
    for agent in agents {
        let chosen = agent.environment(ambient(), &AgentEnv::default());
        let sign_in = sign_in(&agent, &chosen.passed, home.as_deref());
        let path = agent.program().and_then(find);
        rows.push(Row { agent, path, version: None, sign_in, chosen });
    }
    // Some have two names for one program, which is asked once.
    let mut asked: Vec<(PathBuf, BTreeMap<String, String>)> = Vec::new();
    for (path, row) in rows.iter().filter_map(|row| Some((row.path.as_ref()?, row))) {
        if !asked.iter().any(|(known, _)| known == path) {
            asked.push((path.clone(), row.chosen.passed.clone()));
        }
    }
    let paths: Vec<PathBuf> = asked.iter().map(|(path, _)| path.clone()).collect();
    let told: Vec<(PathBuf, Result<String, String>)> = paths.into_iter().zip(versions(asked)).collect();
    for row in &mut rows {
        let found = told.iter().find(|(path, _)| Some(path) == row.path.as_ref());
        row.version = found.map(|(_, version)| version.clone());
    }
    rows
}

fn overview(context: &Context, rows: &[Row]) -> String {
    let lines: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let place = match (&row.path, &row.agent) {
                (Some(path), _) => text_of(path),
                (None, Agent::Custom(command)) if command.is_empty() => "any command: --agent-cmd".to_owned(),
                (None, Agent::Custom(command)) => text::escaped_head(command, 60),
                (None, Agent::Known(_) | Agent::Described(_)) => missing(&row.agent),
            };
            vec![row.agent.name().to_owned(), version(row), tried(row), signed_in(row), place]
        })
        .collect();
    let mut text = table_on_screen(&["AGENT", "VERSION", "TRIED WITH", "SIGNED IN", "WHERE"], &lines);
    text.push('\n');
    for (row, why) in rows.iter().filter_map(|row| Some((row, row.version.as_ref()?.as_ref().err()?))) {
        text.push_str(&format!("{}: {why}\n", row.agent.name()));
    }
    let mode = mode_in_force(context);
    text.push_str(&format!("containment: {}; not caught: {}\n", mode.name(), mode.misses()));
    for socket in engine_sockets() {
        text.push_str(&format!(
            "you can use {}, and so can an agent: the processes that it starts there outlive the loop\n",
            text_of(&socket)
        ));
    }
    let router = own_values(context).router;
    text.push_str(&models_in_words(&router.models, rows));
    text.push_str(&used_today(context, &router));
    text.push_str("\nhow one is called, and what it gets:  loop agents NAME\n");
    text
}

/// The table of models, in the order of escalation.
fn models_in_words(table: &ModelTable, rows: &[Row]) -> String {
    let lines: Vec<Vec<String>> = table
        .rows()
        .iter()
        .map(|row| {
            let here = if is_installed(&row.agent, rows) { "yes" } else { "no" };
            vec![
                row.agent.clone(),
                row.model.clone(),
                row.strength.clone(),
                row.cost.to_string(),
                row.context_text(),
                here.to_owned(),
                row.use_for.clone(),
            ]
        })
        .collect();
    let table = table_on_screen(&["AGENT", "MODEL", "STRENGTH", "COST", "CONTEXT", "HERE", "FOR"], &lines);
    format!("\nmodels that --agent auto and escalation choose from, the cheapest first (setting: models):\n{table}")
}

/// How many calls of the scarcest model all loops made today.
fn used_today(context: &Context, router: &RouterSettings) -> String {
    let now = clock::now();
    let used = ledger::exists(&context.home.state)
        .then(|| {
            Ledger::open(&context.home.state).and_then(|ledger| ledger.scarce_calls(now, LocalDay::here(now.wall_ms)))
        })
        .and_then(Result::ok)
        .unwrap_or(0);
    let Some(row) = router.models.scarcest().filter(|_| used > 0 || router.opus_daily_limit.is_some()) else {
        return String::new();
    };
    let of = router.opus_daily_limit.map_or_else(String::new, |most| format!(" of {most}"));
    format!("{}: {used}{of} calls today, by all loops together\n", row.model)
}

fn is_installed(agent: &str, rows: &[Row]) -> bool {
    rows.iter().any(|row| row.agent.name() == agent && row.path.is_some())
}

fn models_as_json(table: &ModelTable, rows: &[Row]) -> Vec<Value> {
    let one = |row: &ModelRow| {
        json!({
            "agent": row.agent,
            "model": row.model,
            "strength": row.strength,
            "cost": row.cost.to_string(),
            "context_tokens": row.context_tokens,
            "for": row.use_for,
            "installed": is_installed(&row.agent, rows),
        })
    };
    table.rows().iter().map(one).collect()
}

fn missing(agent: &Agent) -> String {
    match agent.install() {
        "" => format!("{} is not on PATH", agent.program().unwrap_or_default()),
        install => format!("not installed: {install}"),
    }
}

fn version(row: &Row) -> String {
    match &row.version {
        None => "-".to_owned(),
        Some(Ok(version)) => number(version).unwrap_or(version).to_owned(),
        Some(Err(_)) => "?".to_owned(),
    }
}

/// The version that this was tried with: others may differ in their flags.
fn tried(row: &Row) -> String {
    match (&row.agent, row.agent.tried()) {
        (_, Some(tried)) => tried.to_owned(),
        (Agent::Known(_), None) => "untried".to_owned(),
        (Agent::Described(_), None) => "yours".to_owned(),
        (Agent::Custom(_), None) => "-".to_owned(),
    }
}

fn signed_in(row: &Row) -> String {
    match row.sign_in {
        SignIn::Key(name) => name.to_owned(),
        SignIn::File(file) => format!("~/{file}"),
        SignIn::NotSeen => "not seen".to_owned(),
        SignIn::Unknown => "-".to_owned(),
    }
}

fn details(row: &Row) -> String {
    let agent = &row.agent;
    let mut text = match (&row.path, &row.version) {
        (Some(path), Some(Ok(version))) => format!("{}: {version}, {}\n", agent.name(), text_of(path)),
        (Some(path), Some(Err(why))) => format!("{}: {} ({why})\n", agent.name(), text_of(path)),
        (Some(path), None) => format!("{}: {}\n", agent.name(), text_of(path)),
        (None, _) if matches!(agent, Agent::Custom(_)) => "custom: any command, by --agent-cmd\n".to_owned(),
        (None, _) => format!("{}: {}\n", agent.name(), missing(agent)),
    };
    text.push_str(&match (agent, agent.tried()) {
        (_, Some(tried)) => format!("tried with:  {tried}\n"),
        (Agent::Known(_), None) => "tried with:  untried; it is called by its documentation alone\n".to_owned(),
        (Agent::Described(_), None) => "described:   in your own settings\n".to_owned(),
        (Agent::Custom(_), None) => String::new(),
    });
    text.push_str(&match row.sign_in {
        SignIn::Key(name) => format!("signed in:   {name} is set\n"),
        SignIn::File(file) => format!("signed in:   as ~/{file} says\n"),
        SignIn::NotSeen => format!("signed in:   not seen from here\n             → {}\n", agent.sign_in()),
        SignIn::Unknown if agent.sign_in().is_empty() => String::new(),
        SignIn::Unknown => format!("signed in:   not known\n             → {}\n", agent.sign_in()),
    });
    if !agent.litter().is_empty() {
        text.push_str(&format!("leaves:      {}\n", agent.litter().join(", ")));
    }
    text.push_str(&calls_in_words(agent));
    text.push_str(&variables_in_words(&row.chosen));
    text
}

fn calls_in_words(agent: &Agent) -> String {
    let mut text = String::from("\nhow it is called, in the workspace:\n");
    for (word, permissions) in PERMISSIONS {
        let title = if permissions == Permissions::default() { format!("{word} (default)") } else { word.to_owned() };
        text.push_str(&format!("  --permissions {title}\n"));
        if !agent.can(permissions) {
            text.push_str("    not available: it is not known how to limit the agent to this\n");
            continue;
        }
        let call = call(agent, permissions);
        let env = call.env.iter().map(|(name, value)| format!("{name}={}", shell_words::join([value.as_str()])));
        let line: Vec<String> = env.chain([shell_words::join(call.argv.iter().map(String::as_str))]).collect();
        let stdin = match call.stdin {
            Stdin::Prompt => " < {prompt_file}",
            Stdin::Nothing => "",
        };
        text.push_str(&format!("    {}{stdin}\n", line.join(" ")));
        for (file, content) in &call.files {
            text.push_str(&format!("    with {file}: {}\n", text::one_line(content, 400)));
        }
    }
    if agent.system() == SystemBy::Prompt {
        text.push_str("  what is added to its system prompt stands in the prompt\n");
    }
    text
}

/// The call of a first iteration, with words in braces for what each attempt has of its own.
fn call(agent: &Agent, permissions: Permissions) -> AgentCommand {
    let nothing = BTreeMap::new();
    agent.call(&AttemptSpec {
        program: agent.program().unwrap_or_default(),
        harness: "loop",
        workspace: "{workspace}",
        folder: "{attempt}",
        prompt_file: "{prompt_file}",
        system: "{system}",
        system_file: "{system_file}",
        session: None,
        permissions,
        network: false,
        model: None,
        effort: None,
        args: &[],
        root: is_root(),
        budget: None,
        ambient: &nothing,
    })
}

fn variables_in_words(chosen: &AgentVariables) -> String {
    let (passed, withheld) = (chosen.passed.len(), chosen.withheld.len());
    let mut text = format!("\nyour variables: {passed} are passed on, {withheld} are not");
    if withheld == 0 {
        text.push('\n');
        return text;
    }
    text.push_str(" (--agent-env NAME passes one):\n");
    for why in [WithheldReason::Unlisted, WithheldReason::Secret, WithheldReason::Socket, WithheldReason::Marker] {
        let names: Vec<&str> =
            chosen.withheld.iter().filter(|(_, because)| **because == why).map(|(name, _)| name.as_str()).collect();
        if !names.is_empty() {
            text.push_str(&format!("  {}: {}\n", why.word(), names.join(", ")));
        }
    }
    text
}

fn as_json(row: &Row) -> Value {
    let agent = &row.agent;
    let kind = match agent {
        Agent::Known(_) => "known",
        Agent::Described(_) => "described",
        Agent::Custom(_) => "custom",
    };
    let (state, by) = match row.sign_in {
        SignIn::Key(name) => ("key", Some(name)),
        SignIn::File(file) => ("file", Some(file)),
        SignIn::NotSeen => ("not_seen", None),
        SignIn::Unknown => ("unknown", None),
    };
    let said = row.version.as_ref().and_then(|version| version.as_ref().ok());
    let why = row.version.as_ref().and_then(|version| version.as_ref().err());
    let withheld: BTreeMap<&str, &str> =
        row.chosen.withheld.iter().map(|(name, why)| (name.as_str(), why.word())).collect();
    json!({
        "name": agent.name(),
        "kind": kind,
        "program": agent.program(),
        "installed": row.path.is_some(),
        "path": row.path.as_ref().map(|path| text_of(path)),
        "version": said.and_then(|said| number(said)),
        "version_said": said,
        "version_error": why,
        "tried": agent.tried(),
        "install": agent.install(),
        "sign_in": {"state": state, "by": by, "hint": agent.sign_in()},
        "continues": agent.continues(),
        "calls": calls_as_json(agent),
        "variables": {"passed": row.chosen.passed.keys().collect::<Vec<_>>(), "withheld": withheld},
    })
}

fn calls_as_json(agent: &Agent) -> Value {
    let calls = PERMISSIONS.map(|(word, permissions)| {
        let told = agent.can(permissions).then(|| {
            let call = call(agent, permissions);
            let env: BTreeMap<String, String> = call.env.into_iter().collect();
            let files: BTreeMap<String, String> = call.files.into_iter().collect();
            json!({"argv": call.argv, "env": env, "files": files, "prompt_on_stdin": call.stdin == Stdin::Prompt})
        });
        (word.to_owned(), told.unwrap_or(Value::Null))
    });
    Value::Object(calls.into_iter().collect())
}
