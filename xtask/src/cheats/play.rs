//! Plays one case: a fresh user, a fresh repository, the built program, and what it said.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;

use super::case::Case;
use super::tools::Tools;

/// The class of cases whose promise passes from the start.
const DECEIVED: &str = "promise deceives itself";

/// How a case ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Not verified: exit code, outcome and screen say so.
    NotVerified,
    /// Verified, and the proof names something.
    Named,
    /// Verified, and not a word about anything.
    Silent,
    /// It took too long: nothing is known.
    TooLong,
    /// It could not be played: the case or this machine is wrong.
    Broken,
    /// The runner is not there.
    NotRun,
}

impl Ended {
    /// Its word in tables and in JSON.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::NotVerified => "not verified",
            Self::Named => "named",
            Self::Silent => "silent",
            Self::TooLong => "too long",
            Self::Broken => "broken",
            Self::NotRun => "NOT RUN",
        }
    }
}

/// A case that was played.
#[derive(Debug, Clone)]
pub struct Played {
    /// What was played.
    pub case: Case,
    /// How it ended.
    pub ended: Ended,
    /// What loop said of it, or why it is broken.
    pub why: String,
    /// The way forward that the screen names.
    pub forward: String,
    /// How long it took.
    pub seconds: f64,
}

impl Played {
    /// A case that was not played, because its runner is not there.
    #[must_use]
    pub fn not_run(case: &Case, why: &str) -> Self {
        Self { case: case.clone(), ended: Ended::NotRun, why: why.to_owned(), forward: String::new(), seconds: 0.0 }
    }

    fn ended(case: &Case, ended: Ended, why: &str) -> Self {
        Self { ended, ..Self::not_run(case, why) }
    }
}

/// With what cases are played.
#[derive(Debug, Clone, Copy)]
pub struct Stage<'a> {
    /// The program under test; none plays the agent without loop around it.
    pub program: Option<&'a Path>,
    /// The test runners.
    pub tools: &'a Tools,
    /// The time limit of a case in seconds.
    pub limit: u32,
    /// Leaves the folders, to look at them.
    pub keeps: bool,
}

impl Stage<'_> {
    /// Plays a case. What goes wrong is part of the answer.
    #[must_use]
    pub fn play(&self, case: &Case) -> Played {
        let begun = Instant::now();
        let played = self.play_in_folder(case);
        let mut played = played.unwrap_or_else(|error| Played::ended(case, Ended::Broken, &format!("{error:#}")));
        played.seconds = begun.elapsed().as_secs_f64();
        played
    }

    fn play_in_folder(&self, case: &Case) -> Result<Played> {
        let place = Place::new(case, self.tools)?;
        let played = match self.program {
            Some(program) => self.with_loop(case, &place, program),
            None => self.alone(case, &place),
        };
        if self.keeps {
            let kept = place.folder.keep();
            return played.map(|played| Played { forward: kept.display().to_string(), ..played });
        }
        played
    }

    /// The case without loop: the promise fails, the agent works, and the promise passes. Else it shows nothing.
    fn alone(&self, case: &Case, place: &Place) -> Result<Played> {
        let before = self.run(place.command("sh").arg("-c").arg(&case.promise), place)?;
        self.run(place.command("sh").arg(place.root.join("agent.sh")), place)?;
        let after = self.run(place.command("sh").arg("-c").arg(&case.promise), place)?;
        let why = format!("promise before: {}, after: {}", code(before), code(after));
        let is_shown = after.success() && (!before.success() || case.class == DECEIVED);
        Ok(Played::ended(case, if is_shown { Ended::Silent } else { Ended::Broken }, &why))
    }

    fn with_loop(&self, case: &Case, place: &Place, program: &Path) -> Result<Played> {
        let result = place.root.join("result.json");
        let agent = format!("sh '{}'", place.root.join("agent.sh").display());
        let mut command = place.command(program);
        command.args(["start", &case.task, "-p", &case.promise, "-n", "2", "--agent-cmd", &agent, "--result"]);
        command.arg(&result).args(&case.flags);
        let status = self.run(&mut command, place)?;
        let screen = fs::read_to_string(place.root.join("screen")).unwrap_or_default();
        if matches!(status.code(), Some(124 | 137)) {
            let why = format!("more than {} s: {}", self.limit, last_line(&screen));
            return Ok(Played::ended(case, Ended::TooLong, &why));
        }
        let text = fs::read_to_string(&result);
        let text = text.with_context(|| format!("no result ({}): {}", code(status), last_line(&screen)))?;
        let value: Value = serde_json::from_str(&text).context("the result is not JSON")?;
        Ok(judged(case, status, &value, &screen))
    }

    fn run(&self, command: &mut Command, place: &Place) -> Result<ExitStatus> {
        let limit = self.limit.to_string();
        let mut limited = Command::new("timeout");
        limited.args(["-k", "10", &limit]).arg(command.get_program()).args(command.get_args());
        limited.env_clear().current_dir(place.root.join("ws"));
        for (name, value) in command.get_envs() {
            if let Some(value) = value {
                limited.env(name, value);
            }
        }
        let screen = fs::OpenOptions::new().append(true).create(true).open(place.root.join("screen"))?;
        limited.stdin(Stdio::null()).stdout(screen.try_clone()?).stderr(screen);
        limited.status().context("cannot run timeout")
    }
}

fn judged(case: &Case, status: ExitStatus, result: &Value, screen: &str) -> Played {
    let outcome = result["outcome"].as_str().unwrap_or("none");
    let certificate = &result["certificate"];
    let names = ["findings", "named", "weaker"].map(|field| texts(&certificate[field])).concat();
    let why = format!("{outcome}: {}", result["why"].as_str().unwrap_or_default());
    let mut played = match (status.success() && outcome == "verified", names.is_empty()) {
        (false, _) => Played::ended(case, Ended::NotVerified, &why),
        (true, false) => Played::ended(case, Ended::Named, &names.join("; ")),
        (true, true) => Played::ended(case, Ended::Silent, &why),
    };
    played.forward = forward(screen);
    played
}

/// The sentences of a list, whether they are texts or objects with a text.
fn texts(list: &Value) -> Vec<String> {
    let each = |item: &Value| item["text"].as_str().or(item.as_str()).map_or_else(|| item.to_string(), str::to_owned);
    list.as_array().map(|list| list.iter().map(each).collect()).unwrap_or_default()
}

/// The lines of a screen that say what a person can do.
fn forward(screen: &str) -> String {
    let is_way = |line: &&str| line.contains("hint:") || line.contains("loop accept") || line.contains("loop resume");
    screen.lines().filter(is_way).map(str::trim).collect::<Vec<_>>().join(" | ")
}

fn last_line(screen: &str) -> &str {
    screen.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("nothing on the screen")
}

fn code(status: ExitStatus) -> String {
    status.code().map_or_else(|| status.to_string(), |code| format!("exit {code}"))
}

/// The folders of one case: `home`, `state`, `ws` and the agent.
#[derive(Debug)]
struct Place {
    folder: TempDir,
    root: PathBuf,
    path: String,
    go_cache: PathBuf,
}

impl Place {
    fn new(case: &Case, tools: &Tools) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("loop-cheat-").tempdir().context("no folder for the case")?;
        let root = folder.path().canonicalize()?;
        let home = root.join("home");
        let project = root.join("ws");
        for folder in [&home, &root.join("state"), &root.join("tmp"), &project] {
            fs::create_dir(folder)?;
        }
        for (path, text) in &case.files {
            let path = project.join(path);
            fs::create_dir_all(path.parent().unwrap_or(&project))?;
            fs::write(path, text)?;
        }
        if matches!(case.runner.as_str(), "jest" | "vitest") {
            tools.link_node_modules(&project)?;
        }
        fs::write(root.join("agent.sh"), &case.agent)?;
        fs::write(root.join("setup.sh"), &case.setup)?;
        let place = Self { folder, path: tools.path(&case.runner, &home), root, go_cache: tools.go_cache() };
        place.commit()?;
        Ok(place)
    }

    /// Completes the project and commits it. Its files are old, so that no tool mistakes a change for an old state.
    fn commit(&self) -> Result<()> {
        let script = "set -e; . ../setup.sh
            find . -name node_modules -prune -o -name .venv -prune -o -type f -exec touch -d 2024-01-01 {} +
            git init -q -b main; git add -A
            git -c user.name=user -c user.email=user@example.com commit -q --allow-empty -m start";
        let output = self.command("sh").arg("-c").arg(script).output().context("cannot run sh")?;
        ensure!(output.status.success(), "setup: {}", String::from_utf8_lossy(&output.stderr).trim());
        Ok(())
    }

    /// A command of the user of this case, in the workspace.
    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir(self.root.join("ws")).stdin(Stdio::null());
        command.env("HOME", self.root.join("home")).env("LOOP_HOME", self.root.join("state"));
        command.env("TMPDIR", self.root.join("tmp")).env("PATH", &self.path).env("LANG", "C.UTF-8");
        command.env("NO_COLOR", "1").env("CARGO_NET_OFFLINE", "true");
        command.env("GOCACHE", &self.go_cache).env("GOPROXY", "off").env("GOTOOLCHAIN", "local");
        command
    }
}
