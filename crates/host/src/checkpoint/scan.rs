//! Looking at a workspace: every name in scope with what `lstat` says of it. Folders are entered by their
//! handles and links are never followed, so that nobody can lead us out by swapping one for the other.
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::SystemTime;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, openat, readlinkat, statat};

use super::rules::{FolderRules, Rules};

/// A `.gitignore` longer than this is no list of rules.
const IGNORE_BYTES_MAX: u64 = 1024 * 1024;
/// So deep we go.
const DEPTH_MAX: usize = 512;

/// One name in scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// From the workspace, with `/` between names.
    pub path: Vec<u8>,
    /// What it is.
    pub what: What,
    /// Permissions with set-id and sticky bits.
    pub mode: u32,
    /// What tells whether it has changed.
    pub stamp: Stamp,
}

/// What a name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// A file.
    File,
    /// A link, and where it leads.
    Link(Vec<u8>),
    /// A folder.
    Folder,
}

/// When this is the same, a file has not changed, unless it was written just when it was looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Its length.
    pub size: u64,
    /// When its content changed, in nanoseconds.
    pub modified: i128,
    /// When anything of it changed.
    pub changed: i128,
    /// Its number in the file system.
    pub inode: u64,
    /// How many names it has.
    pub names: u64,
}

/// What was seen.
#[derive(Debug, Default)]
pub struct Seen {
    /// When the look began, in nanoseconds of the wall clock.
    pub began: i128,
    /// Everything in scope, in the order of a walk.
    pub found: Vec<Found>,
    /// What is not kept, and why.
    pub left_out: Vec<(Vec<u8>, String)>,
    /// What could not be read, and why.
    pub unreadable: Vec<(Vec<u8>, String)>,
}

impl Stamp {
    fn of(stat: &Stat) -> Self {
        let nanos = |seconds: i64, rest: u64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
        Self {
            size: u64::try_from(stat.st_size).unwrap_or(0),
            modified: nanos(stat.st_mtime, stat.st_mtime_nsec),
            changed: nanos(stat.st_ctime, stat.st_ctime_nsec),
            inode: stat.st_ino,
            names: stat.st_nlink,
        }
    }
}

/// Opens a workspace.
///
/// # Errors
/// When it is no folder that can be read.
pub fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).map_err(Into::into)
}

/// Looks at everything in scope. `held` are paths that stay in scope whatever the rules say, sorted.
///
/// # Errors
/// When the workspace itself cannot be read.
pub fn scan(workspace: &OwnedFd, rules: &Rules, held: &[Vec<u8>]) -> io::Result<Seen> {
    let device = rustix::fs::fstat(workspace)?.st_dev;
    let began =
        SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| i128::try_from(since.as_nanos()).unwrap_or(i128::MAX));
    let mut scan = Scan { rules, held, device, seen: Seen { began, ..Seen::default() } };
    let own = openat(workspace, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    scan.folder(Place { folder: &own, path: &[], rules: rules.at_the_top(), ignored: false, depth: 0 })?;
    Ok(scan.seen)
}

struct Scan<'a> {
    rules: &'a Rules,
    held: &'a [Vec<u8>],
    device: u64,
    seen: Seen,
}

/// A folder that is being looked into.
struct Place<'a> {
    folder: &'a OwnedFd,
    path: &'a [u8],
    /// The rules of its names.
    rules: FolderRules,
    /// Only what is held counts in it.
    ignored: bool,
    depth: usize,
}

impl Scan<'_> {
    /// Looks into a folder; says whether something in it is kept. `rules` are those of the folder above.
    fn folder(&mut self, place: Place<'_>) -> io::Result<bool> {
        let mut names: Vec<Vec<u8>> = Vec::new();
        for entry in Dir::read_from(place.folder)? {
            let name = entry?.file_name().to_bytes().to_vec();
            if name != b"." && name != b".." {
                names.push(name);
            }
        }
        names.sort_unstable();
        let own = names.binary_search_by(|name| name.as_slice().cmp(b".gitignore")).is_ok();
        let own = own.then(|| small_file(place.folder, ".gitignore")).flatten();
        let place = Place { rules: place.rules.below(place.path, own.as_deref()), ..place };
        let mut any = false;
        for name in names {
            // The workspace's own repository is the user's; one inside of it is a part of the work.
            if place.path.is_empty() && name == b".git" {
                continue;
            }
            any |= self.name(&place, &name);
        }
        Ok(any)
    }

    /// Looks at one name; says whether it is kept.
    fn name(&mut self, place: &Place<'_>, name: &[u8]) -> bool {
        let path = joined(place.path, name);
        let stat = match statat(place.folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            // Gone since its folder was read.
            Err(rustix::io::Errno::NOENT) => return false,
            Err(error) => return self.unreadable(&path, &error.into()),
        };
        let kind = FileType::from_raw_mode(stat.st_mode);
        let is_folder = kind == FileType::Directory;
        let ignored = place.ignored || self.rules.leave_out(&place.rules, &path, is_folder);
        if ignored && !self.is_held(&path, is_folder) {
            return false;
        }
        let what = match kind {
            FileType::RegularFile => What::File,
            FileType::Symlink => match readlinkat(place.folder, name, Vec::new()) {
                Ok(target) => What::Link(target.into_bytes()),
                Err(error) => return self.unreadable(&path, &error.into()),
            },
            FileType::Directory => return self.enter(place, name, &stat, ignored),
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => {
                self.seen.left_out.push((path, "no file, folder or link".to_owned()));
                return false;
            }
        };
        self.seen.found.push(Found { path, what, mode: stat.st_mode & 0o7777, stamp: Stamp::of(&stat) });
        true
    }

    fn enter(&mut self, above: &Place<'_>, name: &[u8], stat: &Stat, ignored: bool) -> bool {
        let path = joined(above.path, name);
        let out = (stat.st_dev != self.device).then_some("another file system");
        if let Some(why) = out.or((above.depth >= DEPTH_MAX).then_some("too deep")) {
            self.seen.left_out.push((path, why.to_owned()));
            return false;
        }
        let at = self.seen.found.len();
        let what = What::Folder;
        self.seen.found.push(Found { path: path.clone(), what, mode: stat.st_mode & 0o7777, stamp: Stamp::of(stat) });
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let inside = openat(above.folder, name, flags, Mode::empty()).map_err(io::Error::from);
        let kept = inside.and_then(|folder| {
            let (rules, depth) = (above.rules.clone(), above.depth + 1);
            self.folder(Place { folder: &folder, path: &path, rules, ignored, depth })
        });
        match kept {
            Ok(any) => {
                // One that is ignored matters only for what is held in it.
                if ignored && !any {
                    self.seen.found.truncate(at);
                }
                any || !ignored
            }
            Err(error) => self.unreadable(&path, &error),
        }
    }

    fn unreadable(&mut self, path: &[u8], error: &io::Error) -> bool {
        self.seen.unreadable.push((path.to_vec(), error.to_string()));
        true
    }

    /// Whether a path, or one below it, stays in scope.
    fn is_held(&self, path: &[u8], is_folder: bool) -> bool {
        let at = self.held.partition_point(|held| held.as_slice() < path);
        let is = |at: usize| self.held.get(at).is_some_and(|held| held == path);
        if is(at) || !is_folder {
            return is(at);
        }
        let inside = joined(path, b"");
        let at = self.held.partition_point(|held| held.as_slice() < inside.as_slice());
        self.held.get(at).is_some_and(|held| held.starts_with(&inside))
    }
}

/// A path below a folder.
pub(super) fn joined(folder: &[u8], name: &[u8]) -> Vec<u8> {
    if folder.is_empty() { name.to_vec() } else { [folder, b"/", name].concat() }
}

/// A small plain file of a folder; none if it is anything else.
fn small_file(folder: &OwnedFd, name: &str) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(folder.as_fd(), name, flags, Mode::empty()).ok()?;
    let stat = rustix::fs::fstat(&file).ok()?;
    let plain = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    let size = u64::try_from(stat.st_size).ok().filter(|size| plain && *size <= IGNORE_BYTES_MAX)?;
    let mut bytes = Vec::new();
    let mut file = io::Read::take(std::fs::File::from(file), size);
    io::Read::read_to_end(&mut file, &mut bytes).ok()?;
    Some(bytes)
}
