//! Test files that the agent added: which of them are taken out of a copy, so that the old tests run without them.
//!
//! A new test file runs before or beside the old ones. It can change the product while it runs, or make up for tests that
//! do not run any more. Other new sources in the folders of the tests may be loaded by a runner, known or not: those are
//! made empty, so that a runner that counts its files still finds them.
use std::collections::BTreeSet;

use super::calls::{self, RunnerCall};
use super::filter::fits_glob;
use super::project::Probed;
use super::runners::RunnerKind;
use super::{CanaryRequest, TreeVersion, calls_to_try};
use crate::policy::protect::paths::{folder_of, is_below, name_of};
use crate::policy::protect::{is_manifest, is_runner_file, is_target_file, is_test_path, judging_scripts_at};

/// A file that has so many of the lines of one that is gone was moved.
const MOVED_PARTS: usize = 2;
/// What a test file of JavaScript calls.
const JAVASCRIPT_CALLS: &[&str] = &["test(", "it(", "describe(", "node:test", "test.each", "it.each"];

/// Folders of tests beside those that are protected by their names.
const MORE_TEST_FOLDERS: &[&str] = &["t", "testing", "checks", "cases"];
/// Ends of names of programs that may be empty.
const SCRIPT_ENDINGS: &[&str] = &[
    "js", "mjs", "cjs", "ts", "mts", "cts", "jsx", "tsx", "py", "rb", "pl", "sh", "bash", "lua", "php", "exs", "bats",
];

/// The new files that a runner of the gate runs as tests by their names. Empty where the gate ran no tests of such names
/// at the start: then the tests are the work.
///
/// Files that the old tests may need are not among them: those which the gate's line names, which were moved, or which a
/// changed file that stays names.
#[must_use]
pub fn new_test_files(request: &CanaryRequest<'_>) -> Vec<String> {
    let probed = Probed::new(request, TreeVersion::Initial);
    let found = calls::of(request.command, &probed);
    if found.elsewhere.is_some() {
        return Vec::new();
    }
    let calls = calls_to_try(found, &probed);
    let text = |version: TreeVersion, path: &str| (request.read)(version, path).unwrap_or_default();
    let runs = |version: TreeVersion, path: &str| calls.iter().any(|call| is_run(call, path, &|| text(version, path)));
    if !request.initial.iter().any(|path| runs(TreeVersion::Initial, path)) {
        return Vec::new();
    }
    let gone: Vec<String> = request
        .initial
        .iter()
        .filter(|path| !probed.has(path) && runs(TreeVersion::Initial, path))
        .map(|path| text(TreeVersion::Initial, path))
        .collect();
    let initial: BTreeSet<&String> = request.initial.iter().collect();
    let mut new: Vec<&String> = request.last.iter().filter(|path| !initial.contains(path)).collect();
    new.retain(|path| runs(TreeVersion::Last, path));
    new.retain(|path| !request.command.contains(name_of(path)));
    new.retain(|path| !gone.iter().any(|old| is_moved(old, &text(TreeVersion::Last, path))));
    let changed_tests: Vec<String> = request
        .initial
        .iter()
        .filter(|path| probed.has(path) && runs(TreeVersion::Initial, path))
        .filter(|path| text(TreeVersion::Initial, path) != text(TreeVersion::Last, path))
        .map(|path| text(TreeVersion::Last, path))
        .collect();
    new.retain(|path| !changed_tests.iter().any(|test| names(test, path)));
    new.into_iter().cloned().collect()
}

/// Further new sources in the folders in which tests of the start lie, for runners that are not known too. Empty where the
/// tests run elsewhere.
///
/// Not among them: files of `removed`, settings of runners, what was moved, and what the gate's command, its files, an old
/// test or a file that stays names.
#[must_use]
pub fn new_files_beside_tests(request: &CanaryRequest<'_>, gate_files: &[String], removed: &[String]) -> Vec<String> {
    let probed = Probed::new(request, TreeVersion::Initial);
    if calls::of(request.command, &probed).elsewhere.is_some() {
        return Vec::new();
    }
    let text = |version: TreeVersion, path: &String| (request.read)(version, path).unwrap_or_default();
    let old: BTreeSet<&String> = request.initial.iter().filter(|path| is_test_script(path)).collect();
    let folders: BTreeSet<&str> = old.iter().map(|path| folder_of(path)).collect();
    let is_beside = |path: &String| folders.iter().any(|folder| is_below(path, folder));
    let gone: Vec<String> =
        old.iter().filter(|path| !probed.has(path)).map(|path| text(TreeVersion::Initial, path)).collect();
    let mut new: Vec<&String> =
        request.last.iter().filter(|path| is_test_script(path) && !old.contains(path)).collect();
    new.retain(|path| is_beside(path) && !is_runner_file(path) && !removed.contains(path));
    new.retain(|path| !gone.iter().any(|old| is_moved(old, &text(TreeVersion::Last, path))));
    let says_how_tests_run = |path: &&String| {
        let name = name_of(path);
        is_manifest(name) || is_runner_file(path) || is_target_file(name) || gate_files.contains(path)
    };
    let stays = request.last.iter().filter(|path| says_how_tests_run(path) || old.contains(path));
    let scripts = judging_scripts_at(request.command, "");
    let mut texts: Vec<String> = stays.chain(&scripts).map(|path| text(TreeVersion::Last, path)).collect();
    texts.push(request.command.to_owned());
    // What stays may need further ones.
    while let Some(next) = texts.pop() {
        new.retain(|path| {
            let is_named = names(&next, path);
            if is_named {
                texts.push(text(TreeVersion::Last, path));
            }
            !is_named
        });
    }
    new.into_iter().cloned().collect()
}

/// Whether a file in a folder of tests, or with the name of a test, is a program that may be empty.
fn is_test_script(path: &str) -> bool {
    let in_folder = || folder_of(path).split('/').any(|folder| MORE_TEST_FOLDERS.contains(&folder));
    let ending = name_of(path).rsplit_once('.').map_or("", |(_, ending)| ending);
    SCRIPT_ENDINGS.contains(&ending) && (is_test_path(path) || in_folder())
}

/// Whether a runner runs a file as tests, by its name.
fn is_run(call: &RunnerCall, path: &str, text: &dyn Fn() -> String) -> bool {
    let name = name_of(path);
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    let parts: Vec<&str> = path.split('/').collect();
    let above = parts.len().checked_sub(2).and_then(|at| parts.get(at)).copied().unwrap_or_default();
    let is_below = |folder: &str| parts.iter().rev().skip(1).any(|part| *part == folder);
    let in_glob = || call.words.iter().any(|word| word.contains('*') && fits_glob(word, path));
    let is_javascript = matches!(ending, "js" | "mjs" | "cjs" | "ts" | "mts" | "cts" | "jsx" | "tsx");
    let is_marked = stem.ends_with(".test") || stem.ends_with(".spec");
    let calls_tests = || JAVASCRIPT_CALLS.iter().any(|call| text().contains(call));
    match call.kind {
        RunnerKind::Pytest => ending == "py" && (stem.starts_with("test_") || stem.ends_with("_test") || in_glob()),
        RunnerKind::Unittest => {
            let by_pattern = || call.words.iter().any(|word| word.contains('*') && fits_glob(word, name));
            ending == "py" && (stem.starts_with("test") || by_pattern())
        }
        RunnerKind::PythonFile => false,
        RunnerKind::Node => {
            let is_named = is_marked
                || stem == "test"
                || stem.starts_with("test-")
                || stem.ends_with("-test")
                || stem.ends_with("_test")
                || is_below("test");
            is_javascript && (is_named || in_glob()) && calls_tests()
        }
        RunnerKind::Jest | RunnerKind::Vitest => {
            is_javascript && (is_marked || is_below("__tests__") || in_glob()) && calls_tests()
        }
        RunnerKind::Mocha => is_javascript && (is_marked || is_below("test") || in_glob()) && calls_tests(),
        RunnerKind::Cargo | RunnerKind::Nextest => {
            let is_main = name == "main.rs" && parts.len() > 2 && parts.get(parts.len() - 3) == Some(&"tests");
            ending == "rs" && (above == "tests" || is_main)
        }
        RunnerKind::Go => name.ends_with("_test.go"),
    }
}

/// Whether a file holds most lines of one that is gone.
fn is_moved(old: &str, new: &str) -> bool {
    let lines = |text: &'_ str| -> Vec<String> {
        text.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
    };
    let (old, new) = (lines(old), lines(new));
    let kept = old.iter().filter(|line| new.contains(line)).count();
    !old.is_empty() && kept.saturating_mul(MOVED_PARTS) >= old.len()
}

/// Whether a text names a file, without its ending, as a whole word; of the main file of a folder, the folder.
fn names(text: &str, path: &str) -> bool {
    let name = name_of(path);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let stem = if matches!(stem, "index" | "__init__" | "mod") { name_of(folder_of(path)) } else { stem };
    if stem.is_empty() {
        return false;
    }
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    text.match_indices(stem).any(|(at, _)| {
        let before = text.get(..at).and_then(|text| text.chars().next_back());
        let after = text.get(at + stem.len()..).and_then(|text| text.chars().next());
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}
