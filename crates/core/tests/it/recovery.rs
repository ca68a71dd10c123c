//! A stuck loop: when it counts as stuck, which rung is tried, what a rung that worked leaves, and when a person comes.
use loop_core::agent::Failure;
use loop_core::machine::consult;
use loop_core::policy::ladder::Ladder;
use loop_core::policy::stuck::{self, StuckCause, StuckCounts, StuckEvidence};
use loop_core::run::*;

use crate::play::{Story, spec};

/// A loop with recovery, up to its first call.
fn story(settings: &[(&str, &str)]) -> Story {
    let base = [("max_iterations", "40"), ("recover", "true"), ("agent", "codex"), ("agent_cmd", "")];
    let mut story = Story::checkpointed(&[&base, settings].concat());
    story.say("opened / saved-as initial / tests pass=1 fail=5 said=a / saved");
    story
}

/// An iteration that changes a file and gets nothing better.
pub(crate) fn fruitless(story: &mut Story, count: u32) {
    for _ in 0..count {
        let number = story.state.iteration;
        // Each with other words, so that only the vector counts.
        story.say(&format!("agent-ok / saved-as iter-00{number} / changed 1 tree=t{number}"));
        story.say(&format!("tests pass=1 fail=5 said=word{}", letters(number)));
        compare(story);
    }
}

/// One more test passes.
fn better(story: &mut Story, pass: u32) {
    let number = story.state.iteration;
    story.say(&format!("agent-ok / saved-as iter-00{number} / changed 1 tree=t{number}"));
    story.say(&format!("tests pass={pass} fail=4 said=better{}", letters(number)));
    compare(story);
}

/// The workspace is compared before the next iteration, where there is one.
pub(crate) fn compare(story: &mut Story) {
    if story.last().starts_with("checkpoint") {
        story.say("saved");
    }
}

fn letters(number: u32) -> String {
    ["x", "y", "z", "u", "v", "w"][number as usize % 6].repeat(1 + number as usize / 6)
}

/// The lines about rungs, without their moments.
pub(crate) fn rungs(story: &Story) -> Vec<&str> {
    let lines = story.told.lines().filter_map(|line| Some(line.split_once(' ')?.1));
    lines.filter(|line| line.starts_with("rung") || line.starts_with("ladder")).collect()
}

// req: A-05
// req: A-06
#[test]
fn two_iterations_without_a_better_result_start_a_fresh_session_and_a_better_one_ends_the_ladder() {
    let mut story = story(&[("session", "continue")]);
    fruitless(&mut story, 1);
    assert_eq!(rungs(&story), Vec::<&str>::new());
    fruitless(&mut story, 1);
    assert_eq!(rungs(&story), ["rung 1 fresh began, 2 at most (no_better after 2)"]);
    assert_eq!(story.last(), "agent 3.1 as fresh", "{}", story.told);
    better(&mut story, 2);
    assert_eq!(rungs(&story)[1], "rung 1 fresh success after 1");
    // What it chose stays.
    assert_eq!(story.last(), "agent 4.1 as fresh");
    fruitless(&mut story, 2);
    assert_eq!(rungs(&story)[2], "rung 1 fresh began, 2 at most from iter-003 (no_better after 5)", "it begins again");
}

// req: A-05
#[test]
fn a_slow_but_steady_loop_is_not_stuck() {
    let mut story = story(&[]);
    for pass in 2..8 {
        fruitless(&mut story, 1);
        better(&mut story, pass);
    }
    assert_eq!(rungs(&story), Vec::<&str>::new(), "{}", story.told);
}

#[test]
fn without_recovery_nothing_is_tried_and_the_breaker_stops_as_before() {
    let mut story = story(&[("recover", "false")]);
    for _ in 0..3 {
        story.say("agent-ok / saved / changed 0 tree=t / tests pass=1 fail=5 said=a");
        if story.state.over.is_none() {
            story.say("saved");
        }
    }
    assert!(story.told.contains("END tripped (no_progress)"), "{}", story.told);
    assert_eq!(rungs(&story), Vec::<&str>::new());
}

// req: A-05
// req: A-06
// req: A-29
#[test]
fn the_breaker_waits_until_the_ladder_is_used_up() {
    let mut story = story(&[("ladder", "fresh:2, mutate:negative:1")]);
    let idle = "agent-ok / saved / changed 0 tree=t / tests pass=1 fail=5 said=a";
    for _ in 0..4 {
        story.say(idle).say("saved");
        assert!(story.state.over.is_none(), "{}", story.told);
    }
    story.say(idle);
    assert_eq!(
        rungs(&story),
        [
            "rung 1 fresh began, 2 at most (same_failure after 2)",
            "rung 1 fresh failed after 2",
            "rung 2 mutate:negative began, 1 at most (same_failure after 2)",
            "rung 2 mutate:negative failed after 1",
            "ladder used up (stuck after 2)",
        ]
    );
    assert!(story.told.contains("END tripped (no_progress): no progress in 5 iterations"), "{}", story.told);
}

#[test]
fn oscillation_starts_the_ladder_at_once_and_the_same_failure_after_two() {
    let mut one = story(&[("stuck_after", "9")]);
    for (said, tree) in [("x", "a"), ("y", "b"), ("z", "a")] {
        one.say(&format!("agent-ok / saved / changed 1 tree={tree} / tests pass=1 fail=5 said=w{said} / saved"));
    }
    assert_eq!(rungs(&one), ["rung 1 fresh began, 2 at most (oscillation after 3)"], "{}", one.told);
    let mut same = story(&[("stuck_after", "9")]);
    for tree in ["a", "b"] {
        same.say(&format!("agent-ok / saved / changed 1 tree={tree} / tests pass=1 fail=5 said=boom / saved"));
    }
    assert_eq!(rungs(&same), ["rung 1 fresh began, 2 at most (same_failure after 2)"], "{}", same.told);
}

// req: A-06
#[test]
fn a_regression_goes_back_to_the_best_state_first() {
    let mut story = story(&[]);
    better(&mut story, 3);
    for number in [2, 3] {
        story.say(&format!("agent-ok / saved-as iter-00{number} / changed 1 tree=t{number}"));
        story.say(&format!("tests pass=1 fail=5 said=worse{}", letters(number)));
        if number == 2 {
            story.say("saved");
        }
    }
    assert_eq!(rungs(&story), ["rung 1 fresh began, 2 at most from iter-001 (no_better after 3)"]);
    assert_eq!(story.last(), "rollback to iter-001, undone by undo-1", "{}", story.told);
    story.say("rolled-back iter-001 / tests pass=3 fail=4 said=back / saved");
    assert!(story.last().starts_with("agent 4.1 as fresh telling {rolled_back:"), "{}", story.last());
}

#[test]
fn a_best_state_without_what_others_changed_since_is_not_restored() {
    let mut story = story(&[("ladder", "fresh:1, human")]);
    better(&mut story, 3);
    // A person changes files before iteration 2, which is worse.
    story.say("agent-ok / saved-as iter-002 / changed 1 tree=t2 / tests pass=2 fail=4 said=p / others iter-002+");
    story.say("agent-ok / saved-as iter-003 / changed 1 tree=t3 / tests pass=2 fail=4 said=q");
    assert!(story.told.contains("fresh began"), "{}", story.told);
    assert!(!story.told.contains("rollback"), "their work would be lost: {}", story.told);
}

// req: A-06
#[test]
fn more_effort_comes_after_a_fresh_session_and_then_the_next_model() {
    let mut story = story(&[("ladder", "fresh:1, effort:1, effort:1, effort_or_model:1, human"), ("agents", "codex")]);
    fruitless(&mut story, 2);
    fruitless(&mut story, 1);
    assert_eq!(story.last(), "agent 4.1 effort high as fresh");
    fruitless(&mut story, 1);
    assert_eq!(story.last(), "agent 5.1 effort xhigh as fresh");
    fruitless(&mut story, 1);
    let skipped = rungs(&story).into_iter().find(|line| line.contains("skipped")).unwrap_or_default();
    assert_eq!(
        skipped,
        "rung 4 effort_or_model skipped after 0: codex works with its highest effort already, and no stronger model than \
         codex is enabled"
    );
    assert_eq!(story.last(), "hold stuck");
}

// req: A-08 partly: the rung; the table is in the router's stories
#[test]
fn the_third_model_is_reached_by_two_rungs_and_stays() {
    let models = "claude haiku $ 200k\nclaude sonnet $$ 200k\nclaude opus $$$$ 200k";
    let mut story = story(&[
        ("agent", "claude"),
        ("agents", "claude:haiku,claude:sonnet,claude:opus"),
        ("agent_model", "haiku"),
        ("models", models),
        ("ladder", "model:1, model:1, human"),
    ]);
    fruitless(&mut story, 2);
    assert_eq!(story.last(), "agent 3.1 with claude (sonnet) as fresh", "{}", story.told);
    fruitless(&mut story, 1);
    assert_eq!(story.last(), "agent 4.1 with claude (opus) as fresh");
    better(&mut story, 2);
    assert_eq!(story.last(), "agent 5.1 with claude (opus) as fresh", "it stays");
}

// req: A-06
#[test]
fn the_agent_of_another_vendor_works_and_a_person_who_chooses_counts_more() {
    let mut story = story(&[("agents", "codex,claude"), ("ladder", "vendor:2, vendor:1, human")]);
    fruitless(&mut story, 2);
    assert_eq!(story.last(), "agent 3.1 with claude as fresh", "{}", story.told);
    better(&mut story, 2);
    assert_eq!(story.last(), "agent 4.1 with claude as fresh");
    story.say("set agent_model=gpt-5").say("agent-ok / saved-as iter-004 / changed 1 tree=t4");
    story.say("tests pass=3 fail=4 said=more / saved");
    assert_eq!(story.last(), "agent 5.1 with codex (gpt-5) as fresh");
}

#[test]
fn a_rung_whose_agent_is_not_signed_in_fails_and_does_not_end_the_run() {
    let mut story = story(&[("agents", "codex,claude"), ("ladder", "vendor:2, mutate:decompose:1, human")]);
    fruitless(&mut story, 2);
    assert_eq!(story.last(), "agent 3.1 with claude as fresh");
    story.say("agent-heard auth");
    assert!(story.state.over.is_none(), "{}", story.told);
    // Another agent works in its place, and the rung ends with the iteration.
    story.say("agent-ok / saved-as iter-003 / changed 1 tree=t3 / tests pass=1 fail=5 said=other / saved");
    assert!(rungs(&story).contains(&"rung 1 vendor failed after 1: claude is not signed in"), "{}", story.told);
    assert_eq!(story.last(), "agent 4.1 as {mutated:decompose}");
}

/// The kind of failure says what helps, and not the words that it was said with.
#[test]
fn what_helps_an_agent_that_could_not_work_follows_from_the_kind_of_its_failure() {
    let helps = [("auth", "sign in"), ("billing", "add credit"), ("model", "change its model")];
    for (failure, help) in helps {
        let mut story = story(&[("agents", "codex,claude"), ("ladder", "vendor:1, human")]);
        fruitless(&mut story, 2);
        story.say(&format!("agent-heard {failure}"));
        if story.last().starts_with("agent") {
            story.say("agent-ok");
        }
        story.say("saved-as iter-003 / changed 1 tree=t3 / tests pass=1 fail=5 said=other / saved");
        let ended = story.journal.iter().find_map(|entry| match &entry.fact {
            Fact::Decided(Decision::Recovery(RecoveryDecision::Ended(ended))) => Some(ended.clone()),
            Fact::Happened(_)
            | Fact::Ordered { .. }
            | Fact::OrderCancelled { .. }
            | Fact::Decided(_)
            | Fact::Concluded { .. } => None,
        });
        let ended = ended.unwrap_or_else(|| panic!("{}", story.told));
        assert_eq!(ended.failure.map(Failure::word), Some(failure), "{}", story.told);
        let pack = story.state.recovery.questions().unwrap_or_else(|| panic!("{}", story.told));
        assert!(pack.helps[0].contains(help), "{failure}: {:?}", pack.helps);
    }
}

// req: A-06
// req: A-29
#[test]
fn the_recovery_budget_limits_all_rungs_together_and_a_person_is_always_reached() {
    let mut story =
        story(&[("recovery_budget", "3"), ("ladder", "mutations:2, fresh:2, human"), ("prompt_mutations", "2")]);
    fruitless(&mut story, 2);
    fruitless(&mut story, 3);
    assert_eq!(
        rungs(&story),
        [
            "rung 1 mutate:rephrase began, 2 at most (no_better after 2)",
            "rung 1 mutate:rephrase failed after 2",
            "rung 2 mutate:decompose began, 1 at most (no_better after 2)",
            "rung 2 mutate:decompose failed after 1",
            "rung 3 fresh skipped after 0: the recovery budget of 3 iterations is used up",
            "rung 4 human began, 0 at most (no_better after 2)",
        ],
        "{}",
        story.told
    );
    assert_eq!(story.last(), "hold stuck");
}

// req: A-06
#[test]
fn a_person_gets_what_was_tried_what_fails_and_three_causes_and_resumes_with_a_new_ladder() {
    let mut story = story(&[("ladder", "fresh:1, human"), ("notify", "true")]);
    fruitless(&mut story, 3);
    assert_eq!(story.tail(2), "notify paused\nhold stuck", "{}", story.told);
    assert!(story.state.is_paused());
    let questions = story.state.recovery.questions().unwrap();
    assert_eq!(questions.tried, ["fresh: 1 iteration, nothing better"]);
    assert_eq!(questions.fails, ["promise (exit 1, 5 of 6 tests fail)"]);
    assert_eq!(questions.causes.len(), 3);
    assert!(questions.helps.iter().any(|line| line.contains("loop resume a1b2c3d")));
    let sentence = "Stuck after all recovery attempts: 1 rung tried; what is needed: loop status a1b2c3d";
    assert_eq!(questions.sentence("a1b2c3d"), sentence);
    story.say("resume / held");
    assert!(rungs(&story).contains(&"rung 2 human resumed after 0"), "{}", story.told);
    story.say("saved");
    assert_eq!(story.last(), "agent 4.1", "{}", story.told);
    fruitless(&mut story, 2);
    assert_eq!(rungs(&story).last(), Some(&"rung 1 fresh began, 1 at most (no_better after 5)"));
}

// req: A-06
#[test]
fn where_nobody_sees_it_the_run_ends_stuck_and_can_be_resumed() {
    let settings = [("max_iterations", "40"), ("recover", "true"), ("ladder", "human")];
    let mut story = Story::of(RunSpec { unattended: true, ..spec(&settings) });
    story.say("opened / saved / fail a");
    story.say("agent-ok / saved / measured / fail b / agent-ok / saved / measured / fail c");
    assert!(
        story.last().starts_with("END blocked (stuck): Stuck after all recovery attempts: no rung tried;"),
        "{}",
        story.told
    );
    assert_eq!(story.state.standing().map(|standing| standing.exit_code), Some(1));
    assert!(story.state.resumable());
    story.say("reopened / fail d");
    assert_eq!(story.last(), "agent 3.1", "{}", story.told);
}

// req: A-29
#[test]
fn no_rung_goes_past_the_limit_of_iterations() {
    let mut story = story(&[("max_iterations", "3"), ("ladder", "fresh:5, human")]);
    fruitless(&mut story, 2);
    story.say("agent-ok / saved-as iter-003 / changed 1 tree=t3 / tests pass=1 fail=5 said=end");
    assert!(story.last().starts_with("END exhausted (iteration_limit)"), "{}", story.told);
}

// req: A-23 partly: the rung; the assessment is in another story
#[test]
fn a_run_that_is_opened_again_goes_on_at_the_rung_that_was_reached() {
    for word in ["opened", "reopened"] {
        let mut story = story(&[("ladder", "fresh:1, mutate:constrain:2, human")]);
        fruitless(&mut story, 3);
        assert_eq!(story.last(), "agent 4.1 as {mutated:constrain}", "{}", story.told);
        let before = rungs(&story).len();
        story.say(word).say("cleaned / saved-as interrupted-4.1 / tests pass=1 fail=5 said=again");
        compare(&mut story);
        assert!(story.last().starts_with("agent 4.2 as {mutated:constrain}"), "{word}: {}", story.told);
        assert_eq!(rungs(&story).len(), before, "{word}: nothing twice");
        fruitless(&mut story, 2);
        assert_eq!(story.last(), "hold stuck", "{word}: {}", story.told);
    }
}

// req: A-23 partly: the rung; the assessment is in another story
#[test]
fn an_interrupted_attempt_of_a_rung_that_passes_has_worked() {
    for word in ["opened", "reopened"] {
        let mut story = story(&[("ladder", "fresh:1, mutate:constrain:2, human")]);
        fruitless(&mut story, 3);
        story.say(word).say("cleaned / saved-as interrupted-4.1 / tests pass=6 fail=0");
        assert!(story.state.gates_pass(), "{word}: {}", story.told);
        let last = rungs(&story).last().copied().unwrap_or_default().to_owned();
        assert!(last.contains("success"), "{word}: {last}: {}", story.told);
    }
}

/// Every prefix of the journal of a story with recovery folds to a state from which the same rungs follow.
#[test]
fn a_journal_that_is_cut_after_any_fact_goes_on_with_the_same_rung_and_none_is_taken_twice() {
    let mut story = story(&[("ladder", "fresh:1, mutate:constrain:1, human")]);
    fruitless(&mut story, 4);
    let whole = rungs(&story).join("\n");
    for cut in 1..story.journal.len() {
        let mut state = RunState::default();
        story.journal[..cut].iter().for_each(|entry| state.apply(&entry.fact));
        let mut seen: Vec<(u32, bool)> = Vec::new();
        let mut note = |fact: &Fact| {
            if let Fact::Decided(Decision::Recovery(decision)) = fact {
                match decision {
                    RecoveryDecision::Began(began) => seen.push((began.number, true)),
                    RecoveryDecision::Ended(ended) => seen.push((ended.number, false)),
                    RecoveryDecision::CutOff(_) | RecoveryDecision::Takes(_) | RecoveryDecision::UsedUp { .. } => {}
                }
            }
        };
        story.journal[..cut].iter().for_each(|entry| note(&entry.fact));
        let at = story.journal[cut - 1].at;
        for fact in step(&state, Input { at, event: Event::Opened }) {
            note(&fact);
            state.apply(&fact);
        }
        let mut once = seen.clone();
        once.dedup();
        let count = |wanted: (u32, bool)| seen.iter().filter(|one| **one == wanted).count();
        assert!(once.iter().all(|one| count(*one) == 1), "cut after {cut}: {seen:?}\n{whole}");
        // A rung that began is under way, or has ended; there is never a second one beside it.
        let open = seen.iter().filter(|one| one.1).count() - seen.iter().filter(|one| !one.1).count();
        assert_eq!(usize::from(state.recovery.rung().is_some()), open, "cut after {cut}: {seen:?}");
    }
}

#[test]
fn with_a_score_only_the_score_counts() {
    let judged = |evidence: StuckEvidence<'_>, counts: &StuckCounts| {
        consult(|deciding| stuck::judge(counts, evidence, Some(3), deciding)).cause
    };
    let two = StuckCounts { fruitless: 2, same_failure: 2, failing: Some("f".to_owned()) };
    let low = StuckEvidence { by_score: true, ..StuckEvidence::default() };
    assert_eq!(judged(low, &StuckCounts::default()), None);
    assert_eq!(judged(low, &two), Some(StuckCause::LowScore));
    assert_eq!(judged(StuckEvidence { better: true, ..low }, &two), None);
    let gates = StuckEvidence { failing: Some("f"), ..StuckEvidence::default() };
    assert_eq!(judged(gates, &StuckCounts { fruitless: 1, same_failure: 1, ..two }), Some(StuckCause::SameFailure));
}

#[test]
fn a_ladder_is_read_and_a_bad_one_is_refused_with_a_hint() {
    let read = |text: &str| Ladder::parse(text).map(|ladder| ladder.to_string());
    assert_eq!(
        read("fresh, mutate:decompose:3,vendor:1\nhuman").unwrap(),
        "fresh:2, mutate:decompose:3, vendor:1, human"
    );
    assert_eq!(read("mutations:5, model:10, human").unwrap(), "mutations:5, model:10, human");
    for (text, why, hint) in [
        ("", "a ladder needs a rung", "recover = false"),
        ("frsh:2", "\"frsh\" is not a rung", "did you mean fresh?"),
        ("human, fresh:2", "human is not the last rung", "put human at the end"),
        ("human:3", "human takes no number", "write human"),
        ("fresh:0", "\"fresh:0\" must end in a number of iterations from 1 to 1000", "fresh:2"),
        ("fresh:2:2", "\"fresh:2:2\" has a colon too many", "fresh:2"),
        ("mutate:decompse", "\"decompse\" is not a form of the task", "did you mean decompose?"),
        ("mutate", "\"\" is not a form of the task", "rephrase, decompose"),
    ] {
        let refusal = read(text).unwrap_err();
        assert!(refusal.why.starts_with(why), "{text}: {}", refusal.why);
        assert!(refusal.hint.contains(hint), "{text}: {}", refusal.hint);
    }
    assert!(read(&vec!["fresh"; 17].join(",")).unwrap_err().why.contains("at most 16 rungs"));
}

#[test]
fn where_no_count_starts_the_ladder_the_breaker_is_not_held_back() {
    for by in ["score", "gates"] {
        let mut story = story(&[("stuck_after", "unlimited"), ("progress_by", by)]);
        for said in ["one", "two", "three"] {
            assert!(story.state.over.is_none(), "{by}: {}", story.told);
            story.say(&format!("agent-ok / saved / changed 0 tree=t output=0 / tests pass=1 fail=5 said={said}"));
            compare(&mut story);
        }
        assert!(story.told.contains("END tripped (no_progress)"), "{by}: {}", story.told);
    }
}

// req: A-19
#[test]
fn an_agent_whose_program_is_gone_is_replaced_by_the_next_enabled_one_at_once() {
    let mut story = story(&[("agents", "codex,gemini")]);
    let choice = |story: &Story| story.state.agent.choice().map(|choice| choice.agent.clone());
    assert_eq!(choice(&story).as_deref(), Some("codex"), "{}", story.told);
    let gone = || crate::play::agent(Ended::NotStarted("there is no program codex on PATH any more".to_owned()));
    story.reply(gone());
    while ["checkpoint", "guard", "gate"].iter().any(|start| story.last().starts_with(start)) {
        story.say("saved");
    }
    assert_eq!(choice(&story).as_deref(), Some("gemini"), "{}", story.told);
    assert!(story.last().starts_with("agent 1.2"), "no iteration is lost: {}", story.told);
    // The last one that is left fails as an agent that crashes.
    story.reply(gone());
    assert_eq!(choice(&story).as_deref(), Some("gemini"), "{}", story.told);
}

// req: A-29
#[test]
fn branches_that_the_tokens_do_not_suffice_for_are_left_out_and_the_loop_ends_by_that_limit() {
    let ladder = [("ladder", "branches:4x3, human"), ("max_tokens", "60"), ("worst_tokens", "15")];
    let mut story = story(&ladder);
    fruitless(&mut story, 2);
    assert!(story.told.contains("END exhausted (budget_limit)"), "{}", story.told);
    assert!(
        story.told.contains("the tokens that are left are not enough for one call of 4 branches"),
        "{}",
        story.told
    );
}
