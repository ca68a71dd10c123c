//! What a `Cargo.toml` says about dependencies.

use anyhow::{Context, Result};
use toml_edit::{Document, Item, TableLike};

/// Which table a dependency stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// `[dependencies]`, `[build-dependencies]`, also per target: part of the product.
    Product,
    /// `[dev-dependencies]`: tests only.
    Tests,
}

/// One dependency of one crate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dependency {
    /// The package's real name, also when it is renamed.
    pub package: String,
    /// Which table it stands in.
    pub used_for: Use,
    /// The line of its entry.
    pub line: usize,
}

/// A `Cargo.toml`, read.
pub struct Manifest<'a> {
    text: &'a str,
    document: Document<&'a str>,
}

impl<'a> Manifest<'a> {
    /// Reads the text of a manifest.
    ///
    /// # Errors
    /// When it is not TOML.
    pub fn read(text: &'a str) -> Result<Self> {
        let document = Document::parse(text).context("not valid TOML: run `cargo metadata` to see where")?;
        Ok(Self { text, document })
    }

    /// The name in `[package]`.
    #[must_use]
    pub fn package_name(&self) -> Option<&str> {
        self.document.as_table().get("package")?.get("name")?.as_str()
    }

    /// All dependencies. Names renamed in `root`'s `[workspace.dependencies]` are looked up there.
    #[must_use]
    pub fn dependencies(&self, root: Option<&Manifest<'_>>) -> Vec<Dependency> {
        let top: &dyn TableLike = self.document.as_table();
        let mut found = self.dependencies_in(top, root);
        let targets = top.get("target").and_then(Item::as_table_like);
        for (_, target) in targets.into_iter().flat_map(|targets| targets.iter()) {
            if let Some(target) = target.as_table_like() {
                found.extend(self.dependencies_in(target, root));
            }
        }
        found
    }

    fn dependencies_in(&self, table: &dyn TableLike, root: Option<&Manifest<'_>>) -> Vec<Dependency> {
        let mut found = Vec::new();
        for (name, used_for) in
            [("dependencies", Use::Product), ("build-dependencies", Use::Product), ("dev-dependencies", Use::Tests)]
        {
            let Some(entries) = table.get(name).and_then(Item::as_table_like) else {
                continue;
            };
            for (key, entry) in entries.iter() {
                found.push(Dependency {
                    package: package_of(key, entry, root),
                    used_for,
                    line: self.line_of(entries, key),
                });
            }
        }
        found
    }

    fn line_of(&self, entries: &dyn TableLike, key: &str) -> usize {
        let span = entries.key(key).and_then(toml_edit::Key::span);
        let before = span.and_then(|span| self.text.get(..span.start));
        before.map_or(1, |before| before.matches('\n').count() + 1)
    }

    fn shared(&self, key: &str) -> Option<&Item> {
        let workspace = self.document.as_table().get("workspace")?;
        workspace.get("dependencies")?.get(key)
    }
}

fn package_of(key: &str, entry: &Item, root: Option<&Manifest<'_>>) -> String {
    let renamed = |entry: &Item| entry.get("package")?.as_str().map(str::to_owned);
    renamed(entry).or_else(|| renamed(root?.shared(key)?)).unwrap_or_else(|| key.to_owned())
}
