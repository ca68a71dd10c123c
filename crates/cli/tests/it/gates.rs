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
    // req: D-21 partly: roadmap and prd come later
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
    assert!(ran.err().contains("promise: fail (stopped by loop)"), "{}", ran.text());
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

#[test]
fn several_gates_are_named_in_a_dry_run_and_at_the_end() {
    let words = |agent: &'static str, more: &[&'static str]| {
        let gates = ["start", "do it", "--gate", "lint=test -e a", "--gate", "unit=test -e b", "--agent-cmd", agent];
        [&gates[..], more].concat()
    };
    let user = user();
    let ran = user.run(&words("touch a", &["--dry-run"])).expect_code(0);
    assert!(ran.out().contains("  baseline       lint: fail (exit 1, 0s)\n"), "{}", ran.text());
    let ran = user.run(&words("touch a", &["-n", "1"])).expect_code(1);
    assert!(ran.out().starts_with("not done: 1 iteration done and the gate unit fails"), "{}", ran.text());
    let ran = user.run(&words("touch b", &[])).expect_code(0);
    assert!(ran.out().starts_with("done: both gates pass after 1 iteration"), "{}", ran.text());
    let ran = user.run(&words("true", &["--dry-run"])).expect_code(0);
    assert!(ran.out().contains("the gates pass already: no iteration would be run"), "{}", ran.text());
}

#[test]
fn without_a_gate_a_dry_run_does_not_say_that_it_is_done_and_a_promise_beside_it_is_refused() {
    let user = user();
    let words = ["start", "do it", "--no-promise", "--agent-cmd", "true"];
    let ran = user.run(&[&words[..], &["--dry-run"]].concat()).expect_code(0);
    assert!(ran.out().contains("the first prompt:") && !ran.out().contains("already"), "{}", ran.text());
    let ran = user.run(&[&words[..], &["--promise", "true"]].concat()).expect_code(4);
    assert!(ran.err().starts_with("error: --no-promise and a promise do not go together"), "{}", ran.text());
    let watched = ["--gate", "lint[watch]=false", "-n", "1"];
    user.run(&[&words[..], &watched[..]].concat()).expect_code(1);
}

#[test]
fn the_header_names_the_budgets() {
    let user = user();
    let ran = user.run(&start("true", "true", &["--max-cost", "2.50", "--max-calls-per-hour", "20"])).expect_code(0);
    assert!(ran.err().contains(" · $2.50 · 20 calls an hour\n"), "{}", ran.text());
}

#[test]
fn a_promise_that_deceives_itself_is_warned_about_at_the_start_and_in_a_dry_run() {
    let user = user();
    let said = "warning: --promise: a pipe has the exit code of its last command, and tee does not fail when the work \
                is not done\n  better: ./check > log 2>&1\n";
    for more in [&["--dry-run"][..], &["-n", "1"]] {
        let ran = user.run(&start("true", "./check 2>&1 | tee log", more)).expect_code(0);
        assert!(ran.err().contains(said), "{}", ran.text());
    }
    let ran =
        user.run(&start("true", "false", &["--gate", "lint=./lint || true", "--dry-run", "--json"])).expect_code(0);
    let warnings = ran.json()["warnings"].clone();
    assert_eq!((&warnings[0]["gate"], &warnings[0]["flaw"]), (&"lint".into(), &"failure_allowed".into()), "{warnings}");
    assert_eq!(warnings[0]["instead"], "./lint");
    // One that is only shown decides nothing.
    let ran = user.run(&start("true", "false", &["--gate", "lint[watch]=./lint || true", "--dry-run"])).expect_code(0);
    assert!(!ran.err().contains("warning"), "{}", ran.text());
}
