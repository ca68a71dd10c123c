//! The requirements ledger: a list of what is owed, each with a state that is written from the tags.
//!
//! ```text
//! - **B-05**: what is owed,
//!   on as many lines as it takes
//!   - state: done: 2 tests: core/decide, cli/start
//! ```
//!
//! A state is *done* or *open*, and an open one says what is missing. A requirement is done when a test meets it wholly,
//! or when each of its listed clauses has a test (`clauses`).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::clauses::{self, Clause};
use crate::markdown;
use crate::tags::Tag;

/// Where the ledger lies.
pub const PATH: &str = "docs/requirements.md";

/// How many test files a row names before it says `…`.
const NAMED_MAX: usize = 4;

/// The order of the crates in a row: the one in which they build on each other.
const CRATE_ORDER: &[&str] = &["core", "host", "daemon", "cli", "testkit", "xtask"];

/// What stands before a state.
const STATE: &str = "  - state: ";

/// What stands before the further lines of a state.
const STATE_CONTINUES: &str = "    ";

/// One entry of the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Its first line, counted from 1.
    pub line: usize,
    /// The requirement.
    pub id: String,
    /// What its state says now, on one line; `None` when there is no line for it.
    pub state: Option<String>,
    /// The lines of the state, counted from 1.
    state_lines: Range<usize>,
}

/// The entries of the ledger. One ends where the next one begins, or at a line that is not indented.
#[must_use]
pub fn rows(text: &str) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut open = false; // whether the line before belonged to the last row
    for (number, line) in markdown::prose_lines(text) {
        let line = line.trim_end();
        if let Some(id) = id_of(line) {
            rows.push(Row { line: number, id: id.to_owned(), state: None, state_lines: 0..0 });
            open = true;
            continue;
        }
        open = open && line.starts_with("  ");
        let Some(row) = rows.last_mut().filter(|_| open) else { continue };
        let continued = line.strip_prefix(STATE_CONTINUES).filter(|_| row.state_lines.end == number);
        if let Some(state) = line.strip_prefix(STATE.trim_end()).filter(|_| row.state.is_none()) {
            row.state = Some(state.trim_start().to_owned());
            row.state_lines = number..number + 1;
        } else if let (Some(more), Some(state)) = (continued, &mut row.state) {
            state.push(' ');
            state.push_str(more.trim());
            row.state_lines.end = number + 1;
        }
    }
    rows
}

/// The id that an entry begins with: `- **B-05**: …`, or `- **RT-R11**: …`.
fn id_of(line: &str) -> Option<&str> {
    let (id, _) = line.strip_prefix("- **")?.split_once("**:")?;
    let (letters, digits) = id.split_once('-')?;
    let digits = digits.strip_prefix('R').unwrap_or(digits);
    let is_id = !letters.is_empty()
        && letters.chars().all(|sign| sign.is_ascii_uppercase())
        && !digits.is_empty()
        && digits.chars().all(|sign| sign.is_ascii_digit());
    is_id.then_some(id)
}

/// What is missing where no test names a requirement.
const UNNAMED: &str = "open: no test names it.";

/// What is missing where each test meets only a part, and the parts are not listed.
const UNLISTED: &str = "open: its tests meet parts of it, and its clauses are not listed.";

/// What the state of each requirement should be, by the tags and the clauses. One that is not here has no test.
#[must_use]
pub fn states<'a>(tags: &'a [Tag], clauses: &'a [Clause]) -> BTreeMap<&'a str, String> {
    let mut by_id: BTreeMap<&str, Vec<&Tag>> = BTreeMap::new();
    for tag in tags.iter().filter(|tag| tag.test.is_some()) {
        for id in &tag.ids {
            by_id.entry(id).or_default().push(tag);
        }
    }
    let clauses = clauses::by_id(clauses);
    let ids: BTreeSet<&str> = by_id.keys().chain(clauses.keys()).copied().collect();
    ids.into_iter()
        .map(|id| (id, state_of(by_id.get(id).map_or(&[], Vec::as_slice), clauses.get(id).map(Vec::as_slice))))
        .collect()
}

/// Whether tests name it, and each of them says that it meets only a part.
#[must_use]
pub fn is_met_only_in_parts(id: &str, tags: &[Tag]) -> bool {
    let mut named = tags.iter().filter(|tag| tag.test.is_some() && tag.ids.iter().any(|named| named == id)).peekable();
    named.peek().is_some() && named.all(|tag| tag.partly.is_some())
}

/// The rows whose state is not what the tags and the clauses say, each with what it should be.
#[must_use]
pub fn stale(text: &str, tags: &[Tag], clauses: &[Clause]) -> Vec<(Row, String)> {
    let states = states(tags, clauses);
    rows(text)
        .into_iter()
        .filter(|row| row.state.is_some())
        .filter_map(|row| {
            let state = states.get(row.id.as_str());
            let state = state.map_or(UNNAMED, String::as_str).to_owned();
            (row.state.as_ref() != Some(&state)).then_some((row, state))
        })
        .collect()
}

/// The ledger with every state as the tags and the clauses say; every other byte stays.
#[must_use]
pub fn rewrite(text: &str, tags: &[Tag], clauses: &[Clause]) -> String {
    let changes: BTreeMap<usize, (Row, String)> =
        stale(text, tags, clauses).into_iter().map(|(row, state)| (row.state_lines.start, (row, state))).collect();
    let mut written = String::new();
    let mut skipped = 0; // lines of an old state, up to here
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let number = index + 1;
        if let Some((row, state)) = changes.get(&number) {
            written.push_str(&markdown::wrapped(state, STATE, STATE_CONTINUES));
            written.push_str(if line.ends_with("\r\n") { "\r\n" } else { "\n" });
            skipped = row.state_lines.end;
        } else if number >= skipped {
            written.push_str(line);
        }
    }
    written
}

/// `done: 2 tests: core/decide, cli/start`, or `open: ` and what is missing.
fn state_of(tags: &[&Tag], clauses: Option<&[&Clause]>) -> String {
    let missing: Vec<&str> = clauses.iter().copied().flatten().filter_map(|one| one.missing.as_deref()).collect();
    if !missing.is_empty() {
        return format!("open: {}", missing.join(" "));
    }
    if clauses.is_none() && tags.iter().all(|tag| tag.partly.is_some()) {
        return UNLISTED.to_owned();
    }
    let tagged = tags.iter().filter_map(|tag| tag.test.as_ref());
    let tagged = tagged.map(|test| (test.krate.as_str(), test.file.as_str(), test.name.as_str()));
    let listed = clauses.into_iter().flatten().flat_map(|clause| &clause.tests).filter_map(|(_, name)| parts_of(name));
    proof(&tagged.chain(listed).collect())
}

/// `core/decide::name` as crate, file and name.
fn parts_of(name: &str) -> Option<(&str, &str, &str)> {
    let (place, name) = name.split_once("::")?;
    let (krate, file) = place.split_once('/')?;
    Some((krate, file, name))
}

/// How many tests, and in which files.
fn proof(tests: &BTreeSet<(&str, &str, &str)>) -> String {
    let count = tests.len();
    let files: BTreeSet<(usize, String)> =
        tests.iter().map(|(krate, file, _)| (rank(krate), format!("{krate}/{file}"))).collect();
    let mut named: Vec<&str> = files.iter().map(|(_, name)| name.as_str()).collect();
    if named.len() > NAMED_MAX {
        named.truncate(NAMED_MAX);
        named.push("…");
    }
    let noun = if count == 1 { "test" } else { "tests" };
    format!("done: {count} {noun}: {}", named.join(", "))
}

fn rank(krate: &str) -> usize {
    let found = CRATE_ORDER.iter().position(|known| *known == krate);
    found.unwrap_or(CRATE_ORDER.len())
}
