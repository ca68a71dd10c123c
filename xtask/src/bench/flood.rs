//! What it costs to read what an agent or a gate writes without end, in short lines.
//!
//! The time of our own process on a processor: while it reads, the writer waits for it, and a busy machine does not
//! change it.

use anyhow::Result;

use super::commands::cost;
use super::scratch::Scratch;
use super::{Effort, Figure, median};

/// A hundred megabytes a second.
const LIMIT_MS: f64 = 10.0;

/// A run whose agent floods, and one whose promise does, each against the same run without.
///
/// # Errors
/// When a run fails.
pub fn measure(scratch: &Scratch, effort: Effort) -> Result<Vec<Figure>> {
    let (megabytes, rounds) = effort.pick((500, 7), (100, 3), (2, 1));
    let flood = format!("yes x | head -c {megabytes}000000");
    let mut figures = Vec::new();
    // A promise is run twice: before the first iteration, and after it.
    let ways = [("flood-agent", [flood.clone(), "false".into()], 1), ("flood-gate", ["true".into(), flood], 2)];
    for (name, [agent, promise], times) in ways {
        let mut each = Vec::new();
        for _ in 0..rounds {
            let with = cost_ms(scratch, &agent, &format!("{promise}; false"))?;
            let without = cost_ms(scratch, "true", "false")?;
            each.push((with - without) / f64::from(megabytes * times));
        }
        let speed = 1e3 / median(&each);
        let note = format!("for a megabyte of lines of 2 bytes: {speed:.0} MB a second");
        figures.push(Figure::of(name, &each, "ms", LIMIT_MS).note(note));
    }
    Ok(figures)
}

fn cost_ms(scratch: &Scratch, agent: &str, promise: &str) -> Result<f64> {
    let mut command = scratch.command(scratch.program());
    command.args(["start", "nothing", "--agent-cmd", agent, "--promise", promise, "--max-iterations", "1"]);
    command.args(["--checkpoint", "none", "--breaker", "off"]);
    Ok(cost(&mut command, 1)?.cpu_ms)
}
