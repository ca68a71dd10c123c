//! Contents of checkpoints in btrfs: the store has the checkpoints and their trees, a snapshot of the same name has
//! the files. A store records where its snapshots are, so they can be found, read and removed when the workspace is
//! gone.
use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use loop_core::text;

use super::{Snapshot, SnapshotDir, SnapshotOwner};
use crate::checkpoint::diff::{Content, ContentReader};
use crate::checkpoint::git::object::Id;
use crate::checkpoint::git::store::{NamedCheckpoint, Store, StoredKind, odd};
use crate::fs::write_beside;
use crate::paths::{path_of, text_of};

/// The note: the key of the store's snapshots and the folder that they lie beside the workspace in.
const NOTE: &str = "snapshots";

/// The snapshots of a store.
#[derive(Debug)]
pub(in crate::checkpoint) struct SnapshotStore {
    pub(in crate::checkpoint) snapshot_dir: SnapshotDir,
    /// Two stores of one workspace, in two homes, must not take each other's snapshots for their own.
    pub(in crate::checkpoint) key: String,
}

impl SnapshotStore {
    /// Where a store has its snapshots; none if it has none, or they cannot be reached.
    pub(in crate::checkpoint) fn of(store: &Store) -> Option<Self> {
        let note = fs::read_to_string(store.folder.join(NOTE)).ok()?;
        let (key, above) = note.strip_suffix('\n')?.split_once('\n')?;
        Some(Self { snapshot_dir: SnapshotDir::open(&path_of(above)).ok()?, key: key.to_owned() })
    }

    /// The same, for snapshots that are going to lie in this folder.
    pub(in crate::checkpoint) fn in_folder(store: &Store, above: &Path) -> io::Result<Self> {
        let path = store.folder.join(NOTE);
        let note = fs::read_to_string(&path).unwrap_or_default();
        let key = note.lines().next().filter(|key| !key.is_empty());
        let key = key.map_or_else(|| crate::fs::fresh_id().map(|id| id.to_string()), |key| Ok(key.to_owned()))?;
        let wanted = format!("{key}\n{}\n", text_of(above));
        if note != wanted {
            write_beside(&path, wanted.as_bytes())?;
            // Who lost it would not find the snapshots again.
            File::open(&path)?.sync_all()?;
            crate::fs::sync_folder(&store.folder)?;
        }
        Ok(Self { snapshot_dir: SnapshotDir::open(above)?, key })
    }

    /// The snapshot of a checkpoint, by `run/name`.
    pub(in crate::checkpoint) fn snapshot(&self, full: &str) -> io::Result<Snapshot> {
        let (run, name) = full.split_once('/').ok_or_else(|| odd(&format!("{full} names no checkpoint")))?;
        self.snapshot_dir.snapshot(SnapshotOwner { store: &self.key, run }, name)
    }

    /// Where it is.
    pub(in crate::checkpoint) fn path(&self, full: &str) -> PathBuf {
        self.snapshot_dir.path().join(&self.key).join(full)
    }

    /// Removes the snapshots that no name of the store leads to. The caller holds the store's lock alone.
    pub(in crate::checkpoint) fn sweep(&self, store: &Store) -> io::Result<Vec<String>> {
        let names: BTreeSet<String> = store.names()?.into_iter().map(|(name, _)| name).collect();
        self.snapshot_dir.sweep(&self.key, &|full| names.contains(full))
    }
}

/// The contents of the files that differ between two checkpoints, wherever they are.
#[derive(Debug)]
pub(in crate::checkpoint) struct RecordedContents<'a> {
    store: &'a Store,
    files: HashMap<Id, (Rc<Snapshot>, Vec<u8>)>,
}

impl<'a> RecordedContents<'a> {
    /// Of two checkpoints by their names and objects.
    pub(in crate::checkpoint) fn new(
        store: &'a Store,
        snapshot_store: Option<&SnapshotStore>,
        from: Option<NamedCheckpoint<'_>>,
        to: NamedCheckpoint<'_>,
    ) -> io::Result<Self> {
        let mut files = HashMap::new();
        let Some(snapshot_store) = snapshot_store else { return Ok(Self { store, files }) };
        let differences = match from {
            Some(from) => store.between(&from.id, &to.id)?,
            None => store.load(to.id)?.names.into_iter().map(|(path, entry)| (path, (None, Some(entry)))).collect(),
        };
        let then = from.map(|from| snapshot_store.snapshot(from.name).map(Rc::new)).transpose()?;
        let now = Rc::new(snapshot_store.snapshot(to.name)?);
        for (path, (one, other)) in differences {
            for (entry, snapshot) in [(one, then.as_ref()), (other, Some(&now))] {
                if let (Some(StoredKind::File(id)), Some(snapshot)) = (entry.map(|entry| entry.what), snapshot) {
                    files.insert(id, (Rc::clone(snapshot), path.clone()));
                }
            }
        }
        Ok(Self { store, files })
    }
}

impl ContentReader for RecordedContents<'_> {
    fn read(&self, id: &Id, bytes_max: usize) -> io::Result<Content> {
        let Some((snapshot, path)) = self.files.get(id) else { return ContentReader::read(self.store, id, bytes_max) };
        let mut file = snapshot.file(path)?;
        let mut bytes = Vec::new();
        let most = u64::try_from(bytes_max).unwrap_or(u64::MAX);
        let read = Read::by_ref(&mut file).take(most).read_to_end(&mut bytes);
        read.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", text::escape_path(path))))?;
        let is_whole = file.read(&mut [0])? == 0;
        Ok(if is_whole { Content::Whole(bytes) } else { Content::Beginning(bytes) })
    }
}
