//! Links in documents lead somewhere.

use crate::{File, Finding, Tree, markdown};

/// Finds relative links to files that do not exist.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files().filter(|file| file.is_markdown()) {
        for (line, text) in markdown::prose_lines(&file.text) {
            for target in markdown::link_targets(text) {
                if is_dead(tree, file, &target) {
                    let message = format!("dead link `{target}`; point it to an existing file, or remove it");
                    findings.push(Finding::new(&file.path, line, message));
                }
            }
        }
    }
    findings
}

fn is_dead(tree: &Tree, from: &File, target: &str) -> bool {
    let path = target.split('#').next().unwrap_or(target);
    if path.is_empty() || has_scheme(path) {
        return false;
    }
    resolve(from.folder(), path).is_none_or(|path| !tree.has(&path))
}

/// `https:`, `mailto:` and their like.
fn has_scheme(target: &str) -> bool {
    target
        .split_once(':')
        .is_some_and(|(scheme, _)| !scheme.is_empty() && scheme.chars().all(|sign| sign.is_ascii_alphabetic()))
}

/// The path from the root; `None` when it leaves the workspace.
fn resolve(folder: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = if target.starts_with('/') { Vec::new() } else { folder.split('/').collect() };
    for part in target.split('/') {
        match part {
            ".." => {
                parts.pop().filter(|part| !part.is_empty())?;
            }
            "." => {}
            part => parts.push(part),
        }
    }
    parts.retain(|part| !part.is_empty());
    Some(parts.join("/"))
}
