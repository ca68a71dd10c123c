//! What differs between two checkpoints, beyond what git knows, and within bounds.
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::{Duration, Instant};

use expect_test::expect;
use loop_core::run::Changes;
use loop_host::checkpoint::diff::{
    Bounds, ChangeKind, CommitPair, Content, ContentReader, Difference, FileKind, Lines, NAMES_BYTES_MAX, NAMES_MAX,
    Pair, Side, changes, quoted, weigh,
};
use loop_host::checkpoint::{Id, ObjectKind};

use crate::diff_git::Pond;

/// One line a path.
fn told(difference: &Difference) -> String {
    let side =
        |side: Option<Side>| side.map_or("-".to_owned(), |side| format!("{} {:04o}", side.kind.name(), side.mode));
    let mut text = String::new();
    for change in &difference.changes {
        let lines = match change.lines {
            Lines::Counted { insertions, deletions } => format!("+{insertions} -{deletions}"),
            Lines::Binary => "binary".to_owned(),
            Lines::TooLarge => "too large".to_owned(),
        };
        let what = match &change.what {
            ChangeKind::Renamed { from, similarity } => format!("renamed from {} ({similarity} %)", quoted("", from)),
            ChangeKind::Made | ChangeKind::Removed | ChangeKind::Changed | ChangeKind::Mode | ChangeKind::Kind => {
                change.what.name().to_owned()
            }
        };
        let sides = format!("{} to {}", side(change.from), side(change.to));
        text.push_str(&format!("{}: {what}, {sides}, {lines}\n", quoted("", &change.path)));
    }
    let totals = difference.totals();
    text + &format!("{} files +{} -{}\n", totals.files, totals.insertions, totals.deletions)
}

/// Everything that git sees and that it does not: the checkpoint before, and after.
fn beyond_git() -> (Pond, Id, Id) {
    let mut pond = Pond::new();
    let mode =
        |pond: &Pond, name: &str, mode| fs::set_permissions(pond.path(name), Permissions::from_mode(mode)).unwrap();
    for name in ["own", "shown", "program", "linked", "to a link", "to a folder", "in/kept"] {
        pond.write(name, format!("of {name}\n"));
        mode(&pond, name, 0o644);
    }
    mode(&pond, "own", 0o600);
    fs::create_dir(pond.path("going")).unwrap();
    fs::create_dir(pond.path("filled")).unwrap();
    symlink("one", pond.path("link")).unwrap();
    let from = pond.keep("run/initial");
    mode(&pond, "own", 0o640);
    mode(&pond, "shown", 0o600);
    mode(&pond, "program", 0o755);
    mode(&pond, "in", 0o700);
    fs::hard_link(pond.path("linked"), pond.path("linked too")).unwrap();
    fs::remove_file(pond.path("to a link")).unwrap();
    symlink("of a link", pond.path("to a link")).unwrap();
    fs::remove_file(pond.path("to a folder")).unwrap();
    fs::create_dir_all(pond.path("to a folder")).unwrap();
    fs::remove_dir(pond.path("going")).unwrap();
    fs::create_dir(pond.path("coming")).unwrap();
    pond.write("filled/now", "");
    fs::remove_file(pond.path("link")).unwrap();
    symlink("two", pond.path("link")).unwrap();
    let to = pond.keep("run/1");
    (pond, from, to)
}

#[test]
fn permissions_empty_folders_links_and_names_of_one_file_are_seen() {
    let (pond, from, to) = beyond_git();
    let difference = pond.difference(from, to);
    expect![[r#"
        coming: made, - to folder 0755, +0 -0
        filled/now: made, - to file 0644, +0 -0
        going: removed, folder 0755 to -, +0 -0
        in: mode, folder 0755 to folder 0700, +0 -0
        link: changed, link 0777 to link 0777, +1 -1
        linked too: made, - to file 0644, +1 -0
        own: mode, file 0600 to file 0640, +0 -0
        program: mode, file 0644 to file 0755, +0 -0
        shown: mode, file 0644 to file 0600, +0 -0
        to a folder: kind, file 0644 to folder 0755, +0 -1
        to a link: kind, file 0644 to link 0777, +1 -1
        8 files +3 -3
    "#]]
    .assert_eq(&told(&difference));
    assert_eq!(difference.joined, [vec![b"linked".to_vec(), b"linked too".to_vec()]]);
    let back = pond.difference(to, from);
    assert_eq!(back.parted, difference.joined);
    assert_eq!(back.totals(), Changes { files: 8, insertions: 3, deletions: 3 });
    assert!(pond.difference(to, to).is_empty());
}

#[test]
fn what_git_has_no_words_for_stands_in_the_text_as_notes() {
    let (pond, from, to) = beyond_git();
    let difference = pond.difference(from, to);
    expect![[r#"
        # coming: a new empty folder
        diff --git a/filled/now b/filled/now
        new file mode 100644
        index 0000000000..e69de29bb2
        # going: an empty folder that is gone
        # in: permissions 0755 are 0700 now
        diff --git a/link b/link
        index 43dd47ea69..64c5e5885a 120000
        --- a/link
        +++ b/link
        @@ -1 +1 @@
        -one
        \ No newline at end of file
        +two
        \ No newline at end of file
        diff --git a/linked too b/linked too
        new file mode 100644
        index 0000000000..8efd73c6a6
        --- /dev/null
        +++ b/linked too	
        @@ -0,0 +1 @@
        +of linked
        # own: permissions 0600 are 0640 now
        diff --git a/program b/program
        old mode 100644
        new mode 100755
        # shown: permissions 0644 are 0600 now
        # to a folder: a file that is a folder now
        diff --git a/to a folder b/to a folder
        deleted file mode 100644
        index 4bfc963de4..0000000000
        --- a/to a folder	
        +++ /dev/null
        @@ -1 +0,0 @@
        -of to a folder
        # to a link: a file that is a link now
        diff --git a/to a link b/to a link
        deleted file mode 100644
        index 24790e4e64..0000000000
        --- a/to a link	
        +++ /dev/null
        @@ -1 +0,0 @@
        -of to a link
        diff --git a/to a link b/to a link
        new file mode 120000
        index 0000000000..90d8177ae1
        --- /dev/null
        +++ b/to a link	
        @@ -0,0 +1 @@
        +of a link
        \ No newline at end of file
        # linked and linked too are one file now
    "#]]
    .assert_eq(&String::from_utf8(pond.text(&difference)).unwrap());
}

#[test]
fn from_nothing_everything_is_new() {
    let mut pond = Pond::new();
    pond.write("a", "1\n2\n");
    pond.write("b", "\0");
    let to = pond.keep("run/initial");
    let difference = changes(&pond.store, &pond.store, CommitPair { from: None, to }, &Bounds::default()).unwrap();
    assert_eq!(difference.totals(), Changes { files: 2, insertions: 2, deletions: 0 });
    assert_eq!(difference.names(), ["a", "b"]);
}

#[test]
fn what_is_past_a_bound_is_named_and_said() {
    let mut pond = Pond::new();
    let lines = |from: u32, to: u32| (from..to).map(|line| format!("line {line}\n")).collect::<String>();
    pond.write("long", lines(0, 2000));
    pond.write("costly", lines(0, 100));
    pond.write("moved", lines(0, 90));
    pond.write("cheap", "x\n");
    let from = pond.keep("run/initial");
    pond.write("long", lines(0, 2001));
    pond.write("costly", lines(50, 100) + &lines(0, 50));
    pond.write("cheap", "y\n");
    fs::remove_file(pond.path("moved")).unwrap();
    pond.write("here", lines(0, 89));
    let to = pond.keep("run/1");
    let of = |bounds: Bounds| {
        told(&changes(&pond.store, &pond.store, CommitPair { from: Some(from), to }, &bounds).unwrap())
    };
    let plain = of(Bounds::default());
    assert!(plain.contains("here: renamed from moved (98 %), file 0644 to file 0644, +0 -1"), "{plain}");
    let bounded = of(Bounds { file_bytes: 1000, file_steps: 1000, rename_pairs: 0, ..Bounds::default() });
    expect![[r#"
        cheap: changed, file 0644 to file 0644, +1 -1
        costly: changed, file 0644 to file 0644, too large
        here: made, - to file 0644, +89 -0
        long: changed, file 0644 to file 0644, too large
        moved: removed, file 0644 to -, +0 -90
        5 files +90 -91
    "#]]
    .assert_eq(&bounded);
    let given_up = changes(
        &pond.store,
        &pond.store,
        CommitPair { from: Some(from), to },
        &Bounds { rename_pairs: 0, ..Bounds::default() },
    )
    .unwrap();
    assert!(given_up.renames_given_up);
    let text = String::from_utf8(pond.text(&given_up)).unwrap();
    assert!(text.starts_with("# too many files were added and removed to search for renames\n"), "{text}");
    let starved = of(Bounds { all_bytes: 10, ..Bounds::default() });
    assert!(
        starved.contains("long: changed, file 0644 to file 0644, too large") && starved.starts_with("cheap: changed"),
        "{starved}"
    );
    for bounds in [Bounds { rename_steps: 1, ..Bounds::default() }, Bounds { rename_bytes: 1000, ..Bounds::default() }]
    {
        assert!(
            changes(&pond.store, &pond.store, CommitPair { from: Some(from), to }, &bounds).unwrap().renames_given_up,
            "{bounds:?}"
        );
    }
}

#[test]
fn a_file_that_moves_into_a_folder_of_its_name_is_renamed() {
    let mut pond = Pond::new();
    let text: String = (0..50).map(|line| format!("line {line}\n")).collect();
    pond.write("thing", &text);
    let from = pond.keep("run/initial");
    fs::remove_file(pond.path("thing")).unwrap();
    pond.write("thing/mod", text + "and more\n");
    let to = pond.keep("run/1");
    expect![[r#"
        thing/mod: renamed from thing (97 %), file 0644 to file 0644, +1 -0
        1 files +1 -0
    "#]]
    .assert_eq(&told(&pond.difference(from, to)));
}

#[test]
fn two_files_that_are_made_to_be_slow_to_compare_are_given_up_within_seconds() {
    // Lines in random order out of few: the worst that there is.
    let mut seed = 88_172_645_463_325_252_u64;
    let mut text = |words: u64, bytes: usize| {
        let mut text = String::new();
        while text.len() < bytes {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            text.push_str(&format!("{}\n", seed % words));
        }
        text
    };
    let mut fill = |pond: &Pond| {
        pond.write("two", text(2, 4 << 20));
        pond.write("many", text(5000, 4 << 20));
        pond.write("fifty", text(1 << 60, 1 << 20).repeat(50));
        pond.write("just", text(100, 200_000));
    };
    let mut pond = Pond::new();
    fill(&pond);
    let from = pond.keep("run/initial");
    fill(&pond);
    let to = pond.keep("run/1");
    let began = Instant::now();
    let difference = pond.difference(from, to);
    let took = began.elapsed();
    let lines: Vec<_> = difference.changes.iter().map(|change| change.lines).collect();
    assert!(
        matches!(lines[..], [Lines::TooLarge, Lines::Counted { .. }, Lines::TooLarge, Lines::TooLarge]),
        "{lines:?}"
    );
    assert!(took < Duration::from_secs(60), "{took:?}");
}

#[test]
fn ten_changes_among_very_many_files_take_milliseconds() {
    let files = if cfg!(debug_assertions) { 20_000 } else { 100_000 };
    let mut pond = Pond::new();
    for number in 0..files {
        pond.write(format!("d{}/f{number}", number % 500), number.to_string());
        fs::set_permissions(pond.path(format!("d{}/f{number}", number % 500)), Permissions::from_mode(0o644)).unwrap();
    }
    let from = pond.keep("run/initial");
    for number in 0..10 {
        pond.write(format!("d{number}/f{number}"), "another\n");
    }
    let to = pond.keep("run/1");
    let best = (0..5)
        .map(|_| {
            let began = Instant::now();
            assert_eq!(pond.difference(from, to).totals(), Changes { files: 10, insertions: 10, deletions: 10 });
            began.elapsed()
        })
        .min();
    // All of the files would take a second.
    assert!(best < Some(Duration::from_millis(100)), "{best:?}");
}

#[test]
fn names_for_a_fact_are_bounded_and_can_be_read_back() {
    let mut pond = Pond::new();
    (0..300).for_each(|number| pond.write(format!("{number:03}{}", "x".repeat(200)), "x"));
    let to = pond.keep("run/initial");
    let names = changes(&pond.store, &pond.store, CommitPair { from: None, to }, &Bounds::default()).unwrap().names();
    let bytes: usize = names.iter().map(String::len).sum();
    assert!(names.len() < NAMES_MAX && bytes <= NAMES_BYTES_MAX && bytes > NAMES_BYTES_MAX - 210, "{}", names.len());
}

/// Contents from anywhere.
struct Anywhere(BTreeMap<Id, Vec<u8>>);

impl ContentReader for Anywhere {
    fn read(&self, id: &Id, bytes_max: usize) -> io::Result<Content> {
        let bytes = self.0.get(id).ok_or_else(|| io::Error::other("nowhere"))?;
        let beginning = bytes.get(..bytes_max).map(|bytes| Content::Beginning(bytes.to_vec()));
        Ok(beginning.unwrap_or_else(|| Content::Whole(bytes.clone())))
    }
}

#[test]
fn contents_may_come_from_elsewhere_than_a_store() {
    let texts =
        ["one\ntwo\n", "one\n2\n"].map(|text| (Id::of(ObjectKind::Blob, text.as_bytes()), text.as_bytes().to_vec()));
    let side = |at: usize| Some(Side { kind: FileKind::File, mode: 0o644, id: Some(texts[at].0) });
    let pairs = vec![Pair { path: b"x".to_vec(), from: side(0), to: side(1) }];
    let contents = Anywhere(texts.iter().cloned().collect());
    let difference = weigh(pairs, &contents, &Bounds::default()).unwrap();
    assert_eq!(difference.totals(), Changes { files: 1, insertions: 1, deletions: 1 });
}
