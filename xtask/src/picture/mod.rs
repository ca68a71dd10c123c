//! `cargo xtask picture`: the picture in README, of a real screen. `loop demo` runs on a terminal of a fixed size; what
//! the terminal shows at its end is written as SVG.
//!
//! - [`screen`]: the bytes of a terminal as rows of coloured letters
//! - [`svg`]: rows as a picture

pub mod screen;
pub mod svg;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::cheats::program;
use crate::workspace_root;
use screen::Screen;

/// The size of the terminal.
const COLUMNS: usize = 108;
/// Enough for all that the demo prints.
const ROWS: usize = 60;
/// Where the advice for one's own project begins: the picture ends before it.
const LAST: &str = "Now with your own project";

/// Where the picture is.
#[must_use]
pub fn place() -> PathBuf {
    workspace_root().join("docs/picture/demo.svg")
}

/// Runs the demo of the program that is built and returns the picture.
///
/// # Errors
/// When the program is not built, or does not end well.
pub fn run(other: Option<&Path>) -> Result<String> {
    let program = program(other, &|_| {})?;
    let scratch = tempfile::tempdir().context("a folder for the demo")?;
    let seen = on_terminal(&program, scratch.path())?;
    // People have it on their PATH.
    let seen = seen.replace(&program.display().to_string(), "loop");
    let mut screen = Screen::new(COLUMNS);
    screen.feed("$ loop demo\r\n");
    screen.feed(&seen);
    let mut rows = screen.rows();
    let end = rows.iter().position(|row| row.text().starts_with(LAST)).context("the demo has not come to its end")?;
    rows.truncate(end);
    while rows.last().is_some_and(|row| row.text().trim().is_empty()) {
        rows.pop();
    }
    Ok(svg::of(&rows, COLUMNS, "loop demo: a loop whose tests pass after three iterations"))
}

/// What the demo sends to a terminal.
fn on_terminal(program: &Path, scratch: &Path) -> Result<String> {
    let log = scratch.join("log");
    // The size is set before the program asks for it. A path with a quote in it is not expected here.
    let line = format!("stty cols {COLUMNS} rows {ROWS}; exec '{}' demo", program.display());
    let mut command = Command::new("script");
    command.args(["-qec", &line]).arg(&log).env_clear().current_dir(scratch);
    command.env("HOME", scratch).env("TMPDIR", "/tmp").env("TERM", "xterm-256color").env("PATH", "/usr/bin:/bin");
    let out = command.output().context("cannot run script (of bsdutils)")?;
    let log = fs::read(&log).context("what the terminal got")?;
    ensure!(out.status.success(), "loop demo failed:\n{}", String::from_utf8_lossy(&log));
    let log = String::from_utf8_lossy(&log).into_owned();
    // `script` adds a line of its own before and behind.
    let (_, rest) = log.split_once('\n').context("nothing was printed")?;
    let end = rest.rfind("\nScript done on ").unwrap_or(rest.len());
    // What the demo made is removed: its folder is named in its first line.
    let made = rest.lines().next().and_then(|line| line.trim_end().rsplit(' ').next()).map(PathBuf::from);
    if let Some(made) =
        made.filter(|made| made.file_name().is_some_and(|name| name.to_string_lossy().starts_with("loop-demo-")))
    {
        fs::remove_dir_all(&made).with_context(|| format!("cannot remove {}", made.display()))?;
    }
    Ok(rest[..end].to_owned())
}
