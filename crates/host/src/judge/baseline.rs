//! What was there before the first agent of a run began: the ignored files of the workspace by their stamps, and the
//! settings in HOME by their content. A file in the run's folder; the journal has its hash.
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use loop_core::text::escape_path;
use rustix::fs::{FileType, Stat, readlinkat};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use thiserror::Error;

use super::tables;
use super::variables::HomePlaces;
use crate::checkpoint::{CheckpointContext, LeftOutName, is_made, left_out, rules_of};
use crate::fs::handle::{open_below, open_file, open_folder, small_file, split};
use crate::fs::hashed::{HashedFile, read_hashed, write_hashed};
use crate::fs::hex;
use crate::fs::walk::{NameKind, walk};

/// The file in the folder of a run.
const FILE: &str = "judge-baseline";
/// The same while it is written.
const NEW: &str = ".judge-baseline";
/// A record that is longer was not written here.
const BYTES_MAX: u64 = 512 * 1024 * 1024;
/// So many ignored names are recorded. What is beyond counts as changed.
pub(super) const NAMES_MAX: usize = 300_000;
/// Limits for recorded contents: number of files, bytes per file, bytes in total.
const CONTENTS_MAX: usize = 8_000;
const CONTENT_SIZE_MAX: u64 = 1024 * 1024;
const CONTENT_BYTES_MAX: u64 = 96 * 1024 * 1024;
/// The same for dependencies, and how long reading them may take: a start waits for it.
const DEPENDENCIES_MAX: usize = 80_000;
const DEPENDENCY_SIZE_MAX: u64 = 64 * 1024 * 1024;
const DEPENDENCY_BYTES_MAX: u64 = 2 * 1024 * 1024 * 1024;
const DEPENDENCY_TIME_MAX: Duration = Duration::from_secs(15);
/// How much of a file is read at a time.
const PIECE: usize = 128 * 1024;
/// A setting in HOME that is longer is left out.
const SETTING_BYTES_MAX: u64 = 256 * 1024;
/// So many entries of a folder in HOME are recorded.
const ENTRIES_MAX: usize = 4_000;
/// So many files of a folder of settings.
const SETTINGS_MAX: usize = 200;

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
    /// Digests of the content of those that are small: generated code, and dependencies, are often written again as they
    /// were.
    #[serde(default)]
    pub(super) contents: BTreeMap<String, String>,
    /// Settings in HOME, from there.
    pub(super) settings: BTreeMap<String, Vec<u8>>,
    /// Entries of folders in HOME, each with a digest of all that is in it.
    pub(super) entries: BTreeMap<String, String>,
}

/// Why the record that the journal names cannot be used.
#[derive(Debug, Error)]
pub(crate) enum BaselineError {
    /// It is not there.
    #[error("the record of ignored files and of settings in HOME before the first agent is missing: {}", .0.display())]
    Missing(PathBuf),
    /// It has another hash than the journal says.
    #[error(
        "the record of ignored files and of settings in HOME before the first agent is not the one that the loop wrote: {}",
        .0.display()
    )]
    Other(PathBuf),
}

/// What to do where the record is gone.
pub(crate) const RECORD_HINT: &str = "put the file judge-baseline of the loop back from a backup, or start a new loop";

/// Records it, and returns the hash of the record. It must be called before an agent can have changed anything.
pub(crate) fn take(run: &Path, context: &CheckpointContext) -> io::Result<String> {
    let mut baseline = Baseline::default();
    let workspace = open_folder(&context.workspace)?;
    let found = left_out(&workspace, &rules_of(context), NAMES_MAX, &tables::is_cache);
    baseline.ignored = found.names.iter().map(|name| (escape_path(&name.path), NameStamp::of(&name.stat))).collect();
    baseline.read_contents(&workspace, &found.names);
    if let Some(home) = &context.user.home {
        baseline.read_home(&HomePlaces::of_process(home, &context.workspace));
    }
    let text = serde_json::to_vec(&baseline)?;
    let hash = hex(&Sha256::digest(&text));
    if read_hashed(&run.join(FILE), &hash, BYTES_MAX) == HashedFile::Same(text.clone()) {
        return Ok(hash);
    }
    write_hashed(run, NEW, FILE, &text)?;
    Ok(hash)
}

/// Whether the record that the journal names is there and as it was written.
///
/// # Errors
/// When it is not.
pub(crate) fn check(run: &Path, hash: Option<&str>) -> Result<(), BaselineError> {
    read(run, hash).map(drop)
}

fn read(run: &Path, hash: Option<&str>) -> Result<Option<Vec<u8>>, BaselineError> {
    let Some(hash) = hash else { return Ok(None) };
    let file = run.join(FILE);
    match read_hashed(&file, hash, BYTES_MAX) {
        HashedFile::Same(text) => Ok(Some(text)),
        HashedFile::Other => Err(BaselineError::Other(file)),
        HashedFile::Missing => Err(BaselineError::Missing(file)),
    }
}

impl Baseline {
    /// That of a run, by the hash that the journal has; none where it was not recorded.
    ///
    /// # Errors
    /// When it is missing, or another one.
    pub(super) fn of(run: &Path, hash: Option<&str>) -> Result<Option<Self>, BaselineError> {
        let Some(text) = read(run, hash)? else { return Ok(None) };
        let other = || BaselineError::Other(run.join(FILE));
        serde_json::from_slice(&text).map(Some).map_err(|_| other())
    }

    fn read_contents(&mut self, workspace: &OwnedFd, names: &[LeftOutName]) {
        let is_file = |name: &&LeftOutName| {
            matches!(FileType::from_raw_mode(name.stat.st_mode), FileType::RegularFile | FileType::Symlink)
        };
        let is_dependency = |name: &&LeftOutName| tables::dependency_of(&name.path).is_some();
        let (installed, others): (Vec<_>, Vec<_>) = names.iter().filter(is_file).partition(is_dependency);
        let mut bytes_left = CONTENT_BYTES_MAX;
        for name in others.into_iter().filter(|name| !is_built(&name.path)).take(CONTENTS_MAX) {
            let size = u64::try_from(name.stat.st_size).unwrap_or(u64::MAX);
            let Some(left) = bytes_left.checked_sub(size).filter(|_| size <= CONTENT_SIZE_MAX) else { continue };
            bytes_left = left;
            if let Some(digest) = content_of(workspace, &name.path, &name.stat) {
                self.contents.insert(escape_path(&name.path), digest);
            }
        }
        // An install writes all of them again: digests of some of them would not help.
        self.contents.extend(contents_of_dependencies(workspace, &installed).unwrap_or_default());
    }

    /// Whether an ignored name is as it was: the same file, or another one with the same content.
    pub(super) fn has(&self, workspace: &OwnedFd, path: &[u8], stat: &Stat) -> bool {
        let name = escape_path(path);
        let Some(known) = self.ignored.get(&name) else { return false };
        let (now, NameStamp(_, _, size, mode)) = (NameStamp::of(stat), *known);
        let same_content = || {
            (now.2, now.3) == (size, mode)
                && self.contents.get(&name).is_some_and(|then| content_of(workspace, path, stat).as_ref() == Some(then))
        };
        *known == now || same_content()
    }

    fn read_home(&mut self, places: &HomePlaces) {
        for setting in tables::SETTINGS {
            self.settings.extend(setting_at(&places.find(setting)).map(|text| ((*setting).to_owned(), text)));
        }
        for setting in tables::SETTING_FOLDERS {
            let Ok(folder) = open_folder(&places.find(setting)) else { continue };
            let names = walk(&folder, &|_| true).unwrap_or_default();
            for name in names.into_iter().filter(|name| name.kind == NameKind::File).take(SETTINGS_MAX) {
                let Ok(below) = String::from_utf8(name.path) else { continue };
                let path = format!("{setting}/{below}");
                self.settings.extend(setting_at(&places.find(&path)).map(|text| (path, text)));
            }
        }
        for entry in entries(places) {
            if let Some(digest) = digest_of(&places.find(&entry)) {
                self.entries.insert(escape_path(entry.as_os_str().as_bytes()), digest);
            }
        }
    }
}

/// The content of a file of settings.
pub(super) fn setting_at(path: &Path) -> Option<Vec<u8>> {
    let (folder, name) = (open_folder(path.parent()?).ok()?, path.file_name()?.to_str()?);
    small_file(&folder, name, SETTING_BYTES_MAX)
}

/// Digests of all dependencies; none where there are too many, or reading them takes too long.
fn contents_of_dependencies(workspace: &OwnedFd, names: &[&LeftOutName]) -> Option<BTreeMap<String, String>> {
    let began = Instant::now();
    let sizes = names.iter().map(|name| u64::try_from(name.stat.st_size).unwrap_or(u64::MAX));
    if names.len() > DEPENDENCIES_MAX || sizes.fold(0, u64::saturating_add) > DEPENDENCY_BYTES_MAX {
        return None;
    }
    let mut all = BTreeMap::new();
    for name in names {
        if began.elapsed() > DEPENDENCY_TIME_MAX {
            return None;
        }
        let digest = content_of(workspace, &name.path, &name.stat);
        all.extend(digest.map(|digest| (escape_path(&name.path), digest)));
    }
    Some(all)
}

/// Whether a path lies in what a build makes: the build tool compares times.
fn is_built(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/').any(is_made)
}

/// A digest of the content of a file that is not too long, or of where a link leads.
fn content_of(workspace: &OwnedFd, path: &[u8], stat: &Stat) -> Option<String> {
    if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
        let (above, name) = split(path);
        let leads = readlinkat(open_below(workspace.as_fd(), above).ok()?, name, Vec::new()).ok()?;
        return Some(hex(&Sha256::digest(leads.as_bytes())));
    }
    let mut file = open_file(workspace, path).ok()?.take(DEPENDENCY_SIZE_MAX);
    let (mut hash, mut piece) = (Sha256::new(), vec![0; PIECE]);
    loop {
        match file.read(&mut piece).ok()? {
            0 => break,
            length => hash.update(piece.get(..length)?),
        }
    }
    (file.limit() > 0).then(|| hex(&hash.finalize()))
}

/// The entries of HOME that are linked one by one, as they are now, from there.
pub(super) fn entries(places: &HomePlaces) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = tables::ENTRY_FOLDERS.iter().map(PathBuf::from).collect();
    for libraries in tables::PYTHON_LIBRARIES {
        let pythons = fs::read_dir(places.find(libraries)).into_iter().flatten().flatten();
        let site = |python: fs::DirEntry| Path::new(libraries).join(python.file_name()).join(tables::PYTHON_SITE);
        folders.extend(pythons.take(ENTRIES_MAX).map(site));
    }
    let below = |folder: PathBuf| {
        let found = fs::read_dir(places.find(&folder)).into_iter().flatten().flatten();
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
    if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
        // What it leads to is the program.
        rustix::fs::stat(path).iter().for_each(|target| add(b"", target));
    }
    if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
        let names = walk(&open_folder(path).ok()?, &|path| !path.ends_with(b"__pycache__")).ok()?;
        names.iter().take(NAMES_MAX).for_each(|name| add(&name.path, &name.stat));
    }
    Some(hex(&hash.finalize()))
}
