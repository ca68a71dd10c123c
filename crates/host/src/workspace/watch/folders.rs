//! The watched folders, as a tree: each has its name and its parent, so a moved folder takes everything below it
//! along.
use std::collections::{BTreeMap, HashMap};

use crate::checkpoint::DirRules;

/// Deeper than any folder that is watched: who climbs so far goes round in circles.
const CLIMB_MAX: usize = 600;

/// The kernel's number of a watch. None is given out twice.
pub(super) type Number = i32;

/// Where a watched folder lies: the folder above, and its name there. None for the workspace itself.
pub(super) type FolderLocation = Option<(Number, Vec<u8>)>;

#[derive(Debug)]
struct Folder {
    location: FolderLocation,
    /// Watched folders in it.
    inside: BTreeMap<Vec<u8>, Number>,
    scope: DirRules,
}

/// All folders that are watched.
#[derive(Debug, Default)]
pub(super) struct Folders {
    known: HashMap<Number, Folder>,
}

impl Folders {
    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    /// What holds for the names in a folder.
    pub(super) fn scope(&self, number: Number) -> Option<&DirRules> {
        self.known.get(&number).map(|folder| &folder.scope)
    }

    /// The watched folder of this name in another.
    pub(super) fn at(&self, above: Number, name: &[u8]) -> Option<Number> {
        self.known.get(&above).and_then(|folder| folder.inside.get(name)).copied()
    }

    pub(super) fn is_top(&self, number: Number) -> bool {
        self.known.get(&number).is_some_and(|folder| folder.location.is_none())
    }

    /// Names from the top down to a folder. None if it is not known, or the tree is none.
    fn names(&self, number: Number) -> Option<Vec<&[u8]>> {
        let mut names = Vec::new();
        let mut at = number;
        for _ in 0..CLIMB_MAX {
            match &self.known.get(&at)?.location {
                None => {
                    names.reverse();
                    return Some(names);
                }
                Some((above, name)) => {
                    names.push(name.as_slice());
                    at = *above;
                }
            }
        }
        None
    }

    /// The path of a folder, empty for the workspace. None if it is not known, or the tree is none.
    pub(super) fn path(&self, number: Number) -> Option<Vec<u8>> {
        self.names(number).map(|names| names.join(&b'/'))
    }

    fn lies_below(&self, number: Number, other: Number) -> bool {
        let mut at = number;
        for _ in 0..CLIMB_MAX {
            if at == other {
                return true;
            }
            match self.known.get(&at).and_then(|folder| folder.location.as_ref()) {
                Some((above, _)) => at = *above,
                None => return false,
            }
        }
        true
    }

    /// Notes where a folder lies. One that is known elsewhere was moved. None if it cannot lie there; else what is
    /// known to have lain there before and is to be forgotten.
    pub(super) fn put(&mut self, number: Number, location: FolderLocation, scope: DirRules) -> Option<Vec<Number>> {
        let mut gone = Vec::new();
        if let Some((above, name)) = &location {
            if self.lies_below(*above, number) {
                return None;
            }
            if let Some(other) = self.at(*above, name).filter(|other| *other != number) {
                gone = self.forget(other);
            }
        }
        self.detach(number);
        let inside = self.known.remove(&number).map(|folder| folder.inside).unwrap_or_default();
        if let Some((above, name)) = &location {
            // It may have lain in what has just been forgotten.
            self.known.get_mut(above)?.inside.insert(name.clone(), number);
        }
        self.known.insert(number, Folder { location, inside, scope });
        gone.retain(|other| *other != number);
        Some(gone)
    }

    fn detach(&mut self, number: Number) {
        let location = self.known.get(&number).and_then(|folder| folder.location.clone());
        if let Some((above, name)) = location
            && self.at(above, &name) == Some(number)
            && let Some(above) = self.known.get_mut(&above)
        {
            above.inside.remove(&name);
        }
    }

    /// Forgets a folder and all below it, and returns which they were.
    pub(super) fn forget(&mut self, number: Number) -> Vec<Number> {
        self.detach(number);
        let (mut gone, mut open) = (Vec::new(), vec![number]);
        while let Some(number) = open.pop() {
            if let Some(folder) = self.known.remove(&number) {
                open.extend(folder.inside.into_values());
                gone.push(number);
            }
        }
        gone
    }
}
