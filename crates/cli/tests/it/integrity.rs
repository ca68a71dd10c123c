//! The records of a loop are damaged, forged or removed: nothing of that is believed, and the person hears what it is.
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use loop_host::clock;
use loop_host::ledger::Ledger;
use loop_testkit::{Ran, TestEnv};

use crate::{rechained, start, user};

fn journal(user: &TestEnv) -> PathBuf {
    user.run_folder(&user.id()).join("journal.jsonl")
}

/// A loop that ended without success, whose last fact is then made one of success.
fn forged(user: &TestEnv, more: &[&str]) -> String {
    user.run(&start("echo b >> a", "grep -q zzz a", &[&["-n", "1", "--result", "r.json"], more].concat()))
        .expect_code(1);
    let text = fs::read_to_string(journal(user)).unwrap();
    let lines: Vec<String> = text
        .lines()
        .map(|line| match line.split_once("\"fact\":{\"concluded\"") {
            Some((before, _)) => format!(
                "{before}\"fact\":{{\"concluded\":{{\"outcome\":\"verified\",\"reason\":{{\"code\":\"goal_complete\",\
                 \"text\":\"the promise passes after 1 iteration\"}},\"proof\":{{\"verified\":true}}}}}}}}"
            ),
            None => line.to_owned(),
        })
        .collect();
    assert!(text.contains("\"exhausted\""), "{text}");
    lines.join("\n") + "\n"
}

fn is_refused(ran: Ran, words: &str) {
    let ran = ran.expect_code(3);
    let text = ran.text();
    assert!(ran.err().contains(words), "{text}");
    assert!(ran.err().contains("hint: "), "{text}");
    assert!(!text.contains("later version") && !text.contains("verified on") && !text.contains("completed"), "{text}");
}

#[test]
fn a_forged_success_is_damage_for_status_history_verify_resume_and_the_result_file() {
    // req: RT-R12
    let user = user();
    let text = forged(&user, &[]);
    let id = user.id();
    fs::remove_file(user.work().join("r.json")).unwrap();
    let line = 1 + text.lines().position(|line| line.contains("\"verified\"")).unwrap();
    let number = format!("line {line} is damaged");
    // Written by hand; by somebody who makes the hashes again; and by one who removes what says how it ended.
    for text in [text.clone(), rechained(&text), rechained(&text)] {
        fs::write(journal(&user), &text).unwrap();
        for command in ["status", "history", "verify", "resume"] {
            is_refused(user.run(&[command, &id]), &number);
        }
        assert!(!user.work().join("r.json").exists());
        let ran = user.run(&["list"]).expect_code(0);
        assert!(ran.out().contains("no loop can be read") && ran.err().contains(&number), "{}", ran.text());
        fs::remove_file(user.run_folder(&id).join("journal.head")).ok();
    }
    let ran = user.run(&["status", &id]).expect_code(3);
    assert!(ran.err().contains("it says verified, and the gates before it do not pass"), "{}", ran.text());
}

#[test]
fn a_changed_promise_in_the_first_fact_is_damage() {
    // req: RT-R12
    let user = user();
    user.run(&start("echo b >> a", "grep -q zzz a", &["-n", "1"])).expect_code(1);
    let text = fs::read_to_string(journal(&user)).unwrap();
    fs::write(journal(&user), text.replace("grep -q zzz a", "grep -q bbb a")).unwrap();
    is_refused(user.run(&["resume", &user.id(), "-n", "2"]), "line 2 is damaged: its hash is another");
}

#[test]
fn a_journal_that_was_cut_is_not_taken_for_a_crash_where_what_says_how_it_ended_is_gone_too() {
    let user = user();
    user.run(&start("true", "true", &[])).expect_code(0);
    let text = fs::read_to_string(journal(&user)).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    fs::write(journal(&user), lines[..lines.len() - 1].join("\n") + "\n").unwrap();
    let head = user.run_folder(&user.id()).join("journal.head");
    fs::write(&head, "").unwrap();
    is_refused(user.run(&["status", &user.id()]), "journal.head, which was there from the first line on");
    fs::remove_file(&head).unwrap();
    is_refused(user.run(&["status", &user.id()]), "is missing or empty");
}

/// Makes a journal one of a loop that was started in another PID namespace.
fn move_namespace(user: &TestEnv) {
    let text = fs::read_to_string(journal(user)).unwrap();
    let own = fs::metadata("/proc/self/ns/pid").unwrap().ino();
    let moved = text.replacen(&format!("\"pid_namespace\":{own}"), "\"pid_namespace\":4026539999", 1);
    assert_ne!(moved, text, "the first fact says where it was started");
    let text = rechained(&moved);
    fs::write(journal(user), &text).unwrap();
    let last: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let head = serde_json::json!({"seq": last["seq"], "chain": last["chain"]}).to_string();
    fs::write(user.run_folder(&user.id()).join("journal.head"), head).unwrap();
}

#[test]
fn what_only_a_person_may_do_is_refused_in_another_pid_namespace_than_that_of_the_loop() {
    let user = user();
    user.write("check/run.sh", "exit 1\n");
    user.run(&start("echo exit 0 > ../check/run.sh; touch a", "sh ../check/run.sh", &["-n", "2"])).expect_code(1);
    let id = user.id();
    move_namespace(&user);
    let ran = user.run(&["accept", &id]).expect_code(4);
    assert!(ran.err().contains("in another PID namespace than this process is in"), "{}", ran.text());
    let status = user.run(&["status", &id, "--json"]).json();
    assert_eq!(status["loops"][0]["outcome"], "passed_but", "{status}");
    // After a container was restarted its namespace is another one. The hint leads on.
    assert!(ran.err().contains(&format!("if that was restarted: loop resume {id}, which judges")), "{}", ran.text());
    user.run(&["resume", &id]).expect_code(1);
    user.run(&["accept", &id]).expect_code(0);
}

#[test]
fn a_proof_of_a_loop_that_has_ended_is_made_in_every_pid_namespace() {
    let user = user();
    user.run(&start("touch a", "test -e a", &["--strength", "off"])).expect_code(0);
    move_namespace(&user);
    user.run(&["proof", &user.id()]).expect_code(0);
}

#[test]
fn a_breaker_is_closed_in_another_pid_namespace_where_no_loop_is_driven_elsewhere() {
    let user = user();
    user.run(&start("echo same", "false", &["-n", "9", "--max-no-progress", "2"])).expect_code(1);
    move_namespace(&user);
    user.run(&["reset", &user.id()]).expect_code(0);
}

#[test]
fn a_journal_that_was_cut_after_the_loop_ended_is_not_taken_for_a_crash() {
    let user = user();
    user.run(&start("true", "true", &[])).expect_code(0);
    let text = fs::read_to_string(journal(&user)).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    fs::write(journal(&user), lines[..5].join("\n") + "\n").unwrap();
    is_refused(
        user.run(&["status", &user.id()]),
        "line 6 is damaged: it is missing, and was there when the loop ended",
    );
}

#[test]
fn an_agent_that_writes_to_the_journal_of_its_own_loop_ends_it() {
    // req: RT-R12
    let deeds = [
        ("echo '{}' >> $J", "somebody else wrote to it"),
        ("sed -i s/zzz/bbb/ $J", "another file is in its place"),
        ("dd if=/dev/zero of=$J bs=1 count=1 seek=200 conv=notrunc 2> /dev/null", "a line is not what was written"),
    ];
    for (deed, why) in deeds {
        let user = user();
        let agent = format!("J=$(echo {}/runs/*/journal.jsonl); echo b >> a; {deed}", user.state().display());
        let ran = user.run(&start(&agent, "grep -q b a", &["-n", "2"])).expect_code(3);
        assert!(ran.err().contains("something other than this loop changed"), "{}", ran.text());
        assert!(ran.err().contains(why) && ran.err().contains("hint: "), "{}", ran.text());
        assert!(!ran.out().contains("the promise passes"), "{}", ran.text());
    }
}

#[test]
fn originals_that_were_removed_while_the_harness_was_killed_are_not_taken_again() {
    // req: RT-R11
    let empty = "for r in \"$G\"/record-*.json; do \
                 sed -i 's/\"files\":{.*},\"folders\"/\"files\":{},\"folders\"/' \"$r\"; done";
    let deeds = [("rm -rf \"$G\"", "is missing"), (empty, "is not the one that the loop wrote")];
    for (deed, why) in deeds {
        let user = user();
        user.write("work/tests/check.sh", "exit 1\n");
        let agent = format!(
            "G=$(echo {}/runs/*/guard); echo 'exit 0' > tests/check.sh; {deed}; touch began; sleep 300",
            user.state().display()
        );
        let running = user.begin(&start(&agent, "sh tests/check.sh", &["-n", "3", "--protect", "tests/"]));
        user.wait_for_file("work/began");
        let id = user.id();
        user.kill_all_of_ours(&id, running);
        let ran = user.run(&["resume", &id]).expect_code(3);
        assert!(ran.err().contains("the record of the protected files") && ran.err().contains(why), "{}", ran.text());
        assert!(ran.err().contains(&format!("hint: loop rollback {id} initial")), "{}", ran.text());
        user.run(&["rollback", &id, "initial"]).expect_code(0);
        assert_eq!(user.read("work/tests/check.sh"), "exit 1\n", "the hint helps");
    }
}

#[test]
fn a_record_for_clean_copies_that_was_removed_or_changed_ends_the_loop() {
    // req: RT-R11
    for (deed, why) in [("rm \"$B\"", "is missing"), ("echo >> \"$B\"", "is not the one that the loop wrote")] {
        let user = user();
        let agent = format!("B=$(echo {}/runs/*/judge-baseline); echo b >> a; {deed}", user.state().display());
        let ran = user.run(&start(&agent, "grep -q b a", &["-n", "2"])).expect_code(3);
        let words = "the record of ignored files and of settings in HOME before the first agent";
        assert!(ran.text().contains(words) && ran.text().contains(why), "{}", ran.text());
        assert!(!ran.out().contains("done: "), "{}", ran.text());
        let ran = user.run(&["resume", &user.id()]).expect_code(3);
        assert!(ran.err().contains(words) && ran.err().contains(why) && ran.err().contains("hint: "), "{}", ran.text());
    }
}

#[test]
fn a_checkpoint_of_the_start_that_was_moved_to_a_later_state_ends_the_loop() {
    // req: RT-R11
    let user = user();
    let state = user.state().display().to_string();
    let agent = format!(
        "echo b >> a; R=$(find {state} -path '*/refs/loop/*/initial'); N=$(dirname \"$R\")/iter-001; \
         [ ! -e \"$N\" ] || cp \"$N\" \"$R\""
    );
    let ran = user.run(&start(&agent, "[ \"$(grep -c b a)\" = 2 ]", &["-n", "3"])).expect_code(3);
    let why = "the checkpoint of the start is not the one that was recorded";
    assert!(ran.text().contains(why) && !ran.out().contains("done: "), "{}", ran.text());
}

#[test]
fn a_checkpoint_of_the_start_that_was_removed_ends_the_loop_at_once() {
    // req: RT-R11
    // In iteration 1 its measurement misses it, in iteration 2 the judgement does.
    for (wanted, why) in [(1, "checkpoint initial was removed from the store"), (2, "the checkpoint of the start")] {
        let user = user();
        let state = user.state().display().to_string();
        let agent = format!(
            "echo b >> a; [ \"$(grep -c b a)\" != {wanted} ] || rm \"$(find {state} -path '*/refs/loop/*/initial')\""
        );
        let promise = format!("[ \"$(grep -c b a)\" = {wanted} ]");
        let ran = user.run(&start(&agent, &promise, &["-n", "3"])).expect_code(3);
        assert!(ran.text().contains(why) && !ran.out().contains("done"), "{}", ran.text());
        assert!(!ran.text().contains("paused until"), "no wait helps: {}", ran.text());
    }
}

#[test]
fn a_removed_checkpoint_of_the_start_that_the_store_calls_not_kept_ends_the_loop_too() {
    // req: RT-R11
    let user = user();
    let state = user.state().display().to_string();
    // The list of what retention removed, forged: without `initial` neither a clean copy nor a probe could judge.
    let agent = format!(
        "echo b >> a; [ \"$(grep -c b a)\" = 2 ] || exit 0; R=$(find {state} -path '*/refs/loop/*/initial'); \
         S=${{R%/refs/loop/*}}; mkdir -p \"$S/not-kept\"; \
         echo '1 initial' > \"$S/not-kept/$(basename \"$(dirname \"$R\")\")\"; rm \"$R\""
    );
    let ran = user.run(&start(&agent, "[ \"$(grep -c b a)\" = 2 ]", &["-n", "3"])).expect_code(3);
    let why = "the checkpoint of the start was removed from the store while the loop ran";
    assert!(ran.text().contains(why) && !ran.out().contains("done"), "{}", ran.text());
}

#[test]
fn a_removed_ledger_lifts_no_limit_of_a_day_and_is_made_again_from_the_journals() {
    // req: RT-R13
    let user = user();
    let state = user.state().display().to_string();
    let agent = format!("echo call >> ../calls; echo b >> a; rm -f {state}/ledger.db*");
    let words = ["-n", "9", "--max-calls-per-day", "2"];
    let ran = user.run(&start(&agent, "grep -q zzz a", &words)).expect_code(3);
    assert!(ran.text().contains("ledger.db is missing"), "{}", ran.text());
    let honest = start("echo call >> ../calls; echo b >> a", "grep -q zzz a", &words);
    let ran = user.run(&honest).expect_code(3);
    assert!(ran.text().contains("ledger.db is missing") && ran.text().contains("--rebuild-ledger"), "{}", ran.text());
    assert_eq!(user.read("calls").lines().count(), 1, "nothing was called without a ledger");
    let ran = user.run(&["doctor"]).expect_code(4);
    assert!(ran.out().contains("ledger.db is missing") && ran.out().contains("--rebuild-ledger"), "{}", ran.text());
    let ran = user.run(&["doctor", "--rebuild-ledger"]).expect_code(0);
    assert_eq!(ran.out(), "the ledger has 1 call of 1 loop\n", "{}", ran.text());
    let ran = user.run(&honest).expect_code(1);
    assert!(ran.out().contains("have made 2 calls today"), "{}", ran.text());
    assert_eq!(user.read("calls").lines().count(), 2, "the limit counts what was called before");
    let ran = user.run(&["doctor", "--rebuild-ledger"]).expect_code(4);
    assert!(ran.err().contains("is as the journals say"), "{}", ran.text());
    // Another ledger in its place, with an id that no journal of today has.
    let other = crate::user();
    other.run(&start("true", "false", &["-n", "1", "--max-calls-per-day", "9"])).expect_code(1);
    fs::copy(other.state().join("ledger.db"), user.state().join("ledger.db")).unwrap();
    let ran = user.run(&honest).expect_code(3);
    assert!(ran.text().contains("is not the ledger that loop"), "{}", ran.text());
    let ran = user.run(&["doctor", "--rebuild-ledger"]).expect_code(0);
    assert!(ran.out().contains("2 calls of 2 loops") && ran.err().contains("is now"), "{}", ran.text());
    user.run(&honest).expect_code(1);
    assert_eq!(user.read("calls").lines().count(), 2);
}

/// A `claude` whose second call reports nothing; each other call costs $0.25.
pub(crate) const SILENT_ONCE: &str = r#"[ "$1" = --version ] && { echo '2.1.197 (Claude Code)'; exit 0; }
cat > /dev/null; echo x >> log
[ "$(wc -l < log)" = 2 ] && exit 1
echo '{"type":"result","subtype":"success","is_error":false,"result":"fine","total_cost_usd":0.25,"usage":{"input_tokens":10,"output_tokens":5}}'"#;

#[test]
fn a_ledger_made_again_has_the_calls_and_costs_of_today_also_of_loops_without_a_limit() {
    // req: RT-R13
    let user = user();
    user.program("claude", SILENT_ONCE);
    let words = |more: &[&'static str]| {
        let mut words =
            vec!["start", "do it", "-p", "test -e never", "--agent", "claude", "-n", "2", "--breaker", "off"];
        words.extend(more);
        words
    };
    user.run(&words(&[])).expect_code(1);
    user.run(&words(&["--max-calls-per-day", "9"])).expect_code(1);
    let day = || Ledger::open(&user.state()).unwrap().day(clock::now()).unwrap()["claude"];
    let before = day();
    assert_eq!((before.calls, before.untold), (4, 1), "{before:?}");
    for end in ["", "-wal", "-shm"] {
        fs::remove_file(user.state().join(format!("ledger.db{end}"))).ok();
    }
    user.run(&["doctor", "--rebuild-ledger"]).expect_code(0);
    assert_eq!(day(), before);
}

#[test]
fn the_first_fact_has_the_hash_of_the_approval_that_the_loop_relies_on() {
    let user = user();
    user.write("work/.loop.toml", "promise = \"true\"\n");
    user.run(&["start", "do it", "--agent-cmd", "true", "--approve"]).expect_code(0);
    let approval = user.read("home/.local/state/loop/approvals");
    let text = fs::read_to_string(journal(&user)).unwrap();
    assert!(text.contains(&format!("\"approval\":\"{}\"", approval.trim())), "{text}");
}
