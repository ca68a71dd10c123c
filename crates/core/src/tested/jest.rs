//! jest: a tree of tests where it is verbose, else files and what failed in them.
use super::marks::{Counts, Found, Marks, sum};
use super::words::{counted, indented, without_parens_duration};
use super::{Format, Mark};

pub(super) const NAME: &str = "jest";
/// How deep groups are told apart.
const DEPTH_MAX: usize = 50;

#[derive(Debug, Default)]
pub(super) struct Jest {
    marks: Marks,
    stated: Option<Counts>,
    /// Files that could not be loaded: the summary does not count them as tests.
    unloaded: u32,
    file: Option<String>,
    /// The lines now are the tree of that file.
    tree: bool,
    groups: Vec<(usize, String)>,
    /// At least one line that nobody else writes.
    sure: bool,
    /// Failures are told a second time at the end.
    again: bool,
}

impl Format for Jest {
    fn line(&mut self, line: &str) {
        if let Some(file) = line.strip_prefix("PASS ").or_else(|| line.strip_prefix("FAIL ")) {
            let mark = if line.starts_with('P') { Mark::Passed } else { Mark::Failed };
            return self.header(file, mark);
        }
        if let Some(rest) = line.strip_prefix("Tests: ") {
            return self.summary(rest);
        }
        if line.starts_with("Test Suites: ") && line.contains(" of ") {
            self.marks.say_over();
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

    fn join(&mut self, stderr: Self) {
        self.marks.absorb(stderr.marks);
        self.stated = sum(self.stated, stderr.stated);
        self.unloaded = self.unloaded.saturating_add(stderr.unloaded);
        self.sure |= stderr.sure;
    }

    fn end(mut self) -> Option<Found> {
        if !self.sure {
            return None;
        }
        if self.stated.is_none() {
            self.marks.say_over();
        }
        let counts = self.stated.map(|stated| stated.plus(Counts::of(Mark::Failed, self.unloaded)));
        Some(Found::new(NAME, self.marks, counts))
    }
}

impl Jest {
    /// `PASS jest/ok.test.js (5.1 s)`.
    fn header(&mut self, file: &str, mark: Mark) {
        let file = without_parens_duration(file).trim();
        let last = file.rsplit(' ').next().unwrap_or_default();
        let is_file = last.rsplit('/').next().is_some_and(|name| name.contains('.')) && !last.ends_with(['.', ':']);
        if !is_file || file.split_whitespace().count() > 2 {
            self.file = None;
            return;
        }
        self.marks.suite(file, mark);
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
            self.marks.worst(&format!("{file} › {name}"), Mark::Failed);
        }
    }

    fn branch(&mut self, indent: usize, rest: &str) {
        while self.groups.last().is_some_and(|(held, _)| *held >= indent) {
            self.groups.pop();
        }
        let Some((mark, name)) = leaf(rest) else {
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
        self.marks.worst(&id, mark);
    }

    /// `      1 failed, 1 skipped, 1 todo, 5 passed, 8 total`.
    fn summary(&mut self, rest: &str) {
        let mut counts = Counts::default();
        let mut total = false;
        for piece in rest.split(',') {
            let Some((many, word)) = counted(piece) else { return };
            let mark = match word {
                "passed" => Mark::Passed,
                "failed" => Mark::Failed,
                "skipped" | "todo" => Mark::Skipped,
                "total" => {
                    total = true;
                    continue;
                }
                _ => return,
            };
            counts = counts.plus(Counts::of(mark, many));
        }
        if total {
            self.stated = sum(self.stated, Some(counts));
            (self.sure, self.file) = (true, None);
        }
    }
}

fn leaf(rest: &str) -> Option<(Mark, &str)> {
    let (glyph, name) = rest.split_once(' ')?;
    let (mark, name) = match glyph {
        "✓" | "√" => (Mark::Passed, name),
        "✕" | "×" => (Mark::Failed, name),
        "○" => (Mark::Skipped, name.strip_prefix("skipped ").unwrap_or(name)),
        "✎" => (Mark::Skipped, name.strip_prefix("todo ").unwrap_or(name)),
        _ => return None,
    };
    Some((mark, without_parens_duration(name)))
}
