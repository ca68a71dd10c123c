//! How often an iteration waits for the disk, counted by strace.

use std::fs;

use anyhow::{Context, Result};

use super::scratch::{Running, Scratch};
use super::{Effort, Figure};

/// Everything that waits until something is on the disk.
const SYNCS: &[&str] = &["fsync", "fdatasync", "syncfs", "sync", "msync", "sync_file_range"];
/// Iterations that are counted.
const ITERATIONS: u32 = 50;
/// Syncs an iteration.
const LIMIT: f64 = 3.0;

/// A run of many iterations against a run of one, so that start and end do not count.
///
/// # Errors
/// When strace is missing or a run fails.
pub fn measure(scratch: &Scratch, effort: Effort) -> Result<Vec<Figure>> {
    let one = count(scratch, 1)?;
    let iterations = effort.pick(ITERATIONS, ITERATIONS, 3);
    let many = count(scratch, 1 + iterations)?;
    let per_iteration = (f64::from(many) - f64::from(one)) / f64::from(iterations);
    let note = format!("per iteration, by strace; start and end take {}", f64::from(one) - per_iteration);
    Ok(vec![Figure::once("syncs", per_iteration, "", LIMIT).note(note)])
}

fn count(scratch: &Scratch, iterations: u32) -> Result<u32> {
    let log = scratch.path("syncs");
    let mut command = scratch.command("strace");
    command.args(["-f", "-qq", "-e", &format!("trace={}", SYNCS.join(",")), "-o"]).arg(&log).arg("--");
    command.arg(scratch.program()).args(Scratch::start_words("true", iterations));
    Running::begin(&mut command).context("strace is needed: ./check --install")?.end_exhausted()?;
    let text = fs::read_to_string(&log)?;
    // A call that was interrupted stands on two lines, and only the first has its name with a bracket.
    let is_sync = |line: &&str| SYNCS.iter().any(|name| line.contains(&format!(" {name}(")));
    Ok(u32::try_from(text.lines().filter(is_sync).count())?)
}
