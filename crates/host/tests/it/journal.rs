//! The journal in whatever state a crash, a disk or somebody else left it.
use std::fs::{OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::sync::LazyLock;

use loop_core::run::{Entry, Fact, Outcome, Run, RunState};
use loop_core::time::At;
use loop_host::journal::{ChainHash, FILE, Journal, JournalError, ReadError, Tail, read};

static STORED: LazyLock<String> = LazyLock::new(|| without_head(include_str!("stored/format-2/accepted.jsonl")));
static VERIFIED: LazyLock<String> = LazyLock::new(|| without_head(include_str!("stored/format-2/verified.jsonl")));

/// A journal of before the file that says how it ended: its text is all there is.
fn without_head(stored: &str) -> String {
    let text = rechained(&stored.replacen(",\"head\":true", "", 1));
    assert!(text.len() < stored.len(), "it has a head");
    text
}

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

/// The text with the hash of each line made again: what somebody would write who knows the format.
pub(crate) fn rechained(text: &str) -> String {
    let mut chain = ChainHash::default();
    let object = |line: &str| match line.rfind(",\"chain\":\"") {
        Some(at) => format!("{}}}", &line[..at]),
        None => line.to_owned(),
    };
    text.lines().map(|line| chain.link(&object(line))).collect()
}

fn damage(folder: &Path) -> (usize, &'static str) {
    let error = read(folder).unwrap_err();
    let ReadError::Damaged { line, why, .. } = error else { panic!("{error}") };
    (line, why)
}

fn fold(entries: &[Entry]) -> RunState {
    let mut state = RunState::default();
    entries.iter().for_each(|entry| state.apply(&entry.fact));
    state
}

#[test]
fn a_journal_cut_at_every_byte_opens_and_loses_only_the_torn_entry() {
    // Its first lines: opening takes as long as the journal is.
    let end = STORED.match_indices('\n').map(|(at, _)| at + 1).take_while(|at| *at <= 26_000).last().unwrap();
    let text = &STORED[..end];
    let whole = folder_with(text.as_bytes());
    let all = read(whole.path()).unwrap().entries;
    let header = text.find('\n').unwrap() + 1;
    // Every byte, or every so manieth and all places around the end of a line.
    let every: usize = std::env::var("JOURNAL_CUTS").ok().and_then(|every| every.parse().ok()).unwrap_or(1);
    let near_end = |cut: usize| text[cut.saturating_sub(2)..(cut + 2).min(text.len())].contains('\n');
    for cut in (header..=text.len()).filter(|cut| cut % every == 0 || near_end(*cut)) {
        let folder = folder_with(&text.as_bytes()[..cut]);
        let lines = text[..cut].matches('\n').count() - 1;
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
fn a_torn_end_of_garbage_or_zeros_is_cut_and_damage_is_not() {
    for rest in [&b"{\"seq\":"[..], &[0; 300], b"garbage without end", b"\0\0\0 that no block was written for\n"] {
        let folder = folder_with(&[STORED.as_bytes(), rest].concat());
        drop(Journal::<Run>::open(folder.path()).unwrap());
        assert_eq!(bytes(folder.path()), STORED.as_bytes(), "{rest:?}");
    }
    let after = STORED.lines().count() + 1;
    for rest in ["garbage with end\n", "\n\n"] {
        assert_eq!(damage(folder_with(format!("{}{rest}", *STORED).as_bytes()).path()).0, after, "{rest:?}");
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
}

#[test]
fn a_removed_doubled_moved_or_inserted_line_is_damage_with_its_number() {
    let lines: Vec<&str> = STORED.lines().collect();
    let with = |change: &dyn Fn(&mut Vec<&str>)| {
        let mut lines = lines.clone();
        change(&mut lines);
        damage(folder_with(format!("{}\n", lines.join("\n")).as_bytes()).path()).0
    };
    for at in 1..lines.len() - 2 {
        assert_eq!(with(&|lines| _ = lines.remove(at)), at + 1, "without line {}", at + 1);
        assert_eq!(with(&|lines| lines.insert(at, lines[at])), at + 2, "line {} twice", at + 1);
        assert_eq!(with(&|lines| lines.swap(at, at + 1)), at + 1, "line {} after the next", at + 1);
    }
    // With hashes that were made again the numbers of the entries still tell.
    let missing = rechained(&format!("{}\n{}\n", lines[..2].join("\n"), lines[3..].join("\n")));
    assert_eq!(damage(folder_with(missing.as_bytes()).path()), (3, "its number does not follow the one before"));
}

#[test]
fn of_twelve_hundred_journals_with_one_bit_flipped_none_is_believed() {
    // req: RT-R12
    let whole = read(folder_with(STORED.as_bytes()).path()).unwrap().entries;
    let last = STORED.lines().count();
    let mut random = 0x5eed_u64;
    let mut torn = 0;
    for number in 0..1200 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // Some in the first line, which says what the file is, and some in the last.
        let first = STORED.find('\n').unwrap();
        let (from, length) = match number % 8 {
            0 => (0, first + 1),
            1 => {
                (STORED.trim_end().rfind('\n').unwrap() + 1, STORED.len() - STORED.trim_end().rfind('\n').unwrap() - 1)
            }
            _ => (0, STORED.len()),
        };
        let at = from + usize::try_from(random >> 33).unwrap() % length;
        let mut flipped = STORED.as_bytes().to_vec();
        flipped[at] ^= 1 << (number % 8);
        let line = STORED[..at].matches('\n').count() + 1;
        let folder = folder_with(&flipped);
        match read(folder.path()) {
            Err(ReadError::Damaged { line: found, .. }) => assert_eq!(found, line, "byte {at}, bit {}", number % 8),
            Err(other) => panic!("byte {at}, bit {}: {other}", number % 8),
            Ok(reading) => {
                assert_eq!(line, last, "byte {at}, bit {} is believed", number % 8);
                assert_eq!(reading.entries, whole[..whole.len() - 1], "a last line that looks torn is left out");
                torn += 1;
            }
        }
        if number % 8 > 2 {
            continue;
        }
        let shown = Tail::<Run>::new(folder.path()).next_entries().unwrap_or_default();
        assert!(
            whole.starts_with(&shown) && shown.len() <= line.saturating_sub(2),
            "byte {at}: no line from there on is shown"
        );
    }
    assert!(torn < 20, "{torn}");
}

#[test]
fn unknown_fields_are_ignored_and_unknown_kinds_make_it_read_only() {
    let more = STORED
        .replace("{\"seq\":", "{\"colour\":\"blue\",\"seq\":")
        .replace("\"iteration\":1,", "\"iteration\":1,\"mood\":7,");
    let folder = folder_with(rechained(&more).as_bytes());
    assert_eq!(read(folder.path()).unwrap().entries, read(folder_with(STORED.as_bytes()).path()).unwrap().entries);
    let seq = STORED.lines().count();
    for fact in
        ["{\"dreamt\":{}}", "{\"happened\":{\"event\":\"woken\"}}", "{\"ordered\":{\"id\":99,\"order\":{\"fly\":{}}}}"]
    {
        let line = format!("{{\"seq\":{seq},\"at\":{{\"wall\":1,\"boot\":1,\"id\":1}},\"fact\":{fact}}}\n");
        let folder = folder_with(rechained(&format!("{}{line}", *STORED)).as_bytes());
        let reading = read(folder.path()).unwrap();
        assert_eq!((reading.unknown, reading.entries.len()), (Some(seq as u64), seq - 1), "{fact}");
        assert!(matches!(Journal::<Run>::open(folder.path()), Err(JournalError::ReadOnly { .. })), "{fact}");
        let damaged = folder_with(format!("{}{line}", *STORED).as_bytes());
        assert_eq!(damage(damaged.path()).0, seq + 1, "without its hash it is damage, whatever it says");
    }
}

#[test]
fn a_later_format_and_a_file_that_is_no_journal_are_refused_untouched() {
    let changed = STORED.replacen("\"format\":2", "\"format\":3", 1);
    let newer = rechained(&changed);
    for text in [newer.as_str(), &changed, "", "{\"format\":2}", "{\"format\":1}\n", "hello\n"] {
        let folder = folder_with(text.as_bytes());
        assert!(Journal::<Run>::open(folder.path()).is_err(), "{text}");
        assert_eq!(bytes(folder.path()), text.as_bytes());
    }
    assert!(matches!(read(folder_with(newer.as_bytes()).path()), Err(ReadError::Newer { format: 3, .. })));
    assert_eq!(damage(folder_with(changed.as_bytes()).path()).0, 1, "a changed digit is no later version");
    let early = "{\"format\":2,\"program\":\"loop 0.1.0\"}\n";
    assert!(matches!(read(folder_with(early.as_bytes()).path()), Err(ReadError::Older { format: 2, .. })));
}

#[test]
fn verified_without_passing_gates_or_without_a_proof_is_damage_also_with_right_hashes() {
    // req: RT-R12
    let journal = |change: &dyn Fn(&str) -> String| {
        let lines: Vec<String> = VERIFIED.lines().map(change).collect();
        rechained(&(lines.join("\n") + "\n"))
    };
    let unchanged = read(folder_with(journal(&str::to_owned).as_bytes()).path()).unwrap();
    let end = unchanged.entries.iter().find(|entry| is_verified(&entry.fact)).expect("the stored run is verified");
    let line = usize::try_from(end.seq).unwrap() + 1;
    let is_end = |text: &str| text.contains("\"concluded\"");
    type Change<'a> = &'a dyn Fn(&str) -> String;
    let cases: [(Change<'_>, &str); 5] = [
        (
            &|text| text.replace("\"try\":\"pass\",\"verdict\":\"pass\"", "\"try\":\"fail\",\"verdict\":\"fail\""),
            "it says verified, and the gates before it do not pass",
        ),
        (
            &|text| match text.find(",\"answer\":{\"certify\"") {
                Some(at) => format!("{}\"order\":2{}", &text[..text.find("\"order\":").unwrap()], &text[at..]),
                None => text.to_owned(),
            },
            "it says verified, and nothing before it says with what the gates were run",
        ),
        (
            &|text| {
                if is_end(text) { text.replace("\"verified\":true", "\"verified\":false") } else { text.to_owned() }
            },
            "it says verified without a proof",
        ),
        (
            &|text| if is_end(text) { text.replacen("\"sha256\":\"", "\"sha256\":\"0", 1) } else { text.to_owned() },
            "it says verified with a proof of other gates than those before it",
        ),
        (
            &|text| {
                let is_verified = !text.contains("\"result\":");
                let refused = "\"decided\":{\"proof\":{\"result\":\"refused\",";
                if is_verified { text.replace("\"decided\":{\"proof\":{", refused) } else { text.to_owned() }
            },
            "it says verified, and the decision about the pass before it does not",
        ),
    ];
    for (change, why) in cases {
        assert_eq!(damage(folder_with(journal(change).as_bytes()).path()), (line, why));
    }
}

fn is_verified(fact: &Fact) -> bool {
    matches!(fact, Fact::Concluded { outcome: Outcome::Verified, .. })
}

/// A journal of two entries that is open, and the fact to write next.
fn open_journal() -> (tempfile::TempDir, Journal<Run>, Entry) {
    let folder = folder_with(STORED.as_bytes());
    let entries = read(folder.path()).unwrap().entries;
    std::fs::remove_file(folder.path().join(FILE)).unwrap();
    let mut journal = Journal::<Run>::create(folder.path(), "loop test").unwrap();
    for entry in &entries[..2] {
        journal.append(entry.at, std::slice::from_ref(&entry.fact)).unwrap();
    }
    (folder, journal, entries[2].clone())
}

#[test]
fn a_writer_stops_where_something_else_wrote_cut_replaced_or_removed_its_journal() {
    // req: RT-R12
    type Change = fn(&Path);
    let cases: [(Change, &str); 5] = [
        (
            |path| OpenOptions::new().append(true).open(path).unwrap().write_all(b"{}\n").unwrap(),
            "somebody else wrote to it",
        ),
        (|path| OpenOptions::new().write(true).open(path).unwrap().set_len(100).unwrap(), "it was cut"),
        (
            |path| OpenOptions::new().write(true).open(path).unwrap().write_all_at(b"x", 90).unwrap(),
            "a line is not what was written",
        ),
        (
            |path| {
                std::fs::copy(path, path.with_extension("new")).unwrap();
                std::fs::rename(path.with_extension("new"), path).unwrap();
            },
            "another file is in its place",
        ),
        (|path| std::fs::remove_file(path).unwrap(), "somebody removed it"),
    ];
    for (change, why) in cases {
        let (folder, mut journal, next) = open_journal();
        change(&folder.path().join(FILE));
        let error = journal.append(next.at, &[next.fact]).unwrap_err();
        let text = format!("{error} {:?}", std::error::Error::source(&error).map(ToString::to_string));
        assert!(text.contains(why), "{text}");
        assert!(journal.close().is_err(), "{why}");
    }
}

#[test]
fn other_permissions_of_a_journal_do_not_stop_its_writer() {
    let (folder, mut journal, next) = open_journal();
    for mode in [0o640, 0o600] {
        std::fs::set_permissions(folder.path().join(FILE), Permissions::from_mode(mode)).unwrap();
        journal.append(next.at, std::slice::from_ref(&next.fact)).unwrap();
    }
    journal.close().unwrap();
    assert_eq!(read(folder.path()).unwrap().entries.len(), 4);
}

#[test]
fn a_journal_that_was_cut_or_made_again_after_its_end_is_damage_not_a_crash() {
    let (folder, mut journal, _) = open_journal();
    journal.close().unwrap();
    drop(journal);
    let path = folder.path().join(FILE);
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    // The second entry was not synced: a power cut could have taken it away.
    std::fs::write(&path, format!("{}\n", lines[..2].join("\n"))).unwrap();
    assert_eq!(read(folder.path()).unwrap().entries.len(), 1);
    std::fs::write(&path, format!("{}\n", lines[0])).unwrap();
    assert_eq!(damage(folder.path()), (2, "it is missing, and was there when the loop ended"));
    std::fs::write(&path, rechained(&text.replace("loop test", "loop text"))).unwrap();
    assert_eq!(damage(folder.path()), (2, "it is not the line that was there when the loop ended"));
    // It goes on where it ended, and a crash after that is one.
    std::fs::write(&path, &text).unwrap();
    let (mut journal, reading) = Journal::<Run>::open(folder.path()).unwrap();
    journal.append(At::default(), &[reading.entries[1].fact.clone()]).unwrap();
    drop(journal);
    let longer = std::fs::read(&path).unwrap();
    std::fs::write(&path, &longer[..longer.len() - 5]).unwrap();
    assert_eq!(read(folder.path()).unwrap().entries.len(), 2);
}

#[test]
fn a_journal_without_the_file_that_says_how_it_ended_is_damage() {
    let (folder, mut journal, next) = open_journal();
    std::fs::rename(folder.path().join("journal.head"), folder.path().join("away")).unwrap();
    let error = journal.append(next.at, &[next.fact]).unwrap_err();
    assert!(error.to_string().contains("journal.head beside it is missing or empty"), "{error}");
    std::fs::rename(folder.path().join("away"), folder.path().join("journal.head")).unwrap();
    // A driver that was killed: the file of the start is there.
    drop(journal);
    assert_eq!(read(folder.path()).unwrap().entries.len(), 2);
    let head = folder.path().join("journal.head");
    std::fs::write(&head, "").unwrap();
    let (line, why) = damage(folder.path());
    assert!(line == 4 && why.contains("journal.head") && why.ends_with("is missing or empty"), "{line}: {why}");
    std::fs::remove_file(&head).unwrap();
    assert_eq!(damage(folder.path()).0, 4);
}

#[test]
fn a_journal_that_is_there_is_never_begun_anew() {
    let folder = folder_with(STORED.as_bytes());
    assert!(Journal::<Run>::create(folder.path(), "loop test").is_err());
    assert_eq!(bytes(folder.path()), STORED.as_bytes());
}
