//! Workflows as a whole: conflicts, questions, files that are read again, and what survives a kill.
use std::fs;
use std::process::{Command, Stdio};

use loop_testkit::{TestEnv, wait_until};

use crate::user;

/// Quick: each loop is judged where it works.
const QUICK: [&str; 4] = ["--judge", "workspace", "--strength", "off"];

fn run<'a>(file: &'a str, agent: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["workflow", "run", file, "--agent-cmd", agent][..], &QUICK[..], more].concat()
}

fn project() -> TestEnv {
    let user = user();
    user.write("work/readme.txt", "one\ntwo\nthree\nfour\nfive\n");
    user.program("loop", &format!("exec {} \"$@\"", env!("CARGO_BIN_EXE_loop")));
    user
}

/// The id of the only plan.
fn plan(user: &TestEnv) -> String {
    let entries = fs::read_dir(user.state().join("plans")).into_iter().flatten().flatten();
    let ids: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    assert_eq!(ids.len(), 1, "one plan: {ids:?}");
    ids[0].clone()
}

/// How often each task was given to the agent.
fn calls(user: &TestEnv, task: &str) -> usize {
    fs::read_to_string(user.root().join("calls")).unwrap_or_default().lines().filter(|line| *line == task).count()
}

/// Writes down which task it has, then does what the task is for.
fn agent(user: &TestEnv, arms: &str) -> String {
    let calls = user.root().join("calls");
    format!("prompt=$(cat); did() {{ echo \"$1\" >> {}; }}; case \"$prompt\" in {arms} esac", calls.display())
}

#[test]
fn a_changed_file_is_read_again_and_only_what_changed_and_its_dependents_run_again() {
    // req: D-12 partly: resume by what changed
    let user = project();
    let agent = agent(
        &user,
        "*'task A'*) did A; echo a > a.txt;; *'task B'*) did B; echo b > b.txt;; \
         *'task C'*) did C; cat a.txt b.txt > c.txt;; *'task D'*) did D; echo d > d.txt;;",
    );
    let file = |promise: &str, more: &str| {
        format!(
            "loops:\n  - {{id: a, prompt: task A, promise: test -e a.txt}}\n  \
             - {{id: b, prompt: \"task B {{{{what}}}}\", promise: {promise}, depends_on: [a], max_iterations: 1}}\n  \
             - {{id: c, prompt: task C, promise: test -e c.txt, depends_on: [b]}}\n{more}"
        )
    };
    user.write("work/flow.yaml", &file("grep -q wrong b.txt", ""));
    drop(user.run(&run("flow.yaml", &agent, &["--set", "what=now"])).expect_code(1));
    let id = plan(&user);
    let gone = "  - {id: d, prompt: task D, promise: test -e d.txt}\n";
    user.write("work/flow.yaml", &file("grep -q b b.txt", gone));
    let dry = user.run(&["workflow", "resume", &id, "--dry-run"]).expect_code(0);
    let said = dry.out();
    let lines: Vec<&str> = said.lines().take(4).collect();
    assert_eq!(
        lines,
        [
            "a  stays: nothing that it is made of has changed",
            "b  runs again: its prompt, gates, settings or dependencies changed",
            "c  starts: it had not started",
            "d  starts: it was not in the plan before",
        ],
        "{}",
        dry.text()
    );
    assert!(!user.work().join("a.txt").exists() && calls(&user, "B") == 1, "a dry run does nothing");
    let resumed = user.run(&["workflow", "resume", &id]).expect_code(0);
    assert_eq!(user.read("work/c.txt"), "a\nb\n", "{}", resumed.text());
    assert_eq!(user.read("work/d.txt"), "d\n");
    let counted: Vec<usize> = ["A", "B", "C", "D"].iter().map(|task| calls(&user, task)).collect();
    assert_eq!(counted, [1, 2, 1, 1], "{}", resumed.text());
    let late = user.run(&["workflow", "resume", "last"]).expect_code(4);
    assert!(late.err().contains("has ended"), "{}", late.text());
}

#[test]
fn a_loop_that_began_with_the_result_of_a_changed_one_runs_again_and_the_workspace_changes_nothing() {
    // req: D-12 partly: the merged input is a part of the key
    let user = project();
    let agent = agent(
        &user,
        "*'task A'*) did A; echo a > a.txt;; *'task B'*) did B; cat a.txt > b.txt;; *'task C'*) did C; echo c > c.txt;;",
    );
    // The globs overlap: the second begins when the first is merged, and does not name it.
    let file = |task: &str, promise: &str| {
        format!(
            "loops:\n  - {{id: a, prompt: {task}, promise: test -e a.txt, touches: [x]}}\n  \
             - {{id: b, prompt: task B, promise: test -e b.txt, touches: [x]}}\n  \
             - {{id: c, prompt: task C, promise: {promise}, depends_on: [b], max_iterations: 1}}\n"
        )
    };
    user.write("work/flow.yaml", &file("task A", "test -e never"));
    drop(user.run(&run("flow.yaml", &agent, &[])).expect_code(1));
    let id = plan(&user);
    // What the person changes meanwhile is not what the loops began with.
    user.write("work/readme.txt", "my own\n");
    user.write("work/flow.yaml", &file("task A", "test -e c.txt"));
    let dry = user.run(&["workflow", "resume", &id, "--dry-run"]).expect_code(0).out();
    assert!(dry.contains("a  stays") && dry.contains("b  stays") && dry.contains("c  runs again"), "{dry}");
    user.write("work/flow.yaml", &file("task A changed", "test -e c.txt"));
    let dry = user.run(&["workflow", "resume", "@", "--dry-run"]).expect_code(0).out();
    assert!(dry.contains("a  runs again: its prompt"), "{dry}");
    assert!(dry.contains("b  runs again: it began with the result of a, which is not the same any more"), "{dry}");
    let resumed = user.run(&["workflow", "resume", &id]).expect_code(0);
    assert_eq!([calls(&user, "A"), calls(&user, "B")], [2, 2], "{}", resumed.text());
    assert_eq!(user.read("work/readme.txt"), "my own\n", "{}", resumed.text());
}

/// A question between two loops.
const ASKS: &str = "loops:\n  - {id: a, prompt: task A, promise: test -e a.txt}\n  \
    - {id: look, ask: \"Which colour?\", depends_on: [a]}\n  \
    - {id: b, prompt: \"paint it {{answer.look}}\", promise: \"grep -qx {{answer.look}} colour.txt\", depends_on: [look]}\n";

const PAINTS: &str = "*'task A'*) did A; echo a > a.txt;; \
    *'paint it'*) did B; echo \"$ANSWER_LOOK\" > colour.txt; \
    case \"$prompt\" in *'paint it deep blue'*) echo prompt >> colour.txt;; esac;;";

#[test]
fn a_question_waits_for_a_person_and_what_depends_on_it_gets_the_answer() {
    // req: D-12 partly: questions to a person
    let user = project();
    let agent = agent(&user, PAINTS);
    user.write("work/flow.yaml", ASKS);
    let ran = user.run(&run("flow.yaml", &agent, &[])).expect_code(1);
    let id = plan(&user);
    let command = format!("loop answer {id} look TEXT");
    assert!(ran.out().contains("Which colour?") && ran.out().contains(&command), "{}", ran.text());
    let status = user.run(&["status", &id]).expect_code(0);
    assert!(status.out().contains("asks: Which colour?") && status.out().contains(&command), "{}", status.text());
    let listed = user.run(&["list"]).expect_code(0);
    let asks = |line: &str| line.contains(" asks ") && line.contains(" look ");
    assert!(listed.out().contains("(waits for you)") && listed.out().lines().any(asks), "{}", listed.text());
    let json = user.run(&["status", &id, "--json"]).expect_code(0).json();
    assert_eq!(json["nodes"][1]["question"], "Which colour?");
    // Resumed without an answer, it asks again.
    drop(user.run(&["resume", &id]).expect_code(1));
    let wrong = user.run(&["answer", &id, "a", "yes"]).expect_code(4);
    assert!(wrong.err().contains("these ask something: look"), "{}", wrong.text());
    let answered = user.run(&["answer", &id, "look", "deep", "blue"]).expect_code(0);
    assert_eq!(user.read("work/colour.txt"), "deep blue\nprompt\n", "{}", answered.text());
    for plan in [id.as_str(), "@", "last"] {
        let second = user.run(&["answer", plan, "look", "red"]).expect_code(4);
        assert!(second.err().contains("does not ask anything now"), "{}", second.text());
    }
    assert_eq!(calls(&user, "A"), 1, "what is done stays");
}

#[test]
fn a_no_ends_what_depends_on_the_question_and_an_agent_cannot_answer() {
    // req: D-12 partly: questions to a person
    let user = project();
    let agent = agent(&user, PAINTS);
    user.write("work/flow.yaml", ASKS);
    drop(user.run(&run("flow.yaml", &agent, &[])).expect_code(1));
    let id = plan(&user);
    let out = user.root().join("said.txt");
    let answers = format!("loop answer {id} look yes > {} 2>&1; touch done.txt", out.display());
    let start = ["start", "try it", "--promise", "test -e done.txt", "--agent-cmd", &answers];
    drop(user.run(&[&start[..], &QUICK[..]].concat()).expect_code(0));
    let said = fs::read_to_string(&out).unwrap();
    assert!(said.contains("is for a person"), "{said}");
    assert!(!user.work().join("colour.txt").exists());
    let no = user.run(&["answer", &id, "look", "no"]).expect_code(1);
    assert!(no.text().contains("depends on look, which a person refused"), "{}", no.text());
    assert_eq!(calls(&user, "B"), 0);
    assert!(!user.work().join("a.txt").exists());
}

#[test]
fn on_a_terminal_a_question_is_answered_by_typing() {
    // req: D-12 partly: questions to a person
    let user = project();
    let agent = agent(&user, PAINTS);
    user.write("work/flow.yaml", ASKS);
    user.write("agent.sh", &agent);
    let program = env!("CARGO_BIN_EXE_loop");
    let line = format!(
        "{program} workflow run flow.yaml --agent-cmd 'sh {}' --judge workspace --strength off",
        user.root().join("agent.sh").display()
    );
    let mut running = user.begin_on_a_terminal(&line, Stdio::piped());
    user.wait_for_screen("type the answer and Enter", 1);
    running.type_in(b"green\n");
    let ran = running.end();
    assert_eq!(ran.code, Some(0), "{}", user.screen());
    assert_eq!(user.read("work/colour.txt"), "green\n");
}

/// Two loops that change the same line.
fn conflicting(on_conflict: &str) -> String {
    format!(
        "on_conflict: {on_conflict}\nloops:\n  \
         - {{id: a, prompt: task A, promise: grep -q A readme.txt, max_iterations: 1}}\n  \
         - {{id: b, prompt: task B, promise: grep -q B readme.txt, max_iterations: 1}}\n"
    )
}

/// Both loops begin with the same state; the second one ends when the first one is merged.
fn both(user: &TestEnv, first: &str) -> String {
    let journals = user.state().join("plans").join("*").join("journal.jsonl");
    let merged = format!("grep -qs '\"node\":\"a\",\"end\":\"merged\"' {}", journals.display());
    agent(
        user,
        &format!(
            "{first} *'task A'*) did A; sed -i 's/three/A/' readme.txt;; \
             *'task B'*) did B; while ! {merged}; do sleep 0.05; done; \
             sed -i -e 's/three/B/' -e 's/A$/A B/' readme.txt;;"
        ),
    )
}

#[test]
fn a_conflict_stops_the_workflow_and_names_both_versions() {
    // req: D-12 partly: conflicts
    let user = project();
    user.write("work/flow.yaml", &conflicting("stop"));
    let ran = user.run(&run("flow.yaml", &both(&user, ""), &[])).expect_code(1);
    assert!(ran.text().contains("readme.txt: both changed the same lines"), "{}", ran.text());
    assert_eq!(user.read("work/readme.txt"), "one\ntwo\nthree\nfour\nfive\n");
}

#[test]
fn a_conflict_with_rerun_runs_the_loop_again_from_the_merged_state() {
    // req: D-12 partly: conflicts
    let user = project();
    user.write("work/flow.yaml", &conflicting("rerun"));
    let ran = user.run(&run("flow.yaml", &both(&user, ""), &[])).expect_code(0);
    assert_eq!(user.read("work/readme.txt"), "one\ntwo\nA B\nfour\nfive\n", "{}", ran.text());
    assert_eq!((calls(&user, "A"), calls(&user, "B")), (1, 2));
}

#[test]
fn a_conflict_with_agent_is_resolved_by_a_loop_with_the_gates_of_both() {
    // req: D-12 partly: conflicts
    let user = project();
    user.write("work/flow.yaml", &conflicting("agent"));
    let resolves = "*'conflict markers'*) did R; \
        sed -i -e '/^<<<<<<< /d' -e '/^======= /d' -e '/^>>>>>>> /d' readme.txt;; ";
    let ran = user.run(&run("flow.yaml", &both(&user, resolves), &[])).expect_code(0);
    assert_eq!(user.read("work/readme.txt"), "one\ntwo\nA\nB\nfour\nfive\n", "{}", ran.text());
    assert_eq!((calls(&user, "R"), user.ids().len()), (1, 3), "{}", ran.text());
    let journal = |run: &String| fs::read_to_string(user.run_folder(run).join("journal.jsonl")).unwrap();
    let has_gates = |journal: &String| journal.contains("no-conflict-markers") && journal.contains("a.promise");
    assert_eq!(user.ids().iter().map(journal).filter(has_gates).count(), 1);
}

#[test]
fn a_conflict_that_the_agent_leaves_is_a_conflict() {
    // req: D-12 partly: conflicts
    let user = project();
    user.write("work/flow.yaml", &conflicting("agent"));
    let leaves = "*'conflict markers'*) did R; sed -i -e '/^<<<<<<< /d' readme.txt;; ";
    let ran = user.run(&run("flow.yaml", &both(&user, leaves), &[])).expect_code(1);
    assert!(ran.text().contains("an agent could not resolve it"), "{}", ran.text());
    assert_eq!(user.read("work/readme.txt"), "one\ntwo\nthree\nfour\nfive\n");
    assert_eq!(calls(&user, "R"), 1);
}

#[test]
fn gates_that_fail_on_the_merged_tree_end_the_workflow_though_both_loops_passed() {
    // req: D-12 partly: merges
    let user = project();
    user.write(
        "work/flow.yaml",
        "loops:\n  - {id: a, prompt: task A, promise: test -e a.txt && ! test -e b.txt}\n  \
         - {id: b, prompt: task B, promise: test -e b.txt}\n",
    );
    let agent = agent(&user, "*'task A'*) did A; echo a > a.txt;; *'task B'*) did B; echo b > b.txt;;");
    let ran = user.run(&run("flow.yaml", &agent, &[])).expect_code(1);
    assert!(ran.text().contains("it passes alone, and gates fail on the merged tree"), "{}", ran.text());
    assert!(!user.work().join("a.txt").exists() && !user.work().join("b.txt").exists());
    assert_eq!((calls(&user, "A"), calls(&user, "B")), (1, 1));
}

#[test]
fn where_no_loop_failed_a_rollback_of_failed_loop_undoes_the_whole_workflow() {
    // req: D-12 partly: commands at the end
    let user = project();
    // It passes in every copy, and not in the workspace.
    user.write("here", "");
    user.write(
        "work/flow.yaml",
        "loops:\n  - {id: a, prompt: task A, promise: test -e a.txt && ! test -e ../here}\n\
         on_failure:\n  - \"loop rollback {{failed_loop}} initial > ../rolled.txt 2>&1; echo $? > ../code.txt\"\n",
    );
    let ran = user.run(&run("flow.yaml", &agent(&user, "*'task A'*) did A; echo a > a.txt;;"), &[])).expect_code(1);
    assert!(ran.text().contains("not here"), "{}", ran.text());
    assert_eq!(user.read("code.txt"), "0\n", "{}\n{}", user.read("rolled.txt"), ran.text());
    assert!(!user.work().join("a.txt").exists(), "{}", ran.text());
}

/// Facts that begin or end something of a node, or of the plan.
const BOUNDARIES: [&str; 9] = [
    "\"ordered\":{\"id\"",
    "{\"starts\":{",
    "{\"ran\":{",
    "{\"node_ended\":{",
    "\"run_ended\":{",
    "\"merged\":{\"tree\"",
    "\"applied\":{",
    "\"copied\":{",
    "\"ends\":{",
];

fn boundaries(user: &TestEnv) -> usize {
    let entries = fs::read_dir(user.state().join("plans")).into_iter().flatten().flatten();
    let text: String =
        entries.filter_map(|entry| fs::read_to_string(entry.path().join("journal.jsonl")).ok()).collect();
    text.lines().filter(|line| BOUNDARIES.iter().any(|words| line.contains(words))).count()
}

#[test]
fn a_workflow_that_is_killed_at_every_boundary_of_a_node_is_finished_by_a_resume() {
    // req: D-12 partly: crashes
    let flow = "loops:\n  - {id: a, prompt: task A, promise: test -e a.txt}\n  \
                - {id: b, prompt: task B, promise: test -e b.txt, depends_on: [a]}\n\
                on_complete:\n  - echo told >> ../told.txt\n";
    let arms = "*'task A'*) did A; echo a > a.txt;; *'task B'*) did B; echo b > b.txt;;";
    let whole = project();
    whole.write("work/flow.yaml", flow);
    drop(whole.run(&run("flow.yaml", &agent(&whole, arms), &[])).expect_code(0));
    let count = boundaries(&whole);
    assert!(count >= 15, "{count} boundaries");
    for at in 1..=count {
        let user = project();
        user.write("work/flow.yaml", flow);
        let agent = agent(&user, arms);
        let running = user.begin(&run("flow.yaml", &agent, &[]));
        wait_until("it came so far", || boundaries(&user) >= at);
        // Where it has ended in between, there is nothing to kill.
        drop(Command::new("kill").args(["-KILL", &running.pid().to_string()]).output());
        drop(running.end());
        let id = plan(&user);
        let status = user.run(&["status", &id, "--json"]).expect_code(0).json();
        if status["resumable"] == true {
            drop(user.run(&["resume", &id]).expect_code(0));
        }
        assert_eq!(user.tree("work"), ["a.txt", "b.txt", "flow.yaml", "readme.txt"], "boundary {at}");
        for task in ["A", "B"] {
            assert!(
                calls(&user, task) <= 2,
                "boundary {at}: {task} was given to the agent {} times",
                calls(&user, task)
            );
        }
        let told = fs::read_to_string(user.root().join("told.txt")).unwrap_or_default();
        assert!(told.lines().count() <= 1, "boundary {at}: {told}");
        assert_eq!(fs::read_dir(user.state().join("plan-copies")).map_or(0, Iterator::count), 0, "boundary {at}");
    }
}

/// Two loops at once that change one line, the second of which runs again from the merged state; then a question; then one
/// more loop.
const DIAMOND: &str = "parallel: 2\non_conflict: rerun\nloops:\n  - {id: top, prompt: task T, promise: test -e t.txt}\n  \
    - {id: a, prompt: task A, promise: grep -q A readme.txt, depends_on: [top]}\n  \
    - {id: b, prompt: task B, promise: grep -q B readme.txt, depends_on: [top]}\n  \
    - {id: look, ask: \"Go on?\", depends_on: [a, b]}\n  \
    - {id: end, prompt: task E, promise: test -e e.txt, depends_on: [look]}\n";

/// Resumes and answers until the plan has an end.
fn finished(user: &TestEnv, id: &str, at: usize) {
    for _ in 0..4 {
        let status = user.run(&["status", id, "--json"]).expect_code(0).json();
        let outcome = status["outcome"].as_str();
        if outcome == Some("applied") {
            return;
        }
        let words: &[&str] =
            if outcome == Some("awaits_person") { &["answer", id, "look", "yes"] } else { &["resume", id] };
        let ran = user.run(words);
        assert!(matches!(ran.code, Some(0 | 1)), "boundary {at}: {}", ran.text());
    }
    panic!("boundary {at}: {}", user.run(&["status", id]).text());
}

#[test]
fn a_diamond_with_a_question_and_a_conflict_that_is_killed_at_a_boundary_is_finished() {
    // req: D-12 partly: crashes
    let arms = "*'task T'*) did T; echo t > t.txt;;";
    let whole = project();
    whole.write("work/flow.yaml", DIAMOND);
    let agent_of = |user: &TestEnv| both(user, &format!("{arms} *'task E'*) did E; echo e > e.txt;;"));
    drop(whole.run(&run("flow.yaml", &agent_of(&whole), &[])).expect_code(1));
    let count = boundaries(&whole);
    finished(&whole, &plan(&whole), 0);
    assert!(count >= 20, "{count} boundaries up to the question");
    // A sample; every boundary with KILL_POINTS=all.
    let step = if std::env::var_os("KILL_POINTS").is_some() { 1 } else { 5 };
    for at in (1..=count).step_by(step) {
        let user = project();
        user.write("work/flow.yaml", DIAMOND);
        let running = user.begin(&run("flow.yaml", &agent_of(&user), &[]));
        wait_until("it came so far", || boundaries(&user) >= at);
        drop(Command::new("kill").args(["-KILL", &running.pid().to_string()]).output());
        drop(running.end());
        finished(&user, &plan(&user), at);
        assert_eq!(user.read("work/readme.txt"), "one\ntwo\nA B\nfour\nfive\n", "boundary {at}");
        assert_eq!(user.tree("work"), ["e.txt", "flow.yaml", "readme.txt", "t.txt"], "boundary {at}");
        for (task, most) in [("T", 2), ("A", 2), ("B", 4), ("E", 2)] {
            let given = calls(&user, task);
            assert!(given <= most, "boundary {at}: {task} was given to the agent {given} times");
        }
        assert_eq!(fs::read_dir(user.state().join("plan-copies")).map_or(0, Iterator::count), 0, "boundary {at}");
    }
}
