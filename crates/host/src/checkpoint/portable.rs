//! The identity of recorded files that is the same on every machine: permissions beyond *executable*, empty folders and
//! nested repositories are no part of it.
//!
//! Two hashes: the id that git gives to these files, and a hash over the lines `mode path sha256(content)`, because most
//! repositories use SHA-1.
use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use loop_core::text::escape_path;
use sha2::{Digest, Sha256};

use super::context::CheckpointContext;
use super::git::object::{FILE, FOLDER, Hasher, Id, LINK, ObjectKind, PROGRAM, TreeEntry, tree};
use super::git::store::{Store, StoredEntry, StoredKind};
use super::recorded::{ContentSource, Recorded};
use crate::fs::handle::open_file;
use crate::fs::hex;

/// The folder of a repository: one inside the files does not belong to them.
const GIT: &[u8] = b".git";
const PIECE_BYTES: usize = 128 * 1024;

/// Which ids a repository gives to its objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectFormat {
    /// Forty digits.
    Sha1,
    /// Sixty-four digits.
    Sha256,
}

/// Files by hashes that are the same on every machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortableFiles {
    /// The id that git gives to them, in the format that was asked for.
    pub git_tree: String,
    /// The hash of their lines.
    pub sha256: String,
    /// Folders that are repositories of their own, from the top; the first names only.
    pub nested: Vec<String>,
}

/// The git tree of a checkpoint. File contents are not read.
///
/// # Errors
/// When it is gone or damaged.
pub(crate) fn git_tree(context: &CheckpointContext, name: &str) -> io::Result<String> {
    let store = Store::open(&context.store)?;
    let id = store.named(&format!("{}/{name}", context.run))?;
    let files = store.parts(&id)?.files;
    let found = without_repositories(&store, &files)?;
    Ok(found.unwrap_or_else(|| Id::of(ObjectKind::Tree, &[])).to_string())
}

/// A folder without what belongs to repositories in it; none where nothing is left.
fn without_repositories(store: &Store, id: &Id) -> io::Result<Option<Id>> {
    let mut entries = Vec::new();
    for entry in store.tree(id)? {
        if entry.name == GIT {
            continue;
        }
        if entry.mode != FOLDER {
            entries.push(entry);
        } else if let Some(id) = without_repositories(store, &entry.id)? {
            entries.push(TreeEntry { id, ..entry });
        }
    }
    Ok((!entries.is_empty()).then(|| Id::of(ObjectKind::Tree, &tree(entries))))
}

/// A folder in the making: names with mode and hash.
#[derive(Default)]
struct Folder {
    names: BTreeMap<Vec<u8>, Entry>,
}

enum Entry {
    Folder(Folder),
    /// The mode, and the id.
    Leaf(u32, Vec<u8>),
}

/// One file or link: its mode in git, and the id of its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leaf {
    /// The mode.
    pub mode: u32,
    /// The content.
    pub id: Id,
}

impl Recorded {
    /// Its files and links, without those that belong to repositories inside.
    #[must_use]
    pub fn leaves(&self) -> BTreeMap<Vec<u8>, Leaf> {
        let is_own = |path: &[u8]| path.split(|byte| *byte == b'/').all(|part| part != GIT);
        let leaf = |(path, entry): (&Vec<u8>, &StoredEntry)| {
            let leaf = match &entry.what {
                StoredKind::Folder => return None,
                StoredKind::Link(target) => Leaf { mode: LINK, id: Id::of(ObjectKind::Blob, target) },
                StoredKind::File(id) => Leaf { mode: if entry.mode & 0o100 == 0 { FILE } else { PROGRAM }, id: *id },
            };
            Some((path.clone(), leaf))
        };
        self.checkpoint.names.iter().filter(|(path, _)| is_own(path)).filter_map(leaf).collect()
    }

    /// Its files, by hashes that are the same everywhere. Every content is read.
    ///
    /// # Errors
    /// When a content is gone or damaged.
    pub fn portable(&self, format: ObjectFormat) -> io::Result<PortableFiles> {
        let (mut top, mut lines, mut nested) = (Folder::default(), Sha256::new(), Vec::new());
        for (path, entry) in &self.checkpoint.names {
            let mut parts = path.split(|byte| *byte == b'/');
            if parts.any(|part| part == GIT) {
                let folder = path.strip_suffix(b"/.git").map(escape_path);
                nested.extend(folder.filter(|_| nested.len() < 20));
                continue;
            }
            let (mode, contents) = match &entry.what {
                StoredKind::Folder => continue,
                StoredKind::Link(target) => (LINK, hash(&mut target.as_slice(), length_of(target), format)?),
                StoredKind::File(id) => {
                    let mode = if entry.mode & 0o100 == 0 { FILE } else { PROGRAM };
                    let contents = self.content_hashes(path, id, format)?;
                    (mode, contents)
                }
            };
            lines.update(format!("{mode:o} {} {}\n", escape_path(path), hex(&contents.plain)));
            top.put(path, mode, contents.object);
        }
        nested.sort();
        nested.dedup();
        let git_tree = hex(&top.id(format).unwrap_or_else(|| object_id(format, ObjectKind::Tree, &[])));
        Ok(PortableFiles { git_tree, sha256: hex(&lines.finalize()), nested })
    }

    fn content_hashes(&self, path: &[u8], id: &Id, format: ObjectFormat) -> io::Result<ContentHashes> {
        let (hashes, found) = match self.source() {
            ContentSource::Store(store) => {
                // The length comes before the content, and the store does not say it.
                let mut length = Counter::default();
                if format == ObjectFormat::Sha256 {
                    store.copy(id, &mut length)?;
                }
                let mut to = Hashes::new(length.0, format);
                store.copy(id, &mut to)?;
                (to, *id)
            }
            ContentSource::Snapshot(snapshot) => {
                let file = open_file(snapshot.folder(), path)?;
                let length = file.metadata()?.len();
                let (mut to, mut own) = (Hashes::new(length, format), Hasher::new(ObjectKind::Blob, length));
                copy(&mut file.take(length), &mut |piece| {
                    own.update(piece);
                    to.write_all(piece)
                })?;
                (to, own.id())
            }
        };
        if found != *id {
            let why = format!("{} is not what was recorded", escape_path(path));
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        Ok(hashes.finish(*id))
    }
}

#[derive(Default)]
struct Counter(u64);

impl Write for Counter {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.0 += length_of(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The hash of a content, and the id of its object.
struct ContentHashes {
    plain: Vec<u8>,
    object: Vec<u8>,
}

struct Hashes {
    plain: Sha256,
    object: Option<Sha256>,
}

impl Hashes {
    fn new(length: u64, format: ObjectFormat) -> Self {
        let object = match format {
            ObjectFormat::Sha1 => None,
            ObjectFormat::Sha256 => Some(Sha256::new().chain_update(format!("blob {length}\0"))),
        };
        Self { plain: Sha256::new(), object }
    }

    /// `known` is the id in the other format.
    fn finish(self, known: Id) -> ContentHashes {
        let object = self.object.map_or_else(|| known.bytes().to_vec(), |object| object.finalize().to_vec());
        ContentHashes { plain: self.plain.finalize().to_vec(), object }
    }
}

impl Write for Hashes {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.plain.update(piece);
        if let Some(object) = &mut self.object {
            object.update(piece);
        }
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn hash(from: &mut dyn Read, length: u64, format: ObjectFormat) -> io::Result<ContentHashes> {
    let (mut to, mut own) = (Hashes::new(length, format), Hasher::new(ObjectKind::Blob, length));
    copy(from, &mut |piece| {
        own.update(piece);
        to.write_all(piece)
    })?;
    Ok(to.finish(own.id()))
}

fn copy(from: &mut dyn Read, to: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        match from.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(count) => to(piece.get(..count).unwrap_or_default())?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn length_of(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

/// The id of an object as its bytes.
fn object_id(format: ObjectFormat, kind: ObjectKind, bytes: &[u8]) -> Vec<u8> {
    match format {
        ObjectFormat::Sha1 => Id::of(kind, bytes).bytes().to_vec(),
        ObjectFormat::Sha256 => {
            let head = format!("{} {}\0", kind.name(), bytes.len());
            Sha256::new().chain_update(head).chain_update(bytes).finalize().to_vec()
        }
    }
}

/// A name of a folder, and how git sorts it.
struct GitName<'a> {
    sorted: Vec<u8>,
    name: &'a [u8],
    mode: u32,
    id: Vec<u8>,
}

impl Folder {
    fn put(&mut self, path: &[u8], mode: u32, id: Vec<u8>) {
        match path.iter().position(|byte| *byte == b'/') {
            None => {
                self.names.insert(path.to_vec(), Entry::Leaf(mode, id));
            }
            Some(slash) => {
                let name = path.get(..slash).unwrap_or_default().to_vec();
                let below = self.names.entry(name).or_insert_with(|| Entry::Folder(Self::default()));
                if let Entry::Folder(below) = below {
                    below.put(path.get(slash + 1..).unwrap_or_default(), mode, id);
                }
            }
        }
    }

    /// Its id; none where it is empty.
    fn id(&self, format: ObjectFormat) -> Option<Vec<u8>> {
        let mut entries: Vec<GitName<'_>> = Vec::new();
        for (name, entry) in &self.names {
            match entry {
                Entry::Leaf(mode, id) => {
                    entries.push(GitName { sorted: name.clone(), name, mode: *mode, id: id.clone() });
                }
                Entry::Folder(below) => {
                    // Git sorts a folder as if its name ended with a slash.
                    let sorted = [name.as_slice(), b"/"].concat();
                    entries.extend(below.id(format).map(|id| GitName { sorted, name, mode: FOLDER, id }));
                }
            }
        }
        entries.sort_by(|one, other| one.sorted.cmp(&other.sorted));
        let mut bytes = Vec::new();
        for entry in &entries {
            bytes.extend_from_slice(format!("{:o} ", entry.mode).as_bytes());
            bytes.extend_from_slice(entry.name);
            bytes.push(0);
            bytes.extend_from_slice(&entry.id);
        }
        (!entries.is_empty()).then(|| object_id(format, ObjectKind::Tree, &bytes))
    }
}
