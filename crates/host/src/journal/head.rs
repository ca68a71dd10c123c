//! Where a journal ended when its driver did. Without it a journal that was cut at a line would look like one that a
//! crash ended. It is written and synced before the first fact, and the first line of the journal says so: where it is
//! missing or empty, somebody removed it.
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

    /// Whether there is one, and not an empty one.
    pub(super) fn is_there(folder: &Path) -> bool {
        fs::metadata(folder.join(FILE)).is_ok_and(|found| found.is_file() && found.len() > 0)
    }

    /// The first one, in a folder that is not one of a run yet.
    pub(super) fn begin(&self, folder: &Path) -> io::Result<()> {
        self.write_to(&folder.join(FILE))
    }

    /// Whole or not at all: after a power cut there is this one, or the one before.
    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        let beside = folder.join(format!("{FILE}.new"));
        self.write_to(&beside)?;
        fs::rename(&beside, folder.join(FILE))
    }

    fn write_to(&self, path: &Path) -> io::Result<()> {
        let mut file = File::create(path)?;
        file.write_all(&serde_json::to_vec(self).map_err(io::Error::other)?)?;
        file.sync_data()
    }
}
