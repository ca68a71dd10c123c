//! What lies outside of the workspace and may decide what a gate says, by content: recorded around the first runs of the
//! gates, before an agent works, and compared before the end. A file in the run's folder; the journal has its hash.
//!
//! What a gate itself writes there when it runs first is left out.
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use loop_core::policy::outside::{
    ABOVE_BELOW, OutsideBy, OutsideChange, OutsideWhat, is_build_mark, is_looked_at, is_read_above, is_read_by_python,
    is_shell_text, named_by_script, named_outside, place_variables, places_of,
};
use loop_core::policy::protect::programs_in;
use loop_core::run::RunState;
use loop_core::text::{self, escape_path};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::fs::hex;
use crate::paths::{path_of, program_on_path, text_of};

/// The files in the folder of a run begin so; the hash follows.
const FILE: &str = "outside-";
/// So many letters of the hash are in the name.
const HASH_IN_NAME: usize = 16;
/// So many files are recorded, so many bytes of each, and so many of all.
const FILES_MAX: usize = 4_000;
const BYTES_MAX: u64 = 1024 * 1024;
const BYTES_ALL: u64 = 64 * 1024 * 1024;
/// So many names of one folder are looked at, and so deep.
const NAMES_MAX: usize = 4_000;
const DEPTH_MAX: usize = 12;
/// So many files are found by reading scripts, each not longer than this.
const SCRIPTS_MAX: usize = 100;
const SCRIPT_BYTES_MAX: u64 = 256 * 1024;
/// So many changes are reported.
const CHANGES_MAX: usize = 12;
/// Of a longer path the end is reported.
const PATH_BYTES_MAX: usize = 160;

/// A place that is looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Place {
    path: String,
    by: OutsideBy,
}

/// The record.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct OutsideRecord {
    places: Vec<Place>,
    /// Which of the places were there.
    there: BTreeSet<String>,
    /// Digests of the files, by their path.
    files: BTreeMap<String, String>,
    /// Files that came, went or changed while no agent worked.
    unsteady: BTreeSet<String>,
    /// There were more files than are recorded: of a file that is not in it nothing is known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_cut: bool,
}

impl OutsideRecord {
    /// Only folders above the workspace are looked at, and nothing is there: that needs no file.
    fn is_bare(&self) -> bool {
        let is_above = |place: &Place| place.by == OutsideBy::Above;
        self.files.is_empty() && self.unsteady.is_empty() && !self.is_cut && self.places.iter().all(is_above)
    }

    /// The record of a run without a file.
    fn bare(workspace: &Path) -> Self {
        let places: Vec<Place> = above(workspace).collect();
        let there = places.iter().map(|place| place.path.clone()).collect();
        Self { places, there, ..Self::default() }
    }

    /// The record that the journal names by its hash.
    fn read(run: &Path, hash: &str, workspace: &Path) -> Option<Self> {
        if hash.is_empty() {
            return Some(Self::bare(workspace));
        }
        let text = fs::read(file_of(run, hash)).ok().filter(|text| hex(&Sha256::digest(text)) == hash)?;
        serde_json::from_slice(&text).ok()
    }
}

fn above(workspace: &Path) -> impl Iterator<Item = Place> {
    workspace.ancestors().skip(1).map(|above| Place { path: text_of(above), by: OutsideBy::Above })
}

/// What was there before a first run of a gate.
#[derive(Debug)]
pub(crate) struct OutsideBefore {
    run: PathBuf,
    before: OutsideRecord,
}

impl OutsideBefore {
    /// Looks at what the commands of all gates, the folders above the workspace and the variables name.
    pub(crate) fn look(run: &Path, workspace: &Path, commands: &[String]) -> Self {
        let before = look_at(places(commands, workspace), &skipped(run, workspace));
        Self { run: run.to_owned(), before }
    }

    /// Looks again after the gate, and writes the record. Its hash; empty where nothing was there.
    pub(crate) fn finish(self, workspace: &Path) -> io::Result<String> {
        let after = look_at(self.before.places.clone(), &skipped(&self.run, workspace));
        let record = steady(self.before, after);
        if record.is_bare() {
            return Ok(String::new());
        }
        let text = serde_json::to_vec(&record)?;
        let hash = hex(&Sha256::digest(&text));
        let path = file_of(&self.run, &hash);
        if fs::read(&path).is_ok_and(|there| there == text) {
            return Ok(hash);
        }
        let new = self.run.join(".outside-new");
        let mut to = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        to.write_all(&text)?;
        // The journal will have its hash: after a power cut it must be there.
        to.sync_data()?;
        fs::rename(new, path)?;
        File::open(&self.run)?.sync_all()?;
        Ok(hash)
    }
}

fn file_of(run: &Path, hash: &str) -> PathBuf {
    run.join(format!("{FILE}{}", hash.get(..HASH_IN_NAME).unwrap_or(hash)))
}

/// What is not as it was before the agent worked, a bounded number: first what decides.
pub(crate) fn changes(run: &Path, state: &RunState, workspace: &Path) -> Vec<OutsideChange> {
    if state.iteration == 0 {
        return Vec::new();
    }
    let mut merged: Option<OutsideRecord> = None;
    for hash in state.gates.iter().filter_map(|gate| gate.first_outside()) {
        let Some(record) = OutsideRecord::read(run, hash, workspace) else {
            let path = shown(&text_of(&file_of(run, hash)));
            return vec![OutsideChange { path, by: OutsideBy::Command, what: OutsideWhat::NoRecord }];
        };
        merged = Some(match merged {
            Some(before) => steady(before, record),
            None => record,
        });
    }
    let Some(then) = merged else { return Vec::new() };
    let mut found = changes_since(&then, look_at(then.places.clone(), &skipped(run, workspace)));
    found.sort_by_key(|change| (!change.decides(), change.by));
    found.truncate(CHANGES_MAX);
    found
}

fn changes_since(then: &OutsideRecord, mut now: OutsideRecord) -> Vec<OutsideChange> {
    for path in then.files.keys().filter(|path| !now.files.contains_key(*path)).cloned().collect::<Vec<_>>() {
        // New files may have taken its place within the bounds.
        if let Some((digest, _)) = digest_of(&path_of(&path)) {
            now.files.insert(path, digest);
        }
    }
    compared(then, &now)
}

/// Two looks as one record: what differs between them says nothing.
fn steady(one: OutsideRecord, other: OutsideRecord) -> OutsideRecord {
    let mut unsteady: BTreeSet<String> = one.unsteady.union(&other.unsteady).cloned().collect();
    for (path, digest) in one.files.iter().chain(&other.files) {
        if one.files.get(path) != Some(digest) || other.files.get(path) != Some(digest) {
            unsteady.insert(path.clone());
        }
    }
    let mut record = one;
    record.files.retain(|path, _| !unsteady.contains(path));
    record.there.extend(other.there);
    record.is_cut |= other.is_cut;
    for place in other.places {
        if !record.places.contains(&place) {
            record.places.push(place);
        }
    }
    OutsideRecord { unsteady, ..record }
}

fn compared(then: &OutsideRecord, now: &OutsideRecord) -> Vec<OutsideChange> {
    let place_of = |path: &str| then.places.iter().find(|place| is_in(path, &place.path));
    let mut found = Vec::new();
    let paths: BTreeSet<&String> = then.files.keys().chain(now.files.keys()).collect();
    for path in paths {
        let Some(place) = place_of(path) else { continue };
        let what = match (then.files.get(path), now.files.get(path)) {
            (Some(before), Some(after)) if before == after => continue,
            (None, _) if then.is_cut || then.unsteady.contains(path) => continue,
            (Some(_), Some(_)) => OutsideWhat::Changed,
            (Some(_), None) => OutsideWhat::Removed,
            (None, _) if then.there.contains(&place.path) => OutsideWhat::New,
            (None, _) => OutsideWhat::Made,
        };
        found.push(OutsideChange { path: shown(path), by: place.by, what });
    }
    found
}

fn shown(path: &str) -> String {
    text::tail(path, PATH_BYTES_MAX).to_owned()
}

fn is_in(path: &str, place: &str) -> bool {
    let place = place.trim_end_matches('/');
    path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// What is never looked into: the workspace, and all runs and copies.
fn skipped(run: &Path, workspace: &Path) -> Vec<PathBuf> {
    let home = run.parent().and_then(Path::parent).unwrap_or(run);
    vec![workspace.to_owned(), home.to_owned()]
}

/// The places, those that a command names first: the first that holds a file says why it is looked at.
fn places(commands: &[String], workspace: &Path) -> Vec<Place> {
    let Some(here) = workspace.to_str() else { return Vec::new() };
    let home = std::env::var("HOME").ok().filter(|home| home.starts_with('/'));
    let mut found: Vec<Place> = Vec::new();
    let add = |found: &mut Vec<Place>, path: String, by: OutsideBy| {
        if found.iter().all(|known| known.path != path) {
            found.push(Place { path, by });
        }
    };
    for command in commands {
        for path in named_outside(command, here, home.as_deref()) {
            add(&mut found, path, OutsideBy::Command);
        }
    }
    for path in by_scripts(&found, here, home.as_deref()) {
        add(&mut found, path, OutsideBy::Command);
    }
    for folder in commands.iter().flat_map(|command| python_folders(command, workspace)) {
        add(&mut found, text_of(&folder), OutsideBy::Python);
    }
    for variable in place_variables() {
        let Ok(value) = std::env::var(variable) else { continue };
        for path in places_of(variable, &value, here, home.as_deref()) {
            add(&mut found, path, OutsideBy::Variable);
        }
    }
    for place in above(workspace) {
        add(&mut found, place.path, place.by);
    }
    found
}

/// What the scripts among these places read or run outside of the workspace, and what those do.
fn by_scripts(places: &[Place], workspace: &str, home: Option<&str>) -> Vec<String> {
    let mut all: Vec<String> = places.iter().map(|place| place.path.clone()).collect();
    let (first, mut at) = (all.len(), 0);
    while let Some(path) = all.get(at).cloned() {
        at += 1;
        let Some(text) = script_text(Path::new(&path)) else { continue };
        let folder = path.rsplit_once('/').map_or("/", |(folder, _)| folder);
        for named in named_by_script(&text, folder, workspace, home) {
            // A script may name whole folders for other reasons; of these only what it names in them counts.
            if all.len() < SCRIPTS_MAX && !all.contains(&named) && Path::new(&named).is_file() {
                all.push(named);
            }
        }
    }
    all.split_off(first)
}

/// The text of a shell script or makefile.
fn script_text(path: &Path) -> Option<String> {
    let found = path.metadata().ok()?;
    let text = (found.is_file() && found.len() <= SCRIPT_BYTES_MAX).then(|| fs::read_to_string(path).ok()).flatten()?;
    is_shell_text(&name_of(path), &text).then_some(text)
}

/// The folders with the libraries of the Pythons that a command runs.
fn python_folders(command: &str, workspace: &Path) -> Vec<PathBuf> {
    let mut prefixes: BTreeSet<PathBuf> = BTreeSet::new();
    for program in programs_in(command, workspace.to_str().unwrap_or_default()) {
        let found = if program.contains('/') { Some(workspace.join(&program)) } else { program_on_path(&program) };
        let Some(python) = found.and_then(|file| python_of(&file)) else { continue };
        for file in [Some(python.clone()), python.canonicalize().ok()].into_iter().flatten() {
            prefixes.extend(file.parent().and_then(Path::parent).map(Path::to_owned));
        }
    }
    prefixes.extend(std::env::var_os("PYTHONUSERBASE").map(PathBuf::from).filter(|_| !prefixes.is_empty()));
    let libraries = prefixes.iter().flat_map(|prefix| [prefix.join("lib"), prefix.join("local/lib")]);
    let is_python = |entry: &fs::DirEntry| entry.file_name().as_bytes().starts_with(b"python3");
    let pythons = libraries.flat_map(|library| {
        fs::read_dir(library).into_iter().flatten().flatten().filter(is_python).map(|entry| entry.path())
    });
    let sites = pythons.flat_map(|python| ["site-packages", "dist-packages"].map(|site| python.join(site)));
    sites.filter(|site| site.is_dir() && !site.starts_with(workspace)).collect()
}

/// The Python that a program is, or that its first line names.
fn python_of(program: &Path) -> Option<PathBuf> {
    let is_python = |path: &Path| path.file_name().is_some_and(|name| name.as_bytes().starts_with(b"python"));
    if is_python(program) {
        return Some(program.to_owned());
    }
    let mut first = Vec::new();
    BufReader::new(File::open(program).ok()?.take(512)).read_until(b'\n', &mut first).ok()?;
    let first = String::from_utf8(first).ok()?;
    let mut words = first.strip_prefix("#!")?.split_whitespace();
    let named = match words.next()? {
        "/usr/bin/env" => program_on_path(words.next()?)?,
        path => PathBuf::from(path),
    };
    is_python(&named).then_some(named)
}

/// What is left of the bounds.
struct Looking<'a> {
    record: OutsideRecord,
    bytes_left: u64,
    skipped: &'a [PathBuf],
}

fn look_at(places: Vec<Place>, skipped: &[PathBuf]) -> OutsideRecord {
    let mut looking = Looking { record: OutsideRecord::default(), bytes_left: BYTES_ALL, skipped };
    for place in &places {
        let path = path_of(&place.path);
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

/// The names in a folder, in their order; none where there are too many.
fn names_in(folder: &Path) -> Option<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(NAMES_MAX + 1);
    let mut names: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    names.sort();
    (names.len() <= NAMES_MAX).then_some(names)
}

/// A digest of where a link leads, and of the size and the beginning of a file; and how many bytes were read.
fn digest_of(path: &Path) -> Option<(String, u64)> {
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
    let mut bytes = Vec::new();
    if found.is_file() {
        hash.update(found.len().to_le_bytes());
        File::open(path).ok().map(|file| file.take(BYTES_MAX).read_to_end(&mut bytes));
        hash.update(&bytes);
    }
    Some((hex(&hash.finalize()), u64::try_from(bytes.len()).unwrap_or(u64::MAX)))
}

fn name_of(path: &Path) -> String {
    path.file_name().map(|name| escape_path(name.as_bytes())).unwrap_or_default()
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
        let names = self.names(path);
        // A folder of a build changes with every source.
        if names.iter().any(|name| is_build_mark(&name_of(name))) {
            return;
        }
        for below in names.iter().filter(|name| is_looked_at(&name_of(name))) {
            self.all(below, depth + 1);
        }
    }

    /// Files of a folder above the workspace that tools read.
    fn above(&mut self, folder: &Path) {
        let named = self.names(folder).into_iter().filter(|path| is_read_above(&name_of(path)));
        for path in named.chain(ABOVE_BELOW.iter().map(|below| folder.join(below))) {
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
        if self.record.files.len() >= FILES_MAX || self.bytes_left == 0 {
            self.record.is_cut = true;
            return;
        }
        if let Some((digest, bytes)) = digest_of(path) {
            self.bytes_left = self.bytes_left.saturating_sub(bytes);
            self.record.files.insert(name, digest);
        }
    }

    fn names(&mut self, folder: &Path) -> Vec<PathBuf> {
        let names = names_in(folder);
        self.record.is_cut |= names.is_none();
        names.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with a workspace and what is beside it.
    struct Scene {
        _folder: tempfile::TempDir,
        root: PathBuf,
        command: String,
    }

    impl Scene {
        fn new(command: &str, files: &[(&str, &str)]) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().canonicalize().unwrap().join("p");
            for made in ["work", "home/runs/one"] {
                fs::create_dir_all(root.join(made)).unwrap();
            }
            let scene = Self { _folder: folder, root, command: command.to_owned() };
            files.iter().for_each(|(path, text)| scene.write(path, text));
            scene
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn look(&self) -> OutsideRecord {
            let (run, workspace) = (self.root.join("home/runs/one"), self.root.join("work"));
            OutsideBefore::look(&run, &workspace, std::slice::from_ref(&self.command)).before
        }

        /// The changes since a look, each with whether it decides.
        fn since(&self, then: &OutsideRecord) -> Vec<String> {
            let root = format!("{}/", text_of(&self.root));
            let words = |change: &OutsideChange| {
                format!("{}{}", if change.decides() { "! " } else { "" }, change.words().replace(&root, ""))
            };
            changes_since(then, self.look()).iter().map(words).collect()
        }
    }

    #[test]
    fn what_a_command_names_outside_is_compared_by_content_and_decides() {
        let files = [("spec/test_a.py", "assert 1 == 2"), ("spec/deep/data.json", "{}"), ("other/x.py", "1")];
        let scene = Scene::new("python3 -m pytest -q ../spec", &files);
        let then = scene.look();
        assert_eq!(scene.since(&then), Vec::<String>::new());
        scene.write("spec/test_a.py", "assert 1 == 1");
        scene.write("spec/conftest.py", "");
        scene.write("spec/test_b.py", "");
        scene.write("spec/__pycache__/test_a.pyc", "");
        scene.write("other/x.py", "2");
        fs::remove_file(scene.root.join("spec/deep/data.json")).unwrap();
        let expected = [
            "! spec/conftest.py (new)",
            "! spec/deep/data.json (gone)",
            "! spec/test_a.py (changed)",
            "spec/test_b.py (new)",
        ];
        assert_eq!(scene.since(&then), expected);
    }

    #[test]
    fn what_was_not_there_and_what_lies_above_is_only_named() {
        let scene = Scene::new(
            "cd .. && sh check.sh && diff ../p/out.txt work/a",
            &[("check.sh", "exit 1"), ("pytest.ini", "a")],
        );
        let then = scene.look();
        scene.write("check.sh", "exit 0");
        scene.write("out.txt", "made");
        scene.write("pytest.ini", "b");
        scene.write(".cargo/config.toml", "c");
        scene.write("notes.md", "d");
        scene.write("work/inside.sh", "e");
        let expected = [".cargo/config.toml (new)", "! check.sh (changed)", "out.txt (new)", "pytest.ini (changed)"];
        assert_eq!(scene.since(&then), expected);
    }

    #[test]
    fn what_a_gate_writes_itself_when_it_runs_first_says_nothing_later() {
        let scene = Scene::new("make -C ../ci", &[("ci/Makefile", "all:"), ("ci/last.txt", "1")]);
        let before = scene.look();
        scene.write("ci/last.txt", "2");
        scene.write("ci/built", "x");
        let then = steady(before, scene.look());
        scene.write("ci/last.txt", "3");
        scene.write("ci/built", "y");
        assert_eq!(scene.since(&then), Vec::<String>::new());
        scene.write("ci/Makefile", "all: ; true");
        assert_eq!(scene.since(&then), ["! ci/Makefile (changed)"]);
    }

    #[test]
    fn what_a_script_outside_reads_is_compared_too() {
        let files =
            [("ci/run.sh", ". \"$(dirname \"$0\")/lib.sh\""), ("ci/lib.sh", ". ../more.sh"), ("more.sh", "exit 1")];
        let scene = Scene::new("sh ../ci/run.sh", &files);
        let then = scene.look();
        scene.write("more.sh", "exit 0");
        scene.write("ci/other.sh", "exit 0");
        assert_eq!(scene.since(&then), ["! more.sh (changed)"]);
    }

    #[test]
    fn of_more_files_than_are_recorded_those_that_are_recorded_are_compared() {
        let scene = Scene::new("pytest ../spec", &[("spec/a.py", "1")]);
        for number in 0..NAMES_MAX {
            scene.write(&format!("spec/data/{number}"), "");
        }
        scene.write("spec/z.py", "1");
        let then = scene.look();
        assert!(then.is_cut && then.files.len() == FILES_MAX);
        scene.write("spec/a.py", "2");
        scene.write("spec/aa.py", "2");
        assert_eq!(scene.since(&then), ["! spec/a.py (changed)"]);
    }

    #[test]
    fn a_folder_that_a_build_made_is_not_looked_into() {
        let scene = Scene::new("cd ../build && ctest", &[("build/CMakeCache.txt", "a"), ("build/Makefile", "b")]);
        let then = scene.look();
        scene.write("build/Makefile", "c");
        assert_eq!(scene.since(&then), Vec::<String>::new());
    }
}
