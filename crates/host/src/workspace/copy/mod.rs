//! Isolated copies: working copies of a checkpoint that share nothing with each other or with the workspace. A
//! writable snapshot on btrfs, an overlay where mounts are allowed, otherwise a checkout.
//!
//! | file | what it does | what it does not do |
//! |---|---|---|
//! | `checkout` | writes a checkpoint into an empty folder | |
//! | `copy_tree` | copies a tree, sharing contents where the file system can | copy devices, pipes and sockets |
//! | `overlay` | mounts overlays; unmounts everything below a copy | need root, where the kernel allows it |
//! | `register` | whose copies there are; removes those of dead owners | touch a folder without our mark |
mod checkout;
mod copy_tree;
mod overlay;
mod register;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, openat2, renameat, statat, unlinkat};
use rustix::io::Errno;

use self::overlay::{TREE, UPPER};
use self::register::{Owned, checked, names};
use crate::checkpoint::{Checkpoint, ContentSource};
use crate::fs::btrfs;
use crate::fs::clear::remove_folder;
use crate::fs::handle::{WITHIN, open_below, open_file, open_inside};
use crate::fs::walk::walk;

pub(crate) use copy_tree::{SomeName, copy_repository, copy_some};
pub(crate) use overlay::mount_overlay;
pub use register::{Swept, sweep, sweep_some};

/// Checkouts that several copies are made from.
const SHARED: &[u8] = b"shared";
const COPIES: &[u8] = b"copies";
/// What was cut off while it was made or removed begins so.
const UNFINISHED: &[u8] = b".";
/// The file in the folder of an overlay that names what is below it.
const BELOW: &str = "below";

/// How copies are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyMethod {
    /// A writable snapshot of btrfs.
    Snapshot,
    /// An overlay over a shared checkout.
    Overlay,
    /// Plain files.
    Checkout,
}

/// What is to be copied.
#[derive(Debug, Clone, Copy)]
pub struct CopyRequest<'a> {
    /// The checkpoint.
    pub checkpoint: &'a Checkpoint,
    /// Where its content is.
    pub source: ContentSource<'a>,
    /// A name for it, such as the id of its commit: the same name is the same checkpoint.
    pub key: &'a str,
    /// What is copied along that no checkpoint holds.
    pub along: CopyExtras<'a>,
}

/// What is copied along that no checkpoint holds. Where the source is a snapshot it comes from there, and is as it was
/// then; else it comes from the workspace as it is now.
#[derive(Debug, Clone, Copy)]
pub struct CopyExtras<'a> {
    /// The workspace.
    pub workspace: &'a OwnedFd,
    /// What it holds in scope now: all else that is there is what its rules leave out.
    pub now: &'a Checkpoint,
    /// Whether what the rules leave out comes along: build folders and the like.
    pub ignored: bool,
    /// Whether the workspace's own repository does.
    pub git: bool,
}

/// Copies that were made.
#[derive(Debug)]
pub struct CopiesMade {
    /// How.
    pub method: CopyMethod,
    /// Why with this method, for people.
    pub why: String,
    /// Where each is.
    pub paths: Vec<PathBuf>,
}

/// The copies of one owner, which lives for as long as this is held.
#[derive(Debug)]
pub struct Copies {
    folder: PathBuf,
    owner: String,
    own: Owned,
}

impl Copies {
    /// The copies of an owner in a folder outside of the workspace. Overlays that a restart of the machine unmounted
    /// are mounted again.
    ///
    /// # Errors
    /// When another process has them, or the folder of that name is none of ours.
    pub fn open(folder: &Path, owner: &str) -> io::Result<Self> {
        let folder = folder.canonicalize()?;
        let own = register::own(&folder, owner)?;
        let copies = Self { folder, owner: owner.to_owned(), own };
        for part in [SHARED, COPIES] {
            let part = make_folder(&copies.own.folder, part)?;
            for name in names(&part)?.into_iter().filter(|name| name.starts_with(UNFINISHED)) {
                overlay::unmount_all(&open_inside(part.as_fd(), &name)?)?;
                remove_folder(part.as_fd(), &name)?;
            }
        }
        for name in copies.list()? {
            copies.remount_overlay(name.as_bytes())?;
        }
        Ok(copies)
    }

    fn part(&self, name: &[u8]) -> io::Result<OwnedFd> {
        open_inside(self.own.folder.as_fd(), name)
    }

    /// Where a copy of this name is, or would be.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(&self.owner).join("copies").join(name).join("tree")
    }

    /// The owner's own folder: whatever lies in it goes with the copies.
    #[must_use]
    pub fn room(&self) -> PathBuf {
        self.folder.join(&self.owner)
    }

    /// The copies that there are, by name, sorted.
    ///
    /// # Errors
    /// When they cannot be listed.
    pub fn list(&self) -> io::Result<Vec<String>> {
        let whole = names(&self.part(COPIES)?)?.into_iter().filter(|name| !name.starts_with(UNFINISHED));
        Ok(whole.filter_map(|name| String::from_utf8(name).ok()).collect())
    }

    /// Makes copies with these names: with the best method that works, or only with this one.
    ///
    /// # Errors
    /// When that method does not work. Then none of them is there.
    pub fn make(&self, request: &CopyRequest<'_>, only: Option<CopyMethod>, names: &[&str]) -> io::Result<CopiesMade> {
        if is_inside(&self.folder, request.along.workspace)? {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "copies cannot lie in the workspace itself"));
        }
        let (method, why) = self.choose(request, only)?;
        let there = self.list()?;
        for name in names {
            checked(name)?;
            if there.iter().any(|there| there == name) {
                let why = format!("there is a copy {name} already");
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
            }
        }
        if let Err(error) = self.make_all(request, method, names) {
            for name in names.iter().flat_map(|name| [unfinished(name.as_bytes()), name.as_bytes().to_vec()]) {
                self.remove_bytes(&name).ok();
            }
            return Err(error);
        }
        Ok(CopiesMade { method, why, paths: names.iter().map(|name| self.path(name)).collect() })
    }

    /// All of them, safe on disk before one of them has its name.
    fn make_all(&self, request: &CopyRequest<'_>, method: CopyMethod, names: &[&str]) -> io::Result<()> {
        let copies = self.part(COPIES)?;
        for name in names {
            let unfinished = unfinished(name.as_bytes());
            mkdirat(&copies, unfinished.as_slice(), Mode::RWXU)?;
            let own = open_inside(copies.as_fd(), &unfinished)?;
            self.make_one(request, method, &own, names.len() > 1)?;
        }
        rustix::fs::syncfs(&copies)?;
        for name in names {
            renameat(&copies, unfinished(name.as_bytes()).as_slice(), &copies, *name)?;
        }
        Ok(())
    }

    /// The best method that works, and why the better ones do not.
    fn choose(&self, request: &CopyRequest<'_>, only: Option<CopyMethod>) -> io::Result<(CopyMethod, String)> {
        let mut whys = Vec::new();
        for method in [CopyMethod::Snapshot, CopyMethod::Overlay, CopyMethod::Checkout] {
            if only.is_some_and(|only| only != method) {
                continue;
            }
            let tried = match method {
                CopyMethod::Snapshot => self.try_snapshot(request),
                CopyMethod::Overlay => overlay::trial(self.own.folder.as_fd()),
                CopyMethod::Checkout => Ok(()),
            };
            let is = match method {
                CopyMethod::Snapshot => "writable snapshots of btrfs",
                CopyMethod::Overlay => "overlays over one checkout",
                CopyMethod::Checkout => "a checkout each",
            };
            match tried {
                Ok(()) if whys.is_empty() => return Ok((method, is.to_owned())),
                Ok(()) => return Ok((method, format!("{is}: {}", whys.join("; ")))),
                Err(why) => whys.push(why),
            }
        }
        Err(io::Error::other(whys.join("; ")))
    }

    fn try_snapshot(&self, request: &CopyRequest<'_>) -> Result<(), String> {
        let ContentSource::Snapshot(snapshot) = request.source else {
            return Err("the checkpoint is not a snapshot".to_owned());
        };
        let folder = &self.own.folder;
        let same = btrfs::is_btrfs(folder).and_then(|is| {
            Ok(is && btrfs::file_system(folder.as_fd())? == btrfs::file_system(snapshot.folder().as_fd())?)
        });
        match same {
            Ok(true) => Ok(()),
            Ok(false) => Err("the folder of the copies is on another file system than the snapshot".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    fn make_one(&self, request: &CopyRequest<'_>, method: CopyMethod, own: &OwnedFd, several: bool) -> io::Result<()> {
        match method {
            CopyMethod::Snapshot => snapshot_copy(request, own),
            CopyMethod::Overlay => {
                let shared = self.shared(request)?;
                let key = shared_key(request)?;
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let below = openat2(own, BELOW, flags, Mode::RUSR | Mode::WUSR, WITHIN)?;
                io::Write::write_all(&mut std::fs::File::from(below), &key)?;
                overlay::mount_overlay(own.as_fd(), shared.as_fd())
            }
            CopyMethod::Checkout => {
                let tree = make_folder(own, TREE)?;
                if !several {
                    return check_out(request, &tree);
                }
                let shared = self.shared(request)?;
                copy_tree::copy_tree(&shared, &tree, &|_| true)
            }
        }
    }

    /// An overlay that is not mounted any more is mounted again.
    fn remount_overlay(&self, name: &[u8]) -> io::Result<()> {
        let own = open_inside(self.part(COPIES)?.as_fd(), name)?;
        let is_overlay = statat(&own, UPPER, AtFlags::SYMLINK_NOFOLLOW).is_ok();
        if !is_overlay || overlay::is_mounted(&own, TREE) {
            return Ok(());
        }
        let mut key = Vec::new();
        io::Read::read_to_end(&mut open_file(&own, BELOW.as_bytes())?, &mut key)?;
        let shared = open_inside(self.part(SHARED)?.as_fd(), &key)?;
        overlay::mount_overlay(own.as_fd(), shared.as_fd())
    }

    /// The checkout that the copies of a checkpoint share, made once. It is never changed.
    fn shared(&self, request: &CopyRequest<'_>) -> io::Result<OwnedFd> {
        let key = shared_key(request)?;
        let shared = self.part(SHARED)?;
        match open_inside(shared.as_fd(), &key) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            there => return there,
        }
        let new = unfinished(&key);
        remove_folder(shared.as_fd(), &new)?;
        check_out(request, &make_folder(&shared, &new)?)?;
        renameat(&shared, new.as_slice(), &shared, key.as_slice())?;
        open_inside(shared.as_fd(), &key)
    }

    /// Removes a copy, whatever was done in it: what is mounted there is unmounted, no link is followed.
    ///
    /// # Errors
    /// When there is none of that name, or something of it stays.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        let name = checked(name)?;
        let copies = self.part(COPIES)?;
        overlay::unmount_all(&open_inside(copies.as_fd(), name)?)?;
        // One that is half gone has no name.
        renameat(&copies, name, &copies, unfinished(name).as_slice())?;
        self.remove_bytes(&unfinished(name))
    }

    fn remove_bytes(&self, name: &[u8]) -> io::Result<()> {
        let copies = self.part(COPIES)?;
        overlay::unmount_all(&open_inside(copies.as_fd(), name)?)?;
        remove_folder(copies.as_fd(), name)
    }

    /// Removes all copies and everything that belongs to them.
    ///
    /// # Errors
    /// When something stays; a sweep goes on.
    pub fn remove_all(self) -> io::Result<()> {
        self.own.remove(&self.folder, &self.owner)
    }
}

/// Whether a path lies in a folder, by whatever name.
///
/// # Errors
/// When the folder cannot be read.
pub fn is_inside(path: &Path, folder: &OwnedFd) -> io::Result<bool> {
    let stat = rustix::fs::fstat(folder)?;
    let mut above = path.ancestors().filter_map(|above| rustix::fs::stat(above).ok());
    Ok(above.any(|above| (above.st_dev, above.st_ino) == (stat.st_dev, stat.st_ino)))
}

fn unfinished(name: &[u8]) -> Vec<u8> {
    [UNFINISHED, name].concat()
}

/// The name of a shared checkout: what is copied along makes it another one.
fn shared_key(request: &CopyRequest<'_>) -> io::Result<Vec<u8>> {
    let ignored = if request.along.ignored { "-with-ignored" } else { "" };
    let git = if request.along.git { "-with-git" } else { "" };
    Ok([checked(request.key)?, ignored.as_bytes(), git.as_bytes()].concat())
}

fn make_folder(above: &OwnedFd, name: &[u8]) -> io::Result<OwnedFd> {
    match mkdirat(above, name, Mode::from_raw_mode(0o755)) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    open_inside(above.as_fd(), name)
}

/// Puts a checkpoint into an empty folder, with what is copied along.
fn check_out(request: &CopyRequest<'_>, to: &OwnedFd) -> io::Result<()> {
    put(request, to)?;
    copy_extras(request, to)
}

/// Puts a checkpoint into an empty folder, and nothing else.
///
/// # Errors
/// When something of it is missing, or cannot be written.
pub fn put(request: &CopyRequest<'_>, to: &OwnedFd) -> io::Result<()> {
    let then = request.checkpoint;
    match request.source {
        ContentSource::Store(store) => checkout::check_out(then, store, to),
        ContentSource::Snapshot(snapshot) => {
            copy_tree::copy_tree(snapshot.folder(), to, &|path| then.names.contains_key(path))
        }
    }
}

/// Copies along what no checkpoint holds, as requested, into a folder with the checkpoint.
///
/// # Errors
/// When something of it cannot be read or written.
pub fn copy_extras(request: &CopyRequest<'_>, to: &OwnedFd) -> io::Result<()> {
    let then = request.checkpoint;
    let (from, now) = match request.source {
        ContentSource::Store(_) => (request.along.workspace, request.along.now),
        ContentSource::Snapshot(snapshot) => (snapshot.folder(), then),
    };
    if request.along.ignored {
        copy_tree::copy_ignored(from, to, now, then)?;
    }
    if request.along.git { copy_tree::copy_repository(from, to) } else { Ok(()) }
}

/// A writable snapshot, without what was not asked for.
fn snapshot_copy(request: &CopyRequest<'_>, own: &OwnedFd) -> io::Result<()> {
    let ContentSource::Snapshot(snapshot) = request.source else {
        return Err(io::Error::other("the checkpoint is not a snapshot"));
    };
    btrfs::snapshot(snapshot.folder().as_fd(), own.as_fd(), TREE, false)?;
    let tree = open_inside(own.as_fd(), TREE)?;
    // A repository that is only pointed to belongs to another folder.
    if !request.along.git || open_inside(tree.as_fd(), b".git").is_err() {
        remove_name(&tree, b".git")?;
    }
    if request.along.ignored {
        return Ok(());
    }
    for name in walk(&tree, &|path| path != b".git")? {
        if !request.checkpoint.names.contains_key(&name.path) {
            remove_name(&tree, &name.path)?;
        }
    }
    Ok(())
}

/// Removes what is at a path below a folder; it may have gone with what is above it.
fn remove_name(tree: &OwnedFd, path: &[u8]) -> io::Result<()> {
    let path = Path::new(std::ffi::OsStr::from_bytes(path));
    let above = path.parent().map(|above| above.as_os_str().as_bytes()).unwrap_or_default();
    let name = path.file_name().unwrap_or_default();
    let folder = match open_below(tree.as_fd(), above) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        folder => folder?,
    };
    match statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) if stat.st_mode & 0o170_000 == 0o040_000 => remove_folder(folder.as_fd(), name.as_bytes()),
        Ok(_) => unlinkat(&folder, name, AtFlags::empty()).map_err(Into::into),
        Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
