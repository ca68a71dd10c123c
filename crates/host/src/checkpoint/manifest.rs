//! What git cannot hold: full permissions, empty folders, which names are one file, and what was left out. A
//! blob of lines beside the files' tree, so that it travels with them.
use loop_core::text;
use serde::{Deserialize, Serialize};

/// The number of this form.
const FORM: u32 = 1;
/// What a file, and a folder, has unless something else is said.
pub(super) const PLAIN_FILE: u32 = 0o644;
pub(super) const PROGRAM: u32 = 0o755;
pub(super) const PLAIN_FOLDER: u32 = 0o755;

/// One line. Paths are written as [`text::escape_path`] does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Form(u32),
    /// A file with other permissions than git's two.
    File {
        path: String,
        mode: u32,
    },
    /// A folder that is empty, or has permissions of its own.
    Folder {
        path: String,
        mode: u32,
    },
    /// These names are one file.
    Same(Vec<String>),
    /// Not kept, and why.
    LeftOut {
        path: String,
        why: String,
    },
}

/// All of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Manifest {
    /// Files with permissions that git does not know.
    pub files: Vec<(Vec<u8>, u32)>,
    /// Folders that are empty or have permissions of their own.
    pub folders: Vec<(Vec<u8>, u32)>,
    /// Names that are one file.
    pub same: Vec<Vec<Vec<u8>>>,
    /// What is not kept, and why.
    pub left_out: Vec<(Vec<u8>, String)>,
}

impl Manifest {
    pub(super) fn encode(&self) -> Vec<u8> {
        let path = |path: &Vec<u8>| text::escape_path(path);
        let files = self.files.iter().map(|(name, mode)| Line::File { path: path(name), mode: *mode });
        let folders = self.folders.iter().map(|(name, mode)| Line::Folder { path: path(name), mode: *mode });
        let same = self.same.iter().map(|names| Line::Same(names.iter().map(path).collect()));
        let left_out = self.left_out.iter().map(|(name, why)| Line::LeftOut { path: path(name), why: why.clone() });
        let lines = [Line::Form(FORM)].into_iter().chain(files).chain(folders).chain(same).chain(left_out);
        lines
            .flat_map(|line| serde_json::to_string(&line).unwrap_or_default().into_bytes().into_iter().chain([b'\n']))
            .collect()
    }

    /// Read back; none if it is of a form that we do not know.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let mut manifest = Self::default();
        let path = |path: &String| text::unescape_path(path);
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            match serde_json::from_slice(line).ok()? {
                Line::Form(FORM) => {}
                Line::Form(_) => return None,
                Line::File { path: name, mode } => manifest.files.push((path(&name), mode)),
                Line::Folder { path: name, mode } => manifest.folders.push((path(&name), mode)),
                Line::Same(names) => manifest.same.push(names.iter().map(path).collect()),
                Line::LeftOut { path: name, why } => manifest.left_out.push((path(&name), why)),
            }
        }
        Some(manifest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_is_read_back_whatever_bytes_its_names_hold() {
        let odd = b"a\xff\n\"\\ b".to_vec();
        let manifest = Manifest {
            files: vec![(odd.clone(), 0o4755)],
            folders: vec![(b"empty".to_vec(), 0o700)],
            same: vec![vec![odd.clone(), b"b".to_vec()]],
            left_out: vec![(odd, "a socket".to_owned())],
        };
        assert_eq!(Manifest::read(&manifest.encode()), Some(manifest));
        assert_eq!(Manifest::read(b"{\"form\":99}\n"), None);
    }
}
