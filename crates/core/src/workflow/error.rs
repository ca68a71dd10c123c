//! What is wrong with a workflow file, and where.
use serde::Serialize;

use crate::text;

/// A longer line is cut where it is shown.
const LINE_LETTERS_MAX: usize = 160;

/// A place in a file. Both numbers begin at 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct FilePosition {
    pub line: usize,
    /// In characters.
    pub column: usize,
}

/// One thing that is wrong with a workflow file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorkflowError {
    /// The file, or `--set`.
    pub file: String,
    /// Where; none for what stands on the command line.
    #[serde(flatten)]
    pub at: Option<FilePosition>,
    /// The line itself.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// What is wrong, in one line.
    pub what: String,
    /// What to do, in one line.
    pub hint: String,
}

impl std::fmt::Display for WorkflowError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Some(FilePosition { line, column }) = self.at else {
            return write!(out, "{}: {}\n  hint: {}\n", self.file, self.what, self.hint);
        };
        let number = line.to_string();
        let room = " ".repeat(number.len());
        writeln!(out, "{}:{line}:{column}: {}", self.file, self.what)?;
        writeln!(out, "  {number} | {}", shown(&self.text))?;
        if column <= LINE_LETTERS_MAX {
            writeln!(out, "  {room} | {}^", before(&self.text, column))?;
        }
        writeln!(out, "  hint: {}", self.hint)
    }
}

/// The line with nothing hidden in it, its indentation kept.
fn shown(line: &str) -> String {
    let whole = text::escaped(line);
    match whole.chars().count() > LINE_LETTERS_MAX {
        true => whole.chars().take(LINE_LETTERS_MAX - 1).chain(['…']).collect(),
        false => whole,
    }
}

/// As much room as the letters before a column take.
fn before(line: &str, column: usize) -> String {
    let head: String = line.chars().take(column.saturating_sub(1)).collect();
    " ".repeat(text::escaped(&head).chars().count())
}

/// What is wrong with a file, as it is found.
#[derive(Debug)]
pub(super) struct Faults<'a> {
    text: &'a str,
    file: &'a str,
    all: Vec<WorkflowError>,
}

impl<'a> Faults<'a> {
    pub(super) fn new(text: &'a str, file: &'a str) -> Self {
        Self { text, file, all: Vec::new() }
    }

    /// Something is wrong at a place of the file.
    pub(super) fn at(&mut self, at: FilePosition, what: impl Into<String>, hint: impl Into<String>) {
        let line = self.text.lines().nth(at.line.saturating_sub(1)).unwrap_or_default();
        self.all.push(WorkflowError {
            file: self.file.to_owned(),
            at: Some(at),
            text: line.to_owned(),
            what: what.into(),
            hint: hint.into(),
        });
    }

    /// Something is wrong on the command line.
    pub(super) fn typed(&mut self, flag: &str, what: impl Into<String>, hint: impl Into<String>) {
        self.all.push(WorkflowError {
            file: flag.to_owned(),
            at: None,
            text: String::new(),
            what: what.into(),
            hint: hint.into(),
        });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// All of them, in the order of the file; those of the command line first.
    pub(super) fn sorted(mut self) -> Vec<WorkflowError> {
        self.all.sort_by_key(|error| error.at);
        self.all
    }
}
