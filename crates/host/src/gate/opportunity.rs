//! What the agent changed, from the start to the pass, that the gates may depend on. It is read off the checkpoints;
//! without them it is not known.
use std::io;

use loop_core::policy::protect::{FileChange, Opportunity, is_manifest, is_named_only, opportunity, test_definition};
use loop_core::run::{Answer, CertifyReport};
use loop_core::text::escape_path;

use crate::checkpoint::diff::{Bounds, Change};
use crate::checkpoint::{CheckpointContext, Comparison};

/// So many of each are in a report.
const NAMED_MAX: usize = 40;
/// A manifest that is longer is none that people write.
const MANIFEST_BYTES_MAX: usize = 1024 * 1024;

/// The two states of the workspace that are compared.
#[derive(Debug)]
pub(crate) struct ChangesSinceStart {
    pub(crate) context: CheckpointContext,
    pub(crate) newest: String,
}

/// Adds what the agent changed to an answer. What cannot be read is left out: the gates showed what they showed.
pub(crate) fn with(answer: Answer, between: Option<&ChangesSinceStart>) -> Answer {
    match (answer, between.map(find)) {
        (Answer::Certify(report), Some(Ok(found))) => {
            Answer::Certify(CertifyReport { opportunities: found.opportunities, named: found.named, ..report })
        }
        (answer, _) => answer,
    }
}

#[derive(Default)]
struct Found {
    opportunities: Vec<Opportunity>,
    named: Vec<String>,
}

fn find(between: &ChangesSinceStart) -> io::Result<Found> {
    // Names only: neither lines nor renames are wanted.
    let bounds = Bounds { all_bytes: 0, file_steps: 0, all_steps: 0, rename_pairs: 0, ..Bounds::default() };
    let compared = Comparison::open(&between.context, "initial", &between.newest)?;
    let mut found = Found::default();
    for change in &compared.changes(&bounds)?.changes {
        if !change.is_of_files() {
            continue;
        }
        let path = escape_path(&change.path);
        let what = match (change.from, change.to) {
            (None, _) => FileChange::New,
            (Some(_), Some(_)) => FileChange::Changed,
            (Some(_), None) => FileChange::Removed,
        };
        if is_named_only(&path) {
            found.named.push(path);
            continue;
        }
        let is_part = is_manifest(path.rsplit('/').next().unwrap_or(&path));
        let kind = opportunity(&path, what).filter(|_| !is_part || definition_differs(&compared, change, &path));
        found.opportunities.extend(kind.map(|kind| Opportunity { kind, path }));
    }
    found.opportunities.truncate(NAMED_MAX);
    found.named.truncate(NAMED_MAX);
    Ok(found)
}

/// Whether the part of a manifest was changed that a test runner reads.
fn definition_differs(compared: &Comparison, change: &Change, path: &str) -> bool {
    let part = |side| test_definition(path, &compared.text(side, MANIFEST_BYTES_MAX)?, &mut |_| None);
    part(change.from.as_ref()) != part(change.to.as_ref())
}
