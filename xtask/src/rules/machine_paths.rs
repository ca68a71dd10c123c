//! No file speaks of somebody's own machine.

use crate::{File, Finding, Tree};

/// Endings of the files that are looked at, beside all in `.ci/`.
const ENDINGS: &[&str] = &[".md", ".rs", ".sh", ".toml"];

/// Files that need such a path, and why.
const ALLOWED: &[(&str, &str)] = &[
    ("xtask/src/rules/machine_paths.rs", "the rule itself"),
    ("xtask/tests/it/machine_paths.rs", "the rule's own tests"),
];

/// Folders that exist on one machine only.
const FOLDERS: &[&str] = &["/work/", "/root/"];

/// The folder whose children are people.
const HOMES: &str = "/home/";

/// Finds paths that hold on one machine only.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files().filter(|file| is_looked_at(file)) {
        for (index, line) in file.text.lines().enumerate() {
            if let Some(path) = machine_path(line) {
                let message = format!("`{path}` exists on one machine only; write a relative path or a placeholder");
                findings.push(Finding::new(&file.path, index + 1, message));
            }
        }
    }
    findings
}

fn is_looked_at(file: &File) -> bool {
    let kind = file.path.starts_with(".ci/") || ENDINGS.iter().any(|ending| file.path.ends_with(ending));
    kind && !ALLOWED.iter().any(|(path, _)| *path == file.path)
}

fn machine_path(line: &str) -> Option<String> {
    let folder = FOLDERS.iter().find(|folder| begins_path(line, folder).next().is_some());
    if let Some(folder) = folder {
        return Some((*folder).to_owned());
    }
    begins_path(line, HOMES).find_map(|rest| {
        let named = |sign: &char| sign.is_alphanumeric() || matches!(sign, '_' | '-' | '.');
        let name: String = rest.chars().take_while(named).collect();
        (!name.is_empty()).then(|| format!("{HOMES}{name}"))
    })
}

/// What follows `folder` wherever a path begins with it: `src/work/` and `$HOME/work/` do not.
fn begins_path<'a>(line: &'a str, folder: &'a str) -> impl Iterator<Item = &'a str> {
    line.match_indices(folder).filter_map(move |(at, _)| {
        let before = &line[..at];
        let goes_on = before.ends_with(|sign: char| {
            sign.is_alphanumeric() || matches!(sign, '_' | '-' | '.' | '~' | '*' | '/' | ')' | '}' | ']' | '>')
        });
        (!goes_on || before.ends_with("://")).then(|| &line[at + folder.len()..])
    })
}
