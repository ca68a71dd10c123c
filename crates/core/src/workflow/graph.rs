//! What waits for what: circles, steps, the longest chain, a part of the whole.
use std::collections::BTreeSet;

use super::error::FilePosition;
use super::{Workflow, WorkflowEntry};

/// An entry of `depends_on`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Edge {
    /// The place of the entry that must be done before.
    pub(super) to: usize,
    pub(super) at: FilePosition,
}

/// Entries that wait for each other.
#[derive(Debug)]
pub(super) struct Circle {
    /// From an entry to itself, each waiting for the next one.
    pub(super) path: Vec<usize>,
    /// The entry of `depends_on` that closes it.
    pub(super) at: FilePosition,
}

/// How far the search is with an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    No,
    OnPath,
    Done,
}

/// Circles, none of which shares its closing edge with another. Taking these edges out leaves no circle.
pub(super) fn circles(edges: &[Vec<Edge>]) -> Vec<Circle> {
    let mut search = Search { edges, seen: vec![Seen::No; edges.len()], path: Vec::new(), found: Vec::new() };
    for start in 0..edges.len() {
        search.walk(start);
    }
    search.found
}

struct Search<'a> {
    edges: &'a [Vec<Edge>],
    seen: Vec<Seen>,
    path: Vec<usize>,
    found: Vec<Circle>,
}

impl Search<'_> {
    fn mark(&mut self, place: usize, seen: Seen) {
        if let Some(mark) = self.seen.get_mut(place) {
            *mark = seen;
        }
    }

    /// The depth is bounded by the number of entries.
    fn walk(&mut self, place: usize) {
        if self.seen.get(place) != Some(&Seen::No) {
            return;
        }
        self.mark(place, Seen::OnPath);
        self.path.push(place);
        for edge in self.edges.get(place).into_iter().flatten() {
            if self.seen.get(edge.to) == Some(&Seen::OnPath) {
                let from = self.path.iter().position(|known| *known == edge.to).unwrap_or_default();
                let path = self.path.iter().skip(from).copied().chain([edge.to]).collect();
                self.found.push(Circle { path, at: edge.at });
            }
            self.walk(edge.to);
        }
        self.path.pop();
        self.mark(place, Seen::Done);
    }
}

/// The entries in steps: what is in a step waits only for entries of steps before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Steps {
    /// For each entry its step, which begins at 1.
    pub of_entry: Vec<usize>,
    /// The longest chain of entries that wait for each other, the first one first.
    pub longest: Vec<usize>,
}

impl Steps {
    /// The steps of a workflow.
    #[must_use]
    pub fn of(workflow: &Workflow) -> Self {
        let entries = &workflow.entries;
        let mut of_entry = vec![1; entries.len()];
        // As often as there are entries is always enough: nothing waits for itself.
        for _ in 0..entries.len() {
            for (place, entry) in entries.iter().enumerate() {
                let after = entry.depends_on.iter().filter_map(|before| of_entry.get(*before)).max();
                let step = after.map_or(1, |before: &usize| before + 1);
                if let Some(held) = of_entry.get_mut(place) {
                    *held = step;
                }
            }
        }
        let longest = longest(entries, &of_entry);
        Self { of_entry, longest }
    }

    /// How many steps there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.of_entry.iter().copied().max().unwrap_or_default()
    }

    /// The entries of a step, in the order of the file.
    pub fn entries(&self, step: usize) -> impl Iterator<Item = usize> {
        self.of_entry.iter().enumerate().filter(move |(_, of)| **of == step).map(|(place, _)| place)
    }

    /// Whether an entry is in the longest chain.
    #[must_use]
    pub fn is_longest(&self, place: usize) -> bool {
        self.longest.contains(&place)
    }
}

/// From the first entry of the last step back, each time to the first entry of the step before it.
fn longest(entries: &[WorkflowEntry], of_entry: &[usize]) -> Vec<usize> {
    let last = of_entry.iter().copied().max().unwrap_or_default();
    let mut chain: Vec<usize> = of_entry.iter().position(|step| *step == last).into_iter().collect();
    while let Some(place) = chain.last().copied() {
        let Some(step) = of_entry.get(place).copied().filter(|step| *step > 1) else { break };
        let before = entries.get(place).into_iter().flat_map(|entry| entry.depends_on.iter().copied());
        let Some(next) = before.filter(|other| of_entry.get(*other) == Some(&(step - 1))).min() else { break };
        chain.push(next);
    }
    chain.reverse();
    chain
}

/// A workflow with only some entries, and what these depend on.
///
/// # Errors
/// The first id that no entry has, and the one that may have been meant.
pub fn only(workflow: &Workflow, ids: &[&str]) -> Result<Workflow, (String, Option<String>)> {
    let mut wanted = BTreeSet::new();
    let mut open = Vec::new();
    for id in ids {
        let Some(place) = workflow.entries.iter().position(|entry| entry.id == *id) else {
            let near = crate::text::nearest(id, workflow.entries.iter().map(|entry| entry.id.as_str()));
            return Err(((*id).to_owned(), near.map(str::to_owned)));
        };
        open.push(place);
    }
    while let Some(place) = open.pop() {
        if wanted.insert(place) {
            open.extend(workflow.entries.get(place).into_iter().flat_map(|entry| entry.depends_on.iter().copied()));
        }
    }
    let kept: Vec<usize> = wanted.into_iter().collect();
    let entry = |place: &usize| {
        let mut entry = workflow.entries.get(*place)?.clone();
        entry.depends_on =
            entry.depends_on.iter().filter_map(|before| kept.iter().position(|new| new == before)).collect();
        Some(entry)
    };
    Ok(Workflow { entries: kept.iter().filter_map(entry).collect(), ..workflow.clone() })
}
