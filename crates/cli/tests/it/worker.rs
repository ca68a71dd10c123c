//! The profile of the container front, its breaker and its limits: by a program on the PATH that plays claude.
use loop_testkit::{TestEnv, for_all, wait_until};
use serde_json::Value;

use crate::{start, user};

/// A `claude` that writes down how it was called and then does what the script says; `$n` is the number of the call, from
/// 1, and `block STATUS TASKS EXIT_SIGNAL` ends its words with a status block.
fn claude(script: &str) -> TestEnv {
    let env = user().with("ANTHROPIC_API_KEY", "sk-very-secret-key");
    env.program("claude", &format!("{CLAUDE}\n{script}\nexit 0"));
    env
}

const CLAUDE: &str = r#"[ "$1" = --version ] && { echo '2.1.197 (Claude Code)'; exit 0; }
echo call >> "$HOME/calls"; n=$(wc -l < "$HOME/calls" | tr -d ' ')
for word in "$@"; do printf '%s\n' "$word"; done > "$HOME/argv-$n"
cat > "$HOME/prompt-$n"
id="5e551017-0000-4000-8000-00000000000$n"
grep -qx -e --resume "$HOME/argv-$n" && id=$(grep -x -A1 -e --resume "$HOME/argv-$n" | tail -1)
printf '{"type":"system","subtype":"init","session_id":"%s","model":"m"}\n' "$id"
say() {
  printf '{"type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"%s"}]},"session_id":"%s"}\n' "$1" "$id"
  printf '{"type":"result","subtype":"success","is_error":false,"result":"%s","num_turns":1,"total_cost_usd":0.25,"usage":{"input_tokens":10,"output_tokens":5},"session_id":"%s"}\n' "$1" "$id"
}
block() { say "Call $n.\n\n---LOOP_STATUS---\nSTATUS: $1\nTASKS_COMPLETED_THIS_LOOP: $2\nFILES_MODIFIED: 2\nCOMPLETION_INDICATORS: 0\nTESTS_STATUS: PASSING\nWORK_TYPE: IMPLEMENTATION\nEXIT_SIGNAL: $3\nRECOMMENDATION: advice $n\n---END_LOOP_STATUS---\n"; }"#;

/// A start by the profile, without the three seconds between iterations.
fn words<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let mut words = vec!["start", "do it", "--profile", "container", "--delay", "none"];
    words.extend(more);
    words
}

fn one(env: &TestEnv, id: &str) -> Value {
    env.run(&["status", id, "--json"]).expect_code(0).json()["loops"][0].clone()
}

#[test]
fn the_profile_has_the_documents_defaults_and_takes_its_flags_with_their_units() {
    // req: C-03 partly: without urgent input
    // req: C-21
    let env = claude("block COMPLETE 1 true");
    env.write("home/.config/loop/config.toml", "session_expiration_hours = 48\nloop_delay_seconds = 0\n");
    let flags = [
        "--max-loops",
        "7",
        "--stagnation-threshold",
        "4",
        "--timeout-minutes",
        "2",
        "--calls-per-hour",
        "-1",
        "--same-error-threshold",
        "0",
        "--max-consecutive-test-loops=8",
        "--output-decline-threshold",
        "60",
        "--safety-completion-threshold",
        "6",
        "--completion-threshold",
        "0",
        "--project",
        "shop",
        "--append-system-prompt",
        "Be brief.",
        "--verbose",
        "--strict-completion",
        "--auto-confirm",
    ];
    let ran = env.run(&words(&flags)).expect_code(0);
    assert!(
        ran.out().starts_with("done, claimed by the agent, not verified: the agent says 2 times in a row"),
        "{}",
        ran.text()
    );
    assert!(ran.err().contains(" bytes of output"), "verbose: {}", ran.text());
    let settings = one(&env, &env.id())["settings"].clone();
    for (key, value, place) in [
        ("max_iterations", "7", "--max-loops"),
        ("max_no_progress", "4", "--stagnation-threshold"),
        ("max_missing_status", "4", "--stagnation-threshold"),
        ("timeout", "2m", "--timeout-minutes"),
        ("max_calls_per_hour", "unlimited", "--calls-per-hour"),
        ("max_same_error", "5", "the profile container"),
        ("max_test_only", "8", "--max-consecutive-test-loops"),
        ("completion_threshold", "2", "the profile container"),
        ("output_decline", "60", "--output-decline-threshold"),
        ("max_done_claims", "6", "--safety-completion-threshold"),
        ("session", "continue", "the profile container"),
    ] {
        assert_eq!(
            (&settings[key]["value"], &settings[key]["origin"]["place"]),
            (&value.into(), &place.into()),
            "{key}"
        );
    }
    let expiry = &settings["session_expiry"];
    assert_eq!((&expiry["value"], &expiry["origin"]["layer"]), (&"48h".into(), &"user".into()), "{expiry}");
    assert!(env.read("home/argv-2").contains("--resume\n5e551017-0000-4000-8000-000000000001\n"), "one conversation");
}

#[test]
fn the_flags_of_the_profile_are_checked_and_stand_in_the_long_help() {
    // req: C-03 partly: without urgent input
    let env = claude("block COMPLETE 1 true");
    for (wrong, said) in [
        (&["--max-loops", "-2"][..], "--max-loops: max_loops cannot be \"-2\""),
        (&["--timeout-minutes", "2m"], "--timeout-minutes: timeout_minutes cannot be \"2m\""),
        (&["--max-loops", "2", "-n", "3"], "--max-loops"),
    ] {
        let ran = env.run(&words(wrong)).expect_code(4);
        assert!(ran.err().contains(said), "{said}: {}", ran.text());
    }
    let help = env.run(&["start", "-h"]).expect_code(0);
    assert!(!help.out().contains("--max-loops") && help.out().contains("--max-iterations"), "{}", help.out());
    assert!(env.run(&["start", "--help"]).out().contains("--session-expiration-hours"));
}

#[test]
fn a_trip_is_told_with_its_counts_in_the_lines_the_end_the_result_and_the_status() {
    // req: C-10 partly: the record of the session
    // req: C-15 partly: the line after each iteration
    // req: C-22
    // req: C-23
    let env = claude("block IN_PROGRESS 1 false");
    let names = ["--project", "shop", "--agent-name", "bob"];
    let result = env.root().join("result.json").display().to_string();
    let ran = env.run(&[&words(&names)[..], &["--result", &result]].concat()).expect_code(1);
    let line = "1/50  IN_PROGRESS, code, 1 task, 2 files, 0 signs, tests passing: advice 1 · 99 of 100 calls left · \
                breaker: no progress 1 of 3";
    assert!(ran.err().contains(line), "{}", ran.text());
    assert!(ran.err().contains("97 of 100 calls left · breaker TRIPPED: no progress 3 of 3"), "{}", ran.text());
    assert!(ran.out().contains("failed (no_progress)"), "{}", ran.text());
    assert!(ran.out().contains("claims    3 tasks, 6 files in all · last: IN_PROGRESS"), "{}", ran.text());
    assert!(ran.out().contains("breaker   no progress 3 of 3 · same error 0 of 5"), "{}", ran.text());
    let told: Value = serde_json::from_str(&env.read("result.json")).unwrap();
    assert_eq!(told["iterations"], 3);
    assert_eq!((&told["tasks_claimed"], &told["files_claimed"]), (&3.into(), &6.into()), "{told}");
    assert_eq!((&told["recommendation"], &told["status_block"]["status"]), (&"advice 3".into(), &"IN_PROGRESS".into()));
    assert_eq!(
        (&told["rate_limit_hit"], &told["budget_hit"], &told["error"]),
        (&false.into(), &false.into(), &Value::Null)
    );

    let id = env.id();
    let row = one(&env, &id);
    let breaker = &row["breaker"];
    assert_eq!((&breaker["tripped"], &breaker["reason"]), (&true.into(), &"no_progress".into()), "{breaker}");
    assert_eq!((&breaker["counts"]["no_progress"], &breaker["thresholds"]["no_progress"]), (&3.into(), &3.into()));
    assert_eq!(
        (&breaker["counts"]["missing_status"], &breaker["thresholds"]["missing_status"]),
        (&0.into(), &3.into())
    );
    assert!(breaker["tripped_at"].is_string() && breaker["updated_at"].is_string(), "{breaker}");
    assert_eq!(
        (&row["calls"]["left"], &row["calls"]["limit"], &row["calls"]["total"]),
        (&97.into(), &100.into(), &3.into())
    );
    assert_eq!(row["session"]["id"], "5e551017-0000-4000-8000-000000000001", "{row}");
    assert_eq!((&row["budget"]["cost_usd"], &row["budget"]["tokens"]), (&0.75.into(), &45.into()), "{row}");
    for (name, value) in [("project", "shop"), ("agent_name", "bob"), ("status", "failed"), ("goal", "do it")] {
        assert_eq!(row[name], value, "{row}");
    }
    assert_eq!(
        (&row["iterations_done"], &row["claims"]["tasks"], &row["claims"]["files"]),
        (&3.into(), &3.into(), &6.into())
    );
    assert!(row["started_at"].is_string() && row["updated_at"].is_string(), "{row}");
    assert!(row["claims"]["last_error"].is_null(), "{row}");
    let by_name = env.run(&["status", "--project", "shop", "--agent-name", "bob", "--json"]).json();
    assert_eq!(by_name["loops"][0]["id"], id.as_str());
}

#[test]
fn a_breaker_that_tripped_refuses_the_next_start_until_a_person_closes_it() {
    // req: C-08
    // req: C-11 partly: the events of one worker
    // req: C-17 partly: on a loop that has ended
    // req: C-19
    let env = claude("block IN_PROGRESS 1 false");
    let names = ["--project", "shop", "--agent-name", "bob"];
    env.run(&words(&names)).expect_code(1);
    let id = env.id();
    for refused in [&words(&names)[..], &["resume", &id]] {
        let ran = env.run(refused).expect_code(4);
        let said = ran.err();
        assert!(said.starts_with(&format!("error: the breaker has tripped: loop {id}, at 20")), "{said}");
        assert!(!said.lines().next().unwrap_or_default().ends_with('Z'), "the local time: {said}");
        assert!(
            said.contains("no progress in 3 iterations in a row") && said.contains(&format!("loop reset {id}")),
            "{said}"
        );
    }
    assert_eq!(env.ids().len(), 1, "nothing was made");
    env.run(&words(&["--project", "shop", "--agent-name", "eve", "--max-loops", "1"])).expect_code(1);

    let ran = env.run(&["reset", "--project", "shop", "--agent-name", "bob"]).expect_code(0);
    assert!(ran.out().contains("the breaker is closed; it tripped at 20"), "{}", ran.text());
    assert!(ran.out().contains("cleared     no progress 3\n"), "{}", ran.text());
    let breaker = one(&env, &id)["breaker"].clone();
    assert_eq!((&breaker["tripped"], &breaker["counts"]["no_progress"]), (&false.into(), &0.into()), "{breaker}");
    let events = env.run(&["history", &id, "--events", "--json"]).expect_code(0).json();
    let circuit: Vec<String> = events["circuit"].as_array().unwrap().iter().map(circuit).collect();
    assert_eq!(circuit, ["CLOSED to TRIPPED: no_progress (3)", "TRIPPED to CLOSED: reset by loop reset (3)"]);
    let session: Vec<&str> =
        events["session"].as_array().unwrap().iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(session, ["started", "conversation_began", "loop", "loop", "loop", "ended"]);
    let shown = env.run(&["history", &id, "--events"]).expect_code(0);
    assert!(shown.out().contains("CLOSED → TRIPPED") && shown.out().contains("conversation_began"), "{}", shown.out());
    // UR-2.16
    let text = shown.out();
    let table: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(table[0], ["TIME", "SESSION", "ITERATIONS", "STATUS", "CONVERSATION", "ERROR"]);
    let began = table.iter().find(|row| row.get(1) == Some(&"conversation_began")).unwrap();
    assert!(began[3] == "-" && began[4] != "-" && began[0].len() == "12:34:56".len(), "{began:?}");

    let ran = env.run(&["resume", &id, "-n", "4"]).expect_code(1);
    assert!(ran.out().contains("failed (iteration_limit)"), "closed, it goes on: {}", ran.text());
    let ran = env.run(&[&words(&names)[..], &["--max-loops", "4"]].concat()).expect_code(1);
    assert!(ran.out().contains("failed (no_progress)"), "{}", ran.text());
    let ran = env.run(&[&words(&names)[..], &["--max-loops", "1", "--reset-circuit"]].concat()).expect_code(1);
    assert!(ran.err().contains("had tripped is closed") && ran.out().contains("iteration_limit"), "{}", ran.text());
}

fn circuit(event: &Value) -> String {
    let word = |name: &str| event[name].as_str().unwrap().to_owned();
    format!("{} to {}: {} ({})", word("from"), word("to"), word("reason"), event["no_progress"])
}

#[test]
fn a_reset_circuit_of_one_resume_is_not_one_of_the_next() {
    // req: C-19
    let env = claude("block IN_PROGRESS 1 false");
    env.run(&words(&[])).expect_code(1);
    let id = env.id();
    let ran = env.run(&["resume", &id, "--reset-circuit"]).expect_code(1);
    assert!(ran.out().contains("failed (no_progress)"), "three more: {}", ran.text());
    assert_eq!(env.read("home/calls").lines().count(), 6);
    env.run(&["resume", &id]).expect_code(4);
}

#[test]
fn counts_survive_an_end_and_a_resume_where_only_a_person_closes_the_breaker() {
    // req: C-08 partly: over a resume
    let env = claude("block IN_PROGRESS 1 false");
    env.run(&words(&["--max-loops", "2"])).expect_code(1);
    let ran = env.run(&["resume", &env.id(), "-n", "9"]).expect_code(1);
    assert!(ran.out().contains("failed (no_progress)"), "{}", ran.text());
    assert_eq!(env.read("home/calls").lines().count(), 3, "two from before and one more");
}

/// `kind WORK_TYPE WORDS` says the words and ends with a block of that kind of work.
const KIND: &str = r#"kind() { say "$2\n\n---LOOP_STATUS---\nSTATUS: IN_PROGRESS\nTASKS_COMPLETED_THIS_LOOP: 1\nFILES_MODIFIED: 1\nCOMPLETION_INDICATORS: 0\nTESTS_STATUS: PASSING\nWORK_TYPE: $1\nEXIT_SIGNAL: false\nRECOMMENDATION: more\n---END_LOOP_STATUS---\n"; }"#;

/// A reason to trip: what the agent does, further flags, and after how many calls.
const TRIPS: [(&str, &str, &[&str], usize); 8] = [
    ("no_progress", "block IN_PROGRESS 1 false", &[], 3),
    // In each of three iterations the block is asked for once.
    ("missing_status", "echo $n >> log; say words", &[], 6),
    ("safety_completion", "echo $n >> log; block COMPLETE 1 false", &[], 5),
    ("test_loops", "mkdir -p tests; echo $n >> tests/test_a.py; kind TESTING words", &[], 3),
    ("agent_blocked", "echo $n >> log; block BLOCKED 0 false", &[], 1),
    // Three failures in a row without a change would end it as an agent that cannot work.
    ("same_error", "echo boom >&2; exit 3", &["--same-error-threshold", "2"], 2),
    (
        "output_decline",
        "case $n in 1) c=10000;; 2) c=1000;; *) c=100;; esac; kind IMPLEMENTATION \"$(head -c $c /dev/zero | tr '\\0' x)\"",
        &["--stagnation-threshold", "9"],
        3,
    ),
    // Progress sets the count of iterations without it to 0.
    ("no_progress", "[ $n = 3 ] && echo x >> log; block IN_PROGRESS 1 false", &[], 6),
];

#[test]
fn each_condition_of_the_breaker_trips_by_the_profiles_own_numbers_with_one_reason() {
    // req: C-07
    let wrong: Vec<String> = for_all(&TRIPS, |(reason, script, more, calls)| {
        let env = claude(&format!("{KIND}\n{script}"));
        let ran = env.run(&words(more));
        let made = env.read("home/calls").lines().count();
        let breaker = one(&env, &env.id())["breaker"].clone();
        let is_so = breaker["tripped"] == true && breaker["reason"] == *reason && made == *calls;
        (!is_so).then(|| format!("{reason} after {made} calls: {breaker}\n{}", ran.text()))
    })
    .into_iter()
    .flatten()
    .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_completion_in_the_iteration_that_would_trip_goes_first() {
    // req: C-07
    let env = claude("if [ $n -lt 2 ]; then block IN_PROGRESS 1 false; else block COMPLETE 1 true; fi");
    let ran = env.run(&words(&["--stagnation-threshold", "3", "--completion-threshold", "2"])).expect_code(0);
    assert!(ran.out().starts_with("done, claimed by the agent"), "{}", ran.text());
}

#[test]
fn a_loop_at_work_is_reset_and_its_conversation_forgotten_when_that_is_confirmed() {
    // req: C-17
    // req: C-26 partly: the reset of a session
    let env =
        claude("touch \"$HOME/at-$n\"; while [ ! -e \"$HOME/go-$n\" ]; do sleep 0.02; done; block IN_PROGRESS 1 false");
    let running = env.begin(&words(&["-n", "3"]));
    env.wait_for_file("home/at-1");
    let id = env.id();
    env.write("home/go-1", "");
    env.wait_for_file("home/at-2");
    wait_until("the first is counted", || one(&env, &id)["breaker"]["counts"]["no_progress"] == 1);
    let ran = env.run(&["reset", &id, "--session"]).expect_code(0);
    assert!(ran.out().contains("it was not tripped\n  cleared     no progress 1\n"), "{}", ran.text());
    assert!(ran.err().contains("no terminal to ask on") && ran.out().contains("is not forgotten"), "{}", ran.text());
    let ran = env.run(&["reset", &id, "--session", "--auto-confirm", "--json"]).expect_code(0).json();
    assert_eq!(ran["session"], "5e551017-0000-4000-8000-000000000001", "{ran}");
    env.write("home/go-2", "");
    env.wait_for_file("home/at-3");
    let breaker = one(&env, &id)["breaker"].clone();
    assert_eq!(breaker["counts"]["no_progress"], 1, "only the second counts: {breaker}");
    env.write("home/go-3", "");
    running.end().expect_code(1);
    let events = env.run(&["history", &id, "--events", "--json"]).json();
    let all = events["session"].as_array().unwrap();
    assert!(all.iter().any(|event| event["event"] == "conversation_reset"), "{events}");
    env.run(&["reset", "--agent-name", "nobody"]).expect_code(4);
}

#[test]
fn a_question_before_a_conversation_is_forgotten_is_asked_on_a_terminal() {
    // req: C-26
    let env = claude("block COMPLETE 1 true");
    env.run(&words(&[])).expect_code(0);
    let id = env.id();
    let (_, shown) = env.on_a_terminal(&format!("{} reset {id} --session", env!("CARGO_BIN_EXE_loop")));
    assert!(shown.contains("The agent forgets what it knows about this work. Continue? [y/N]"), "{shown}");
    assert!(shown.contains("is not forgotten; to forget it"), "no answer is no: {shown}");
    assert!(one(&env, &id)["session"]["id"].is_string());
}

#[test]
fn the_calls_of_the_hour_are_waited_for_and_shown_with_their_end() {
    // req: C-15 partly: the wait for a call of the hour
    // req: C-09 partly: what people see of it
    let env = claude("block IN_PROGRESS 1 false");
    let running = env.begin(&words(&["--calls-per-hour", "1"]));
    env.wait_for_fact("\"calls\"");
    let id = env.id();
    wait_until("it waits", || one(&env, &id)["status"] == "waiting");
    let row = one(&env, &id);
    assert_eq!((&row["calls"]["left"], &row["calls"]["last_hour"]), (&0.into(), &1.into()), "{row}");
    assert!(row["calls"]["next_free_at"].is_string() && row["waiting"]["until"].is_string(), "{row}");
    assert_eq!(row["waiting"]["source"], "limit");
    env.run(&["cancel", &id]).expect_code(0);
    let ran = running.end().expect_code(2);
    assert!(
        ran.err().contains("1 call was made in the last hour") && ran.err().contains("; waits until "),
        "{}",
        ran.text()
    );
    assert!(ran.err().contains("WARNING: 100 % of --max-calls-per-hour used: 1 of 1"), "{}", ran.text());
    let events = env.run(&["history", &id, "--events", "--json"]).json();
    assert!(events["session"].as_array().unwrap().iter().any(|event| event["event"] == "rate_limited"), "{events}");
}

#[test]
fn money_is_warned_of_once_at_four_fifths_and_the_end_says_that_it_was_used_up() {
    // req: C-14 partly: what the result says of a budget
    // req: C-15 partly: the calls that are left can be left out
    let env = claude("echo x >> log; block IN_PROGRESS 1 false");
    let more = ["--max-cost", "0.60", "--no-rate-line", "--json"];
    let ran = env.run(&words(&more)).expect_code(1);
    let out = ran.out();
    let events: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let near: Vec<&Value> = events.iter().filter(|event| event["event"] == "limit_near").collect();
    assert_eq!(near.len(), 1, "{out}");
    assert_eq!((&near[0]["setting"], &near[0]["share"]), (&"max_cost".into(), &83.into()), "{out}");
    let end = events.iter().find(|event| event["event"] == "ended").unwrap();
    assert_eq!((&end["reason"], &end["budget_hit"]), (&"budget_limit".into(), &true.into()), "{end}");
    assert_eq!((&end["tasks_claimed"], &end["rate_limit_hit"]), (&3.into(), &false.into()), "{end}");
    let budget = one(&env, &env.id())["budget"].clone();
    assert_eq!((&budget["max_cost_usd"], &budget["warnings"][0]), (&0.6.into(), &"max_cost".into()), "{budget}");
    let ran = env.run(&["watch", &env.id()]).expect_code(0);
    assert!(ran.out().contains("WARNING: 83 % of --max-cost used: $0.50 of $0.60"), "{}", ran.text());
    assert!(!ran.out().contains("calls left") && ran.out().contains("IN_PROGRESS, code, 1 task"), "{}", ran.text());
}

#[test]
fn a_conversation_that_is_too_old_is_begun_anew_and_that_is_said() {
    // req: C-10
    let env = claude("block IN_PROGRESS 1 false");
    let ran = env.run(&words(&["--session-expiry", "300ms", "--delay", "400ms", "-n", "2"])).expect_code(1);
    assert!(ran.err().contains("the agent's conversation is older than 300ms: a new one begins"), "{}", ran.text());
    assert!(!env.read("home/argv-2").contains("--resume"), "{}", env.read("home/argv-2"));
    let events = env.run(&["history", &env.id(), "--events", "--json"]).json();
    let names: Vec<&str> =
        events["session"].as_array().unwrap().iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(names.iter().filter(|name| **name == "conversation_began").count(), 2, "{names:?}");
    assert!(names.contains(&"conversation_expired"), "{names:?}");
}

#[test]
fn a_loop_that_runs_away_is_told_once_by_how_grave_it_is() {
    // req: A-15
    let user = user();
    let more = ["-n", "unlimited", "--max-identical-output", "unlimited", "--max-iterations-warning", "2"];
    let ran = user.run(&start("echo x >> log; echo same", "test $(wc -l < log) = 7", &more)).expect_code(0);
    let lines: Vec<String> = ran
        .err()
        .lines()
        .filter(|line| line.contains("[WARNING] ") || line.contains("[CRITICAL] "))
        .map(str::to_owned)
        .collect();
    assert_eq!(lines.len(), 2, "{}", ran.text());
    assert!(
        lines[0].ends_with("[WARNING] runaway_detected: 3 iterations, with a limit of neither time nor iterations"),
        "{lines:?}"
    );
    assert!(lines[1].contains("[CRITICAL] runaway_detected: the agent said the same 5 times in a row"), "{lines:?}");
    let alarm = one(&user, &user.id())["runaway"].clone();
    assert_eq!((&alarm["severity"], &alarm["kind"]), (&"CRITICAL".into(), &"identical_outputs".into()), "{alarm}");
    let short = crate::user();
    let ran = short.run(&start("echo x >> log", "test $(wc -l < log) = 4", &[])).expect_code(0);
    assert_eq!(
        ran.err().matches("[WARNING] runaway_detected: in 3 iterations in a row the agent took less than 1s").count(),
        1,
        "{}",
        ran.text()
    );
}
