//! `prd.json`: `items` or a plain list (the LoopSpec), and `userStories` (snarktank/ralph, ralph-tui).
//!
//! Unknown fields are left alone. Real files have fields that no tool documents; those that are understood anyway give
//! a warning.
use super::draft::{ByteEdit, Draft, ItemPlace, NotePlace, seal, shown, slug};
use super::error::{Fault, LineIndex};
use super::json::{JsonMember, JsonNode, JsonValue};
use super::{Criterion, Item, ListFormat, ProposedCommand};
use crate::text;

/// Where the items are, below the top of a file.
const LISTS: [&str; 4] = ["userStories", "items", "stories", "tasks"];
/// What other tools call `passes: true`.
const DONE_WORDS: [&str; 3] = ["done", "completed", "passed"];
const CRITERIA: [&str; 5] = ["acceptanceCriteria", "acceptance_criteria", "acceptance", "criteria", "steps"];
const DEPENDS: [&str; 4] = ["dependsOn", "depends_on", "dependencies", "blockedBy"];
const SCOPE: [&str; 2] = ["scope", "files"];
const COMMANDS: [&str; 4] = ["verificationCommands", "check", "verify", "command"];

/// Other keys that items have in the wild. A key that is near one of the keys above, but not here, may be a mistake.
const OTHER_KEYS: [&str; 27] = [
    "id",
    "title",
    "name",
    "description",
    "text",
    "task",
    "passes",
    "notes",
    "priority",
    "optional",
    "parallel",
    "status",
    "labels",
    "completionNotes",
    "subtasks",
    "estimated_hours",
    "metadata",
    "category",
    "type",
    "test",
    "tests",
    "epic",
    "files_changed",
    "attempts",
    "estimate",
    "size",
    "assignee",
];
/// What only ralph-tui has.
const RALPH_TUI: [&str; 3] = ["labels", "completionNotes", "dependsOn"];

/// The list of a file, and the key that it stands under.
pub(super) fn list_of(root: &JsonNode) -> Option<FoundList<'_>> {
    if let Some(nodes) = root.list() {
        return Some(FoundList { key: "", nodes });
    }
    LISTS.into_iter().find_map(|key| Some(FoundList { key, nodes: root.get(key)?.list()? }))
}

/// The object that has the list: some files have it below `prd`, which ralph-tui refuses.
pub(super) fn unwrapped(root: &JsonNode) -> &JsonNode {
    match root.get("prd") {
        Some(inside) if list_of(root).is_none() => inside,
        _ => root,
    }
}

/// A list in a JSON file.
pub(super) struct FoundList<'a> {
    /// Empty for a plain list.
    pub(super) key: &'static str,
    pub(super) nodes: &'a [JsonNode],
}

/// Reads a file.
pub(super) fn read(text: &str, root: &JsonNode, format: ListFormat) -> Result<Draft, Fault> {
    let inside = unwrapped(root);
    let mut draft = Draft::new(format, kind_of(inside, format));
    if !std::ptr::eq(inside, root) {
        draft.warn("the list is below \"prd\": ralph-tui would refuse this file");
    }
    let Some(found) = list_of(inside) else {
        let message = format!("there is no list of items, but {}", root.describe());
        return Err(Fault::new(root.at.start, message, "put the items into \"items\" or \"userStories\""));
    };
    if ["stories", "tasks"].contains(&found.key) {
        draft.warn(format!(
            "the items are in \"{}\": ralph-tui would refuse this file, it reads userStories",
            found.key
        ));
    }
    let lines = LineIndex::new(text);
    for member in inside.members().iter().filter(|member| member.key == "verificationCommands") {
        draft.list.commands = commands(&lines, member)?;
    }
    let reader = StoryReader { text, lines };
    let mut has_dependencies = false;
    for node in found.nodes {
        reader.item(&mut draft, node)?;
        has_dependencies |= member(node, &DEPENDS).is_some();
    }
    // A list that names dependencies names all of them: what has none may run beside others.
    for item in draft.list.items.iter_mut().filter(|_| has_dependencies) {
        item.parallel = true;
    }
    Ok(draft)
}

/// What the file is called.
fn kind_of(root: &JsonNode, format: ListFormat) -> &'static str {
    let stories = root.get("userStories").and_then(JsonNode::list).unwrap_or_default();
    let is_ralph_tui = |node: &JsonNode| RALPH_TUI.iter().any(|key| node.get(key).is_some());
    if format != ListFormat::UserStories {
        "LoopSpec prd.json"
    } else if root.get("metadata").is_some() || root.get("name").is_some() || stories.iter().any(is_ralph_tui) {
        "ralph-tui prd.json"
    } else {
        "ralph prd.json"
    }
}

/// The first of some keys that an object has.
fn member<'a>(node: &'a JsonNode, keys: &[&str]) -> Option<&'a JsonMember> {
    keys.iter().find_map(|key| node.members().iter().find(|member| member.key == *key))
}

fn wrong(node: &JsonNode, key: &str, wanted: &str) -> Fault {
    let message = format!("{key} must be {wanted}, not {}", node.describe());
    Fault::new(node.at.start, message, format!("write {key} as {wanted}"))
}

struct StoryReader<'a> {
    text: &'a str,
    lines: LineIndex,
}

impl StoryReader<'_> {
    fn item(&self, draft: &mut Draft, node: &JsonNode) -> Result<(), Fault> {
        if !node.is_map() {
            let message = format!("an item must be an object, not {}", node.describe());
            return Err(Fault::new(node.at.start, message, "write {\"id\": …, \"title\": …, \"passes\": false}"));
        }
        let title = self.words(node, &["title", "name"])?;
        let told = self.words(node, &["description", "text", "task"])?;
        let id_node = node.get("id").filter(|id| !matches!(id.value, JsonValue::Null));
        let mut item = Item { line: self.lines.line_of(node.at.start), ..Item::default() };
        item.title = text::one_line(if title.is_empty() { &told } else { &title }, 400);
        item.id = match id_node {
            Some(id) => id.word().ok_or_else(|| wrong(id, "id", "a text"))?.trim().to_owned(),
            None => draft.free_id(&slug(&item.title)),
        };
        if item.title.is_empty() {
            item.title.clone_from(&item.id);
        }
        item.text = told;
        item.criteria = self.criteria(node)?;
        item.priority = priority(node)?;
        item.optional = switch(node, "optional")?;
        item.parallel = switch(node, "parallel")?;
        item.scope = texts(node, &SCOPE)?.into_iter().map(|(text, _)| text).collect();
        for member in node.members().iter().filter(|member| COMMANDS.contains(&member.key.as_str())) {
            item.commands.extend(commands(&self.lines, member)?);
        }
        let mut place = ItemPlace { id_at: id_node.map_or(node.at.start, |id| id.at.start), ..ItemPlace::default() };
        for (id, at) in texts(node, &DEPENDS)? {
            item.depends_on.push(id);
            place.depends_at.push(at);
        }
        self.done(draft, node, &mut item)?;
        self.mistakes(draft, node, &item.id);
        self.notes(node, &mut item, &mut place)?;
        let passes = node.get("passes").filter(|passes| passes.switch() != Some(true));
        place.tick = match (item.done, passes) {
            (true, _) => Vec::new(),
            (false, Some(passes)) => vec![ByteEdit { at: passes.at.clone(), put: "true".to_owned() }],
            (false, None) => vec![self.added(node, "passes", "true")],
        };
        item.can_be_ticked = true;
        item.seal = sealed(&item);
        draft.push(item, place);
        Ok(())
    }

    /// Warns of keys that look like a key that is read, with a mistake.
    fn mistakes(&self, draft: &mut Draft, node: &JsonNode, id: &str) {
        let known = || {
            let read = CRITERIA.iter().chain(&DEPENDS).chain(&SCOPE).chain(&COMMANDS);
            read.chain(&OTHER_KEYS).copied()
        };
        for member in node.members() {
            let key = member.key.as_str();
            if known().all(|other| other != key)
                && let Some(near) = text::nearest(key, known())
            {
                let line = self.lines.line_of(member.key_at.start);
                draft.warn(format!("line {line}: {id} has the unknown key \"{}\": did you mean {near}?", shown(key)));
            }
        }
    }

    /// The first text of some keys; empty where there is none.
    fn words(&self, node: &JsonNode, keys: &[&str]) -> Result<String, Fault> {
        match member(node, keys) {
            None => Ok(String::new()),
            Some(found) if matches!(found.node.value, JsonValue::Null) => Ok(String::new()),
            Some(found) => {
                let word = found.node.word().ok_or_else(|| wrong(&found.node, &found.key, "a text"))?;
                Ok(word.trim().to_owned())
            }
        }
    }

    /// `passes`, or `status` where a file has only that.
    fn done(&self, draft: &mut Draft, node: &JsonNode, item: &mut Item) -> Result<(), Fault> {
        let passes = node.get("passes").filter(|passes| !matches!(passes.value, JsonValue::Null));
        if let Some(passes) = passes {
            item.done = passes.switch().ok_or_else(|| wrong(passes, "passes", "true or false"))?;
        }
        let Some(status) = node.get("status").and_then(JsonNode::word) else { return Ok(()) };
        let is_done = DONE_WORDS.contains(&status.to_ascii_lowercase().as_str());
        if passes.is_none() {
            item.done = is_done;
            draft.warn(format!(
                "line {}: {} has \"status\": \"{}\" instead of \"passes\": read as {}",
                item.line,
                item.id,
                shown(status),
                if is_done { "done" } else { "open" }
            ));
        } else if is_done != item.done {
            draft.warn(format!(
                "line {}: {} has \"passes\": {} and \"status\": \"{}\": only passes counts",
                item.line,
                item.id,
                item.done,
                shown(status)
            ));
        }
        Ok(())
    }

    fn notes(&self, node: &JsonNode, item: &mut Item, place: &mut ItemPlace) -> Result<(), Fault> {
        let Some(notes) = node.get("notes") else {
            let edit = self.added(node, "notes", "");
            place.note = Some(NotePlace { at: edit.at, before: edit.put, after: "" });
            return Ok(());
        };
        match &notes.value {
            JsonValue::Null | JsonValue::Text(_) => {
                item.notes = notes.word().unwrap_or_default().to_owned();
                place.note = Some(NotePlace { at: notes.at.clone(), before: String::new(), after: "" });
            }
            JsonValue::List(nodes) => {
                let texts: Vec<&str> = nodes.iter().filter_map(JsonNode::word).collect();
                item.notes = texts.join("\n");
                let (at, before) = match nodes.last() {
                    Some(last) => (last.at.end, ", "),
                    None => (notes.at.end.saturating_sub(1), ""),
                };
                place.note = Some(NotePlace { at: at..at, before: before.to_owned(), after: "" });
            }
            JsonValue::Switch(_) | JsonValue::Number(_) | JsonValue::Map(_) => {
                return Err(wrong(notes, "notes", "a text"));
            }
        }
        Ok(())
    }

    /// A new key behind the last one, written as that is.
    fn added(&self, node: &JsonNode, key: &str, value: &str) -> ByteEdit {
        let Some(last) = node.members().last() else {
            let at = node.at.start + 1;
            return ByteEdit { at: at..at, put: format!("\"{key}\": {value}") };
        };
        let head = self.text.get(..last.key_at.start).unwrap_or_default();
        let space = head.len() - head.trim_end_matches([' ', '\t', '\r', '\n']).len();
        let space = head.get(head.len() - space..).unwrap_or_default();
        let colon = self.text.get(last.key_at.end..last.node.at.start).unwrap_or(": ");
        let at = last.node.at.end;
        // An object in one line, `{"a": 1}`, has no space before its only key.
        let space = if space.is_empty() && node.members().len() == 1 && colon.len() > 1 { " " } else { space };
        ByteEdit { at: at..at, put: format!(",{space}\"{key}\"{colon}{value}") }
    }

    fn criteria(&self, node: &JsonNode) -> Result<Vec<Criterion>, Fault> {
        let Some(found) = member(node, &CRITERIA) else { return Ok(Vec::new()) };
        let nodes = match &found.node.value {
            JsonValue::Null => return Ok(Vec::new()),
            JsonValue::List(nodes) => nodes.as_slice(),
            JsonValue::Text(_) | JsonValue::Map(_) => std::slice::from_ref(&found.node),
            JsonValue::Switch(_) | JsonValue::Number(_) => {
                return Err(wrong(&found.node, &found.key, "a list of texts"));
            }
        };
        nodes.iter().zip(1..).map(|(node, place)| self.criterion(node, &found.key, place)).collect()
    }

    fn criterion(&self, node: &JsonNode, key: &str, place: usize) -> Result<Criterion, Fault> {
        let line = self.lines.line_of(node.at.start);
        if let JsonValue::Text(text) = &node.value {
            let text = text.trim().to_owned();
            return Ok(Criterion { id: place.to_string(), text, line, ..Criterion::default() });
        }
        if !node.is_map() {
            return Err(wrong(node, key, "a list of texts"));
        }
        let text = self.words(node, &["text", "criterion", "description", "title", "name"])?;
        let id = self.words(node, &["id"])?;
        let command = self.words(node, &["command", "check", "verify"])?;
        Ok(Criterion {
            id: if id.is_empty() { place.to_string() } else { id },
            text: if text.is_empty() { command.clone() } else { text },
            command: Some(command).filter(|command| !command.is_empty()),
            artifacts: texts(node, &["artifacts", "artifact"])?.into_iter().map(|(text, _)| text).collect(),
            line,
        })
    }
}

/// What an item asks for. Notes, order and unknown fields may change while it is worked on.
fn sealed(item: &Item) -> String {
    let done = item.done.to_string();
    let mut parts: Vec<&str> = vec![&item.id, &item.title, &item.text, &done];
    for criterion in &item.criteria {
        parts.extend([criterion.id.as_str(), &criterion.text, criterion.command.as_deref().unwrap_or_default()]);
        parts.extend(criterion.artifacts.iter().map(String::as_str));
    }
    for command in &item.commands {
        parts.extend([command.name.as_str(), &command.command]);
    }
    seal(parts)
}

fn switch(node: &JsonNode, key: &str) -> Result<bool, Fault> {
    match node.get(key) {
        None => Ok(false),
        Some(value) => value.switch().ok_or_else(|| wrong(value, key, "true or false")),
    }
}

/// The texts of a list, or one text, each with its place.
fn texts(node: &JsonNode, keys: &[&str]) -> Result<Vec<(String, usize)>, Fault> {
    let Some(found) = member(node, keys) else { return Ok(Vec::new()) };
    let nodes = match &found.node.value {
        JsonValue::Null => return Ok(Vec::new()),
        JsonValue::List(nodes) => nodes.as_slice(),
        JsonValue::Text(_) | JsonValue::Number(_) => std::slice::from_ref(&found.node),
        JsonValue::Switch(_) | JsonValue::Map(_) => return Err(wrong(&found.node, &found.key, "a list of texts")),
    };
    let text = |node: &JsonNode| {
        let word = node.word().ok_or_else(|| wrong(node, &found.key, "a list of texts"))?;
        Ok((word.trim().to_owned(), node.at.start))
    };
    nodes.iter().map(text).collect()
}

/// A number, `P1`, or a word.
fn priority(node: &JsonNode) -> Result<Option<i64>, Fault> {
    let Some(value) = node.get("priority").filter(|value| !matches!(value.value, JsonValue::Null)) else {
        return Ok(None);
    };
    let word = value.word().map(str::to_ascii_lowercase).unwrap_or_default();
    let number = match word.as_str() {
        "critical" | "urgent" => Some(0),
        "high" => Some(1),
        "medium" | "normal" => Some(2),
        "low" => Some(3),
        word => word.strip_prefix('p').unwrap_or(word).parse().ok(),
    };
    number.map(Some).ok_or_else(|| wrong(value, "priority", "a whole number"))
}

/// Commands: an object of names and commands, a list, or one text.
fn commands(lines: &LineIndex, member: &JsonMember) -> Result<Vec<ProposedCommand>, Fault> {
    let one = |name: &str, node: &JsonNode| match &node.value {
        JsonValue::Text(command) => {
            Ok(ProposedCommand { name: name.to_owned(), command: command.clone(), line: lines.line_of(node.at.start) })
        }
        JsonValue::Null | JsonValue::Switch(_) | JsonValue::Number(_) | JsonValue::List(_) | JsonValue::Map(_) => {
            Err(wrong(node, &member.key, "a command or an object of commands"))
        }
    };
    let name = if member.key == "verificationCommands" { "" } else { member.key.as_str() };
    match &member.node.value {
        JsonValue::Null => Ok(Vec::new()),
        JsonValue::Map(members) => members.iter().map(|member| one(&member.key, &member.node)).collect(),
        JsonValue::List(nodes) => nodes.iter().map(|node| one(name, node)).collect(),
        JsonValue::Text(_) | JsonValue::Switch(_) | JsonValue::Number(_) => Ok(vec![one(name, &member.node)?]),
    }
}
