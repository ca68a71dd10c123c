//! Which files a gate's own line runs to judge, and which programs it names.
use loop_core::policy::protect::{judging_scripts_at, programs_in};

fn judging(line: &str) -> Vec<String> {
    judging_scripts_at(line, "")
}

/// The line in so many lines of `sh -c`.
fn nested(levels: usize, line: &str) -> String {
    (0..levels).fold(line.to_owned(), |line, _| format!("sh -c '{}'", line.replace('\'', r"'\''")))
}

#[test]
fn a_script_is_found_behind_whatever_starts_it() {
    for (line, script) in [
        ("$PYTHON tools/check.py", "tools/check.py"),
        ("find t -type f -exec ./check.sh {} \\;", "check.sh"),
        ("retry -t 3 node checks/all.js", "checks/all.js"),
        ("retry -t 3 /usr/bin/node checks/all.js", "checks/all.js"),
        ("su - ci -c './check.sh'", "check.sh"),
        ("sudo su - ci -c 'sh check.sh'", "check.sh"),
        ("env - PATH=/bin sh check.sh", "check.sh"),
        ("script -q -c './check.sh' log.txt", "check.sh"),
        ("busybox sh check.sh", "check.sh"),
    ] {
        assert_eq!(judging(line), [script], "{line}");
    }
}

#[test]
fn a_path_that_leads_back_into_the_workspace_is_one_of_it() {
    for line in ["sh /w/me/sub/../check.sh", "sh /w/me//check.sh", "sh /w/./me/check.sh", "sh /w/you/../me/check.sh"] {
        assert_eq!(judging_scripts_at(line, "/w/me"), ["check.sh"], "{line}");
    }
    assert!(judging_scripts_at("sh /w/me/../check.sh", "/w/me").is_empty());
    assert_eq!(judging_scripts_at("sh a/../x/check.sh", "/x"), ["x/check.sh"]);
}

#[test]
fn a_script_that_is_also_run_for_its_exit_code_judges() {
    assert_eq!(judging("sh make.sh | diff - wanted.txt && sh make.sh"), ["make.sh"]);
    assert_eq!(judging("sh make.sh && sh make.sh | diff - wanted.txt"), ["make.sh"]);
    assert!(judging("sh make.sh | diff - wanted.txt && sh make.sh | diff - more.txt").is_empty());
}

#[test]
fn a_script_is_the_work_only_where_what_it_printed_is_compared() {
    assert_eq!(judging("sh all.sh > log; git diff --exit-code src"), ["all.sh"]);
    assert_eq!(judging("sh all.sh > log; cat log"), ["all.sh"]);
    assert!(judging("sh all.sh > log; git diff --exit-code log").is_empty());
}

#[test]
fn a_word_that_a_program_only_gets_is_no_script_for_sure() {
    for line in ["cloc . check.sh", "retry -t 3 ./check.sh", "cp check.sh backup/"] {
        assert!(judging(line).is_empty(), "{line}");
    }
}

#[test]
fn a_line_in_a_line_is_followed_four_deep_whatever_each_of_them_is() {
    for (levels, line) in [
        (4, "./check.sh"),
        (3, "flock l -c ./check.sh"),
        (3, "eval ./check.sh"),
        (2, "find . -exec sh -c ./check.sh ;"),
        (2, "retry sh -c ./check.sh"),
        (2, "python3 -m bash -c ./check.sh"),
        (3, "retry sh check.sh"),
    ] {
        assert_eq!(judging(&nested(levels, line)), ["check.sh"], "{levels} {line}");
        assert!(judging(&nested(levels + 1, line)).is_empty(), "{levels} {line}");
    }
}

#[test]
fn a_line_that_starts_itself_without_end_is_read_in_bounded_depth() {
    for part in ["python3 -m ", "sh ", "find . -exec ", "retry sh ", "busybox sh -c "] {
        assert!(judging(&part.repeat(100_000)).len() <= 1, "{part}");
    }
}

#[test]
fn the_functions_of_a_line_are_no_programs_and_at_most_a_hundred_programs_are_named() {
    assert_eq!(programs_in("cd sub; check_all() { pytest -q; }; check_all", ""), ["pytest"]);
    assert_eq!(programs_in("a=1;run2() { jest; } ; run2", ""), ["jest"]);
    let many: String = (0..150).map(|number| format!("tool{number};")).collect();
    assert_eq!(programs_in(&many, "").len(), 100);
}
