//! Garbage collection: removes names of checkpoints, then every object that no name leads to. Only objects that
//! were shown to be unreachable are removed, and no checkpoint is taken meanwhile. Also joins small packs.
use std::collections::{BTreeSet, HashSet};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use rustix::fs::{FlockOperation, flock};

use super::object::{FOLDER, Id, ObjectKind};
use super::pack::Pack;
use super::pack_write::PackWriter;
use super::store::Store;
use crate::checkpoint::btrfs::snapshot_store::SnapshotStore;
use crate::fs::write_beside;

/// An object longer than this is copied through a file.
const IN_MEMORY_MAX: usize = 16 * 1024 * 1024;

/// So many packs of few objects are as good as one.
const SMALL_PACKS_MAX: usize = 128;
const SMALL_OBJECTS_MAX: usize = 4096;

/// What was, or would be, removed.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Collected {
    /// Objects that no name led to.
    pub objects: u64,
    /// Bytes on disk that this frees; before it is done, about so many.
    pub freed: u64,
    /// Packs that were removed, or rewritten with what is still needed.
    pub packs: u64,
    /// Snapshots that went.
    pub snapshots: u64,
    /// Why a snapshot could not be removed.
    pub stuck: Vec<String>,
}

/// A checkpoint in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointRow {
    /// Its name.
    pub name: String,
    /// Its object.
    pub id: Id,
    /// When it was taken.
    pub at_ms: u64,
    /// How much the pack takes that was written with it.
    pub bytes: u64,
    /// Where its files are, with the btrfs backend.
    pub snapshot: Option<PathBuf>,
}

impl CheckpointRow {
    /// The iteration that it is of, if it is of one.
    #[must_use]
    pub fn iteration(&self) -> Option<u32> {
        let number = self.name.strip_prefix("iter-").or_else(|| self.name.strip_prefix("interrupted-"))?;
        number.split(['+', '.']).next()?.parse().ok()
    }
}

impl Store {
    /// The checkpoints of a run, the oldest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn listed(&self, run: &str) -> io::Result<Vec<CheckpointRow>> {
        let mut listed = Vec::new();
        for (name, id) in self.names_of(run)? {
            let at_ms = self.commit(&id)?.seconds * 1000;
            let bytes = self.packs.iter().find(|pack| pack.has(&id)).map_or(0, on_disk);
            let name = name.strip_prefix(run).and_then(|name| name.strip_prefix('/')).unwrap_or(&name).to_owned();
            listed.push(CheckpointRow { name, id, at_ms, bytes, snapshot: None });
        }
        listed.sort_by_cached_key(|listed| (listed.at_ms, order(&listed.name)));
        Ok(listed)
    }

    /// How much the store takes on disk.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.packs.iter().map(on_disk).sum()
    }

    /// Removes these names and everything that only they lead to; in a dry run, only counts it.
    ///
    /// # Errors
    /// When something that is still needed cannot be read: then no object was removed.
    pub fn collect(&mut self, names: &[String], dry_run: bool) -> io::Result<Collected> {
        let _alone = self.lock(true)?;
        self.refresh()?;
        let mut live = HashSet::new();
        let mut staying = BTreeSet::new();
        let going: HashSet<&String> = names.iter().collect();
        for (name, id) in self.names()? {
            if !going.contains(&name) {
                self.mark(id, &mut live)?;
                staying.insert(id);
            }
        }
        let dead_in = |pack: &Pack| pack.ids().filter(|id| !live.contains(id)).count();
        let mut collected = Collected::default();
        let mut going = Vec::new();
        for pack in &self.packs {
            let dead = dead_in(pack);
            if dead > 0 {
                collected.objects += u64::try_from(dead).unwrap_or(0);
                collected.packs += 1;
                let share = on_disk(pack) / u64::try_from(pack.len().max(1)).unwrap_or(1);
                collected.freed += share * u64::try_from(dead).unwrap_or(0);
                going.push(pack.path().to_owned());
            }
        }
        if dry_run {
            return Ok(collected);
        }
        let before = self.bytes();
        self.rewrite_pack(&going, &live)?;
        self.write_shallow(&staying)?;
        for name in names {
            match self.remove(name) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        remove_packs(&going)?;
        // Only for people, and on a full disk it cannot be written before something was removed.
        self.note_not_kept(names, crate::clock::now().wall_ms).ok();
        self.refresh()?;
        collected.freed = before.saturating_sub(self.bytes());
        match SnapshotStore::of(self).map_or_else(|| Ok(Vec::new()), |snapshot_store| snapshot_store.sweep(self)) {
            Ok(gone) => collected.snapshots = u64::try_from(gone.len()).unwrap_or(0),
            // The others go all the same, and this one is tried again.
            Err(error) => collected.stuck.push(format!("a snapshot stays: {error}")),
        }
        Ok(collected)
    }

    /// Makes one pack of many small ones, so that a store of ten thousand checkpoints is read as quickly as a young
    /// one. Not while another process takes a checkpoint: then it is done later.
    ///
    /// # Errors
    /// When something cannot be read or written; then all packs are as they were.
    pub fn join_small(&mut self) -> io::Result<()> {
        let small = |pack: &&Pack| pack.len() <= SMALL_OBJECTS_MAX;
        if self.packs.iter().filter(small).count() <= SMALL_PACKS_MAX {
            return Ok(());
        }
        let lock = self.lock_file()?;
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Ok(());
        }
        self.refresh()?;
        let going: Vec<PathBuf> = self.packs.iter().filter(small).map(|pack| pack.path().to_owned()).collect();
        let all = self.packs.iter().filter(small).flat_map(Pack::ids).collect();
        self.rewrite_pack(&going, &all)?;
        remove_packs(&going)?;
        // Nothing is gone: all of it is in the new pack, and nobody else removes anything meanwhile.
        let packs_state = self.packs_state;
        self.refresh()?;
        self.packs_state = packs_state;
        Ok(())
    }

    /// Everything that a checkpoint holds. The one before it is another checkpoint, which has a name of its own.
    fn mark(&self, id: Id, live: &mut HashSet<Id>) -> io::Result<()> {
        if !live.insert(id) {
            return Ok(());
        }
        self.mark_tree(self.commit(&id)?.tree, live)
    }

    /// Tells git which commits have lost the one before them, as in a shallow clone: else it takes the store for
    /// damaged.
    fn write_shallow(&self, staying: &BTreeSet<Id>) -> io::Result<()> {
        let mut lines = String::new();
        for id in staying {
            if self.commit(id)?.parent.is_some_and(|parent| !staying.contains(&parent)) {
                lines.push_str(&format!("{id}\n"));
            }
        }
        let path = self.folder().join("shallow");
        if !lines.is_empty() {
            return write_beside(&path, lines.as_bytes());
        }
        fs::remove_file(path).or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
    }

    fn mark_tree(&self, id: Id, live: &mut HashSet<Id>) -> io::Result<()> {
        if !live.insert(id) {
            return Ok(());
        }
        for entry in self.tree(&id)? {
            if entry.mode == FOLDER {
                self.mark_tree(entry.id, live)?;
            } else {
                live.insert(entry.id);
            }
        }
        Ok(())
    }

    /// What is still needed of these packs goes into a new one, which is safe when this returns.
    fn rewrite_pack(&self, going: &[PathBuf], live: &HashSet<Id>) -> io::Result<()> {
        let mut writer = PackWriter::begin(&self.pack_folder())?;
        let staying =
            |id: &Id| self.packs.iter().any(|pack| !going.iter().any(|path| path == pack.path()) && pack.has(id));
        for pack in self.packs.iter().filter(|pack| going.iter().any(|path| path == pack.path())) {
            for id in pack.ids().filter(|id| live.contains(id)) {
                if staying(&id) {
                    continue;
                }
                let mut spool = Spool::default();
                let kind = pack.read(&id, &mut spool)?;
                let kind = kind.ok_or_else(|| io::Error::other(format!("object {id} is not where it was")))?;
                spool.into(&mut writer, kind)?;
            }
        }
        writer.finish()?;
        crate::fs::sync_folder(&self.pack_folder())
    }
}

fn remove_packs(packs: &[PathBuf]) -> io::Result<()> {
    for pack in packs {
        fs::remove_file(pack)?;
        fs::remove_file(pack.with_extension("idx"))?;
    }
    Ok(())
}

/// The order in which checkpoints of one second were taken.
fn order(name: &str) -> (u8, String) {
    (u8::from(name != "initial"), name.to_owned())
}

fn on_disk(pack: &Pack) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let of = |path: &std::path::Path| fs::metadata(path).map_or(0, |found| found.blocks() * 512);
    of(pack.path()) + of(&pack.path().with_extension("idx"))
}

/// An object that is copied: in memory, or in a file if it is long.
#[derive(Debug, Default)]
struct Spool {
    memory: Vec<u8>,
    file: Option<File>,
}

impl Spool {
    fn into(self, writer: &mut PackWriter, kind: ObjectKind) -> io::Result<()> {
        let none = |_: &Id| false;
        match self.file {
            None => writer.add(kind, &self.memory, &none).map(drop),
            Some(mut file) => {
                let length = file.seek(SeekFrom::End(0))?;
                file.seek(SeekFrom::Start(0))?;
                let mut read: &mut dyn Read = &mut file;
                writer.add_file(&mut read, length, &none).map(drop)
            }
        }
    }
}

impl Write for Spool {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        if self.file.is_none() && self.memory.len() + piece.len() <= IN_MEMORY_MAX {
            self.memory.extend_from_slice(piece);
            return Ok(piece.len());
        }
        if self.file.is_none() {
            let mut file = unnamed()?;
            file.write_all(&self.memory)?;
            self.memory = Vec::new();
            self.file = Some(file);
        }
        self.file.as_mut().map_or(Ok(0), |file| file.write(piece))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A file without a name.
fn unnamed() -> io::Result<File> {
    use rustix::fs::{MemfdFlags, memfd_create};
    // Only objects of more than some MiB come here, one at a time.
    Ok(File::from(memfd_create("object", MemfdFlags::CLOEXEC)?))
}
