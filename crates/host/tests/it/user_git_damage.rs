//! The user's repository may hold anything: whatever is damaged in it, keeping ends soon, changes nothing, and what it
//! does not say it has kept.
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use loop_host::checkpoint::user_git::{GitUser, Limits, restore, rules_of, save, tracked};

use crate::user_git::{Repo, git_in};

/// A small source of chance that gives the same each time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap() % bound.max(1)
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let (mut files, mut stack) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = stack.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { stack.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files
}

fn damage(path: &Path, chance: &mut Chance) {
    let mut bytes = fs::read(path).unwrap();
    fs::remove_file(path).unwrap();
    match chance.below(8) {
        0 => bytes.truncate(chance.below(bytes.len())),
        1 => bytes.extend((0..chance.below(300)).map(|_| u8::try_from(chance.below(256)).unwrap()).collect::<Vec<_>>()),
        2 => bytes = (0..chance.below(2000)).map(|_| u8::try_from(chance.below(256)).unwrap()).collect(),
        3 => return fs::create_dir(path).unwrap(),
        4 => return std::os::unix::fs::symlink("/etc/passwd", path).unwrap(),
        5 => {
            let made = std::process::Command::new("mkfifo").arg(path).status().unwrap();
            return assert!(made.success());
        }
        6 => return,
        _ => {
            for _ in 0..=chance.below(4) {
                let at = chance.below(bytes.len());
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << chance.below(8);
                }
            }
        }
    }
    fs::write(path, bytes).unwrap();
}

fn copied(from: &Path, to: &Path) {
    let made = std::process::Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap();
    assert!(made.success());
}

/// What git itself thinks of a repository: what it has, or nothing if it finds fault.
fn sound(work: &Path, home: &Path) -> Option<String> {
    git_in(work, home, &["fsck", "--full", "--no-dangling", "--no-progress"]).ok()?;
    git_in(work, home, &["for-each-ref"]).ok()
}

#[test]
#[expect(clippy::print_stdout, reason = "how often which happened is part of the result")]
fn damage_of_any_kind_is_said_or_without_consequence_and_never_ends_us() {
    let rounds = std::env::var("DAMAGES").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(120);
    let repo = Repo::new();
    repo.commits(12);
    repo.git(&["gc", "--quiet", "--aggressive"]);
    repo.git(&["update-ref", "refs/remotes/origin/main", "HEAD~6"]);
    repo.git(&["tag", "-a", "-m", "a tag", "v1"]);
    repo.git(&["pack-refs", "--all"]);
    repo.commits(3);
    repo.git(&["branch", "loose"]);
    let scratch = tempfile::tempdir().unwrap();
    let (mut said_nothing, mut said, mut none) = (0, 0, 0);
    for round in 0..rounds {
        let mut chance = Chance(0x9e37_79b9_7f4a_7c15 ^ (round + 1));
        let work = scratch.path().join(format!("work-{round}"));
        copied(&repo.work, &work);
        if round % 2 == 0 {
            // Without a remote, everything is kept: another way through the code.
            git_in(&work, scratch.path(), &["update-ref", "-d", "refs/remotes/origin/main"]).unwrap();
        }
        let files = files_below(&work.join(".git"));
        let files: Vec<PathBuf> =
            files.into_iter().filter(|path| !path.components().any(|part| part.as_os_str() == "hooks")).collect();
        let path = files[chance.below(files.len())].clone();
        damage(&path, &mut chance);
        let began = Instant::now();
        tracked(&work).ok();
        assert!(rules_of(&work, &GitUser::default()).is_repository);
        let at = scratch.path().join(format!("kept-{round}"));
        let kept = save(&work, &at, Limits::default()).unwrap_or_else(|why| panic!("{round} {path:?}: {why}"));
        assert!(began.elapsed() < Duration::from_secs(20), "{round} {path:?}");
        if !kept.saved {
            none += 1;
            continue;
        }
        // Git itself would wait for ever at a pipe.
        let pipe = fs::symlink_metadata(&path).is_ok_and(|stat| stat.file_type().is_fifo());
        let before = if pipe { None } else { sound(&work, scratch.path()) };
        // Over the damage, and onto nothing.
        restore(&at, &work).map(drop).unwrap_or_else(|why| assert!(!why.to_string().is_empty()));
        fs::remove_dir_all(work.join(".git")).unwrap();
        let back = restore(&at, &work).unwrap_or_else(|why| panic!("{round} {path:?}: {why}"));
        if kept.remarks.is_empty() {
            said_nothing += 1;
            if let Some(before) = before.filter(|_| back.waiting.is_empty()) {
                let after = sound(&work, scratch.path()).unwrap_or_else(|| panic!("{round} {path:?}: {back:#?}"));
                assert_eq!(after, before, "{round} {path:?}: {back:#?}");
            }
        } else {
            said += 1;
        }
    }
    println!("{rounds} damages: {said} said, {said_nothing} without consequence, {none} not kept at all");
    assert!(said > 10 && said_nothing > 10, "both happen");
}

#[test]
fn a_pack_with_one_wrong_bit_is_always_said() {
    let repo = Repo::new();
    repo.commits(12);
    repo.git(&["gc", "--quiet", "--aggressive"]);
    let files = files_below(&repo.work.join(".git/objects/pack"));
    let pack = files.iter().find(|path| path.extension().is_some_and(|end| end == "pack")).unwrap();
    let whole = fs::read(pack).unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let mut chance = Chance(4711);
    // The first bytes each once, then some of the others, or all with DAMAGES.
    let rounds = std::env::var("DAMAGES").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(150);
    for round in 0..rounds {
        let at = scratch.path().join(format!("kept-{round}"));
        let mut bytes = whole.clone();
        let in_turn = round < 24 || rounds > whole.len();
        let place = if in_turn { round % whole.len() } else { chance.below(whole.len()) };
        bytes[place] ^= 1 << chance.below(8);
        fs::remove_file(pack).unwrap();
        fs::write(pack, bytes).unwrap();
        let kept = save(&repo.work, &at, Limits::default()).unwrap();
        assert!(!kept.remarks.is_empty(), "byte {place} of {}: {kept:?}", whole.len());
        // What is left of it can still be read by git.
        if kept.objects > 0 {
            let pack = at.join("objects.pack").display().to_string();
            git_in(&repo.work, scratch.path(), &["verify-pack", &pack]).unwrap();
        }
    }
}
