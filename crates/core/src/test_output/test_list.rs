//! Tests by id with their status, and counts; both bounded.
use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::TestStatus;
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
    pub(super) fn of(status: TestStatus, many: u32) -> Self {
        match status {
            TestStatus::Passed => Self { passed: many, ..Self::default() },
            TestStatus::Failed => Self { failed: many, ..Self::default() },
            TestStatus::Skipped => Self { skipped: many, ..Self::default() },
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
pub(super) struct FormatTests {
    pub(super) format: &'static str,
    pub(super) statuses: BTreeMap<String, TestStatus>,
    pub(super) counts: Counts,
    pub(super) over: bool,
}

impl FormatTests {
    /// Stated counts win over what was named.
    pub(super) fn new(format: &'static str, mut tests: TestList, stated: Option<Counts>) -> Self {
        let alone = tests.suites_alone();
        let counts = stated.unwrap_or_else(|| tests.counts().plus(alone));
        for (id, status) in std::mem::take(&mut tests.suites) {
            tests.worst(&id, status);
        }
        Self { format, statuses: tests.named, counts, over: tests.over }
    }
}

/// Tests by id.
#[derive(Debug, Default)]
pub(super) struct TestList {
    named: BTreeMap<String, TestStatus>,
    /// Files as a whole, beside the tests in them.
    suites: BTreeMap<String, TestStatus>,
    /// How often an id came, where it came more than once.
    again: BTreeMap<String, u32>,
    /// Those that had no room.
    beyond: Counts,
    over: bool,
}

impl TestList {
    pub(super) fn is_empty(&self) -> bool {
        self.named.is_empty() && self.suites.is_empty()
    }

    /// A file as a whole: it counts only where nothing in it is named.
    pub(super) fn suite(&mut self, id: &str, status: TestStatus) {
        let id = bounded(id);
        if self.suites.len() < IDS_MAX || self.suites.contains_key(&id) {
            let held = self.suites.entry(id).or_insert(status);
            *held = if weight(status) > weight(*held) { status } else { *held };
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
        suites.fold(Counts::default(), |sum, (_, status)| sum.plus(Counts::of(*status, 1)))
    }

    pub(super) fn counts(&self) -> Counts {
        self.named.values().fold(self.beyond, |sum, status| sum.plus(Counts::of(*status, 1)))
    }

    /// If a test is reported twice, the later status counts.
    pub(super) fn set(&mut self, id: &str, status: TestStatus) {
        self.insert(bounded(id), status);
    }

    /// If a test is reported twice, the worse status counts.
    pub(super) fn worst(&mut self, id: &str, status: TestStatus) {
        let id = bounded(id);
        let held = self.named.get(&id).copied();
        if held.is_none_or(|held| weight(status) > weight(held)) {
            self.insert(id, status);
        }
    }

    /// If an id is reported twice, these are two tests: the second gets a number.
    pub(super) fn numbered(&mut self, id: &str, status: TestStatus) {
        let id = bounded(id);
        if !self.named.contains_key(&id) {
            return self.insert(id, status);
        }
        if self.named.len() >= IDS_MAX {
            self.beyond = self.beyond.plus(Counts::of(status, 1));
            self.over = true;
            return;
        }
        let many = self.again.entry(id.clone()).or_insert(1);
        *many = many.saturating_add(1);
        let next = bounded(&format!("{id} #{many}"));
        self.insert(next, status);
    }

    fn insert(&mut self, id: String, status: TestStatus) {
        if self.named.len() < IDS_MAX || self.named.contains_key(&id) {
            self.named.insert(id, status);
        } else {
            self.beyond = self.beyond.plus(Counts::of(status, 1));
            self.over = true;
        }
    }

    pub(super) fn absorb(&mut self, other: Self) {
        for (id, status) in other.named {
            self.worst(&id, status);
        }
        for (id, status) in other.suites {
            self.suite(&id, status);
        }
        self.beyond = self.beyond.plus(other.beyond);
        self.over |= other.over;
    }

    /// Says that not all could be kept.
    pub(super) fn mark_incomplete(&mut self) {
        self.over = true;
    }
}

fn weight(status: TestStatus) -> u8 {
    match status {
        TestStatus::Skipped => 0,
        TestStatus::Passed => 1,
        TestStatus::Failed => 2,
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
