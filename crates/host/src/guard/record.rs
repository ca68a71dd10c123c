//! What is known of each original, in one file that is always complete.
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::checkpoint::Stamp;

const NAME: &str = "record.json";

/// When this is the same, a file was not touched: only the kernel sets the change time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Quick {
    pub(super) size: u64,
    pub(super) changed: i64,
    pub(super) inode: u64,
}

impl Quick {
    pub(super) fn of(stamp: &Stamp) -> Self {
        Self { size: stamp.size, changed: stamp.changed, inode: stamp.inode }
    }
}

/// What an original is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub(super) enum OriginalKind {
    /// A file: its content lies there in the contents.
    File { sha256: String, at: u64, bytes: u64 },
    /// A link.
    Link { leads: String },
}

impl OriginalKind {
    /// The hash of a content and where it lies.
    pub(super) fn location(&self) -> Option<(String, u64)> {
        if let Self::File { sha256, at, .. } = self { Some((sha256.clone(), *at)) } else { None }
    }
}

/// One original.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Original {
    #[serde(flatten)]
    pub(super) what: OriginalKind,
    pub(super) mode: u32,
    pub(super) owner: (u32, u32),
    pub(super) stamp: Quick,
    /// Whether it cannot have changed again within the same tick of the clock when it was read.
    pub(super) is_sure: bool,
}

impl Original {
    pub(super) fn bytes(&self) -> u64 {
        if let OriginalKind::File { bytes, .. } = self.what { bytes } else { 0 }
    }
}

/// All that is known. Paths are written as facts write them.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) globs: Vec<String>,
    pub(super) files: BTreeMap<String, Original>,
    /// The permissions of the folders above them.
    pub(super) folders: BTreeMap<String, u32>,
    /// Paths that match and are neither protected nor the agent's.
    pub(super) known: BTreeSet<String>,
    /// The hashes of the files that define how tests are run.
    pub(super) targets: BTreeMap<String, Option<String>>,
    /// The same when it was last inspected.
    #[serde(default)]
    pub(super) targets_seen: BTreeMap<String, Option<String>>,
}

impl Record {
    pub(super) fn bytes(&self) -> u64 {
        self.files.values().map(Original::bytes).fold(0, u64::saturating_add)
    }

    pub(super) fn read(folder: &Path) -> io::Result<Option<Self>> {
        match fs::read(folder.join(NAME)) {
            Ok(text) => serde_json::from_slice(&text).map(Some).map_err(io::Error::other),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        let beside = folder.join(format!("{NAME}.new"));
        let text = serde_json::to_vec(self).map_err(io::Error::other)?;
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
        file.write_all(&text)?;
        file.sync_data()?;
        fs::rename(&beside, folder.join(NAME))
    }
}
