//! `go test`, plain, `-v` and `-json`.
use std::collections::BTreeMap;

use serde::Deserialize;

use super::marks::{Counts, Found, IDS_MAX, Marks};
use super::{Format, Mark};

pub(super) const NAME: &str = "go-test";
/// How many packages are told apart.
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
    tests: BTreeMap<String, Mark>,
    /// Passing tests are named too, so the names are all there are.
    verbose: bool,
    ended: Option<Mark>,
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
            self.package(rest, Mark::Passed);
        } else if let Some(rest) = line.strip_prefix("FAIL\t") {
            self.package(rest, Mark::Failed);
        }
    }

    fn join(&mut self, stderr: Self) {
        for (name, package) in stderr.packages {
            self.packages.entry(name).or_insert(package);
        }
        self.over |= stderr.over;
    }

    fn end(mut self) -> Option<Found> {
        // Cut off before the package was named.
        let open = std::mem::take(&mut self.open);
        if self.packages.is_empty() && open.tests.is_empty() {
            return None;
        }
        let mut marks = Marks::default();
        let mut counts = open.told("", &mut marks);
        for (name, package) in &self.packages {
            counts = counts.plus(package.told(name, &mut marks));
        }
        if self.over {
            marks.say_over();
        }
        Some(Found::new(NAME, marks, Some(counts)))
    }
}

impl Go {
    /// `FAIL: TestTable/wrong (0.00s)`.
    fn test(&mut self, rest: &str) {
        let Some((word, rest)) = rest.split_once(": ") else { return };
        let Some((name, took)) = rest.rsplit_once(" (") else { return };
        let Some(mark) = mark_of(&word.to_ascii_lowercase()).filter(|_| took.ends_with("s)")) else { return };
        self.open.verbose |= mark != Mark::Failed;
        if self.room() {
            self.open.tests.insert(name.to_owned(), mark);
        }
    }

    fn room(&mut self) -> bool {
        self.over |= self.kept >= IDS_MAX;
        self.kept += 1;
        self.kept <= IDS_MAX
    }

    /// `example.com/shop`, a tab and `0.006s`; `example.com/shop/bad [build failed]`.
    fn package(&mut self, rest: &str, mark: Mark) {
        let name = rest.split(['\t', ' ']).next().unwrap_or_default();
        let mut package = std::mem::take(&mut self.open);
        if name.is_empty() || rest.ends_with("[no tests to run]") {
            return;
        }
        package.ended = Some(mark);
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
        let Some(mark) = mark_of(&event.action) else { return };
        if self.packages.len() >= PACKAGES_MAX && !self.packages.contains_key(event.package.as_ref()) {
            self.over = true;
            return;
        }
        let room = event.test.is_none() || self.room();
        let package = self.packages.entry(event.package.into_owned()).or_default();
        package.verbose = true;
        match event.test {
            Some(test) if room => drop(package.tests.insert(test.into_owned(), mark)),
            Some(_) => {}
            None => package.ended = Some(mark),
        }
    }
}

impl Package {
    /// Its marks, and how many tests that is: a test with parts is no test by itself, and a package whose tests are not named counts as one.
    fn told(&self, name: &str, marks: &mut Marks) -> Counts {
        let mut counts = Counts::default();
        for (test, mark) in &self.tests {
            let begin = format!("{test}/");
            let parts = self.tests.range(begin.clone()..).next().is_some_and(|(next, _)| next.starts_with(&begin));
            if !parts {
                marks.worst(&format!("{name} {test}"), *mark);
                counts = counts.plus(Counts::of(*mark, 1));
            }
        }
        let Some(ended) = self.ended else { return counts };
        let alone = match ended {
            Mark::Passed => !self.verbose,
            Mark::Failed => counts.failed == 0,
            // No test files.
            Mark::Skipped => return counts,
        };
        marks.worst(name, ended);
        if alone { counts.plus(Counts::of(ended, 1)) } else { counts }
    }
}

fn mark_of(word: &str) -> Option<Mark> {
    match word {
        "pass" => Some(Mark::Passed),
        "fail" => Some(Mark::Failed),
        "skip" => Some(Mark::Skipped),
        _ => None,
    }
}
