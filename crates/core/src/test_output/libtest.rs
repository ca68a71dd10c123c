//! `cargo test`: many binaries and doc tests. The tests are on stdout, the names of the binaries on stderr.
use std::collections::BTreeMap;

use super::scan::{counted, is_number};
use super::test_list::{Counts, FormatTests, IDS_MAX, TestList};
use super::{Format, TestStatus};

/// How many binaries are distinguished.
const SUITES_MAX: usize = 5_000;

#[derive(Debug, Default)]
pub(super) struct Libtest {
    suites: Vec<Suite>,
    /// The binaries in the order in which they ran.
    names: Vec<String>,
    /// The library whose binaries run now.
    package: Option<String>,
    /// A binary that was announced in this very voice.
    announced: Option<String>,
    /// A suite has begun and not ended.
    open: bool,
    /// What follows is what a test printed.
    captured: bool,
    /// What follows is the list of names that failed.
    listing: bool,
    /// A test whose end is on a later line.
    pending: Option<String>,
    kept: usize,
    over: bool,
    /// Cargo was asked not to stop at the first binary that fails.
    went_on: bool,
}

#[derive(Debug, Default)]
struct Suite {
    name: Option<String>,
    running: u32,
    /// By name and, for doc tests, line.
    tests: BTreeMap<(String, u32), TestStatus>,
    stated: Option<Counts>,
}

impl Format for Libtest {
    const NAME: &str = "cargo-test";

    fn line(&mut self, line: &str) {
        if self.captured {
            return self.captured_line(line);
        }
        if let Some(rest) = line.trim_start().strip_prefix("Running ") {
            self.running(rest);
        } else if let Some(name) = line.trim_start().strip_prefix("Doc-tests ") {
            self.announce(format!("{} (doc)", name.trim()));
        } else if let Some(rest) = line.strip_prefix("error: ") {
            self.went_on |= rest.ends_with(" targets failed:") || rest.ends_with(" target failed:");
        } else if let Some(many) = running_tests(line) {
            self.begin(many);
        } else if self.open {
            self.inside(line);
        }
    }

    fn owns_line(&self) -> bool {
        self.captured
    }

    fn hears_every_line(&self) -> bool {
        self.listing
    }

    fn merge(&mut self, stderr: Self) {
        let unnamed = self.suites.iter().all(|suite| suite.name.is_none());
        if unnamed && self.names.is_empty() && stderr.names.len() >= self.suites.len() {
            for (suite, name) in self.suites.iter_mut().zip(&stderr.names) {
                suite.name = Some(name.clone());
            }
        }
        self.suites.extend(stderr.suites);
        self.over |= stderr.over;
        self.went_on |= stderr.went_on;
    }

    fn end(self) -> Option<FormatTests> {
        if self.suites.is_empty() {
            return None;
        }
        let mut tests = TestList::default();
        let mut counts = Counts::default();
        for suite in &self.suites {
            counts = counts.plus(suite.stated.unwrap_or_else(|| suite.tally()));
            let mut before: Option<&str> = None;
            let mut many = 1_u32;
            for ((test, _), status) in &suite.tests {
                // Doc tests of one item are distinguished by their order, which lines give: these move.
                many = if before == Some(test) { many + 1 } else { 1 };
                before = Some(test);
                let number = if many > 1 { format!(" #{many}") } else { String::new() };
                let id = match &suite.name {
                    Some(name) => format!("{name} {test}{number}"),
                    None => format!("{test}{number}"),
                };
                tests.numbered(&id, *status);
            }
        }
        let short = self.suites.iter().any(|suite| suite.stated.is_none()) || (counts.failed > 0 && !self.went_on);
        if self.over || short {
            tests.mark_incomplete();
        }
        Some(FormatTests::new(Self::NAME, tests, Some(counts)))
    }
}

impl Libtest {
    /// `unittests src/lib.rs (target/debug/deps/shop-507999230d6984fa)`.
    fn running(&mut self, rest: &str) {
        let Some((what, program)) = rest.strip_suffix(')').and_then(|rest| rest.rsplit_once(" (")) else { return };
        let file = program.rsplit(['/', '\\']).next().unwrap_or(program).trim_end_matches(".exe");
        let name = match file.rsplit_once('-') {
            Some((name, hash)) if hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => name,
            Some(_) | None => file,
        };
        let (unit, path) = match what.strip_prefix("unittests ") {
            Some(path) => (true, path),
            None => (false, what),
        };
        let is_main = unit && path.ends_with("src/main.rs");
        let aside = ["src/bin/", "examples/", "benches/"].into_iter().any(|folder| path.starts_with(folder));
        if is_main || (unit && !aside) {
            self.package = Some(name.to_owned());
        }
        let package = self.package.as_deref().unwrap_or(name);
        let suite = match (unit, is_main || path.starts_with("src/bin/")) {
            (true, true) => format!("{package}::bin/{name}"),
            (true, false) if path.starts_with("examples/") => format!("{package}::example/{name}"),
            (_, false) if path.starts_with("benches/") => format!("{package}::bench/{name}"),
            (true, false) => name.to_owned(),
            (false, _) if self.package.is_none() => name.to_owned(),
            (false, _) => format!("{package}::{name}"),
        };
        self.announce(suite);
    }

    fn announce(&mut self, name: String) {
        self.open = false;
        if self.names.len() < SUITES_MAX {
            self.names.push(name.clone());
        }
        self.announced = Some(name);
    }

    fn begin(&mut self, running: u32) {
        let name = self.announced.take();
        if self.suites.len() >= SUITES_MAX {
            self.over = true;
            self.open = false;
            return;
        }
        self.suites.push(Suite { name, running, ..Suite::default() });
        self.open = true;
        self.listing = false;
        self.pending = None;
    }

    fn inside(&mut self, line: &str) {
        if let Some(rest) = line.strip_prefix("test result: ") {
            return self.result(rest);
        }
        if self.listing {
            match line.strip_prefix("    ") {
                Some(name) => return self.set_status(name, TestStatus::Failed),
                None => self.listing = false,
            }
        }
        if line == "failures:" {
            self.listing = true;
        } else if line.starts_with("---- ") && line.ends_with(" ----") {
            self.captured = true;
        } else if let Some(rest) = line.strip_prefix("test ") {
            self.test(rest);
        } else if let Some(name) = line.strip_suffix(" --- FAILED") {
            self.set_status(name, TestStatus::Failed);
        } else if let Some(status) = status_of(line)
            && let Some(name) = self.pending.take()
        {
            self.set_status(&name, status);
        }
    }

    fn captured_line(&mut self, line: &str) {
        if line == "failures:" {
            self.captured = false;
            self.listing = true;
        } else if let Some(rest) = line.strip_prefix("test result: ") {
            // A test may print what looks like a result: the true one counts as many as were announced.
            let running = self.suites.last().map(|suite| suite.running);
            if result(rest).map(Counts::total) == running {
                self.captured = false;
                self.result(rest);
            }
        }
    }

    fn test(&mut self, rest: &str) {
        let Some((name, end)) = rest.split_once(" ... ").or_else(|| rest.strip_suffix(" ...").map(|name| (name, "")))
        else {
            return;
        };
        match status_of(end) {
            Some(status) => self.set_status(name, status),
            None => self.pending = Some(name.to_owned()),
        }
    }

    fn set_status(&mut self, name: &str, status: TestStatus) {
        let Some(suite) = self.suites.last_mut() else { return };
        let key = key(name);
        if !suite.tests.contains_key(&key) {
            if self.kept >= IDS_MAX {
                self.over = true;
                return;
            }
            self.kept += 1;
        }
        suite.tests.insert(key, status);
    }

    fn result(&mut self, rest: &str) {
        let Some(counts) = result(rest) else { return };
        if let Some(suite) = self.suites.last_mut() {
            suite.stated = Some(counts);
        }
        self.open = false;
        self.listing = false;
        self.pending = None;
    }
}

impl Suite {
    fn tally(&self) -> Counts {
        self.tests.values().fold(Counts::default(), |sum, status| sum.plus(Counts::of(*status, 1)))
    }
}

fn running_tests(line: &str) -> Option<u32> {
    let rest = line.strip_prefix("running ")?;
    rest.strip_suffix(" tests").or_else(|| rest.strip_suffix(" test"))?.parse().ok()
}

fn status_of(end: &str) -> Option<TestStatus> {
    let word = end.split([' ', ',', '(']).next().unwrap_or_default();
    match word {
        "ok" | "bench:" => Some(TestStatus::Passed),
        "FAILED" => Some(TestStatus::Failed),
        "ignored" => Some(TestStatus::Skipped),
        _ => None,
    }
}

/// `FAILED. 2 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.20s`.
fn result(rest: &str) -> Option<Counts> {
    let (_, pieces) = rest.split_once(". ")?;
    let mut counts = Counts::default();
    let mut known = 0;
    for (many, word) in pieces.split(';').filter_map(counted) {
        let status = match word {
            "passed" | "measured" => TestStatus::Passed,
            "failed" => TestStatus::Failed,
            "ignored" => TestStatus::Skipped,
            _ => continue,
        };
        known += 1;
        counts = counts.plus(Counts::of(status, many));
    }
    (known >= 3).then_some(counts)
}

/// A name without what changes: `- should panic` does not belong to it, and the line of a doc test is separate.
fn key(name: &str) -> (String, u32) {
    let name = name.trim().trim_end_matches(" - should panic");
    let Some((before, rest)) = name.split_once(" (line ") else { return (name.to_owned(), 0) };
    match rest.split_once(')') {
        Some((line, after)) if is_number(line) => (format!("{before}{after}"), line.parse().unwrap_or(0)),
        Some(_) | None => (name.to_owned(), 0),
    }
}
