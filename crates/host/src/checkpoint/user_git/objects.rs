//! The objects of a repository: loose, in packs, or in another repository that it names.
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use flate2::read::ZlibDecoder;
use sha1::{Digest, Sha1};

use super::folder::{GitFolder, is_absent};
use super::packs::{Bases, Body, GitObjectKind, UserPack};
use super::remarks::Remarks;
use crate::checkpoint::git::object::Id;

/// An object that has to be held in memory is at most this long. Git makes no deltas of longer ones.
pub(super) const HELD_BYTES_MAX: u64 = 512 * 1024 * 1024;
/// So many packs are opened.
const PACKS_MAX: usize = 4096;
/// At most this many other repositories are inspected, and so long is the list of them.
const OTHERS_MAX: usize = 8;
const OTHERS_BYTES_MAX: u64 = 64 * 1024;

/// All objects that can be read.
#[derive(Debug, Default)]
pub(super) struct Objects {
    /// The folders of objects: its own, then those of others.
    folders: Vec<GitFolder>,
    pub(super) packs: Vec<UserPack>,
    bases: Bases,
    /// Whether another repository was named.
    pub(super) leans_on_others: bool,
}

/// Where an object lies.
#[derive(Debug, Clone, Copy)]
pub(super) enum ObjectLocation {
    Loose(usize),
    Packed(PackedObject),
}

/// An object in a pack.
#[derive(Debug, Clone, Copy)]
pub(super) struct PackedObject {
    /// The number of the pack.
    pub(super) pack: usize,
    /// The number of the object in the index of the pack.
    pub(super) at: usize,
}

/// A loose object that is being read.
pub(super) struct Loose {
    pub(super) kind: GitObjectKind,
    pub(super) size: u64,
    pub(super) bytes: io::Take<BufReader<ZlibDecoder<File>>>,
}

impl Objects {
    /// Those of a repository. What cannot be opened is reported and done without.
    pub(super) fn of(common: &GitFolder, path: &Path, remarks: &mut Remarks) -> Self {
        let mut objects = Self::default();
        match common.below(b"objects") {
            Ok(folder) => objects.take(folder, remarks),
            Err(error) => remarks.add(format!("the objects of the repository cannot be read: {error}")),
        }
        // Paths in the list are seen from the folder that has it.
        let mut to_open = vec![(0, path.join("objects"))];
        while let Some((at, path)) = to_open.pop() {
            let Some(folder) = objects.folders.get(at) else { continue };
            for other in others(folder, &path, remarks) {
                objects.leans_on_others = true;
                if objects.folders.len() > OTHERS_MAX {
                    remarks.add(format!("more than {OTHERS_MAX} other repositories are named: the rest is not read"));
                    return objects;
                }
                match GitFolder::open(&other) {
                    Ok(folder) => {
                        to_open.push((objects.folders.len(), other));
                        objects.take(folder, remarks);
                    }
                    Err(error) => remarks.add(format!("the objects in {} cannot be read: {error}", other.display())),
                }
            }
        }
        objects
    }

    fn take(&mut self, folder: GitFolder, remarks: &mut Remarks) {
        if let Ok(packs) = folder.below(b"pack") {
            for (name, _) in packs.names().unwrap_or_default() {
                if !name.ends_with(b".idx") {
                    continue;
                }
                if self.packs.len() == PACKS_MAX {
                    remarks.add(format!("there are more than {PACKS_MAX} packs: the rest is not read"));
                    break;
                }
                match UserPack::open(&packs, &name) {
                    Ok(pack) => self.packs.push(pack),
                    Err(why) => remarks.add(why),
                }
            }
        }
        self.folders.push(folder);
    }

    /// Where an object lies. The first pack counts: so a difference lies where its base does, and no circle of
    /// differences can arise over several packs.
    pub(super) fn find(&self, id: &Id) -> Option<ObjectLocation> {
        let packs = self.packs.iter().enumerate();
        let packed = packs.into_iter().find_map(|(pack, packed)| Some(PackedObject { pack, at: packed.find(id)? }));
        if packed.is_some() {
            return packed.map(ObjectLocation::Packed);
        }
        let path = loose_path(id);
        self.folders.iter().position(|folder| folder.has(path.as_bytes())).map(ObjectLocation::Loose)
    }

    /// A loose object.
    pub(super) fn loose(&self, folder: usize, id: &Id) -> Option<Loose> {
        let file = self.folders.get(folder)?.file(loose_path(id).as_bytes()).ok()?;
        let mut bytes = BufReader::new(ZlibDecoder::new(file));
        let mut head = Vec::new();
        loop {
            let mut byte = [0];
            bytes.read_exact(&mut byte).ok()?;
            match byte {
                [0] => break,
                [byte] if head.len() < 32 => head.push(byte),
                _ => return None,
            }
        }
        let (name, size) = std::str::from_utf8(&head).ok()?.split_once(' ')?;
        let kind = GitObjectKind::ALL.into_iter().find(|kind| kind.name() == name)?;
        let size = size.parse().ok()?;
        Some(Loose { kind, size, bytes: bytes.take(size) })
    }

    /// An object whose hash is right; none if it is not there, or `Err` if it is damaged or longer than `most`.
    pub(super) fn read(&mut self, id: &Id, most: u64) -> Result<Option<Body>, ()> {
        let body = match self.find(id) {
            None => return Ok(None),
            Some(ObjectLocation::Loose(folder)) => {
                let mut loose = self.loose(folder, id).filter(|loose| loose.size <= most).ok_or(())?;
                let mut bytes = Vec::new();
                loose.bytes.read_to_end(&mut bytes).map_err(drop)?;
                (loose.kind, Rc::new(bytes))
            }
            Some(ObjectLocation::Packed(PackedObject { pack: at, at: number })) => {
                let pack = self.packs.get(at).ok_or(())?;
                let offset = pack.offset_of(number).ok_or(())?;
                pack.read(at, offset, most, &mut self.bases).ok_or(())?
            }
        };
        if id_of(body.0, &body.1) == *id { Ok(Some(body)) } else { Err(()) }
    }

    /// The ids of all loose objects of its own, each with how long its file is.
    pub(super) fn all_loose(&self) -> io::Result<Vec<(Id, u64)>> {
        let mut all = Vec::new();
        let Some(own) = self.folders.first() else { return Ok(all) };
        for first in 0..=255_u8 {
            let first = format!("{first:02x}");
            let folder = match own.below(first.as_bytes()) {
                Ok(folder) => folder,
                Err(error) if is_absent(&error) => continue,
                Err(error) => return Err(error),
            };
            for (name, _) in folder.names()? {
                let id = std::str::from_utf8(&name).ok().and_then(|name| Id::parse(&format!("{first}{name}")));
                let Some(id) = id else { continue };
                let length = folder.stat(&name)?.map_or(0, |stat| u64::try_from(stat.st_size).unwrap_or(0));
                all.push((id, length));
            }
        }
        Ok(all)
    }
}

/// The folders of objects that a list names.
fn others(folder: &GitFolder, path: &Path, remarks: &mut Remarks) -> Vec<PathBuf> {
    let text = match folder.read(b"info/alternates", OTHERS_BYTES_MAX) {
        Ok(text) => text.unwrap_or_default(),
        Err(error) => {
            remarks.add(format!("objects/info/alternates cannot be read: {error}"));
            return Vec::new();
        }
    };
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty() && !line.starts_with(b"#"));
    lines.map(|line| path.join(OsStr::from_bytes(line))).collect()
}

fn loose_path(id: &Id) -> String {
    let mut path = id.to_string();
    path.insert(2, '/');
    path
}

/// The id of an object. A tag has one, too, which `Id::of` does not know.
pub(super) fn id_of(kind: GitObjectKind, bytes: &[u8]) -> Id {
    let hash = Sha1::new().chain_update(format!("{} {}\0", kind.name(), bytes.len())).chain_update(bytes);
    Id::from_bytes(hash.finalize().into())
}
