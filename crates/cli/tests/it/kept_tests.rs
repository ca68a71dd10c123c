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
    assert!(ran.out().contains("ignored files that are left out"), "what the copy lacks is told: {}", ran.text());
}

#[test]
fn an_honest_fix_keeps_its_tests_and_is_verified() {
    let user = user();
    with_list(&user, "one 1\ntwo 0\n");
    let agent = "printf 'one 0\\ntwo 0\\nthree 0\\n' > list";
    let ran = user.run(&start(agent, "sh check.sh", &["-n", "1"])).expect_code(0);
    assert!(ran.out().contains("judged    again in a clean copy"), "{}", ran.text());
}
