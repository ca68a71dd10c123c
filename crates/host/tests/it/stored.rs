//! Stored journals: each has the views that it had when it was written, in every later version of the program.
//!
//! `stored/record` says how they were made. A format that was released is never recorded again.
use std::collections::BTreeSet;
use std::path::Path;

use loop_core::plan::Plan;
use loop_core::run::{Fact, Order};
use loop_core::time::At;
use loop_core::view::{History, Liveness, PlanHistory, Row, RunResult};
use loop_host::journal::{FILE, ReadError, Reading, read, read_of};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/stored/format-2");
const NAMES: [&str; 3] = ["accepted", "exhausted", "verified"];
const PLANS: [&str; 2] = ["plan-best-of", "plan-workflow"];

/// A folder with a stored journal, and what the driver kept of its last line.
fn folder_of(name: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (extension, file) in [("jsonl", FILE), ("head", "journal.head")] {
        std::fs::copy(Path::new(FOLDER).join(name).with_extension(extension), folder.path().join(file)).unwrap();
    }
    folder
}

fn stored(name: &str) -> Reading {
    read(folder_of(name).path()).unwrap()
}

#[test]
fn a_journal_of_format_2_has_the_views_it_had_when_it_was_written() {
    for name in NAMES {
        let reading = stored(name);
        assert_eq!(reading.unknown, None, "every fact of {name} is known");
        let mut history = History::new();
        reading.entries.iter().for_each(|entry| history.apply(entry));
        let state = reading.fold();
        let row = Row::of(&state, Liveness::Free, At::default());
        let views = serde_json::json!({"row": row, "history": history, "result": RunResult::of(&state)});
        let text = serde_json::to_string_pretty(&views).unwrap() + "\n";
        expect_test::expect_file![Path::new(FOLDER).join(name).with_extension("views.json")].assert_eq(&text);
    }
}

#[test]
fn a_journal_of_a_plan_of_format_2_has_the_views_it_had_when_it_was_written() {
    for name in PLANS {
        let folder = folder_of(name);
        let reading = read_of::<Plan>(folder.path()).unwrap();
        assert_eq!(reading.unknown, None, "every fact of {name} is known");
        let history = PlanHistory::of(&reading.entries, false, At::default()).unwrap();
        assert_eq!(history.plan.outcome.as_deref(), Some("applied"), "{name}");
        let text = serde_json::to_string_pretty(&history).unwrap() + "\n";
        expect_test::expect_file![Path::new(FOLDER).join(name).with_extension("views.json")].assert_eq(&text);
    }
}

#[test]
fn a_stored_journal_says_in_its_first_line_that_its_end_is_recorded_too() {
    for name in NAMES.iter().chain(&PLANS) {
        let text = std::fs::read_to_string(Path::new(FOLDER).join(name).with_extension("jsonl")).unwrap();
        let first: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert_eq!(first["head"], true, "{name}: {first}");
    }
}

/// The name of a kind in the journal: a word, or the one key of an object.
fn kind(value: &serde_json::Value) -> String {
    let key = value.as_object().and_then(|fields| fields.keys().next());
    key.map_or_else(|| value.as_str().unwrap_or_default().to_owned(), Clone::clone)
}

#[test]
fn the_stored_journals_have_all_kinds_of_decisions_but_one_and_nearly_all_orders() {
    let (mut decisions, mut orders) = (BTreeSet::new(), BTreeSet::new());
    for name in NAMES {
        for entry in stored(name).entries {
            match entry.fact {
                Fact::Decided(decision) => {
                    let value = serde_json::to_value(&decision).unwrap();
                    decisions.insert(kind(&value));
                }
                Fact::Ordered { order, .. } => {
                    if let Order::Judge { tree, .. } = &order {
                        orders.insert(format!("judge {}", kind(&serde_json::to_value(tree).unwrap())));
                    }
                    orders.insert(kind(&serde_json::to_value(&order).unwrap()));
                }
                Fact::Happened(_) | Fact::OrderCancelled { .. } | Fact::Concluded { .. } => {}
            }
        }
    }
    let list = |kinds: BTreeSet<String>| kinds.into_iter().collect::<Vec<_>>().join("\n");
    expect_test::expect![[r#"
        alert
        attempt
        breaker_closed
        chosen
        clean
        gate
        guard
        interruption
        measurement
        order_dropped
        proof
        protect
        round"#]]
    .assert_eq(&list(decisions));
    expect_test::expect![[r#"
        certify
        checkpoint
        clean_up
        guard
        hold
        judge
        judge canary
        judge final
        judge hidden
        judge hunks
        judge undone
        judge without_new_tests
        manual_checkpoint
        measure
        reserve
        rollback
        run_agent
        run_gate"#]]
    .assert_eq(&list(orders));
}

#[test]
fn a_journal_of_format_1_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(FILE), "{\"format\":1,\"program\":\"0.1.0\"}\n").unwrap();
    let error = read(folder.path()).unwrap_err();
    assert!(matches!(error, ReadError::Older { format: 1, .. }), "{error}");
    assert!(error.to_string().contains("has format 1"), "{error}");
}
