//! `behaviour AGENT NAME FOLDER …`: plays one call of a scripted agent, in the words of the real one. A program on the PATH of
//! that agent's name calls it.
#![forbid(unsafe_code)]
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    loop_testkit::scripted_agents::play(&words).map_or(ExitCode::FAILURE, ExitCode::from)
}
