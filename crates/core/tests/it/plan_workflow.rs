//! Workflows: nodes start from the merged state, merges are nodes of their own, every end has a reason.
use expect_test::expect;
use loop_core::plan::*;

use crate::plan_play::PlanStory;
use crate::plan_storm::{node, plan_spec};

fn with(id: &str, on: &[&str]) -> NodeSpec {
    NodeSpec { depends_on: on.iter().map(|on| NodeId::parse(on).unwrap()).collect(), ..node(id) }
}

fn diamond() -> PlanSpec {
    let nodes = vec![with("base", &[]), with("api", &["base"]), with("web", &["base"]), with("docs", &["api", "web"])];
    plan_spec(Join::Merge, nodes)
}

const BASE: &str = "opened\nrecorded\ncopied base\npasses base\nmerged-as-is base\n";

#[test]
fn the_middle_of_a_diamond_runs_at_once_and_its_end_starts_from_both() {
    // req: D-12 partly: the machine
    let story = PlanStory::new(diamond()).play(&format!(
        "{BASE}copied api\ncopied web\npasses web\npasses api\nmerged-as-is web\nmerged api\ngates-pass\n\
         copied docs\npasses docs\nmerged-as-is docs\napplied\ngates-pass"
    ));
    expect![[r#"
        record initial
        copy base.1 of t0
        run base.1
        merge base: t0 t0 base.1
        base: merged
        copy api.1 of base.1
        copy web.1 of base.1
        drop base.1
        run api.1
        run web.1
        merge web: base.1 base.1 web.1
        web: merged
        merge api: base.1 web.1 api.1
        drop web.1
        gates of api, web on with-api
        api: merged
        copy docs.1 of with-api
        drop api.1
        run docs.1
        merge docs: with-api with-api docs.1
        docs: merged
        drop docs.1
        apply docs.1
        gates of docs on the workspace
        END applied (0): 4 nodes are done and applied: 3 files changed
    "#]]
    .assert_eq(&story.told);
}

#[test]
fn a_failed_loop_stops_the_others_after_their_iteration_and_every_node_has_a_reason() {
    let spec = PlanSpec { on_failure: vec!["a".to_owned(), "b".to_owned()], ..diamond() };
    let story =
        PlanStory::new(spec).play(&format!("{BASE}copied api\ncopied web\nfails api\nstopped web\nhook -\nhook -"));
    expect![[r#"
        api: did not pass: the promise fails
        docs: not started: depends on api, which did not pass
        cancel run web.1: OtherFailed
        web: stopped, because api failed; it can be resumed
        hook Failure 0 after api
        hook Failure 1 after api
        drop api.1
        END incomplete (1): api: did not pass: the promise fails; 1 of 4 nodes done, and nothing is applied
    "#]]
    .assert_eq(story.told.split_once("run web.1\n").unwrap().1);
}

#[test]
fn with_keep_going_what_does_not_depend_on_the_failed_one_goes_on() {
    let spec = PlanSpec { keep_going: true, ..diamond() };
    let story =
        PlanStory::new(spec).play(&format!("{BASE}copied api\ncopied web\nfails api\npasses web\nmerged-as-is web"));
    assert!(!story.told.contains("cancel"), "{}", story.told);
    assert!(story.told.contains("web: merged\n"), "{}", story.told);
    assert!(story.told.ends_with("2 of 4 nodes done, and nothing is applied\n"), "{}", story.told);
}

#[test]
fn gates_that_fail_on_the_merged_tree_are_a_failure_of_the_merge() {
    let story = PlanStory::new(diamond()).play(&format!(
        "{BASE}copied api\ncopied web\npasses api\npasses web\nmerged-as-is api\nmerged web\ngates-fail api"
    ));
    let words = "web: it passes alone, and gates fail on the merged tree: test of api (1 failed)\n";
    assert!(story.told.contains(words), "{}", story.told);
    assert!(
        story.told.contains("docs: not started: depends on web, which fails on the merged tree\n"),
        "{}",
        story.told
    );
}

fn conflicting(on_conflict: OnConflict) -> PlanStory {
    let mut spec = diamond();
    spec.nodes[2].on_conflict = on_conflict;
    PlanStory::new(spec)
        .play(&format!("{BASE}copied api\ncopied web\npasses api\npasses web\nmerged-as-is api\nconflict web"))
}

#[test]
fn a_conflict_stops_or_runs_again_or_is_resolved_by_an_agent() {
    let stop = conflicting(OnConflict::Stop);
    let end = "web: conflict: both versions change a.rs; they are the checkpoints ours and theirs\n";
    assert!(stop.told.contains(end), "{}", stop.told);
    let rerun = conflicting(OnConflict::Rerun).play("copied web\npasses web\nmerged-as-is web");
    let tail = rerun.told.split_once("web waits again: Rerun\n").unwrap().1;
    expect![[r#"
        copy web.2 of api.1
        drop web.1
        run web.2 to Rerun
        merge web: api.1 api.1 web.2
        gates of api on web.2
    "#]]
    .assert_eq(tail);
    let agent = conflicting(OnConflict::Agent).play("copied web\npasses web");
    let tail = agent.told.split_once("web waits again: Resolve\n").unwrap().1;
    expect![[r#"
        copy web.2 of marked
        drop web.1
        run web.2 to Resolve by the gates of api, web
        merge web: api.1 api.1 web.2
    "#]]
    .assert_eq(tail);
}

#[test]
fn a_conflict_that_an_agent_could_not_resolve_is_the_conflict_that_it_was() {
    let story = conflicting(OnConflict::Agent).play("copied web\nfails web");
    let end = "web: conflict: both versions change a.rs; they are the checkpoints ours and theirs; an agent could not \
               resolve it: the promise fails\n";
    assert!(story.told.contains(end), "{}", story.told);
    assert!(story.told.contains("docs: not started: depends on web, which has a conflict\n"), "{}", story.told);
}

#[test]
fn a_run_that_resolves_a_conflict_is_resumed_after_a_crash_and_its_tree_is_merged() {
    let story = conflicting(OnConflict::Agent).play("copied web\nreopened\npasses web\nmerged-as-is web\ngates-pass");
    let tail = story.told.split_once("run web.2 to Resolve by the gates of api, web\n").unwrap().1;
    assert!(tail.contains("run again web.2 to Resolve by the gates of api, web\n"), "{tail}");
    assert!(tail.contains("merge web: api.1 api.1 web.2\n") && tail.contains("web: merged\n"), "{tail}");
}

#[test]
fn nodes_that_may_write_the_same_files_do_not_run_at_once() {
    let mut spec = diamond();
    spec.nodes[1].touches = vec!["src/**".to_owned()];
    spec.nodes[2].touches = vec!["src/web.rs".to_owned()];
    let story = PlanStory::new(spec).play(&format!("{BASE}copied api\npasses api\nmerged-as-is api"));
    let (before, after) = story.told.split_once("api: merged\n").unwrap();
    assert!(!before.contains("copy web"), "{}", story.told);
    assert!(after.contains("copy web.1 of api.1\n"), "{}", story.told);
}

#[test]
fn a_question_waits_for_a_person_whose_no_ends_what_depends_on_it() {
    let ask = NodeSpec { work: NodeWork::Ask { question: "deploy?".to_owned() }, ..with("review", &[]) };
    let spec = plan_spec(Join::Merge, vec![ask, with("deploy", &["review"])]);
    let yes = PlanStory::new(spec.clone()).play("opened\nrecorded\nsays review\nclosed review");
    assert!(yes.told.contains("review: answered: yes\n") && yes.told.contains("copy deploy.1 of t0\n"), "{}", yes.told);
    let no = PlanStory::new(spec.clone()).play("opened\nrecorded\nrefuses review\nclosed review");
    assert!(no.told.contains("deploy: not started: depends on review, which a person refused\n"), "{}", no.told);
    let alone = PlanStory::new(PlanSpec { unattended: true, ..spec }).play("opened\nrecorded");
    let end = "END awaits_person (1): review asks: deploy?; answer with: loop answer p1 review TEXT\n";
    assert!(alone.told.ends_with(end), "{}", alone.told);
    // Resumed without an answer, it asks again; a second answer is not recorded.
    let again = alone.play("reopened-alone");
    assert!(
        again.told.ends_with(&format!(
            "{end}review Kept: nothing that it is made of has changed\n\
         deploy Kept: nothing that it is made of has changed\n{end}"
        )),
        "{}",
        again.told
    );
    let mut later = again.play("answer-later review\nrefuses review");
    assert!(later.told.contains("review: answered: later\n"), "{}", later.told);
    assert!(later.told.ends_with("copy deploy.1 of t0\n"), "{}", later.told);
    let second = PlanRequest::answer(NodeId::parse("review").unwrap(), "no");
    assert!(later.state.check_request(&second).unwrap_err().why.contains("does not ask anything now"));
    later.take(PlanEvent::Opened);
    assert_eq!(later.state.nodes[0].answer.as_ref().unwrap().text, "later");
}

#[test]
fn only_the_word_no_alone_refuses() {
    let proceeds = |text: &str| {
        let request = PlanRequest::answer(NodeId::parse("a").unwrap(), text);
        matches!(request, PlanRequest::Answer { proceed: true, .. })
    };
    assert!(!proceeds("no") && !proceeds(" No ") && !proceeds("n"));
    assert!(proceeds("yes") && proceeds("no idea, try it") && proceeds("none"));
}

#[test]
fn a_stopped_plan_is_resumed_where_it_was_and_its_run_in_its_copy() {
    let story = PlanStory::new(diamond())
        .play(&format!("{BASE}copied api\ncopied web\nstop\nstopped api\npasses web\nreopened"));
    expect![[r#"
        docs: not started: the plan was stopped
        cancel run api.1: Stop
        cancel run web.1: Stop
        api: stopped; it can be resumed
        web: ran, and its result is not merged yet
        drop web.1
        END stopped (2): stopped by a person
        base Kept: nothing that it is made of has changed
        api Resumed: its run was stopped
        web Ran: nothing that it is made of has changed
        docs Again: it had not started
        run again api.1
        merge web: base.1 base.1 web.1
    "#]]
    .assert_eq(story.told.split_once("run web.1\n").unwrap().1);
}

#[test]
fn a_changed_node_runs_again_with_all_that_depends_on_it_and_the_rest_is_kept() {
    let both = "copied api\ncopied web\npasses api\npasses web\nmerged-as-is api\nmerged web\ngates-pass\n";
    let done = PlanStory::new(diamond()).play(&format!("{BASE}{both}copied docs\nfails docs"));
    let mut spec = diamond();
    spec.nodes[1].key = "k2".to_owned();
    let over = carry_over(&done.state, Some(&spec));
    let told: Vec<String> =
        over.nodes.iter().map(|one| format!("{} {:?}: {}", one.node, one.then, one.why.words())).collect();
    expect![[r#"
        [
            "base Ran: nothing that it is made of has changed",
            "api Again: its prompt, gates, settings or dependencies changed",
            "web Ran: nothing that it is made of has changed",
            "docs Again: it had failed",
        ]
    "#]]
    .assert_debug_eq(&told);
    assert!(over.reset_tree);
}

#[test]
fn a_pause_starts_nothing_and_holds_the_runs_until_a_person_resumes() {
    let story = PlanStory::new(diamond()).play("opened\nrecorded\ncopied base\npause\npasses base\nresume");
    expect![[r#"
        run base.1
        tell base pause=true
        merge base: t0 t0 base.1
    "#]]
    .assert_eq(story.told.split_once("copy base.1 of t0\n").unwrap().1);
}

#[test]
fn a_plan_with_a_cycle_an_unknown_node_or_too_many_nodes_is_refused() {
    let refused = |spec: PlanSpec| spec.check().unwrap_err().why;
    let cycle = plan_spec(Join::Merge, vec![with("a", &["b"]), with("b", &["a"])]);
    assert_eq!(refused(cycle), "a waits for itself, over the nodes that it depends on");
    let unknown = plan_spec(Join::Merge, vec![with("a", &["x"])]);
    assert_eq!(refused(unknown), "a depends on x, which does not exist");
    let many = plan_spec(Join::Merge, (0..=NODES_MAX).map(|number| with(&format!("n{number}"), &[])).collect());
    assert_eq!(refused(many), "it has 65 nodes");
    assert!(NodeId::parse("../x").is_err() && NodeId::parse("").is_err() && NodeId::parse("write-tests").is_ok());
}
