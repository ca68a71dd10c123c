//! What an attempt, an iteration and its gates mean: why there was progress, what is told, what is waited for.
use loop_core::policy::wait::WORTH_A_GATE_MS;
use loop_core::run::{Answer, Decision, Entry, Fact, GuardReport, NameList};

use crate::play::{Story, play_with};

fn why(entry: &Entry) -> Option<&str> {
    let Fact::Decided(Decision::Round(round)) = &entry.fact else { return None };
    Some(round.iteration.as_ref()?.why.as_str())
}

/// Why each iteration made progress or did not.
fn whys(story: &Story) -> Vec<&str> {
    story.journal.iter().filter_map(why).collect()
}

#[test]
fn why_an_iteration_made_progress_or_not_is_said_in_words() {
    let mut story = Story::checkpointed(&[("max_iterations", "9"), ("breaker", "off"), ("on_regression", "revert")]);
    story.say("opened / saved-as initial / tests pass=2 fail=2 said=a / saved");
    for (measured, tests) in [
        ("changed 0", "tests pass=3 fail=1 said=b"),
        ("changed 0", "tests pass=3 fail=1 said=b"),
        ("changed 0 ignored", "tests pass=3 fail=1 said=b"),
        ("changed 1", "tests pass=3 fail=1 said=b"),
        ("changed 12", "tests pass=3 fail=1 said=b"),
        ("changed 2", "tests pass=2 fail=2 bad=t::one said=c"),
    ] {
        story.say("agent-ok / saved-as x").say(measured).say(tests).say("saved");
    }
    let all = [
        "the gates say more than before",
        "nothing changed",
        "only files changed that checkpoints leave out",
        "1 file changed",
        "12 files changed",
        "it is reverted: something fails that had passed",
    ];
    assert_eq!(whys(&story), all);
}

#[test]
fn an_iteration_that_changed_only_protected_files_says_so() {
    let mut story = Story::guarded(&[]);
    story.say("opened / guarded 2 / saved-as initial / fail / guarded 2 / saved");
    story.say("agent-ok / restored check.sh / saved-as iter-001 / changed 0 / fail");
    assert_eq!(whys(&story), ["only protected files changed"]);
}

#[test]
fn where_nothing_is_measured_an_iteration_is_judged_by_what_the_gates_or_the_agent_say() {
    let mut gated = Story::new(&[("max_iterations", "9")]);
    gated.say(
        "opened / saved / fail one / agent-ok / saved / measured / fail two / agent-ok / saved / measured / fail two",
    );
    gated.say("agent-ok / saved / noticed / fail two / agent-ok / saved / noticed nothing / fail two");
    let all = [
        "the gates or the agent say something new",
        "the gates and the agent say nothing new",
        "files changed",
        "nothing changed",
    ];
    assert_eq!(whys(&gated), all);
}

#[test]
fn without_a_gate_and_a_measurement_the_agents_own_word_is_progress() {
    let mut story = Story::new(&[("promise", ""), ("no_promise", "true"), ("max_iterations", "9")]);
    story.say("opened / saved").times(2, "agent-heard claim=IN_PROGRESS,files=1 / saved / measured");
    assert_eq!(story.state.progress.streaks().no_progress, 0, "{}", story.told);
    story.times(2, "agent-heard claim=IN_PROGRESS,files=0 / saved / measured");
    assert_eq!(story.state.progress.streaks().no_progress, 2, "{}", story.told);
}

#[test]
fn an_agent_that_sees_signs_of_the_end_while_the_gates_fail_is_told_that_it_is_not_done() {
    let after = |claim: &str| {
        let mut story = Story::new(&[]);
        story.say(&format!("opened / saved / fail / agent-heard claim={claim} / saved / changed 1 / fail"));
        story.last().to_owned()
    };
    assert_eq!(after("IN_PROGRESS,signs=2"), "agent 2.1 telling not_done");
    assert_eq!(after("IN_PROGRESS,signs=0"), "agent 2.1");
}

#[test]
fn an_agent_that_was_refused_commands_is_told_so_only_where_it_changed_nothing() {
    let after = |measured: &str| {
        let mut story = Story::new(&[]);
        story.say("opened / saved / fail / agent-heard denied=2 / saved").say(measured).say("fail");
        story.last().to_owned()
    };
    assert_eq!(after("noticed nothing"), "agent 2.1 telling {refused:{count:2,first:cargo}}");
    assert_eq!(after("noticed"), "agent 2.1");
}

#[test]
fn a_gate_that_reached_its_own_time_limit_has_its_verdict_and_is_not_run_again() {
    let told = play_with(&[("gate_timeout", "2s")], "0 opened\n1 saved\n3000 deadline\n3001 gate-by-us");
    assert!(told.ends_with("3000 cancel gate baseline: timeout\n3001 agent 1.1\n"), "{told}");
}

#[test]
fn an_agent_that_said_an_empty_text_until_its_time_limit_is_waited_for_as_one_that_hangs() {
    let after = |words: &str| {
        let mut story = Story::new(&[("agent", "claude"), ("timeout", "2s")]);
        story
            .say("opened / saved / fail")
            .wait(3_000)
            .say("deadline")
            .say(&format!("agent-heard by-us tools=0 {words}"));
        story.last().to_owned()
    };
    assert!(after("words=x:0").starts_with("hold limit"), "{}", after("words=x:0"));
    assert_eq!(after("words=x:100"), "checkpoint iter-001");
}

#[test]
fn an_agent_that_ends_by_itself_in_a_limit_while_it_is_stopped_is_waited_for() {
    let mut story = Story::new(&[("agent", "claude"), ("timeout", "2s")]);
    story.say("opened / saved / fail").wait(3_000).say("deadline / agent-heard rate_limit=9000");
    assert!(story.last().starts_with("hold limit"), "{}", story.told);
}

#[test]
fn before_the_last_refused_attempt_ends_a_run_the_gates_are_asked_and_not_before_earlier_ones() {
    let mut story = Story::new(&[("agent", "claude"), ("on_failure", "rate_limit wait 1m 2")]);
    story.say("opened / saved / fail");
    for _ in 0..2 {
        story.say("agent-heard rate_limit").wait(90_000).say("held");
    }
    assert!(story.last().starts_with("agent 1.3"), "{}", story.told);
    assert!(!story.told.contains("interrupted-1."), "{}", story.told);
    story.say("agent-heard rate_limit");
    assert_eq!(story.last(), "checkpoint interrupted-1.3");
    story.say("saved / fail");
    assert!(story.last().starts_with("END unable (fatal_error): 3 attempts in a row failed: "), "{}", story.last());
}

/// How much longer than the provider said a loop waits that is told to wait for 20 seconds.
fn extra_ms() -> u64 {
    let told = play_with(&[("agent", "claude")], "0 opened\n1 saved\n2 fail\n100 agent-heard rate_limit=20100");
    let ms = told.lines().last().and_then(|line| line.strip_prefix("100 hold limit ")).unwrap();
    ms.parse::<u64>().unwrap() - 20_000
}

#[test]
fn a_wait_that_ends_with_the_time_of_the_run_is_waited_for() {
    let reset = 60_000 - extra_ms();
    let script = |reset: u64| format!("0 opened\n1 saved\n2 fail\n100 agent-heard rate_limit={reset}");
    let told = |reset: u64| play_with(&[("agent", "claude"), ("max_time", "1m")], &script(reset));
    assert!(told(reset).ends_with("100 hold limit 59900\n"), "{}", told(reset));
    assert!(told(reset + 1).ends_with("100 checkpoint interrupted-1.1\n"), "{}", told(reset + 1));
}

#[test]
fn before_a_wait_of_more_than_a_minute_the_gates_are_asked() {
    let reset = 100 + WORTH_A_GATE_MS - extra_ms();
    let script = |reset: u64| format!("0 opened\n1 saved\n2 fail\n100 agent-heard rate_limit={reset}");
    let told = |reset: u64| play_with(&[("agent", "claude")], &script(reset));
    assert!(told(reset).ends_with("100 hold limit 60000\n"), "{}", told(reset));
    assert!(told(reset + 1).ends_with("100 checkpoint interrupted-1.1\n"), "{}", told(reset + 1));
}

#[test]
fn what_a_limited_attempt_left_is_not_rolled_back_before_a_long_wait() {
    let mut story = Story::checkpointed(&[("agent", "claude"), ("on_interrupt", "rollback")]);
    story.say("opened / saved-as initial / fail / saved / agent-heard rate_limit=7200000 / saved-as interrupted-1.1");
    assert_eq!(story.last(), "gate {interrupted:[1,1]}");
}

#[test]
fn a_cancel_rolls_nothing_back_that_it_was_not_asked_to() {
    let mut story = Story::checkpointed(&[("on_interrupt", "rollback")]);
    story.say("opened / saved-as initial / fail / saved / cancel / agent-by-us / saved-as interrupted-1.1");
    assert_eq!(story.last(), "END cancelled (manual_stop): cancelled by Ctrl-C");
}

#[test]
fn only_the_state_after_an_iteration_may_be_the_best_one() {
    let best = |story: &Story| story.state.progress.best().and_then(|best| best.checkpoint.clone());
    let mut story = Story::checkpointed(&[("agent", "claude")]);
    story.say("opened / saved-as initial / tests pass=1 fail=9 said=a / saved");
    story.say("agent-heard rate_limit=7200000 / saved-as interrupted-1.1 / tests pass=9 fail=1 said=b");
    assert_eq!(best(&story).as_deref(), Some("initial"), "an attempt that was cut off");
    let mut story = Story::guarded(&[]);
    story.say("opened / guarded 2 / saved-as initial / tests pass=1 fail=9 said=a / guarded 2 / saved");
    story.say(
        "agent-ok / tampered check.sh / saved-as iter-001 / changed 1 / tests pass=9 fail=1 said=b / tampered check.sh",
    );
    assert_eq!(best(&story).as_deref(), Some("initial"), "the gates judged by changed protected files");
}

#[test]
fn gates_that_change_what_the_agent_changed_too_are_told_where_it_was_restored_or_is_another_file() {
    let told = |agent: &str, gates: &str| {
        let mut story = Story::guarded(&[]);
        story.say("opened / guarded 2 / saved-as initial / fail / guarded 2 / saved / agent-ok");
        story.say(agent).say("saved-as iter-001 / changed 1 / fail").say(gates).say("saved");
        story.last().to_owned()
    };
    let by_gates = |files: &str| format!("{{tampered:{{files:[{files}],restored:true,by_gates:true}}}}");
    let again = told("restored check.sh", "restored check.sh");
    assert!(again.ends_with(&by_gates("check.sh")), "{again}");
    let other = told("tampered check.sh", "restored other.sh");
    assert!(other.ends_with(&by_gates("other.sh")), "{other}");
}

#[test]
fn of_many_changed_protected_files_the_agent_is_told_the_first_and_how_many_more() {
    let names: Vec<String> = (0..40).map(|number| format!("tests/{number}.rs")).collect();
    let tampered = NameList::of(names.iter().map(String::as_str));
    let more = 40 - tampered.first.len();
    let mut story = Story::guarded(&[]);
    story.say("opened / guarded 2 / saved-as initial / fail / guarded 2 / saved / agent-ok");
    let report = GuardReport { files: 40, tampered, restored: true, ..GuardReport::default() };
    story.reply(Answer::Guard(Box::new(report))).say("saved-as iter-001 / changed 0 / fail / guarded 40 / saved");
    assert!(more > 0 && story.last().contains(&format!(",{more} more],")), "{}", story.last());
}

/// The words of an end whose gates are these and say this, after `max_iterations` or when they pass.
fn end(gates: &str, said: &str) -> String {
    let mut story = Story::new(&[("promise", ""), ("gate", gates), ("max_iterations", "1")]);
    story.say("opened / saved").say(&said.replace("pass", "fail")).say("agent-ok / saved / changed 1").say(said);
    if story.last().starts_with("certify") {
        story.say("certified");
    }
    story.last().to_owned()
}

#[test]
fn the_end_says_which_gates_do_not_pass_and_how() {
    let limit = "END exhausted (iteration_limit): 1 iteration done and";
    for (said, words) in [
        ("fail / pass / pass", "the gate a fails"),
        ("gate-exit 127 / pass / pass", "the gate a could not be checked"),
        ("fail / fail / pass", "the gates a, b fail"),
        ("gate-exit 127 / gate-exit 127 / pass", "the gates a, b could not be checked"),
        ("fail / gate-exit 127 / pass", "the gates a, b do not pass"),
    ] {
        assert_eq!(end("a=make a\nb=make b\nc=make c", said), format!("{limit} {words}"), "{said}");
    }
}

#[test]
fn the_end_says_how_many_gates_pass() {
    let verified = "END verified (goal_complete):";
    for (gates, said, words) in [
        ("a=make a", "pass", "the gate a passes"),
        ("a=make a\nb=make b", "pass / pass", "both gates pass"),
        ("a=make a\nb=make b\nc=make c", "pass / pass / pass", "all 3 gates pass"),
    ] {
        assert_eq!(end(gates, said), format!("{verified} {words} after 1 iteration"));
    }
}

#[test]
fn a_block_that_nobody_sees_ends_the_run_with_the_limit_that_was_reached() {
    let spec = crate::play::spec(&[("max_time", "10h")]);
    let mut story = Story::of(loop_core::run::RunSpec { backend: "git".to_owned(), unattended: true, ..spec });
    story.play("0 opened\n1 saved-as initial\n2 fail\n3 saved\n10 agent-ok\n20 blocked the disk is full");
    story.play("1800020 deadline\n1800020 held");
    assert!(story.last().contains("it was not fixed within 30m, and"), "{}", story.last());
}
