//! The requirements ledger: a table of what is owed, whose last column is written from the tags.

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

/// One row of the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Its line, counted from 1.
    pub line: usize,
    /// The requirement.
    pub id: String,
    /// What its state cell says now.
    pub state: String,
    /// How many cells it has, and how many its table's head has.
    pub cells: (usize, usize),
    /// Where the state cell lies in its line, without the bars around it.
    cell: Range<usize>,
}

impl Row {
    /// Has it as many cells as its table's head?
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.cells.0 == self.cells.1
    }
}

/// The rows of every table whose first column is `id` and whose last is `state`.
#[must_use]
pub fn rows(text: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut width: Option<usize> = None; // of the ledger table that the line before belonged to
    let mut before = 0;
    for (number, line) in markdown::prose_lines(text) {
        let cells = cells_of(line);
        let said = |cell: &Range<usize>| line[cell.clone()].trim();
        let (Some(first), Some(last)) = (cells.first(), cells.last()) else {
            width = None;
            continue;
        };
        let goes_on = width.filter(|_| before + 1 == number);
        before = number;
        match goes_on {
            None => width = (said(first) == "id" && said(last) == "state").then_some(cells.len()),
            Some(_) if is_rule(said(first)) || said(first).is_empty() => {}
            Some(width) => rows.push(Row {
                line: number,
                id: said(first).to_owned(),
                state: said(last).to_owned(),
                cells: (cells.len(), width),
                cell: last.clone(),
            }),
        }
    }
    rows
}

/// What each tagged requirement's state cell should say. One that is not here is `open`.
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
        .filter(Row::is_whole)
        .filter_map(|row| {
            let state = states.get(row.id.as_str());
            let state = state.map_or("open", String::as_str).to_owned();
            (row.state != state).then_some((row, state))
        })
        .collect()
}

/// The ledger with every state as the tags say; every other byte stays.
#[must_use]
pub fn rewrite(text: &str, tags: &[Tag]) -> String {
    let changes: BTreeMap<usize, (Row, String)> =
        stale(text, tags).into_iter().map(|(row, state)| (row.line, (row, state))).collect();
    let mut written = String::new();
    for (index, line) in text.split_inclusive('\n').enumerate() {
        match changes.get(&(index + 1)) {
            None => written.push_str(line),
            Some((row, state)) => {
                written.push_str(&line[..row.cell.start]);
                written.extend([" ", state, " "]);
                written.push_str(&line[row.cell.end..]);
            }
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
    Some(gaps.join("; ").replace('|', "\\|"))
}

fn rank(krate: &str) -> usize {
    let found = CRATE_ORDER.iter().position(|known| *known == krate);
    found.unwrap_or(CRATE_ORDER.len())
}

/// Where the cells of a table's line lie. Empty when it is none; its last bar may be left out.
fn cells_of(line: &str) -> Vec<Range<usize>> {
    if !line.starts_with('|') {
        return Vec::new();
    }
    let mut bars: Vec<usize> =
        line.match_indices('|').map(|(at, _)| at).filter(|at| !line[..*at].ends_with('\\')).collect();
    let end = line.trim_end().len();
    if bars.last().is_some_and(|last| last + 1 < end) {
        bars.push(end);
    }
    bars.windows(2).filter_map(|pair| Some(pair.first()? + 1..*pair.last()?)).collect()
}

/// The line of dashes under a table's head.
fn is_rule(cell: &str) -> bool {
    !cell.is_empty() && cell.chars().all(|sign| matches!(sign, '-' | ':'))
}
