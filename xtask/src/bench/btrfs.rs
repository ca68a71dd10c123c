//! What a checkpoint on btrfs costs: against the bare call, and with many files against few.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::scratch::Scratch;
use super::{Effort, Figure, Program, median};
use crate::workspace_root;

/// The program that measures: it needs the host's own code, and root to mount an image.
const PROGRAM: Program = Program::example("loop-host", "btrfs_bench");

/// A checkpoint by us against the bare call, and its cost with many files against few.
///
/// # Errors
/// When the program cannot be built, or fails although we are root.
pub fn measure(_scratch: &Scratch, effort: Effort) -> Result<Vec<Figure>> {
    let names = ["btrfs-bare", "btrfs-files"];
    if !is_root() {
        let refused = |name| Figure::once(name, f64::NAN, "×", 0.0).note("NOT MEASURED: mounting an image takes root");
        return Ok(names.map(refused).to_vec());
    }
    let (rounds, few, many) = effort.pick((60, 1000, 100_000), (15, 1000, 10_000), (2, 100, 200));
    let rounds = rounds_of(&[rounds, few, many], effort)?;
    let ratio =
        |over: usize, under: usize| -> Vec<f64> { rounds.iter().map(|times| times[over] / times[under]).collect() };
    let middle = |column: usize| median(&rounds.iter().map(|times| times[column]).collect::<Vec<_>>());
    let [bare, ours, small, clean, small_clean] = [0, 1, 2, 3, 4].map(middle);
    let how = format!("{ours:.2} ms against {bare:.2} ms for the bare call, {many} files, 10 changed; both commit");
    let against_bare = Figure { value: ours / bare, ..Figure::of(names[0], &ratio(1, 0), "×", 1.3) }.note(how);
    // With edits the bare call itself grows by the levels of the file system's tree: that is said, and not judged.
    let how = format!(
        "{clean:.2} ms with {many} files against {small_clean:.2} ms with {few}, none changed; {:.1} × with 10 changed",
        ours / small
    );
    let with_many = Figure { value: clean / small_clean, ..Figure::of(names[1], &ratio(3, 4), "×", 1.5) }.note(how);
    Ok(vec![against_bare, with_many])
}

fn is_root() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    users.and_then(|users| users.split_whitespace().nth(1)) == Some("0")
}

/// Runs the program; a line of it is a round.
fn rounds_of(numbers: &[usize], effort: Effort) -> Result<Vec<[f64; 5]>> {
    let mut command = Command::new(PROGRAM.build(effort)?);
    command.args(numbers.iter().map(usize::to_string)).current_dir(workspace_root()).stderr(Stdio::inherit());
    // In memory, where a commit waits for no disk: what we add weighs most there, and nobody else's writes count.
    if std::path::Path::new("/dev/shm").is_dir() {
        command.env("TMPDIR", "/dev/shm");
    }
    let output = command.output().with_context(|| format!("cannot run {}", PROGRAM.name))?;
    ensure!(output.status.success(), "{} ended with {}", PROGRAM.name, output.status);
    let text = String::from_utf8_lossy(&output.stdout);
    let times = |line: &str| -> Option<[f64; 5]> {
        let times: Vec<f64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        times.try_into().ok()
    };
    let rounds: Vec<[f64; 5]> = text.lines().filter_map(times).collect();
    ensure!(!rounds.is_empty(), "{} measured nothing", PROGRAM.name);
    Ok(rounds)
}
