//! The store of a workspace: a git folder of ours. A checkpoint is a commit whose tree holds `files` and
//! `manifest`; its objects are one pack, its name is a ref.
use std::collections::{BTreeMap, HashMap};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};

use super::manifest::{Manifest, PLAIN_FILE, PLAIN_FOLDER, PROGRAM};
use super::object::{FOLDER, Id, Kind, TreeEntry, commit, read_tree, tree};
use super::pack::{Pack, PackWriter};
use super::scan::{Found, Seen, Stamp, What};

/// Whoever looks at it with git sees the bytes as they are.
const CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n\tautocrlf = false\n[gc]\n\tauto = 0\n";
const ATTRIBUTES: &str = "* -text -eol -ident -filter -working-tree-encoding -export-subst -diff=external\n";
/// The names in the tree of a checkpoint.
const FILES: &[u8] = b"files";
const MANIFEST: &[u8] = b"manifest";
/// How often a file that changes while it is read is read again.
const READS_MAX: u32 = 3;
/// What was changed so shortly before it was looked at may change again within the same tick of the clock.
const RACY_NANOS: i128 = 50_000_000;

/// The store of a workspace.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    packs: Vec<Pack>,
}

/// What is remembered of files, so that those that have not changed are not read again.
#[derive(Debug, Default)]
pub struct StatCache {
    files: HashMap<Vec<u8>, (Stamp, Id)>,
}

/// A checkpoint that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
    /// Its commit.
    pub id: Id,
    /// The tree of the files alone: the same tree means the same files.
    pub files: Id,
    /// Files that changed while they were read.
    pub unstable: Vec<Vec<u8>>,
    /// Files that had to be read.
    pub read: u64,
}

/// One name of a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// What it is.
    pub what: KeptWhat,
    /// Its permissions.
    pub mode: u32,
}

/// What a kept name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeptWhat {
    /// A file with this content.
    File(Id),
    /// A link that leads there.
    Link(Vec<u8>),
    /// A folder.
    Folder,
}

/// A checkpoint as it can be gone back to.
#[derive(Debug, Default)]
pub struct Checkpoint {
    /// Every name.
    pub names: BTreeMap<Vec<u8>, Kept>,
    /// What git cannot hold.
    pub manifest: Manifest,
}

impl Store {
    /// Opens the store in a folder, or makes it.
    ///
    /// # Errors
    /// When the machine would not let us.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let packs = folder.join("objects/pack");
        if !packs.is_dir() {
            for name in ["objects/pack", "objects/info", "refs/heads", "info"] {
                DirBuilder::new().recursive(true).mode(0o700).create(folder.join(name))?;
            }
            for (name, text) in
                [("HEAD", "ref: refs/heads/none\n"), ("config", CONFIG), ("info/attributes", ATTRIBUTES)]
            {
                fs::write(folder.join(name), text)?;
            }
            crate::runs::sync_folder(folder)?;
        }
        let mut store = Self { folder: folder.to_owned(), packs: Vec::new() };
        for entry in fs::read_dir(packs)?.flatten() {
            // One without an index was given up, or is being made.
            let path = entry.path();
            if path.extension().is_some_and(|end| end == "idx") {
                store.packs.push(Pack::open(&path.with_extension("pack"))?);
            }
        }
        Ok(store)
    }

    fn has(&self, id: &Id) -> bool {
        self.packs.iter().any(|pack| pack.has(id))
    }

    /// Writes an object's bytes out.
    ///
    /// # Errors
    /// When it is not there, or damaged.
    pub fn copy(&self, id: &Id, to: &mut dyn Write) -> io::Result<Kind> {
        let pack = self.packs.iter().find(|pack| pack.has(id));
        let found = pack.map(|pack| pack.read(id, to)).transpose()?.flatten();
        found.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("object {id} is not in the store")))
    }

    fn read(&self, id: &Id, kind: Kind) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let found = self.copy(id, &mut bytes)?;
        if found == kind { Ok(bytes) } else { Err(io::Error::other(format!("object {id} is no {kind:?}"))) }
    }

    /// Keeps what was seen of a workspace under a name, `run/1`. All of it is safe on disk when this returns, or
    /// nothing of it counts.
    ///
    /// # Errors
    /// When something cannot be read or written. What somebody changes meanwhile is none: it is said.
    pub fn save(
        &mut self,
        workspace: &OwnedFd,
        seen: &Seen,
        cache: &mut StatCache,
        (name, parent): (&str, Option<Id>),
    ) -> io::Result<Saved> {
        let folder = self.folder.join("objects/pack");
        let mut writer = PackWriter::begin(&folder)?;
        let mut making = Making {
            store: self,
            writer: &mut writer,
            began: seen.began,
            hollow: Vec::new(),
            unstable: Vec::new(),
            read: 0,
            fresh: HashMap::new(),
        };
        let files = making.files(workspace, seen, cache)?;
        let Making { hollow, unstable, read, fresh, .. } = making;
        let known = |id: &Id| self.has(id);
        let manifest = writer.add(Kind::Blob, &manifest_of(seen, hollow).encode(), &known)?;
        let entries = vec![
            TreeEntry { mode: FOLDER, name: FILES.to_vec(), id: files },
            TreeEntry { mode: 0o100_644, name: MANIFEST.to_vec(), id: manifest },
        ];
        let root = writer.add(Kind::Tree, &tree(entries), &known)?;
        let seconds = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs());
        let id = writer.add(Kind::Commit, &commit(root, parent, seconds, name), &known)?;
        if let Some(path) = writer.finish()? {
            crate::runs::sync_folder(&folder)?;
            self.packs.push(Pack::open(&path)?);
        }
        self.point(name, id)?;
        cache.files = fresh;
        Ok(Saved { id, files, unstable, read })
    }

    /// Gives a commit a name, which is safe when this returns.
    fn point(&self, name: &str, id: Id) -> io::Result<()> {
        let path = self.folder.join("refs/loop").join(name);
        let folder = path.parent().unwrap_or(&self.folder);
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let beside = folder.join(format!("{}.lock", crate::runs::fresh_id()?));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
        file.write_all(format!("{id}\n").as_bytes())?;
        file.sync_data()?;
        fs::rename(&beside, &path)?;
        crate::runs::sync_folder(folder)
    }

    /// The commit of a name.
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn named(&self, name: &str) -> io::Result<Id> {
        let text = fs::read_to_string(self.folder.join("refs/loop").join(name))?;
        Id::parse(text.trim()).ok_or_else(|| io::Error::other(format!("{name} names no checkpoint")))
    }

    /// The names below one.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn names(&self, run: &str) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(self.folder.join("refs/loop").join(run)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        Ok(names.filter(|name| !name.ends_with(".lock")).collect())
    }

    /// When a checkpoint was taken, and how much its own pack takes.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn facts_of(&self, id: Id) -> io::Result<(u64, u64)> {
        let commit = self.read(&id, Kind::Commit)?;
        let text = String::from_utf8_lossy(&commit);
        let line = text.lines().find(|line| line.starts_with("committer "));
        let seconds = line.and_then(|line| line.rsplit(' ').nth(1)).and_then(|word| word.parse::<u64>().ok());
        let bytes = self.packs.iter().find(|pack| pack.has(&id)).map_or(0, Pack::bytes);
        Ok((seconds.unwrap_or(0) * 1000, bytes))
    }

    /// The hash of what a checkpoint holds.
    ///
    /// # Errors
    /// When it is no checkpoint of ours.
    pub fn tree_of(&self, id: Id) -> io::Result<Id> {
        let odd = || io::Error::new(io::ErrorKind::InvalidData, format!("{id} is no checkpoint of ours"));
        let commit = self.read(&id, Kind::Commit)?;
        let line = commit.split(|byte| *byte == b'\n').next().and_then(|line| std::str::from_utf8(line).ok());
        line.and_then(|line| line.strip_prefix("tree ")).and_then(Id::parse).ok_or_else(odd)
    }

    /// Takes a name away; its objects stay until they are collected.
    ///
    /// # Errors
    /// When the machine would not let us.
    pub fn forget(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.folder.join("refs/loop").join(name))
    }

    /// A checkpoint, whole.
    ///
    /// # Errors
    /// When something of it is missing or damaged.
    pub fn load(&self, id: Id) -> io::Result<Checkpoint> {
        let odd = || io::Error::new(io::ErrorKind::InvalidData, format!("{id} is no checkpoint of ours"));
        let commit = self.read(&id, Kind::Commit)?;
        let line = commit.split(|byte| *byte == b'\n').next().and_then(|line| std::str::from_utf8(line).ok());
        let root = line.and_then(|line| line.strip_prefix("tree ")).and_then(Id::parse).ok_or_else(odd)?;
        let root = read_tree(&self.read(&root, Kind::Tree)?).ok_or_else(odd)?;
        let of = |name: &[u8]| root.iter().find(|entry| entry.name == name).map(|entry| entry.id).ok_or_else(odd);
        let manifest = Manifest::read(&self.read(&of(MANIFEST)?, Kind::Blob)?).ok_or_else(odd)?;
        let mut names = BTreeMap::new();
        self.gather(&of(FILES)?, &[], &mut names)?;
        for (path, mode) in &manifest.folders {
            names.insert(path.clone(), Kept { what: KeptWhat::Folder, mode: *mode });
        }
        for (path, mode) in &manifest.files {
            if let Some(kept) = names.get_mut(path) {
                kept.mode = *mode;
            }
        }
        Ok(Checkpoint { names, manifest })
    }

    fn gather(&self, id: &Id, path: &[u8], names: &mut BTreeMap<Vec<u8>, Kept>) -> io::Result<()> {
        let odd = || io::Error::new(io::ErrorKind::InvalidData, format!("{id} is no folder"));
        for entry in read_tree(&self.read(id, Kind::Tree)?).ok_or_else(odd)? {
            let path = super::scan::joined(path, &entry.name);
            let (what, mode) = match entry.mode {
                FOLDER => {
                    self.gather(&entry.id, &path, names)?;
                    (KeptWhat::Folder, PLAIN_FOLDER)
                }
                0o120_000 => (KeptWhat::Link(self.read(&entry.id, Kind::Blob)?), 0o777),
                0o100_755 => (KeptWhat::File(entry.id), PROGRAM),
                _ => (KeptWhat::File(entry.id), PLAIN_FILE),
            };
            names.insert(path, Kept { what, mode });
        }
        Ok(())
    }
}

/// What git cannot hold of what was seen.
fn manifest_of(seen: &Seen, hollow: Vec<(Vec<u8>, u32)>) -> Manifest {
    let mut manifest = Manifest { left_out: seen.left_out.clone(), folders: hollow, ..Manifest::default() };
    let mut names: BTreeMap<u64, Vec<Vec<u8>>> = BTreeMap::new();
    for found in &seen.found {
        match &found.what {
            What::File => {
                if found.mode != PLAIN_FILE && found.mode != PROGRAM {
                    manifest.files.push((found.path.clone(), found.mode));
                }
                if found.stamp.names > 1 {
                    names.entry(found.stamp.inode).or_default().push(found.path.clone());
                }
            }
            What::Folder if found.mode != PLAIN_FOLDER => {
                manifest.folders.push((found.path.clone(), found.mode));
            }
            What::Folder | What::Link(_) => {}
        }
    }
    manifest.same = names.into_values().filter(|names| names.len() > 1).collect();
    manifest
}

/// The objects of a checkpoint under way.
struct Making<'a> {
    store: &'a Store,
    writer: &'a mut PackWriter,
    began: i128,
    /// Folders without a tree: git holds no empty one.
    hollow: Vec<(Vec<u8>, u32)>,
    unstable: Vec<Vec<u8>>,
    read: u64,
    fresh: HashMap<Vec<u8>, (Stamp, Id)>,
}

impl Making<'_> {
    /// The tree of all files. The walk names a folder before what is in it, so that backwards all is there.
    fn files(&mut self, workspace: &OwnedFd, seen: &Seen, cache: &StatCache) -> io::Result<Id> {
        let mut open: HashMap<Vec<u8>, Vec<TreeEntry>> = HashMap::new();
        for found in seen.found.iter().rev() {
            let (mode, id) = match &found.what {
                What::File => {
                    let mode = if found.mode & 0o100 == 0 { 0o100_644 } else { 0o100_755 };
                    let Some(id) = self.file(workspace, found, cache)? else { continue };
                    (mode, id)
                }
                What::Link(target) => (0o120_000, self.object(Kind::Blob, target)?),
                What::Folder => match open.remove(&found.path) {
                    // Git holds no empty folder; the manifest does.
                    None => {
                        self.hollow.push((found.path.clone(), found.mode));
                        continue;
                    }
                    Some(entries) => (FOLDER, self.object(Kind::Tree, &tree(entries))?),
                },
            };
            let (folder, name) = split(&found.path);
            open.entry(folder.to_vec()).or_default().push(TreeEntry { mode, name: name.to_vec(), id });
        }
        self.object(Kind::Tree, &tree(open.remove(&Vec::new()).unwrap_or_default()))
    }

    fn object(&mut self, kind: Kind, bytes: &[u8]) -> io::Result<Id> {
        let store = self.store;
        self.writer.add(kind, bytes, &|id| store.has(id))
    }

    /// A file's content, read only if it may have changed. None if it is gone.
    fn file(&mut self, workspace: &OwnedFd, found: &Found, cache: &StatCache) -> io::Result<Option<Id>> {
        let known = cache.files.get(&found.path).filter(|(stamp, id)| *stamp == found.stamp && self.store.has(id));
        let id = match known {
            Some((_, id)) => *id,
            None => match self.read_file(workspace, found)? {
                Some(id) => id,
                None => return Ok(None),
            },
        };
        if found.stamp.modified.max(found.stamp.changed) + RACY_NANOS < self.began {
            self.fresh.insert(found.path.clone(), (found.stamp, id));
        }
        Ok(Some(id))
    }

    fn read_file(&mut self, workspace: &OwnedFd, found: &Found) -> io::Result<Option<Id>> {
        self.read += 1;
        let store = self.store;
        for turn in 1..=READS_MAX {
            let mut file = match open_beneath(workspace, &found.path) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(error),
            };
            let length = file.metadata()?.len();
            let before = file.metadata()?.modified()?;
            let read = self.writer.add_file(&mut file, length, &|id| store.has(id));
            let stable = file.metadata()?.len() == length && file.metadata()?.modified()? == before;
            match read {
                Ok(id) if stable => return Ok(Some(id)),
                Ok(id) if turn == READS_MAX => {
                    self.unstable.push(found.path.clone());
                    return Ok(Some(id));
                }
                Err(error) if error.kind() != io::ErrorKind::UnexpectedEof || turn == READS_MAX => return Err(error),
                Ok(_) | Err(_) => {}
            }
        }
        Ok(None)
    }
}

/// A folder's path and a name in it.
pub(super) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    path.iter().rposition(|byte| *byte == b'/').map_or((&[], path), |slash| (&path[..slash], &path[slash + 1..]))
}

/// A file of the workspace, by no link and never outside of it.
fn open_beneath(workspace: &OwnedFd, path: &[u8]) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let file = File::from(openat2(workspace, path, flags, Mode::empty(), resolve)?);
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is no file any more")) }
}
