//! What came of the changes: a table by file, and the missed ones by name.

use std::collections::BTreeMap;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::list::Mutant;
use super::trial::Fate;

/// Of a hundred changes that compile, so many may be missed.
const MISSED_PERCENT_MAX: usize = 3;

/// A change and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tried {
    pub mutant: Mutant,
    pub fate: Fate,
}

#[derive(Default)]
struct Row {
    mutants: usize,
    caught: usize,
    timed_out: usize,
    does_not_compile: usize,
    left_out: usize,
    missed: usize,
}

impl Row {
    fn add(&mut self, fate: &Fate) {
        self.mutants += 1;
        let column = match fate {
            Fate::Caught(_) => &mut self.caught,
            Fate::TimedOut => &mut self.timed_out,
            Fate::DoesNotCompile => &mut self.does_not_compile,
            Fate::LeftOut => &mut self.left_out,
            Fate::Missed | Fate::NotReached => &mut self.missed,
        };
        *column += 1;
    }

    fn line(&self, name: &str) -> String {
        let cell = |number: usize| if number == 0 { String::new() } else { number.to_string() };
        let columns = [self.caught, self.timed_out, self.does_not_compile, self.left_out, self.missed];
        let cells: Vec<String> = columns.iter().map(|number| cell(*number)).collect();
        format!("| {name} | {} | {} |\n", self.mutants, cells.join(" | ")).replace("  |", " |")
    }

    /// What counts: a change that does not compile cannot be missed.
    fn tried(&self) -> usize {
        self.mutants - self.does_not_compile - self.left_out
    }
}

fn rows(all: &[Tried]) -> BTreeMap<&str, Row> {
    let mut rows: BTreeMap<&str, Row> = BTreeMap::new();
    for tried in all {
        rows.entry(&tried.mutant.file).or_default().add(&tried.fate);
    }
    rows
}

fn sum(all: &[Tried]) -> Row {
    let mut sum = Row::default();
    all.iter().for_each(|tried| sum.add(&tried.fate));
    sum
}

fn is_missed(fate: &Fate) -> bool {
    matches!(fate, Fate::Missed | Fate::NotReached)
}

/// As Markdown.
#[must_use]
pub fn table(all: &[Tried]) -> String {
    let mut text = "| file | mutants | caught | caught by a timeout | do not compile | left out | missed |\n\
                    |---|---|---|---|---|---|---|\n"
        .to_owned();
    for (file, row) in rows(all) {
        text.push_str(&row.line(&format!("`{}`", file.trim_start_matches("crates/core/src/"))));
    }
    let sum = sum(all);
    text.push_str(&sum.line("all"));
    let percent = if sum.tried() == 0 { 0.0 } else { to_f64(sum.missed) * 100.0 / to_f64(sum.tried()) };
    text.push_str(&format!("\n{} of {} are missed, {percent:.1} %.\n", sum.missed, sum.tried()));
    for tried in all.iter().filter(|tried| is_missed(&tried.fate)) {
        let Mutant { id, file, line, function, what, .. } = &tried.mutant;
        let how = if tried.fate == Fate::NotReached { " (no test reaches it)" } else { "" };
        text.push_str(&format!("{file}:{line}: {function}: {what}{how} [{id}]\n"));
    }
    text
}

fn to_f64(number: usize) -> f64 {
    u32::try_from(number).map_or(f64::MAX, f64::from)
}

/// As JSON.
#[must_use]
pub fn to_json(all: &[Tried]) -> String {
    let sum = sum(all);
    let mutants: Vec<Value> = all.iter().map(one_as_json).collect();
    let value = json!({
        "mutants": sum.mutants, "caught": sum.caught, "timed_out": sum.timed_out, "missed": sum.missed,
        "does_not_compile": sum.does_not_compile, "left_out": sum.left_out, "all": mutants,
    });
    format!("{value:#}\n")
}

fn one_as_json(tried: &Tried) -> Value {
    let Mutant { id, file, line, function, what, left_out, .. } = &tried.mutant;
    let (fate, by) = match &tried.fate {
        Fate::Caught(by) => ("caught", by.as_deref()),
        Fate::TimedOut => ("timed_out", None),
        Fate::DoesNotCompile => ("does_not_compile", None),
        Fate::LeftOut => ("left_out", *left_out),
        Fate::Missed => ("missed", None),
        Fate::NotReached => ("not_reached", None),
    };
    json!({ "id": id, "file": file, "line": line, "function": function, "what": what, "fate": fate, "by": by })
}

/// 1, if too many are missed.
#[must_use]
pub fn exit_code(all: &[Tried]) -> ExitCode {
    let sum = sum(all);
    if sum.missed * 100 > sum.tried() * MISSED_PERCENT_MAX { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
