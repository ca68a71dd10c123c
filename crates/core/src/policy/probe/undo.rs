//! Old sources under the final tests: if the gates still pass, the final tests do not need the work that was done.
use thiserror::Error;

use super::roles::{FileRole, role_of};
use super::{ReadTree, TreeVersion};
use crate::policy::protect::is_for_tests;

/// A file that differs between the two trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// Its path.
    pub path: String,
    /// Whether it is in the initial tree.
    pub was_there: bool,
    /// Whether it is in the final tree.
    pub is_there: bool,
}

/// What is done with one file of the copy of the final tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UndoStep {
    /// It becomes what it was in the initial tree.
    Restore(String),
    /// New file: it is removed.
    Remove(String),
    /// Its old code with its final tests.
    Write {
        /// The path.
        path: String,
        /// What it holds then.
        contents: String,
    },
}

/// Steps that restore the initial sources.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UndoPlan {
    /// For each source that changed. With none, only tests changed: the sources are old already.
    pub steps: Vec<UndoStep>,
}

/// Why sources and tests cannot be told apart.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NoUndo {
    /// Only manifests and the like changed, besides tests: taking them back would take back what the tests need.
    #[error("only files that say how tests are run were changed: {0}")]
    OnlySetup(String),
    /// The tests that changed are inside of sources.
    #[error("the tests that changed are in the same files as the sources: {0}")]
    TestsInSources(String),
}

/// Which files of a copy of the final tree are set back, so that only tests and their setup are final.
///
/// # Errors
/// When that would also take back the tests, or nothing that the tests are about was changed but their setup.
pub fn undo(changed: &[ChangedFile], gate_files: &[String], read: ReadTree<'_>) -> Result<UndoPlan, NoUndo> {
    let mut plan = UndoPlan::default();
    // Manifests, lock files and settings of runners stay as they are in the final tree: the final tests may need them.
    let mut kept: Vec<&str> = Vec::new();
    let mut tests_changed = false;
    let mut mixed: Vec<&str> = Vec::new();
    for file in changed {
        match role(file, gate_files, read) {
            FileRole::Test => tests_changed = true,
            FileRole::Setup => kept.push(&file.path),
            FileRole::Document => {}
            FileRole::Source => {
                let step = step(file, read);
                tests_changed |= matches!(step.what, UndoStep::Write { .. });
                if step.loses_tests {
                    mixed.push(&file.path);
                }
                plan.steps.push(step.what);
            }
        }
    }
    if !mixed.is_empty() && !tests_changed {
        return Err(NoUndo::TestsInSources(few(&mixed)));
    }
    if plan.steps.is_empty() && !kept.is_empty() {
        return Err(NoUndo::OnlySetup(few(&kept)));
    }
    Ok(plan)
}

/// What a file is; a source that was written for tests at the start stays with the tests.
fn role(file: &ChangedFile, gate_files: &[String], read: ReadTree<'_>) -> FileRole {
    let role = role_of(&file.path, gate_files);
    let is_helper = || {
        let text = if file.was_there { read(TreeVersion::Initial, &file.path) } else { None };
        text.is_some_and(|text| is_for_tests(&file.path, &text))
    };
    if role == FileRole::Source && is_helper() { FileRole::Test } else { role }
}

fn few(names: &[&str]) -> String {
    const NAMED: usize = 3;
    let more = names.len().saturating_sub(NAMED);
    let first = names.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    if more == 0 { first } else { format!("{first} and {more} more") }
}

struct SourceStep {
    what: UndoStep,
    /// Tests that came or changed go with it.
    loses_tests: bool,
}

fn step(file: &ChangedFile, read: ReadTree<'_>) -> SourceStep {
    let path = file.path.clone();
    let text = |version, is_there: bool| if is_there { read(version, &file.path) } else { None };
    let old = text(TreeVersion::Initial, file.was_there);
    let new = text(TreeVersion::Last, file.is_there);
    let has_tests = new.as_deref().is_some_and(|text| holds_tests(&path, text));
    if !file.was_there {
        return SourceStep { what: UndoStep::Remove(path), loses_tests: has_tests };
    }
    if let (Some(old), Some(new), true) = (&old, &new, has_tests) {
        let (old_parts, new_parts) = (Parts::of(&path, old), Parts::of(&path, new));
        if let (Some(old), Some(new)) = (old_parts, new_parts) {
            if old.tests == new.tests {
                return SourceStep { what: UndoStep::Restore(path), loses_tests: false };
            }
            let contents = format!("{}{}", old.code, new.tests);
            return SourceStep { what: UndoStep::Write { path, contents }, loses_tests: false };
        }
    }
    SourceStep { what: UndoStep::Restore(path), loses_tests: has_tests }
}

/// Whether a source holds tests.
fn holds_tests(path: &str, text: &str) -> bool {
    match path.rsplit('.').next() {
        Some("rs") => text.contains("#[test]") || text.contains("::test]") || text.contains("#[cfg(test)]"),
        Some("py") => text.contains("TestCase") || text.contains("def test_") || text.contains(">>> "),
        Some("js" | "ts" | "jsx" | "tsx" | "mjs" | "mts") => {
            text.contains("import.meta.vitest") || text.contains("node:test")
        }
        Some(_) | None => false,
    }
}

/// The line, from 0, at which the unit tests of a source begin, where they are one module at its end.
#[must_use]
pub fn first_test_line(path: &str, text: &str) -> Option<u32> {
    let parts = Parts::of(path, text).filter(|parts| !parts.tests.is_empty())?;
    u32::try_from(parts.code.lines().count()).ok()
}

/// A source of Rust whose unit tests are one module at its end.
struct Parts<'a> {
    code: &'a str,
    tests: &'a str,
}

impl<'a> Parts<'a> {
    fn of(path: &str, text: &'a str) -> Option<Self> {
        if !path.ends_with(".rs") {
            return None;
        }
        let at = text
            .rmatch_indices("#[cfg(test)]\nmod ")
            .map(|(at, _)| at)
            .find(|at| *at == 0 || text[..*at].ends_with('\n'));
        let Some(at) = at else {
            return (!holds_tests(path, text)).then_some(Self { code: text, tests: "" });
        };
        let (code, tests) = text.split_at(at);
        let opens = tests.lines().nth(1).is_some_and(|line| line.trim_end().ends_with('{'));
        // Its closing brace is the last line, and no other one stands at the beginning of a line.
        let closes =
            tests.lines().filter(|line| line.starts_with('}')).count() == 1 && tests.trim_end().ends_with("\n}");
        (opens && closes && !code.contains("#[test]")).then_some(Self { code, tests })
    }
}
