//! The progress score and the autonomous profile by the built program: what is measured, shown and decided.
use serde_json::{Value, json};

use crate::user;

/// A loop in the autonomous profile with this agent, and more words.
fn autonomous<'a>(agent: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut words = vec!["start", "work through PLAN.md", "--profile", "autonomous", "--agent-cmd", agent];
    words.extend(more);
    words
}

fn iterations(user: &loop_testkit::TestEnv) -> Vec<Value> {
    let id = user.id();
    let history = user.run(&["history", &id, "--json"]).expect_code(0).json();
    history["iterations"].as_array().unwrap().clone()
}

/// Its first call writes 50 lines, marks progress and ticks one of four lines; the second one says nearly the same and
/// changes nothing; the third one says that it is done.
const AGENT: &str = r#"
n=$LOOP_ITERATION
case $n in
1) seq 50 > numbers; sed -i '1s/\[ \]/[x]/' PLAN.md; echo 'I wrote the numbers.'; echo '<progress>numbers are written</progress>';;
2) echo 'I wrote the numbers!'; echo 'Nothing else to say here.';;
*) echo 'All of it is there.'; echo '<promise>COMPLETE</promise>';;
esac
"#;

#[test]
fn a_loop_of_the_autonomous_profile_has_the_four_signals_of_each_score_in_its_history() {
    // req: A-03
    // req: A-26 partly: markers are collected, shown and scored
    let user = user();
    user.write("work/PLAN.md", "- [ ] numbers\n- [ ] letters\n- [ ] words\n- [ ] texts\n");
    let ran = user.run(&autonomous(AGENT, &[])).expect_code(0);
    assert!(ran.err().contains("rogress: numbers are written"), "{}", ran.text());
    assert!(ran.err().contains("score 0.62 (output 1.00, files 0.52, markers 0.50, checklist 0.25)"), "{}", ran.text());
    assert!(ran.out().starts_with("done") || ran.out().contains("claimed"), "{}", ran.text());
    let rows = iterations(&user);
    let first = &rows[0];
    // 50 new lines, and one line of the plan taken out and put in.
    assert_eq!(
        first["score"],
        json!({"output": 1.0, "files": 0.52, "markers": 0.5, "checklist": 0.25, "total": 0.6185})
    );
    assert_eq!((&first["markers"], &first["progress"]), (&json!(["numbers are written"]), &json!(true)));
    let second = &rows[1]["score"];
    assert_eq!((&second["files"], &second["markers"], &second["checklist"]), (&json!(0.0), &json!(0.0), &json!(0.25)));
    let output = second["output"].as_f64().unwrap();
    assert!((0.2..0.9).contains(&output), "{second}");
    let id = user.id();
    let table = user.run(&["history", &id]).expect_code(0);
    assert!(
        table.out().contains("SCORE") && table.out().contains("iteration 1: numbers are written"),
        "{}",
        table.text()
    );
    let status = user.run(&["status", &id, "--json"]).expect_code(0).json()["loops"][0]["progress"].clone();
    assert_eq!((&status["by"], &status["threshold"]), (&json!("score"), &json!(0.15)), "{status}");
    assert!(status["score"]["total"].is_f64() && status["average"].is_f64(), "{status}");
}

#[test]
fn iterations_with_low_scores_make_no_progress_even_if_files_change() {
    // req: A-05 partly: without recovery
    let agent = "echo x >> log; echo 'I added one more line to the log.'";
    let user = user();
    let words = ["--max-no-progress", "2", "--max-time", "5m", "--no-recover"];
    let ran = user.run(&autonomous(agent, &words)).expect_code(1);
    assert!(ran.out().contains("no_progress"), "{}", ran.text());
    let rows = iterations(&user);
    assert_eq!(rows.iter().map(|row| row["progress"].clone()).collect::<Vec<_>>(), [true, false, false], "{rows:?}");
    // The same agent makes progress by the workspace.
    let by_gates = crate::user();
    by_gates.run(&crate::start(agent, "false", &["-n", "4"])).expect_code(1);
    let rows = iterations(&by_gates);
    assert!(rows.iter().all(|row| row["progress"] == true && row["score"]["total"].is_f64()), "{rows:?}");
    let id = by_gates.id();
    assert!(!by_gates.run(&["history", &id]).out().contains("SCORE"), "a column only where the score decides");
}

#[test]
fn the_output_of_an_agent_program_is_its_final_message() {
    // req: A-04 partly: of a program whose output has another form
    let script = r#"echo '{"type":"thread.started","thread_id":"01a1e083-0000-7000-8000-000000000001"}'
cat > /dev/null
echo '{"type":"turn.started"}'
printf '{"type":"item.completed","item":{"id":"item_%s","type":"agent_message","text":"The tests still fail."}}\n' "$$"
echo '{"type":"turn.completed","usage":{"input_tokens":1400,"cached_input_tokens":1000,"output_tokens":100}}'"#;
    let user = user();
    user.program("codex", &format!("[ \"$1\" = --version ] && {{ echo 'codex-cli 0.166.0'; exit 0; }}\n{script}"));
    user.run(&["start", "fix it", "--promise", "false", "--agent", "codex", "-n", "2"]).expect_code(1);
    let rows = iterations(&user);
    assert_eq!(rows.iter().map(|row| row["score"]["output"].clone()).collect::<Vec<_>>(), [1.0, 0.0], "{rows:?}");
}

const DOCUMENTED: &str = "# config/autonomous-loop.yaml\nloop:\n  max_iterations: null\n  max_time: \"8h\"\n  \
                          progress_threshold: 0.2\nrunaway:\n  min_iteration_duration: 2.0\n";

#[test]
fn a_documented_yaml_file_is_read_by_its_nested_names_and_means_the_profile() {
    // req: A-20 partly: the keys that are built
    // req: D-26 partly: the documented YAML
    let user = user();
    user.write("autonomous-loop.yaml", DOCUMENTED);
    let file = user.root().join("autonomous-loop.yaml");
    let agent = "echo '<promise>COMPLETE</promise>'";
    let words = ["start", "do it", "--config", file.to_str().unwrap(), "--agent-cmd", agent];
    user.run(&words).expect_code(0);
    let id = user.id();
    let settings = user.run(&["status", &id, "--json"]).json()["loops"][0]["settings"].clone();
    let text = |key: &str| settings[key]["value"].as_str().unwrap().to_owned();
    assert_eq!([text("profile"), text("max_iterations"), text("max_time")], ["autonomous", "unlimited", "8h"]);
    assert_eq!([text("progress_threshold"), text("min_iteration_duration")], ["0.2", "2.0s"]);
    // A flag counts more, a word that no key has is refused with its line.
    let ran = user.run(&[&words[..], &["--max-time", "1h"]].concat()).expect_code(0);
    assert!(ran.err().contains("1h"), "{}", ran.text());
    user.write("autonomous-loop.yaml", &DOCUMENTED.replace("max_time", "max_tiem"));
    let ran = user.run(&words).expect_code(4);
    assert!(ran.err().contains("autonomous-loop.yaml:4: unknown key loop.max_tiem"), "{}", ran.text());
    assert!(ran.err().contains("did you mean loop.max_time?"), "{}", ran.text());
    let ran = user.run(&["start", "do it", "--config", "nowhere.yaml", "--agent-cmd", agent]).expect_code(4);
    assert!(ran.err().contains("there is no such file"), "{}", ran.text());
}

#[test]
fn a_threshold_that_is_no_part_of_one_and_a_duration_without_a_unit_are_refused() {
    // req: A-30 partly: flags and files of a start
    let user = user();
    for (flag, value) in [
        ("--progress-threshold", "1.5"),
        ("--progress-threshold", "-1"),
        ("--progress-threshold", "x"),
        ("--max-time", "0s"),
        ("--max-time", "5"),
        ("--max-time", "-3h"),
    ] {
        let ran = user.run(&autonomous("true", &[flag, value])).expect_code(4);
        assert!(ran.err().contains(&format!("{flag}: ")), "{}", ran.text());
    }
    let ran = user.run(&["config", "set", "loop.progress_threshold", "0.3"]).expect_code(0);
    assert!(ran.err().contains("progress_threshold = 0.3"), "{}", ran.text());
    assert_eq!(user.run(&["config", "get", "loop.progress_threshold"]).expect_code(0).out(), "0.3\n");
}

/// The values of some settings of the newest loop.
fn held<const N: usize>(user: &loop_testkit::TestEnv, keys: [&str; N]) -> [String; N] {
    let id = user.id();
    let settings = user.run(&["status", &id, "--json"]).expect_code(0).json()["loops"][0]["settings"].clone();
    keys.map(|key| settings[key]["value"].as_str().unwrap_or("missing").to_owned())
}

#[test]
fn the_mode_conservative_prints_what_it_stands_for_and_a_flag_beside_it_counts_more() {
    // req: A-25 partly: without --roadmap and --daemon
    let user = user();
    let keys = ["max_iterations", "alert_every", "pause_on_critical", "profile"];
    let ran = user.run(&crate::start("touch ok", "test -e ok", &["--conservative"])).expect_code(0);
    let flags = "--conservative = --max-iterations 100 --alert-every 5 --pause-on-critical\n";
    assert!(ran.err().contains(flags), "{}", ran.text());
    assert_eq!(held(&user, keys), ["100", "5", "true", "loop"]);
    let other = crate::user();
    let beside = ["--no-pause-on-critical", "--conservative", "-n", "7"];
    other.run(&crate::start("touch ok", "test -e ok", &beside)).expect_code(0);
    assert_eq!(held(&other, keys), ["7", "5", "false", "loop"]);
}

#[test]
fn the_mode_autonomous_selects_the_profile_and_a_flag_beside_it_counts_more() {
    // req: A-25 partly: without --roadmap and --daemon
    let user = user();
    let agent = "echo '<promise>COMPLETE</promise>'";
    let words = ["start", "do it", "--autonomous", "--agent", "custom", "--agent-cmd", agent];
    let ran = user.run(&[&words[..], &["--max-time", "1h", "--no-watch-workspace"]].concat()).expect_code(0);
    let flags = "--autonomous = --profile autonomous --max-time 24h --agent auto --watch-workspace --enable-inbox \
                 --alert-every 10\n";
    assert!(ran.err().contains(flags), "{}", ran.text());
    let keys = ["profile", "max_time", "watch_workspace", "enable_inbox", "alert_every", "progress_by"];
    assert_eq!(held(&user, keys), ["autonomous", "1h", "false", "true", "10", "score"]);
    let other = crate::user();
    drop(other.run(&[&words[..], &["--profile", "loop", "--promise", "true"]].concat()));
    assert_eq!(held(&other, ["profile", "enable_inbox"]), ["loop", "true"]);
    let ran = other.run(&["start", "do it", "--autonomous", "--conservative", "--agent-cmd", agent]).expect_code(4);
    assert!(ran.err().contains("--conservative"), "{}", ran.text());
}

#[test]
fn every_documented_flag_but_those_of_later_parts_is_a_setting_of_the_loop() {
    // req: A-25 partly: without --roadmap and --daemon
    let script = r#"[ "$1" = --version ] && { echo 'codex-cli 0.166.0'; exit 0; }
echo '{"type":"thread.started","thread_id":"01a1e083-0000-7000-8000-000000000001"}'
cat > /dev/null
echo '{"type":"turn.started"}'
echo '{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"<promise>COMPLETE</promise>"}}'
echo '{"type":"turn.completed","usage":{"input_tokens":14,"cached_input_tokens":10,"output_tokens":1}}'"#;
    let user = user();
    user.program("codex", script);
    user.program("gemini", "echo 0.20.0");
    let numbers = "--max-time 8h --max-iterations 500 --cli codex,gemini --opus-limit 50 --progress-threshold 0.15 \
                   --stuck-after 3 --recovery-budget 20 --context-window 5 --summarize-every 10 --alert-every 10";
    let switches = "--pause-on-critical --watch-workspace --enable-inbox --autonomous";
    let flags = format!("{numbers} {switches}");
    let words: Vec<&str> = ["start", "do it"].into_iter().chain(flags.split_whitespace()).collect();
    user.run(&words).expect_code(0);
    let keys = ["max_time", "max_iterations", "agents", "opus_daily_limit", "progress_threshold", "stuck_after"];
    assert_eq!(held(&user, keys), ["8h", "500", "codex,gemini", "50", "0.15", "3"]);
    let keys = ["recovery_budget", "raw_window_size", "summarize_every", "alert_every", "pause_on_critical"];
    assert_eq!(held(&user, keys), ["20", "5", "10", "10", "true"]);
    assert_eq!(held(&user, ["watch_workspace", "enable_inbox", "profile"]), ["true", "true", "autonomous"]);
    let unlimited = crate::user();
    let agent = "echo '<promise>COMPLETE</promise>'";
    unlimited.run(&autonomous(agent, &["--max-iterations", "unlimited"])).expect_code(0);
    assert_eq!(held(&unlimited, ["max_iterations"]), ["unlimited"]);
}
