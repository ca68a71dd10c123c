//! Files of the workspace that are written together. What is to be written is stored before the first byte, with how long
//! each file was: after a crash the same call finishes it, and nothing is written twice.
use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::fs::{fresh_id, sync_folder, write_synced};

/// A text that is added to the end of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Appended {
    /// From the workspace on.
    pub(super) path: String,
    pub(super) text: String,
    /// How long the file was before.
    pub(super) from: u64,
}

impl Appended {
    /// For the file as it is now.
    pub(super) fn new(workspace: &Path, path: &str, text: String) -> io::Result<Self> {
        refuse_links(workspace, path)?;
        let from = match workspace.join(path).symlink_metadata() {
            Ok(found) if found.is_file() => found.len(),
            Ok(_) => return Err(io::Error::other(format!("{path} is not a plain file"))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(error),
        };
        Ok(Self { path: path.to_owned(), text, from })
    }

    /// Adds the text, unless it is there. What a crash left of it is completed.
    pub(super) fn write(&self, workspace: &Path) -> io::Result<()> {
        if self.text.is_empty() {
            return Ok(());
        }
        refuse_links(workspace, &self.path)?;
        let path = workspace.join(&self.path);
        if let Some(parent) = path.parent() {
            fs::DirBuilder::new().recursive(true).mode(0o755).create(parent)?;
        }
        let flags = OFlags::NOFOLLOW.bits().cast_signed();
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o644)
            .custom_flags(flags)
            .open(&path)?;
        let length = file.metadata()?.len();
        let mut tail = Vec::new();
        if length > self.from {
            file.seek(SeekFrom::Start(self.from))?;
            (&mut file).take(MOST_BYTES).read_to_end(&mut tail)?;
        }
        let text = self.text.as_bytes();
        let is_there = tail.windows(text.len()).any(|window| window == text);
        if !is_there {
            // The beginning of it, from a write that was cut off.
            let is_torn = !tail.is_empty() && text.starts_with(&tail);
            if is_torn {
                file.set_len(self.from)?;
            }
            file.seek(SeekFrom::End(0))?;
            file.write_all(text)?;
        }
        file.sync_data()?;
        path.parent().map_or(Ok(()), sync_folder)
    }
}

/// Refuses to write where a link of the workspace would lead somewhere else.
pub(super) fn refuse_links(workspace: &Path, path: &str) -> io::Result<()> {
    let mut place = workspace.to_owned();
    for part in Path::new(path).components() {
        place.push(part);
        if place.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
            let shown = place.strip_prefix(workspace).unwrap_or(&place).display();
            return Err(io::Error::other(format!("{shown} is a link, and nothing is written through links")));
        }
    }
    Ok(())
}

/// So much behind the place of an addition is looked at.
const MOST_BYTES: u64 = 8 * 1024 * 1024;

/// Replaces a file of the user; its permissions stay.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mode = real.metadata().map_or(0o644, |found| found.permissions().mode() & 0o7777);
    if let Some(parent) = real.parent() {
        fs::create_dir_all(parent)?;
    }
    let beside = real.with_file_name(format!("tmp_{}.lock", fresh_id()?));
    let written = write_synced(&beside, bytes)
        .and_then(|()| fs::set_permissions(&beside, Permissions::from_mode(mode)))
        .and_then(|()| fs::rename(&beside, &real));
    if written.is_err() {
        fs::remove_file(&beside).ok();
    }
    written?;
    real.parent().map_or(Ok(()), sync_folder)
}

/// What is to be written, stored before the first byte of it is.
#[derive(Debug)]
pub(super) struct Intent {
    folder: PathBuf,
    name: String,
}

impl Intent {
    pub(super) fn new(plan: &Path, name: &str) -> Self {
        Self { folder: plan.join("records"), name: name.to_owned() }
    }

    /// What was stored before, or what is stored now.
    pub(super) fn keep<T: Serialize + DeserializeOwned>(
        &self,
        make: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<(T, bool)> {
        let path = self.folder.join(format!("{}.json", self.name));
        match fs::read(&path) {
            Ok(text) => return Ok((serde_json::from_slice(&text)?, true)),
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Err(_) => {}
        }
        let made = make()?;
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let beside = self.folder.join(format!("{}.new", self.name));
        match fs::remove_file(&beside) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        write_synced(&beside, &serde_json::to_vec(&made)?)?;
        fs::rename(&beside, &path)?;
        sync_folder(&self.folder)?;
        Ok((made, false))
    }

    /// Nothing was written, and nothing will be.
    pub(super) fn forget(&self) {
        fs::remove_file(self.folder.join(format!("{}.json", self.name))).ok();
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    // req: RT-R10 partly: the files of a list
    #[test]
    fn nothing_is_added_through_a_link_of_the_workspace() {
        let folder = tempfile::tempdir().unwrap();
        let (work, other) = (folder.path().join("work"), folder.path().join("other"));
        fs::create_dir_all(&work).unwrap();
        fs::create_dir_all(&other).unwrap();
        symlink(&other, work.join("loop")).unwrap();
        let refused = Appended::new(&work, "loop/log.txt", "line\n".to_owned()).unwrap_err();
        assert!(refused.to_string().contains("loop is a link"), "{refused}");
        let before = Appended { path: "loop/log.txt".to_owned(), text: "line\n".to_owned(), from: 0 };
        assert!(before.write(&work).is_err() && fs::read_dir(&other).unwrap().next().is_none());
        fs::remove_file(work.join("loop")).unwrap();
        Appended::new(&work, "loop/log.txt", "line\n".to_owned()).unwrap().write(&work).unwrap();
        assert_eq!(fs::read_to_string(work.join("loop/log.txt")).unwrap(), "line\n");
    }
}
