//! What lies outside of the workspace and may decide what a gate says, by content: recorded around the first runs of the
//! gates, before an agent works, and compared before the end. A file in the run's folder; the journal has its hash.
//!
//! What a gate itself writes there when it runs first is left out.
mod looking;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use loop_core::policy::outside::{
    MAKER_FILES, OutsideBy, OutsideChange, OutsideWhat, ScriptPath, is_shell_text, named_by_script, named_outside,
    place_variables, places_of,
};
use loop_core::policy::protect::{GateText, programs_in};
use loop_core::run::RunState;
use loop_core::text;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use self::looking::{changed_at, digest_of, is_tool_file, look_at, name_of};
use crate::fs::hashed::{HashedFile, read_hashed, write_hashed};
use crate::fs::hex;
use crate::paths::{path_of, program_on_path, text_of};

/// The files in the folder of a run begin so; the hash follows.
const FILE: &str = "outside-";
/// So many letters of the hash are in the name.
const HASH_IN_NAME: usize = 16;
/// So many files are recorded, and so many more of those that tools read by their names; so many bytes of each, and of all.
const FILES_MAX: usize = 4_000;
const TOOL_FILES_MAX: usize = 1_000;
const BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Of a longer file its two ends, so much together.
const END_BYTES: u64 = 16 * 1024 * 1024;
const BYTES_ALL: u64 = 128 * 1024 * 1024;
/// So many names of one folder are looked at, of all that are read, and so deep.
const NAMES_MAX: usize = 4_000;
const NAMES_READ_MAX: usize = 200_000;
const DEPTH_MAX: usize = 12;
/// A longer record was not written here.
const RECORD_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// So many files are found by reading scripts, each not longer than this.
const SCRIPTS_MAX: usize = 100;
const SCRIPT_BYTES_MAX: u64 = 256 * 1024;
/// So many changes are reported.
const CHANGES_MAX: usize = 12;
/// Of a longer path the end is reported.
const PATH_BYTES_MAX: usize = 160;

/// The kernel's time of a file may be so much behind the clock.
const FILE_TIME_BEHIND: Duration = Duration::from_millis(20);

/// A place that is looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct OutsidePath {
    path: String,
    by: OutsideBy,
}

/// The record.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct OutsideRecord {
    places: Vec<OutsidePath>,
    /// Which of the places were there.
    there: BTreeSet<String>,
    /// Digests of the files, by their path.
    files: BTreeMap<String, String>,
    /// The same for files that only scripts name which were found when the gate had run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    late: BTreeMap<String, String>,
    /// Files that came, went or changed while no agent worked.
    unsteady: BTreeSet<String>,
    /// An older record: there were more files than are recorded, and of a file that is not in it nothing is known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_cut: bool,
    /// The same for these places. What tools read by its name is recorded all the same.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    cut: BTreeSet<String>,
    /// The folders that a build had made; none in an older record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    built: Option<BTreeSet<String>>,
    /// How files that are longer than [`END_BYTES`] are read.
    #[serde(default, skip_serializing_if = "LongFiles::is_ends")]
    long_files: LongFiles,
}

/// How a long file becomes a digest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum LongFiles {
    /// In an older record: its two ends and its size.
    #[default]
    Ends,
    /// The whole file. Above [`BYTES_MAX`]: its two ends, its size, and when it was changed last.
    Whole,
}

impl LongFiles {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_ends(&self) -> bool {
        *self == Self::Ends
    }
}

impl OutsideRecord {
    /// Only folders above the workspace are looked at, and nothing is there: that needs no file.
    fn is_bare(&self) -> bool {
        let is_above = |place: &OutsidePath| place.by == OutsideBy::Above;
        self.files.is_empty()
            && self.late.is_empty()
            && self.unsteady.is_empty()
            && !self.is_cut
            && self.cut.is_empty()
            && self.built.as_ref().is_none_or(BTreeSet::is_empty)
            && self.places.iter().all(is_above)
    }

    /// Adds files that were not looked at before the gate ran. Of those that have changed since, nothing is known.
    fn add_late(&mut self, paths: Vec<String>, since: SystemTime) {
        for path in paths {
            let file = path_of(&path);
            let is_old = |found: fs::Metadata| found.is_file() && changed_at(&found) + FILE_TIME_BEHIND < since;
            if self.files.contains_key(&path) || self.unsteady.contains(&path) || !file.metadata().is_ok_and(is_old) {
                continue;
            }
            if self.files.len() + self.late.len() < FILES_MAX
                && let Some((digest, _)) = digest_of(&file, self.long_files)
            {
                self.late.insert(path, digest);
            }
        }
    }

    /// The record with the files that were found later.
    fn whole(mut self) -> Self {
        let late = std::mem::take(&mut self.late);
        // They come first: the first place that holds a file says why it is looked at.
        let places = late.keys().map(|path| OutsidePath { path: path.clone(), by: OutsideBy::Command });
        self.places = places.chain(std::mem::take(&mut self.places)).collect();
        self.there.extend(late.keys().cloned());
        for (path, digest) in late {
            if !self.unsteady.contains(&path) {
                self.files.entry(path).or_insert(digest);
            }
        }
        self
    }

    /// The record of a run without a file.
    fn bare(workspace: &Path) -> Self {
        let places: Vec<OutsidePath> = above(workspace).collect();
        let there = places.iter().map(|place| place.path.clone()).collect();
        Self { places, there, built: Some(BTreeSet::new()), long_files: LongFiles::Whole, ..Self::default() }
    }

    /// The record that the journal names by its hash.
    fn read(run: &Path, hash: &str, workspace: &Path) -> Option<Self> {
        if hash.is_empty() {
            return Some(Self::bare(workspace));
        }
        match read_hashed(&file_of(run, hash), hash, RECORD_BYTES_MAX) {
            HashedFile::Same(text) => serde_json::from_slice(&text).ok(),
            HashedFile::Other | HashedFile::Missing => None,
        }
    }
}

fn above(workspace: &Path) -> impl Iterator<Item = OutsidePath> {
    workspace.ancestors().skip(1).map(|above| OutsidePath { path: text_of(above), by: OutsideBy::Above })
}

/// What was there before a first run of a gate.
#[derive(Debug)]
pub(crate) struct OutsideBefore {
    run: PathBuf,
    before: OutsideRecord,
    at: SystemTime,
}

impl OutsideBefore {
    /// Looks at what the commands of all gates, the texts of the workspace that they run, the folders above the workspace
    /// and the variables name.
    pub(crate) fn look(run: &Path, workspace: &Path, commands: &[String], texts: &[GateText]) -> Self {
        let at = SystemTime::now();
        let before = look_at(places(commands, texts, workspace), &skipped(run, workspace), None, LongFiles::Whole);
        Self { run: run.to_owned(), before, at }
    }

    /// Looks again after the gate, also at what these texts name, and writes the record. Its hash; empty where nothing was
    /// there.
    pub(crate) fn finish(self, workspace: &Path, texts: &[GateText]) -> io::Result<String> {
        let after = look_at(self.before.places.clone(), &skipped(&self.run, workspace), None, LongFiles::Whole);
        let mut record = merge_looks(self.before, after);
        record.add_late(named_by_texts(texts, workspace), self.at);
        if record.is_bare() {
            return Ok(String::new());
        }
        let text = serde_json::to_vec(&record)?;
        let hash = hex(&Sha256::digest(&text));
        if read_hashed(&file_of(&self.run, &hash), &hash, RECORD_BYTES_MAX) == HashedFile::Other
            || !file_of(&self.run, &hash).exists()
        {
            write_hashed(&self.run, ".outside-new", &file_name(&hash), &text)?;
        }
        Ok(hash)
    }
}

fn file_name(hash: &str) -> String {
    format!("{FILE}{}", hash.get(..HASH_IN_NAME).unwrap_or(hash))
}

fn file_of(run: &Path, hash: &str) -> PathBuf {
    run.join(file_name(hash))
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
            Some(before) => merge_looks(before, record),
            None => record,
        });
    }
    let Some(then) = merged.map(OutsideRecord::whole) else { return Vec::new() };
    let now = look_at(then.places.clone(), &skipped(run, workspace), then.built.as_ref(), then.long_files);
    let mut found = changes_since(&then, now);
    found.sort_by_key(|change| (!change.decides(), change.by));
    found.truncate(CHANGES_MAX);
    found
}

fn changes_since(then: &OutsideRecord, mut now: OutsideRecord) -> Vec<OutsideChange> {
    for path in then.files.keys().filter(|path| !now.files.contains_key(*path)).cloned().collect::<Vec<_>>() {
        // New files may have taken its place within the bounds.
        if let Some((digest, _)) = digest_of(&path_of(&path), then.long_files) {
            now.files.insert(path, digest);
        }
    }
    compared(then, &now)
}

/// Two looks as one record: what differs between them says nothing.
fn merge_looks(one: OutsideRecord, other: OutsideRecord) -> OutsideRecord {
    let mut unsteady: BTreeSet<String> = one.unsteady.union(&other.unsteady).cloned().collect();
    for (path, digest) in one.files.iter().chain(&other.files) {
        if one.files.get(path) != Some(digest) || other.files.get(path) != Some(digest) {
            unsteady.insert(path.clone());
        }
    }
    for (path, digest) in &one.late {
        if other.late.get(path).is_some_and(|other| other != digest) {
            unsteady.insert(path.clone());
        }
    }
    let mut record = one;
    record.files.retain(|path, _| !unsteady.contains(path));
    record.late.extend(other.late);
    record.there.extend(other.there);
    record.is_cut |= other.is_cut;
    // Of two ways to read, the one that an older record has.
    if other.long_files == LongFiles::Ends {
        record.long_files = LongFiles::Ends;
    }
    record.cut.extend(other.cut);
    record.built = match (record.built, other.built) {
        (Some(one), Some(other)) => Some(one.union(&other).cloned().collect()),
        (None, _) | (_, None) => None,
    };
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
            (None, _) if then.cut.contains(&place.path) && !is_tool_file(Path::new(path)) => continue,
            (Some(_), Some(_)) => OutsideWhat::Changed,
            (Some(_), None) => OutsideWhat::Removed,
            (None, _) if then.there.contains(&place.path) => OutsideWhat::New,
            (None, _) => OutsideWhat::NewPlace,
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
fn places(commands: &[String], texts: &[GateText], workspace: &Path) -> Vec<OutsidePath> {
    let Some(here) = workspace.to_str() else { return Vec::new() };
    let home = home();
    let mut found: Vec<OutsidePath> = Vec::new();
    let add = |found: &mut Vec<OutsidePath>, path: String, by: OutsideBy| {
        if found.iter().all(|known| known.path != path) {
            found.push(OutsidePath { path, by });
        }
    };
    for command in commands {
        for path in named_outside(command, here, home.as_deref()) {
            add(&mut found, path, OutsideBy::Command);
        }
    }
    let named: Vec<String> = found.iter().map(|place| place.path.clone()).collect();
    let by_texts = named_by_texts(texts, workspace);
    for path in by_texts.into_iter().chain(by_scripts(named, here, home.as_deref())) {
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

/// What these texts of the workspace read or run outside of it, and what those scripts do. Only what is there: a script
/// may name what it makes.
fn named_by_texts(texts: &[GateText], workspace: &Path) -> Vec<String> {
    let Some(here) = workspace.to_str() else { return Vec::new() };
    let home = home();
    let below = |folder: &str| format!("{here}/{folder}").trim_end_matches('/').to_owned();
    let mut named: Vec<String> = Vec::new();
    for text in texts {
        let own = below(text.path.rsplit_once('/').map_or("", |(folder, _)| folder));
        for folder in &text.folders {
            let paths = named_by_script(&text.text, &own, &below(folder), here, home.as_deref());
            named.extend(paths.into_iter().filter(counts).map(|named| named.path));
        }
    }
    named.truncate(SCRIPTS_MAX);
    let further = by_scripts(named.clone(), here, home.as_deref());
    named.into_iter().chain(further).collect()
}

fn home() -> Option<String> {
    std::env::var("HOME").ok().filter(|home| home.starts_with('/'))
}

/// Whether a path that a script names is looked at.
fn counts(named: &ScriptPath) -> bool {
    Path::new(&named.path).is_file() || named.is_judged && Path::new(&named.path).is_dir()
}

/// What the scripts among these paths read or run outside of the workspace, and what those do.
fn by_scripts(mut all: Vec<String>, workspace: &str, home: Option<&str>) -> Vec<String> {
    let (first, mut at) = (all.len(), 0);
    while let Some(path) = all.get(at).cloned() {
        at += 1;
        // Of a folder the file that make reads there.
        let made_by = MAKER_FILES.iter().map(|name| format!("{path}/{name}"));
        let mut files = std::iter::once(path.clone()).chain(made_by);
        let Some((path, text)) = files.find_map(|file| Some((file.clone(), script_text(Path::new(&file))?))) else {
            continue;
        };
        let folder = path.rsplit_once('/').map_or("/", |(folder, _)| folder);
        for started in [folder, workspace] {
            let found = named_by_script(&text, folder, started, workspace, home).into_iter().filter(counts);
            for named in found {
                if all.len() < SCRIPTS_MAX && !all.contains(&named.path) {
                    all.push(named.path);
                }
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
    let user = std::env::var_os("PYTHONUSERBASE").map(PathBuf::from);
    let user = user.or_else(|| home().map(|home| Path::new(&home).join(".local")));
    prefixes.extend(user.filter(|_| !prefixes.is_empty()));
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

#[cfg(test)]
mod tests {
    use std::io::{Seek, SeekFrom};

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
            OutsideBefore::look(&run, &workspace, std::slice::from_ref(&self.command), &[]).before
        }

        /// The changes since a look, each with whether it decides.
        fn since(&self, then: &OutsideRecord) -> Vec<String> {
            let root = format!("{}/", text_of(&self.root));
            let words = |change: &OutsideChange| {
                format!("{}{}", if change.decides() { "! " } else { "" }, change.words().replace(&root, ""))
            };
            let (run, workspace) = (self.root.join("home/runs/one"), self.root.join("work"));
            let now = look_at(then.places.clone(), &skipped(&run, &workspace), then.built.as_ref(), then.long_files);
            changes_since(then, now).iter().map(words).collect()
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
        let then = merge_looks(before, scene.look());
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
        assert_eq!(then.cut.iter().map(|cut| cut.rsplit('/').next().unwrap()).collect::<Vec<_>>(), ["spec"]);
        scene.write("spec/a.py", "2");
        scene.write("spec/aa.py", "2");
        scene.write("spec/conftest.py", "2");
        // A place that was not cut is compared whole.
        scene.write("pytest.ini", "2");
        assert_eq!(scene.since(&then), ["pytest.ini (new)", "! spec/a.py (changed)", "! spec/conftest.py (new)"]);
    }

    #[test]
    fn neither_a_mark_of_a_build_nor_many_files_hide_what_is_new_there() {
        let hide: [&dyn Fn(&Scene); 2] = [&|scene| scene.write("spec/CACHEDIR.TAG", ""), &|scene| {
            (0..=NAMES_MAX).for_each(|number| scene.write(&format!("spec/a{number}"), ""))
        }];
        for hide in hide {
            let scene = Scene::new("pytest ../spec", &[("spec/test_a.py", "1")]);
            let then = scene.look();
            scene.write("spec/conftest.py", "2");
            hide(&scene);
            let found = scene.since(&then);
            assert!(found.contains(&"! spec/conftest.py (new)".to_owned()), "{:?}", found.first());
        }
    }

    /// A long file, written without holding it, with `text` at this place.
    fn write_long(scene: &Scene, len: u64, at: u64, text: &str) {
        let mut file = File::create(scene.root.join("check.sh")).unwrap();
        file.set_len(len).unwrap();
        file.seek(SeekFrom::Start(at)).unwrap();
        io::Write::write_all(&mut file, text.as_bytes()).unwrap();
    }

    #[test]
    fn a_change_anywhere_in_a_long_file_is_found() {
        let len = END_BYTES + 4;
        for at in [0, len / 2, len - 1] {
            let scene = Scene::new("sh ../check.sh", &[]);
            write_long(&scene, len, at, "a");
            let then = scene.look();
            assert_eq!(scene.since(&then), Vec::<String>::new());
            write_long(&scene, len, at, "b");
            assert_eq!(scene.since(&then), ["! check.sh (changed)"], "byte {at}");
        }
    }

    #[test]
    fn of_a_file_that_is_too_long_to_be_read_a_change_in_the_middle_is_found_by_its_time() {
        let scene = Scene::new("sh ../check.sh", &[]);
        write_long(&scene, BYTES_MAX + 1, BYTES_MAX / 2, "a");
        let then = scene.look();
        assert_eq!(scene.since(&then), Vec::<String>::new());
        write_long(&scene, BYTES_MAX + 1, BYTES_MAX / 2, "b");
        assert_eq!(scene.since(&then), ["! check.sh (changed)"]);
    }

    #[test]
    fn a_record_of_an_older_loop_is_compared_in_its_own_way() {
        let scene = Scene::new("sh ../check.sh", &[]);
        write_long(&scene, END_BYTES + 4, 0, "a");
        let (run, workspace) = (scene.root.join("home/runs/one"), scene.root.join("work"));
        let places = scene.look().places;
        let then = look_at(places, &skipped(&run, &workspace), None, LongFiles::Ends);
        let stored: OutsideRecord = serde_json::from_str(&serde_json::to_string(&then).unwrap()).unwrap();
        assert_eq!((stored.long_files, scene.since(&stored)), (LongFiles::Ends, Vec::new()));
    }

    #[test]
    fn what_python_loads_when_it_starts_is_named_and_decides_nothing() {
        let scene = Scene::new("true", &[("lib/site/a.pth", "1"), ("lib/site/x-1.dist-info/entry_points.txt", "1")]);
        let site = text_of(&scene.root.join("lib/site"));
        let places = vec![OutsidePath { path: site, by: OutsideBy::Python }];
        let then = look_at(places, &[], None, LongFiles::Whole);
        scene.write("lib/site/a.pth", "2");
        scene.write("lib/site/sitecustomize.py", "2");
        scene.write("lib/site/x-1.dist-info/entry_points.txt", "2");
        scene.write("lib/site/x-1.dist-info/RECORD", "2");
        scene.write("lib/site/x/__init__.py", "2");
        let expected = [
            "lib/site/a.pth (changed)",
            "lib/site/sitecustomize.py (new)",
            "lib/site/x-1.dist-info/entry_points.txt (changed)",
        ];
        assert_eq!(scene.since(&then), expected);
    }

    #[test]
    fn the_libraries_of_the_python_that_a_command_runs_are_looked_at() {
        let scene = Scene::new("", &[("venv/bin/python3", ""), ("venv/lib/python3.12/site-packages/a.pth", "1")]);
        scene.write("venv/bin/pytest", &format!("#!{}/venv/bin/python3\n", text_of(&scene.root)));
        let workspace = scene.root.join("work");
        for program in ["python3 -m pytest", "pytest -q"] {
            let command = format!("../venv/bin/{program}");
            let folders = python_folders(&command, &workspace);
            let is_venv = |folder: &PathBuf| folder.ends_with("venv/lib/python3.12/site-packages");
            assert!(folders.iter().any(is_venv), "{command}: {folders:?}");
        }
        assert_eq!(python_folders("sh check.sh", &workspace), Vec::<PathBuf>::new());
    }

    #[test]
    fn what_a_variable_names_is_compared_by_content_and_decides_nothing() {
        let scene = Scene::new("true", &[("more/helper.py", "1")]);
        let workspace = text_of(&scene.root.join("work"));
        let named = places_of("PYTHONPATH", "../more", &workspace, None);
        let places = named.into_iter().map(|path| OutsidePath { path, by: OutsideBy::Variable }).collect();
        let then = look_at(places, &[], None, LongFiles::Whole);
        scene.write("more/helper.py", "2");
        scene.write("more/conftest.py", "2");
        assert_eq!(scene.since(&then), ["more/conftest.py (new)", "more/helper.py (changed)"]);
    }

    #[test]
    fn the_workspace_by_another_path_does_not_lie_outside() {
        let scene = Scene::new("cd ../link && pytest", &[("work/a.py", "1")]);
        std::os::unix::fs::symlink(scene.root.join("work"), scene.root.join("link")).unwrap();
        let then = scene.look();
        scene.write("work/a.py", "2");
        scene.write("work/conftest.py", "2");
        assert_eq!(scene.since(&then), Vec::<String>::new());
    }

    #[test]
    fn what_the_makefile_of_a_named_folder_runs_is_compared_too() {
        let files = [("ci/Makefile", "all:\n\tsh ../more/run.sh\n"), ("more/run.sh", "exit 1")];
        for command in ["make -C ../ci", "/usr/bin/make -C ../ci all", "make -C ../ci CONF=../c.mk"] {
            let scene = Scene::new(command, &files);
            let then = scene.look();
            scene.write("more/run.sh", "exit 0");
            assert_eq!(scene.since(&then), ["! more/run.sh (changed)"], "{command}");
        }
    }

    #[test]
    fn a_folder_that_a_build_made_is_not_looked_into() {
        let scene = Scene::new("cd ../build && ctest", &[("build/CMakeCache.txt", "a"), ("build/Makefile", "b")]);
        let then = scene.look();
        scene.write("build/Makefile", "c");
        assert_eq!(scene.since(&then), Vec::<String>::new());
    }
}
