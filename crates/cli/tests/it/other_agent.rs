//! Another agent, command or model in a loop that exists: `loop resume --agent …` and `loop set agent=…`.
use loop_testkit::TestEnv;
use serde_json::Value;

use crate::{start, user};

/// A known agent that writes down how it was called, and ends without a word.
fn agent(env: &TestEnv, name: &str) {
    env.program(
        name,
        &format!(
            "[ \"$1\" = --version ] && {{ echo 1.0; exit 0; }}\n\
             cat > /dev/null; echo \"{name} $*\" >> \"$HOME/called\"; echo x >> log"
        ),
    );
}

/// The programs that were called, with the model that they were given.
fn called(env: &TestEnv) -> Vec<String> {
    let model = |line: &str| {
        let mut words = line.split(' ').skip_while(|word| *word != "--model");
        words.nth(1).map_or_else(String::new, |model| format!(" {model}"))
    };
    let lines = env.read("home/called");
    lines.lines().map(|line| format!("{}{}", line.split(' ').next().unwrap_or_default(), model(line))).collect()
}

/// The choices that the journal has: agent, model, why.
fn choices(env: &TestEnv) -> Vec<String> {
    let journal = std::fs::read_to_string(env.run_folder(&env.id()).join("journal.jsonl")).unwrap();
    let facts = journal.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let chosen = facts.filter_map(|line| line["fact"]["decided"].get("chosen").cloned());
    chosen
        .map(|chosen| {
            format!("{} {} {}", chosen["agent"], chosen["model"], chosen["why"]).replace('"', "").replace("null ", "")
        })
        .collect()
}

#[test]
fn a_loop_is_resumed_with_another_agent_and_model() {
    let env = user();
    agent(&env, "claude");
    agent(&env, "gemini");
    let words = ["start", "do it", "-p", "false", "-n", "1", "--agent", "claude", "--agent-model", "opus"];
    env.run(&words).expect_code(1);
    let id = env.id();
    let ran = env.run(&["resume", &id, "-n", "+1", "--agent", "gemini"]).expect_code(1);
    assert!(ran.err().contains("gemini"), "{}", ran.text());
    env.run(&["resume", &id, "-n", "+1", "--agent-model", "flash"]).expect_code(1);
    assert_eq!(called(&env), ["claude opus", "gemini", "gemini flash"]);
    assert_eq!(choices(&env), ["claude opus settings", "gemini person", "gemini flash person"]);
}

#[test]
fn a_loop_at_work_takes_another_agent_from_its_next_attempt_on() {
    let env = user();
    agent(&env, "claude");
    let waits = "touch began; while [ ! -e go ]; do sleep 0.02; done; echo x >> log";
    let running = env.begin(&start(waits, "test $(wc -l < log) = 2", &["-n", "3"]));
    env.wait_for_file("work/began");
    let ran = env.run(&["set", &env.id(), "agent=claude", "agent_model=haiku"]).expect_code(0);
    let implied =
        "agent = claude, agent_model = haiku, agent_cmd = not set, timeout = 30m, idle_timeout = 10m from now on";
    assert!(ran.out().contains(implied), "{}", ran.text());
    env.write("work/go", "");
    let ran = running.end().expect_code(0);
    assert!(ran.err().contains("claude (haiku) from now on"), "{}", ran.text());
    assert_eq!(called(&env), ["claude haiku"]);
    assert_eq!(choices(&env), ["custom settings", "claude haiku person"]);
}

#[test]
fn a_paused_loop_with_a_command_is_resumed_with_a_named_agent() {
    let env = user();
    agent(&env, "claude");
    let waits = "touch began; while [ ! -e go ]; do sleep 0.02; done; echo x >> log";
    let running = env.begin(&start(waits, "test $(wc -l < log) = 2", &["-n", "3"]));
    env.wait_for_file("work/began");
    env.run(&["pause", &env.id()]).expect_code(0);
    env.write("work/go", "");
    env.wait_for_fact("\"paused\"");
    env.run(&["resume", &env.id(), "--agent", "claude"]).expect_code(0);
    let ran = running.end().expect_code(0);
    assert!(ran.err().contains("claude at work, up to 30m"), "the limits of a known agent: {}", ran.text());
    assert_eq!(choices(&env), ["custom settings", "claude person"]);
}

#[test]
fn additions_at_the_same_time_are_all_counted() {
    let env = user();
    let running = env.begin(&start("touch began; while [ ! -e go ]; do sleep 0.02; done", "false", &["-n", "1"]));
    env.wait_for_file("work/began");
    let id = env.id();
    let sets: Vec<_> = (0..3).map(|_| env.begin(&["set", &id, "max_iterations=+1"])).collect();
    sets.into_iter().for_each(|set| drop(set.end().expect_code(0)));
    env.write("work/go", "");
    let ran = running.end().expect_code(1);
    assert!(ran.out().contains("4 iterations done"), "{}", ran.text());
}

#[test]
fn texts_that_are_injected_at_the_same_time_are_stored_or_refused_never_lost() {
    let env = user();
    env.run(&start("cat > prompt; echo x >> log", "false", &["-n", "1"])).expect_code(1);
    let id = env.id();
    let begun: Vec<_> = (0..4)
        .map(|number| {
            let text = format!("TEXT-{number}");
            let running = env.begin(&["inject", &id, &text]);
            (text, running)
        })
        .collect();
    let stored: Vec<String> =
        begun.into_iter().filter_map(|(text, running)| (running.end().code == Some(0)).then_some(text)).collect();
    env.run(&["resume", &id, "-n", "+1"]).expect_code(1);
    let prompt = env.read("work/prompt");
    assert!(!stored.is_empty() && stored.iter().all(|text| prompt.contains(text)), "{stored:?}: {prompt}");
}

#[test]
fn a_dry_run_that_is_stopped_runs_no_further_gate() {
    let env = user();
    let words = ["--gate", "b=touch second", "--dry-run"];
    let running = env.begin(&start("true", "touch first; sleep 300", &words));
    env.wait_for_file("work/first");
    running.signal("INT");
    running.end().expect_code(2);
    assert!(!env.root().join("work/second").exists());
}

#[test]
fn a_command_alone_is_the_custom_agent() {
    let env = user();
    agent(&env, "claude");
    env.run(&["start", "do it", "-p", "test -e done", "-n", "1", "--agent", "claude"]).expect_code(1);
    env.run(&["resume", &env.id(), "-n", "+1", "--agent-cmd", "touch done"]).expect_code(0);
    assert_eq!(choices(&env), ["claude settings", "custom person"]);
}

#[test]
fn an_agent_that_cannot_work_is_refused_and_nothing_changes() {
    let env = user();
    env.run(&start("echo x >> log", "false", &["-n", "1"])).expect_code(1);
    let id = env.id();
    for (words, why) in [
        (["--agent", "cursor"], "is not installed"),
        (["--agent", "nobody"], "there is no agent"),
        (["--agent-model", "opus"], "--agent-model does not reach the agent custom"),
    ] {
        let ran = env.run(&["resume", &id, "-n", "+1", words[0], words[1]]).expect_code(4);
        assert!(ran.err().contains(why) && ran.err().contains("hint: "), "{}", ran.text());
    }
    env.run(&["resume", &id, "-n", "+1"]).expect_code(1);
    assert_eq!(choices(&env), ["custom settings", "custom settings"]);
}

#[test]
fn an_agent_of_the_users_own_is_recorded_as_it_was_when_it_was_named() {
    let env = user();
    env.program("mine", "cat > /dev/null; echo mine >> \"$HOME/called\"");
    env.write("home/.config/loop/config.toml", "[agents.mine]\ncommand = \"mine\"\n");
    env.run(&start("echo x >> log", "false", &["-n", "1"])).expect_code(1);
    let id = env.id();
    env.run(&["resume", &id, "-n", "+1", "--agent", "mine"]).expect_code(1);
    env.write("home/.config/loop/config.toml", "");
    env.run(&["resume", &id, "-n", "+1"]).expect_code(1);
    assert_eq!(called(&env), ["mine", "mine"]);
}

#[test]
fn a_wrong_change_is_refused_in_the_words_that_were_typed() {
    let env = user();
    let running = env.begin(&start("touch began; while [ ! -e go ]; do sleep 0.02; done", "false", &["-n", "1"]));
    env.wait_for_file("work/began");
    let id = env.id();
    for (pair, words) in
        [("max_iteration=20", "did you mean max_iterations?"), ("max_iterations=+0", "max_iterations cannot be +0")]
    {
        let ran = env.run(&["set", &id, pair]).expect_code(4);
        assert!(ran.err().contains(words), "{}", ran.text());
    }
    env.write("work/go", "");
    running.end().expect_code(1);
}
