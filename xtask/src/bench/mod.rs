//! `cargo xtask bench`: what the harness itself costs, against limits that are written down.
//!
//! Never a test: a busy machine makes a figure wrong, not the code. So everything is a ratio or a difference to a
//! floor that is measured in the same minute, in turns with ours, and the median counts.
//!
//! - [`effort`]: how much is measured, and how the programs for it are built
//! - [`figure`]: a measured value with its limit, and the table of them
//! - [`scratch`]: a user with nothing, the program under test, and commands of both
//! - [`stored_runs`]: many runs on disk in little time
//! - [`proc`]: what the kernel counted for a process, read from `/proc`
//! - one file a measurement: [`overhead`], [`syncs`], [`commands`], [`memory`], [`wakeups`], [`flat`],
//!   [`checkpoint`], [`btrfs`], [`parser`], [`similarity`], [`judge`], [`size`], [`flood`], [`copies`],
//!   [`plans`]

pub mod btrfs;
pub mod checkpoint;
pub mod commands;
pub mod copies;
pub mod effort;
pub mod figure;
pub mod flat;
pub mod flood;
pub mod judge;
pub mod memory;
pub mod overhead;
pub mod parser;
pub mod plans;
pub mod proc;
pub mod scratch;
pub mod similarity;
pub mod size;
pub mod stored_runs;
pub mod syncs;
pub mod wakeups;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

pub use effort::{Effort, Program};
pub use figure::Figure;
use scratch::Scratch;

/// One measurement, which may give several figures.
type Measure = fn(&Scratch, Effort) -> Result<Vec<Figure>>;

/// All measurements by the name that `--only` takes, the shortest first.
const MEASURES: &[(&str, Measure)] = &[
    ("size", size::measure),
    ("syncs", syncs::measure),
    ("help", commands::help),
    ("wakeups", wakeups::measure),
    ("memory", memory::measure),
    ("overhead", overhead::measure),
    ("flood", flood::measure),
    ("status", commands::status),
    ("flat", flat::measure),
    ("checkpoint", checkpoint::measure),
    ("btrfs", btrfs::measure),
    ("parser", parser::measure),
    ("similarity", similarity::measure),
    ("watched", judge::watched),
    ("judge", judge::measure),
    ("plans", plans::measure),
    ("copies", copies::measure),
];

/// What is measured.
const LOOP: Program = Program { package: "loop-cli", kind: "--bin", name: "loop" };

/// What was asked for.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// JSON instead of a table.
    pub json: bool,
    /// How much is measured.
    pub effort: Effort,
    /// Only these measurements; all if empty.
    pub only: Vec<String>,
    /// Another binary than the one of this workspace.
    pub program: Option<PathBuf>,
}

impl Options {
    /// Reads the words behind `bench`.
    ///
    /// # Errors
    /// When a word means nothing, or names a measurement that is not there.
    pub fn read(words: &[&str]) -> Result<Self> {
        let mut options = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--json" => options.json = true,
                "--quick" => options.effort = Effort::Quick,
                "--smoke" => options.effort = Effort::Smoke,
                "--only" => options.only.push(known(words.next())?),
                "--loop" => options.program = Some(words.next().context("--loop needs a path")?.into()),
                _ => bail!(
                    "`{word}` means nothing to bench; there are --json, --quick, --smoke, --only NAME, --loop PATH"
                ),
            }
        }
        Ok(options)
    }
}

fn known(name: Option<&&str>) -> Result<String> {
    let names = || MEASURES.iter().map(|(name, _)| *name);
    match name {
        Some(name) if names().any(|known| known == *name) => Ok((*name).to_owned()),
        Some(_) | None => bail!("--only takes one of: {}", names().collect::<Vec<_>>().join(", ")),
    }
}

/// Measures what was asked for. `say` hears what is under way: this takes minutes.
///
/// # Errors
/// When the program cannot be built or run, or the machine lacks something; never because a limit is missed.
pub fn run(options: &Options, say: &dyn Fn(&str)) -> Result<Vec<Figure>> {
    let program = match &options.program {
        Some(program) => program.clone(),
        None => {
            say("building loop");
            LOOP.build(options.effort)?
        }
    };
    let mut figures = Vec::new();
    for (name, measure) in MEASURES {
        if options.only.is_empty() || options.only.iter().any(|only| only == name) {
            say(&format!("measuring {name}"));
            // A home of its own for each, so that no measurement sees what an earlier one left.
            let scratch = Scratch::new(&program)?;
            figures.extend(measure(&scratch, options.effort).with_context(|| format!("cannot measure {name}"))?);
            scratch.nothing_left()?;
        }
    }
    Ok(figures)
}

/// The middle of some values; not a number if there are none.
#[must_use]
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match (sorted.get(middle), sorted.len() % 2) {
        (None, _) => f64::NAN,
        (Some(high), 1) => *high,
        (Some(high), _) => f64::midpoint(sorted[middle - 1], *high),
    }
}
