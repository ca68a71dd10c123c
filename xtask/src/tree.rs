//! The files of the workspace, in memory.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

/// Folders that a walk never enters.
const NEVER_ENTERED: &[&str] = &[".git", "target"];

/// What git may have set for a hook, and what would make it look elsewhere.
const GIT_VARIABLES: &[&str] = &["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"];

/// One file: where it lies and what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Relative to the workspace root, with `/`.
    pub path: String,
    /// Its text; empty when the file is not UTF-8.
    pub text: String,
}

impl File {
    /// Is it Rust code?
    #[must_use]
    pub fn is_rust(&self) -> bool {
        self.has_ending("rs")
    }

    /// Is it a document?
    #[must_use]
    pub fn is_markdown(&self) -> bool {
        self.has_ending("md")
    }

    fn has_ending(&self, ending: &str) -> bool {
        let found = self.path.rsplit_once('.');
        found.is_some_and(|(_, found)| found == ending)
    }

    /// The name without folder and without what follows the last dot.
    #[must_use]
    pub fn stem(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or(&self.path);
        name.rsplit_once('.').map_or(name, |(stem, _)| stem)
    }

    /// The folder that it lies in; empty for the root.
    #[must_use]
    pub fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// The crate that it belongs to, by the name of its folder, and the path inside that crate.
    #[must_use]
    pub fn in_crate(&self) -> Option<(&str, &str)> {
        match self.path.strip_prefix("crates/") {
            Some(rest) => rest.split_once('/'),
            None => Some(("xtask", self.path.strip_prefix("xtask/")?)),
        }
    }

    /// Does it lie in the `src` folder of a crate?
    #[must_use]
    pub fn is_src(&self) -> bool {
        self.in_crate().is_some_and(|(_, rest)| rest.starts_with("src/"))
    }

    /// Does it lie in the `tests` folder of a crate?
    #[must_use]
    pub fn is_tests(&self) -> bool {
        self.in_crate().is_some_and(|(_, rest)| rest.starts_with("tests/"))
    }
}

/// All files of a workspace, ordered by path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree {
    files: Vec<File>,
}

impl Tree {
    /// A made-up tree, for trying a rule.
    #[must_use]
    pub fn of(files: &[(&str, &str)]) -> Self {
        let mut files: Vec<File> =
            files.iter().map(|(path, text)| File { path: (*path).to_owned(), text: (*text).to_owned() }).collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Self { files }
    }

    /// What git tracks, or would track, under `root`; without git, every file but the built ones.
    ///
    /// # Errors
    /// When a folder or a file cannot be read.
    pub fn load(root: &Path) -> Result<Self> {
        let paths = match listed_by_git(root) {
            Some(paths) => paths,
            None => walked(root)?,
        };
        let mut files = Vec::new();
        for path in paths {
            let full = root.join(&path);
            if !full.is_file() {
                continue; // deleted but not yet committed, or a submodule
            }
            let bytes = fs::read(&full).with_context(|| format!("cannot read {path}: check its permissions"))?;
            let text = String::from_utf8(bytes).unwrap_or_default();
            files.push(File { path, text });
        }
        Ok(Self { files })
    }

    /// All files.
    pub fn files(&self) -> impl Iterator<Item = &File> {
        self.files.iter()
    }

    /// All files of Rust code.
    pub fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.is_rust())
    }

    /// The file at exactly this path.
    #[must_use]
    pub fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Is there a file, or a folder with files, at this path? The root is the empty path.
    #[must_use]
    pub fn has(&self, path: &str) -> bool {
        let folder = format!("{path}/");
        path.is_empty() || self.files.iter().any(|file| file.path == path || file.path.starts_with(&folder))
    }

    /// The names at the root, files and folders alike.
    #[must_use]
    pub fn root_names(&self) -> BTreeSet<&str> {
        self.files.iter().filter_map(|file| file.path.split('/').next()).collect()
    }
}

/// `None` when git is missing, or knows no file here.
fn listed_by_git(root: &Path) -> Option<BTreeSet<String>> {
    let mut git = Command::new("git");
    for variable in GIT_VARIABLES {
        git.env_remove(variable);
    }
    git.arg("-C").arg(root);
    git.args(["ls-files", "-z", "-co", "--exclude-standard"]);
    let output = git.output().ok().filter(|output| output.status.success())?;
    let listing = String::from_utf8(output.stdout).ok()?;
    let paths: BTreeSet<String> = listing.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect();
    (!paths.is_empty()).then_some(paths)
}

fn walked(root: &Path) -> Result<BTreeSet<String>> {
    let mut paths = BTreeSet::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        let full = root.join(&folder);
        let entries = fs::read_dir(&full).with_context(|| format!("cannot list {}: does it exist?", full.display()))?;
        for entry in entries {
            let entry = entry.with_context(|| format!("cannot list {}", full.display()))?;
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            let kind = entry.file_type()?;
            let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
            if !kind.is_dir() {
                paths.insert(path);
            } else if !NEVER_ENTERED.contains(&name.as_str()) {
                folders.push(path);
            }
        }
    }
    Ok(paths)
}
