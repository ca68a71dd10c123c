//! `cargo xtask mutants`: changes the judging code in small ways. For each change a test of core must fail.
//!
//! All changes are compiled into one build of a copy of core, each behind a switch, so that core is not built again for
//! each of them. Every test runs once alone to record which changes it reaches; then each change is switched on for the
//! tests that reach it, the quickest first. `docs/mutants.md` has the results.
//!
//! - [`list`]: the changes of a source file; [`values`]: what a function may return instead
//! - [`rewrite`]: a source with its changes behind switches (`switch.txt` is the switch itself)
//! - [`copy`], [`build`]: the copy of core, and its build without the changes that do not compile
//! - [`suite`], [`trial`]: the tests, and the changes they catch; [`examples`]: those in doc comments
//! - [`glob`], [`diff`]: which changes are tried; [`kept`]: what a run leaves for the next one
//! - [`table`]: what came of them

pub mod build;
pub mod copy;
pub mod diff;
pub mod earlier;
pub mod examples;
pub mod glob;
pub mod list;
pub mod rewrite;
pub mod suite;
pub mod table;
pub mod trial;
pub mod values;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use toml_edit::DocumentMut;

use copy::{Copy, Source};
use diff::ChangedLines;
use earlier::EarlierFates;
use list::Mutant;
pub use table::Tried;
use trial::Fate;

use crate::workspace_root;

/// Which files judge.
const CONFIG: &str = ".cargo/mutants.toml";
const WORDS: &str =
    "--file GLOB, --diff FILE, --sample N, --seed N, --only ID, --again, --quick, --jobs N, --list, --json";

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a word of the command line")]
pub struct MutantOptions {
    /// Only files that match one of these; all if empty.
    pub files: Vec<String>,
    /// Only lines that this diff changes.
    pub diff: Option<PathBuf>,
    /// Only so many, chosen at random.
    pub sample: Option<usize>,
    /// For the sample.
    pub seed: u64,
    /// Only these; all if empty.
    pub only: Vec<usize>,
    /// Only those that the last run missed, in a build with all.
    pub again: bool,
    /// Without tests that take longer than a second: storms and simulations.
    pub quick: bool,
    /// How many at a time.
    pub jobs: usize,
    /// Only names the changes.
    pub list: bool,
    /// JSON instead of a table.
    pub json: bool,
}

impl Default for MutantOptions {
    fn default() -> Self {
        Self {
            files: Vec::new(),
            diff: None,
            sample: None,
            seed: 1,
            only: Vec::new(),
            again: false,
            quick: false,
            jobs: 2,
            list: false,
            json: false,
        }
    }
}

impl MutantOptions {
    /// Reads the words behind `mutants`.
    ///
    /// # Errors
    /// When a word means nothing.
    pub fn read(words: &[&str]) -> Result<Self> {
        let mut options = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().copied().with_context(|| format!("{word} what?"));
            let number = |text: &str| text.parse().with_context(|| format!("{word} takes a number"));
            match *word {
                "--file" => options.files.push(value()?.to_owned()),
                "--diff" => options.diff = Some(value()?.into()),
                "--sample" => options.sample = Some(number(value()?)?),
                "--seed" => options.seed = value()?.parse().context("--seed takes a number")?,
                "--only" => options.only.push(number(value()?)?),
                "--jobs" => options.jobs = number(value()?)?,
                "--again" => options.again = true,
                "--quick" => options.quick = true,
                "--list" => options.list = true,
                "--json" => options.json = true,
                _ => bail!("`{word}` means nothing to mutants; there are {WORDS}"),
            }
        }
        ensure!(options.jobs > 0, "--jobs takes a number from 1");
        Ok(options)
    }
}

/// The changes, and the sources they are in.
#[derive(Debug, Default)]
pub struct Listed {
    pub mutants: Vec<Mutant>,
    pub sources: Vec<Source>,
}

/// All changes of the judging code.
///
/// # Errors
/// When a file cannot be read.
pub fn list_all(root: &Path) -> Result<Listed> {
    let text = fs::read_to_string(root.join(CONFIG)).with_context(|| format!("cannot read {CONFIG}"))?;
    let config: DocumentMut = text.parse().with_context(|| format!("cannot read {CONFIG}"))?;
    let globs = config["examine_globs"].as_array().with_context(|| format!("{CONFIG} has no examine_globs"))?;
    let globs: Vec<&str> = globs.iter().filter_map(|glob| glob.as_str()).collect();
    let mut paths = Vec::new();
    files_below(root, "crates/core/src", &mut paths)?;
    paths.retain(|path| globs.iter().any(|glob| glob::matches(glob, path)));
    paths.sort();
    let mut listed = Listed::default();
    for path in paths {
        let text = fs::read_to_string(root.join(&path)).with_context(|| format!("cannot read {path}"))?;
        let found = list::find(&path, &text, listed.mutants.len() + 1)?;
        listed.mutants.extend(found.mutants);
        listed.sources.push(Source { path, text, sites: found.sites });
    }
    Ok(listed)
}

fn files_below(root: &Path, folder: &str, paths: &mut Vec<String>) -> Result<()> {
    for entry in fs::read_dir(root.join(folder)).with_context(|| format!("cannot read {folder}"))? {
        let entry = entry?;
        let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            files_below(root, &path, paths)?;
        } else {
            paths.push(path);
        }
    }
    Ok(())
}

/// The numbers of those that were asked for.
///
/// # Errors
/// When the diff cannot be read.
pub fn picked(options: &MutantOptions, mutants: &[Mutant]) -> Result<BTreeSet<usize>> {
    let changed = match &options.diff {
        Some(path) => {
            let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
            Some(ChangedLines::read(&text))
        }
        None => None,
    };
    let wanted = mutants.iter().filter(|mutant| {
        let file = options.files.is_empty()
            || options
                .files
                .iter()
                .any(|glob| glob::matches(glob, &mutant.file) || mutant.file.ends_with(glob.as_str()));
        let only = options.only.is_empty() || options.only.contains(&mutant.id);
        let lines = mutant.line..=mutant.last_line;
        file && only && changed.as_ref().is_none_or(|changed| changed.touches(&mutant.file, &lines))
    });
    let mut ids: Vec<usize> = wanted.map(|mutant| mutant.id).collect();
    if let Some(most) = options.sample {
        shuffle(&mut ids, options.seed);
        ids.truncate(most);
    }
    Ok(ids.into_iter().collect())
}

/// The same order for the same seed (splitmix64).
fn shuffle(ids: &mut [usize], seed: u64) {
    let mut state = seed;
    for last in (1..ids.len()).rev() {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        let below = u64::try_from(last + 1).map_or(0, |count| mixed % count);
        ids.swap(last, usize::try_from(below).unwrap_or_default());
    }
}

/// Tries what was asked for.
///
/// # Errors
/// When the copy cannot be made or built, or a test fails without any change.
pub fn run(options: &MutantOptions, tell: &(dyn Fn(&str) + Sync)) -> Result<Vec<Tried>> {
    let root = workspace_root();
    let listed = list_all(&root)?;
    let picked = picked(options, &listed.mutants)?;
    let scratch = root.join("target/mutants");
    let kept = EarlierFates::new(&scratch);
    let (built, picked) = if options.again {
        let missed = kept.missed(&listed.mutants);
        (picked, missed)
    } else {
        (picked.clone(), picked)
    };
    let mutants: Vec<Mutant> = listed.mutants.into_iter().filter(|mutant| picked.contains(&mutant.id)).collect();
    if mutants.is_empty() {
        return Ok(Vec::new());
    }
    let mut sources = listed.sources;
    for source in &mut sources {
        source.sites.iter_mut().for_each(|site| site.choices.retain(|choice| built.contains(&choice.id)));
    }
    let copy = Copy::make(&root, &scratch.join("tree"), &sources)?;
    tell(&format!("{} changes; one build", mutants.len()));
    let failed = build::compiling(&copy, &sources, kept.does_not_compile(&sources), tell)?;
    kept.keep_does_not_compile(&sources, &failed)?;
    let programs = build::tests(&copy)?;
    tell("every test once");
    let mut tests = suite::reach(&programs, &copy.package(), &scratch, options.jobs)?;
    for test in tests.iter().filter(|test| !test.is_green) {
        tell(&format!("{} fails without any change, so it cannot catch one", test.name));
    }
    tests.retain(|test| test.is_green);
    tell(&format!("{} tests", tests.len()));
    let to_try: Vec<&Mutant> =
        mutants.iter().filter(|mutant| mutant.left_out.is_none() && !failed.contains(&mutant.id)).collect();
    let place = trial::TrialPlace {
        folder: &copy.package(),
        scratch: &scratch,
        kept: &kept,
        jobs: options.jobs,
        quick: options.quick,
    };
    let mut fates = trial::all(&to_try, &tests, &place, tell)?;
    let tried = mutants.into_iter().map(|mutant| {
        let fate = match fates.remove(&mutant.id) {
            Some(fate) => fate,
            None if mutant.left_out.is_some() => Fate::LeftOut,
            None => Fate::DoesNotCompile,
        };
        Tried { mutant, fate }
    });
    Ok(tried.collect())
}
