//! The requirements ledger: a list of what is owed, each with a state that is written from the tags.
//!
//! ```text
//! - **B-05**: what is owed,
//!   on as many lines as it takes
//!   - state: 2 tests: core/decide, cli/start
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::markdown;
use crate::tags::{Tag, Test};

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

/// What each tagged requirement's state should be. One that is not here is `open`.
#[must_use]
pub fn states(tags: &[Tag]) -> BTreeMap<&str, String> {
    let mut by_id: BTreeMap<&str, Vec<&Tag>> = BTreeMap::new();
    for tag in tags.iter().filter(|tag| tag.test.is_some()) {
        for id in &tag.ids {
            by_id.entry(id).or_default().push(tag);
        }
    }
    by_id.into_iter().map(|(id, tags)| (id, state_of(&tags))).collect()
}

/// The rows whose state is not what the tags say, each with what it should be.
#[must_use]
pub fn stale(text: &str, tags: &[Tag]) -> Vec<(Row, String)> {
    let states = states(tags);
    rows(text)
        .into_iter()
        .filter(|row| row.state.is_some())
        .filter_map(|row| {
            let state = states.get(row.id.as_str());
            let state = state.map_or("open", String::as_str).to_owned();
            (row.state.as_ref() != Some(&state)).then_some((row, state))
        })
        .collect()
}

/// The ledger with every state as the tags say; every other byte stays.
#[must_use]
pub fn rewrite(text: &str, tags: &[Tag]) -> String {
    let changes: BTreeMap<usize, (Row, String)> =
        stale(text, tags).into_iter().map(|(row, state)| (row.state_lines.start, (row, state))).collect();
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

/// `2 tests: core/decide, cli/start`, with `partly (…): ` before it when no tag meets it wholly.
fn state_of(tags: &[&Tag]) -> String {
    let tests: Vec<&Test> = tags.iter().filter_map(|tag| tag.test.as_ref()).collect();
    let count = tests.iter().map(|test| (&test.krate, &test.file, test.line)).collect::<BTreeSet<_>>().len();
    let files: BTreeSet<(usize, String)> =
        tests.iter().map(|test| (rank(&test.krate), format!("{}/{}", test.krate, test.file))).collect();
    let mut named: Vec<&str> = files.iter().map(|(_, name)| name.as_str()).collect();
    if named.len() > NAMED_MAX {
        named.truncate(NAMED_MAX);
        named.push("…");
    }
    let noun = if count == 1 { "test" } else { "tests" };
    let proof = format!("{count} {noun}: {}", named.join(", "));
    match gaps(tags) {
        Some(gaps) => format!("partly ({gaps}): {proof}"),
        None => proof,
    }
}

/// What all tags together leave open; `None` when one of them meets the requirement wholly.
fn gaps(tags: &[&Tag]) -> Option<String> {
    let mut gaps: Vec<&str> = Vec::new();
    for tag in tags {
        let gap = tag.partly.as_deref()?;
        if !gaps.contains(&gap) {
            gaps.push(gap);
        }
    }
    Some(gaps.join("; "))
}

fn rank(krate: &str) -> usize {
    let found = CRATE_ORDER.iter().position(|known| *known == krate);
    found.unwrap_or(CRATE_ORDER.len())
}
