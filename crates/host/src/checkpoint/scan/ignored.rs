//! A digest of ignored files. Checkpoints leave these out, so an agent whose work is in ignored files would seem to
//! do nothing. Files that are built from sources are left out here too.
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, readlinkat, statat};
use sha2::{Digest, Sha256};

use super::cache::Stamp;
use super::derived::{is_derived, is_made};
use super::rules::{self, FolderRules, IGNORE_BYTES_MAX, Rules, ignore_rules};
use crate::checkpoint::context::CheckpointContext;
use crate::checkpoint::git::object::ObjectKind;
use crate::checkpoint::git::pack_write::hashed;
use crate::checkpoint::scope::rules_of;
use crate::fs::handle::{folder_beneath, joined, open_folder, small_file};

/// At most this many ignored names are inspected.
const ENTRIES_MAX: u64 = 20_000;
/// At most this many names are visited in all.
const PASSED_MAX: u64 = 500_000;
/// At most this much is read; later files are compared by size and time.
const READ_BYTES_MAX: u64 = 64 * 1024 * 1024;
const DEPTH_MAX: usize = 128;

/// What was seen in ignored files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IgnoredDigest {
    /// The same text means the same files.
    pub digest: String,
    /// How many files.
    pub files: u64,
    /// Whether there was more than the limits allow.
    pub is_cut: bool,
}

/// A digest of the ignored files of a workspace now. Files that are `left_out` (such as protected ones) do not count.
///
/// # Errors
/// When the workspace itself cannot be opened. What cannot be read in it counts as what is known of it without.
pub fn ignored_digest(context: &CheckpointContext, left_out: &dyn Fn(&[u8]) -> bool) -> io::Result<IgnoredDigest> {
    digest_of(context, left_out, false)
}

/// The same of all files of a workspace, where there are no checkpoints.
///
/// # Errors
/// As above.
pub fn whole_digest(context: &CheckpointContext, left_out: &dyn Fn(&[u8]) -> bool) -> io::Result<IgnoredDigest> {
    digest_of(context, left_out, true)
}

fn digest_of(context: &CheckpointContext, left_out: &dyn Fn(&[u8]) -> bool, whole: bool) -> io::Result<IgnoredDigest> {
    let workspace = open_folder(&context.workspace)?;
    let rules = rules_of(context);
    let mut walk = DigestWalk {
        rules: &rules,
        left_out,
        whole,
        hash: Sha256::new(),
        entries: 0,
        passed: 0,
        bytes_left: READ_BYTES_MAX,
        seen: IgnoredDigest::default(),
    };
    let top = folder_beneath(&workspace, b"")?;
    walk.folder(&top, &[], ParentRules { rules: &FolderRules::default(), ignored: false }, 0);
    walk.seen.digest = crate::fs::hex(&walk.hash.finalize());
    Ok(walk.seen)
}

/// What holds for the names in a folder because of the folders above it.
#[derive(Clone, Copy)]
struct ParentRules<'a> {
    rules: &'a FolderRules,
    /// Whether the folder itself is ignored.
    ignored: bool,
}

/// The walk that adds up the digest.
struct DigestWalk<'a> {
    rules: &'a Rules,
    left_out: &'a dyn Fn(&[u8]) -> bool,
    /// Not only what is ignored.
    whole: bool,
    hash: Sha256,
    entries: u64,
    passed: u64,
    bytes_left: u64,
    seen: IgnoredDigest,
}

impl DigestWalk<'_> {
    fn folder(&mut self, folder: &OwnedFd, path: &[u8], above: ParentRules<'_>, depth: usize) {
        let own = small_file(folder, ".gitignore", IGNORE_BYTES_MAX).filter(|_| !above.ignored);
        let rules = above.rules.below(own.map(|text| ignore_rules(path, &text)).as_ref());
        for (name, kind) in names_in(folder) {
            self.passed += 1;
            let path = joined(path, &name);
            let is_folder = kind == FileType::Directory;
            let ignored = match self.rules.scope(&rules, &path, is_folder) {
                rules::Scope::In => above.ignored,
                rules::Scope::Ignored => true,
                rules::Scope::Outside | rules::Scope::Skipped => continue,
            };
            if name == b".git" || ignored && is_derived(&name, is_folder) || is_folder && is_made(&name) {
                continue;
            }
            self.entries += u64::from(ignored);
            if self.entries > ENTRIES_MAX || self.passed > PASSED_MAX || depth > DEPTH_MAX {
                self.seen.is_cut = true;
                return;
            }
            if is_folder {
                if let Ok(below) = folder_beneath(folder, &name) {
                    // A folder with something in it is covered by that.
                    if self.whole && names_in(&below).is_empty() {
                        self.piece(&path);
                    }
                    self.folder(&below, &path, ParentRules { rules: &rules, ignored }, depth + 1);
                }
            } else if (ignored || self.whole) && !(self.left_out)(&path) {
                self.file(folder, &name, &path);
            }
        }
    }

    /// One ignored name: what it is called, what it is, and what is in it.
    fn file(&mut self, folder: &OwnedFd, name: &[u8], path: &[u8]) {
        let Ok(stat) = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else { return };
        let stamp = Stamp::of(&stat);
        self.seen.files += 1;
        self.piece(path);
        self.piece(&stat.st_mode.to_le_bytes());
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => match self.content(folder, name, stamp.size) {
                Some(content) => self.piece(&content),
                None => self.piece(&[stamp.size.to_le_bytes(), stamp.modified.to_le_bytes()].concat()),
            },
            FileType::Symlink => {
                let leads = readlinkat(folder, name, Vec::new()).map(std::ffi::CString::into_bytes);
                self.piece(&leads.unwrap_or_default());
            }
            FileType::Directory
            | FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => {}
        }
    }

    /// The hash of a file that is not too long for what is left.
    fn content(&mut self, folder: &OwnedFd, name: &[u8], size: u64) -> Option<Vec<u8>> {
        self.bytes_left = self.bytes_left.checked_sub(size)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut file = File::from(openat(folder, name, flags, Mode::empty()).ok()?);
        hashed(ObjectKind::Blob, size, &mut file, &mut io::sink()).ok().map(|id| id.bytes().to_vec())
    }

    /// With its length, so that no two lists of pieces are alike.
    fn piece(&mut self, bytes: &[u8]) {
        self.hash.update(u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_le_bytes());
        self.hash.update(bytes);
    }
}

/// The names in a folder, sorted, and what they stand for. One that cannot be read has none.
fn names_in(folder: &OwnedFd) -> Vec<(Vec<u8>, FileType)> {
    let Ok(entries) = Dir::read_from(folder) else { return Vec::new() };
    let mut names: Vec<(Vec<u8>, FileType)> = entries
        .flatten()
        .map(|entry| (entry.file_name().to_bytes().to_vec(), entry.file_type()))
        .filter(|(name, _)| name != b"." && name != b"..")
        .collect();
    for (name, kind) in names.iter_mut().filter(|(_, kind)| *kind == FileType::Unknown) {
        // Some file systems do not report it.
        if let Ok(stat) = statat(folder, name.as_slice(), AtFlags::SYMLINK_NOFOLLOW) {
            *kind = FileType::from_raw_mode(stat.st_mode);
        }
    }
    names.sort_unstable_by(|one, other| one.0.cmp(&other.0));
    names
}
