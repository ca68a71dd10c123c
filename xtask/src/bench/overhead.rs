//! The processor time that an iteration costs beside the agent and the promise themselves.

use anyhow::{Result, ensure};

use super::scratch::{Running, Scratch};
use super::{Effort, Figure, proc};

/// Iterations a round.
const ITERATIONS: u32 = 200;
/// An agent that does nothing.
const AGENT: &str = "true";
/// The same work by a shell that records and checks nothing.
const FLOOR: &str = r#"i=0; while [ $i -lt "$n" ]; do sh -c "$agent" <"$prompt"; sh -c "$promise"; i=$((i+1)); done"#;
/// What we may add to an iteration.
const LIMIT_MS: f64 = 1.1;

/// Runs and floors in turns.
///
/// # Errors
/// When one of them cannot be run.
pub fn measure(scratch: &Scratch, effort: Effort) -> Result<Vec<Figure>> {
    let mut added = Vec::new();
    let mut floors = Vec::new();
    for _ in 0..effort.pick(7, 2, 1) {
        let ours = cost_ms(|| Running::begin(&mut scratch.start(AGENT, ITERATIONS))?.end_exhausted())?;
        // What was not waited for is not in the sum either.
        scratch.nothing_left()?;
        let floor = cost_ms(|| run_floor(scratch))?;
        added.push(ours - floor);
        floors.push(floor);
    }
    let note = format!("CPU per iteration above a shell loop, which takes {:.2}", super::median(&floors));
    Ok(vec![Figure::of("overhead", &added, "ms", LIMIT_MS).note(note)])
}

fn run_floor(scratch: &Scratch) -> Result<()> {
    let mut command = scratch.command("sh");
    command.args(["-c", FLOOR]).env("n", ITERATIONS.to_string());
    command.env("agent", AGENT).env("promise", "false").env("prompt", scratch.path("prompt"));
    let status = Running::begin(&mut command)?.end()?;
    ensure!(status.success(), "the floor ended with {status}");
    Ok(())
}

/// What the descendants that are waited for cost an iteration. A tick is a twentieth of a millisecond here.
fn cost_ms(run: impl FnOnce() -> Result<()>) -> Result<f64> {
    let us = std::process::id();
    let before = proc::ticks(us)?.children;
    run()?;
    let ticks = proc::ticks(us)?.children - before;
    let ticks = u32::try_from(ticks)?;
    Ok(f64::from(ticks) * proc::TICK_MS / f64::from(ITERATIONS))
}
