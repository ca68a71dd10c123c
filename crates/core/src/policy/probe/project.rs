//! What is known of the two trees and of the tests that ran.
use std::collections::BTreeSet;

use super::{CanaryRequest, ReadTree, TreeVersion};
use crate::policy::protect::is_test_path;
use crate::policy::protect::paths::joined;
use crate::test_output::{TestStatus, Tests};

/// The trees, as all runners look at them.
pub(super) struct Probed<'a> {
    last: BTreeSet<&'a str>,
    initial: BTreeSet<&'a str>,
    pub(super) addopts: &'a str,
    pub(super) tests: Option<&'a Tests>,
    red: &'a [String],
    pub(super) word: &'a str,
    read: ReadTree<'a>,
    setup: TreeVersion,
}

impl<'a> Probed<'a> {
    pub(super) fn new(request: &CanaryRequest<'a>, setup: TreeVersion) -> Self {
        Self {
            last: request.last.iter().map(String::as_str).collect(),
            initial: request.initial.iter().map(String::as_str).collect(),
            addopts: request.addopts,
            tests: request.tests,
            red: request.red,
            word: request.word,
            read: request.read,
            setup,
        }
    }

    /// The files of the final tree.
    pub(super) fn files(&self) -> impl Iterator<Item = &'a str> {
        self.last.iter().copied()
    }

    pub(super) fn has(&self, path: &str) -> bool {
        self.last.contains(path)
    }

    pub(super) fn has_folder(&self, path: &str) -> bool {
        path.is_empty() || {
            let begin = format!("{path}/");
            self.last.range(begin.as_str()..).next().is_some_and(|file| file.starts_with(&begin))
        }
    }

    /// A file of the final tree.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        if self.has(path) { (self.read)(TreeVersion::Last, path) } else { None }
    }

    /// A file as it was at the start, else as it is. The initial version is preferred, because the agent did not write it.
    pub(super) fn first_text(&self, path: &str) -> Option<String> {
        if self.initial.contains(path) { (self.read)(TreeVersion::Initial, path) } else { self.text(path) }
    }

    /// A configuration file. When reading the initial setup, a file that is new counts only if there were no tests at the
    /// start.
    pub(super) fn setup_file(&self, path: &str) -> Option<String> {
        match self.setup {
            TreeVersion::Last => self.text(path),
            TreeVersion::Initial if self.initial.contains(path) => (self.read)(TreeVersion::Initial, path),
            TreeVersion::Initial if self.initial.iter().any(|path| is_test_path(path)) => None,
            TreeVersion::Initial => self.text(path),
        }
    }

    /// The ids of the tests that passed.
    pub(super) fn passed(&self) -> impl Iterator<Item = &'a str> {
        let statuses = self.tests.iter().flat_map(|tests| &tests.statuses);
        statuses.filter(|(_, status)| **status == TestStatus::Passed).map(|(id, _)| id.as_str())
    }

    /// The ids of the tests that failed at the start and pass now. Where passing tests are not named, it is enough that
    /// they do not fail.
    pub(super) fn turned_green(&self) -> impl Iterator<Item = &'a str> {
        let status = |id: &str| self.tests.and_then(|tests| tests.statuses.get(id));
        let names = self.knows_names();
        self.red.iter().map(String::as_str).filter(move |id| match status(id) {
            Some(status) => *status == TestStatus::Passed,
            // Some runners name files or packages that passed, and tests only where they failed.
            None => !names || self.passed().any(|file| Self::is_of_file(id, file)),
        })
    }

    fn is_of_file(id: &str, file: &str) -> bool {
        id.strip_prefix(file).is_some_and(|rest| rest.starts_with(' '))
    }

    pub(super) fn knows_names(&self) -> bool {
        self.passed().next().is_some()
    }

    /// The file of the tree that a runner means by a path. Runners print paths from where they started, which may be a
    /// folder of the tree.
    pub(super) fn file_of(&self, printed: &str, folder: &str) -> Option<&'a str> {
        let printed = printed.strip_prefix("./").unwrap_or(printed);
        if let Some(path) = self.last.get(joined(folder, printed).as_str()).or_else(|| self.last.get(printed)) {
            return Some(path);
        }
        let end = format!("/{printed}");
        let mut ending = self.files().filter(|path| path.ends_with(&end));
        let only = ending.next()?;
        ending.next().is_none().then_some(only)
    }

    /// The files in the order in which they are tried: unchanged ones first, then those in a folder of tests, then
    /// those near the root.
    pub(super) fn ranked(&self, files: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
        let mut ranked: Vec<(bool, bool, usize, &str)> = Vec::new();
        for path in files {
            if ranked.iter().any(|(.., known)| *known == path) {
                continue;
            }
            let is_changed = !self.initial.contains(path)
                || (self.read)(TreeVersion::Initial, path) != (self.read)(TreeVersion::Last, path);
            let in_tests = path.rsplit_once('/').is_some_and(|(above, _)| above.split('/').any(is_tests_folder));
            ranked.push((is_changed, !in_tests, path.matches('/').count(), path));
        }
        ranked.sort_unstable();
        ranked.into_iter().map(|(.., path)| path).collect()
    }
}

fn is_tests_folder(name: &str) -> bool {
    matches!(name, "tests" | "test" | "__tests__" | "spec")
}

/// A text with a piece after its end.
pub(super) fn appended(text: &str, piece: &str) -> String {
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("{text}{end}{piece}")
}

/// Whether a text can be the name of something in the usual languages.
pub(super) fn is_identifier(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// A word with a large first letter.
pub(super) fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_ascii_uppercase().to_string() + letters.as_str()).unwrap_or_default()
}
