//! Stored journals: each has the views that it had when it was written. Until part 7 is done, format 2 may be recorded
//! again: put the journal of a run there, with paths of no machine, and run this test with `UPDATE_EXPECT=1`. It makes
//! the hashes of the lines, and the views.
use loop_core::time::At;
use loop_core::view::{History, Liveness, Row, RunResult};
use loop_host::journal::{FILE, ReadError, read};

use crate::journal::rechained;

#[test]
fn a_journal_of_format_2_has_the_views_it_had_when_it_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let stored = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/stored/format-2.jsonl");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(stored, rechained(&std::fs::read_to_string(stored).unwrap())).unwrap();
    }
    std::fs::copy(stored, folder.path().join(FILE)).unwrap();
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
