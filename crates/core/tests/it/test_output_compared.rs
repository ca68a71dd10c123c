//! What became of each test since another run, and tests as a kept text.
use std::collections::BTreeMap;

use loop_core::test_output::{Compared, TestStatus, Tests};

fn tests(statuses: &[(&str, char)]) -> Tests {
    let mark = |letter: char| match letter {
        'p' => TestStatus::Passed,
        'f' => TestStatus::Failed,
        _ => TestStatus::Skipped,
    };
    let statuses: BTreeMap<String, TestStatus> =
        statuses.iter().map(|(id, letter)| ((*id).to_owned(), mark(*letter))).collect();
    let many = |wanted: TestStatus| u32::try_from(statuses.values().filter(|mark| **mark == wanted).count()).unwrap();
    let (passed, failed, skipped) = (many(TestStatus::Passed), many(TestStatus::Failed), many(TestStatus::Skipped));
    Tests { format: "pytest", statuses, passed, failed, skipped, uncounted: false }
}

fn list(ids: &[&str]) -> Vec<String> {
    ids.iter().map(|id| (*id).to_owned()).collect()
}

#[test]
fn each_test_stands_in_the_list_of_what_became_of_it() {
    let before =
        tests(&[("a", 'p'), ("b", 'f'), ("c", 'f'), ("d", 'p'), ("e", 'p'), ("f", 's'), ("old", 'p'), ("g", 'p')]);
    let now = tests(&[
        ("a", 'f'),
        ("b", 'p'),
        ("c", 'f'),
        ("d", 'p'),
        ("e", 's'),
        ("f", 'p'),
        ("new", 'p'),
        ("bad", 'f'),
        ("g", 'p'),
    ]);
    let expected = Compared {
        newly_passing: list(&["b", "f", "new"]),
        newly_failing: list(&["a"]),
        new_failing: list(&["bad"]),
        still_failing: list(&["c"]),
        gone: list(&["old"]),
        newly_skipped: list(&["e"]),
    };
    assert_eq!(now.against(&before), expected);
    assert_eq!(now.against(&now), Compared { still_failing: list(&["a", "bad", "c"]), ..Compared::default() });
}

#[test]
fn a_test_whose_file_no_longer_loads_has_begun_to_fail() {
    for (suite, test) in [
        ("test_a.py", "test_a.py::test_x"),
        ("example.com/a", "example.com/a TestX"),
        ("a.test.js", "a.test.js › group › x"),
        ("a.test.js", "a.test.js > x"),
    ] {
        let compared = tests(&[(suite, 'f')]).against(&tests(&[(test, 'p')]));
        assert_eq!((compared.newly_failing, compared.gone), (list(&[test]), list(&[])), "{suite}");
        assert_eq!(compared.new_failing, list(&[suite]));
    }
    // Where the file was loaded, a test that is not there was taken away.
    let now = Tests { failed: 1, ..tests(&[("a.test.js", 'f'), ("a.test.js > y", 'f')]) };
    let compared = now.against(&tests(&[("a.test.js > x", 'p'), ("a.test.js > y", 'p')]));
    assert_eq!((compared.newly_failing, compared.gone), (list(&["a.test.js > y"]), list(&["a.test.js > x"])));
}

#[test]
fn where_names_are_missing_nothing_is_claimed_by_name() {
    let before = tests(&[("a", 'p'), ("b", 'p')]);
    // Two more passed without a name: `a` may be one of them.
    let now = Tests { passed: 3, ..tests(&[("b", 'p')]) };
    assert_eq!(now.against(&before), Compared::default());
    assert_eq!(before.against(&now), Compared::default());
    // A run that stopped early.
    let now = Tests { uncounted: true, ..tests(&[("b", 'f')]) };
    let compared = now.against(&before);
    assert_eq!((compared.newly_failing, compared.gone), (list(&["b"]), list(&[])));
    assert!(before.names_all() && !now.names_all());
}

#[test]
fn a_run_that_stops_at_the_first_failing_binary_takes_no_tests_away() {
    let suite = |name: &str, end: &str, many: &str| {
        format!(
            "\nrunning 1 test\ntest {name} ... {end}\n\ntest result: x. {many}; 0 ignored; 0 measured; 0 filtered out\n"
        )
    };
    let ok = |name: &str| suite(name, "ok", "1 passed; 0 failed");
    let before = loop_core::test_output::read(format!("{}{}", ok("a"), ok("b")).as_bytes(), b"").unwrap();
    let failed = suite("a", "FAILED", "0 passed; 1 failed");
    let now = loop_core::test_output::read(failed.as_bytes(), b"error: test failed, to rerun pass `--lib`\n").unwrap();
    let compared = now.against(&before);
    assert_eq!((compared.newly_failing, compared.gone), (list(&["a"]), list(&[])));
    // Told to go on, it would have named the other.
    let now = loop_core::test_output::read(failed.as_bytes(), b"error: 1 target failed:\n    `--lib`\n").unwrap();
    assert_eq!(now.against(&before).gone, list(&["b"]));
}

#[test]
fn tests_kept_as_text_come_back_exactly() {
    let odd = tests(&[("a b\tc\\n\n\rd", 'p'), ("", 'f'), (" leading and trailing ", 's'), ("ü › \u{202e}x", 'f')]);
    assert_eq!(Tests::from_text(&odd.to_text()), Some(odd.clone()));
    let none = Tests { uncounted: true, passed: u32::MAX, ..tests(&[]) };
    assert_eq!(Tests::from_text(&none.to_text()), Some(none));
    let text = odd.to_text();
    for torn in [
        "",
        "tests-1",
        "tests-1 pytest 1 1 1\n",
        "tests-2 pytest 1 1 1 all\n",
        "tests-1 magic 1 1 1 all\n",
        text.trim_end(),
    ] {
        assert_eq!(Tests::from_text(torn), None, "{torn:?}");
    }
}
