//! The names of checkpoints, and the repair of a store when it is opened: packs without an index, names that were
//! lost in a power cut. Only packs are synced; everything else can be derived from them.
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::object::{Id, read_commit};
use super::pack::Pack;
use super::pack_write::HALF_MADE;
use super::store::{Store, odd};
use crate::fs::write_beside;

/// Which start of the machine the store was last put right in.
const BOOT: &str = "boot";
/// Objects of names that were removed on purpose.
const REMOVED: &str = "removed";
/// The folder with a file for each run: which of its checkpoints were removed, and when.
const NOT_KEPT: &str = "not-kept";

/// The message of a checkpoint's commit: its name and time, so that the newest of a name is known.
pub(in crate::checkpoint) fn words_of(name: &str, nanos: i64) -> String {
    format!("{name}\n\nat {nanos}")
}

fn read_words(words: &str) -> Option<(&str, i64)> {
    let (name, rest) = words.split_once("\n\n")?;
    Some((name, rest.strip_prefix("at ")?.parse().ok()?))
}

impl Store {
    /// Gives a commit a name. It is not synced: the commit in the pack has it too.
    pub(in crate::checkpoint) fn point(&self, name: &str, id: Id) -> io::Result<()> {
        let path = self.folder.join("refs/loop").join(name);
        if let Some(folder) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        write_beside(&path, format!("{id}\n").as_bytes())
    }

    /// The commit of a name.
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn named(&self, name: &str) -> io::Result<Id> {
        let text = fs::read_to_string(self.folder.join("refs/loop").join(name))?;
        Id::parse(text.trim()).ok_or_else(|| odd(&format!("{name} names no checkpoint")))
    }

    /// All names, with their commits, sorted.
    ///
    /// # Errors
    /// When they cannot be listed.
    pub fn names(&self) -> io::Result<Vec<(String, Id)>> {
        let mut names = Vec::new();
        list(&self.folder.join("refs/loop"), "", &mut names)?;
        let known = |name: String| self.named(&name).ok().map(|id| (name, id));
        let mut names: Vec<(String, Id)> = names.into_iter().filter_map(known).collect();
        names.sort();
        Ok(names)
    }

    /// The names of a run.
    ///
    /// # Errors
    /// When they cannot be listed.
    pub fn names_of(&self, run: &str) -> io::Result<Vec<(String, Id)>> {
        let prefix = format!("{run}/");
        Ok(self.names()?.into_iter().filter(|(name, _)| name.starts_with(&prefix)).collect())
    }

    /// Removes a name. Its objects stay until the next garbage collection. After a power cut it may be back.
    ///
    /// # Errors
    /// When there is none of that name, or it cannot be removed.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        let id = self.named(name)?;
        let path = self.folder.join(REMOVED);
        let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
        file.write_all(format!("{id}\n").as_bytes())?;
        let path = self.folder.join("refs/loop").join(name);
        fs::remove_file(&path)?;
        // The folder of a run goes with its last checkpoint.
        path.parent().map(fs::remove_dir);
        Ok(())
    }

    /// Records that checkpoints are not kept any more: full names, and the time. It is only for people: a line that is
    /// lost changes no checkpoint.
    pub(in crate::checkpoint) fn note_not_kept(&self, names: &[String], now_ms: u64) -> io::Result<()> {
        let mut lines: BTreeMap<&str, String> = BTreeMap::new();
        for (run, name) in names.iter().filter_map(|full| full.split_once('/')) {
            lines.entry(run).or_default().push_str(&format!("{now_ms} {name}\n"));
        }
        for (run, lines) in lines {
            let path = self.folder.join(NOT_KEPT).join(run);
            DirBuilder::new().recursive(true).mode(0o700).create(self.folder.join(NOT_KEPT))?;
            let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
            file.write_all(lines.as_bytes())?;
        }
        Ok(())
    }

    /// The checkpoints of a run that are not kept any more, and since when.
    #[must_use]
    pub fn not_kept(&self, run: &str) -> BTreeMap<String, u64> {
        let text = fs::read_to_string(self.folder.join(NOT_KEPT).join(run)).unwrap_or_default();
        let each = text.lines().filter_map(|line| line.split_once(' '));
        each.filter_map(|(ms, name)| Some((name.to_owned(), ms.parse().ok()?))).collect()
    }

    /// Forgets what was removed of a run whose records go.
    pub(in crate::checkpoint) fn forget_not_kept(&self, run: &str) {
        // What is not there is forgotten already.
        fs::remove_file(self.folder.join(NOT_KEPT).join(run)).ok();
    }

    fn removed(&self) -> BTreeSet<Id> {
        let text = fs::read_to_string(self.folder.join(REMOVED)).unwrap_or_default();
        text.lines().filter_map(Id::parse).collect()
    }

    /// Puts right what a killed process or a power cut left: indexes are made again from their packs, names from the
    /// commits in them.
    pub(in crate::checkpoint) fn repair(&mut self) -> io::Result<()> {
        let boot = format!("{:08x}\n", crate::clock::now().boot_id);
        let is_new_boot = fs::read_to_string(self.folder.join(BOOT)).ok().as_deref() != Some(boot.as_str());
        let (half_made, packs) = self.pack_files()?;
        let without: Vec<&PathBuf> = packs.iter().filter(|pack| !pack.with_extension("idx").exists()).collect();
        if !is_new_boot && without.is_empty() && half_made.is_empty() {
            return Ok(());
        }
        let lock = self.lock_file()?;
        if is_new_boot {
            flock(&lock, FlockOperation::LockExclusive)?;
        } else if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            // A checkpoint is being taken: unfinished files may belong to it.
            return Ok(());
        }
        let (half_made, packs) = self.pack_files()?;
        half_made.iter().for_each(|path| drop(fs::remove_file(path)));
        let mut found = BTreeMap::new();
        for path in packs {
            // Within one start of the machine the name is written before the index.
            if is_new_boot || !path.with_extension("idx").exists() {
                repair_pack(&path, &mut found)?;
            }
        }
        self.refresh()?;
        self.repair_names(found)?;
        write_beside(&self.folder.join(BOOT), boot.as_bytes())
    }

    /// What is half made, and what is a pack.
    fn pack_files(&self) -> io::Result<(Vec<PathBuf>, Vec<PathBuf>)> {
        let (mut half_made, mut packs) = (Vec::new(), Vec::new());
        for entry in fs::read_dir(self.pack_folder())? {
            let entry = entry?;
            if entry.file_name().as_encoded_bytes().starts_with(HALF_MADE.as_bytes()) {
                half_made.push(entry.path());
            } else if entry.path().extension().is_some_and(|end| end == "pack") {
                packs.push(entry.path());
            }
        }
        // A cache is written without the lock. If the file is removed meanwhile, only time is lost.
        for entry in fs::read_dir(self.folder.join("pictures")).into_iter().flatten().flatten() {
            if entry.file_name().as_encoded_bytes().starts_with(HALF_MADE.as_bytes()) {
                half_made.push(entry.path());
            }
        }
        Ok((half_made, packs))
    }

    fn repair_names(&self, found: BTreeMap<String, (i64, Id)>) -> io::Result<()> {
        let removed = self.removed();
        for (name, (nanos, id)) in found {
            if !removed.contains(&id) && self.made_at(&name).is_none_or(|there| there < nanos) {
                self.point(&name, id)?;
            }
        }
        Ok(())
    }

    /// The files of all checkpoints of a run up to this one, and its empty folders.
    pub(in crate::checkpoint) fn until(&self, id: &Id) -> io::Result<Vec<(Id, BTreeSet<Vec<u8>>)>> {
        let words = self.commit(id)?.words;
        let Some((name, last)) = read_words(&words) else { return Ok(Vec::new()) };
        let run = name.split('/').next().unwrap_or(name);
        let mut files = Vec::new();
        for (_, id) in self.names_of(run)? {
            let made = self.commit(&id)?.words;
            if read_words(&made).is_some_and(|(_, nanos)| nanos <= last) {
                let parts = self.parts(&id)?;
                let folders = self.manifest(&parts)?.folders;
                files.push((parts.files, folders.into_iter().map(|(path, _)| path).collect()));
            }
        }
        files.sort();
        files.dedup();
        Ok(files)
    }

    /// Whether a path is in a tree.
    pub(in crate::checkpoint) fn has_path(&self, files: &Id, path: &[u8]) -> io::Result<bool> {
        let mut at = Some(*files);
        for name in path.split(|byte| *byte == b'/') {
            let Some(tree) = at else { return Ok(false) };
            let Some(entry) = self.tree(&tree)?.into_iter().find(|entry| entry.name == name) else { return Ok(false) };
            at = (entry.mode == crate::checkpoint::git::object::FOLDER).then_some(entry.id);
        }
        Ok(true)
    }

    /// When the checkpoint of a name was made; none if the name leads nowhere.
    fn made_at(&self, name: &str) -> Option<i64> {
        let parts = self.commit(&self.named(name).ok()?).ok()?;
        read_words(&parts.words).map(|(_, nanos)| nanos)
    }
}

/// Makes sure that a pack has an index; notes the newest commit of each name in it. A pack that is not whole is left
/// alone: nothing of it counts.
fn repair_pack(path: &Path, found: &mut BTreeMap<String, (i64, Id)>) -> io::Result<()> {
    let pack = match Pack::open(path).or_else(|_| Pack::repair(path)) {
        Ok(pack) => pack,
        Err(error) if error.kind() == io::ErrorKind::InvalidData => return Ok(()),
        Err(error) => return Err(error),
    };
    // A damaged commit names nothing.
    for (id, bytes) in pack.commits().unwrap_or_default() {
        let parts = read_commit(&bytes);
        let Some((name, nanos)) = parts.as_ref().and_then(|parts| read_words(&parts.words)) else { continue };
        if found.get(name).is_none_or(|(newest, _)| *newest < nanos) {
            found.insert(name.to_owned(), (nanos, id));
        }
    }
    Ok(())
}

fn list(folder: &Path, above: &str, names: &mut Vec<String>) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let name = if above.is_empty() { name } else { format!("{above}/{name}") };
        if entry.file_type()?.is_dir() {
            list(&entry.path(), &name, names)?;
        } else if !name.ends_with(".lock") {
            names.push(name);
        }
    }
    Ok(())
}
