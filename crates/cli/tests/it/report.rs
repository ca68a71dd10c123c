//! `loop report` and `loop usage`: what a person reads in the morning.
use crate::integrity::SILENT_ONCE;
use crate::{start, user};

/// Prints two tests as TAP; the second passes when the file says so.
const TAP: &str =
    "printf '1..2\\nok 1 - a\\n'; if grep -q yes fixed; then echo ok 2 - b; else echo not ok 2 - b; false; fi";

#[test]
fn a_report_of_a_loop_says_what_was_asked_what_each_iteration_did_and_what_changed() {
    // req: D-10
    let user = user();
    user.write("work/fixed", "no\n");
    let agent = "if grep -q half fixed; then echo yes > fixed; else echo half > fixed; fi; echo 'now it is <better>'";
    user.run(&start(agent, TAP, &["-n", "5"])).expect_code(0);
    let id = user.id();
    let page = user.run(&["report", &id[..5]]).expect_code(0).out();
    for words in [
        "## Task\n\ndo it\n",
        "- **Tests**: 1 of 2 tests pass → 2 of 2 tests pass\n",
        "- **Changes**: +1 -1 (1 file)\n",
        "| 1 | custom | fail | 1/2 → 1/2 | +1 -1 (1 file): fixed |",
        "| 2 | custom | pass | 1/2 → 2/2 | +1 -1 (1 file): fixed |",
        "now it is &lt;better> |",
        "-no\n+yes\n",
        &format!("`loop verify {id}`"),
    ] {
        assert!(page.contains(words), "{words:?} is not in:\n{page}");
    }
    let json = user.run(&["report", &id, "--json"]).expect_code(0).json();
    assert_eq!(json["version"], 1);
    assert_eq!(json["iterations"][1]["tests_after"]["passed"], 2);
    assert_eq!(json["iterations"][0]["said"], "now it is <better>");
    assert_eq!(json["changes"]["files"], 1);
    let html = user.run(&["report", &id, "--format", "html", "-o", "page.html"]).expect_code(0);
    assert_eq!(html.out(), "", "it is in the file");
    let html = user.read("work/page.html");
    assert!(html.contains("<td>now it is &lt;better&gt;</td>") && !html.contains("<better"), "{html}");
}

#[test]
fn a_report_is_not_written_through_a_link_that_an_agent_put_in_its_place() {
    // req: RT-R10
    let user = user();
    user.write("victim", "mine\n");
    user.run(&start("ln -s ../victim page.md", "test -h page.md", &[])).expect_code(0);
    for words in [&["report", &user.id(), "-o", "page.md"][..], &["report", "-o", "page.md"]] {
        let refused = user.run(words).expect_code(3);
        assert!(refused.err().contains("error: cannot write page.md"), "{}", refused.text());
        assert_eq!(user.read("victim"), "mine\n", "{words:?}");
    }
}

#[test]
fn the_report_of_a_night_begins_with_what_needs_a_person() {
    let user = user();
    let none = user.run(&["report"]).expect_code(0).out();
    assert!(none.contains("No loop was at work."), "{none}");
    user.run(&start("true", "false", &["-n", "1"])).expect_code(1);
    let red = user.id();
    user.run(&start("true", "true", &[])).expect_code(0);
    let page = user.run(&["report"]).expect_code(0).out();
    let places = ["1 needs you, 1 is done", "## Do this first", &format!("### {red}: do it"), "## Done"];
    let found: Vec<Option<usize>> = places.iter().map(|words| page.find(words)).collect();
    assert!(found.iter().all(Option::is_some) && found.is_sorted(), "{found:?}\n{page}");
    assert!(page.contains("- **Red**: promise: false (exit 1)\n"), "{page}");
    assert!(page.contains("- **Cost**: not reported\n"), "{page}");
    assert!(page.contains(&format!("- next: `loop resume {red} -n +5`\n")), "{page}");
    let later = user.run(&["report", "--since", "2099-01-01", "--json"]).expect_code(0).json();
    assert_eq!(later["loops"].as_array().unwrap().len(), 0);
}

#[test]
fn usage_counts_calls_by_agent_and_says_what_was_not_reported() {
    let user = user();
    user.program("claude", SILENT_ONCE);
    let none = user.run(&["usage"]).expect_code(0).out();
    assert!(none.starts_with("no call since "), "{none}");
    let words = ["start", "do it", "-p", "test -e never", "--agent", "claude", "-n", "3", "--breaker", "off"];
    user.run(&words).expect_code(1);
    // What is in the ledger because calls are limited, and what is only in a journal, are one row.
    user.run(&start("true", "false", &["-n", "1"])).expect_code(1);
    user.run(&start("true", "false", &["-n", "1", "--max-calls-per-day", "9"])).expect_code(1);
    let ran = user.run(&["usage"]).expect_code(0);
    assert!(ran.err().contains("what they cost is not known"), "{}", ran.text());
    let shown = ran.out();
    let rows: Vec<Vec<&str>> = shown.lines().skip(1).map(|row| row.split_whitespace().skip(1).collect()).collect();
    assert_eq!(rows[0], ["claude", "3", "30", "$0.50", "1", "call"], "{shown}");
    assert_eq!(rows[1], ["custom", "2", "-", "-", "2", "calls"], "{shown}");
    let json = user.run(&["usage", "--by-day", "--json"]).expect_code(0).json();
    let total = &json["total"];
    assert_eq!(
        (&total["cost_usd"], &total["calls"], &total["calls_not_reported"]),
        (&0.5.into(), &5.into(), &3.into()),
        "{json}"
    );
}

#[test]
fn watch_prints_the_same_events_as_the_start_did() {
    let user = user();
    let ran = user.run(&start("true", "false", &["-n", "2", "--json"])).expect_code(1);
    let watched = user.run(&["watch", &user.id(), "--json"]).expect_code(0);
    let names = |text: &str| -> Vec<String> {
        let event = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["event"].to_string();
        text.lines().map(event).collect()
    };
    assert_eq!(names(&watched.out()), names(&ran.out()));
    assert!(watched.out().lines().last().unwrap().contains("\"ended\""), "{}", watched.out());
}

#[test]
fn a_loop_that_is_told_to_stop_ends_after_its_iteration_and_can_be_resumed() {
    let user = user();
    let agent = "touch began; while [ ! -e go ]; do sleep 0.02; done";
    let running = user.begin(&start(agent, "false", &["-n", "5"]));
    user.wait_for_file("work/began");
    let told = user.run(&["stop", &user.id()]).expect_code(0).out();
    assert_eq!(told, format!("loop {}: stops after this iteration\n", user.id()));
    user.write("work/go", "");
    running.end().expect_code(2);
    let row = user.run(&["ls", "--json"]).expect_code(0).json()["loops"][0].clone();
    assert_eq!((&row["iteration"], &row["resumable"]), (&1.into(), &true.into()), "{row}");
    user.run(&["resume", &user.id(), "-n", "2"]).expect_code(1);
}
