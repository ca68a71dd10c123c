//! The files of a repository that are saved as they are, and which of them show that an operation (merge, rebase,
//! bisect) is in progress.
use super::folder::{GitFolder, joined};
use super::index::{INDEX_BYTES_MAX, Index, shared_name};
use super::location::GitLocation;
use super::refs::shown;
use super::remarks::Remarks;

/// Files of the working tree: where it is, what is staged, what is in progress.
const OWN_FILES: &[&str] =
    &["HEAD", "ORIG_HEAD", "COMMIT_EDITMSG", "MERGE_RR", "config.worktree", "info/sparse-checkout", "logs/HEAD"];
/// Files that are there only while something is in progress (a merge, a rebase, a search for a fault).
pub(super) const OPERATIONS: &[&str] = &[
    "MERGE_HEAD",
    "MERGE_MSG",
    "MERGE_MODE",
    "AUTO_MERGE",
    "SQUASH_MSG",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "REBASE_HEAD",
    "BISECT_LOG",
    "BISECT_START",
    "BISECT_TERMS",
    "BISECT_NAMES",
    "BISECT_EXPECTED_REV",
    "BISECT_ANCESTORS_OK",
    "BISECT_RUN",
    "rebase-merge",
    "rebase-apply",
    "sequencer",
];
/// What ties a worktree to its repository, and the refs that are its alone.
const TIE_FILES: &[&str] = &["commondir", "gitdir", "locked", "refs"];
/// Files that all working trees share.
const SHARED_FILES: &[&str] = &[
    "config",
    "description",
    "shallow",
    "info/exclude",
    "info/attributes",
    "info/grafts",
    "objects/info/alternates",
    "logs/refs",
    "worktrees",
];
/// Names in a repository that need not be saved, because they are saved otherwise or are made again.
const KNOWN: &[&str] = &[
    "index",
    "objects",
    "refs",
    "packed-refs",
    "logs",
    "info",
    "hooks",
    "branches",
    "FETCH_HEAD",
    "gc.log",
    "gc.pid",
    "index.lock",
    "HEAD.lock",
    "fsmonitor--daemon",
    "fsmonitor--daemon.ipc",
    "commondir",
    "gitdir",
    "locked",
];
const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Together.
const FILES_BYTES_MAX: usize = 1024 * 1024 * 1024;
const FILES_MAX: usize = 100_000;
const DEPTH_MAX: usize = 32;

/// A file that is saved as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SavedFile {
    /// Whether it lies in what all working trees share.
    pub(super) shared: bool,
    pub(super) path: Vec<u8>,
    pub(super) bytes: Vec<u8>,
}

/// All files of a repository that are saved. What is too large or cannot be read is reported.
pub(super) fn read(location: &GitLocation, remarks: &mut Remarks) -> Vec<SavedFile> {
    let mut reading = Reading { files: Vec::new(), bytes: 0, remarks };
    let own = OWN_FILES.iter().chain(OPERATIONS);
    for name in own {
        reading.take(&location.git, false, name.as_bytes(), FILE_BYTES_MAX);
    }
    if location.git_path != location.common_path {
        for name in TIE_FILES {
            reading.take(&location.git, false, name.as_bytes(), FILE_BYTES_MAX);
        }
    }
    reading.take(&location.git, false, b"index", INDEX_BYTES_MAX);
    let shared = Index::of(&location.git).ok().and_then(|index| index.shared);
    if let Some(id) = shared {
        reading.take(&location.git, false, shared_name(&id).as_bytes(), INDEX_BYTES_MAX);
    }
    for name in SHARED_FILES {
        reading.take(&location.common, true, name.as_bytes(), FILE_BYTES_MAX);
    }
    let files = reading.files;
    report_the_rest(location, remarks);
    files
}

/// Names what else is there and not saved.
fn report_the_rest(location: &GitLocation, remarks: &mut Remarks) {
    let hooks = location.common.below(b"hooks").and_then(|hooks| hooks.names()).unwrap_or_default();
    let hooks: Vec<String> =
        hooks.iter().map(|(name, _)| shown(name)).filter(|name| !name.ends_with(".sample")).collect();
    if !hooks.is_empty() {
        remarks.add(format!("hooks are not saved, because they are programs: {}", list(&hooks)));
    }
    let known = |name: &str| {
        KNOWN.contains(&name) || OWN_FILES.contains(&name) || OPERATIONS.contains(&name) || SHARED_FILES.contains(&name)
    };
    let others = location.git.names().unwrap_or_default();
    let others: Vec<String> = others
        .iter()
        .map(|(name, _)| shown(name))
        .filter(|name| !known(name) && !name.starts_with("sharedindex."))
        .collect();
    if !others.is_empty() {
        remarks.add(format!("of `.git` these are not saved: {}", list(&others)));
    }
}

/// Names for a sentence.
pub(super) fn list(names: &[String]) -> String {
    let shown: Vec<&str> = names.iter().take(20).map(String::as_str).collect();
    let more = names.len().saturating_sub(shown.len());
    let shown = shown.join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

struct Reading<'a> {
    files: Vec<SavedFile>,
    bytes: usize,
    remarks: &'a mut Remarks,
}

impl Reading<'_> {
    fn take(&mut self, folder: &GitFolder, shared: bool, path: &[u8], most: u64) {
        if folder.has_folder(path) {
            return match folder.below(path) {
                Ok(below) => self.all_in(&below, shared, path, DEPTH_MAX),
                Err(error) => self.remarks.add(format!("{} is not saved: {error}", shown(path))),
            };
        }
        match folder.read(path, most) {
            Ok(Some(bytes)) => self.add(SavedFile { shared, path: path.to_vec(), bytes }),
            Ok(None) => {}
            Err(error) => self.remarks.add(format!("{} is not saved: {error}", shown(path))),
        }
    }

    fn all_in(&mut self, folder: &GitFolder, shared: bool, path: &[u8], depth: usize) {
        let names = folder.names().unwrap_or_else(|error| {
            self.remarks.add(format!("{} is not saved: {error}", shown(path)));
            Vec::new()
        });
        for (name, is_folder) in names {
            let path = joined(path, &name);
            if name.ends_with(b".lock") || self.files.len() >= FILES_MAX {
                continue;
            }
            if !is_folder {
                match folder.read(&name, FILE_BYTES_MAX) {
                    Ok(Some(bytes)) => self.add(SavedFile { shared, path, bytes }),
                    Ok(None) => {}
                    Err(error) => self.remarks.add(format!("{} is not saved: {error}", shown(&path))),
                }
            } else if depth > 0 {
                match folder.below(&name) {
                    Ok(below) => self.all_in(&below, shared, &path, depth - 1),
                    Err(error) => self.remarks.add(format!("{} is not saved: {error}", shown(&path))),
                }
            }
        }
    }

    fn add(&mut self, file: SavedFile) {
        if self.bytes + file.bytes.len() > FILES_BYTES_MAX || self.files.len() >= FILES_MAX {
            return self.remarks.add(format!("{} is not saved: it is too large", shown(&file.path)));
        }
        self.bytes += file.bytes.len();
        self.files.push(file);
    }
}
