//! `[hidden_gates.NAME]` in the user's own settings: gates that the agent is not to know.
//!
//! They are no key of the catalogue on purpose. Every key is in the first fact of a run, in `loop config show` and in what
//! programs read; of these gates only their number and a hash are.
use serde::Deserialize;
use serde_json::{Map, Value};
use toml_edit::Document;

use super::error::SettingsError;
use super::files::{line_of_yaml, place, words_of_json};
use super::gates::{self, GateSpec};
use crate::refusal::Refusal;

/// The key that holds them.
pub(super) const KEY: &str = "hidden_gates";
/// The key that names a file with more of them.
pub(super) const FILE_KEY: &str = "hidden_gates_file";
const EXAMPLE: &str = "[hidden_gates.values] with command = \"…\" and workspace = \"~/src/project\"";

/// A hidden gate, and the folder whose runs have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HiddenGate {
    /// The gate.
    pub gate: GateSpec,
    /// It is for runs in this folder or below it; none means for all runs.
    pub workspace: Option<String>,
}

/// What a file says about hidden gates.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HiddenSettings {
    /// The gates in it, by their names.
    pub gates: Vec<HiddenGate>,
    /// Another file that has more of them, as it is written there.
    pub file: Option<String>,
}

/// Whether a name in a settings file is about hidden gates.
pub(super) fn is_about_hidden(name: &str) -> Option<&'static str> {
    [KEY, FILE_KEY].into_iter().find(|key| *key == name)
}

/// What is read of a file here.
#[derive(Default, Deserialize)]
#[serde(default)]
struct HiddenFile {
    hidden_gates: Value,
    hidden_gates_file: Option<Value>,
}

/// The hidden gates of a TOML file.
///
/// # Errors
/// The first thing that is wrong, with file and line.
pub fn hidden_from_toml(text: &str, file: &str) -> Result<HiddenSettings, SettingsError> {
    let syntax = |why: String, at: Option<usize>| SettingsError::Syntax { place: place(file, text, at), why };
    let document = Document::parse(text)
        .map_err(|error| syntax(error.message().to_owned(), error.span().map(|span| span.start)))?;
    let at = |key: &str| place(file, text, document.as_table().key(key).and_then(|key| Some(key.span()?.start)));
    let read = HiddenFile::deserialize(toml_edit::de::Deserializer::from(document.clone()))
        .map_err(|error| syntax(error.message().to_owned(), None))?;
    hidden_of(&read, &at)
}

/// The same from YAML.
///
/// # Errors
/// The first thing that is wrong, with file and line.
pub(super) fn hidden_of_yaml(
    map: &std::collections::BTreeMap<String, Value>,
    text: &str,
    file: &str,
) -> Result<HiddenSettings, SettingsError> {
    let hidden_gates = map.get(KEY).cloned().unwrap_or_default();
    let read = HiddenFile { hidden_gates, hidden_gates_file: map.get(FILE_KEY).cloned() };
    hidden_of(&read, &|key| line_of_yaml(text, file, key))
}

/// Both keys. What an error names is the gate, never its command.
fn hidden_of(read: &HiddenFile, at: &dyn Fn(&str) -> String) -> Result<HiddenSettings, SettingsError> {
    let bad = |key: &'static str, value: &str, Refusal { why, hint }: Refusal| SettingsError::BadValue {
        place: at(key),
        key,
        value: value.to_owned(),
        why,
        hint,
    };
    let file = match &read.hidden_gates_file {
        None => None,
        Some(Value::String(path)) if !path.trim().is_empty() => Some(path.clone()),
        Some(_) => {
            let refusal = Refusal::new("it must be the path of a file", "for example \"hidden-gates.toml\"");
            return Err(bad(FILE_KEY, "…", refusal));
        }
    };
    let gates = match &read.hidden_gates {
        Value::Null => Vec::new(),
        Value::Object(tables) => {
            let one =
                |(name, value): (&String, &Value)| of_table(name, value).map_err(|refusal| bad(KEY, name, refusal));
            tables.iter().map(one).collect::<Result<Vec<_>, _>>()?
        }
        lines @ (Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            let lines = words_of_json(lines).unwrap_or_default();
            let all = gates::read(&lines).map_err(|refusal| bad(KEY, "…", refusal))?;
            all.into_iter().map(|gate| HiddenGate { gate, workspace: None }).collect()
        }
    };
    if let Some(watched) = gates.iter().find(|hidden| hidden.gate.watch) {
        let refusal = Refusal::new("a hidden gate always decides", "take watch out");
        return Err(bad(KEY, &watched.gate.name, refusal));
    }
    Ok(HiddenSettings { gates, file })
}

/// One gate: a command, or a table as that of another gate, with a workspace.
fn of_table(name: &str, value: &Value) -> Result<HiddenGate, Refusal> {
    let short = |command: &str| Map::from_iter([("command".to_owned(), Value::from(command))]);
    let table = match value {
        Value::String(command) => short(command),
        Value::Object(table) => table.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
            return Err(Refusal::new("it must be a table or a command", EXAMPLE));
        }
    };
    let mut told = Vec::new();
    let mut workspace = None;
    for (what, value) in table {
        let Some(words) = words_of_json(&value) else {
            return Err(Refusal::new(format!("{what} must be one plain value"), EXAMPLE));
        };
        if what == "workspace" {
            if !words.starts_with('/') && !words.starts_with("~/") {
                return Err(Refusal::new("workspace must be a whole path", "write it from / or from ~/"));
            }
            workspace = Some(words);
        } else {
            told.push((what, words));
        }
    }
    let line = gates::line_of(name, &told)?;
    let gate = gates::read(&line)?.into_iter().next().ok_or_else(|| Refusal::new("it is empty", EXAMPLE))?;
    Ok(HiddenGate { gate, workspace })
}

/// Gates as one text, for their hash.
#[must_use]
pub fn text_of_gates(gates: &[GateSpec]) -> String {
    gates::text(gates)
}
