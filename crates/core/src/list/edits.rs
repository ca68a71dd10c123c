//! What a person changed in a list while it is worked on.
use std::collections::{BTreeMap, BTreeSet};

use super::{Item, List};

/// The edits of a person, and the list to continue with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListEdits {
    /// The list as it is now, but with the running items as they were when they began.
    pub list: List,
    /// Items that are new.
    pub added: Vec<String>,
    /// Items that are gone, and are not running.
    pub removed: Vec<String>,
    /// Items that ask for something else now, and are not running.
    pub changed: Vec<String>,
    /// Items that the person ticked.
    pub ticked: Vec<String>,
    /// Items whose tick the person took back.
    pub reopened: Vec<String>,
    /// Running items that were removed or changed: they are finished as they began, and not ticked if they differ.
    pub undisturbed: Vec<String>,
    /// The items that stayed have another order.
    pub reordered: bool,
}

impl ListEdits {
    /// Whether nothing changed.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        let changes = [&self.added, &self.removed, &self.changed, &self.ticked, &self.reopened, &self.undisturbed];
        !self.reordered && changes.iter().all(|ids| ids.is_empty())
    }

    /// What changed, a line for each kind.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let kinds = [
            ("added", &self.added),
            ("removed", &self.removed),
            ("changed", &self.changed),
            ("ticked by a person", &self.ticked),
            ("open again", &self.reopened),
            ("edited while it runs, so it is finished as it began", &self.undisturbed),
        ];
        let named = kinds.into_iter().filter(|(_, ids)| !ids.is_empty());
        let mut lines: Vec<String> = named.map(|(kind, ids)| format!("{kind}: {}", ids.join(", "))).collect();
        if self.reordered {
            lines.push("the order changed".to_owned());
        }
        lines
    }
}

/// Compares a list with what a person made of it. The running items are not disturbed.
#[must_use]
pub fn merge_edits(before: &List, now: &List, running: &[&str]) -> ListEdits {
    let old: BTreeMap<&str, &Item> = before.items.iter().map(|item| (item.id.as_str(), item)).collect();
    let new: BTreeMap<&str, &Item> = now.items.iter().map(|item| (item.id.as_str(), item)).collect();
    let mut edits = ListEdits {
        list: now.clone(),
        added: Vec::new(),
        removed: Vec::new(),
        changed: Vec::new(),
        ticked: Vec::new(),
        reopened: Vec::new(),
        undisturbed: Vec::new(),
        reordered: is_reordered(before, now),
    };
    for item in &mut edits.list.items {
        let Some(was) = old.get(item.id.as_str()) else {
            edits.added.push(item.id.clone());
            continue;
        };
        let is_changed = !asks_the_same(was, item);
        if running.contains(&item.id.as_str()) {
            if is_changed || was.done != item.done {
                edits.undisturbed.push(item.id.clone());
            }
            // The line is the one of today, for messages.
            *item = Item { line: item.line, ..(*was).clone() };
            continue;
        }
        if is_changed {
            edits.changed.push(item.id.clone());
        }
        match (was.done, item.done) {
            (false, true) => edits.ticked.push(item.id.clone()),
            (true, false) => edits.reopened.push(item.id.clone()),
            (true, true) | (false, false) => {}
        }
    }
    for (at, item) in before.items.iter().enumerate().filter(|(_, item)| !new.contains_key(item.id.as_str())) {
        if running.contains(&item.id.as_str()) {
            edits.undisturbed.push(item.id.clone());
            let at = at.min(edits.list.items.len());
            edits.list.items.insert(at, item.clone());
        } else {
            edits.removed.push(item.id.clone());
        }
    }
    // A running item may depend on one that was removed.
    let ids: BTreeSet<String> = edits.list.items.iter().map(|item| item.id.clone()).collect();
    for item in &mut edits.list.items {
        item.depends_on.retain(|id| ids.contains(id));
        item.parent = item.parent.take().filter(|id| ids.contains(id));
    }
    edits
}

/// Whether two versions of an item ask for the same. Marks, notes and places are not compared.
fn asks_the_same(was: &Item, now: &Item) -> bool {
    let plain = |item: &Item| {
        let mut item = Item { done: false, line: 0, seal: String::new(), notes: String::new(), ..item.clone() };
        item.criteria.iter_mut().for_each(|criterion| criterion.line = 0);
        item.commands.iter_mut().for_each(|command| command.line = 0);
        item.settings.iter_mut().for_each(|setting| setting.line = 0);
        item
    };
    plain(was) == plain(now)
}

/// Whether the items that both have are in another order.
pub(super) fn is_reordered(before: &List, now: &List) -> bool {
    let ids = |list: &List| list.items.iter().map(|item| item.id.clone()).collect::<Vec<String>>();
    let (mut old, mut new) = (ids(before), ids(now));
    let in_old: BTreeSet<String> = old.iter().cloned().collect();
    let in_new: BTreeSet<String> = new.iter().cloned().collect();
    old.retain(|id| in_new.contains(id));
    new.retain(|id| in_old.contains(id));
    old != new
}
