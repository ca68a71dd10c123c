//! What follows from each class of failure: one table, which users can override (`on_failure`).
use std::collections::BTreeMap;
use std::fmt;

use crate::agent::{FAILURES, Failure};
use crate::machine::Deciding;
use crate::refusal::Refusal;
use crate::text::nearest;
use crate::time::{duration_text, parse_duration_ms};

/// At most so many tries in a row may be asked for.
const TRIES_MAX: u32 = 10_000;
const EXAMPLE: &str = "for example `overload wait 10m 50`, `refusal stop` or `auth next`";

/// What a run does after an attempt that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureAction {
    /// It waits, then another attempt follows: no wait that the provider did not name is longer, and so many attempts in
    /// a row may fail.
    Wait { longest_ms: u64, tries_max: u32 },
    /// The iteration is over, and the next one follows.
    Next,
    /// Only a person can fix it: the run ends.
    Stop,
}

const MINUTE_MS: u64 = 60_000;

/// The table without a word of the user's.
fn by_default(failure: Failure) -> FailureAction {
    let wait = |minutes: u64, tries_max| FailureAction::Wait { longest_ms: minutes * MINUTE_MS, tries_max };
    match failure {
        Failure::RateLimit => wait(15, 100),
        Failure::Overload | Failure::Network => wait(5, 30),
        // Each try has lasted as long as the time limit of an attempt.
        Failure::Hang => wait(15, 5),
        Failure::Auth | Failure::Billing | Failure::Model => FailureAction::Stop,
        Failure::Permission
        | Failure::Context
        | Failure::Crash
        | Failure::Refusal
        | Failure::Question
        | Failure::TurnLimit => FailureAction::Next,
    }
}

/// What the user set, by class.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FailureTable(BTreeMap<Failure, FailureAction>);

impl FailureTable {
    /// Reads one class a line: `CLASS wait LONGEST TRIES`, `CLASS next` or `CLASS stop`.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let mut table = Self::default();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let (class, action) = match words.as_slice() {
                [class, "next"] => (class, FailureAction::Next),
                [class, "stop"] => (class, FailureAction::Stop),
                [class, "wait", longest, tries] => (class, wait(longest, tries)?),
                _ => return Err(Refusal::new(format!("{line:?} is not a class and what to do"), EXAMPLE)),
            };
            if table.0.insert(of_word(class)?, action).is_some() {
                return Err(Refusal::new(format!("{class} stands there twice"), "take one out"));
            }
        }
        Ok(table)
    }

    /// What follows from this class.
    #[must_use]
    pub fn action(&self, failure: Failure, _: &Deciding) -> FailureAction {
        self.0.get(&failure).copied().unwrap_or_else(|| by_default(failure))
    }

    /// How many attempts in a row may fail with this class before the run ends; none where it is not waited for.
    #[must_use]
    pub fn tries_max(&self, failure: Failure, deciding: &Deciding) -> Option<u32> {
        match self.action(failure, deciding) {
            FailureAction::Wait { tries_max, .. } => Some(tries_max),
            FailureAction::Next | FailureAction::Stop => None,
        }
    }
}

/// The class of a word. What its own settings decide is not in the table.
fn of_word(word: &str) -> Result<Failure, Refusal> {
    let open = || FAILURES.iter().filter(|(class, _)| !matches!(class, Failure::Question | Failure::Permission));
    let found = open().find(|(_, known)| *known == word).map(|(class, _)| *class);
    found.ok_or_else(|| {
        let all: Vec<&str> = open().map(|(_, known)| *known).collect();
        let hint = nearest(word, all.iter().copied())
            .map_or_else(|| format!("use one of: {}", all.join(", ")), |near| format!("did you mean {near}?"));
        Refusal::new(format!("there is no class {word}"), hint)
    })
}

fn wait(longest: &str, tries: &str) -> Result<FailureAction, Refusal> {
    let longest_ms = parse_duration_ms(longest).map_err(|why| Refusal::new(why, EXAMPLE))?;
    let tries_max = tries.parse().ok().filter(|tries| (1..=TRIES_MAX).contains(tries));
    let tries_max = tries_max
        .ok_or_else(|| Refusal::new(format!("{tries:?} is not a number of tries from 1 to {TRIES_MAX}"), EXAMPLE))?;
    Ok(FailureAction::Wait { longest_ms, tries_max })
}

/// The canonical text: what [`FailureTable::parse`] reads.
impl fmt::Display for FailureTable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(|(class, action)| format!("{} {action}", class.word())).collect();
        out.write_str(&lines.join("\n"))
    }
}

impl fmt::Display for FailureAction {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wait { longest_ms, tries_max } => write!(out, "wait {} {tries_max}", duration_text(*longest_ms)),
            Self::Next => out.write_str("next"),
            Self::Stop => out.write_str("stop"),
        }
    }
}
