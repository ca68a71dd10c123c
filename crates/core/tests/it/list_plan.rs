//! Stories of lists as plans: what is taken, checked, applied and ticked, in which order.
use loop_core::machine::{self, Machine};
use loop_core::plan::*;
use loop_core::policy::item::*;
use loop_core::run::Outcome;
use loop_core::time::At;

use crate::list_plan_storm::{candidate, evidence, file, list_spec};
use crate::plan_storm::plan_spec;
use crate::plan_world::{conflict, digest};

struct ListStory {
    state: PlanState,
    told: Vec<String>,
    now: At,
    loops: u32,
}

impl ListStory {
    fn new(list: ListSpec) -> Self {
        let now = At { wall_ms: 1_700_000_000_000, boot_ms: 1, boot_id: 1 };
        let mut story = Self { state: PlanState::default(), told: Vec::new(), now, loops: 0 };
        let spec = plan_spec(Join::List(Box::new(list)), Vec::new());
        let spec = PlanSpec { parallel: 1, ..spec };
        story.take(PlanEvent::Created(Box::new(spec)));
        story.take(PlanEvent::Opened);
        story
    }

    fn take(&mut self, event: PlanEvent) {
        self.now.boot_ms += 1;
        for fact in machine::decide::<Plan>(&self.state, self.now, event) {
            if let PlanFact::Concluded { outcome, reason } = &fact {
                self.told.push(format!("END {}: {}", outcome.name(), reason.text));
            }
            Plan::apply(&mut self.state, &fact);
        }
        let drops = self.state.orders.iter().filter(|(_, open)| matches!(open.order, PlanOrder::Drop { .. }));
        for order in drops.map(|(id, _)| id).collect::<Vec<_>>() {
            self.take(PlanEvent::Answered { order, answer: PlanAnswer::Done });
        }
    }

    /// Answers the one open order, if it is of this kind.
    fn answer(&mut self, kind: &str, answer: PlanAnswer) {
        let open: Vec<_> = self.state.orders.iter().map(|(id, open)| (id, word(&open.order))).collect();
        let Some((order, _)) = open.iter().find(|(_, word)| *word == kind) else {
            panic!("no open {kind}: {open:?}\n{}", self.told.join("\n"))
        };
        self.told.push(kind.to_owned());
        self.take(PlanEvent::Answered { order: *order, answer });
    }

    fn reads(&mut self, ids: &[&str]) {
        let report = ListReport {
            list: file("lists/1"),
            open: ids.len() as u32,
            waiting: 0,
            all: 3,
            candidates: ids.iter().map(|id| candidate(id)).collect(),
            edits: Vec::new(),
        };
        self.answer("read", PlanAnswer::ListRead(Box::new(report)));
    }

    fn begins(&mut self) {
        let copy = CopyReport { path: "/c".to_owned(), method: "files".to_owned(), remarks: Vec::new() };
        self.answer("copy", PlanAnswer::Copied(copy));
        self.loops = 0;
    }

    /// A loop of the item, and what its checks say.
    fn works(&mut self, outcome: Outcome, says: SensorState) {
        self.loops += 1;
        let ended = RunDigest { iterations: self.loops, ..digest(outcome, 0) };
        self.answer("run", PlanAnswer::RunEnded(Box::new(ended)));
        self.checks(says);
    }

    fn checks(&mut self, says: SensorState) {
        let evidence = evidence("a", says);
        self.answer("check", PlanAnswer::Checked(Box::new(ItemChecked { evidence, tree: "with-a".to_owned() })));
    }

    fn is_ticked(&mut self) {
        self.answer("merge", PlanAnswer::Merged { tree: "with-a".to_owned() });
        let applied = ApplyReport { files: 1, undo: "before".to_owned(), tree: "with-a".to_owned() };
        self.answer("apply", PlanAnswer::Applied(applied));
        self.answer("tick", PlanAnswer::Ticked);
    }

    fn recorded(&mut self) {
        self.answer("record", PlanAnswer::Recorded { tree: "t0".to_owned() });
    }
}

fn word(order: &PlanOrder) -> &'static str {
    match order {
        PlanOrder::Record { .. } => "record",
        PlanOrder::ReadList { .. } => "read",
        PlanOrder::Copy { .. } => "copy",
        PlanOrder::Run { .. } => "run",
        PlanOrder::Check { .. } => "check",
        PlanOrder::RecordLoop { .. } => "log",
        PlanOrder::Merge { .. } => "merge",
        PlanOrder::Gates { .. } => "gates",
        PlanOrder::Apply { .. } => "apply",
        PlanOrder::RecordPass { .. } => "tick",
        PlanOrder::Tell { .. }
        | PlanOrder::Measure { .. }
        | PlanOrder::Hook { .. }
        | PlanOrder::Ask(_)
        | PlanOrder::RollBack { .. }
        | PlanOrder::Notify { .. }
        | PlanOrder::Drop { .. } => "other",
    }
}

fn one() -> ListSpec {
    ListSpec { all: false, ..list_spec(ItemJudge::Checks) }
}

#[test]
fn an_item_is_checked_then_merged_then_applied_and_ticked_last() {
    // req: P-11 partly: the machine
    let mut story = ListStory::new(one());
    story.recorded();
    story.reads(&["a", "b"]);
    story.begins();
    story.works(Outcome::Exhausted, SensorState::Green);
    story.is_ticked();
    let told = "record read copy run check merge apply tick";
    assert_eq!(story.told.join(" "), format!("{told} END applied: 1 item ticked, 1 item open"));
}

#[test]
fn with_all_the_workspace_is_recorded_and_the_list_read_again_before_each_item() {
    // req: P-11 partly: the machine
    let mut story = ListStory::new(list_spec(ItemJudge::Checks));
    story.recorded();
    for (id, open) in [("a", vec!["a", "b"]), ("b", vec!["b"])] {
        story.reads(&open);
        story.begins();
        story.works(Outcome::Exhausted, SensorState::Green);
        story.is_ticked();
        assert_eq!(story.state.node(&NodeId::of_item(id)).unwrap().end(), Some(&NodeEnd::Ticked));
        story.recorded();
    }
    story.reads(&[]);
    assert_eq!(story.told.last().unwrap(), "END applied: 2 items ticked, none is open");
}

#[test]
fn a_third_failure_of_one_type_ends_the_item_by_that_rule() {
    // req: P-14 partly: the machine
    let mut story = ListStory::new(list_spec(ItemJudge::Checks));
    story.recorded();
    story.reads(&["a", "b"]);
    story.begins();
    for _ in 0..3 {
        story.works(Outcome::Exhausted, SensorState::Red);
        story.answer("log", PlanAnswer::Done);
    }
    let end = "END incomplete: a: retry budget used: check failed 3 times (2 retries); 0 items ticked, 1 item open";
    assert_eq!(story.told.last().unwrap(), end);
}

#[test]
fn what_the_run_says_of_its_own_end_is_no_proof() {
    // req: P-04 partly: the machine
    let mut story = ListStory::new(one());
    story.recorded();
    story.reads(&["a"]);
    story.begins();
    story.works(Outcome::Claimed, SensorState::Red);
    story.answer("log", PlanAnswer::Done);
    // The run has ended for good: it gives the same end again, and no agent worked.
    let ended = RunDigest { iterations: 1, ..digest(Outcome::Claimed, 0) };
    story.answer("run", PlanAnswer::RunEnded(Box::new(ended)));
    assert_eq!(story.state.node(&NodeId::of_item("a")).unwrap().end(), Some(&NodeEnd::NotPassed));
    assert!(story.told.last().unwrap().starts_with("END incomplete"), "{:?}", story.told);
}

#[test]
fn a_missing_sensor_ends_the_item_and_a_resume_runs_its_checks_without_an_agent() {
    // req: P-07 partly: the machine
    let mut story = ListStory::new(one());
    story.recorded();
    story.reads(&["a"]);
    story.begins();
    story.works(Outcome::Exhausted, SensorState::CannotRun("exit 127".to_owned()));
    story.answer("log", PlanAnswer::Done);
    assert!(
        story.told.last().unwrap().starts_with("END incomplete: a: sensor missing: check command"),
        "{:?}",
        story.told
    );
    let by = "loop resume".to_owned();
    story.take(PlanEvent::Reopened { by, unattended: false, spec: None, request: None });
    story.checks(SensorState::Green);
    story.is_ticked();
    assert_eq!(story.state.node(&NodeId::of_item("a")).unwrap().item.tries.loops, 1, "no loop more");
    assert!(story.told.last().unwrap().starts_with("END applied"), "{:?}", story.told);
}

#[test]
fn an_item_whose_line_was_changed_is_not_ticked_and_the_plan_is_not_done() {
    // req: A-21 partly: the machine
    let mut story = ListStory::new(one());
    story.recorded();
    story.reads(&["a"]);
    story.begins();
    story.works(Outcome::Exhausted, SensorState::Green);
    story.answer("merge", PlanAnswer::Merged { tree: "with-a".to_owned() });
    let applied = ApplyReport { files: 1, undo: "before".to_owned(), tree: "with-a".to_owned() };
    story.answer("apply", PlanAnswer::Applied(applied));
    story.answer("tick", PlanAnswer::NotTicked { why: "a was changed since the list was read".to_owned() });
    let end = story.told.last().unwrap();
    assert!(end.contains("not ticked: a was changed") && end.starts_with("END incomplete"), "{end}");
}

#[test]
fn a_result_that_conflicts_with_the_workspace_is_worked_on_again_from_there() {
    let mut story = ListStory::new(one());
    story.recorded();
    story.reads(&["a"]);
    story.begins();
    story.works(Outcome::Exhausted, SensorState::Green);
    story.answer("merge", PlanAnswer::Merged { tree: "with-a".to_owned() });
    story.answer("apply", PlanAnswer::Conflicts(conflict(None)));
    story.begins();
    let node = story.state.node(&NodeId::of_item("a")).unwrap();
    assert_eq!((node.attempt, node.item.tries.loops), (2, 1), "what it used stays");
}
