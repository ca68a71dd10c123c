//! What an agent must not change, decided from names and texts only: the scripts that a gate runs, the usual tests, and
//! which part of a project's own files defines how its tests are run.
//!
//! | file | what it decides |
//! |---|---|
//! | `script` | which files a shell line runs |
//! | `shell_line` | a shell line taken apart: words, simple commands, options |
//! | `wrappers` | where a program begins that another one starts (`timeout 30 make`) |
//! | `uses` | what a gate uses: from its command, the opened files and their texts |
//! | `task` | whether the task names a file as one that may be changed, or asks for tests to be removed |
//! | `paths` | parts of paths, and patterns of paths |
//! | `by_default` | which of these are protected from the baseline on |
//! | `named_paths` | which paths outside of the workspace a command names |
//! | `runner_files` | files that only a test runner reads, and what a change of a file may mean |
//! | `target` | the part of a file that defines how tests are run |
//! | `target_loss` | whether a changed one of these has lost something |
//! | `gate_reads` | which changed files the gates and the tests use, by what their texts name |
//! | `test_reads` | what tests and their runners name, and where imports lead |
//! | `suspect` | which lines of a change a person should look at |
mod by_default;
mod gate_reads;
mod named_paths;
pub(crate) mod paths;
mod runner_files;
pub(in crate::policy) mod script;
mod shell_line;
mod suspect;
mod target;
mod target_loss;
mod task;
mod test_reads;
mod uses;
mod wrappers;

pub use by_default::{ProtectJudgement, is_allowed, protected_by_default};
pub use gate_reads::{GateReads, PathChange};
pub use named_paths::paths_below_home;
pub use paths::matches_path;
pub use runner_files::{
    FileChange, Opportunity, OpportunityKind, is_manifest, is_named_only, is_runner_file, opportunity,
};
pub use script::{judging_scripts_at, programs_in, with_home};
pub use suspect::{SuspectReason, is_source_name, lost_test, sourced_names, suspect_reason, suspect_reason_in_test};
pub use target::{is_target_file, new_target, target_change, target_sentence, test_definition};
pub use target_loss::loses_nothing;
pub use task::{asks_to_remove_test, names_file};
pub use test_reads::{ProjectText, is_for_tests, is_read_by_runs};
pub use uses::{FilesSeen, GateText, GateUse, GateUses, UseKind, WatchGap, texts_of, uses_of};

/// The usual folders and files of tests, as rules in the style of `.gitignore`: what ends with `/` is a folder at any
/// depth, the rest are names of files at any depth.
pub const TEST_GLOBS: &[&str] = &[
    "tests/",
    "test/",
    "__tests__/",
    "__snapshots__/",
    "__mocks__/",
    "spec/",
    "specs/",
    "e2e/",
    "cypress/",
    "testdata/",
    "*.test.js",
    "*.test.jsx",
    "*.test.ts",
    "*.test.tsx",
    "*.test.mjs",
    "*.test.cjs",
    "*.test.mts",
    "*.test.cts",
    "*.spec.js",
    "*.spec.jsx",
    "*.spec.ts",
    "*.spec.tsx",
    "*.spec.mjs",
    "*.spec.cjs",
    "*.spec.mts",
    "*.spec.cts",
    "*_test.go",
    "test_*.py",
    "*_test.py",
    "tests.py",
    "conftest.py",
    "tests.rs",
    "test.rs",
    "*_test.rs",
    "*_tests.rs",
    "*_test.rb",
    "*_spec.rb",
    "*_test.exs",
    "*_test.dart",
    "*_test.c",
    "*_test.cc",
    "*_test.cpp",
    "*_unittest.cc",
    "*Test.java",
    "*Tests.java",
    "*IT.java",
    "*Test.kt",
    "*Test.scala",
    "*Spec.scala",
    "*Test.php",
    "*Tests.cs",
    "*Test.cs",
    "*Tests.swift",
    "*.bats",
];

/// Whether a path of the workspace is one of a test, by its name alone.
///
/// ```
/// use loop_core::policy::protect::is_test_path;
///
/// assert!(is_test_path("crates/a/tests/it/main.rs") && is_test_path("pkg/sum_test.go"));
/// assert!(!is_test_path("src/contest.py") && !is_test_path("latest/notes.md"));
/// ```
#[must_use]
pub fn is_test_path(path: &str) -> bool {
    let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
    TEST_GLOBS.iter().any(|glob| match glob.strip_suffix('/') {
        Some(folder) => above.split('/').any(|part| part == folder),
        None => matches_path(glob, name),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_of_the_common_languages_are_known_by_their_names() {
        for path in [
            "tests/a.rs",
            "test/deep/fixture.json",
            "src/test/java/a/FooTest.java",
            "web/__tests__/a.js",
            "a.test.tsx",
            "deep/er/a.spec.ts",
            "pkg/a_test.go",
            "test_a.py",
            "app/a_test.py",
            "app/conftest.py",
            "spec/a_spec.rb",
            "src/parser/tests.rs",
            "e2e/login.bats",
        ] {
            assert!(is_test_path(path), "{path}");
        }
        for path in
            ["src/main.rs", "test", "tests", "latest.py", "src/attest.go", "spec.md", "a.test.md", "contest.js", ""]
        {
            assert!(!is_test_path(path), "{path}");
        }
    }

    #[test]
    fn every_pattern_is_of_a_kind_that_is_understood_here() {
        for glob in TEST_GLOBS {
            let body = glob.strip_suffix('/').unwrap_or(glob);
            let plain = !body.contains(['/', '?', '[', '!', '{']) && body.matches('*').count() <= 1;
            assert!(plain && (body == *glob || !body.contains('*')), "{glob}");
        }
    }
}
