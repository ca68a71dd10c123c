//! pytest: by default, verbose, quiet, and with workers.
use super::scan::{counted, is_duration};
use super::test_list::{Counts, FormatTests, TestList, sum};
use super::{Format, TestStatus};

#[derive(Debug, Default)]
pub(super) struct Pytest {
    tests: TestList,
    stated: Option<Counts>,
    /// Counted by letters, for runs that end without a summary.
    letters: Counts,
    /// The first line of a session was there.
    session: bool,
    /// The details of failures: what tests print is there too.
    details: bool,
    /// The short summary, one line a test.
    short: bool,
}

impl Format for Pytest {
    const NAME: &str = "pytest";

    fn line(&mut self, line: &str) {
        if let Some(title) = framed(line) {
            return self.title(title);
        }
        if line.starts_with("!!!!") && line.ends_with("!!!!") {
            // Stopped after the first failures, interrupted, or not all files could be read.
            self.tests.mark_incomplete();
        }
        if let Some(counts) = summary(line).filter(|_| !self.details || self.short) {
            return self.close(counts);
        }
        if self.details {
            return;
        }
        if self.short {
            self.short_line(line);
        } else if let Some(counts) = letters(line) {
            self.letters = self.letters.plus(counts);
        } else if self.session {
            self.verbose(line);
        }
    }

    fn owns_line(&self) -> bool {
        self.details
    }

    fn merge(&mut self, stderr: Self) {
        self.tests.absorb(stderr.tests);
        self.stated = sum(self.stated, stderr.stated);
        self.letters = self.letters.plus(stderr.letters);
    }

    fn end(mut self) -> Option<FormatTests> {
        if self.stated.is_none() {
            self.tests.mark_incomplete();
        }
        let named = self.tests.counts();
        if self.stated.is_none() && named.total() == 0 && self.letters.total() == 0 {
            return None;
        }
        let best = if self.letters.total() > named.total() { self.letters } else { named };
        Some(FormatTests::new(Self::NAME, self.tests, Some(self.stated.unwrap_or(best))))
    }
}

impl Pytest {
    fn title(&mut self, title: &str) {
        match title {
            "test session starts" => {
                self.session = true;
                self.details = false;
                self.short = false;
            }
            "FAILURES" | "ERRORS" | "PASSES" | "XPASSES" | "XFAILURES" => self.details = true,
            "short test summary info" => {
                self.details = false;
                self.short = true;
            }
            _ => {
                if let Some(counts) = summary(title) {
                    self.close(counts);
                }
            }
        }
    }

    fn close(&mut self, counts: Counts) {
        self.stated = sum(self.stated, Some(counts));
        self.session = false;
        self.details = false;
        self.short = false;
    }

    /// `FAILED test_shop.py::test_n[3] - assert 3 < 3`.
    fn short_line(&mut self, line: &str) {
        let Some((word, rest)) = line.split_once(' ') else { return };
        let Some(status) = status_of(word) else { return };
        let id = id_before_reason(rest);
        // A skipped one is told by place, not by name.
        if !id.starts_with('[') && is_place(id) {
            self.tests.worst(id, status);
        }
    }

    /// `test_shop.py::test_n[3] FAILED      [ 63%]`, `[gw1] [  9%] PASSED test_shop.py::TestCart::test_add`.
    fn verbose(&mut self, line: &str) {
        if let Some(rest) = line.strip_prefix("[gw") {
            let told = rest.split_once("%] ").and_then(|(_, rest)| rest.split_once(' '));
            if let Some((word, id)) = told
                && let Some(status) = status_of(word)
            {
                self.tests.worst(id.trim(), status);
            }
            return;
        }
        let Some(at) = line.find("::") else { return };
        if !is_place(line.get(..at).unwrap_or_default()) {
            return;
        }
        let told = WORDS.iter().filter_map(|(word, status)| {
            let at = line.rfind(&format!(" {word}"))?;
            let after = line.get(at + 1 + word.len()..)?;
            (after.is_empty() || after.starts_with(' ')).then_some((at, *status))
        });
        if let Some((at, status)) = told.min_by_key(|(at, _)| *at) {
            self.tests.worst(line.get(..at).unwrap_or_default().trim(), status);
        }
    }
}

const WORDS: [(&str, TestStatus); 6] = [
    ("PASSED", TestStatus::Passed),
    ("FAILED", TestStatus::Failed),
    ("SKIPPED", TestStatus::Skipped),
    ("XFAIL", TestStatus::Skipped),
    ("XPASS", TestStatus::Passed),
    ("ERROR", TestStatus::Failed),
];

fn status_of(word: &str) -> Option<TestStatus> {
    WORDS.iter().find(|(known, _)| *known == word).map(|(_, status)| *status)
}

/// A file, perhaps with names behind it.
fn is_place(text: &str) -> bool {
    let file = text.split("::").next().unwrap_or_default();
    !file.contains(' ') && file.contains('.')
}

/// The title in `==== title ====`.
fn framed(line: &str) -> Option<&str> {
    let inside = line.strip_prefix("==")?.trim_start_matches('=').strip_prefix(' ')?;
    Some(inside.strip_suffix('=')?.trim_end_matches('=').trim())
}

/// `2 failed, 5 passed, 1 skipped in 0.11s`, `no tests ran in 0.01s`.
fn summary(line: &str) -> Option<Counts> {
    let (pieces, took) = line.rsplit_once(" in ")?;
    if !is_duration(took.split(' ').next().unwrap_or_default()) {
        return None;
    }
    if pieces == "no tests ran" {
        return Some(Counts::default());
    }
    let mut counts = Counts::default();
    for piece in pieces.split(", ") {
        let (many, word) = counted(piece)?;
        let status = match word {
            "passed" | "xpassed" => TestStatus::Passed,
            "failed" | "error" | "errors" => TestStatus::Failed,
            "skipped" | "xfailed" => TestStatus::Skipped,
            "deselected" | "warning" | "warnings" | "rerun" | "subtests passed" | "no tests ran" => continue,
            _ => return None,
        };
        counts = counts.plus(Counts::of(status, many));
    }
    Some(counts)
}

/// `test_shop.py .F..FsxXE            [100%]`, or the letters alone.
fn letters(line: &str) -> Option<Counts> {
    let (before, percent) = line.strip_suffix("%]")?.rsplit_once('[')?;
    percent.trim().parse::<u8>().ok()?;
    let letters = match before.trim_end().rsplit_once(' ') {
        Some((file, letters)) if is_place(file) => letters,
        Some(_) => return None,
        None => before.trim_end(),
    };
    let mut counts = Counts::default();
    for letter in letters.chars() {
        let status = match letter {
            '.' | 'X' => TestStatus::Passed,
            'F' | 'E' => TestStatus::Failed,
            's' | 'x' => TestStatus::Skipped,
            'R' => continue,
            _ => return None,
        };
        counts = counts.plus(Counts::of(status, 1));
    }
    Some(counts)
}

/// The id without ` - reason`; what a parameter holds may look like one.
fn id_before_reason(rest: &str) -> &str {
    let dash = rest.find(" - ");
    match rest.find('[').filter(|open| dash.is_none_or(|dash| *open < dash)) {
        Some(_) => match rest.find("] - ") {
            Some(at) => rest.get(..=at).unwrap_or(rest),
            None if rest.trim_end().ends_with(']') => rest.trim_end(),
            None => rest.get(..dash.unwrap_or(rest.len())).unwrap_or(rest),
        },
        None => rest.get(..dash.unwrap_or(rest.len())).unwrap_or(rest).trim_end(),
    }
}
