//! Small files that the rules ignore, such as `.env`. A checkpoint has them in a part of its own, so that a rollback
//! can restore them. They are no work: nothing measures, compares or shows them.
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, Dir, FileType, Stat, readlinkat, statat};

use super::cache::{ScanCache, Stamp, wall_nanos};
use super::derived::{is_derived, is_made};
use super::read::Sink;
use super::rules::{FolderRules, Rules, Scope};
use crate::checkpoint::git::manifest::Manifest;
use crate::checkpoint::git::object::{FILE, FOLDER, Id, LINK, ObjectKind, PROGRAM, TreeEntry, tree};
use crate::checkpoint::git::store::{FILES, MANIFEST};
use crate::fs::handle::{folder_beneath, joined, open_file, open_inside};

/// A file that is longer is not kept.
const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// So much is kept in all.
const ALL_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// So many are kept.
const FILES_MAX: usize = 1000;
/// So many names in ignored folders are visited.
const VISITED_MAX: usize = 4000;
/// So deep ignored folders are searched.
const DEPTH_MAX: usize = 16;
/// So many names of one folder are remembered.
pub(in crate::checkpoint) const NAMES_MAX: usize = 4000;
/// Why what tools make is not kept.
pub(in crate::checkpoint) const MADE_BY_TOOLS: &str = "made by tools";
/// Why what a person asked to leave out is not kept.
pub(in crate::checkpoint) const SKIPPED: &str = "left out by --checkpoint-skip";
/// Folders of people's settings, although they are mostly written by programs.
const SETTINGS: [&[u8]; 2] = [b".idea", b".vscode"];

/// An ignored name that a scan met.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::checkpoint) struct IgnoredName {
    pub(in crate::checkpoint) name: Box<[u8]>,
    pub(in crate::checkpoint) is_folder: bool,
}

/// What was read of ignored files, for the next checkpoint.
#[derive(Debug, Default)]
pub(in crate::checkpoint) struct KnownIgnored(HashMap<Vec<u8>, (Stamp, Id)>);

/// A part of a checkpoint.
#[derive(Debug)]
pub(in crate::checkpoint) struct IgnoredPart {
    /// Its object; none where there is nothing to say.
    pub(in crate::checkpoint) id: Option<Id>,
    /// What is not kept, and why.
    pub(in crate::checkpoint) left_out: Vec<(Vec<u8>, String)>,
}

/// Reads the small ignored files that the last scan met, and writes them with a checkpoint.
pub(in crate::checkpoint) fn keep(
    workspace: &OwnedFd,
    cache: &mut ScanCache,
    sink: &mut Sink<'_>,
) -> io::Result<IgnoredPart> {
    let tops = tops(cache);
    if tops.is_empty() {
        cache.known_ignored.0.clear();
        return Ok(IgnoredPart { id: None, left_out: Vec::new() });
    }
    let known = std::mem::take(&mut cache.known_ignored.0);
    let mut walk = Walk {
        rules: Rules::of(cache.rules.clone()),
        sink,
        known,
        fresh: HashMap::new(),
        bytes: 0,
        visited: 0,
        entries: Vec::new(),
        manifest: Manifest::default(),
    };
    for (path, is_folder) in tops {
        let (above, name) = crate::fs::handle::split(&path);
        if let Ok(folder) = folder_beneath(workspace, above) {
            let kind = if is_folder { FileType::Directory } else { FileType::Unknown };
            walk.name(&EntryName { folder: &folder, name, path: &path }, kind, 0)?;
        }
    }
    let Walk { sink, fresh, mut entries, mut manifest, .. } = walk;
    cache.known_ignored.0 = fresh;
    entries.sort();
    manifest.files.sort_unstable();
    manifest.folders.sort_unstable();
    manifest.left_out.sort_unstable();
    let files = tree_of(&entries, sink)?;
    let text = [manifest.encode(), manifest.encode_scope()].concat();
    let manifest_id = sink.object(ObjectKind::Blob, &text)?;
    let both = vec![
        TreeEntry { mode: FOLDER, name: FILES.to_vec(), id: files },
        TreeEntry { mode: FILE, name: MANIFEST.to_vec(), id: manifest_id },
    ];
    Ok(IgnoredPart { id: Some(sink.object(ObjectKind::Tree, &tree(both))?), left_out: manifest.left_out })
}

/// The ignored names, from the workspace, sorted. What lies in a folder that tools make is not among them.
fn tops(cache: &ScanCache) -> Vec<(Vec<u8>, bool)> {
    let mut tops = Vec::new();
    for (index, folder) in
        (0_u32..).zip(&cache.arena.folders).filter_map(|(index, folder)| Some((index, folder.as_ref()?)))
    {
        if folder.ignored_names.is_empty() {
            continue;
        }
        let path = cache.arena.path(index);
        if !path.split(|byte| *byte == b'/').any(is_made) {
            tops.extend(folder.ignored_names.iter().map(|known| (joined(&path, &known.name), known.is_folder)));
        }
    }
    tops.sort_unstable();
    tops
}

/// A name in an open folder, and its path from the workspace.
struct EntryName<'a> {
    folder: &'a OwnedFd,
    name: &'a [u8],
    path: &'a [u8],
}

struct Walk<'a, 'b> {
    /// What the harness writes and what a person skips is left out below ignored folders, too.
    rules: Rules,
    sink: &'a mut Sink<'b>,
    known: HashMap<Vec<u8>, (Stamp, Id)>,
    fresh: HashMap<Vec<u8>, (Stamp, Id)>,
    bytes: u64,
    visited: usize,
    /// Path, mode in a tree, object.
    entries: Vec<(Vec<u8>, u32, Id)>,
    manifest: Manifest,
}

impl Walk<'_, '_> {
    fn leave_out(&mut self, path: &[u8], why: impl Into<String>) {
        self.manifest.left_out.push((path.to_vec(), why.into()));
    }

    fn name(&mut self, place: &EntryName<'_>, kind: FileType, depth: usize) -> io::Result<()> {
        let EntryName { folder, name, path } = *place;
        self.visited += 1;
        let is_folder = kind == FileType::Directory;
        match self.rules.scope(&FolderRules::default(), path, is_folder) {
            Scope::Outside => return Ok(()),
            Scope::Skipped => {
                self.leave_out(path, SKIPPED);
                return Ok(());
            }
            Scope::In | Scope::Ignored => {}
        }
        if is_derived(name, is_folder) && !SETTINGS.contains(&name) {
            self.leave_out(path, MADE_BY_TOOLS);
            return Ok(());
        }
        if self.visited > VISITED_MAX || self.entries.len() >= FILES_MAX {
            self.leave_out(path, "too many ignored files");
            return Ok(());
        }
        // What is gone meanwhile, or cannot be read, is nothing to keep.
        let Ok(stat) = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else { return Ok(()) };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => self.folder(place, &stat, depth),
            FileType::RegularFile => self.file(place, &stat),
            FileType::Symlink => {
                let Ok(leads) = readlinkat(folder, name, Vec::new()) else { return Ok(()) };
                let id = self.sink.object(ObjectKind::Blob, leads.as_bytes())?;
                self.entries.push((path.to_vec(), LINK, id));
                Ok(())
            }
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => Ok(()),
        }
    }

    fn folder(&mut self, place: &EntryName<'_>, stat: &Stat, depth: usize) -> io::Result<()> {
        let path = place.path;
        let opened = open_inside(place.folder.as_fd(), place.name);
        let (Ok(folder), true) = (opened, depth < DEPTH_MAX) else {
            self.leave_out(path, "cannot be read");
            return Ok(());
        };
        self.manifest.folders.push((path.to_vec(), stat.st_mode & 0o7777));
        let Ok(entries) = Dir::read_from(&folder) else { return Ok(()) };
        let mut names: Vec<(Vec<u8>, FileType)> = Vec::new();
        for entry in entries.flatten() {
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push((name.to_vec(), entry.file_type()));
            }
            if names.len() > VISITED_MAX {
                self.manifest.folders.pop();
                self.leave_out(path, "too many ignored files");
                return Ok(());
            }
        }
        names.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        for (name, kind) in names {
            self.name(&EntryName { folder: &folder, name: &name, path: &joined(path, &name) }, kind, depth + 1)?;
        }
        Ok(())
    }

    fn file(&mut self, place: &EntryName<'_>, stat: &Stat) -> io::Result<()> {
        let path = place.path;
        let stamp = Stamp::of(stat);
        if stamp.size > FILE_BYTES_MAX {
            self.leave_out(path, loop_core::text::size(stamp.size));
            return Ok(());
        }
        if self.bytes + stamp.size > ALL_BYTES_MAX {
            self.leave_out(path, "over 16 MiB of ignored files");
            return Ok(());
        }
        let known = self.known.get(path).filter(|(known, id)| *known == stamp && self.sink.has(id)).map(|(_, id)| *id);
        let read_at = wall_nanos();
        let id = match known {
            Some(id) => id,
            None => {
                let mut bytes = Vec::new();
                let read = open_file(place.folder, place.name)
                    .and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes));
                if read.is_err() || u64::try_from(bytes.len()).is_ok_and(|length| length > FILE_BYTES_MAX) {
                    self.leave_out(path, "cannot be read");
                    return Ok(());
                }
                self.sink.object(ObjectKind::Blob, &bytes)?
            }
        };
        self.bytes += stamp.size;
        // What was written just now is read again next time.
        if known.is_some() || stamp.is_sure(read_at) {
            self.fresh.insert(path.to_vec(), (stamp, id));
        }
        let mode = stat.st_mode & 0o7777;
        self.entries.push((path.to_vec(), if mode & 0o100 == 0 { FILE } else { PROGRAM }, id));
        self.manifest.files.push((path.to_vec(), mode));
        Ok(())
    }
}

/// A path below a folder, its mode in a tree, and its object.
type Below<'a> = (&'a [u8], u32, Id);

/// The tree of sorted paths.
fn tree_of(entries: &[(Vec<u8>, u32, Id)], sink: &mut Sink<'_>) -> io::Result<Id> {
    let below: Vec<Below<'_>> = entries.iter().map(|(path, mode, id)| (path.as_slice(), *mode, *id)).collect();
    tree_below(&below, sink)
}

fn tree_below(entries: &[Below<'_>], sink: &mut Sink<'_>) -> io::Result<Id> {
    let mut own = Vec::new();
    let mut folders: BTreeMap<&[u8], Vec<Below<'_>>> = BTreeMap::new();
    for (path, mode, id) in entries {
        match path.iter().position(|byte| *byte == b'/') {
            Some(end) => folders.entry(&path[..end]).or_default().push((&path[end + 1..], *mode, *id)),
            None => own.push(TreeEntry { mode: *mode, name: path.to_vec(), id: *id }),
        }
    }
    for (name, below) in folders {
        own.push(TreeEntry { mode: FOLDER, name: name.to_vec(), id: tree_below(&below, sink)? });
    }
    sink.object(ObjectKind::Tree, &tree(own))
}
