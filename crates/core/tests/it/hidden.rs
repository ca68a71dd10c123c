//! Gates that the agent does not know: when they run, what it hears, and how often.
use loop_core::run::*;
use loop_core::settings::{HiddenGate, Layer, from_toml, hidden_from_toml, hidden_from_yaml, project_from_toml};

use crate::play::{Story, hidden, spec};

/// A loop with hidden gates, up to the first pass in the workspace.
fn passed(count: u32, settings: &[(&str, &str)]) -> Story {
    let defaults = [("judge", "auto"), ("max_iterations", "9")];
    let all: Vec<(&str, &str)> = defaults.into_iter().chain(settings.iter().copied()).collect();
    let spec = RunSpec { backend: "git".to_owned(), hidden: hidden(count), ..spec(&all) };
    let mut story = Story::of(spec);
    story.say("opened / saved-as initial / fail / saved");
    story.say("agent-ok / saved-as iter-001 / changed 1 / pass");
    story
}

/// Another iteration that passes in the workspace and in a clean copy.
fn again(story: &mut Story, number: u32) {
    story.say(&format!("saved / agent-ok / saved-as iter-00{number} / changed 1 / pass / clean"));
}

fn proof(story: &Story) -> Proof {
    *story.state.over.clone().unwrap().proof.unwrap()
}

#[test]
fn hidden_gates_run_after_everything_else_agrees() {
    let mut story = passed(2, &[("strength", "report")]);
    assert_eq!(story.last(), "judge final");
    story.say("clean / no-probe no_tests / clean-fail undone");
    assert_eq!(story.last(), "judge {hunks:{budget_ms:29995}}");
    story.say("hunks 3 3 3");
    assert_eq!(story.last(), "judge {hidden:{in_copy:true,limit_ms:1200000}}");
    story.say("hidden pass pass");
    assert_eq!(story.last(), "certify {iteration:1}");
    story.say("certified");
    assert_eq!(story.last(), "END verified (goal_complete): the promise passes after 1 iteration");
    let hidden = ProofHidden { count: 2, passed: true, place: Some(JudgePlace::OwnPath) };
    assert_eq!(proof(&story).hidden, Some(hidden));
}

#[test]
fn hidden_gates_do_not_run_where_something_else_speaks_against_the_pass() {
    let mut story = passed(1, &[]);
    // The clean copy disagrees, and the project can be judged there.
    story.say("clean-fail one / not-judged / not-judged");
    assert_eq!(story.last(), "certify {iteration:1}");
    story.say("certified / saved");
    assert!(story.last().contains("not in a clean copy"), "{}", story.last());
}

#[test]
fn the_agent_hears_nothing_but_that_a_further_check_does_not_accept_its_work() {
    let mut story = passed(2, &[]);
    story.say("clean / hidden pass fail / certified / saved");
    assert_eq!(story.last(), "agent 2.1 telling {not_proven:{findings:[the work is not accepted by a further check]}}");
}

#[test]
fn the_third_pass_that_a_hidden_gate_refuses_ends_the_loop_as_passed_but() {
    let mut story = passed(2, &[]);
    story.say("clean / hidden fail / certified");
    again(&mut story, 2);
    story.say("hidden pass fail / certified");
    again(&mut story, 3);
    story.say("hidden pass fail / certified");
    assert_eq!(story.last(), "END passed_but (not_proven): the promise passes, but hidden gate 2 of 2 does not pass");
    let hidden = ProofHidden { count: 2, passed: false, place: Some(JudgePlace::OwnPath) };
    assert_eq!(proof(&story).hidden, Some(hidden));
}

#[test]
fn passes_that_hidden_gates_refuse_are_counted_also_where_another_pass_comes_between() {
    let mut story = passed(1, &[]);
    story.say("clean / hidden fail / certified");
    story.say("saved / agent-ok / saved-as iter-002 / changed 1 / fail");
    again(&mut story, 3);
    story.say("hidden fail / certified");
    again(&mut story, 4);
    story.say("hidden fail / certified");
    assert!(story.last().starts_with("END passed_but"), "{}", story.last());
}

#[test]
fn a_person_who_resumes_gives_the_agent_three_more_refusals() {
    let mut story = passed(1, &[]);
    story.say("clean / hidden fail / certified");
    again(&mut story, 2);
    story.say("hidden fail / certified");
    again(&mut story, 3);
    story.say("hidden fail / certified / reopened / saved / pass / hidden fail / certified / saved");
    assert!(story.last().starts_with("agent 4.1 telling"), "{}", story.last());
}

#[test]
fn a_person_can_accept_what_a_hidden_gate_refused() {
    let mut story = passed(1, &[]);
    story.say("clean / hidden unable / certified / visited / accept");
    assert!(story.last().starts_with("END accepted (accepted): accepted by"), "{}", story.last());
}

#[test]
fn a_hidden_gate_that_cannot_be_run_is_not_the_agents_fault_and_asks_a_person_at_once() {
    let mut story = passed(1, &[]);
    story.say("clean / hidden unable / certified");
    assert_eq!(
        story.last(),
        "END passed_but (not_proven): the promise passes, but the hidden gates could not be run: the hidden gate could not be run"
    );
}

#[test]
fn hidden_gates_that_are_not_those_of_the_start_ask_a_person_at_once() {
    let mut story = passed(1, &[]);
    story.say("clean / not-judged other gates / certified");
    assert!(story.last().ends_with("the hidden gates could not be run: other gates"), "{}", story.last());
}

#[test]
fn without_a_clean_copy_hidden_gates_run_in_the_workspace() {
    let mut story = passed(1, &[("judge", "workspace")]);
    assert_eq!(story.last(), "judge {hidden:{in_copy:false,limit_ms:600000}}");
    story.say("hidden here pass / certified");
    assert!(story.last().starts_with("END verified"), "{}", story.last());
    let hidden = ProofHidden { count: 1, passed: true, place: Some(JudgePlace::Workspace) };
    assert_eq!(proof(&story).hidden, Some(hidden));
}

#[test]
fn what_hidden_gates_may_have_written_in_the_workspace_is_not_taken_for_the_agents_work() {
    let mut story = passed(1, &[("judge", "workspace")]);
    story.say("hidden here fail / certified");
    assert_eq!(story.last(), "checkpoint iter-001+");
}

#[test]
fn a_promise_that_passes_before_any_iteration_is_not_done_while_a_hidden_gate_fails() {
    let spec = RunSpec { hidden: hidden(1), ..spec(&[]) };
    let mut story = Story::of(spec);
    story.say("opened / saved / pass / hidden here fail / certified");
    assert!(story.last().starts_with("agent 1.1 telling {not_proven"), "{}", story.last());
}

#[test]
fn a_finding_that_was_accepted_from_the_start_does_not_keep_hidden_gates_from_running() {
    let mut story = passed(1, &[("accept", "clean-copy")]);
    story.say("clean-fail one / not-judged / not-judged");
    assert!(story.last().starts_with("judge {hidden:"), "{}", story.last());
}

#[test]
fn a_journal_that_says_verified_without_its_hidden_gates_is_not_believed() {
    let mut story = passed(1, &[]);
    story.say("clean / hidden pass / certified");
    let end = story.journal.pop().unwrap().fact;
    let Fact::Concluded { outcome, reason, proof: Some(mut proof) } = end else { panic!("no end") };
    let mut before = RunState::default();
    story.journal.iter().for_each(|entry| before.apply(&entry.fact));
    proof.hidden = None;
    let forged = Fact::Concluded { outcome, reason, proof: Some(proof) };
    let checked = <Run as loop_core::machine::Machine>::check_evidence(&before, &forged);
    assert_eq!(checked, Err("it says verified, and its hidden gates did not pass"));
}

/// What is wrong with settings, in all words that a person reads.
fn wrong(text: &str) -> String {
    let error = from_toml(text, "config.toml", Layer::User).unwrap_err();
    format!("{error} / {} / {}", error.why(), error.hint())
}

#[test]
fn hidden_gates_are_written_as_tables_as_commands_or_as_lines() {
    let table =
        "[hidden_gates.values]\ncommand = 'make other'\ntimeout = '2m'\npasses = '2of3'\nworkspace = '~/shop'\n";
    let HiddenGate { gate, workspace } = hidden_from_toml(table, "config.toml").unwrap().gates.remove(0);
    assert_eq!((gate.name.as_str(), gate.command.as_str()), ("values", "make other"));
    assert_eq!((gate.timeout_ms, gate.tries, workspace.as_deref()), (Some(120_000), Some((2, 3)), Some("~/shop")));
    let plain = |text: &str| hidden_from_toml(text, "config.toml").unwrap().gates.remove(0);
    let line = plain("hidden_gates = ['values=make other']\n");
    assert_eq!(plain("[hidden_gates]\nvalues = 'make other'\n"), line);
    assert_eq!(hidden_from_yaml("hidden_gates:\n  values: make other\n", "config.yaml").unwrap().gates, [line]);
    let named = hidden_from_toml("hidden_gates_file = 'more.toml'\n", "config.toml").unwrap();
    assert_eq!((named.gates.len(), named.file.as_deref()), (0, Some("more.toml")));
}

#[test]
fn what_is_wrong_with_a_hidden_gate_is_said_without_its_command() {
    let command = "command = 'make other'\n";
    let cases = [
        ("watch = true\n", "a hidden gate always decides"),
        ("workspace = 'shop'\n", "workspace must be a whole path"),
        ("speed = 'high'\n", "speed = high: a gate has no such key"),
        ("passes = '3of2'\n", "3of2 cannot be"),
    ];
    for (more, why) in cases {
        let said = wrong(&format!("[hidden_gates.values]\n{command}{more}"));
        assert!(said.starts_with("config.toml:1: hidden_gates cannot be \"values\"") && said.contains(why), "{said}");
        assert!(!said.contains("make other"), "{said}");
    }
    assert!(wrong("hidden_gates_file = 3\n").contains("it must be the path of a file"));
}

#[test]
fn a_project_file_with_hidden_gates_is_refused_approved_or_not() {
    for approved in [false, true] {
        for text in ["[hidden_gates]\nvalues = 'true'\n", "hidden_gates_file = 'x'\n"] {
            let error = project_from_toml(text, "loop.toml", approved).unwrap_err();
            assert!(error.to_string().ends_with("may not stand in a project file"), "{error}");
            assert!(error.hint().contains("the agent can read it here"), "{}", error.hint());
        }
    }
}

#[test]
fn a_refusal_by_a_hidden_gate_cannot_be_accepted_before_the_start() {
    let error = from_toml("accept = ['hidden-gate']\n", "config.toml", Layer::User).unwrap_err();
    assert!(error.why().contains("is nothing that can be accepted"), "{}", error.why());
}
