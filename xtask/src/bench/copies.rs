//! What the copies of branches cost against `git worktree add`, in turns in one process.

use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::scratch::Scratch;
use super::{Effort, Figure, Program, median};

/// The program that measures: of the host crate, so that it is built as users get it.
const PROGRAM: Program = Program::example("loop-host", "copies_figures");
/// How many copies are made of one repository.
const COPIES: &str = "8";

/// Eight copies of a large repository by each method that works here, with time and bytes of each.
///
/// # Errors
/// When the program cannot be built or run.
pub fn measure(scratch: &Scratch, effort: Effort) -> Result<Vec<Figure>> {
    let files = effort.pick("100000", "10000", "200");
    let mut command = scratch.command(PROGRAM.build(effort)?);
    command.arg(scratch.path("tmp")).args([files, COPIES]).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let output = command.output().with_context(|| format!("cannot run {}", PROGRAM.name))?;
    ensure!(output.status.success(), "{} failed", PROGRAM.name);
    let lines = String::from_utf8_lossy(&output.stdout);
    let lines = lines.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>()?;
    let [overlay, plain] =
        [("overlay", 0.2), ("files", 1.2)].map(|(method, limit)| of_method(&lines, method, limit, files));
    Ok([overlay, plain].concat())
}

/// The figures of a method. The first copy of an overlay makes what all share: the figure is of all copies together.
fn of_method(lines: &[Value], method: &str, limit: f64, files: &str) -> Vec<Figure> {
    let [time_name, bytes_name] = match method {
        "overlay" => ["copies-overlay", "copies-overlay-bytes"],
        _ => ["copies-files", "copies-files-bytes"],
    };
    let of = |line: &&Value| line["method"] == method;
    let column = |name: &str| -> Vec<f64> { lines.iter().filter(of).filter_map(|line| line[name].as_f64()).collect() };
    let all = |name: &str| column(name).iter().sum::<f64>();
    if column("ours_ms").is_empty() {
        let why = lines.iter().filter(of).find_map(|line| line["impossible"].as_str()).unwrap_or("not tried");
        let note = format!("NOT MEASURED: {why}");
        return vec![Figure::once(time_name, f64::NAN, "×", limit).note(note)];
    }
    let each = |name: &str, scale: f64| {
        column(name).iter().map(|value| format!("{:.0}", value / scale)).collect::<Vec<_>>().join(" ")
    };
    let time = format!(
        "all {COPIES} copies of {files} files (limits are for 100000); each ours {} ms, git {} ms, which is then synced \
         as ours is",
        each("ours_ms", 1.0),
        each("git_ms", 1.0)
    );
    let bytes = format!("MB each: ours {}, git {}", each("ours_bytes", 1e6), each("git_bytes", 1e6));
    let rounds: Vec<f64> = column("ours_ms").iter().zip(column("git_ms")).map(|(ours, git)| ours / git).collect();
    let whole = all("ours_ms") / all("git_ms");
    let time = format!("{time}; median of the copies {:.3} ×", median(&rounds));
    vec![
        Figure::once(time_name, whole, "×", limit).note(time),
        Figure::once(bytes_name, all("ours_bytes") / all("git_bytes"), "×", limit).note(bytes),
    ]
}
