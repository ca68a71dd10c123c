//! A checkpoint that is only taken if something changed holds what a whole one holds.
use std::fs;
use std::path::Path;
use std::sync::Arc;

use loop_core::settings::Values;
use loop_host::checkpoint::user_git::GitUser;
use loop_host::checkpoint::{Checkpoint, CheckpointContext, RollbackRequest, RunCheckpoints, Store};

/// A tiny generator, so that a failing seed can be run again.
struct Seed(u64);

impl Seed {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

fn keeper(scratch: &Path, name: &str) -> RunCheckpoints {
    let place = CheckpointContext {
        run: name.to_owned(),
        store: scratch.join(name),
        workspace: scratch.join("work"),
        settings: Values::default().checkpoint,
        litter: Vec::new(),
        user: GitUser::default(),
        backend: "git".to_owned(),
    };
    RunCheckpoints::open(place, Arc::default()).unwrap()
}

/// One change by somebody; what is impossible is none.
fn change(work: &Path, seed: &mut Seed, (round, is_last): (u64, bool)) {
    let folder = |number: u64| work.join(format!("d{number}"));
    let file = |one: u64, other: u64| folder(one).join(format!("f{other}"));
    let (one, other, third) = (seed.below(4), seed.below(6), seed.below(4));
    let done = match seed.below(10) {
        0..=3 => fs::create_dir_all(folder(one)).and_then(|()| fs::write(file(one, other), format!("{round}"))),
        4 => fs::remove_file(file(one, other)),
        5 => fs::rename(folder(one), folder(third)),
        6 => fs::remove_dir_all(folder(one)),
        // Nobody tells of a name that is made, written by and removed between two looks.
        7 if is_last => fs::hard_link(file(one, other), file(third, other)),
        7 | 8 => fs::create_dir_all(folder(one).join("deep/er"))
            .and_then(|()| fs::write(folder(one).join("deep/er/f"), format!("{round}"))),
        _ => fs::write(work.join(".gitignore"), format!("d{one}/f{other}\nd{third}/deep\n")),
    };
    drop(done);
}

#[test]
#[expect(clippy::print_stdout, reason = "how much was compared is part of the result")]
fn what_is_taken_only_if_it_changed_is_what_is_there() {
    let mut rounds = 0;
    for number in 0..seeds() {
        let mut seed = Seed(number);
        let scratch = tempfile::tempdir().unwrap();
        let work = scratch.path().join("work");
        fs::create_dir_all(work.join(".git")).unwrap();
        let mut comparing = keeper(scratch.path(), "compared");
        let mut taking = keeper(scratch.path(), "taken");
        for round in 1..=40 {
            let changes = seed.below(6);
            for count in 1..=changes {
                change(&work, &mut seed, (round, count == changes));
            }
            let name = format!("iter-{round:03}");
            let (one, other) = (comparing.take_if_changed(&name, None).unwrap(), taking.take(&name, None).unwrap());
            assert_eq!(one.tree, other.tree, "seed {number}, round {round}: {}", differing(scratch.path(), &name));
            rounds += 1;
        }
    }
    println!("{rounds} checkpoints only if changed are those of whole ones");
}

/// What only one of them has.
fn differing(scratch: &Path, name: &str) -> String {
    let [one, other] = ["compared", "taken"].map(|run| {
        let store = Store::open(&scratch.join(run)).unwrap();
        store.load(store.named(&format!("{run}/{name}")).unwrap()).unwrap()
    });
    let only = |one: &Checkpoint, other: &Checkpoint| {
        let names = one.names.iter().filter(|(path, kept)| other.names.get(*path) != Some(kept));
        names.map(|(path, kept)| format!("{} {kept:?}", String::from_utf8_lossy(path))).collect::<Vec<_>>()
    };
    let same = (&one.manifest.same, &other.manifest.same);
    format!("compared {:#?}, taken {:#?}, {same:#?}", only(&one, &other), only(&other, &one))
}

/// `HINTS=200` takes more.
fn seeds() -> u64 {
    std::env::var("HINTS").ok().and_then(|text| text.parse().ok()).unwrap_or(12)
}

#[test]
fn many_checkpoints_are_few_packs_and_each_can_still_be_gone_back_to() {
    let scratch = tempfile::tempdir().unwrap();
    let work = scratch.path().join("work");
    fs::create_dir_all(&work).unwrap();
    let mut keeper = keeper(scratch.path(), "many");
    for round in 1..=300 {
        fs::write(work.join("file"), format!("{round}")).unwrap();
        keeper
            .take(&format!("iter-{round:03}"), (round > 1).then(|| format!("iter-{:03}", round - 1)).as_deref())
            .unwrap();
    }
    let packs = fs::read_dir(scratch.path().join("many/objects/pack")).unwrap().count();
    assert!(packs < 300, "{packs} files for 300 checkpoints");
    for round in [1, 128, 129, 130, 256, 300] {
        let (to, undo) = (format!("iter-{round:03}"), format!("undo-{round}"));
        keeper.roll_back(&RollbackRequest { to: &to, undo: &undo, git: false, paths: &[] }).unwrap();
        assert_eq!(fs::read_to_string(work.join("file")).unwrap(), format!("{round}"));
    }
    let fsck = std::process::Command::new("git")
        .arg("--git-dir")
        .arg(scratch.path().join("many"))
        .args(["fsck", "--full", "--strict"])
        .output()
        .unwrap();
    assert!(fsck.status.success(), "{}", String::from_utf8_lossy(&fsck.stderr));
}

#[test]
fn a_small_ignored_file_changes_neither_the_tree_nor_what_is_measured() {
    let scratch = loop_testkit::folder_in_memory();
    let work = scratch.path().join("work");
    fs::create_dir_all(work.join(".git")).unwrap();
    fs::write(work.join(".gitignore"), ".env\n").unwrap();
    fs::write(work.join("a"), "1\n").unwrap();
    let mut keeper = keeper(scratch.path(), "run");
    let bare = keeper.take("bare", None).unwrap();
    fs::write(work.join(".env"), "S=1\n").unwrap();
    let first = keeper.take("first", Some("bare")).unwrap();
    fs::write(work.join(".env"), "S=2\n").unwrap();
    let second = keeper.take("second", Some("first")).unwrap();
    assert_eq!((&first.tree, &second.tree), (&bare.tree, &bare.tree));
    assert_ne!(first.id, second.id);
    let measured = keeper.measure(Some("bare"), "second").unwrap();
    assert_eq!((measured.changes.unwrap().files, measured.names), (0, Vec::<String>::new()));
    let taken = keeper.take_if_changed("after", Some("second")).unwrap();
    assert_eq!(taken.checkpoint, None, "an ignored file alone is no other state");
    for (to, content) in [("first", "S=1\n"), ("second", "S=2\n"), ("bare", "S=2\n")] {
        keeper.roll_back(&RollbackRequest { to, undo: &format!("undo-{to}"), git: false, paths: &[] }).unwrap();
        assert_eq!(fs::read_to_string(work.join(".env")).unwrap(), content, "{to}");
    }
}
