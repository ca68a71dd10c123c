//! What is in scope: git's ignore rules read as data. No git is asked, and no configuration that a repository
//! brings along is obeyed.
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// What is left out where nobody says anything, because there is no repository: what is made from the sources.
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

/// The rules of a workspace that hold everywhere in it.
#[derive(Debug, Clone)]
pub struct Rules {
    /// The weakest first.
    everywhere: Vec<Gitignore>,
    /// Whether files that are ignored are taken all the same.
    all: bool,
}

/// The rules that hold in one folder: its own, behind those of the folders above.
#[derive(Debug, Clone)]
pub(super) struct FolderRules {
    own: Vec<std::sync::Arc<Gitignore>>,
}

fn built(root: &Path, lines: impl Iterator<Item = impl AsRef<str>>) -> Gitignore {
    let mut builder = GitignoreBuilder::new(root);
    for line in lines {
        // A line that is no rule is none to git either.
        builder.add_line(None, line.as_ref()).ok();
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

impl Rules {
    /// For a workspace. `excludes` are the texts that hold everywhere: the user's own, then the repository's. None
    /// of them and no repository means that what is made from sources is left out.
    #[must_use]
    pub fn new(is_repository: bool, excludes: &[String], all: bool) -> Self {
        let mut everywhere: Vec<Gitignore> = excludes.iter().map(|text| built(Path::new(""), text.lines())).collect();
        if !is_repository {
            everywhere.insert(0, built(Path::new(""), MADE_FROM_SOURCES.iter()));
        }
        Self { everywhere, all }
    }

    pub(super) fn at_the_top(&self) -> FolderRules {
        FolderRules { own: Vec::new() }
    }

    /// Whether something is left out. `rules` are those of the folder that it lies in.
    pub(super) fn leave_out(&self, rules: &FolderRules, path: &[u8], is_folder: bool) -> bool {
        if self.all {
            return false;
        }
        let path = Path::new(OsStr::from_bytes(path));
        let judged = rules.own.iter().rev().map(std::sync::Arc::as_ref).chain(self.everywhere.iter().rev());
        for rules in judged {
            match rules.matched(path, is_folder) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => {}
            }
        }
        false
    }
}

impl FolderRules {
    /// Those of a folder with this `.gitignore`.
    pub(super) fn below(&self, folder: &[u8], text: Option<&[u8]>) -> Self {
        let Some(text) = text.filter(|text| !text.is_empty()) else { return self.clone() };
        let folder = PathBuf::from(OsStr::from_bytes(folder));
        let rules = built(&folder, String::from_utf8_lossy(text).lines());
        let mut own = self.own.clone();
        own.push(std::sync::Arc::new(rules));
        Self { own }
    }
}
