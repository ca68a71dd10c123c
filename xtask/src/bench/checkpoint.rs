//! What a checkpoint costs against what git and a bare walk cost, in turns in one process.

use std::collections::BTreeMap;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::scratch::Scratch;
use super::{Effort, Figure, Program, median};

/// The program that measures: of the host crate, so that it is built as users get it.
const PROGRAM: Program = Program::example("loop-host", "checkpoint_figures");
/// Syncs of both sides, which belong to every figure.
const SYNCS: &str = "ours 2 syncs (pack, folder), and each restored file; git's none";

/// All rounds of what was measured, by name.
type Rounds = BTreeMap<String, Vec<f64>>;

/// Many files, ten changed.
///
/// # Errors
/// When the program cannot be built or run.
pub fn measure(scratch: &Scratch, effort: Effort) -> Result<Vec<Figure>> {
    let (files, rounds, churns) = effort.pick(("100000", "15", "200"), ("10000", "5", "50"), ("200", "1", "2"));
    let mut command = scratch.command(PROGRAM.build(effort)?);
    command.arg(scratch.path("tmp")).args([files, rounds, churns]).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let output = command.output().with_context(|| format!("cannot run {}", PROGRAM.name))?;
    ensure!(output.status.success(), "{} failed", PROGRAM.name);
    let mut all = Rounds::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let line: Value = serde_json::from_str(line)?;
        let rounds = line["rounds"].as_array().context("no rounds")?.iter().filter_map(Value::as_f64).collect();
        all.insert(line["name"].as_str().context("no name")?.to_owned(), rounds);
    }
    figures(&all, files)
}

fn figures(all: &Rounds, files: &str) -> Result<Vec<Figure>> {
    let of = |name: &str| all.get(name).with_context(|| format!("{name} was not measured"));
    let ratio = |name: &'static str, ours: &str, floor: &str, limit: f64| -> Result<Figure> {
        let (ours_ms, floor_ms) = (of(ours)?, of(floor)?);
        // Each round against its neighbour: a busy minute slows both.
        let ratios: Vec<f64> = ours_ms.iter().zip(floor_ms).map(|(ours, floor)| ours / floor).collect();
        let note = format!(
            "{:.1} ms against {:.1} ms of {floor}, {files} files (limits are for 100000); {SYNCS}",
            median(ours_ms),
            median(floor_ms)
        );
        Ok(Figure::of(name, &ratios, "×", limit).note(note))
    };
    let megabytes = |name: &str| of(name).map(|rounds| median(rounds) * 1024.0 / 1e6);
    let (unique, store) = (megabytes("unique-kb")?, megabytes("store-kb")?);
    let note =
        format!("{store:.1} MB in blocks for {unique:.1} MB of contents that were ever there, none compressible");
    Ok(vec![
        ratio("checkpoint-stash", "checkpoint", "stash", 0.55)?,
        ratio("checkpoint-walk", "checkpoint", "bare-walk", 1.4)?,
        ratio("checkpoint-hinted", "hinted", "bare-walk", 0.1)?,
        ratio("checkpoint-rollback", "before", "checkpoint", 1.5)?,
        ratio("checkpoint-first", "first", "git-add", 1.5)?,
        Figure::once("checkpoint-store", store / unique, "×", 1.3).note(note),
        Figure::once("checkpoint-memory", megabytes("peak-kb")?, "MB", 64.0)
            .note(format!("peak resident, {files} files")),
    ])
}
