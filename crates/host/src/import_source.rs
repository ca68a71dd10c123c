//! The files of another tool, read for `loop import`: bounded, through no link, and never executed.
use std::fs;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use loop_core::import::{BesideFile, ImportSource, PeerTool, SourceFile, SourcePlace, WantedFiles, WantedNames};
use loop_core::text::{escape_path, escaped};
use rustix::fs::{AtFlags, Dir, FileType, statat};
use rustix::io::Errno;

use crate::fs::handle::{folder_beneath, open_file};
use crate::fs::open_folder;
use crate::paths::text_of;
use crate::refusal::LaunchRefusal;

/// No settings, prompt or list of tasks is longer.
const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// All files together.
const ALL_BYTES_MAX: usize = 8 * 1024 * 1024;
/// So many files are read.
const FILES_MAX: usize = 200;
/// So many names a folder of such files may have.
const NAMES_MAX: usize = 10_000;
/// So many names of files that are not read are kept.
const BESIDE_MAX: usize = 100;

/// What was found at a path.
#[derive(Debug)]
pub struct FoundImport {
    /// The folder of the project, or of the user's own settings of the tool.
    pub root: PathBuf,
    /// Whether it is the latter.
    pub is_users_own: bool,
    /// What was read.
    pub source: ImportSource,
}

/// Reads the files of another tool. A path that the person named may be a link; below it none is followed.
///
/// # Errors
/// When there is nothing to import, it is not clear which tool is meant, or a file cannot be read as text.
pub fn read_import(path: &Path, from: Option<PeerTool>) -> Result<FoundImport, LaunchRefusal> {
    let found = fs::symlink_metadata(path).map_err(|error| unreadable(&text_of(path), &error))?;
    let is_folder = path.is_dir();
    if !is_folder && !found.is_file() {
        return Err(refused(&text_of(path), "it is not a plain file or a folder, and import follows no link"));
    }
    let whole = whole_path(path, is_folder).map_err(|error| unreadable(&text_of(path), &error))?;
    let names: Vec<&str> = whole.components().filter_map(name_of).collect();
    let Some(place) = SourcePlace::of(&names, is_folder) else {
        return Err(LaunchRefusal::wrong(format!("import does not know what {} is", text_of(path)))
            .because("by its name it does not belong to a tool that can be imported")
            .hint(format!("name the folder of the project, or one of: {}", all_markers())));
    };
    let mut root = whole.clone();
    for _ in 0..place.below {
        root.pop();
    }
    let is_users_own = place.is_users_own;
    let tool = match from.or(place.tool) {
        Some(tool) => tool,
        None => recognised(&root, path)?,
    };
    let folder = open_folder(&root).map_err(|error| unreadable(&text_of(&root), &error))?;
    let mut reader = SourceReader { tool, files: Vec::new(), beside: Vec::new(), bytes: 0 };
    if is_folder {
        for wanted in tool.wanted(is_users_own) {
            reader.read(&folder, &wanted)?;
        }
        for wanted in tool.more_wanted(&reader.files, is_users_own) {
            reader.read(&folder, &wanted)?;
        }
    } else {
        let below = names.get(names.len().saturating_sub(place.below)..).unwrap_or_default().join("/");
        reader.file(&folder, &below)?;
    }
    let SourceReader { files, mut beside, .. } = reader;
    if files.is_empty() {
        let looked: Vec<String> = tool.wanted(is_users_own).iter().map(words_of).collect();
        return Err(LaunchRefusal::wrong(format!("there is nothing of {} in {}", tool.title(), text_of(&root)))
            .because(format!("import looks for {}", looked.join(", ")))
            .hint("name the folder of the project: loop import DIR"));
    }
    beside.sort();
    Ok(FoundImport { root, is_users_own, source: ImportSource { tool, files, beside } })
}

/// The absolute path without links; that of a file, of its folder.
fn whole_path(path: &Path, is_folder: bool) -> io::Result<PathBuf> {
    if is_folder {
        return path.canonicalize();
    }
    let path = std::path::absolute(path)?;
    let folder = path.parent().ok_or(io::ErrorKind::NotFound)?.canonicalize()?;
    Ok(folder.join(path.file_name().unwrap_or_default()))
}

fn name_of(part: Component<'_>) -> Option<&str> {
    match part {
        Component::Normal(name) => Some(name.to_str().unwrap_or("?")),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => None,
    }
}

/// The tool whose files are in a folder.
fn recognised(root: &Path, path: &Path) -> Result<PeerTool, LaunchRefusal> {
    let has = |tool: &PeerTool| tool.markers().iter().any(|name| root.join(name).symlink_metadata().is_ok());
    let found: Vec<PeerTool> = PeerTool::ALL.into_iter().filter(has).collect();
    match found.as_slice() {
        [tool] => Ok(*tool),
        [] => Err(LaunchRefusal::wrong(format!("there is nothing to import in {}", text_of(root)))
            .because(format!("import looks for {}, or a workflow file (.yaml) that you name", all_markers()))
            .hint("name the folder of the project: loop import DIR")),
        several => {
            let titles: Vec<&str> = several.iter().map(|tool| tool.title()).collect();
            let words = several.iter().map(|tool| format!("loop import {}", text_of(path)) + " --from " + tool.word());
            let mut refusal = LaunchRefusal::wrong(format!("several tools have files in {}", text_of(root)))
                .because(format!("there are files of {}", titles.join(" and ")));
            for words in words {
                refusal = refusal.hint(words);
            }
            Err(refusal)
        }
    }
}

fn all_markers() -> String {
    PeerTool::ALL.iter().flat_map(|tool| tool.markers()).copied().collect::<Vec<_>>().join(", ")
}

/// What is looked for in a folder, for people.
fn words_of(wanted: &WantedFiles) -> String {
    let below = |name: &&'static str| match (wanted.folder.is_empty(), name.starts_with('.')) {
        (true, _) => (*name).to_owned(),
        (false, true) if matches!(wanted.names, WantedNames::Ending(_)) => format!("{}/*{name}", wanted.folder),
        (false, _) => format!("{}/{name}", wanted.folder),
    };
    let (WantedNames::Exactly(names) | WantedNames::Ending(names)) = wanted.names;
    names.iter().map(below).collect::<Vec<_>>().join(", ")
}

fn refused(name: &str, why: &str) -> LaunchRefusal {
    LaunchRefusal::wrong(format!("cannot import {name}"))
        .because(why)
        .hint("move it away, or name one file: loop import FILE")
}

fn unreadable(name: &str, error: &io::Error) -> LaunchRefusal {
    LaunchRefusal::wrong(format!("cannot read {name}"))
        .because(error.to_string())
        .hint("name another path: loop import PATH")
}

struct SourceReader {
    tool: PeerTool,
    files: Vec<SourceFile>,
    beside: Vec<BesideFile>,
    bytes: usize,
}

impl SourceReader {
    fn read(&mut self, root: &OwnedFd, wanted: &WantedFiles) -> Result<(), LaunchRefusal> {
        let in_folder = |name: &str| match wanted.folder.as_str() {
            "" => name.to_owned(),
            folder => format!("{folder}/{name}"),
        };
        let folder = match folder_beneath(root, wanted.folder.as_bytes()) {
            Ok(folder) => folder,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(refused(&wanted.folder, &why_not(&error))),
        };
        let endings = match wanted.names {
            WantedNames::Exactly(names) => {
                return names.iter().try_for_each(|name| self.file(root, &in_folder(name)));
            }
            WantedNames::Ending(endings) => endings,
        };
        for Entry { name, is_folder } in entries(&folder).map_err(|error| refused(&wanted.folder, &why_not(&error)))? {
            let ends = |end: &&str| if end.starts_with('.') { name.ends_with(end) } else { name == **end };
            let shown = in_folder(&name);
            if !is_folder && endings.iter().any(ends) {
                self.file(root, &shown)?;
            } else if self.beside.len() < BESIDE_MAX {
                let shown = if is_folder { format!("{shown}/") } else { shown };
                self.beside.push(BesideFile::of(self.tool, shown));
            }
        }
        Ok(())
    }

    /// Reads a file, if it is there.
    fn file(&mut self, root: &OwnedFd, name: &str) -> Result<(), LaunchRefusal> {
        let shown = escaped(name);
        match statat(root, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(()),
            Err(error) => return Err(refused(&shown, &why_not(&error.into()))),
            Ok(found) => match FileType::from_raw_mode(found.st_mode) {
                FileType::RegularFile => {}
                FileType::Symlink => return Err(refused(&shown, "it is a link, and import follows none")),
                FileType::Directory
                | FileType::Fifo
                | FileType::Socket
                | FileType::CharacterDevice
                | FileType::BlockDevice
                | FileType::Unknown => return Err(refused(&shown, "it is not a plain file")),
            },
        }
        if self.files.len() >= FILES_MAX {
            return Err(refused(&shown, &format!("there are more than {FILES_MAX} files")));
        }
        let mut bytes = Vec::new();
        let file = open_file(root, name.as_bytes()).map_err(|error| refused(&shown, &why_not(&error)))?;
        file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|error| refused(&shown, &why_not(&error)))?;
        self.bytes += bytes.len();
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > FILE_BYTES_MAX {
            return Err(refused(&shown, "it is larger than 1 MiB"));
        }
        if self.bytes > ALL_BYTES_MAX {
            return Err(refused(&shown, "all files together are larger than 8 MiB"));
        }
        let text = text(bytes).map_err(|why| refused(&shown, &why))?;
        self.files.push(SourceFile { name: name.to_owned(), text });
        Ok(())
    }
}

/// The text, or why it is none that a person could read on a screen.
fn text(bytes: Vec<u8>) -> Result<String, String> {
    let line_of = |text: &[u8]| text.iter().filter(|byte| **byte == b'\n').count() + 1;
    let text = String::from_utf8(bytes).map_err(|error| {
        let good = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
        format!("line {} is not UTF-8 text", line_of(good))
    })?;
    let is_bad = |letter: char| letter.is_control() && !['\n', '\t', '\r'].contains(&letter);
    match text.char_indices().find(|(_, letter)| is_bad(*letter)) {
        Some((at, letter)) => {
            let line = line_of(text.as_bytes().get(..at).unwrap_or_default());
            Err(format!("line {line} holds the control character {}", escaped(&letter.to_string())))
        }
        None => Ok(text),
    }
}

struct Entry {
    name: String,
    is_folder: bool,
}

/// What is in a folder, by name. A name that is not UTF-8 is escaped, so no file has it.
fn entries(folder: &OwnedFd) -> io::Result<Vec<Entry>> {
    let mut all = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        if all.len() >= NAMES_MAX {
            return Err(io::Error::other(format!("it has more than {NAMES_MAX} files")));
        }
        let is_folder = statat(folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Directory);
        all.push(Entry { name: escape_path(name), is_folder });
    }
    all.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(all)
}

/// Why a file or folder cannot be opened, in words for people.
fn why_not(error: &io::Error) -> String {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::LOOP | Errno::NOTDIR) => "it is a link or not a folder, and import follows no link".to_owned(),
        Some(Errno::XDEV) => "something is mounted there".to_owned(),
        _ => error.to_string(),
    }
}
