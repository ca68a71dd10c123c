//! A failing test more, added in the way of the runner of each gate.
use std::collections::BTreeMap;
use std::io;

use loop_core::policy::probe::{Canary, CanaryRequest, NoCanary, TreeVersion, canary};
use loop_core::run::GateIndex;

use super::writer::ProbedCopy;
use super::{ProbeContext, ProbeError};
use crate::checkpoint::{Recorded, RecordedTrees, StoredKind};

/// How long the word is that names a canary.
const WORD_LETTERS: usize = 8;

/// A failing test in the copy. Only its gate says something about it: another one may fail because of the style of the new
/// lines.
#[derive(Debug)]
pub struct PlacedCanary {
    /// The gate that must notice it.
    pub gate: GateIndex,
    /// The test.
    pub canary: Canary,
}

/// A random word for the name of a canary, which no agent can know before.
///
/// # Errors
/// When the machine has no random numbers.
pub fn probe_word() -> io::Result<String> {
    let mut word = String::new();
    while word.len() < WORD_LETTERS {
        let id = crate::fs::fresh_id()?.to_string();
        let letters = id.bytes().map(|byte| char::from(b'a' + byte % 26));
        word.extend(letters.take(WORD_LETTERS - word.len()));
    }
    Ok(word)
}

/// Adds one failing test for each gate that can have one to the copy.
///
/// # Errors
/// When no gate has one, or the copy cannot be changed.
pub fn apply_canary(context: &ProbeContext<'_>, word: &str) -> Result<Vec<PlacedCanary>, ProbeError> {
    let trees = RecordedTrees::new(context.initial, context.last);
    let (initial, last) = (plain_files(context.initial), plain_files(context.last));
    let addopts = pytest_addopts();
    let mut placed = Vec::new();
    let mut none = None;
    let mut written: BTreeMap<String, String> = BTreeMap::new();
    for (at, gate) in context.gates.iter().enumerate() {
        let read = |version: TreeVersion, path: &str| match (version, written.get(path)) {
            (TreeVersion::Last, Some(text)) => Some(text.clone()),
            (TreeVersion::Initial | TreeVersion::Last, _) => trees.text(version, path),
        };
        // Two tests of one name in one file would be our error.
        let own = format!("{word}{}", "x".repeat(at));
        let request = CanaryRequest {
            command: &gate.spec.command,
            tests: gate.tests,
            red: gate.red,
            initial: &initial,
            last: &last,
            addopts: &addopts,
            word: &own,
            read: &read,
        };
        match if gate.spec.red { Err(NoCanary::Negated) } else { canary(&request) } {
            Ok(canary) => {
                written.insert(canary.path.clone(), canary.contents.clone());
                placed.push(PlacedCanary { gate: gate.gate, canary });
            }
            Err(why) => {
                none.get_or_insert_with(|| why.to_string());
            }
        }
    }
    if placed.is_empty() {
        return Err(ProbeError::NotApplicable(none.unwrap_or_else(|| "there is no gate".to_owned())));
    }
    let mut copy = ProbedCopy::open(context)?;
    for (path, text) in &written {
        let mode = trees.entry(TreeVersion::Last, path.as_bytes()).map_or(0o644, |entry| entry.mode);
        copy.write(path.as_bytes(), text.as_bytes(), mode)?;
    }
    Ok(placed)
}

/// What the user's own environment adds to every call of pytest.
pub(super) fn pytest_addopts() -> String {
    std::env::var("PYTEST_ADDOPTS").unwrap_or_default()
}

/// The plain files of a tree.
pub(super) fn plain_files(recorded: &Recorded) -> Vec<String> {
    let files = recorded.checkpoint.names.iter().filter(|(_, entry)| matches!(entry.what, StoredKind::File(_)));
    files.filter_map(|(path, _)| String::from_utf8(path.clone()).ok()).collect()
}
