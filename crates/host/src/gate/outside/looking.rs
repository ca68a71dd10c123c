//! Looking at places outside of the workspace, within bounds: which files are there, and a digest of each.
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use loop_core::policy::outside::{
    ABOVE_IN_FOLDERS, OutsideBy, is_build_mark, is_looked_at, is_read_above, is_read_by_python,
};
use loop_core::text::escape_path;
use sha2::{Digest, Sha256};

use super::{
    BYTES_ALL, BYTES_MAX, DEPTH_MAX, END_BYTES, FILES_MAX, LongFiles, NAMES_MAX, NAMES_READ_MAX, OutsidePath,
    OutsideRecord, TOOL_FILES_MAX,
};
use crate::fs::hex;
use crate::paths::path_of;

/// What is left of the bounds.
struct Looking<'a> {
    record: OutsideRecord,
    bytes_left: u64,
    skipped: &'a [PathBuf],
    /// The folders that a build had made before the agent worked; none where it does not work yet.
    built: Option<&'a BTreeSet<String>>,
    /// The place that is looked at now.
    place: String,
}

pub(super) fn look_at(
    places: Vec<OutsidePath>,
    skipped: &[PathBuf],
    built: Option<&BTreeSet<String>>,
    long_files: LongFiles,
) -> OutsideRecord {
    let record = OutsideRecord { built: Some(BTreeSet::new()), long_files, ..OutsideRecord::default() };
    let mut looking = Looking { record, bytes_left: BYTES_ALL, skipped, built, place: String::new() };
    for place in &places {
        let path = path_of(&place.path);
        looking.place.clone_from(&place.path);
        if path.symlink_metadata().is_ok() {
            looking.record.there.insert(place.path.clone());
        }
        match place.by {
            OutsideBy::Command | OutsideBy::Variable => looking.all(&path, 0),
            OutsideBy::Above => looking.above(&path),
            OutsideBy::Python => looking.python(&path),
        }
    }
    OutsideRecord { places, ..looking.record }
}

/// Whether tools read a file by its name.
pub(super) fn is_tool_file(path: &Path) -> bool {
    let name = name_of(path);
    let in_folder = || ABOVE_IN_FOLDERS.iter().any(|below| path.ends_with(below));
    is_read_above(&name) || is_read_by_python(&name) || in_folder()
}

/// The names in a folder, in their order; of too many, those of files that tools read by their names.
fn names_in(folder: &Path) -> (Vec<PathBuf>, bool) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(NAMES_READ_MAX);
    let mut names: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    let is_cut = names.len() > NAMES_MAX;
    if is_cut {
        names.retain(|path| is_tool_file(path));
    }
    names.sort();
    (names, is_cut)
}

/// A digest of where a link leads, and of the size and the content of a file; and how many bytes were read.
pub(super) fn digest_of(path: &Path, long_files: LongFiles) -> Option<(String, u64)> {
    let mut hash = Sha256::new();
    if let Ok(leads) = fs::read_link(path) {
        hash.update(leads.as_os_str().as_bytes());
    }
    let Ok(found) = path.metadata() else {
        // A link that leads nowhere is there all the same.
        return path.symlink_metadata().is_ok().then(|| (hex(&hash.finalize()), 0));
    };
    if found.is_dir() && !path.is_symlink() {
        return None;
    }
    let mut bytes = 0;
    if found.is_file() {
        hash.update(found.len().to_le_bytes());
        let whole = match long_files {
            LongFiles::Whole => BYTES_MAX,
            LongFiles::Ends => END_BYTES,
        };
        if found.len() > whole && long_files == LongFiles::Whole {
            // What lies between the ends is not read. Nobody can set this time.
            hash.update(found.ctime().to_le_bytes());
            hash.update(found.ctime_nsec().to_le_bytes());
        }
        hash_file(path, found.len(), whole, &mut hash, &mut bytes).ok();
    }
    Some((hex(&hash.finalize()), bytes))
}

/// Adds a file that is at most `whole` bytes long, else its two ends.
fn hash_file(path: &Path, len: u64, whole: u64, hash: &mut Sha256, bytes: &mut u64) -> io::Result<()> {
    let mut file = File::open(path)?;
    if len <= whole {
        return hash_part(&mut file.take(whole), hash, bytes);
    }
    hash_part(&mut file.by_ref().take(END_BYTES / 2), hash, bytes)?;
    file.seek(SeekFrom::Start(len - END_BYTES / 2))?;
    hash_part(&mut file.take(END_BYTES / 2), hash, bytes)
}

fn hash_part(part: &mut impl Read, hash: &mut Sha256, bytes: &mut u64) -> io::Result<()> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let count = part.read(&mut buffer)?;
        if count == 0 {
            return Ok(());
        }
        hash.update(buffer.get(..count).unwrap_or_default());
        *bytes += u64::try_from(count).unwrap_or(u64::MAX);
    }
}

/// When the content or the properties of a file changed last.
pub(super) fn changed_at(found: &fs::Metadata) -> SystemTime {
    let seconds = u64::try_from(found.ctime()).unwrap_or_default();
    let nanos = u32::try_from(found.ctime_nsec()).unwrap_or_default();
    UNIX_EPOCH + Duration::new(seconds, nanos)
}

pub(super) fn name_of(path: &Path) -> String {
    path.file_name().map(|name| escape_path(name.as_bytes())).unwrap_or_default()
}

/// Whether a path leads into a folder, whatever it is called.
fn is_within(path: &Path, folder: &Path) -> bool {
    let (path, folder) = (path.canonicalize().ok(), folder.canonicalize().ok());
    path.zip(folder).is_some_and(|(path, folder)| path.starts_with(folder))
}

impl Looking<'_> {
    /// A file, or all files in a folder.
    fn all(&mut self, path: &Path, depth: usize) {
        if depth > DEPTH_MAX || self.skipped.iter().any(|skipped| path == skipped) {
            return;
        }
        // The place itself may be a link; links below it are read as files, and lead into no folder.
        let found = if depth == 0 { path.metadata() } else { path.symlink_metadata() };
        let Ok(found) = found else { return };
        if !found.is_dir() {
            return self.file(path);
        }
        // The workspace by another path.
        if depth == 0 && self.skipped.iter().any(|skipped| is_within(path, skipped)) {
            return;
        }
        let names = self.names(path);
        // A folder of a build changes with every source. A mark that came later may be there to hide the folder.
        let folder = escape_path(path.as_os_str().as_bytes());
        let is_marked = || names.iter().any(|name| is_build_mark(&name_of(name)));
        if self.built.map_or_else(is_marked, |built| built.contains(&folder)) {
            self.record.built.get_or_insert_default().insert(folder);
            return;
        }
        let is_folder = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_dir());
        for below in names.iter().filter(|path| is_looked_at(&name_of(path), is_folder(path))) {
            self.all(below, depth + 1);
        }
    }

    /// Files of a folder above the workspace that tools read.
    fn above(&mut self, folder: &Path) {
        let named = self.names(folder).into_iter().filter(|path| is_read_above(&name_of(path)));
        for path in named.chain(ABOVE_IN_FOLDERS.iter().map(|below| folder.join(below))) {
            self.file(&path);
        }
    }

    /// Files of a folder of libraries that Python loads when it starts, and that runners search for plugins.
    fn python(&mut self, folder: &Path) {
        for path in self.names(folder) {
            let name = name_of(&path);
            if is_read_by_python(&name) {
                self.file(&path);
            } else if name.ends_with(".dist-info") || name.ends_with(".egg-info") {
                self.file(&path.join("entry_points.txt"));
            }
        }
    }

    fn file(&mut self, path: &Path) {
        let name = escape_path(path.as_os_str().as_bytes());
        if self.record.files.contains_key(&name) {
            return;
        }
        let max = if is_tool_file(path) { FILES_MAX + TOOL_FILES_MAX } else { FILES_MAX };
        if self.record.files.len() >= max || self.bytes_left == 0 {
            if path.symlink_metadata().is_ok() {
                self.record.cut.insert(self.place.clone());
            }
            return;
        }
        if let Some((digest, bytes)) = digest_of(path, self.record.long_files) {
            self.bytes_left = self.bytes_left.saturating_sub(bytes);
            self.record.files.insert(name, digest);
        }
    }

    fn names(&mut self, folder: &Path) -> Vec<PathBuf> {
        let (names, is_cut) = names_in(folder);
        if is_cut {
            self.record.cut.insert(self.place.clone());
        }
        names
    }
}
