//! Which files should be protected: what decides about the work, and is not a part of it.
use super::ci::{folder_of_ci, is_ci_file};
use super::listing::ProjectListing;
use super::{CheckUse, ProposedCheck, ProposedPath};
use crate::policy::protect::paths::name_of;

/// Files that set up linters and type checkers: with another one they find less.
const LINTERS: [&str; 20] = [
    "clippy.toml",
    ".clippy.toml",
    "ruff.toml",
    ".ruff.toml",
    ".flake8",
    "mypy.ini",
    ".mypy.ini",
    ".golangci.yml",
    ".golangci.yaml",
    ".golangci.toml",
    ".golangci.json",
    "eslint.config.js",
    "eslint.config.mjs",
    "eslint.config.cjs",
    "eslint.config.ts",
    ".eslintrc.json",
    ".eslintrc.js",
    ".eslintrc.cjs",
    ".eslintrc.yml",
    "biome.json",
];

/// Sorted by their globs; each once.
pub(super) fn proposed(listing: &ProjectListing, checks: &[ProposedCheck]) -> Vec<ProposedPath> {
    let mut all: Vec<ProposedPath> = Vec::new();
    let mut add = |glob: String, reason: &str| {
        if !all.iter().any(|known| known.glob == glob) {
            all.push(ProposedPath { glob, reason: reason.to_owned() });
        }
    };
    for path in listing.paths().filter(|path| is_ci_file(path)) {
        let glob = folder_of_ci(path).map_or_else(|| format!("/{path}"), |folder| format!("/{folder}"));
        add(glob, "continuous integration judges by it");
    }
    let lints = checks.iter().any(|check| matches!(check.shows, CheckUse::Lint | CheckUse::Types));
    for path in listing.paths().filter(|path| lints && LINTERS.contains(&name_of(path))) {
        add(format!("/{path}"), "it says what a linter finds");
    }
    all.sort_by(|one, other| one.glob.cmp(&other.glob));
    all
}
