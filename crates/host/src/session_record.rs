//! Finds the record that an agent's program keeps of its session, and reads what its end says about limits.
//!
//! The file is the program's own, below the user's home; the agent may have written it. So little of it is read, links
//! are not followed, and nothing but numbers and names of windows comes out.
use std::fs::{self, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use loop_core::agent::{Agent, LimitWindow, SessionRecord};
use rustix::fs::OFlags;

use crate::paths::user_home;

/// So much of the end of a record is read.
const TAIL_BYTES: u64 = 256 * 1024;
/// So many entries of one folder are looked at.
const ENTRIES_MAX: usize = 4_000;
/// So many days back a record may have begun.
const DAYS_MAX: usize = 30;

/// Where an agent keeps records, and how they are read.
#[derive(Debug, Clone)]
pub(crate) struct SessionRecords {
    folder: PathBuf,
    record: SessionRecord,
}

impl SessionRecords {
    /// Of an agent that keeps some, on this machine.
    pub(crate) fn of(agent: &Agent) -> Option<Self> {
        let record = agent.session_record()?;
        let own = std::env::var_os(record.home_variable).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = own.or_else(|| Some(user_home()?.join(record.home_folder)))?;
        Some(Self { folder: home.join(record.folder), record })
    }

    /// What the record of this session says; nothing where there is none.
    pub(crate) fn windows(&self, session: &str) -> Vec<LimitWindow> {
        let tail = self.find(session).and_then(|path| tail(&path));
        tail.map(|tail| (self.record.read)(&tail)).unwrap_or_default()
    }

    /// Folders are by year, month and day; the newest are looked at first.
    fn find(&self, session: &str) -> Option<PathBuf> {
        let end = format!("-{session}.jsonl");
        let days = newest(&self.folder).into_iter().flat_map(|year| newest(&year)).flat_map(|month| newest(&month));
        days.take(DAYS_MAX).find_map(|day| {
            newest(&day)
                .into_iter()
                .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(&end)))
        })
    }
}

/// What is in a folder, the last name first; nothing where it is a link.
fn newest(folder: &Path) -> Vec<PathBuf> {
    if !fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir()) {
        return Vec::new();
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(ENTRIES_MAX);
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort_unstable();
    paths.reverse();
    paths
}

fn tail(path: &Path) -> Option<Vec<u8>> {
    // No link is followed, and a pipe does not hold us.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path).ok()?;
    let found = file.metadata().ok().filter(fs::Metadata::is_file)?;
    file.seek(SeekFrom::Start(found.len().saturating_sub(TAIL_BYTES))).ok()?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
