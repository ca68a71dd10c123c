//! The tests of a gate that must be there at the end of a run: those of the first round that could count them, and those
//! that failed when they were first seen.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Format, TestStatus, Tests};

/// How many names are kept; with more, only counts are compared.
const NAMES_MAX: usize = 40_000;
/// The first line of the text.
const HEAD: &str = "known tests 1";
/// What a test file ends in: such a name is a whole file that could not be loaded, and no test.
const FILE_ENDINGS: [&str; 11] = [".py", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".rs", ".go"];
/// What unittest calls a module that it could not load.
const UNITTEST_LOADER: &str = "unittest.loader._FailedTest.";
/// What unittest calls a class or module whose set-up failed.
const UNITTEST_SET_UPS: [&str; 4] = [".setUpClass", ".tearDownClass", ".setUpModule", ".tearDownModule"];
/// What is between a suite and what is in it.
const SEPARATORS: [&str; 5] = [" > ", " › ", "::", " ", "/"];
/// What begins a case of a test: `test_add[2-3]`.
const CASE: &str = "[";

/// Every name that a gate has shown in a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownTests {
    /// Whether the test must be there at the end.
    names: BTreeMap<String, bool>,
    /// A round has named all tests: what comes later is new.
    counted: bool,
    /// There were too many names.
    over: bool,
}

/// Which known tests did not run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MissingTests {
    /// By their exact names.
    pub exact: Vec<String>,
    /// By their names without what is in brackets.
    pub without_brackets: Vec<String>,
}

impl KnownTests {
    /// Takes the names of a round.
    pub fn add(&mut self, tests: &Tests) {
        for (name, status) in &tests.statuses {
            if is_file(name) || self.names.contains_key(name) {
                continue;
            }
            if self.names.len() >= NAMES_MAX {
                self.over = true;
                return;
            }
            let must_stay = match status {
                TestStatus::Failed => true,
                TestStatus::Passed => !self.counted,
                TestStatus::Skipped => false,
            };
            self.names.insert(name.clone(), must_stay);
        }
        let is_whole = tests.names_all() && !tests.statuses.is_empty();
        self.counted |= is_whole && !tests.statuses.keys().any(|name| is_file(name));
    }

    /// Whether a round has named all its tests, and their names are all kept.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.counted && !self.over
    }

    /// Which of those that must stay did not run in this round. Where not all tests are named, nothing is claimed.
    #[must_use]
    pub fn missing(&self, tests: &Tests) -> MissingTests {
        if self.over || !tests.names_all() {
            return MissingTests::default();
        }
        let ran = |name: &str| match tests.statuses.get(name) {
            Some(TestStatus::Passed | TestStatus::Failed) => true,
            Some(TestStatus::Skipped) => false,
            None => has_inside(tests, name) || passes_as_a_whole(tests, name),
        };
        let must_stay = || self.names.iter().filter(|(_, must_stay)| **must_stay).map(|(name, _)| name);
        let exact = must_stay().filter(|name| !ran(name) && !has_cases(tests, name)).cloned().collect();
        let mut bare: BTreeMap<String, (u32, u32)> = BTreeMap::new();
        for name in must_stay() {
            bare.entry(without_brackets(name)).or_default().0 += 1;
        }
        for (name, status) in &tests.statuses {
            if *status != TestStatus::Skipped
                && let Some(count) = bare.get_mut(&without_brackets(name))
            {
                count.1 += 1;
            }
        }
        let fewer = bare.into_iter().filter(|(name, (before, now))| now < before && !ran(name));
        MissingTests { exact, without_brackets: fewer.map(|(name, _)| name).collect() }
    }

    /// The text that [`KnownTests::from_text`] reads.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = format!("{HEAD}{}{}\n", flag(self.counted, " counted"), flag(self.over, " over"));
        for (name, must_stay) in &self.names {
            text.push_str(if *must_stay { "must " } else { "seen " });
            text.push_str(name);
            text.push('\n');
        }
        text
    }

    /// Reads what [`KnownTests::to_text`] wrote.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        let (head, rest) = text.split_once('\n')?;
        let flags = head.strip_prefix(HEAD)?;
        let mut known =
            Self { names: BTreeMap::new(), counted: flags.contains("counted"), over: flags.contains("over") };
        for line in rest.lines() {
            let (word, name) = line.split_once(' ')?;
            known.names.insert(name.to_owned(), word == "must");
        }
        Some(known)
    }
}

fn flag(is_set: bool, word: &'static str) -> &'static str {
    if is_set { word } else { "" }
}

/// Whether this is the name of a file or class that could not be loaded or set up, and of no test.
fn is_file(name: &str) -> bool {
    FILE_ENDINGS.iter().any(|ending| name.ends_with(ending))
        || name.starts_with(UNITTEST_LOADER)
        || UNITTEST_SET_UPS.iter().any(|ending| name.ends_with(ending))
}

/// Whether a test inside of this suite is named.
fn has_inside(tests: &Tests, suite: &str) -> bool {
    SEPARATORS.iter().any(|separator| {
        let begin = format!("{suite}{separator}");
        tests.statuses.range(begin.clone()..).next().is_some_and(|(name, _)| name.starts_with(&begin))
    })
}

/// Whether a test runs with several values now: `test_add` is `test_add[2-3]` and `test_add[1-4]`.
fn has_cases(tests: &Tests, name: &str) -> bool {
    let begin = format!("{name}{CASE}");
    let mut cases = tests.statuses.range(begin.clone()..).take_while(|(case, _)| case.starts_with(&begin));
    cases.any(|(_, status)| *status != TestStatus::Skipped)
}

/// Whether a package or file that holds this test passes, and nothing in it is named: `go test` without `-v` says no more.
fn passes_as_a_whole(tests: &Tests, name: &str) -> bool {
    SEPARATORS.iter().any(|separator| {
        name.match_indices(separator).any(|(at, _)| {
            let suite = &name[..at];
            tests.statuses.get(suite) == Some(&TestStatus::Passed) && !has_inside(tests, suite)
        })
    })
}

/// A name without what is in brackets: `test_a[0x7f]` is `test_a`.
fn without_brackets(name: &str) -> String {
    let mut bare = String::with_capacity(name.len());
    let mut depth = 0_u32;
    for letter in name.chars() {
        match letter {
            '[' => depth += 1,
            ']' if depth > 0 => depth -= 1,
            _ if depth == 0 => bare.push(letter),
            _ => {}
        }
    }
    bare
}

/// Whether two rounds on one tree ran the same tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SameNames {
    /// They did.
    Exactly,
    /// They did, but for what is in brackets.
    WithoutBrackets,
    /// They did not: the gate chooses other tests each time.
    No,
}

impl Tests {
    /// Whether what passes is named only by package or file: how many tests ran is not known.
    #[must_use]
    pub fn is_by_suites(&self) -> bool {
        let passed = || self.statuses.iter().filter(|(_, status)| **status == TestStatus::Passed);
        self.format == super::go::Go::NAME && passed().next().is_some() && passed().all(|(name, _)| !name.contains(' '))
    }

    /// Whether only files are named that could not be loaded, or nothing was counted.
    #[must_use]
    pub fn is_files_only(&self) -> bool {
        self.passed == 0 && self.statuses.keys().all(|name| is_file(name)) && !self.statuses.is_empty()
    }

    /// Whether another round on the same tree ran the same tests: by name, and where not all are named, by their number.
    /// None where one of them stopped early: how far it came is chance.
    #[must_use]
    pub fn same_names(&self, other: &Tests) -> Option<SameNames> {
        let counted = |tests: &Tests| tests.passed.saturating_add(tests.failed);
        if self.uncounted || other.uncounted {
            return None;
        }
        if !self.names_all() || !other.names_all() {
            return Some(if counted(self) == counted(other) { SameNames::Exactly } else { SameNames::No });
        }
        let ran = |tests: &Tests| {
            let ran = tests.statuses.iter().filter(|(_, status)| **status != TestStatus::Skipped);
            ran.map(|(name, _)| name.clone()).collect::<Vec<String>>()
        };
        let (mut one, mut two) = (ran(self), ran(other));
        if one == two {
            return Some(SameNames::Exactly);
        }
        for names in [&mut one, &mut two] {
            names.iter_mut().for_each(|name| *name = without_brackets(name));
            names.sort();
        }
        Some(if one == two { SameNames::WithoutBrackets } else { SameNames::No })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tests(all: &[(&str, TestStatus)]) -> Tests {
        let count = |wanted: TestStatus| all.iter().filter(|(_, status)| *status == wanted).count() as u32;
        Tests {
            format: "pytest",
            statuses: all.iter().map(|(name, status)| ((*name).to_owned(), *status)).collect(),
            passed: count(TestStatus::Passed),
            failed: count(TestStatus::Failed),
            skipped: count(TestStatus::Skipped),
            uncounted: false,
        }
    }

    use TestStatus::{Failed, Passed, Skipped};

    // req: RT-R5
    #[test]
    fn as_many_other_tests_do_not_replace_those_of_the_start() {
        let mut known = KnownTests::default();
        known.add(&tests(&[("a.py::one", Failed), ("a.py::two", Failed)]));
        let missing = known.missing(&tests(&[("b.py::x", Passed), ("b.py::y", Passed)]));
        assert_eq!(missing.exact, ["a.py::one", "a.py::two"]);
    }

    // req: RT-R7
    #[test]
    fn the_first_round_that_can_count_takes_the_place_of_one_that_could_not_load_its_files() {
        let mut known = KnownTests::default();
        known.add(&tests(&[("tests/test_a.py", Failed)]));
        known.add(&tests(&[("tests/test_a.py::add", Failed), ("tests/test_a.py::zero", Passed)]));
        let missing = known.missing(&tests(&[("tests/test_a.py::zero", Passed)]));
        assert_eq!(missing.exact, ["tests/test_a.py::add"]);
    }

    #[test]
    fn a_test_that_the_agent_added_and_that_passed_may_go_again() {
        let mut known = KnownTests::default();
        known.add(&tests(&[("a::one", Passed)]));
        known.add(&tests(&[("a::one", Passed), ("a::new", Passed)]));
        assert_eq!(known.missing(&tests(&[("a::one", Passed)])), MissingTests::default());
    }

    #[test]
    fn a_test_that_failed_when_it_was_first_seen_must_stay() {
        let mut known = KnownTests::default();
        known.add(&tests(&[("a::one", Passed)]));
        known.add(&tests(&[("a::one", Passed), ("a::new", Failed)]));
        assert_eq!(known.missing(&tests(&[("a::one", Passed)])).exact, ["a::new"]);
    }

    #[test]
    fn a_module_that_unittest_could_not_load_and_a_class_that_it_could_not_set_up_are_no_tests() {
        let mut known = KnownTests::default();
        known.add(&tests(&[("unittest.loader._FailedTest.test_slug", Failed), ("test_a.T.setUpClass", Failed)]));
        assert!(!known.is_whole(), "the next round counts");
        let now = tests(&[("test_slug.T.test_one", Passed), ("test_a.T.test_two", Passed)]);
        assert_eq!(known.missing(&now), MissingTests::default());
        known.add(&now);
        assert_eq!(known.missing(&tests(&[("test_slug.T.test_one", Passed)])).exact, ["test_a.T.test_two"]);
    }

    #[test]
    fn a_test_that_is_parametrized_now_is_there_if_one_of_its_cases_runs() {
        let mut known = KnownTests::default();
        known.add(&tests(&[("a.py::add", Failed), ("a.py::add_all", Passed)]));
        let now = tests(&[("a.py::add[2-3]", Passed), ("a.py::add[1-4]", Passed), ("a.py::add_all", Passed)]);
        assert_eq!(known.missing(&now), MissingTests::default());
        let skipped = tests(&[("a.py::add[NOTSET]", Skipped), ("a.py::add_all", Passed)]);
        assert_eq!(known.missing(&skipped).exact, ["a.py::add"]);
    }

    #[test]
    fn a_test_that_is_skipped_now_is_missing() {
        let mut known = KnownTests::default();
        known.add(&tests(&[("a::one", Failed)]));
        assert_eq!(known.missing(&tests(&[("a::one", Skipped)])).exact, ["a::one"]);
    }

    #[test]
    fn names_with_other_brackets_are_missing_only_by_their_exact_names() {
        let mut known = KnownTests::default();
        known.add(&tests(&[("a::one[0x1]", Passed), ("a::one[0x2]", Passed)]));
        let now = tests(&[("a::one[0x3]", Passed), ("a::one[0x4]", Passed)]);
        let missing = known.missing(&now);
        assert_eq!(missing.exact.len(), 2);
        assert!(missing.without_brackets.is_empty());
        let one = tests(&[("a::one[0x3]", Passed)]);
        assert_eq!(known.missing(&one).without_brackets, ["a::one"]);
    }

    #[test]
    fn two_rounds_on_one_tree_show_whether_names_change_by_themselves() {
        let one = tests(&[("a::one[0x1]", Passed)]);
        let other = tests(&[("a::one[0x3]", Passed)]);
        assert_eq!(one.same_names(&one), Some(SameNames::Exactly));
        assert_eq!(one.same_names(&other), Some(SameNames::WithoutBrackets));
        assert_eq!(one.same_names(&tests(&[("a::two", Passed)])), Some(SameNames::No));
    }

    #[test]
    fn two_rounds_without_names_are_compared_by_the_number_of_their_tests() {
        let round = |passed| Tests { passed, ..tests(&[]) };
        assert_eq!(round(5).same_names(&round(5)), Some(SameNames::Exactly));
        assert_eq!(round(5).same_names(&round(4)), Some(SameNames::No));
        let early = Tests { uncounted: true, ..round(4) };
        assert_eq!(round(5).same_names(&early), None, "one that stopped early says nothing");
    }

    #[test]
    fn a_test_that_one_of_two_rounds_left_out_is_a_difference() {
        let all = tests(&[("a::one", Passed), ("a::two", Passed)]);
        assert_eq!(all.same_names(&tests(&[("a::one", Passed), ("a::two", Skipped)])), Some(SameNames::No));
    }

    #[test]
    fn a_package_that_passes_as_a_whole_has_lost_no_test() {
        let mut known = KnownTests::default();
        known.add(&Tests {
            format: "go-test",
            ..tests(&[("example.org/a TestAdd", Failed), ("example.org/a", Failed)])
        });
        let now = Tests { format: "go-test", ..tests(&[("example.org/a", Passed)]) };
        assert!(known.missing(&now).exact.is_empty());
        assert!(now.is_by_suites());
    }

    #[test]
    fn the_text_of_known_tests_reads_back() {
        let mut known = KnownTests::default();
        known.add(&tests(&[("a::one", Passed), ("a::two words", Failed), ("a::off", Skipped)]));
        assert_eq!(KnownTests::from_text(&known.to_text()), Some(known));
    }
}
