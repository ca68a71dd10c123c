//! Tests as a text that can be kept in a file: a first line with the counts, then one line a test.
use std::collections::BTreeMap;

use super::{FORMATS, Mark, Tests};
use crate::text;

/// What the first line begins with.
const FIRST_WORD: &str = "tests-1";

impl Tests {
    /// The text to keep; [`Tests::from_text`] gives back exactly this.
    #[must_use]
    pub fn to_text(&self) -> String {
        let more = if self.uncounted { "more" } else { "all" };
        let mut out = format!("{FIRST_WORD} {} {} {} {} {more}\n", self.format, self.passed, self.failed, self.skipped);
        for (id, mark) in &self.marks {
            out.push(letter(*mark));
            out.push(' ');
            out.push_str(&text::escape_path(id.as_bytes()));
            out.push('\n');
        }
        out
    }

    /// The tests that such a text tells of; none where it is not one, or is torn.
    #[must_use]
    pub fn from_text(kept: &str) -> Option<Self> {
        let mut lines = kept.strip_suffix('\n')?.split('\n');
        let first: Vec<&str> = lines.next()?.split(' ').collect();
        let [FIRST_WORD, format, passed, failed, skipped, more] = first.as_slice() else { return None };
        let format = FORMATS.into_iter().find(|known| known == format)?;
        let uncounted = match *more {
            "more" => true,
            "all" => false,
            _ => return None,
        };
        let mut marks = BTreeMap::new();
        for line in lines {
            let (mark, id) = line.split_once(' ')?;
            marks.insert(String::from_utf8(text::unescape_path(id)).ok()?, mark_of(mark)?);
        }
        let (passed, failed, skipped) = (passed.parse().ok()?, failed.parse().ok()?, skipped.parse().ok()?);
        Some(Self { format, marks, passed, failed, skipped, uncounted })
    }
}

fn letter(mark: Mark) -> char {
    match mark {
        Mark::Passed => 'p',
        Mark::Failed => 'f',
        Mark::Skipped => 's',
    }
}

fn mark_of(letter: &str) -> Option<Mark> {
    match letter {
        "p" => Some(Mark::Passed),
        "f" => Some(Mark::Failed),
        "s" => Some(Mark::Skipped),
        _ => None,
    }
}
