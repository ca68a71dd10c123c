//! What is recorded when a loop of an item begins, and the edits of the agent that are undone: the list, the log, the
//! progress and the scripts that check are the harness's.
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use loop_core::list::Item;
use serde::{Deserialize, Serialize};

use super::artifacts::hash_of;
use crate::fs::handle::{folder_beneath, make_folder, open_file, open_folder, path_of_handle, split};
use crate::fs::write_beside;

/// A longer file of the harness is not recorded, and the loop does not begin.
const OWN_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The file of a start that is stored: what was recorded, without the bytes of the files.
const STORED: &str = "start.json";

/// A start as it is stored. The bytes of each file of the harness are in a file of their own.
#[derive(Debug, Serialize, Deserialize)]
struct StoredStart {
    began_ms: u64,
    artifacts: BTreeMap<String, Option<String>>,
    /// By path: the name of the file with the bytes, and the mode; none where there was no file.
    own: BTreeMap<String, Option<(String, u32)>>,
}

/// A file as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
struct OwnFile {
    bytes: Vec<u8>,
    mode: u32,
}

/// The start of one loop of an item.
#[derive(Debug, Clone)]
pub struct LoopStart {
    /// When it began, by the wall clock.
    pub began_ms: u64,
    /// The hash of each artifact that a criterion names.
    pub(super) artifacts: BTreeMap<String, Option<String>>,
    /// The files that the agent must leave alone.
    own: BTreeMap<String, Option<OwnFile>>,
}

/// Edits of the agent to files of the harness.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UndoneEdits {
    /// Those that are as they were again.
    pub undone: Vec<String>,
    /// Those that could not be restored: what they say is not believed.
    pub not_undone: Vec<String>,
}

impl LoopStart {
    /// Records what the loop begins with. `own` are paths in the workspace: the list, `loop/log.txt`, `progress.txt`,
    /// the scripts that check.
    ///
    /// # Errors
    /// When a file cannot be read, or is not a plain file.
    pub fn take(workspace: &Path, item: &Item, own: &[String], began_ms: u64) -> io::Result<Self> {
        let folder = open_folder(workspace)?;
        let named = item.criteria.iter().flat_map(|criterion| &criterion.artifacts);
        let artifacts = named.map(|path| (path.clone(), hash_of(&folder, path))).collect();
        let own = own.iter().map(|path| Ok((path.clone(), read_own(&folder, path)?))).collect::<io::Result<_>>()?;
        Ok(Self { began_ms, artifacts, own })
    }

    /// Writes it into a folder that no agent reaches, so that it holds after a crash.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn store(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        let mut own = BTreeMap::new();
        for (number, (path, file)) in self.own.iter().enumerate() {
            let Some(file) = file else {
                own.insert(path.clone(), None);
                continue;
            };
            let name = format!("own-{number}");
            write_beside(&folder.join(&name), &file.bytes)?;
            own.insert(path.clone(), Some((name, file.mode)));
        }
        let stored = StoredStart { began_ms: self.began_ms, artifacts: self.artifacts.clone(), own };
        write_beside(&folder.join(STORED), &serde_json::to_vec(&stored)?)
    }

    /// Reads what [`LoopStart::store`] wrote; none where nothing was written.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn load(folder: &Path) -> io::Result<Option<Self>> {
        let text = match fs::read(folder.join(STORED)) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let stored: StoredStart = serde_json::from_slice(&text)?;
        let mut own = BTreeMap::new();
        for (path, file) in stored.own {
            let file = match file {
                None => None,
                Some((name, mode)) => Some(OwnFile { bytes: fs::read(folder.join(name))?, mode }),
            };
            own.insert(path, file);
        }
        Ok(Some(Self { began_ms: stored.began_ms, artifacts: stored.artifacts, own }))
    }

    /// Restores each file of the harness that is not as it was. No link is followed.
    #[must_use]
    pub fn undo_edits(&self, workspace: &Path) -> UndoneEdits {
        let mut edits = UndoneEdits::default();
        let Ok(folder) = open_folder(workspace) else {
            edits.not_undone = self.own.keys().cloned().collect();
            return edits;
        };
        for (path, before) in &self.own {
            if read_own(&folder, path).is_ok_and(|now| now == *before) {
                continue;
            }
            match restore(&folder, path, before.as_ref()) {
                Ok(()) => edits.undone.push(path.clone()),
                Err(_) => edits.not_undone.push(path.clone()),
            }
        }
        edits
    }
}

fn read_own(folder: &OwnedFd, path: &str) -> io::Result<Option<OwnFile>> {
    let file = match open_file(folder, path.as_bytes()) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let found = file.metadata()?;
    if found.len() > OWN_BYTES_MAX {
        return Err(io::Error::other(format!("{path} is longer than {OWN_BYTES_MAX} bytes")));
    }
    let mut bytes = Vec::new();
    file.take(OWN_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(Some(OwnFile { bytes, mode: found.permissions().mode() & 0o7777 }))
}

fn restore(folder: &OwnedFd, path: &str, before: Option<&OwnFile>) -> io::Result<()> {
    let (parent, name) = split(path.as_bytes());
    let parent = match (folder_beneath(folder, parent), before) {
        (Ok(parent), _) => parent,
        // There was nothing, and there is nothing.
        (Err(error), None) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        (Err(_), _) => remake_folders(folder, parent)?,
    };
    let place = path_of_handle(&parent)?.join(PathBuf::from(String::from_utf8_lossy(name).into_owned()));
    let is_folder = place.symlink_metadata().is_ok_and(|found| found.is_dir());
    let is_file = place.symlink_metadata().is_ok_and(|found| found.is_file());
    match () {
        () if is_folder => fs::remove_dir_all(&place)?,
        () if before.is_none() || !is_file => match fs::remove_file(&place) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        },
        () => {}
    }
    let Some(before) = before else { return Ok(()) };
    write_beside(&place, &before.bytes)?;
    fs::set_permissions(&place, Permissions::from_mode(before.mode))
}

/// The folders above a file, where the agent removed them or put something else there.
fn remake_folders(folder: &OwnedFd, path: &[u8]) -> io::Result<OwnedFd> {
    let mut above = folder_beneath(folder, b"")?;
    for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
        above = match folder_beneath(&above, name) {
            Ok(next) => next,
            Err(_) => {
                let place = path_of_handle(&above)?.join(PathBuf::from(String::from_utf8_lossy(name).into_owned()));
                if place.symlink_metadata().is_ok_and(|found| !found.is_dir()) {
                    fs::remove_file(&place)?;
                }
                make_folder(&above, name)?;
                folder_beneath(&above, name)?
            }
        };
    }
    Ok(above)
}
