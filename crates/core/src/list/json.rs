//! JSON with the bytes of each value, so that a writer can change one of them and nothing else.
use std::collections::BTreeSet;
use std::ops::Range;

use super::error::Fault;

/// No file that a person wrote is nested deeper.
const DEPTH_MAX: usize = 64;

/// A value, and its bytes.
#[derive(Debug)]
pub(super) struct JsonNode {
    pub(super) at: Range<usize>,
    pub(super) value: JsonValue,
}

/// What a value is.
#[derive(Debug)]
pub(super) enum JsonValue {
    Null,
    Switch(bool),
    /// As it is written.
    Number(String),
    Text(String),
    List(Vec<JsonNode>),
    Map(Vec<JsonMember>),
}

/// A key with its value.
#[derive(Debug)]
pub(super) struct JsonMember {
    pub(super) key: String,
    pub(super) key_at: Range<usize>,
    pub(super) node: JsonNode,
}

impl JsonNode {
    /// What it is, in words.
    pub(super) fn describe(&self) -> &'static str {
        match &self.value {
            JsonValue::Null => "null",
            JsonValue::Switch(_) => "true or false",
            JsonValue::Number(_) => "a number",
            JsonValue::Text(_) => "a text",
            JsonValue::List(_) => "a list",
            JsonValue::Map(_) => "an object",
        }
    }

    pub(super) fn members(&self) -> &[JsonMember] {
        match &self.value {
            JsonValue::Map(members) => members,
            JsonValue::Null | JsonValue::Switch(_) | JsonValue::Number(_) | JsonValue::Text(_) | JsonValue::List(_) => {
                &[]
            }
        }
    }

    pub(super) fn list(&self) -> Option<&[JsonNode]> {
        match &self.value {
            JsonValue::List(nodes) => Some(nodes),
            JsonValue::Null | JsonValue::Switch(_) | JsonValue::Number(_) | JsonValue::Text(_) | JsonValue::Map(_) => {
                None
            }
        }
    }

    /// The value of a key.
    pub(super) fn get(&self, key: &str) -> Option<&JsonNode> {
        self.members().iter().find(|member| member.key == key).map(|member| &member.node)
    }

    /// A text, or a number as it is written.
    pub(super) fn word(&self) -> Option<&str> {
        match &self.value {
            JsonValue::Text(text) | JsonValue::Number(text) => Some(text),
            JsonValue::Null | JsonValue::Switch(_) | JsonValue::List(_) | JsonValue::Map(_) => None,
        }
    }

    pub(super) fn switch(&self) -> Option<bool> {
        match self.value {
            JsonValue::Switch(value) => Some(value),
            JsonValue::Null | JsonValue::Number(_) | JsonValue::Text(_) | JsonValue::List(_) | JsonValue::Map(_) => {
                None
            }
        }
    }

    pub(super) fn is_map(&self) -> bool {
        matches!(self.value, JsonValue::Map(_))
    }
}

/// Reads a text.
pub(super) fn parse(text: &str) -> Result<JsonNode, Fault> {
    let mut reader = JsonReader { text, at: 0 };
    if text.starts_with('\u{feff}') {
        reader.at = '\u{feff}'.len_utf8();
    }
    reader.space();
    let node = reader.value(0)?;
    reader.space();
    match reader.peek() {
        None => Ok(node),
        Some(_) => Err(reader.fault("something stands behind the end of the value")),
    }
}

/// Reads values that stand one behind the other, as in a file with one value a line.
pub(super) fn parse_all(text: &str) -> Result<JsonNode, Fault> {
    let mut reader = JsonReader { text, at: 0 };
    if text.starts_with('\u{feff}') {
        reader.at = '\u{feff}'.len_utf8();
    }
    let mut nodes = Vec::new();
    loop {
        reader.space();
        if reader.peek().is_none() {
            return Ok(JsonNode { at: 0..text.len(), value: JsonValue::List(nodes) });
        }
        nodes.push(reader.value(0)?);
    }
}

struct JsonReader<'a> {
    text: &'a str,
    at: usize,
}

impl JsonReader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn fault(&self, why: &str) -> Fault {
        Fault::new(
            self.at,
            format!("not valid JSON: {why}"),
            "fix the file; an editor with JSON support shows the place",
        )
    }

    fn value(&mut self, depth: usize) -> Result<JsonNode, Fault> {
        let start = self.at;
        if depth > DEPTH_MAX {
            return Err(self.fault("it is nested too deep"));
        }
        let value = match self.peek() {
            Some(b'{') => JsonValue::Map(self.map(depth)?),
            Some(b'[') => JsonValue::List(self.list(depth)?),
            Some(b'"') => JsonValue::Text(self.string()?),
            Some(b'-' | b'0'..=b'9') => JsonValue::Number(self.number()?),
            Some(_) if self.takes("true") => JsonValue::Switch(true),
            Some(_) if self.takes("false") => JsonValue::Switch(false),
            Some(_) if self.takes("null") => JsonValue::Null,
            Some(_) => return Err(self.fault("a value is expected here")),
            None => return Err(self.fault("the file ends in the middle")),
        };
        Ok(JsonNode { at: start..self.at, value })
    }

    fn takes(&mut self, word: &str) -> bool {
        let is_here = self.text.as_bytes().get(self.at..).is_some_and(|rest| rest.starts_with(word.as_bytes()));
        if is_here {
            self.at += word.len();
        }
        is_here
    }

    fn number(&mut self) -> Result<String, Fault> {
        let start = self.at;
        while matches!(self.peek(), Some(b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')) {
            self.at += 1;
        }
        let written = self.text.get(start..self.at).unwrap_or_default();
        if serde_json::from_str::<serde_json::Number>(written).is_err() {
            self.at = start;
            return Err(self.fault("this is not a number"));
        }
        Ok(written.to_owned())
    }

    fn string(&mut self) -> Result<String, Fault> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => self.at += 2,
                Some(_) => self.at += 1,
                None => {
                    self.at = start;
                    return Err(self.fault("a text is not closed"));
                }
            }
        }
        self.at += 1;
        let written = self.text.get(start..self.at).unwrap_or_default();
        serde_json::from_str(written).map_err(|_| {
            self.at = start;
            self.fault("a text has a line break or an escape that JSON does not know")
        })
    }

    fn list(&mut self, depth: usize) -> Result<Vec<JsonNode>, Fault> {
        self.at += 1;
        let mut nodes = Vec::new();
        self.space();
        if self.takes("]") {
            return Ok(nodes);
        }
        loop {
            self.space();
            nodes.push(self.value(depth + 1)?);
            self.space();
            if self.takes("]") {
                return Ok(nodes);
            }
            if !self.takes(",") {
                return Err(self.fault("a comma or ] is expected here"));
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<Vec<JsonMember>, Fault> {
        self.at += 1;
        let mut members: Vec<JsonMember> = Vec::new();
        let mut keys: BTreeSet<String> = BTreeSet::new();
        self.space();
        if self.takes("}") {
            return Ok(members);
        }
        loop {
            self.space();
            let start = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.fault("a key in double quotes is expected here"));
            }
            let key = self.string()?;
            let key_at = start..self.at;
            if !keys.insert(key.clone()) {
                let message = format!("the key {} is there twice", super::draft::shown(&key));
                return Err(Fault::new(start, message, "delete one of them"));
            }
            self.space();
            if !self.takes(":") {
                return Err(self.fault("a colon is expected here"));
            }
            self.space();
            let node = self.value(depth + 1)?;
            members.push(JsonMember { key, key_at, node });
            self.space();
            if self.takes("}") {
                return Ok(members);
            }
            if !self.takes(",") {
                return Err(self.fault("a comma or } is expected here"));
            }
        }
    }
}
