//! Texts of files and the environment, read into layers.
use toml_edit::{Document, Item, TableLike, Value};

use super::agents;
use super::catalogue::{InProject, Key, catalogue, key, keys};
use super::choices::Profile;
use super::error::SettingsError;
use super::gates::{self, GateSpec};
use super::hidden;
use super::layers::{Given, Layer, Origin};
use super::prices;
use super::profiles::{autonomous, container};
use super::wants;
use crate::agent::Described;
use crate::refusal::Refusal;
use crate::text::nearest;

/// Reads a TOML file. `file` is its name for people.
///
/// # Errors
/// The first thing that is wrong, with file, line and key.
pub fn from_toml(text: &str, file: &str, layer: Layer) -> Result<Vec<Given>, SettingsError> {
    let mut given = Vec::new();
    for Entry { name, words, at } in entries(text, file, layer, &[])? {
        match words {
            Some(words) => given.push(Given::read_for_start(find(&name, &at)?, &words, at)?),
            None => {
                may_describe(&at)?;
                agents::agents_from_toml(text, file)?;
            }
        }
    }
    Ok(given)
}

/// What a project's file says, and what of it needs the user's approval.
#[derive(Debug, Default)]
pub struct Project {
    /// What is taken.
    pub given: Vec<Given>,
    /// Whether the user has approved it as it is.
    pub approved: bool,
    /// The agents that it describes, where that is approved.
    pub described: Vec<Described>,
    /// What is run or loosens safety, in whole lines for people, nothing cut or hidden: taken only where the user has
    /// approved the file as it is.
    pub wants: Vec<String>,
}

/// Reads a project's file. What is run or loosens safety is taken only where the user has approved this very text.
///
/// # Errors
/// The first thing that is wrong, with file, line and key.
pub fn project_from_toml(text: &str, file: &str, approved: bool) -> Result<Project, SettingsError> {
    project_without(text, file, approved, &[])
}

/// The same without some keys of the file, which are not settings.
fn project_without(text: &str, file: &str, approved: bool, skipped: &[&str]) -> Result<Project, SettingsError> {
    wants::refuse_control_characters(text, file)?;
    let mut project = Project { approved, ..Project::default() };
    for Entry { name, words, at } in entries(text, file, Layer::Project, skipped)? {
        let Some(words) = words else {
            let described = agents::agents_from_toml(text, file)?;
            project.wants.extend(described.iter().flat_map(|agent| wants::lines_of_agent(&at.place, agent)));
            project.described = if approved { described } else { Vec::new() };
            continue;
        };
        let key = find(&name, &at)?;
        if key.in_project != InProject::Approved {
            project.given.push(Given::read_for_start(key, &words, at)?);
            continue;
        }
        let place = at.place.clone();
        let given = Given::read_approved(key, &words, at)?;
        project.wants.extend(wants::lines_of(&place, key, &given.value));
        if approved {
            project.given.push(given);
        }
    }
    Ok(project)
}

/// The settings of a template, without the keys that only templates have. In the file of a repository they follow the rules
/// for project files: it may not set what is the user's own.
///
/// # Errors
/// The first thing that is wrong, with file, line and key.
pub fn template_from_toml(text: &str, file: &str, layer: Layer, skipped: &[&str]) -> Result<Vec<Given>, SettingsError> {
    if layer == Layer::Project {
        return project_without(text, file, true, skipped).map(|project| project.given);
    }
    let mut given = Vec::new();
    for Entry { name, words, at } in entries(text, file, layer, skipped)? {
        given.push(Given::read_for_start(find(&name, &at)?, &words.unwrap_or_default(), at)?);
    }
    Ok(given)
}

/// The gates that a project's file names: its promise, then the others.
///
/// # Errors
/// The first thing that is wrong, with file, line and key.
pub fn gates_from_project(text: &str, file: &str) -> Result<Vec<GateSpec>, SettingsError> {
    let project = project_from_toml(text, file, true)?;
    let value = |name: &str| project.given.iter().rfind(|given| given.key.name == name).map(|given| &given.value);
    let promise = value(gates::PROMISE).map(|command| GateSpec::new(gates::PROMISE, command));
    let others = value(gates::KEY).map(|text| gates::read(text).unwrap_or_default()).unwrap_or_default();
    Ok(promise.into_iter().chain(others).collect())
}

/// A key with its words; the table of agents has none.
struct Entry {
    name: String,
    words: Option<String>,
    at: Origin,
}

/// A text as TOML.
///
/// # Errors
/// When it is none, with file and line.
pub fn parse_toml<'a>(text: &'a str, file: &str) -> Result<Document<&'a str>, SettingsError> {
    Document::parse(text).map_err(|error| SettingsError::Syntax {
        place: place(file, text, error.span().map(|span| span.start)),
        why: error.message().to_owned(),
    })
}

fn entries(text: &str, file: &str, layer: Layer, skipped: &[&str]) -> Result<Vec<Entry>, SettingsError> {
    let document = parse_toml(text, file)?;
    let mut all = Vec::new();
    for (name, item) in document.as_table().iter().filter(|(name, _)| !skipped.contains(name)) {
        let span = document.as_table().key(name).and_then(|key| key.span());
        let at = Origin { layer, place: place(file, text, span.map(|span| span.start)) };
        if let Some(key) = hidden::is_about_hidden(name) {
            may_hide(key, &at)?;
            hidden::hidden_from_toml(text, file)?;
            continue;
        }
        if let Some(name) = container::named(name) {
            for (key, words) in name.values(&words_of_toml(item).unwrap_or_default(), &at)? {
                all.push(Entry { name: key.to_owned(), words: Some(words), at: at.clone() });
            }
            continue;
        }
        let name = if name == gates::TABLE { gates::KEY } else { name };
        let words = match (name, item.as_table_like()) {
            // A table describes agents; a list says which ones may work.
            (agents::TABLE, _) if !item.is_str() && !item.is_array() => None,
            (prices::KEY, Some(_)) => Some(prices::prices_from_toml(text, file)?.to_string()),
            (gates::KEY, Some(table)) => Some(gates_of_toml(table, &at)?),
            (name, _) => {
                let key = find(name, &at)?;
                Some(words_of_toml(item).ok_or_else(|| not_a_value(key, item.type_name(), &at))?)
            }
        };
        all.push(Entry { name: name.to_owned(), words, at });
    }
    Ok(all)
}

/// `[gates.NAME]` with command, timeout, order, passes (`2of3`) and watch, as the text of the key `gate`.
fn gates_of_toml(tables: &dyn TableLike, at: &Origin) -> Result<String, SettingsError> {
    let bad = |name: &str, Refusal { why, hint }: Refusal| SettingsError::BadValue {
        place: at.place.clone(),
        key: gates::KEY,
        value: name.to_owned(),
        why,
        hint,
    };
    let mut lines = Vec::new();
    for (name, item) in tables.iter() {
        // A plain text is the command.
        let short = words_of_toml(item).map(|command| vec![("command".to_owned(), command)]);
        let long = || {
            let table = item.as_table_like()?;
            table.iter().map(|(what, item)| Some((what.to_owned(), words_of_toml(item)?))).collect::<Option<Vec<_>>>()
        };
        let told = short.or_else(long);
        let Some(told) = told else {
            return Err(bad(name, Refusal::new("it must be a table or a command", gates::EXAMPLE)));
        };
        let line = gates::line_of(name, &told).map_err(|refusal| bad(name, refusal))?;
        lines.push(line);
    }
    Ok(lines.join("\n"))
}

/// Reads a YAML file with the same keys.
///
/// # Errors
/// The first thing that is wrong, with file and key.
pub fn from_yaml(text: &str, file: &str, layer: Layer) -> Result<Vec<Given>, SettingsError> {
    let map = yaml(text, file)?;
    let mut given = Vec::new();
    for (name, value) in map {
        let at = Origin { layer, place: line_of_yaml(text, file, &name) };
        if let Some(key) = hidden::is_about_hidden(&name) {
            may_hide(key, &at)?;
            hidden_from_yaml(text, file)?;
            continue;
        }
        if name == agents::TABLE {
            may_describe(&at)?;
            agents::agents_of_yaml(&value, text, file)?;
            continue;
        }
        if let Some(name) = container::named(&name) {
            given.extend(name.read(&words_of_json(&value).unwrap_or_default(), &at)?);
            continue;
        }
        if autonomous::is_table(&name) {
            nested(&name, &value, &|name| Origin { layer, place: line_of_path(text, file, name) }, &mut given)?;
            continue;
        }
        let key = find(&name, &at)?;
        let words = words_of_json(&value).ok_or_else(|| not_a_value(key, "nested value", &at))?;
        given.push(Given::read_for_start(key, &words, at)?);
    }
    Ok(given)
}

/// The settings of a file that a person named by `--config`. One with the nested names of the autonomous specification
/// means that profile, unless it names another.
///
/// # Errors
/// The first thing that is wrong, with file, line and key.
pub fn from_named_yaml(text: &str, file: &str) -> Result<Vec<Given>, SettingsError> {
    let map = yaml(text, file)?;
    let mut given = from_yaml(text, file, Layer::User)?;
    let table = map.keys().find(|name| autonomous::is_table(name));
    if let Some(table) = table.filter(|_| !map.contains_key(keys::profile().name)) {
        let origin = Origin { layer: Layer::User, place: line_of_path(text, file, table) };
        given.push(Given::read(keys::profile(), Profile::Autonomous.word(), origin)?);
    }
    Ok(given)
}

/// Reads a table of the autonomous specification: its leaves by their whole names.
fn nested(
    name: &str,
    value: &serde_json::Value,
    at: &dyn Fn(&str) -> Origin,
    given: &mut Vec<Given>,
) -> Result<(), SettingsError> {
    match value {
        serde_json::Value::Object(table) if !autonomous::is_name(name) => {
            table.iter().try_for_each(|(key, value)| nested(&format!("{name}.{key}"), value, at, given))
        }
        // A table without a line in it says nothing.
        serde_json::Value::Null if autonomous::is_table(name) => Ok(()),
        value @ serde_json::Value::Null
        | value @ serde_json::Value::Bool(_)
        | value @ serde_json::Value::Number(_)
        | value @ serde_json::Value::String(_)
        | value @ serde_json::Value::Array(_)
        | value @ serde_json::Value::Object(_) => {
            let read = autonomous::read(name, words_of_json(value).as_deref(), at(name))?;
            given.push(read);
            Ok(())
        }
    }
}

/// The agents that a YAML file describes.
///
/// # Errors
/// The first thing that is wrong, with file, line and key.
pub fn agents_from_yaml(text: &str, file: &str) -> Result<Vec<Described>, SettingsError> {
    let map = yaml(text, file)?;
    map.get(agents::TABLE).map_or(Ok(Vec::new()), |value| agents::agents_of_yaml(value, text, file))
}

/// The hidden gates of a YAML file.
///
/// # Errors
/// The first thing that is wrong, with file, line and key.
pub fn hidden_from_yaml(text: &str, file: &str) -> Result<hidden::HiddenSettings, SettingsError> {
    hidden::hidden_of_yaml(&yaml(text, file)?, text, file)
}

type YamlMap = std::collections::BTreeMap<String, serde_json::Value>;

fn yaml(text: &str, file: &str) -> Result<YamlMap, SettingsError> {
    if text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
        return Ok(YamlMap::new());
    }
    serde_saphyr::from_str(text).map_err(|error| {
        let place = error.location().map_or_else(|| file.to_owned(), |at| format!("{file}:{}", at.line()));
        let why = error.to_string();
        let why = why.lines().next().unwrap_or_default().split("; set ").next().unwrap_or_default();
        SettingsError::Syntax { place, why: crate::text::one_line(why, 120) }
    })
}

/// The first line with a key.
pub(super) fn line_of_yaml(text: &str, file: &str, name: &str) -> String {
    let line = text.lines().position(|line| line.trim_start().starts_with(&format!("{name}:")));
    line.map_or_else(|| file.to_owned(), |line| format!("{file}:{}", line + 1))
}

/// The line of a nested name: each part is in the block of the part before. The last part that is found counts.
fn line_of_path(text: &str, file: &str, name: &str) -> String {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let says = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let mut lines = text.lines().zip(1u32..).filter(|(line, _)| says(line));
    let (mut found, mut depth) = (None, None);
    for part in name.split('.') {
        let is_it = |line: &str| line.trim_start().strip_prefix(part).is_some_and(|rest| rest.starts_with(':'));
        let in_block = |line: &str| depth.is_none_or(|depth| indent(line) > depth);
        let in_place = |line: &str| if depth.is_none() { indent(line) == 0 } else { true };
        let hit = lines.by_ref().take_while(|(line, _)| in_block(line)).find(|(line, _)| is_it(line) && in_place(line));
        let Some((line, number)) = hit else { break };
        found = Some(number);
        depth = Some(indent(line));
    }
    found.map_or_else(|| file.to_owned(), |line| format!("{file}:{line}"))
}

/// What a file of a repository says about hidden gates the agent could read, approved or not.
fn may_hide(key: &'static str, at: &Origin) -> Result<(), SettingsError> {
    if at.layer == Layer::Project {
        return Err(SettingsError::NotInProject { place: at.place.clone(), key });
    }
    Ok(())
}

/// A command is never taken from a file that comes with a repository.
fn may_describe(at: &Origin) -> Result<(), SettingsError> {
    if at.layer == Layer::Project {
        return Err(SettingsError::NotInProject { place: at.place.clone(), key: agents::TABLE });
    }
    Ok(())
}

/// Takes from the environment what the catalogue knows. A variable that is set but empty is not set.
///
/// # Errors
/// When a value does not fit; the variable is named.
pub fn from_environment(lookup: impl Fn(&str) -> Option<String>) -> Result<Vec<Given>, SettingsError> {
    let mut given = Vec::new();
    for key in catalogue() {
        let Some(variable) = key.env else { continue };
        if let Some(value) = lookup(variable).filter(|value| !value.is_empty()) {
            let at = Origin { layer: Layer::Environment, place: variable.to_owned() };
            given.push(Given::read(key, &value, at)?);
        }
    }
    Ok(given)
}

fn find(name: &str, at: &Origin) -> Result<&'static Key, SettingsError> {
    if let Some(key) = key(name).filter(|key| !key.in_file) {
        return Err(SettingsError::NotInFile { place: at.place.clone(), key: key.name });
    }
    key(name).ok_or_else(|| SettingsError::UnknownKey {
        place: at.place.clone(),
        key: name.to_owned(),
        near: nearest(name, catalogue().filter(|key| key.in_file).map(|key| key.name)),
    })
}

fn not_a_value(key: &'static Key, found: &str, at: &Origin) -> SettingsError {
    SettingsError::BadValue {
        place: at.place.clone(),
        key: key.name,
        value: found.to_owned(),
        why: format!("it must be {}", key.kind.describe()),
        hint: "write it as one plain value".to_owned(),
    }
}

/// A place in a file, for people: its name, with the line of an offset.
#[must_use]
pub fn place(file: &str, text: &str, offset: Option<usize>) -> String {
    let line = offset.and_then(|offset| text.get(..offset)).map(|before| before.matches('\n').count() + 1);
    line.map_or_else(|| file.to_owned(), |line| format!("{file}:{line}"))
}

/// A plain value as the words of a setting: a list has one entry a line. None for tables and dates.
#[must_use]
pub fn words_of_toml(item: &Item) -> Option<String> {
    fn words(value: &Value) -> Option<String> {
        match value {
            Value::String(text) => Some(text.value().clone()),
            Value::Integer(number) => Some(number.value().to_string()),
            Value::Float(number) => Some(number.value().to_string()),
            Value::Boolean(switch) => Some(switch.value().to_string()),
            Value::Array(list) => list.iter().map(words).collect::<Option<Vec<_>>>().map(|all| all.join("\n")),
            Value::Datetime(_) | Value::InlineTable(_) => None,
        }
    }
    item.as_value().and_then(words)
}

pub(super) fn words_of_json(value: &serde_json::Value) -> Option<String> {
    use serde_json::Value as Json;
    match value {
        Json::String(text) => Some(text.clone()),
        Json::Number(number) => Some(number.to_string()),
        Json::Bool(switch) => Some(switch.to_string()),
        Json::Array(list) => list.iter().map(words_of_json).collect::<Option<Vec<_>>>().map(|all| all.join("\n")),
        Json::Null => Some(super::value::UNLIMITED.to_owned()),
        Json::Object(_) => None,
    }
}
