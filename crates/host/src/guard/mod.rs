//! The tamper guard: protected files are stored when a run begins, compared after the agent worked, and restored
//! byte for byte. Everything is in the run's own folder, so it works without checkpoints.
//!
//! | file | what it does | what it does not do |
//! |---|---|---|
//! | `patterns` | which files match the protected patterns and scripts | follow links |
//! | `contents` | the contents of all originals in one file | store a content twice |
//! | `record` | what is known of each original | |
//! | `inspect` | compares the workspace with the originals | decide what tamper means |
//! | `restore` | writes originals back | lose the agent's version: it is copied first |
//! | `learned` | adds what the gates use, takes out what is allowed | |
//! | `order` | carries out one order of the guard | decide what follows |
//! | `targets` | hashes of the files that define how tests are run | protect them |
mod contents;
mod inspect;
mod learned;
mod order;
mod patterns;
mod record;
mod restore;
mod targets;

use std::fs::{DirBuilder, File};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use loop_core::text::{escape_path, one_line, size, unescape_path};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, openat, readlinkat, statat};

use crate::checkpoint::{CheckpointContext, Stamp, rules_of, wall_nanos};
use crate::fs::handle::{folder_beneath, open_folder, split};
use contents::OriginalContents;
use patterns::{Passed, ProtectedPatterns};
use record::{Original, OriginalKind, Quick, Record};

pub use inspect::{Tamper, TamperFound, Tampered};
pub(crate) use order::{GuardOrder, RunGuard};
pub use record::GuardRecordError;
pub use restore::OriginalsRestored;

/// The folder of a run that the originals are stored in.
const FOLDER: &str = "guard";
/// The greatest file that is stored.
const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// All together.
const ALL_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// So many files are protected at most.
const FILES_MAX: usize = 50_000;
/// So many that are left out are named.
const LEFT_OUT_NAMED_MAX: usize = 50;
/// A NUL among so many first bytes: it is no script, as git sees it.
const SCRIPT_CHECK_BYTES: u64 = 8000;

/// What is to be protected.
#[derive(Debug, Clone, Copy, Default)]
pub struct ProtectRequest<'a> {
    /// Patterns in the style of `.gitignore`; `!` takes out again.
    pub globs: &'a [String],
    /// Script files by their paths, which may hold `*` and `?`.
    pub scripts: &'a [String],
}

/// The result of storing the originals.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProtectedFiles {
    /// How many are protected.
    pub files: u32,
    /// How much they are.
    pub bytes: u64,
    /// Those that match and are not protected, and why.
    pub left_out: Vec<String>,
}

/// The originals of one run.
#[derive(Debug)]
pub struct Originals {
    folder: PathBuf,
    workspace: OwnedFd,
    patterns: ProtectedPatterns,
    contents: OriginalContents,
    record: Record,
    /// The hash of the record as it is on disk.
    record_hash: String,
    /// How much the originals are.
    bytes: u64,
}

impl Originals {
    /// Fixes which files are protected for a run, and stores them. What a start that was cut off stored does not count.
    ///
    /// # Errors
    /// When the workspace cannot be read or the run's folder not be written.
    pub fn take(
        run: &Path,
        context: &CheckpointContext,
        wanted: ProtectRequest<'_>,
    ) -> io::Result<(Self, ProtectedFiles)> {
        let folder = run.join(FOLDER);
        match DirBuilder::new().mode(0o700).create(&folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let record = Record { globs: wanted.globs.to_vec(), ..Record::default() };
        let mut all = Self {
            patterns: ProtectedPatterns::new(&record.globs, rules_of(context)),
            workspace: open_folder(&context.workspace)?,
            contents: OriginalContents::new(&folder)?,
            folder,
            record,
            record_hash: String::new(),
            bytes: 0,
        };
        let mut left_out = Vec::new();
        for path in all.matching(wanted, &mut left_out) {
            if let Err(why) = all.store(&path) {
                all.record.known.insert(escape_path(&path));
                left_out.push(format!("{}: {why}", shown(&path)));
            }
        }
        all.watch_targets();
        all.write()?;
        let taken = all.taken(left_out);
        Ok((all, taken))
    }

    /// Those that were stored before, by the hash of their record.
    ///
    /// # Errors
    /// When the record is missing or another one, or they cannot be read.
    pub fn open(run: &Path, context: &CheckpointContext, record_hash: &str) -> Result<Self, GuardRecordError> {
        let folder = run.join(FOLDER);
        let record = Record::read(&folder, record_hash)?;
        Ok(Self {
            patterns: ProtectedPatterns::new(&record.globs, rules_of(context)),
            workspace: open_folder(&context.workspace)?,
            contents: OriginalContents::open(&folder, &record)?,
            folder,
            bytes: record.bytes(),
            record,
            record_hash: record_hash.to_owned(),
        })
    }

    /// The hash of their record, for the journal.
    #[must_use]
    pub fn record_hash(&self) -> &str {
        &self.record_hash
    }

    /// Removes records that the journal does not need any more: it names this one, and that is safe on disk.
    pub(crate) fn remove_other_records(&self, record_hash: &str) {
        Record::remove_others(&self.folder, record_hash);
    }

    /// The folder that they are compared with.
    pub(crate) fn folder(&self) -> &OwnedFd {
        &self.workspace
    }

    /// Whether a path, from the workspace, is protected.
    #[must_use]
    pub fn is_protected(&self, path: &[u8]) -> bool {
        self.record.files.contains_key(&escape_path(path))
    }

    /// The protected paths, sorted, as facts write paths.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.record.files.keys().map(String::as_str)
    }

    /// What a person, or a gate, changed while no agent worked becomes the original. Returns what cannot be protected
    /// any more.
    ///
    /// # Errors
    /// When it cannot be stored; then the originals are those of before.
    pub fn adopt(&mut self, found: &TamperFound) -> io::Result<Vec<String>> {
        let before = self.record.clone();
        let mut left_out = Vec::new();
        for tampered in &found.changed {
            let old = self.record.files.remove(&tampered.path);
            self.bytes = self.bytes.saturating_sub(old.map_or(0, |old| old.bytes()));
            let path = match &tampered.what {
                Tamper::Renamed { to } => to,
                Tamper::Changed | Tamper::Deleted | Tamper::Mode | Tamper::Replaced { .. } => &tampered.path,
            };
            match self.store(&unescape_path(path)) {
                Err(why) if tampered.what != Tamper::Deleted => left_out.push(format!("{path}: {why}")),
                Ok(()) | Err(_) => {}
            }
        }
        // They were not there at the start, so that they are not protected; but they are not the agent's either.
        self.record.known.extend(found.added.iter().cloned());
        self.adopt_targets();
        if let Err(error) = self.write() {
            self.bytes = before.bytes();
            self.record = before;
            return Err(error);
        }
        Ok(left_out)
    }

    /// What the gates themselves change cannot be protected from them.
    ///
    /// # Errors
    /// When that cannot be written down.
    pub fn release(&mut self, found: &TamperFound) -> io::Result<()> {
        for tampered in &found.changed {
            let old = self.record.files.remove(&tampered.path);
            self.bytes = self.bytes.saturating_sub(old.map_or(0, |old| old.bytes()));
            self.record.known.insert(tampered.path.clone());
        }
        self.record.known.extend(found.added.iter().cloned());
        self.write()
    }

    /// How many files that define how tests are run are watched.
    #[must_use]
    pub fn watched(&self) -> u32 {
        u32::try_from(self.record.targets.len()).unwrap_or(u32::MAX)
    }

    fn taken(&self, mut left_out: Vec<String>) -> ProtectedFiles {
        let more = left_out.len().saturating_sub(LEFT_OUT_NAMED_MAX);
        left_out.truncate(LEFT_OUT_NAMED_MAX);
        if more > 0 {
            left_out.push(format!("and {more} more"));
        }
        let files = u32::try_from(self.record.files.len()).unwrap_or(u32::MAX);
        ProtectedFiles { files, bytes: self.bytes, left_out }
    }

    /// Everything that is to be protected and exists.
    fn matching(&self, wanted: ProtectRequest<'_>, left_out: &mut Vec<String>) -> Vec<Vec<u8>> {
        let mut paths = self.patterns.scripts(&self.workspace, wanted.scripts, left_out);
        paths.retain(|path| self.is_script(path));
        let mut globbed = Vec::new();
        if !wanted.globs.is_empty() {
            let passed = self.patterns.walk(&self.workspace, &mut |entry| {
                if entry.is_wanted && matches!(entry.kind, FileType::RegularFile | FileType::Symlink) {
                    globbed.push(entry.path.to_vec());
                }
            });
            left_out.extend(self.unread_names(&passed));
        }
        paths.extend(globbed);
        paths.sort_unstable();
        paths.dedup();
        paths
    }

    fn unread_names(&self, passed: &Passed) -> Vec<String> {
        let mut names: Vec<String> =
            passed.unread.iter().map(|path| format!("{}: it cannot be read", shown(path))).collect();
        if passed.is_cut {
            names.push("the workspace has more names than the limit".to_owned());
        }
        names
    }

    /// A link, or a file that is text: a program that was compiled is made again and again.
    fn is_script(&self, path: &[u8]) -> bool {
        let Ok((folder, stat)) = self.stat(path) else { return false };
        let (_, name) = split(path);
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => true,
            FileType::RegularFile => opened(&folder, name).is_ok_and(|file| {
                let mut first = Vec::new();
                file.take(SCRIPT_CHECK_BYTES).read_to_end(&mut first).is_ok() && !first.contains(&0)
            }),
            FileType::Directory
            | FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => false,
        }
    }

    /// The folder of a path, and the `lstat` of the path: through no link, never outside.
    fn stat(&self, path: &[u8]) -> io::Result<(OwnedFd, Stat)> {
        let (above, name) = split(path);
        let folder = folder_beneath(&self.workspace, above)?;
        let stat = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok((folder, stat))
    }

    /// Stores one name as it is now.
    fn store(&mut self, path: &[u8]) -> Result<(), String> {
        let message = |error: io::Error| error.to_string();
        let (folder, stat) = self.stat(path).map_err(message)?;
        let (_, name) = split(path);
        let stamp = Stamp::of(&stat);
        let what = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => {
                let leads = readlinkat(&folder, name, Vec::new()).map_err(|error| message(error.into()))?;
                OriginalKind::Link { leads: escape_path(leads.as_bytes()) }
            }
            FileType::RegularFile => {
                self.room_for(stamp.size)?;
                let file = opened(&folder, name).map_err(message)?;
                let what = self.contents.add(&file, stamp.size).map_err(message)?;
                self.bytes = self.bytes.saturating_add(stamp.size);
                what
            }
            FileType::Directory
            | FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => return Err("it is neither a file nor a link".to_owned()),
        };
        let is_sure = stamp.is_sure(wall_nanos());
        let original = Original {
            what,
            mode: stat.st_mode & 0o7777,
            owner: (stat.st_uid, stat.st_gid),
            stamp: Quick::of(&stamp),
            is_sure,
        };
        self.record.files.insert(escape_path(path), original);
        self.store_folder_modes(path);
        Ok(())
    }

    fn room_for(&self, bytes: u64) -> Result<(), String> {
        if bytes > FILE_BYTES_MAX {
            return Err(format!("it is longer than {}", size(FILE_BYTES_MAX)));
        }
        if self.record.files.len() >= FILES_MAX {
            return Err(format!("more than {FILES_MAX} files would be protected"));
        }
        if self.bytes.saturating_add(bytes) > ALL_BYTES_MAX {
            return Err(format!("more than {} would be protected", size(ALL_BYTES_MAX)));
        }
        Ok(())
    }

    /// The permissions of the folders above: they may have to be made again.
    fn store_folder_modes(&mut self, path: &[u8]) {
        let mut above = split(path).0;
        loop {
            let name = escape_path(above);
            if self.record.folders.contains_key(&name) {
                return;
            }
            let stat = folder_beneath(&self.workspace, above).and_then(|folder| Ok(rustix::fs::fstat(folder)?));
            if let Ok(stat) = stat {
                self.record.folders.insert(name, stat.st_mode & 0o7777);
            }
            if above.is_empty() {
                return;
            }
            above = split(above).0;
        }
    }

    /// Puts it on disk: the contents before what names them.
    fn write(&mut self) -> io::Result<()> {
        self.contents.sync()?;
        self.record_hash = self.record.write(&self.folder)?;
        crate::fs::sync_folder(&self.folder)
    }
}

/// Whether the record that the journal names is there and as it was written.
///
/// # Errors
/// When it is not.
pub fn check_record(run: &Path, record_hash: &str) -> Result<(), GuardRecordError> {
    Record::read(&run.join(FOLDER), record_hash).map(drop)
}

/// A plain file that is read: no link is followed, no pipe waited for.
fn opened(folder: &OwnedFd, name: &[u8]) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(File::from(openat(folder, name, flags, Mode::empty())?))
}

/// A path in a sentence.
fn shown(path: &[u8]) -> String {
    one_line(&escape_path(path), 200)
}
