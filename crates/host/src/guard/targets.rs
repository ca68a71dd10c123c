//! What the project's own files say about how its tests are run: at the top of the workspace and one folder below,
//! read when a run begins and compared later. These files are watched, not protected.
use std::collections::BTreeMap;
use std::io::Read;

use loop_core::policy::protect::{is_target_file, target_changes, test_target};
use loop_core::text::{escape_path, unescape_path};
use rustix::fs::FileType;

use super::{Originals, opened};
use crate::checkpoint::{folder_beneath, joined, split};
use crate::workspace::walk::names_in;

/// A file that is longer is none that people write.
const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// So many folders are looked into, and so many files read.
const FOLDERS_MAX: usize = 1000;
const FILES_MAX: usize = 200;

impl Originals {
    /// Where tests are run otherwise than when the run began, in sentences.
    pub fn targets_changed(&mut self) -> Vec<String> {
        let now = self.targets_now();
        let told = self.record.targets.iter().flat_map(|(path, before)| {
            let after = now.get(path).and_then(Option::as_deref);
            target_changes(path, before.as_deref(), after)
        });
        let told = told.collect();
        self.record.targets_seen = now;
        told
    }

    pub(super) fn watch_targets(&mut self) {
        let mut files = Vec::new();
        self.targets_in(b"", &mut files);
        let top = folder_beneath(&self.workspace, b"").and_then(|top| names_in(&top)).unwrap_or_default();
        let is_folder = |name: &[u8]| {
            self.stat(name).is_ok_and(|(_, stat)| FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
        };
        let folders = top.iter().filter(|name| !self.chosen.is_passed_by(name) && is_folder(name));
        for folder in folders.take(FOLDERS_MAX) {
            self.targets_in(folder, &mut files);
        }
        files.truncate(FILES_MAX);
        self.record.targets = files.iter().map(|path| (escape_path(path), self.target(path))).collect();
        self.record.targets_seen = self.record.targets.clone();
    }

    /// What differs from when the agent's work was looked at is not the agent's.
    pub(super) fn adopt_targets(&mut self) {
        let now = self.targets_now();
        for (path, says) in &now {
            if self.record.targets_seen.get(path) != Some(says) {
                self.record.targets.insert(path.clone(), says.clone());
            }
        }
        self.record.targets_seen = now;
    }

    fn targets_now(&self) -> BTreeMap<String, Option<String>> {
        let paths = self.record.targets.keys();
        paths.map(|path| (path.clone(), self.target(&unescape_path(path)))).collect()
    }

    fn targets_in(&self, folder: &[u8], files: &mut Vec<Vec<u8>>) {
        let names = folder_beneath(&self.workspace, folder).and_then(|folder| names_in(&folder)).unwrap_or_default();
        let names = names.iter().filter(|name| std::str::from_utf8(name).is_ok_and(is_target_file));
        files.extend(names.map(|name| joined(folder, name)));
        files.sort_unstable();
    }

    /// What a file says now.
    fn target(&self, path: &[u8]) -> Option<String> {
        let (above, name) = split(path);
        let folder = folder_beneath(&self.workspace, above).ok()?;
        let file = opened(&folder, name).ok().filter(|file| file.metadata().is_ok_and(|found| found.is_file()))?;
        let mut text = Vec::new();
        file.take(FILE_BYTES_MAX).read_to_end(&mut text).ok()?;
        test_target(&String::from_utf8_lossy(name), &String::from_utf8_lossy(&text))
    }
}
