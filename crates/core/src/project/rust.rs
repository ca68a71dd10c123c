//! Cargo packages and workspaces.
use toml_edit::Document;

use super::{Candidate, CheckUse, Language, Part};

pub(super) fn candidates(part: &Part<'_>) -> Vec<Candidate> {
    if !part.has("Cargo.toml") {
        return Vec::new();
    }
    let manifest = Document::parse(part.text("Cargo.toml")).ok();
    let has = |name: &str| manifest.as_ref().is_some_and(|manifest| manifest.as_table().contains_key(name));
    let check = |shows, command: &str, reason: String| part.check(shows, Language::Rust, command, reason).covering();
    let path = part.path("Cargo.toml");
    // A workspace without a package of its own tests all members by itself.
    let (all, reason) = if has("workspace") && has("package") {
        (" --workspace", format!("{path} is a workspace with a package of its own"))
    } else if has("workspace") {
        ("", format!("{path} is a workspace"))
    } else {
        ("", format!("{path} is a package"))
    };
    let mut found = Vec::new();
    found.push(match part.ci.line("cargo nextest run") {
        Some(line) => check(CheckUse::Test, &line.command, format!("{} runs it", line.file)),
        None => check(CheckUse::Test, &format!("cargo test{all}"), reason.clone()),
    });
    if let Some(line) = part.ci.line("cargo clippy") {
        found.push(check(CheckUse::Lint, &line.command, format!("{} runs it", line.file)));
    } else if let Some(config) = part.first(&["clippy.toml", ".clippy.toml"]) {
        let command = format!("cargo clippy{all} --all-targets -- -D warnings");
        found.push(check(CheckUse::Lint, &command, format!("there is {}", part.path(config))));
    }
    found.push(check(CheckUse::Build, &format!("cargo build{all}"), reason));
    if part.below().any(|path| path.starts_with("benches/") && path.ends_with(".rs")) {
        found.push(check(CheckUse::Bench, "cargo bench", format!("there are benchmarks in {}", part.path("benches"))));
    }
    if part.has("deny.toml") {
        found.push(check(CheckUse::Audit, "cargo deny check", format!("there is {}", part.path("deny.toml"))));
    } else if let Some(line) = part.ci.line("cargo audit").or_else(|| part.ci.line("cargo deny")) {
        found.push(check(CheckUse::Audit, &line.command, format!("{} runs it", line.file)));
    }
    found
}
