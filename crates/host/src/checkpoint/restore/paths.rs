//! A restore that is limited to some paths.
use std::collections::BTreeSet;
use std::os::fd::OwnedFd;

use crate::checkpoint::git::between::Differences;
use crate::checkpoint::git::store::StoredKind;
use crate::checkpoint::run_checkpoints::CheckpointError;
use crate::fs::handle::{folder_beneath, split};

use loop_core::text;
use rustix::fs::{AtFlags, statat};

/// Paths from the workspace. None means everything.
#[derive(Debug, Clone, Default)]
pub(in crate::checkpoint) struct Paths(Vec<Vec<u8>>);

impl Paths {
    /// As [`text::escape_path`] writes them.
    pub(in crate::checkpoint) fn of(paths: &[String]) -> Self {
        Self(paths.iter().map(|path| text::unescape_path(path)).collect())
    }

    /// Whether everything is restored.
    pub(in crate::checkpoint) fn is_all(&self) -> bool {
        self.0.is_empty()
    }

    /// Refuses a path that is in neither state.
    pub(in crate::checkpoint) fn check(
        &self,
        is_there: impl Fn(&[u8]) -> bool,
        left_out: &BTreeSet<Vec<u8>>,
        workspace: &OwnedFd,
        to: &str,
    ) -> Result<(), CheckpointError> {
        let Some(path) = self.0.iter().find(|path| !is_there(path)) else { return Ok(()) };
        let (above, name) = split(path);
        let exists = folder_beneath(workspace, above)
            .is_ok_and(|folder| statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok());
        let was_ignored = left_out.contains(path);
        let path = text::escape_path(path);
        Err(CheckpointError::Refused(if exists || was_ignored {
            format!("{path} is ignored, and checkpoint {to} does not hold it")
        } else {
            format!("{path} is neither in checkpoint {to} nor in the workspace")
        }))
    }

    /// Whether a path is one of them, or below one.
    pub(in crate::checkpoint) fn has(&self, path: &[u8]) -> bool {
        self.is_all() || self.0.iter().any(|wanted| wanted == path || is_below(path, wanted))
    }

    /// Leaves only what is wanted, with the folders that are missing above it.
    pub(in crate::checkpoint) fn select(&self, differ: &mut Differences) {
        differ.retain(|path, (now, then)| {
            let folder = |entry: &Option<_>| {
                entry.as_ref().is_some_and(|entry: &crate::checkpoint::StoredEntry| entry.what == StoredKind::Folder)
            };
            let leads_there = || self.0.iter().any(|wanted| is_below(wanted, path));
            self.has(path) || folder(then) && !folder(now) && leads_there()
        });
    }
}

fn is_below(path: &[u8], folder: &[u8]) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.first() == Some(&b'/'))
}

/// Whether a path is one of the own files of a nested repository: restored, and not listed.
pub(in crate::checkpoint) fn is_in_nested_repository(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/').any(|name| name == b".git")
}
