//! A line of a source and its fate, and the builder that all tools fill.
use serde::Serialize;

use crate::settings::{Key, Kind, keys, parse_value};

/// What is shown in place of a secret.
const SECRET: &str = "(secret, not shown)";
/// Parts of a name whose value is secret.
const SECRET_NAMES: [&str; 6] = ["token", "password", "secret", "api_key", "apikey", "webhook"];

/// The file for the task that is written.
pub(super) const PROMPT_FILE: &str = "loop-prompt.md";
/// Words by which a prompt asks for the protocol of another tool.
const OTHER_PROTOCOLS: [&str; 4] = ["RALPH_STATUS", "<<<RALPHEX:", "LOOPR_STATUS", "<promise>"];
/// How many notes about a prompt are made.
const NOTES_MAX: usize = 12;
/// What is said about a key of another tool that the tables do not have.
pub(super) const UNKNOWN_KEY: &str = "import does not know this key";
/// What is said about another command for the agent.
pub(super) const OTHER_COMMAND: &str =
    "another command for the agent: describe it as [agents.NAME] in your own config.toml";

/// One or more lines of a source, and what becomes of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ImportLine {
    /// The file; empty for what follows from the tool itself.
    pub file: String,
    /// The first line, from 1; 0 for what follows from the tool itself.
    pub from: usize,
    /// The last line.
    pub to: usize,
    /// The key there, or a word for what is there.
    pub what: String,
    /// Its value; that of a secret is not shown.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// What becomes of it.
    #[serde(flatten)]
    pub fate: LineFate,
}

/// What becomes of lines of a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "fate", rename_all = "snake_case")]
pub enum LineFate {
    /// It is a setting in the project file.
    Set {
        /// The key.
        key: &'static str,
        /// Its value.
        #[serde(rename = "set_to")]
        value: String,
        /// Whether the user is asked to approve it when a loop starts.
        needs_approval: bool,
    },
    /// It is a setting that only the user can give.
    Yours {
        /// The key.
        key: &'static str,
        /// Its value.
        #[serde(rename = "set_to")]
        value: String,
        /// How it is given: a flag, or a command.
        words: String,
        /// Why a project file cannot give it.
        why: String,
    },
    /// It is copied to a file.
    Copied {
        /// Which.
        to: String,
    },
    /// It is left to a command that reads such files as they are.
    Later {
        /// Which, or what it will be.
        why: String,
    },
    /// It has no counterpart.
    Left {
        /// Why.
        why: String,
    },
}

/// Where something stands in a source.
#[derive(Debug, Clone, Default)]
pub(super) struct LinesOfSource {
    pub(super) file: String,
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) what: String,
    pub(super) value: String,
}

impl LinesOfSource {
    /// All lines of a file.
    pub(super) fn whole(file: &str, text: &str, what: impl Into<String>) -> Self {
        let (file, what) = (file.to_owned(), what.into());
        Self { file, from: 1, to: text.lines().count().max(1), what, value: String::new() }
    }

    /// What follows from the tool itself.
    pub(super) fn tool(what: &str) -> Self {
        Self { what: what.to_owned(), ..Self::default() }
    }
}

/// What is known about a key of another tool.
#[derive(Debug, Clone, Copy)]
pub(super) enum KeyRule {
    /// It is this key of ours, with a unit behind its number.
    To(&'static Key, &'static str),
    /// The same in milliseconds; zero is what the text says.
    Milliseconds(&'static Key, &'static str),
    /// It has no counterpart, for this reason.
    Left(&'static str),
    /// A later command reads it.
    Later(&'static str),
}

/// A table of keys of another tool.
pub(super) type KeyRules = &'static [(&'static str, KeyRule)];

/// Everything that was mapped so far.
#[derive(Debug, Default)]
pub(super) struct Mapping {
    pub(super) lines: Vec<ImportLine>,
    /// Files to be written: their names and texts.
    pub(super) files: Vec<(String, String)>,
    /// The file with the task for the next command.
    pub(super) prompt: Option<String>,
    /// The workflow file for the next command.
    pub(super) workflow: Option<String>,
    /// What a person should look at.
    pub(super) notes: Vec<String>,
}

impl Mapping {
    /// Sets a key of ours. A value that it does not take is left, with the reason. A list grows; of another key the last
    /// line counts.
    pub(super) fn set(&mut self, at: LinesOfSource, key: &'static Key, text: &str) {
        let value = match parse_value(key.kind, text) {
            Ok(value) => value,
            Err(refusal) => {
                return self.left(at, format!("{} does not take it: {}", key.name, refusal.why));
            }
        };
        if crate::text::control_character(&value).is_some() {
            return self.left(at, "it holds a control character, which a project file may not hold");
        }
        let is_list = matches!(key.kind, Kind::Paths | Kind::Gates);
        if !is_list {
            self.replace(key);
        }
        self.add(at, LineFate::Set { key: key.name, value, needs_approval: false });
    }

    /// An earlier line that sets the key does not count. What the tool itself implies is not a line.
    fn replace(&mut self, key: &'static Key) {
        let sets = |line: &ImportLine| matches!(&line.fate, LineFate::Set { key: set, .. } if *set == key.name);
        self.lines.retain(|line| line.from > 0 || !sets(line));
        for before in self.lines.iter_mut().filter(|line| sets(line)) {
            before.fate = LineFate::Left { why: format!("another line sets {}", key.name) };
        }
    }

    /// A gate with its command.
    pub(super) fn gate(&mut self, at: LinesOfSource, name: &str, command: &str) {
        let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
        let name: String = name.chars().map(plain).take(32).collect();
        let name = name.trim_matches('-');
        let name = if name.is_empty() { "check" } else { name };
        let taken = |name: &str, line: &ImportLine| matches!(&line.fate, LineFate::Set { key: "gate", value, .. } if value.split(['=', '[']).next() == Some(name));
        let free = (1..).map(|count| if count == 1 { name.to_owned() } else { format!("{name}-{count}") });
        let name = free.into_iter().find(|name| !self.lines.iter().any(|line| taken(name, line)));
        self.set(at, keys::gate(), &format!("{}={command}", name.unwrap_or_default()));
    }

    pub(super) fn left(&mut self, at: LinesOfSource, why: impl Into<String>) {
        self.add(at, LineFate::Left { why: why.into() });
    }

    pub(super) fn later(&mut self, at: LinesOfSource, why: impl Into<String>) {
        self.add(at, LineFate::Later { why: why.into() });
    }

    /// Copies a text to a file.
    pub(super) fn copy(&mut self, at: LinesOfSource, to: &str, text: String) {
        self.files.push((to.to_owned(), text));
        self.add(at, LineFate::Copied { to: to.to_owned() });
    }

    /// Lines that are in a file which is copied as a whole.
    pub(super) fn lines_copied(&mut self, at: LinesOfSource, to: &str) {
        self.add(at, LineFate::Copied { to: to.to_owned() });
    }

    /// Follows a table; says whether the key is in it.
    pub(super) fn follow(&mut self, at: &LinesOfSource, rules: KeyRules, value: &str) -> bool {
        let name = at.what.strip_prefix("defaults.").unwrap_or(&at.what);
        let Some((_, rule)) = rules.iter().find(|(known, _)| *known == name) else { return false };
        match rule {
            KeyRule::To(key, unit) => self.set(at.clone(), key, &format!("{value}{unit}")),
            KeyRule::Milliseconds(key, zero) if value == "0" => self.set(at.clone(), key, zero),
            KeyRule::Milliseconds(key, _) => self.set(at.clone(), key, &from_milliseconds(value)),
            KeyRule::Left(why) => self.left(at.clone(), *why),
            KeyRule::Later(why) => self.later(at.clone(), *why),
        }
        true
    }

    /// A file for the task of the next command that no lines of a source became.
    pub(super) fn make_prompt(&mut self, text: String) {
        self.files.push((PROMPT_FILE.to_owned(), text));
        self.prompt = Some(PROMPT_FILE.to_owned());
    }

    /// Copies a prompt of the other tool, and names what loop does not fill in or ask for.
    pub(super) fn copy_prompt(&mut self, at: LinesOfSource, text: String) {
        let mut known = Vec::new();
        for (line, number) in text.lines().zip(1..) {
            if let Some(what) = OTHER_PROTOCOLS.iter().find(|what| line.contains(**what)) {
                if !known.contains(what) {
                    known.push(what);
                    let say = "loop asks for its own status block, so this part can be deleted";
                    self.notes.push(format!("{PROMPT_FILE}:{number} names {what} … {say}"));
                }
            } else if let Some((_, name)) = line.split_once("{{").filter(|(_, rest)| rest.contains("}}")) {
                let name = name.split("}}").next().unwrap_or_default();
                let name = crate::text::one_line(name, 40);
                self.notes
                    .push(format!("{PROMPT_FILE}:{number} has {{{{{name}}}}}, which loop does not fill in: edit it"));
            }
        }
        self.notes.truncate(NOTES_MAX);
        self.prompt = Some(PROMPT_FILE.to_owned());
        self.copy(at, PROMPT_FILE, text);
    }

    fn add(&mut self, at: LinesOfSource, fate: LineFate) {
        let name = at.what.to_lowercase();
        // Numbers of tokens are not tokens.
        let name = name.replace("tokens", "");
        let is_secret = !at.value.is_empty() && SECRET_NAMES.iter().any(|part| name.contains(part));
        let value = if is_secret { SECRET.to_owned() } else { at.value };
        self.lines.push(ImportLine { file: at.file, from: at.from, to: at.to, what: at.what, value, fate });
    }
}

/// A number of milliseconds as a duration; another text is not changed.
pub(super) fn from_milliseconds(value: &str) -> String {
    match value.parse::<u64>() {
        Ok(ms) if ms % 1000 == 0 => format!("{}s", ms / 1000),
        Ok(ms) => format!("{ms}ms"),
        Err(_) => value.to_owned(),
    }
}
