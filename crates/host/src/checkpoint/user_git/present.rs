//! Which objects a repository has once the saved ones are back: whether a commit and everything it needs are there,
//! or still on a remote only.
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use sha1::{Digest, Sha1};

use super::folder::GitFolder;
use super::objects::{HELD_BYTES_MAX, Objects};
use super::packs::{Bases, GitObjectKind, UserPack};
use super::remarks::Remarks;
use super::saved::{PACK, SavedState};
use super::walk::{named_by_tag, parents_of};
use crate::checkpoint::git::object::Id;

/// The objects of a repository and the saved ones.
#[derive(Debug)]
pub(super) struct Present {
    objects: Objects,
    pack: Option<UserPack>,
    bases: Bases,
    /// Whether all commits of remotes are there on which what was saved leans.
    whole: bool,
    known: HashMap<Id, bool>,
    /// Commits whose parents were never there.
    shallow: BTreeSet<Id>,
}

impl Present {
    /// Puts the saved objects into a repository unless it has them all. Whether it was needed.
    pub(super) fn restore(
        saved: &SavedState,
        folder: &Path,
        common: &GitFolder,
        remarks: &mut Remarks,
    ) -> io::Result<(Self, bool)> {
        let pack = match saved.has_objects {
            false => None,
            true => Some(UserPack::open(&GitFolder::open(folder)?, b"objects.idx").map_err(io::Error::other)?),
        };
        let objects = Objects::of(common, &saved.common_path, remarks);
        let lacks = |pack: &UserPack| pack.in_order().any(|id| objects.find(&id).is_none());
        let needed = pack.as_ref().is_some_and(lacks);
        if needed {
            let packs = common.made(b"objects/pack", &mut Vec::new())?;
            put_pack(&packs, &folder.join(PACK))?;
        }
        let has = |id: &Id| objects.find(id).is_some();
        let whole = saved.leans_on.iter().all(has);
        let (bases, known, shallow) = (Bases::default(), HashMap::new(), saved.shallow());
        Ok((Self { objects, pack, bases, whole, known, shallow }, needed))
    }

    /// Whether an object itself is there.
    pub(super) fn has(&self, id: &Id) -> bool {
        self.pack.as_ref().is_some_and(|pack| pack.find(id).is_some()) || self.objects.find(id).is_some()
    }

    /// Whether an object and all behind it are there: what is saved is visited, and what it leans on must be
    /// there; that this is whole is git's own rule.
    pub(super) fn is_complete(&mut self, id: &Id) -> bool {
        if self.whole {
            return self.has(id);
        }
        if let Some(known) = self.known.get(id) {
            return *known;
        }
        let (mut stack, mut seen, mut complete) = (vec![*id], HashSet::new(), true);
        while let Some(id) = stack.pop() {
            if !seen.insert(id) {
                continue;
            }
            match self.known.get(&id) {
                Some(true) => continue,
                Some(false) => complete = false,
                None => {}
            }
            match self.behind(&id) {
                Some(behind) => stack.extend(behind),
                None => complete &= self.objects.find(&id).is_some(),
            }
            if !complete {
                break;
            }
        }
        // All of them are complete, or at least this one is not.
        if complete {
            self.known.extend(seen.into_iter().map(|id| (id, true)));
        }
        self.known.insert(*id, complete);
        complete
    }

    /// What a saved object leads to; none if it is not among the saved ones.
    fn behind(&mut self, id: &Id) -> Option<Vec<Id>> {
        let pack = self.pack.as_ref()?;
        let offset = pack.offset_of(pack.find(id)?)?;
        let (kind, bytes) = pack.read(0, offset, HELD_BYTES_MAX, &mut self.bases)?;
        Some(match kind {
            GitObjectKind::Commit if self.shallow.contains(id) => Vec::new(),
            GitObjectKind::Commit => parents_of(&bytes),
            GitObjectKind::Tag => named_by_tag(&bytes).into_iter().collect(),
            GitObjectKind::Tree | GitObjectKind::Blob => Vec::new(),
        })
    }
}

/// Copies a pack and its index in, the index last: git finds packs by it.
fn put_pack(packs: &GitFolder, pack: &Path) -> io::Result<()> {
    let mut from = File::open(pack)?;
    let end = from.seek(SeekFrom::End(-20))?;
    let mut sum = [0; 20];
    from.read_exact(&mut sum)?;
    from.seek(SeekFrom::Start(0))?;
    let name = format!("pack-{}", Id::from_bytes(sum));
    packs.put_for_good(format!("{name}.pack").as_bytes(), |to| {
        let mut hash = Sha1::new();
        let (mut from, mut piece) = (from.take(end), vec![0; 64 * 1024]);
        loop {
            let count = from.read(&mut piece)?;
            if count == 0 {
                break;
            }
            let bytes = piece.get(..count).unwrap_or_default();
            hash.update(bytes);
            io::Write::write_all(to, bytes)?;
        }
        io::Write::write_all(to, &sum)?;
        if hash.finalize()[..] == sum { Ok(()) } else { Err(io::Error::other("the saved objects are damaged")) }
    })?;
    let index = fs::read(pack.with_extension("idx"))?;
    packs.put_for_good(format!("{name}.idx").as_bytes(), |to| io::Write::write_all(to, &index))
}
