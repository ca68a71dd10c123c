//! Journals of released versions: runs of rules 1 know no breaker, no guard and no proof.
use loop_core::run::{Event, Fact, RunSpec, RunState};

use crate::play::{Story, spec};

/// A run as the version before judgement began it: without the settings that came with it.
fn old_spec() -> RunSpec {
    let mut json = serde_json::to_value(spec(&[("max_iterations", "20")])).unwrap();
    json["rules"] = 1.into();
    let settings = json["settings"].as_object_mut().unwrap();
    let known =
        ["promise", "agent", "agent_cmd", "max_iterations", "timeout", "gate_timeout", "max_time", "on_question"];
    settings.retain(|name, _| known.contains(&name.as_str()));
    serde_json::from_value(json).unwrap()
}

#[test]
fn a_run_of_the_old_rules_goes_on_without_a_breaker_or_any_cap() {
    let mut story = Story::of(old_spec());
    story.say("opened / saved / broken same").times(12, "agent-ok / saved / changed 0 / broken same");
    assert_eq!(story.last(), "agent 13.1", "{}", story.told);
    assert_eq!(story.state.settings.caps.shared(), false);
}

#[test]
fn an_end_without_a_proof_folds_and_stays_an_end() {
    let mut story = Story::of(old_spec());
    story.say("opened / saved / kept");
    // As it was written then.
    story.journal.truncate(story.journal.len() - 1);
    let old =
        r#"{"concluded":{"outcome":"kept","reason":{"code":"goal_complete","text":"the promise holds already"}}}"#;
    let mut state = RunState::default();
    story.journal.iter().for_each(|entry| state.apply(&entry.fact));
    state.apply(&serde_json::from_str::<Fact>(old).unwrap());
    assert!(state.over.as_ref().is_some_and(|over| over.proof.is_none()) && !state.resumable());
    let at = crate::play::at(99);
    let facts = loop_core::run::step(&state, loop_core::run::Input { at, event: Event::DeadlinePassed });
    assert_eq!(facts.len(), 1, "{facts:?}");
}

#[test]
fn an_old_run_that_was_judged_and_cut_off_is_judged_under_the_same_name() {
    let mut story = Story::of(old_spec());
    story.say("opened / saved / broken / agent-ok / saved / measured / broken same");
    let ordered = story.journal.pop().unwrap();
    assert!(matches!(ordered.fact, Fact::Ordered { .. }), "the agent was not asked yet");
    story.state = RunState::default();
    story.journal.iter().for_each(|entry| story.state.apply(&entry.fact));
    story.say("reopened");
    assert_eq!(story.last(), "gate {iteration:1}");
}
