//! Alerts: what is told, how severe it is, once for each cause, and what a critical one does to a run.
use loop_core::run::{Decision, Ended, Fact, Outcome, StreamReport, TextDigest};

use crate::play::{Story, agent_heard};

/// A loop that no breaker ends, up to its first call.
fn story(settings: &[(&str, &str)]) -> Story {
    let base = [("max_iterations", "unlimited"), ("breaker", "off"), ("min_iteration_duration", "none")];
    let settings = [&base, settings].concat();
    let mut story = Story::new(&settings);
    story.say("opened / saved / fail same");
    story
}

/// One iteration in which the agent says these words.
fn says(story: &mut Story, words: &str, rest: &str) {
    let digest = TextDigest { sha256: words.to_owned(), bytes: 9 };
    story.reply(agent_heard(Ended::Exit(0), StreamReport { words: Some(digest), ..StreamReport::default() }));
    story.say(rest);
}

const WORK: &str = "agent-ok / saved / changed 1 / fail same";
const IDLE: &str = "agent-ok / saved / changed 0 / fail same";
const REST: &str = "saved / changed 1 / fail same";

/// Every alert of the journal, one a line.
fn told(story: &Story) -> String {
    let alerts = story.journal.iter().filter_map(|entry| match &entry.fact {
        Fact::Decided(Decision::Alert(alert)) => Some(format!("{} {}", alert.iteration, alert.line())),
        Fact::Happened(_)
        | Fact::Ordered { .. }
        | Fact::OrderCancelled { .. }
        | Fact::Decided(_)
        | Fact::Concluded { .. } => None,
    });
    alerts.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_milestone_is_told_after_every_so_many_iterations() {
    // req: A-14 partly: iteration_milestone
    let mut story = story(&[("alert_every", "2")]);
    story.times(5, WORK);
    assert_eq!(
        told(&story),
        "2 [INFO] iteration_milestone: 2 iterations done in 0.1s\n4 [INFO] iteration_milestone: 4 iterations done in 0.1s"
    );
}

#[test]
fn without_alert_every_no_milestone_is_told() {
    let mut story = story(&[("alerts", "true")]);
    story.times(12, WORK);
    assert_eq!(told(&story), "");
}

#[test]
fn a_row_without_progress_is_told_once_and_another_row_again() {
    // req: A-14 partly: no_progress
    let mut story = story(&[("alerts", "true"), ("stuck_after", "3")]);
    story.times(5, IDLE).say(WORK).times(2, IDLE);
    assert_eq!(told(&story), "3 [WARNING] no_progress: no progress in 3 iterations in a row");
    story.times(2, IDLE);
    assert_eq!(
        told(&story),
        "3 [WARNING] no_progress: no progress in 3 iterations in a row\n\
         9 [WARNING] no_progress: no progress in 3 iterations in a row"
    );
}

#[test]
fn equal_answers_are_critical_once_in_a_row_and_again_in_another_row() {
    // req: A-15 partly: equal outputs
    // req: A-14 partly: runaway_detected
    let mut story = story(&[]);
    (0..7).for_each(|_| says(&mut story, "same", REST));
    let first = "5 [CRITICAL] runaway_detected: the agent said the same 5 times in a row: this may go on for ever";
    assert_eq!(told(&story), first);
    says(&mut story, "other", REST);
    (0..5).for_each(|_| says(&mut story, "same", REST));
    assert_eq!(told(&story), format!("{first}\n{}", first.replacen('5', "13", 1)));
    assert!(story.state.over.is_none(), "an alert alone ends nothing: {}", story.told);
}

#[test]
fn the_most_severe_sign_of_a_runaway_loop_is_told_and_the_others_are_not_in_its_way() {
    // req: A-15
    let settings = [("max_iterations_warning", "4"), ("min_iteration_duration", "1s")];
    let mut story = story(&settings);
    (0..4).for_each(|_| says(&mut story, "same", REST));
    // The agent of a story takes 10 ms.
    let short = "3 [WARNING] runaway_detected: in 3 iterations in a row the agent took less than 1s: it may not be doing any work";
    assert_eq!(told(&story), short);
    says(&mut story, "same", REST);
    assert!(
        told(&story).ends_with(
            "5 [CRITICAL] runaway_detected: the agent said the same 5 times in a row: this may go on for ever"
        ),
        "{}",
        told(&story)
    );
    says(&mut story, "other", REST);
    let last = told(&story).lines().last().unwrap_or_default().to_owned();
    assert_eq!(last, "6 [WARNING] runaway_detected: 6 iterations, with a limit of neither time nor iterations");
    (0..3).for_each(|number| says(&mut story, &format!("{number}"), REST));
    assert_eq!(told(&story).lines().count(), 3, "each is told once: {}", told(&story));
}

#[test]
fn a_limit_of_iterations_that_is_near_is_told_once_and_a_raised_one_again() {
    // req: A-14 partly: approaching_limit
    let mut story = story(&[("alerts", "true"), ("max_iterations", "10")]);
    story.times(9, WORK);
    assert_eq!(told(&story), "8 [WARNING] approaching_limit: 8 of 10 iterations are done (--max-iterations)");
    story.say("set max_iterations=20").times(7, WORK);
    assert!(
        told(&story).ends_with("16 [WARNING] approaching_limit: 16 of 20 iterations are done (--max-iterations)"),
        "{}",
        told(&story)
    );
}

#[test]
fn a_limit_of_time_that_is_near_is_told_as_soon_as_something_happens() {
    // req: A-14 partly: approaching_limit
    let mut story = story(&[("alerts", "true"), ("max_time", "100s")]);
    story.wait(70_000).say(WORK);
    assert_eq!(told(&story), "");
    story.wait(10_000).say("agent-ok");
    assert_eq!(told(&story), "2 [WARNING] approaching_limit: 1m 20s of 1m 40s are used (--max-time)");
    story.say("saved / changed 1 / fail same / agent-ok");
    assert_eq!(told(&story).lines().count(), 1, "{}", told(&story));
}

#[test]
fn the_end_is_told_as_done_or_as_an_error() {
    // req: A-14 partly: goal_complete, fatal_error
    let mut story = story(&[("alerts", "true")]);
    story.say("agent-ok / saved / changed 1 / pass / certified");
    assert_eq!(told(&story), "1 [SUCCESS] goal_complete: the promise passes after 1 iteration");
    let mut story = self::story(&[("alerts", "true")]);
    story.say("failed disk full");
    assert_eq!(told(&story), "0 [ERROR] fatal_error: disk full");
    story.say("reopened / fail same / failed disk full");
    assert_eq!(told(&story).lines().count(), 2, "another end has its own alert: {}", told(&story));
}

#[test]
fn a_critical_alert_pauses_the_run_after_the_iteration_and_a_resume_continues_it() {
    // req: A-01 partly: alert_pause
    let mut story = story(&[("pause_on_critical", "true")]);
    (0..5).for_each(|_| says(&mut story, "same", REST));
    assert!(
        story.last().starts_with("END paused (alert_pause): paused by a critical alert: the agent said"),
        "{}",
        story.told
    );
    let standing = story.state.standing().unwrap_or_else(|| panic!("it has ended"));
    assert_eq!((standing.outcome, standing.exit_code, standing.resumable), (Outcome::Paused, 1, true));
    story.say("reopened / fail same");
    assert_eq!(story.last(), "agent 6.1");
    says(&mut story, "same", REST);
    assert_eq!(story.last(), "agent 7.1", "the same row is not told again: {}", story.told);
    assert_eq!(told(&story).lines().count(), 1);
}

#[test]
fn a_pass_a_stop_and_a_pause_outrank_the_pause_of_an_alert_which_outranks_the_caps() {
    // req: A-01 partly: alert_pause
    let at_fifth = |rest: &str, settings: &[(&str, &str)]| {
        let settings = [&[("pause_on_critical", "true")], settings].concat();
        let mut story = story(&settings);
        (0..4).for_each(|_| says(&mut story, "same", REST));
        says(&mut story, "same", rest);
        story.last().to_owned()
    };
    let done = at_fifth("saved / changed 1 / pass / certified", &[]);
    assert!(done.starts_with("END verified"), "{done}");
    let stopped = at_fifth("saved / changed 1 / stop / fail same", &[]);
    assert!(stopped.starts_with("END stopped"), "{stopped}");
    assert_eq!(at_fifth("saved / changed 1 / pause / fail same", &[]), "hold paused");
    let paused = at_fifth(REST, &[("max_iterations", "5"), ("breaker", "on"), ("max_identical_output", "5")]);
    assert!(paused.starts_with("END paused (alert_pause)"), "{paused}");
}

#[test]
fn a_critical_alert_is_notified_and_one_that_pauses_is_notified_as_the_end() {
    let mut story = story(&[("notify", "true")]);
    (0..5).for_each(|_| says(&mut story, "same", REST));
    assert_eq!(story.told.matches("notify critical").count(), 1, "{}", story.told);
    let mut story = self::story(&[("notify", "true"), ("pause_on_critical", "true")]);
    (0..5).for_each(|_| says(&mut story, "same", REST));
    assert_eq!(story.told.matches("notify ").count(), 1, "{}", story.told);
    assert!(story.told.contains("notify paused"), "{}", story.told);
}

#[test]
fn a_journal_that_is_cut_after_any_line_tells_each_alert_once() {
    // req: A-14 partly: once for each cause
    let mut story = story(&[("alert_every", "2"), ("alerts", "true")]);
    (0..6).for_each(|_| says(&mut story, "same", REST));
    let whole = told(&story);
    let causes = |journal: &[loop_core::run::Entry]| {
        let alerts = journal.iter().filter_map(|entry| match &entry.fact {
            Fact::Decided(Decision::Alert(alert)) => Some((alert.cause, alert.since)),
            Fact::Happened(_)
            | Fact::Ordered { .. }
            | Fact::OrderCancelled { .. }
            | Fact::Decided(_)
            | Fact::Concluded { .. } => None,
        });
        alerts.collect::<Vec<_>>()
    };
    for cut in 0..story.journal.len() {
        let mut again = self::story(&[]);
        again.state = loop_core::run::RunState::default();
        again.journal = story.journal[..=cut].to_vec();
        again.journal.iter().for_each(|entry| again.state.apply(&entry.fact));
        again.say("reopened");
        let mut seen = causes(&again.journal);
        let all = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), all, "cut after {cut} of {whole}");
    }
}

#[test]
fn recovery_is_told_when_it_begins_and_is_critical_when_only_a_person_is_left() {
    // req: A-14 partly: stuck_recovery
    let ladder = [("alerts", "true"), ("recover", "true"), ("ladder", "fresh:1, mutate:negative:1, human")];
    let mut story = story(&ladder);
    story.times(2, WORK);
    let began =
        "2 [WARNING] stuck_recovery: stuck after iteration 2 (the same failures with the same error): fresh is tried";
    assert_eq!(told(&story), began);
    story.say(WORK);
    assert_eq!(told(&story), began, "another rung of the same ladder is the same cause");
    story.say(WORK);
    assert_eq!(told(&story).lines().count(), 2, "{}", told(&story));
    let last = told(&story).lines().last().unwrap_or_default().to_owned();
    let short = "Stuck after all recovery attempts: 2 rungs tried; what is needed: loop status a1b2c3d";
    assert_eq!(last, format!("4 [CRITICAL] stuck_recovery: {short}"));
    assert_eq!(story.last(), "hold stuck", "without pause_on_critical the rung itself holds");
}

#[test]
fn with_pause_on_critical_the_human_rung_ends_the_run_as_paused_and_a_resume_begins_the_ladder_again() {
    // req: A-01 partly: alert_pause
    let ladder = [("pause_on_critical", "true"), ("recover", "true"), ("ladder", "fresh:1, human")];
    let mut story = story(&ladder);
    story.times(3, WORK);
    assert!(
        story.last().starts_with("END paused (alert_pause): paused by a critical alert: Stuck after all"),
        "{}",
        story.told
    );
    story.say("reopened / fail same");
    assert!(story.last().starts_with("agent 4.1"), "{}", story.told);
}

#[test]
fn another_model_of_a_rung_is_told_once_for_each_rung() {
    // req: A-14 partly: model_escalation
    let models = "claude haiku $ 200k\nclaude sonnet $$ 200k\nclaude opus $$$$ 200k";
    let settings = [
        ("alerts", "true"),
        ("recover", "true"),
        ("agent", "claude"),
        ("agent_cmd", ""),
        ("agents", "claude:haiku,claude:sonnet,claude:opus"),
        ("agent_model", "haiku"),
        ("models", models),
        ("ladder", "model:2, model:1, human"),
    ];
    let mut story = story(&settings);
    story.times(5, WORK);
    let alerts = told(&story);
    let escalations: Vec<&str> = alerts.lines().filter(|line| line.contains("model_escalation")).collect();
    assert_eq!(
        escalations,
        [
            "2 [INFO] model_escalation: claude (sonnet) from now on, because the loop is stuck",
            "4 [INFO] model_escalation: claude (opus) from now on, because the loop is stuck"
        ],
        "{alerts}"
    );
}
