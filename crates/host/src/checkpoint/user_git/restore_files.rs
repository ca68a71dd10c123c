//! Restoring the files of a repository: HEAD, index, operations in progress, configuration and logs.
use std::io;
use std::time::SystemTime;

use super::index::{COMMIT_MODE, Index};
use super::refs::{RefValue, of_log, resolve, shown};
use super::restore::{RefChange, Restoring};
use super::save::head_of;
use super::state::{OPERATIONS, SavedFile};
use crate::checkpoint::git::object::{Id, ObjectKind};

/// The log of stashes is the list of them: its last line is the newest.
const STASHES: &[u8] = b"logs/refs/stash";
const NONE: &str = "0000000000000000000000000000000000000000";
const READ_BYTES_MAX: u64 = 1024 * 1024 * 1024;

impl Restoring<'_> {
    /// Restores every saved file that can be.
    pub(super) fn files(&mut self) -> io::Result<()> {
        let head_before = self.head_now();
        let complete = self.head_is_complete();
        let with_index = complete && self.index_is_complete();
        if complete {
            self.end_operations()?;
        }
        if !with_index {
            self.remarks.add(
                "the index and operations in progress are not restored yet: what they name was on a remote only. Run \
                 `git fetch`, then restore it again.",
            );
        }
        let saved = self.saved;
        for file in &saved.files {
            let path = file.path.as_slice();
            let name = std::str::from_utf8(path.split(|byte| *byte == b'/').next().unwrap_or(path)).unwrap_or("");
            match name {
                "logs" => {}
                "HEAD" => self.head(&file.bytes, complete)?,
                "index" if with_index => self.put(file)?,
                "refs" if !file.shared => self.own_ref(file)?,
                "worktrees" if file.shared => self.other_tree(file, with_index)?,
                "shallow" | "objects" if self.common.has(path) => {}
                "shallow" => self.shallow(file)?,
                _ if OPERATIONS.contains(&name) || name == "ORIG_HEAD" || name == "index" => {
                    if with_index && name != "index" {
                        self.put(file)?;
                    }
                }
                _ => self.put(file)?,
            }
        }
        self.logs(head_before)
    }

    fn head_now(&self) -> Option<Id> {
        let text = self.git.read(b"HEAD", 64 * 1024).ok().flatten()?;
        resolve(&RefValue::parse(&text)?, &self.now)
    }

    /// Writes a file unless it is as it was.
    fn put(&mut self, file: &SavedFile) -> io::Result<()> {
        self.put_bytes(file.shared, &file.path, &file.bytes)
    }

    fn put_bytes(&mut self, shared: bool, path: &[u8], bytes: &[u8]) -> io::Result<()> {
        let folder = if shared { &self.common } else { &self.git };
        if folder.read(path, READ_BYTES_MAX).is_ok_and(|now| now.as_deref() == Some(bytes)) {
            return Ok(());
        }
        folder.put(path, bytes, &mut self.moved)?;
        self.back.files.push(shown(path));
        Ok(())
    }

    fn head(&mut self, bytes: &[u8], complete: bool) -> io::Result<()> {
        match RefValue::parse(bytes) {
            // A branch without its commit is one that has none yet.
            Some(RefValue::Ref(_)) => self.put_bytes(false, b"HEAD", bytes),
            Some(RefValue::Id(_)) if complete => self.put_bytes(false, b"HEAD", bytes),
            Some(RefValue::Id(id)) => {
                self.remarks.add(format!("HEAD was at {id} itself, which was on a remote only"));
                // Without any HEAD it is no repository.
                if self.git.has(b"HEAD") { Ok(()) } else { self.put_bytes(false, b"HEAD", b"ref: refs/heads/main\n") }
            }
            None => Ok(()),
        }
    }

    fn index_is_complete(&self) -> bool {
        let Some(bytes) = self.saved.own(b"index") else { return true };
        let empty = Id::of(ObjectKind::Blob, b"");
        let entries = Index::parse(bytes).map(|index| index.entries).unwrap_or_default();
        entries.iter().all(|entry| entry.mode == COMMIT_MODE || entry.id == empty || self.present.has(&entry.id))
    }

    /// What is in progress now and was not then goes aside.
    fn end_operations(&mut self) -> io::Result<()> {
        for name in OPERATIONS {
            let below = format!("{name}/");
            let saved = |file: &SavedFile| file.path == name.as_bytes() || file.path.starts_with(below.as_bytes());
            let is_saved = self.saved.files.iter().filter(|file| !file.shared).any(saved);
            // The files of a rebase that has gone on since would be mixed with those of then.
            let is_folder = self.git.has_folder(name.as_bytes());
            if self.git.has(name.as_bytes()) && (!is_saved || is_folder && !self.is_as_saved(below.as_bytes())) {
                let new = self.git.aside(name.as_bytes())?;
                self.remarks.add(format!("{name} was in progress: it was renamed to {} in `.git`", shown(&new)));
            }
        }
        Ok(())
    }

    fn is_as_saved(&self, below: &[u8]) -> bool {
        let mut files = self.saved.files.iter().filter(|file| !file.shared && file.path.starts_with(below));
        let count = files.clone().count();
        let now = self.git.below(below.strip_suffix(b"/").unwrap_or(below)).and_then(|folder| folder.names());
        now.is_ok_and(|names| names.len() == count)
            && files.all(|file| {
                self.git.read(&file.path, READ_BYTES_MAX).is_ok_and(|now| now.as_ref() == Some(&file.bytes))
            })
    }

    /// A ref that only this working tree has.
    fn own_ref(&mut self, file: &SavedFile) -> io::Result<()> {
        match RefValue::parse(&file.bytes) {
            Some(RefValue::Id(id)) if self.present.is_complete(&id) => self.put(file),
            Some(_) | None => Ok(()),
        }
    }

    /// What belongs to another working tree is restored only where all of it is gone.
    fn other_tree(&mut self, file: &SavedFile, whole: bool) -> io::Result<()> {
        let tree: Vec<&[u8]> = file.path.split(|byte| *byte == b'/').take(2).collect();
        let tree = tree.join(&b'/');
        let written = self.back.files.iter().any(|name| name.as_bytes().starts_with(&[&tree[..], b"/"].concat()));
        if self.common.has(&tree) && !written {
            return Ok(());
        }
        if whole {
            return self.put(file);
        }
        self.remarks.add(format!("{} of another working tree is not restored yet", shown(&file.path)));
        Ok(())
    }

    fn shallow(&mut self, file: &SavedFile) -> io::Result<()> {
        let lines = file.bytes.split_inclusive(|byte| *byte == b'\n');
        let there = |line: &&[u8]| {
            let id = std::str::from_utf8(line.trim_ascii()).ok().and_then(Id::parse);
            id.is_some_and(|id| self.present.has(&id))
        };
        let text = lines.filter(there).collect::<Vec<_>>().concat();
        if text.is_empty() { Ok(()) } else { self.put_bytes(true, &file.path, &text) }
    }

    /// Logs are restored, with the lines that came since behind them; the newest line records the restore, so that
    /// what a ref was before is not lost.
    fn logs(&mut self, head_before: Option<Id>) -> io::Result<()> {
        let saved = self.saved;
        let mut logs: Vec<(bool, Vec<u8>, &[u8])> = Vec::new();
        for file in saved.files.iter().filter(|file| file.path.starts_with(b"logs/")) {
            logs.push((file.shared, file.path.clone(), &file.bytes));
        }
        for name in self.changed.keys() {
            let path = [b"logs/", name.as_slice()].concat();
            if !logs.iter().any(|(_, other, _)| *other == path) && self.common.has(&path) {
                logs.push((true, path, b""));
            }
        }
        for (shared, path, then) in logs {
            let folder = if shared { &self.common } else { &self.git };
            let now = folder.read(&path, READ_BYTES_MAX).ok().flatten().unwrap_or_default();
            let name = path.strip_prefix(b"logs/").unwrap_or(&path);
            if shared && !self.changed.contains_key(name) && !self.now.contains_key(name) {
                continue;
            }
            let mut text = if now.starts_with(then) && path != STASHES { now.clone() } else { self.readable(then) };
            if path == STASHES {
                self.name_lost_stashes(&now, &text);
            } else {
                let change = if shared { self.changed.get(name).copied() } else { self.head_change(head_before) };
                text.extend(change.map(line).unwrap_or_default());
            }
            if text != now {
                self.put_bytes(shared, &path, &text)?;
            }
        }
        Ok(())
    }

    fn head_change(&self, before: Option<Id>) -> Option<RefChange> {
        let after = head_of(self.saved, &self.saved.refs)?;
        (before.is_some() && before != Some(after)).then_some(RefChange { before, after })
    }

    /// The lines of a log whose commits are there.
    fn readable(&mut self, text: &[u8]) -> Vec<u8> {
        let mut readable = Vec::new();
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            let mut ids = std::collections::BTreeSet::new();
            of_log(line, &mut ids);
            if ids.iter().all(|id| self.present.is_complete(id)) {
                readable.extend_from_slice(line);
            }
        }
        readable
    }

    fn name_lost_stashes(&mut self, now: &[u8], text: &[u8]) {
        let lines: std::collections::BTreeSet<&[u8]> = text.split(|byte| *byte == b'\n').collect();
        for line in now.split(|byte| *byte == b'\n').filter(|line| !lines.contains(line)) {
            let id = line.get(41..81).map(shown).unwrap_or_default();
            self.remarks.add(format!("a stash made since is no longer in the list: `git stash apply {id}` has it"));
        }
    }
}

/// What we did, as a line of a log.
fn line(RefChange { before, after }: RefChange) -> Vec<u8> {
    let before = before.map_or_else(|| NONE.to_owned(), |id| id.to_string());
    let seconds = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs());
    format!("{before} {after} loop <loop@localhost> {seconds} +0000\tloop: restored\n").into_bytes()
}
