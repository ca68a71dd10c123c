//! The HOME of the gates of a clean copy: a new folder. Tools are linked into it from the user's own; settings are as they
//! were at the baseline.
use std::ffi::OsString;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use loop_core::text::escape_path;

use super::baseline::{Baseline, digest_of, entries};
use super::tables;
use crate::paths::path_of;

/// Makes it, and returns the variables that lead to it.
pub(super) fn make(
    new: &Path,
    user: Option<&Path>,
    further: &[String],
    baseline: Option<&Baseline>,
) -> io::Result<Vec<(String, OsString)>> {
    DirBuilder::new().mode(0o700).create(new)?;
    let variables = vec![("HOME".to_owned(), new.as_os_str().to_owned())];
    let Some(user) = user else { return Ok(variables) };
    let known = tables::TOOL_HOMES.iter().map(PathBuf::from);
    let further: Vec<PathBuf> = further.iter().filter_map(|path| below(path, user)).collect();
    // What lies in a folder that is linked as a whole is there already: nothing is written into the user's own.
    let is_linked = |path: &Path| further.iter().any(|folder| path.starts_with(folder));
    for tool in further.iter().cloned().chain(known) {
        let (from, to) = (user.join(&tool), new.join(&tool));
        let is_there = to.symlink_metadata().is_ok() || (is_linked(&tool) && !further.contains(&tool));
        if from.symlink_metadata().is_ok() && !is_there {
            symlink(&from, &made(new, &tool)?)?;
        }
    }
    if let Some(baseline) = baseline {
        for (setting, text) in baseline.settings.iter().filter(|(setting, _)| !is_linked(Path::new(setting))) {
            let path = made(new, Path::new(setting))?;
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
            file.write_all(text)?;
        }
        for entry in entries(user).into_iter().filter(|entry| !is_linked(entry)) {
            let known = baseline.entries.get(&escape_path(entry.as_os_str().as_bytes()));
            let from = user.join(&entry);
            if known.is_some() && known == digest_of(&from).as_ref() {
                symlink(&from, &made(new, &entry)?)?;
            }
        }
    }
    Ok(variables.into_iter().chain(path_into(new, user)).collect())
}

/// A path from HOME on, however it is named; none where it leads elsewhere.
fn below(path: &str, user: &Path) -> Option<PathBuf> {
    let path = path_of(path);
    let below = path.strip_prefix(user).or_else(|_| path.strip_prefix("~")).unwrap_or(&path);
    let is_plain = below.components().all(|part| matches!(part, Component::Normal(_)));
    (is_plain && below.components().next().is_some()).then(|| below.to_owned())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_further_folder_of_home_is_named_from_there_or_in_full_and_never_leads_out_of_it() {
        let home = Path::new("/h");
        for path in [".mytool", "~/.mytool", "/h/.mytool"] {
            assert_eq!(below(path, home), Some(PathBuf::from(".mytool")), "{path}");
        }
        for path in ["/etc", "../other", ".mytool/../../other", "~", "/h", ""] {
            assert_eq!(below(path, home), None, "{path}");
        }
    }
}
