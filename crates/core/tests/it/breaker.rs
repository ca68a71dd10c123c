//! The breaker: what each count counts, what sets it back, when it trips and with what evidence.
use loop_core::machine::consult;
use loop_core::policy::breaker::{IterationEvidence, StreakChanges, Streaks, Thresholds, Trip, count};

use crate::play::Story;

/// A loop that only the breaker can end, up to its first call.
fn story(settings: &[(&str, &str)]) -> Story {
    let settings = [&[("max_iterations", "unlimited")], settings].concat();
    let mut story = Story::new(&settings);
    story.say("opened / saved / fail same");
    story
}

/// The same without a gate.
fn ungated(settings: &[(&str, &str)]) -> Story {
    let settings = [&[("max_iterations", "unlimited"), ("promise", ""), ("no_promise", "true")], settings].concat();
    let mut story = Story::new(&settings);
    story.say("opened / saved");
    story
}

fn trips(story: &Story, code: &str, text: &str) {
    let wanted = format!("END tripped ({code}): {text}");
    assert!(story.last().starts_with(&wanted), "{}", story.told);
}

fn goes_on(story: &Story) {
    assert!(story.state.over.is_none(), "{}", story.told);
}

const IDLE: &str = "agent-ok / saved / changed 0 / fail same";
const WORK: &str = "agent-ok / saved / changed 1 / fail same";

// req: B-07 partly: without loopr's own keys
// req: C-07 partly: without the dialect's own defaults
#[test]
fn three_iterations_without_progress_trip_and_each_is_named() {
    let mut story = story(&[]);
    story.times(2, IDLE);
    goes_on(&story);
    story.say(IDLE);
    trips(
        &story,
        "no_progress",
        "no progress in 3 iterations in a row: iterations 1 (nothing changed), 2 (nothing changed), 3 (nothing changed); \
         the setting is --max-no-progress 3, --breaker off turns it off",
    );
}

// req: B-07 partly: without loopr's own keys
#[test]
fn progress_sets_the_count_back_to_nothing() {
    let mut story = story(&[]);
    story.times(2, IDLE).say(WORK);
    assert_eq!(story.state.progress.streaks().no_progress, 0);
    story.times(2, IDLE);
    goes_on(&story);
    story.say(IDLE);
    trips(&story, "no_progress", "no progress in 3 iterations in a row: iterations 4 (nothing changed)");
}

#[test]
fn what_is_progress_and_what_is_not() {
    for (progress, measured, gate) in [
        (true, "changed 1", "fail same"),
        (true, "changed 1 head", "fail same"),
        (true, "changed 0 ignored", "fail same"),
        (true, "changed 2 protected=1", "fail same"),
        (true, "changed 0", "tests pass=1 fail=2"),
        (true, "measured", "fail something else"),
        (false, "changed 0 head", "fail same"),
        (false, "changed 1 protected=1", "fail same"),
        (false, "changed 0", "fail something else"),
        (false, "measured", "fail same"),
    ] {
        let mut story = story(&[]);
        story.times(2, IDLE).say(&format!("agent-ok / saved / {measured} / {gate}"));
        assert_eq!(story.state.over.is_none(), progress, "{measured}, {gate}: {}", story.told);
        assert_eq!(story.state.progress.streaks().no_progress == 0, progress, "{measured}, {gate}");
    }
}

#[test]
fn where_nothing_is_counted_it_is_enough_that_something_changed() {
    let mut works = story(&[]);
    works.times(9, "agent-ok / saved / noticed something / fail same");
    goes_on(&works);
    let mut idles = story(&[]);
    idles.say("agent-ok / saved / noticed nothing / fail one / agent-ok / saved / noticed nothing / fail two");
    idles.say("agent-ok / saved / noticed nothing / fail three");
    trips(&idles, "no_progress", "no progress in 3 iterations in a row: iterations 1 (nothing changed), 2");
    let mut crashes = story(&[]);
    crashes.times(4, "agent-exit 1 / saved / noticed something / fail same");
    goes_on(&crashes);
    let mut cannot = story(&[]);
    cannot.say("agent-exit 1 / saved / noticed nothing / fail one / agent-exit 1 / saved / noticed nothing / fail two");
    cannot.say("agent-exit 1 / saved / noticed nothing / fail three");
    let end = "END unable (fatal_error): the agent failed 3 times in a row and changed nothing (exit 1)";
    assert!(cannot.last().starts_with(end), "{}", cannot.told);
}

#[test]
fn a_timeout_that_left_work_is_progress_and_one_that_left_none_is_not() {
    let mut story = story(&[("timeout", "1m")]);
    let late = |story: &mut Story, measured: &str| {
        story.wait(60_000).say(&format!("deadline / agent-by-us / saved / {measured} / fail same"));
    };
    (0..4).for_each(|_| late(&mut story, "changed 1"));
    goes_on(&story);
    (0..3).for_each(|_| late(&mut story, "changed 0"));
    assert!(story.last().starts_with("END unable (fatal_error): the agent was stopped 3 times"), "{}", story.told);
}

// req: B-07 partly: without loopr's own keys
// req: C-07 partly: without the dialect's own defaults
#[test]
fn the_same_error_without_progress_trips_whatever_the_line_number() {
    let error = |line: u32| {
        let says = format!("claim=ERROR,summary=panicked_at_src/a.rs:{line}:_no_such_file");
        format!("agent-heard {says} / saved / changed 0 / fail same")
    };
    let patient = [("max_no_progress", "9")];
    let mut same = story(&patient);
    (0..4).for_each(|line| _ = same.say(&error(10 + line)));
    goes_on(&same);
    assert_eq!(same.state.progress.streaks().same_error, 4);
    same.say(&error(99));
    trips(&same, "same_error", "the same error 5 times in a row: iterations 1 (");
    assert!(same.last().contains("--max-same-error 5"), "{}", same.last());
    let mut other = story(&patient);
    (0..4).for_each(|line| _ = other.say(&error(10 + line)));
    other.say("agent-heard claim=ERROR,summary=out_of_memory / saved / changed 0 / fail same");
    assert_eq!(other.state.progress.streaks().same_error, 1, "another error counts from one");
    other.say(WORK);
    assert_eq!((other.state.progress.streaks().same_error, &other.state.progress.streaks().signature), (0, &None));
}

#[test]
fn the_same_error_does_not_count_in_an_iteration_with_progress() {
    // UR-A7
    let mut story = story(&[]);
    story.times(6, "agent-heard crash error=no_such_file / saved / changed 1 / fail same");
    goes_on(&story);
    assert_eq!(story.state.progress.streaks().same_error, 0);
}

#[test]
fn an_agent_at_its_turn_limit_has_not_crashed_and_its_conversation_continues() {
    // UR-A7
    let turns = |changed: u32| {
        format!("agent-heard turn_limit session=s1 error=Reached_maximum / saved / changed {changed} / fail same")
    };
    let mut story = story(&[("agent", "claude"), ("agent_cmd", "")]);
    story.times(6, &turns(1));
    goes_on(&story);
    assert!(story.last().contains(" in s1 telling {agent_failed:"), "{}", story.last());
    story.times(3, &turns(0));
    trips(&story, "no_progress", "no progress in 3 iterations in a row");
}

#[test]
fn an_error_of_the_agents_own_account_counts_and_a_gate_that_fails_the_same_way_does_not() {
    for block in ["claim=ERROR,summary=cannot_link", "claim=IN_PROGRESS,errors=2,summary=cannot_link"] {
        // Also where files changed: it says itself that it failed.
        let mut story = story(&[]);
        story.times(5, &format!("agent-heard {block} / saved / changed 1 / fail same"));
        trips(&story, "same_error", "the same error 5 times in a row: iterations 1 (cannot link), 2 (cannot link)");
    }
    let mut gate = story(&[]);
    gate.times(8, WORK);
    goes_on(&gate);
    assert_eq!(gate.state.progress.streaks().same_error, 0);
}

#[test]
fn two_returns_to_an_earlier_state_trip_with_period_two_and_three() {
    let tree = |tree: &str| format!("agent-ok / saved / changed 1 tree={tree} / fail same");
    let mut two = story(&[]);
    ["aaaaaaaaaa", "bbbbbbbbbb", "aaaaaaaaaa"].iter().for_each(|name| _ = two.say(&tree(name)));
    goes_on(&two);
    two.say(&tree("bbbbbbbbbb"));
    trips(
        &two,
        "oscillation",
        "the workspace returned 2 times to a state that it had before: iterations 1 (1 file changed, tree aaaaaaaa), 2 \
         (1 file changed, tree bbbbbbbb), 3 (1 file changed, tree aaaaaaaa), 4 (1 file changed, tree bbbbbbbb); the \
         setting is --max-oscillation 2",
    );
    let mut three = story(&[]);
    ["a", "b", "c", "a"].iter().for_each(|name| _ = three.say(&tree(name)));
    goes_on(&three);
    three.say(&tree("b"));
    trips(&three, "oscillation", "the workspace returned 2 times");
}

#[test]
fn a_return_is_forgiven_by_a_better_gate_or_by_four_new_states_and_to_stay_is_none() {
    let tree = |tree: &str| format!("agent-ok / saved / changed 1 tree={tree} / fail same");
    let mut better = story(&[]);
    ["a", "b", "a"].iter().for_each(|name| _ = better.say(&tree(name)));
    assert_eq!(better.state.progress.streaks().oscillation, 1);
    better.say("agent-ok / saved / changed 1 tree=c / tests pass=1 fail=1");
    assert_eq!(better.state.progress.streaks().oscillation, 0);
    let mut fresh = story(&[]);
    ["a", "b", "a", "c", "d", "e"].iter().for_each(|name| _ = fresh.say(&tree(name)));
    assert_eq!(fresh.state.progress.streaks().oscillation, 1);
    fresh.say(&tree("f"));
    assert_eq!(fresh.state.progress.streaks().oscillation, 0);
    let mut still = story(&[("max_no_progress", "9")]);
    still.say(&tree("a")).say(&tree("b")).times(6, "agent-ok / saved / changed 0 tree=b / fail same");
    assert_eq!(still.state.progress.streaks().oscillation, 0);
    goes_on(&still);
}

#[test]
fn a_return_between_two_new_states_breaks_the_row_that_forgives() {
    let tree = |tree: &str| format!("agent-ok / saved / changed 1 tree={tree} / fail same");
    let mut story = story(&[("max_oscillation", "9")]);
    ["a", "b", "a", "c", "d", "e", "d", "f", "g", "h"].iter().for_each(|name| _ = story.say(&tree(name)));
    assert_eq!(story.state.progress.streaks().oscillation, 2);
    story.say(&tree("i"));
    assert_eq!(story.state.progress.streaks().oscillation, 0);
}

#[test]
fn a_return_to_where_the_loop_began_counts_with_and_without_a_gate() {
    let mut gated = Story::checkpointed(&[("max_iterations", "unlimited")]);
    gated.say("opened / saved-as initial / fail same / saved");
    gated.say("agent-ok / saved / changed 1 tree=b / fail same / saved");
    gated.say("agent-ok / saved / changed 1 / fail same");
    assert_eq!(gated.state.progress.streaks().oscillation, 0, "it stays where it is");
    gated.say("saved / agent-ok / saved-as initial / changed 1 / fail same");
    assert_eq!(gated.state.progress.streaks().oscillation, 1);
    let mut claimed = Story::checkpointed(&[("max_iterations", "unlimited"), ("promise", ""), ("no_promise", "true")]);
    claimed.say("opened / saved-as initial / saved / agent-ok / saved / changed 1 tree=b / saved");
    claimed.say("agent-ok / saved-as initial / changed 1");
    assert_eq!(claimed.state.progress.streaks().oscillation, 1);
}

#[test]
fn what_others_made_of_the_workspace_is_no_return_and_no_new_state() {
    let mut story = Story::checkpointed(&[("max_iterations", "unlimited")]);
    story.say("opened / saved-as initial / fail same / saved");
    story.say("agent-ok / saved / changed 1 tree=b / fail same / others iter-001+");
    story.say("agent-ok / saved-as iter-001+ / changed 0 / fail same");
    assert_eq!(story.state.progress.streaks().oscillation, 0);
}

// req: C-07 partly: without the dialect's own defaults
#[test]
fn the_same_words_five_times_trip_and_anything_new_sets_them_back() {
    let same = "agent-heard words=w:321 / saved / changed 1 / fail same";
    let mut words = story(&[]);
    words.times(4, same);
    goes_on(&words);
    words.say(same);
    trips(
        &words,
        "identical_output",
        "the same words 5 times in a row: iterations 1 (the same 321 bytes, 1 file changed)",
    );
    assert!(words.last().contains("the setting is --max-identical-output 5"), "{}", words.last());
    for (other, count) in [
        ("agent-heard words=other:321 / saved / changed 1 / fail same", 1),
        ("agent-heard words=w:321 / saved / changed 1 / fail something new", 1),
        ("agent-heard words=w:321 / saved / changed 1 / tests pass=3 fail=1", 1),
        (WORK, 0),
    ] {
        let mut words = story(&[]);
        words.times(4, same).say(other);
        goes_on(&words);
        assert_eq!(words.state.progress.streaks().identical, count, "{other}");
    }
}

// req: B-07 partly: without loopr's own keys
// req: C-07 partly: without the dialect's own defaults
#[test]
fn nothing_but_tests_trips_by_the_files_that_changed() {
    let tests = "agent-ok / saved / changed 2 tests=2 / fail same";
    let mut only = story(&[]);
    only.times(2, tests);
    goes_on(&only);
    only.say(tests);
    trips(
        &only,
        "test_loops",
        "nothing but tests in 3 iterations in a row: iterations 1 (2 files changed, 2 of them tests), 2",
    );
    assert!(only.last().contains("--max-test-only 3"), "{}", only.last());
    let mut mixed = story(&[]);
    mixed.say(tests).say(IDLE).say(tests);
    trips(&mixed, "test_loops", "nothing but tests in 3 iterations in a row");
    for code in ["changed 2 tests=1 / fail same", "changed 1 / fail same", "changed 2 tests=2 / tests pass=4 fail=1"] {
        let mut code_too = story(&[]);
        code_too.times(2, tests).say(&format!("agent-ok / saved / {code}"));
        assert_eq!(code_too.state.progress.streaks().test_only, 0, "{code}");
        code_too.times(2, tests);
        goes_on(&code_too);
    }
}

#[test]
fn idle_iterations_are_no_work_on_tests_unless_nothing_else_counts_them() {
    let mut idle = story(&[("max_no_progress", "9")]);
    idle.times(8, IDLE);
    goes_on(&idle);
    let mut unlimited = story(&[("max_no_progress", "unlimited")]);
    unlimited.times(3, IDLE);
    trips(&unlimited, "test_loops", "nothing but tests in 3 iterations in a row: iterations 1 (nothing changed), 2");
}

#[test]
fn where_the_word_of_the_agent_is_to_tell_tests_the_files_do_not() {
    let by_word = [("test_only_by", "claimed")];
    let mut claims = story(&by_word);
    claims.times(3, "agent-heard claim=IN_PROGRESS,work=tests / saved / changed 3 tests=0 / fail same");
    trips(
        &claims,
        "test_loops",
        "nothing but tests in 3 iterations in a row: iterations 1 (3 files changed, work on tests)",
    );
    let mut files = story(&by_word);
    files.times(5, "agent-ok / saved / changed 3 tests=3 / fail same");
    goes_on(&files);
    let mut measured = story(&[]);
    measured.times(5, "agent-heard claim=IN_PROGRESS,work=tests / saved / changed 3 tests=0 / fail same");
    goes_on(&measured);
    let mut unmeasured = story(&[]);
    unmeasured.times(3, "agent-heard claim=IN_PROGRESS,work=tests / saved / measured / fail same");
    trips(&unmeasured, "test_loops", "nothing but tests in 3 iterations in a row");
}

// req: C-07 partly: without the dialect's own defaults
#[test]
fn ever_shorter_answers_trip_only_where_nothing_comes_of_them() {
    let said =
        |bytes: u32, files: u32| format!("agent-heard words=w{bytes}:{bytes} / saved / changed {files} / fail same");
    let mut idle = story(&[("max_no_progress", "9")]);
    idle.say(&said(1000, 0)).say(&said(300, 0));
    goes_on(&idle);
    idle.say(&said(90, 0));
    trips(
        &idle,
        "output_decline",
        "much shorter answers 2 times in a row: iterations 1 (1000 bytes said), 2 (300 bytes said), 3 (90 bytes said); \
         the setting is --output-decline 70",
    );
    let mut nearly = story(&[("max_no_progress", "9")]);
    nearly.say(&said(1000, 0)).say(&said(301, 0)).say(&said(90, 0));
    assert_eq!(nearly.state.progress.streaks().decline, 1, "301 of 1000 is not enough, 90 of 301 is");
    let mut work = story(&[]);
    work.say(&said(1000, 1)).say(&said(300, 1)).say(&said(90, 1));
    goes_on(&work);
    let mut alone = story(&[("decline_alone", "true")]);
    alone.say(&said(1000, 1)).say(&said(300, 1)).say(&said(90, 1));
    trips(&alone, "output_decline", "much shorter answers 2 times in a row");
    let mut again = story(&[("max_no_progress", "9")]);
    again.say(&said(1000, 0)).say(&said(300, 0)).say(&said(300, 0));
    assert_eq!(again.state.progress.streaks().decline, 0);
    let mut silent = story(&[("max_no_progress", "9")]);
    silent.times(4, IDLE);
    assert_eq!(silent.state.progress.streaks().decline, 0, "nothing cannot become shorter");
}

// req: B-07 partly: without loopr's own keys
// req: C-07 partly: without the dialect's own defaults
#[test]
fn missing_status_and_done_without_the_signal_trip_only_where_no_gate_is() {
    let mut missing = ungated(&[]);
    missing.times(2, "agent-ok / saved / changed 1");
    goes_on(&missing);
    missing.say("agent-ok / saved / changed 1");
    trips(&missing, "missing_status", "no status block 3 times in a row: iterations 1 (no status block), 2");
    assert!(missing.last().contains("--max-missing-status 3"), "{}", missing.last());
    let mut told = ungated(&[]);
    told.times(2, "agent-ok / saved / changed 1").say("agent-heard claim=IN_PROGRESS / saved / changed 1");
    assert_eq!(told.state.progress.streaks().missing_status, 0);
    let done = "agent-heard claim=COMPLETE / saved / changed 1";
    let mut claims = ungated(&[]);
    claims.times(4, done);
    goes_on(&claims);
    claims.say(done);
    trips(
        &claims,
        "safety_completion",
        "it said 5 times in a row that it is done, without the exit signal: iterations 1 (done without EXIT_SIGNAL), 2",
    );
    assert!(claims.last().contains("--max-done-claims 5"), "{}", claims.last());
    let mut gated = story(&[]);
    gated.times(8, WORK).times(8, &format!("{done} / fail same"));
    goes_on(&gated);
}

#[test]
fn a_signal_or_no_claim_sets_the_done_claims_back() {
    for other in ["claim=COMPLETE,exit", "claim=IN_PROGRESS", "claim=COMPLETE crash error=x"] {
        let mut story = ungated(&[]);
        story.times(4, "agent-heard claim=COMPLETE / saved / changed 1");
        story.say(&format!("agent-heard {other} / saved / changed 1"));
        assert_eq!(story.state.progress.streaks().done_claims, 0, "{other}: {}", story.told);
        goes_on(&story);
    }
}

#[test]
fn thresholds_are_settings_and_the_whole_breaker_can_be_off() {
    let mut five = story(&[("max_no_progress", "5")]);
    five.times(4, IDLE);
    goes_on(&five);
    five.say(IDLE);
    trips(&five, "no_progress", "no progress in 5 iterations in a row");
    let mut off = story(&[("breaker", "off")]);
    off.times(20, IDLE);
    goes_on(&off);
    let mut later = story(&[("breaker", "off")]);
    later.times(6, IDLE).say("set breaker=on").say(IDLE);
    trips(&later, "no_progress", "no progress in 7 iterations in a row");
}

#[test]
fn where_several_counts_are_full_the_one_that_says_most_is_named() {
    let mut story = story(&[("max_same_error", "3")]);
    story.times(2, "agent-heard claim=ERROR,summary=no words=w:9 / saved / changed 0 / fail same");
    goes_on(&story);
    story.say("agent-heard claim=ERROR,summary=no words=w:9 / saved / changed 0 / fail same");
    trips(&story, "same_error", "the same error 3 times in a row");
}

#[test]
fn only_the_last_dozen_iterations_are_shown() {
    let mut story = story(&[("max_no_progress", "30")]);
    story.times(30, IDLE);
    trips(&story, "no_progress", "no progress in 30 iterations in a row: iterations 19 (nothing changed), 20");
    assert_eq!(story.state.progress.streaks().evidence.len(), 12);
}

// req: C-08 partly: without the name of the agent
#[test]
fn counts_survive_a_crash_and_a_driver_that_opens_the_run_again() {
    let mut story = story(&[]);
    story.times(2, IDLE).say("opened / cleaned / saved / fail same");
    assert_eq!(story.state.progress.streaks().no_progress, 2, "{}", story.told);
    story.say(IDLE);
    trips(&story, "no_progress", "no progress in 3 iterations in a row");
}

// req: C-19 partly: the run itself
#[test]
fn to_go_on_closes_the_breaker_unless_only_a_reset_may() {
    let mut resumed = story(&[]);
    resumed.times(3, IDLE).say("reopened / fail same").times(2, IDLE);
    goes_on(&resumed);
    resumed.say(IDLE);
    trips(&resumed, "no_progress", "no progress in 3 iterations in a row: iterations 4 (nothing changed), 5");
    let manual = [("breaker_reset", "manual")];
    let mut refused = story(&manual);
    refused.times(3, IDLE).say("reopened / fail same");
    trips(&refused, "no_progress", "no progress in 3 iterations in a row");
    assert_eq!(refused.told.matches("END tripped").count(), 2, "{}", refused.told);
    let mut reset = story(&manual);
    reset.times(3, IDLE).say("visited loop reset / reset / reopened / fail same");
    goes_on(&reset);
    assert_eq!(reset.state.progress.streaks().no_progress, 0);
    let mut flag = story(&manual);
    flag.times(3, IDLE).say("reopened reset_circuit=true / fail same");
    goes_on(&flag);
}

#[test]
fn a_reset_sets_every_count_to_nothing_and_only_with_its_flag_the_session() {
    for (word, session) in [("reset", true), ("reset session", false)] {
        let mut story = story(&[("agent", "claude")]);
        let bad = "agent-heard claim=COMPLETE session=s1 words=w:9 / saved / changed 0 tree=a / fail same";
        story.times(2, bad).say(word);
        let mut fresh = loop_core::policy::breaker::Streaks::default();
        fresh.saw(Some("a"));
        assert_eq!(*story.state.progress.streaks(), fresh);
        assert!(story.state.progress.breaker_closed());
        let mut goes_on_with = self::story(&[("agent", "claude"), ("session", "continue")]);
        goes_on_with.say(bad).say(word);
        assert_eq!(goes_on_with.state.agent.session().is_some(), session, "{word}");
    }
}

#[test]
fn an_iteration_that_was_judged_is_not_counted_again_when_it_is_opened_again() {
    let mut story = Story::checkpointed(&[("max_iterations", "unlimited"), ("breaker_reset", "manual")]);
    story.say("opened / saved-as initial / fail same / saved");
    story.say("agent-ok / saved-as iter-001 / changed 0 / fail same");
    assert_eq!(story.last(), "checkpoint iter-001+");
    story.say("reopened / cleaned / saved / fail same");
    assert_eq!(story.state.progress.streaks().no_progress, 1, "{}", story.told);
    assert_eq!(story.tail(3), "checkpoint iter-001+\ngate {reopened:1}\ncheckpoint iter-001+");
}

#[test]
fn the_evidence_of_an_iteration_says_what_it_showed() {
    let shown = |signs: IterationEvidence, trip: Trip| {
        let mut counts = Streaks::default();
        let evidence = IterationEvidence { iteration: 4, ..signs };
        let changes = consult(|deciding| count(&counts, &evidence, &Thresholds::default(), deciding));
        counts.record(&evidence, &changes);
        counts.shown(trip, 1)
    };
    let files = |files: u32| IterationEvidence { files: Some(files), ..IterationEvidence::default() };
    let unmeasured = |noticed: Option<bool>| IterationEvidence { noticed, ..IterationEvidence::default() };
    for (signs, said) in [
        (IterationEvidence { tampered: true, ..files(0) }, "4 (nothing but protected files changed)"),
        (IterationEvidence { ignored: true, ..files(0) }, "4 (only ignored files or empty folders changed)"),
        (files(0), "4 (nothing changed)"),
        (files(1), "4 (1 file changed)"),
        (IterationEvidence { tampered: true, ignored: true, ..files(2) }, "4 (2 files changed)"),
        (unmeasured(Some(true)), "4 (files changed)"),
        (unmeasured(Some(false)), "4 (nothing changed)"),
        (unmeasured(None), "4 (the gates said the same, and nothing else is measured)"),
    ] {
        assert_eq!(shown(signs, Trip::NoProgress), said);
    }
    assert_eq!(
        shown(IterationEvidence { test_files: 1, ..files(1) }, Trip::TestOnly),
        "4 (1 file changed, 1 of them tests)"
    );
    assert_eq!(
        shown(IterationEvidence { says_tests: true, ..files(0) }, Trip::TestOnly),
        "4 (nothing changed, work on tests)"
    );
    assert_eq!(shown(files(0), Trip::TestOnly), "4 (nothing changed)");
    let tree = Some("0123456789".to_owned());
    assert_eq!(shown(IterationEvidence { tree, ..files(1) }, Trip::Oscillation), "4 (1 file changed, tree 01234567)");
    assert_eq!(shown(files(1), Trip::SameError), "4 (no error)");
    assert_eq!(shown(IterationEvidence { words_bytes: 9, ..files(0) }, Trip::Decline), "4 (9 bytes said)");
}

#[test]
fn a_fact_names_only_the_counts_that_go_on() {
    assert_eq!(serde_json::to_string(&StreakChanges::default()).unwrap(), "{}");
}
