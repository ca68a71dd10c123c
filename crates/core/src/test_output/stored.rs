//! Tests as text for a file: a first line with the counts, then one line per test.
use std::collections::BTreeMap;

use super::{TestStatus, Tests, formats};
use crate::text;

/// What the first line begins with.
const FIRST_WORD: &str = "tests-1";

impl Tests {
    /// The text to keep; [`Tests::from_text`] gives back exactly this.
    #[must_use]
    pub fn to_text(&self) -> String {
        let more = if self.uncounted { "more" } else { "all" };
        let mut out = format!("{FIRST_WORD} {} {} {} {} {more}\n", self.format, self.passed, self.failed, self.skipped);
        for (id, status) in &self.statuses {
            out.push(letter(*status));
            out.push(' ');
            out.push_str(&text::escape_path(id.as_bytes()));
            out.push('\n');
        }
        out
    }

    /// The tests in such a text; none where it is not one, or is cut off.
    #[must_use]
    pub fn from_text(kept: &str) -> Option<Self> {
        let mut lines = kept.strip_suffix('\n')?.split('\n');
        let first: Vec<&str> = lines.next()?.split(' ').collect();
        let [FIRST_WORD, format, passed, failed, skipped, more] = first.as_slice() else { return None };
        let format = formats().find(|known| known == format)?;
        let uncounted = match *more {
            "more" => true,
            "all" => false,
            _ => return None,
        };
        let mut statuses = BTreeMap::new();
        for line in lines {
            let (status, id) = line.split_once(' ')?;
            statuses.insert(String::from_utf8(text::unescape_path(id)).ok()?, status_of(status)?);
        }
        let (passed, failed, skipped) = (passed.parse().ok()?, failed.parse().ok()?, skipped.parse().ok()?);
        Some(Self { format, statuses, passed, failed, skipped, uncounted })
    }
}

fn letter(status: TestStatus) -> char {
    match status {
        TestStatus::Passed => 'p',
        TestStatus::Failed => 'f',
        TestStatus::Skipped => 's',
    }
}

fn status_of(letter: &str) -> Option<TestStatus> {
    match letter {
        "p" => Some(TestStatus::Passed),
        "f" => Some(TestStatus::Failed),
        "s" => Some(TestStatus::Skipped),
        _ => None,
    }
}
