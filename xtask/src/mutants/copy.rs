//! A copy of the workspace that has only core, with every change behind a switch. The real tree is only read.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use toml_edit::{DocumentMut, Table, value};

use super::examples::{Example, of_source, program};
use super::list::Site;
use super::rewrite::{ChangePlace, rewrite};

const SWITCH: &str = include_str!("switch.txt");
const CORE: &str = "crates/core";
/// The test program of the examples in doc comments.
pub const EXAMPLES: &str = "doc_examples";

/// A file of the judging code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// From the root of the workspace.
    pub path: String,
    pub text: String,
    pub sites: Vec<Site>,
}

/// Where the rewritten changes of a file are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    pub path: String,
    pub places: Vec<ChangePlace>,
}

/// The copy.
#[derive(Debug)]
pub struct Copy {
    root: PathBuf,
    from: PathBuf,
    /// Files that [`Copy::put`] writes.
    changed: BTreeSet<String>,
}

impl Copy {
    /// Makes it, or brings it up to date. All that is not written here is a link to the real tree.
    ///
    /// # Errors
    /// When a file cannot be read or written.
    pub fn make(from: &Path, root: &Path, changed: &[Source]) -> Result<Self> {
        let changed = changed.iter().map(|source| source.path.clone()).collect();
        let copy = Self { root: root.to_owned(), from: from.to_owned(), changed };
        copy.link_all("", &["Cargo.toml", "Cargo.lock", "crates", "target", ".git"])?;
        copy.link_all("crates", &["core"])?;
        copy.link_all(CORE, &["Cargo.toml", "src"])?;
        copy.manifests()?;
        let mut examples = Vec::new();
        copy.sources(&format!("{CORE}/src"), &mut examples)?;
        examples.sort_by(|left, right| left.name.cmp(&right.name));
        copy.write(&format!("{CORE}/{EXAMPLES}.rs"), &program(&examples))?;
        Ok(copy)
    }

    /// Its folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder in which the tests run.
    #[must_use]
    pub fn package(&self) -> PathBuf {
        self.root.join(CORE)
    }

    fn link_all(&self, folder: &str, except: &[&str]) -> Result<()> {
        let (from, to) = (self.from.join(folder), self.root.join(folder));
        fs::create_dir_all(&to).with_context(|| format!("cannot make {}", to.display()))?;
        for entry in fs::read_dir(&from).with_context(|| format!("cannot read {}", from.display()))? {
            let name = entry?.file_name();
            let link = to.join(&name);
            if !except.iter().any(|one| name == *one) && fs::symlink_metadata(&link).is_err() {
                symlink(from.join(&name), &link).with_context(|| format!("cannot link {}", link.display()))?;
            }
        }
        Ok(())
    }

    fn manifests(&self) -> Result<()> {
        let mut workspace: DocumentMut = self.read("Cargo.toml")?.parse().context("Cargo.toml")?;
        workspace["workspace"]["members"] = value(toml_edit::Array::from_iter([CORE]));
        if let Some(table) = workspace["workspace"].as_table_mut() {
            table.remove("default-members");
        }
        workspace["profile"]["dev"]["package"]["loop-core"]["opt-level"] = value(1);
        self.write("Cargo.toml", &workspace.to_string())?;
        let path = format!("{CORE}/Cargo.toml");
        let mut package: DocumentMut = self.read(&path)?.parse().context("Cargo.toml of core")?;
        package.remove("lints");
        let mut target = Table::new();
        target["name"] = value(EXAMPLES);
        target["path"] = value(format!("{EXAMPLES}.rs"));
        let targets = package["test"].as_array_of_tables_mut().context("core has no test program")?;
        targets.push(target);
        self.write(&path, &package.to_string())?;
        if !self.root.join("Cargo.lock").exists() {
            self.write("Cargo.lock", &self.read("Cargo.lock")?)?;
        }
        Ok(())
    }

    fn sources(&self, folder: &str, examples: &mut Vec<Example>) -> Result<()> {
        fs::create_dir_all(self.root.join(folder))?;
        let mut kept = BTreeSet::new();
        for entry in fs::read_dir(self.from.join(folder))? {
            let entry = entry?;
            let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
            kept.insert(entry.file_name());
            if entry.file_type()?.is_dir() {
                self.sources(&path, examples)?;
                continue;
            }
            let is_rust = path.ends_with(".rs");
            let short = path.trim_start_matches(CORE).trim_start_matches("/src/").trim_end_matches(".rs").to_owned();
            if is_rust {
                examples.extend(of_source(&short, &self.read(&path)?));
            }
            if path == format!("{CORE}/src/lib.rs") {
                let text = self.read(&path)?;
                let text = text.replacen("pub mod ", "#![allow(warnings)]\npub mod mutant_switch;\npub mod ", 1);
                self.write(&path, &text)?;
            } else if !self.changed.contains(&path) {
                self.write(&path, &self.read(&path)?)?;
            }
        }
        for entry in fs::read_dir(self.root.join(folder))? {
            let entry = entry?;
            let switch = entry.file_name() == "mutant_switch.rs";
            if !switch && !kept.contains(&entry.file_name()) && entry.file_type()?.is_file() {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }

    /// Writes the judging code with its changes, without those that are dropped.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn put(&self, sources: &[Source], dropped: &BTreeSet<usize>) -> Result<Vec<Written>> {
        let choices = sources.iter().flat_map(|source| &source.sites).flat_map(|site| &site.choices);
        let count = choices.map(|choice| choice.id).max().unwrap_or_default();
        let switch = SWITCH.replace("const COUNT: usize = 0;", &format!("const COUNT: usize = {};", count + 1));
        self.write(&format!("{CORE}/src/mutant_switch.rs"), &switch)?;
        let mut written = Vec::new();
        for source in sources {
            let rewritten = rewrite(&source.text, &source.sites, dropped);
            self.write(&source.path, &rewritten.text)?;
            written.push(Written { path: source.path.clone(), places: rewritten.places });
        }
        Ok(written)
    }

    fn read(&self, path: &str) -> Result<String> {
        fs::read_to_string(self.from.join(path)).with_context(|| format!("cannot read {path}"))
    }

    /// Only if it differs, so that nothing is built again without need.
    fn write(&self, path: &str, text: &str) -> Result<()> {
        let path = self.root.join(path);
        if fs::read_to_string(&path).is_ok_and(|now| now == text) {
            return Ok(());
        }
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    }
}
