//! `[agents.NAME]` in a settings file: agents that a person describes, read by serde into [`Described`].
//!
//! Serde gives the path of the key that is wrong, and the path gives the line.
use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use serde_path_to_error::Segment;
use toml_edit::{Document, Item, TableLike};

use super::error::SettingsError;
use super::files::{line_of_yaml, place};
use crate::agent::described::{ARGS, ByPermissions, OutputFormat, PLACEHOLDERS, PromptBy, Success, placeholders};
use crate::agent::error_words::ErrorWords;
use crate::agent::{Agent, AgentEnv, Described, Failure, StopSignal, shell_words};
use crate::refusal::Refusal;
use crate::text::{nearest, one_line};

/// The table that holds them.
pub(super) const TABLE: &str = "agents";
/// So many may be described.
const AGENTS_MAX: usize = 32;
/// A name of more letters breaks every table.
const NAME_LETTERS_MAX: usize = 32;
/// One description in all: it becomes part of a fact.
const BYTES_MAX: usize = 6 * 1024;

/// A shorter word would stand in messages by chance.
const ERROR_WORD_LETTERS_MIN: usize = 3;

/// What serde says where neither a list nor a line is given.
const LIST: &str = "it must be a list of texts";

/// What is read of a settings file here.
#[derive(Deserialize)]
struct SettingsFile {
    #[serde(default)]
    agents: BTreeMap<String, AgentTable>,
}

/// One table, as a person writes it.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
struct AgentTable {
    command: Option<Words>,
    prompt: PromptBy,
    session: Option<Words>,
    model: Option<Words>,
    system: Option<Words>,
    permissions: PermissionsTable,
    output: OutputFormat,
    success: Option<Success>,
    gentle: StopSignal,
    env: Option<Words>,
    litter: Option<Words>,
    install: String,
    sign_in: String,
    error_words: BTreeMap<Failure, Words>,
    #[serde(rename = "about")]
    _about: String,
}

/// Arguments for each way of working.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
struct PermissionsTable {
    edit: Option<Words>,
    work: Option<Words>,
    all: Option<Words>,
}

/// Texts: a list of them, or a line that is split as a shell would.
#[derive(Deserialize)]
#[serde(untagged, expecting = "it must be a list of texts")] // `LIST`
enum Words {
    List(Vec<String>),
    Line(String),
}

/// The agents that a TOML file describes, in the order of the file.
///
/// # Errors
/// The first thing that is wrong, with file, line and key.
pub fn agents_from_toml(text: &str, file: &str) -> Result<Vec<Described>, SettingsError> {
    let document = Document::parse(text).map_err(|error| SettingsError::Syntax {
        place: place(file, text, error.span().map(|span| span.start)),
        why: error.message().to_owned(),
    })?;
    let table = document.as_table();
    if table.get(TABLE).is_some_and(|item| item.is_str() || item.is_array()) {
        // It is the list of the agents that may work.
        return Ok(Vec::new());
    }
    let at = |path: &[&str]| place(file, text, offset(table, path));
    let deserializer = toml_edit::de::Deserializer::from(document.clone());
    let mut agents = read(deserializer, &|error| error.message().to_owned(), &at)?;
    agents.sort_by_key(|agent| offset(table, &[TABLE, &agent.name]));
    Ok(agents)
}

/// The same from YAML, where a place is the first line with the key.
///
/// # Errors
/// The first thing that is wrong, with file, line and key.
pub(super) fn agents_of_yaml(
    value: &serde_json::Value,
    text: &str,
    file: &str,
) -> Result<Vec<Described>, SettingsError> {
    let at = |path: &[&str]| line_of_yaml(text, file, path.last().unwrap_or(&TABLE));
    read(serde_json::json!({ TABLE: value }), &ToString::to_string, &at)
}

/// Where the key at a path begins; the nearest one around it where it is not there.
fn offset(table: &dyn TableLike, path: &[&str]) -> Option<usize> {
    let (name, rest) = path.split_first()?;
    let inside = table.get(name).and_then(Item::as_table_like).and_then(|inside| offset(inside, rest));
    inside.or_else(|| Some(table.key(name)?.span()?.start))
}

fn read<'de, D: Deserializer<'de>>(
    file: D,
    message: &dyn Fn(&D::Error) -> String,
    at: &dyn Fn(&[&str]) -> String,
) -> Result<Vec<Described>, SettingsError> {
    let bad = |path: &[&str], Refusal { why, hint }| SettingsError::BadAgent {
        place: at(path),
        key: path.join("."),
        why,
        hint,
    };
    let agents = match serde_path_to_error::deserialize::<_, SettingsFile>(file) {
        Ok(file) => file.agents,
        Err(error) => {
            let names = error.path().iter().filter_map(|segment| match segment {
                Segment::Map { key } => Some(key.as_str()),
                Segment::Seq { .. } | Segment::Enum { .. } | Segment::Unknown => None,
            });
            let path: Vec<&str> = names.collect();
            return Err(bad(&path, explain(&message(error.inner()), &path)));
        }
    };
    if agents.len() > AGENTS_MAX {
        let why = format!("it describes more than {AGENTS_MAX} agents");
        return Err(bad(&[TABLE], Refusal::new(why, "take some out")));
    }
    let described = agents.into_iter().map(|(name, table)| {
        table.described(name.clone()).map_err(|(key, refusal)| {
            let path = [TABLE, &name].into_iter().chain(key.split_terminator('.'));
            bad(&path.collect::<Vec<_>>(), refusal)
        })
    });
    described.collect()
}

/// What serde says, as why and hint.
fn explain(message: &str, path: &[&str]) -> Refusal {
    // Names stand in backticks: first the one that was found, then those that are known.
    let mut names = message.split('`').skip(1).step_by(2);
    let found = names.next().unwrap_or_default();
    let known: Vec<&str> = names.collect();
    let all = known.join(", ");
    let near =
        nearest(found, known).map_or_else(|| format!("use one of: {all}"), |near| format!("did you mean {near}?"));
    if message.starts_with("unknown variant") {
        return Refusal::new(format!("{found:?} is none of: {all}"), near);
    }
    if message.starts_with("unknown field") {
        let is_mode = path.contains(&"permissions");
        let why = if is_mode { "there is no such way of working" } else { "an agent has no such key" };
        return Refusal::new(why, near);
    }
    if message == LIST {
        return Refusal::new(message, "for example [\"--flag\", \"value\"]");
    }
    let Some((found, expected)) = message.strip_prefix("invalid type: ").and_then(|it| it.split_once(", expected "))
    else {
        return Refusal::new(message, "`docs/guide/agents.md` has an example");
    };
    let found = found.split([' ', '`']).next().unwrap_or(found).replace("string", "text");
    if expected == "a map" || expected == "a table" {
        return Refusal::new(format!("it must be a table and is {found}"), format!("write [{}]", path.join(".")));
    }
    Refusal::new(format!("it must be text and is {found}"), "write it in quotes")
}

/// A key of an agent's table, and what is wrong with it.
type Fault = (&'static str, Refusal);

fn fault<T>(key: &'static str, why: impl Into<String>, hint: impl Into<String>) -> Result<T, Fault> {
    Err((key, Refusal::new(why, hint)))
}

impl AgentTable {
    fn described(self, name: String) -> Result<Described, Fault> {
        let plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-_".contains(letter);
        if name.is_empty() || name.len() > NAME_LETTERS_MAX || !name.chars().all(plain) {
            let why = format!("a name has up to {NAME_LETTERS_MAX} small letters, digits, - and _");
            return fault("", why, "rename it, for example [agents.my-agent]");
        }
        if Agent::names(&[]).any(|known| known == name) {
            return fault("", "loop has an agent of that name", format!("rename it, for example [agents.my-{name}]"));
        }
        let by_output = if self.output == OutputFormat::Text { Success::Exit } else { Success::Terminal };
        let PermissionsTable { edit, work, all } = self.permissions;
        let in_prompt = |system: &Words| matches!(system, Words::Line(word) if word == "prompt");
        let described = Described {
            name,
            command: filled_with("command", self.command, &["prompt_file", "workspace", "args"])?.unwrap_or_default(),
            prompt: self.prompt,
            session: template("session", self.session, "session")?,
            model: template("model", self.model, "model")?,
            system: template("system", self.system.filter(|system| !in_prompt(system)), "system_file")?,
            permissions: ByPermissions {
                edit: filled_with("permissions.edit", edit, &["workspace"])?,
                work: filled_with("permissions.work", work, &["workspace"])?,
                all: filled_with("permissions.all", all, &["workspace"])?,
            },
            output: self.output,
            success: self.success.unwrap_or(by_output),
            interrupt: self.gentle == StopSignal::Interrupt,
            env: list("env", self.env)?.unwrap_or_default(),
            litter: list("litter", self.litter)?.unwrap_or_default(),
            install: one_line(&self.install, 400),
            sign_in: one_line(&self.sign_in, 400),
            error_words: error_words(self.error_words)?,
        };
        check(&described)?;
        Ok(described)
    }
}

/// What depends on several keys, and on the command as a whole.
fn check(agent: &Described) -> Result<(), Fault> {
    let Some(program) = agent.command.first() else {
        return fault("command", "it is missing", "for example command = [\"my-agent\", \"--json\"]");
    };
    if program.is_empty() || program.contains('{') {
        return fault("command", "it must begin with a program", "for example [\"my-agent\", \"--json\"]");
    }
    let inserted = agent.command.iter().flat_map(|word| placeholders(word)).filter(|name| *name == "args").count();
    if inserted > 1 || (inserted == 1 && !agent.command.iter().any(|word| word == ARGS)) {
        return fault("command", "{args} stands once, as a word of its own", "take the others out");
    }
    if agent.prompt == PromptBy::File && !agent.command.iter().any(|word| holds(word, "prompt_file")) {
        let hint = "for example command = [\"my-agent\", \"--file\", \"{prompt_file}\"]";
        return fault("command", "prompt = \"file\", and {prompt_file} is not in the command", hint);
    }
    if agent.success == Success::Terminal && agent.output == OutputFormat::Text {
        return fault("success", "plain text has no terminal event", "use success = \"exit\"");
    }
    let is_bad = |name: &&String| name.contains('=') || AgentEnv::parse(name).is_err();
    if let Some(name) = agent.env.iter().find(is_bad) {
        let hint = "name variables whose values are passed, for example [\"MY_API_KEY\", \"MY_*\"]";
        return fault("env", format!("{name:?} is not a name of a variable"), hint);
    }
    if serde_json::to_vec(agent).map_or(0, |bytes| bytes.len()) > BYTES_MAX {
        return fault("command", format!("the agent is described by more than {BYTES_MAX} bytes"), "use a script");
    }
    Ok(())
}

/// Words for classes that a provider's error can have. An empty word would stand in every message.
fn error_words(told: BTreeMap<Failure, Words>) -> Result<ErrorWords, Fault> {
    const KEY: &str = "error_words";
    let mut all = ErrorWords::new();
    for (class, words) in told {
        if matches!(class, Failure::Permission | Failure::Hang | Failure::Question) {
            let why = format!("{} is not an error that a provider has", class.word());
            return fault(KEY, why, "use one of: rate_limit, overload, auth, billing, model, network, context, crash");
        }
        let words = list(KEY, Some(words))?.unwrap_or_default();
        if words.is_empty() || words.iter().any(|word| word.trim().len() < ERROR_WORD_LETTERS_MIN) {
            let why = format!("{}: a word has at least {ERROR_WORD_LETTERS_MIN} letters", class.word());
            return fault(KEY, why, "for example error_words = {auth = [\"(HTTP 401)\"]}");
        }
        all.insert(class, words);
    }
    Ok(all)
}

fn list(key: &'static str, words: Option<Words>) -> Result<Option<Vec<String>>, Fault> {
    let words = match words {
        None => return Ok(None),
        Some(Words::Line(line)) => {
            shell_words::split(&line).or_else(|error| fault(key, error.to_string(), error.hint()))?
        }
        Some(Words::List(words)) => words,
    };
    if words.iter().any(|word| word.contains('\0')) {
        return fault(key, "it holds a NUL byte", "take it out");
    }
    Ok(Some(words))
}

/// Words in which only these names are in braces.
fn filled_with(key: &'static str, words: Option<Words>, allowed: &[&str]) -> Result<Option<Vec<String>>, Fault> {
    let words = list(key, words)?;
    let is_allowed = |name: &&str| allowed.contains(name);
    let wrong = words.iter().flatten().find_map(|word| placeholders(word).find(|name| !is_allowed(name)));
    let Some(name) = wrong else { return Ok(words) };
    let is_known = PLACEHOLDERS.contains(&name) || name == "args";
    let why = if is_known { format!("{{{name}}} has no value here") } else { format!("nothing is called {{{name}}}") };
    let here = allowed.iter().map(|name| format!("{{{name}}}")).collect::<Vec<_>>().join(", ");
    fault(key, why, format!("here may stand: {here}"))
}

/// Words that hold this value at least once.
fn template(key: &'static str, words: Option<Words>, name: &str) -> Result<Option<Vec<String>>, Fault> {
    let words = filled_with(key, words, &[name, "workspace"])?;
    if words.as_ref().is_none_or(|words| words.iter().any(|word| holds(word, name))) {
        return Ok(words);
    }
    fault(key, format!("{{{name}}} is not in it"), format!("for example [\"--x\", \"{{{name}}}\"]"))
}

fn holds(word: &str, name: &str) -> bool {
    placeholders(word).any(|found| found == name)
}
