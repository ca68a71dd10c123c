//! The journal in whatever state a crash left it.
use std::path::Path;

use loop_core::run::{Entry, Run, RunState};
use loop_host::journal::{FILE, Journal, JournalError, ReadError, read};

const STORED: &str = include_str!("stored/format-2.jsonl");

fn folder_with(text: &[u8]) -> tempfile::TempDir {
    // Thousands of files that are synced: in memory where there is such a place.
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
    std::fs::write(folder.path().join(FILE), text).unwrap();
    folder
}

fn bytes(folder: &Path) -> Vec<u8> {
    std::fs::read(folder.join(FILE)).unwrap()
}

fn fold(entries: &[Entry]) -> RunState {
    let mut state = RunState::default();
    entries.iter().for_each(|entry| state.apply(&entry.fact));
    state
}

#[test]
fn a_journal_cut_at_every_byte_opens_and_loses_only_the_torn_entry() {
    let whole = folder_with(STORED.as_bytes());
    let all = read(whole.path()).unwrap().entries;
    let header = STORED.find('\n').unwrap() + 1;
    // Every byte, or every so manieth and all places around the end of a line.
    let every: usize = std::env::var("JOURNAL_CUTS").ok().and_then(|every| every.parse().ok()).unwrap_or(1);
    let near_end = |cut: usize| STORED[cut.saturating_sub(2)..(cut + 2).min(STORED.len())].contains('\n');
    for cut in (header..=STORED.len()).filter(|cut| cut % every == 0 || near_end(*cut)) {
        let folder = folder_with(&STORED.as_bytes()[..cut]);
        let lines = STORED[..cut].matches('\n').count() - 1;
        let (mut journal, reading) = Journal::<Run>::open(folder.path()).unwrap();
        let state = reading.fold();
        assert_eq!(state, fold(&all[..lines]), "cut at {cut}");
        // The torn rest is gone, and the next entry follows the last whole one.
        let next = all.get(lines).unwrap_or(&all[0]);
        let written = journal.append(next.at, std::slice::from_ref(&next.fact)).unwrap();
        assert_eq!(written[0].seq, lines as u64 + 1, "cut at {cut}");
        assert_eq!(read(folder.path()).unwrap().entries.len(), lines + 1, "cut at {cut}");
    }
}

#[test]
fn a_torn_end_of_garbage_or_zeros_is_cut_and_damage_before_the_end_is_not() {
    for rest in [&b"{\"seq\":"[..], &[0; 300], b"garbage without end", b"garbage with end\n", b"\n\n"] {
        let folder = folder_with(&[STORED.as_bytes(), rest].concat());
        drop(Journal::<Run>::open(folder.path()).unwrap());
        assert_eq!(bytes(folder.path()), STORED.as_bytes(), "{rest:?}");
    }
    let second = STORED.lines().nth(2).unwrap();
    for damage in ["garbage", "", &second[..second.len() / 2]] {
        let text = STORED.replacen(second, damage, 1);
        let folder = folder_with(text.as_bytes());
        let error = read(folder.path()).unwrap_err();
        assert!(matches!(error, ReadError::Damaged { line: 3, .. }), "{error}");
        assert!(Journal::<Run>::open(folder.path()).is_err());
        assert_eq!(bytes(folder.path()), text.as_bytes(), "not a byte is touched");
    }
    let missing = STORED.replacen(&format!("{second}\n"), "", 1);
    assert!(matches!(read(folder_with(missing.as_bytes()).path()).unwrap_err(), ReadError::Damaged { line: 3, .. }));
}

#[test]
fn unknown_fields_are_ignored_and_unknown_kinds_make_it_read_only() {
    let more = STORED
        .replace("{\"seq\":", "{\"colour\":\"blue\",\"seq\":")
        .replace("\"iteration\":1,", "\"iteration\":1,\"mood\":7,");
    let folder = folder_with(more.as_bytes());
    assert_eq!(read(folder.path()).unwrap().entries, read(folder_with(STORED.as_bytes()).path()).unwrap().entries);
    let seq = STORED.lines().count();
    for fact in
        ["{\"dreamt\":{}}", "{\"happened\":{\"event\":\"woken\"}}", "{\"ordered\":{\"id\":99,\"order\":{\"fly\":{}}}}"]
    {
        let line = format!("{{\"seq\":{seq},\"at\":{{\"wall\":1,\"boot\":1,\"id\":1}},\"fact\":{fact}}}\n");
        let folder = folder_with(format!("{STORED}{line}").as_bytes());
        let reading = read(folder.path()).unwrap();
        assert_eq!((reading.unknown, reading.entries.len()), (Some(seq as u64), seq - 1), "{fact}");
        assert!(matches!(Journal::<Run>::open(folder.path()), Err(JournalError::ReadOnly { .. })), "{fact}");
    }
}

#[test]
fn a_later_format_and_a_file_that_is_no_journal_are_refused_untouched() {
    let newer = STORED.replacen("\"format\":2", "\"format\":3", 1);
    for text in [newer.as_str(), "", "{\"format\":2}", "{\"format\":1}\n", "hello\n"] {
        let folder = folder_with(text.as_bytes());
        assert!(Journal::<Run>::open(folder.path()).is_err(), "{text}");
        assert_eq!(bytes(folder.path()), text.as_bytes());
    }
}

#[test]
fn a_journal_that_is_there_is_never_begun_anew() {
    let folder = folder_with(STORED.as_bytes());
    assert!(Journal::<Run>::create(folder.path(), "loop test").is_err());
    assert_eq!(bytes(folder.path()), STORED.as_bytes());
}
