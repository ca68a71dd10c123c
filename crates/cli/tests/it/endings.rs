//! Every iteration ends: agents that stop, hide, hold on or never stop talking cost their time limit and no more.
//!
//! CI takes 40 runs, `ENDINGS=all` 200, `ENDINGS=floods` those of one agent.
use std::collections::BTreeMap;
use std::fs::File;
use std::time::{Duration, Instant};

use loop_testkit::{Escapees, ODD_AGENTS, TestEnv, escape_agents, for_all, wait_at_most};

/// A run that takes longer hangs: a second for the agent, five to end, and much for a busy machine.
const HANGS_AFTER: Duration = Duration::from_secs(30);
/// Nearly the largest prompt that is taken; no pipe holds so much.
const PROMPT_BYTES: usize = 1_000_000;

/// How one run went: how long it took, or what is wrong with it.
fn play(number: usize, name: &str, outcome: &str) -> Result<Duration, String> {
    let user = crate::user();
    let tag = format!("{}-{number}-{name}", std::process::id());
    user.write("prompt", &"all of this is to be done\n".repeat(PROMPT_BYTES / 26));
    let prompt = user.root().join("prompt").display().to_string();
    let agent = format!("ZOO_TAG={tag} exec {} odd {name}", escape_agents(env!("CARGO_BIN_EXE_loop")).display());
    let mut words = vec!["start", "--promise", "false", "--agent-cmd", &agent, "--timeout", "1s", "-n", "1"];
    if ["never-reads", "ends-unread", "reads-for-ever"].contains(&name) {
        words.extend(["--prompt-file", &prompt]);
    } else {
        words.push("do it");
    }
    let mut command = user.command(&words);
    let said = File::create(user.root().join("said")).unwrap();
    command.stdout(said.try_clone().unwrap()).stderr(said);
    let began = Instant::now();
    let mut harness = command.spawn().unwrap();
    let ended = wait_at_most(HANGS_AFTER, || harness.try_wait().is_ok_and(|status| status.is_some()));
    let took = began.elapsed();
    harness.kill().ok();
    let code = harness.wait().unwrap().code();
    let escapees = Escapees { tag: &tag, folder: user.root() };
    let left = escapees.alive().len();
    escapees.end();
    if !ended {
        return Err(format!("it hangs: {}", user.read("said")));
    }
    if left > 0 {
        return Err(format!("{left} left running"));
    }
    ended_rightly(&user, code, outcome).map(|()| took)
}

fn ended_rightly(user: &TestEnv, code: Option<i32>, outcome: &str) -> Result<(), String> {
    if user.ids().len() != 1 {
        return Err(format!("no run: {}", user.read("said")));
    }
    let history = user.run(&["history", &user.id(), "--json"]).json();
    let iterations = history["iterations"].as_array().map_or(0, Vec::len);
    let found = history["iterations"][0]["outcome"].as_str().unwrap_or_default();
    if (code, iterations, found) == (Some(1), 1, outcome) {
        return Ok(());
    }
    Err(format!("exit {code:?}, {iterations} iterations, {found} and not {outcome}: {}", user.read("said")))
}

#[test]
#[expect(clippy::print_stdout, reason = "the table is part of the result")]
fn every_iteration_ends_with_the_right_outcome_whatever_the_agent_does() {
    // req: D-15 partly: without background, which comes with loopd
    let wanted = std::env::var("ENDINGS").unwrap_or_default();
    let count = if wanted == "all" { 200 } else { 40 };
    let is_taken = |name: &str| wanted.is_empty() || wanted == "all" || wanted == name;
    let odd: Vec<_> = ODD_AGENTS.iter().filter(|(name, _)| is_taken(name)).collect();
    let runs: Vec<_> = odd.iter().cycle().take(count).enumerate().collect();
    let ends = for_all(&runs, |(number, (name, outcome))| play(*number, name, outcome));
    let mut slowest = BTreeMap::new();
    let mut faults = Vec::new();
    for ((_, (name, outcome)), end) in runs.iter().zip(ends) {
        match end {
            Ok(took) => {
                let (runs, longest) = slowest.entry((name, outcome)).or_insert((0, Duration::ZERO));
                (*runs, *longest) = (*runs + 1, took.max(*longest));
            }
            Err(what) => faults.push(format!("ENDINGS={name}: {what}")),
        }
    }
    println!("| agent | outcome | runs | longest |\n|---|---|---|---|");
    for ((name, outcome), (runs, longest)) in slowest {
        println!("| {name} | {outcome} | {runs} | {:.1} s |", longest.as_secs_f32());
    }
    println!("\n{} runs, {} failed", runs.len(), faults.len());
    assert!(faults.is_empty(), "{} of {} runs:\n{}", faults.len(), runs.len(), faults.join("\n"));
}
