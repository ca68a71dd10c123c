//! TOML, JSON and YAML with the lines of their keys.
use serde_json::Value as Json;
use toml_edit::{Document, Item, Table, Value};

use super::ImportError;
use crate::text::one_line;

/// No file that a person wrote is nested deeper.
const DEPTH_MAX: usize = 32;

/// A key with its value and its lines.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Leaf {
    /// With the tables above it: `agents[0].options.model`.
    pub(super) path: String,
    pub(super) value: Json,
    pub(super) from: usize,
    pub(super) to: usize,
}

impl Leaf {
    /// Its value as one text; a list has a line for each entry, a table none.
    pub(super) fn text(&self) -> String {
        match &self.value {
            Json::String(text) => text.clone(),
            Json::Array(list) => list.iter().map(plain).collect::<Vec<_>>().join("\n"),
            Json::Null | Json::Bool(_) | Json::Number(_) => plain(&self.value),
            Json::Object(_) => String::new(),
        }
    }
}

fn plain(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// All keys of a TOML file that are not tables.
pub(super) fn of_toml(text: &str, file: &str) -> Result<Vec<Leaf>, ImportError> {
    let document = Document::parse(text).map_err(|error| ImportError {
        place: error.span().map_or_else(|| file.to_owned(), |span| format!("{file}:{}", line_at(text, span.start))),
        format: "TOML",
        why: one_line(error.message(), 160),
    })?;
    let mut reader = TomlReader { text, leaves: Vec::new() };
    reader.table(document.as_table(), "", 0);
    reader.leaves.sort_by_key(|leaf| leaf.from);
    Ok(reader.leaves)
}

struct TomlReader<'a> {
    text: &'a str,
    leaves: Vec<Leaf>,
}

impl TomlReader<'_> {
    fn table(&mut self, table: &Table, above: &str, depth: usize) {
        for (name, item) in table {
            let path = below(above, name);
            match item {
                Item::Table(inner) if depth < DEPTH_MAX => self.table(inner, &path, depth + 1),
                Item::ArrayOfTables(tables) => {
                    for (inner, at) in tables.iter().zip(0..).filter(|_| depth < DEPTH_MAX) {
                        self.table(inner, &format!("{path}[{at}]"), depth + 1);
                    }
                }
                Item::Value(Value::InlineTable(inner)) if depth < DEPTH_MAX && !inner.is_empty() => {
                    self.inline(inner, &path, depth + 1);
                }
                Item::Value(value) => {
                    let key = table.key(name).and_then(toml_edit::Key::span);
                    self.leaf(path, value, key);
                }
                Item::Table(_) | Item::None => {}
            }
        }
    }

    fn inline(&mut self, table: &toml_edit::InlineTable, above: &str, depth: usize) {
        for (name, value) in table {
            let path = below(above, name);
            match value {
                Value::InlineTable(inner) if depth < DEPTH_MAX && !inner.is_empty() => {
                    self.inline(inner, &path, depth + 1);
                }
                Value::String(_)
                | Value::Integer(_)
                | Value::Float(_)
                | Value::Boolean(_)
                | Value::Datetime(_)
                | Value::Array(_)
                | Value::InlineTable(_) => {
                    let key = table.get_key_value(name).and_then(|(key, _)| key.span());
                    self.leaf(path, value, key);
                }
            }
        }
    }

    fn leaf(&mut self, path: String, value: &Value, key: Option<std::ops::Range<usize>>) {
        let span = value.span();
        let begin = key.or_else(|| span.clone()).map_or(0, |span| span.start);
        let end = span.map_or(begin, |span| span.end.saturating_sub(1).max(begin));
        let (from, to) = (line_at(self.text, begin), line_at(self.text, end));
        self.leaves.push(Leaf { path, value: json_of(value, 0), from, to });
    }
}

fn below(above: &str, name: &str) -> String {
    if above.is_empty() { name.to_owned() } else { format!("{above}.{name}") }
}

fn json_of(value: &Value, depth: usize) -> Json {
    match value {
        Value::String(text) => Json::String(text.value().clone()),
        Value::Integer(number) => Json::from(*number.value()),
        Value::Float(number) => Json::from(*number.value()),
        Value::Boolean(switch) => Json::Bool(*switch.value()),
        Value::Array(list) if depth < DEPTH_MAX => list.iter().map(|value| json_of(value, depth + 1)).collect(),
        Value::Datetime(_) | Value::InlineTable(_) | Value::Array(_) => Json::String(value.to_string()),
    }
}

/// The line of a byte, from 1.
fn line_at(text: &str, offset: usize) -> usize {
    text.as_bytes().iter().take(offset).filter(|byte| **byte == b'\n').count() + 1
}

/// The keys of the object that a JSON file is. None for another value.
pub(super) fn of_json(text: &str, file: &str) -> Result<Option<Vec<Leaf>>, ImportError> {
    let json: Json = serde_json::from_str(text).map_err(|error| ImportError {
        place: format!("{file}:{}", error.line()),
        format: "JSON",
        why: one_line(&error.to_string(), 160),
    })?;
    let Json::Object(mut map) = json else { return Ok(None) };
    let mut leaves = Vec::new();
    for Begin { name, line } in keys_of_json(text) {
        if let Some(value) = map.remove(&name) {
            leaves.push(Leaf { path: name, value, from: line, to: line });
        }
    }
    close(&mut leaves, text);
    Ok(Some(leaves))
}

/// A key and the line where it begins.
struct Begin {
    name: String,
    line: usize,
}

/// The keys of the outermost object, in a text that is known to be JSON.
fn keys_of_json(text: &str) -> Vec<Begin> {
    let bytes = text.as_bytes();
    let (mut at, mut line, mut depth, mut expects_key) = (0, 1, 0_usize, false);
    let mut keys = Vec::new();
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\n' => line += 1,
            b'{' | b'[' => {
                depth += 1;
                expects_key = depth == 1;
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' => expects_key = depth == 1,
            b'"' => {
                let end = end_of_string(bytes, at);
                if expects_key && depth == 1 {
                    let name = text.get(at..end).and_then(|word| serde_json::from_str(word).ok());
                    keys.extend(name.map(|name| Begin { name, line }));
                    expects_key = false;
                }
                at = end.saturating_sub(1);
            }
            _ => {}
        }
        at += 1;
    }
    keys
}

/// Behind the closing quote.
fn end_of_string(bytes: &[u8], begin: usize) -> usize {
    let mut at = begin + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The keys of the map that a YAML file is. None for another value.
pub(super) fn of_yaml(text: &str, file: &str) -> Result<Option<Vec<Leaf>>, ImportError> {
    if text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
        return Ok(Some(Vec::new()));
    }
    let json: Json = serde_saphyr::from_str(text).map_err(|error| {
        let why = error.to_string();
        ImportError {
            place: error.location().map_or_else(|| file.to_owned(), |at| format!("{file}:{}", at.line())),
            format: "YAML",
            why: one_line(why.lines().next().unwrap_or_default().split("; set ").next().unwrap_or_default(), 160),
        }
    })?;
    let Json::Object(mut map) = json else { return Ok(None) };
    let mut leaves = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let name = line.split_once(':').map(|(name, _)| name.trim_end().trim_matches(['"', '\'']));
        let begins = !line.starts_with([' ', '\t', '#', '-', '{', '}']);
        if let Some(value) = name.filter(|_| begins).and_then(|name| map.remove(name)) {
            let name = name.unwrap_or_default().to_owned();
            leaves.push(Leaf { path: name, value, from: number, to: number });
        }
    }
    close(&mut leaves, text);
    Ok(Some(leaves))
}

/// A key reaches to the line before the next one, without the empty lines and comments that stand there.
fn close(leaves: &mut [Leaf], text: &str) {
    let lines: Vec<&str> = text.lines().collect();
    let says = |number: usize| {
        let line = lines.get(number.saturating_sub(1)).map_or("", |line| line.trim());
        !line.is_empty() && !line.starts_with('#') && !["}", "]", "},", "...", "---"].contains(&line)
    };
    let mut next = lines.len() + 1;
    for leaf in leaves.iter_mut().rev() {
        let last = (leaf.from..next).rev().find(|number| says(*number));
        // The bracket that closes the value of a key belongs to it.
        let closes = |number: &usize| *number < next && lines.get(number - 1).is_some_and(|line| closes_value(line));
        let last = last.unwrap_or(leaf.from);
        leaf.to = (last + 1..next).take_while(closes).last().unwrap_or(last).max(leaf.from);
        next = leaf.from;
    }
}

/// A bracket that is indented closes something inside; the last one of the file is not.
fn closes_value(line: &str) -> bool {
    line.starts_with([' ', '\t']) && ["}", "]", "},", "],"].contains(&line.trim())
}
