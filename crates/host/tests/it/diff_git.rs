//! Random pairs of trees, compared by us and by git itself: the same files, the same counts, the same renames, and
//! a text that `git apply` takes.
//!
//! `DIFFS=5000` takes more of them, `DIFF_SEED=7` one again.
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use loop_host::checkpoint::diff::{Bounds, Change, ChangeKind, CommitPair, Difference, Lines, changes, patch, quoted};
use loop_host::checkpoint::{Depth, Id, Rules, ScanCache, ScanHint, Store, TakeOutcome, TakeRequest, open_folder};

/// A workspace with a store beside it.
pub(crate) struct Pond {
    scratch: tempfile::TempDir,
    pub(crate) store: Store,
    cache: ScanCache,
}

impl Pond {
    pub(crate) fn new() -> Self {
        let scratch = loop_testkit::folder_in_memory();
        fs::create_dir(scratch.path().join("work")).unwrap();
        let store = Store::open(&scratch.path().join("store")).unwrap();
        Self { scratch, store, cache: ScanCache::empty("run") }
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.scratch.path().join("work")
    }

    pub(crate) fn path(&self, name: impl AsRef<[u8]>) -> PathBuf {
        self.work().join(std::ffi::OsStr::from_bytes(name.as_ref()))
    }

    pub(crate) fn write(&self, name: impl AsRef<[u8]>, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Keeps what is there now.
    pub(crate) fn keep(&mut self, name: &str) -> Id {
        let workspace = open_folder(&self.work()).unwrap();
        let (rules, cancel) = (Rules::new(true, &[], true), std::sync::atomic::AtomicBool::new(false));
        let hint = ScanHint::Everything;
        let ask =
            TakeRequest { name, parent: None, rules: &rules, hint, depth: Depth::Whole, unless: None, cancel: &cancel };
        match self.store.save(&workspace, &mut self.cache, &ask).unwrap() {
            TakeOutcome::Saved(id, _) => id,
            other @ (TakeOutcome::NotWritten(_) | TakeOutcome::Unreadable(_) | TakeOutcome::Cancelled) => {
                panic!("{other:?}")
            }
        }
    }

    pub(crate) fn difference(&self, from: Id, to: Id) -> Difference {
        changes(&self.store, &self.store, CommitPair { from: Some(from), to }, &Bounds::default()).unwrap()
    }

    pub(crate) fn text(&self, difference: &Difference) -> Vec<u8> {
        let mut text = Vec::new();
        patch(difference, &self.store, &Bounds::default(), &mut |_, line| text.write_all(line)).unwrap();
        text
    }

    pub(crate) fn git(&self, words: &[&str], input: &[u8]) -> Vec<u8> {
        let mut command = Command::new("git");
        command.arg("--git-dir").arg(self.scratch.path().join("store")).args(words).current_dir(self.scratch.path());
        run(command.env("GIT_WORK_TREE", self.scratch.path().join("out")), input)
    }

    /// What git says of the files of two checkpoints.
    fn asked(&self, words: &[&str], from: Id, to: Id) -> Vec<u8> {
        let (from, to) = (format!("{from}:files"), format!("{to}:files"));
        let fixed = ["-c", "core.quotePath=false", "-c", "core.abbrev=10", "diff"];
        self.git(&[&fixed, words, &[from.as_str(), to.as_str()]].concat(), b"")
    }
}

/// Runs git with nobody's configuration.
fn run(command: &mut Command, input: &[u8]) -> Vec<u8> {
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null").env_remove("HOME");
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let ran = child.wait_with_output().unwrap();
    assert!(ran.status.success(), "{command:?}: {}", String::from_utf8_lossy(&ran.stderr));
    ran.stdout
}

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33).unwrap() % sides
    }

    fn line(&mut self, words: usize) -> String {
        let ends = ["", "}", "{", "    return;", "\tindented"];
        match self.roll(3) {
            0 => format!("{}\n", ends[self.roll(5)]),
            _ => format!("{}line {}\n", " ".repeat(self.roll(3) * 4), self.roll(words)),
        }
    }

    fn text(&mut self) -> String {
        let lines = [0, 1, 3, 20, 200, 2000][self.roll(6)];
        let words = [3, 50, 100_000][self.roll(3)];
        let mut text: String = (0..lines).map(|_| self.line(words)).collect();
        if self.roll(5) == 0 {
            text.pop();
        }
        text
    }

    fn edited(&mut self, text: &[u8]) -> Vec<u8> {
        let mut lines: Vec<Vec<u8>> = text.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        let edits = if self.roll(10) == 0 { self.roll(600) } else { self.roll(6) };
        for _ in 0..=edits {
            let at = self.roll(lines.len() + 1);
            match self.roll(3) {
                0 => lines.insert(at, self.line(50).into_bytes()),
                1 => drop(lines.drain(at..(at + 1 + self.roll(4)).min(lines.len()))),
                _ => {
                    let to = self.roll(lines.len() + 1).min(at);
                    let moved: Vec<_> = lines.drain(at..(at + 3).min(lines.len())).collect();
                    lines.splice(to..to, moved);
                }
            }
        }
        lines.concat()
    }
}

const NAMES: &[&[u8]] = &[
    b"a",
    b"b.txt",
    b"c c.rs",
    "\u{fc}.md".as_bytes(),
    b"d\"\\q\n",
    b"e\xff",
    b"in/x",
    b"in/y y",
    b"in/deep/z",
    b"t\tt",
];

fn seed_tree(pond: &Pond, dice: &mut Dice) {
    for number in 0..=dice.roll(8) {
        let mut name = NAMES[dice.roll(NAMES.len())].to_vec();
        name.extend(number.to_string().into_bytes());
        if fs::symlink_metadata(pond.path(&name)).is_ok() {
            continue;
        }
        match dice.roll(8) {
            0 => pond.write(&name, [b"\0binary".as_slice(), &[dice.0.to_le_bytes()[0]]].concat()),
            1 => {
                fs::create_dir_all(pond.path(&name).parent().unwrap()).unwrap();
                symlink(format!("to{}", dice.roll(3)), pond.path(&name)).unwrap();
            }
            _ => pond.write(&name, dice.text()),
        }
    }
}

fn names_below(root: &Path) -> Vec<Vec<u8>> {
    let (mut names, mut open) = (Vec::new(), vec![root.to_owned()]);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            if entry.file_type().unwrap().is_dir() {
                open.push(entry.path());
            } else {
                names.push(entry.path().strip_prefix(root).unwrap().as_os_str().as_bytes().to_vec());
            }
        }
    }
    names.sort();
    names
}

fn change_tree(pond: &Pond, dice: &mut Dice, seen: &mut BTreeMap<&'static str, u32>) {
    for _ in 0..=dice.roll(5) {
        let names = names_below(&pond.work());
        if names.is_empty() {
            return seed_tree(pond, dice);
        }
        let name = names[dice.roll(names.len())].clone();
        let path = pond.path(&name);
        let is_file = fs::symlink_metadata(&path).unwrap().is_file();
        let what = match dice.roll(9) {
            0 => {
                fs::remove_file(&path).unwrap();
                "removed"
            }
            1 if is_file => {
                let mode = [0o644, 0o755, 0o600][dice.roll(3)];
                fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
                "permissions"
            }
            2 => {
                fs::remove_file(&path).unwrap();
                if is_file {
                    symlink("elsewhere", &path).unwrap()
                } else {
                    fs::write(&path, "now a file\n").unwrap()
                }
                "kinds"
            }
            3 => {
                fs::remove_file(&path).unwrap();
                pond.write([&name, b"/inside".as_slice()].concat(), dice.text());
                "file to folder"
            }
            4 | 5 => {
                let to = pond.path([b"moved/".as_slice(), &name].concat());
                fs::create_dir_all(to.parent().unwrap()).unwrap();
                fs::rename(&path, &to).unwrap();
                if is_file && dice.roll(2) == 0 {
                    let edited = dice.edited(&fs::read(&to).unwrap());
                    fs::write(&to, edited).unwrap();
                }
                "moved"
            }
            6 => {
                let name = format!("new{}", dice.roll(100));
                if !pond.path(&name).is_dir() {
                    pond.write(name, dice.text());
                }
                "made"
            }
            _ if is_file => {
                let edited = dice.edited(&fs::read(&path).unwrap());
                fs::write(&path, edited).unwrap();
                "edited"
            }
            _ => "nothing",
        };
        *seen.entry(what).or_default() += 1;
    }
}

/// As `--numstat -z` has it: counts, the old name where it was another, the name.
type Row = (String, Vec<u8>, Vec<u8>);

fn rows_of_git(text: &[u8]) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut fields = text.split(|byte| *byte == 0);
    while let Some(field) = fields.next().filter(|field| !field.is_empty()) {
        let mut parts = field.splitn(3, |byte| *byte == b'\t');
        let mut part = || parts.next().unwrap().to_vec();
        let (came, went, name) = (part(), part(), part());
        let counts = String::from_utf8([came, went].join(&b' ')).unwrap();
        let names = if name.is_empty() {
            (fields.next().unwrap().to_vec(), fields.next().unwrap().to_vec())
        } else {
            (name.clone(), name)
        };
        rows.push((counts, names.0, names.1));
    }
    rows.sort_by(|one, other| one.2.cmp(&other.2));
    rows
}

/// Ours, without what git cannot see.
fn rows_of_ours(difference: &Difference) -> Vec<Row> {
    let seen = |change: &&Change| {
        let file = |mode: u32| Some(mode).filter(|mode| *mode != 0o40_000);
        let of = |side: Option<loop_host::checkpoint::diff::Side>| side.and_then(|side| file(side.git_mode()));
        let ids = (change.from.and_then(|side| side.id), change.to.and_then(|side| side.id));
        change.is_of_files() && (of(change.from), ids.0) != (of(change.to), ids.1) || change.old_path() != change.path
    };
    let rows = difference.changes.iter().filter(seen).map(|change| {
        let counts = match change.lines {
            Lines::Counted { insertions, deletions } => format!("{insertions} {deletions}"),
            Lines::Binary => "- -".to_owned(),
            Lines::TooLarge => "too large".to_owned(),
        };
        (counts, change.old_path().to_vec(), change.path.clone())
    });
    rows.collect()
}

/// Renames undone: what went and what came, with counts of their own.
fn without_renames(pond: &Pond, from: Id, to: Id) -> Difference {
    let bounds = Bounds { rename_pairs: 0, ..Bounds::default() };
    let difference = changes(&pond.store, &pond.store, CommitPair { from: Some(from), to }, &bounds).unwrap();
    assert!(
        !difference
            .changes
            .iter()
            .any(|one| matches!(one.what, ChangeKind::Renamed { similarity, .. } if similarity < 100))
    );
    difference
}

/// The text of git without the name of a function behind a place.
fn without_functions(text: &[u8]) -> Vec<u8> {
    let lines = text.split_inclusive(|byte| *byte == b'\n').map(|line| {
        let end = line.windows(3).skip(2).position(|piece| piece == b" @@").map(|at| at + 5);
        match end.filter(|_| line.starts_with(b"@@ -")) {
            Some(end) => [&line[..end], b"\n"].concat(),
            None => line.to_vec(),
        }
    });
    lines.collect::<Vec<_>>().concat()
}

fn without_notes(text: &[u8]) -> Vec<u8> {
    text.split_inclusive(|byte| *byte == b'\n').filter(|line| !line.starts_with(b"# ")).collect::<Vec<_>>().concat()
}

/// Applies our text to a checkout of the one, and says the tree that comes of it; none if something is binary.
fn applied(pond: &Pond, difference: &Difference, from: Id) -> Option<String> {
    let changed = |change: &Change| change.from.and_then(|side| side.id) != change.to.and_then(|side| side.id);
    if difference.changes.iter().any(|change| change.lines == Lines::Binary && changed(change)) {
        return None;
    }
    pond.git(&["read-tree", &format!("{from}:files")], b"");
    let text = pond.text(difference);
    if !without_notes(&text).is_empty() {
        pond.git(&["apply", "--cached", "--whitespace=nowarn", "-"], &text);
    }
    Some(String::from_utf8(pond.git(&["write-tree"], b"")).unwrap().trim().to_owned())
}

fn one(seed: u64, seen: &mut BTreeMap<&'static str, u32>) {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut pond = Pond::new();
    fs::create_dir(pond.scratch.path().join("out")).unwrap();
    seed_tree(&pond, &mut dice);
    let from = pond.keep("run/initial");
    change_tree(&pond, &mut dice, seen);
    let to = pond.keep("run/1");
    let difference = pond.difference(from, to);
    let with = rows_of_git(&pond.asked(&["--numstat", "-z", "-M"], from, to));
    assert_eq!(rows_of_ours(&difference), with, "DIFF_SEED={seed}: with renames");
    if !difference.changes.iter().any(|one| matches!(one.what, ChangeKind::Renamed { .. })) {
        let without = rows_of_git(&pond.asked(&["--numstat", "-z", "--no-renames"], from, to));
        assert_eq!(rows_of_ours(&without_renames(&pond, from, to)), without, "DIFF_SEED={seed}: without renames");
        *seen.entry("pairs without renames").or_default() += 1;
    } else {
        *seen.entry("pairs with renames").or_default() += 1;
    }
    let odd = |path: &[u8]| std::str::from_utf8(path).is_err();
    if !difference.changes.iter().any(|one| odd(&one.path) || odd(one.old_path())) {
        let theirs = without_functions(&pond.asked(&["-M"], from, to));
        let ours = without_notes(&pond.text(&difference));
        assert_eq!(String::from_utf8_lossy(&ours), String::from_utf8_lossy(&theirs), "DIFF_SEED={seed}");
        *seen.entry("texts equal to git's").or_default() += 1;
    }
    if let Some(tree) = applied(&pond, &difference, from) {
        let wanted = pond.git(&["rev-parse", &format!("{to}:files")], b"");
        assert_eq!(tree, String::from_utf8(wanted).unwrap().trim(), "DIFF_SEED={seed}: applied");
        *seen.entry("texts applied").or_default() += 1;
    }
}

#[test]
#[expect(clippy::print_stdout, reason = "how often each case was there is part of the result")]
fn counts_renames_and_texts_are_those_of_git() {
    // req: D-09 partly: what two checkpoints differ in, compared with git itself
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let mut seen = BTreeMap::new();
    if let Some(seed) = number("DIFF_SEED") {
        return one(seed, &mut seen);
    }
    let pairs = number("DIFFS").unwrap_or(300);
    (1..=pairs).for_each(|seed| one(seed, &mut seen));
    println!("{pairs} pairs: {seen:?}");
    let rare: Vec<_> = seen.iter().filter(|(_, count)| pairs >= 300 && **count < 20).collect();
    assert!(rare.is_empty(), "too rare: {rare:?}");
}

#[test]
fn renames_are_paired_as_git_pairs_them() {
    let mut pond = Pond::new();
    let lines = |from: u32, to: u32| (from..to).map(|line| format!("line {line}\n")).collect::<String>();
    // The same last name counts for more than a little more likeness.
    pond.write("a/x", lines(0, 100));
    pond.write("b/y", lines(10, 120));
    (0..40).for_each(|number| pond.write(format!("old/{number}.rs"), lines(number * 3, number * 3 + 60)));
    let from = pond.keep("run/initial");
    for name in ["a", "b", "old"] {
        fs::remove_dir_all(pond.path(name)).unwrap();
    }
    pond.write("c/x", lines(10, 110));
    (0..40).for_each(|number| pond.write(format!("new/{}.rs", number + 2), lines(number * 3, number * 3 + 58)));
    let to = pond.keep("run/1");
    let difference = pond.difference(from, to);
    let paired = difference.changes.iter().find(|change| change.path == b"c/x").unwrap();
    assert_eq!(paired.old_path(), b"a/x");
    assert_eq!(rows_of_ours(&difference), rows_of_git(&pond.asked(&["--numstat", "-z", "-M"], from, to)));
}

#[test]
fn names_are_quoted_as_git_quotes_them() {
    let pond = Pond::new();
    for name in
        [&b"plain"[..], b"two words", b"q\"b\\", b"tab\tnl\n", b"\x01\x7f\x0b\x0c\x07\x08\r", "\u{fc}".as_bytes()]
    {
        let id = String::from_utf8(pond.git(&["hash-object", "-w", "--stdin"], b"x")).unwrap();
        let entry = [format!("100644 blob {}\t", id.trim()).as_bytes(), name, b"\0"].concat();
        let tree = String::from_utf8(pond.git(&["mktree", "-z"], &entry)).unwrap();
        let listed = pond.git(&["-c", "core.quotePath=false", "ls-tree", "--name-only", tree.trim()], b"");
        assert_eq!(quoted("", name), String::from_utf8(listed).unwrap().trim_end_matches('\n'));
    }
    // What git would let through to a terminal is written in digits.
    assert_eq!(quoted("a/", b"\xff\xc2\x9b"), "\"a/\\377\\302\\233\"");
    assert_eq!(quoted("", "\u{202e}".as_bytes()), "\"\\342\\200\\256\"");
}
