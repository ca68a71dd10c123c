//! A stuck loop with scripted agents: each rung of the ladder helps once, a person comes at the end, and a loop that is
//! only slow is left alone.
use loop_testkit::{TestEnv, wait_until};
use serde_json::Value;

use crate::recovery_branches::nobody_works;
use crate::{start, user};

/// An agent that gets it done only when its prompt has these words; else it edits in vain.
fn only_with(words: &str) -> String {
    format!(
        "prompt=$(cat); echo \"try $LOOP_ITERATION\" >> notes; case \"$prompt\" in *'{words}'*) echo done > result;; esac"
    )
}

/// It prints nothing, so that only its verdict counts.
const PROMISE: &str = "test -e result";

/// The rungs as programs see them: strategy and outcome.
fn rungs(env: &TestEnv) -> Vec<String> {
    rungs_of(env, &env.id())
}

/// The same of one of several loops.
pub(crate) fn rungs_of(env: &TestEnv, id: &str) -> Vec<String> {
    let history = env.run(&["history", id, "--json"]).expect_code(0).json();
    let word = |value: &Value| value.as_str().unwrap_or("under way").to_owned();
    let rows = history["recovery"].as_array().cloned().unwrap_or_default();
    rows.iter()
        .map(|row| format!("{} {} {}", word(&row["strategy"]), word(&row["outcome"]), row["iterations_used"]))
        .collect()
}

// req: A-06
#[test]
fn a_loop_that_works_only_in_a_fresh_session_is_recovered_and_everybody_sees_it() {
    let env = user();
    let agent = only_with("find its cause");
    let ran = env.run(&start(&agent, PROMISE, &["-n", "9", "--recover", "--ladder", "fresh:2, human"])).expect_code(0);
    assert!(ran.err().contains("recovery tries fresh, at most 2 iterations"), "{}", ran.text());
    assert!(ran.err().contains("recovery: fresh worked, and stays"), "{}", ran.text());
    assert_eq!(rungs(&env), ["fresh success 1"]);
    let history = env.run(&["history", &env.id()]).expect_code(0).out();
    assert!(history.contains("stuck after iteration 2, rung 1: fresh: worked after 1 iteration"), "{history}");
    let prompt = env.run_folder(&env.id()).join("iterations/000003/attempt-1/prompt.md");
    let prompt = std::fs::read_to_string(prompt).unwrap();
    for words in
        ["<what-to-do-now>", "The loop is stuck", "- iteration 2: 1 file changed, the gates said nothing better"]
    {
        assert!(prompt.contains(words), "{words}: {prompt}");
    }
    let status = env.run(&["status", &env.id(), "--json"]).expect_code(0).json();
    assert_eq!(status["loops"][0]["recovery"]["on"], true);
}

// req: A-06
#[test]
fn a_loop_that_works_only_after_decompose_gets_there_by_the_second_form_of_its_task() {
    let env = user();
    let more = ["-n", "9", "--recover", "--ladder", "mutations:1, human", "--prompt-mutations", "3"];
    env.run(&start(&only_with("Take the task apart"), PROMISE, &more)).expect_code(0);
    assert_eq!(rungs(&env), ["mutate:rephrase failed 1", "mutate:decompose success 1"]);
}

/// A known agent that gets it done only when its command line has these words.
fn agent(env: &TestEnv, name: &str, works_with: &str) {
    env.program(
        name,
        &format!(
            "[ \"$1\" = --version ] && {{ echo 1.0; exit 0; }}\n\
             cat > /dev/null; echo \"{name} $*\" >> \"$HOME/called\"; echo x >> notes\n\
             case \"{name} $*\" in *'{works_with}'*) echo done > result;; esac"
        ),
    );
}

/// A loop of known agents with this ladder.
fn with_agents<'a>(agents: &'a str, ladder: &'a str) -> [&'a str; 11] {
    ["start", "do it", "-p", PROMISE, "-n", "9", "--recover", "--agent", agents, "--ladder", ladder]
}

// req: A-08 partly: a name that the program refuses is in the router's stories
#[test]
fn a_loop_that_works_only_with_the_third_model_climbs_the_table_of_models() {
    let env = user();
    agent(&env, "claude", "--model opus");
    let models = "claude haiku $ 200k\nclaude sonnet $$ 200k\nclaude opus $$$$ 200k";
    let words = with_agents("claude:haiku,claude:sonnet,claude:opus", "model:1, model:1, human");
    let ran = env.run(&[&words[..], &["--models", models]].concat()).expect_code(0);
    assert!(ran.err().contains("recovery tries model with agent claude, model opus"), "{}", ran.text());
    assert_eq!(rungs(&env), ["model failed 1", "model success 1"]);
}

#[test]
fn loop_prompt_names_the_model_that_was_chosen_for_that_iteration() {
    let env = user();
    agent(&env, "claude", "never");
    let models = "claude haiku $ 200k\nclaude opus $$$$ 200k";
    let words = with_agents("claude:haiku,claude:opus", "model:7, human");
    env.run(&[&words[..], &["--models", models]].concat()).expect_code(1);
    for (iteration, model) in [("1", "haiku"), ("2", "haiku"), ("3", "opus"), ("9", "opus")] {
        let shown = env.run(&["prompt", &env.id(), iteration]).expect_code(0).out();
        assert!(shown.contains(&format!("to claude ({model}): this was sent")), "{iteration}: {shown}");
    }
}

// req: A-06
#[test]
fn a_loop_that_works_only_with_the_other_vendor_gets_its_agent() {
    let env = user();
    agent(&env, "claude", "never");
    agent(&env, "gemini", "gemini");
    env.run(&with_agents("claude,gemini", "fresh:1, vendor:1, human")).expect_code(0);
    assert_eq!(rungs(&env), ["fresh failed 1", "vendor success 1"]);
    let called = env.read("home/called");
    assert_eq!(called.lines().filter(|line| line.starts_with("gemini")).count(), 1, "{called}");
}

// req: A-06
#[test]
fn codex_is_asked_for_more_effort_and_an_agent_without_that_switch_is_skipped_over() {
    let env = user();
    agent(&env, "codex", "model_reasoning_effort=high");
    env.run(&with_agents("codex", "effort:1, human")).expect_code(0);
    assert_eq!(rungs(&env), ["effort success 1"]);
    let other = user();
    let more = ["-n", "3", "--recover", "--ladder", "effort:1, fresh:1, human"];
    other.run(&start(&only_with("find its cause"), PROMISE, &more)).expect_code(0);
    assert_eq!(rungs(&other), ["effort skipped 0", "fresh success 1"]);
    let history = other.run(&["history", &other.id()]).expect_code(0).out();
    assert!(history.contains("effort: skipped: custom has no switch for its effort"), "{history}");
}

// req: A-06
#[test]
fn where_a_person_must_come_the_loop_says_what_was_tried_and_goes_on_with_their_help() {
    let env = user();
    let agent = only_with("the password is in the drawer");
    let more = ["-n", "9", "--recover", "--ladder", "fresh:1, human"];
    let ran = env.run(&start(&agent, PROMISE, &more)).expect_code(1);
    let short = format!("Stuck after all recovery attempts: 1 rung tried; what is needed: loop status {}", env.id());
    assert!(ran.out().contains(&short), "{}", ran.text());
    assert!(!ran.text().contains("nothing better"), "the details are in loop status: {}", ran.text());
    let status = env.run(&["status", &env.id()]).expect_code(0).out();
    for words in ["Stuck after all recovery attempts. A person is needed.", "tried", "fails", "cause?", "helps"] {
        assert!(status.contains(words), "{words}: {status}");
    }
    let json = env.run(&["status", &env.id(), "--json"]).expect_code(0).json();
    assert_eq!(json["loops"][0]["recovery"]["questions"]["causes"].as_array().map(Vec::len), Some(3), "{json}");
    env.run(&["inject", &env.id(), "the password is in the drawer"]).expect_code(0);
    env.run(&["resume", &env.id()]).expect_code(0);
    assert_eq!(rungs(&env), ["fresh failed 1", "human resumed 0"]);
}

#[test]
fn the_critical_alert_of_an_end_that_a_resume_passed_is_not_in_the_status_of_a_loop_that_is_done() {
    let env = user();
    let agent = only_with("the password is in the drawer");
    let more = ["-n", "9", "--recover", "--ladder", "fresh:1, human", "--alerts"];
    let ran = env.run(&start(&agent, PROMISE, &more)).expect_code(1);
    assert!(ran.err().contains("CRITICAL"), "{}", ran.text());
    let status = env.run(&["status", &env.id()]).expect_code(0).out();
    assert!(status.contains("CRITICAL"), "{status}");
    env.run(&["inject", &env.id(), "the password is in the drawer"]).expect_code(0);
    env.run(&["resume", &env.id()]).expect_code(0);
    let status = env.run(&["status", &env.id()]).expect_code(0).out();
    assert!(!status.contains("CRITICAL"), "{status}");
}

// req: A-06
#[test]
fn an_agent_of_a_rung_that_is_not_signed_in_is_the_first_cause_and_the_first_thing_that_helps() {
    let env = user();
    agent(&env, "claude", "never");
    env.program(
        "codex",
        "[ \"$1\" = --version ] && { echo 1.0; exit 0; }\ncat > /dev/null\n\
         echo '{\"type\":\"thread.started\",\"thread_id\":\"0199a213-81c0-7800-8aa1-bbab2a035a53\"}'\n\
         echo '{\"type\":\"turn.failed\",\"error\":{\"message\":\"unexpected status 401 Unauthorized: no, url: http://x/v1\"}}'\n\
         exit 1",
    );
    env.run(&with_agents("claude,codex", "vendor:1, human")).expect_code(1);
    let json = env.run(&["status", &env.id(), "--json"]).expect_code(0).json();
    let questions = &json["loops"][0]["recovery"]["questions"];
    assert_eq!(questions["causes"][0], "codex is not signed in", "{questions}");
    let help = "codex is not signed in: sign in, or take it out of --agent";
    assert_eq!(questions["helps"][0], help, "{questions}");
}

// req: A-06
#[test]
fn at_a_terminal_the_loop_waits_for_the_person_and_a_notification_is_sent() {
    let env = user();
    env.program("told", "echo \"$1|$2\" >> \"$HOME/told\"");
    env.write("agent.sh", &only_with("here is the key"));
    let line = format!(
        "{} start 'do it' -p 'test -e result' --agent-cmd 'sh {}' -n 9 --recover --ladder human --notify \
         --notification-cmd told",
        env!("CARGO_BIN_EXE_loop"),
        env.root().join("agent.sh").display()
    );
    let running = env.begin_on_a_terminal(&line, std::process::Stdio::piped());
    env.wait_for_fact("\"stuck\"");
    env.wait_for_screen("A person is needed", 1);
    env.wait_for_file("home/told");
    // The file is there before its line is.
    wait_until("the notification is written", || {
        env.read("home/told").contains("paused|Stuck after all recovery attempts")
    });
    let status = env.run(&["status", &env.id()]).expect_code(0).out();
    assert!(status.contains("paused") && status.contains("cause?"), "{status}");
    env.run(&["inject", &env.id(), "here is the key"]).expect_code(0);
    env.run(&["resume", &env.id()]).expect_code(0);
    running.end().expect_code(0);
}

/// A gate with three tests: one more of them passes after every second iteration.
const SLOW: &str = "n=$(wc -l < notes 2>/dev/null || echo 0); p=$((n / 2)); echo; echo 'running 3 tests'; \
    for t in 1 2 3; do [ $t -le $p ] && echo \"test t$t ... ok\" || echo \"test t$t ... FAILED\"; done; echo; \
    [ $p -ge 3 ] && { echo 'test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out'; exit 0; }; \
    echo \"test result: FAILED. $p passed; $((3 - p)) failed; 0 ignored; 0 measured; 0 filtered out\"; exit 101";

// req: A-05
#[test]
fn a_slow_but_steady_loop_is_left_alone() {
    let env = user();
    let agent = "cat > /dev/null; echo x >> notes";
    env.run(&start(agent, SLOW, &["-n", "9", "--recover", "--judge", "workspace"])).expect_code(0);
    assert_eq!(rungs(&env), Vec::<String>::new());
}

// req: A-23 partly: the rung that was reached
#[test]
fn a_loop_that_is_killed_at_any_border_of_a_rung_goes_on_with_the_same_rung_and_takes_none_twice() {
    // Which words of the journal are waited for before the kill.
    let began =
        |number: u32| format!("{{\"recovery\":{{\"began\":{{\"trigger\":2,\"cause\":\"no_better\",\"number\":{number}");
    let ended =
        |number: u32| format!("{{\"recovery\":{{\"ended\":{{\"trigger\":2,\"cause\":\"no_better\",\"number\":{number}");
    // And which iterations are let go before it: the first rung works in iteration 3.
    for (border, before) in [(began(1), 3), (ended(1), 4), (began(2), 4), (ended(2), 5), (began(3), 5)] {
        let env = user();
        let more = ["-n", "9", "--recover", "--ladder", "fresh:1, mutate:negative:1, mutate:research:1, human"];
        let agent = only_with("Read first, and edit after that");
        // The agent of the rung that is killed waits until the kill is done.
        let wait = "[ $LOOP_ITERATION -ge $(cat ../before) ] && while [ ! -e ../go ]; do sleep 0.02; done";
        let agent = format!("{wait}; {agent}");
        env.write("before", &before.to_string());
        let words = start(&agent, PROMISE, &more);
        let killed = env.begin(&words);
        env.wait_for_fact(&border);
        killed.signal("KILL");
        drop(killed.end());
        env.write("go", "");
        let resumed = env.run(&["resume", &env.id()]);
        assert!([Some(0), Some(4)].contains(&resumed.code), "{border}: {}", resumed.text());
        let wanted = ["fresh failed 1", "mutate:negative failed 1", "mutate:research success 1"];
        assert_eq!(rungs(&env), wanted, "{border}");
    }
}

// req: A-23 partly: the rung that was reached
#[test]
fn a_loop_that_is_killed_at_a_border_of_effort_model_vendor_or_branches_makes_no_call_twice() {
    let border = |word: &str, number: u32| {
        format!("{{\"recovery\":{{\"{word}\":{{\"trigger\":2,\"cause\":\"no_better\",\"number\":{number}")
    };
    let models = "codex small $ 200k\ncodex large $$ 200k\nclaude opus $$$$ 200k";
    let ladder = "effort:1, model:1, vendor:1, branches:2x1, human";
    let words = with_agents("codex:small,codex:large,claude", ladder);
    let words = [&words[..], &["--models", models, "--strength", "off"]].concat();
    // The rung of a number works in the iteration that is two later; branches come last.
    for (word, number) in
        [("began", 1), ("ended", 1), ("began", 2), ("ended", 2), ("began", 3), ("ended", 3), ("began", 4)]
    {
        let env = user();
        let root = env.root().display().to_string();
        for name in ["codex", "claude"] {
            // A call is written down when it is done; what works at the kill waits for ever.
            env.program(
                name,
                &format!(
                    "[ \"$1\" = --version ] && {{ echo 1.0; exit 0; }}\ncat > /dev/null\n\
                     n=$LOOP_ITERATION; [ -z \"$LOOP_BRANCH\" ] || n=6\n\
                     while [ $n -ge $(cat {root}/before) ] && [ ! -e {root}/go ]; do sleep 0.02; done\n\
                     echo \"${{LOOP_BRANCH:-loop}} $LOOP_ITERATION {name}\" >> {root}/calls; echo x >> notes"
                ),
            );
        }
        env.write("before", &(number + 2 + u32::from(word == "ended")).to_string());
        let killed = env.begin(&words);
        env.wait_for_fact(&border(word, number));
        killed.signal("KILL");
        drop(killed.end());
        nobody_works(&env);
        env.write("go", "");
        let list = env.run(&["list", "--json"]).expect_code(0).json();
        let rows: Vec<Value> =
            list["loops"].as_array().unwrap().iter().filter(|row| row["plan"].is_null()).cloned().collect();
        let id = rows[0]["id"].as_str().unwrap();
        let resumed = env.run(&["resume", id]).expect_code(1);
        assert!(resumed.text().contains("Stuck after all recovery attempts"), "{word} {number}: {}", resumed.text());
        let all = ["effort failed 1", "model failed 1", "vendor failed 1", "branches failed 2"];
        assert_eq!(rungs_of(&env, id)[..4], all, "{word} {number}");
        let text = env.read("calls");
        let mut calls: Vec<&str> = text.lines().collect();
        calls.sort_unstable();
        let loops = ["loop 1 codex", "loop 2 codex", "loop 3 codex", "loop 4 codex", "loop 5 claude"];
        let branches = calls.iter().filter(|call| call.starts_with("branch-")).count();
        assert_eq!(calls[branches..], loops, "{word} {number}: {}", resumed.text());
        assert!(branches == 2 && calls[0] != calls[1], "{word} {number}: {calls:?}");
    }
}

#[test]
fn a_bad_ladder_is_refused_with_a_hint_and_a_loop_at_work_takes_another_one() {
    let env = user();
    let ran = env.run(&start("true", "false", &["--recover", "--ladder", "fresh:2, humn"])).expect_code(4);
    assert!(ran.err().contains("did you mean human?"), "{}", ran.text());
    let more = ["-n", "2"];
    env.run(&start(&only_with("find its cause"), PROMISE, &more)).expect_code(1);
    let id = env.id();
    env.run(&["resume", &id, "-n", "+5", "--recover", "--ladder", "fresh:1, human", "--stuck-after", "1"])
        .expect_code(0);
    assert_eq!(rungs(&env), ["fresh success 1"]);
}

#[test]
fn a_ladder_without_recover_is_named_with_the_flag_that_is_missing() {
    let env = user();
    let more = ["-n", "1", "--ladder", "fresh:1, human", "--stuck-after", "4"];
    let ran = env.run(&start("true", "true", &more)).expect_code(0);
    let line = "warning: --ladder, --stuck-after have no effect: recovery is off\n  better: add --recover";
    assert!(ran.err().contains(line), "{}", ran.text());
    let with_it = env.run(&start("true", "true", &[&more[..], &["--recover"]].concat())).expect_code(0);
    assert!(!with_it.err().contains("no effect"), "{}", with_it.text());
}

#[test]
fn while_recovery_holds_the_breaker_its_count_has_no_threshold() {
    let env = user();
    let more = ["-n", "7", "--recover", "--ladder", "fresh:9, human"];
    env.run(&start("true", PROMISE, &more)).expect_code(1);
    let status = env.run(&["status", &env.id()]).expect_code(0).out();
    assert!(status.contains("no progress 7, waits for recovery"), "{status}");
    assert!(!status.contains("of 3"), "{status}");
}
