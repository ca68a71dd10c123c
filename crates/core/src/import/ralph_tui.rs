//! ralph-tui: `.ralph-tui/config.toml`, and `prd.json` beside it.
use super::account::{KeyRule, KeyRules, LinesOfSource, Mapping, OTHER_COMMAND, UNKNOWN_KEY, from_milliseconds};
use super::leaves::{Leaf, of_toml};
use super::tool::ImportSource;
use super::{ImportError, agent_flags, prd};
use crate::agent::registry::adapter;
use crate::agent::shell_words;
use crate::settings::{UNLIMITED, keys};

const OWN_TASKS: &str = "where tasks come from: a later command reads lists of tasks";
const OWN_LOOKS: &str = "about its own screen";
const OWN_PARALLEL: &str = "work in parallel is a matter of `loop workflow` and --best-of";
const OWN_RETRY: &str = "loop waits as long as the provider says; see on_failure";

/// The keys that need no thought.
const RULES: KeyRules = &[
    ("iterationDelay", KeyRule::Milliseconds(keys::delay(), "none")),
    ("configVersion", KeyRule::Left("the version of its own format")),
    ("outputDir", KeyRule::Left("loop keeps the outputs in its own folder; see loop history")),
    ("progressFile", KeyRule::Left("loop keeps its own history; add a file of notes by --inject")),
    ("subagentTracingDetail", KeyRule::Left(OWN_LOOKS)),
    ("skills_dir", KeyRule::Left("skills of the agent stay where the agent finds them")),
    ("prompt_template", KeyRule::Left("its values come from the list of tasks, which a later command will read")),
    ("worktree", KeyRule::Left(OWN_PARALLEL)),
    ("tracker", KeyRule::Later(OWN_TASKS)),
    ("defaultTracker", KeyRule::Later(OWN_TASKS)),
    ("fallbackAgents", KeyRule::Left("a loop has one agent; `loop set ID agent=NAME` changes it")),
    ("envExclude", KeyRule::Left("loop passes only variables that an agent needs; see loop agents NAME")),
    ("sandbox.network", KeyRule::Left("see --agent-network")),
];

/// Groups of keys that have no counterpart.
const GROUPS: &[(&str, &str)] = &[
    ("trackers[", OWN_TASKS),
    ("trackerOptions", OWN_TASKS),
    ("errorHandling", OWN_RETRY),
    ("rateLimitHandling", OWN_RETRY),
    ("sandbox", "loop has no such sandbox; see --image and --container"),
    ("images", OWN_LOOKS),
    ("notifications", OWN_LOOKS),
    ("parallel", OWN_PARALLEL),
    ("conflictResolution", OWN_PARALLEL),
];

/// Maps what was found.
pub(super) fn map(source: &ImportSource) -> Result<Mapping, ImportError> {
    let mut mapping = Mapping::default();
    for file in &source.files {
        if file.name.ends_with(".json") {
            prd::map(&mut mapping, file)?;
            continue;
        }
        let leaves = of_toml(&file.text, &file.name)?;
        let chosen = Chosen::of(&leaves);
        for leaf in &leaves {
            map_leaf(&mut mapping, &file.name, leaf, &chosen);
        }
    }
    if source.files.iter().any(|file| file.name.ends_with(".json")) {
        let say = "the list in prd.json is not imported: until a command reads it, name one story in the task";
        mapping.notes.push(say.to_owned());
    }
    Ok(mapping)
}

/// The agent that the file chooses.
struct Chosen {
    /// By its name or the kind of its plugin.
    name: String,
    /// Its table, if it has one: `agents[0].`.
    table: Option<String>,
}

impl Chosen {
    fn of(leaves: &[Leaf]) -> Self {
        let text = |path: &str| leaves.iter().find(|leaf| leaf.path == path).map(Leaf::text);
        let tables: Vec<String> = leaves
            .iter()
            .filter_map(|leaf| leaf.path.strip_prefix("agents[")?.strip_suffix("].name").map(str::to_owned))
            .map(|number| format!("agents[{number}]."))
            .collect();
        let named = text("agent").or_else(|| text("defaultAgent"));
        let is_it = |table: &&String| match &named {
            Some(name) => text(&format!("{table}name")).as_ref() == Some(name),
            None => text(&format!("{table}default")).as_deref() == Some("true"),
        };
        let table = tables.iter().find(is_it).cloned();
        let plugin = table.as_ref().and_then(|table| text(&format!("{table}plugin")));
        Self { name: plugin.or(named).unwrap_or_default(), table }
    }
}

/// The name that loop has for an agent.
fn ours(name: &str) -> Option<&'static str> {
    let name = match name {
        "claude-code" => "claude",
        "cursor-agent" => "cursor",
        "github-copilot" | "copilot-cli" => "copilot",
        "gemini-cli" => "gemini",
        other => other,
    };
    adapter(name).map(|adapter| adapter.name)
}

fn map_leaf(mapping: &mut Mapping, file: &str, leaf: &Leaf, chosen: &Chosen) {
    let value = leaf.text();
    let (file, what) = (file.to_owned(), leaf.path.clone());
    let at = LinesOfSource { file, from: leaf.from, to: leaf.to, what, value: value.replace('\n', ", ") };
    if let Some(rest) = chosen.table.as_ref().and_then(|table| leaf.path.strip_prefix(table.as_str())) {
        return map_agent(mapping, at, rest, &value);
    }
    match leaf.path.as_str() {
        "agent" | "defaultAgent" => choose(mapping, at, chosen),
        "maxIterations" if value == "0" => mapping.set(at, keys::max_iterations(), UNLIMITED),
        "maxIterations" => mapping.set(at, keys::max_iterations(), &value),
        "autoCommit" if value == "true" => mapping.set(at, keys::commit(), "true"),
        "autoCommit" => mapping.left(at, "loop commits only where --commit says so"),
        "notifications.enabled" if value == "true" => mapping.set(at, keys::notify(), "true"),
        "notifications.enabled" => mapping.left(at, "loop notifies only where --notify says so"),
        "command" | "agentCommand" => mapping.left(at, OTHER_COMMAND),
        "envPassthrough" if !value.contains('*') => {
            mapping.set(at, keys::agent_env(), &value.replace('\n', ","));
        }
        "envPassthrough" => mapping.left(at, "agent_env takes whole names"),
        path if path.starts_with("agents[") => {
            mapping.left(at, "another agent: a loop has one; `loop set ID agent=NAME` changes it");
        }
        path => match path.strip_prefix("agentOptions.") {
            Some(rest) => map_agent(mapping, at, &format!("options.{rest}"), &value),
            None if mapping.follow(&at, RULES, &value) => {}
            None => match GROUPS.iter().find(|(group, _)| path.starts_with(group)) {
                Some((_, why)) if *why == OWN_TASKS => mapping.later(at, *why),
                Some((_, why)) => mapping.left(at, *why),
                None => mapping.left(at, UNKNOWN_KEY),
            },
        },
    }
}

fn choose(mapping: &mut Mapping, at: LinesOfSource, chosen: &Chosen) {
    match ours(&chosen.name) {
        Some(name) => mapping.set(at, keys::agent(), name),
        None => mapping.left(at, "loop does not know this agent; describe it as [agents.NAME] in your own config.toml"),
    }
}

/// A key of the agent that is chosen.
fn map_agent(mapping: &mut Mapping, at: LinesOfSource, key: &str, value: &str) {
    match key {
        "name" | "default" => mapping.left(at, "says which agent is meant"),
        "plugin" => match ours(value) {
            Some(name) => mapping.set(at, keys::agent(), name),
            None => mapping.left(at, "loop does not know this agent; see loop agents"),
        },
        "options.model" | "model" => mapping.set(at, keys::agent_model(), value),
        "defaultFlags" => agent_flags::map(mapping, &at, &shell_words::join(value.lines())),
        "timeout" if value == "0" => mapping.left(at, "without a limit; loop's own limit of an iteration holds"),
        "timeout" => mapping.set(at, keys::timeout(), &from_milliseconds(value)),
        "command" => mapping.left(at, OTHER_COMMAND),
        _ => mapping.left(at, "an option of its own; give flags of the agent behind -- or as agent_args"),
    }
}
