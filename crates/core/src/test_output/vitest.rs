//! vitest, by its default and verbose reporters. The details of failures are on stderr.
use super::scan::{counted, indented, is_number, without_duration};
use super::test_list::{Counts, FormatTests, TestList, sum};
use super::{Format, TestStatus};

/// How deep groups are distinguished.
const DEPTH_MAX: usize = 50;

#[derive(Debug, Default)]
pub(super) struct Vitest {
    tests: TestList,
    stated: Option<Counts>,
    /// Files that could not be loaded: the summary does not count them as tests.
    unloaded: u32,
    begun: bool,
    file: Option<String>,
    groups: Vec<(usize, String)>,
}

impl Format for Vitest {
    const NAME: &str = "vitest";

    fn line(&mut self, line: &str) {
        let (indent, rest) = indented(line);
        if is_header(rest) {
            self.begun = true;
        } else if let Some(rest) = line.strip_prefix(" FAIL  ") {
            self.failure(rest);
        } else if let Some(counts) = rest.strip_prefix("Tests  ").filter(|_| indent >= 1).and_then(summary) {
            self.stated = sum(self.stated, Some(counts));
            self.begun = true;
            self.file = None;
        } else if self.begun && indent >= 1 {
            self.told(indent, rest);
        }
    }

    fn merge(&mut self, stderr: Self) {
        self.tests.absorb(stderr.tests);
        self.stated = sum(self.stated, stderr.stated);
        self.unloaded = self.unloaded.saturating_add(stderr.unloaded);
        self.begun |= stderr.begun;
    }

    fn end(mut self) -> Option<FormatTests> {
        if self.stated.is_none() {
            self.tests.mark_incomplete();
        }
        if !self.begun || (self.stated.is_none() && self.tests.is_empty()) {
            return None;
        }
        let counts = self.stated.map(|stated| stated.plus(Counts::of(TestStatus::Failed, self.unloaded)));
        Some(FormatTests::new(Self::NAME, self.tests, counts))
    }
}

impl Vitest {
    /// `cart.test.js > cart > totals`, `broken.test.js [ broken.test.js ]`.
    fn failure(&mut self, rest: &str) {
        let rest = without_project(rest.trim());
        if rest.contains(" > ") {
            self.tests.worst(rest, TestStatus::Failed);
        } else if let Some((file, same)) = rest.strip_suffix(" ]").and_then(|rest| rest.split_once(" [ "))
            && same.ends_with(file)
        {
            self.unloaded = self.unloaded.saturating_add(1);
            self.tests.suite(file, TestStatus::Failed);
        }
    }

    fn told(&mut self, indent: usize, rest: &str) {
        let Some((glyph, rest)) = rest.split_once(' ') else { return };
        let status = match glyph {
            "✓" | "√" => TestStatus::Passed,
            "×" | "✗" | "❯" | "✕" => TestStatus::Failed,
            "↓" | "□" | "○" => TestStatus::Skipped,
            _ => return,
        };
        let name = without_duration(without_project(rest.trim()));
        let name = without_retries(name);
        if let Some(group) = before_count(name) {
            return if indent == 1 { self.open(group, status) } else { self.group(indent, group) };
        }
        if indent == 1 {
            // Verbose: the file is part of the name. A `❯` with a place is a line of a stack.
            if glyph != "❯" && name.contains(" > ") {
                self.tests.worst(name, status);
            }
            return;
        }
        self.leaf(indent, name, status);
    }

    fn open(&mut self, file: &str, status: TestStatus) {
        self.groups.clear();
        self.file = Some(file.to_owned());
        self.tests.suite(file, status);
    }

    fn group(&mut self, indent: usize, name: &str) {
        self.up_to(indent);
        if self.groups.len() < DEPTH_MAX {
            self.groups.push((indent, name.to_owned()));
        }
    }

    fn up_to(&mut self, indent: usize) {
        while self.groups.last().is_some_and(|(held, _)| *held >= indent) {
            self.groups.pop();
        }
    }

    fn leaf(&mut self, indent: usize, name: &str, status: TestStatus) {
        self.up_to(indent);
        let Some(file) = &self.file else { return };
        let name = name.strip_prefix(file.as_str()).and_then(|rest| rest.strip_prefix(" > ")).unwrap_or(name);
        let mut id = file.clone();
        for part in self.groups.iter().map(|(_, name)| name.as_str()).chain([name]) {
            id.push_str(" > ");
            id.push_str(part);
        }
        self.tests.worst(&id, status);
    }
}

/// `RUN  v3.2.7 folder`.
fn is_header(rest: &str) -> bool {
    let version = rest.strip_prefix("RUN  v").or_else(|| rest.strip_prefix("DEV  v"));
    version.is_some_and(|version| version.starts_with(|letter: char| letter.is_ascii_digit()))
}

/// A name without the project before it: `|unit| `.
fn without_project(name: &str) -> &str {
    name.strip_prefix('|').and_then(|rest| rest.split_once("| ")).map_or(name, |(_, rest)| rest.trim_start())
}

/// A name without `(retry x2)` behind it.
fn without_retries(name: &str) -> &str {
    let mut name = name;
    while let Some((before, inside)) = name.strip_suffix(')').and_then(|rest| rest.rsplit_once(" (")) {
        if !inside.starts_with("retry x") && !inside.starts_with("repeat x") {
            break;
        }
        name = before.trim_end();
    }
    name
}

/// The file or group in `cart.test.js (6 tests | 1 failed)` or `cart (3)`.
fn before_count(name: &str) -> Option<&str> {
    let (before, inside) = name.strip_suffix(')')?.rsplit_once('(')?;
    let mut words = inside.split(' ');
    let count = is_number(words.next()?);
    let word = words.next().is_none_or(|word| word == "test" || word == "tests");
    (count && word).then(|| before.trim_end()).filter(|before| !before.is_empty())
}

/// `1 failed | 5 passed | 1 skipped | 1 todo (8)`.
fn summary(rest: &str) -> Option<Counts> {
    let rest = rest.trim();
    if rest == "no tests" {
        return Some(Counts::default());
    }
    let (pieces, total) = rest.strip_suffix(')')?.rsplit_once(" (")?;
    total.parse::<u32>().ok()?;
    let mut counts = Counts::default();
    for piece in pieces.split(" | ") {
        let (many, word) = counted(piece)?;
        let status = match word {
            "passed" => TestStatus::Passed,
            "failed" => TestStatus::Failed,
            "skipped" | "todo" | "expected fail" => TestStatus::Skipped,
            _ => return None,
        };
        counts = counts.plus(Counts::of(status, many));
    }
    Some(counts)
}
