//! A file of ours that the user wants at a path: it is written through no link of the workspace, where the repository or
//! the agent could have put one. Links outside of the workspace are the user's own and are followed.
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use loop_core::text;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, fsync, openat, renameat, statat, unlinkat};
use rustix::io::Errno;

use super::identity::WorkspaceIdentity;
use crate::fs::handle::{folder_beneath, split};
use crate::paths::{can_write, write_whole};

/// So long an output of this process is waited for.
const OUTPUT_SECONDS_MAX: i64 = 5;
/// What the system writes to a pipe in one piece.
const PIPE_BUF: usize = 4096;
/// So many links are followed, as the system does.
const LINKS_MAX: u32 = 40;

/// Where a file lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FilePlace {
    /// In the workspace, by its path from there.
    Inside(PathBuf),
    /// Elsewhere, by its real path.
    Outside(PathBuf),
    /// It is an output of this process, whatever that leads to.
    Output(ProcessOutput),
}

/// The outputs that a process has from the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessOutput {
    /// The first.
    Stdout,
    /// The second.
    Stderr,
}

impl ProcessOutput {
    /// The output that this path is a name of.
    fn of(path: &Path) -> Option<Self> {
        match path.to_str()? {
            "/dev/stdout" | "/dev/fd/1" | "/proc/self/fd/1" => Some(Self::Stdout),
            "/dev/stderr" | "/dev/fd/2" | "/proc/self/fd/2" => Some(Self::Stderr),
            _ => None,
        }
    }

    /// The name that every process knows it by.
    #[must_use]
    pub fn path(self) -> &'static str {
        match self {
            Self::Stdout => "/dev/stdout",
            Self::Stderr => "/dev/stderr",
        }
    }

    /// Writes to it as to any stream: a file that it was redirected to keeps what is in it.
    fn write(self, text: &str) -> io::Result<()> {
        let handle = match self {
            Self::Stdout => rustix::stdio::stdout(),
            Self::Stderr => rustix::stdio::stderr(),
        };
        let limit = Timespec { tv_sec: OUTPUT_SECONDS_MAX, tv_nsec: 0 };
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            if poll(&mut [PollFd::from_borrowed_fd(handle, PollFlags::OUT)], Some(&limit))? == 0 {
                return Err(io::Error::other("its reader does not read"));
            }
            // So much fits into a pipe that can be written to: nobody is waited for.
            let written = rustix::io::write(handle, &rest[..rest.len().min(PIPE_BUF)])?;
            rest = &rest[written..];
        }
        Ok(())
    }
}

/// Where a path leads. The workspace is given by its real path.
///
/// # Errors
/// When it goes through a link of the workspace, or a folder of it is missing.
pub fn place_of(workspace: &Path, path: &Path) -> io::Result<FilePlace> {
    let absolute = std::env::current_dir()
        .map(|here| here.join(path))
        .or_else(|error| if path.is_absolute() { Ok(path.to_owned()) } else { Err(error) })?;
    if let Some(output) = ProcessOutput::of(&absolute) {
        return Ok(FilePlace::Output(output));
    }
    let mut at = PathBuf::from("/");
    let mut rest = parts_of(&absolute);
    let mut links = 0;
    while let Some(part) = rest.pop_front() {
        let Some(name) = part else {
            at.pop();
            continue;
        };
        let next = at.join(name);
        let found = match next.symlink_metadata() {
            Ok(found) => Some(found),
            Err(error) if error.kind() == io::ErrorKind::NotFound && rest.is_empty() => None,
            Err(error) => return Err(error),
        };
        if !found.is_some_and(|found| found.is_symlink()) {
            at = next;
            continue;
        }
        if at.starts_with(workspace) {
            return Err(is_a_link(&next));
        }
        links += 1;
        if links > LINKS_MAX {
            return Err(Errno::LOOP.into());
        }
        let leads = fs::read_link(&next)?;
        if leads.is_absolute() {
            at = PathBuf::from("/");
        }
        let mut parts = parts_of(&leads);
        parts.append(&mut rest);
        rest = parts;
    }
    Ok(match at.strip_prefix(workspace) {
        Ok(inside) => FilePlace::Inside(inside.to_owned()),
        Err(_) => FilePlace::Outside(at),
    })
}

/// The names of a path; none stands for `..`.
fn parts_of(path: &Path) -> VecDeque<Option<OsString>> {
    let part = |component: Component<'_>| match component {
        Component::Normal(name) => Some(Some(name.to_owned())),
        Component::ParentDir => Some(None),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    };
    path.components().filter_map(part).collect()
}

fn is_a_link(path: &Path) -> io::Error {
    let shown = text::escape_path(path.as_os_str().as_bytes());
    io::Error::other(format!("{shown} is a link in the workspace, and loop writes through none"))
}

/// Whether [`write_own_file`] could write there; creates nothing.
///
/// # Errors
/// Why not.
pub fn can_write_own_file(workspace: &Path, path: &Path) -> io::Result<()> {
    match place_of(workspace, path)? {
        FilePlace::Inside(inside) => can_write(&workspace.join(inside)),
        FilePlace::Outside(real) => can_write(&real),
        FilePlace::Output(_) => Ok(()),
    }
}

/// Writes a file completely or not at all; an output of this process is written to as it is. In the workspace no link is followed, also if one is put there at this moment,
/// and nothing is written into another folder that took its place.
///
/// # Errors
/// When it cannot be written, is not a plain file, a link of the workspace leads there, or the workspace was replaced.
pub fn write_own_file(workspace: &WorkspaceIdentity, path: &Path, text: &str) -> io::Result<()> {
    match place_of(workspace.path(), path)? {
        FilePlace::Outside(real) => write_whole(&real, text),
        FilePlace::Output(output) => output.write(text),
        FilePlace::Inside(inside) => {
            workspace.check().map_err(io::Error::other)?;
            let folder = workspace.folder().ok_or(io::ErrorKind::NotFound)?;
            write_beneath(folder, &inside, text)
        }
    }
}

fn write_beneath(workspace: &OwnedFd, inside: &Path, text: &str) -> io::Result<()> {
    let (above, name) = split(inside.as_os_str().as_bytes());
    let folder =
        folder_beneath(workspace, above).map_err(|error| match error.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::LOOP) => is_a_link(inside),
            _ => error,
        })?;
    let before = match statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => Some(found),
        Err(Errno::NOENT) => None,
        Err(error) => return Err(error.into()),
    };
    match before.map(|before| FileType::from_raw_mode(before.st_mode)) {
        None | Some(FileType::RegularFile) => {}
        Some(FileType::Symlink) => return Err(is_a_link(inside)),
        Some(_) => return Err(io::Error::other("it is not a plain file")),
    }
    let beside = [name, format!(".{}.new", crate::fs::fresh_id()?).as_bytes()].concat();
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(openat(&folder, &*beside, flags, Mode::from_raw_mode(0o666))?);
    let written = file.write_all(text.as_bytes()).and_then(|()| {
        if let Some(before) = before {
            file.set_permissions(Permissions::from_mode(before.st_mode & 0o7777))?;
        }
        file.sync_data()?;
        Ok(renameat(&folder, &*beside, &folder, name)?)
    });
    if written.is_err() {
        unlinkat(&folder, &*beside, AtFlags::empty()).ok();
    }
    written?;
    Ok(fsync(&folder)?)
}
