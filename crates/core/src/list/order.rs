//! In which order the items of a list are worked on, and which of them wait for others.
use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

use super::{Item, List};
use crate::text;

/// An item that waits for another one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListEdge {
    /// The item that waits.
    pub item: String,
    /// What it waits for.
    pub waits_for: String,
}

/// Why an item that a person named cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PickError {
    /// The list does not have it.
    #[error("the list has no item {id}{}", near.as_deref().map(|near| format!(": did you mean {near}?")).unwrap_or_default())]
    Unknown {
        /// As it was typed.
        id: String,
        /// The id that looks like it.
        near: Option<String>,
    },
    /// The file says that it is done.
    #[error("{0} is done already")]
    Done(String),
    /// It is done with its children.
    #[error("{id} is done with its parts: take one of {}", parts.join(", "))]
    HasParts {
        /// The item.
        id: String,
        /// Its open children.
        parts: Vec<String>,
    },
}

/// Which open items may start now, and how many may not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadyItems<'a> {
    /// In the order in which they are worked on.
    pub ready: Vec<&'a Item>,
    /// Open items that were not begun and wait for others.
    pub waiting: usize,
}

impl List {
    /// The open items that may start now. `begun` are those that were started, `over` those of them on which nothing
    /// works any more. What an item names as its dependency must be ticked; what only stands before it must be over.
    #[must_use]
    pub fn ready(&self, begun: &BTreeSet<String>, over: &BTreeSet<String>) -> ReadyItems<'_> {
        let graph = self.graph();
        let mut waits: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for edge in self.edges() {
            waits.entry(edge.item).or_default().push(edge.waits_for);
        }
        let mut found = ReadyItems::default();
        for at in self.sorted(&graph) {
            let Some(item) = self.items.get(at).filter(|item| !begun.contains(&item.id)) else { continue };
            let depends = graph.get(&at).is_some_and(|others| !others.is_empty());
            let before = waits.get(&item.id).into_iter().flatten();
            if depends || before.into_iter().any(|other| !over.contains(other)) {
                found.waiting += 1;
            } else {
                found.ready.push(item);
            }
        }
        found
    }

    /// The open items in the order in which they are worked on: by phase, by priority where items have one, and as they
    /// are in the file; what an item depends on comes before it. An optional item is left out unless another one
    /// depends on it.
    #[must_use]
    pub fn open_in_order(&self) -> Vec<&Item> {
        let graph = self.graph();
        self.sorted(&graph).into_iter().filter_map(|at| self.items.get(at)).collect()
    }

    /// The item that is next. None: all is done.
    #[must_use]
    pub fn next_open(&self) -> Option<&Item> {
        self.open_in_order().into_iter().next()
    }

    /// The item that a person named.
    ///
    /// # Errors
    /// It is not there, done already, or done with its parts.
    pub fn pick(&self, id: &str) -> Result<&Item, PickError> {
        let Some(item) = self.items.iter().find(|item| item.id == id) else {
            let near = text::nearest(id, self.items.iter().map(|item| item.id.as_str())).map(str::to_owned);
            return Err(PickError::Unknown { id: text::escaped_head(id, 60), near });
        };
        if item.done {
            return Err(PickError::Done(item.id.clone()));
        }
        if self.has_required_children(id) {
            let parts = self.items.iter().filter(|child| child.parent.as_deref() == Some(id) && !child.done);
            let parts = parts.map(|child| child.id.clone()).collect();
            return Err(PickError::HasParts { id: item.id.clone(), parts });
        }
        Ok(item)
    }

    /// Which open items wait for which: the dependencies that the file names, and its order. Items that may run beside
    /// others wait for the last one before them that may not; a phase waits for the one before.
    #[must_use]
    pub fn edges(&self) -> Vec<ListEdge> {
        let graph = self.graph();
        let mut edges: BTreeSet<ListEdge> = BTreeSet::new();
        let id = |at: usize| self.items.get(at).map(|item| item.id.clone()).unwrap_or_default();
        let mut add = |item: usize, others: &[usize]| {
            edges.extend(others.iter().map(|other| ListEdge { item: id(item), waits_for: id(*other) }));
        };
        // What the next item waits for, and the items since then that may run beside each other.
        let (mut barrier, mut group): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
        let mut phase = None;
        for at in self.sorted(&graph) {
            let Some(item) = self.items.get(at) else { continue };
            if phase != Some(item.phase) {
                phase = Some(item.phase);
                if !group.is_empty() {
                    barrier = std::mem::take(&mut group);
                }
            }
            if item.parallel {
                add(at, &barrier);
                group.push(at);
            } else {
                add(at, if group.is_empty() { &barrier } else { &group });
                group.clear();
                barrier = vec![at];
            }
            add(at, graph.get(&at).map(Vec::as_slice).unwrap_or_default());
        }
        edges.into_iter().collect()
    }

    /// Items that wait for each other, if there are any: their places in `items`.
    pub(super) fn circle(&self) -> Option<Vec<usize>> {
        let graph = self.waits();
        let sorted: BTreeSet<usize> = self.sorted(&graph).into_iter().collect();
        let is_left = |at: &usize| !sorted.contains(at);
        let mut at = graph.keys().copied().find(is_left)?;
        let mut walk: Vec<usize> = Vec::new();
        while !walk.contains(&at) {
            walk.push(at);
            at = graph.get(&at)?.iter().copied().find(is_left)?;
        }
        let start = walk.iter().position(|seen| *seen == at)?;
        Some(walk.split_off(start))
    }

    /// The open items with the open items that they depend on.
    fn graph(&self) -> BTreeMap<usize, Vec<usize>> {
        let is_open = |at: usize| self.items.get(at).is_some_and(|item| !item.done);
        let mut graph = self.waits();
        graph.retain(|at, _| is_open(*at));
        for others in graph.values_mut() {
            others.retain(|other| is_open(*other));
        }
        let mut wanted: Vec<usize> =
            graph.keys().copied().filter(|at| self.items.get(*at).is_some_and(|item| !item.optional)).collect();
        let mut kept: BTreeSet<usize> = wanted.iter().copied().collect();
        while let Some(at) = wanted.pop() {
            for other in graph.get(&at).into_iter().flatten() {
                if kept.insert(*other) {
                    wanted.push(*other);
                }
            }
        }
        graph.retain(|at, _| kept.contains(at));
        graph
    }

    /// All items that are work by themselves, with those that they depend on. A dependency on an item with parts is one
    /// on its parts, and parts have the dependencies of what they belong to.
    fn waits(&self) -> BTreeMap<usize, Vec<usize>> {
        let places: BTreeMap<&str, usize> =
            self.items.iter().enumerate().map(|(at, item)| (item.id.as_str(), at)).collect();
        let mut parts: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (at, item) in self.items.iter().enumerate().filter(|(_, item)| !item.optional) {
            if let Some(above) = item.parent.as_deref().and_then(|id| places.get(id)) {
                parts.entry(*above).or_default().push(at);
            }
        }
        let mut waits = BTreeMap::new();
        for at in (0..self.items.len()).filter(|at| !parts.contains_key(at)) {
            let mut others: BTreeSet<usize> = BTreeSet::new();
            let mut seen: BTreeSet<usize> = BTreeSet::new();
            let mut above = Some(at);
            while let Some(item) = above.filter(|at| seen.insert(*at)).and_then(|at| self.items.get(at)) {
                for named in item.depends_on.iter().filter_map(|id| places.get(id.as_str())) {
                    add_leaves(&parts, *named, &mut others);
                }
                above = item.parent.as_deref().and_then(|id| places.get(id)).copied();
            }
            waits.insert(at, others.into_iter().collect());
        }
        waits
    }

    /// The items of a graph, each behind those that it depends on. Items of a circle are left out.
    fn sorted(&self, graph: &BTreeMap<usize, Vec<usize>>) -> Vec<usize> {
        let rank = |at: usize| {
            let item = self.items.get(at);
            let priority = item.and_then(|item| item.priority).unwrap_or(i64::MAX);
            (item.map_or(0, |item| item.phase), priority, at)
        };
        let mut missing: BTreeMap<usize, usize> = BTreeMap::new();
        let mut followers: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let mut ready: BTreeSet<(u32, i64, usize)> = BTreeSet::new();
        for (at, others) in graph {
            missing.insert(*at, others.len());
            for other in others {
                followers.entry(*other).or_default().push(*at);
            }
            if others.is_empty() {
                ready.insert(rank(*at));
            }
        }
        let mut all = Vec::new();
        while let Some((_, _, at)) = ready.pop_first() {
            all.push(at);
            for follower in followers.get(&at).into_iter().flatten() {
                if let Some(count) = missing.get_mut(follower) {
                    *count = count.saturating_sub(1);
                    if *count == 0 {
                        ready.insert(rank(*follower));
                    }
                }
            }
        }
        all
    }
}

/// The items without parts that an item stands for.
fn add_leaves(parts: &BTreeMap<usize, Vec<usize>>, at: usize, leaves: &mut BTreeSet<usize>) {
    let mut open = vec![at];
    let mut seen: BTreeSet<usize> = BTreeSet::new();
    while let Some(at) = open.pop() {
        if !seen.insert(at) {
            continue;
        }
        match parts.get(&at) {
            Some(children) => open.extend(children),
            None => {
                leaves.insert(at);
            }
        }
    }
}
