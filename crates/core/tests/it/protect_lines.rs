//! Lines of a change that a person should look at.
use std::collections::BTreeSet;

use loop_core::policy::protect::{SuspectReason, lost_test, suspect_reason};

use SuspectReason::*;

#[test]
fn each_reason_has_its_own_words() {
    let all = [
        AsksWhoRunsIt,
        EndsTheProcess,
        ReplacesOthers,
        EqualToAll,
        ReadsTheTests,
        UsesOutside,
        DependsOnDate,
        SilencesLint,
        SetsVariable,
        LosesTest,
        ChangesTestValue,
        RunsComposed,
        TooLong,
    ];
    let words: BTreeSet<&str> = all.iter().map(|reason| reason.words()).collect();
    assert_eq!(words.len(), all.len());
}

#[test]
fn what_replaces_a_part_of_the_runner_is_told_from_what_uses_it() {
    for line in ["global.fetch = stub;", "  it.only = fake", "vi._x.$y = 1", "describe.skip =fake"] {
        assert_eq!(suspect_reason("a.ts", line, ""), Some(ReplacesOthers), "{line}");
    }
    assert_eq!(suspect_reason("greet.sh", "function test { return 0; }", ""), Some(ReplacesOthers));
    for (path, line) in [
        ("a.test.js", "test.each(cases)('a=b', () => {})"),
        ("a.js", "if (x) it.done == 5"),
        ("a.js", "it.done == 5"),
        ("a.js", "it.done => 5"),
        ("greet.sh", "function greet { echo test; }"),
    ] {
        assert_eq!(suspect_reason(path, line, ""), None, "{line}");
    }
}

#[test]
fn a_part_of_what_is_suspect_is_not() {
    for (path, line, next) in [
        ("greet.sh", "kill $server", ""),
        ("a.py", "    def __eq__(self, other):", "        return self.a == other.a"),
        ("a.py", "        return True", ""),
        ("a.js", "const env = process.env, port = 3000;", ""),
        ("a.py", "    macros._exiting = 1", ""),
        ("a.js", "presetenv(1)", ""),
        ("a.c", "presetenv(1);", ""),
        ("a.c", "re_setenv(1);", ""),
    ] {
        assert_eq!(suspect_reason(path, line, next), None, "{line}");
    }
    assert_eq!(suspect_reason("a.c", "setenv(\"A\", \"1\", 1);", ""), Some(SetsVariable));
    assert_eq!(suspect_reason("a.js", "const env = process.env; env.A = 1; process.env.A = 1", ""), Some(SetsVariable));
}

#[test]
fn an_example_in_a_text_about_a_source_is_a_test() {
    assert_eq!(lost_test("calc.py", "    >>> add(2, 3)"), Some(LosesTest));
    assert_eq!([lost_test("calc.py", "    5"), lost_test("calc.sh", ">>> add")], [None, None]);
}
