//! The user's own git under the built program: whatever state it is in and whatever it names, a loop with its
//! checkpoints, rollbacks and views runs none of it and changes no byte of it.
use std::collections::BTreeSet;

use loop_testkit::{GIT_STATES, SENTINELS, TestEnv, disagreeing_repository, fired, must, sight, trapped, with_git};

use crate::{start, user};

/// An agent that changes, makes and removes, and has no git.
const AGENT: &str = "echo $LOOP_ITERATION >> a; echo new > new-$LOOP_ITERATION; rm -rf d; mkdir -p d/e; echo x > d/e/f";

/// A loop of four iterations, of which one is gone back on while it works, and all that can be asked of it later.
fn everything(user: &TestEnv) {
    let agent = format!(
        "{AGENT}; touch ../at-$LOOP_ITERATION; while ! test -e ../go-$LOOP_ITERATION; do sleep 0.02; done; rm -f gone"
    );
    let running = user.begin(&start(&agent, "test -e ../go-4 && test -e new-4", &["-n", "6"]));
    user.wait_for_file("at-1");
    let id = user.id();
    user.write("go-1", "");
    user.wait_for_file("at-2");
    user.run(&["checkpoint", &id, "by-hand"]).expect_code(0);
    user.run(&["rollback", &id, "initial"]).expect_code(0);
    for number in ["go-2", "go-3", "go-4"] {
        user.write(number, "");
    }
    running.end().expect_code(0);
    let words: [&[&str]; 12] = [
        &["checkpoint", &id, "afterwards"],
        &["checkpoint", "list", &id],
        &["checkpoint", "list", &id, "--json"],
        &["history", &id],
        &["history", &id, "--diff", "1"],
        &["history", &id, "--diff", "initial..4"],
        &["history", &id, "--diff", "2", "--stat"],
        &["rollback", &id, "1"],
        &["rollback", &id, "undo"],
        &["rollback", &id, "by-hand"],
        &["rollback", &id, "initial"],
        &["checkpoint", "gc"],
    ];
    for words in words {
        user.run(words).expect_code(0);
    }
    let diff = user.on_a_terminal(&format!("PAGER=cat {} history {id} --diff 1", env!("CARGO_BIN_EXE_loop"))).0;
    diff.expect_code(0);
    user.run(&["rm", &id, "--checkpoints"]).expect_code(0);
}

#[test]
fn not_a_byte_of_the_users_git_changes_under_a_loop_with_rollbacks_whatever_state_it_is_in() {
    // req: D-14
    for (state, script) in GIT_STATES {
        let user = user();
        disagreeing_repository(&user.work());
        must(&user.work(), script);
        let before = sight(&user.work().join(".git"), None);
        let work: BTreeSet<String> = user.tree("work").into_iter().collect();
        everything(&user);
        let after = sight(&user.work().join(".git"), None);
        let changed: Vec<_> = before.iter().filter(|(path, was)| after.get(*path) != Some(*was)).collect();
        let made: Vec<_> = after.keys().filter(|path| !before.contains_key(*path)).collect();
        assert!(before == after, "{state}: changed or gone: {changed:?}, made: {made:?}");
        assert_eq!(work, user.tree("work").into_iter().collect(), "{state}: back at the beginning");
        // A check that cannot fail is none: git itself writes its index when it is asked for the status.
        must(&user.work(), "rm -f .git/index.lock; git status");
        assert!(before != sight(&user.work().join(".git"), None), "{state}: this check sees nothing");
    }
}

#[test]
fn no_program_that_a_repository_names_is_run_by_any_command() {
    // req: D-14
    for included in [false, true] {
        let user = user();
        let traps = user.root().join("traps");
        std::fs::create_dir(&traps).unwrap();
        trapped(&user.work(), &traps, included);
        drop(fired(&traps));
        for (name, script) in SENTINELS {
            // Some of them are to fail.
            with_git(&user.work(), script);
            let fired = fired(&traps);
            assert!(fired.contains(*name), "{name} did not fire under plain git, only {fired:?}");
        }
        everything(&user);
        assert_eq!(
            fired(&traps),
            BTreeSet::new(),
            "{} programs fired under plain git, none under ours",
            SENTINELS.len()
        );
    }
}
