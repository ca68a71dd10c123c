//! What a run remembers for its prompts: the ledger, the best state, notes, the window and its summary.
use loop_core::prompt::{GateSaid, HARNESS_TOKENS_MAX, Material, Prompt, RankWords, compose};
use loop_core::run::{DEAD_ENDS_MAX, Ended, NOTES_MAX, Order, RunState, StreamReport};
use loop_core::settings::PromptForm;

use crate::play::{Story, agent_heard, text_written};

/// A run without an end, up to its first call.
fn story(settings: &[(&str, &str)]) -> Story {
    let base = [("max_iterations", "unlimited"), ("breaker", "off")];
    let mut story = Story::checkpointed(&[&base, settings].concat());
    story.say("opened / saved-as initial / fail first / saved");
    story
}

/// One iteration that changes a file, after which the gate says this.
fn iteration(story: &mut Story, said: &str) {
    let number = story.state.iteration;
    story.say(&format!("agent-ok / saved-as iter-{number} / changed 1 / fail {said} / saved"));
}

/// The prompt that the next iteration would get.
fn prompt(state: &RunState, form: PromptForm) -> Prompt {
    let gate = |gate: &loop_core::run::Gate| GateSaid {
        command: gate.spec().command.clone(),
        ended: gate.last().map(|last| last.report.ended.brief()),
        stderr: gate.last().map(|last| last.report.excerpt.clone().into_bytes()).unwrap_or_default(),
        ..GateSaid::default()
    };
    compose(&Material {
        form,
        goal: "fix it",
        gates: state.gates.iter().map(gate).collect(),
        protected: vec!["tests/*".to_owned()],
        standing: RankWords::of(state),
        changed: state.prompt.changed_names(),
        notes: state.prompt.notes(),
        memory: Some(&state.prompt.memory),
        summary: state.prompt.memory.summary().map(|summary| summary.text.head.as_str()),
        summary_tokens_max: 2000,
        iteration: state.iteration + 1,
        ..Material::default()
    })
}

#[test]
fn the_ledger_has_the_last_six_iterations_and_every_dead_end_once() {
    let mut story = story(&[]);
    for number in 0..20 {
        iteration(&mut story, ["alpha is wrong", "beta is wrong", "gamma is wrong"][number % 3]);
    }
    let memory = &story.state.prompt.memory;
    let newest: Vec<u32> = memory.attempts().iter().map(|line| line.iteration).collect();
    assert_eq!(newest, [15, 16, 17, 18, 19, 20]);
    let mut ends: Vec<&str> = memory.dead_ends().iter().filter_map(|line| line.measured.error.as_deref()).collect();
    ends.sort_unstable();
    assert_eq!(ends, ["alpha is wrong", "beta is wrong", "gamma is wrong"]);
    let text = prompt(&story.state, PromptForm::Facts).text();
    assert!(text.contains("20 · custom · 1 file +1 -0"), "{text}");
    assert!(text.contains("claimed: \"the agent's last words\""), "{text}");
}

#[test]
fn dead_ends_that_are_too_many_are_counted() {
    let mut story = story(&[]);
    for number in 0..30_u8 {
        let letters = format!("{}{}", char::from(b'a' + number % 26), char::from(b'a' + number / 26));
        iteration(&mut story, &format!("error {letters} here"));
    }
    let memory = &story.state.prompt.memory;
    assert_eq!((memory.dead_ends().len(), memory.dead_ends_left_out()), (DEAD_ENDS_MAX, 30 - DEAD_ENDS_MAX as u32));
    let text = prompt(&story.state, PromptForm::Facts).text();
    assert!(text.contains("older dead ends are left out"), "{text}");
}

#[test]
fn a_run_of_500_iterations_does_not_grow_the_prompt() {
    // req: A-16 partly: the prompt of facts
    for form in [PromptForm::Facts, PromptForm::History] {
        let word = form.word();
        let mut story = story(&[("prompt_form", word), ("session", "fresh")]);
        let mut sizes = Vec::new();
        for number in 1..=500 {
            iteration(&mut story, &format!("error of a long line that says what is wrong in case {}", number % 7));
            sizes.push(prompt(&story.state, form).text().len());
        }
        let (early, late) = (sizes[60..120].iter().max().unwrap(), sizes[400..].iter().max().unwrap());
        // The number of the iteration has one digit more.
        assert!(*late <= *early + 40, "{word}: {early} then {late}");
        let tokens = prompt(&story.state, form).tokens_of_harness();
        assert!(tokens <= HARNESS_TOKENS_MAX, "{word}: {tokens}");
    }
}

#[test]
fn the_text_above_the_state_is_the_same_in_every_iteration() {
    let mut story = story(&[]);
    let mut before: Option<String> = None;
    for said in ["one", "two", "three", "two"] {
        iteration(&mut story, said);
        let prompt = prompt(&story.state, PromptForm::Facts);
        let stable: String = prompt.sections.iter().filter(|one| one.stable).map(|one| one.text.as_str()).collect();
        assert!(prompt.text().starts_with(&stable) && stable.contains("<task>") && stable.contains("<gate>"));
        assert!(prompt.text()[stable.len()..].starts_with("\n<state>\n"), "{}", prompt.text());
        assert_eq!(*before.get_or_insert_with(|| stable.clone()), stable);
    }
}

#[test]
fn tests_since_the_best_state_are_named_and_what_is_as_it_was_is_not() {
    let mut story = Story::checkpointed(&[("max_iterations", "9"), ("breaker", "off")]);
    story.say("opened / saved-as initial / tests pass=2 fail=1 said=a / saved");
    story.say("agent-ok / saved-as iter-001 / changed 1 / tests pass=1 fail=2 bad=t::one,t::two said=b / saved");
    let text = prompt(&story.state, PromptForm::Facts).text();
    assert!(text.contains("These tests fail now and did not in the best state: t::one, t::two."), "{text}");
    assert!(
        text.contains("The best state so far was before iteration 1: 0 gates pass, 2 tests pass, 1 fail."),
        "{text}"
    );
    // They pass again.
    story.say("agent-ok / saved-as iter-002 / changed 1 / tests pass=2 fail=1 good=t::one,t::two said=c / saved");
    let text = prompt(&story.state, PromptForm::Facts).text();
    assert!(!text.contains("in the best state"), "{text}");
}

#[test]
fn notes_are_added_and_struck_by_their_number_and_never_rewritten() {
    let mut story = story(&[]);
    let says = |notes: &[&str], struck: &[u32]| {
        let notes = notes.iter().map(|note| (*note).to_owned()).collect();
        agent_heard(Ended::Exit(0), StreamReport { notes, struck: struck.to_vec(), ..StreamReport::default() })
    };
    story.reply(says(&["the port is 8081", "run make gen first"], &[]));
    story.say("saved-as iter-001 / changed 1 / fail a / saved");
    story.reply(says(&["the port is 8082"], &[1]));
    story.say("saved-as iter-002 / changed 1 / fail b / saved");
    let text = prompt(&story.state, PromptForm::Facts).text();
    assert!(text.contains("n2 (claimed, iteration 1): run make gen first"), "{text}");
    assert!(text.contains("n3 (claimed, iteration 2): the port is 8082") && !text.contains("8081"), "{text}");
    // Too many: the oldest goes, and numbers are never used again.
    for number in 0..NOTES_MAX + 5 {
        let iteration = story.state.iteration;
        story.reply(says(&[&format!("fact number {number}")], &[]));
        story.say(&format!("saved-as iter-{iteration} / changed 1 / fail c / saved"));
    }
    let notes = story.state.prompt.memory.notes();
    assert_eq!((notes.len(), notes.last().unwrap().id), (NOTES_MAX, 3 + NOTES_MAX as u32 + 5));
}

/// A run in the form of the specification, with a small window, up to the text that is due after iteration 3.
fn with_summary() -> Story {
    let mut story = story(&[
        ("agent", "codex"),
        ("prompt_form", "history"),
        ("text_writer", "agent"),
        ("raw_window_size", "2"),
        ("summarize_every", "3"),
    ]);
    for said in ["one", "two", "three"] {
        iteration(&mut story, said);
    }
    story
}

// req: A-16
// req: A-07 partly: summaries
#[test]
fn older_iterations_leave_the_window_and_an_agent_writes_their_summary() {
    let mut story = with_summary();
    assert_eq!(story.last(), "text summary by codex");
    let memory = &story.state.prompt.memory;
    let numbers = |all: &[loop_core::run::RawIteration]| all.iter().map(|raw| raw.iteration).collect::<Vec<_>>();
    assert_eq!((numbers(memory.window()), numbers(memory.folded())), (vec![2, 3], vec![1]));
    let text = prompt(&story.state, PromptForm::History).text();
    assert!(text.contains("## Progress Summary (iterations 1-1)\n### Iteration 1\n- CLI: codex"), "{text}");
    let calls = story.state.budget.spent().calls;
    story.reply(text_written(true));
    assert_eq!(story.last(), "agent 4.1");
    assert_eq!(story.state.budget.spent().calls, calls + 1, "the agent's own call; the text was counted at its order");
    assert!(story.state.prompt.memory.folded().is_empty());
    let text = prompt(&story.state, PromptForm::History).text();
    assert!(text.contains("what happened so far") && !text.contains("### Iteration 1\n"), "{text}");
}

// req: A-07 partly: summaries
#[test]
fn where_the_agent_gives_no_text_the_extract_serves_and_the_fact_says_so() {
    let mut story = with_summary();
    story.reply(text_written(false));
    assert_eq!(story.last(), "agent 4.1");
    assert!(story.state.prompt.memory.summary().is_none());
    let said = format!("{:?}", story.journal);
    assert!(said.contains("the agent gave none (exit 1)"), "{said}");
    let text = prompt(&story.state, PromptForm::History).text();
    assert!(text.contains("### Iteration 1\n- CLI: codex"), "{text}");
}

/// The same with two agents, of which the second is the cheaper one by the table of models, and these settings.
fn with_two_agents(settings: &[(&str, &str)]) -> Story {
    let two = [
        ("agent", "codex"),
        ("agents", "codex,gemini"),
        ("prompt_form", "history"),
        ("text_writer", "agent"),
        ("raw_window_size", "2"),
        ("summarize_every", "3"),
    ];
    let mut story = story(&[&two, settings].concat());
    for said in ["one", "two", "three"] {
        if story.last() == "reserve" {
            story.say("granted 1");
        }
        iteration(&mut story, said);
    }
    story
}

// req: A-07
#[test]
fn of_two_agents_the_cheaper_one_writes_a_text() {
    let story = with_two_agents(&[("models", "codex gpt-9 $$$ 1M\ngemini flash $ 1M")]);
    assert_eq!(story.last(), "text summary by gemini", "{}", story.told);
    let dear = with_two_agents(&[("models", "codex gpt-9 $ 1M\ngemini flash $$$ 1M")]);
    assert_eq!(dear.last(), "text summary by codex", "{}", dear.told);
}

// req: A-07
#[test]
fn where_the_money_that_is_left_is_for_one_call_no_agent_is_asked_for_a_text() {
    let capped = |cost: &str| with_two_agents(&[("max_cost", cost), ("worst_cost", "1")]);
    // Three calls cost nothing that is known: each counts as one dollar.
    let enough = capped("5");
    assert_eq!(enough.last(), "text summary by gemini", "{}", enough.told);
    let short = capped("4.5");
    assert_eq!(short.last(), "agent 4.1", "{}", short.told);
    let said = format!("{:?}", short.journal);
    assert!(said.contains("the money that is left is for the agent's work"), "{}", short.told);
}

// req: C-09 partly: texts
#[test]
fn a_call_for_a_text_takes_a_place_in_the_hour() {
    let due = || with_two_agents(&[("max_calls_per_hour", "9")]);
    let mut story = due();
    assert_eq!(story.last(), "reserve", "{}", story.told);
    story.say("granted 4");
    assert_eq!(story.last(), "text summary by gemini", "{}", story.told);
    let order = story.state.main_order().map(|(_, open)| open.order.clone());
    assert!(matches!(order, Some(Order::WriteText { reservation: Some(4), .. })), "{order:?}");
    story.reply(text_written(true));
    assert_eq!(story.last(), "reserve", "the agent's own call is another one: {}", story.told);
    let mut full = due();
    full.say("denied calls_per_hour 5000");
    assert!(full.last().starts_with("hold"), "the text waits, too: {}", full.told);
}

#[test]
fn a_text_that_a_crash_cut_off_is_not_asked_for_again() {
    let mut story = with_summary();
    let calls = story.state.budget.spent().calls;
    story.say("opened / cleaned / saved");
    assert_eq!(story.last(), "agent 4.1", "{}", story.told);
    let spent = story.state.budget.spent();
    assert_eq!((spent.calls, spent.cost_untold > 0), (calls + 1, true), "it may have cost something");
}

#[test]
fn no_agent_is_asked_for_a_text_where_loop_itself_writes() {
    let mut story =
        story(&[("agent", "codex"), ("prompt_form", "history"), ("raw_window_size", "1"), ("summarize_every", "1")]);
    for said in ["one", "two", "three"] {
        iteration(&mut story, said);
    }
    assert_eq!(story.last(), "agent 4.1");
    assert_eq!(story.state.prompt.memory.folded().len(), 2);
}

// req: A-13
#[test]
fn the_documented_sections_stand_in_their_order_and_empty_ones_are_left_out() {
    let mut story = story(&[("agent", "codex"), ("prompt_form", "history")]);
    for said in ["one", "two", "three", "four", "five", "six", "seven"] {
        iteration(&mut story, said);
    }
    let all = compose(&Material {
        form: PromptForm::History,
        goal: "fix it",
        instructions: &["Focus on errors".to_owned()],
        environment: &["HARNESS_MODE: normal → turbo".to_owned()],
        file_events: &["modified: src/a.rs".to_owned()],
        gates: vec![GateSaid { command: "make".to_owned(), ended: Some("exit 1".to_owned()), ..GateSaid::default() }],
        memory: Some(&story.state.prompt.memory),
        summary_tokens_max: 2000,
        iteration: 8,
        ..Material::default()
    });
    let text = all.text();
    let heads: Vec<&str> = text.lines().filter(|line| line.starts_with("## ")).collect();
    assert_eq!(
        heads,
        [
            "## Goal",
            "## Progress Summary (iterations 1-2)",
            "## Recent Iterations",
            "## Current State",
            "## Environment Changes",
            "## New Instructions (incorporate these)",
            "## File Changes Detected",
            "## Last Gate Result",
            "## Output Requirements",
        ]
    );
    assert!(text.contains("- HARNESS_MODE: normal → turbo\n") && text.contains("- modified: src/a.rs\n"), "{text}");
    assert!(text.contains("- Total iterations: 7\n") && text.contains("### Iteration 5\n"), "{text}");
    assert!(
        text.contains("### Iteration 7\n") && !text.contains("### Iteration 4\n"),
        "the last three are raw: {text}"
    );
    let first = compose(&Material { form: PromptForm::History, goal: "fix it", iteration: 1, ..Material::default() });
    let heads: Vec<String> = first.text().lines().filter(|line| line.starts_with("## ")).map(str::to_owned).collect();
    assert_eq!(heads, ["## Goal", "## Current State", "## Output Requirements"]);
}
