//! What recorded outputs of the common test programs say, by name and by count.
use std::path::PathBuf;

use expect_test::expect_file;
use loop_core::test_output::{self, OutputStream, TestReader, TestStatus, Tests};

fn folder() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "test_output"].iter().collect()
}

/// Both voices of a recording.
pub(crate) fn recorded(name: &str) -> (Vec<u8>, Vec<u8>) {
    let read = |ending: &str| crate::bytes_of(folder().join(format!("{name}.{ending}")));
    let (stdout, stderr) = (read("out"), read("err"));
    assert!(stdout.len() + stderr.len() > 0, "no recording {name}");
    (stdout, stderr)
}

pub(crate) const RECORDED: [&str; 34] = [
    "cargo",
    "cargo-color",
    "cargo-error",
    "cargo-ignored",
    "cargo-q",
    "go",
    "go-json",
    "go-ok",
    "go-v",
    "jest",
    "jest-ok",
    "jest-v",
    "nextest",
    "nextest-color",
    "nextest-ok",
    "nextest-verbose",
    "node-junit",
    "node-spec",
    "node-tap",
    "pytest",
    "pytest-collect",
    "pytest-n",
    "pytest-ok-v",
    "pytest-q",
    "pytest-q-ok",
    "pytest-qq",
    "pytest-ra",
    "pytest-v",
    "pytest-xml",
    "vitest",
    "vitest-color",
    "vitest-ok",
    "vitest-tap",
    "vitest-v",
];

fn of(name: &str) -> Tests {
    let (stdout, stderr) = recorded(name);
    test_output::read(&stdout, &stderr).unwrap()
}
// req: C-05 partly: what a gate's output says about tests, by name and count, for every common format
#[test]
fn every_recording_says_what_was_seen_to_be_in_it() {
    for name in RECORDED {
        let (stdout, stderr) = recorded(name);
        let said = test_output::read(&stdout, &stderr).map_or_else(String::new, |tests| tests.to_text());
        expect_file![folder().join(format!("{name}.tests"))].assert_eq(&said);
    }
}

#[test]
fn two_ways_to_write_the_same_run_count_the_same() {
    let counts = |name: &str| {
        let tests = of(name);
        (tests.passed, tests.failed, tests.skipped)
    };
    for same in [
        &["cargo", "cargo-q"][..],
        &["go-v", "go-json"],
        &["jest", "jest-v", "vitest", "vitest-v", "vitest-color", "vitest-tap"],
        &["pytest", "pytest-v", "pytest-q", "pytest-qq", "pytest-n", "pytest-ra", "pytest-xml"],
        &["node-spec", "node-tap", "node-junit"],
        &["nextest", "nextest-verbose"],
    ] {
        for name in same {
            assert_eq!(counts(name), counts(same[0]), "{name}");
        }
    }
    assert_eq!(counts("pytest"), (6, 3, 2));
    assert_eq!(of("go-v").statuses, of("go-json").statuses);
    assert_eq!(of("vitest").statuses, of("vitest-color").statuses);
}

#[test]
fn only_what_could_not_be_built_or_loaded_says_so() {
    let did_not_build = |name: &&str| {
        let (stdout, stderr) = recorded(name);
        let mut reader = TestReader::default();
        reader.push(OutputStream::Stdout, &stdout);
        reader.push(OutputStream::Stderr, &stderr);
        reader.finish().did_not_build
    };
    let found: Vec<&str> = RECORDED.into_iter().filter(did_not_build).collect();
    // Of go, jest and vitest one package or file among others does not load; nothing at all runs in the other two.
    let some = ["go", "go-json", "go-v", "jest", "jest-v", "vitest", "vitest-color", "vitest-v"];
    let (in_part, whole): (Vec<&str>, Vec<&str>) = found.into_iter().partition(|name| some.contains(name));
    assert_eq!(in_part, some);
    assert_eq!(whole, ["cargo-error", "pytest-collect"]);
}

#[test]
fn a_test_that_passed_on_a_later_try_is_no_failure() {
    let nextest = "    Starting 1 test across 1 binary\n   TRY 1 FAIL [   0.01s] (1/1) shop tests::adds\n   \
                   TRY 2 PASS [   0.01s] (1/1) shop tests::adds\n\
                   ------------\n     Summary [   0.02s] 1 test run: 1 passed (1 flaky), 0 skipped\n   \
                   FLAKY 2/2 [   0.01s] (1/1) shop tests::adds\n";
    let pytest = "tests/test_a.py::test_add RERUN\ntests/test_a.py::test_add PASSED\n\
                  ============ 1 passed, 1 rerun in 0.02s ============\n";
    for (stdout, stderr) in [("", nextest), (pytest, "")] {
        let tests = test_output::read(stdout.as_bytes(), stderr.as_bytes()).unwrap();
        assert_eq!((tests.passed, tests.failed), (1, 0), "{tests:?}");
    }
}

#[test]
fn a_test_that_is_expected_to_fail_or_to_do_is_no_failure() {
    let tap = "TAP version 13\n1..2\nok 1 - adds\nnot ok 2 - subtracts # TODO later\n";
    let pytest = "tests/test_a.py::test_add PASSED\ntests/test_a.py::test_sub XFAIL (later)\n\
                  ============ 1 passed, 1 xfailed in 0.02s ============\n";
    for stdout in [tap, pytest] {
        let tests = test_output::read(stdout.as_bytes(), b"").unwrap();
        assert_eq!((tests.passed, tests.failed, tests.skipped), (1, 0, 1), "{tests:?}");
    }
}

/// Numbers from a seed.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(most.max(1)).unwrap()).unwrap()
    }
}

/// Reads both voices in pieces of random length, in a random order.
fn in_pieces(dice: &mut Dice, stdout: &[u8], stderr: &[u8]) -> Option<Tests> {
    let mut reader = TestReader::default();
    let mut rest = [stdout, stderr];
    while rest.iter().any(|voice| !voice.is_empty()) {
        let which = dice.below(2);
        let wide = if dice.below(4) == 0 { 3 } else { 300 };
        let most = 1 + dice.below(wide);
        let (piece, after) = rest[which].split_at(most.min(rest[which].len()));
        reader.push([OutputStream::Stdout, OutputStream::Stderr][which], piece);
        rest[which] = after;
    }
    reader.end()
}

#[test]
fn it_does_not_matter_where_the_bytes_are_cut_or_which_voice_comes_first() {
    let mut dice = Dice(0x5eed);
    for name in RECORDED {
        let (stdout, stderr) = recorded(name);
        let whole = test_output::read(&stdout, &stderr);
        for _ in 0..4 {
            assert_eq!(in_pieces(&mut dice, &stdout, &stderr), whole, "{name}");
        }
    }
}

#[test]
fn an_output_that_breaks_off_gives_no_test_that_was_not_there() {
    let mut dice = Dice(0xc07);
    for name in RECORDED {
        let (stdout, stderr) = recorded(name);
        let Some(whole) = test_output::read(&stdout, &stderr) else { continue };
        for _ in 0..6 {
            let to = |dice: &mut Dice, bytes: &[u8]| dice.below(bytes.len() + 1);
            let (out, err) = (to(&mut dice, &stdout), to(&mut dice, &stderr));
            let Some(cut) = test_output::read(&stdout[..out], &stderr[..err]) else { continue };
            let most = whole.passed + whole.failed + whole.skipped + 1;
            assert!(cut.passed + cut.failed + cut.skipped <= most, "{name} cut at {out} and {err}: {cut:?}");
        }
    }
}

#[test]
fn binaries_of_a_workspace_are_told_apart_by_their_package() {
    let stderr = "     Running unittests src/lib.rs (target/debug/deps/one-0123456789abcdef)\n     \
                  Running unittests src/main.rs (target/debug/deps/one-1123456789abcdef)\n     \
                  Running tests/it/main.rs (target/debug/deps/it-2123456789abcdef)\n     \
                  Running unittests src/lib.rs (target/debug/deps/two-3123456789abcdef)\n     \
                  Running tests/it/main.rs (target/debug/deps/it-4123456789abcdef)\n";
    let suite = "\nrunning 1 test\ntest same ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\n";
    let tests = test_output::read(suite.repeat(5).as_bytes(), stderr.as_bytes()).unwrap();
    let ids: Vec<&str> = tests.statuses.keys().map(String::as_str).collect();
    assert_eq!(ids, ["one same", "one::bin/one same", "one::it same", "two same", "two::it same"]);
    let merged: String = stderr.lines().map(|line| format!("{line}\n{suite}")).collect();
    assert_eq!(test_output::read(merged.as_bytes(), b"").unwrap().statuses, tests.statuses);
    // Without the names nothing is lost either.
    assert_eq!(test_output::read(suite.repeat(5).as_bytes(), b"").unwrap().statuses.len(), 5);
}

#[test]
fn what_a_failing_test_prints_is_not_taken_for_tests() {
    let stdout = "\nrunning 2 tests\ntest a ... ok\ntest b ... FAILED\n\nfailures:\n\n---- b stdout ----\n\nrunning 9 tests\n\
                  test liar ... ok\ntest result: ok. 9 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
                  1..2\nok 1 - x\nok 2 - y\n3 passed in 0.01s\n\n\nfailures:\n    b\n\n\
                  test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";
    let tests = test_output::read(stdout.as_bytes(), b"").unwrap();
    assert_eq!((tests.format, tests.passed, tests.failed, tests.skipped), ("cargo-test", 1, 1, 0));
    assert_eq!(tests.statuses.keys().collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn outputs_of_several_programs_are_one_answer() {
    let (mut stdout, mut stderr) = recorded("cargo");
    for name in ["jest-v", "pytest-v", "node-tap"] {
        let (out, err) = recorded(name);
        stdout.extend(out);
        stderr.extend(err);
    }
    let tests = test_output::read(&stdout, &stderr).unwrap();
    assert_eq!((tests.format, tests.passed, tests.failed, tests.skipped), ("several", 21, 9, 7));
    for id in ["shop tests::adds", "jest/ok.test.js › passes", "test_other.py::test_ok", "cart > inner > adds"] {
        assert_eq!(tests.statuses.get(id), Some(&TestStatus::Passed), "{id}");
    }
}

#[test]
fn a_report_beside_the_words_of_the_same_run_counts_once() {
    let (mut stdout, _) = recorded("pytest-v");
    stdout.extend(recorded("pytest-xml").0);
    let tests = test_output::read(&stdout, b"").unwrap();
    assert_eq!((tests.format, tests.passed, tests.failed, tests.skipped), ("pytest", 6, 3, 2));
}

#[test]
fn tap_with_subtests_skips_todos_and_a_plan_that_was_not_kept() {
    let tap = "1..5\nok 1 first\nnot ok 2 - second # TODO later\nok 3 - third # skip no net\n    ok 1 - inner\n    not ok 2 - other\n    1..2\nnot ok 4 - group\n";
    let tests = test_output::read(tap.as_bytes(), b"").unwrap();
    let told: Vec<(&str, TestStatus)> = tests.statuses.iter().map(|(id, mark)| (id.as_str(), *mark)).collect();
    let expected = [
        ("first", TestStatus::Passed),
        ("group > inner", TestStatus::Passed),
        ("group > other", TestStatus::Failed),
        ("second", TestStatus::Skipped),
        ("third", TestStatus::Skipped),
    ];
    assert_eq!(told, expected);
    // The fifth was planned and never came.
    assert_eq!((tests.passed, tests.failed, tests.skipped), (2, 2, 2));
}

#[test]
fn a_text_that_only_talks_about_tests_counts_nothing() {
    for text in [
        "I ran the tests: 12 passed, 1 failed. All good now.",
        "test foo ... ok\ntest bar ... FAILED\n",
        "ok 1 - this is not TAP without a plan\n",
        "✓ done\n✔ built in 3s\n× failed to fetch\n",
        "PASS all\nFAIL nothing\n",
        "error[E0308]: mismatched types\n  --> src/lib.rs:22:23\n   |\nwarning: 3 warnings emitted\n",
        "  3:5  error  'x' is not defined  no-undef\n\n✖ 2 problems (2 errors, 0 warnings)\n",
        "Vec<testcase name=\"x\"/> is generic over <T>\n<testcase name='a'/>",
        "Found 3 errors in 2 files (checked 5 source files)\nSuccess: no issues found in 3 source files",
        "running 5 test\nrunners\n",
        "2 passed in review\n",
        "{\"Action\":\"merge\",\"Package\":\"x\"}\n",
    ] {
        let tests = test_output::read(text.as_bytes(), b"");
        let counted = tests.as_ref().map_or(0, |tests| tests.passed + tests.failed + tests.skipped);
        assert_eq!(counted, 0, "{text:?}: {tests:?}");
        let aside = test_output::read(b"", text.as_bytes());
        assert_eq!(aside, tests, "{text:?}");
    }
}

#[test]
fn more_tests_than_are_kept_are_counted_and_said() {
    let mut out = String::from("TAP version 13\n1..20010\n");
    for number in 1..=20_010 {
        out.push_str(&format!("ok {number} - test {number} {}\n", "x".repeat(number % 400)));
    }
    let tests = test_output::read(out.as_bytes(), b"").unwrap();
    assert_eq!((tests.statuses.len(), tests.passed, tests.uncounted), (test_output::IDS_MAX, 20_010, true));
    assert!(tests.statuses.keys().all(|id| id.len() <= test_output::ID_BYTES_MAX));
}

#[test]
fn no_bytes_make_it_panic_and_every_answer_can_be_kept() {
    let all: Vec<(Vec<u8>, Vec<u8>)> = RECORDED.iter().map(|name| recorded(name)).collect();
    let mut dice = Dice(0xfeed);
    for _ in 0..1500 {
        let (mut stdout, stderr) = all[dice.below(all.len())].clone();
        for _ in 0..=dice.below(6) {
            let at = dice.below(stdout.len() + 1);
            let other = &all[dice.below(all.len())];
            let other = if dice.below(2) == 0 { &other.0 } else { &other.1 };
            match dice.below(5) {
                0 => stdout.truncate(at),
                1 if at < stdout.len() => stdout[at] ^= 1 << dice.below(8),
                2 => drop(stdout.splice(at..at, other[dice.below(other.len() + 1)..].iter().copied().take(400))),
                3 => drop(stdout.splice(at..at, [0xff, b'\r', 0x1b, b'[', b'<', b'(', b'\n'])),
                _ => drop(stdout.drain(at..(at + dice.below(60)).min(stdout.len()))),
            }
        }
        if let Some(tests) = in_pieces(&mut dice, &stdout, &stderr) {
            assert_eq!(Tests::from_text(&tests.to_text()), Some(tests.clone()));
            assert!(tests.statuses.keys().all(|id| id.len() <= test_output::ID_BYTES_MAX));
            assert!(tests.against(&tests).newly_failing.is_empty());
        }
        let most = dice.below(5000);
        assert!(test_output::excerpt(&stdout, &stderr, most).len() <= most);
    }
}

#[test]
fn words_between_the_lines_of_a_report_mean_the_same_however_the_bytes_are_cut() {
    for name in RECORDED {
        let (stdout, stderr) = recorded(name);
        let with_words = |bytes: &[u8]| -> Vec<u8> {
            let lines = bytes.split_inclusive(|byte| *byte == b'\n');
            lines.flat_map(|line| [line, b"x\n", b"\n", b"ok\n", b"12\n"].concat()).collect()
        };
        let (stdout, stderr) = (with_words(&stdout), with_words(&stderr));
        // A line that comes in pieces is read by every format; one that comes whole may be skipped.
        let mut pieces = TestReader::default();
        stdout.chunks(1).for_each(|byte| pieces.push(OutputStream::Stdout, byte));
        stderr.chunks(1).for_each(|byte| pieces.push(OutputStream::Stderr, byte));
        assert_eq!(test_output::read(&stdout, &stderr), pieces.end(), "{name}");
    }
}
