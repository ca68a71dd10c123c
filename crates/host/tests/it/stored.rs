//! A stored journal of each released format, with the views it had then. Old journals fold to the same for ever.
use loop_core::time::At;
use loop_core::view::{History, Liveness, Row, RunResult};
use loop_host::journal::{FILE, read};

#[test]
fn a_journal_of_format_1_has_the_views_it_had_when_it_was_written() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(FILE), include_str!("stored/format-1.jsonl")).unwrap();
    let reading = read(folder.path()).unwrap();
    let mut history = History::new();
    reading.entries.iter().for_each(|entry| history.apply(entry));
    let state = reading.fold();
    let row = Row::of(&state, Liveness::Free, At::default());
    let views = serde_json::json!({"row": row, "history": history, "result": RunResult::of(&state)});
    let text = serde_json::to_string_pretty(&views).unwrap() + "\n";
    expect_test::expect_file!["./stored/format-1.views.json"].assert_eq(&text);
}
