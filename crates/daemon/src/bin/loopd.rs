//! `loopd`: says which version it is; keeping runs comes with a later one.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the program speaks to its caller")]
use std::process::ExitCode;

/// Wrong call: the same code as `loop`'s.
const WRONG_CALL: u8 = 4;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|word| word == "--version" || word == "-V") {
        println!("loopd {}", env!("CARGO_PKG_VERSION"));
        return ExitCode::SUCCESS;
    }
    eprintln!(
        "error: loopd keeps no loops yet\n  because: background loops come with a later version\nhint: `loop start` runs a loop in the foreground"
    );
    ExitCode::from(WRONG_CALL)
}
