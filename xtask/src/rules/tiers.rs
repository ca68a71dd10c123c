//! The table of tests that only `./check --all` runs: each line names tests that are there, once, and says what they need.

use crate::{File, Finding, Tree, tokens};

/// The table.
pub const PATH: &str = ".config/tests-of-all.txt";

/// One line of it.
struct Row<'a> {
    line: usize,
    package: &'a str,
    prefix: &'a str,
    needs: &'a str,
}

/// Finds lines that name no test, name them twice, or do not say what they need.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let Some(file) = tree.file(PATH) else { return Vec::new() };
    let rows: Vec<Row<'_>> = file.text.lines().enumerate().filter_map(|(at, line)| row(at + 1, line)).collect();
    rows.iter().filter_map(|row| fault(tree, &rows, row)).collect()
}

fn row(line: usize, text: &str) -> Option<Row<'_>> {
    let text = text.split('#').next().unwrap_or_default().trim();
    let (package, rest) = text.split_once(' ').unwrap_or((text, ""));
    let rest = rest.trim_start();
    let (prefix, needs) = rest.split_once(' ').unwrap_or((rest, ""));
    (!package.is_empty()).then(|| Row { line, package, prefix, needs: needs.trim() })
}

fn fault(tree: &Tree, rows: &[Row<'_>], row: &Row<'_>) -> Option<Finding> {
    let Row { line, package, prefix, needs } = row;
    let folder = package.strip_prefix("loop-").unwrap_or(package);
    let files = tree.rust().filter(|file| file.in_crate().is_some_and(|found| found.0 == folder));
    let names = files.flat_map(test_names);
    let twice = |other: &&Row<'_>| {
        other.line != *line && other.package == *package && prefix.starts_with(other.prefix) && !other.prefix.is_empty()
    };
    let message = if needs.is_empty() {
        format!("`{package} {prefix}` does not say what it needs; write it behind the name")
    } else if let Some(other) = rows.iter().find(twice) {
        format!("`{package} {prefix}` stands in line {} already; remove one", other.line)
    } else if !names.into_iter().any(|name| name.starts_with(prefix) || in_inner_module(&name, prefix)) {
        format!("no test of {package} begins with `{prefix}`; correct the line, or remove it")
    } else {
        return None;
    };
    Some(Finding::new(PATH, *line, message))
}

/// Whether the line names a module inside the file of this test: `file::inner::` for `file::works`.
fn in_inner_module(name: &str, prefix: &str) -> bool {
    let file = name.rsplit_once("::").map_or("", |(file, _)| file);
    prefix.strip_suffix("::").and_then(|prefix| prefix.rsplit_once("::")).is_some_and(|(outer, _)| outer == file)
}

/// The tests of a file by their full names. In `src` they are in a module `tests`; in `tests/it` modules inside the
/// file are not looked at.
pub(super) fn test_names(file: &File) -> Vec<String> {
    let Some((_, inside)) = file.in_crate() else { return Vec::new() };
    let Some(path) = inside.strip_suffix(".rs") else { return Vec::new() };
    let module = |path: &str| path.strip_suffix("/mod").unwrap_or(path).replace('/', "::");
    let module = match (path.strip_prefix("tests/it/"), path.strip_prefix("src/")) {
        (Some(path), _) => module(path),
        (None, Some(path)) => format!("{}::tests", module(path)),
        (None, None) => return Vec::new(),
    };
    let tests = tokens::lex(&file.text).map(tokens::test_functions).unwrap_or_default();
    tests.into_iter().map(|test| format!("{module}::{}", test.name)).collect()
}
