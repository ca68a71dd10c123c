//! `cargo nextest run`.
use super::scan::counted;
use super::test_list::{Counts, FormatTests, TestList, sum};
use super::{Format, TestStatus};

#[derive(Debug, Default)]
pub(super) struct Nextest {
    tests: TestList,
    stated: Option<Counts>,
    begun: bool,
    /// Between the first line and the summary: tests may print anything.
    running: bool,
    /// It said that it stopped before the end.
    short: bool,
}

impl Format for Nextest {
    const NAME: &str = "nextest";

    fn line(&mut self, line: &str) {
        let rest = line.trim_start();
        let indent = line.len() - rest.len();
        if is_start(rest) {
            self.begun = true;
            self.running = true;
        } else if let Some(summary) = rest.strip_prefix("Summary [").filter(|_| self.begun) {
            self.running = false;
            self.short |= summary
                .split_once("] ")
                .is_some_and(|(_, many)| many.split(' ').next().is_some_and(|many| many.contains('/')));
            self.stated = sum(self.stated, counts(summary));
        } else if self.begun && indent < 13 {
            if let Some((status, id)) = told(rest) {
                self.tests.set(&id, status);
            } else if line.starts_with("error: ") {
                self.running = false;
            }
        }
    }

    fn owns_line(&self) -> bool {
        self.running
    }

    fn merge(&mut self, stderr: Self) {
        self.tests.absorb(stderr.tests);
        self.stated = sum(self.stated, stderr.stated);
        self.begun |= stderr.begun;
        self.short |= stderr.short;
    }

    fn end(mut self) -> Option<FormatTests> {
        if self.short || self.stated.is_none() {
            self.tests.mark_incomplete();
        }
        let any = self.stated.is_some() || !self.tests.is_empty();
        (self.begun && any).then(|| FormatTests::new(Self::NAME, self.tests, self.stated))
    }
}

/// `Starting 6 tests across 2 binaries`.
fn is_start(rest: &str) -> bool {
    let Some(rest) = rest.strip_prefix("Starting ") else { return false };
    counted(rest).is_some_and(|(_, words)| words.starts_with("test") && words.contains(" across "))
}

/// `PASS [   0.014s] (1/6) shop tests::adds`, `TRY 2 FAIL [   0.020s] (2/6) shop tests::result`.
fn told(rest: &str) -> Option<(TestStatus, String)> {
    let (status, rest) = rest.split_once(" [")?;
    let (took, rest) = rest.split_once("] ")?;
    if !took.trim().trim_end_matches('s').chars().all(|letter| letter.is_ascii_digit() || letter == '.') {
        return None;
    }
    let word = match status.strip_prefix("TRY ") {
        Some(rest) => rest.split_once(' ')?.1,
        None => status,
    };
    let status = match word.split(' ').next()? {
        "PASS" | "LEAK" | "FLAKY" => TestStatus::Passed,
        "SKIP" => TestStatus::Skipped,
        "FAIL" | "LEAK-FAIL" | "TIMEOUT" | "TMT" | "ABORT" | "ABRT" | "SEGV" | "KILL" | "TERM" | "XFAIL"
        | "FL-FAIL" => TestStatus::Failed,
        word if word.starts_with("SIG") => TestStatus::Failed,
        _ => return None,
    };
    let rest = rest.trim_start();
    let id = match rest.strip_prefix('(') {
        Some(inside) => inside.split_once(") ")?.1,
        None => rest,
    };
    let id = id.trim();
    id.contains(' ').then(|| (status, id.to_owned()))
}

/// `   0.395s] 6 tests run: 4 passed (1 slow), 2 failed, 1 skipped`.
fn counts(summary: &str) -> Option<Counts> {
    let (_, pieces) = summary.split_once(" run: ")?;
    let mut counts = Counts::default();
    let mut depth = 0_u32;
    let outside: String = pieces
        .chars()
        .filter(|letter| {
            match letter {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => return depth == 0,
            }
            false
        })
        .collect();
    for (many, word) in outside.split(',').filter_map(counted) {
        let status = match word {
            "passed" => TestStatus::Passed,
            "skipped" => TestStatus::Skipped,
            "failed" | "timed out" | "exec failed" | "errored" => TestStatus::Failed,
            _ => continue,
        };
        counts = counts.plus(Counts::of(status, many));
    }
    Some(counts)
}
