//! How much is kept of all loops together: past the bound the oldest outputs go, and nothing else.
use loop_testkit::{Ran, TestEnv, wait_until};

use crate::{start, user};

/// Writes half a mebibyte, once.
const HALF: &str = "head -c 524288 /dev/zero | tr '\\0' x; echo said in $LOOP_ID";
const SAID: &str = "of outputs of the loop that ended longest ago";

/// A user who keeps little.
fn thrifty(keep: &str) -> TestEnv {
    let user = user();
    user.write("home/.config/loop/config.toml", &format!("keep_bytes = \"{keep}\"\n"));
    user
}

/// One loop of one iteration that ends without its promise; its id.
fn one(user: &TestEnv) -> (String, Ran) {
    let before = user.ids();
    let ran = user.run(&start(HALF, "false", &["-n", "1"])).expect_code(1);
    let id = user.ids().into_iter().find(|id| !before.contains(id)).unwrap();
    (id, ran)
}

fn output(user: &TestEnv, id: &str) -> bool {
    user.run_folder(id).join("iterations/000001/attempt-1/stdout/head").exists()
}

fn journal(user: &TestEnv, id: &str) -> Vec<u8> {
    std::fs::read(user.run_folder(id).join("journal.jsonl")).unwrap()
}

#[test]
fn past_the_bound_the_oldest_outputs_go_by_themselves_and_that_is_said_and_shown() {
    let user = thrifty("1MiB");
    let (first, ran) = one(&user);
    assert!(!ran.err().contains("removed"), "{}", ran.text());
    let before = journal(&user, &first);
    let (second, ran) = one(&user);
    assert!(ran.err().contains(SAID) && ran.err().contains("loop config set keep_bytes"), "{}", ran.text());
    assert!(!output(&user, &first) && output(&user, &second), "the newest keeps its own");
    assert_eq!(journal(&user, &first), before, "a journal is never touched");
    let row = user.run(&["status", &first, "--json"]).expect_code(0).json()["loops"][0].clone();
    assert_eq!((row["thinned"].as_bool(), row["status"].as_str()), (Some(true), Some("failed")));
    assert!(user.run(&["status", &first]).out().contains("outputs    removed"));
    let list = user.run(&["-v", "list"]).expect_code(0).out();
    let thinned: Vec<&str> = list.lines().filter(|line| line.ends_with("(thinned)")).collect();
    assert!(thinned.len() == 1 && thinned[0].starts_with(&first), "{list}");
    let history = user.run(&["history", &first, "-v"]).expect_code(0).out();
    assert!(history.contains("prompt:\n") && history.contains("outputs were removed"), "{history}");
    let resumed = user.run(&["resume", &first, "-n", "+1"]).expect_code(1);
    assert!(resumed.out().contains("2 iterations done"), "it can still be gone on with: {}", resumed.text());
}

#[test]
fn a_prune_thins_to_what_is_asked_for_and_a_dry_one_only_says_so() {
    let user = user();
    let ids: Vec<String> = (0..3).map(|_| one(&user).0).collect();
    // A loop has 580 KiB here, in blocks of 4 KiB: 516 of output, 20 of journal (its 137 settings are 9 of them), and a
    // block for each other file and folder. Two whole loops and a thinned one are about 1,220 KiB.
    let ran = user.run(&["prune", "--keep-bytes", "1300KiB", "--dry-run"]).expect_code(0);
    assert!(ran.out().contains(&format!("would thin {}", ids[0])), "{}", ran.text());
    assert!(ran.out().contains("1 loop would be thinned: 1."), "{}", ran.text());
    assert!(ids.iter().all(|id| output(&user, id)));
    let ran = user.run(&["prune", "--keep-bytes", "1300KiB"]).expect_code(0);
    assert!(ran.out().contains("1 loop thinned: 1."), "{}", ran.text());
    assert_eq!(ids.iter().map(|id| output(&user, id)).collect::<Vec<_>>(), [false, true, true]);
    let again = user.run(&["prune", "--keep-bytes", "1300KiB"]).expect_code(0);
    assert_eq!(again.out(), "nothing to thin\n", "nothing is left to do");
    let ran = user.run(&["prune", "--keep-bytes", "1KiB"]).expect_code(0);
    assert!(ran.err().contains("still ") && ran.err().contains("loop rm"), "{}", ran.text());
    for wrong in ["0GiB", "10", "10GB", "-1MiB"] {
        let ran = user.run(&["prune", &format!("--keep-bytes={wrong}")]).expect_code(4);
        assert!(ran.err().contains("hint: "), "{}", ran.text());
    }
    let ran = user.run(&["prune", "--older-than", "1ms", "--all", "--keep-bytes", "1KiB", "--dry-run"]).expect_code(0);
    assert!(ran.out().contains("3 loops, would free") && !ran.text().contains("would thin"), "{}", ran.text());
}

#[test]
fn a_loop_at_work_loses_nothing_and_unlimited_keeps_all() {
    let user = thrifty("1MiB");
    let agent = "head -c 1500000 /dev/zero; touch began; while [ ! -e go ]; do sleep 0.02; done";
    let running = user.begin(&start(agent, "test -e go", &[]));
    user.wait_for_file("work/began");
    let live = user.id();
    let elsewhere = user.root().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let place = elsewhere.display().to_string();
    let words = |keep| start(HALF, "false", &["-n", "1", "--workspace", &place, "--keep-bytes", keep]);
    let ran = user.run(&words("unlimited")).expect_code(1);
    assert!(!ran.err().contains("removed"), "{}", ran.text());
    let ran = user.run(&["prune", "--keep-bytes", "64KiB"]).expect_code(0);
    assert!(ran.out().contains("1 loop thinned"), "{}", ran.text());
    assert!(output(&user, &live), "it is at work");
    user.write("work/go", "");
    running.end().expect_code(0);
    assert!(output(&user, &live), "whoever has just ended is spared, whatever it took");
    let ran = user.run(&start("true", "true", &["--workspace", &place])).expect_code(0);
    assert!(ran.err().contains(SAID) && !output(&user, &live), "at the next start it is the oldest: {}", ran.text());
}

#[test]
fn a_killed_loop_counts_too_and_a_lost_index_changes_nothing() {
    let user = thrifty("1MiB");
    let agent = "head -c 1500000 /dev/zero; touch began; sleep 300";
    let running = user.begin(&start(agent, "false", &[]));
    user.wait_for_file("work/began");
    let killed = user.id();
    running.signal("KILL");
    assert_eq!(running.end().code, None);
    // Its helper process ends the agent first; until then the loop is not over.
    wait_until("the killed loop is crashed", || {
        user.run(&["status", &killed, "--json"]).json()["loops"][0]["status"] == "crashed"
    });
    for end in ["", "-wal", "-shm"] {
        std::fs::remove_file(user.state().join(format!("index.db{end}"))).ok();
    }
    let ran = user.run(&start("true", "true", &[])).expect_code(0);
    assert!(ran.err().contains(SAID) && !output(&user, &killed), "{}", ran.text());
    let row = user.run(&["status", &killed, "--json"]).json()["loops"][0].clone();
    assert_eq!((row["status"].as_str(), row["thinned"].as_bool()), (Some("crashed"), Some(true)));
    let ran = user.run(&start("true", "true", &[])).expect_code(0);
    assert!(!ran.err().contains("removed"), "said once: {}", ran.text());
}

#[test]
fn many_may_tidy_up_at_once_while_loops_come_and_go() {
    let user = user();
    let ids: Vec<String> = (0..6).map(|_| one(&user).0).collect();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| user.run(&["prune", "--keep-bytes", "900KiB"]).expect_code(0));
        }
        scope.spawn(|| user.run(&["rm", &ids[0], &ids[1]]).expect_code(0));
        let place = user.root().join("tmp").display().to_string();
        let more = start("true", "true", &["--keep-bytes", "900KiB", "--workspace", &place]);
        user.run(&more).expect_code(0);
    });
    assert!(output(&user, &ids[5]), "no more than is needed: the newest of them has its own");
    let listed = user.run(&["list", "--json"]).expect_code(0).json();
    let sizes: Vec<u64> =
        listed["loops"].as_array().unwrap().iter().map(|row| row["bytes"].as_u64().unwrap()).collect();
    assert!(sizes.len() == 5 && sizes.iter().sum::<u64>() <= 900 * 1024, "{sizes:?}");
    user.run(&["doctor"]).expect_code(0);
}
