//! The top of a workflow file, and what holds between its entries.
use std::collections::BTreeMap;

use super::entry::{self, ReadEntry};
use super::fields::{Fields, Use};
use super::graph;
use super::tree::{self, Pair, Tree, YamlNode};
use super::variables::{Variables, with_ports};
use super::{EnvVariable, FilePosition, HOOK_TIMEOUT_MS, Workflow, WorkflowEntry, WorkflowError};
use crate::plan::{HOOK_BYTES_MAX, HOOKS_MAX, NODES_MAX, OnConflict};
use crate::settings::{Kind, catalogue, micros, millis};
use crate::text;

/// A larger file is not read.
const FILE_BYTES_MAX: usize = 1024 * 1024;
/// So many loops may work at once.
pub(super) const PARALLEL_MAX: u32 = 64;
/// So many variables may stand in `env`.
const ENV_MAX: usize = 64;

/// The text of a file, and its name for people.
#[derive(Debug, Clone, Copy)]
pub struct WorkflowSource<'a> {
    pub text: &'a str,
    pub file: &'a str,
}

/// The keys of the top, in the order in which hints and the schema name them.
pub(super) const TOP_KEYS: [&str; 10] = [
    "name",
    "description",
    "env",
    "loops",
    "parallel",
    "budget",
    "on_conflict",
    "hook_timeout",
    "on_complete",
    "on_failure",
];

/// The words of `on_conflict`.
pub(super) const CONFLICT_WORDS: [&str; 3] = ["stop", "rerun", "agent"];

/// What people write for a key of another name.
const OTHER_TOP_NAMES: [(&str, &str); 14] = [
    ("tasks", "loops"),
    ("jobs", "loops"),
    ("steps", "loops"),
    ("nodes", "loops"),
    ("vars", "env"),
    ("variables", "env"),
    ("environment", "env"),
    ("max_cost", "budget"),
    ("concurrency", "parallel"),
    ("max_parallel", "parallel"),
    ("conflict", "on_conflict"),
    ("on_success", "on_complete"),
    ("on_error", "on_failure"),
    ("finally", "on_complete"),
];

/// Reads a workflow file. With [`Variables::with_unset`], a variable without a value stays as it is written.
///
/// # Errors
/// Everything that is wrong with the file, in the order of its lines.
pub fn read(source: WorkflowSource<'_>, variables: &Variables) -> Result<Workflow, Vec<WorkflowError>> {
    let mut fields = Fields::new(source.text, source.file, variables);
    if source.text.len() > FILE_BYTES_MAX {
        let what = format!("the file is larger than {FILE_BYTES_MAX} bytes");
        fields.faults.at(
            FilePosition { line: 1, column: 1 },
            what,
            "put long prompts into files of the workspace, and name them in the prompt",
        );
        return Err(fields.faults.sorted());
    }
    let root = match tree::parse(source.text) {
        Ok(root) => root,
        Err(broken) => {
            let hint = hint_for(source.text, broken.at.line);
            fields.faults.at(broken.at, format!("not valid YAML: {}", broken.why), hint);
            return Err(fields.faults.sorted());
        }
    };
    let workflow = Top::default().read(&mut fields, &root);
    fields.check_unused(&root);
    match workflow {
        Some(workflow) if fields.faults.is_empty() => Ok(workflow),
        Some(_) | None => Err(fields.faults.sorted()),
    }
}

/// What to do about a line that is not YAML.
fn hint_for(text: &str, number: usize) -> String {
    let line = |number: usize| text.lines().nth(number.wrapping_sub(1)).unwrap_or_default();
    let is_unquoted = |line: &str| {
        let value = line.split_once(": ").map_or(line.trim_start().trim_start_matches("- "), |(_, value)| value);
        value.trim_start().trim_start_matches("- ").starts_with("{{")
    };
    let near = [number, number.saturating_sub(1), number + 1];
    if let Some(number) = near.into_iter().find(|number| is_unquoted(line(*number))) {
        return format!("line {number}: a value that begins with a variable needs quotes: \"{{{{name}}}} …\"");
    }
    let indentation =
        |line: &str| line.chars().take_while(|letter| letter.is_whitespace()).any(|letter| letter == '\t');
    if near.into_iter().any(|number| indentation(line(number))) {
        return "YAML takes no tabs for indentation: use spaces".to_owned();
    }
    let is_open = |line: &str| line.replace("\\\"", "").matches('"').count() % 2 == 1;
    if let Some(number) = near.into_iter().find(|number| is_open(line(*number))) {
        return format!("line {number}: close the quote");
    }
    "put the value in quotes, or fix the indentation".to_owned()
}

/// What the top of the file says, as it is read.
#[derive(Default)]
struct Top {
    name: Option<String>,
    description: Option<String>,
    env: Vec<EnvVariable>,
    entries: Option<Vec<ReadEntry>>,
    parallel: Option<u32>,
    budget_micros: Option<u64>,
    on_conflict: OnConflict,
    hook_timeout_ms: Option<u64>,
    on_complete: Vec<String>,
    on_failure: Vec<String>,
}

impl Top {
    fn read(mut self, fields: &mut Fields<'_>, root: &YamlNode) -> Option<Workflow> {
        let Tree::Map(pairs) = &root.tree else {
            let what = format!("a workflow file is a map of keys, not {}", root.describe());
            fields.faults.at(root.at, what, "begin with name: and loops:");
            return None;
        };
        for (name, pair) in keys_of(fields, pairs) {
            self.take(fields, name, pair);
        }
        if self.entries.is_none()
            && !pairs.iter().any(|pair| matches!(&pair.key.tree, Tree::Text(key) if key == "loops"))
        {
            fields.faults.at(root.at, "the key loops is missing", "add loops: with at least one loop");
        }
        let of_commands = fields.take_answers();
        let named: Vec<_> = self.entries.iter().flatten().map(|entry| entry.answers.clone()).collect();
        let entries = resolve(fields, self.entries?);
        let workflow = Workflow {
            name: self.name.unwrap_or_else(|| stem(fields.file)),
            description: self.description,
            env: self.env,
            entries,
            parallel: self.parallel,
            budget_micros: self.budget_micros,
            on_conflict: self.on_conflict,
            hook_timeout_ms: self.hook_timeout_ms.unwrap_or(HOOK_TIMEOUT_MS),
            on_complete: self.on_complete,
            on_failure: self.on_failure,
        };
        // Only a file whose entries are all there has places to look at.
        if named.len() == workflow.entries.len() {
            check_answers(fields, &workflow, &named, &of_commands);
        }
        Some(workflow)
    }

    fn take(&mut self, fields: &mut Fields<'_>, name: &str, pair: &Pair) {
        let value = &pair.value;
        match name {
            "name" => self.name = fields.text(value, name, Use::Entry).map(|name| text::one_line(&name, 100)),
            "description" => self.description = fields.text(value, name, Use::Plain),
            "env" => self.env = env(fields, value),
            "loops" => self.entries = entries(fields, value),
            "parallel" => {
                let kind = Kind::CountOrUnlimited(PARALLEL_MAX);
                let count = fields.amount(value, name, kind);
                self.parallel = count.map(|count| count.parse().unwrap_or(PARALLEL_MAX));
            }
            "budget" => {
                self.budget_micros = fields.amount(value, name, Kind::MoneyOrUnlimited).and_then(|text| micros(&text));
            }
            "on_conflict" => {
                let word = fields.amount(value, name, Kind::Choice(&CONFLICT_WORDS));
                self.on_conflict = match word.as_deref() {
                    Some("rerun") => OnConflict::Rerun,
                    Some("agent") => OnConflict::Agent,
                    Some(_) | None => OnConflict::Stop,
                };
            }
            "hook_timeout" => {
                self.hook_timeout_ms = fields.amount(value, name, Kind::Duration).and_then(|text| millis(&text));
                if self.hook_timeout_ms.is_some_and(|ms| ms > HOOK_TIMEOUT_MS) {
                    let hint = "start what takes longer in the background, or make it a loop";
                    fields.faults.at(value.at, "hook_timeout is at most 10m", hint);
                }
            }
            "on_complete" => self.on_complete = hooks(fields, value, name, Use::Shell),
            "on_failure" => self.on_failure = hooks(fields, value, name, Use::FailureHook),
            unknown => unknown_top(fields, unknown, &pair.key),
        }
    }
}

/// The keys of a map that are texts, each once. What is not is reported.
pub(super) fn keys_of<'n>(fields: &mut Fields<'_>, pairs: &'n [Pair]) -> Vec<(&'n str, &'n Pair)> {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut all = Vec::new();
    for pair in pairs {
        let Some(key) = fields.word(&pair.key, "a key") else { continue };
        if let Some(line) = seen.get(key) {
            let what = format!("the key {key} is there twice: also in line {line}");
            fields.faults.at(pair.key.at, what, "delete one of them");
            continue;
        }
        seen.insert(key, pair.key.at.line);
        all.push((key, pair));
    }
    all
}

fn unknown_top(fields: &mut Fields<'_>, name: &str, key: &YamlNode) {
    let other = OTHER_TOP_NAMES.iter().find(|(other, _)| *other == name).map(|(_, key)| *key);
    let setting = if other.is_none() { hint_for_setting(name) } else { None };
    let hint = match (setting, other.or_else(|| text::nearest(name, TOP_KEYS))) {
        (Some(hint), _) => hint,
        (None, Some(near)) => format!("did you mean {near}?"),
        (None, None) => format!("the keys are {}", TOP_KEYS.join(", ")),
    };
    fields.faults.at(key.at, format!("unknown key {}", text::escaped_head(name, 60)), hint);
}

/// What to do with a setting that stands at the top of a file; none where no setting has this name.
fn hint_for_setting(name: &str) -> Option<String> {
    if let Some((_, _, hint)) = entry::NOT_IN_A_WORKFLOW.iter().find(|(refused, ..)| *refused == name) {
        return Some(format!("{name} is not possible in a workflow; {hint}"));
    }
    let setting = catalogue().find(|known| known.name == name)?;
    // `loop workflow run` refuses these.
    if ["promise", "gate", "no_promise"].contains(&name) {
        return Some(format!("{name} belongs to a loop: give it to each loop"));
    }
    if ["notify", "notification_cmd"].contains(&name) {
        return Some(format!("a workflow does not use {name} yet; use on_complete and on_failure"));
    }
    let flag = setting.flag.long;
    Some(format!("{name} belongs to a loop; for all loops give it to loop workflow run FILE: --{flag}"))
}

fn env(fields: &mut Fields<'_>, node: &YamlNode) -> Vec<EnvVariable> {
    let Tree::Map(pairs) = &node.tree else {
        fields.wrong_kind(node, "env", "a map of names and values");
        return Vec::new();
    };
    if pairs.len() > ENV_MAX {
        fields.faults.at(
            node.at,
            format!("env has more than {ENV_MAX} variables"),
            "put them into a file of the workspace",
        );
    }
    let mut all = Vec::new();
    for (name, pair) in keys_of(fields, pairs) {
        if let Some(hint) = bad_env_name(name) {
            let name = text::escaped_head(name, 60);
            fields.faults.at(pair.key.at, format!("{name} cannot be a variable of the environment here"), hint);
        }
        let Some(value) = fields.scalar(&pair.value, name, "a text", Use::Env) else { continue };
        if with_ports(&value, 0, 0).contains('\0') {
            fields.faults.at(pair.value.at, format!("the value of {name} has a NUL byte"), "take it out");
        }
        all.push(EnvVariable { name: name.to_owned(), value });
    }
    all
}

/// Why a name cannot be used; none if it can.
fn bad_env_name(name: &str) -> Option<&'static str> {
    let first = name.chars().next().is_some_and(|letter| letter.is_ascii_alphabetic() || letter == '_');
    if !first || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return Some("use letters, digits and underscores, for example FEATURE_NAME");
    }
    if name.starts_with("LOOP_") {
        return Some("names that begin with LOOP_ are for loop itself: use another name");
    }
    if name.starts_with("ANSWER_") {
        return Some("names that begin with ANSWER_ are for answers to questions: use another name");
    }
    crate::agent::is_token(name).then_some("the tokens of an agent never reach a gate: set it where loop is started")
}

fn hooks(fields: &mut Fields<'_>, node: &YamlNode, name: &str, how: Use) -> Vec<String> {
    let Some(items) = fields.items(node, name) else { return Vec::new() };
    if items.len() > HOOKS_MAX {
        fields.faults.at(node.at, format!("{name} has more than {HOOKS_MAX} commands"), "put them into a script");
    }
    let mut all = Vec::new();
    for item in items {
        let Some(command) = fields.text(item, name, how) else { continue };
        match crate::settings::parse_value(Kind::Command, &command) {
            Ok(command) if command.len() > HOOK_BYTES_MAX => {
                let what = format!("{name}: a command is longer than {HOOK_BYTES_MAX} bytes");
                fields.faults.at(item.at, what, "put it into a script and name that");
            }
            Ok(command) => all.push(command),
            Err(refusal) => fields.faults.at(item.at, format!("{name}: {}", refusal.why), refusal.hint),
        }
    }
    all
}

fn entries(fields: &mut Fields<'_>, node: &YamlNode) -> Option<Vec<ReadEntry>> {
    let Tree::List(items) = &node.tree else {
        fields.wrong_kind(node, "loops", "a list of loops");
        return None;
    };
    if items.is_empty() || items.len() > NODES_MAX {
        let what = format!("loops has {} entries; there must be 1 to {NODES_MAX}", items.len());
        fields.faults.at(node.at, what, "add a loop with id, prompt and promise, or divide the file");
        return None;
    }
    Some(items.iter().filter_map(|item| entry::read(fields, item)).collect())
}

/// Looks at the questions whose answers are named: each must be there, and be answered before.
fn check_answers(
    fields: &mut Fields<'_>,
    workflow: &Workflow,
    named: &[Vec<(String, FilePosition)>],
    of_commands: &[(String, FilePosition)],
) {
    let is_question = |id: &str| {
        workflow.entries.iter().any(|entry| entry.id == id && matches!(entry.work, super::EntryWork::Ask(_)))
    };
    for (place, answers) in named.iter().enumerate() {
        let before = workflow.questions_before(place);
        let is_before =
            |id: &str| before.iter().filter_map(|place| workflow.entries.get(*place)).any(|question| question.id == id);
        for (id, at) in answers.iter().filter(|(id, _)| is_question(id) && !is_before(id)) {
            let own = workflow.entries.get(place).map_or("it", |entry| entry.id.as_str());
            let what = format!("{{{{answer.{id}}}}} is not known here: {own} does not wait for {id}");
            fields.faults.at(*at, what, format!("add {id} to depends_on of {own}"));
        }
    }
    for (id, at) in named.iter().flatten().chain(of_commands).filter(|(id, _)| !is_question(id)) {
        let questions = workflow.entries.iter().filter(|entry| is_question(&entry.id));
        let hint = match text::nearest(id, questions.map(|entry| entry.id.as_str())) {
            Some(near) => format!("did you mean {{{{answer.{near}}}}}?"),
            None => "name an entry that has ask:".to_owned(),
        };
        fields.faults.at(*at, format!("no question has the id {id}"), hint);
    }
    let variables: Vec<(String, &WorkflowEntry)> = (workflow.entries.iter().filter(|entry| is_question(&entry.id)))
        .map(|entry| (super::answer_variable(&entry.id), entry))
        .collect();
    for (at, (variable, entry)) in variables.iter().enumerate() {
        let other = variables.iter().take(at).find(|(known, _)| known == variable);
        if let Some((_, other)) = other {
            let what = format!("the answers to {} and {} would have one variable, {variable}", other.id, entry.id);
            let at = FilePosition { line: entry.line, column: 1 };
            fields.faults.at(at, what, "choose ids that differ in letters or digits");
        }
    }
}

/// Looks at ids and what depends on what. Entries without an id are left out.
fn resolve(fields: &mut Fields<'_>, read: Vec<ReadEntry>) -> Vec<WorkflowEntry> {
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for (place, entry) in read.iter().enumerate() {
        let Some(id) = &entry.id else { continue };
        match places.get(id).and_then(|first| read.get(*first)) {
            Some(first) => {
                let what = format!("two loops have the id {id}: also in line {}", first.at.line);
                fields.faults.at(entry.at, what, "give each its own id");
            }
            None => drop(places.insert(id.clone(), place)),
        }
    }
    let mut edges: Vec<Vec<graph::Edge>> = Vec::new();
    for entry in &read {
        let mut of_entry: Vec<graph::Edge> = Vec::new();
        for (name, at) in &entry.depends_on {
            let Some(place) = places.get(name) else {
                let hint = match text::nearest(name, places.keys().map(String::as_str)) {
                    Some(near) => format!("did you mean {near}?"),
                    None => format!("the ids are {}", places.keys().take(8).cloned().collect::<Vec<_>>().join(", ")),
                };
                fields.faults.at(*at, format!("no loop has the id {}", text::escaped_head(name, 60)), hint);
                continue;
            };
            if of_entry.iter().any(|edge| edge.to == *place) {
                fields.faults.at(*at, format!("{name} is in this list twice"), "delete one of them");
                continue;
            }
            of_entry.push(graph::Edge { to: *place, at: *at });
        }
        edges.push(of_entry);
    }
    let name = |place: usize| read.get(place).and_then(|entry| entry.id.as_deref()).unwrap_or("?");
    for circle in graph::circles(&edges) {
        let path: Vec<&str> = circle.path.iter().map(|place| name(*place)).collect();
        let what = format!("these loops wait for each other: {}", path.join(" → "));
        let last = path.get(path.len().saturating_sub(2)).copied().unwrap_or_default();
        let hint = format!("take {} out of depends_on of {last}", path.last().copied().unwrap_or_default());
        fields.faults.at(circle.at, what, hint);
    }
    let whole = read.into_iter().zip(edges).filter_map(|(entry, edges)| {
        let depends_on = edges.into_iter().map(|edge| edge.to).collect();
        Some(WorkflowEntry { id: entry.id?, line: entry.at.line, depends_on, work: entry.work? })
    });
    whole.collect()
}

/// The name of a file without its folder and ending.
fn stem(file: &str) -> String {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.strip_suffix(".yaml").or_else(|| name.strip_suffix(".yml")).unwrap_or(name).to_owned()
}
