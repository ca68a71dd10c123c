//! Tests that must be there at the end, and a gate that says something else about the same files: the built program does
//! not believe such a pass.
use loop_testkit::TestEnv;

use crate::{start, user};

/// A gate that runs the tests of a list: a name, and the exit code of the test.
fn with_list(user: &TestEnv, list: &str) {
    let check = "test -e list || { echo 'error: could not compile `list`' >&2; exit 2; }\n\
                 n=0; bad=0\n\
                 while read name code; do\n\
                 n=$((n+1))\n\
                 if [ \"$code\" = 0 ]; then echo \"ok $n - $name\"; else echo \"not ok $n - $name\"; bad=1; fi\n\
                 done < list\n\
                 echo 1..$n; exit $bad\n";
    user.write("work/check.sh", check);
    if !list.is_empty() {
        user.write("work/list", list);
    }
}

// req: RT-R5
#[test]
fn as_many_tests_with_other_names_are_not_done() {
    let user = user();
    with_list(&user, "one 1\ntwo 1\n");
    let ran = user.run(&start("printf 'x 0\\ny 0\\n' > list", "sh check.sh", &["-n", "1"])).expect_code(1);
    assert!(ran.out().contains("passed, but not verified"), "{}", ran.text());
    assert!(ran.out().contains("tests are gone, renamed or skipped: one, two"), "{}", ran.text());
}

// req: RT-R7
#[test]
fn tests_of_the_first_round_that_could_count_them_must_stay() {
    let user = user();
    with_list(&user, "");
    let agent = "if test -e list; then echo 'zero 0' > list; else printf 'add 1\\nneg 1\\nzero 0\\n' > list; fi";
    let ran = user.run(&start(agent, "sh check.sh", &["-n", "2"])).expect_code(1);
    assert!(ran.err().contains("it did not build, so its tests are not counted yet"), "{}", ran.text());
    assert!(ran.out().contains("tests are gone, renamed or skipped: add, neg"), "{}", ran.text());
}

// req: RT-R8
#[test]
fn a_pass_that_comes_from_ignored_files_alone_is_not_done() {
    let user = user();
    user.write("work/.gitignore", "node_modules/\n");
    user.write("work/a", "a\n");
    let promise = "PATH=\"$PWD/node_modules/.bin:$PATH\"; grep -q zzz a";
    let agent = "mkdir -p node_modules/.bin; printf '#!/bin/sh\\nexit 0\\n' > node_modules/.bin/grep; \
                 chmod +x node_modules/.bin/grep";
    let ran = user.run(&start(agent, promise, &["-n", "1"])).expect_code(1);
    assert!(ran.out().contains("not in a clean copy of the same files"), "{}", ran.text());
    assert!(
        ran.out().contains("ignored files that are not in the copy"),
        "what the copy lacks is told: {}",
        ran.text()
    );
}

/// Starts a loop with this task.
fn with_task<'a>(task: &'a str, agent: &'a str) -> Vec<&'a str> {
    vec!["start", task, "--promise", "sh check.sh", "--agent-cmd", agent, "-n", "1"]
}

#[test]
fn tests_that_the_task_asks_to_remove_or_rename_are_named_and_do_not_speak_against_the_pass() {
    let list = "test_new 1\ntest_old 0\ntest_more 0\n";
    for (task, agent, lost) in [
        ("drop the old API and remove test_old", "printf 'test_new 0\\ntest_more 0\\n' > list", "test_old"),
        ("rename test_more to test_most", "sed -i 's/1/0/; s/more/most/' list", "test_more"),
    ] {
        let user = user();
        with_list(&user, list);
        user.run(&with_task(task, agent)).expect_code(0);
        let status = user.run(&["status", &user.id(), "--json"]).json();
        let named = &status["loops"][0]["certificate"]["named"];
        let text = format!("promise: tests that the task asks to remove or rename do not run any more: {lost}");
        let is_there = named.as_array().unwrap().iter().any(|one| one["text"] == text.as_str());
        assert!(is_there && status["loops"][0]["outcome"] == "verified", "{task}: {status}");
        assert_eq!(status["loops"][0]["certificate"]["weaker"], serde_json::json!([]), "{task}: {status}");
    }
}

#[test]
fn a_task_that_asks_for_other_tests_to_go_does_not_cover_the_lost_ones() {
    for task in ["remove the tests of the old API", "remove test_more", "do not remove test_old", "fix test_old"] {
        let user = user();
        with_list(&user, "test_new 1\ntest_old 0\ntest_more 0\n");
        let ran = user.run(&with_task(task, "printf 'test_new 0\\ntest_more 0\\n' > list")).expect_code(1);
        assert!(ran.out().contains("tests are gone, renamed or skipped: test_old"), "{task}: {}", ran.text());
    }
}

#[test]
fn an_honest_fix_keeps_its_tests_and_is_verified() {
    let user = user();
    with_list(&user, "one 1\ntwo 0\n");
    let agent = "printf 'one 0\\ntwo 0\\nthree 0\\n' > list";
    let ran = user.run(&start(agent, "sh check.sh", &["-n", "1"])).expect_code(0);
    assert!(ran.out().contains("judged    again in a clean copy"), "{}", ran.text());
}
