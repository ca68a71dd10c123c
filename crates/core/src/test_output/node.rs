//! Node's own test runner, by its spec reporter. It does not name files: a name that comes again gets a number.
use super::scan::{counted, indented, is_duration};
use super::test_list::{Counts, FormatTests, TestList, sum};
use super::{Format, TestStatus};

/// How deep groups are distinguished.
const DEPTH_MAX: usize = 50;
/// How many ends of a line are tried.
const TRIES_MAX: usize = 4;

#[derive(Debug, Default)]
pub(super) struct Node {
    tests: TestList,
    stated: Option<Counts>,
    groups: Vec<(usize, String)>,
    /// Failures are reported a second time at the end.
    again: bool,
}

impl Format for Node {
    const NAME: &str = "node-test";

    fn line(&mut self, line: &str) {
        if let Some(rest) = line.strip_prefix("ℹ ") {
            return self.stated(rest);
        }
        if line == "✖ failing tests:" {
            self.again = true;
        }
        let (indent, rest) = indented(line);
        let Some((glyph, rest)) = rest.split_once(' ') else { return };
        let status = match glyph {
            "✔" => TestStatus::Passed,
            "✖" => TestStatus::Failed,
            "﹣" => TestStatus::Skipped,
            "▶" => return self.group(indent, rest),
            _ => return,
        };
        if !self.again {
            self.told(indent, rest, status);
        }
    }

    fn merge(&mut self, stderr: Self) {
        self.tests.absorb(stderr.tests);
        self.stated = sum(self.stated, stderr.stated);
    }

    fn end(mut self) -> Option<FormatTests> {
        if self.stated.is_none() {
            self.tests.mark_incomplete();
        }
        let any = self.stated.is_some() || !self.tests.is_empty();
        any.then(|| FormatTests::new(Self::NAME, self.tests, self.stated))
    }
}

impl Node {
    fn group(&mut self, indent: usize, name: &str) {
        let bare = split_took(name).map_or(name, |(name, _)| name);
        while self.groups.last().is_some_and(|(held, _)| *held > indent) {
            self.groups.pop();
        }
        // Older ones close a group by the same sign.
        if self.groups.last().is_some_and(|(held, open)| *held == indent && open == bare) {
            self.groups.pop();
        } else if self.groups.len() < DEPTH_MAX {
            self.groups.push((indent, bare.to_owned()));
        }
    }

    fn told(&mut self, indent: usize, rest: &str, status: TestStatus) {
        let Some((name, directive)) = split_took(rest) else { return };
        while self.groups.last().is_some_and(|(held, _)| *held > indent) {
            self.groups.pop();
        }
        if self.groups.last().is_some_and(|(held, open)| *held == indent && open == name) {
            self.groups.pop();
            return;
        }
        let status = if directive.starts_with('#') { TestStatus::Skipped } else { status };
        let mut id = String::new();
        for (held, group) in &self.groups {
            if *held < indent {
                id.push_str(group);
                id.push_str(" > ");
            }
        }
        id.push_str(name);
        self.tests.numbered(&id, status);
    }

    /// `pass 5`.
    fn stated(&mut self, rest: &str) {
        let Some((word, many)) = rest.rsplit_once(' ') else { return };
        let Some((many, _)) = counted(&format!("{many} .")) else { return };
        let status = match word {
            "tests" => {
                self.again = false;
                self.groups.clear();
                self.stated = sum(self.stated, Some(Counts::default()));
                return;
            }
            "pass" => TestStatus::Passed,
            "fail" | "cancelled" => TestStatus::Failed,
            "skipped" | "todo" => TestStatus::Skipped,
            _ => return,
        };
        self.stated = self.stated.map(|held| held.plus(Counts::of(status, many)));
    }
}

/// `totals (4.872865ms) # TODO` as name and directive. No other program writes the fraction.
fn split_took(rest: &str) -> Option<(&str, &str)> {
    let mut ends = rest.rmatch_indices("ms)").map(|(at, sign)| at + sign.len()).take(TRIES_MAX);
    ends.find_map(|end| {
        let (before, after) = rest.split_at(end);
        let (name, took) = before.strip_suffix(')')?.rsplit_once(" (")?;
        let after = after.trim_start();
        let fits = is_duration(took) && took.contains('.') && (after.is_empty() || after.starts_with('#'));
        fits.then_some((name, after))
    })
}
