//! The rules for a caller that walks folders by itself: the watcher.
use std::os::fd::BorrowedFd;

use super::rules::{self, FolderRules, IGNORE_BYTES_MAX, Rules, ignore_rules};
use crate::fs::handle::small_file;

/// What holds for the names of one folder.
#[derive(Debug, Clone)]
pub(crate) struct DirRules(FolderRules);

impl DirRules {
    /// What holds above the workspace's own `.gitignore`.
    pub(crate) fn above_all() -> Self {
        Self(FolderRules::default())
    }

    /// What holds in a folder that this is the outer scope of, once its own `.gitignore` was read.
    pub(crate) fn inside(&self, folder: BorrowedFd<'_>, path: &[u8]) -> Self {
        Self(
            self.0.below(
                small_file(folder, ".gitignore", IGNORE_BYTES_MAX).map(|text| ignore_rules(path, &text)).as_ref(),
            ),
        )
    }

    /// Whether a folder is left out.
    pub(crate) fn leaves_out(&self, rules: &Rules, path: &[u8]) -> bool {
        rules.scope(&self.0, path, true) != rules::Scope::In
    }

    /// Whether a file is left out.
    pub(crate) fn leaves_out_file(&self, rules: &Rules, path: &[u8]) -> bool {
        rules.scope(&self.0, path, false) != rules::Scope::In
    }
}
