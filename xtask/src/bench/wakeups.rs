//! How often our processes wake while the agent works and says nothing.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::scratch::{Running, Scratch, wait_until};
use super::{Effort, Figure, proc};

/// After this long an agent's start is written down and shown.
const SETTLED: Duration = Duration::from_millis(800);

/// When we count.
struct Window {
    length: Duration,
    /// From one wake-up on: what wakes each second then wakes four times in 4.5 s, wherever the first one falls.
    from_a_wake: bool,
}

/// Without a terminal and on one.
///
/// # Errors
/// When a run fails, or `script` is missing.
pub fn measure(scratch: &Scratch, _effort: Effort) -> Result<Vec<Figure>> {
    let mut command = scratch.start(&agent(scratch, "began-plain", 4), 1);
    let count =
        count(scratch, &mut command, "began-plain", Window { length: Duration::from_secs(2), from_a_wake: false })?;
    let plain = Figure::once("wakeups", f64::from(count), "", 0.0).note("in 2 s without output, not on a terminal");

    let length = Duration::from_millis(4500);
    let mut command = scratch.command("script");
    let words = Scratch::start_words(&agent(scratch, "began-screen", 9), 1);
    let line: Vec<String> = std::iter::once(scratch.program().display().to_string()).chain(words).map(quoted).collect();
    command.args(["-qec", &line.join(" "), "/dev/null"]);
    let count = self::count(scratch, &mut command, "began-screen", Window { length, from_a_wake: true });
    let count = count.context("script is needed: ./check --install")?;
    let rate = f64::from(count) / length.as_secs_f64();
    let screen = Figure::once("wakeups-terminal", rate, "/s", 1.0).note(format!("{count} in 4.5 s on a terminal"));
    Ok(vec![plain, screen])
}

/// An agent that says by a file that it has begun, and then sleeps.
fn agent(scratch: &Scratch, mark: &str, seconds: u32) -> String {
    format!("touch {}; exec sleep {seconds}", quoted(scratch.path(mark).display().to_string()))
}

fn quoted(word: String) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Wake-ups of all our processes in a while of silence.
fn count(scratch: &Scratch, command: &mut Command, mark: &str, window: Window) -> Result<u32> {
    let run = Running::begin(command)?;
    let mark = scratch.path(mark);
    wait_until("the agent", || mark.exists())?;
    fs::remove_file(&mark)?;
    std::thread::sleep(SETTLED);
    let mut before = sleeps(scratch);
    let begun = Instant::now();
    let first = before.clone();
    while window.from_a_wake && before == first && begun.elapsed() < Duration::from_millis(1200) {
        std::thread::sleep(Duration::from_millis(5));
        before = sleeps(scratch);
    }
    std::thread::sleep(window.length);
    let after = sleeps(scratch);
    run.end()?;
    // One that came meanwhile counts from its beginning.
    let woken = after.iter().map(|(pid, count)| count - before.get(pid).copied().unwrap_or(0));
    Ok(u32::try_from(woken.sum::<u64>())?)
}

fn sleeps(scratch: &Scratch) -> BTreeMap<u32, u64> {
    proc::running(scratch.program()).into_iter().map(|pid| (pid, proc::sleeps(pid))).collect()
}
