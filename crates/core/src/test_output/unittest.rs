//! Python's unittest: by default, verbose, and with what failed named.
use std::collections::BTreeSet;

use super::test_list::{Counts, FormatTests, TestList, sum};
use super::{Format, TestStatus};

#[derive(Debug, Default)]
pub(super) struct Unittest {
    tests: TestList,
    stated: Option<Counts>,
    /// `Ran 3 tests in 0.001s` was there: the result follows.
    ran: Option<u32>,
    /// The details of failures: what tests print is there too.
    details: bool,
    /// Sub tests that failed are counted apart from their test: so many more failures than tests that failed.
    more_failures: u32,
    /// The tests whose failures were shown.
    failed: BTreeSet<String>,
}

impl Format for Unittest {
    const NAME: &str = "unittest";

    fn line(&mut self, line: &str) {
        let line = line.trim_end();
        if let Some(count) = ran(line) {
            self.ran = Some(count);
            self.details = false;
        } else if let Some(ran) = self.ran.filter(|_| is_result(line)) {
            self.stated = sum(self.stated, Some(counts(ran, self.more_failures, line)));
            self.ran = None;
            self.more_failures = 0;
        } else if let Some(id) = heading(line) {
            self.details = true;
            if !self.failed.insert(id.clone()) {
                self.more_failures += 1;
            }
            self.tests.worst(&id, TestStatus::Failed);
        } else if !self.details
            && let Some((id, status)) = verbose(line)
        {
            self.tests.worst(&id, status);
        }
    }

    fn merge(&mut self, stderr: Self) {
        self.tests.absorb(stderr.tests);
        self.stated = sum(self.stated, stderr.stated);
    }

    fn end(mut self) -> Option<FormatTests> {
        // Other programs may write a line that looks like a verbose one: without a result it is none of ours.
        let stated = self.stated.or_else(|| {
            self.tests.mark_incomplete();
            self.ran.map(|ran| Counts { passed: ran, ..Counts::default() })
        })?;
        Some(FormatTests::new(Self::NAME, self.tests, Some(stated)))
    }
}

/// `Ran 3 tests in 0.001s`.
fn ran(line: &str) -> Option<u32> {
    let mut words = line.strip_prefix("Ran ")?.split(' ');
    let count = words.next()?.parse().ok()?;
    let is_ours = matches!(words.next()?, "test" | "tests") && words.next()? == "in" && words.next()?.ends_with('s');
    is_ours.then_some(count)
}

/// `OK`, `OK (skipped=1)`, `FAILED (failures=1, errors=2)`, `NO TESTS RAN`.
fn is_result(line: &str) -> bool {
    let word = line.split(" (").next().unwrap_or_default();
    matches!(word, "OK" | "FAILED" | "NO TESTS RAN")
}

fn counts(ran: u32, more_failures: u32, line: &str) -> Counts {
    let inside = line.split_once('(').map_or("", |(_, rest)| rest.trim_end_matches(')'));
    let number = |wanted: &str| {
        let pairs = inside.split(", ").filter_map(|pair| pair.split_once('='));
        pairs.filter(|(name, _)| *name == wanted).filter_map(|(_, count)| count.parse::<u32>().ok()).sum::<u32>()
    };
    let failed = number("failures") + number("errors") + number("unexpected successes");
    let failed = failed.saturating_sub(more_failures);
    let skipped = number("skipped") + number("expected failures");
    Counts { passed: ran.saturating_sub(failed).saturating_sub(skipped), failed, skipped }
}

/// `FAIL: test_add (tests.test_a.T.test_add)`, `ERROR: test_a (unittest.loader._FailedTest.test_a)`.
fn heading(line: &str) -> Option<String> {
    let rest = line.strip_prefix("FAIL: ").or_else(|| line.strip_prefix("ERROR: "))?;
    id_of(rest)
}

/// `test_add (tests.test_a.T.test_add) ... ok`.
fn verbose(line: &str) -> Option<(String, TestStatus)> {
    let (name, result) = line.rsplit_once(" ... ")?;
    let status = match result {
        "ok" => TestStatus::Passed,
        "FAIL" | "ERROR" | "unexpected success" => TestStatus::Failed,
        "expected failure" => TestStatus::Skipped,
        other if other.starts_with("skipped ") => TestStatus::Skipped,
        _ => return None,
    };
    Some((id_of(name)?, status))
}

/// `test_add (tests.test_a.T.test_add)` or, before Python 3.11, `test_add (tests.test_a.T)`.
fn id_of(text: &str) -> Option<String> {
    let (name, place) = text.split_once(" (")?;
    // What follows are the values of a sub test, which is part of its test.
    let (place, _) = place.split_once(')')?;
    let is_name = |word: &str| !word.is_empty() && !word.contains(' ');
    if !is_name(name) || !is_name(place) {
        return None;
    }
    let place = place.strip_suffix(&format!(".{name}")).unwrap_or(place);
    Some(format!("{place}.{name}"))
}

#[cfg(test)]
mod tests {
    use crate::test_output::{OutputStream, TestReader, TestStatus};

    fn read(text: &str) -> crate::test_output::Tests {
        let mut reader = TestReader::default();
        reader.push(OutputStream::Stderr, text.as_bytes());
        reader.end().unwrap()
    }

    #[test]
    fn the_plain_output_names_failures_and_counts_all() {
        let tests = read(
            ".F\n======================================================================\nFAIL: test_add (tests.test_a.T.test_add)\n----------------------------------------------------------------------\nTraceback (most recent call last):\n  File \"a.py\", line 3, in test_add\nAssertionError: 1 != 2\n\n----------------------------------------------------------------------\nRan 2 tests in 0.001s\n\nFAILED (failures=1)\n",
        );
        assert_eq!((tests.format, tests.passed, tests.failed, tests.skipped), ("unittest", 1, 1, 0));
        assert_eq!(tests.statuses.get("tests.test_a.T.test_add"), Some(&TestStatus::Failed));
    }

    #[test]
    fn the_verbose_output_names_all() {
        let tests = read(
            "test_a (t.T.test_a) ... ok\ntest_b (t.T.test_b) ... skipped 'slow'\ntest_c (t.T.test_c) ... expected failure\n\n----------------------------------------------------------------------\nRan 3 tests in 0.001s\n\nOK (skipped=1, expected failures=1)\n",
        );
        assert_eq!((tests.passed, tests.failed, tests.skipped), (1, 0, 2));
        assert!(tests.names_all());
    }

    #[test]
    fn sub_tests_that_fail_are_one_test() {
        let rule = "-".repeat(70);
        let text = format!(
            "test_a (t.T.test_a) ... ok\ntest_sq (t.T.test_sq) ... \n  test_sq (t.T.test_sq) (i=1) ... FAIL\n\
             \nFAIL: test_sq (t.T.test_sq) (i=1)\n{rule}\nAssertionError\n\nFAIL: test_sq (t.T.test_sq) [two] (i=2)\n\
             {rule}\nAssertionError\n\n{rule}\nRan 2 tests in 0.001s\n\nFAILED (failures=2)\n"
        );
        let tests = read(&text);
        assert_eq!((tests.passed, tests.failed), (1, 1));
        assert_eq!(tests.statuses.keys().collect::<Vec<_>>(), ["t.T.test_a", "t.T.test_sq"]);
        assert!(tests.names_all());
    }

    #[test]
    fn a_run_without_tests_counts_none() {
        let tests = read(
            "\n----------------------------------------------------------------------\nRan 0 tests in 0.000s\n\nNO TESTS RAN\n",
        );
        assert_eq!((tests.passed, tests.failed), (0, 0));
    }
}
