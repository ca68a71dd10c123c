//! The program under strace: what it asks of the kernel, and a death at any of those moments.
use std::path::Path;
use std::process::Command;

/// One call of the traced process's own thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    pub name: String,
    /// Everything else on its line.
    pub text: String,
}

/// A command that runs another one under strace, only its own thread traced, with these options.
/// The caller puts the command's own words behind it.
#[must_use]
pub fn strace(options: &[&str], log: &Path) -> Command {
    let there = Command::new("strace").arg("-V").output().is_ok_and(|output| output.status.success());
    assert!(there, "strace is missing: run ./check --install (or apt-get install strace)");
    let mut command = Command::new("strace");
    command.arg("-qq").arg("-o").arg(log).args(options).arg("--");
    command
}

impl Call {
    /// The calls of a log.
    #[must_use]
    pub fn read(log: &Path) -> Vec<Self> {
        let text = std::fs::read(log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
        // With `-f` a line begins with the number of its thread.
        let bare =
            |line: &'_ str| line.trim_start_matches(|letter: char| letter.is_ascii_digit()).trim_start().to_owned();
        let lines: Vec<String> = text.lines().map(bare).collect();
        let calls = lines.iter().filter_map(|line| line.split_once('('));
        calls
            .filter(|(name, _)| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'))
            .map(|(name, text)| Self { name: name.to_owned(), text: text.to_owned() })
            .collect()
    }
}
