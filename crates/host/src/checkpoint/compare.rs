//! The checkpoints of a run for whoever looks at them: which there are, and what differs between two, whatever keeps them.
use std::io;

use super::btrfs::snapshot_store::{Held, Shelved};
use super::context::{BTRFS, Place};
use super::diff::{self, Bounds, Difference, Piece};
use super::git::gc::Listed;
use super::git::object::Id;
use super::git::store::Store;

/// The checkpoints of a run, the oldest first.
///
/// # Errors
/// When they cannot be read.
pub fn listed(place: &Place) -> io::Result<Vec<Listed>> {
    if !place.store.is_dir() {
        return Ok(Vec::new());
    }
    let store = Store::open(&place.store)?;
    let mut listed = store.listed(&place.run)?;
    if place.backend == BTRFS {
        let shelved = Shelved::of(&store);
        for row in &mut listed {
            let full = format!("{}/{}", place.run, row.name);
            let shelved = shelved.as_ref().filter(|shelved| shelved.snapshot(&full).is_ok());
            row.snapshot = shelved.map(|shelved| shelved.path(&full));
        }
        // Somebody removed its snapshot: nothing of it can be gone back to.
        listed.retain(|row| row.snapshot.is_some());
    }
    Ok(listed)
}

/// Two checkpoints of a run.
#[derive(Debug)]
pub struct Comparison {
    store: Store,
    shelved: Option<Shelved>,
    from: (String, Id),
    to: (String, Id),
}

impl Comparison {
    /// By their names.
    ///
    /// # Errors
    /// When one of them is not there.
    pub fn open(place: &Place, from: &str, to: &str) -> io::Result<Self> {
        let store = Store::open(&place.store)?;
        let shelved = if place.backend == BTRFS { Shelved::of(&store) } else { None };
        let of = |name: &str| {
            let full = format!("{}/{name}", place.run);
            store.named(&full).map(|id| (full, id))
        };
        let (from, to) = (of(from)?, of(to)?);
        Ok(Self { store, shelved, from, to })
    }

    fn contents(&self) -> io::Result<Held<'_>> {
        let from = (self.from.0.as_str(), self.from.1);
        Held::new(&self.store, self.shelved.as_ref(), Some(from), (&self.to.0, self.to.1))
    }

    /// What differs.
    ///
    /// # Errors
    /// When something of them is missing or damaged.
    pub fn changes(&self, bounds: &Bounds) -> io::Result<Difference> {
        diff::changes_by(&self.store, &self.contents()?, (Some(self.from.1), self.to.1), bounds)
    }

    /// Writes what differs as text.
    ///
    /// # Errors
    /// When a content cannot be read, or `out` refuses.
    pub fn patch(
        &self,
        difference: &Difference,
        bounds: &Bounds,
        out: &mut dyn FnMut(Piece, &[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        diff::patch(difference, &self.contents()?, bounds, out)
    }
}
