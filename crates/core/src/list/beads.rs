//! Issues of beads, as its program `bd` prints them, and the words of its commands.
//!
//! The file `.beads/issues.jsonl` is an export that is often old. So it may be read, but is never written.
use std::collections::BTreeSet;

use super::draft::{Draft, ItemPlace, seal};
use super::error::{Fault, LineIndex};
use super::json::{JsonNode, JsonValue};
use super::{Criterion, Item, ListFormat};
use crate::text;

/// Kinds of dependencies that another issue must be closed for.
const BLOCKING: [&str; 4] = ["blocks", "blocked-by", "conditional-blocks", "waits-for"];
/// Issues that are not to be begun now.
const NOT_NOW: [&str; 4] = ["blocked", "deferred", "pinned", "hooked"];

/// A call of `bd`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BeadsCall<'a> {
    /// All issues, closed ones too, as JSON.
    List,
    /// The issues that wait for nothing, as JSON.
    Ready,
    /// Takes an issue, so that another worker does not.
    Claim(&'a str),
    /// Closes an issue.
    Close {
        /// The issue.
        id: &'a str,
        /// What proved it.
        reason: &'a str,
    },
}

impl BeadsCall<'_> {
    /// The program and its arguments. None for an id that could be taken for a flag.
    #[must_use]
    pub fn words(&self) -> Option<Vec<String>> {
        let words: Vec<&str> = match self {
            Self::List => vec!["bd", "list", "--json", "--all", "--limit", "0"],
            Self::Ready => vec!["bd", "ready", "--json", "--limit", "0"],
            Self::Claim(id) | Self::Close { id, .. } if !is_id(id) => return None,
            Self::Claim(id) => vec!["bd", "update", id, "--claim", "--json"],
            Self::Close { id, reason } => vec!["bd", "close", id, "--reason", reason, "--json"],
        };
        Some(words.into_iter().map(str::to_owned).collect())
    }
}

fn is_id(id: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || ['-', '_', '.', '/'].contains(&letter);
    !id.is_empty() && !id.starts_with('-') && id.chars().all(is_letter)
}

/// The issues of an answer: plain, or in an envelope.
fn issues(root: &JsonNode) -> Option<&[JsonNode]> {
    let data = root.get("data").filter(|_| root.get("schema_version").is_some()).unwrap_or(root);
    let data = data.get("issues").unwrap_or(data);
    match data.list() {
        // One envelope or one list in a file that is read line by line.
        Some([only]) if only.list().is_some() || only.get("schema_version").is_some() => issues(only),
        Some(nodes) => Some(nodes),
        None => data.is_map().then(|| std::slice::from_ref(data)).filter(|_| data.get("id").is_some()),
    }
}

/// Whether a text is an answer of `bd`.
pub(super) fn fits(root: &JsonNode) -> bool {
    let is_issue = |node: &JsonNode| node.get("issue_type").is_some();
    (root.get("schema_version").is_some() && root.get("data").is_some())
        || issues(root).is_some_and(|nodes| nodes.first().is_some_and(is_issue))
}

/// Reads an answer.
pub(super) fn read(text: &str, root: &JsonNode) -> Result<Draft, Fault> {
    let mut draft = Draft::new(ListFormat::Beads, "beads issues");
    let Some(nodes) = issues(root) else {
        let message = format!("there is no list of issues, but {}", root.describe());
        return Err(Fault::new(root.at.start, message, "give what bd list --json prints"));
    };
    let lines = LineIndex::new(text);
    let ids: BTreeSet<&str> = nodes.iter().filter_map(|node| node.get("id")?.word()).collect();
    for node in nodes {
        issue(&mut draft, node, &lines, &ids)?;
    }
    Ok(draft)
}

fn issue(draft: &mut Draft, node: &JsonNode, lines: &LineIndex, ids: &BTreeSet<&str>) -> Result<(), Fault> {
    let Some(id) = node.get("id").filter(|id| id.word().is_some()) else {
        let message = format!("an issue must be an object with an id, not {}", node.describe());
        return Err(Fault::new(node.at.start, message, "give what bd list --json prints"));
    };
    let word = |key: &str| node.get(key).and_then(JsonNode::word).unwrap_or_default().trim().to_owned();
    let mut item = Item { id: id.word().unwrap_or_default().to_owned(), ..Item::default() };
    let mut place = ItemPlace { id_at: id.at.start, ..ItemPlace::default() };
    item.line = lines.line_of(node.at.start);
    item.title = text::one_line(&word("title"), 400);
    if item.title.is_empty() {
        item.title.clone_from(&item.id);
    }
    let mut told = vec![word("description"), word("design")];
    told.retain(|part| !part.is_empty());
    item.text = told.join("\n\n");
    item.notes = word("notes");
    let status = word("status");
    item.done = status == "closed";
    item.optional = NOT_NOW.contains(&status.as_str());
    item.priority = word("priority").parse().ok();
    item.parallel = true;
    criteria(&mut item, &word("acceptance_criteria"), node.get("acceptance_criteria"), lines);
    for edge in node.get("dependencies").and_then(JsonNode::list).unwrap_or_default() {
        let other = edge.get("depends_on_id").or_else(|| edge.get("id"));
        let kind = edge.get("type").or_else(|| edge.get("dependency_type")).and_then(JsonNode::word);
        let Some(wanted) = other.and_then(JsonNode::word) else { continue };
        let kind = kind.unwrap_or("blocks");
        if !ids.contains(wanted) {
            if BLOCKING.contains(&kind) && !item.done {
                draft.warn(format!("{} waits for {wanted}, which is not in this list", item.id));
            }
        } else if kind == "parent-child" {
            item.parent = Some(wanted.to_owned());
        } else if BLOCKING.contains(&kind) {
            item.depends_on.push(wanted.to_owned());
            place.depends_at.push(edge.at.start);
        }
    }
    item.seal = seal([item.id.as_str(), &item.title, &item.text, &status, &word("acceptance_criteria")]);
    draft.push(item, place);
    Ok(())
}

/// One criterion for each line that has text.
fn criteria(item: &mut Item, told: &str, node: Option<&JsonNode>, lines: &LineIndex) {
    let line = node
        .filter(|node| !matches!(node.value, JsonValue::Null))
        .map_or(item.line, |node| lines.line_of(node.at.start));
    for told in told.lines() {
        let told = told.trim().trim_start_matches(['-', '*', '+']).trim_start();
        let told = ["[ ]", "[x]", "[X]"].iter().find_map(|sign| told.strip_prefix(sign)).unwrap_or(told).trim();
        if !told.is_empty() {
            let id = (item.criteria.len() + 1).to_string();
            item.criteria.push(Criterion { id, text: told.to_owned(), line, ..Criterion::default() });
        }
    }
}
