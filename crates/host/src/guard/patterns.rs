//! Which names are protected: patterns in the style of `.gitignore`, over everything that is there, ignored or not.
//! No link is followed. Folders that are built from sources are skipped unless a pattern names them.
use std::ffi::OsStr;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{AtFlags, Dir, FileType, statat};

use super::shown;
use crate::checkpoint::{Rules, is_made};
use crate::fs::handle::{folder_beneath, joined, path_of_handle, split};

/// So many names are passed in one walk.
const PASSED_MAX: u64 = 500_000;
const DEPTH_MAX: usize = 256;
/// So many folders that cannot be read are named.
const UNREAD_MAX: usize = 20;

/// What matches.
#[derive(Debug)]
pub(super) struct ProtectedPatterns {
    globs: Gitignore,
    /// The names that patterns have between their slashes.
    named: Vec<Vec<u8>>,
    ours: Rules,
}

/// One name that was passed.
pub(super) struct WalkEntry<'a> {
    pub(super) path: &'a [u8],
    pub(super) kind: FileType,
    pub(super) inode: u64,
    /// Whether it matches.
    pub(super) is_wanted: bool,
}

/// A folder that the walk is in.
#[derive(Clone, Copy)]
struct WalkedFolder<'a> {
    handle: &'a OwnedFd,
    path: &'a [u8],
    /// Whether it matches itself.
    matches: bool,
}

/// What could not be passed.
#[derive(Debug, Default)]
pub(super) struct Passed {
    count: u64,
    pub(super) is_cut: bool,
    pub(super) unread: Vec<Vec<u8>>,
}

impl ProtectedPatterns {
    pub(super) fn new(globs: &[String], ours: Rules) -> Self {
        let mut builder = GitignoreBuilder::new("");
        for glob in globs {
            // One that is no pattern was refused when it was given.
            builder.add_line(None, glob.strip_prefix("./").unwrap_or(glob)).ok();
        }
        let named = globs.iter().flat_map(|glob| glob.split('/')).map(|name| name.as_bytes().to_vec()).collect();
        Self { globs: builder.build().unwrap_or_else(|_| Gitignore::empty()), named, ours }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.globs.is_empty()
    }

    /// Whether a folder is not entered.
    pub(super) fn is_passed_by(&self, path: &[u8]) -> bool {
        let (_, name) = split(path);
        let is_named = self.named.iter().any(|named| named == name);
        name == b".git" || is_made(name) && !is_named || self.ours.is_outside(path, true)
    }

    /// Calls `visit` for every name in the workspace, folders too.
    pub(super) fn walk(&self, workspace: &OwnedFd, visit: &mut dyn FnMut(&WalkEntry<'_>)) -> Passed {
        let mut passed = Passed::default();
        match folder_beneath(workspace, b"") {
            Ok(top) => self.folder(WalkedFolder { handle: &top, path: &[], matches: false }, visit, &mut passed),
            Err(_) => passed.unread.push(b".".to_vec()),
        }
        passed
    }

    fn folder(&self, folder: WalkedFolder<'_>, visit: &mut dyn FnMut(&WalkEntry<'_>), passed: &mut Passed) {
        let WalkedFolder { handle: folder, path, matches } = folder;
        let Ok(entries) = Dir::read_from(folder) else { return unread(path, passed) };
        let depth = path.iter().filter(|byte| **byte == b'/').count();
        for entry in entries.flatten() {
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            passed.count += 1;
            if passed.count > PASSED_MAX || depth > DEPTH_MAX {
                passed.is_cut = true;
                return;
            }
            let path = joined(path, name);
            let mut kind = entry.file_type();
            if kind == FileType::Unknown {
                // Some file systems do not report it.
                let stat = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
                kind = stat.map_or(kind, |stat| FileType::from_raw_mode(stat.st_mode));
            }
            let is_folder = kind == FileType::Directory;
            if is_folder && self.is_passed_by(&path) || self.ours.is_outside(&path, is_folder) {
                continue;
            }
            let is_wanted = match self.globs.matched(Path::new(OsStr::from_bytes(&path)), is_folder) {
                Match::Ignore(_) => true,
                Match::Whitelist(_) => false,
                Match::None => matches,
            };
            visit(&WalkEntry { path: &path, kind, inode: entry.ino(), is_wanted });
            if is_folder {
                match folder_beneath(folder, name) {
                    Ok(below) => {
                        self.folder(WalkedFolder { handle: &below, path: &path, matches: is_wanted }, visit, passed);
                    }
                    Err(_) => unread(&path, passed),
                }
            }
        }
    }

    /// The script files that are there. Where a link is on the path to one, the link and its target.
    pub(super) fn scripts(&self, workspace: &OwnedFd, wanted: &[String], left_out: &mut Vec<String>) -> Vec<Vec<u8>> {
        let Ok(root) = path_of_handle(workspace) else { return Vec::new() };
        let (patterns, plain): (Vec<&String>, Vec<&String>) =
            wanted.iter().partition(|path| path.contains(['*', '?', '[']));
        let mut found: Vec<Vec<u8>> = plain.iter().flat_map(|path| links_on_path(&root, path.as_bytes())).collect();
        for path in &plain {
            let leads = root.join(path).canonicalize();
            if leads.is_ok_and(|leads| !leads.starts_with(&root)) {
                left_out.push(format!("{}: it leads out of the workspace", shown(path.as_bytes())));
            }
        }
        if !patterns.is_empty() {
            let mut builder = GitignoreBuilder::new("");
            for pattern in patterns {
                builder.add_line(None, &format!("/{pattern}")).ok();
            }
            let globs = builder.build().unwrap_or_else(|_| Gitignore::empty());
            self.walk(workspace, &mut |entry| {
                let path = Path::new(OsStr::from_bytes(entry.path));
                if entry.kind != FileType::Directory && globs.matched(path, false).is_ignore() {
                    found.push(entry.path.to_vec());
                }
            });
        }
        let is_ours =
            |path: &[u8]| self.ours.is_outside(path, false) || above_all(path).any(|above| self.is_passed_by(above));
        found.retain(|path| !is_ours(path));
        found
    }
}

fn unread(path: &[u8], passed: &mut Passed) {
    if passed.unread.len() < UNREAD_MAX {
        passed.unread.push(path.to_vec());
    }
}

/// The folders above a path.
fn above_all(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.iter().enumerate().filter(|(_, byte)| **byte == b'/').filter_map(|(at, _)| path.get(..at))
}

/// The links among the names of a path, and the file that it leads to; only what lies in the workspace.
fn links_on_path(root: &Path, path: &[u8]) -> Vec<Vec<u8>> {
    let is_link = |path: &[u8]| {
        fs::symlink_metadata(root.join(OsStr::from_bytes(path))).is_ok_and(|found| found.file_type().is_symlink())
    };
    let mut found = Vec::new();
    for name in above_all(path).chain([path]) {
        if is_link(name) {
            found.push(name.to_vec());
            // What is below it is reached by its real path.
            break;
        }
    }
    let real = root.join(OsStr::from_bytes(path)).canonicalize().ok();
    let real = real.as_ref().and_then(|real| real.strip_prefix(root).ok());
    found.extend(real.map(|real| real.as_os_str().as_bytes().to_vec()).filter(|real| !real.is_empty()));
    found
}
