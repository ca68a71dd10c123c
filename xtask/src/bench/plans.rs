//! What a plan costs beside its runs: a workflow of trivial loops against the same loops started alone, in turns.

use std::fs;
use std::time::Instant;

use anyhow::{Result, ensure};

use super::scratch::{Running, Scratch};
use super::{Effort, Figure, median};

/// An agent that makes its promise hold at once.
const AGENT: &str = "touch \"$(grep -o 'done-[0-9][0-9]*' | head -n 1)\"";
/// What a plan may cost against the runs alone.
const LIMIT: f64 = 1.3;

/// Plans and single runs in turns.
///
/// # Errors
/// When one of them cannot be run.
pub fn measure(scratch: &Scratch, effort: Effort) -> Result<Vec<Figure>> {
    let (loops, rounds) = effort.pick((20, 5), (20, 1), (2, 1));
    let file = scratch.path("plan.yaml");
    let entry = |number: u32| {
        format!("  - {{id: n{number}, prompt: \"make done-{number}\", promise: \"test -e done-{number}\"}}\n")
    };
    fs::write(&file, format!("loops:\n{}", (100..100 + loops).map(entry).collect::<String>()))?;
    let (mut ratios, mut plans, mut alone) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        let runs_s = timed(scratch, || (100..100 + loops).try_for_each(|number| start(scratch, number)))?;
        let plan_s = timed(scratch, || {
            let mut command = scratch.command(scratch.program());
            command.args(["workflow", "run"]).arg(&file).args(["--parallel", "1"]).args(common());
            succeeds(Running::begin(&mut command)?)
        })?;
        ratios.push(plan_s / runs_s);
        plans.push(plan_s);
        alone.push(runs_s);
    }
    let note = format!(
        "{loops} loops of one iteration, one at a time: {:.1} s as a workflow, {:.1} s alone, with checkpoints",
        median(&plans),
        median(&alone)
    );
    Ok(vec![Figure::of("plan-runs", &ratios, "×", LIMIT).note(note)])
}

/// What both sides have. The gates are judged where the agent works: a clean copy costs both the same.
fn common() -> Vec<&'static str> {
    vec!["--agent-cmd", AGENT, "--judge", "workspace", "--strength", "off", "--allow-any-workspace"]
}

fn start(scratch: &Scratch, number: u32) -> Result<()> {
    let mut command = scratch.command(scratch.program());
    command
        .args(["start", &format!("make done-{number}"), "--promise", &format!("test -e done-{number}")])
        .args(common());
    succeeds(Running::begin(&mut command)?)
}

fn succeeds(running: Running) -> Result<()> {
    let status = running.end()?;
    ensure!(status.success(), "loop ended with {status}");
    Ok(())
}

/// The seconds that it takes in a workspace where nothing is done yet.
fn timed(scratch: &Scratch, run: impl FnOnce() -> Result<()>) -> Result<f64> {
    for entry in fs::read_dir(scratch.path("work"))? {
        fs::remove_file(entry?.path())?;
    }
    let begun = Instant::now();
    run()?;
    Ok(begun.elapsed().as_secs_f64())
}
