//! What is found about a pass: which of it counts, which of it is only named, and in which words.
use loop_core::policy::outside::{OutsideBy, OutsideChange, OutsideWhat};
use loop_core::policy::protect::{Opportunity, OpportunityKind, target_sentence};
use loop_core::run::*;

use crate::play::{Story, hidden, spec};
use crate::proof::{CLEAN, PASS, judged, red};

/// The workspace decides, and no probe is tried.
const WORKSPACE: (&str, &str) = ("judge", "workspace");

fn proof(story: &Story) -> Proof {
    *story.state.over.clone().unwrap().proof.unwrap()
}

/// What a verified pass is named with.
fn named(story: &Story) -> Vec<String> {
    assert!(story.last().starts_with("END verified"), "{}", story.last());
    proof(story).named.into_iter().map(|named| named.text).collect()
}

#[test]
fn tests_that_are_not_shown_any_more_are_named() {
    let mut story = red(&[WORKSPACE]);
    story.say("pass / certified");
    assert_eq!(named(&story), ["promise: it ran 3 tests before, and shows none now"]);
}

#[test]
fn tests_that_fail_before_any_iteration_are_not_said_to_have_failed_before_it() {
    let mut story = judged(&[]);
    story.say("tests pass=2 fail=3 exit=0 said=a / certified / saved");
    let told = "agent 1.1 telling {not_proven:{findings:[promise: 3 tests fail although it exits with 0]}}";
    assert_eq!(story.last(), told);
}

#[test]
fn the_initial_state_is_asked_once_whether_a_gate_that_lost_tests_runs_the_same_ones_each_time() {
    let mut story = judged(&[("promise", ""), ("gate", "t=make test\nlint=make lint")]);
    story.say("tests pass=1 fail=2 said=a / fail / saved / agent-ok / saved-as iter-001 / changed 1");
    story.say("tests pass=3 missing=t::one said=b / pass");
    assert_eq!(story.last(), "judge initial");
    story.say("on-copy tests pass=1 fail=2 same=exactly && fail / certified / saved");
    story.say("agent-ok / saved-as iter-002 / changed 1 / tests pass=3 missing=t::one said=c / pass");
    assert_eq!(story.last(), "certify {iteration:2}", "the other gate has lost none");
}

/// A loop with protected files, whose agent changed these files that define how tests are run; then its gate passes.
fn changed_targets(paths: &[&str]) -> Story {
    let guard = || {
        let targets = paths.iter().map(|path| target_sentence(path)).collect();
        Answer::Guard(Box::new(GuardReport { files: 2, targets, ..GuardReport::default() }))
    };
    let mut story = Story::guarded(&[]);
    story.say("opened / guarded 2 / saved-as initial / fail / guarded 2 / saved / agent-ok").reply(guard());
    story.say("saved-as iter-001 / changed 1 / pass").reply(guard());
    assert_eq!(story.last(), "certify {iteration:1}");
    story
}

#[test]
fn a_changed_file_that_defines_how_tests_are_run_makes_them_weaker_unless_nothing_was_lost_by_it() {
    let mut story = changed_targets(&["Makefile", "package.json", "Rakefile"]);
    let opportunities = vec![Opportunity { kind: OpportunityKind::GateFile, path: "Rakefile".to_owned() }];
    let nothing_lost = vec!["Makefile".to_owned(), "Rakefile".to_owned()];
    story.reply(Answer::Certify(CertifyReport { nothing_lost, opportunities, ..CertifyReport::default() }));
    assert_eq!(proof(&story).weaker, [target_sentence("package.json")]);
    let all = [
        "files that the gates or the tests use are new or changed: Rakefile",
        "files that define how tests are run were changed, and lost nothing: Makefile",
    ];
    assert_eq!(named(&story), all, "each file is named once");
}

#[test]
fn files_of_test_runners_are_named_only_where_a_gate_ever_ran_tests() {
    let changed = "certified +new_runner_file:conftest.py;+gate_file:tox.ini";
    let runner = "files that a test runner reads are new or changed: conftest.py";
    let used = "files that the gates or the tests use are new or changed: tox.ini";
    let mut tests = red(&[WORKSPACE]);
    tests.say(PASS).say(changed);
    assert_eq!(named(&tests), [runner, used]);
    let mut none = judged(&[WORKSPACE]);
    none.say("fail / saved / agent-ok / saved-as iter-001 / changed 1 / pass").say(changed);
    assert_eq!(named(&none), [used]);
}

#[test]
fn a_promise_whose_exit_code_is_hidden_is_named() {
    let mut story = judged(&[WORKSPACE, ("promise", "make test | tee log")]);
    story.say("fail / saved / agent-ok / saved-as iter-001 / changed 1 / pass / certified");
    let text = "promise: a pipe has the exit code of its last command, and tee does not fail when the work is not done";
    assert_eq!(named(&story), [text]);
}

#[test]
fn dependencies_that_came_into_the_copy_as_the_agent_installed_them_are_named() {
    let mut story = red(&[("strength", "off")]);
    story.say(PASS);
    let Answer::GateEnded(report) = crate::play::gate(Ended::Exit(0), "fine") else { unreachable!() };
    let report = GateReport { tests: Some(Box::new(TestsSeen { passed: 3, ..TestsSeen::default() })), ..report };
    let verdict = loop_core::policy::gate::Verdict::Pass;
    let gates = vec![JudgedGate { gate: 0, verdict, tries: 1, report, contradiction: None, same_tests: None }];
    let installed = vec!["node_modules".to_owned(), ".venv".to_owned()];
    story.reply(Answer::Judged(Box::new(JudgeReport { gates, installed, ..JudgeReport::default() }))).say("certified");
    assert_eq!(named(&story), ["dependencies are as the agent installed them: node_modules, .venv"]);
}

#[test]
fn a_gate_that_is_believed_by_its_exit_code_may_run_no_test() {
    let mut story = judged(&[("promise", ""), ("gate", "t[trust-exit]=make test")]);
    story.say("tests pass=0 said=a / clean / certified");
    assert_eq!(named(&story), Vec::<String>::new());
}

#[test]
fn what_a_person_repaired_before_any_iteration_is_not_called_flaky() {
    let mut story = judged(&[WORKSPACE]);
    story.say("stop / fail");
    assert!(story.last().starts_with("END stopped"), "{}", story.last());
    story.say("reopened / saved / pass / certified");
    assert_eq!(named(&story), Vec::<String>::new());
}

/// A loop with one hidden gate, whose clean copy does not pass; the proof is asked for.
fn refused_by_copy() -> Story {
    let mut story = Story::of(RunSpec { backend: "git".to_owned(), hidden: hidden(1), ..spec(&[("judge", "auto")]) });
    story.say("opened / saved-as initial / fail / saved / agent-ok / saved-as iter-001 / changed 1 / pass");
    story.say("clean-fail one / not-judged x / not-judged x");
    assert_eq!(story.last(), "certify {iteration:1}");
    story
}

#[test]
fn hidden_gates_that_were_not_run_because_of_something_else_are_not_mentioned_to_the_agent() {
    let mut story = refused_by_copy();
    story.say("certified / saved");
    let told = "agent 2.1 telling {not_proven:{findings:[the gates pass in the workspace, but not in a clean copy of the \
                same files: promise (exit 1): one]}}";
    assert_eq!(story.last(), told);
}

#[test]
fn a_pass_is_not_verified_without_its_hidden_gates_where_what_kept_them_from_running_is_accepted_meanwhile() {
    let mut story = refused_by_copy();
    story.say("set accept=clean-copy / certified");
    let end = "END passed_but (not_proven): the promise passes, but the hidden gates were not run";
    assert_eq!(story.last(), end);
}

fn file(path: &str, in_workspace: bool) -> Option<ProgramFile> {
    Some(ProgramFile { path: path.to_owned(), sha256: "hash".to_owned(), stamp: String::new(), in_workspace })
}

fn swap(program: &str, before: Option<ProgramFile>, after: Option<ProgramFile>) -> ToolChange {
    ToolChange { program: program.to_owned(), before, after }
}

/// A loop that passes in the workspace, and what is said about its programs at the end.
fn with_programs(swapped: Vec<ToolChange>) -> Story {
    let mut story = red(&[WORKSPACE, ("max_iterations", "1")]);
    story.say(PASS).reply(Answer::Certify(CertifyReport { swapped, ..CertifyReport::default() }));
    story
}

#[test]
fn a_program_of_the_gates_that_is_another_one_speaks_against_the_pass() {
    for (before, after, words) in [
        (file("/usr/bin/cc", false), file("/tmp/cc", false), "cc was /usr/bin/cc, and is /tmp/cc now"),
        (file("/w/bin/cc", true), file("/tmp/cc", false), "cc was /w/bin/cc, and is /tmp/cc now"),
        (file("/usr/bin/cc", false), file("/w/bin/cc", true), "cc was /usr/bin/cc, and is /w/bin/cc now"),
        (file("/usr/bin/cc", false), None, "cc was /usr/bin/cc, and is gone"),
    ] {
        let story = with_programs(vec![swap("cc", before, after)]);
        let end = format!("but a program of the gates is another one than at the start: {words}; 1 iteration done");
        assert!(story.last().contains(&end), "{}", story.last());
    }
}

#[test]
fn a_program_that_was_installed_in_the_workspace_is_named_or_is_the_work() {
    let again = with_programs(vec![swap("jest", file("/w/jest", true), file("/w/jest", true))]);
    let text = "a program of the gates is another one than at the start: jest (/w/jest) has another content";
    assert_eq!(named(&again), [text]);
    let new = with_programs(vec![swap("jest", None, file("/w/jest", true))]);
    assert_eq!(named(&new), Vec::<String>::new());
}

#[test]
fn a_program_that_was_another_one_for_a_time_speaks_against_the_pass() {
    let mut story = red(&[("strength", "off"), ("max_iterations", "1")]);
    story.say(PASS);
    let programs = vec![
        swap("cc", file("/usr/bin/cc", false), file("/tmp/cc", false)),
        swap("ld", file("/usr/bin/ld", false), file("/tmp/ld", false)),
    ];
    let Answer::Judged(copy) = crate::play::answer("tests-clean", "pass=3") else { unreachable!() };
    story.reply(Answer::Judged(Box::new(JudgeReport { swapped: programs.clone(), ..*copy })));
    let swapped = programs[..1].to_vec();
    story.reply(Answer::Certify(CertifyReport { swapped, ..CertifyReport::default() }));
    let end = "but a program of the gates is another one than at the start: cc was /usr/bin/cc, and is /tmp/cc now; a \
               program of the gates was another one for a time: ld was /tmp/ld instead of /usr/bin/ld when a gate \
               started; 1 iteration done";
    assert!(story.last().contains(end), "{}", story.last());
}

fn outside(path: &str, by: OutsideBy) -> OutsideChange {
    OutsideChange { path: path.to_owned(), by, what: OutsideWhat::Changed }
}

#[test]
fn a_changed_file_outside_of_the_workspace_counts_where_the_gate_names_it_and_is_named_where_tools_may_read_it() {
    let end = |outside: Vec<OutsideChange>| {
        let mut story = red(&[WORKSPACE, ("max_iterations", "1")]);
        story.say(PASS).reply(Answer::Certify(CertifyReport { outside, ..CertifyReport::default() }));
        story
    };
    let counts = end(vec![outside("/p/check.py", OutsideBy::Command), outside("/p/pytest.ini", OutsideBy::Above)]);
    let text = "files outside of the workspace that a gate uses are not as at the start: /p/check.py (changed)";
    assert!(counts.last().contains(text) && !counts.last().contains("pytest.ini"), "{}", counts.last());
    let named_only = end(vec![outside("/p/pytest.ini", OutsideBy::Above)]);
    let text = "files outside of the workspace that tools may read are not as at the start: /p/pytest.ini (changed)";
    assert_eq!(named(&named_only), [text]);
}

#[test]
fn what_speaks_against_a_pass_before_any_iteration_is_for_a_person_and_not_for_the_agent() {
    let mut story = judged(&[WORKSPACE]);
    let outside = vec![outside("/p/check.py", OutsideBy::Command)];
    story.say("pass").reply(Answer::Certify(CertifyReport { outside, ..CertifyReport::default() }));
    assert!(story.last().starts_with("END passed_but (not_proven)"), "{}", story.last());
}

#[test]
fn nothing_is_said_about_strength_before_any_iteration() {
    let mut story = judged(&[("accept", "failing-tests")]);
    story.say("tests pass=2 fail=1 exit=0 said=a / tests-clean pass=2 fail=1 / certified");
    assert!(story.last().starts_with("END verified"), "{}", story.last());
    assert_eq!(proof(&story).strength, None);
}

#[test]
fn changed_tests_are_cleared_by_an_undo_that_was_noticed_and_need_a_person_otherwise() {
    let mut noticed = red(&[]);
    noticed.say(PASS).say(CLEAN).say("clean-fail x / clean-fail x / hunks 1 1 1 / certified +changed_test:tests/a.rs");
    assert_eq!(named(&noticed), ["tests of the start were changed: tests/a.rs"]);
    let mut not = judged(&[]);
    not.say("fail / saved / agent-ok / saved-as iter-001 / changed 1 / pass / clean / no-probe no_runner / clean");
    not.say("hunks 1 1 0 / certified +changed_test:tests/a.rs");
    assert!(not.last().starts_with("END passed_but (not_proven): the promise passes, but tests of the start were"));
}

#[test]
fn changed_tests_are_only_named_where_no_probe_may_be_tried() {
    for settings in [[WORKSPACE, ("strength", "report")], [("judge", "auto"), ("strength", "off")]] {
        let mut story = red(&settings);
        story.say(PASS);
        if settings[0] != WORKSPACE {
            story.say(CLEAN);
        }
        story.say("certified +changed_test:tests/a.rs");
        assert_eq!(named(&story), ["tests of the start were changed: tests/a.rs"]);
    }
}

#[test]
fn where_only_the_workspace_decided_the_proof_says_whether_that_was_asked_for() {
    let why = |story: Story| match proof(&story).judge {
        Some(ProofJudge::Workspace { why }) => why,
        other => panic!("{other:?}"),
    };
    let mut asked = red(&[WORKSPACE]);
    asked.say(PASS).say("certified");
    assert_eq!(why(asked), "it was asked for (--judge workspace)");
    let mut cannot = Story::new(&[("judge", "auto")]);
    cannot.say("opened / saved / pass / certified");
    assert_eq!(why(cannot), "there are no checkpoints to copy");
}
