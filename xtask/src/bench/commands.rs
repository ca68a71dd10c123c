//! What it costs to ask: `loop --help` and `loop status`, against a program that does nothing.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use super::scratch::{Running, Scratch};
use super::stored_runs::{Changed, copy_run};
use super::{Effort, Figure, median, proc};

/// The least that starting a program costs.
pub(super) const FLOOR: &str = "/bin/true";

/// So many runs are real ones; the others are copies of them.
const REAL_RUNS: usize = 20;

/// What one command took.
pub(super) struct Cost {
    pub(super) cpu_ms: f64,
    wall_ms: f64,
}

/// `loop --help`.
///
/// # Errors
/// When it cannot be run.
pub fn help(scratch: &Scratch, effort: Effort) -> Result<Vec<Figure>> {
    let pairs = effort.pick(200, 50, 5);
    compare(scratch, &["--help"], pairs, ["help-cpu", "help-wall"], 2.0)
}

/// `loop status` after many runs of today: such that are shown line by line, and such that ended two hours ago.
///
/// # Errors
/// When the runs cannot be made.
pub fn status(scratch: &Scratch, effort: Effort) -> Result<Vec<Figure>> {
    let (runs, pairs) = effort.pick((1000, 200), (100, 50), (5, 5));
    for _ in 0..REAL_RUNS.min(runs) {
        let words = ["start", "nothing", "--agent-cmd", "true", "--promise", "true", "--quiet"];
        let status = Running::begin(scratch.command(scratch.program()).args(words))?.end()?;
        ensure!(status.success(), "a start whose promise holds ended with {status}");
    }
    let folder = scratch.path("home/loop/runs");
    let real = run_folders(&folder)?;
    for number in real.len()..runs {
        let id = format!("c{number:05}0");
        copy_run(&real[number % real.len()], Changed { id: &id, earlier_ms: 0 })?;
    }
    let names = ["status-shown-cpu", "status-shown-wall"];
    check_count(scratch, runs)?;
    let mut figures = noted(compare(scratch, &["status"], pairs, names, 8.0)?, runs, "lately, each a line");
    for run in run_folders(&folder)? {
        let id = run.file_name().and_then(|name| name.to_str()).context("an odd folder of a run")?;
        copy_run(&run, Changed { id, earlier_ms: 2 * 3600 * 1000 })?;
    }
    // As long as before, so that the index would believe what it knows. The first call makes it again.
    fs::remove_file(scratch.path("home/loop/index.db"))?;
    check_count(scratch, runs)?;
    let names = ["status-cpu", "status-wall"];
    figures.extend(noted(compare(scratch, &["status"], pairs, names, 8.0)?, runs, "two hours ago"));
    Ok(figures)
}

/// The folders of all runs.
fn run_folders(folder: &Path) -> Result<Vec<PathBuf>> {
    let paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    Ok(paths.collect::<Result<Vec<PathBuf>>>()?.into_iter().filter(|path| path.is_dir()).collect())
}

/// Fails where the program does not see all runs as completed: a copy that it takes for damaged costs something else.
fn check_count(scratch: &Scratch, runs: usize) -> Result<()> {
    let mut command = scratch.command(scratch.program());
    let output = command.args(["list", "--json", "--limit", "100000"]).stdout(Stdio::piped()).output()?;
    let listed: serde_json::Value = serde_json::from_slice(&output.stdout).context("no list of runs")?;
    let rows = listed.as_array().or_else(|| listed["loops"].as_array()).context("no list of runs")?;
    let completed = rows.iter().filter(|row| row["status"] == "completed").count();
    ensure!(completed == runs, "{completed} of {runs} runs are completed");
    Ok(())
}

/// Says how many runs there were and when they ended.
fn noted(figures: Vec<Figure>, runs: usize, when: &str) -> Vec<Figure> {
    let with_runs = |figure: Figure| {
        let note = format!("{}; {runs} runs that ended {when}", figure.note);
        figure.note(note)
    };
    figures.into_iter().map(with_runs).collect()
}

/// Ours and the floor in turns: how many times as much.
fn compare(
    scratch: &Scratch,
    words: &[&str],
    pairs: usize,
    names: [&'static str; 2],
    limit: f64,
) -> Result<Vec<Figure>> {
    // Once without counting: files in the cache, and an index that is up to date, as for everybody but the first.
    cost(scratch.command(scratch.program()).args(words), 0)?;
    let mut ours = Vec::new();
    let mut floor = Vec::new();
    for _ in 0..pairs {
        ours.push(cost(scratch.command(scratch.program()).args(words), 0)?);
        floor.push(cost(&mut scratch.command(FLOOR), 0)?);
    }
    let ways: [fn(&Cost) -> f64; 2] = [|cost| cost.cpu_ms, |cost| cost.wall_ms];
    let figures = names.into_iter().zip(ways).map(|(name, way)| {
        let ratios: Vec<f64> = ours.iter().zip(&floor).map(|(ours, floor)| way(ours) / way(floor)).collect();
        let middle = |costs: &[Cost]| median(&costs.iter().map(way).collect::<Vec<f64>>());
        let (ours, floor) = (middle(&ours), middle(&floor));
        let note = format!("{ours:.2} ms against {floor:.2} ms of {FLOOR}, medians of {pairs}");
        // A quotient of medians: one of single runs would take the noise of both.
        Figure { value: ours / floor, ..Figure::of(name, &quarters(ratios), "×", limit) }.note(note)
    });
    Ok(figures.collect())
}

/// The middle half: of hundreds of single runs, the outermost say what else the machine did.
fn quarters(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    let quarter = values.len() / 4;
    values[quarter..values.len() - quarter].to_vec()
}

/// Runs a command that ends with this code; without what it starts. Its time is read between its end and being waited for, exact to the
/// nanosecond; the sum over children is not, and lasts for hundredths of a second.
pub(super) fn cost(command: &mut Command, code: i32) -> Result<Cost> {
    let begun = Instant::now();
    let mut child = command.stdout(Stdio::piped()).spawn().context("cannot run a command")?;
    let mut told = Vec::new();
    child.stdout.take().context("no pipe")?.read_to_end(&mut told)?;
    let wall_ms = begun.elapsed().as_secs_f64() * 1e3;
    while !proc::is_dead(child.id())? {
        std::hint::spin_loop();
    }
    let cpu_ms = proc::on_processor_ms(child.id())?;
    let status = child.wait()?;
    ensure!(status.code() == Some(code), "a command ended with {status}");
    Ok(Cost { cpu_ms, wall_ms })
}
