//! The store: a git folder of our own with the checkpoints of one workspace. A checkpoint is a commit whose tree
//! has `files`, `manifest` and `scope`, and `ignored` where there are small ignored files. Its objects are one pack that ends with the commit. Its name is a ref.
use std::collections::{BTreeMap, HashSet};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{FlockOperation, flock};

use super::manifest::{Lookup, Manifest};
use super::object::{CommitParts, FOLDER, Id, LINK, ObjectKind, TreeEntry, read_commit, read_tree};
use super::pack::Pack;
use crate::fs::handle::joined;
use crate::fs::write_beside;

/// With git, the bytes are shown as they are.
const CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n\tautocrlf = false\n[gc]\n\tauto = 0\n";
const ATTRIBUTES: &str = "* -text -eol -ident -filter -working-tree-encoding -export-subst !diff\n";
/// The names in the tree of a checkpoint.
pub(in crate::checkpoint) const FILES: &[u8] = b"files";
pub(in crate::checkpoint) const MANIFEST: &[u8] = b"manifest";
pub(in crate::checkpoint) const SCOPE: &[u8] = b"scope";
/// The part with small ignored files: a tree with `files` and `manifest`.
pub(in crate::checkpoint) const IGNORED: &[u8] = b"ignored";

/// The next number of [`Store::packs_state`].
static NEXT_PACKS_STATE: AtomicU64 = AtomicU64::new(1);

fn next_packs_state() -> u64 {
    NEXT_PACKS_STATE.fetch_add(1, Ordering::Relaxed)
}

/// The store of a workspace.
#[derive(Debug)]
pub struct Store {
    pub(in crate::checkpoint) folder: PathBuf,
    /// The greatest first: most objects are in the first checkpoint.
    pub(in crate::checkpoint) packs: Vec<Pack>,
    /// Another number as soon as objects may be gone, and for every store that is opened. A scan cache that was filled
    /// under another number does not know what is in the store.
    pub(in crate::checkpoint) packs_state: u64,
}

/// The parts of a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts {
    /// The tree of the files: the same tree means the same contents.
    pub files: Id,
    /// What git cannot hold of them. Both the same means the same state.
    pub manifest: Id,
    /// What was not taken, and by which rules.
    pub scope: Id,
}

/// One name of a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEntry {
    /// What it is.
    pub what: StoredKind,
    /// Its permissions.
    pub mode: u32,
}

/// What a stored name is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoredKind {
    /// A file with this content.
    File(Id),
    /// A link that leads there.
    Link(Vec<u8>),
    /// A folder.
    Folder,
}

/// A checkpoint that can be restored.
#[derive(Debug, Default)]
pub struct Checkpoint {
    /// Every name.
    pub names: BTreeMap<Vec<u8>, StoredEntry>,
    /// What git cannot hold.
    pub manifest: Manifest,
}

/// A checkpoint by its full name, with the object that the name leads to.
#[derive(Debug, Clone, Copy)]
pub(in crate::checkpoint) struct NamedCheckpoint<'a> {
    pub(in crate::checkpoint) name: &'a str,
    pub(in crate::checkpoint) id: Id,
}

impl Store {
    /// Opens the store in a folder, or makes it. What a killed process or a power cut left half done is finished or
    /// removed.
    ///
    /// # Errors
    /// When the machine does not allow it.
    pub fn open(folder: &Path) -> io::Result<Self> {
        if !folder.join("HEAD").exists() {
            for name in ["objects/pack", "objects/info", "refs/heads", "refs/loop", "info", "pictures"] {
                DirBuilder::new().recursive(true).mode(0o700).create(folder.join(name))?;
            }
            for (name, text) in
                [("config", CONFIG), ("info/attributes", ATTRIBUTES), ("HEAD", "ref: refs/heads/none\n")]
            {
                write_beside(&folder.join(name), text.as_bytes())?;
            }
            // So that a pack's own sync is enough from now on.
            for name in ["objects/pack", "objects", "info", ""] {
                crate::fs::sync_folder(&folder.join(name))?;
            }
        }
        let mut store = Self { folder: folder.to_owned(), packs: Vec::new(), packs_state: next_packs_state() };
        store.repair()?;
        store.refresh()?;
        Ok(store)
    }

    /// Where it is.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub(in crate::checkpoint) fn pack_folder(&self) -> PathBuf {
        self.folder.join("objects/pack")
    }

    /// Shared by those who take checkpoints; exclusive for removing.
    ///
    /// # Errors
    /// When the machine does not allow it.
    pub fn lock(&self, alone: bool) -> io::Result<File> {
        let file = self.lock_file()?;
        flock(&file, if alone { FlockOperation::LockExclusive } else { FlockOperation::LockShared })?;
        Ok(file)
    }

    pub(in crate::checkpoint) fn lock_file(&self) -> io::Result<File> {
        let path = self.folder.join("lock");
        OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)
    }

    /// Finds packs of other processes, and those that are gone.
    ///
    /// # Errors
    /// When the packs cannot be listed.
    pub fn refresh(&mut self) -> io::Result<()> {
        let mut there: HashSet<PathBuf> = HashSet::new();
        for entry in fs::read_dir(self.pack_folder())? {
            let path = entry?.path();
            if path.extension().is_some_and(|end| end == "idx") {
                there.insert(path.with_extension("pack"));
            }
        }
        let before = self.packs.len();
        self.packs.retain(|pack| there.remove(pack.path()));
        if self.packs.len() < before {
            // The next checkpoint must know it, also where another call has seen it first.
            self.packs_state = next_packs_state();
        }
        for path in there {
            match Pack::open(&path) {
                Ok(pack) => self.packs.push(pack),
                // Removed since, or not whole: then it is made again when the store is opened next.
                Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidData) => {}
                Err(error) => return Err(error),
            }
        }
        self.sort();
        Ok(())
    }

    pub(in crate::checkpoint) fn sort(&mut self) {
        self.packs.sort_by_key(|pack| std::cmp::Reverse(pack.len()));
    }

    /// Whether an object is in the store.
    #[must_use]
    pub fn has(&self, id: &Id) -> bool {
        self.packs.iter().any(|pack| pack.has(id))
    }

    /// Writes an object's bytes out.
    ///
    /// # Errors
    /// When it is not there, or damaged.
    pub fn copy(&self, id: &Id, to: &mut dyn Write) -> io::Result<ObjectKind> {
        let pack = self.packs.iter().find(|pack| pack.has(id));
        let found = pack.map(|pack| pack.read(id, to)).transpose()?.flatten();
        found.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("object {id} is not in the store")))
    }

    /// An object of a kind.
    ///
    /// # Errors
    /// When it is not there, damaged, or of another kind.
    pub fn read(&self, id: &Id, kind: ObjectKind) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let found = self.copy(id, &mut bytes)?;
        if found == kind { Ok(bytes) } else { Err(io::Error::other(format!("object {id} is not a {kind:?}"))) }
    }

    /// The names in a folder.
    ///
    /// # Errors
    /// When it is not there, or damaged.
    pub fn tree(&self, id: &Id) -> io::Result<Vec<TreeEntry>> {
        read_tree(&self.read(id, ObjectKind::Tree)?).ok_or_else(|| odd(&format!("{id} is not a folder")))
    }

    /// The fields of a checkpoint's commit.
    ///
    /// # Errors
    /// When it is not there, or damaged.
    pub fn commit(&self, id: &Id) -> io::Result<CommitParts> {
        read_commit(&self.read(id, ObjectKind::Commit)?)
            .ok_or_else(|| odd(&format!("{id} is not a checkpoint of loop")))
    }

    /// The parts of a checkpoint.
    ///
    /// # Errors
    /// When it is not there, or is none of ours.
    pub fn parts(&self, id: &Id) -> io::Result<Parts> {
        let root = self.tree(&self.commit(id)?.tree)?;
        let of = |name: &[u8]| {
            let found = root.iter().find(|entry| entry.name == name).map(|entry| entry.id);
            found.ok_or_else(|| odd(&format!("{id} is not a checkpoint of loop")))
        };
        Ok(Parts { files: of(FILES)?, manifest: of(MANIFEST)?, scope: of(SCOPE)? })
    }

    /// The small ignored files of a checkpoint; none where it has no such part.
    pub(in crate::checkpoint) fn ignored(&self, id: &Id) -> io::Result<Option<Checkpoint>> {
        let root = self.tree(&self.commit(id)?.tree)?;
        let Some(part) = root.into_iter().find(|entry| entry.name == IGNORED) else { return Ok(None) };
        let both = self.tree(&part.id)?;
        let of = |name: &[u8]| both.iter().find(|entry| entry.name == name).map(|entry| entry.id);
        let (Some(files), Some(manifest)) = (of(FILES), of(MANIFEST)) else { return Err(odd("a part without files")) };
        let text = self.read(&manifest, ObjectKind::Blob)?;
        let manifest = Manifest::read(&text, b"").ok_or_else(|| odd("a manifest of a form that is not known"))?;
        let mut names = BTreeMap::new();
        self.gather(&files, &[], &Lookup::new(&manifest), &mut names)?;
        Ok(Some(Checkpoint { names, manifest }))
    }

    /// What git cannot hold of a checkpoint.
    ///
    /// # Errors
    /// When it is not there, or is of a form that we do not know.
    pub fn manifest(&self, parts: &Parts) -> io::Result<Manifest> {
        let (state, scope) =
            (self.read(&parts.manifest, ObjectKind::Blob)?, self.read(&parts.scope, ObjectKind::Blob)?);
        Manifest::read(&state, &scope).ok_or_else(|| odd("a manifest of a form that is not known"))
    }

    /// A checkpoint, whole.
    ///
    /// # Errors
    /// When something of it is missing or damaged.
    pub fn load(&self, id: Id) -> io::Result<Checkpoint> {
        let parts = self.parts(&id)?;
        let manifest = self.manifest(&parts)?;
        let mut names = BTreeMap::new();
        let lookup = Lookup::new(&manifest);
        self.gather(&parts.files, &[], &lookup, &mut names)?;
        for (path, mode) in &manifest.folders {
            names.insert(path.clone(), StoredEntry { what: StoredKind::Folder, mode: *mode });
        }
        drop(lookup);
        Ok(Checkpoint { names, manifest })
    }

    /// Every name below a folder.
    pub(in crate::checkpoint) fn gather(
        &self,
        id: &Id,
        path: &[u8],
        modes: &Lookup<'_>,
        names: &mut BTreeMap<Vec<u8>, StoredEntry>,
    ) -> io::Result<()> {
        for entry in self.tree(id)? {
            let path = joined(path, &entry.name);
            if entry.mode == FOLDER {
                self.gather(&entry.id, &path, modes, names)?;
            }
            let stored_entry = self.stored_entry(&path, &entry, modes)?;
            names.insert(path, stored_entry);
        }
        Ok(())
    }

    /// One name.
    pub(in crate::checkpoint) fn stored_entry(
        &self,
        path: &[u8],
        entry: &TreeEntry,
        modes: &Lookup<'_>,
    ) -> io::Result<StoredEntry> {
        Ok(match entry.mode {
            FOLDER => StoredEntry { what: StoredKind::Folder, mode: modes.mode(path, FOLDER) },
            LINK => StoredEntry { what: StoredKind::Link(self.read(&entry.id, ObjectKind::Blob)?), mode: 0o777 },
            mode => StoredEntry { what: StoredKind::File(entry.id), mode: modes.mode(path, mode) },
        })
    }

    /// Every path that a run's checkpoints hold, but for those that are known: these stay in scope for the run.
    pub(in crate::checkpoint) fn held_since(&self, run: &str, known: &[Id]) -> io::Result<Vec<Vec<u8>>> {
        let (mut paths, mut seen) = (Vec::new(), HashSet::new());
        for (_, id) in self.names_of(run)?.into_iter().filter(|(_, id)| !known.contains(id)) {
            let parts = self.parts(&id)?;
            self.paths(&parts.files, &[], &mut seen, &mut paths)?;
            paths.extend(self.manifest(&parts)?.folders.into_iter().map(|(path, _)| path));
        }
        paths.sort_unstable();
        paths.dedup();
        Ok(paths)
    }

    /// The paths below a folder, unless the same was there already.
    fn paths(
        &self,
        id: &Id,
        path: &[u8],
        seen: &mut HashSet<(Id, Vec<u8>)>,
        paths: &mut Vec<Vec<u8>>,
    ) -> io::Result<()> {
        if !seen.insert((*id, path.to_vec())) {
            return Ok(());
        }
        for entry in self.tree(id)? {
            let path = joined(path, &entry.name);
            if entry.mode == FOLDER {
                self.paths(&entry.id, &path, seen, paths)?;
            }
            paths.push(path);
        }
        Ok(())
    }
}

pub(in crate::checkpoint) fn odd(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}
