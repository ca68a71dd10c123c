//! `go test`, plain, `-v` and `-json`.
use std::collections::BTreeMap;

use serde::Deserialize;

use super::test_list::{Counts, FormatTests, IDS_MAX, TestList};
use super::{Format, TestStatus};

/// How many packages are distinguished.
const PACKAGES_MAX: usize = 5_000;

#[derive(Debug, Default)]
pub(super) struct Go {
    packages: BTreeMap<String, Package>,
    /// Tests whose package is named by a later line.
    open: Package,
    kept: usize,
    over: bool,
}

#[derive(Debug, Default)]
struct Package {
    tests: BTreeMap<String, TestStatus>,
    /// Passing tests are named too, so the names are all there are.
    verbose: bool,
    ended: Option<TestStatus>,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(rename = "Action", borrow)]
    action: std::borrow::Cow<'a, str>,
    #[serde(rename = "Package", borrow)]
    package: std::borrow::Cow<'a, str>,
    #[serde(rename = "Test", borrow, default)]
    test: Option<std::borrow::Cow<'a, str>>,
}

impl Format for Go {
    const NAME: &str = "go-test";

    fn line(&mut self, line: &str) {
        if line.starts_with('{') {
            return self.event(line);
        }
        if let Some(rest) = line.trim_start_matches([' ', '\t']).strip_prefix("--- ") {
            return self.test(rest);
        }
        if line.starts_with("=== RUN ") {
            self.open.verbose = true;
        } else if let Some(rest) = line.strip_prefix("ok  \t") {
            self.package(rest, TestStatus::Passed);
        } else if let Some(rest) = line.strip_prefix("FAIL\t") {
            self.package(rest, TestStatus::Failed);
        }
    }

    fn merge(&mut self, stderr: Self) {
        for (name, package) in stderr.packages {
            self.packages.entry(name).or_insert(package);
        }
        self.over |= stderr.over;
    }

    fn end(mut self) -> Option<FormatTests> {
        // Cut off before the package was named.
        let open = std::mem::take(&mut self.open);
        if self.packages.is_empty() && open.tests.is_empty() {
            return None;
        }
        let mut tests = TestList::default();
        let mut counts = open.told("", &mut tests);
        for (name, package) in &self.packages {
            counts = counts.plus(package.told(name, &mut tests));
        }
        if self.over {
            tests.mark_incomplete();
        }
        Some(FormatTests::new(Self::NAME, tests, Some(counts)))
    }
}

impl Go {
    /// `FAIL: TestTable/wrong (0.00s)`.
    fn test(&mut self, rest: &str) {
        let Some((word, rest)) = rest.split_once(": ") else { return };
        let Some((name, took)) = rest.rsplit_once(" (") else { return };
        let Some(status) = status_of(&word.to_ascii_lowercase()).filter(|_| took.ends_with("s)")) else { return };
        self.open.verbose |= status != TestStatus::Failed;
        if self.room() {
            self.open.tests.insert(name.to_owned(), status);
        }
    }

    fn room(&mut self) -> bool {
        self.over |= self.kept >= IDS_MAX;
        self.kept += 1;
        self.kept <= IDS_MAX
    }

    /// `example.com/shop`, a tab and `0.006s`; `example.com/shop/bad [build failed]`.
    fn package(&mut self, rest: &str, status: TestStatus) {
        let name = rest.split(['\t', ' ']).next().unwrap_or_default();
        let mut package = std::mem::take(&mut self.open);
        if name.is_empty() || rest.ends_with("[no tests to run]") {
            return;
        }
        package.ended = Some(status);
        if self.packages.len() < PACKAGES_MAX || self.packages.contains_key(name) {
            self.packages.insert(name.to_owned(), package);
        } else {
            self.over = true;
        }
    }

    fn event(&mut self, line: &str) {
        // Most lines are output: these need no parsing.
        if !["\"pass\"", "\"fail\"", "\"skip\""].iter().any(|word| line.contains(word)) {
            return;
        }
        let Ok(event) = serde_json::from_str::<Event<'_>>(line) else { return };
        let Some(status) = status_of(&event.action) else { return };
        if self.packages.len() >= PACKAGES_MAX && !self.packages.contains_key(event.package.as_ref()) {
            self.over = true;
            return;
        }
        let room = event.test.is_none() || self.room();
        let package = self.packages.entry(event.package.into_owned()).or_default();
        package.verbose = true;
        match event.test {
            Some(test) if room => drop(package.tests.insert(test.into_owned(), status)),
            Some(_) => {}
            None => package.ended = Some(status),
        }
    }
}

impl Package {
    /// Its tests, and how many there are: a test with parts does not count by itself, and a package whose tests are not
    /// named counts as one.
    fn told(&self, name: &str, tests: &mut TestList) -> Counts {
        let mut counts = Counts::default();
        for (test, status) in &self.tests {
            let begin = format!("{test}/");
            let parts = self.tests.range(begin.clone()..).next().is_some_and(|(next, _)| next.starts_with(&begin));
            if !parts {
                tests.worst(&format!("{name} {test}"), *status);
                counts = counts.plus(Counts::of(*status, 1));
            }
        }
        let Some(ended) = self.ended else { return counts };
        let alone = match ended {
            TestStatus::Passed => !self.verbose,
            TestStatus::Failed => counts.failed == 0,
            // No test files.
            TestStatus::Skipped => return counts,
        };
        tests.worst(name, ended);
        if alone { counts.plus(Counts::of(ended, 1)) } else { counts }
    }
}

fn status_of(word: &str) -> Option<TestStatus> {
    match word {
        "pass" => Some(TestStatus::Passed),
        "fail" => Some(TestStatus::Failed),
        "skip" => Some(TestStatus::Skipped),
        _ => None,
    }
}
