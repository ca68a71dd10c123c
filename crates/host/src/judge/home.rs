//! The HOME of the gates of a clean copy: a new folder. Tools are linked into it from the user's own; settings are as they
//! were at the baseline.
use std::ffi::OsString;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};

use loop_core::text::escape_path;

use super::baseline::{Baseline, digest_of, entries};
use super::tables;

/// Makes it, and returns the variables that lead to it.
pub(super) fn make(
    new: &Path,
    user: Option<&Path>,
    baseline: Option<&Baseline>,
) -> io::Result<Vec<(String, OsString)>> {
    DirBuilder::new().mode(0o700).create(new)?;
    let variables = vec![("HOME".to_owned(), new.as_os_str().to_owned())];
    let Some(user) = user else { return Ok(variables) };
    for tool in tables::TOOL_HOMES {
        let from = user.join(tool);
        if from.symlink_metadata().is_ok() {
            symlink(&from, &made(new, Path::new(tool))?)?;
        }
    }
    if let Some(baseline) = baseline {
        for (setting, text) in &baseline.settings {
            let path = made(new, Path::new(setting))?;
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
            file.write_all(text)?;
        }
        for entry in entries(user) {
            let known = baseline.entries.get(&escape_path(entry.as_os_str().as_bytes()));
            let from = user.join(&entry);
            if known.is_some() && known == digest_of(&from).as_ref() {
                symlink(&from, &made(new, &entry)?)?;
            }
        }
    }
    Ok(variables.into_iter().chain(path_into(new, user)).collect())
}

/// A path in the new folder, with the folders above it.
fn made(new: &Path, below: &Path) -> io::Result<PathBuf> {
    let path = new.join(below);
    if let Some(above) = path.parent() {
        fs::create_dir_all(above)?;
    }
    Ok(path)
}

/// PATH, with the user's own folders of programs replaced by those of the new HOME.
fn path_into(new: &Path, user: &Path) -> Option<(String, OsString)> {
    let path = std::env::var_os("PATH")?;
    let entry = |entry: PathBuf| {
        let own = tables::ENTRY_FOLDERS.iter().find(|folder| entry == user.join(folder));
        own.map_or(entry, |folder| new.join(folder))
    };
    let path = std::env::join_paths(std::env::split_paths(&path).map(entry)).ok()?;
    Some(("PATH".to_owned(), path))
}
