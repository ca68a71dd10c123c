//! What an agent changed in a list that only the harness may write. All of it is undone; this names it.
use std::collections::{BTreeMap, BTreeSet};

use super::draft::{Draft, ItemPlace};
use super::edits::is_reordered;
use super::{Criterion, Item, List, ListFormat, ProposedCommand, draft_of};
use crate::text;

/// A kind of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ListChangeKind {
    /// The file is gone.
    FileRemoved,
    /// The file cannot be read any more.
    Unreadable,
    /// An item, or one of its boxes, was ticked.
    Ticked,
    /// A tick was taken back.
    Unticked,
    /// An item is gone.
    Removed,
    /// An item is new.
    Added,
    /// The order of work is another one.
    Reordered,
    /// Less is asked for, or something else decides.
    Weakened,
    /// A text was changed.
    Edited,
    /// Bytes changed that no item has.
    Other,
}

impl ListChangeKind {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::FileRemoved => "file removed",
            Self::Unreadable => "unreadable",
            Self::Ticked => "ticked",
            Self::Unticked => "unticked",
            Self::Removed => "removed",
            Self::Added => "added",
            Self::Reordered => "reordered",
            Self::Weakened => "weakened",
            Self::Edited => "edited",
            Self::Other => "other",
        }
    }
}

/// A change that an agent made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListChange {
    /// What kind it is.
    pub kind: ListChangeKind,
    /// The item, where it is about one.
    pub item: Option<String>,
    /// What exactly, in a few words. May be empty.
    pub detail: String,
}

impl std::fmt::Display for ListChange {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(item) = &self.item {
            write!(out, "{}: ", text::escaped_head(item, 60))?;
        }
        write!(out, "{}", self.kind.word())?;
        if !self.detail.is_empty() {
            write!(out, " ({})", self.detail)?;
        }
        Ok(())
    }
}

/// What differs between the list that the harness left and the one that the agent left. None: the file is gone.
///
/// Empty only if no byte differs.
#[must_use]
pub fn changed_by_agent(format: ListFormat, before: &[u8], after: Option<&[u8]>) -> Vec<ListChange> {
    let about_file = |kind, detail: String| vec![ListChange { kind, item: None, detail }];
    let Some(after) = after else { return about_file(ListChangeKind::FileRemoved, String::new()) };
    if before == after {
        return Vec::new();
    }
    let Ok(old) = draft_of("", before, Some(format)) else {
        return about_file(ListChangeKind::Other, "the list could not be read before".to_owned());
    };
    let new = match draft_of("", after, Some(format)) {
        Ok(new) => new,
        Err(error) => {
            let detail = format!("line {}: {}", error.line, error.message);
            return about_file(ListChangeKind::Unreadable, detail);
        }
    };
    let mut found = Found { changes: Vec::new() };
    found.compare(&old, &new);
    if found.changes.is_empty() {
        found.add(ListChangeKind::Other, None, "bytes that belong to no item");
    }
    found.changes
}

struct Found {
    changes: Vec<ListChange>,
}

impl Found {
    fn add(&mut self, kind: ListChangeKind, item: Option<&Item>, detail: impl Into<String>) {
        let detail = text::one_line(&detail.into(), 200);
        self.changes.push(ListChange { kind, item: item.map(|item| item.id.clone()), detail });
    }

    fn compare(&mut self, old: &Draft, new: &Draft) {
        let now: BTreeMap<&str, usize> =
            new.list.items.iter().enumerate().map(|(at, item)| (item.id.as_str(), at)).collect();
        let known: BTreeSet<&str> = old.list.items.iter().map(|item| item.id.as_str()).collect();
        for (at, was) in old.list.items.iter().enumerate() {
            let Some(here) = now.get(was.id.as_str()).copied() else {
                self.add(ListChangeKind::Removed, Some(was), "");
                continue;
            };
            let Some(is) = new.list.items.get(here) else { continue };
            self.marks(was, is, Boxes { was: old.places.get(at), is: new.places.get(here) });
            self.demands(was, is);
            self.texts(was, is);
        }
        for item in new.list.items.iter().filter(|item| !known.contains(item.id.as_str())) {
            self.add(ListChangeKind::Added, Some(item), if item.done { "ticked already" } else { "" });
        }
        if is_reordered(&old.list, &new.list) {
            self.add(ListChangeKind::Reordered, None, "the order of the items");
        }
        self.commands(None, &old.list, &new.list);
    }

    fn commands(&mut self, item: Option<&Item>, old: &List, new: &List) {
        if plain(&old.commands) != plain(&new.commands) {
            self.add(ListChangeKind::Weakened, item, "the commands of the whole list");
        }
    }

    fn marks(&mut self, was: &Item, is: &Item, boxes: Boxes<'_>) {
        match (was.done, is.done) {
            (false, true) => self.add(ListChangeKind::Ticked, Some(is), ""),
            (true, false) => self.add(ListChangeKind::Unticked, Some(is), ""),
            (true, true) | (false, false) => {
                let count = |place: Option<&ItemPlace>| {
                    place.map_or(0, |place| place.marks.iter().filter(|mark| **mark).count())
                };
                let (old, new) = (count(boxes.was), count(boxes.is));
                if new > old {
                    self.add(ListChangeKind::Ticked, Some(is), format!("{} of its boxes", new - old));
                } else if new < old {
                    self.add(ListChangeKind::Unticked, Some(is), format!("{} of its boxes", old - new));
                }
            }
        }
    }

    /// What the item asks for, and what decides about it.
    fn demands(&mut self, was: &Item, is: &Item) {
        let weaker = ListChangeKind::Weakened;
        self.criteria(was, is);
        if plain(&was.commands) != plain(&is.commands) {
            self.add(weaker, Some(is), "its command");
        }
        if was.optional != is.optional {
            self.add(weaker, Some(is), if is.optional { "optional now" } else { "no longer optional" });
        }
        let is_narrower = !is.scope.is_empty() && is.scope.iter().all(|glob| was.scope.contains(glob));
        if was.scope != is.scope {
            let kind = if is_narrower && !was.scope.is_empty() { ListChangeKind::Edited } else { weaker };
            self.add(kind, Some(is), "its scope");
        }
        for setting in &was.settings {
            match is.settings.iter().find(|other| other.key == setting.key) {
                None => self.add(weaker, Some(is), format!("{} removed", setting.key)),
                Some(other) if other.value != setting.value => {
                    self.add(weaker, Some(is), format!("{} changed", setting.key));
                }
                Some(_) => {}
            }
        }
        for setting in is.settings.iter().filter(|one| was.settings.iter().all(|other| other.key != one.key)) {
            self.add(weaker, Some(is), format!("{} added", setting.key));
        }
        if was.depends_on != is.depends_on {
            self.add(weaker, Some(is), "what it depends on");
        }
        if was.parent != is.parent {
            self.add(weaker, Some(is), "what it is a part of");
        }
        if was.priority != is.priority || was.phase != is.phase || was.parallel != is.parallel {
            self.add(ListChangeKind::Reordered, Some(is), "priority, phase or parallel");
        }
    }

    fn criteria(&mut self, was: &Item, is: &Item) {
        let same = |one: &Criterion, other: &Criterion| one.id == other.id && one.text == other.text;
        for old in &was.criteria {
            let name = format!("criterion {}", old.id);
            let by_text = is.criteria.iter().find(|new| same(old, new));
            let by_text = by_text.or_else(|| is.criteria.iter().find(|new| new.text == old.text));
            let Some(new) = by_text else {
                let is_there =
                    is.criteria.iter().any(|new| new.id == old.id) && is.criteria.len() >= was.criteria.len();
                let what = if is_there { "changed" } else { "removed" };
                self.add(ListChangeKind::Weakened, Some(is), format!("{name} {what}"));
                continue;
            };
            if new.command != old.command {
                self.add(ListChangeKind::Weakened, Some(is), format!("the command of {name}"));
            }
            if old.artifacts.iter().any(|file| !new.artifacts.contains(file)) {
                self.add(ListChangeKind::Weakened, Some(is), format!("an artifact of {name}"));
            } else if new.artifacts != old.artifacts {
                self.add(ListChangeKind::Edited, Some(is), format!("artifacts of {name}"));
            }
        }
        if is.criteria.len() > was.criteria.len() {
            self.add(ListChangeKind::Edited, Some(is), "criteria added");
        }
    }

    fn texts(&mut self, was: &Item, is: &Item) {
        let parts = [
            ("its title", was.title == is.title),
            ("its text", was.text == is.text),
            ("its notes", was.notes == is.notes),
        ];
        for (part, _) in parts.into_iter().filter(|(_, is_same)| !is_same) {
            self.add(ListChangeKind::Edited, Some(is), part);
        }
    }
}

/// The boxes of an item, before and now.
struct Boxes<'a> {
    was: Option<&'a ItemPlace>,
    is: Option<&'a ItemPlace>,
}

/// Commands without their lines.
fn plain(commands: &[ProposedCommand]) -> Vec<(&str, &str)> {
    commands.iter().map(|command| (command.name.as_str(), command.command.as_str())).collect()
}
