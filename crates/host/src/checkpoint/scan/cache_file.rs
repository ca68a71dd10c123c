//! The cache on disk, for the next process. It only saves time. It is not synced but has a checksum: a missing,
//! torn, foreign or older file is ignored.
use std::fs;
use std::io;
use std::path::PathBuf;

use super::cache::{Arena, CacheEntry, CachedFolder, EntryKind, EntryState, Moment, ScanCache, Stamp, TOP};
use crate::checkpoint::git::object::Id;
use crate::checkpoint::git::store::Store;
use crate::fs::write_beside;

/// The first bytes of one in this form.
const MAGIC: &[u8] = b"loop scan cache 1\n";

/// Written before its checksum.
#[derive(Default)]
struct Out(Vec<u8>);

impl Out {
    fn number(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn signed(&mut self, number: i64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(&u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes());
        self.0.extend_from_slice(bytes);
    }

    fn folder(&mut self, arena: &Arena, folder: &CachedFolder) {
        self.0.extend_from_slice(&[folder.ignored.into(), folder.only_for_content.into(), folder.has_outside.into()]);
        self.number(u64::try_from(folder.entries.len()).unwrap_or(0));
        for entry in &folder.entries {
            self.bytes(&entry.name);
            let kind = match entry.kind {
                EntryKind::File => 0,
                EntryKind::Link => 1,
                EntryKind::Folder => 2,
            };
            self.0.extend_from_slice(&[kind, (entry.state == EntryState::Sure).into()]);
            self.0.extend_from_slice(&entry.mode.to_le_bytes());
            self.number(entry.stamp.size);
            self.signed(entry.stamp.modified);
            self.signed(entry.stamp.changed);
            self.number(entry.stamp.inode);
            self.0.extend_from_slice(&entry.stamp.names.to_le_bytes());
            self.0.extend_from_slice(entry.id.bytes());
            if let Some(below) = arena.get(entry.folder).filter(|_| entry.kind == EntryKind::Folder) {
                self.folder(arena, below);
            }
        }
    }
}

/// Read piece by piece; none at the first that is not there.
struct In<'a>(&'a [u8]);

impl<'a> In<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (piece, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(piece)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn number(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn signed(&mut self) -> Option<i64> {
        self.array().map(i64::from_le_bytes)
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let count = u32::from_le_bytes(self.array()?);
        self.take(usize::try_from(count).ok()?)
    }

    /// Reads a folder into the arena.
    fn folder(&mut self, arena: &mut Arena, index: u32, mut folder: CachedFolder) -> Option<()> {
        let [ignored, only_for_content, has_outside] = self.array()?;
        folder.ignored = ignored == 1;
        folder.only_for_content = only_for_content == 1;
        folder.has_outside = has_outside == 1;
        for _ in 0..self.number()? {
            let name: Box<[u8]> = self.bytes()?.into();
            let [kind, sure] = self.array()?;
            let kind = match kind {
                0 => EntryKind::File,
                1 => EntryKind::Link,
                2 => EntryKind::Folder,
                _ => return None,
            };
            let mode = u16::from_le_bytes(self.array()?);
            let (size, modified, changed) = (self.number()?, self.signed()?, self.signed()?);
            let (inode, names) = (self.number()?, u32::from_le_bytes(self.array()?));
            let stamp = Stamp { size, modified, changed, inode, names };
            let id = Id::from_bytes(self.array()?);
            let state = if sure == 1 { EntryState::Sure } else { EntryState::Racy };
            let mut entry = CacheEntry { name, kind, state, stored: false, mode, stamp, id, folder: 0 };
            if kind == EntryKind::Folder {
                entry.folder = arena.add(CachedFolder::new(index, &entry.name));
                let below = CachedFolder::new(index, &entry.name);
                self.folder(arena, entry.folder, below)?;
            }
            folder.entries.push(entry);
        }
        arena.put(index, Box::new(folder));
        Some(())
    }
}

fn encode(cache: &ScanCache, known: &[Id]) -> Vec<u8> {
    let mut out = Out(MAGIC.to_vec());
    out.bytes(cache.run.as_bytes());
    out.number(cache.identity.0);
    out.number(cache.identity.1);
    out.signed(cache.moment.wall);
    out.signed(cache.moment.boot);
    out.0.extend_from_slice(&cache.moment.boot_id.to_le_bytes());
    out.bytes(serde_json::to_string(&cache.rules).unwrap_or_default().as_bytes());
    out.number(u64::try_from(known.len()).unwrap_or(0));
    known.iter().for_each(|id| out.0.extend_from_slice(id.bytes()));
    out.number(u64::try_from(cache.held.len()).unwrap_or(0));
    cache.held.iter().for_each(|path| out.bytes(path));
    if let Some(top) = cache.arena.get(TOP) {
        out.folder(&cache.arena, top);
    }
    let sum = crc32fast::hash(&out.0);
    out.0.extend_from_slice(&sum.to_le_bytes());
    out.0
}

/// A cache, and the checkpoints whose paths it knows.
fn decode(bytes: &[u8]) -> Option<(ScanCache, Vec<Id>)> {
    let (body, sum) = bytes.split_at_checked(bytes.len().checked_sub(4)?)?;
    if crc32fast::hash(body).to_le_bytes() != sum {
        return None;
    }
    let mut body = In(body.strip_prefix(MAGIC)?);
    let mut cache = ScanCache::empty(std::str::from_utf8(body.bytes()?).ok()?);
    cache.identity = (body.number()?, body.number()?);
    let (wall, boot) = (body.signed()?, body.signed()?);
    cache.moment = Moment { wall, boot, boot_id: u32::from_le_bytes(body.array()?) };
    cache.rules = serde_json::from_slice(body.bytes()?).ok()?;
    let mut known = Vec::new();
    for _ in 0..body.number()? {
        known.push(Id::from_bytes(body.array()?));
    }
    for _ in 0..body.number()? {
        cache.held.insert(body.bytes()?.to_vec());
    }
    body.folder(&mut cache.arena, TOP, CachedFolder::new(TOP, b""))?;
    body.0.is_empty().then_some((cache, known))
}

impl Store {
    fn cache_path(&self, run: &str) -> PathBuf {
        self.folder.join("pictures").join(run.replace('/', "_"))
    }

    /// What is known of the workspace for a run: what its last process wrote down, or at least what another run knew of
    /// the files. What its checkpoints hold stays in scope in any case.
    ///
    /// # Errors
    /// When a checkpoint of the run is damaged.
    pub fn cache(&self, run: &str) -> io::Result<ScanCache> {
        let read = |path: PathBuf| fs::read(path).ok().and_then(|bytes| decode(&bytes));
        if let Some((mut cache, known)) = read(self.cache_path(run)).filter(|(cache, _)| cache.run == run) {
            cache.hold(self.held_since(run, &known)?);
            return Ok(cache);
        }
        let other = self.newest_cache().and_then(read);
        let mut cache = other.map_or_else(|| ScanCache::empty(run), |(cache, _)| cache);
        if cache.run != run {
            cache.held.clear();
            cache.is_of_run = false;
            cache.run = run.to_owned();
        }
        cache.hold(self.held_since(run, &[])?);
        Ok(cache)
    }

    fn newest_cache(&self) -> Option<PathBuf> {
        let entries = fs::read_dir(self.folder.join("pictures")).ok()?.flatten();
        let dated = entries.filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())));
        dated.max().map(|(_, path)| path)
    }

    /// Writes down what is known, for the next process.
    ///
    /// # Errors
    /// When it cannot be written; nothing is lost but time.
    pub fn write_cache(&self, cache: &mut ScanCache) -> io::Result<()> {
        let known: Vec<Id> = self.names_of(&cache.run)?.into_iter().map(|(_, id)| id).collect();
        write_beside(&self.cache_path(&cache.run), &encode(cache, &known))?;
        cache.unwritten = 0;
        Ok(())
    }

    /// Forgets what is known for a run.
    pub fn forget_cache(&self, run: &str) {
        // What is not there is forgotten already.
        fs::remove_file(self.cache_path(run)).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_is_read_back_and_a_torn_or_changed_one_is_ignored() {
        let mut cache = ScanCache::empty("run");
        cache.hold([b"held".to_vec()]);
        cache.moment = Moment { wall: 5, boot: -6, boot_id: 7 };
        let below = cache.arena.add(CachedFolder::new(TOP, b"sub"));
        let entry = |name: &[u8], kind, folder| CacheEntry {
            name: name.into(),
            kind,
            state: EntryState::Sure,
            stored: true,
            mode: 0o640,
            stamp: Stamp { size: 1, modified: 2, changed: 3, inode: 4, names: 5 },
            id: Id::from_bytes([9; 20]),
            folder,
        };
        if let Some(folder) = cache.arena.get_mut(below) {
            folder.entries = vec![entry(b"\xff", EntryKind::Link, 0)];
        }
        if let Some(folder) = cache.arena.get_mut(TOP) {
            folder.entries = vec![entry(b"a", EntryKind::File, 0), entry(b"sub", EntryKind::Folder, below)];
        }
        let bytes = encode(&cache, &[Id::from_bytes([1; 20])]);
        let (read, known) = decode(&bytes).unwrap();
        assert_eq!(encode(&read, &known), bytes);
        assert_eq!(read.len(), 3);
        for cut in 0..bytes.len() {
            assert!(decode(&bytes[..cut]).is_none(), "cut at {cut}");
            let mut other = bytes.clone();
            other[cut] ^= 1;
            assert!(decode(&other).is_none(), "changed at {cut}");
        }
    }
}
