//! A saved repository on disk: a pack with its index, and one file with the rest: a line that names the format, a
//! line of JSON, the bytes of the files, and a checksum over all of it.
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::location::{GitLocation, Shape};
use super::refs::{RefValue, Refs, is_name, of_log};
use super::state::SavedFile;
use crate::checkpoint::git::object::Id;

const FIRST_LINE: &[u8] = b"loop user-git 1\n";
const SUM_BYTES: usize = 32;
/// The names of what is saved.
const REST: &str = "kept";
pub(super) const PACK: &str = "objects.pack";

/// What is saved of a repository.
#[derive(Debug)]
pub(super) struct SavedState {
    pub(super) shape: Shape,
    pub(super) git_path: PathBuf,
    pub(super) common_path: PathBuf,
    /// Device and number of what all working trees share.
    pub(super) identity: (u64, u64),
    /// The text of the `.git` file, where it is one.
    pub(super) pointer: Vec<u8>,
    pub(super) refs: Refs,
    pub(super) files: Vec<SavedFile>,
    pub(super) leans_on: BTreeSet<Id>,
    /// Whether objects were saved.
    pub(super) has_objects: bool,
    pub(super) remarks: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct Lines {
    shape: Shape,
    git_path: String,
    common_path: String,
    identity: (u64, u64),
    pointer: String,
    refs: Vec<(String, String)>,
    files: Vec<FileLine>,
    leans_on: Vec<String>,
    has_objects: bool,
    /// The name on disk is older than the field's.
    #[serde(rename = "said")]
    remarks: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct FileLine {
    shared: bool,
    path: String,
    length: usize,
}

/// Any bytes as a text that can be turned back.
fn escaped(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::new();
    for byte in bytes {
        if (0x20..0x7f).contains(byte) && *byte != b'%' {
            text.push(char::from(*byte));
        } else {
            write!(text, "%{byte:02x}").ok();
        }
    }
    text
}

fn unescaped(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes().iter();
    while let Some(byte) = rest.next() {
        if *byte == b'%' {
            let digits = [*rest.next()?, *rest.next()?];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
        } else {
            bytes.push(*byte);
        }
    }
    Some(bytes)
}

fn path_of(text: &str) -> Option<PathBuf> {
    Some(PathBuf::from(std::ffi::OsString::from_vec(unescaped(text)?)))
}

impl SavedState {
    pub(super) fn of(location: &GitLocation, pointer: Vec<u8>) -> io::Result<Self> {
        Ok(Self {
            shape: location.shape,
            git_path: location.git_path.clone(),
            common_path: location.common_path.clone(),
            identity: location.common.identity()?,
            pointer,
            refs: Refs::new(),
            files: Vec::new(),
            leans_on: BTreeSet::new(),
            has_objects: false,
            remarks: Vec::new(),
        })
    }

    /// A saved file of the working tree's own.
    pub(super) fn own(&self, path: &[u8]) -> Option<&[u8]> {
        self.files.iter().find(|file| !file.shared && file.path == path).map(|file| file.bytes.as_slice())
    }

    /// The value of HEAD.
    pub(super) fn head(&self) -> Option<RefValue> {
        self.own(b"HEAD").and_then(RefValue::parse)
    }

    /// Commits whose parents were never fetched.
    pub(super) fn shallow(&self) -> BTreeSet<Id> {
        let mut ids = BTreeSet::new();
        let file = self.files.iter().find(|file| file.shared && file.path == b"shallow");
        of_log(file.map_or(&[], |file| file.bytes.as_slice()), &mut ids);
        ids
    }

    /// Writes it into a folder, safely on disk.
    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        let files = self.files.iter().map(|file| FileLine {
            shared: file.shared,
            path: escaped(&file.path),
            length: file.bytes.len(),
        });
        let lines = Lines {
            shape: self.shape,
            git_path: escaped(self.git_path.as_os_str().as_bytes()),
            common_path: escaped(self.common_path.as_os_str().as_bytes()),
            identity: self.identity,
            pointer: escaped(&self.pointer),
            refs: self.refs.iter().map(|(name, value)| (escaped(name), escaped(&value.text()))).collect(),
            files: files.collect(),
            leans_on: self.leans_on.iter().map(Id::to_string).collect(),
            has_objects: self.has_objects,
            remarks: self.remarks.clone(),
        };
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(folder.join(REST))?;
        let mut to = Summed { file, sum: Sha256::new() };
        to.put(FIRST_LINE)?;
        to.put(&serde_json::to_vec(&lines).map_err(io::Error::other)?)?;
        to.put(b"\n")?;
        for file in &self.files {
            to.put(&file.bytes)?;
        }
        let sum = to.sum.finalize();
        to.file.write_all(&sum)?;
        to.file.sync_data()
    }

    /// Reads it back, whole or not at all.
    pub(super) fn read(folder: &Path) -> io::Result<Self> {
        let bytes = fs::read(folder.join(REST))?;
        Self::parse(&bytes).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the saved state is damaged"))
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (body, sum) = bytes.split_at_checked(bytes.len().checked_sub(SUM_BYTES)?)?;
        if Sha256::digest(body)[..] != *sum {
            return None;
        }
        let body = body.strip_prefix(FIRST_LINE)?;
        let end = body.iter().position(|byte| *byte == b'\n')?;
        let lines: Lines = serde_json::from_slice(body.get(..end)?).ok()?;
        let mut rest = body.get(end + 1..)?;
        let mut files = Vec::new();
        for line in &lines.files {
            let (bytes, behind) = rest.split_at_checked(line.length)?;
            rest = behind;
            files.push(SavedFile { shared: line.shared, path: unescaped(&line.path)?, bytes: bytes.to_vec() });
        }
        let mut refs = Refs::new();
        for (name, value) in &lines.refs {
            let name = unescaped(name).filter(|name| is_name(name))?;
            refs.insert(name, RefValue::parse(&unescaped(value)?)?);
        }
        Some(Self {
            shape: lines.shape,
            git_path: path_of(&lines.git_path)?,
            common_path: path_of(&lines.common_path)?,
            identity: lines.identity,
            pointer: unescaped(&lines.pointer)?,
            refs,
            files,
            leans_on: lines.leans_on.iter().map(|id| Id::parse(id)).collect::<Option<_>>()?,
            has_objects: lines.has_objects,
            remarks: lines.remarks,
        })
    }
}

struct Summed {
    file: File,
    sum: Sha256,
}

impl Summed {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sum.update(bytes);
        self.file.write_all(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_come_back_out_of_their_text() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(unescaped(&escaped(&bytes)), Some(bytes));
        assert_eq!(unescaped("%"), None);
        assert!(SavedState::parse(b"loop user-git 1\n{}\n").is_none());
    }
}
