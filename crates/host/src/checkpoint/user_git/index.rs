//! The index of a repository, read as data: versions 2, 3 and 4.
use std::collections::BTreeSet;

use sha1::{Digest, Sha1};

use super::folder::GitFolder;
use crate::checkpoint::git::object::Id;

/// An index longer than this is not read.
pub(super) const INDEX_BYTES_MAX: u64 = 512 * 1024 * 1024;
/// The paths of the fourth version repeat each other's beginnings: together they are bounded as well.
const PATHS_BYTES_MAX: usize = 1024 * 1024 * 1024;
/// Before the flags of an entry: times, device, number, mode, owner, size; then the id.
const STAT_BYTES: usize = 40;
const SUM_BYTES: usize = 20;
/// A submodule.
pub(super) const COMMIT_MODE: u32 = 0o160_000;

/// One name of the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IndexEntry {
    pub(super) path: Vec<u8>,
    pub(super) mode: u32,
    pub(super) id: Id,
}

/// What an index holds.
#[derive(Debug, Default)]
pub(super) struct Index {
    pub(super) entries: Vec<IndexEntry>,
    /// The index that holds the rest (a split index).
    pub(super) shared: Option<Id>,
}

impl Index {
    /// That of a git folder; an absent one is empty. Of a split index all entries of both parts are given: which
    /// of the shared ones were removed since is not checked: rather too much than too little.
    pub(super) fn of(git: &GitFolder) -> Result<Self, String> {
        let odd = |error: std::io::Error| format!("the index cannot be read: {error}");
        let Some(bytes) = git.read(b"index", INDEX_BYTES_MAX).map_err(odd)? else { return Ok(Self::default()) };
        let mut index = Self::parse(&bytes)?;
        if let Some(shared) = index.shared {
            let name = shared_name(&shared);
            let bytes = git.read(name.as_bytes(), INDEX_BYTES_MAX).map_err(odd)?;
            let bytes = bytes.ok_or_else(|| format!("the index is split and {name} is missing"))?;
            index.entries.append(&mut Self::parse(&bytes)?.entries);
        }
        Ok(index)
    }

    /// The paths, each once and sorted. What stands for a whole folder outside of a sparse checkout is none.
    pub(super) fn paths(self) -> Vec<Vec<u8>> {
        let plain = |entry: &IndexEntry| entry.mode != crate::checkpoint::git::object::FOLDER;
        let paths: BTreeSet<Vec<u8>> =
            self.entries.into_iter().filter(plain).map(|entry| entry.path).filter(|path| is_path(path)).collect();
        paths.into_iter().collect()
    }

    pub(super) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let body_length = bytes.len().checked_sub(SUM_BYTES).ok_or("the index is cut short")?;
        let (body, sum) = bytes.split_at(body_length);
        // A checksum of zeros means that there is none.
        if sum.iter().any(|byte| *byte != 0) && Sha1::digest(body)[..] != *sum {
            return Err("the index is damaged: its sum is another".to_owned());
        }
        read_index(body).ok_or_else(|| "the index is damaged, or of a kind that is not understood".to_owned())
    }
}

/// What the shared part of a split index is called.
pub(super) fn shared_name(id: &Id) -> String {
    format!("sharedindex.{id}")
}

/// A path that leads nowhere else.
fn is_path(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/').all(|part| !part.is_empty() && part != b"." && part != b"..")
}

fn read_index(body: &[u8]) -> Option<Index> {
    let mut rest = Rest(body);
    if rest.take(4)? != b"DIRC" {
        return None;
    }
    let version = rest.number()?;
    let count = rest.number()?;
    if !(2..=4).contains(&version) {
        return None;
    }
    let (mut entries, mut total, mut before) = (Vec::new(), 0, Vec::new());
    for _ in 0..count {
        let entry = rest.entry(version, &mut before)?;
        total += entry.path.len();
        if total > PATHS_BYTES_MAX {
            return None;
        }
        // The replaced entries of a split index have no name; the shared part has it.
        if !entry.path.is_empty() {
            entries.push(entry);
        }
    }
    let mut shared = None;
    while !rest.0.is_empty() {
        let name = rest.take(4)?;
        let length = usize::try_from(rest.number()?).ok()?;
        let content = rest.take(length)?;
        if name == b"link" {
            let id = Id::from_bytes(content.get(..20)?.try_into().ok()?);
            shared = (id.bytes() != &[0; 20]).then_some(id);
        }
    }
    Some(Index { entries, shared })
}

/// What is still to be read.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    fn entry(&mut self, version: u32, before: &mut Vec<u8>) -> Option<IndexEntry> {
        let stat = self.take(STAT_BYTES)?;
        let mode = u32::from_be_bytes(stat.get(24..28)?.try_into().ok()?);
        let id = Id::from_bytes(self.take(20)?.try_into().ok()?);
        let flags = u16::from_be_bytes(self.take(2)?.try_into().ok()?);
        let mut length = STAT_BYTES + 22;
        if version >= 3 && flags & 0x4000 != 0 {
            self.take(2)?;
            length += 2;
        }
        let strip = if version == 4 { Some(self.strip()?) } else { None };
        let end = self.0.iter().position(|byte| *byte == 0)?;
        let text = self.take(end)?;
        let path = match strip {
            Some(strip) => {
                self.take(1)?;
                before.truncate(before.len().checked_sub(strip)?);
                before.extend_from_slice(text);
                before.clone()
            }
            None => {
                // One to eight zeros, up to a multiple of eight.
                self.take(8 - (length + end) % 8)?;
                text.to_vec()
            }
        };
        Some(IndexEntry { path, mode, id })
    }

    /// How much of the path before is cut off, in the numbers that packs use for offsets.
    fn strip(&mut self) -> Option<usize> {
        super::packs::offset_number(&mut || self.take(1)?.first().copied())
            .and_then(|number| usize::try_from(number).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_index_is_said() {
        for bytes in [&b""[..], b"DIRC", &[0; 40], b"DIRC\0\0\0\x09\0\0\0\0                    "] {
            assert!(Index::parse(bytes).is_err());
        }
        let mut many = b"DIRC\0\0\0\x02\xff\xff\xff\xff".to_vec();
        many.extend([0; 20]);
        assert!(Index::parse(&many).is_err(), "a count alone takes no memory");
    }
}
