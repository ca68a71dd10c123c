//! The strength line: how the gates failed before iteration 1, what each probe showed, and why others were not tried.
use loop_core::policy::proof::StrengthReport;
use loop_core::run::{Answer, Ended, JudgeReport, JudgedGate, LeftOut, NameList, Remark};

use crate::play::Story;
use crate::proof::{CLEAN, PASS, judged, red};

fn report(story: &Story) -> StrengthReport {
    *story.state.over.clone().unwrap().proof.unwrap().strength.unwrap()
}

fn line(story: &Story) -> String {
    report(story).text()
}

/// The probes of a pass, with their usual results.
const PROBES: &str = "clean-fail x / clean-fail x / hunks 1 1 1 / certified";

#[test]
fn a_runner_that_ran_no_test_before_iteration_1_is_not_said_to_have_passed_its_tests() {
    let mut story = judged(&[]);
    story.say("tests pass=0 exit=1 said=a / saved / agent-ok / saved-as iter-001 / changed 1");
    story.say(PASS).say(CLEAN).say(PROBES);
    assert!(line(&story).starts_with("red before (no test ran), "), "{}", line(&story));
}

#[test]
fn a_gate_that_passed_before_iteration_1_says_nothing_about_how_the_others_failed() {
    let mut story = judged(&[("promise", ""), ("gate", "a=make a\nb=make b")]);
    story.say("tests pass=2 said=a / fail / saved / agent-ok / saved-as iter-001 / changed 1");
    story.say("tests pass=2 said=b / pass / on-copy tests pass=2 && pass").say(PROBES);
    assert!(line(&story).starts_with("red before (no tests shown), "), "{}", line(&story));
}

#[test]
fn a_probe_for_which_the_time_was_not_enough_is_not_said_to_have_been_noticed() {
    let mut story = red(&[("max_time", "10m")]);
    story.say(PASS).say(CLEAN);
    assert_eq!(story.last(), "judge canary");
    story.wait(700_000).say("clean-fail canary / certified");
    assert_eq!(line(&story), "red before, canary noticed, undo and hunks not tried (out of time)");
}

#[test]
fn where_probes_are_not_wanted_none_is_said_to_be_missing() {
    let mut off = red(&[("strength", "off")]);
    off.say(PASS).say(CLEAN).say("certified");
    let mut workspace = red(&[("judge", "workspace")]);
    workspace.say(PASS).say("certified");
    for story in [off, workspace] {
        assert_eq!(line(&story), "red before");
        assert_eq!(report(&story).hunks_not_tried, None);
    }
}

#[test]
fn probes_are_needless_where_the_old_tests_do_not_pass_without_the_new_test_files() {
    let mut story = red(&[("max_iterations", "1")]);
    story.adds_tests = true;
    story.say("tests pass=4 said=b / tests-clean pass=4 / tests-clean pass=1 / certified");
    let text = "red before, canary, undo and hunks not tried (something else speaks against the pass)";
    assert_eq!(line(&story), text);
}

#[test]
fn pieces_that_were_all_tried_when_a_person_stopped_the_run_are_not_said_to_be_missing() {
    let mut story = red(&[]);
    story.say(PASS).say(CLEAN).say("clean-fail x / clean-fail x / stop / hunks 2 2 1 / certified");
    assert_eq!(report(&story).hunks_not_tried, None);
}

#[test]
fn pieces_of_the_change_are_not_tried_where_a_test_failed_before_and_undo_was_not_noticed() {
    let mut story = red(&[("max_iterations", "1")]);
    story.say(PASS).say(CLEAN).say("clean-fail x / clean / certified");
    let text = "red before, canary noticed, undo NOT noticed, hunks not tried (undo was not noticed)";
    assert_eq!(line(&story), text);
}

#[test]
fn pieces_of_the_change_are_wanted_after_an_undo_that_says_little() {
    let mut story = judged(&[("max_time", "10m")]);
    story.say("fail / saved / agent-ok / saved-as iter-001 / changed 1 / pass / clean / no-probe no_runner");
    assert_eq!(story.last(), "judge undone");
    story.wait(700_000).say("clean / certified");
    let text = "red before (no tests shown), canary not tried (no_runner), undo NOT noticed, hunks not tried (out of \
                time)";
    assert_eq!(line(&story), text);
}

#[test]
fn why_no_copy_could_be_probed_is_said() {
    let mut none = Story::new(&[("judge", "auto"), ("strength", "report")]);
    none.say("opened / saved / fail / agent-ok / saved / measured / pass / certified");
    let all = "canary, undo and hunks not tried";
    assert_eq!(line(&none), format!("red before (no tests shown), {all} (there are no checkpoints to copy)"));
    let mut cannot = red(&[]);
    cannot.say(PASS).say("not-judged no_space / not-judged no_space / certified");
    assert_eq!(line(&cannot), format!("red before, {all} (this project cannot be judged in a copy)"));
    let mut ignored = red(&[]);
    ignored.say(PASS).say("clean-fail no_module").reply(without(&["dist/a.js"])).say("certified");
    let why = "a copy does not have the ignored files that changed, and the gates need them: dist/a.js";
    assert_eq!(line(&ignored), format!("red before, {all} ({why})"));
}

/// A copy in which the gate fails, and that lacks these changed ignored files.
fn without(files: &[&str]) -> Answer {
    let Answer::GateEnded(report) = crate::play::gate(Ended::Exit(1), "no module app") else { unreachable!() };
    let verdict = loop_core::policy::gate::Verdict::Fail;
    let gate = JudgedGate { gate: 0, verdict, tries: 1, report, contradiction: None, same_tests: None };
    let left_out = LeftOut { files: NameList::of(files.iter().copied()), changed: true, has_setup: false };
    let remarks = vec![Remark::LeftOut(left_out)];
    Answer::Judged(Box::new(JudgeReport { gates: vec![gate], remarks, ..JudgeReport::default() }))
}
