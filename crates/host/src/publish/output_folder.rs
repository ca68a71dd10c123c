//! A folder of ours in the workspace: files that are complete or absent, and a log. The agent works in the same
//! workspace, so no link is followed, neither for the folder nor for a file.
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, fstat, openat, renameat, unlinkat};
use rustix::io::Errno;

use crate::fs::handle::make_folder;

/// A log longer than this is put away.
pub(super) const LOG_BYTES_MAX: u64 = 1024 * 1024;
/// How many old logs are stored.
const LOGS_MAX: u32 = 3;

/// How much of a log is searched.
const LAST_BYTES: u64 = 64 * 1024;

/// The folder, by its name in the workspace: the agent may remove it at any time, and it is made again. What takes the
/// place of the workspace itself gets nothing.
#[derive(Debug)]
pub(super) struct OutputFolder {
    workspace: Result<OwnedFd, Errno>,
    name: &'static str,
}

impl OutputFolder {
    pub(super) fn new(workspace: &Path, name: &'static str) -> Self {
        let folder = OFlags::DIRECTORY | OFlags::CLOEXEC;
        Self { workspace: openat(CWD, workspace, folder, Mode::empty()), name }
    }

    pub(super) fn open(&self) -> io::Result<OwnedFd> {
        let folder = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let workspace = self.workspace.as_ref().map_err(|error| *error)?;
        make_folder(workspace, self.name.as_bytes())?;
        openat(workspace, self.name, folder | OFlags::NOFOLLOW, Mode::empty()).map_err(|error| match error {
            Errno::LOOP | Errno::NOTDIR => io::Error::other(format!("{} is not a plain folder", self.name)),
            error => error.into(),
        })
    }

    /// Writes a file whole: a reader sees what was there before or what is there now.
    pub(super) fn put(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let folder = self.open()?;
        let beside = format!(".{}.new", name.trim_start_matches('.'));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let make = || openat(&folder, &beside, flags, Mode::from_raw_mode(0o644));
        let file = match make() {
            Err(Errno::EXIST) => {
                // Left by a driver that was killed, or put there by the agent: not ours to write through.
                unlinkat(&folder, &beside, AtFlags::empty())?;
                make()
            }
            made => made,
        };
        let written = File::from(file?).write_all(bytes);
        let written = written.and_then(|()| renameat(&folder, &beside, &folder, name).map_err(io::Error::from));
        if written.is_err() {
            unlinkat(&folder, &beside, AtFlags::empty()).ok();
        }
        written
    }

    /// Adds a line to a log of the folder. One that has grown too long is put away first, whole.
    pub(super) fn add(&self, name: &str, line: &str) -> io::Result<()> {
        append(&self.open()?, name, line)
    }

    /// Whether a line is among the last of a log.
    pub(super) fn holds(&self, name: &str, line: &str) -> io::Result<bool> {
        holds(&self.open()?, name, line)
    }
}

/// Adds a line to a log in a folder. One that has grown too long is put away first, whole.
pub(super) fn append(folder: &OwnedFd, name: &str, line: &str) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let open = || openat(folder, name, flags | OFlags::CLOEXEC, Mode::from_raw_mode(0o644));
    let mut file = open()?;
    let stat = fstat(&file)?;
    // A second name of the same file could lie anywhere.
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile || stat.st_nlink > 1 {
        return Err(io::Error::other(format!("{name} is not a plain file with one name")));
    }
    if u64::try_from(stat.st_size).is_ok_and(|size| size > 0 && size.saturating_add(bytes(line)) > LOG_BYTES_MAX) {
        for number in (1..LOGS_MAX).rev() {
            renameat(folder, format!("{name}.{number}"), folder, format!("{name}.{}", number + 1)).ok();
        }
        renameat(folder, name, folder, format!("{name}.1"))?;
        file = open()?;
    }
    File::from(file).write_all(line.as_bytes())
}

/// Whether a line is among the last of a log in a folder.
pub(super) fn holds(folder: &OwnedFd, name: &str, line: &str) -> io::Result<bool> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut file = match openat(folder, name, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(false),
        opened => File::from(opened?),
    };
    let from = file.metadata()?.len().saturating_sub(LAST_BYTES);
    file.seek(SeekFrom::Start(from))?;
    let mut last = Vec::new();
    file.take(LAST_BYTES).read_to_end(&mut last)?;
    Ok(String::from_utf8_lossy(&last).contains(line))
}

fn bytes(line: &str) -> u64 {
    u64::try_from(line.len()).unwrap_or(u64::MAX)
}
