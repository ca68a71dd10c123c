//! How much a tree takes on disk.
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// How many bytes a file, or a folder with everything in it, takes on disk. What cannot be read counts as nothing.
#[must_use]
pub fn bytes_of(path: &Path) -> u64 {
    let Ok(found) = fs::symlink_metadata(path) else { return 0 };
    let own = found.blocks() * 512;
    if !found.is_dir() {
        return own;
    }
    let inside = fs::read_dir(path).map(|entries| entries.flatten().map(|entry| bytes_of(&entry.path())).sum());
    own + inside.unwrap_or(0)
}
