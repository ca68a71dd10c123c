//! How a copy of the final tree is changed so that good gates must fail on it. Decided from names and texts only.
//!
//! If an honest gate cannot notice a probe, the result would be wrong. So where it is not certain what a gate runs,
//! there is a reason instead of a probe.
//!
//! | file | what is there |
//! |---|---|
//! | `project` | what is known of the two trees and of the tests that ran |
//! | `calls` | which test runners a gate's line calls: through npm scripts, makefiles and shell scripts too |
//! | `makefile` | the rules of a makefile: which commands a goal runs |
//! | `runners` | the runners that are known: programs, what they run on, what they print |
//! | `filter` | patterns and expressions that select tests |
//! | `pytest` `unittest` `javascript` `cargo` `golang` | one failing test in the way of each runner |
//! | `broken` | a test that failed at the start, made to fail again |
//! | `new_tests` | test files that the agent added, to be taken out or made empty |
//! | `roles` | which files are tests, which decide how tests run, and which are sources |
//! | `undo` | old sources under the final tests |
//! | `hunks` | pieces of a change, to be taken back one at a time |
mod broken;
mod calls;
mod cargo;
mod filter;
mod golang;
mod hunks;
mod javascript;
mod makefile;
mod new_tests;
mod project;
mod pytest;
mod roles;
mod runners;
mod undo;
mod unittest;

use thiserror::Error;

use self::calls::{Found, RunnerCall};
use self::project::Probed;
use self::runners::RunnerKind;
use crate::policy::gate::Promise;
use crate::test_output::{TestStatus, Tests};

pub use hunks::{Hunk, LineChange, in_order, is_worth_trying, join_near};
pub(crate) use makefile::{MAKEFILES, Rules};
pub use new_tests::{new_files_beside_tests, new_test_files};
pub use roles::{FileRole, role_of};
pub use runners::{RunnerProgram, runner_programs};
pub use undo::{ChangedFile, NoUndo, UndoPlan, UndoStep, first_test_line, undo};

/// Which of the two trees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeVersion {
    /// The one before the first iteration.
    Initial,
    /// The one on which the gates passed.
    Last,
}

/// Reads a small text file of one of the trees.
pub type ReadTree<'a> = &'a dyn Fn(TreeVersion, &str) -> Option<String>;

/// A gate for which a failing test is wanted.
#[derive(Clone, Copy)]
pub struct CanaryRequest<'a> {
    /// The gate's line.
    pub command: &'a str,
    /// What its output said about tests on the final tree.
    pub tests: Option<&'a Tests>,
    /// The ids of the tests that failed before the first iteration.
    pub red: &'a [String],
    /// The files of the initial tree.
    pub initial: &'a [String],
    /// The files of the final tree.
    pub last: &'a [String],
    /// The user's own `PYTEST_ADDOPTS`; empty where there is none.
    pub addopts: &'a str,
    /// A random word of small letters: a part of the name of the test.
    pub word: &'a str,
    /// Reads files of both trees.
    pub read: ReadTree<'a>,
}

/// One failing test in a file that the gate runs: a further one, or one that failed at the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Canary {
    /// The file.
    pub path: String,
    /// What it holds with the test.
    pub contents: String,
    /// The name of the test.
    pub test: String,
    /// Which runner has to notice it.
    pub runner: &'static str,
}

/// Returns a reason if the gate failed for something other than the canary. None if the canary failed, or if the output
/// does not show it. `usual`: the tests of the gate without the canary.
#[must_use]
pub fn failed_otherwise(canary: &Canary, tests: Option<&Tests>, usual: Option<&Tests>) -> Option<String> {
    let test = &canary.test;
    let Some(tests) = tests else {
        return usual.map(|_| format!("the gate failed before it ran the test that was added ({test})"));
    };
    let failing = || tests.statuses.iter().filter(|(_, status)| **status == TestStatus::Failed).map(|(name, _)| name);
    let is_named = u32::try_from(failing().count()).is_ok_and(|named| named >= tests.failed);
    let is_there = failing().any(|name| name.contains(test.as_str()));
    (is_named && !is_there).then(|| format!("the gate failed, but not by the test that was added ({test})"))
}

/// Why there is no canary for a gate.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NoCanary {
    /// `! command`: it has to fail.
    #[error("the gate passes when its command fails")]
    Negated,
    /// The tests run where the copy is not.
    #[error("{0} runs the tests where a changed copy is not seen")]
    Elsewhere(String),
    /// No runner that is known.
    #[error("no known test runner was found in the gate's command or in its output")]
    NoRunner,
    /// Whether the runner is called cannot be known from the line.
    #[error("the gate calls {0} only under a condition, and its output does not name the tests")]
    Conditional(&'static str),
    /// The gate selects some of the tests.
    #[error("the gate selects tests by {0}, and a further test would not be certain to run")]
    Selected(String),
    /// There is no test file that surely runs.
    #[error("no test file of {0} was found that is certain to run")]
    NoTestFile(&'static str),
    /// The word of the caller cannot be a part of a name.
    #[error("the word for the name of the test is not made of small letters")]
    Word,
}

/// One failing test for a gate, in the way of its runner: a healthy gate must fail with it.
///
/// How the runner is set up is read as it was in the initial tree first: what the agent changed there must not decide
/// which test is added. Where that does not fit what ran, it is read as it is in the final tree.
///
/// # Errors
/// When no test is certain to be run by an honest gate.
///
/// ```
/// use loop_core::policy::probe::{CanaryRequest, TreeVersion, canary};
///
/// let files = ["tests/test_a.py".to_owned()];
/// let read = |_: TreeVersion, path: &str| (path == "tests/test_a.py").then(|| "def test_add(): pass\n".to_owned());
/// let request = CanaryRequest {
///     command: "pytest -q",
///     tests: None,
///     red: &[],
///     initial: &files,
///     last: &files,
///     addopts: "",
///     word: "heron",
///     read: &read,
/// };
/// assert_eq!(canary(&request).unwrap().test, "test_add_heron");
/// ```
pub fn canary(request: &CanaryRequest<'_>) -> Result<Canary, NoCanary> {
    if request.word.len() < 3 || !request.word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return Err(NoCanary::Word);
    }
    let promise = Promise::parse(request.command);
    if promise.negated || promise.left_to_shell {
        return Err(NoCanary::Negated);
    }
    let first = with_setup(request, TreeVersion::Initial);
    if first.is_ok() {
        return first;
    }
    with_setup(request, TreeVersion::Last).or(first)
}

fn with_setup(request: &CanaryRequest<'_>, setup: TreeVersion) -> Result<Canary, NoCanary> {
    let probed = Probed::new(request, setup);
    let found = calls::of(request.command, &probed);
    if let Some(program) = found.elsewhere {
        return Err(NoCanary::Elsewhere(program));
    }
    let mut first_reason = None;
    for call in calls_to_try(found, &probed) {
        match for_call(&call, &probed) {
            Ok(canary) => return Ok(canary),
            Err(why) => drop(first_reason.get_or_insert(why)),
        }
    }
    Err(first_reason.unwrap_or(NoCanary::NoRunner))
}

/// The calls that fit what the output said; where the line names no runner, the one whose output was seen.
fn calls_to_try(found: Found, probed: &Probed<'_>) -> Vec<RunnerCall> {
    let format = probed.tests.map(|tests| tests.format);
    let (is_sure, is_whole) = (!found.conditional, !found.unknown);
    let mut fitting: Vec<RunnerCall> =
        found.calls.into_iter().filter(|call| format.is_none_or(|format| call.kind.may_print(format))).collect();
    for call in &mut fitting {
        call.is_certain &= is_sure && (is_whole || format.is_some());
    }
    if fitting.is_empty()
        && let Some(kind) = format.and_then(RunnerKind::printing)
    {
        fitting.push(RunnerCall { kind, words: Vec::new(), folder: String::new(), is_certain: false });
    }
    fitting
}

fn for_call(call: &RunnerCall, probed: &Probed<'_>) -> Result<Canary, NoCanary> {
    if !call.is_certain && !probed.knows_names() {
        return Err(NoCanary::Conditional(call.kind.name()));
    }
    match call.kind {
        RunnerKind::Pytest => pytest::canary(call, probed),
        RunnerKind::Unittest | RunnerKind::PythonFile => unittest::canary(call, probed),
        RunnerKind::Node | RunnerKind::Jest | RunnerKind::Vitest | RunnerKind::Mocha => {
            javascript::canary(call, probed)
        }
        RunnerKind::Cargo | RunnerKind::Nextest => cargo::canary(call, probed),
        RunnerKind::Go => golang::canary(call, probed),
    }
}
