//! ralph-claude-code: `.ralphrc`, and in `.ralph/` the prompt, the list of tasks and the notes on building.
use super::account::{KeyRule, KeyRules, LinesOfSource, Mapping, OTHER_COMMAND, PROMPT_FILE, UNKNOWN_KEY};
use super::assignments::{Assigned, SourceAssignment, of_shell};
use super::task_list::{Boxes, LATER, prompt};
use super::tool::{ImportSource, SourceFile};
use crate::settings::keys;

const RC: &str = ".ralphrc";
const OWN_TASKS: &str = "where tasks come from: a later command reads lists of tasks";
const OWN_SANDBOX: &str = "a sandbox that loop does not have; see --image and --container";
const OWN_UPDATE: &str = "loop neither updates the agent's program nor asks for a version of it";

/// The keys that need no thought.
const RULES: KeyRules = &[
    ("PROJECT_NAME", KeyRule::To(keys::project(), "")),
    ("MAX_CALLS_PER_HOUR", KeyRule::To(keys::max_calls_per_hour(), "")),
    ("CLAUDE_TIMEOUT_MINUTES", KeyRule::To(keys::timeout(), "m")),
    ("SESSION_EXPIRY_HOURS", KeyRule::To(keys::session_expiry(), "h")),
    ("CB_NO_PROGRESS_THRESHOLD", KeyRule::To(keys::max_no_progress(), "")),
    ("CB_SAME_ERROR_THRESHOLD", KeyRule::To(keys::max_same_error(), "")),
    ("CB_OUTPUT_DECLINE_THRESHOLD", KeyRule::To(keys::output_decline(), "")),
    ("MAX_CONSECUTIVE_TEST_LOOPS", KeyRule::To(keys::max_test_only(), "")),
    ("MAX_CONSECUTIVE_DONE_SIGNALS", KeyRule::To(keys::completion_threshold(), "")),
    ("CLAUDE_MODEL", KeyRule::To(keys::agent_model(), "")),
    ("PROJECT_TYPE", KeyRule::Left("loop has no kinds of projects")),
    ("CLAUDE_OUTPUT_FORMAT", KeyRule::Left("loop chooses the output of each agent itself")),
    (
        "ALLOWED_TOOLS",
        KeyRule::Left("you alone say what the agent may do: see --permissions, or give --allowedTools behind --"),
    ),
    ("MAX_TOKENS_PER_HOUR", KeyRule::Left("tokens are limited for a loop (max_tokens) or of a day, not of an hour")),
    (
        "CB_COOLDOWN_MINUTES",
        KeyRule::Left("a loop that the breaker ended does not start again by itself; see loop resume"),
    ),
    ("CB_AUTO_RESET", KeyRule::Left("`loop resume` closes the breaker; see breaker_reset")),
    ("TEST_PERCENTAGE_THRESHOLD", KeyRule::Left("loop counts iterations in a row, not a share of them")),
    ("CLAUDE_AUTO_UPDATE", KeyRule::Left(OWN_UPDATE)),
    ("CLAUDE_MIN_VERSION", KeyRule::Left(OWN_UPDATE)),
    ("RALPH_VERBOSE", KeyRule::Left("give -v to loop start")),
    ("RALPH_SHELL_INIT_FILE", KeyRule::Left("import names no file that a shell would run")),
    ("TASK_SOURCES", KeyRule::Later(OWN_TASKS)),
    ("GITHUB_TASK_LABEL", KeyRule::Later(OWN_TASKS)),
    ("BEADS_FILTER", KeyRule::Later(OWN_TASKS)),
    ("SANDBOX_DOCKER_MEMORY", KeyRule::Left("give the limit to the container, and name it by --container")),
    ("SANDBOX_DOCKER_CPUS", KeyRule::Left("give the limit to the container, and name it by --container")),
];

/// Maps what was found.
pub(super) fn map(source: &ImportSource) -> Mapping {
    let mut mapping = Mapping::default();
    let files = &source.files;
    if files.iter().any(|file| file.name != "fix_plan.md" && file.name != "@fix_plan.md") {
        // Where only a list was found, any agent may have worked on it.
        mapping.set(LinesOfSource::tool("ralph-claude-code runs Claude Code"), keys::agent(), "claude");
    }
    let assignments = files.iter().find(|file| file.name == RC).map(|file| of_shell(&file.text)).unwrap_or_default();
    let roles = Roles::of(&assignments);
    for assignment in &assignments {
        map_assignment(&mut mapping, assignment, &assignments);
    }
    let find = |names: &[String]| names.iter().find_map(|name| files.iter().find(|file| file.name == *name));
    let (task, list, notes) = (find(&roles.prompt), find(&roles.list), find(&roles.agent));
    if let Some(file) = task {
        mapping.copy_prompt(LinesOfSource::whole(&file.name, &file.text, "the prompt"), file.text.clone());
    }
    if let Some(file) = list {
        let what = format!("a list, {}", Boxes::of(&file.text).words());
        mapping.later(LinesOfSource::whole(&file.name, &file.text, what), LATER);
        if task.is_none() {
            mapping.make_prompt(prompt(&file.name));
        }
    }
    if let Some(file) = notes {
        map_notes(&mut mapping, file, task);
    }
    let known = [task, list, notes].map(|file| file.map(|file| file.name.as_str()));
    for file in files.iter().filter(|file| file.name != RC && !known.contains(&Some(file.name.as_str()))) {
        let why = "stays where it is: not the prompt, the list or the notes that .ralphrc names";
        mapping.left(LinesOfSource::whole(&file.name, &file.text, "a text"), why);
    }
    mapping
}

/// Notes on building are given to the agent where the prompt does not tell it to read them.
fn map_notes(mapping: &mut Mapping, file: &SourceFile, task: Option<&SourceFile>) {
    let at = LinesOfSource::whole(&file.name, &file.text, "notes for the agent");
    let name = file.name.rsplit('/').next().unwrap_or_default();
    if task.is_some_and(|task| task.text.contains(name)) {
        mapping.left(at, "stays where it is: the prompt names it");
    } else {
        mapping.set(at, keys::inject(), &file.name);
    }
}

/// Which names the files may have, the first first.
struct Roles {
    prompt: Vec<String>,
    list: Vec<String>,
    agent: Vec<String>,
}

impl Roles {
    fn of(assignments: &[SourceAssignment]) -> Self {
        let names = |key: &str, usual: &[&str]| {
            let set = assignments.iter().rfind(|assignment| assignment.name == key);
            let set = set.map(|assignment| assignment.value.shown());
            let usual = usual.iter().map(|name| (*name).to_owned());
            set.into_iter().chain(usual).flat_map(|name| [format!(".ralph/{name}"), name]).collect()
        };
        Self {
            prompt: names("PROMPT_FILE", &["PROMPT.md"]),
            list: names("FIX_PLAN_FILE", &["fix_plan.md", "@fix_plan.md"]),
            agent: names("AGENT_FILE", &["AGENT.md", "@AGENT.md"]),
        }
    }
}

fn map_assignment(mapping: &mut Mapping, assignment: &SourceAssignment, all: &[SourceAssignment]) {
    let value = assignment.value.shown();
    let at = LinesOfSource {
        file: RC.to_owned(),
        from: assignment.from,
        to: assignment.to,
        what: assignment.name.clone(),
        value: value.clone(),
    };
    if let Assigned::ShellCode(_) = assignment.value {
        return mapping.left(at, "only a shell that runs it knows the value, and import runs nothing");
    }
    let docker = all.iter().any(|other| other.name == "SANDBOX_PROVIDER" && other.value.shown() == "docker");
    match assignment.name.as_str() {
        "SESSION_CONTINUITY" => {
            let word = if value == "true" { "continue" } else { "fresh" };
            mapping.set(at, keys::session(), word);
        }
        "CLAUDE_CODE_CMD" if value == "claude" => mapping.set(at, keys::agent(), "claude"),
        "CLAUDE_CODE_CMD" => mapping.left(at, OTHER_COMMAND),
        "PROMPT_FILE" => mapping.left(at, format!("says which file is the prompt; it becomes {PROMPT_FILE}")),
        "FIX_PLAN_FILE" | "AGENT_FILE" => mapping.left(at, "says which file is meant; see there"),
        "SANDBOX_PROVIDER" if docker => mapping.left(at, "an image makes loop use a container"),
        "SANDBOX_DOCKER_IMAGE" if docker => mapping.set(at, keys::image(), &value),
        "SANDBOX_DOCKER_NETWORK" if docker => {
            let has = if value == "none" { "false" } else { "true" };
            mapping.set(at, keys::agent_network(), has);
        }
        name if name.starts_with("SANDBOX_") && !name.ends_with("MEMORY") && !name.ends_with("CPUS") => {
            mapping.left(at, OWN_SANDBOX);
        }
        _ if mapping.follow(&at, RULES, &value) => {}
        _ => mapping.left(at, UNKNOWN_KEY),
    }
}
