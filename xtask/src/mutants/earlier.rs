//! What a run leaves for the next one: which changes do not compile, and which were missed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::copy::Source;
use super::list::Mutant;
use super::trial::Fate;

/// Two files in the folder of the mutants.
#[derive(Debug, Clone)]
pub struct EarlierFates {
    folder: PathBuf,
}

impl EarlierFates {
    /// In this folder.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    fn of_compiler(&self) -> PathBuf {
        self.folder.join("does-not-compile.txt")
    }

    fn of_tests(&self) -> PathBuf {
        self.folder.join("fates.txt")
    }

    /// The changes of the same sources that did not compile before.
    #[must_use]
    pub fn does_not_compile(&self, sources: &[Source]) -> BTreeSet<usize> {
        let text = fs::read_to_string(self.of_compiler()).unwrap_or_default();
        let mut lines = text.lines();
        let first = lines.next();
        let same = first == Some(key(sources).as_str());
        lines.filter(|_| same).filter_map(|line| line.parse().ok()).collect()
    }

    /// Writes them down.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn keep_does_not_compile(&self, sources: &[Source], ids: &BTreeSet<usize>) -> Result<()> {
        let lines: String = ids.iter().map(|id| format!("\n{id}")).collect();
        fs::write(self.of_compiler(), key(sources) + &lines).context("cannot write which changes do not compile")
    }

    /// Writes down what came of the changes so far: a run that is cut off leaves what it found.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn keep_fates(&self, mutants: &[&Mutant], fates: &BTreeMap<usize, Fate>) -> Result<()> {
        let mut text = String::new();
        for mutant in mutants {
            let word = match fates.get(&mutant.id) {
                Some(Fate::Missed | Fate::NotReached) => "missed",
                Some(Fate::Caught(_) | Fate::TimedOut) => "caught",
                Some(Fate::DoesNotCompile | Fate::LeftOut) | None => continue,
            };
            text.push_str(&format!("{word} {}\n", named(mutant)));
        }
        fs::write(self.of_tests(), text).context("cannot write what came of the changes")
    }

    /// Those that the last run missed. Their lines may have moved.
    #[must_use]
    pub fn missed(&self, mutants: &[Mutant]) -> BTreeSet<usize> {
        let text = fs::read_to_string(self.of_tests()).unwrap_or_default();
        let missed: BTreeSet<&str> = text.lines().filter_map(|line| line.strip_prefix("missed ")).collect();
        mutants.iter().filter(|mutant| missed.contains(named(mutant).as_str())).map(|mutant| mutant.id).collect()
    }
}

fn named(mutant: &Mutant) -> String {
    format!("{} {} {}", mutant.file, mutant.function, mutant.what)
}

fn key(sources: &[Source]) -> String {
    let mut hasher = DefaultHasher::new();
    for source in sources {
        (&source.path, &source.text).hash(&mut hasher);
        source.sites.iter().flat_map(|site| &site.choices).for_each(|choice| choice.id.hash(&mut hasher));
    }
    format!("{:016x}", hasher.finish())
}
