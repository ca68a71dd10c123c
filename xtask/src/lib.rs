//! The workspace's own chores: house rules that are checked, not only written down.
//!
//! - [`tree`]: the files of the workspace, in memory, so that every rule can be tried on a made-up one
//! - [`rules`]: one file a rule, each `fn check(tree: &Tree) -> Vec<Finding>`
//! - [`tags`], [`clauses`], [`ledger`]: which test meets which requirement, and the list that shows it
//! - [`bench`]: what the harness itself costs, against its limits
//! - [`cheats`]: cheating agents and honest ones, played against the built program
//! - [`deb`]: a Debian package
//! - [`manual`]: pages of the manual that are written from the code
//! - [`picture`]: the picture in README
//! - [`projects`]: honest work in the kinds of projects that people have
//! - [`mutants`]: the judging code changed in small ways, each of which a test must notice
//! - [`manifest`], [`markdown`], [`tokens`]: reading `Cargo.toml`, documents and Rust code

pub mod bench;
pub mod cheats;
pub mod clauses;
pub mod deb;
pub mod finding;
pub mod ledger;
pub mod manifest;
pub mod manual;
pub mod markdown;
pub mod mutants;
pub mod picture;
pub mod projects;
pub mod rules;
pub mod tags;
pub mod tokens;
pub mod tree;

use std::path::{Path, PathBuf};

pub use finding::Finding;
pub use tree::{File, Tree};

/// The root of the workspace that this crate was built in.
#[must_use]
pub fn workspace_root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// Every finding of every rule, ordered by path and line.
#[must_use]
pub fn tidy(tree: &Tree) -> Vec<Finding> {
    let mut findings: Vec<Finding> = rules::ALL.iter().flat_map(|check| check(tree)).collect();
    findings.sort();
    findings
}
