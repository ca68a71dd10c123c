//! What is in scope: git's ignore rules, read as data, and the user's settings. No git program is run, and no
//! configuration of the repository is used.
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{FileType, Stat};
use serde::{Deserialize, Serialize};

/// What is left out by default where there is no repository: what is built from sources.
const MADE_FROM_SOURCES: &[&str] = &[
    "node_modules/",
    "target/",
    ".venv/",
    "venv/",
    "__pycache__/",
    ".tox/",
    ".mypy_cache/",
    ".pytest_cache/",
    ".gradle/",
    ".next/",
    ".nuxt/",
    ".cache/",
];

/// A `.gitignore` that is longer is not read.
pub(in crate::checkpoint) const IGNORE_BYTES_MAX: u64 = 1024 * 1024;

/// The rules of a workspace that hold everywhere in it.
#[derive(Debug, Clone)]
pub struct Rules {
    texts: RuleTexts,
    /// The weakest first.
    everywhere: Vec<Gitignore>,
    skips: Gitignore,
    outside: Gitignore,
}

/// Rules as texts: stored with a checkpoint, because what was not in scope must not be removed later.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleTexts {
    /// Whether the workspace is a repository.
    pub repository: bool,
    /// Texts that hold everywhere, the weakest first: the user's own, then the repository's.
    pub excludes: Vec<String>,
    /// Whether files that are ignored are taken all the same.
    pub all: bool,
    /// Paths that a person asked to leave out, as ignore rules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skips: Vec<String>,
    /// Paths that the harness itself writes, as ignore rules: silently no part of anything.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<String>,
    /// The greatest file that is taken, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_max: Option<u64>,
}

/// The rules that hold in one folder: its own, behind those of the folders above.
#[derive(Debug, Clone, Default)]
pub(in crate::checkpoint) struct FolderRules {
    own: Arc<Vec<Arc<Gitignore>>>,
}

/// The scope of a path that no checkpoint had yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::checkpoint) enum Scope {
    /// It belongs to the work.
    In,
    /// It is ignored: it counts only if it was held before.
    Ignored,
    /// It is the harness's own.
    Outside,
    /// A person asked to leave it out.
    Skipped,
}

fn built(root: &Path, lines: impl Iterator<Item = impl AsRef<str>>) -> Gitignore {
    let mut builder = GitignoreBuilder::new(root);
    for line in lines {
        // A line that is no rule is none to git either.
        builder.add_line(None, line.as_ref()).ok();
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// The rules of a `.gitignore` in a folder.
pub(in crate::checkpoint) fn ignore_rules(folder: &[u8], text: &[u8]) -> Arc<Gitignore> {
    let folder = PathBuf::from(OsStr::from_bytes(folder));
    Arc::new(built(&folder, String::from_utf8_lossy(text).lines()))
}

impl Rules {
    /// For a workspace. `excludes` are the texts that hold everywhere: the user's own, then the repository's. None
    /// of them and no repository means that what is made from sources is left out.
    #[must_use]
    pub fn new(is_repository: bool, excludes: &[String], all: bool) -> Self {
        Self::of(RuleTexts { repository: is_repository, excludes: excludes.to_vec(), all, ..RuleTexts::default() })
    }

    /// From the texts.
    #[must_use]
    pub fn of(texts: RuleTexts) -> Self {
        let top = Path::new("");
        let mut everywhere: Vec<Gitignore> = texts.excludes.iter().map(|text| built(top, text.lines())).collect();
        if !texts.repository {
            everywhere.insert(0, built(top, MADE_FROM_SOURCES.iter()));
        }
        everywhere.retain(|rules| !rules.is_empty());
        let (skips, outside) = (built(top, texts.skips.iter()), built(top, texts.outside.iter()));
        Self { texts, everywhere, skips, outside }
    }

    /// The texts.
    #[must_use]
    pub fn texts(&self) -> &RuleTexts {
        &self.texts
    }

    /// Whether the harness itself writes a path, or the agent's program leaves it lying about: no part of the work.
    pub(crate) fn is_outside(&self, path: &[u8], is_folder: bool) -> bool {
        self.outside.matched(Path::new(OsStr::from_bytes(path)), is_folder).is_ignore()
    }

    /// The most that a file may have.
    pub(in crate::checkpoint) fn size_max(&self) -> u64 {
        self.texts.size_max.unwrap_or(u64::MAX)
    }

    /// Whether a file is larger than checkpoints take.
    pub(in crate::checkpoint) fn is_too_big(&self, stat: &Stat) -> bool {
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        is_file && u64::try_from(stat.st_size).unwrap_or(0) > self.size_max()
    }

    /// The scope of a path. `rules` are those of its folder.
    pub(in crate::checkpoint) fn scope(&self, rules: &FolderRules, path: &[u8], is_folder: bool) -> Scope {
        let path = Path::new(OsStr::from_bytes(path));
        if self.outside.matched(path, is_folder).is_ignore() {
            return Scope::Outside;
        }
        if self.skips.matched(path, is_folder).is_ignore() {
            return Scope::Skipped;
        }
        if self.texts.all {
            return Scope::In;
        }
        for rules in rules.own.iter().rev().map(Arc::as_ref).chain(self.everywhere.iter().rev()) {
            match rules.matched(path, is_folder) {
                Match::Ignore(_) => return Scope::Ignored,
                Match::Whitelist(_) => return Scope::In,
                Match::None => {}
            }
        }
        Scope::In
    }
}

impl FolderRules {
    /// Those of a folder with these rules of its own.
    pub(in crate::checkpoint) fn below(&self, own: Option<&Arc<Gitignore>>) -> Self {
        let Some(own) = own.filter(|own| !own.is_empty()) else { return self.clone() };
        let mut all = self.own.as_ref().clone();
        all.push(Arc::clone(own));
        Self { own: Arc::new(all) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_harness_writes_is_outside_and_what_a_person_skips_is_named() {
        let rules = Rules::of(RuleTexts {
            outside: [".loopr/*", "!.loopr/config", ".harness/*"].map(str::to_owned).to_vec(),
            skips: vec!["secret*".to_owned()],
            ..Rules::new(true, &["*.log\n!keep.log\n".to_owned()], false).texts().clone()
        });
        let top = FolderRules::default();
        let scope = |path: &[u8]| rules.scope(&top, path, false);
        assert_eq!(scope(b".loopr/status.json"), Scope::Outside);
        assert_eq!(scope(b".loopr/config"), Scope::In);
        assert_eq!(scope(b".harness/inbox"), Scope::Outside);
        assert_eq!(scope(b"deep/secret.key"), Scope::Skipped);
        assert_eq!(scope(b"deep/a.log"), Scope::Ignored);
        assert_eq!(scope(b"deep/keep.log"), Scope::In);
        assert_eq!(Rules::of(rules.texts().clone()).scope(&top, b"secret", false), Scope::Skipped);
    }
}
