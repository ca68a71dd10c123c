//! The custom agent: what it gets, and what is ended with it.
use crate::{start, user};

#[test]
fn an_agent_gets_its_prompt_and_is_told_where_it_stands() {
    // req: D-03 partly: custom
    let user = user();
    let agent = "env | grep ^LOOP_ | sort > env-$LOOP_ITERATION; pwd -P > where; cat > prompt-$LOOP_ITERATION";
    user.run(&start(agent, "test -e env-2", &[])).expect_code(0);
    let id = user.id();
    let seen = user.read("work/env-2");
    for line in [format!("LOOP_ID={id}"), "LOOP_ITERATION=2".to_owned(), "LOOP_ATTEMPT=1".to_owned()] {
        assert!(seen.lines().any(|seen| seen == line), "{line}: {seen}");
    }
    assert!(seen.contains("LOOP_PROMPT_FILE=") && seen.contains("/iterations/000002/attempt-1/prompt.md"), "{seen}");
    assert_eq!(user.read("work/where").trim(), user.work().canonicalize().unwrap().display().to_string());
    let kept = std::fs::read_to_string(user.run_folder(&id).join("iterations/000002/attempt-1/prompt.md")).unwrap();
    assert_eq!(kept, user.read("work/prompt-2"));
    assert!(kept.contains("<task>\ndo it\n</task>"));
}

#[test]
fn the_next_prompt_says_what_the_gate_said() {
    // req: D-02
    let user = user();
    let promise = "echo out-$(ls | wc -l); echo err >&2; exit 1";
    user.run(&start("cat > p$LOOP_ITERATION", promise, &["-n", "2"])).expect_code(1);
    let prompt = user.read("work/p2");
    assert!(prompt.contains("iteration 2 of at most 2"), "{prompt}");
    assert!(prompt.contains("It ended with: exit 1") && prompt.contains("The end of its stderr:\nerr"), "{prompt}");
    assert!(prompt.contains("The end of its stdout:\nout-1"), "{prompt}");
}

#[test]
fn what_an_agent_leaves_running_is_ended_before_the_gate_is_asked() {
    let escapes = [
        "sleep 300 &",
        "nohup sleep 300 >/dev/null 2>&1 &",
        "setsid sleep 300 >/dev/null 2>&1 &",
        "(setsid sh -c 'trap \"\" TERM HUP INT; while :; do sleep 300; done' >/dev/null 2>&1 &) ",
        "sh -c '(sleep 300 &)' &",
        "setsid sh -c 'sleep 300 & sleep 300' &",
        "env -i setsid sleep 300 &",
    ];
    for escape in escapes {
        let user = user();
        let ran = user.run(&start(&format!("{escape} echo left"), "test -e x || touch x", &["-n", "1", "--json"]));
        assert_eq!(ran.code, Some(0), "{}", ran.text());
        assert_eq!(user.marked(&user.id()), Vec::<u32>::new(), "{escape}");
    }
}

#[test]
fn children_that_loop_inherited_are_not_ended() {
    let user = user();
    let line = format!(
        "sleep 300 & echo $! > inherited; exec {} start x -p 'test -e y' --agent-cmd 'touch y; sleep 300 &'",
        env!("CARGO_BIN_EXE_loop")
    );
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &line]);
    user.dress(&mut command);
    // The inherited one holds the pipes too: they are of no interest here.
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let ran = loop_testkit::Running::of(command.spawn().unwrap(), user.root()).end();
    assert_eq!(ran.code, Some(0));
    let pid = user.read("work/inherited").trim().to_owned();
    assert!(std::path::Path::new(&format!("/proc/{pid}")).exists(), "not ours to end");
    assert!(std::process::Command::new("kill").arg(&pid).status().unwrap().success());
    assert_eq!(user.marked(&user.id()), Vec::<u32>::new());
}

#[test]
fn an_agent_over_its_time_is_ended_with_its_children_and_the_loop_goes_on() {
    // req: D-15
    let user = user();
    let agent = "trap '' TERM; touch began-$LOOP_ITERATION; sleep 300 & cat > p$LOOP_ITERATION; \
                 if [ $LOOP_ITERATION = 1 ]; then setsid sleep 300; fi";
    let ran = user.run(&start(agent, "test -e p2", &["--timeout", "300ms", "-n", "3"])).expect_code(0);
    assert!(ran.err().contains("over its time: ending the agent"), "{}", ran.text());
    assert!(user.read("work/p2").contains("was stopped because it took longer than 0.3s"), "{}", user.read("work/p2"));
    assert_eq!(user.marked(&user.id()), Vec::<u32>::new());
}

#[test]
fn an_agent_that_cannot_be_run_ends_the_loop_after_three_tries() {
    // req: D-21
    let user = user();
    let ran = user.run(&start("no-such-agent --go", "false", &["-n", "9"])).expect_code(3);
    assert!(
        ran.out().contains("the agent failed 3 times in a row and the promise said the same each time (exit 127)"),
        "{}",
        ran.text()
    );
    assert!(ran.out().contains("no-such-agent"), "{}", ran.text());
}

#[test]
fn a_flood_of_output_is_kept_within_bounds_and_read_to_its_end() {
    let user = user();
    let agent = "head -c 60000000 /dev/zero | tr '\\0' x; echo THE-END";
    user.run(&start(agent, "test -e x || touch x", &["-n", "1"])).expect_code(0);
    let folder = user.run_folder(&user.id()).join("iterations");
    assert!(!folder.join("000001").exists(), "the promise held before: no agent was needed");
    let second = crate::user();
    second.run(&start(agent, "test -e y", &["-n", "1"])).expect_code(1);
    let stdout = second.run_folder(&second.id()).join("iterations/000001/attempt-1/stdout");
    let sizes: Vec<u64> =
        std::fs::read_dir(&stdout).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).collect();
    assert!(sizes.iter().sum::<u64>() <= 33 * 1024 * 1024, "{sizes:?}");
    let shown = second.run(&["history", &second.id(), "--verbose"]).expect_code(0);
    assert!(shown.out().contains("THE-END"));
}
