//! What git cannot store: full permissions, empty folders, which names are hard links of one file; and what a
//! checkpoint left out, with the rules it used. Two blobs of lines beside the tree of files.
use std::collections::HashMap;

use loop_core::text;
use serde::{Deserialize, Serialize};

use super::object::{FOLDER, PROGRAM as PROGRAM_ENTRY};
use crate::checkpoint::scan::rules::RuleTexts;

/// The number of this form.
const FORM: u32 = 2;

/// The permissions that most names of a kind have. Those that differ are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Modes {
    /// Of a file that its owner may not run.
    pub file: u32,
    /// Of a file that its owner may run.
    pub program: u32,
    /// Of a folder.
    pub folder: u32,
}

impl Default for Modes {
    fn default() -> Self {
        Self { file: 0o644, program: 0o755, folder: 0o755 }
    }
}

/// One line. Paths are written as [`text::escape_path`] does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Form(u32),
    /// What most have.
    Modes(Modes),
    /// A file with permissions of its own.
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
    /// Left out, and why.
    LeftOut {
        path: String,
        why: String,
    },
    /// The rules that held everywhere.
    Rules(RuleTexts),
}

/// All of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Manifest {
    /// What most have.
    pub modes: Modes,
    /// Files with permissions of their own, sorted.
    pub files: Vec<(Vec<u8>, u32)>,
    /// Folders that are empty or have permissions of their own, sorted.
    pub folders: Vec<(Vec<u8>, u32)>,
    /// Names that are one file, sorted.
    pub same: Vec<Vec<Vec<u8>>>,
    /// What is left out, and why.
    pub left_out: Vec<(Vec<u8>, String)>,
    /// The rules that held everywhere.
    pub rules: RuleTexts,
}

fn lines(lines: impl Iterator<Item = Line>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for line in std::iter::once(Line::Form(FORM)).chain(lines) {
        bytes.extend_from_slice(serde_json::to_string(&line).unwrap_or_default().as_bytes());
        bytes.push(b'\n');
    }
    bytes
}

impl Manifest {
    /// What belongs to the state of the workspace: where it is the same, nothing has changed but contents.
    pub(in crate::checkpoint) fn encode(&self) -> Vec<u8> {
        let path = |path: &Vec<u8>| text::escape_path(path);
        let files = self.files.iter().map(|(name, mode)| Line::File { path: path(name), mode: *mode });
        let folders = self.folders.iter().map(|(name, mode)| Line::Folder { path: path(name), mode: *mode });
        let same = self.same.iter().map(|names| Line::Same(names.iter().map(path).collect()));
        lines(std::iter::once(Line::Modes(self.modes)).chain(files).chain(folders).chain(same))
    }

    /// What the checkpoint did not take, and by which rules.
    pub(in crate::checkpoint) fn encode_scope(&self) -> Vec<u8> {
        let left_out =
            self.left_out.iter().map(|(name, why)| Line::LeftOut { path: text::escape_path(name), why: why.clone() });
        lines(std::iter::once(Line::Rules(self.rules.clone())).chain(left_out))
    }

    /// Read back from both texts; none if one is of a form that we do not know.
    pub(in crate::checkpoint) fn read(state: &[u8], scope: &[u8]) -> Option<Self> {
        let mut manifest = Self::default();
        let path = |path: &String| text::unescape_path(path);
        let all = state.split(|byte| *byte == b'\n').chain(scope.split(|byte| *byte == b'\n'));
        for line in all.filter(|line| !line.is_empty()) {
            match serde_json::from_slice(line).ok()? {
                Line::Form(FORM) => {}
                Line::Form(_) => return None,
                Line::Modes(modes) => manifest.modes = modes,
                Line::File { path: name, mode } => manifest.files.push((path(&name), mode)),
                Line::Folder { path: name, mode } => manifest.folders.push((path(&name), mode)),
                Line::Same(names) => manifest.same.push(names.iter().map(path).collect()),
                Line::LeftOut { path: name, why } => manifest.left_out.push((path(&name), why)),
                Line::Rules(rules) => manifest.rules = rules,
            }
        }
        Some(manifest)
    }
}

/// A manifest in which paths are scanned up.
#[derive(Debug)]
pub(in crate::checkpoint) struct Lookup<'a> {
    modes: Modes,
    files: HashMap<&'a [u8], u32>,
    folders: HashMap<&'a [u8], u32>,
}

impl<'a> Lookup<'a> {
    pub(in crate::checkpoint) fn new(manifest: &'a Manifest) -> Self {
        let map = |list: &'a [(Vec<u8>, u32)]| list.iter().map(|(path, mode)| (path.as_slice(), *mode)).collect();
        Self { modes: manifest.modes, files: map(&manifest.files), folders: map(&manifest.folders) }
    }

    /// The permissions of a name that stands in a tree with this mode.
    pub(in crate::checkpoint) fn mode(&self, path: &[u8], entry: u32) -> u32 {
        let (listed, most) = match entry {
            FOLDER => (self.folders.get(path), self.modes.folder),
            PROGRAM_ENTRY => (self.files.get(path), self.modes.program),
            _ => (self.files.get(path), self.modes.file),
        };
        listed.copied().unwrap_or(most)
    }

    /// The permissions of a folder that is listed, as every empty one is.
    pub(in crate::checkpoint) fn folder(&self, path: &[u8]) -> Option<u32> {
        self.folders.get(path).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_is_read_back_whatever_bytes_its_names_hold() {
        let odd = b"a\xff\n\"\\ b".to_vec();
        let manifest = Manifest {
            modes: Modes { file: 0o600, program: 0o700, folder: 0o700 },
            files: vec![(odd.clone(), 0o4755)],
            folders: vec![(b"empty".to_vec(), 0o700)],
            same: vec![vec![odd.clone(), b"b".to_vec()]],
            left_out: vec![(odd, "a socket".to_owned())],
            rules: RuleTexts { excludes: vec!["*.o\n".to_owned()], size_max: Some(7), ..RuleTexts::default() },
        };
        assert_eq!(Manifest::read(&manifest.encode(), &manifest.encode_scope()), Some(manifest));
        assert_eq!(Manifest::read(b"{\"form\":99}\n", b""), None);
    }
}
