//! `.harness/state.db` as another program sees it: the real `sqlite3` reads it while a loop works.
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use loop_testkit::TestEnv;

use crate::{start, user};

/// How many iterations the loop makes.
const ITERATIONS: u32 = 25;
/// Longer no read may take: the process starts, and nothing is waited for.
const READ_MAX: Duration = Duration::from_secs(5);

/// What `sqlite3` says to these statements. It waits for no lock: one that it met would be an error.
fn ask(env: &TestEnv, sql: &str) -> String {
    let began = Instant::now();
    let path = env.work().join(".harness/state.db");
    let out = Command::new("sqlite3").args(["-readonly", "-cmd", ".timeout 0"]).arg(path).arg(sql).output();
    let out = out.unwrap_or_else(|error| panic!("apt-get install -y sqlite3: {error}"));
    let (said, wrong) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(out.status.success() && wrong.is_empty(), "{sql}: {said}{wrong}");
    assert!(began.elapsed() < READ_MAX, "{sql}: {:?}", began.elapsed());
    said.trim_end().to_owned()
}

fn number(text: &str) -> u32 {
    text.parse().unwrap_or_else(|_| panic!("not a number: {text:?}"))
}

#[test]
fn sqlite3_reads_the_state_at_every_moment_of_a_run_and_it_is_there_again_after_it_was_deleted() {
    // req: A-22
    let env = user();
    let agent = "n=$(cat log 2>/dev/null | wc -l); echo line $n >> log; \
                 echo \"step $n of it\"; echo \"<progress>part $n is done</progress>\"";
    let promise = format!("test $(wc -l < log) = {ITERATIONS}");
    let more = ["--profile", "autonomous", "--min-iteration-duration", "none", "--no-recover", "--breaker", "off"];
    let running = env.begin(&start(agent, &promise, &more));
    env.wait_for_file("work/.harness/state.db");
    // A program that keeps the file open in a transaction does not hold the loop up.
    let mut other = Command::new("sqlite3");
    other.arg("-readonly").arg(env.work().join(".harness/state.db")).stdin(Stdio::piped()).stdout(Stdio::null());
    let mut other = other.spawn().unwrap();
    let mut keys = other.stdin.take().unwrap();
    std::io::Write::write_all(&mut keys, b"BEGIN; SELECT * FROM loop_state;\n").unwrap();
    let (mut reads, mut last, mut deleted) = (0, 0, false);
    loop {
        assert_eq!(ask(&env, "PRAGMA integrity_check"), "ok");
        let seen = ask(
            &env,
            "SELECT status, total_iterations, (SELECT COUNT(*) FROM loop_iterations), progress_summary IS NULL \
             FROM loop_state",
        );
        let [status, total, rows, without] = seen.split('|').collect::<Vec<_>>()[..] else { panic!("{seen}") };
        let rows = number(rows);
        assert!(rows >= last && number(total) >= rows, "{seen}, after {last}");
        assert_eq!(without == "1", rows == 0, "a summary is there from the first iteration on: {seen}");
        (reads, last) = (reads + 1, rows);
        if status != "running" {
            assert_eq!(status, "completed");
            break;
        }
        if !deleted && rows > 3 {
            std::fs::remove_dir_all(env.work().join(".harness")).unwrap();
            env.wait_for_file("work/.harness/state.db");
            deleted = true;
        }
    }
    running.end().expect_code(0);
    drop(keys);
    other.wait().unwrap();
    assert!(deleted && reads > 5, "{reads} reads");
    assert_eq!(ask(&env, "SELECT COUNT(*), MAX(iteration_number) FROM loop_iterations"), "25|25");
    let summary = ask(&env, "SELECT progress_summary FROM loop_state");
    for words in ["### Iteration 25\n- CLI: custom", "- Markers: part 24 is done", "- Output snippet: step 24 of it"] {
        assert!(summary.contains(words), "{words}: {summary}");
    }
    assert!(summary.len() <= 4 * 2_000 + 100, "{} bytes: at most about 2,000 tokens", summary.len());
}
