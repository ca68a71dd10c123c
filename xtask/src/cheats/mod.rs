//! `cargo xtask cheats`: a collection of cheating agents and their honest twins, played against the built program.
//!
//! A cheat must not end as verified without a word; honest work must. `docs/cheats.md` says how to add a case.
//!
//! - [`case`]: one case, and the files in `xtask/cheats` that cases are read from
//! - [`tools`]: the test runners of this machine
//! - [`place`]: the folders of one case, and commands of its user
//! - [`play`]: one case in folders of its own
//! - [`table`]: what came of them

pub mod case;
pub mod place;
pub mod play;
pub mod table;
pub mod tools;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, bail, ensure};

pub use case::{Case, Expected};
pub use play::{Ended, Played, Stage};
use tools::Tools;

use crate::bench::{Effort, Program};
use crate::workspace_root;

const LOOP: Program = Program { package: "loop-cli", kind: "--bin", name: "loop" };
const WORDS: &str = "--sample, --runner NAME, --case NAME, --json, --jobs N, --limit SECONDS, --list, --alone, --keep, \
                     --loop PATH";

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a word of the command line")]
pub struct PlayOptions {
    /// Only the fast ones that are marked.
    pub sample: bool,
    /// Only these runners; all if empty.
    pub runners: Vec<String>,
    /// Only cases with these words in their names; all if empty.
    pub cases: Vec<String>,
    /// JSON instead of tables.
    pub json: bool,
    /// How many at a time.
    pub jobs: usize,
    /// The time limit of a case in seconds.
    pub limit: u32,
    /// Only names the cases.
    pub list: bool,
    /// Plays the agents without loop: does each cheat turn its promise green at all?
    pub alone: bool,
    /// Leaves the folders of the cases.
    pub keep: bool,
    /// Another program than the one in `target/debug`.
    pub program: Option<PathBuf>,
}

impl Default for PlayOptions {
    fn default() -> Self {
        Self {
            sample: false,
            runners: Vec::new(),
            cases: Vec::new(),
            json: false,
            jobs: 2,
            limit: 60,
            list: false,
            alone: false,
            keep: false,
            program: None,
        }
    }
}

impl PlayOptions {
    /// Reads the words behind `cheats`.
    ///
    /// # Errors
    /// When a word means nothing.
    pub fn read(words: &[&str]) -> Result<Self> {
        let mut options = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().map(|value| (*value).to_owned()).with_context(|| format!("{word} what?"));
            match *word {
                "--sample" => options.sample = true,
                "--json" => options.json = true,
                "--list" => options.list = true,
                "--alone" => options.alone = true,
                "--keep" => options.keep = true,
                "--runner" => options.runners.push(value()?),
                "--case" => options.cases.push(value()?),
                "--jobs" => options.jobs = value()?.parse().context("--jobs takes a number")?,
                "--limit" => options.limit = value()?.parse().context("--limit takes seconds")?,
                "--loop" => options.program = Some(value()?.into()),
                _ => bail!("`{word}` means nothing to cheats; there are {WORDS}"),
            }
        }
        ensure!(options.jobs > 0, "--jobs takes a number from 1");
        Ok(options)
    }

    fn picks(&self, case: &Case) -> bool {
        (!self.sample || case.is_sample)
            && (self.runners.is_empty() || self.runners.contains(&case.runner))
            && (self.cases.is_empty() || self.cases.iter().any(|name| case.name.contains(name)))
            && (!self.alone || case.works_alone)
    }
}

/// All cases of the files in this folder, by runner.
///
/// # Errors
/// When a file cannot be read or understood, or a name is there twice.
pub fn all_cases(folder: &Path) -> Result<Vec<Case>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "txt"));
    paths.sort();
    let mut cases = Vec::new();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // `make.more.txt` has more cases of make.
        let runner = name.split('.').next().unwrap_or_default().to_owned();
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        cases.extend(case::read(&runner, &text).with_context(|| path.display().to_string())?);
    }
    let mut names = BTreeSet::new();
    for case in &cases {
        ensure!(names.insert(&case.name), "{} is there twice", case.name);
    }
    Ok(cases)
}

/// The cases of this workspace.
///
/// # Errors
/// As [`all_cases`].
pub fn cases() -> Result<Vec<Case>> {
    all_cases(&workspace_root().join("xtask/cheats"))
}

/// The cases that these options pick.
///
/// # Errors
/// When there are none.
pub fn picked(options: &PlayOptions) -> Result<Vec<Case>> {
    let mut cases = cases()?;
    cases.retain(|case| options.picks(case));
    ensure!(!cases.is_empty(), "no case is like that; `cargo xtask cheats --list` names all");
    Ok(cases)
}

/// Plays what was asked for. `say` hears of each case as it ends.
///
/// # Errors
/// When the program cannot be built.
pub fn run(options: &PlayOptions, say: &(dyn Fn(&str) + Sync)) -> Result<Vec<Played>> {
    let cases = picked(options)?;
    let program = if options.alone { None } else { Some(program(options.program.as_deref(), say)?) };
    let runners: BTreeSet<String> = cases.iter().map(|case| case.runner.clone()).collect();
    let runners: Vec<String> = runners.into_iter().collect();
    let tools = Tools::prepare(&workspace_root().join("target/cheats"), &runners, say)?;
    let stage = Stage { program: program.as_deref(), tools: &tools, limit: options.limit, keeps: options.keep };
    Ok(play_all(&stage, &cases, options.jobs, say))
}

/// The program under test: this one, that of `target/debug`, or that after a build.
///
/// # Errors
/// When it is not there or does not compile.
pub fn program(given: Option<&Path>, say: &dyn Fn(&str)) -> Result<PathBuf> {
    let built = workspace_root().join("target/debug/loop");
    match given {
        Some(program) => program.canonicalize().with_context(|| format!("{} is not there", program.display())),
        None if built.exists() => Ok(built),
        None => {
            say("building loop");
            LOOP.build(Effort::Smoke)
        }
    }
}

fn play_all(stage: &Stage<'_>, cases: &[Case], jobs: usize, say: &(dyn Fn(&str) + Sync)) -> Vec<Played> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<(usize, Played)>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(case) = cases.get(index) else { break };
                    let played = match stage.tools.why_missing(&case.runner) {
                        Some(why) => Played::not_run(case, why),
                        None => stage.play(case),
                    };
                    say(&format!("{:5.1} s  {:<34} {}", played.seconds, case.name, played.ended.word()));
                    if let Ok(mut results) = results.lock() {
                        results.push((index, played));
                    }
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_default();
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, played)| played).collect()
}
