//! TAP 12, 13 and 14, with subtests before or after their parent's line.
use super::scan::{indented, is_number};
use super::test_list::{Counts, FormatTests, IDS_MAX, TestList};
use super::{Format, TestStatus};

/// How deep subtests are distinguished.
const DEPTH_MAX: usize = 50;

#[derive(Debug, Default)]
pub(super) struct Tap {
    tests: TestList,
    /// Subtests whose parent's line has not come, by indentation.
    waiting: Vec<(usize, String, TestStatus)>,
    /// Parents whose line came first: `ok 1 - parent {`.
    parents: Vec<(usize, String)>,
    /// The indentation of the point whose block of details is being passed over.
    block: Option<usize>,
    /// The indentation of the last point.
    last: usize,
    /// A version or a plan was there: this is TAP.
    begun: bool,
    planned: Option<u32>,
    points: u32,
    missing: u32,
}

struct Point<'a> {
    name: &'a str,
    status: TestStatus,
    opens: bool,
}

impl Format for Tap {
    const NAME: &str = "tap";

    fn line(&mut self, line: &str) {
        let (indent, rest) = indented(line);
        let point = point(rest);
        if let Some(of) = self.block {
            if rest == "..." || (point.is_some() && indent <= of) {
                self.block = None;
            }
            if rest == "..." || point.is_none() || indent > of {
                return;
            }
        }
        if let Some(point) = point {
            self.last = indent;
            self.told(indent, &point);
        } else if rest == "---" && indent > self.last {
            self.block = Some(self.last);
        } else if rest == "}" {
            self.leave(indent);
        } else if indent == 0 {
            self.top(rest);
        }
    }

    fn merge(&mut self, mut stderr: Self) {
        stderr.settle();
        self.settle();
        if stderr.begun {
            self.tests.absorb(stderr.tests);
            self.missing = self.missing.saturating_add(stderr.missing);
            self.begun = true;
        }
    }

    fn end(mut self) -> Option<FormatTests> {
        self.settle();
        if !self.begun {
            return None;
        }
        let counts = self.tests.counts().plus(Counts::of(TestStatus::Failed, self.missing));
        Some(FormatTests::new(Self::NAME, self.tests, Some(counts)))
    }
}

impl Tap {
    fn top(&mut self, rest: &str) {
        if let Some(version) = rest.strip_prefix("TAP version ").filter(|version| is_number(version.trim())) {
            self.settle();
            self.begun |= version.len() < 4;
        } else if let Some(most) = plan(rest) {
            self.begun = true;
            self.planned = Some(most);
        } else if rest.starts_with("Bail out!") && self.begun {
            self.tests.worst("Bail out!", TestStatus::Failed);
            self.planned = None;
        }
    }

    /// One document has ended: what was planned and did not come has failed.
    fn settle(&mut self) {
        for (_, name, status) in std::mem::take(&mut self.waiting) {
            self.tests.numbered(&name, status);
        }
        if let Some(planned) = self.planned.take() {
            self.missing = self.missing.saturating_add(planned.saturating_sub(self.points));
        }
        self.points = 0;
        self.block = None;
        self.parents.clear();
    }

    fn told(&mut self, indent: usize, point: &Point<'_>) {
        self.leave(indent);
        self.points = self.points.saturating_add(u32::from(indent == 0));
        let mut name: String = self.parents.iter().map(|(_, parent)| format!("{parent} > ")).collect();
        name.push_str(point.name);
        if point.opens {
            if self.parents.len() < DEPTH_MAX {
                self.parents.push((indent, point.name.to_owned()));
            }
            return;
        }
        let begin = self.waiting.iter().rposition(|(held, _, _)| *held <= indent).map_or(0, |at| at + 1);
        let children = self.waiting.split_off(begin);
        let explained = children.iter().any(|(_, _, status)| *status == TestStatus::Failed);
        let is_group = !children.is_empty() && (point.status != TestStatus::Failed || explained);
        for (_, child, status) in children {
            // A parent that is skipped or still to do answers for what is in it.
            let status = if point.status == TestStatus::Skipped { TestStatus::Skipped } else { status };
            self.place(indent, format!("{name} > {child}"), status);
        }
        if !is_group {
            self.place(indent, name, point.status);
        }
    }

    /// At the top a test has its whole name; below, it waits for its parent's.
    fn place(&mut self, indent: usize, name: String, status: TestStatus) {
        if indent == 0 || !self.parents.is_empty() || self.waiting.len() >= IDS_MAX {
            self.tests.numbered(&name, status);
        } else {
            let short = super::test_list::bounded(&name);
            self.waiting.push((indent, short, status));
        }
    }

    fn leave(&mut self, indent: usize) {
        while self.parents.last().is_some_and(|(held, _)| *held >= indent) {
            self.parents.pop();
        }
    }
}

fn plan(rest: &str) -> Option<u32> {
    let most = rest.strip_prefix("1..")?.split([' ', '#']).next()?;
    if is_number(most) { most.parse().ok() } else { None }
}

/// `not ok 2 - totals # TODO later`.
fn point(rest: &str) -> Option<Point<'_>> {
    let (held, rest) = match rest.strip_prefix("not ok") {
        Some(rest) => (false, rest),
        None => (true, rest.strip_prefix("ok")?),
    };
    if !rest.is_empty() && !rest.starts_with(' ') {
        return None;
    }
    let rest = rest.trim_start();
    let (number, rest) = match rest.split_once(' ') {
        Some((number, rest)) if is_number(number) => (number, rest),
        None if is_number(rest) => (rest, ""),
        // Without a number only the dash tells a point from a sentence that begins with ok.
        Some(_) | None if rest.starts_with("- ") => ("", rest),
        Some(_) | None => return None,
    };
    let rest = rest.trim_start().trim_start_matches("- ").trim();
    let (body, opens) = match rest.strip_suffix(" {") {
        Some(body) => (body, true),
        None => (rest, false),
    };
    let (name, directive) = split_directive(body);
    let skipped = ["skip", "todo"]
        .iter()
        .any(|word| directive.get(..word.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(word)));
    let status = match (skipped, held) {
        (true, _) => TestStatus::Skipped,
        (false, true) => TestStatus::Passed,
        (false, false) => TestStatus::Failed,
    };
    Some(Point { name: if name.is_empty() { number } else { name }, status, opens })
}

/// The name and what stands behind the first `#` that is not escaped and follows a blank.
fn split_directive(body: &str) -> (&str, &str) {
    if let Some(directive) = body.strip_prefix('#') {
        return ("", directive.trim());
    }
    match body.split_once(" #") {
        Some((name, directive)) => (name.trim(), directive.trim()),
        None => (body.trim(), ""),
    }
}
