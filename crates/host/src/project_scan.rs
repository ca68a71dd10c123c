//! Lists the files of a project for the proposals of core, and reads those that say how it is checked: bounded, and
//! through no link.
use std::collections::VecDeque;
use std::fs;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use loop_core::project::{ProjectListing, ProjectProposals, is_read, is_skipped_folder, propose};

use crate::fs::handle::open_file;
use crate::fs::open_folder;

/// Parts of a project lie not deeper.
const DEPTH_MAX: usize = 4;
/// So many names are looked at, those near the root first.
const NAMES_MAX: usize = 20_000;
/// So many files are read.
const TEXTS_MAX: usize = 200;
/// A longer file is not read.
const TEXT_BYTES_MAX: u64 = 256 * 1024;
/// Interpreters in folders that are not looked into. They are links, and only their names count.
const INTERPRETERS: [&str; 2] = [".venv/bin/python", "venv/bin/python"];

/// What is proposed for the project in a folder.
///
/// # Errors
/// When the folder itself cannot be read.
pub fn proposals(folder: &Path) -> io::Result<ProjectProposals> {
    list(folder).map(|listing| propose(&listing))
}

/// The files of a project. What cannot be read is left out.
///
/// # Errors
/// When the folder itself cannot be read.
fn list(root: &Path) -> io::Result<ProjectListing> {
    let handle = open_folder(root)?;
    fs::read_dir(root)?;
    let mut listing = ProjectListing::default();
    let mut waiting = VecDeque::from([(String::new(), 0)]);
    let (mut names_left, mut texts_left) = (NAMES_MAX, TEXTS_MAX);
    while let Some((folder, depth)) = waiting.pop_front() {
        let mut entries: Vec<fs::DirEntry> =
            fs::read_dir(root.join(&folder)).into_iter().flatten().flatten().take(names_left).collect();
        names_left -= entries.len();
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let (Ok(name), Ok(kind)) = (entry.file_name().into_string(), entry.file_type()) else { continue };
            let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
            if kind.is_dir() && depth < DEPTH_MAX && !is_skipped_folder(&name) {
                waiting.push_back((path, depth + 1));
            } else if kind.is_file() {
                let text = if texts_left > 0 && is_read(&path) { text_of(&handle, &path) } else { None };
                texts_left -= usize::from(text.is_some());
                let is_executable = entry.metadata().is_ok_and(|found| found.permissions().mode() & 0o111 != 0);
                listing.add(&path, is_executable, text);
            }
        }
    }
    for path in INTERPRETERS {
        if root.join(path).exists() {
            listing.add(path, true, None);
        }
    }
    Ok(listing)
}

fn text_of(root: impl AsFd, path: &str) -> Option<String> {
    let file = open_file(root, path.as_bytes()).ok()?;
    let mut bytes = Vec::new();
    file.take(TEXT_BYTES_MAX + 1).read_to_end(&mut bytes).ok()?;
    let is_small = u64::try_from(bytes.len()).is_ok_and(|length| length <= TEXT_BYTES_MAX);
    String::from_utf8(bytes).ok().filter(|_| is_small)
}
