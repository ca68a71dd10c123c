//! Stored journals: each has the views that it had when it was written. Until part 7 is done, format 2 may be recorded again.
use loop_core::time::At;
use loop_core::view::{History, Liveness, Row, RunResult};
use loop_host::journal::{FILE, ReadError, read};

#[test]
fn a_journal_of_format_2_has_the_views_it_had_when_it_was_written() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(FILE), include_str!("stored/format-2.jsonl")).unwrap();
    let reading = read(folder.path()).unwrap();
    assert_eq!(reading.unknown, None, "every fact of it is known");
    let mut history = History::new();
    reading.entries.iter().for_each(|entry| history.apply(entry));
    let state = reading.fold();
    let row = Row::of(&state, Liveness::Free, At::default());
    let views = serde_json::json!({"row": row, "history": history, "result": RunResult::of(&state)});
    let text = serde_json::to_string_pretty(&views).unwrap() + "\n";
    expect_test::expect_file!["./stored/format-2.views.json"].assert_eq(&text);
}

#[test]
fn a_journal_of_format_1_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(FILE), "{\"format\":1,\"program\":\"0.1.0\"}\n").unwrap();
    let error = read(folder.path()).unwrap_err();
    assert!(matches!(error, ReadError::Older { format: 1, .. }), "{error}");
    assert!(error.to_string().contains("has format 1"), "{error}");
}
