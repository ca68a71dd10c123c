//! `loop replay`: recorded loops under other thresholds, against the built program.
use loop_testkit::scripted_agents::{Behaviour, GROUPS, replay_faults};
use loop_testkit::{TestEnv, behaviour_program, for_all};

use crate::{start, user};

/// Changes nothing but at its fourth call.
const LATE: &str = "echo x >> $HOME/calls; [ $(wc -l < $HOME/calls) -lt 4 ] || touch done";

/// The loop that was started last.
fn newest(user: &TestEnv) -> String {
    let listed = user.run(&["ls", "--json"]).expect_code(0).json();
    listed["loops"][0]["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_replay_shows_what_a_stricter_policy_saves_and_loses_and_what_cannot_be_known() {
    let user = user();
    user.run(&start("true", "false", &["-n", "9", "--max-no-progress", "5"])).expect_code(1);
    let stuck = newest(&user);
    user.run(&start(LATE, "test -e done", &["--max-no-progress", "5"])).expect_code(0);
    let solved = newest(&user);
    user.run(&start("true", "false", &["-n", "1", "--max-no-progress", "5"])).expect_code(1);
    let short = newest(&user);
    user.write("strict.toml", "max_no_progress = 2\n");
    user.write("loose.toml", "max_iterations = 12\nmax_no_progress = 5\n");
    let policies = ["replay", "--policy", "../strict.toml", "--policy", "../loose.toml"];
    let shown = user.run(&policies).expect_code(0).out();
    for words in [
        &format!(
            "lost: loop {solved}: tripped by no_progress after iteration 2; recorded: verified by goal_complete after iteration 4"
        ),
        &format!(
            "sooner: loop {stuck}: tripped by no_progress after iteration 2; recorded: tripped by no_progress after iteration 5"
        ),
        &format!("cannot be known: loop {short}: ended after iteration 1 by iteration_limit, and would have continued"),
        "no loop was on a long leash",
    ] {
        assert!(shown.contains(words), "{words:?} is not in:\n{shown}");
    }
    let json = user.run(&[&policies[..], &["--json"]].concat()).expect_code(0).json();
    let [own, strict, loose] = [0, 1, 2].map(|at| &json["policies"][at]);
    let counts = |row: &serde_json::Value| {
        ["runs", "solved", "saved_calls", "lost", "cannot_be_known"].map(|name| row[name].as_u64().unwrap())
    };
    assert_eq!(counts(own), [3, 1, 0, 0, 0], "{own}");
    assert_eq!(counts(strict), [3, 0, 5, 1, 0], "{strict}");
    assert_eq!(counts(loose), [3, 1, 0, 0, 1], "{loose}");
    let only = user.run(&["replay", "--policy", "../strict.toml", "--runs", &stuck, "--json"]).expect_code(0).json();
    assert_eq!(counts(&only["policies"][1]), [1, 0, 3, 0, 0], "{only}");
}

#[test]
fn branches_of_a_real_plan_are_ranked_again_by_other_columns() {
    let user = user();
    // The first is larger and cheap, the second smaller and dear, by a metric of its own.
    let agent = "if [ $LOOP_BRANCH = 1 ]; then seq 30 > big; echo 9 > metric; else echo 1 > metric; fi; touch done";
    let more = ["--best-of", "2", "--judge", "workspace", "--strength", "off", "--best-of-metric", "cat metric"];
    let ran = user.run(&start(agent, "test -e done", &more)).expect_code(0);
    assert!(ran.out().contains("branch 1 of 2 is applied"), "the higher metric wins: {}", ran.text());
    let replayed = |text: &str| {
        user.write("selection.toml", text);
        user.run(&["replay", "--policy", "../selection.toml"]).expect_code(0).out()
    };
    let smaller = replayed("[selection]\ncolumns = [\"gates\", \"size\"]\n");
    assert!(smaller.contains("selection.toml: branches by gates, size"), "{smaller}");
    assert!(smaller.contains(": 2 would win; recorded: 1"), "{smaller}");
    let lower = replayed("[selection]\nlower = true\n");
    assert!(lower.contains(": 2 would win; recorded: 1"), "{lower}");
    let same = replayed("[selection]\ncolumns = [\"metric\"]\n");
    assert!(same.contains("the same branch wins in 1 plan"), "{same}");
}

#[test]
fn what_changes_what_the_agent_sees_is_refused_with_the_reason() {
    let user = user();
    user.write("model.toml", "agent_model = \"opus\"\n");
    let ran = user.run(&["replay", "--policy", "../model.toml"]).expect_code(4);
    assert!(
        ran.err().contains("agent_model changes what the agent sees or does: only live runs can tell"),
        "{}",
        ran.text()
    );
    user.run(&["replay", "--policy", "../missing.toml"]).expect_code(4);
    user.run(&["replay"]).expect_code(4);
}

#[test]
fn a_loop_on_a_long_leash_has_doubled_thresholds_and_is_counted_by_the_replay() {
    let user = user();
    user.run(&start("true", "false", &["--leash", "100%"])).expect_code(1);
    let row = user.run(&["ls", "--json"]).expect_code(0).json()["loops"][0].clone();
    assert_eq!(row["iteration"], 6, "{row}");
    user.run(&start("true", "false", &["--leash", "0%"])).expect_code(1);
    user.write("usual.toml", "max_no_progress = 3\n");
    user.write("longer.toml", "max_no_progress = 6\n");
    let json = user
        .run(&["replay", "--policy", "../usual.toml", "--policy", "../longer.toml", "--json"])
        .expect_code(0)
        .json();
    let [own, usual, longer] = [0, 1, 2].map(|at| &json["policies"][at]);
    assert_eq!((&own["on_leash"], &own["cannot_be_known"]), (&1.into(), &0.into()), "{own}");
    // Under the usual threshold both end after 3; under the longer one only the one on the leash can tell.
    assert_eq!((&usual["saved_calls"], &usual["cannot_be_known"]), (&3.into(), &0.into()), "{usual}");
    assert_eq!((&longer["saved_calls"], &longer["cannot_be_known"]), (&0.into(), &1.into()), "{longer}");
    let shown = user.run(&["replay", "--policy", "../longer.toml"]).expect_code(0).out();
    assert!(shown.contains("1 loop was on a long leash"), "{shown}");
}

/// Plays these behaviours as recorded, under a stricter policy by a replay, and live under that policy.
fn compare(wanted: &dyn Fn(&Behaviour) -> bool) {
    let program = env!("CARGO_BIN_EXE_loop");
    let player = behaviour_program(program).display().to_string();
    let only = std::env::var("BEHAVIOUR").unwrap_or_default();
    // Those of the provider and of slow gates wait: their ends are those of a clock.
    let groups = GROUPS.iter().filter(|(name, _)| !["provider", "gates"].contains(name));
    let all = groups.flat_map(|(_, all)| all.iter());
    let cases: Vec<(&'static Behaviour, &'static str)> = all
        .filter(|behaviour| wanted(behaviour) && (only.is_empty() || only == behaviour.name))
        .filter_map(|behaviour| Some((behaviour, *behaviour.agents.last()?)))
        .collect();
    let faults = for_all(&cases, |(behaviour, agent)| {
        let faults = replay_faults(program, &player, behaviour, agent);
        faults.iter().map(|fault| format!("{} by {agent}: {fault}", behaviour.name)).collect::<Vec<_>>()
    });
    let faults: Vec<String> = faults.into_iter().flatten().collect();
    assert!(faults.is_empty(), "{} faults of {} behaviours:\n{}", faults.len(), cases.len(), faults.join("\n"));
}

#[test]
fn recorded_behaviours_end_the_same_under_their_own_policy_and_as_a_live_loop_does_under_a_stricter_one() {
    compare(&|_| true);
}

#[test]
fn some_recorded_behaviours_end_under_a_stricter_policy_as_a_live_loop_does() {
    let sample = ["stuck-clean", "oscillates-2", "same-error", "test-only", "identical-output", "undoes-itself"];
    compare(&|behaviour| sample.contains(&behaviour.name));
}

#[test]
fn the_help_of_replay_names_all_that_a_policy_may_set() {
    let help = user().run(&["replay", "--help"]).expect_code(0).out();
    for words in ["breaker", "ladder", "[selection]"] {
        assert!(help.contains(words), "{words}: {help}");
    }
}
