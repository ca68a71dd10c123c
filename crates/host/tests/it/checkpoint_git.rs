//! The user's own git: nothing that it configures is run, and not a byte of it changes.
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use loop_testkit::{GIT_STATES, SENTINELS, Sight, disagreeing_repository, fired, must, sight, trapped, with_git};

use super::run_checkpoints::TestCheckpoints;

#[test]
#[expect(clippy::print_stdout, reason = "which programs fired is part of the result")]
fn no_program_that_a_repository_names_is_run() {
    // req: D-14 partly: the git store leaves the user's git alone; the choice of a backend comes later
    for included in [false, true] {
        let mut keeper = TestCheckpoints::in_memory();
        let traps = keeper.scratch.path().join("traps");
        fs::create_dir(&traps).unwrap();
        let root = keeper.root();
        trapped(&root, &traps, included);
        drop(fired(&traps));
        // Under plain git each of them is run.
        for (name, script) in SENTINELS {
            // Some of them are to fail.
            with_git(&root, script);
            let fired = fired(&traps);
            assert!(fired.contains(*name), "{name} did not fire under plain git, only {fired:?}");
        }
        // Under ours none.
        let first = keeper.keep("run/initial");
        keeper.write("file.txt", "changed by the agent");
        keeper.write("new.txt", "made by the agent");
        keeper.keep("run/1");
        fs::remove_file(root.join(".gitattributes")).unwrap();
        keeper.go_back(&first);
        keeper.keep("run/2");
        assert_eq!(fired(&traps), BTreeSet::new());
        assert!(!root.join("new.txt").exists() && root.join(".gitattributes").exists());
        println!("{} programs fired under plain git, none under ours", SENTINELS.len());
    }
}

fn contents(sight: &Sight) -> Vec<(&PathBuf, u32, &Vec<u8>)> {
    sight.iter().map(|(path, (mode, _, _, bytes))| (path, *mode, bytes)).collect()
}

#[test]
fn not_a_byte_of_the_users_git_changes_over_a_thousand_checkpoints_and_rollbacks() {
    // req: D-14 partly: the git store leaves the user's git alone; the choice of a backend comes later
    let rounds: usize = std::env::var("GIT_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1000);
    let each = rounds.div_ceil(GIT_STATES.len());
    for (state, script) in GIT_STATES {
        let mut keeper = TestCheckpoints::in_memory();
        let root = keeper.root();
        disagreeing_repository(&root);
        must(&root, script);
        let before = sight(&root.join(".git"), None);
        let work = sight(&root, Some(".git"));
        let first = keeper.keep("run/initial");
        for round in 0..each {
            let text = round.to_string();
            match round % 4 {
                0 => keeper.write("a", &text),
                1 => keeper.write("d/e/new/deep", &text),
                2 => fs::remove_dir_all(root.join("d/e")).unwrap(),
                _ => fs::rename(root.join("d"), root.join("moved")).unwrap(),
            }
            keeper.keep("run/1");
            keeper.go_back(&first);
            if round % 25 == 0 {
                assert!(before == sight(&root.join(".git"), None), "{state}: .git differs after {round}");
            }
        }
        assert!(before == sight(&root.join(".git"), None), "{state}: .git differs");
        let after = sight(&root, Some(".git"));
        assert!(contents(&work) == contents(&after), "{state}: the work is not what it was");
        // A check that cannot fail is none: git itself writes its index when it is asked for the status.
        must(&root, "rm -f .git/index.lock; git status");
        assert!(before != sight(&root.join(".git"), None), "{state}: this check sees nothing");
    }
}

#[test]
fn a_repository_that_lies_elsewhere_is_left_alone_as_well() {
    let ways = [
        ("a worktree", "cd ../main && git worktree add -q -f ../work side"),
        ("a submodule's way", "git init -q --separate-git-dir ../elsewhere"),
        ("a link to it", "git init -q && mv .git ../elsewhere && ln -s ../elsewhere .git"),
    ];
    for (way, script) in ways {
        let mut keeper = TestCheckpoints::in_memory();
        let top = keeper.scratch.path().to_owned();
        must(
            &top,
            "git init -q -b main main && cd main && echo a > a && git add -A && git commit -qm one && git branch side",
        );
        let root = keeper.root();
        must(&root, script);
        keeper.write("file", "as it was");
        let but_store = || -> Sight {
            let all = sight(&top, None).into_iter();
            all.filter(|(path, _)| !path.starts_with(top.join("store")) && !path.starts_with(&root)).collect()
        };
        let own = || fs::symlink_metadata(root.join(".git")).map(|found| (found.ino(), found.ctime_nsec())).unwrap();
        let before = (but_store(), own());
        let first = keeper.keep("run/initial");
        assert!(first.checkpoint.names.keys().all(|name| !name.starts_with(b".git")), "{way}");
        for round in 0..20 {
            keeper.write("file", &round.to_string());
            keeper.keep("run/1");
            keeper.go_back(&first);
        }
        assert!(before == (but_store(), own()), "{way}: it was touched");
        assert_eq!(fs::read_to_string(root.join("file")).unwrap(), "as it was");
    }
}
