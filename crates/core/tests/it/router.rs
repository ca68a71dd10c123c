//! Several agents: which one works, when another takes over, and when the first comes back.
use loop_core::policy::router::{
    AgentArm, AgentList, COMPLEX, IMPLEMENTATION, ModelRow, ModelTable, RESEARCH, TaskAnalysis, TaskEvidence,
    TaskSigns, TaskWords, analyse, cheapest, next_up, route,
};
use loop_core::run::*;

use crate::play::{Story, spec};

fn arm(text: &str) -> AgentArm {
    AgentList::parse(text).unwrap().0.remove(0)
}

fn arms(text: &str) -> Vec<AgentArm> {
    AgentList::parse(text).unwrap().0
}

/// Every choice of a story: agent and model, cause, rule.
fn choices(story: &Story) -> Vec<String> {
    let chosen = story.journal.iter().filter_map(|entry| match &entry.fact {
        Fact::Decided(Decision::Chosen { choice, why, rule, .. }) => {
            let rule = rule.as_ref().map_or_else(String::new, |rule| format!(": {rule}"));
            Some(format!("{} {why:?}{rule}", choice.arm()))
        }
        Fact::Happened(_)
        | Fact::Ordered { .. }
        | Fact::OrderCancelled { .. }
        | Fact::Decided(_)
        | Fact::Concluded { .. } => None,
    });
    chosen.collect()
}

#[test]
fn a_list_of_agents_is_read_with_models_and_wrong_ones_are_refused_with_an_example() {
    // req: A-17 partly: the list as it is typed
    let list = AgentList::parse("claude, codex:gpt-5.2").unwrap();
    assert_eq!(list.0, [AgentArm::new("claude", None), AgentArm::new("codex", Some("gpt-5.2"))]);
    assert_eq!(list.to_string(), "claude,codex:gpt-5.2");
    assert!(AgentList::parse("auto").unwrap().is_auto());
    for (text, why) in [
        ("", "the name of an agent is a word"),
        ("claude,,codex", "the name of an agent is a word"),
        ("claude;rm", "the name of an agent is a word"),
        ("claude,claude", "claude stands there twice"),
        ("codex:", "does not name a model"),
        ("codex:a b", "does not name a model"),
        ("codex:--flag", "does not name a model"),
        ("auto,claude", "auto means all agents"),
    ] {
        let refusal = AgentList::parse(text).unwrap_err();
        assert!(refusal.why.contains(why), "{text}: {}", refusal.why);
        assert!(!refusal.hint.is_empty());
    }
}

#[test]
fn the_built_in_table_is_that_of_the_specification_and_its_text_is_read_again() {
    // req: A-08 partly: the table; the rung is with recovery
    let table = ModelTable::default();
    let rows: Vec<String> = table.rows().iter().map(ToString::to_string).collect();
    assert_eq!(
        rows,
        [
            "gemini gemini-3-flash $ 1M speed: simple tasks, summarization",
            "gemini gemini-3-pro $$ 1M context: research, large codebase",
            "codex gpt-5.2 $$ 400k implementation: code generation, builds",
            "claude claude-sonnet-4 $$$ 200k balance: complex tasks, review",
            "claude claude-opus-4.5 $$$$ 200k intelligence: hardest problems, final review",
        ]
    );
    assert_eq!(ModelTable::parse(&table.to_string()), Ok(table.clone()));
    assert_eq!(ModelTable::parse(""), Ok(table));
    for (text, why) in [
        ("codex gpt-5.2 $$", "has not agent, model, cost and context"),
        ("codex gpt-5.2 $$$$$ 1M", "is not a cost"),
        ("codex gpt-5.2 $$ many", "is not a number of tokens"),
        ("codex gpt-5.2 $ 1M\ncodex gpt-5.2 $ 1M", "stands there twice"),
    ] {
        assert!(ModelTable::parse(text).unwrap_err().why.contains(why), "{text}");
    }
}

#[test]
fn escalation_goes_one_step_up_and_skips_what_is_not_enabled_or_was_refused() {
    // req: A-08
    let table = ModelTable::default();
    let all = arms("claude,codex,gemini");
    let up = |from: &str, enabled: &[AgentArm], refused: &[AgentArm]| {
        next_up(&table, &arm(from), enabled, refused).map(|row| row.model.clone())
    };
    let mut at = arm("gemini:gemini-3-flash");
    let mut order = Vec::new();
    while let Some(row) = next_up(&table, &at, &all, &[]) {
        order.push(row.model.clone());
        at = row.arm();
    }
    assert_eq!(order, ["gemini-3-pro", "gpt-5.2", "claude-sonnet-4", "claude-opus-4.5"]);
    assert_eq!(up("gemini:gemini-3-flash", &arms("claude,gemini:gemini-3-flash"), &[]).unwrap(), "claude-sonnet-4");
    assert_eq!(up("gemini:gemini-3-pro", &all, &arms("codex:gpt-5.2")).unwrap(), "claude-sonnet-4");
    assert_eq!(up("claude:claude-opus-4.5", &all, &[]), None, "the top");
    assert_eq!(up("codex:gpt-5.2", &arms("codex,gemini"), &[]), None, "no enabled one is above");
    // Without a model an agent stands at its cheapest row; one that is in no row stands below all.
    assert_eq!(up("claude", &all, &[]).unwrap(), "claude-opus-4.5");
    assert_eq!(up("aider", &all, &[]).unwrap(), "gemini-3-flash");
    assert_eq!(cheapest(&table, &arms("claude,codex"), &[]).unwrap().model, "gpt-5.2");
}

#[test]
fn the_scarcest_model_is_known_by_its_names() {
    // req: A-19 partly: which names are guarded
    let table = ModelTable::default();
    for (agent, model, is) in [
        ("claude", "claude-opus-4.5", true),
        ("claude", "claude-opus-4-5-20251101", true),
        ("claude", "anthropic/claude-opus-4-5", true),
        ("claude", "opus", true),
        ("claude", "Opus[1m]", true),
        ("claude", "claude-sonnet-4", false),
        ("claude", "sonnet", false),
        ("claude", "haiku", false),
        ("codex", "claude-opus-4.5", false),
        ("codex", "gpt-5.2", false),
    ] {
        assert_eq!(table.is_scarcest(agent, model), is, "{agent} {model}");
    }
}

fn task(goal: &str) -> TaskAnalysis {
    let words = TaskWords { implementation: IMPLEMENTATION, research: RESEARCH, complex: COMPLEX };
    let signs = TaskSigns::of(goal, &words);
    analyse(&TaskEvidence { signs, stuck_after: 3, ..TaskEvidence::default() })
}

#[test]
fn a_task_is_what_whole_words_of_its_goal_say() {
    // req: A-31
    for word in ["implement", "write", "create", "build", "add", "fix"] {
        assert!(task(&format!("Please {} it", word.to_uppercase())).implementation, "{word}");
    }
    for word in ["research", "explore", "find", "investigate", "analyze"] {
        assert!(task(word).research, "{word}");
    }
    for word in ["design", "architect", "optimize", "refactor", "debug a", "debug complex"] {
        assert_eq!(task(word).complex, word != "debug a", "{word}");
    }
    let other = task("the address of the writer, prefixed and rebuilt");
    assert!(!(other.implementation || other.research || other.complex), "parts of words say nothing");
    let words = TaskWords { implementation: "port", research: "", complex: "" };
    let signs = TaskSigns::of("port it, and add a test", &words);
    let own = analyse(&TaskEvidence { signs, ..TaskEvidence::default() });
    assert!(own.implementation && !own.complex, "the lists are settings");
}

#[test]
fn difficulty_context_and_stuck_have_the_numbers_of_the_specification() {
    // req: A-31
    let words = TaskWords { implementation: IMPLEMENTATION, research: RESEARCH, complex: COMPLEX };
    let long = format!("{} complex", "x".repeat(500));
    for (goal, iterations, without, difficulty) in [
        ("a", 20, 0, 0),
        ("a", 21, 0, 3),
        ("a", 21, 1, 5),
        (&"x".repeat(500), 0, 0, 0),
        (&"x".repeat(501), 0, 0, 2),
        ("a COMPLEX one", 0, 0, 3),
        ("complexity", 0, 0, 0),
        (&long, 21, 1, 10),
    ] {
        let signs = TaskSigns::of(goal, &words);
        let evidence = TaskEvidence { signs, iterations, without_progress: without, ..TaskEvidence::default() };
        assert_eq!(analyse(&evidence).difficulty, difficulty, "{iterations} {without} {}", goal.len());
    }
    let with_bytes = |text_bytes| analyse(&TaskEvidence { text_bytes, ..TaskEvidence::default() }).large_context;
    assert_eq!([with_bytes(400_000), with_bytes(400_004)], [false, true]);
    let without = |count, stuck_after| {
        analyse(&TaskEvidence { without_progress: count, stuck_after, ..TaskEvidence::default() }).stuck
    };
    assert_eq!([without(2, 3), without(3, 3), without(4, 5), without(5, 5)], [false, true, false, true]);
}

#[test]
fn the_rules_choose_in_the_order_of_the_specification() {
    // req: A-18
    let table = ModelTable::default();
    let chosen = |task: TaskAnalysis, enabled: &str, cheap: bool| {
        let enabled = arms(enabled);
        let rows: Vec<&ModelRow> = table.enabled(&enabled).collect();
        route(&task, &rows, cheap).map(|routed| routed.row.model.clone()).unwrap_or_default()
    };
    let none = TaskAnalysis::default();
    let all = "claude,codex,gemini";
    let stuck = TaskAnalysis { stuck: true, large_context: true, implementation: true, ..none };
    let cases = [
        (stuck, all, "claude-opus-4.5"),
        (stuck, "codex,gemini", "gpt-5.2"),
        (stuck, "gemini", "gemini-3-pro"),
        (TaskAnalysis { large_context: true, implementation: true, ..none }, all, "gemini-3-pro"),
        (TaskAnalysis { large_context: true, implementation: true, ..none }, "claude,codex", "gpt-5.2"),
        (TaskAnalysis { implementation: true, research: true, ..none }, all, "gpt-5.2"),
        (TaskAnalysis { implementation: true, research: true, ..none }, "claude,gemini", "gemini-3-pro"),
        (TaskAnalysis { research: true, ..none }, all, "gemini-3-pro"),
        (TaskAnalysis { complex: true, difficulty: 8, ..none }, all, "claude-opus-4.5"),
        (TaskAnalysis { complex: true, difficulty: 7, ..none }, all, "gemini-3-flash"),
        (TaskAnalysis { complex: true, difficulty: 8, ..none }, "codex,gemini", "gemini-3-flash"),
        (none, all, "gemini-3-flash"),
        (none, "claude,codex", "gpt-5.2"),
        (none, "claude", "claude-sonnet-4"),
    ];
    for (task, enabled, model) in cases {
        assert_eq!(chosen(task, enabled, true), model, "{task:?} of {enabled}");
    }
    assert_eq!(chosen(none, all, false), "gpt-5.2", "the most capable below the scarcest, of all");
    assert_eq!(chosen(none, "gemini", false), "gemini-3-flash");
}

const BEGIN: &str = "opened / saved / fail";

/// claude first, codex when it cannot work.
fn two(more: &[(&str, &str)]) -> Story {
    let base = [("agent", "claude"), ("agents", "claude,codex"), ("max_iterations", "9")];
    let mut story = Story::new(&[&base, more].concat());
    story.say(BEGIN);
    story
}

#[test]
fn another_agent_works_while_the_first_waits_for_its_limit_and_the_first_comes_back_after_the_reset() {
    // req: A-17
    let mut story = two(&[]);
    assert_eq!(story.last(), "agent 1.1");
    story.say("agent-heard rate_limit=100000");
    assert!(story.last().starts_with("agent 1.2 with codex"), "no wait, and the same iteration: {}", story.told);
    story.say("agent-ok / saved / measured / fail");
    assert!(story.last().starts_with("agent 2.1 with codex"), "{}", story.told);
    let until = story.state.agent.provider.wait_of("claude").unwrap().until_ms;
    let ms = until - crate::play::at(0).wall_ms;
    story.play(&format!("{ms} agent-ok\n{ms} saved\n{ms} measured\n{ms} fail"));
    assert!(story.last().starts_with("agent 3.1"), "{}", story.told);
    let told = choices(&story);
    assert_eq!(told[0], "claude Settings");
    assert!(
        told[1].starts_with("codex FailOver: claude waits until 20") && told[1].ends_with("rate_limit"),
        "{told:?}"
    );
    assert_eq!(told[3], "claude Settings: claude can work again, instead of codex");
    assert_eq!(story.state.progress.crash_streak(), 0);
}

#[test]
fn where_all_wait_the_run_waits_for_the_one_that_is_free_first() {
    let mut story = two(&[]);
    story.say("agent-heard rate_limit=5000000 / agent-heard rate_limit=2000000");
    // The wait is long, so the gates run once before it.
    story.say("saved / fail");
    assert!(story.last().starts_with("hold limit"), "{}", story.told);
    let waits: Vec<(&str, u64)> =
        story.state.agent.provider.waits().map(|(agent, wait)| (agent, wait.until_ms)).collect();
    let [(_, claude), (_, codex)] = waits[..] else { panic!("{waits:?}") };
    assert!(codex < claude);
    let ms = codex - crate::play::at(0).wall_ms;
    story.play(&format!("{ms} deadline\n{ms} held"));
    assert!(story.last().starts_with("agent 1.3 with codex"), "{}", story.told);
}

#[test]
fn an_agent_that_cannot_log_in_or_has_no_credit_or_refuses_the_model_is_replaced_and_not_asked_again() {
    for failure in ["auth", "billing", "model"] {
        let mut story = two(&[("agent_model", "claude-x")]);
        story.say(&format!("agent-heard {failure}"));
        assert!(story.last().starts_with("agent 1.2 with codex"), "{failure}: {}", story.told);
        story.say("agent-ok / saved / measured / fail / agent-ok / saved / measured / fail");
        assert!(story.last().starts_with("agent 3.1 with codex"), "{failure}: {}", story.told);
        assert_eq!(story.state.iterations_done(), 2, "it was not an iteration");
        assert_eq!(story.state.progress.streaks().evidence.len(), 2, "and no failure of the task");
    }
}

#[test]
fn where_no_enabled_agent_can_work_the_run_ends_as_with_one() {
    let mut story = two(&[]);
    story.say("agent-heard auth / agent-heard billing / saved / measured / fail");
    assert!(story.last().starts_with("END unable (fatal_error): codex has no credit left"), "{}", story.told);
}

#[test]
fn a_model_that_the_program_refuses_is_skipped_and_another_of_the_table_is_used() {
    // req: A-08
    let mut story =
        Story::new(&[("agent", "codex"), ("agents", "codex,claude"), ("router", "auto"), ("max_iterations", "9")]);
    story.say(BEGIN);
    assert_eq!(choices(&story), ["codex:gpt-5.2 Router: rule: implementation"], "the goal is: fix it");
    story.say("agent-heard model / agent-ok / saved / measured / fail");
    let told = choices(&story);
    assert_eq!(told[1..], ["claude:claude-sonnet-4 Router: rule: no other rule: the cheapest"; 2], "{told:?}");
}

#[test]
fn an_agent_that_crashes_again_and_again_is_replaced() {
    let mut story = two(&[("max_no_progress", "unlimited"), ("max_same_error", "unlimited")]);
    for _ in 0..3 {
        story.say("agent-exit 1 / saved / measured / fail");
    }
    assert!(story.last().starts_with("agent 4.1 with codex"), "{}", story.told);
    let out = story.journal.iter().filter(|entry| matches!(entry.fact, Fact::Decided(Decision::AgentOut { .. })));
    assert_eq!(out.count(), 1);
}

#[test]
fn each_agent_continues_its_own_session() {
    let mut story = two(&[("session", "continue"), ("max_no_progress", "unlimited")]);
    story.say("agent-heard session=a1 / saved / measured / fail");
    assert_eq!(story.last(), "agent 2.1 in a1");
    story.say("agent-heard rate_limit=100000");
    assert_eq!(story.last(), "agent 2.2 with codex telling {limited:{attempt:1}}", "a new session of its own");
    story.say("agent-heard session=b1 / saved / measured / fail");
    assert_eq!(story.last(), "agent 3.1 with codex in b1");
    let ms = story.state.agent.provider.wait_of("claude").unwrap().until_ms - crate::play::at(0).wall_ms;
    story.play(&format!("{ms} agent-heard session=b1\n{ms} saved\n{ms} measured\n{ms} fail"));
    assert!(story.last().ends_with("in a1"), "the first one goes on in its own: {}", story.last());
}

#[test]
fn a_reopened_run_asks_the_first_agent_again() {
    let mut story = two(&[("max_iterations", "1")]);
    story.say("agent-heard auth / agent-ok / saved / measured / fail / reopened max_iterations=2 / fail");
    assert!(!story.last().contains("codex"), "a person may have signed in: {}", story.told);
}

#[test]
fn auto_chooses_before_each_iteration_and_says_by_which_rule() {
    // req: A-32
    let settings =
        [("agent", "gemini"), ("agents", "gemini,codex,claude"), ("router", "auto"), ("max_iterations", "9")];
    let mut story = Story::new(&[&settings[..], &[("max_no_progress", "unlimited"), ("stuck_after", "3")]].concat());
    story.say(BEGIN);
    for _ in 0..4 {
        story.say("agent-ok / saved / measured / fail");
    }
    let told = choices(&story);
    assert_eq!(told[0], "codex:gpt-5.2 Router: rule: implementation");
    assert_eq!(told[4], "claude:claude-opus-4.5 Router: rule: stuck: the most capable", "{told:?}");
}

/// claude with the scarcest model, codex beside it.
fn scarce(more: &[(&str, &str)]) -> Story {
    let base = [
        ("agent", "claude"),
        ("agent_model", "claude-opus-4.5"),
        ("agents", "claude:claude-opus-4.5,codex"),
        ("max_iterations", "9"),
        ("max_no_progress", "unlimited"),
        ("opus_daily_limit", "2"),
    ];
    let mut story = Story::new(&[&base, more].concat());
    story.say(BEGIN);
    story
}

#[test]
fn every_call_of_the_scarcest_model_is_reserved_and_when_it_is_used_up_the_next_most_capable_works_until_midnight() {
    // req: A-19
    let mut story = scarce(&[]);
    assert_eq!(story.last(), "reserve");
    story.say("granted 1 / agent-ok / saved / measured / fail / denied scarce_per_day 500000");
    assert!(story.last().starts_with("agent 2.1 with codex (gpt-5.2)"), "{}", story.told);
    story.say("agent-ok / saved / measured / fail");
    assert!(story.last().starts_with("agent 3.1 with codex (gpt-5.2)"), "not asked again today: {}", story.told);
    let until = story.state.agent.routing.used_up_until_ms().unwrap() - crate::play::at(0).wall_ms;
    story.play(&format!("{until} agent-ok\n{until} saved\n{until} measured\n{until} fail"));
    assert_eq!(story.last(), "reserve", "a new day: {}", story.told);
    let told = choices(&story);
    assert_eq!(told[1], "codex:gpt-5.2 DailyLimit: claude-opus-4.5 is used up for today");
}

#[test]
fn the_guard_holds_on_every_way_to_the_model() {
    // req: A-19
    let names = ["opus", "claude-opus-4-5-20251101", "claude-opus-4.5"];
    for name in names {
        let story = scarce(&[("agent_model", name), ("agents", "")]);
        assert_eq!(story.last(), "reserve", "by the settings, as {name}");
    }
    let unlimited = scarce(&[("opus_daily_limit", "unlimited")]);
    assert_eq!(unlimited.last(), "agent 1.1", "{}", unlimited.told);
    let routed = [("agent_model", ""), ("agents", "claude,codex"), ("router", "auto"), ("stuck_after", "3")];
    let mut routed = scarce(&routed);
    for _ in 0..3 {
        routed.say("agent-ok / saved / measured / fail");
    }
    assert_eq!(routed.last(), "reserve", "by a rule: {}", routed.told);
    routed.say("denied scarce_per_day 500000");
    assert!(routed.last().starts_with("agent 4.1"), "{}", routed.told);
    assert_eq!(choices(&routed)[3], "codex:gpt-5.2 DailyLimit: claude-opus-4.5 is used up for today");
    // An agent whose default is that model says so in its first call.
    let mut default = scarce(&[("agent_model", ""), ("agents", "")]);
    assert_eq!(default.last(), "agent 1.1");
    default.say("agent-heard model=claude-opus-4-5-20251101 / saved / measured / fail");
    assert_eq!(default.last(), "reserve", "{}", default.told);
    default.say("denied scarce_per_day 500000");
    assert!(default.last().starts_with("agent 2.1 with claude (claude-sonnet-4)"), "{}", default.told);
}

#[test]
fn where_no_other_model_is_enabled_the_run_ends_when_the_scarcest_is_used_up() {
    let mut story = scarce(&[("agents", ""), ("models", "claude claude-opus-4.5 $$$$ 200k intelligence: all")]);
    story.say("denied scarce_per_day 500000");
    assert!(
        story.last().starts_with("END exhausted (budget_limit): all loops together have used up"),
        "{}",
        story.told
    );
}

#[test]
fn a_call_that_was_granted_for_another_model_is_not_used_for_the_scarcest() {
    let mut story = two(&[("max_calls_per_day", "9"), ("opus_daily_limit", "2")]);
    assert_eq!(story.last(), "reserve");
    story.say("set agent_model=opus / granted 1");
    assert_eq!(story.last(), "reserve", "asked again, for the scarcest: {}", story.told);
    story.say("granted 2");
    assert_eq!(story.last(), "agent 1.1 with claude (opus) reserved 2", "{}", story.told);
}

#[test]
fn the_cheapest_is_the_one_of_the_lowest_cost_and_not_the_one_with_a_word() {
    // req: A-18
    let table = ModelTable::parse("claude quick $$$ 200k speed: fast\ncodex small $ 200k balance: all\n").unwrap();
    let rows: Vec<&ModelRow> = table.rows().iter().collect();
    let routed = route(&TaskAnalysis::default(), &rows, true).unwrap();
    assert_eq!(routed.row.model, "small", "{}", routed.rule);
    let same = ModelTable::parse("claude one $ 200k balance: all\ncodex two $ 200k speed: fast\n").unwrap();
    let rows: Vec<&ModelRow> = same.rows().iter().collect();
    assert_eq!(route(&TaskAnalysis::default(), &rows, true).unwrap().row.model, "two", "of equal cost the fastest");
}

#[test]
fn the_words_of_a_whole_long_task_decide_and_not_those_of_its_beginning() {
    // req: A-31
    let settings = [("agent", "codex"), ("agent_cmd", ""), ("agents", "codex,gemini"), ("router", "auto")];
    let words = TaskWords { implementation: IMPLEMENTATION, research: RESEARCH, complex: COMPLEX };
    let chosen = |goal: &str| {
        let goal = format!("{}{goal}", "x ".repeat(1500));
        let head = StoredText { head: goal[..512].to_owned(), file: None };
        let task = Some(TaskSigns::of(&goal, &words));
        let story = Story::of(RunSpec { goal: head, task, ..spec(&settings) });
        story.state.next_choice(story.state.settings.shown()).agent
    };
    assert_eq!(chosen("implement it"), "codex");
    assert_eq!(chosen("research it"), "gemini");
}
