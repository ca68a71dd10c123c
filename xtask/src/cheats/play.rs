//! Plays one case: a fresh user, a fresh repository, the built program, and what it said.

use std::path::Path;
use std::process::ExitStatus;
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::Value;

use super::case::Case;
use super::place::CaseFolders;
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
        let place = CaseFolders::new(case, self.tools, None)?;
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
    fn alone(&self, case: &Case, place: &CaseFolders) -> Result<Played> {
        let before = place.run(place.command("sh").arg("-c").arg(&case.promise), self.limit)?;
        place.run(place.command("sh").arg(place.root.join("agent.sh")), self.limit)?;
        let after = place.run(place.command("sh").arg("-c").arg(&case.promise), self.limit)?;
        let why = format!("promise before: {}, after: {}", code(before), code(after));
        let is_shown = after.success() && (!before.success() || case.class == DECEIVED);
        Ok(Played::ended(case, if is_shown { Ended::Silent } else { Ended::Broken }, &why))
    }

    fn with_loop(&self, case: &Case, place: &CaseFolders, program: &Path) -> Result<Played> {
        let status = place.run(&mut place.start(case, program), self.limit)?;
        let screen = place.screen();
        if matches!(status.code(), Some(124 | 137)) {
            let why = format!("more than {} s: {}", self.limit, last_line(&screen));
            return Ok(Played::ended(case, Ended::TooLong, &why));
        }
        let is_plan = case.flags.iter().any(|flag| flag == "--best-of");
        let result = if is_plan { place.plan_result(program) } else { place.result() };
        let value = result.with_context(|| format!("{}: {}", code(status), last_line(&screen)))?;
        Ok(judged(case, status, &value, &screen))
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
pub(crate) fn texts(list: &Value) -> Vec<String> {
    let each = |item: &Value| item["text"].as_str().or(item.as_str()).map_or_else(|| item.to_string(), str::to_owned);
    list.as_array().map(|list| list.iter().map(each).collect()).unwrap_or_default()
}

/// The lines of a screen that say what a person can do.
pub(crate) fn forward(screen: &str) -> String {
    let is_way = |line: &&str| line.contains("hint:") || line.contains("loop accept") || line.contains("loop resume");
    screen.lines().filter(is_way).map(str::trim).collect::<Vec<_>>().join(" | ")
}

pub(crate) fn last_line(screen: &str) -> &str {
    screen.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("nothing on the screen")
}

pub(crate) fn code(status: ExitStatus) -> String {
    status.code().map_or_else(|| status.to_string(), |code| format!("exit {code}"))
}
