//! Emptying a folder that an agent has worked in: by handles, through no link and into no mount, whatever was done
//! to it.
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{
    AtFlags, FileType, IFlags, Mode, OFlags, chmod, ioctl_getflags, ioctl_setflags, openat, openat2, renameat, statat,
    unlinkat,
};
use rustix::io::Errno;

use super::handle::{WITHIN, open_inside};
use super::walk::names_in;
use super::{btrfs, fresh_id};

/// Each level costs a handle; what is deeper is moved up first.
const DEPTH_MAX: usize = 100;
/// The prefix of the names of what was moved up.
const MOVED_UP: &str = ".loop-deep-";

/// Removes everything in a folder.
///
/// # Errors
/// When something stays; a mount is one such thing. What could be removed is gone.
pub(crate) fn clear(folder: &OwnedFd) -> io::Result<()> {
    let mut clearing = Clearing { root: folder, moved_up: 0 };
    loop {
        let before = clearing.moved_up;
        clearing.folder(folder, 0)?;
        if clearing.moved_up == before {
            return Ok(());
        }
    }
}

/// Removes a folder with everything in it, by its name in another one. That there is none is none's fault.
pub(crate) fn remove_folder(above: BorrowedFd<'_>, name: &[u8]) -> io::Result<()> {
    match opened(above, name) {
        Ok(folder) => clear(&folder)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    }
    remove_empty(above, name)
}

struct Clearing<'a> {
    root: &'a OwnedFd,
    moved_up: u64,
}

impl Clearing<'_> {
    fn folder(&mut self, folder: &OwnedFd, depth: usize) -> io::Result<()> {
        let mut failed = Ok(());
        for name in names_in(folder)? {
            let removed = self.name(folder, &name, depth);
            failed = failed.and(removed);
        }
        failed
    }

    fn name(&mut self, folder: &OwnedFd, name: &[u8], depth: usize) -> io::Result<()> {
        let stat = match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
            return unlocked(folder, name, || unlinkat(folder, name, AtFlags::empty()));
        }
        let inside = opened(folder.as_fd(), name)?;
        if depth >= DEPTH_MAX {
            self.moved_up += 1;
            let up = format!("{MOVED_UP}{}-{}", self.moved_up, fresh_id()?);
            return unlocked(folder, name, || renameat(folder, name, self.root, up.as_str()));
        }
        self.folder(&inside, depth + 1)?;
        remove_empty(folder.as_fd(), name)
    }
}

/// A folder as it must be to be emptied: readable and writable.
fn opened(above: BorrowedFd<'_>, name: &[u8]) -> io::Result<OwnedFd> {
    let folder = match open_inside(above, name) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            // By a handle: the name may have become a link.
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let handle = openat2(above, name, flags, Mode::empty(), WITHIN)?;
            chmod(format!("/proc/self/fd/{}", handle.as_raw_fd()), Mode::RWXU)?;
            open_inside(above, name)?
        }
        Err(error) if error.raw_os_error() == Some(libc::EXDEV) => {
            let name = loop_core::text::escape_path(name);
            return Err(io::Error::other(format!("{name}: something is mounted there")));
        }
        opened => opened?,
    };
    if rustix::fs::fstat(&folder)?.st_mode & 0o700 != 0o700 {
        rustix::fs::fchmod(&folder, Mode::RWXU).ok();
    }
    if btrfs::is_subvolume(&folder)? {
        btrfs::make_writable(folder.as_fd())?;
    }
    Ok(folder)
}

/// Removes an empty folder, which may be a subvolume.
fn remove_empty(above: BorrowedFd<'_>, name: &[u8]) -> io::Result<()> {
    let folder = open_inside(above, name);
    let removed = match folder {
        Ok(folder) if btrfs::is_subvolume(&folder)? => {
            let number = btrfs::info(folder.as_fd())?.number;
            btrfs::destroy(above, name, number)
        }
        Ok(_) | Err(_) => Err(io::ErrorKind::Unsupported.into()),
    };
    match removed {
        Ok(()) => Ok(()),
        // A plain folder, or one that an ordinary user may only remove like one.
        Err(_) => unlocked(above, name, || unlinkat(above, name, AtFlags::REMOVEDIR)),
    }
}

/// Does something to a name; where it is locked by a flag, or its folder is, the flags are taken off first.
pub(crate) fn unlocked(folder: impl AsFd, name: &[u8], action: impl Fn() -> rustix::io::Result<()>) -> io::Result<()> {
    match action() {
        Err(Errno::PERM | Errno::ACCESS) => {}
        Err(Errno::NOENT) => return Ok(()),
        done => return done.map_err(Into::into),
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let itself = openat2(&folder, name, flags, Mode::empty(), WITHIN);
    let above = openat(&folder, ".", flags, Mode::empty());
    for locked in itself.into_iter().chain(above) {
        if let Ok(flags) = ioctl_getflags(&locked) {
            ioctl_setflags(&locked, flags - (IFlags::IMMUTABLE | IFlags::APPEND)).ok();
        }
    }
    action().map_err(Into::into)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;

    #[test]
    fn a_mount_is_not_entered_even_if_it_is_of_the_same_file_system() {
        let scratch = loop_testkit::MountScratch::new();
        let [outside, copy] = ["outside", "copy"].map(|name| scratch.path().join(name));
        fs::create_dir(&outside).unwrap();
        fs::create_dir_all(copy.join("bound")).unwrap();
        fs::write(outside.join("precious"), "text").unwrap();
        fs::write(copy.join("file"), "text").unwrap();
        let bound = Command::new("mount").arg("--bind").args([&outside, &copy.join("bound")]).status().unwrap();
        assert!(bound.success());
        let folder = crate::fs::open_folder(&copy).unwrap();
        assert_eq!(clear(&folder).unwrap_err().to_string(), "bound: something is mounted there");
        assert!(outside.join("precious").exists() && !copy.join("file").exists());
        assert!(remove_folder(open_inside(folder.as_fd(), b".").unwrap().as_fd(), b"bound").is_err());
        assert!(outside.join("precious").exists());
    }
    #[test]
    fn somebody_who_swaps_folders_for_links_does_not_lead_us_out() {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use std::sync::atomic::{AtomicBool, Ordering};

        let scratch = tempfile::tempdir().unwrap();
        let [outside, copy] = ["outside", "copy"].map(|name| scratch.path().join(name));
        fs::create_dir_all(outside.join("inner")).unwrap();
        fs::write(outside.join("inner/precious"), "text").unwrap();
        fs::create_dir(&copy).unwrap();
        let folder = crate::fs::open_folder(&copy).unwrap();
        let over = AtomicBool::new(false);
        let (one, other) = (copy.join("one"), copy.join("other"));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).ok();
                }
            });
            for _ in 0..300 {
                std::os::unix::fs::symlink(&outside, &other).ok();
                fs::create_dir_all(one.join("inner")).ok();
                fs::write(one.join("inner/precious.new"), "text").ok();
                // It may find that a name is something else by now; what counts is what it leaves alone.
                clear(&folder).ok();
                fs::remove_file(outside.join("inner/precious.new")).ok();
            }
            over.store(true, Ordering::Relaxed);
        });
        clear(&folder).unwrap();
        assert_eq!(fs::read_dir(&copy).unwrap().count(), 0);
        assert_eq!(fs::read_to_string(outside.join("inner/precious")).unwrap(), "text");
    }
}
