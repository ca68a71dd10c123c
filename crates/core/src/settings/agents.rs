//! `[agents.NAME]` in the user's own file: agents that the user describes, read into [`Described`].
use toml_edit::{Document, Item, Value};

use super::error::SettingsError;
use super::files::{line_of_yaml, place};
use crate::agent::described::{ARGS, ByPermissions, OUTPUTS, Output, PLACEHOLDERS, PromptBy, Success, placeholder};
use crate::agent::{Agent, Described, PERMISSIONS, shell_words as words};
use crate::text::nearest;

/// The table that holds them.
pub(super) const TABLE: &str = "agents";
/// So many may be described.
const AGENTS_MAX: usize = 32;
/// A name of more letters breaks every table.
const NAME_LETTERS_MAX: usize = 32;
/// What one agent says in all: it becomes part of a fact.
const BYTES_MAX: usize = 6 * 1024;

/// Every key of such a table.
const KEYS: [&str; 14] = [
    "command",
    "prompt",
    "session",
    "model",
    "system",
    "permissions",
    "output",
    "success",
    "gentle",
    "env",
    "litter",
    "install",
    "sign_in",
    "about",
];

/// A value of a file with its place.
#[derive(Debug)]
struct Told {
    place: String,
    key: String,
    value: Said,
}

#[derive(Debug)]
enum Said {
    Text(String),
    List(Vec<String>),
    Table(Vec<Told>),
    Other(&'static str),
}

/// The agents that a TOML file describes.
///
/// # Errors
/// The first thing that is wrong, with file, line and key.
pub fn agents_from_toml(text: &str, file: &str) -> Result<Vec<Described>, SettingsError> {
    let document = Document::parse(text).map_err(|error| SettingsError::Syntax {
        place: place(file, text, error.span().map(|span| span.start)),
        why: error.message().to_owned(),
    })?;
    let Some(item) = document.as_table().get(TABLE) else { return Ok(Vec::new()) };
    let start = document.as_table().key(TABLE).and_then(|key| key.span()).or_else(|| item.span());
    let at = |offset: Option<usize>| place(file, text, offset);
    read(Told { place: at(start.map(|span| span.start)), key: TABLE.to_owned(), value: of_item(TABLE, item, &at) })
}

/// The same from YAML, where a place is the line on which the key stands first.
///
/// # Errors
/// The first thing that is wrong, with file, line and key.
pub(super) fn agents_of_yaml(
    value: &serde_json::Value,
    text: &str,
    file: &str,
) -> Result<Vec<Described>, SettingsError> {
    let at = |name: &str| line_of_yaml(text, file, name);
    read(Told { place: at(TABLE), key: TABLE.to_owned(), value: of_json(TABLE, value, &at) })
}

fn of_item(key: &str, item: &Item, at: &dyn Fn(Option<usize>) -> String) -> Said {
    if let Some(table) = item.as_table_like() {
        let entries = table.iter().map(|(name, item)| {
            let span = table.key(name).and_then(|key| key.span()).or_else(|| item.span());
            let key = format!("{key}.{name}");
            Told { place: at(span.map(|span| span.start)), value: of_item(&key, item, at), key }
        });
        return Said::Table(entries.collect());
    }
    match item.as_value() {
        Some(Value::String(text)) => Said::Text(text.value().clone()),
        Some(Value::Array(list)) => {
            let words: Option<Vec<String>> = list.iter().map(|word| word.as_str().map(str::to_owned)).collect();
            words.map_or(Said::Other("a list of other things than texts"), Said::List)
        }
        _ => Said::Other(item.type_name()),
    }
}

fn of_json(key: &str, value: &serde_json::Value, at: &dyn Fn(&str) -> String) -> Said {
    use serde_json::Value as Json;
    match value {
        Json::Object(table) => {
            let entries = table.iter().map(|(name, value)| {
                let key = format!("{key}.{name}");
                Told { place: at(name), value: of_json(&key, value, at), key }
            });
            Said::Table(entries.collect())
        }
        Json::String(text) => Said::Text(text.clone()),
        Json::Array(list) => {
            let words: Option<Vec<String>> = list.iter().map(|word| word.as_str().map(str::to_owned)).collect();
            words.map_or(Said::Other("a list of other things than texts"), Said::List)
        }
        Json::Null => Said::Other("nothing"),
        Json::Bool(_) => Said::Other("boolean"),
        Json::Number(_) => Said::Other("number"),
    }
}

fn read(told: Told) -> Result<Vec<Described>, SettingsError> {
    let whole = Told { value: Said::Other("table"), place: told.place.clone(), key: told.key.clone() };
    let tables = told.table()?;
    if tables.len() > AGENTS_MAX {
        return Err(whole.wrong(format!("it describes more than {AGENTS_MAX} agents"), "take some out"));
    }
    tables.into_iter().map(agent).collect()
}

fn agent(told: Told) -> Result<Described, SettingsError> {
    let name = told.key.strip_prefix(TABLE).and_then(|key| key.strip_prefix('.')).unwrap_or_default().to_owned();
    let plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-_".contains(letter);
    if name.is_empty() || name.len() > NAME_LETTERS_MAX || !name.chars().all(plain) {
        let why = format!("a name has up to {NAME_LETTERS_MAX} small letters, digits, - and _");
        return Err(told.wrong(why, "rename it, for example [agents.my-agent]"));
    }
    if Agent::names(&[]).any(|known| known == name) {
        return Err(told.wrong("loop has an agent of that name", format!("rename it, for example [agents.my-{name}]")));
    }
    let (place, key) = (told.place.clone(), told.key.clone());
    let mut described = Described { name, ..Described::default() };
    let mut success = None;
    for entry in told.table()? {
        take(&mut described, &mut success, entry)?;
    }
    let whole = |what: &str, why: String, hint: &str| {
        let told = Told { place: place.clone(), key: format!("{key}.{what}"), value: Said::Other("") };
        Err(told.wrong(why, hint))
    };
    if described.command.is_empty() {
        return whole("command", "it is missing".to_owned(), "for example command = [\"my-agent\", \"--json\"]");
    }
    let in_command = |name| described.command.iter().any(|word| holds(word, name));
    if described.prompt == PromptBy::File && !in_command("prompt_file") {
        let hint = "for example command = [\"my-agent\", \"--file\", \"{prompt_file}\"]";
        return whole("command", "prompt = \"file\", and {prompt_file} is not in the command".to_owned(), hint);
    }
    described.success = match (success, described.output) {
        (Some(Success::Terminal), Output::Text) => {
            return whole("success", "plain text has no terminal event".to_owned(), "use success = \"exit\"");
        }
        (Some(success), _) => success,
        (None, Output::Text) => Success::Exit,
        (None, _) => Success::Terminal,
    };
    let bytes = serde_json::to_vec(&described).map_or(0, |bytes| bytes.len());
    if bytes > BYTES_MAX {
        return whole("command", format!("the agent is described by more than {BYTES_MAX} bytes"), "use a script");
    }
    Ok(described)
}

fn take(described: &mut Described, success: &mut Option<Success>, entry: Told) -> Result<(), SettingsError> {
    let key = entry.key.rsplit('.').next().unwrap_or_default().to_owned();
    match key.as_str() {
        "command" => described.command = entry.command()?,
        "prompt" => described.prompt = entry.choice(&[("stdin", PromptBy::Stdin), ("file", PromptBy::File)])?,
        "session" => described.session = Some(entry.template("session")?),
        "model" => described.model = Some(entry.template("model")?),
        // Said in so many words: it stands in the prompt.
        "system" if matches!(&entry.value, Said::Text(text) if text == "prompt") => described.system = None,
        "system" => described.system = Some(entry.template("system_file")?),
        "permissions" => described.permissions = by_permissions(entry)?,
        "output" => described.output = entry.choice(&OUTPUTS)?,
        "success" => *success = Some(entry.choice(&[("exit", Success::Exit), ("terminal", Success::Terminal)])?),
        "gentle" => described.interrupt = entry.choice(&[("terminate", false), ("interrupt", true)])?,
        "env" => described.env = entry.names()?,
        "litter" => described.litter = entry.list()?,
        "install" => described.install = entry.text()?,
        "sign_in" => described.sign_in = entry.text()?,
        "about" => drop(entry.text()?),
        other => {
            let hint = match nearest(other, KEYS) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("an agent has: {}", KEYS.join(", ")),
            };
            return Err(entry.wrong("an agent has no such key", hint));
        }
    }
    Ok(())
}

fn by_permissions(entry: Told) -> Result<ByPermissions, SettingsError> {
    let mut all = ByPermissions::default();
    for entry in entry.table()? {
        let mode = entry.key.rsplit('.').next().unwrap_or_default().to_owned();
        let to = match mode.as_str() {
            "edit" => &mut all.edit,
            "work" => &mut all.work,
            "all" => &mut all.all,
            _ => {
                let modes = PERMISSIONS.map(|(word, _)| word).join(", ");
                return Err(entry.wrong("there is no such way of working", format!("use one of: {modes}")));
            }
        };
        *to = Some(entry.words(&["workspace"])?);
    }
    Ok(all)
}

fn holds(word: &str, name: &str) -> bool {
    let mut rest = word;
    while let Some((_, found, after)) = placeholder(rest) {
        if found == name {
            return true;
        }
        rest = after;
    }
    false
}

impl Told {
    fn wrong(&self, why: impl Into<String>, hint: impl Into<String>) -> SettingsError {
        let (place, key) = (self.place.clone(), self.key.clone());
        SettingsError::BadAgent { place, key, why: why.into(), hint: hint.into() }
    }

    fn found(&self) -> &'static str {
        match &self.value {
            Said::Text(_) => "text",
            Said::List(_) => "list",
            Said::Table(_) => "table",
            Said::Other(what) => what,
        }
    }

    fn table(self) -> Result<Vec<Self>, SettingsError> {
        let error = self.wrong(format!("it must be a table and is {}", self.found()), format!("write [{}]", self.key));
        match self.value {
            Said::Table(entries) => Ok(entries),
            Said::Text(_) | Said::List(_) | Said::Other(_) => Err(error),
        }
    }

    fn text(&self) -> Result<String, SettingsError> {
        match &self.value {
            Said::Text(text) => Ok(crate::text::one_line(text, 400)),
            Said::List(_) | Said::Table(_) | Said::Other(_) => {
                Err(self.wrong(format!("it must be text and is {}", self.found()), "write it in quotes"))
            }
        }
    }

    /// Words from a list, or from a line that is split as a shell would.
    fn list(&self) -> Result<Vec<String>, SettingsError> {
        let words = match &self.value {
            Said::List(words) => words.clone(),
            Said::Text(line) => words::split(line).map_err(|error| self.wrong(error.to_string(), error.hint()))?,
            Said::Table(_) | Said::Other(_) => {
                let why = format!("it must be a list of texts and is {}", self.found());
                return Err(self.wrong(why, "for example [\"--flag\", \"value\"]"));
            }
        };
        if words.iter().any(|word| word.contains('\0')) {
            return Err(self.wrong("it holds a NUL byte", "take it out"));
        }
        Ok(words)
    }

    /// Words in which only these names stand in braces.
    fn words(&self, allowed: &[&str]) -> Result<Vec<String>, SettingsError> {
        let words = self.list()?;
        for word in &words {
            let mut rest = word.as_str();
            while let Some((_, name, after)) = placeholder(rest) {
                if !allowed.contains(&name) {
                    let here = allowed.iter().map(|name| format!("{{{name}}}")).collect::<Vec<_>>().join(", ");
                    let why = if PLACEHOLDERS.contains(&name) || name == "args" {
                        format!("{{{name}}} has no value here")
                    } else {
                        format!("nothing is called {{{name}}}")
                    };
                    return Err(self.wrong(why, format!("here may stand: {here}")));
                }
                rest = after;
            }
        }
        Ok(words)
    }

    fn command(&self) -> Result<Vec<String>, SettingsError> {
        let words = self.words(&["prompt_file", "workspace", "args"])?;
        if words.first().is_none_or(|program| program.is_empty() || program.contains('{')) {
            return Err(self.wrong("it must begin with a program", "for example [\"my-agent\", \"--json\"]"));
        }
        let inside = words.iter().any(|word| word != ARGS && holds(word, "args"));
        if inside || words.iter().filter(|word| *word == ARGS).count() > 1 {
            return Err(self.wrong("{args} stands once, as a word of its own", "take the others out"));
        }
        Ok(words)
    }

    /// Words that hold this value at least once.
    fn template(&self, name: &str) -> Result<Vec<String>, SettingsError> {
        let words = self.words(&[name, "workspace"])?;
        if !words.iter().any(|word| holds(word, name)) {
            return Err(
                self.wrong(format!("{{{name}}} is not in it"), format!("for example [\"--x\", \"{{{name}}}\"]"))
            );
        }
        Ok(words)
    }

    fn names(&self) -> Result<Vec<String>, SettingsError> {
        let names = self.list()?;
        match names.iter().find(|name| name.contains('=') || crate::agent::AgentEnv::parse(name).is_err()) {
            Some(name) => {
                let why = format!("{name:?} is no name of a variable");
                Err(self.wrong(why, "name variables whose values are passed, for example [\"MY_API_KEY\", \"MY_*\"]"))
            }
            None => Ok(names),
        }
    }

    fn choice<T: Copy>(&self, choices: &[(&str, T)]) -> Result<T, SettingsError> {
        let text = self.text()?;
        if let Some((_, found)) = choices.iter().find(|(word, _)| *word == text) {
            return Ok(*found);
        }
        let all = choices.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
        let hint = match nearest(&text, choices.iter().map(|(word, _)| *word)) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("use one of: {all}"),
        };
        Err(self.wrong(format!("{text:?} is none of: {all}"), hint))
    }
}
