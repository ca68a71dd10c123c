//! Which agent and model an attempt uses: chosen before each attempt, as a fact with its reason.
use loop_core::agent::{ADAPTERS, Agent};
use loop_core::run::*;

use crate::play::Story;

/// Every choice of a story with the order that follows it.
fn choices(story: &Story) -> Vec<(AgentChoice, ChoiceCause)> {
    let facts: Vec<&Fact> = story.journal.iter().map(|entry| &entry.fact).collect();
    let mut found = Vec::new();
    for (index, fact) in facts.iter().enumerate() {
        let Fact::Ordered { order: Order::RunAgent { choice, .. }, .. } = fact else { continue };
        let Some(Fact::Decided(Decision::Chosen { choice: decided, why, .. })) = facts.get(index - 1) else {
            panic!("an attempt without a choice: {fact:?}");
        };
        assert_eq!(decided, choice);
        found.push((choice.clone(), *why));
    }
    found
}

fn choice(agent: &str, model: Option<&str>) -> AgentChoice {
    AgentChoice { agent: agent.to_owned(), model: model.map(str::to_owned), ..AgentChoice::default() }
}

#[test]
fn the_agent_of_the_settings_is_chosen_before_each_attempt() {
    let mut story = Story::new(&[("agent", "claude"), ("agent_model", "opus")]);
    story.say("opened / saved / fail / agent-ok / saved / measured / fail");
    assert_eq!(
        choices(&story),
        [
            (choice("claude", Some("opus")), ChoiceCause::Settings),
            (choice("claude", Some("opus")), ChoiceCause::Settings)
        ]
    );
}

#[test]
fn a_person_changes_agent_and_model_from_the_next_attempt_on() {
    let mut story = Story::new(&[("agent", "claude")]);
    story.say("opened / saved / fail / set agent=codex agent_model=gpt-5 / agent-ok / saved / measured / fail");
    assert_eq!(
        choices(&story),
        [(choice("claude", None), ChoiceCause::Settings), (choice("codex", Some("gpt-5")), ChoiceCause::Person)]
    );
    assert_eq!(story.last(), "agent 2.1 with codex (gpt-5)");
}

#[test]
fn a_run_is_resumed_with_another_agent() {
    let mut story = Story::new(&[("agent", "claude"), ("max_iterations", "1")]);
    story.say("opened / saved / fail / agent-ok / saved / measured / fail");
    story.say("reopened agent=gemini max_iterations=2 / fail");
    assert_eq!(story.last(), "agent 2.1 with gemini");
}

#[test]
fn another_agent_does_not_continue_the_session_of_the_one_before() {
    let mut story = Story::new(&[("agent", "claude"), ("session", "continue")]);
    story.say("opened / saved / fail / agent-heard session=s1 / saved / measured / fail");
    assert_eq!(story.last(), "agent 2.1 in s1");
    story.say("set agent=codex / agent-heard session=s1 / saved / measured / fail");
    assert_eq!(story.last(), "agent 3.1 with codex");
}

#[test]
fn another_model_continues_the_session() {
    let mut story = Story::new(&[("agent", "claude"), ("session", "continue")]);
    story.say("opened / saved / fail / agent-heard session=s1 / set agent_model=opus / saved / measured / fail");
    assert_eq!(story.last(), "agent 2.1 with claude (opus) in s1");
}

#[test]
fn the_model_that_was_reported_is_forgotten_with_another_choice() {
    let mut story = Story::new(&[("agent", "claude")]);
    story.say("opened / saved / fail / agent-heard model=opus-4 / saved / measured / fail");
    assert_eq!(story.state.budget.spent().model.as_deref(), Some("opus-4"));
    story.say("set agent=codex / agent-heard session=s1 / saved / measured / fail");
    assert_eq!(story.state.budget.spent().model, None);
}

#[test]
fn another_agent_does_not_wait_for_the_provider_of_the_one_before() {
    for words in ["set agent=codex", "reopened agent=codex"] {
        let mut story = Story::new(&[("agent", "claude")]);
        story.say("opened / saved / fail / agent-heard rate_limit=9000000 / saved / fail");
        assert!(story.last().starts_with("hold limit"), "{}", story.told);
        story.say(words);
        if words.starts_with("set") {
            story.say("held");
        } else {
            story.say("fail");
        }
        assert!(story.last().starts_with("agent 1.2 with codex"), "{words}: {}", story.told);
    }
}

#[test]
fn another_agent_is_not_asked_for_the_status_block_of_the_one_before() {
    let mut story = Story::new(&[("agent", "claude"), ("promise", "")]);
    story.say("opened / saved / set agent=codex / agent-heard session=s1 / saved / changed 1");
    assert_eq!(story.last(), "agent 2.1 with codex", "{}", story.told);
}

#[test]
fn what_agents_leave_in_a_workspace_is_the_same_for_every_agent() {
    let all = Agent::litter_of_all(&[]);
    for adapter in ADAPTERS {
        assert!(adapter.litter.iter().all(|glob| all.contains(&(*glob).to_owned())), "{}", adapter.name);
    }
    assert!(all.is_sorted());
}
