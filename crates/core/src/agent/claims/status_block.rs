//! The status block that an agent is asked to end with: one parser for both of its dialects.
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::own_words::MessageLines;
use crate::text;

/// The most letters that are kept of a summary.
const SUMMARY_LETTERS_MAX: usize = 500;
/// The most letters of a bad value that are shown.
const SHOWN_LETTERS_MAX: usize = 60;

/// Which block an agent is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// `LOOPR_STATUS`.
    Loopr,
    /// `LOOP_STATUS`.
    Loop,
}

/// Both of them.
pub const DIALECTS: [Dialect; 2] = [Dialect::Loopr, Dialect::Loop];

impl Dialect {
    /// The name that stands in the marks.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Loopr => "LOOPR_STATUS",
            Self::Loop => "LOOP_STATUS",
        }
    }

    /// The fields that it has, in their order.
    #[must_use]
    pub fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Loopr => &["STATUS", "EXIT_SIGNAL", "WORK_TYPE", "FILES_MODIFIED", "ERRORS", "SUMMARY"],
            Self::Loop => &[
                "STATUS",
                "TASKS_COMPLETED_THIS_LOOP",
                "TASKS_COMPLETED",
                "FILES_MODIFIED",
                "COMPLETION_INDICATORS",
                "TESTS_STATUS",
                "WORK_TYPE",
                "EXIT_SIGNAL",
                "RECOMMENDATION",
            ],
        }
    }

    fn statuses(self) -> &'static [(&'static str, &'static str)] {
        let all =
            &[("IN_PROGRESS", "IN_PROGRESS"), ("COMPLETE", "COMPLETE"), ("BLOCKED", "BLOCKED"), ("ERROR", "ERROR")];
        match self {
            Self::Loopr => all,
            Self::Loop => all.get(..3).unwrap_or(all),
        }
    }
}

/// The words of both dialects for the kind of work, and ours.
const WORK_TYPES: &[(&str, &str)] = &[
    ("tests", "tests"),
    ("code", "code"),
    ("docs", "docs"),
    ("other", "other"),
    ("IMPLEMENTATION", "code"),
    ("TESTING", "tests"),
    ("DOCUMENTATION", "docs"),
    ("REFACTORING", "refactoring"),
];
const TESTS_STATUSES: &[(&str, &str)] = &[("PASSING", "PASSING"), ("FAILING", "FAILING"), ("NOT_RUN", "NOT_RUN")];
const BOOLEANS: &[(&str, &str)] = &[("true", "true"), ("false", "false")];

/// What an agent claims in its block. A field that its dialect does not have is not there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// `IN_PROGRESS`, `COMPLETE`, `BLOCKED` or `ERROR`.
    pub status: String,
    /// Whether it says that it is done.
    pub exit_signal: bool,
    /// tests, code, docs, refactoring or other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_type: Option<String>,
    /// How many files it says it changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files_modified: Option<u64>,
    /// How many errors it met.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors: Option<u64>,
    /// How many tasks it says it finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks_completed: Option<u64>,
    /// How many signs of completion it sees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_indicators: Option<u64>,
    /// `PASSING`, `FAILING` or `NOT_RUN`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests_status: Option<String>,
    /// SUMMARY or RECOMMENDATION: one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

impl Claim {
    /// It says that it is done, by its status or its signal.
    #[must_use]
    pub fn complete(&self) -> bool {
        self.status == "COMPLETE" || self.exit_signal
    }

    /// It cannot go on by itself.
    #[must_use]
    pub fn blocked(&self) -> bool {
        self.status == "BLOCKED"
    }

    /// It says that it finished tasks or changed files.
    #[must_use]
    pub fn claims_progress(&self) -> bool {
        self.tasks_completed.unwrap_or(0) > 0 || self.files_modified.unwrap_or(0) > 0
    }

    /// It says that it ended in an error, or met some.
    #[must_use]
    pub fn claims_errors(&self) -> bool {
        self.status == "ERROR" || self.errors.unwrap_or(0) > 0
    }

    /// It worked on nothing but tests.
    #[must_use]
    pub fn test_only(&self) -> bool {
        self.work_type.as_deref() == Some("tests")
    }

    /// One line for people.
    #[must_use]
    pub fn brief(&self) -> String {
        let counted = |count: Option<u64>, one: &str| {
            count.map(|count| if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") })
        };
        let parts = [
            Some(self.status.clone()),
            self.exit_signal.then(|| "exit signal".to_owned()),
            self.work_type.clone(),
            counted(self.tasks_completed, "task"),
            counted(self.files_modified, "file"),
            counted(self.errors, "error"),
            counted(self.completion_indicators, "sign"),
            self.tests_status.as_ref().map(|status| format!("tests {}", status.to_lowercase().replace('_', " "))),
        ];
        let said = self.summary.as_ref().map_or_else(String::new, |summary| format!(": {summary}"));
        format!("{}{said}", parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}

/// What was found in a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatusBlock {
    /// The claim of the last complete block.
    pub claim: Option<Claim>,
    /// Why that block does not count.
    pub error: Option<String>,
}

/// A complete block: its lines, the marks included.
#[derive(Debug, Clone, Copy)]
struct BlockLines {
    dialect: Dialect,
    first: usize,
    last: usize,
}

/// The last complete block of a final message that is neither quoted nor an echo of what was asked.
#[must_use]
pub fn last(text: &str, asked: &str) -> StatusBlock {
    let clean = text::clean(text.as_bytes());
    // Most messages have none, and some are nothing but a flood of lines.
    if memchr::memmem::find(clean.to_ascii_uppercase().as_bytes(), b"_STATUS").is_none() {
        return StatusBlock::default();
    }
    let message = MessageLines::of(&clean);
    let (found, unfinished) = blocks(message.lines().filter(|(at, _)| !message.is_fence_mark(*at)));
    let mut own = found.iter().rev().filter(|block| whole(&message, block));
    let echoes = if found.is_empty() { BTreeSet::new() } else { bodies(asked) };
    let said = own.find(|block| !echoes.contains(&body(message.between(block.first, block.last))));
    match (said, unfinished) {
        (Some(block), _) => {
            match claim(block.dialect, message.between(block.first + 1, block.last.saturating_sub(1))) {
                Ok(claim) => StatusBlock { claim: Some(claim), error: None },
                Err(error) => StatusBlock { claim: None, error: Some(error) },
            }
        }
        (None, Some((dialect, at))) if found.is_empty() && message.is_own(at, at) => {
            StatusBlock { claim: None, error: Some(format!("the block has no end: ---END_{}---", dialect.name())) }
        }
        (None, _) => StatusBlock::default(),
    }
}

/// The agent's own, and all in one piece: no fence begins or ends within it.
fn whole(message: &MessageLines<'_>, block: &BlockLines) -> bool {
    message.is_own(block.first, block.last) && (block.first..=block.last).all(|at| !message.is_fence_mark(at))
}

/// All complete blocks in order, and the one that was begun last and has no end.
fn blocks<'a>(lines: impl Iterator<Item = (usize, &'a str)>) -> (Vec<BlockLines>, Option<(Dialect, usize)>) {
    let mut found = Vec::new();
    let mut open: Option<(Dialect, usize)> = None;
    for (at, line) in lines {
        match (marker(line), open) {
            (Some((dialect, BlockEdge::Begin)), _) => open = Some((dialect, at)),
            (Some((dialect, BlockEdge::End)), Some((begun, first))) => {
                if dialect == begun {
                    found.push(BlockLines { dialect, first, last: at });
                }
                open = None;
            }
            (Some((_, BlockEdge::End)), None) | (None, _) => {}
        }
    }
    (found, open)
}

/// Which mark of a block a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockEdge {
    /// The first line.
    Begin,
    /// The last.
    End,
}

/// The mark that a line is, alone on its line; case and bold letters do not matter.
pub(super) fn marker(line: &str) -> Option<(Dialect, BlockEdge)> {
    let line = line.trim_matches(|letter: char| letter.is_whitespace() || letter == '*');
    let name = line.strip_prefix("---")?.strip_suffix("---")?.trim();
    let (name, mark) = match name.get(..4) {
        Some(end) if end.eq_ignore_ascii_case("END_") => (name.get(4..)?, BlockEdge::End),
        Some(_) | None => (name, BlockEdge::Begin),
    };
    let dialect = DIALECTS.into_iter().find(|dialect| dialect.name().eq_ignore_ascii_case(name))?;
    Some((dialect, mark))
}

/// Without the spaces and the emphasis around it.
fn bare(text: &str) -> &str {
    text.trim_matches(|letter: char| letter.is_whitespace() || letter == '*' || letter == '`')
}

/// The words of all blocks in what was asked, quoted or not.
fn bodies(asked: &str) -> BTreeSet<String> {
    let clean = text::clean(asked.as_bytes());
    let plain: Vec<&str> = clean.lines().collect();
    let unquoted: Vec<&str> = plain.iter().map(|line| line.trim_start_matches(['>', ' ', '\t'])).collect();
    let all = |lines: &[&str]| -> Vec<String> {
        let (found, _) = blocks(lines.iter().copied().enumerate());
        let body = |block: BlockLines| body(lines.get(block.first..=block.last).unwrap_or_default().iter().copied());
        found.into_iter().map(body).collect()
    };
    all(&plain).into_iter().chain(all(&unquoted)).collect()
}

/// The words of a block, so that neither emphasis nor where lines are broken matters.
fn body<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let words: Vec<String> = lines
        .flat_map(str::split_whitespace)
        .map(|word| word.replace(['*', '`'], "").to_lowercase())
        .filter(|word| !word.is_empty())
        .collect();
    words.join(" ")
}

/// What a block says, or which field has a bad value.
fn claim<'a>(dialect: Dialect, lines: impl Iterator<Item = &'a str>) -> Result<Claim, String> {
    let fields = Fields::read(dialect, lines)?;
    let status = fields.word("STATUS", dialect.statuses())?.ok_or_else(|| "STATUS is missing".to_owned())?;
    let tasks = (fields.count("TASKS_COMPLETED_THIS_LOOP")?, fields.count("TASKS_COMPLETED")?);
    Ok(Claim {
        status,
        exit_signal: fields.word("EXIT_SIGNAL", BOOLEANS)?.is_some_and(|word| word == "true"),
        work_type: fields.word("WORK_TYPE", WORK_TYPES)?,
        files_modified: fields.count("FILES_MODIFIED")?,
        errors: fields.count("ERRORS")?,
        tasks_completed: tasks.0.or(tasks.1),
        completion_indicators: fields.count("COMPLETION_INDICATORS")?,
        tests_status: fields.word("TESTS_STATUS", TESTS_STATUSES)?,
        summary: fields.line("SUMMARY").or_else(|| fields.line("RECOMMENDATION")),
    })
}

/// The fields of one block as they were written.
#[derive(Debug)]
struct Fields<'a>(BTreeMap<&'static str, &'a str>);

impl<'a> Fields<'a> {
    /// Unknown fields are left out. One that says two things says nothing.
    fn read(dialect: Dialect, lines: impl Iterator<Item = &'a str>) -> Result<Self, String> {
        let mut fields = BTreeMap::new();
        for (name, value) in lines.filter_map(field) {
            let Some(name) = dialect.fields().iter().copied().find(|known| *known == name) else { continue };
            match fields.get(name) {
                None => {
                    fields.insert(name, value);
                }
                Some(before) if is_free(name) || value.eq_ignore_ascii_case(before) => {}
                Some(before) => return Err(format!("{name} is said twice: {} and {}", shown(before), shown(value))),
            }
        }
        Ok(Self(fields))
    }

    fn word(&self, name: &str, words: &[(&str, &str)]) -> Result<Option<String>, String> {
        let Some(value) = self.0.get(name) else { return Ok(None) };
        let known = words.iter().find(|(word, _)| word.eq_ignore_ascii_case(value));
        let known = known.map(|(_, ours)| Some((*ours).to_owned()));
        known.ok_or_else(|| {
            let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            format!("{name} is {}, not one of {}", shown(value), words.join(", "))
        })
    }

    fn count(&self, name: &str) -> Result<Option<u64>, String> {
        let Some(value) = self.0.get(name) else { return Ok(None) };
        let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
        let count = digits.then(|| value.parse().ok()).flatten();
        count.map(Some).ok_or_else(|| format!("{name} is {}, not a whole number", shown(value)))
    }

    fn line(&self, name: &str) -> Option<String> {
        self.0.get(name).map(|value| text::one_line(value, SUMMARY_LETTERS_MAX)).filter(|line| !line.is_empty())
    }
}

fn is_free(name: &str) -> bool {
    matches!(name, "SUMMARY" | "RECOMMENDATION")
}

fn shown(value: &str) -> String {
    if value.is_empty() { "empty".to_owned() } else { format!("`{}`", text::one_line(value, SHOWN_LETTERS_MAX)) }
}

/// `NAME: value`, with whatever Markdown around it.
fn field(line: &str) -> Option<(String, &str)> {
    let line = line.trim();
    let line = line.strip_prefix("- ").or_else(|| line.strip_prefix("• ")).unwrap_or(line);
    let (name, value) = line.split_once(':')?;
    let name = bare(name).to_ascii_uppercase().replace([' ', '-'], "_");
    Some((name, bare(value)))
}
