//! What it takes to judge a pass again in a clean copy, by the size of the project and of its dependencies, and what
//! it costs to watch which files a gate opens. Judging is measured in processor time, which a busy machine hardly
//! changes; the time on the wall stands beside it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::scratch::{Running, Scratch};
use super::{Effort, Figure, median, proc};

/// Where a machine has a file system in memory.
const MEMORY: &str = "/dev/shm";
/// What a copy may cost: so much, and so many times what plain tools cost for the same files.
const BASE_MS: f64 = 1_000.0;
const TIMES: f64 = 6.0;
/// What a watched gate may take, compared with the same gate that is not watched.
const WATCHED_LIMIT: f64 = 1.3;
/// A gate of this many processes.
const FORKS: u32 = 1_200;

/// One project: files, ignored files, and the names of its figures on a disk and in memory.
struct Size {
    files: u32,
    ignored: u32,
    names: [&'static str; 2],
}

const SIZES: &[Size] = &[
    Size { files: 100, ignored: 0, names: ["judge-100", "judge-100-tmpfs"] },
    Size { files: 100, ignored: 40_000, names: ["judge-100-deps", "judge-100-deps-tmpfs"] },
    Size { files: 10_000, ignored: 0, names: ["judge-10k", "judge-10k-tmpfs"] },
    Size { files: 10_000, ignored: 40_000, names: ["judge-10k-deps", "judge-10k-deps-tmpfs"] },
    Size { files: 100_000, ignored: 0, names: ["judge-100k", "judge-100k-tmpfs"] },
    Size { files: 100_000, ignored: 40_000, names: ["judge-100k-deps", "judge-100k-deps-tmpfs"] },
];

/// A loop that is done after one iteration: what one clean copy took, without its gate.
///
/// # Errors
/// When a loop does not end as it should.
pub fn measure(scratch: &Scratch, effort: Effort) -> Result<Vec<Figure>> {
    let sizes = effort.pick(SIZES, SIZES.get(..4).unwrap_or(SIZES), SIZES.get(..2).unwrap_or(SIZES));
    let memory = Path::new(MEMORY).join(format!("loop-bench-{}", std::process::id()));
    let mut figures = Vec::new();
    for size in sizes {
        // Small for a smoke test, but more than are copied one by one.
        let ignored = effort.pick(size.ignored, size.ignored, size.ignored.min(400));
        let disk = scratch.path("tmp").join("judge");
        let places = [(size.names[0], disk), (size.names[1], memory.clone())];
        for (name, folder) in places {
            if folder.starts_with(MEMORY) && !Path::new(MEMORY).is_dir() {
                continue;
            }
            let figure = judged(scratch, &folder, size.files, ignored, name);
            fs::remove_dir_all(&folder).ok();
            figures.push(figure?);
        }
    }
    Ok(figures)
}

fn judged(scratch: &Scratch, folder: &Path, files: u32, ignored: u32, name: &'static str) -> Result<Figure> {
    let work = folder.join("work");
    write_files(&work.join("src"), files)?;
    write_files(&work.join("node_modules"), ignored)?;
    fs::write(work.join(".gitignore"), "node_modules/\n")?;
    fs::write(work.join("work.txt"), "to do\n")?;
    // The same loop with and without a clean copy: the difference is what judging costs.
    let without = cpu_ms(|| run_loop(scratch, &work, &folder.join("without"), "workspace"))?;
    fs::write(work.join("work.txt"), "to do\n")?;
    let with = cpu_ms(|| run_loop(scratch, &work, &folder.join("with"), "auto"))?;
    let facts = journal(&folder.join("with"))?;
    let mut reports = facts.iter().map(|fact| &fact["fact"]["happened"]["event"]["answered"]["answer"]["judged"]);
    let report = reports.find(|report| report.is_object()).context("it was not judged in a copy")?;
    let gate = report["gates"][0]["report"]["duration_ms"].as_f64().context("no gate was run")?;
    let place = report["place"].as_str().unwrap_or("nowhere");
    let wall = report["duration_ms"].as_f64().context("no duration")? - gate;
    let begun = Instant::now();
    let floor = cpu_ms(|| {
        plain(Command::new("cp").arg("-r").arg(work.join("src")).arg(folder.join("copy")))?;
        plain(Command::new("find").arg(&work).args(["-size", "+1000k"]))?;
        plain(Command::new("rm").arg("-rf").arg(folder.join("copy")))
    })?;
    let floor_wall = begun.elapsed().as_secs_f64() * 1e3;
    let note = format!(
        "CPU; {files} files, {ignored} ignored; {place}; wall {wall:.0} ms; cp, find and rm of the same: CPU {floor:.0}, \
         wall {floor_wall:.0} ms; load {}",
        load()
    );
    Ok(Figure::once(name, with - without, "ms", BASE_MS + TIMES * floor).note(note))
}

fn run_loop(scratch: &Scratch, work: &Path, home: &Path, judge: &str) -> Result<()> {
    let mut command = scratch.command(scratch.program());
    command.env("LOOP_HOME", home).current_dir(work);
    command.args(["start", "nothing", "--agent-cmd", "echo done > work.txt", "--promise", "grep -q done work.txt"]);
    command.args(["--max-iterations", "1", "--strength", "off", "--judge", judge]);
    let status = Running::begin(&mut command)?.end()?;
    ensure!(status.success(), "a loop that is done ended with {status}");
    scratch.nothing_left()
}

/// The processor time of all that is waited for meanwhile.
fn cpu_ms(run: impl FnOnce() -> Result<()>) -> Result<f64> {
    let us = std::process::id();
    let before = proc::ticks(us)?.children;
    run()?;
    Ok(f64::from(u32::try_from(proc::ticks(us)?.children - before)?) * proc::TICK_MS)
}

/// Files of a kilobyte, a hundred a folder.
fn write_files(folder: &Path, count: u32) -> Result<()> {
    fs::create_dir_all(folder)?;
    for number in 0..count {
        let below = folder.join(format!("d{}", number / 100));
        if number % 100 == 0 {
            fs::create_dir(&below)?;
        }
        fs::write(below.join(format!("f{number}")), format!("{number}\n").repeat(1_000 / 6))?;
    }
    Ok(())
}

fn plain(command: &mut Command) -> Result<()> {
    let status = command.stdout(std::process::Stdio::null()).status().context("cannot run a tool")?;
    ensure!(status.success(), "a tool ended with {status}");
    Ok(())
}

/// The facts of the one run in a state folder.
fn journal(home: &Path) -> Result<Vec<Value>> {
    let runs = fs::read_dir(home.join("runs"))?.flatten().map(|entry| entry.path().join("journal.jsonl"));
    let newest: PathBuf = runs.filter(|path| path.is_file()).max().context("no journal")?;
    Ok(fs::read_to_string(newest)?.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
}

fn load() -> String {
    fs::read_to_string("/proc/loadavg").unwrap_or_default().split_whitespace().next().unwrap_or("?").to_owned()
}

/// The baseline, which is watched, against the same gate after iteration 1, which is not. Another gate runs before it:
/// the first process of a run takes longer to start, watched or not, because the shim is started with it.
///
/// # Errors
/// When a loop cannot be run.
pub fn watched(scratch: &Scratch, effort: Effort) -> Result<Vec<Figure>> {
    let files = effort.pick(5_000, 2_000, 20);
    let forks = effort.pick(FORKS, FORKS, 5);
    write_files(&scratch.path("work").join("src"), files)?;
    let forking = format!("i=0; while [ $i -lt {forks} ]; do /bin/true; i=$((i+1)); done; false");
    let reading = "find src -type f -exec cat {} + > /dev/null; false".to_owned();
    let rounds = effort.pick(5, 3, 1);
    let mut figures = Vec::new();
    let gates =
        [("watched-forks", forking, format!("{forks} forks")), ("watched-reads", reading, format!("{files} files"))];
    for (name, gate, what) in gates {
        let (mut ratios, mut first, mut later) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rounds {
            let (watched, plain) = gate_times(scratch, &gate)?;
            ratios.push(watched / plain);
            first.push(watched);
            later.push(plain);
        }
        let note = format!(
            "{what}: {:.0} ms watched, {:.0} ms not, medians of {rounds}; load {}",
            median(&first),
            median(&later),
            load()
        );
        figures.push(Figure::of(name, &ratios, "×", WATCHED_LIMIT).note(note));
    }
    Ok(figures)
}

/// What the gate took at the baseline and after iteration 1, from its order to its answer.
fn gate_times(scratch: &Scratch, gate: &str) -> Result<(f64, f64)> {
    let home = scratch.path("home/loop");
    fs::remove_dir_all(home.join("runs")).ok();
    let mut command = scratch.command(scratch.program());
    command.args(["start", "nothing", "--agent-cmd", "true", "--promise", "true", "--max-iterations", "1"]);
    command.args(["--gate", &format!("measured={gate}")]);
    Running::begin(&mut command)?.end_exhausted()?;
    let facts = journal(&home)?;
    let mut times = Vec::new();
    for fact in &facts {
        let order = &fact["fact"]["ordered"];
        if order["order"]["run_gate"]["gate"] != 1 {
            continue;
        }
        let is_answer = |other: &&Value| other["fact"]["happened"]["event"]["answered"]["order"] == order["id"];
        let answer = facts.iter().find(is_answer).context("a gate without an answer")?;
        let boot = |fact: &Value| fact["at"]["boot"].as_f64().context("a fact without a time");
        times.push(boot(answer)? - boot(fact)?);
    }
    let (Some(first), Some(last)) = (times.first(), times.get(1)) else { anyhow::bail!("the gate was not run twice") };
    Ok((first.max(1.0), last.max(1.0)))
}
