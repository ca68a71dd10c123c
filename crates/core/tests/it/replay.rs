//! Recorded runs under another policy: the same ends under their own, and what a live run does under a stricter one.
use loop_core::replay::{PolicyError, ReplayEnd, ReplayPolicy, ReplayedRun, WhyUnknown, replay, sums};
use loop_core::run::{Outcome, ReasonCode};

use crate::play::Story;

/// A loop that has had its baseline.
fn story(settings: &[(&str, &str)]) -> Story {
    let settings = [&[("max_iterations", "unlimited"), ("agent", "codex")], settings].concat();
    let mut story = Story::new(&settings);
    story.say("opened / saved / fail same");
    story
}

const IDLE: &str = "agent-heard cost=100000 / saved / changed 0 / fail same";
const WORK: &str = "agent-heard cost=100000 / saved / changed 1 / fail same";

fn policy(text: &str) -> ReplayPolicy {
    ReplayPolicy::read(text, "policy.toml").unwrap()
}

fn replayed(story: &Story, text: &str) -> ReplayedRun {
    replay(&story.journal, &policy(text)).unwrap()
}

/// How it would have ended: outcome, reason, iterations and millionths.
fn sooner(run: &ReplayedRun) -> (Outcome, ReasonCode, u32, u64) {
    let ReplayEnd::Sooner { outcome, reason, at } = &run.end else { panic!("{run:?}") };
    (*outcome, reason.code, at.iterations, at.cost_micros)
}

#[test]
fn a_stricter_breaker_ends_a_stuck_loop_sooner_and_what_it_saves_is_counted() {
    let mut story = story(&[("max_no_progress", "6")]);
    story.times(6, IDLE);
    assert_eq!(story.state.over.as_ref().unwrap().outcome, Outcome::Tripped);
    let run = replayed(&story, "max_no_progress = 2");
    assert_eq!(sooner(&run), (Outcome::Tripped, ReasonCode::NoProgress, 2, 200_000));
    let sums = sums(&[run]);
    assert_eq!((sums.saved_micros, sums.saved_calls, sums.lost, sums.stopped_sooner), (400_000, 4, 0, 1));
    assert_eq!((sums.cost_micros, sums.recorded_cost_micros, sums.solved), (200_000, 600_000, 0));
}

#[test]
fn a_loop_that_recovers_after_the_stricter_threshold_is_lost() {
    let mut story = story(&[("max_no_progress", "6")]);
    story.times(3, IDLE).say("agent-heard cost=100000 / saved / changed 1 / pass");
    story.say("certified");
    assert_eq!(story.state.over.as_ref().unwrap().outcome, Outcome::Verified, "{}", story.told);
    let run = replayed(&story, "max_no_progress = 3");
    assert_eq!(sooner(&run), (Outcome::Tripped, ReasonCode::NoProgress, 3, 300_000));
    assert!(run.recorded.is_solved());
    let sums = sums(&[run]);
    assert_eq!((sums.lost, sums.solved, sums.saved_micros), (1, 0, 100_000));
    // One more is enough.
    let same = replayed(&story, "max_no_progress = 4");
    assert_eq!(same.end, ReplayEnd::Same);
}

#[test]
fn a_loop_that_the_other_policy_would_have_continued_cannot_be_known() {
    let mut story = story(&[("max_no_progress", "2")]);
    story.times(2, IDLE);
    let run = replayed(&story, "max_no_progress = 3");
    let ReplayEnd::Unknown(WhyUnknown::Continues { reason, at }) = &run.end else { panic!("{run:?}") };
    assert_eq!((reason.code, at.iterations), (ReasonCode::NoProgress, 2));
    let sums = sums(&[run]);
    assert_eq!((sums.unknown, sums.runs, sums.solved, sums.cost_micros), (1, 1, 0, 0));
}

#[test]
fn the_first_of_several_limits_ends_it_by_its_own_reason() {
    let mut story = story(&[
        ("max_no_progress", "unlimited"),
        ("max_test_only", "unlimited"),
        ("max_identical_output", "unlimited"),
    ]);
    story.say(WORK).times(5, IDLE);
    let both = replayed(&story, "max_no_progress = 3\nmax_iterations = 3");
    assert_eq!(sooner(&both), (Outcome::Exhausted, ReasonCode::IterationLimit, 3, 300_000));
    let money = replayed(&story, "max_cost = 0.35\nmax_no_progress = 9");
    assert_eq!(sooner(&money), (Outcome::Exhausted, ReasonCode::BudgetLimit, 4, 400_000));
    let not_ended = replayed(&story, "max_no_progress = 9");
    assert_eq!(not_ended.end, ReplayEnd::Unknown(WhyUnknown::NotEnded));
}

#[test]
fn an_agent_that_stops_by_itself_at_less_money_cannot_be_known() {
    let settings = [("max_no_progress", "6"), ("agent", "claude")];
    let mut story = Story::new(&[&[("max_iterations", "unlimited")], &settings[..]].concat());
    story.say("opened / saved / fail same");
    story.times(6, IDLE);
    let run = replayed(&story, "max_cost = 0.15");
    assert_eq!(run.end, ReplayEnd::Unknown(WhyUnknown::LessMoney { iteration: 2 }));
    // What was spent to the cent leaves the agent as it was.
    let exact = replayed(&story, "max_cost = 0.20");
    assert_eq!(sooner(&exact), (Outcome::Exhausted, ReasonCode::BudgetLimit, 2, 200_000));
}

#[test]
fn a_time_limit_in_the_middle_of_an_agent_cannot_be_known_and_one_between_iterations_is_exact() {
    let mut story = story(&[("max_no_progress", "3"), ("delay", "1m")]);
    story.say("agent-ok / saved / changed 0 / fail same");
    // The delay of a minute, then an agent that takes ten.
    story.wait(60_000).say("deadline / held").wait(600_000).say("agent-ok / saved / changed 0 / fail same");
    let run = replayed(&story, "max_time = \"5m\"");
    assert_eq!(run.end, ReplayEnd::Unknown(WhyUnknown::CutOff { iteration: 2 }), "{}", story.told);
    let run = replayed(&story, "max_time = \"30s\"");
    let (outcome, code, iterations, _) = sooner(&run);
    assert_eq!((outcome, code, iterations), (Outcome::Exhausted, ReasonCode::TimeLimit, 1));
}

#[test]
fn a_loop_that_a_person_resumed_later_cannot_be_known() {
    let mut story = story(&[("max_no_progress", "3")]);
    story.times(3, IDLE).say("reopened max_no_progress=5 / fail same").times(2, IDLE);
    let run = replayed(&story, "max_no_progress = 2");
    assert_eq!(run.end, ReplayEnd::Unknown(WhyUnknown::Resumed), "{}", story.told);
}

#[test]
fn what_the_agent_sees_or_other_loops_decide_is_refused() {
    let read = |text: &str| ReplayPolicy::read(text, "policy.toml").unwrap_err();
    for key in ["agent = \"codex\"", "agent_model = \"opus\"", "promise = \"true\"", "timeout = \"1m\""] {
        let error = read(key);
        assert!(matches!(error, PolicyError::NeedsLiveRuns { .. }), "{key}: {error:?}");
        assert!(error.to_string().contains("only live runs can tell"), "{error}");
    }
    assert!(matches!(read("max_calls_per_day = 3"), PolicyError::NeedsAllRuns { .. }));
    assert!(matches!(read("# nothing\n"), PolicyError::Empty));
    assert!(matches!(read("no_such_key = 3"), PolicyError::Settings(_)));
    assert!(matches!(read("[selection]\ncolumns = [\"beauty\"]"), PolicyError::Selection { .. }));
}

/// Numbers without a pattern, the same each time.
fn numbers(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut seed = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    move |most| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed >> 11) % most
    }
}

/// What an agent and its gate do in each iteration, whatever the policy is.
fn script(next: &mut impl FnMut(u64) -> u64) -> Vec<String> {
    (0..14)
        .map(|number| {
            let (cost, changed) = (next(4) * 50_000, next(2));
            let said = ["same".to_owned(), format!("other {}", next(3)), format!("new {number}")];
            let gate = &said[usize::try_from(next(3)).unwrap()];
            format!("agent-heard cost={cost} / saved / changed {changed} / fail {gate}")
        })
        .collect()
}

fn live(settings: &[(&str, &str)], script: &[String]) -> Story {
    let mut story = story(settings);
    for iteration in script {
        if story.state.over.is_some() {
            break;
        }
        story.say(iteration);
    }
    story
}

#[test]
fn whatever_happens_a_replay_says_of_a_stricter_or_looser_policy_what_a_live_run_does() {
    let (mut sooner_count, mut same_count, mut unknown_count) = (0, 0, 0);
    for seed in 1..400 {
        let mut next = numbers(seed);
        let script = script(&mut next);
        let mut settings = || {
            let mut count = |most: u64| {
                let count = next(most + 2);
                if count < 1 { "unlimited".to_owned() } else { count.to_string() }
            };
            [
                ("max_no_progress", count(5)),
                ("max_identical_output", count(6)),
                ("max_iterations", count(12)),
                ("max_cost", count(2)),
            ]
        };
        let (recorded, other) = (settings(), settings());
        let texts = |all: &[(&'static str, String)]| -> Vec<(&'static str, String)> { all.to_vec() };
        let own = texts(&recorded);
        let own: Vec<(&str, &str)> = own.iter().map(|(key, value)| (*key, value.as_str())).collect();
        let others = texts(&other);
        let others: Vec<(&str, &str)> = others.iter().map(|(key, value)| (*key, value.as_str())).collect();
        let before = live(&own, &script);
        let after = live(&others, &script);
        let file: String = others.iter().map(|(key, value)| format!("{key} = \"{value}\"\n")).collect();
        let run = replayed(&before, &file);
        let ended = |story: &Story| {
            let over = story.state.over.as_ref();
            over.map(|over| (over.outcome, over.reason.code, story.state.iterations_done()))
        };
        match &run.end {
            ReplayEnd::Sooner { outcome, reason, at } => {
                sooner_count += 1;
                assert_eq!(ended(&after), Some((*outcome, reason.code, at.iterations)), "seed {seed}\n{file}");
                let spent = after.state.budget.spent();
                assert_eq!(spent.usage.cost_micros.unwrap_or(0), at.cost_micros, "seed {seed}");
            }
            ReplayEnd::OtherReason { outcome, reason } => {
                let iterations = before.state.iterations_done();
                assert_eq!(ended(&after), Some((*outcome, reason.code, iterations)), "seed {seed}\n{file}");
            }
            ReplayEnd::Same => {
                same_count += 1;
                let code = |story: &Story| story.state.over.as_ref().map(|over| over.reason.code);
                assert_eq!(code(&after), code(&before), "seed {seed}\n{file}");
                assert_eq!(after.state.iterations_done(), before.state.iterations_done(), "seed {seed}\n{file}");
                assert!(after.state.over.is_some(), "seed {seed}");
            }
            ReplayEnd::Unknown(WhyUnknown::Continues { at, .. }) => {
                unknown_count += 1;
                assert!(after.state.iterations_done() > at.iterations || after.state.over.is_none(), "seed {seed}");
            }
            ReplayEnd::Unknown(WhyUnknown::NotEnded) => assert!(ended(&after).is_none(), "seed {seed}\n{file}"),
            ReplayEnd::Unknown(why) => panic!("seed {seed}: {why:?}"),
        }
        let itself = replay(&before.journal, &ReplayPolicy::own()).unwrap();
        let same = matches!(itself.end, ReplayEnd::Same | ReplayEnd::Unknown(WhyUnknown::NotEnded));
        assert!(same, "seed {seed}: {itself:?}");
    }
    assert!(sooner_count > 50 && same_count > 20 && unknown_count > 50, "{sooner_count} {same_count} {unknown_count}");
}

/// A loop with a ladder whose iterations bring nothing.
fn stuck(ladder: &str, iterations: usize) -> Story {
    let breaker = [("max_no_progress", "unlimited"), ("max_same_error", "unlimited"), ("max_test_only", "unlimited")];
    let ladder = [("recover", "true"), ("ladder", ladder), ("max_identical_output", "unlimited")];
    let mut story = story(&[&breaker[..], &ladder].concat());
    // Each with other words, so that only the number of iterations counts.
    for said in ["a", "b", "c", "d", "e", "f"].iter().take(iterations) {
        story.say(&format!("agent-heard cost=100000 / saved / changed 1 / fail {said}"));
    }
    story
}

#[test]
fn a_ladder_that_asks_a_person_at_once_ends_where_a_live_run_with_it_does() {
    let mut recorded = stuck("fresh:2, human", 3);
    recorded.say("agent-heard cost=100000 / saved / changed 1 / pass / certified");
    assert_eq!(recorded.state.over.as_ref().unwrap().outcome, Outcome::Verified, "{}", recorded.told);
    let run = replayed(&recorded, "ladder = \"human\"");
    assert_eq!(sooner(&run), (Outcome::Blocked, ReasonCode::Stuck, 2, 200_000));
    let live = stuck("human", 2);
    assert_eq!(live.last(), "hold stuck", "{}", live.told);
    assert_eq!(live.state.iterations_done(), 2);
    assert_eq!((sums(&[run]).lost, replayed(&recorded, "ladder = \"fresh:2, human\"").end), (1, ReplayEnd::Same));
}

#[test]
fn where_another_rung_would_have_come_only_live_runs_can_tell() {
    let mut recorded = stuck("fresh:2, human", 3);
    recorded.say("agent-heard cost=100000 / saved / changed 1 / pass / certified");
    for text in ["stuck_after = 3", "stuck_after = 1", "recover = false", "ladder = \"mutate:rephrase:1, human\""] {
        let run = replayed(&recorded, text);
        let ReplayEnd::Unknown(WhyUnknown::OtherRung { iteration }) = &run.end else { panic!("{text}: {run:?}") };
        assert_eq!(*iteration, if text == "stuck_after = 1" { 1 } else { 2 }, "{text}");
    }
}
