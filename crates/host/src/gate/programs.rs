//! Which files the programs are that a gate's command names: found as the shell of the gate would find them, with a hash.
//! They are recorded before the agent works, and compared directly before every start of a gate and before the end: one
//! that was swapped would be the judge, also where it puts the right one back.
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use loop_core::policy::protect::programs_in;
use loop_core::run::{GateProgram, ProgramFile, RunState, ToolChange};
use loop_core::text;
use sha2::{Digest, Sha256};

use super::tools::runs_on;
use crate::fs::hex;
use crate::paths::{program_on_path, shell};

// A fact is bounded, and so is each of these.

/// So many programs of one gate are recorded.
const PROGRAMS_MAX: usize = 12;
/// So many that were swapped are named.
const SWAPPED_MAX: usize = 6;
/// A longer word is not recorded.
const NAME_BYTES_MAX: usize = 100;
/// Of a longer path the end is recorded; the hash tells files apart all the same.
const PATH_BYTES_MAX: usize = 160;
/// A program that is longer has no hash.
const HASHED_BYTES_MAX: u64 = 256 * 1024 * 1024;
const READ_BYTES: usize = 64 * 1024;

/// The programs that a gate's command names, as they are now: the shell itself, the first word of each simple command,
/// what these run on, and scripts outside of the workspace. Files of the workspace that are named by their path are not
/// among them: they are protected, or they are the work.
pub(crate) fn programs_of(command: &str, workspace: &Path, hashes: &mut ProgramHashes) -> Vec<GateProgram> {
    let here = workspace.to_str().unwrap_or_default();
    let mut names = vec!["sh".to_owned()];
    for name in programs_in(command, here) {
        let below = runs_on(&name).map(str::to_owned);
        names.extend(std::iter::once(name).chain(below));
    }
    let mut seen: Vec<GateProgram> = Vec::new();
    for name in names {
        let is_new = name.len() <= NAME_BYTES_MAX && seen.iter().all(|seen| seen.name != name);
        if !is_new || seen.len() >= PROGRAMS_MAX || (name.contains('/') && is_inside(&workspace.join(&name), workspace))
        {
            continue;
        }
        let file = file_of(&name, workspace, hashes);
        seen.push(GateProgram { name, file });
    }
    seen
}

/// The programs of all gates of a run as they are now, and how they differ from what they were before the agent worked.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProgramsNow {
    files: BTreeMap<String, Option<ProgramFile>>,
    pub(crate) changed: Vec<ToolChange>,
}

impl ProgramsNow {
    pub(crate) fn of(state: &RunState, workspace: &Path) -> Self {
        let (mut all, mut hashes) = (Self::default(), ProgramHashes::default());
        for before in state.gates.iter().flat_map(|gate| gate.first_programs()) {
            if all.files.contains_key(&before.name) {
                continue;
            }
            let after = file_of(&before.name, workspace, &mut hashes);
            if before.file != after && all.changed.len() < SWAPPED_MAX {
                let (program, before) = (before.name.clone(), before.file.clone());
                all.changed.push(ToolChange { program, before, after: after.clone() });
            }
            all.files.insert(before.name.clone(), after);
        }
        all
    }

    /// The file that a program is now.
    pub(crate) fn file(&self, name: &str) -> Option<ProgramFile> {
        self.files.get(name).cloned().flatten()
    }
}

/// The programs that are not what they were before the agent worked, as they are now.
pub(crate) fn changed_since(first: &[GateProgram], workspace: &Path, hashes: &mut ProgramHashes) -> Vec<GateProgram> {
    let now = first.iter().map(|before| {
        let file = file_of(&before.name, workspace, hashes);
        (before, GateProgram { name: before.name.clone(), file })
    });
    now.filter(|(before, now)| *before != now).map(|(_, now)| now).take(SWAPPED_MAX).collect()
}

/// Looks at the programs of all gates before every start of one on a copy.
#[derive(Debug)]
pub(crate) struct ProgramWatch {
    workspace: PathBuf,
    /// Those of the start that do not lie in the workspace: in a copy these are the copy's own.
    first: Vec<GateProgram>,
    hashes: RefCell<ProgramHashes>,
    changed: RefCell<Vec<ToolChange>>,
}

impl ProgramWatch {
    pub(crate) fn of(state: &RunState, workspace: &Path) -> Self {
        let mut first: Vec<GateProgram> = Vec::new();
        for program in state.gates.iter().flat_map(|gate| gate.first_programs()) {
            let is_outside = program.file.as_ref().is_some_and(|file| !file.in_workspace);
            if is_outside && first.iter().all(|known| known.name != program.name) {
                first.push(program.clone());
            }
        }
        let (hashes, changed) = (RefCell::default(), RefCell::default());
        Self { workspace: workspace.to_owned(), first, hashes, changed }
    }

    /// A gate is about to start.
    pub(crate) fn look(&self) {
        let mut all = self.changed.borrow_mut();
        for now in changed_since(&self.first, &self.workspace, &mut self.hashes.borrow_mut()) {
            let before = self.first.iter().find(|first| first.name == now.name).and_then(|first| first.file.clone());
            let change = ToolChange { program: now.name, before, after: now.file };
            if all.len() < SWAPPED_MAX && !all.contains(&change) {
                all.push(change);
            }
        }
    }

    /// All that were not what they were at one of these starts.
    pub(crate) fn changed(&self) -> Vec<ToolChange> {
        self.changed.borrow().clone()
    }
}

/// Hashes of programs. One is read again only where its file is another one, or was written or touched since.
#[derive(Debug, Default)]
pub(crate) struct ProgramHashes(BTreeMap<PathBuf, (FileStamp, String)>);

/// Device, inode, size, times of its last write and of its last change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileStamp {
    file: (u64, u64),
    size: u64,
    written: (i64, i64),
    changed: (i64, i64),
}

impl FileStamp {
    fn of(found: &Metadata) -> Self {
        Self {
            file: (found.dev(), found.ino()),
            size: found.size(),
            written: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }

    /// What also holds after a restart of the machine: numbers of devices and inodes may be others then.
    fn words(&self) -> String {
        let time = |(seconds, nanos): (i64, i64)| format!("{seconds}.{nanos:09}");
        format!("{} bytes, written {}, changed {}", self.size, time(self.written), time(self.changed))
    }
}

impl ProgramHashes {
    /// A file with its hash; by its size and times where it may not be read or is too long. None where there is no file.
    fn identity(&mut self, path: &Path) -> Option<(String, String)> {
        let hash = self.of(path)?;
        if !hash.is_empty() {
            return Some((hash, String::new()));
        }
        Some((hash, FileStamp::of(&path.metadata().ok()?).words()))
    }

    /// The hash of a file's content; empty where it may not be read or is too long. None where there is no file.
    fn of(&mut self, path: &Path) -> Option<String> {
        let found = path.metadata().ok().filter(Metadata::is_file)?;
        let stamp = FileStamp::of(&found);
        if let Some((known, hash)) = self.0.get(path)
            && *known == stamp
        {
            return Some(hash.clone());
        }
        let hash = hash(path, found.len());
        // A file that was written while it was read is read again the next time.
        if path.metadata().is_ok_and(|found| FileStamp::of(&found) == stamp) {
            self.0.insert(path.to_owned(), (stamp, hash.clone()));
        }
        Some(hash)
    }
}

fn file_of(name: &str, workspace: &Path, hashes: &mut ProgramHashes) -> Option<ProgramFile> {
    let path = match name {
        "sh" => shell(workspace),
        name if name.contains('/') => workspace.join(name),
        name => program_on_path(name)?,
    };
    let (sha256, stamp) = hashes.identity(&path)?;
    let in_workspace = is_inside(&path, workspace);
    let path = text::escape_path(path.as_os_str().as_bytes());
    Some(ProgramFile { path: text::tail(&path, PATH_BYTES_MAX).to_owned(), sha256, stamp, in_workspace })
}

fn is_inside(path: &Path, workspace: &Path) -> bool {
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    folder.unwrap_or_else(|| PathBuf::from(path)).starts_with(workspace)
}

fn hash(path: &Path, bytes: u64) -> String {
    let Ok(mut file) = File::open(path) else { return String::new() };
    if bytes > HASHED_BYTES_MAX {
        return String::new();
    }
    let mut hash = Sha256::new();
    let mut buffer = vec![0_u8; READ_BYTES];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return hex(&hash.finalize()),
            Ok(count) => hash.update(&buffer[..count]),
            Err(_) => return String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shell_what_a_line_names_and_what_that_runs_on_are_recorded_with_path_and_hash() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = folder.path().canonicalize().unwrap().join("work");
        std::fs::create_dir(&workspace).unwrap();
        std::fs::write(workspace.join("check.sh"), "exit 0").unwrap();
        std::fs::write(folder.path().join("outside.sh"), "exit 0").unwrap();
        let programs = programs_of(
            "cd . && ./check.sh && cat a | no-such-program-here; sh ../outside.sh",
            &workspace,
            &mut ProgramHashes::default(),
        );
        let names: Vec<&str> = programs.iter().map(|program| program.name.as_str()).collect();
        assert_eq!(names, ["sh", "cat", "no-such-program-here", "../outside.sh"]);
        let sh = programs[0].file.clone().unwrap();
        assert_eq!((sh.path.as_str(), sh.sha256.len(), sh.in_workspace), ("/bin/sh", 64, false));
        assert_eq!(programs[2].file, None);
        let outside = programs[3].file.clone().unwrap();
        assert_eq!((outside.sha256, outside.in_workspace), (hex(&Sha256::digest(b"exit 0")), false));
    }

    // req: RT-R16
    #[test]
    fn another_file_at_the_place_of_a_program_that_is_too_long_for_a_hash_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = folder.path().canonicalize().unwrap().join("work");
        std::fs::create_dir(&workspace).unwrap();
        let outside = folder.path().join("outside.sh");
        let put = |name: &str| File::create(folder.path().join(name)).unwrap().set_len(HASHED_BYTES_MAX + 1).unwrap();
        put("outside.sh");
        let first = programs_of("sh ../outside.sh", &workspace, &mut ProgramHashes::default());
        assert!(first[1].file.as_ref().is_some_and(|file| file.sha256.is_empty()), "it has no hash: {first:?}");
        assert_eq!(changed_since(&first, &workspace, &mut ProgramHashes::default()), Vec::new());
        put("other.sh");
        // Both may be written within one tick of the clock of the file system.
        let other = File::options().write(true).open(folder.path().join("other.sh")).unwrap();
        other.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1)).unwrap();
        std::fs::rename(folder.path().join("other.sh"), &outside).unwrap();
        let changed = changed_since(&first, &workspace, &mut ProgramHashes::default());
        let changed: Vec<&str> = changed.iter().map(|change| change.name.as_str()).collect();
        assert_eq!(changed, ["../outside.sh"]);
    }

    #[test]
    fn a_program_that_is_put_back_after_a_start_is_still_reported() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = folder.path().canonicalize().unwrap().join("work");
        std::fs::create_dir(&workspace).unwrap();
        let outside = folder.path().join("outside.sh");
        std::fs::write(&outside, "exit 1").unwrap();
        let first = programs_of("sh ../outside.sh", &workspace, &mut ProgramHashes::default());
        let watch = ProgramWatch { first, ..ProgramWatch::of(&RunState::default(), &workspace) };
        watch.look();
        assert_eq!(watch.changed(), Vec::new());
        // As long as it was, at the same place, with the time of its last write: only the change time differs.
        let written = std::fs::metadata(&outside).unwrap().modified().unwrap();
        std::fs::write(&outside, "exit 0").unwrap();
        File::options().write(true).open(&outside).unwrap().set_modified(written).unwrap();
        watch.look();
        std::fs::write(&outside, "exit 1").unwrap();
        watch.look();
        let changed: Vec<String> = watch.changed().iter().map(|change| change.program.clone()).collect();
        assert_eq!(changed, ["../outside.sh"]);
    }

    #[test]
    fn what_is_recorded_of_a_long_line_is_bounded() {
        let many: String = (0..100).map(|number| format!("program-{number}-{}; ", "x".repeat(70))).collect();
        let programs =
            programs_of(&format!("{}; {many}", "y".repeat(200)), Path::new("/nowhere"), &mut ProgramHashes::default());
        assert_eq!(programs.len(), PROGRAMS_MAX);
        assert!(programs.iter().all(|program| program.name.len() <= NAME_BYTES_MAX));
    }
}
