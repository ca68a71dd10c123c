//! Which folder the workspace of a run is. The folder is opened once, when it is claimed; before every look at it, every
//! gate and every agent its path is compared with that handle. Another folder, a link or a mount in its place would be
//! judged in its stead, so nothing is judged then. This is the one place that compares.
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use loop_core::agent::shell_words::quoted;
use loop_core::text;
use rustix::fs::{AtFlags, CWD, FileType, Mode, fstat, openat, statat};
use thiserror::Error;

use crate::fs::handle::{FOLDER_FLAGS, FolderId, open_folder, path_of_handle};

/// The workspace of a run: its path, and the folder that was there when it was claimed.
#[derive(Debug, Clone)]
pub struct WorkspaceIdentity {
    path: PathBuf,
    /// None where there was no folder to open.
    folder: Option<Arc<OwnedFd>>,
}

/// The path of a workspace does not lead to the workspace any more.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum WorkspaceReplaced {
    /// Nothing is there, and the folder is nowhere else.
    #[error(
        "the workspace {path} was deleted while the loop ran, so nothing can be judged; what its checkpoints hold is not \
         lost, but a loop cannot go on in another folder"
    )]
    Deleted {
        /// Its path.
        path: String,
    },
    /// Nothing is there; the folder has another path.
    #[error(
        "the workspace {path} was moved to {to} while the loop ran; move it back: mv {} {}",
        quoted(to),
        quoted(path)
    )]
    Moved {
        /// Its path.
        path: String,
        /// Where it is.
        to: String,
    },
    /// Something else is there.
    #[error("the workspace was replaced while the loop ran: {path} is another folder now{as_what}; {}", way_back(path, lies.as_deref()))]
    Another {
        /// Its path.
        path: String,
        /// What is there, where it is no plain folder.
        as_what: &'static str,
        /// Where the workspace itself is now; none where it was deleted.
        lies: Option<String>,
    },
    /// It cannot be compared.
    #[error("the workspace {path} cannot be compared with the folder that the loop began in: {why}")]
    Unknown {
        /// Its path.
        path: String,
        /// Why.
        why: String,
    },
}

/// Where the workspace is, and how it is brought back.
fn way_back(path: &str, lies: Option<&str>) -> String {
    match lies {
        None => "the one that the loop works in was deleted".to_owned(),
        Some(lies) if lies == path => {
            format!("something is mounted over the one that the loop works in: umount {}", quoted(path))
        }
        Some(lies) => format!(
            "the one that the loop works in is {lies}; put it back: mv {0} {0}.replaced && mv {1} {0}",
            quoted(path),
            quoted(lies)
        ),
    }
}

impl WorkspaceIdentity {
    /// The folder that was claimed, under its path; without a claim, the one that is there now. Where there is none, every
    /// comparison fails. The handle is a new one: it does not carry the claim's lock.
    #[must_use]
    pub fn of(path: &Path, claimed: Option<&OwnedFd>) -> Self {
        let folder = match claimed {
            Some(claimed) => openat(claimed, ".", FOLDER_FLAGS, Mode::empty()).ok(),
            None => open_folder(path).ok(),
        };
        Self { path: path.to_owned(), folder: folder.map(Arc::new) }
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder itself, whatever its path.
    #[must_use]
    pub fn folder(&self) -> Option<&OwnedFd> {
        self.folder.as_deref()
    }

    /// Which folder it is.
    #[must_use]
    pub fn id(&self) -> Option<FolderId> {
        FolderId::of(self.folder()?).ok()
    }

    /// Whether the path still leads to the folder.
    ///
    /// # Errors
    /// What is there instead, and how the workspace is brought back.
    pub fn check(&self) -> Result<(), WorkspaceReplaced> {
        let path = shown(&self.path);
        let Some(folder) = self.folder() else { return Err(WorkspaceReplaced::Deleted { path }) };
        let (ours, there) = (fstat(folder), statat(CWD, &self.path, AtFlags::SYMLINK_NOFOLLOW));
        let ours = ours.map_err(|error| WorkspaceReplaced::Unknown { path: path.clone(), why: error.to_string() })?;
        match there {
            Ok(there) if FolderId::of_stat(&there) == FolderId::of_stat(&ours) => Ok(()),
            Ok(there) => {
                let as_what = match FileType::from_raw_mode(there.st_mode) {
                    FileType::Symlink => " (a link)",
                    FileType::Directory => "",
                    FileType::RegularFile
                    | FileType::Fifo
                    | FileType::Socket
                    | FileType::CharacterDevice
                    | FileType::BlockDevice
                    | FileType::Unknown => " (no folder at all)",
                };
                Err(WorkspaceReplaced::Another { path, as_what, lies: self.lies(ours.st_nlink == 0) })
            }
            Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => Err(match self.lies(ours.st_nlink == 0) {
                Some(to) => WorkspaceReplaced::Moved { path, to },
                None => WorkspaceReplaced::Deleted { path },
            }),
            Err(error) => Err(WorkspaceReplaced::Unknown { path, why: error.to_string() }),
        }
    }

    /// Where the folder is now; none where it was deleted.
    fn lies(&self, is_deleted: bool) -> Option<String> {
        let place = path_of_handle(self.folder()?).ok().filter(|_| !is_deleted)?;
        let is_gone = place.as_os_str().as_bytes().ends_with(b" (deleted)");
        (!is_gone).then(|| shown(&place))
    }
}

fn shown(path: &Path) -> String {
    text::escape_path(path.as_os_str().as_bytes())
}
