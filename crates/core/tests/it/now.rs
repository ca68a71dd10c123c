//! What a run is doing now.
use loop_core::agent::Live;
use loop_core::view::{Activity, LiveDigest, Now};
use serde_json::{Value, json};

use crate::play::{Story, at};

/// What the story is doing at this moment, without the fields that every answer has.
fn now(story: &Story, ms: u64) -> Now {
    Now::of(&story.state, at(ms), &LiveDigest::default()).unwrap()
}

fn as_json(now: &Now) -> Value {
    serde_json::to_value(now).unwrap()
}

#[test]
fn a_gate_is_shown_with_its_name_its_try_and_its_limit() {
    let mut story = Story::new(&[("promise", ""), ("gate", "tests[2of3,timeout=2m]=x")]);
    story.play("0 opened\n1 saved\n2 fail");
    let gate = now(&story, 12_002);
    assert_eq!(
        as_json(&gate),
        json!({
            "activity": "gate", "gate": "tests", "number": 1, "gates": 1, "try": 2, "tries": 3,
            "iteration": 0, "max_iterations": 3, "since": "2023-11-14T22:13:20Z", "elapsed_seconds": 12.0,
            "limit_seconds": 120.0, "until": "2023-11-14T22:15:20Z", "ending": null, "requests": [],
        })
    );
}

#[test]
fn an_agent_is_shown_with_its_attempt_its_tool_and_what_people_asked_for() {
    let mut story = Story::new(&[("timeout", "30m")]);
    story.play("0 opened\n1 saved\n2 fail\n500 reopened\n501 cleaned\n502 saved\n503 fail");
    let mut live = LiveDigest::default();
    live.add(&Live::Text("I look around".to_owned()));
    live.add(&Live::Tool("Bash".to_owned(), "ls".to_owned()));
    live.add(&Live::Tool("Edit".to_owned(), "shop/\ncalc.py".to_owned()));
    live.add(&Live::Note("a retry".to_owned()));
    story.play("600 stop\n601 inject\n602 rollback 1");
    let agent = Now::of(&story.state, at(10_503), &live).unwrap();
    assert_eq!(
        as_json(&agent),
        json!({
            "activity": "agent", "agent": "custom", "attempt": 2, "status_only": false,
            "tool": {"name": "Edit", "argument": "shop/ calc.py"},
            "iteration": 1, "max_iterations": 3, "since": "2023-11-14T22:13:20Z", "elapsed_seconds": 10.0,
            "limit_seconds": 1800.0, "until": "2023-11-14T22:43:20Z", "ending": null,
            "requests": [
                {"request": "stop", "by": "Ctrl-C"},
                {"request": "rollback", "to": "1", "now": false},
                {"request": "inject", "texts": 1},
            ],
        })
    );
    assert_eq!((agent.progress().as_str(), agent.works()), ("1/3", true));
    story.play("1900000 deadline");
    assert_eq!(as_json(&now(&story, 1_900_001))["ending"], "timeout");
}

#[test]
fn the_limit_is_the_time_of_the_whole_run_where_that_ends_first() {
    let mut story = Story::new(&[("timeout", "30m"), ("max_time", "10m")]);
    story.play("0 opened\n1 saved\n2 fail");
    let limit = now(&story, 5).limit_ms.unwrap();
    assert!((1..600_000).contains(&limit), "a share of ten minutes: {limit}");
}

#[test]
fn a_wait_says_what_for_until_when_and_how_that_is_known() {
    let mut story = Story::new(&[("agent", "claude")]);
    story.play("0 opened\n1 saved\n2 fail\n10 agent-heard rate_limit=30000");
    let waits = now(&story, 20_000);
    let Activity::Wait { waiting, failure } = &waits.activity else { panic!("{waits:?}") };
    assert_eq!((*failure, as_json(&waits)["waiting"]["source"].as_str()), (Some("rate_limit"), Some("provider")));
    assert_eq!(as_json(&waits)["until"].as_str(), Some(waiting.until.as_str()));
    assert!(!waits.works() && waits.left_ms(at(20_000)).unwrap() < 20_000);

    let mut hour = Story::new(&[("max_calls_per_hour", "3")]);
    hour.play("0 opened\n1 saved\n2 fail\n3 denied calls_per_hour 5000");
    let waits = as_json(&now(&hour, 10));
    assert_eq!((&waits["failure"], &waits["waiting"]["source"]), (&Value::Null, &json!("limit")));
    assert_eq!(waits["limit_seconds"], 5.0);
}

#[test]
fn what_only_a_person_ends_has_no_limit() {
    let mut story = Story::new(&[]);
    story.play("0 opened\n1 saved\n2 fail\n3 pause loop pause");
    assert_eq!(as_json(&now(&story, 4))["requests"], json!([{"request": "pause", "by": "loop pause"}]));
    story.play("10 agent-ok\n11 saved\n12 changed 1\n13 fail");
    let paused = now(&story, 99_000);
    assert_eq!((&paused.activity, paused.limit_ms, paused.requests.len()), (&Activity::Paused, None, 0));

    let mut kept = Story::checkpointed(&[]);
    kept.say("opened / saved-as initial / fail / saved / agent-ok / blocked the disk is full");
    let blocked = as_json(&now(&kept, 99));
    assert_eq!((&blocked["activity"], &blocked["why"]), (&json!("blocked"), &json!("the disk is full")));
}

#[test]
fn a_run_that_is_over_does_nothing() {
    let mut story = Story::new(&[]);
    assert_eq!(now(&story, 0).activity, Activity::Between);
    story.play("0 opened\n1 saved\n2 pass\n2 certified");
    assert_eq!(Now::of(&story.state, at(9), &LiveDigest::default()), None);
}
