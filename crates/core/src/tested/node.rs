//! Node's own test runner, by its spec reporter. Files are not named there: a name that comes again gets a number.
use super::marks::{Counts, Found, Marks, sum};
use super::words::{counted, indented, is_duration};
use super::{Format, Mark};

pub(super) const NAME: &str = "node-test";
/// How deep groups are told apart.
const DEPTH_MAX: usize = 50;
/// How many ends of a line are tried.
const TRIES_MAX: usize = 4;

#[derive(Debug, Default)]
pub(super) struct Node {
    marks: Marks,
    stated: Option<Counts>,
    groups: Vec<(usize, String)>,
    /// Failures are told a second time at the end.
    again: bool,
}

impl Format for Node {
    fn line(&mut self, line: &str) {
        if let Some(rest) = line.strip_prefix("ℹ ") {
            return self.stated(rest);
        }
        if line == "✖ failing tests:" {
            self.again = true;
        }
        let (indent, rest) = indented(line);
        let Some((glyph, rest)) = rest.split_once(' ') else { return };
        let mark = match glyph {
            "✔" => Mark::Passed,
            "✖" => Mark::Failed,
            "﹣" => Mark::Skipped,
            "▶" => return self.group(indent, rest),
            _ => return,
        };
        if !self.again {
            self.told(indent, rest, mark);
        }
    }

    fn join(&mut self, stderr: Self) {
        self.marks.absorb(stderr.marks);
        self.stated = sum(self.stated, stderr.stated);
    }

    fn end(mut self) -> Option<Found> {
        if self.stated.is_none() {
            self.marks.say_over();
        }
        let any = self.stated.is_some() || !self.marks.is_empty();
        any.then(|| Found::new(NAME, self.marks, self.stated))
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

    fn told(&mut self, indent: usize, rest: &str, mark: Mark) {
        let Some((name, directive)) = split_took(rest) else { return };
        while self.groups.last().is_some_and(|(held, _)| *held > indent) {
            self.groups.pop();
        }
        if self.groups.last().is_some_and(|(held, open)| *held == indent && open == name) {
            self.groups.pop();
            return;
        }
        let mark = if directive.starts_with('#') { Mark::Skipped } else { mark };
        let mut id = String::new();
        for (held, group) in &self.groups {
            if *held < indent {
                id.push_str(group);
                id.push_str(" > ");
            }
        }
        id.push_str(name);
        self.marks.numbered(&id, mark);
    }

    /// `pass 5`.
    fn stated(&mut self, rest: &str) {
        let Some((word, many)) = rest.rsplit_once(' ') else { return };
        let Some((many, _)) = counted(&format!("{many} .")) else { return };
        let mark = match word {
            "tests" => {
                self.again = false;
                self.groups.clear();
                self.stated = sum(self.stated, Some(Counts::default()));
                return;
            }
            "pass" => Mark::Passed,
            "fail" | "cancelled" => Mark::Failed,
            "skipped" | "todo" => Mark::Skipped,
            _ => return,
        };
        self.stated = self.stated.map(|held| held.plus(Counts::of(mark, many)));
    }
}

/// `totals (4.872865ms) # TODO` as name and directive. The fraction is what nobody else writes.
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
