//! How much is measured, and how the programs for it are built.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::workspace_root;

/// How much is measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Effort {
    /// Figures to write down.
    #[default]
    Full,
    /// A first look.
    Quick,
    /// Every measurement once and as small as possible, with the build of the tests. It shows that each of them works;
    /// its figures say nothing.
    Smoke,
}

impl Effort {
    /// One of three values.
    #[must_use]
    pub fn pick<T>(self, full: T, quick: T, smoke: T) -> T {
        match self {
            Self::Full => full,
            Self::Quick => quick,
            Self::Smoke => smoke,
        }
    }
}

/// A program of this workspace.
#[derive(Debug, Clone, Copy)]
pub struct Program {
    /// `loop-host`
    pub package: &'static str,
    /// `--bin` or `--example`
    pub kind: &'static str,
    pub name: &'static str,
}

impl Program {
    /// An example of a crate.
    #[must_use]
    pub const fn example(package: &'static str, name: &'static str) -> Self {
        Self { package, kind: "--example", name }
    }

    /// Builds it, and says where it is: as users get it, or for a smoke test as the tests get it.
    ///
    /// # Errors
    /// When it does not compile.
    pub fn build(self, effort: Effort) -> Result<PathBuf> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(["build", "-p", self.package, self.kind, self.name, "--message-format", "json"]);
        command.args(["--profile", effort.pick("release", "release", "dev")]);
        let output = command.current_dir(workspace_root()).stderr(Stdio::inherit()).output();
        let output = output.context("cannot run cargo")?;
        ensure!(output.status.success(), "{} does not build", self.name);
        let text = String::from_utf8_lossy(&output.stdout);
        let messages = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let mut built = messages.filter_map(|value| value["executable"].as_str().map(PathBuf::from));
        built.next_back().context("cargo does not say where the program is")
    }
}
