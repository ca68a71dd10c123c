//! A list while it is read: its items, and for each item the bytes that a tick changes.
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use sha2::{Digest, Sha256};

use super::error::Fault;
use super::{Item, List, ListFormat};
use crate::text;

/// A longer list is not read.
const ITEMS_MAX: usize = 10_000;
/// More warnings are counted, not kept.
const WARNINGS_MAX: usize = 50;

/// Bytes to replace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ByteEdit {
    pub(super) at: Range<usize>,
    pub(super) put: String,
}

/// Where a note is written: the text stands between these two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NotePlace {
    pub(super) at: Range<usize>,
    pub(super) before: String,
    pub(super) after: &'static str,
}

/// Where the parts of an item are in the text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ItemPlace {
    /// Its id, or its first byte.
    pub(super) id_at: usize,
    /// The entries of `depends_on`, in the same order.
    pub(super) depends_at: Vec<usize>,
    /// What makes it done. Empty where it cannot be ticked.
    pub(super) tick: Vec<ByteEdit>,
    /// Where its note is.
    pub(super) note: Option<NotePlace>,
    /// Whether each of its boxes is ticked, where it has several.
    pub(super) marks: Vec<bool>,
}

/// A list with the places of its items.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) list: List,
    /// One for each item, in the same order.
    pub(super) places: Vec<ItemPlace>,
    ids: BTreeSet<String>,
    /// The last number that an id got behind it.
    numbers: BTreeMap<String, u32>,
    /// Where the first item is that is too much.
    excess_at: Option<usize>,
    warnings: usize,
}

impl Draft {
    pub(super) fn new(format: ListFormat, kind: &'static str) -> Self {
        let list = List { format, kind, items: Vec::new(), commands: Vec::new(), warnings: Vec::new() };
        let (ids, numbers) = (BTreeSet::new(), BTreeMap::new());
        Self { list, places: Vec::new(), ids, numbers, excess_at: None, warnings: 0 }
    }

    pub(super) fn push(&mut self, item: Item, place: ItemPlace) {
        if self.list.items.len() >= ITEMS_MAX {
            self.excess_at.get_or_insert(place.id_at);
            return;
        }
        self.ids.insert(item.id.clone());
        self.list.items.push(item);
        self.places.push(place);
    }

    pub(super) fn warn(&mut self, warning: impl Into<String>) {
        self.warnings += 1;
        if self.warnings <= WARNINGS_MAX {
            self.list.warnings.push(text::one_line(&warning.into(), 400));
        }
    }

    /// The list, checked.
    pub(super) fn finish(mut self) -> Result<Self, Fault> {
        if let Some(at) = self.excess_at {
            let message = format!("the list has more than {ITEMS_MAX} items");
            return Err(Fault::new(at, message, "divide the list"));
        }
        if self.warnings > WARNINGS_MAX {
            self.list.warnings.push(format!("and {} more", self.warnings - WARNINGS_MAX));
        }
        self.check_ids()?;
        if let Some(circle) = self.list.circle() {
            let place = circle.first().and_then(|at| self.places.get(*at));
            let at = place.map_or(0, |place| place.depends_at.first().copied().unwrap_or(place.id_at));
            let ids = circle.iter().chain(circle.first()).filter_map(|at| self.list.items.get(*at));
            let ids: Vec<&str> = ids.map(|item| item.id.as_str()).collect();
            let message = format!("items wait for each other: {}", shown(&ids.join(" → ")));
            return Err(Fault::new(at, message, "remove one of these dependencies"));
        }
        Ok(self)
    }

    /// An id that no item has yet: this one, or with a number behind it.
    pub(super) fn free_id(&mut self, wanted: &str) -> String {
        if !self.ids.contains(wanted) {
            return wanted.to_owned();
        }
        let number = self.numbers.entry(wanted.to_owned()).or_insert(1);
        loop {
            *number = number.saturating_add(1);
            let id = format!("{wanted}-{number}");
            if !self.ids.contains(&id) || *number == u32::MAX {
                return id;
            }
        }
    }

    /// Ids must be unique, and dependencies must name them.
    fn check_ids(&self) -> Result<(), Fault> {
        let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
        for (item, place) in self.list.items.iter().zip(&self.places) {
            if item.id.trim().is_empty() {
                return Err(Fault::new(place.id_at, "an item has an empty id", "give each item its own id"));
            }
            if let Some(line) = seen.insert(&item.id, item.line) {
                let message = format!("two items have the id {}: also in line {line}", shown(&item.id));
                return Err(Fault::new(place.id_at, message, "give each item its own id"));
            }
        }
        for (item, place) in self.list.items.iter().zip(&self.places) {
            for (at, wanted) in item.depends_on.iter().enumerate() {
                if !seen.contains_key(wanted.as_str()) {
                    let hint = match text::nearest(wanted, seen.keys().copied()) {
                        Some(near) => format!("did you mean {near}?"),
                        None => "name an id of this list".to_owned(),
                    };
                    let place = place.depends_at.get(at).copied().unwrap_or(place.id_at);
                    let message = format!("{} depends on {}, which no item has as its id", item.id, shown(wanted));
                    return Err(Fault::new(place, message, hint));
                }
            }
        }
        Ok(())
    }
}

/// A text of the file in a message.
pub(super) fn shown(text: &str) -> String {
    text::escaped_head(text, 60)
}

/// A hash of some texts.
pub(super) fn seal<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// An id from the words of a title: `write-the-tests`.
pub(super) fn slug(title: &str) -> String {
    const LETTERS_MAX: usize = 40;
    let mut slug = String::new();
    for word in title.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()) {
        if !slug.is_empty() && slug.chars().count() + word.chars().count() >= LETTERS_MAX {
            break;
        }
        if !slug.is_empty() {
            slug.push('-');
        }
        slug.extend(word.chars().take(LETTERS_MAX).flat_map(char::to_lowercase));
    }
    if slug.is_empty() { "item".to_owned() } else { slug }
}
