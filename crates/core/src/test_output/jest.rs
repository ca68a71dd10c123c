//! jest: a tree of tests where it is verbose, else files and what failed in them.
use super::scan::{counted, indented, without_parens_duration};
use super::test_list::{Counts, FormatTests, TestList, sum};
use super::{Format, TestStatus};

/// How deep groups are distinguished.
const DEPTH_MAX: usize = 50;

#[derive(Debug, Default)]
pub(super) struct Jest {
    tests: TestList,
    stated: Option<Counts>,
    /// Files that could not be loaded: the summary does not count them as tests.
    unloaded: u32,
    file: Option<String>,
    /// The lines now are the tree of that file.
    tree: bool,
    groups: Vec<(usize, String)>,
    /// At least one line that no other program writes.
    sure: bool,
    /// Failures are reported a second time at the end.
    again: bool,
}

impl Format for Jest {
    const NAME: &str = "jest";

    fn line(&mut self, line: &str) {
        if let Some(file) = line.strip_prefix("PASS ").or_else(|| line.strip_prefix("FAIL ")) {
            let status = if line.starts_with('P') { TestStatus::Passed } else { TestStatus::Failed };
            return self.header(file, status);
        }
        if let Some(rest) = line.strip_prefix("Tests: ") {
            return self.summary(rest);
        }
        if line.starts_with("Test Suites: ") && line.contains(" of ") {
            self.tests.mark_incomplete();
        }
        self.again |= line == "Summary of all failing tests";
        if self.file.is_none() {
            return;
        }
        let (indent, rest) = indented(line);
        if let Some(name) = rest.strip_prefix("● ").filter(|_| indent == 2) {
            self.tree = false;
            return self.failure(name);
        }
        if rest.is_empty() {
            self.tree = false;
        } else if self.tree && indent >= 2 {
            self.branch(indent, rest);
        }
    }

    fn hears_every_line(&self) -> bool {
        self.tree
    }

    fn merge(&mut self, stderr: Self) {
        self.tests.absorb(stderr.tests);
        self.stated = sum(self.stated, stderr.stated);
        self.unloaded = self.unloaded.saturating_add(stderr.unloaded);
        self.sure |= stderr.sure;
    }

    fn end(mut self) -> Option<FormatTests> {
        if !self.sure {
            return None;
        }
        if self.stated.is_none() {
            self.tests.mark_incomplete();
        }
        let counts = self.stated.map(|stated| stated.plus(Counts::of(TestStatus::Failed, self.unloaded)));
        Some(FormatTests::new(Self::NAME, self.tests, counts))
    }
}

impl Jest {
    /// `PASS jest/ok.test.js (5.1 s)`.
    fn header(&mut self, file: &str, status: TestStatus) {
        let file = without_parens_duration(file).trim();
        let last = file.rsplit(' ').next().unwrap_or_default();
        let is_file = last.rsplit('/').next().is_some_and(|name| name.contains('.')) && !last.ends_with(['.', ':']);
        if !is_file || file.split_whitespace().count() > 2 {
            self.file = None;
            return;
        }
        self.tests.suite(file, status);
        self.file = Some(file.to_owned());
        self.tree = true;
        self.groups.clear();
    }

    fn failure(&mut self, name: &str) {
        let name = name.trim();
        let Some(file) = self.file.clone() else { return };
        if name == "Console" || name.starts_with("Cannot log") {
            return;
        }
        self.sure = true;
        if name == "Test suite failed to run" {
            self.unloaded = self.unloaded.saturating_add(u32::from(!self.again));
        } else {
            self.tests.worst(&format!("{file} › {name}"), TestStatus::Failed);
        }
    }

    fn branch(&mut self, indent: usize, rest: &str) {
        while self.groups.last().is_some_and(|(held, _)| *held >= indent) {
            self.groups.pop();
        }
        let Some((status, name)) = leaf(rest) else {
            if self.groups.len() < DEPTH_MAX {
                self.groups.push((indent, rest.to_owned()));
            }
            return;
        };
        let Some(file) = &self.file else { return };
        let mut id = file.clone();
        for part in self.groups.iter().map(|(_, name)| name.as_str()).chain([name]) {
            id.push_str(" › ");
            id.push_str(part);
        }
        self.sure = true;
        self.tests.worst(&id, status);
    }

    /// `      1 failed, 1 skipped, 1 todo, 5 passed, 8 total`.
    fn summary(&mut self, rest: &str) {
        let mut counts = Counts::default();
        let mut total = false;
        for piece in rest.split(',') {
            let Some((many, word)) = counted(piece) else { return };
            let status = match word {
                "passed" => TestStatus::Passed,
                "failed" => TestStatus::Failed,
                "skipped" | "todo" => TestStatus::Skipped,
                "total" => {
                    total = true;
                    continue;
                }
                _ => return,
            };
            counts = counts.plus(Counts::of(status, many));
        }
        if total {
            self.stated = sum(self.stated, Some(counts));
            self.sure = true;
            self.file = None;
        }
    }
}

fn leaf(rest: &str) -> Option<(TestStatus, &str)> {
    let (glyph, name) = rest.split_once(' ')?;
    let (status, name) = match glyph {
        "✓" | "√" => (TestStatus::Passed, name),
        "✕" | "×" => (TestStatus::Failed, name),
        "○" => (TestStatus::Skipped, name.strip_prefix("skipped ").unwrap_or(name)),
        "✎" => (TestStatus::Skipped, name.strip_prefix("todo ").unwrap_or(name)),
        _ => return None,
    };
    Some((status, without_parens_duration(name)))
}
