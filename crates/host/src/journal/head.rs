//! Where a journal ended when its driver did. Without it a journal that was cut at a line would look like one that a
//! crash ended. It is not needed: where it is missing, the journal is read without it.
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::chain::ChainHash;

/// The name of the file in the folder of a run.
const FILE: &str = "journal.head";

/// The last line that a driver had synced when it ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct JournalHead {
    pub(super) seq: u64,
    pub(super) chain: String,
}

impl JournalHead {
    pub(super) fn new(seq: u64, chain: &ChainHash) -> Self {
        Self { seq, chain: chain.as_str().to_owned() }
    }

    /// Whether an entry is not the one that was there.
    pub(super) fn contradicts(&self, seq: u64, chain: &ChainHash) -> bool {
        self.seq == seq && self.chain != chain.as_str()
    }

    pub(super) fn read(folder: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(folder.join(FILE)).ok()?).ok()
    }

    /// Whole or not at all. It is not synced: a power cut may lose it.
    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        let beside = folder.join(format!("{FILE}.new"));
        File::create(&beside)?.write_all(&serde_json::to_vec(self).map_err(io::Error::other)?)?;
        fs::rename(&beside, folder.join(FILE))
    }
}
