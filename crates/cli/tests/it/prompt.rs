//! What the agent is told: `loop prompt`, and texts that agents write for the harness.
use loop_testkit::TestEnv;
use serde_json::Value;

use crate::{start, user};

/// The sections of a prompt by their names, with their texts.
fn sections(shown: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let all = shown["sections"].as_array().unwrap();
    all.iter().map(|section| (text(&section["name"]), text(&section["text"]))).collect()
}

fn section(shown: &Value, name: &str) -> String {
    sections(shown).into_iter().filter(|(known, _)| known == name).map(|(_, text)| text).collect()
}

#[test]
fn loop_prompt_shows_what_was_sent_and_what_would_be_sent_next_section_by_section() {
    let user = user();
    let agent = "cat > $HOME/sent-$LOOP_ITERATION; echo x >> a.txt; echo the cause is in a.txt";
    user.run(&start(agent, "echo broken >&2; exit 1", &["-n", "3", "--breaker", "off"])).expect_code(1);
    let id = user.id();
    for number in 1..=3 {
        let shown = user.run(&["prompt", &id, &number.to_string(), "--json"]).expect_code(0).json();
        let all: String = sections(&shown).into_iter().map(|(_, text)| text).collect();
        assert_eq!(all, user.read(&format!("home/sent-{number}")), "it is what the agent got");
        assert_eq!((&shown["sent"], &shown["iteration"]), (&Value::Bool(true), &Value::from(number)));
        let bytes: u64 = shown["sections"].as_array().unwrap().iter().map(|one| one["bytes"].as_u64().unwrap()).sum();
        assert_eq!(bytes, all.len() as u64);
        assert!(shown["tokens_of_harness"].as_u64().unwrap() < 6000, "{shown}");
    }
    // What would be sent is composed from the state: iteration 4 knows iteration 3.
    let next = user.run(&["prompt", &id, "--json"]).expect_code(0).json();
    assert_eq!((&next["sent"], &next["iteration"]), (&Value::Bool(false), &Value::from(4)));
    let attempts = section(&next, "attempts");
    assert!(attempts.contains("\n3 · custom · 1 file +1 -0 (a.txt) · "), "{attempts}");
    assert!(attempts.contains("claimed: \"the cause is in a.txt\""), "{attempts}");
    let names: Vec<String> = sections(&next).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["rules", "task", "gate", "state", "changed-so-far", "attempts", "gate-said-last"]);
    // For people: each section with its size, then a table of them.
    let shown = user.run(&["prompt", &id, "2"]).expect_code(0).out();
    assert!(shown.contains("━━ task ━━") && shown.contains(" bytes, about ") && shown.contains("SECTION"), "{shown}");
    let task = user.run(&["prompt", "@", "2", "--section", "task"]).expect_code(0).out();
    assert_eq!(task, "<task>\ndo it\n</task>\n");
    // A number alone is an iteration of the loop of this folder.
    assert_eq!(user.run(&["prompt", "2"]).expect_code(0).out(), shown);
    let refused = user.run(&["prompt", &id, "9"]).expect_code(4);
    assert!(refused.err().contains("the newest iteration is 3"), "{}", refused.text());
    let refused = user.run(&["prompt", &id, "2", "--section", "nothing"]).expect_code(4);
    assert!(refused.err().contains("its sections are: rules, task, gate"), "{}", refused.text());
}

/// How many iterations the loop below makes: a sample, or what the variable says.
fn iterations() -> u32 {
    std::env::var("PROMPT_ITERATIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(500)
}

#[test]
fn a_loop_of_500_iterations_does_not_grow_its_prompt() {
    // req: A-16 partly: the prompt of facts
    let (user, count) = (user(), iterations());
    // A new file and another error in each: what is remembered is bounded.
    let agent = "echo \"work of $LOOP_ITERATION\" > file-$LOOP_ITERATION; echo \"I changed file-$LOOP_ITERATION\"";
    let gate = "echo \"error: case $(ls | wc -l) of the long list is wrong\" >&2; exit 1";
    let number = count.to_string();
    let more = ["-n", &number, "--breaker", "off", "--judge", "workspace", "--strength", "off"];
    user.run(&start(agent, gate, &more)).expect_code(1);
    let id = user.id();
    let tokens = |iteration: u32| {
        let list = format!("iterations/{iteration:06}/attempt-1/prompt.json");
        let list: Value = serde_json::from_slice(&std::fs::read(user.run_folder(&id).join(list)).unwrap()).unwrap();
        let own = list["sections"].as_array().unwrap().iter().filter(|section| section["by_person"] != true);
        own.filter_map(|section| section["tokens"].as_u64()).sum::<u64>()
    };
    // Numbers with as many digits as at the end, where there are enough of them.
    let early = if count > 200 { 105..=130 } else { 25..=40 };
    let early = early.map(tokens).max().unwrap();
    let late = (count - 10..=count).map(tokens).max().unwrap();
    let more = if count > 200 { 20 } else { 40 };
    assert!(late <= early + more && late <= 6_000, "{early} tokens, then {late}");
}

#[test]
fn the_text_above_the_state_is_byte_for_byte_the_same_so_that_caches_of_providers_help() {
    let user = user();
    let agent = "cat > $HOME/sent-$LOOP_ITERATION; echo x >> a.txt";
    user.run(&start(agent, "date; exit 1", &["-n", "4", "--breaker", "off", "--protect", "*.lock"])).expect_code(1);
    let above = |number: u32| {
        let sent = user.read(&format!("home/sent-{number}"));
        sent.split_once("\n<state>\n").unwrap().0.to_owned()
    };
    assert!(above(1).contains("<task>") && above(1).contains("<gate>") && above(1).contains("*.lock"), "{}", above(1));
    for number in 2..=4 {
        assert_eq!(above(1), above(number));
    }
}

#[test]
fn an_agent_adds_notes_for_later_iterations_and_they_are_marked_as_claimed() {
    let user = user();
    let agent = "cat > $HOME/sent-$LOOP_ITERATION; echo x >> a.txt; \
                 [ $LOOP_ITERATION = 1 ] && echo '<note>the server needs PORT=8081</note>'; \
                 [ $LOOP_ITERATION = 2 ] && echo '<strike>n1</strike>'; true";
    user.run(&start(agent, "exit 1", &["-n", "3", "--breaker", "off"])).expect_code(1);
    let sent = |number: u32| user.read(&format!("home/sent-{number}"));
    assert!(!sent(1).contains("8081"));
    assert!(sent(2).contains("n1 (claimed, iteration 1): the server needs PORT=8081"), "{}", sent(2));
    assert!(!sent(3).contains("<notes>\n"), "{}", sent(3));
}

#[test]
fn a_person_adds_a_note_to_a_stopped_loop_and_strikes_it() {
    let user = user();
    let agent = "cat > $HOME/sent-$LOOP_ITERATION; echo x >> a.txt";
    user.run(&start(agent, "exit 1", &["-n", "1"])).expect_code(1);
    let id = user.id();
    user.run(&["inject", &id, "--note", "use the staging database"]).expect_code(0);
    let notes = user.run(&["prompt", &id, "--section", "notes"]).expect_code(0).out();
    assert_eq!(notes, "<notes>\nn1 (by a person, iteration 1): use the staging database\n</notes>\n");
    let refused = user.run(&["inject", &id, "--strike", "7"]).expect_code(4);
    assert!(refused.err().contains("there is no note n7"), "{}", refused.text());
    user.run(&["inject", &id, "--strike", "1"]).expect_code(0);
    user.run(&["prompt", &id, "--section", "notes"]).expect_code(4);
    user.run(&["resume", &id, "-n", "2"]).expect_code(1);
    assert!(!user.read("home/sent-2").contains("staging"));
}

/// A `claude` that says what it does, and writes a summary where it is asked for one.
fn claude(code_of_text: u8) -> TestEnv {
    let env = user().with("ANTHROPIC_API_KEY", "sk-very-secret-key");
    let said = |text: &str| {
        format!(
            r#"echo '{{"type":"system","subtype":"init","session_id":"5e551017-0000-4000-8000-000000000001","model":"m"}}'
echo '{{"type":"assistant","message":{{"id":"m1","role":"assistant","content":[{{"type":"text","text":"{text}"}}]}},"session_id":"5e551017-0000-4000-8000-000000000001"}}'
echo '{{"type":"result","subtype":"success","is_error":false,"result":"{text}","num_turns":1,"total_cost_usd":0.25,"usage":{{"input_tokens":10,"output_tokens":5}},"session_id":"5e551017-0000-4000-8000-000000000001"}}'"#
        )
    };
    env.program(
        "claude",
        &format!(
            "[ \"$1\" = --version ] && {{ echo '2.1.197 (Claude Code)'; exit 0; }}\n\
             if [ -n \"$LOOP_TEXT\" ]; then\n\
             pwd > \"$HOME/text-where\"; ls -A > \"$HOME/text-files\"; cat > \"$HOME/text-asked\"\n\
             {}\nexit {code_of_text}\nfi\n\
             cat > \"$HOME/sent-$LOOP_ITERATION\"; [ -e \"$HOME/idle\" ] || echo x >> a.txt\n{}\nexit 0",
            said("SUMMARY: the parser was rewritten"),
            said("I looked at everything. <progress>step done</progress>"),
        ),
    );
    env
}

fn with_history(env: &TestEnv) {
    let words = [
        "start",
        "do it",
        "-p",
        "false",
        "--agent",
        "claude",
        "-n",
        "4",
        "--breaker",
        "off",
        "--prompt-form",
        "history",
        "--text-writer",
        "agent",
        "--context-window",
        "1",
        "--summarize-every",
        "3",
    ];
    env.run(&words).expect_code(1);
}

// req: A-07 partly: summaries
// req: A-16
#[test]
fn the_cheapest_agent_writes_the_summary_in_an_empty_folder_and_its_call_is_paid() {
    let env = claude(0);
    with_history(&env);
    let asked = env.read("home/text-asked");
    assert!(asked.contains("Generate an updated progress summary") && asked.contains("### Iteration 1"), "{asked}");
    let place = env.read("home/text-where");
    assert!(place.contains("/texts/") && !place.contains("/work\n/"), "{place}");
    assert_ne!(place.trim(), env.work().canonicalize().unwrap().display().to_string());
    assert_eq!(env.read("home/text-files"), "", "it is empty");
    let sent = env.read("home/sent-4");
    assert!(sent.contains("## Progress Summary (iterations 1-2)\nSUMMARY: the parser was rewritten\n"), "{sent}");
    assert!(sent.contains("### Iteration 3\nI looked at everything."), "{sent}");
    let status = env.run(&["status", &env.id(), "--json"]).expect_code(0).json();
    assert!(status.to_string().contains("1.25"), "4 iterations and a text at 0.25: {status}");
}

// req: A-07 partly: summaries
#[test]
fn a_summary_that_fails_is_replaced_by_the_extract_and_the_loop_goes_on() {
    let env = claude(3);
    with_history(&env);
    let sent = env.read("home/sent-4");
    assert!(sent.contains("### Iteration 1\n- CLI: claude") && sent.contains("- Markers: step done"), "{sent}");
    assert!(!sent.contains("SUMMARY"), "{sent}");
    let journal = std::fs::read_to_string(env.run_folder(&env.id()).join("journal.jsonl")).unwrap();
    assert!(journal.contains("the agent gave none"), "the fact says so");
}

// req: A-07 partly: mutations
// req: A-06
#[test]
fn the_cheapest_agent_rewrites_the_task_for_a_rung_and_the_form_of_loop_serves_where_it_fails() {
    for (code, by_agent) in [(0, true), (3, false)] {
        let env = claude(code);
        let ladder = ["--recover", "--ladder", "mutate:decompose:1, human", "--text-writer", "agent"];
        let base = ["start", "do it", "-p", "false", "--agent", "claude", "-n", "6", "--breaker", "off"];
        env.run(&[&base[..], &ladder].concat()).expect_code(1);
        let asked = env.read("home/text-asked");
        assert!(asked.contains("using the 'decompose' strategy") && asked.contains("do it"), "{asked}");
        let sent = env.read("home/sent-3");
        assert_eq!(sent.contains("SUMMARY: the parser was rewritten"), by_agent, "{code}: {sent}");
        assert_eq!(sent.contains("Take the task apart"), !by_agent, "{code}: {sent}");
        assert!(!env.read("home/sent-2").contains("SUMMARY"), "only for its rung");
    }
}

// req: A-07 partly: the assessment
// req: A-23 partly: the assessment
#[test]
fn a_loop_that_is_resumed_and_is_neither_stuck_nor_better_gets_an_assessment_first() {
    for (code, by_agent) in [(0, true), (3, false)] {
        let env = claude(code);
        env.write("home/idle", "");
        let base = ["start", "do it", "-p", "false", "--agent", "claude", "-n", "1"];
        env.run(&[&base[..], &["--prompt-form", "history", "--text-writer", "agent"]].concat()).expect_code(1);
        assert!(!env.root().join("home/text-asked").exists(), "nothing was asked before");
        env.run(&["resume", &env.id(), "-n", "+1"]).expect_code(1);
        let asked = env.read("home/text-asked");
        assert!(asked.contains("what is done, what remains, and the immediate next step"), "{asked}");
        let sent = env.read("home/sent-2");
        assert_eq!(sent.contains("SUMMARY: the parser was rewritten"), by_agent, "{code}: {sent}");
    }
}

// req: A-23 partly: progress, and a pause
#[test]
fn a_loop_that_made_progress_or_was_only_paused_goes_on_without_an_assessment() {
    let forms = ["--prompt-form", "history", "--text-writer", "agent"];
    let env = claude(0);
    env.run(&[&["start", "do it", "-p", "false", "--agent", "claude", "-n", "1"][..], &forms].concat()).expect_code(1);
    env.run(&["resume", &env.id(), "-n", "+1"]).expect_code(1);
    let sent = env.read("home/sent-2");
    assert!(sent.contains("### Iteration 1\nI looked at everything."), "its window came back: {sent}");
    assert!(!env.root().join("home/text-asked").exists(), "it made progress");

    let env = claude(0);
    env.write("home/idle", "");
    let words = ["start", "do it", "-p", "false", "--agent", "claude", "-n", "2", "--delay", "10m"];
    let running = env.begin(&[&words[..], &forms].concat());
    env.wait_for_fact("\"hold\"");
    let status = || env.run(&["status", &env.id(), "--json"]).json()["loops"][0]["status"].clone();
    env.run(&["pause", &env.id()]).expect_code(0);
    loop_testkit::wait_until("it is paused", || status() == "paused");
    env.run(&["resume", &env.id()]).expect_code(0);
    running.end().expect_code(1);
    assert!(env.root().join("home/sent-2").exists() && !env.root().join("home/text-asked").exists());
}
