//! How many files changed, and of which kind: over all differences, not only over the names that fit into a fact.
use loop_core::policy::protect::is_test_path;
use loop_core::run::Measurement;
use loop_core::text;

use super::diff::{Change, Difference};
use super::run_checkpoints::{CheckpointError, RunCheckpoints, measured};

/// How many files changed, each counted once and in one kind only.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChangeCount {
    /// All of them.
    pub files: u64,
    /// Protected ones: never progress.
    pub protected: u64,
    /// Tests that are not protected.
    pub tests: u64,
    /// Folders that were made, removed or given other permissions, counted nowhere else.
    pub folders: u64,
}

impl ChangeCount {
    /// Files that count as work.
    #[must_use]
    pub fn work(&self) -> u64 {
        self.files.saturating_sub(self.protected)
    }

    /// Of all that differs. Paths are from the workspace.
    #[must_use]
    pub fn of(difference: &Difference, is_protected: &dyn Fn(&[u8]) -> bool) -> Self {
        let folders = difference.changes.iter().filter(|change| !change.is_of_files()).count();
        let mut tally = Self { folders: u64::try_from(folders).unwrap_or(u64::MAX), ..Self::default() };
        for change in difference.changes.iter().filter(|change| change.is_of_files()) {
            let names = names(change);
            tally.files += 1;
            if names.iter().any(|name| is_protected(name)) {
                tally.protected += 1;
            } else if names.iter().all(|name| is_test_path(&text::escape_path(name))) {
                tally.tests += 1;
            }
        }
        tally
    }
}

/// The names of a change: two where something was renamed.
fn names(change: &Change) -> [&[u8]; 2] {
    [change.old_path(), &change.path]
}

impl RunCheckpoints {
    /// What changed from one checkpoint to another, and how many files of each kind.
    ///
    /// # Errors
    /// As for [`RunCheckpoints::measure`].
    pub fn measure_by_kind(
        &self,
        from: Option<&str>,
        to: &str,
        is_protected: &dyn Fn(&[u8]) -> bool,
    ) -> Result<(Measurement, ChangeCount), CheckpointError> {
        let difference = self.compare(from, to)?;
        Ok((measured(&difference), ChangeCount::of(&difference, is_protected)))
    }
}
