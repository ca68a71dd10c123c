//! The command `loopd`.
use std::process::ExitCode;

fn main() -> ExitCode {
    loop_cli::run_loopd(std::env::args_os().collect())
}
