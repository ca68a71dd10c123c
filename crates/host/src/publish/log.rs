//! A log that a publisher adds lines to: in a folder of ours in the workspace, or at a path of the user's elsewhere. No
//! link of the workspace is followed. Lines that a killed driver could not write are written by the next one.
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};

use super::output_folder::{self, OutputFolder};
pub(super) use crate::fs::handle::HARNESS;
use crate::paths::text_of;
use crate::workspace::{FilePlace, place_of};

/// Where a log lies.
#[derive(Debug)]
enum LogTarget {
    /// In our folder of the workspace, under this name.
    Ours(OutputFolder, String),
    /// In this folder, which is not in the workspace.
    Elsewhere(PathBuf, String),
}

/// A log file.
#[derive(Debug)]
pub(super) struct Log {
    target: LogTarget,
    /// The lines of the newest entry with some that an earlier driver wrote, or was killed before it could.
    owed: Vec<String>,
}

impl Log {
    /// The log of this name in our folder.
    pub(super) fn ours(workspace: &Path, name: &str) -> Self {
        Self { target: LogTarget::Ours(OutputFolder::new(workspace, HARNESS), name.to_owned()), owed: Vec::new() }
    }

    /// The log at a path, which [`check_path`] let pass.
    pub(super) fn at(workspace: &Path, path: &str) -> io::Result<Self> {
        match path_place(workspace, path)? {
            PathPlace::Ours(name) => Ok(Self::ours(workspace, &name)),
            PathPlace::Elsewhere(folder, name) => {
                Ok(Self { target: LogTarget::Elsewhere(folder, name), owed: Vec::new() })
            }
        }
    }

    /// Takes in lines that an earlier driver should have written.
    pub(super) fn replay(&mut self, lines: Vec<String>) {
        if !lines.is_empty() {
            self.owed = lines;
        }
    }

    /// Adds lines, after those that are owed.
    pub(super) fn add(&mut self, lines: &[String]) -> io::Result<()> {
        if lines.is_empty() && self.owed.is_empty() {
            return Ok(());
        }
        let (folder, name) = self.open()?;
        for owed in std::mem::take(&mut self.owed) {
            if !output_folder::holds(&folder, &name, &owed)? {
                output_folder::append(&folder, &name, &owed)?;
            }
        }
        lines.iter().try_for_each(|line| output_folder::append(&folder, &name, line))
    }

    fn open(&self) -> io::Result<(OwnedFd, String)> {
        match &self.target {
            LogTarget::Ours(folder, name) => Ok((folder.open()?, name.clone())),
            LogTarget::Elsewhere(folder, name) => {
                let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
                Ok((openat(CWD, folder, flags, Mode::empty())?, name.clone()))
            }
        }
    }
}

enum PathPlace {
    Ours(String),
    Elsewhere(PathBuf, String),
}

/// Where a path leads: into our folder, or out of the workspace. Elsewhere in the workspace a log would be a change of
/// the loop.
fn path_place(workspace: &Path, path: &str) -> io::Result<PathPlace> {
    let plain = Path::new(path);
    let mut parts = plain.components();
    let ours = |name: &Path| match name.components().collect::<Vec<_>>()[..] {
        [Component::Normal(name)] => name.to_str().map(|name| PathPlace::Ours(name.to_owned())),
        _ => None,
    };
    if plain.is_relative() && parts.next() == Some(Component::Normal(HARNESS.as_ref())) {
        // The folder itself may not be there yet.
        return ours(parts.as_path()).ok_or_else(|| io::Error::other(format!("it is not a plain name in {HARNESS}")));
    }
    match place_of(workspace, &workspace.join(plain))? {
        FilePlace::Outside(real) => match (real.parent(), real.file_name().and_then(|name| name.to_str())) {
            (Some(folder), Some(name)) => Ok(PathPlace::Elsewhere(folder.to_owned(), name.to_owned())),
            _ => Err(io::Error::other("it has no name")),
        },
        FilePlace::Inside(inside) => match inside.strip_prefix(HARNESS).ok().and_then(ours) {
            Some(place) => Ok(place),
            None => Err(io::Error::other(format!(
                "{} is in the workspace and not in {HARNESS}: what is written there counts as a change",
                text_of(&inside)
            ))),
        },
        FilePlace::Output(_) => Err(io::Error::other("it is an output of this process, and no file")),
    }
}

/// Whether a log can lie at this path; creates nothing.
///
/// # Errors
/// Why not.
pub(crate) fn check_path(workspace: &Path, path: &str) -> io::Result<()> {
    match path_place(workspace, path)? {
        PathPlace::Ours(_) => Ok(()),
        PathPlace::Elsewhere(folder, name) => crate::paths::can_write(&folder.join(name)),
    }
}
