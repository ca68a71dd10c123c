//! The command `loop`.
use std::process::ExitCode;

fn main() -> ExitCode {
    loop_cli::run(std::env::args_os().collect())
}
