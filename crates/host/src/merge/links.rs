//! Which names are one file. The groups of the three sides are compared by the names that their files have in the
//! result.
use std::collections::{BTreeMap, BTreeSet};

use super::names::{Moves, Sides};
use crate::checkpoint::{StoredEntry, StoredKind};

/// So many pairs of names are compared at most.
const PAIRS_MAX: usize = 1_000_000;

/// Names that are one file, sorted.
pub(super) type Group = Vec<Vec<u8>>;

/// Merges the groups; the names of a conflict where that cannot be done.
pub(super) fn merge_links(
    sides: &Sides,
    moves: &Moves,
    names: &BTreeMap<Vec<u8>, StoredEntry>,
) -> Result<Vec<Group>, Group> {
    let base = placed(&sides.base_manifest.same, &moves.base, names);
    let ours = placed(&sides.ours.manifest.same, &moves.ours, names);
    let theirs = placed(&sides.their_manifest.same, &moves.theirs, names);
    let groups = if ours == theirs || theirs == base {
        ours
    } else if ours == base {
        theirs
    } else {
        by_pairs(&base, &ours, &theirs)?
    };
    for group in &groups {
        let mut entries = group.iter().map(|name| names.get(name));
        let first = entries.next().flatten();
        if entries.any(|entry| entry != first) {
            return Err(group.clone());
        }
    }
    Ok(groups.into_iter().collect())
}

/// Groups by the names in the result. What is not a file there belongs to none.
fn placed(
    groups: &[Group],
    moves: &BTreeMap<Vec<u8>, Vec<u8>>,
    names: &BTreeMap<Vec<u8>, StoredEntry>,
) -> BTreeSet<Group> {
    let is_file = |name: &Vec<u8>| names.get(name).is_some_and(|entry| matches!(entry.what, StoredKind::File(_)));
    let place = |group: &Group| {
        let names: BTreeSet<Vec<u8>> = group.iter().map(|name| moves.get(name).unwrap_or(name)).cloned().collect();
        names.into_iter().filter(is_file).collect::<Group>()
    };
    groups.iter().map(place).filter(|group| group.len() > 1).collect()
}

/// Both sides changed groups: two names are one file if that is what the side wants that changed it.
fn by_pairs(
    base: &BTreeSet<Group>,
    ours: &BTreeSet<Group>,
    theirs: &BTreeSet<Group>,
) -> Result<BTreeSet<Group>, Group> {
    let everywhere: BTreeSet<Group> =
        base.iter().filter(|group| ours.contains(*group) && theirs.contains(*group)).cloned().collect();
    let open = |groups: &BTreeSet<Group>| -> BTreeSet<Group> { groups.difference(&everywhere).cloned().collect() };
    let sides = [open(base), open(ours), open(theirs)];
    let pairs = sides.each_ref().map(pairs_of);
    let [Some(base), Some(ours), Some(theirs)] = pairs else {
        return Err(sides.into_iter().flatten().next().unwrap_or_default());
    };
    let mut linked: BTreeMap<&Vec<u8>, BTreeSet<&Vec<u8>>> = BTreeMap::new();
    for pair in ours.iter().chain(&theirs) {
        let (was, own, other) = (base.contains(pair), ours.contains(pair), theirs.contains(pair));
        if if own == was { other } else { own } {
            linked.entry(pair.0).or_default().insert(pair.1);
            linked.entry(pair.1).or_default().insert(pair.0);
        }
    }
    let mut groups = everywhere.clone();
    for (name, others) in &linked {
        let mut group = others.clone();
        group.insert(name);
        // Every two of a group must be one file.
        let is_whole = group.iter().all(|one| {
            linked.get(one).is_some_and(|of_one| group.iter().all(|other| other == one || of_one.contains(other)))
        });
        let group: Group = group.into_iter().cloned().collect();
        if !is_whole || everywhere.iter().any(|known| known.iter().any(|name| group.contains(name))) {
            return Err(group);
        }
        groups.insert(group);
    }
    Ok(groups)
}

type Pair<'a> = (&'a Vec<u8>, &'a Vec<u8>);

/// Every two names of each group; none where these are too many.
fn pairs_of(groups: &BTreeSet<Group>) -> Option<BTreeSet<Pair<'_>>> {
    let count = groups.iter().map(|group| group.len().saturating_mul(group.len())).fold(0, usize::saturating_add);
    if count > PAIRS_MAX {
        return None;
    }
    let mut pairs = BTreeSet::new();
    for group in groups {
        for (at, one) in group.iter().enumerate() {
            pairs.extend(group.iter().skip(at + 1).map(|other| (one, other)));
        }
    }
    Some(pairs)
}
