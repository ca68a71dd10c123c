//! What was there before the first agent of a run began: the ignored files of the workspace by their stamps, and the
//! settings in HOME by their content. A file in the run's folder, written once.
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use loop_core::text::escape_path;
use rustix::fs::{FileType, Stat};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::tables;
use crate::checkpoint::{CheckpointContext, left_out, rules_of};
use crate::fs::handle::{open_folder, small_file};
use crate::fs::hex;
use crate::fs::walk::walk;

/// The file in the folder of a run.
const FILE: &str = "judge-baseline";
/// The same while it is written.
const NEW: &str = ".judge-baseline";
/// So many ignored names are recorded. What is beyond counts as changed.
pub(super) const NAMES_MAX: usize = 300_000;
/// A setting in HOME that is longer is left out.
const SETTING_BYTES_MAX: u64 = 256 * 1024;
/// So many entries of a folder in HOME are recorded.
const ENTRIES_MAX: usize = 4_000;

/// The stamp of a name: inode, time of its last change, size, mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct NameStamp(u64, i64, i64, u32);

impl NameStamp {
    pub(super) fn of(stat: &Stat) -> Self {
        // A folder changes with every name in it, and these are compared themselves.
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            return Self(0, 0, 0, stat.st_mode);
        }
        let nanos = i64::try_from(stat.st_ctime_nsec).unwrap_or(0);
        let changed = stat.st_ctime.wrapping_mul(1_000_000_000).wrapping_add(nanos);
        Self(stat.st_ino, changed, stat.st_size, stat.st_mode)
    }
}

/// The record.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Baseline {
    /// The ignored names of the workspace.
    pub(super) ignored: BTreeMap<String, NameStamp>,
    /// Settings in HOME, from there.
    pub(super) settings: BTreeMap<String, Vec<u8>>,
    /// Entries of folders in HOME, each with a digest of all that is in it.
    pub(super) entries: BTreeMap<String, String>,
}

/// Records it, where that was not done before. It must be called before an agent can have changed anything.
pub(crate) fn take(run: &Path, context: &CheckpointContext) -> io::Result<()> {
    let file = run.join(FILE);
    if file.exists() {
        return Ok(());
    }
    let mut baseline = Baseline::default();
    let workspace = open_folder(&context.workspace)?;
    let found = left_out(&workspace, &rules_of(context), NAMES_MAX, &tables::is_cache);
    baseline.ignored = found.names.iter().map(|name| (escape_path(&name.path), NameStamp::of(&name.stat))).collect();
    if let Some(home) = &context.user.home {
        baseline.read_home(home);
    }
    // Not synced: what a power cut damages counts as not recorded.
    let new = run.join(NEW);
    let mut to = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    to.write_all(&serde_json::to_vec(&baseline)?)?;
    fs::rename(new, file)
}

impl Baseline {
    /// That of a run; none where it was not recorded.
    pub(super) fn of(run: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(run.join(FILE)).ok()?).ok()
    }

    fn read_home(&mut self, home: &Path) {
        for setting in tables::SETTINGS {
            let path = home.join(setting);
            let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
                continue;
            };
            let text = open_folder(folder).ok().and_then(|folder| small_file(&folder, name, SETTING_BYTES_MAX));
            if let Some(text) = text {
                self.settings.insert((*setting).to_owned(), text);
            }
        }
        for entry in entries(home) {
            if let Some(digest) = digest_of(&home.join(&entry)) {
                self.entries.insert(escape_path(entry.as_os_str().as_bytes()), digest);
            }
        }
    }
}

/// The entries of HOME that are linked one by one, as they are now.
pub(super) fn entries(home: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = tables::ENTRY_FOLDERS.iter().map(PathBuf::from).collect();
    let pythons = fs::read_dir(home.join(tables::PYTHON_LIBRARIES)).into_iter().flatten().flatten();
    let site =
        |python: fs::DirEntry| Path::new(tables::PYTHON_LIBRARIES).join(python.file_name()).join(tables::PYTHON_SITE);
    folders.extend(pythons.take(ENTRIES_MAX).map(site));
    let below = |folder: PathBuf| {
        let found = fs::read_dir(home.join(&folder)).into_iter().flatten().flatten();
        found.map(move |entry| folder.join(entry.file_name())).collect::<Vec<_>>()
    };
    folders.into_iter().flat_map(below).take(ENTRIES_MAX).collect()
}

/// A digest of the stamps of all that is at a path.
pub(super) fn digest_of(path: &Path) -> Option<String> {
    let mut hash = Sha256::new();
    let mut add = |path: &[u8], stat: &Stat| {
        hash.update(path);
        hash.update(serde_json::to_vec(&NameStamp::of(stat)).unwrap_or_default());
    };
    let stat = rustix::fs::lstat(path).ok()?;
    add(b"", &stat);
    if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
        let names = walk(&open_folder(path).ok()?, &|path| !path.ends_with(b"__pycache__")).ok()?;
        names.iter().take(NAMES_MAX).for_each(|name| add(&name.path, &name.stat));
    }
    Some(hex(&hash.finalize()))
}
