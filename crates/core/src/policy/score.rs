//! The progress score of the autonomous loop specification: how much came of an iteration, from four signals.
use serde::{Deserialize, Serialize};

use crate::changes::Changes;

/// The most that a signal or the score can be: all numbers are ten-thousandths.
pub const WHOLE: u32 = 10_000;
/// The weight of the output difference, in percent.
const OUTPUT: u64 = 30;
/// The weight of the changed files.
const FILES: u64 = 30;
/// The weight of the agent's own marks.
const MARKERS: u64 = 25;
/// The weight of the checklist.
const CHECKLIST: u64 = 15;
/// So many inserted and deleted lines are the whole signal.
const LINES_MAX: u64 = 100;
/// What one mark of the agent adds to its signal.
const MARKER: u32 = 5_000;

/// How many files a task is taken to name.
const NAMED_MAX: usize = 32;
/// The longest name of a file that is looked at.
const NAME_BYTES_MAX: usize = 255;

/// The score of an iteration with its four signals, each from 0 to 10,000. The total has their weights.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Score {
    /// How different the output is from that of the iteration before.
    pub output: u32,
    /// How many lines changed in the workspace.
    pub files: u32,
    /// How many marks of progress the agent gave.
    pub markers: u32,
    /// How much of the checklist is ticked.
    pub checklist: u32,
    /// All of them by their weights: 30, 30, 25 and 15 percent.
    pub total: u32,
}

/// What a score is made of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Signals {
    /// How different the output is from the one before, in ten-thousandths.
    pub output: u32,
    /// What changed in the workspace, where that is counted.
    pub changes: Option<Changes>,
    /// Where nothing is counted: whether something is not what it was.
    pub noticed: Option<bool>,
    /// How many marks of progress the agent gave.
    pub markers: usize,
    /// The task's checklist, where it has one.
    pub checklist: Option<Checklist>,
}

/// The lines of a checklist.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checklist {
    /// How many are ticked.
    pub ticked: u32,
    /// How many there are.
    pub all: u32,
}

impl Checklist {
    /// The checklist of a text: its lines `- [ ]` and `- [x]`, also with `*` or `+`; none where it has no such line.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let mut list = Self::default();
        for line in text.lines() {
            let rest = line.trim_start().strip_prefix(['-', '*', '+']).map(str::trim_start);
            let Some(rest) = rest.and_then(|rest| rest.strip_prefix('[')) else { continue };
            let ticked = match rest.get(..2) {
                Some(" ]") => 0,
                Some("x]" | "X]") => 1,
                Some(_) | None => continue,
            };
            list.all = list.all.saturating_add(1);
            list.ticked = list.ticked.saturating_add(ticked);
        }
        (list.all > 0).then_some(list)
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, more: Self) -> Self {
        Self { ticked: self.ticked.saturating_add(more.ticked), all: self.all.saturating_add(more.all) }
    }

    fn done(self) -> u32 {
        let done = u64::from(self.ticked) * u64::from(WHOLE) / u64::from(self.all.max(1));
        u32::try_from(done).unwrap_or(WHOLE).min(WHOLE)
    }
}

/// The files that a task may mean by its words: relative paths and names with an end such as `.md`, a bounded number.
#[must_use]
pub fn named_files(task: &str) -> Vec<&str> {
    let is_letter = |letter: char| letter.is_alphanumeric() || "._-/".contains(letter);
    let mut found = Vec::new();
    for word in task.split(|letter: char| !is_letter(letter)) {
        let word = word.trim_end_matches('.').trim_start_matches("./");
        let has_end = word.rsplit('/').next().is_some_and(|name| name.trim_start_matches('.').contains('.'));
        let is_inside = !word.starts_with('/') && word.split('/').all(|part| !part.is_empty() && part != "..");
        if has_end && is_inside && word.len() <= NAME_BYTES_MAX && !found.contains(&word) {
            found.push(word);
        }
        if found.len() == NAMED_MAX {
            break;
        }
    }
    found
}

impl Score {
    /// The score of these signals. A signal that is not there is 0, and its weight is not spread over the others.
    #[must_use]
    pub fn of(signals: &Signals) -> Self {
        let output = signals.output.min(WHOLE);
        let files = match (signals.changes, signals.noticed) {
            (Some(changes), _) => {
                let lines = changes.insertions.saturating_add(changes.deletions).min(LINES_MAX);
                u32::try_from(lines * u64::from(WHOLE) / LINES_MAX).unwrap_or(WHOLE)
            }
            // Something changed, and it is not counted how much.
            (None, Some(true)) => WHOLE,
            (None, Some(false) | None) => 0,
        };
        let markers = u32::try_from(signals.markers).unwrap_or(u32::MAX).saturating_mul(MARKER).min(WHOLE);
        let checklist = signals.checklist.map_or(0, Checklist::done);
        let weighted = [(output, OUTPUT), (files, FILES), (markers, MARKERS), (checklist, CHECKLIST)];
        let sum: u64 = weighted.into_iter().map(|(signal, weight)| u64::from(signal) * weight).sum();
        let total = u32::try_from((sum + 50) / 100).unwrap_or(WHOLE);
        Self { output, files, markers, checklist, total }
    }
}

/// Ten-thousandths as people read them, with two digits: `0.35`.
#[must_use]
pub fn shown(ten_thousandths: u32) -> String {
    let hundredths = (ten_thousandths + 50) / 100;
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}
