//! Whether the ten-thousandth iteration costs what the tenth did.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use super::commands::{FLOOR, cost};
use super::scratch::{Running, Scratch};
use super::{Effort, Figure, median, proc};

/// Iterations between two looks.
const STRIDE: u32 = 50;
/// The first iterations warm caches up.
const WARM: u32 = 10;
/// So many at each end are compared.
const WINDOW: u32 = 500;
/// So many programs that do nothing are run at each look: both ends lie minutes apart, and the machine may have become
/// slower or faster meanwhile.
const FLOORS: usize = 3;
/// How much dearer the end may be. What grows with the run would be dearer by a multiple after ten thousand; the rest
/// is for what the floor does not show, such as a disk that others use.
const LIMIT: f64 = 1.25;

/// What the run had cost when it began an iteration.
#[derive(Debug, Clone, Copy)]
struct Look {
    iteration: u32,
    own_ms: f64,
    all_ms: f64,
    floor_ms: f64,
}

/// Which of the costs is compared.
type CostOf = fn(&Look) -> f64;

/// One long run, looked at from outside.
///
/// # Errors
/// When the run fails.
pub fn measure(scratch: &Scratch, effort: Effort) -> Result<Vec<Figure>> {
    let iterations = effort.pick(10_000, 1_000, 200);
    let stride = effort.pick(STRIDE, STRIDE, 10);
    let mut run = Running::begin(&mut scratch.start("true", iterations))?;
    let mut journal = Follower::open(&scratch.journal()?)?;
    let mut looks: Vec<Look> = Vec::new();
    while !run.has_ended()? {
        let iteration = journal.iteration()?;
        let due = looks.last().map_or(WARM, |last| last.iteration + stride);
        if iteration >= due {
            // Fails when the run has just ended.
            looks.extend(look(scratch, run.pid(), iteration).ok());
        }
        std::thread::sleep(Duration::from_millis(4));
    }
    run.end_exhausted()?;
    let window = WINDOW.min(iterations / 4);
    let note = format!("iterations {WARM} to {} against the last {window} of {iterations}", WARM + window);
    let ways: [(&'static str, CostOf); 2] = [("flat", |look| look.all_ms), ("flat-own", |look| look.own_ms)];
    let figures = ways.into_iter().map(|(name, way)| {
        let early = per_iteration(&looks, way, |iteration| iteration <= WARM + window);
        let late = per_iteration(&looks, way, |iteration| iteration + window >= iterations);
        let whose = if name == "flat" { "all processes" } else { "ours alone" };
        let note = format!("{whose}, {early:.2} and {late:.2} times {FLOOR}: {note}");
        Figure::once(name, late / early, "×", LIMIT).note(note)
    });
    Ok(figures.collect())
}

/// The median cost of an iteration over the strides whose two looks both lie inside, as a multiple of the floor there.
fn per_iteration(looks: &[Look], way: CostOf, inside: impl Fn(u32) -> bool) -> f64 {
    let strides = looks.windows(2).filter_map(|pair| match pair {
        [from, to] if inside(from.iteration) && inside(to.iteration) => {
            Some((way(to) - way(from)) / f64::from(to.iteration - from.iteration))
        }
        _ => None,
    });
    let floors = looks.iter().filter(|look| inside(look.iteration)).map(|look| look.floor_ms);
    median(&strides.collect::<Vec<f64>>()) / median(&floors.collect::<Vec<f64>>())
}

fn look(scratch: &Scratch, pid: u32, iteration: u32) -> Result<Look> {
    let mut own_ms = 0.0;
    let mut all = 0;
    for ours in proc::running(scratch.program()) {
        // One that is about to become the agent may be gone again; those that stay are there.
        own_ms += proc::on_processor_ms(ours).unwrap_or(0.0);
        all += proc::ticks(ours).map(|ticks| ticks.own + ticks.children).unwrap_or(0);
    }
    // Without this one the sum is of nothing.
    proc::ticks(pid)?;
    let floors: Result<Vec<f64>> = (0..FLOORS).map(|_| Ok(cost(&mut scratch.command(FLOOR), 0)?.cpu_ms)).collect();
    let all_ms = f64::from(u32::try_from(all)?) * proc::TICK_MS;
    Ok(Look { iteration, own_ms, all_ms, floor_ms: median(&floors?) })
}

/// Reads on in a journal that is being written.
struct Follower {
    file: File,
    rest: Vec<u8>,
    iteration: u32,
}

impl Follower {
    fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).context("no journal")?;
        Ok(Self { file, rest: Vec::new(), iteration: 0 })
    }

    /// The newest iteration that the agent was ordered for.
    fn iteration(&mut self) -> Result<u32> {
        self.file.read_to_end(&mut self.rest)?;
        let whole = self.rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let text = String::from_utf8_lossy(&self.rest[..whole]);
        let ordered = text.rsplit_once(r#""run_agent":{"iteration":"#);
        let number = ordered.and_then(|(_, rest)| rest.split(|sign: char| !sign.is_ascii_digit()).next()?.parse().ok());
        self.iteration = number.unwrap_or(self.iteration);
        self.rest.drain(..whole);
        Ok(self.iteration)
    }
}
