//! The most memory that our processes of one run have together, what they share counted once.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::Result;

use super::scratch::{Running, Scratch};
use super::{Effort, Figure, proc};

/// Iterations of the run.
const ITERATIONS: u32 = 200;
/// Long enough that whatever stands beside an agent while it works is seen.
const AGENT: &str = "sleep 0.02";
/// How often we look.
const LOOK_EVERY: Duration = Duration::from_millis(4);
/// Megabytes together.
const LIMIT_MB: f64 = 12.0;

/// Looks at all processes of the program again and again, and keeps the greatest sum.
///
/// # Errors
/// When the run fails.
pub fn measure(scratch: &Scratch, effort: Effort) -> Result<Vec<Figure>> {
    let mut run = Running::begin(&mut scratch.start(AGENT, effort.pick(ITERATIONS, 50, 10)))?;
    let mut before = BTreeSet::new();
    let mut peak_kb = 0;
    let mut most = 0;
    while !run.has_ended()? {
        let seen: BTreeSet<u32> = proc::running(scratch.program()).into_iter().collect();
        // One that is there only for a moment is a child that has not become the agent yet.
        let staying: Vec<u32> = seen.intersection(&before).copied().collect();
        peak_kb = peak_kb.max(staying.iter().map(|pid| proc::proportional_kb(*pid)).sum::<u64>());
        most = most.max(staying.len());
        before = seen;
        std::thread::sleep(LOOK_EVERY);
    }
    run.end_exhausted()?;
    let value = f64::from(u32::try_from(peak_kb)?) * 1024.0 / 1e6;
    Ok(vec![
        Figure::once("memory", value, "MB", LIMIT_MB)
            .note(format!("peak proportional set size, {most} processes at once")),
    ])
}
