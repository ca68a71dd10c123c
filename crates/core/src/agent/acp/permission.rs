//! Whether a tool call that an agent asks permission for is allowed, and which of its options says so.
use std::collections::VecDeque;

use serde_json::Value;

use super::{list_at, text_at};
use crate::agent::command::Permissions;

/// So many tool calls are remembered: a request may tell less than the update before it.
const TOOLS_MAX: usize = 64;
/// So many letters of a command are kept.
const LABEL_LETTERS_MAX: usize = 200;
/// The names under which tools take a path.
const PATH_NAMES: [&str; 6] = ["file_path", "filePath", "filepath", "path", "absolute_path", "parentDir"];

/// goose's tools for files, and their kinds.
const NAMED: [(&str, &str); 5] =
    [("write", "edit"), ("edit", "edit"), ("read", "read"), ("tree", "read"), ("analyze", "read")];

/// What is known of a tool call.
#[derive(Debug, Clone, Default)]
pub(super) struct ToolCall {
    kind: String,
    /// The kind by goose's own name of the tool: it calls all of them `other`.
    named: Option<&'static str>,
    command: Option<String>,
    title: Option<String>,
    paths: Vec<String>,
    question: Option<String>,
}

impl ToolCall {
    /// Takes in what a `toolCall` or an update says; what it leaves out stays as it was.
    pub(super) fn take(&mut self, call: &Value) {
        if let Some(kind) = text_at(call, &["kind"]) {
            kind.clone_into(&mut self.kind);
        }
        let name = text_at(call, &["_meta", "goose", "toolCall", "toolName"]);
        let named = name.and_then(|name| NAMED.iter().find(|(known, _)| *known == name));
        self.named = named.map(|(_, kind)| *kind).or(self.named);
        let input = call.get("rawInput").unwrap_or(&Value::Null);
        self.command = input.get("command").or_else(|| input.get("cmd")).and_then(command).or(self.command.take());
        if let Some(title) = text_at(call, &["title"]).filter(|title| !title.trim().is_empty()) {
            self.title = Some(brief(title));
        }
        let places = list_at(call, &["locations"]).iter().chain(list_at(call, &["content"]));
        let told: Vec<&str> = places
            .filter_map(|place| text_at(place, &["path"]))
            .chain(PATH_NAMES.iter().filter_map(|name| text_at(input, &[name])))
            .collect();
        if !told.is_empty() {
            self.paths = told.into_iter().map(str::to_owned).collect();
        }
        let asked = list_at(input, &["questions"]).first().and_then(|first| text_at(first, &["question"]));
        let asked = asked.or_else(|| text_at(input, &["question"]).filter(|_| self.command.is_none()));
        self.question = asked.map(brief).or(self.question.take());
    }

    /// In a few words: the command, or what the agent calls it.
    pub(super) fn label(&self) -> String {
        let words = self.command.clone().or_else(|| self.title.clone());
        words.unwrap_or_else(|| if self.kind.is_empty() { "a tool".to_owned() } else { self.kind.clone() })
    }

    /// What it asks a person, if that is what the tool does.
    pub(super) fn question(&self) -> Option<&str> {
        self.question.as_deref()
    }

    /// Whatever runs a command runs a command, by whichever name it goes.
    fn kind(&self) -> &str {
        match (self.kind.as_str(), &self.command) {
            ("" | "other", Some(_)) => "execute",
            ("" | "other", None) => self.named.unwrap_or(&self.kind),
            (kind, _) => kind,
        }
    }
}

/// A command as one line; of a shell's own argv only what it is given to run.
fn command(value: &Value) -> Option<String> {
    if let Some(line) = value.as_str() {
        return Some(brief(line));
    }
    let words: Vec<&str> = value.as_array()?.iter().filter_map(Value::as_str).collect();
    match words.as_slice() {
        [_, flag, line] if flag.starts_with('-') && flag.ends_with('c') => Some(brief(line)),
        words => Some(brief(&words.join(" "))),
    }
}

fn brief(text: &str) -> String {
    text.trim().chars().take(LABEL_LETTERS_MAX).collect()
}

/// The tool calls of late, by their ids.
#[derive(Debug, Clone, Default)]
pub(super) struct Tools(VecDeque<(String, ToolCall)>);

impl Tools {
    /// Takes in an update or a request and gives all that is known of that call.
    pub(super) fn take(&mut self, call: &Value) -> ToolCall {
        let id = text_at(call, &["toolCallId"]).unwrap_or_default();
        if let Some((_, tool)) = self.0.iter_mut().find(|(known, _)| known == id) {
            tool.take(call);
            return tool.clone();
        }
        let mut tool = ToolCall::default();
        tool.take(call);
        if self.0.len() >= TOOLS_MAX {
            self.0.pop_front();
        }
        self.0.push_back((id.to_owned(), tool.clone()));
        tool
    }
}

/// What is allowed.
#[derive(Debug, Clone)]
pub(super) struct Policy {
    pub(super) permissions: Permissions,
    pub(super) network: bool,
    pub(super) workspace: String,
}

impl Policy {
    /// Whether a tool may be used. A call without a path cannot be judged; the agent works in the workspace.
    pub(super) fn allows(&self, tool: &ToolCall) -> bool {
        let inside = || tool.paths.iter().all(|path| inside(&self.workspace, path));
        match (self.permissions, tool.kind()) {
            (Permissions::All, _) | (Permissions::Edit | Permissions::Work, "think" | "switch_mode") => true,
            (Permissions::Work, "execute" | "read" | "search") => true,
            (Permissions::Work, "fetch") => self.network,
            (Permissions::Work, _) | (Permissions::Edit, "read" | "search" | "edit" | "delete" | "move") => inside(),
            (Permissions::Edit, _) => false,
        }
    }
}

/// Whether a path is in a folder, by its names only.
fn inside(folder: &str, path: &str) -> bool {
    let path = path.strip_prefix("file://").unwrap_or(path);
    if path.starts_with('~') {
        return false;
    }
    let whole = if path.starts_with('/') { path.to_owned() } else { format!("{folder}/{path}") };
    let (folder, whole) = (parts(folder), parts(&whole));
    whole.starts_with(&folder)
}

/// The names that lead to a path from the root.
fn parts(path: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    parts
}

/// The option to answer with. *Once* before *always*: what an agent remembers may outlive us in the user's files.
pub(super) fn option(options: &[Value], allow: bool) -> Option<&str> {
    let kinds = if allow { ["allow_once", "allow_always"] } else { ["reject_once", "reject_always"] };
    let fits = |kind: &str| options.iter().find(|option| text_at(option, &["kind"]) == Some(kind));
    kinds.iter().find_map(|kind| fits(kind)).and_then(|option| text_at(option, &["optionId"]))
}

/// Whether the option of that id lets the agent go on.
pub(super) fn is_allowing(options: &[Value], id: &str) -> bool {
    let chosen = options.iter().find(|option| text_at(option, &["optionId"]) == Some(id));
    chosen.and_then(|option| text_at(option, &["kind"])).is_some_and(|kind| kind.starts_with("allow"))
}
