//! Files that a person lets us write into folders of their own: completions and pages of the manual.
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use loop_host::paths::text_of;

use crate::context::Context;
use crate::render::error::{CommandError, Kind};

/// A file to be written.
pub(super) struct OwnFile<'a> {
    pub(super) path: PathBuf,
    pub(super) text: Vec<u8>,
    /// Whether a file that is there already is one of ours.
    pub(super) ours: &'a dyn Fn(&[u8]) -> bool,
}

/// A folder that a variable names, if it is absolute.
pub(super) fn absolute(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// The same, else one below the home folder.
pub(super) fn folder(variable: &str, below_home: &str) -> Result<PathBuf, CommandError> {
    absolute(variable).or_else(|| Some(absolute("HOME")?.join(below_home))).ok_or_else(|| {
        CommandError::new(Kind::Wrong, "your home folder is not known")
            .because(format!("neither {variable} nor HOME is an absolute path"))
            .hint("set HOME")
    })
}

/// Writes files, or only names them. Before the first is written, all are looked at: no file of somebody else's is
/// replaced, and no link is followed.
pub(super) fn write(context: &Context, files: &[OwnFile<'_>], dry_run: bool) -> Result<(), CommandError> {
    for file in files {
        refuse_foreign(file)?;
    }
    for file in files {
        if !dry_run {
            replace(&file.path, &file.text).map_err(|error| {
                CommandError::new(Kind::Unable, format!("cannot write {}", text_of(&file.path)))
                    .because(error.to_string())
                    .hint("make its folder writable")
            })?;
        }
        let done = if dry_run { "would write" } else { "written:" };
        context.printer.answer(&format!("{done} {}\n", text_of(&file.path)));
    }
    Ok(())
}

fn refuse_foreign(file: &OwnFile<'_>) -> Result<(), CommandError> {
    let refused = |why: String| {
        Err(CommandError::new(Kind::Wrong, format!("{} is not replaced", text_of(&file.path)))
            .because(why)
            .hint("move it away, or print to a file of your choice"))
    };
    match fs::symlink_metadata(&file.path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => refused(error.to_string()),
        Ok(found) if !found.is_file() => refused("there is a link or a folder of that name".to_owned()),
        Ok(_) => match fs::read(&file.path) {
            Ok(text) if (file.ours)(&text) => Ok(()),
            Ok(_) => refused("there is a file of that name, and loop did not write it".to_owned()),
            Err(error) => refused(error.to_string()),
        },
    }
}

/// Writes a file completely or not at all.
fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    let folder = path.parent().ok_or(ErrorKind::InvalidInput)?;
    fs::create_dir_all(folder)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let half = folder.join(format!(".{name}.new-{}", std::process::id()));
    let write = || {
        let mut file = fs::OpenOptions::new().write(true).create_new(true).open(&half)?;
        file.write_all(text)?;
        fs::rename(&half, path)
    };
    write().inspect_err(|_| drop(fs::remove_file(&half)))
}
