//! The names of a workspace that checkpoints leave out, with what `lstat` says of each: dependencies, build output, local
//! settings, files over the size limit. Nothing is read but names and stamps.
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, Dir, FileType, Stat, statat};

use super::rules::{self, FolderRules, IGNORE_BYTES_MAX, Rules, ignore_rules};
use crate::fs::handle::{joined, open_inside, small_file};

const DEPTH_MAX: usize = 512;

/// A name that checkpoints leave out.
#[derive(Debug)]
pub(crate) struct LeftOutName {
    /// From the workspace.
    pub(crate) path: Vec<u8>,
    /// Its `lstat`.
    pub(crate) stat: Stat,
    /// The folder that it is in belongs to the work.
    pub(crate) is_top: bool,
}

/// All names that are left out.
#[derive(Debug, Default)]
pub(crate) struct LeftOut {
    /// Each folder before what is in it.
    pub(crate) names: Vec<LeftOutName>,
    /// Whether there are more than `most`.
    pub(crate) is_cut: bool,
}

/// The names below a workspace that its rules leave out, `most` at most. What `skip` refuses is not entered, nor is
/// what the harness itself writes.
pub(crate) fn left_out(workspace: &OwnedFd, rules: &Rules, most: usize, skip: &dyn Fn(&[u8]) -> bool) -> LeftOut {
    let mut walk = LeftOutWalk { rules, most, skip, found: LeftOut::default() };
    if let Ok(top) = open_inside(workspace.as_fd(), b".") {
        walk.folder(&top, &[], &FolderRules::default(), Depth { levels: 0, is_out: false });
    }
    walk.found
}

#[derive(Clone, Copy)]
struct Depth {
    levels: usize,
    /// The folder itself is left out.
    is_out: bool,
}

struct LeftOutWalk<'a> {
    rules: &'a Rules,
    most: usize,
    skip: &'a dyn Fn(&[u8]) -> bool,
    found: LeftOut,
}

impl LeftOutWalk<'_> {
    fn folder(&mut self, folder: &OwnedFd, path: &[u8], above: &FolderRules, depth: Depth) {
        let own = if depth.is_out { None } else { small_file(folder, ".gitignore", IGNORE_BYTES_MAX) };
        let rules = above.below(own.map(|text| ignore_rules(path, &text)).as_ref());
        let Ok(entries) = Dir::read_from(folder) else { return };
        let names = entries.flatten().map(|entry| (entry.file_name().to_bytes().to_vec(), entry.file_type()));
        let mut names: Vec<_> = names.filter(|(name, _)| name != b"." && name != b"..").collect();
        names.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        for (name, kind) in names {
            let path = joined(path, &name);
            if path == b".git" || (self.skip)(&path) {
                continue;
            }
            let stat = || statat(folder, name.as_slice(), AtFlags::SYMLINK_NOFOLLOW);
            let kind = if kind == FileType::Unknown {
                stat().map_or(kind, |stat| FileType::from_raw_mode(stat.st_mode))
            } else {
                kind
            };
            let is_folder = kind == FileType::Directory;
            let is_big = || kind == FileType::RegularFile && stat().is_ok_and(|stat| self.rules.is_too_big(&stat));
            let is_out = depth.is_out
                || match self.rules.scope(&rules, &path, is_folder) {
                    rules::Scope::In => is_big(),
                    rules::Scope::Ignored | rules::Scope::Skipped => true,
                    rules::Scope::Outside => continue,
                };
            if is_out && !self.add(folder, &name, LeftOutPlace { path: &path, is_top: !depth.is_out }) {
                return;
            }
            let may_enter = is_folder && depth.levels < DEPTH_MAX;
            if let Some(below) = may_enter.then(|| open_inside(folder.as_fd(), &name).ok()).flatten() {
                self.folder(&below, &path, &rules, Depth { levels: depth.levels + 1, is_out });
            }
        }
    }

    /// Adds a name; false when there are too many.
    fn add(&mut self, folder: &OwnedFd, name: &[u8], place: LeftOutPlace<'_>) -> bool {
        if self.found.names.len() >= self.most {
            self.found.is_cut = true;
            return false;
        }
        if let Ok(stat) = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            self.found.names.push(LeftOutName { path: place.path.to_vec(), stat, is_top: place.is_top });
        }
        true
    }
}

struct LeftOutPlace<'a> {
    path: &'a [u8],
    is_top: bool,
}
