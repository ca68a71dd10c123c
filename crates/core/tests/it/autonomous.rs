//! The numbers of the autonomous specification in its profile, where no other story shows them.
//! `docs/autonomous-specification.md` names the test of each number.
use loop_core::ids::RunId;
use loop_core::policy::rank::Rank;
use loop_core::prompt::{Material, branch_task, compose, progress_summary, request};
use loop_core::run::*;
use loop_core::settings::profiles::autonomous::key_of;
use loop_core::settings::{Kind, PromptForm, key};
use loop_core::view::{HarnessFold, HarnessStyle};

use crate::play::{Story, agent_heard, spec, text_written};

/// What takes the settings of other stories away, so that the defaults of the profile are left.
const PLAIN: [(&str, &str); 5] =
    [("profile", "autonomous"), ("promise", ""), ("agent", ""), ("agent_cmd", ""), ("max_iterations", "")];

/// A loop with nothing but the defaults of the profile and these settings, up to its first call.
fn profile(settings: &[(&str, &str)]) -> Story {
    let is_left = |(name, _): &&(&str, &str)| !settings.iter().any(|(given, _)| given == name);
    let plain: Vec<(&str, &str)> = PLAIN.iter().filter(is_left).copied().collect();
    let mut story = Story::checkpointed(&[&plain, settings].concat());
    story.say("opened");
    go_on(&mut story, "");
    story
}

/// Answers every order until an agent works, or something else is waited for.
fn go_on(story: &mut Story, changed: &str) {
    for _ in 0..9 {
        let word = story.last().split(' ').next().unwrap_or_default().to_owned();
        match word.as_str() {
            "checkpoint" => story.say("saved-as kept"),
            "measure" => story.say(&format!("changed {changed}")),
            "text" => story.reply(text_written(true)),
            "reserve" => story.say("granted 1"),
            _ => return,
        };
    }
}

/// One iteration with so many changed lines and so much other output, in ten-thousandths.
fn iteration(story: &mut Story, lines: u32, output: u32) {
    story.say("agent-ok");
    go_on(story, &format!("1 lines={lines} output={output}"));
}

/// So many iterations with a score far below the threshold.
fn fruitless(story: &mut Story, count: u32) {
    (0..count).for_each(|_| iteration(story, 1, 100));
}

fn rungs(story: &Story) -> Vec<&str> {
    let lines = story.told.lines().filter_map(|line| Some(line.split_once(' ')?.1));
    lines.filter(|line| line.starts_with("rung") || line.starts_with("ladder")).collect()
}

#[test]
fn every_key_of_the_documented_file_has_its_documented_default() {
    // req: A-20
    let settings = spec(&PLAIN).settings;
    let documented = [
        ("loop.max_iterations", "unlimited"),
        ("loop.max_time", "24h"),
        ("loop.progress_threshold", "0.15"),
        ("loop.stuck_after", "3"),
        ("loop.recovery.prompt_mutations", "3"),
        ("loop.recovery.branch_exploration", "true"),
        ("loop.recovery.branch_count", "3"),
        ("loop.recovery.branch_budget", "10"),
        ("loop.recovery.budget", "20"),
        ("cli.enabled", "codex,gemini"),
        ("cli.default", "codex"),
        ("cli.auto_router.prefer_cheap", "true"),
        ("cli.auto_router.opus_daily_limit", "50"),
        ("context.raw_window_size", "5"),
        ("context.summarize_every", "10"),
        ("context.max_summary_tokens", "2000"),
        ("alerts.milestone_every", "10"),
        ("alerts.pause_on_critical", "true"),
        ("alerts.log_file", ".harness/alerts.log"),
        ("environment.watch_workspace", "true"),
        ("environment.inbox_enabled", "true"),
        ("environment.inbox_path", ".harness/inbox"),
        ("environment.check_env_vars", "true"),
        ("runaway.max_iterations_warning", "100"),
        ("runaway.identical_output_window", "5"),
        ("runaway.min_iteration_duration", "1s"),
    ];
    let held = documented.map(|(name, _)| (name, settings.text(key_of(name).unwrap())));
    assert_eq!(held, documented);
    assert_eq!(settings.text(key("stop_file").unwrap()), ".harness/stop");
    assert_eq!(settings.text(key("ladder").unwrap()), "mutations:5, model:10, branches, human");
}

#[test]
fn the_variables_of_the_harness_have_their_documented_words() {
    // req: A-12 partly: the words
    let words = |name: &str| {
        if let Kind::Choice(words) = key(name).unwrap().kind { words.join("|") } else { String::new() }
    };
    assert_eq!(words("mode"), "normal|turbo|conservative");
    assert_eq!(words("priority"), "none|speed|quality|cost", "none where nothing is said");
}

#[test]
fn each_end_has_its_documented_word() {
    // req: A-01 partly: the words
    let ends = |settings: &[(&str, &str)], words: &str| {
        let mut story = profile(settings);
        story.say(words);
        go_on(&mut story, "1 lines=90 output=9000");
        let last = story.last().to_owned();
        last.split(['(', ')']).nth(1).unwrap_or(&last).to_owned()
    };
    assert_eq!(ends(&[], "stop / agent-ok"), "manual_stop");
    assert_eq!(ends(&[], "agent-heard promise=COMPLETE"), "goal_complete");
    assert_eq!(ends(&[("max_iterations", "1")], "agent-ok"), "iteration_limit");
    assert_eq!(ends(&[], "failed disk full"), "fatal_error");
    let mut story = profile(&[]);
    story.wait(24 * 3_600_000).say("deadline / agent-by-us");
    go_on(&mut story, "0 output=0");
    assert!(story.last().starts_with("END exhausted (time_limit)"), "{}", story.told);
}

#[test]
fn stuck_after_three_low_scores_the_ladder_has_its_documented_rungs_and_numbers() {
    // req: A-05 partly: the numbers of the profile
    // req: A-06 partly: the rungs and their numbers
    // req: A-29 partly: the budget
    let mut story = profile(&[("agents", "codex,claude")]);
    fruitless(&mut story, 2);
    assert_eq!(rungs(&story), Vec::<&str>::new(), "two are not enough");
    fruitless(&mut story, 21);
    let failed = [
        "rung 1 mutate:rephrase began, 5 at most (low_score after 3)",
        "rung 1 mutate:rephrase failed after 5",
        "rung 2 mutate:decompose began, 5 at most (low_score after 3)",
        "rung 2 mutate:decompose failed after 5",
        "rung 3 mutate:constrain began, 5 at most (low_score after 3)",
        "rung 3 mutate:constrain failed after 5",
        // 5 are left of the recovery budget of 20.
        "rung 4 model began, 5 at most (low_score after 3)",
        "rung 4 model failed after 5",
        "rung 5 branches began, 10 at most (low_score after 3)",
    ];
    assert_eq!(rungs(&story), failed, "{}", story.told);
    assert_eq!(story.last(), "branches 1: branch-a branch-b branch-c");
    story.reply(branches(None));
    go_on(&mut story, "");
    assert_eq!(
        rungs(&story)[9..],
        ["rung 5 branches failed after 30: no branch has a state", "rung 6 human began, 0 at most (low_score after 3)",]
    );
    let critical = "END paused (alert_pause): paused by a critical alert: Stuck after all recovery attempts";
    assert!(story.last().starts_with(critical), "{}", story.told);
}

#[test]
fn without_a_recovery_budget_the_next_model_has_ten_iterations() {
    // req: A-06 partly: the escalation
    let mut story = profile(&[("agents", "codex,claude"), ("recovery_budget", "unlimited")]);
    fruitless(&mut story, 18);
    assert_eq!(rungs(&story).last(), Some(&"rung 4 model began, 10 at most (low_score after 3)"), "{}", story.told);
    assert_eq!(story.last(), "agent 19.1 with claude (claude-sonnet-4) as fresh");
    iteration(&mut story, 50, 10_000);
    assert_eq!(rungs(&story).last(), Some(&"rung 4 model success after 1"), "{}", story.told);
    assert_eq!(story.last(), "agent 20.1 with claude (claude-sonnet-4) as fresh", "its model stays");
}

#[test]
fn five_forms_of_the_task_come_in_the_documented_order() {
    // req: A-06 partly: the mutations
    let mut story = profile(&[("prompt_mutations", "5"), ("recovery_budget", "unlimited")]);
    fruitless(&mut story, 3 + 5 * 5);
    let began = rungs(&story).into_iter().filter(|line| line.contains("mutate:") && line.contains("began"));
    let kinds: Vec<&str> = began.filter_map(|line| line.split([':', ' ']).nth(3)).collect();
    assert_eq!(kinds, ["rephrase", "decompose", "constrain", "examples", "negative"], "{}", story.told);
    let by_cheapest = kinds.iter().filter(|kind| story.told.contains(&format!("text mutation:{kind} by gemini")));
    assert_eq!(by_cheapest.count(), 5, "{}", story.told);
}

/// What all branches came to, with a best one of this score in ten-thousandths.
fn branches(score: Option<u32>) -> Answer {
    let best = score.map(|score| BestBranch {
        name: "branch-b".to_owned(),
        run: RunId::from_random([7; 7]),
        passes: false,
        rank: Rank::default(),
        score: Some(score),
        checkpoint: "branches-1".to_owned(),
    });
    Answer::Branches(Box::new(BranchesReport { best, iterations: 30, ..BranchesReport::default() }))
}

/// A loop whose branches are under way.
fn branching(settings: &[(&str, &str)]) -> Story {
    let mut story = profile(&[&[("ladder", "branches, human")][..], settings].concat());
    fruitless(&mut story, 3);
    story
}

#[test]
fn three_branches_have_the_documented_names_approaches_forms_agents_and_budgets() {
    // req: A-09 partly: what each branch is
    let planned = |settings: &[(&str, &str)]| {
        let story = branching(settings);
        let one = |one: &BranchPlan| {
            let (form, agent) = (one.choice.prompt, &one.choice.agent);
            format!("{}: {}, {form:?}, {agent}, {}", one.name, one.approach, one.iterations)
        };
        let order = story.state.main_order().map(|(_, open)| &open.order);
        if let Some(Order::Branches { branches, .. }) = order { branches.iter().map(one).collect() } else { Vec::new() }
    };
    let all: Vec<String> = planned(&[]);
    assert_eq!(
        all,
        [
            "branch-a: bottom-up implementation, Mutated(Decompose), codex, 10",
            "branch-b: research-first, Mutated(Research), gemini, 10",
            "branch-c: constraint-driven, Mutated(Constrain), codex, 10",
        ]
    );
    assert_eq!(planned(&[("branch_count", "2"), ("branch_budget", "4")]).len(), 2);
    assert!(planned(&[("branch_budget", "4")])[2].ends_with("codex, 4"));
    assert!(planned(&[("agents", "codex")])[1].contains("codex, 10"), "an agent that is not enabled is replaced");
    assert_eq!(planned(&[("branch_exploration", "false")]), Vec::<String>::new());
}

#[test]
fn the_task_of_each_branch_has_its_approach_its_form_and_what_failed_so_far() {
    // req: A-09 partly: the prompt of each branch
    let story = branching(&[("branch_count", "3")]);
    let order = story.state.main_order().map(|(_, open)| &open.order);
    let Some(Order::Branches { branches, .. }) = order else { panic!("{}", story.told) };
    let forms = ["List the smallest steps that are left", "Read first, and edit after that", "Work within limits"];
    for (plan, form) in branches.iter().zip(forms) {
        let (form_of, tried) = (PromptForm::History, story.state.dead_ends());
        let material = Material { form: form_of, variant: plan.choice.prompt, goal: "fix it", ..Material::default() };
        let task = branch_task(&Material { stuck: true, tried, ..material }, &plan.approach);
        assert!(task.starts_with(&format!("fix it\n\nHow to go about it this time: {}.\n\n", plan.approach)), "{task}");
        assert!(task.contains(form) && task.contains("- iteration 3: 1 file changed"), "{}: {task}", plan.name);
        assert!(!task.contains("gate-said-last"), "the section has another name in this profile: {task}");
    }
}

#[test]
fn a_branch_wins_with_a_score_above_0_3() {
    // req: A-06 partly: the winner
    for (score, words) in [(3_000, "rung 1 branches failed after 30"), (3_001, "rung 1 takes branch")] {
        let mut story = branching(&[]);
        // The branches are compared with a state of the same rank.
        story.reply(branches(Some(score)));
        crate::recovery::compare(&mut story);
        let then = rungs(&story)[1].to_owned();
        assert!(then.starts_with(words), "{score}: {then}");
    }
}

#[test]
fn a_summary_is_asked_for_after_ten_iterations_with_at_most_500_words() {
    // req: A-16 partly: the window and when a summary is due
    let mut story = profile(&[("recover", "false")]);
    for _ in 0..9 {
        iteration(&mut story, 90, 9_000);
    }
    assert!(!story.told.contains("text "), "{}", story.told);
    let memory = &story.state.prompt.memory;
    assert_eq!((memory.window().len(), memory.folded().len()), (5, 4));
    iteration(&mut story, 90, 9_000);
    assert_eq!(story.told.matches("text summary by gemini").count(), 1, "{}", story.told);
    let asked = request(TextPurpose::Summary, "fix it", &story.state.prompt.memory, None);
    for words in ["key decisions and findings", "what approaches worked and failed", "next steps", "max 500 words"] {
        assert!(asked.contains(words), "{words}: {asked}");
    }
}

#[test]
fn an_older_output_has_500_letters_and_a_recent_one_1000() {
    // req: A-13 partly: the letters of the recent iterations
    // req: A-16 partly: the letters of an older iteration
    let mut story = profile(&[("recover", "false")]);
    for _ in 0..6 {
        let Answer::AgentEnded(mut report) = agent_heard(Ended::Exit(0), StreamReport::default()) else {
            unreachable!()
        };
        report.last_text = "y".repeat(3_000);
        story.reply(Answer::AgentEnded(report));
        go_on(&mut story, "1 lines=90 output=9000");
    }
    let memory = Some(&story.state.prompt.memory);
    let material = Material { form: PromptForm::History, goal: "fix it", memory, iteration: 7, ..Material::default() };
    let text = compose(&Material { summary_tokens_max: 2_000, ..material }).text();
    let lengths: Vec<usize> = text.split(|sign| sign != 'y').map(str::len).filter(|length| *length > 9).collect();
    assert_eq!(lengths, [500, 1_000, 1_000, 1_000], "{text}");
}

#[test]
fn a_summary_has_at_most_2000_tokens() {
    // req: A-16 partly: the bound
    let long = "word ".repeat(4_000);
    let told = progress_summary(&Memory::default(), Some(&long), 2_000).unwrap();
    let tokens = loop_core::prompt::estimated_tokens(&told);
    assert!((1_900..=2_000).contains(&tokens), "{tokens}");
}

#[test]
fn a_run_that_is_opened_again_without_progress_and_not_stuck_gets_a_fresh_assessment() {
    // req: A-23 partly: the assessment
    let opened = |fruitless_ones: u32| {
        let mut story = profile(&[]);
        iteration(&mut story, 90, 9_000);
        fruitless(&mut story, fruitless_ones);
        story.say("opened / cleaned");
        let before = story.told.len();
        go_on(&mut story, "0 output=0");
        (story.told[before..].to_owned(), story)
    };
    let (told, story) = opened(1);
    assert!(story.told.contains("text assessment by gemini"), "{told}");
    let summary = story.state.prompt.memory.summary().map(|summary| summary.text.head.as_str());
    assert_eq!(summary, Some("what happened so far"), "it is the summary from now on");
    let asked = request(TextPurpose::Assessment, "fix it", &story.state.prompt.memory, None);
    assert!(asked.contains("what is done, what remains, and the immediate next step"), "{asked}");
    // Progress: it goes on. Stuck: at the rung that was reached.
    assert!(!opened(0).1.told.contains("text assessment"));
    let (told, stuck) = opened(3);
    assert!(!stuck.told.contains("text assessment"), "{told}");
    assert!(stuck.last().starts_with("agent 5.2 as {mutated:rephrase}"), "{}", stuck.told);
}

/// Whether it is stuck is what recovery says, also where the breaker has another number.
#[test]
fn what_is_stuck_at_an_opening_is_said_by_recovery_and_not_by_the_breaker() {
    // req: A-23 partly: the assessment
    let opened = |stuck_after: &str, fruitless_ones: u32| {
        let mut story = profile(&[("stuck_after", stuck_after), ("max_no_progress", "3")]);
        iteration(&mut story, 90, 9_000);
        fruitless(&mut story, fruitless_ones);
        story.say("opened / cleaned");
        go_on(&mut story, "0 output=0");
        story
    };
    let stuck = opened("2", 2);
    assert!(!stuck.told.contains("text assessment"), "a rung is under way: {}", stuck.told);
    assert!(stuck.last().starts_with("agent 4.2 as {mutated:rephrase}"), "{}", stuck.told);
    let only_slow = opened("5", 3);
    assert!(only_slow.told.contains("text assessment by gemini"), "no rung has begun: {}", only_slow.told);
}

#[test]
fn the_lines_of_the_log_have_the_documented_words_and_colours() {
    // req: A-24 partly: the words and the limits of the colours
    let mut story = profile(&[("max_time", "unlimited")]);
    let mut fold = HarnessFold::default();
    let mut state = RunState::default();
    // 30 % of the output: 0.30, then a little more; then 0.10 and a little more.
    for (lines, output) in [(0, 10_000), (1, 10_000), (0, 3_340), (0, 3_330)] {
        iteration(&mut story, lines, output);
    }
    let mut lines = Vec::new();
    for entry in &story.journal {
        state.apply(&entry.fact);
        lines.extend(fold.take(entry, &state));
    }
    let styles: Vec<HarnessStyle> =
        lines.iter().filter(|line| line.text.contains("complete")).map(|line| line.style).collect();
    assert_eq!(styles, [HarnessStyle::Fair, HarnessStyle::Good, HarnessStyle::Fair, HarnessStyle::Poor]);
    let texts: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(texts[0], "Iteration 1 starting (cli=codex, model=default)");
    assert_eq!(texts[1], "Iteration 1 complete (progress=0.30, duration=0.0s)");
    assert!(lines[1].in_file(story.journal[0].at).starts_with("[2023-11-14T22:13:20"), "{:?}", lines[1]);
}

#[test]
fn in_the_profile_a_milestone_comes_every_ten_iterations_and_80_percent_of_a_day_is_near() {
    // req: A-14 partly: the numbers of the profile
    let mut story = profile(&[("min_iteration_duration", "none")]);
    for _ in 0..10 {
        iteration(&mut story, 90, 9_000);
    }
    let alerts = |story: &Story| -> Vec<String> {
        let alert = |entry: &Entry| {
            let Fact::Decided(Decision::Alert(alert)) = &entry.fact else { return None };
            Some(format!("{} {}", alert.iteration, alert.line()))
        };
        story.journal.iter().filter_map(alert).collect()
    };
    let told = alerts(&story);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("10 [INFO] iteration_milestone: 10 iterations done"), "{told:?}");
    story.wait(19 * 3_600_000 + 11 * 60_000);
    iteration(&mut story, 90, 9_000);
    assert_eq!(alerts(&story).len(), 1, "79.9 %");
    story.wait(2 * 60_000);
    iteration(&mut story, 90, 9_000);
    let last = alerts(&story).last().cloned().unwrap_or_default();
    assert!(last.contains("[WARNING] approaching_limit: 19h 13m"), "{last}");
}
