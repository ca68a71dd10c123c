//! The custom agent: what it gets, and what is ended with it.
use loop_testkit::wait_until;

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

/// Children that try to outlive the agent; each writes its number, so that it is found whatever it clears.
const ESCAPES: [&str; 9] = [
    "sh -c 'echo $$ >> pids; exec sleep 300' &",
    "nohup sh -c 'echo $$ >> pids; exec sleep 300' >/dev/null 2>&1 &",
    "setsid sh -c 'echo $$ >> pids; exec sleep 300' >/dev/null 2>&1 &",
    "(setsid sh -c 'trap \"\" TERM HUP INT; echo $$ >> pids; while :; do sleep 1; done' >/dev/null 2>&1 &)",
    "sh -c '(sh -c \"echo \\$\\$ >> pids; exec sleep 300\" &)' &",
    "setsid sh -c 'echo $$ >> pids; sh -c \"echo \\$\\$ >> pids; exec sleep 300\" & exec sleep 300' &",
    "env -i setsid sh -c 'echo $$ >> pids; exec sleep 300' &",
    "setsid sh -c 'echo $$ >> pids; kill -STOP $$; exec sleep 300' &",
    "setsid sh -c 'exec >/dev/null 2>&1; echo $$ >> pids; (sh -c \"echo \\$\\$ >> pids; exec sleep 300\" &)' &",
];

fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with('Z'))
}

#[test]
fn what_an_agent_leaves_running_is_ended_before_the_gate_is_asked() {
    for escape in ESCAPES {
        let user = user();
        // The agent ends when its child is there; the gate looks whether anybody lives.
        let agent = format!("{escape}\nwhile [ ! -s pids ]; do sleep 0.01; done; echo left");
        let promise = "[ -s pids ] && for pid in $(cat pids); do kill -0 $pid 2>/dev/null && exit 9; done; [ -s pids ]";
        let ran = user.run(&start(&agent, promise, &["-n", "1"]));
        assert_eq!(ran.code, Some(0), "{escape}\n{}", ran.text());
        assert!(ran.err().contains("1/1  agent: exit 0"), "an agent worked: {}", ran.text());
        let pids = user.read("work/pids");
        let alive: Vec<&str> = pids.split_whitespace().filter(|pid| is_alive(pid)).collect();
        assert!(!pids.trim().is_empty() && alive.is_empty(), "{escape}: {alive:?}");
    }
}

#[test]
fn a_loop_inside_a_loop_is_ended_with_the_outer_one_also_when_that_was_killed() {
    let user = user();
    std::fs::create_dir(user.root().join("other")).unwrap();
    let inner = format!(
        "LOOP_HOME={} {} start inner -p false --workspace {} --agent-cmd 'echo $$ > inner-pid; sleep 300'",
        user.root().join("inner-home").display(),
        env!("CARGO_BIN_EXE_loop"),
        user.root().join("other").display()
    );
    let running = user.begin(&start(&inner, "false", &["-n", "1"]));
    user.wait_for_file("other/inner-pid");
    // A shell makes the file before it writes into it.
    wait_until("the inner agent says who it is", || !user.read("other/inner-pid").trim().is_empty());
    let pid = user.read("other/inner-pid").trim().to_owned();
    running.signal("KILL");
    let _killed = running.end();
    user.run(&["resume", &user.id(), "--agent-cmd", "true"]).expect_code(1);
    assert!(!is_alive(&pid), "the inner agent is a part of the outer loop");
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
    user.apply_env(&mut command);
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
    // req: D-15 partly: without background, which comes with loopd
    let user = user();
    let agent = "trap '' TERM; touch began-$LOOP_ITERATION; sleep 300 & cat > p$LOOP_ITERATION; \
                 if [ $LOOP_ITERATION = 1 ]; then setsid sleep 300; fi";
    let ran = user.run(&start(agent, "test -e p2", &["--timeout", "300ms", "-n", "3"])).expect_code(0);
    assert!(ran.err().contains("time limit of 0.3s reached: ending the agent"), "{}", ran.text());
    assert!(user.read("work/p2").contains("was stopped because it took longer than 0.3s"), "{}", user.read("work/p2"));
    assert_eq!(user.marked(&user.id()), Vec::<u32>::new());
}

#[test]
fn an_agent_without_a_sign_of_life_is_ended_and_one_that_does_anything_is_not() {
    let user = user();
    let agent = "cat > p$LOOP_ITERATION; [ $LOOP_ITERATION = 2 ] || sleep 300";
    let ran = user.run(&start(agent, "test -e p2", &["--idle-timeout", "600ms", "-n", "2"])).expect_code(0);
    assert!(ran.err().contains("no sign of life for 0.6s: ending the agent"), "{}", ran.text());
    assert!(user.read("work/p2").contains("because nothing happened for 0.6s"), "{}", user.read("work/p2"));
    let history = user.run(&["history", &user.id(), "--json"]).json();
    assert_eq!(history["iterations"][0]["outcome"], "timed_out");
    for alive in [
        "for i in 1 2 3 4 5 6; do echo $i; sleep 0.3; done",
        "for i in 1 2 3 4 5 6; do echo $i > file; sleep 0.3; done",
        "end=$(($(date +%s) + 2)); while [ $(date +%s) -lt $end ]; do :; done",
    ] {
        let user = crate::user();
        let ran = user.run(&start(alive, "false", &["--idle-timeout", "900ms", "-n", "1"])).expect_code(1);
        assert!(!ran.err().contains("no sign of life"), "{alive}: {}", ran.text());
    }
}

#[test]
fn a_loop_that_runs_out_of_time_twice_says_which_setting_gives_more_of_it() {
    let user = user();
    let ran = user.run(&start("sleep 300", "false", &["--timeout", "200ms", "-n", "3"])).expect_code(1);
    let told = format!("two iterations reached the time limit; raise it: loop set {} timeout=400ms", user.id());
    assert_eq!(ran.err().matches(&told).count(), 1, "{}", ran.text());
}

#[test]
fn an_agent_behind_a_shell_is_asked_once_and_has_its_time_to_save() {
    let user = user();
    let script =
        "trap 'echo term >> got; sleep 0.7; echo saved >> got; exit 0' TERM; touch began; while :; do sleep 0.1; done";
    user.write("work/agent.sh", script);
    user.run(&start("cd . && sh agent.sh", "false", &["--timeout", "400ms", "-n", "1"])).expect_code(1);
    assert_eq!(user.read("work/got"), "term\nsaved\n");
}

#[test]
fn an_agent_that_cannot_be_run_ends_the_loop_after_three_tries() {
    // req: D-21 partly: roadmap and prd come later
    let user = user();
    let ran = user.run(&start("no-such-agent --go", "false", &["-n", "9"])).expect_code(3);
    assert!(ran.out().contains("the agent failed 3 times in a row and changed nothing (exit 127)"), "{}", ran.text());
    assert!(ran.out().contains("no-such-agent"), "{}", ran.text());
}

#[test]
fn a_flood_of_output_is_kept_within_bounds_and_read_to_its_end() {
    let user = user();
    let agent = "head -c 60000000 /dev/zero | tr '\\0' x; echo THE-END";
    user.run(&start(agent, "test -e y", &["-n", "1"])).expect_code(1);
    let stdout = user.run_folder(&user.id()).join("iterations/000001/attempt-1/stdout");
    let sizes: Vec<u64> =
        std::fs::read_dir(&stdout).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).collect();
    assert!(sizes.iter().sum::<u64>() <= 33 * 1024 * 1024, "{sizes:?}");
    let shown = user.run(&["history", &user.id(), "--verbose"]).expect_code(0);
    assert!(shown.out().contains("THE-END"));
}
