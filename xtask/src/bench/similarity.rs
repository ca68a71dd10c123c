//! What it costs to compare two long outputs for the progress score.
use anyhow::Result;

use super::parser::numbers_of;
use super::scratch::Scratch;
use super::{Effort, Figure, Program, median};

/// The program that measures.
const PROGRAM: Program = Program::example("loop-core", "similarity_bench");

/// Two outputs of 10 MB, in three ways of being different: seconds on the processor for the slowest.
///
/// # Errors
/// When the program cannot be built.
pub fn measure(_scratch: &Scratch, effort: Effort) -> Result<Vec<Figure>> {
    let (rounds, megabytes) = effort.pick((9, 10), (3, 10), (1, 1));
    let words = [rounds.to_string(), megabytes.to_string()];
    let numbers = numbers_of(PROGRAM, effort, &[&words[0], &words[1]])?;
    let of = |column: usize| {
        let all: Vec<f64> = numbers.chunks_exact(3).map(|round| round[column] / 1e9).collect();
        median(&all)
    };
    let [replaced, other, changed] = [of(0), of(1), of(2)];
    let note = format!("replaced lines {replaced:.2} s, another text {other:.2} s, each line changed {changed:.2} s");
    let slowest = replaced.max(other).max(changed);
    Ok(vec![Figure::once("similarity", slowest, "s", 1.0).note(note)])
}
