//! `cargo nextest run`.
use super::marks::{Counts, Found, Marks, sum};
use super::words::counted;
use super::{Format, Mark};

pub(super) const NAME: &str = "nextest";

#[derive(Debug, Default)]
pub(super) struct Nextest {
    marks: Marks,
    stated: Option<Counts>,
    begun: bool,
    /// Between the first line and the summary: tests may print anything.
    running: bool,
    /// It said that it stopped before the end.
    short: bool,
}

impl Format for Nextest {
    fn line(&mut self, line: &str) {
        let rest = line.trim_start();
        let indent = line.len() - rest.len();
        if is_start(rest) {
            (self.begun, self.running) = (true, true);
        } else if let Some(summary) = rest.strip_prefix("Summary [").filter(|_| self.begun) {
            self.running = false;
            self.short |= summary
                .split_once("] ")
                .is_some_and(|(_, many)| many.split(' ').next().is_some_and(|many| many.contains('/')));
            self.stated = sum(self.stated, counts(summary));
        } else if self.begun && indent < 13 {
            if let Some((mark, id)) = told(rest) {
                self.marks.set(&id, mark);
            } else if line.starts_with("error: ") {
                self.running = false;
            }
        }
    }

    fn deep(&self) -> bool {
        self.running
    }

    fn join(&mut self, stderr: Self) {
        self.marks.absorb(stderr.marks);
        self.stated = sum(self.stated, stderr.stated);
        self.begun |= stderr.begun;
        self.short |= stderr.short;
    }

    fn end(mut self) -> Option<Found> {
        if self.short || self.stated.is_none() {
            self.marks.say_over();
        }
        let any = self.stated.is_some() || !self.marks.is_empty();
        (self.begun && any).then(|| Found::new(NAME, self.marks, self.stated))
    }
}

/// `Starting 6 tests across 2 binaries`.
fn is_start(rest: &str) -> bool {
    let Some(rest) = rest.strip_prefix("Starting ") else { return false };
    counted(rest).is_some_and(|(_, words)| words.starts_with("test") && words.contains(" across "))
}

/// `PASS [   0.014s] (1/6) shop tests::adds`, `TRY 2 FAIL [   0.020s] (2/6) shop tests::result`.
fn told(rest: &str) -> Option<(Mark, String)> {
    let (status, rest) = rest.split_once(" [")?;
    let (took, rest) = rest.split_once("] ")?;
    if !took.trim().trim_end_matches('s').chars().all(|letter| letter.is_ascii_digit() || letter == '.') {
        return None;
    }
    let word = match status.strip_prefix("TRY ") {
        Some(rest) => rest.split_once(' ')?.1,
        None => status,
    };
    let mark = match word.split(' ').next()? {
        "PASS" | "LEAK" | "FLAKY" => Mark::Passed,
        "SKIP" => Mark::Skipped,
        "FAIL" | "LEAK-FAIL" | "TIMEOUT" | "TMT" | "ABORT" | "ABRT" | "SEGV" | "KILL" | "TERM" | "XFAIL"
        | "FL-FAIL" => Mark::Failed,
        word if word.starts_with("SIG") => Mark::Failed,
        _ => return None,
    };
    let rest = rest.trim_start();
    let id = match rest.strip_prefix('(') {
        Some(inside) => inside.split_once(") ")?.1,
        None => rest,
    };
    let id = id.trim();
    id.contains(' ').then(|| (mark, id.to_owned()))
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
        let mark = match word {
            "passed" => Mark::Passed,
            "skipped" => Mark::Skipped,
            "failed" | "timed out" | "exec failed" | "errored" => Mark::Failed,
            _ => continue,
        };
        counts = counts.plus(Counts::of(mark, many));
    }
    Some(counts)
}
