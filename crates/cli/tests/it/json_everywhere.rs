//! Every command that answers has `--json`, and its answer has a version.
use loop_testkit::TestEnv;
use serde_json::Value;

use crate::{commands, start, user};

/// Commands that have no `--json`, each with the reason.
const WITHOUT: [(&str, &str); 5] = [
    ("proof", "what it prints is JSON already, in the one form that can be signed"),
    ("demo", "a show for people"),
    ("completions", "prints a script for a shell"),
    ("man", "prints a page"),
    ("tui", "a screen for people"),
];

/// The commands below a command, by its own help.
fn below(user: &TestEnv, command: &str) -> Vec<String> {
    let help = user.run(&[command, "--help"]).expect_code(0).out();
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = listed.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| !name.is_empty() && *name != "help").map(str::to_owned).collect()
}

#[test]
fn every_command_that_answers_has_json() {
    let user = user();
    let mut without = Vec::new();
    for command in commands(&user).into_iter().filter(|name| WITHOUT.iter().all(|(known, _)| known != name)) {
        let mut calls: Vec<Vec<String>> = vec![vec![command.clone()]];
        let subs = below(&user, &command);
        // A command that only has others below it answers by these.
        let is_group =
            user.run(&[command.as_str(), "--help"]).out().contains(&format!("loop {command} [OPTIONS] <COMMAND>"));
        if is_group {
            calls.clear();
        }
        calls.extend(subs.into_iter().map(|sub| vec![command.clone(), sub]));
        for call in calls {
            let help = user.run(&[&call[..], &["--help".to_owned()]].concat()).expect_code(0).out();
            if !help.contains("--json") {
                without.push(call.join(" "));
            }
        }
    }
    assert_eq!(without, Vec::<String>::new(), "these answer, and have no --json");
}

/// The answer of a command as JSON, which has a version.
fn answer(user: &TestEnv, words: &[&str]) -> Value {
    let answer = user.run(&[words, &["--json"]].concat()).expect_code(0).json();
    assert_eq!(answer["version"], 1, "{words:?}: {answer}");
    answer
}

#[test]
fn commands_about_a_loop_that_has_stopped_answer_with_its_id() {
    let user = user();
    user.run(&start("echo $LOOP_ITERATION >> a", "test -e x", &["-n", "1"])).expect_code(1);
    let id = user.id();
    for words in [
        vec!["inject", &id, "look at a"],
        vec!["set", &id, "max_iterations=3"],
        vec!["set", &id],
        vec!["checkpoint", &id, "mine"],
        vec!["checkpoint", "list", &id],
        vec!["checkpoint", "rm", &id, "mine"],
        vec!["rollback", &id, "initial", "--dry-run"],
        vec!["diff", &id],
        vec!["bug", &id],
    ] {
        assert_eq!(answer(&user, &words)["id"], id.as_str(), "{words:?}");
    }
    assert_eq!(
        answer(&user, &["prune", "--dry-run", "--older-than", "0s", "--all"])["removed"],
        serde_json::json!([id])
    );
    assert_eq!(answer(&user, &["rm", &id])["removed"], serde_json::json!([id]));
}

#[test]
fn commands_that_steer_answer_with_the_id_and_the_line_of_the_journal() {
    let user = user();
    let agent = "touch ../at-$LOOP_ITERATION; while ! test -e ../go; do sleep 0.02; done";
    let running = user.begin(&start(agent, "test -e x", &["-n", "3"]));
    user.wait_for_file("at-1");
    let id = user.id();
    for words in [
        vec!["inject", &id, "look"],
        vec!["set", &id, "max_iterations=4"],
        vec!["pause", &id],
        vec!["resume", &id],
        vec!["stop", &id],
        vec!["cancel", &id],
    ] {
        let answer = answer(&user, &words);
        assert_eq!(answer["id"], id.as_str(), "{words:?}");
        assert!(answer["noted"].is_u64(), "{words:?}: {answer}");
    }
    user.write("go", "");
    running.end().expect_code(2);
}

#[test]
fn settings_are_read_set_and_checked_as_json() {
    let user = user();
    assert_eq!(answer(&user, &["config", "set", "max_iterations", "7"])["value"], "7");
    assert_eq!(answer(&user, &["config", "get", "max_iterations"])["value"], "7");
    assert_eq!(answer(&user, &["config", "check"])["fine"], true);
}
