//! Listing the checkpoints of a run and comparing two of them, for commands that only read. It works for both
//! backends.
use std::collections::{BTreeMap, BTreeSet};
use std::io;

use super::btrfs::snapshot_store::{RecordedContents, SnapshotStore};
use super::context::{BTRFS, CheckpointContext};
use super::diff::{self, Bounds, CommitPair, Content, ContentReader, Difference, FileKind, PatchPiece, Side};
use super::git::gc::CheckpointRow;
use super::git::object::Id;
use super::git::store::{NamedCheckpoint, Store};

/// The checkpoints of a run, the oldest first.
///
/// # Errors
/// When they cannot be read.
pub fn listed(context: &CheckpointContext) -> io::Result<Vec<CheckpointRow>> {
    if !context.store.is_dir() {
        return Ok(Vec::new());
    }
    let store = Store::open(&context.store)?;
    let mut listed = store.listed(&context.run)?;
    if context.backend == BTRFS {
        let snapshot_store = SnapshotStore::of(&store);
        for row in &mut listed {
            let full = format!("{}/{}", context.run, row.name);
            let snapshot_store =
                snapshot_store.as_ref().filter(|snapshot_store| snapshot_store.snapshot(&full).is_ok());
            row.snapshot = snapshot_store.map(|snapshot_store| snapshot_store.path(&full));
        }
        // Its snapshot was removed: it cannot be restored.
        listed.retain(|row| row.snapshot.is_some());
    }
    Ok(listed)
}

/// The checkpoints of a run that can be restored, and those that were removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeptNames {
    /// Those that can be restored.
    pub names: BTreeSet<String>,
    /// Those that are not kept any more, and since when: milliseconds since 1970.
    pub not_kept: BTreeMap<String, u64>,
}

/// Which checkpoints of a run are kept.
///
/// # Errors
/// When they cannot be read.
pub fn kept_names(context: &CheckpointContext) -> io::Result<KeptNames> {
    if !context.store.is_dir() {
        return Ok(KeptNames::default());
    }
    let names = listed(context)?.into_iter().map(|row| row.name).collect();
    Ok(KeptNames { names, not_kept: Store::open(&context.store)?.not_kept(&context.run) })
}

/// Two checkpoints of a run.
#[derive(Debug)]
pub struct Comparison {
    store: Store,
    snapshot_store: Option<SnapshotStore>,
    from: FullName,
    to: FullName,
}

/// The full name of a checkpoint, and the object that it leads to.
#[derive(Debug)]
struct FullName {
    name: String,
    id: Id,
}

impl FullName {
    fn named(&self) -> NamedCheckpoint<'_> {
        NamedCheckpoint { name: &self.name, id: self.id }
    }
}

impl Comparison {
    /// By their names.
    ///
    /// # Errors
    /// When one of them is not there.
    pub fn open(context: &CheckpointContext, from: &str, to: &str) -> io::Result<Self> {
        let store = Store::open(&context.store)?;
        let snapshot_store = if context.backend == BTRFS { SnapshotStore::of(&store) } else { None };
        let of = |name: &str| {
            let name = format!("{}/{name}", context.run);
            store.named(&name).map(|id| FullName { name, id })
        };
        let (from, to) = (of(from)?, of(to)?);
        Ok(Self { store, snapshot_store, from, to })
    }

    fn contents(&self) -> io::Result<RecordedContents<'_>> {
        RecordedContents::new(&self.store, self.snapshot_store.as_ref(), Some(self.from.named()), self.to.named())
    }

    /// What differs.
    ///
    /// # Errors
    /// When something of them is missing or damaged.
    pub fn changes(&self, bounds: &Bounds) -> io::Result<Difference> {
        let commits = CommitPair { from: Some(self.from.id), to: self.to.id };
        diff::changes(&self.store, &self.contents()?, commits, bounds)
    }

    /// The text of one side of a change; none where it is not a file, or longer.
    #[must_use]
    pub fn text(&self, side: Option<&Side>, bytes_max: usize) -> Option<String> {
        let bytes = self.bytes(side.filter(|side| side.kind == FileKind::File)?, bytes_max)?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The content of one side of a change, or where a link leads; none of a folder, or where it is longer.
    #[must_use]
    pub fn bytes(&self, side: &Side, bytes_max: usize) -> Option<Vec<u8>> {
        match self.contents().ok()?.read(&side.id?, bytes_max).ok()? {
            Content::Whole(bytes) => Some(bytes),
            Content::Beginning(_) => None,
        }
    }

    /// Writes what differs as text.
    ///
    /// # Errors
    /// When a content cannot be read, or `out` refuses.
    pub fn patch(
        &self,
        difference: &Difference,
        bounds: &Bounds,
        out: &mut dyn FnMut(PatchPiece, &[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        diff::patch(difference, &self.contents()?, bounds, out)
    }
}
