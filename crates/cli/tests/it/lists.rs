//! `loop prd run` and `loop roadmap run` with the built program and scripted agents.
use std::fs;

use loop_testkit::TestEnv;

use crate::user;

/// Two items, with a field that no tool knows.
const PRD: &str = r#"{
  "items": [
    {"id": "A", "title": "write src", "acceptance_criteria": ["src.txt says new"], "passes": false, "notes": "", "own": 7},
    {"id": "B", "title": "write other", "acceptance_criteria": ["other.txt is there"], "passes": false, "notes": ""}
  ]
}
"#;

/// Does what the item in its prompt asks for.
const AGENT: &str = "prompt=$(cat); case \"$prompt\" in *'Item A:'*) echo new > src.txt;; \
    *'Item B:'*) echo b > other.txt;; esac";

/// What checks both items: each file must be there for its own item; the rest is not looked at.
const CHECK: &str = "test -e src.txt";

fn project() -> TestEnv {
    let user = user();
    user.write("work/readme.txt", "hello\n");
    user.write("work/prd.json", PRD);
    user
}

fn prd<'a>(check: &'a str, agent: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["prd", "run", "--check", check, "--agent-cmd", agent][..], more].concat()
}

fn passes(user: &TestEnv) -> Vec<bool> {
    let list: serde_json::Value = serde_json::from_str(&user.read("work/prd.json")).unwrap();
    list["items"].as_array().unwrap().iter().map(|item| item["passes"].as_bool().unwrap()).collect()
}

/// The only plan of this user.
fn plan(user: &TestEnv) -> String {
    let mut plans: Vec<String> = fs::read_dir(user.state().join("plans"))
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    assert_eq!(plans.len(), 1, "{plans:?}");
    plans.remove(0)
}

fn log(user: &TestEnv) -> Vec<String> {
    user.read("work/loop/log.txt").lines().map(str::to_owned).collect()
}

#[test]
fn one_run_yields_a_diff_a_verifier_output_and_a_decision_update_which_the_log_names() {
    // req: P-10
    // req: P-01
    // req: P-03
    // req: P-08 partly: SIGKILL at each step stands elsewhere
    let user = project();
    let ran = user.run(&prd("cat src.txt", AGENT, &[])).expect_code(0);
    let folder = user.state().join("plans").join(plan(&user));
    let diff = fs::read_to_string(folder.join("items/A-1/check-1/diff.patch")).unwrap();
    assert!(diff.contains("+new\n") && !diff.contains("prd.json"), "{diff}");
    let output = fs::read_to_string(folder.join("items/A-1/check-1/check.txt")).unwrap();
    assert_eq!(output, "$ cat src.txt\nexit 0\nnew\n");
    let list: serde_json::Value = serde_json::from_str(&user.read("work/prd.json")).unwrap();
    let notes = list["items"][0]["notes"].as_str().unwrap().to_owned();
    assert!(notes.contains("diff.patch") && notes.contains("src.txt"), "{notes}");
    // Nothing but the two values differs.
    let quoted = serde_json::Value::from(notes.as_str()).to_string();
    let expected = PRD.replacen("false, \"notes\": \"\"", &format!("true, \"notes\": {quoted}"), 1);
    assert_eq!(user.read("work/prd.json"), expected);
    assert!(user.read("work/progress.txt").contains("A: write src\npassed in 1 loop\n"), "{}", ran.text());
    let line = log(&user).pop().unwrap();
    let named = "artifacts=\"items/A-1/check-1/diff.patch, items/A-1/check-1/check.txt, prd.json, progress.txt\"";
    assert!(line.contains("item=A loop=1 verdict=\"PASS\"") && line.contains(named), "{line}");
    assert_eq!(user.read("work/src.txt"), "new\n");
}

#[test]
fn one_item_is_done_and_the_run_stops_and_all_continues_until_none_is_open() {
    // req: P-11
    // req: P-02 partly: the order by priority is a rule of the list
    let user = project();
    user.run(&prd(CHECK, AGENT, &[])).expect_code(0);
    assert_eq!(passes(&user), [true, false]);
    let ran = user.run(&prd(CHECK, AGENT, &["--all"])).expect_code(0);
    assert_eq!(passes(&user), [true, true], "{}", ran.text());
    let done = user.run(&prd(CHECK, AGENT, &["--all"])).expect_code(0);
    assert!(done.out().contains("nothing is open: all is done"), "{}", done.text());
    let again = user.run(&prd(CHECK, AGENT, &["--item", "A"])).expect_code(4);
    assert!(again.err().contains("A is done already"), "{}", again.text());
}

#[test]
fn a_failed_check_is_retried_with_one_thing_changed_which_the_prompt_and_the_log_name() {
    // req: P-05 partly: one type of failure; the table of all is a story
    // req: P-04
    let user = project();
    let root = user.root().display().to_string();
    let agent = format!(
        "cat > {root}/prompt-$(ls {root} | grep -c prompt).txt; test -e src.txt && echo new > src.txt || echo bad > src.txt"
    );
    let ran = user.run(&prd("grep new src.txt || { echo 'expected new'; exit 1; }", &agent, &[])).expect_code(0);
    let second = user.read("prompt-1.txt");
    assert!(second.contains("This is loop 2 of at most 3 for item A."), "{second}");
    assert!(second.contains("The last loop failed (check failed). One thing is different now."), "{second}");
    assert!(second.contains("expected new") && second.contains("exit code: 1"), "the last error is in it: {second}");
    let lines = log(&user);
    assert!(lines[0].contains("verdict=\"FAIL (check failed)\"") && lines[0].contains("retry=1 changes=\"narrower"));
    assert!(lines[1].contains("loop=2 verdict=\"PASS\"") && lines.len() == 2, "{lines:?}\n{}", ran.text());
    let error = user.read("work/loop/last_error.txt");
    assert!(error.contains("item: A\nloop: 1\nverdict: FAIL (check failed)"), "{error}");
}

#[test]
fn three_loops_end_an_item_with_diagnostics_and_exit_1_and_nothing_of_the_workspace_changes() {
    // req: P-06 partly: time and tokens are stories
    // req: P-07
    // req: P-14
    let user = project();
    let ran = user.run(&prd("exit 1", AGENT, &["--all"])).expect_code(1);
    assert_eq!(passes(&user), [false, false], "the next item is not begun");
    assert!(!user.work().join("src.txt").exists() && !user.work().join("progress.txt").exists());
    let lines = log(&user);
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert!(lines[2].contains("end=\"retry budget used: check failed 3 times (2 retries)\""), "{}", lines[2]);
    assert!(lines[3].contains("ESCALATION") && lines[3].contains("tried:; retry 1 after check failed"), "{}", lines[3]);
    assert!(ran.out().contains("A: retry budget used: check failed 3 times"), "{}", ran.text());
    let report = user.run(&["report", &plan(&user), "--format", "markdown"]).expect_code(0);
    assert!(report.out().contains("retry budget used: check failed 3 times"), "{}", report.text());
}

#[test]
fn a_check_that_cannot_run_is_a_missing_sensor_and_a_resume_checks_again_without_an_agent() {
    // req: P-07
    let user = project();
    let calls = user.root().join("calls.txt").display().to_string();
    let agent = format!("echo x >> {calls}; {AGENT}");
    let ran = user.run(&prd("look-at-it src.txt", &agent, &[])).expect_code(1);
    assert!(ran.out().contains("sensor missing: check command"), "{}", ran.text());
    assert!(log(&user)[0].contains("verdict=\"SENSOR MISSING (check command)\""), "{:?}", log(&user));
    assert_eq!(passes(&user), [false, false]);
    user.program("look-at-it", "test -e \"$1\"");
    let ran = user.run(&["resume", &plan(&user)]).expect_code(0);
    assert_eq!(passes(&user), [true, false], "{}", ran.text());
    assert_eq!(user.read("calls.txt"), "x\n", "no agent worked again");
}

#[test]
fn what_an_agent_changes_in_the_files_of_the_harness_is_undone_flagged_and_never_believed() {
    // req: P-12
    let user = project();
    let lies = "sed -i s/false/true/ prd.json; mkdir -p loop; echo 'verdict=\"PASS\"' >> loop/log.txt; \
                echo 'A passed' >> progress.txt; echo true > check.sh; echo '<promise>COMPLETE</promise>'";
    user.write("work/check.sh", "grep -q right src.txt\n");
    let ran = user.run(&prd("sh check.sh", lies, &[])).expect_code(1);
    assert_eq!(user.read("work/prd.json"), PRD);
    assert!(!user.work().join("progress.txt").exists());
    assert_eq!(user.read("work/check.sh"), "grep -q right src.txt\n");
    assert!(log(&user).iter().all(|line| !line.contains("\"PASS\"")), "{:?}", log(&user));
    let said = "edits of the agent that were undone: check.sh, loop/log.txt, prd.json, progress.txt";
    assert!(ran.err().contains(said), "{}", ran.text());
}

#[test]
fn a_note_of_the_agent_is_taken_from_its_last_words_and_quoted_as_its_own() {
    // req: P-12
    let user = project();
    let agent = format!("{AGENT}; echo 'NOTE: the parser was rewritten'");
    user.run(&prd(CHECK, &agent, &[])).expect_code(0);
    assert!(user.read("work/prd.json").contains("The agent says: the parser was rewritten"));
}

#[test]
fn changes_outside_of_the_scope_are_flagged_and_with_strict_scope_they_fail() {
    // req: P-09
    let user = user();
    user.write("work/prd.json", &PRD.replace("\"own\": 7", "\"scope\": [\"src.txt\"]"));
    let agent = format!("{AGENT}; echo x > stray.txt");
    let ran = user.run(&prd(CHECK, &agent, &["--strict-scope"])).expect_code(1);
    assert!(ran.err().contains("FAIL (scope left): files outside of the item's scope: stray.txt"), "{}", ran.text());
    let ran = user.run(&prd(CHECK, &agent, &[])).expect_code(0);
    assert!(ran.err().contains("changed files outside of the item's scope: stray.txt"), "{}", ran.text());
}

#[test]
fn commands_of_the_repository_run_only_after_a_person_approved_them() {
    // req: P-13
    // req: P-03
    let user = project();
    user.write("work/scripts/ralph/loop.sh", "test -e src.txt\n");
    let words = ["prd", "run", "--agent-cmd", AGENT];
    let ran = user.run(&words).expect_code(4);
    assert!(ran.err().contains("not approved") && ran.err().contains("scripts/ralph/loop.sh"), "{}", ran.text());
    assert!(!user.state().join("plans").exists(), "nothing was made");
    user.run(&[&words[..], &["--approve"]].concat()).expect_code(0);
    assert_eq!(passes(&user), [true, false]);
}

#[test]
fn a_list_that_a_person_edits_is_read_again_before_the_next_item_and_the_running_one_is_not_disturbed() {
    let user = project();
    let edit = user.work().join("prd.json").display().to_string();
    // The person adds an item while A is worked on.
    let agent = format!(
        "prompt=$(cat); case \"$prompt\" in *'Item A:'*) echo new > src.txt; \
         sed -i 's/^  ]/  , {{\"id\": \"C\", \"title\": \"more\", \"passes\": false}} ]/' {edit};; \
         *'Item B:'*) echo b > other.txt;; *'Item C:'*) echo c > c.txt;; esac"
    );
    let ran = user.run(&prd(CHECK, &agent, &["--all"])).expect_code(0);
    assert_eq!(passes(&user), [true, true, true], "{}", ran.text());
    assert!(ran.err().contains("the list was changed: added: C"), "{}", ran.err());
}

#[test]
fn an_item_that_a_person_changed_while_it_ran_is_not_ticked() {
    let user = project();
    let edit = user.work().join("prd.json").display().to_string();
    let agent = format!("cat > /dev/null; echo new > src.txt; sed -i 's/src.txt says new/src.txt says newer/' {edit}");
    let ran = user.run(&prd(CHECK, &agent, &[])).expect_code(1);
    assert!(ran.out().contains("not ticked: A was changed since the list was read"), "{}", ran.text());
    assert_eq!(passes(&user), [false, false]);
    assert!(!user.work().join("progress.txt").exists(), "all or none");
}

#[test]
fn independent_items_work_beside_each_other_and_are_merged_one_by_one_with_the_checks_of_all() {
    let user = user();
    let root = user.root().display().to_string();
    user.write("work/readme.txt", "one\ntwo\nthree\nfour\nfive\n");
    user.write(
        "work/prd.json",
        "{\"items\": [\n  {\"id\": \"A\", \"title\": \"first\", \"passes\": false, \"parallel\": true},\n  \
         {\"id\": \"B\", \"title\": \"last\", \"passes\": false, \"parallel\": true}\n]}\n",
    );
    let meet = |own: &str, other: &str| {
        format!(
            "touch {root}/at-{own}; n=0; while ! test -e {root}/at-{other} && test $n -lt 500; do n=$((n+1)); sleep 0.02; done; test -e {root}/at-{other} || exit 1"
        )
    };
    let agent = format!(
        "prompt=$(cat); case \"$prompt\" in *'Item A:'*) {}; sed -i s/one/ONE/ readme.txt;; \
         *'Item B:'*) {}; sed -i s/five/FIVE/ readme.txt;; esac",
        meet("a", "b"),
        meet("b", "a"),
    );
    let ran = user.run(&prd("grep -q -e ONE -e FIVE readme.txt", &agent, &["--all", "--parallel", "2"])).expect_code(0);
    assert_eq!(user.read("work/readme.txt"), "ONE\ntwo\nthree\nfour\nFIVE\n", "{}", ran.text());
    assert_eq!(passes(&user), [true, true]);
}

#[test]
fn the_status_of_a_list_shows_what_was_proven_and_the_report_what_proved_each_criterion() {
    let user = project();
    user.run(&prd(CHECK, AGENT, &[])).expect_code(0);
    let status = user.run(&["prd", "status"]).expect_code(0);
    assert!(status.out().contains("read as: LoopSpec prd.json, 1 open of 2"), "{}", status.out());
    let row = |id: &str| status.out().lines().find(|line| line.starts_with(id)).unwrap_or_default().to_owned();
    assert!(row("A").contains("proven") && row("B").contains("open"), "{}", status.out());
    let json = user.run(&["prd", "status", &plan(&user), "--json"]).expect_code(0).json();
    assert_eq!((&json["items"][0]["state"], &json["items"][0]["loops"]), (&"proven".into(), &1.into()), "{json}");
    let report = user.run(&["report", &plan(&user), "--format", "markdown"]).expect_code(0);
    assert!(report.out().contains("What proved each criterion"), "{}", report.out());
    assert!(report.out().contains("the item's diff and check only"), "{}", report.out());
    let rolled = user.run(&["rollback", &plan(&user), "initial"]).expect_code(0);
    assert_eq!(passes(&user), [false, false], "{}", rolled.text());
    assert_eq!(log(&user).len(), 1, "the log keeps all");
}

/// Tasks as the specification writes them, with a command that judges.
const ROADMAP: &str = "# Plan\n\n## Tasks\n\n- [ ] **one**: write one\n  - max_iterations: 2\n  - promise: test -e one.txt\n\n  \
    Goal: make one.txt\n\n- [ ] **two**: write two\n  - timeout: 1h\n  - completion_promise: TWO_DONE\n  - success: two is there\n";

fn roadmap<'a>(agent: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["roadmap", "run", "roadmap.md", "--agent-cmd", agent, "--no-recover"][..], more].concat()
}

#[test]
fn tasks_of_a_roadmap_run_in_order_with_their_own_settings_and_each_tick_changes_one_byte() {
    // req: A-21
    // req: A-28 partly: without --daemon
    let user = user();
    user.write("work/roadmap.md", ROADMAP);
    let agent = "prompt=$(cat); case \"$prompt\" in *'write one'*) test -e half && touch one.txt; touch half;; \
                 *'write two'*) echo \"$prompt\" > {root}/two.txt; touch two.txt; echo '<promise>TWO_DONE</promise>';; esac";
    let agent = agent.replace("{root}", &user.root().display().to_string());
    let ran = user.run(&roadmap(&agent, &[])).expect_code(0);
    let expected = ROADMAP.replace("[ ] **one**", "[x] **one**").replace("[ ] **two**", "[x] **two**");
    assert_eq!(user.read("work/roadmap.md"), expected, "{}", ran.text());
    assert!(user.work().join("one.txt").exists() && user.work().join("two.txt").exists());
    assert!(user.read("two.txt").contains("Success: two is there"), "{}", user.read("two.txt"));
    assert!(!user.work().join("loop").exists() && !user.work().join("progress.txt").exists());
}

#[test]
fn a_task_that_fails_stops_the_rest_but_with_keep_going() {
    // req: A-21
    // req: A-25 partly: without --daemon
    let user = user();
    user.write("work/roadmap.md", ROADMAP);
    let agent =
        "prompt=$(cat); case \"$prompt\" in *'write two'*) touch two.txt; echo '<promise>TWO_DONE</promise>';; esac";
    user.run(&["start", "--roadmap", "roadmap.md", "--agent-cmd", agent, "--no-recover"]).expect_code(1);
    assert_eq!(user.read("work/roadmap.md"), ROADMAP);
    let ran = user.run(&["start", "--roadmap", "roadmap.md", "--agent-cmd", agent, "--no-recover", "--keep-going"]);
    let ran = ran.expect_code(1);
    assert_eq!(user.read("work/roadmap.md"), ROADMAP.replace("[ ] **two**", "[x] **two**"), "{}", ran.text());
}

#[test]
fn a_wrong_key_of_a_roadmap_is_an_error_with_its_line_and_nothing_is_made() {
    // req: A-21
    let user = user();
    user.write("work/roadmap.md", &ROADMAP.replace("max_iterations", "max_iteration"));
    let ran = user.run(&roadmap("true", &[])).expect_code(4);
    assert!(ran.err().contains("roadmap.md:6:") && ran.err().contains("max_iterations"), "{}", ran.err());
    assert!(!user.state().join("plans").exists());
}
