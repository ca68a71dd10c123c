//! Gates by the built program: the three answers.
use crate::{start, user};

fn verdict(promise: &str, more: &[&str]) -> (Option<i32>, String, String) {
    let user = user();
    let mut words = vec!["-n", "2"];
    words.extend(more);
    let ran = user.run(&start("true", promise, &words));
    let history = user.run(&["history", &user.id(), "--json"]).json();
    let last = history["iterations"].as_array().unwrap().last().cloned();
    let word = last.map_or_else(|| history["baseline"]["promise"].clone(), |row| row["promise"].clone());
    (ran.code, word.as_str().unwrap().to_owned(), ran.out())
}

#[test]
fn pipes_quotes_redirection_and_several_commands_work_as_in_a_shell() {
    // req: D-25
    for promise in [
        "echo PASS | grep -q 'PASS'",
        "true && echo 'a b' > f && test \"$(cat f)\" = 'a b'",
        "false | true",
        "! grep -q TODO /dev/null",
        "! false",
    ] {
        assert_eq!((verdict(promise, &[]).0, verdict(promise, &[]).1.as_str()), (Some(0), "pass"), "{promise}");
    }
}

#[test]
fn a_broken_promise_is_not_an_unverifiable_one() {
    // req: D-25
    for promise in ["false", "exit 2", "exit 255", "true | false", "! true", "test -e nothing"] {
        let (code, word, said) = verdict(promise, &[]);
        assert_eq!((code, word.as_str()), (Some(1), "fail"), "{promise}: {said}");
    }
}

#[test]
fn a_gate_that_cannot_be_checked_ends_the_loop_with_its_command_and_its_words() {
    // req: D-21 partly: roadmap, prd and workflow come later
    // req: D-25
    for promise in
        ["no-such-check", "./not-there", "kill -9 $$", "! no-such-check", "! grep -q x no-such-file", "! kill -9 $$"]
    {
        let (code, word, said) = verdict(promise, &["-n", "9"]);
        assert_eq!((code, word.as_str()), (Some(3), "unverifiable"), "{promise}: {said}");
        assert!(said.contains(&format!("the promise could not be checked: {promise}")), "{said}");
    }
}

#[test]
fn a_gate_over_its_time_is_broken_only_if_it_ran_to_an_end_before() {
    let never = verdict("sleep 300", &["--gate-timeout", "200ms"]);
    assert_eq!((never.0, never.1.as_str()), (Some(1), "unverifiable"), "the cap comes first: {}", never.2);
    let user = user();
    let promise = "test -e slow && sleep 300; false";
    let ran = user.run(&start("touch slow", promise, &["--gate-timeout", "300ms", "-n", "3"])).expect_code(1);
    assert!(ran.err().contains("promise: does not hold yet (stopped by loop)"), "{}", ran.text());
}

#[test]
fn what_a_gate_leaves_running_is_ended_too() {
    let user = user();
    user.run(&start("true", "setsid sleep 300 >/dev/null 2>&1 & false", &["-n", "1"])).expect_code(1);
    assert_eq!(user.marked(&user.id()), Vec::<u32>::new());
}

#[test]
fn a_not_before_several_commands_and_a_line_that_no_shell_can_read_are_refused() {
    // req: D-25
    let user = user();
    for promise in
        ["! false && true", "! nosuch; true", "! nosuch &", "! test -f bug )", "! if true", "! true |", "make test )"]
    {
        let ran = user.run(&start("true", promise, &[])).expect_code(4);
        assert!(ran.err().starts_with("error: --promise: "), "{promise}: {}", ran.text());
    }
    user.run(&start("(", "true", &[])).expect_code(4);
    assert!(!user.state().exists());
}
