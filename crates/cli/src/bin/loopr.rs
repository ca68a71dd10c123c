//! The command `loopr`: a thin front on the same engine, whose loops come with a later version.
use std::process::ExitCode;

use loop_cli::{CommandError, Kind};

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    if arguments.iter().any(|word| word == "--version" || word == "-V") {
        return loop_cli::args::version("loopr");
    }
    CommandError::new(Kind::Wrong, "loopr runs no loops yet")
        .because("its status block and breaker come with a later version")
        .hint("loop start \"the task\" --promise \"the check\" --agent-cmd \"codex exec -\"")
        .show()
}
