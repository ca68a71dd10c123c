//! Marks by id and counts, both bounded.
use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::Mark;
use crate::text;

/// How many tests are kept by name; more are only counted.
pub const IDS_MAX: usize = 20_000;
/// How long a test's id may be; of a longer one the end is replaced by its hash.
pub const ID_BYTES_MAX: usize = 300;
/// The beginning that stays of an id that is too long.
const ID_HEAD_BYTES: usize = ID_BYTES_MAX - 17;

/// How many of each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) passed: u32,
    pub(super) failed: u32,
    pub(super) skipped: u32,
}

impl Counts {
    pub(super) fn of(mark: Mark, many: u32) -> Self {
        match mark {
            Mark::Passed => Self { passed: many, ..Self::default() },
            Mark::Failed => Self { failed: many, ..Self::default() },
            Mark::Skipped => Self { skipped: many, ..Self::default() },
        }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            passed: self.passed.saturating_add(other.passed),
            failed: self.failed.saturating_add(other.failed),
            skipped: self.skipped.saturating_add(other.skipped),
        }
    }

    pub(super) fn total(self) -> u32 {
        self.passed.saturating_add(self.failed).saturating_add(self.skipped)
    }
}

/// Sums where there is something to sum.
pub(super) fn sum(one: Option<Counts>, other: Option<Counts>) -> Option<Counts> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.plus(other)),
        (one, other) => one.or(other),
    }
}

/// What one format found.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) format: &'static str,
    pub(super) marks: BTreeMap<String, Mark>,
    pub(super) counts: Counts,
    pub(super) over: bool,
}

impl Found {
    /// Stated counts win over what was named.
    pub(super) fn new(format: &'static str, mut marks: Marks, stated: Option<Counts>) -> Self {
        let alone = marks.suites_alone();
        let counts = stated.unwrap_or_else(|| marks.counts().plus(alone));
        for (id, mark) in std::mem::take(&mut marks.suites) {
            marks.worst(&id, mark);
        }
        Self { format, marks: marks.named, counts, over: marks.over }
    }
}

/// Tests by id.
#[derive(Debug, Default)]
pub(super) struct Marks {
    named: BTreeMap<String, Mark>,
    /// Files as a whole, beside the tests in them.
    suites: BTreeMap<String, Mark>,
    /// How often an id came, where it came more than once.
    again: BTreeMap<String, u32>,
    /// Those that had no room.
    beyond: Counts,
    over: bool,
}

impl Marks {
    pub(super) fn is_empty(&self) -> bool {
        self.named.is_empty() && self.suites.is_empty()
    }

    /// A file as a whole: it counts only where nothing in it is named.
    pub(super) fn suite(&mut self, id: &str, mark: Mark) {
        let id = bounded(id);
        if self.suites.len() < IDS_MAX || self.suites.contains_key(&id) {
            let held = self.suites.entry(id).or_insert(mark);
            *held = if weight(mark) > weight(*held) { mark } else { *held };
        } else {
            self.over = true;
        }
    }

    fn suites_alone(&self) -> Counts {
        let alone = |id: &str| {
            let begin = format!("{id} ");
            !self.named.range(begin.clone()..).next().is_some_and(|(named, _)| named.starts_with(&begin))
        };
        let suites = self.suites.iter().filter(|(id, _)| alone(id));
        suites.fold(Counts::default(), |sum, (_, mark)| sum.plus(Counts::of(*mark, 1)))
    }

    pub(super) fn counts(&self) -> Counts {
        self.named.values().fold(self.beyond, |sum, mark| sum.plus(Counts::of(*mark, 1)))
    }

    /// The same test told twice: the later word holds.
    pub(super) fn set(&mut self, id: &str, mark: Mark) {
        self.insert(bounded(id), mark);
    }

    /// The same test told twice: the worse word holds.
    pub(super) fn worst(&mut self, id: &str, mark: Mark) {
        let id = bounded(id);
        let held = self.named.get(&id).copied();
        if held.is_none_or(|held| weight(mark) > weight(held)) {
            self.insert(id, mark);
        }
    }

    /// An id told twice means two tests: the second gets a number.
    pub(super) fn numbered(&mut self, id: &str, mark: Mark) {
        let id = bounded(id);
        if !self.named.contains_key(&id) {
            return self.insert(id, mark);
        }
        if self.named.len() >= IDS_MAX {
            self.beyond = self.beyond.plus(Counts::of(mark, 1));
            self.over = true;
            return;
        }
        let many = self.again.entry(id.clone()).or_insert(1);
        *many = many.saturating_add(1);
        let next = bounded(&format!("{id} #{many}"));
        self.insert(next, mark);
    }

    fn insert(&mut self, id: String, mark: Mark) {
        if self.named.len() < IDS_MAX || self.named.contains_key(&id) {
            self.named.insert(id, mark);
        } else {
            self.beyond = self.beyond.plus(Counts::of(mark, 1));
            self.over = true;
        }
    }

    pub(super) fn absorb(&mut self, other: Self) {
        for (id, mark) in other.named {
            self.worst(&id, mark);
        }
        for (id, mark) in other.suites {
            self.suite(&id, mark);
        }
        self.beyond = self.beyond.plus(other.beyond);
        self.over |= other.over;
    }

    /// Says that not all could be kept.
    pub(super) fn say_over(&mut self) {
        self.over = true;
    }
}

fn weight(mark: Mark) -> u8 {
    match mark {
        Mark::Skipped => 0,
        Mark::Passed => 1,
        Mark::Failed => 2,
    }
}

/// An id of one line and a known length.
pub(super) fn bounded(id: &str) -> String {
    let id: String = id.trim().chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    if id.len() <= ID_BYTES_MAX {
        return id;
    }
    let hash = Sha256::digest(id.as_bytes());
    let mut short = text::head(&id, ID_HEAD_BYTES).to_owned();
    short.push('~');
    for byte in hash.iter().take(8) {
        short.push_str(&format!("{byte:02x}"));
    }
    short
}
