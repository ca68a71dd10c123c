//! What a gate uses to judge: read off its command, the files that it opened when it ran first, and the texts of those
//! that are scripts. Nothing is run here. The rule, in this order:
//!
//! 1. *Direct*: a file that the gate's own command runs (`sh check.sh`, `python3 -m tools.check`).
//! 2. *Script*: a file that one of those runs, one step and further: shell scripts, recipes of makefiles and the scripts
//!    of `package.json` are read for it. Where a text hands something to a shell that it does not name (`sh "$f"`,
//!    `… | sh`), these are the opened shell scripts that its words mention; if they mention none, all opened ones.
//! 3. *Makefile*: the opened makefiles, where make is run.
//! 4. *Helper*: opened sources and data beside a program of 1 or 2, where the folder is named as one of checks (`tools/`).
//! 5. *Runner*: an opened file that only tells a test runner what to do (`pytest.ini`, `conftest.py`, `.npmrc`).
//!
//! Not: what a test runner gets as a file of tests, modules that a program imports, manifests, what the gate made
//! itself, and what lies in a folder of the product (`src/`, `lib/` …) or is run for what it prints (`$(./tool 2 3)`,
//! `./tool | diff - expected`): that is the work.
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::runner_files::{is_manifest, is_runner_file};
use super::script::{NamedScript, RunBy, ShellReading, reading};

/// So many files of one gate are named, and so many bytes of paths.
const FILES_MAX: usize = 100;
const PATH_BYTES_MAX: usize = 4096;
/// So many texts are read.
const TEXTS_MAX: usize = 200;

/// Names of folders in which checks lie.
const CHECK_FOLDERS: &[&str] = &[
    "tools",
    "tool",
    "scripts",
    "script",
    "ci",
    ".ci",
    "checks",
    "check",
    "hack",
    "qa",
    "dev",
    "devtools",
    "build-aux",
    "t",
    "test",
    "tests",
    "spec",
    "e2e",
    "testing",
    ".github",
    ".gitlab",
];
/// Names of folders in which the product lies.
const PRODUCT_FOLDERS: &[&str] =
    &["src", "lib", "app", "apps", "bin", "sbin", "libexec", "cmd", "pkg", "internal", "packages", "crates"];
/// Names of the product's own programs.
const PRODUCT_STEMS: &[&str] = &["main", "index", "app", "server", "cli"];
/// Parts of a name that say that it is a check.
const CHECK_WORDS: &[&str] = &["test", "check", "verify", "lint", "assert", "spec", "ci-", "-ci", "_ci", "ci_"];

/// What a gate uses, as its report says it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GateUses {
    /// The files, a bounded number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<GateUse>,
    /// How many more there are.
    #[serde(skip_serializing_if = "is_zero")]
    pub more: u32,
    /// Why not all opened files are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap: Option<WatchGap>,
    /// The hash of the record of what lies outside of the workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// One file that a gate uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateUse {
    /// Its path in the workspace, as facts write paths.
    pub path: String,
    /// As what.
    pub kind: UseKind,
    /// The task names it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_task: bool,
}

/// As what a gate uses a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UseKind {
    /// Its own command runs it.
    Direct,
    /// Something that it runs, runs it.
    Script,
    /// make reads it.
    Makefile,
    /// It lies beside a program of the check, and was opened.
    Helper,
    /// It only tells a test runner what to do.
    Runner,
}

/// Why not all files that a gate opened are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WatchGap {
    /// The kernel gives no watch.
    NoWatch,
    /// The user has no watches left.
    NoWatchesLeft,
    /// The workspace has more folders than are watched.
    TooManyFolders,
    /// More was opened than the kernel could tell.
    Overflow,
}

impl WatchGap {
    /// For people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::NoWatch => "the kernel gives no inotify watch",
            Self::NoWatchesLeft => "the user has no inotify watches left (fs.inotify.max_user_watches)",
            Self::TooManyFolders => "the workspace has too many folders",
            Self::Overflow => "more files were opened than inotify could tell",
        }
    }
}

/// What is known of the files of a workspace. Paths are relative to it.
pub trait FilesSeen {
    /// The files that the gate opened; none where that is not known.
    fn opened(&self) -> Option<&BTreeSet<String>>;
    /// The text of a file: none if it is not there, no text, ignored, or made by the gate.
    fn text(&self, path: &str) -> Option<String>;
    /// The files in a folder, by their paths.
    fn inside(&self, folder: &str) -> Vec<String>;
}

/// The files that a gate uses to judge, sorted. `workspace` is the absolute path of the workspace, `task` the text of
/// the task.
pub fn uses_of(command: &str, workspace: &str, task: &str, files: &dyn FilesSeen) -> GateUses {
    let mut search = Search { workspace, files, found: BTreeMap::new(), texts: BTreeMap::new() };
    search.follow(command);
    search.add_helpers();
    search.add_runner_files();
    let mut uses = GateUses::default();
    let mut bytes = 0;
    for (path, kind) in search.found {
        bytes += path.len();
        if uses.files.len() >= FILES_MAX || bytes > PATH_BYTES_MAX {
            uses.more += 1;
            continue;
        }
        let in_task = names_file(task, &path);
        uses.files.push(GateUse { path, kind, in_task });
    }
    uses
}

/// A text that runs something.
struct RunText {
    text: String,
    /// Where the names of what it runs may stand: the whole file, and the gate's own command.
    words: String,
    /// Where it lies.
    folder: String,
    /// How many steps from the gate's own command.
    step: usize,
}

struct Search<'a> {
    workspace: &'a str,
    files: &'a dyn FilesSeen,
    found: BTreeMap<String, UseKind>,
    /// The texts that were read.
    texts: BTreeMap<String, Option<String>>,
}

impl Search<'_> {
    fn follow(&mut self, command: &str) {
        let words = command.to_owned();
        let mut open = vec![RunText { text: words.clone(), words, folder: String::new(), step: 0 }];
        let mut read = 0;
        while let Some(next) = open.pop() {
            read += 1;
            if read > TEXTS_MAX {
                return;
            }
            let seen = reading(&next.text, self.workspace);
            let mut new = self.run_by(&next, &seen);
            if seen.runs_maker {
                new.extend(self.makefiles(&next.folder));
            }
            if seen.runs_package {
                let mut packages = self.opened_named(|name| name == "package.json");
                packages.retain(|path| !self.texts.contains_key(path));
                new.extend(packages);
            }
            for path in new {
                let Some(text) = self.lines_of(&path) else { continue };
                // A script may run what it gets as an argument.
                let words = format!("{}\n{command}", self.text(&path).unwrap_or_default());
                // Recipes run where make does.
                let folder = if is_makefile(&path) { String::new() } else { above(&path).to_owned() };
                open.push(RunText { text, words, folder, step: next.step + 1 });
            }
        }
    }

    /// The files that a text runs and that were not known.
    fn run_by(&mut self, from: &RunText, seen: &ShellReading) -> Vec<String> {
        let mut new = Vec::new();
        for script in &seen.named {
            let beside = if from.folder.is_empty() { None } else { Some(format!("{}/{}", from.folder, script.path)) };
            let candidates = std::iter::once(script.path.clone()).chain(beside);
            let candidates: Vec<String> = candidates.flat_map(|path| self.expanded(&path)).collect();
            for path in candidates {
                if self.is_part(&path, script, from) {
                    new.push(path);
                }
            }
        }
        new.extend(self.found_by_path(seen));
        if seen.runs_unnamed {
            new.extend(self.unnamed(from));
        }
        let kind = if from.step == 0 { UseKind::Direct } else { UseKind::Script };
        new.retain(|path| !self.found.contains_key(path));
        for path in &new {
            self.found.insert(path.clone(), if is_makefile(path) { UseKind::Makefile } else { kind });
        }
        new
    }

    /// A path, or the paths that a pattern stands for.
    fn expanded(&self, path: &str) -> Vec<String> {
        if !path.contains(['*', '?']) {
            return vec![path.to_owned()];
        }
        let inside = self.files.inside(above(path));
        inside.into_iter().filter(|file| matches_path(path, file)).collect()
    }

    fn is_part(&mut self, path: &str, script: &NamedScript, from: &RunText) -> bool {
        if is_manifest(name_of(path)) || self.text(path).is_none() {
            return false;
        }
        if from.step == 0 {
            return !script.is_product();
        }
        let product = match script.by {
            RunBy::Runner => true,
            RunBy::Maker => false,
            RunBy::Shell | RunBy::Program | RunBy::Interpreter | RunBy::Module => {
                looks_like_product(path) || script.captured && !looks_like_check(path)
            }
        };
        !(product || script.by == RunBy::Shell && self.is_sourced_product(path, &from.text))
    }

    /// Opened scripts that a text names without a path: `PATH=$PWD/tools:$PATH check-all`.
    fn found_by_path(&mut self, seen: &ShellReading) -> Vec<String> {
        let opened: Vec<String> = self.files.opened().into_iter().flatten().cloned().collect();
        let is_named = |path: &String| seen.programs.iter().any(|program| program == name_of(path));
        let mut found: Vec<String> = opened.into_iter().filter(is_named).collect();
        found.retain(|path| !looks_like_product(path) && self.text(path).is_some_and(|text| text.starts_with("#!")));
        found
    }

    /// Whether a text uses a sourced file only for what its functions print: it is tested then.
    fn is_sourced_product(&mut self, path: &str, caller: &str) -> bool {
        let Some(text) = self.text(path).filter(|_| !looks_like_check(path)) else { return false };
        let names: Vec<String> = text.lines().filter_map(function_name).collect();
        let is_captured = |name: &String| ["$(", "`"].iter().any(|begin| caller.contains(&format!("{begin}{name}")));
        let is_called = |name: &String| {
            let words = |line: &str| line.split([';', '&', '|']).map(|part| part.trim().to_owned()).collect::<Vec<_>>();
            let first = |part: &String| part.split_whitespace().find(|word| !SHELL_WORDS.contains(word)) == Some(name);
            caller.lines().any(|line| words(line).iter().any(first))
        };
        names.iter().any(is_captured) && !names.iter().any(is_called)
    }

    /// What a text hands to a shell without naming it.
    fn unnamed(&mut self, from: &RunText) -> Vec<String> {
        let opened: Vec<String> = self.files.opened().into_iter().flatten().cloned().collect();
        let scripts: Vec<String> = opened.into_iter().filter(|path| self.is_shell_script(path)).collect();
        let mentions = Mentions::of(&from.words);
        let mut mentioned: Vec<String> = scripts.iter().filter(|path| mentions.has(path)).cloned().collect();
        if mentioned.is_empty() && from.step == 0 {
            mentioned = scripts;
        }
        // Where one fails, those after it were not reached.
        let folders: BTreeSet<String> = mentioned.iter().map(|path| above(path).to_owned()).collect();
        for path in folders.iter().flat_map(|folder| self.files.inside(folder)) {
            if mentions.has_by_pattern(&path) && !mentioned.contains(&path) && self.is_shell_script(&path) {
                mentioned.push(path);
            }
        }
        mentioned.retain(|path| from.step == 0 || !looks_like_product(path));
        mentioned
    }

    fn is_shell_script(&mut self, path: &str) -> bool {
        let by_name = [".sh", ".bash", ".ksh", ".zsh"].iter().any(|end| path.ends_with(end));
        if !by_name && name_of(path).trim_start_matches('.').contains('.') {
            return false;
        }
        self.text(path).is_some_and(|text| by_name || has_shell_line(&text))
    }

    fn text(&mut self, path: &str) -> Option<String> {
        if let Some(known) = self.texts.get(path) {
            return known.clone();
        }
        let text = self.files.text(path);
        self.texts.insert(path.to_owned(), text.clone());
        text
    }

    /// The shell lines in a file that is run.
    fn lines_of(&mut self, path: &str) -> Option<String> {
        let text = self.text(path)?;
        if name_of(path) == "package.json" {
            return scripts_of(&text);
        }
        if is_makefile(path) {
            return Some(recipes(&text));
        }
        let other = has_other_line(&text) || OTHER_LANGUAGES.iter().any(|end| path.ends_with(end));
        (!other).then_some(text)
    }

    /// The makefiles that were opened. Where that is not known, those beside the text that runs make.
    fn makefiles(&mut self, folder: &str) -> Vec<String> {
        let mut found = self.opened_named(is_makefile);
        if self.files.opened().is_none() {
            found.extend(self.files.inside(folder).into_iter().filter(|path| is_makefile(path)));
        }
        found.retain(|path| !self.found.contains_key(path) && self.files.text(path).is_some());
        // What they include, whatever it is called.
        let included: Vec<String> = found.iter().flat_map(|path| self.included(path)).collect();
        found.extend(included);
        found.retain(|path| self.found.insert(path.clone(), UseKind::Makefile).is_none());
        found
    }

    fn included(&self, path: &str) -> Vec<String> {
        let text = self.files.text(path).unwrap_or_default();
        let lines = text
            .lines()
            .map(|line| line.trim_start_matches(['-', 's']))
            .filter_map(|line| line.strip_prefix("include "));
        let words = lines.flat_map(str::split_whitespace).flat_map(|word| self.expanded(word.trim_start_matches("./")));
        let is_opened = |path: &String| self.files.opened().is_none_or(|opened| opened.contains(path));
        words.filter(|path| is_opened(path) && self.files.text(path).is_some()).collect()
    }

    fn opened_named(&self, is: impl Fn(&str) -> bool) -> Vec<String> {
        match self.files.opened() {
            Some(opened) => opened.iter().filter(|path| is(name_of(path))).cloned().collect(),
            None => self.files.inside("").into_iter().filter(|path| is(name_of(path))).collect(),
        }
    }

    /// Sources beside the programs of the check.
    fn add_helpers(&mut self) {
        let programs = self.found.keys().filter(|path| OTHER_LANGUAGES.iter().any(|end| path.ends_with(end)));
        let is_check = |folder: &str| is_check_folder(name_of(folder));
        let folders: BTreeSet<String> =
            programs.map(|path| above(path).to_owned()).filter(|folder| is_check(folder)).collect();
        let opened: Vec<String> = self.files.opened().into_iter().flatten().cloned().collect();
        for path in opened {
            let is_source = OTHER_LANGUAGES.iter().chain(CHECK_DATA).any(|end| path.ends_with(end));
            let is_beside = folders
                .iter()
                .any(|folder| path.strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with('/')));
            if is_source && is_beside && self.files.text(&path).is_some() {
                self.found.entry(path).or_insert(UseKind::Helper);
            }
        }
    }

    fn add_runner_files(&mut self) {
        let all: Vec<String> = match self.files.opened() {
            Some(opened) => opened.iter().cloned().collect(),
            None => ["", ".cargo"].iter().flat_map(|folder| self.files.inside(folder)).collect(),
        };
        for path in all.into_iter().filter(|path| is_runner_file(path)) {
            if self.files.text(&path).is_some() {
                self.found.entry(path).or_insert(UseKind::Runner);
            }
        }
    }
}

/// Ends of names whose lines are not a shell's.
const OTHER_LANGUAGES: &[&str] = &[
    ".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".rb", ".pl", ".php", ".lua", ".jl", ".R", ".awk", ".tcl",
    ".exs",
];
/// Ends of names of what a check reads: values, limits, lists.
const CHECK_DATA: &[&str] = &[
    ".json", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf", ".csv", ".tsv", ".txt", ".xml", ".jq", ".sql", ".sed",
    ".list",
];
/// Words of a shell before a command.
const SHELL_WORDS: &[&str] = &["if", "then", "else", "elif", "do", "while", "until", "!", "{", "("];

/// Whether a folder of this name holds checks, and no tests.
pub(super) fn is_check_folder(name: &str) -> bool {
    CHECK_FOLDERS.contains(&name) && !is_test_folder(name)
}

fn is_test_folder(name: &str) -> bool {
    matches!(name, "t" | "test" | "tests" | "spec" | "e2e" | "testing")
}

pub(super) fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

pub(super) fn above(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(above, _)| above)
}

pub(super) fn is_makefile(path: &str) -> bool {
    let name = name_of(path);
    matches!(name, "Makefile" | "makefile" | "GNUmakefile" | "justfile" | "Justfile" | ".justfile")
        || matches!(name, "Taskfile.yml" | "Taskfile.yaml")
        || name.ends_with(".mk")
        || name.ends_with(".just")
}

pub(super) fn looks_like_check(path: &str) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.split('.').next().unwrap_or(name);
    CHECK_WORDS.iter().any(|word| name.to_ascii_lowercase().contains(word))
        || matches!(stem, "ci" | "run" | "lib" | "helper" | "helpers" | "common" | "setup" | "functions")
        || folders.split('/').any(|folder| CHECK_FOLDERS.contains(&folder))
}

pub(super) fn looks_like_product(path: &str) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.split('.').next().unwrap_or(name);
    let by_folder = folders.split('/').any(|folder| PRODUCT_FOLDERS.contains(&folder));
    (by_folder || PRODUCT_STEMS.contains(&stem)) && !looks_like_check(path)
}

fn first_line(text: &str) -> Option<&str> {
    text.lines().next().and_then(|line| line.strip_prefix("#!"))
}

fn has_shell_line(text: &str) -> bool {
    let shells = ["sh", "bash", "dash", "zsh", "ksh", "ash"];
    first_line(text).is_some_and(|line| line.split_whitespace().take(3).any(|word| shells.contains(&name_of(word))))
}

fn has_other_line(text: &str) -> bool {
    first_line(text).is_some() && !has_shell_line(text)
}

/// The name of a shell function that a line begins.
pub(super) fn function_name(line: &str) -> Option<String> {
    let line = line.trim_start();
    let named = line.strip_prefix("function ").map(|rest| rest.split(['(', ' ', '{']).next().unwrap_or(rest));
    let name = named.or_else(|| line.split_once("()").map(|(name, _)| name.trim_end()))?;
    let is_name = |letter: char| letter.is_alphanumeric() || "_-".contains(letter);
    (!name.is_empty() && name.chars().all(is_name)).then(|| name.to_owned())
}

/// The lines that a makefile or justfile gives to a shell.
pub(super) fn recipes(text: &str) -> String {
    let mut lines = String::new();
    let joined = text.replace("\\\n", " ");
    for line in joined.lines() {
        let recipe = match line.split_once("; ") {
            _ if line.starts_with(['\t', ' ']) => line.trim_start(),
            Some((target, recipe)) if target.contains(':') => recipe,
            Some(_) | None => continue,
        };
        lines += &recipe.trim_start_matches(['@', '-', '+', ' ']).replace("$$", "$").replace("$(MAKE)", "make");
        lines.push('\n');
    }
    lines
}

/// The scripts of a `package.json`, one on each line.
fn scripts_of(text: &str) -> Option<String> {
    let Ok(Json::Object(all)) = serde_json::from_str(text) else { return None };
    let scripts = all.get("scripts")?.as_object()?;
    let lines: Vec<&str> = scripts.values().filter_map(Json::as_str).collect();
    Some(lines.join("\n"))
}

/// The words of a text that may be paths.
#[derive(Debug)]
pub(super) struct Mentions {
    names: Vec<String>,
    patterns: Vec<String>,
}

impl Mentions {
    /// The words that are not patterns.
    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.names.iter()
    }

    pub(super) fn of(text: &str) -> Self {
        let apart = |letter: char| letter.is_whitespace() || "\"'`;|&()<>={}".contains(letter);
        let (mut names, mut patterns) = (Vec::new(), Vec::new());
        for word in text.split(apart).filter(|word| !word.is_empty()) {
            let word = word.trim_start_matches("./").trim_end_matches('/');
            // What stands in a variable may be anything.
            let parts = word.split('$').enumerate().map(|(at, part)| match at {
                0 => part.to_owned(),
                _ => format!("*{}", part.trim_start_matches(|letter: char| letter.is_alphanumeric() || letter == '_')),
            });
            let word: String = parts.collect();
            if !word.chars().any(char::is_alphanumeric) {
                continue;
            }
            if word.contains(['*', '?']) {
                patterns.push(word);
            } else {
                names.push(word);
            }
        }
        Self { names, patterns }
    }

    fn has(&self, path: &str) -> bool {
        let name = name_of(path);
        let is_below = |folder: &String| path.strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with('/'));
        self.has_by_pattern(path)
            || self.names.iter().any(|word| word == path || name_of(word) == name || is_below(word))
    }

    /// Whether a word or a pattern of this text stands for a word of the other one that fits.
    pub(super) fn shares(&self, other: &Self, is_wanted: &dyn Fn(&str) -> bool) -> bool {
        let fits = |word: &&String| {
            self.names.contains(*word) || self.patterns.iter().any(|pattern| matches_path(pattern, word.as_str()))
        };
        let known = other.names.iter().filter(|word| is_wanted(word));
        let mut patterns = other.patterns.iter().filter(|word| is_wanted(word));
        { known }.any(|word| fits(&word)) || patterns.any(|word| self.patterns.contains(word))
    }

    /// Whether a word or a pattern is this path from the folder of the text on.
    pub(super) fn has_path(&self, path: &str) -> bool {
        let by_pattern = |pattern: &String| pattern.contains('/') == path.contains('/') && matches_path(pattern, path);
        self.names.iter().any(|word| word == path) || self.patterns.iter().any(by_pattern)
    }

    fn has_by_pattern(&self, path: &str) -> bool {
        let fits = |pattern: &String| {
            matches_path(pattern, path) || !pattern.contains('/') && matches_path(pattern, name_of(path))
        };
        self.patterns.iter().any(fits)
    }
}

/// Whether a path fits a pattern as shells have them: `*` and `?` stand for letters of one name, `**` for any folders.
#[must_use]
pub fn matches_path(pattern: &str, path: &str) -> bool {
    fn fits(pattern: &[u8], path: &[u8]) -> bool {
        match pattern {
            [] => path.is_empty(),
            [b'*', b'*', b'/', rest @ ..] => {
                fits(rest, path)
                    || path
                        .iter()
                        .enumerate()
                        .any(|(at, byte)| *byte == b'/' && fits(rest, path.get(at + 1..).unwrap_or_default()))
            }
            [b'*', b'*'] => true,
            [b'*', rest @ ..] => {
                fits(rest, path) || path.split_first().is_some_and(|(byte, path)| *byte != b'/' && fits(pattern, path))
            }
            [b'?', rest @ ..] => path.split_first().is_some_and(|(byte, path)| *byte != b'/' && fits(rest, path)),
            [byte, rest @ ..] => path.split_first().is_some_and(|(first, path)| first == byte && fits(rest, path)),
        }
    }
    // Many stars take long, and no pattern that people write has them.
    pattern.matches('*').count() <= 8 && fits(pattern.as_bytes(), path.as_bytes())
}

/// Whether a text names a file: by its path or its whole name; a shell script also by its name without the end, where
/// that is not a common word (`calc` for `calc.sh`).
#[must_use]
pub fn names_file(text: &str, path: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || "_-./".contains(letter);
    let mut words =
        text.split(|letter: char| !is_part(letter)).map(|word| word.trim_end_matches('.').trim_start_matches("./"));
    let name = name_of(path);
    let whole = name.contains('.') || name.starts_with(char::is_uppercase) || path.contains('/');
    let stem = name.strip_suffix(".sh").filter(|stem| stem.len() > 2 && !looks_like_check(name) && !stem.is_empty());
    words.any(|word| {
        let by_name = whole && (name.contains('.') || name.starts_with(char::is_uppercase)) && word == name;
        word == path && whole || by_name || stem == Some(word)
    })
}
