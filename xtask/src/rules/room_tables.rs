//! The table in the header of a `mod.rs` names every module of its room, and nothing that is not there.
//!
//! A row with `<name>` or `…` stands for a family of modules: then a module may be without a row of its own.

use crate::{Finding, Tree};

/// Finds modules that the table of their room does not name, and names in it that are no module.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust().filter(|file| file.path.ends_with("/mod.rs") && file.path.contains("/src/")) {
        let rows: Vec<(usize, &str)> = rows(&file.text);
        if rows.is_empty() {
            continue;
        }
        let has_family = rows.iter().any(|(_, cell)| cell.contains("`<") || cell.contains('…'));
        let named: Vec<(usize, &str)> =
            rows.iter().flat_map(|(line, cell)| names(cell).map(move |name| (*line, name))).collect();
        for (line, module) in modules(&file.text) {
            if !has_family && !named.iter().any(|(_, name)| *name == module) {
                let message = format!("`{module}` is not in the table of its room; say what is there");
                findings.push(Finding::new(&file.path, line, message));
            }
        }
        for (line, name) in named {
            let is_there = |end: &str| tree.has(&format!("{}/{name}{end}", file.folder()));
            if !is_there(".rs") && !is_there("") {
                let message = format!("the table names `{name}`, which is not in this room");
                findings.push(Finding::new(&file.path, line, message));
            }
        }
    }
    findings
}

/// The first cells of the table in the module comment, with their lines.
fn rows(text: &str) -> Vec<(usize, &str)> {
    let comment = text.lines().enumerate().take_while(|(_, line)| line.starts_with("//!"));
    let rows = comment.filter_map(|(index, line)| {
        let cell = line.strip_prefix("//! | ")?.split(" | ").next()?;
        Some((index + 1, cell))
    });
    // The first row is the head. A table whose first cells are no names says something else.
    rows.skip(1).filter(|(_, cell)| cell.starts_with('`') || cell.starts_with("[`")).collect()
}

/// The names in a cell: what stands between backticks, without ending, folder sign and family.
fn names(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2).map(|name| name.trim_end_matches('/').trim_end_matches(".rs")).filter(|name| {
        !name.is_empty()
            && name.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_' || letter.is_ascii_digit())
    })
}

/// The modules that a file declares, but those of its tests, with their lines.
fn modules(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_test = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let was_test = std::mem::replace(&mut is_test, line.trim() == "#[cfg(test)]");
        let rest = line.strip_prefix("pub(crate) ").or_else(|| line.strip_prefix("pub ")).unwrap_or(line);
        let name = rest.strip_prefix("mod ")?.strip_suffix(';')?;
        (!was_test).then_some((index + 1, name))
    })
}
