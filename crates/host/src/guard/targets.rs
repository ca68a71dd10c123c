//! The project's own files that define how its tests are run, at the top of the workspace and one folder below: hashed
//! when a run begins and compared later. These files are watched, not protected.
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use loop_core::policy::protect::{is_target_file, new_target, target_change, test_definition};
use loop_core::text::{escape_path, unescape_path};
use rustix::fs::FileType;
use sha2::{Digest, Sha256};

use super::{Originals, opened};
use crate::fs::handle::{folder_beneath, joined, split};
use crate::fs::hex;
use crate::fs::walk::names_in;

/// A file that is longer is none that people write.
const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// At most this many folders are inspected, and so many files read.
const FOLDERS_MAX: usize = 1000;
const FILES_MAX: usize = 200;

impl Originals {
    /// Where tests are run otherwise than when the run began, in sentences.
    pub fn targets_changed(&mut self) -> Vec<String> {
        let now = self.targets_now();
        let changes = now.iter().filter_map(|(path, after)| match self.record.targets.get(path) {
            Some(before) => target_change(path, before.as_deref(), after.as_deref()),
            None => new_target(path, after.as_deref(), &self.known_beside(path)),
        });
        let changes = changes.collect();
        self.record.targets_seen = now;
        changes
    }

    pub(super) fn watch_targets(&mut self) {
        let files = self.target_files();
        self.record.targets = files.iter().map(|path| (escape_path(path), self.target(path))).collect();
        self.record.targets_seen = self.record.targets.clone();
    }

    /// The files that may define how tests are run, those at the top first.
    fn target_files(&self) -> Vec<Vec<u8>> {
        let mut files = Vec::new();
        self.targets_in(b"", &mut files);
        let top = folder_beneath(&self.workspace, b"").and_then(|top| names_in(&top)).unwrap_or_default();
        let is_folder = |name: &[u8]| {
            self.stat(name).is_ok_and(|(_, stat)| FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
        };
        let folders = top.iter().filter(|name| !self.patterns.is_passed_by(name) && is_folder(name));
        for folder in folders.take(FOLDERS_MAX) {
            self.targets_in(folder, &mut files);
        }
        files.truncate(FILES_MAX);
        files
    }

    /// The names of the files in the same folder that defined how tests are run when the run began.
    fn known_beside(&self, path: &str) -> Vec<&str> {
        let (folder, _) = parted(path);
        let known = self.record.targets.iter().filter(|(_, hash)| hash.is_some()).map(|(path, _)| path.as_str());
        known.map(parted).filter(|(beside, _)| *beside == folder).map(|(_, name)| name).collect()
    }

    /// What differs from when the agent's work was inspected is not the agent's.
    pub(super) fn adopt_targets(&mut self) {
        let now = self.targets_now();
        for (path, hash) in &now {
            if self.record.targets_seen.get(path) != Some(hash) {
                self.record.targets.insert(path.clone(), hash.clone());
            }
        }
        self.record.targets_seen = now;
    }

    /// The present hashes of the known files, and of new ones.
    fn targets_now(&self) -> BTreeMap<String, Option<String>> {
        let known = self.record.targets.keys().cloned();
        // Where not all could be read at first, one of those is not new.
        let is_whole = self.record.targets.len() < FILES_MAX;
        let found = if is_whole { self.target_files() } else { Vec::new() };
        let paths: BTreeSet<String> = known.chain(found.iter().map(|path| escape_path(path))).collect();
        let hashes = paths.into_iter().map(|path| {
            let hash = self.target(&unescape_path(&path));
            (path, hash)
        });
        hashes.collect()
    }

    fn targets_in(&self, folder: &[u8], files: &mut Vec<Vec<u8>>) {
        let names = folder_beneath(&self.workspace, folder).and_then(|folder| names_in(&folder)).unwrap_or_default();
        let names = names.iter().filter(|name| std::str::from_utf8(name).is_ok_and(is_target_file));
        let mut names: Vec<Vec<u8>> = names.map(|name| joined(folder, name)).collect();
        names.sort_unstable();
        files.append(&mut names);
    }

    /// A hash of the part that defines how tests are run, with the files that it includes; none where none does.
    fn target(&self, path: &[u8]) -> Option<String> {
        let (above, name) = split(path);
        let (name, text) = (String::from_utf8_lossy(name), self.target_text(path)?);
        let read = &mut |included: &str| self.target_text(&joined(above, included.as_bytes()));
        test_definition(&name, &text, read).map(|part| hex(&Sha256::digest(part.as_bytes())))
    }

    fn target_text(&self, path: &[u8]) -> Option<String> {
        let (above, name) = split(path);
        let folder = folder_beneath(&self.workspace, above).ok()?;
        let file = opened(&folder, name).ok().filter(|file| file.metadata().is_ok_and(|found| found.is_file()))?;
        let mut text = Vec::new();
        file.take(FILE_BYTES_MAX).read_to_end(&mut text).ok()?;
        Some(String::from_utf8_lossy(&text).into_owned())
    }
}

/// A folder and a name in it.
fn parted(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}
