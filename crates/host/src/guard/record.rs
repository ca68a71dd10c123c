//! What is known of each original, in one file that is always complete. The journal has its hash, and the file is named
//! by it: a record that a crash wrote before the journal knew of it changes nothing.
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::checkpoint::Stamp;
use crate::fs::hex;

/// So many digits of its hash are in the name of a record.
const NAME_DIGITS: usize = 16;

/// Why the record that the journal names cannot be used.
#[derive(Debug, Error)]
pub enum GuardRecordError {
    /// It is not there.
    #[error("the record of the protected files is missing: {}", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// It has another hash than the journal says, or the journal says none.
    #[error("the record of the protected files is not the one that the loop wrote: {}", path.display())]
    Other {
        /// The file.
        path: PathBuf,
    },
    /// The system refused.
    #[error("the record of the protected files cannot be read")]
    Io(#[from] io::Error),
}

/// The file of a record.
fn path_of(folder: &Path, sha256: &str) -> PathBuf {
    let digits: String = sha256.chars().filter(char::is_ascii_alphanumeric).take(NAME_DIGITS).collect();
    folder.join(format!("record-{digits}.json"))
}

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

    /// The record with this hash.
    pub(super) fn read(folder: &Path, sha256: &str) -> Result<Self, GuardRecordError> {
        let path = path_of(folder, sha256);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(GuardRecordError::Missing { path }),
            Err(error) => return Err(error.into()),
        };
        if hex(&Sha256::digest(&text)) != sha256 {
            return Err(GuardRecordError::Other { path });
        }
        serde_json::from_slice(&text).map_err(|_| GuardRecordError::Other { path })
    }

    /// Writes it beside those of before, and returns its hash.
    pub(super) fn write(&self, folder: &Path) -> io::Result<String> {
        let text = serde_json::to_vec(self).map_err(io::Error::other)?;
        let sha256 = hex(&Sha256::digest(&text));
        let beside = folder.join("record.new");
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
        file.write_all(&text)?;
        file.sync_data()?;
        fs::rename(&beside, path_of(folder, &sha256))?;
        Ok(sha256)
    }

    /// Removes all records but the one with this hash. One that stays does no harm.
    pub(super) fn remove_others(folder: &Path, sha256: &str) {
        let kept = path_of(folder, sha256);
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let is_record = entry.file_name().as_encoded_bytes().starts_with(b"record-");
            if is_record && entry.path() != kept {
                fs::remove_file(entry.path()).ok();
            }
        }
    }
}
