//! The command `loopr`.
use std::process::ExitCode;

fn main() -> ExitCode {
    loop_cli::run_loopr(std::env::args_os().collect())
}
