//! What it costs to read an agent's stream: against a plain search of line ends, and with a long stream against a short one.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::scratch::Scratch;
use super::{Effort, Figure, Program, median};
use crate::workspace_root;

/// The program that measures: a process of its own, so that its memory is only the reader's.
const PROGRAM: Program = Program::example("loop-core", "parser_bench");

/// Claude's stream-json by our reader against the bare search, and the memory held over a long stream against a short one.
///
/// # Errors
/// When the program cannot be built, or reads something else than it wrote.
pub fn measure(_scratch: &Scratch, effort: Effort) -> Result<Vec<Figure>> {
    let (rounds, mib, short, long) = effort.pick((21, 200, 50, 500), (5, 32, 25, 100), (1, 16, 16, 32));
    let program = PROGRAM.build(effort)?;
    let numbers = |words: &[&str]| numbers(&program, words);
    let rounds = numbers(&["speed", &rounds.to_string(), &mib.to_string()])?;
    let rounds: Vec<[f64; 2]> = rounds.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect();
    let ratios: Vec<f64> = rounds.iter().map(|[scan, read]| read / scan).collect();
    let speed = |column: usize| {
        let time = median(&rounds.iter().map(|round| round[column]).collect::<Vec<_>>());
        f64::from(mib) * 1_048_576.0 / time
    };
    let how = format!("{:.2} GB/s against {:.2} GB/s for a search of line ends, {mib} MiB", speed(1), speed(0));
    let held = |mib: u32| -> Result<f64> {
        let most = numbers(&["memory", &mib.to_string()])?;
        most.first().copied().context("no memory was reported")
    };
    let (few, many) = (held(short)?, held(long)?);
    let flat = format!("{:.1} MiB after {long} MiB of stream, {:.1} MiB after {short}", many / 1024.0, few / 1024.0);
    Ok(vec![
        Figure::of("parser-speed", &ratios, "×", 12.0).note(how),
        Figure::once("parser-memory", many / few, "×", 1.25).note(flat),
    ])
}

/// Builds a program and runs it; what it prints are numbers.
pub(super) fn numbers_of(program: Program, effort: Effort, words: &[&str]) -> Result<Vec<f64>> {
    numbers(&program.build(effort)?, words)
}

/// Runs the program; what it prints are numbers.
fn numbers(program: &Path, words: &[&str]) -> Result<Vec<f64>> {
    let mut command = Command::new(program);
    let output = command
        .args(words)
        .current_dir(workspace_root())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot run {}", PROGRAM.name))?;
    ensure!(output.status.success(), "{} ended with {}", PROGRAM.name, output.status);
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    ensure!(!numbers.is_empty(), "{} measured nothing", PROGRAM.name);
    Ok(numbers)
}
