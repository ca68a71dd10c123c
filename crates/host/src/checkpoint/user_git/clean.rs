//! A repository as it was when it was saved, for a copy of the workspace: own HEAD, refs and index. Objects are read from
//! where they are. It has no hooks, and no configuration that names a program.
use std::collections::BTreeSet;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};

use super::config;
use super::index::Index;
use super::of_run::folder_of;
use super::refs::{RefValue, resolve};
use super::saved::{PACK, SavedState};
use crate::checkpoint::context::CheckpointContext;

/// What of the user's configuration is taken over: section and key.
const HARMLESS: &[(&str, &str)] = &[
    ("core", "filemode"),
    ("core", "ignorecase"),
    ("core", "autocrlf"),
    ("core", "eol"),
    ("core", "symlinks"),
    ("user", "name"),
    ("user", "email"),
    ("init", "defaultbranch"),
    ("extensions", "objectformat"),
];
/// Files of the repository itself that are taken over as they were.
const SHARED: &[&str] = &["shallow", "info/exclude", "info/attributes"];

/// A saved repository that can be written into a copy.
#[derive(Debug)]
pub(crate) struct CleanGit {
    saved: SavedState,
    folder: PathBuf,
}

impl CleanGit {
    /// That of a run, as it was at its start; none where the workspace had none.
    pub(crate) fn of(context: &CheckpointContext) -> Option<Self> {
        let folder = folder_of(context);
        SavedState::read(&folder).ok().map(|saved| Self { saved, folder })
    }

    /// The commit that HEAD was at.
    pub(crate) fn head(&self) -> Option<String> {
        resolve(&self.saved.head()?, &self.saved.refs).map(|id| id.to_string())
    }

    /// The paths that it tracked.
    pub(crate) fn tracked(&self) -> BTreeSet<Vec<u8>> {
        let indexes = self.saved.files.iter().filter(|file| is_index(&file.path) && !file.shared);
        indexes.filter_map(|file| Index::parse(&file.bytes).ok()).flat_map(Index::paths).collect()
    }

    /// The folder of its objects.
    pub(crate) fn objects(&self) -> PathBuf {
        self.saved.common_path.join("objects")
    }

    /// Writes it as the folder `git`, which is not there yet. `objects` is where its objects are found.
    pub(crate) fn write(&self, git: &Path, objects: &Path) -> io::Result<()> {
        let saved = &self.saved;
        for folder in ["objects/info", "objects/pack", "refs/heads", "refs/tags", "info"] {
            DirBuilder::new().recursive(true).mode(0o755).create(git.join(folder))?;
        }
        let head = saved.own(b"HEAD").unwrap_or(b"ref: refs/heads/main\n");
        fs::write(git.join("HEAD"), head)?;
        for file in saved.files.iter().filter(|file| is_index(&file.path) && !file.shared) {
            fs::write(git.join(std::ffi::OsStr::from_bytes(&file.path)), &file.bytes)?;
        }
        for file in saved.files.iter().filter(|file| file.shared) {
            if let Some(name) = SHARED.iter().find(|name| name.as_bytes() == file.path) {
                fs::write(git.join(name), &file.bytes)?;
            }
        }
        self.write_refs(git)?;
        fs::write(git.join("config"), self.config())?;
        let mut list = objects.as_os_str().as_bytes().to_vec();
        list.push(b'\n');
        fs::write(git.join("objects/info/alternates"), list)?;
        // What no remote had at the start is there even if it was removed from the repository since.
        let pack = self.folder.join(PACK);
        if saved.has_objects && pack.is_file() {
            for end in ["pack", "idx"] {
                let name = format!("objects/pack/pack-{}.{end}", "0".repeat(40));
                symlink(pack.with_extension(end), git.join(name))?;
            }
        }
        Ok(())
    }

    fn write_refs(&self, git: &Path) -> io::Result<()> {
        let mut packed = b"# pack-refs with: sorted\n".to_vec();
        for (name, value) in &self.saved.refs {
            match value {
                RefValue::Id(id) => {
                    packed.extend_from_slice(id.to_string().as_bytes());
                    packed.push(b' ');
                    packed.extend_from_slice(name);
                    packed.push(b'\n');
                }
                // A valid name has no `..` in it and begins with `refs/`.
                RefValue::Ref(_) => {
                    let path = git.join(std::ffi::OsStr::from_bytes(name));
                    if let Some(above) = path.parent() {
                        fs::create_dir_all(above)?;
                    }
                    fs::write(path, value.text())?;
                }
            }
        }
        fs::write(git.join("packed-refs"), packed)
    }

    /// Values that run nothing.
    fn config(&self) -> String {
        use std::fmt::Write as _;
        let text = self.saved.files.iter().find(|file| file.shared && file.path == b"config");
        let text = text.map_or(&[][..], |file| file.bytes.as_slice());
        let mut lines = String::new();
        let format = config::value(text, "extensions", "objectformat");
        let version = if format.is_some() { 1 } else { 0 };
        writeln!(lines, "[core]\n\trepositoryformatversion = {version}\n\tbare = false\n\tlogallrefupdates = true")
            .ok();
        for (section, key) in HARMLESS {
            if let Some(value) = config::value(text, section, key) {
                let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
                writeln!(lines, "[{section}]\n\t{key} = \"{value}\"").ok();
            }
        }
        lines
    }
}

fn is_index(path: &[u8]) -> bool {
    path == b"index" || path.starts_with(b"sharedindex.")
}
