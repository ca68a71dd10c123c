//! One project: honest work, judged as by default, and `loop verify` after it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::Value;

use super::ProjectOptions;
use crate::cheats::Case;
use crate::cheats::place::CaseFolders;
use crate::cheats::play::{code, forward, last_line, texts};
use crate::cheats::tools::Tools;

/// With what a project is played.
#[derive(Debug, Clone, Copy)]
pub struct ProjectStage<'a> {
    /// The program under test.
    pub program: &'a Path,
    /// What the projects need.
    pub tools: &'a Tools,
    /// Another user than the present one.
    pub user: Option<u32>,
    /// What was asked for.
    pub options: &'a ProjectOptions,
}

/// What `loop verify` said, again and again.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Verifies {
    /// How often it was asked.
    pub times: u32,
    /// How often it did not agree.
    pub disagree: u32,
    /// What it said when it did not.
    pub why: Vec<String>,
    /// How long each took.
    pub seconds: Vec<f64>,
}

/// What came of a project.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProjectPlayed {
    /// Which one.
    pub name: String,
    /// As another user, by number.
    pub user: Option<u32>,
    /// Why it was not played at all.
    pub not_run: Option<String>,
    /// What broke it, if it is not what is measured.
    pub broken: Option<String>,
    /// How the loop ended.
    pub outcome: String,
    /// Where the pass was judged, in the words of the certificate.
    pub judged: String,
    /// What speaks against the pass, or is named with it.
    pub named: Vec<String>,
    /// How strong the gates are, as the screen says.
    pub strength: String,
    /// The gate in the workspace, when it passed.
    pub gate_seconds: f64,
    /// The first clean copy: all of it, and its gates.
    pub copy_seconds: f64,
    pub copy_gate_seconds: f64,
    /// All judging.
    pub judge_seconds: f64,
    /// What the first run of the gates took that had nothing built, where the project measures it.
    pub cold_seconds: Option<f64>,
    /// The packages that cargo built in the first clean copy.
    pub rebuilt: Vec<String>,
    /// What the loop said that a person can do.
    pub forward: String,
    /// What `loop verify` said.
    pub verifies: Verifies,
    /// A flaky project: it may disagree, but must be named.
    pub is_flaky: bool,
    /// Where its folders were left.
    pub kept: Option<PathBuf>,
}

impl ProjectPlayed {
    /// One that was not played.
    #[must_use]
    pub fn not_run(case: &Case, user: Option<u32>, why: &str) -> Self {
        Self { not_run: Some(why.to_owned()), ..Self::of(case, user) }
    }

    fn of(case: &Case, user: Option<u32>) -> Self {
        Self { name: case.name.clone(), user, is_flaky: case.class == "flaky", ..Self::default() }
    }

    /// Whether honest work was accepted, and verified as often as it was asked for.
    #[must_use]
    pub fn is_good(&self) -> bool {
        let agrees = self.verifies.disagree == 0;
        let named_flaky = self.is_flaky && self.verifies.why.iter().all(|why| why.contains("flaky"));
        self.broken.is_none() && self.outcome == "verified" && (agrees || named_flaky)
    }

    /// In one line.
    #[must_use]
    pub fn line(&self) -> String {
        if let Some(why) = &self.not_run {
            return format!("NOT RUN: {why}");
        }
        if let Some(why) = &self.broken {
            return format!("BROKEN: {why}");
        }
        let Verifies { times, disagree, .. } = &self.verifies;
        let named = if self.named.is_empty() { String::new() } else { format!("; named: {}", self.named.join("; ")) };
        format!("{}; {}; verify: {disagree} of {times} disagree{named}", self.outcome, self.judged)
    }
}

/// Plays a project. What goes wrong is part of the answer.
#[must_use]
pub fn play(case: &Case, stage: &ProjectStage<'_>) -> ProjectPlayed {
    let mut played = ProjectPlayed::of(case, stage.user);
    if let Err(error) = play_in_folder(case, stage, &mut played) {
        played.broken = Some(format!("{error:#}"));
    }
    played
}

fn play_in_folder(case: &Case, stage: &ProjectStage<'_>, played: &mut ProjectPlayed) -> Result<()> {
    let mut case = case.clone();
    case.setup = format!("BUILD={}\n{}", stage.options.build, case.setup);
    let place = CaseFolders::new(&case, stage.tools, stage.user)?;
    // Where another user can read it.
    let program = place.root.join("loop");
    fs::copy(stage.program, &program).context("the program cannot be copied")?;
    let service = (!case.service.trim().is_empty()).then(|| place.begin_service()).transpose();
    let ended = service.and_then(|service| {
        let ended = play_with(&case, stage, &place, &program, played);
        drop(service);
        ended
    });
    if stage.options.keep {
        played.kept = Some(place.folder.keep());
    }
    ended
}

fn play_with(
    case: &Case,
    stage: &ProjectStage<'_>,
    place: &CaseFolders,
    program: &Path,
    played: &mut ProjectPlayed,
) -> Result<()> {
    let limit = stage.options.limit;
    let status = place.run(&mut place.start(case, program), limit)?;
    let screen = place.screen();
    let result = place.result().with_context(|| format!("{}: {}", code(status), last_line(&screen)))?;
    played.outcome = result["outcome"].as_str().unwrap_or("none").to_owned();
    played.forward = if status.success() { String::new() } else { forward(&screen) };
    let certificate = &result["certificate"];
    played.judged = judged(&certificate["judge"]);
    played.named = ["findings", "named", "weaker"].map(|field| texts(&certificate[field])).concat();
    let strength = screen.lines().rev().find_map(|line| line.trim_start().strip_prefix("strength "));
    played.strength = strength.unwrap_or_default().trim().to_owned();
    played.gate_seconds = certificate["gates"][0]["duration_seconds"].as_f64().unwrap_or(f64::NAN);
    played.cold_seconds = fs::read_to_string(place.root.join("cold")).ok().and_then(|text| text.trim().parse().ok());
    times(place, played)?;
    if played.cold_seconds.is_some() && played.rebuilt != ["shop"] {
        let built = played.rebuilt.join(", ");
        played.broken = Some(format!("not only the package of the workspace was built in the copy, but: {built}"));
        return Ok(());
    }
    if played.outcome != "verified" {
        played.broken = None;
        return Ok(());
    }
    let id = result["id"].as_str().context("the result has no id")?;
    for _ in 0..stage.options.verify {
        let begun = Instant::now();
        let before = place.screen().len();
        let status = place.run(place.command(program).args(["verify", id]), limit)?;
        played.verifies.seconds.push(begun.elapsed().as_secs_f64());
        played.verifies.times += 1;
        if !status.success() {
            played.verifies.disagree += 1;
            let screen = place.screen();
            let said = screen.get(before..).unwrap_or_default();
            played.verifies.why.push(said.lines().map(str::trim).collect::<Vec<_>>().join(" | "));
        }
    }
    Ok(())
}

/// Where a pass was judged.
fn judged(judge: &Value) -> String {
    if let Some(place) = judge["clean_copy"]["place"].as_str() {
        return match place {
            "own_path" => "clean copy at the workspace's path".to_owned(),
            other => format!("clean copy, {other}"),
        };
    }
    match judge["workspace"]["why"].as_str() {
        Some(why) => format!("workspace only: {why}"),
        None => "not judged again".to_owned(),
    }
}

/// What the journal says about the time that judging took.
fn times(place: &CaseFolders, played: &mut ProjectPlayed) -> Result<()> {
    let runs = fs::read_dir(place.root.join("state/runs"))?.flatten().map(|entry| entry.path().join("journal.jsonl"));
    let mut is_first = true;
    for journal in runs.filter(|journal| journal.is_file()) {
        for line in fs::read_to_string(&journal)?.lines() {
            let value: Value = serde_json::from_str(line).unwrap_or_default();
            let report = &value["fact"]["happened"]["event"]["answered"]["answer"]["judged"];
            let Some(duration) = report["duration_ms"].as_f64() else { continue };
            played.judge_seconds += duration / 1e3;
            if is_first {
                played.copy_seconds = duration / 1e3;
                let gate = &report["gates"][0]["report"];
                played.copy_gate_seconds = gate["duration_ms"].as_f64().unwrap_or(0.0) / 1e3;
                let order = value["fact"]["happened"]["event"]["answered"]["order"].as_u64().unwrap_or_default();
                played.rebuilt = rebuilt(&journal, order);
                is_first = false;
            }
        }
    }
    Ok(())
}

/// The packages that cargo names as built in the output of an order.
fn rebuilt(journal: &Path, order: u64) -> Vec<String> {
    let iterations = journal.with_file_name("iterations");
    let folders = fs::read_dir(iterations).into_iter().flatten().flatten().map(|entry| entry.path());
    let outputs = folders.map(|folder| folder.join(format!("gates/{order:06}/round-1/1/stderr/head")));
    let texts = outputs.filter_map(|output| fs::read_to_string(output).ok());
    let mut names: Vec<String> = texts
        .flat_map(|text| {
            let lines = text.lines().filter_map(|line| line.trim().strip_prefix("Compiling "));
            lines.filter_map(|line| line.split(' ').next().map(str::to_owned)).collect::<Vec<_>>()
        })
        .collect();
    names.sort();
    names.dedup();
    names
}
