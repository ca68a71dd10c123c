//! Follows what a gate's command runs: scripts, makefiles, scripts of `package.json`, and what those run.
use std::collections::{BTreeMap, BTreeSet};

use super::mentions::Mentions;
use super::names::{is_check_folder, is_makefile, looks_like_check, looks_like_product};
use super::texts::{
    IMPORT_ENDS, function_name, has_other_line, has_shell_line, imports_outside, recipes, relative_imports, scripts_of,
};
use super::{FilesSeen, GateText, UseKind};
use crate::policy::protect::paths::{folder_of, is_below, joined, matches_path, name_of};
use crate::policy::protect::runner_files::{is_manifest, is_runner_file};
use crate::policy::protect::script::{NamedScript, RunBy, ShellReading, Unnamed, reading, with_home};

/// So many texts are read.
const TEXTS_MAX: usize = 200;
/// So many folders are tried for a relative path.
const PLACES_MAX: usize = 8;

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

/// A text that runs something.
struct RunText {
    text: String,
    /// Text that is searched for script names: the whole file, and the gate's own command.
    words: String,
    /// Folders in which a relative path of it may begin: where it is run, and where it lies.
    places: Vec<String>,
    /// How many steps from the gate's own command.
    step: usize,
}

impl RunText {
    /// These folders, seen from the places of this text.
    fn places_in(&self, folders: &[String]) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        for folder in folders {
            for place in &self.places {
                let path = if folder.is_empty() { place.clone() } else { joined(place, folder) };
                if !all.contains(&path) && all.len() < PLACES_MAX {
                    all.push(path);
                }
            }
        }
        all
    }
}

/// A file that a text runs, and where.
struct FoundText {
    path: String,
    places: Vec<String>,
}

pub(super) struct Search<'a> {
    workspace: &'a str,
    files: &'a dyn FilesSeen,
    pub(super) found: BTreeMap<String, UseKind>,
    /// The texts whose lines were followed.
    pub(super) followed: Vec<GateText>,
    /// The texts that were read.
    texts: BTreeMap<String, Option<String>>,
}

impl<'a> Search<'a> {
    pub(super) fn new(workspace: &'a str, files: &'a dyn FilesSeen) -> Self {
        Self { workspace, files, found: BTreeMap::new(), followed: Vec::new(), texts: BTreeMap::new() }
    }

    pub(super) fn follow(&mut self, command: &str) {
        let words = command.to_owned();
        let mut open = vec![RunText { text: words.clone(), words, places: vec![String::new()], step: 0 }];
        let mut read = 0;
        while let Some(next) = open.pop() {
            read += 1;
            if read > TEXTS_MAX {
                return;
            }
            let seen = reading(&with_home(&next.text, self.files.home()), self.workspace);
            let mut new = self.run_by(&next, &seen);
            if !seen.make_folders.is_empty() {
                let places = next.places_in(&seen.make_folders);
                new.extend(self.makefiles(&places).into_iter().map(|path| FoundText { path, places: places.clone() }));
            }
            if !seen.package_folders.is_empty() {
                let places = next.places_in(&seen.package_folders);
                let packages = self.packages(&places);
                new.extend(packages.into_iter().map(|path| FoundText { path, places: places.clone() }));
            }
            for FoundText { path, mut places } in new {
                let Some(text) = self.lines_of(&path) else { continue };
                // A script may run what it gets as an argument.
                let words = format!("{}\n{command}", self.text(&path).unwrap_or_default());
                let own = folder_of(&path).to_owned();
                if !places.contains(&own) {
                    places.push(own);
                }
                // Beside its recipes a makefile has lines that include others.
                let whole = if is_makefile(&path) { self.text(&path).unwrap_or_default() } else { String::new() };
                self.followed.push(GateText { path, text: format!("{whole}\n{text}"), folders: places.clone() });
                open.push(RunText { text, words, places, step: next.step + 1 });
            }
        }
    }

    /// The files that a text runs and that were not known.
    fn run_by(&mut self, from: &RunText, seen: &ShellReading) -> Vec<FoundText> {
        let mut new: Vec<FoundText> = Vec::new();
        for script in &seen.named {
            let places = from.places_in(std::slice::from_ref(&script.folder));
            let candidates: Vec<String> =
                from.places.iter().flat_map(|place| self.expanded(&joined(place, &script.path))).collect();
            for path in candidates {
                if self.is_part(&path, script, from) {
                    new.push(FoundText { path, places: places.clone() });
                }
            }
        }
        let known: BTreeSet<String> = new.iter().map(|found| found.path.clone()).collect();
        let mut more = self.found_by_path(seen);
        // What is run for what it prints is the work, whatever else the text hands to a shell.
        let is_product = |script: &&NamedScript| script.captured && !looks_like_check(&script.path);
        let product = seen.named.iter().filter(is_product);
        let product: BTreeSet<String> =
            product.flat_map(|script| from.places.iter().map(|place| joined(place, &script.path))).collect();
        more.extend(self.unnamed(from, seen.unnamed, &known).into_iter().filter(|path| !product.contains(path)));
        new.extend(more.into_iter().map(|path| FoundText { path, places: from.places.clone() }));
        let kind = if from.step == 0 { UseKind::Direct } else { UseKind::Script };
        let is_new = |found: &FoundText| !self.found.contains_key(&found.path);
        new.retain(is_new);
        for FoundText { path, .. } in &new {
            self.found.insert(path.clone(), if is_makefile(path) { UseKind::Makefile } else { kind });
        }
        new
    }

    /// A path, or the paths that a pattern stands for.
    fn expanded(&self, path: &str) -> Vec<String> {
        if !path.contains(['*', '?']) {
            return vec![path.to_owned()];
        }
        let inside = self.files.inside(folder_of(path));
        inside.into_iter().filter(|file| matches_path(path, file)).collect()
    }

    fn is_part(&mut self, path: &str, script: &NamedScript, from: &RunText) -> bool {
        if is_manifest(name_of(path)) || self.text(path).is_none() {
            return false;
        }
        if script.by == RunBy::Argument {
            return !script.is_product() && self.may_be_run(path);
        }
        if from.step == 0 {
            return !script.is_product();
        }
        let product = match script.by {
            RunBy::Runner => true,
            RunBy::Maker | RunBy::Argument => false,
            RunBy::Shell | RunBy::Program | RunBy::Interpreter | RunBy::Module => {
                looks_like_product(path) || script.captured && !looks_like_check(path)
            }
        };
        !(product || script.by == RunBy::Shell && self.is_sourced_product(path, &from.text))
    }

    /// Whether a program that is not known here may run a file that it gets: it was opened, is a script by its first line
    /// or its end, and is named as a check.
    fn may_be_run(&mut self, path: &str) -> bool {
        let was_opened = self.files.opened().is_none_or(|opened| opened.contains(path));
        let is_script = self.is_shell_script(path) || self.text(path).is_some_and(|text| text.starts_with("#!"));
        was_opened && is_script && looks_like_check(path)
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

    /// The opened shell scripts that a text may hand to a shell without naming them. `known` are those that it names.
    fn unnamed(&mut self, from: &RunText, how: Unnamed, known: &BTreeSet<String>) -> Vec<String> {
        if how == Unnamed::Nothing {
            return Vec::new();
        }
        let opened: Vec<String> = self.files.opened().into_iter().flatten().cloned().collect();
        let scripts: Vec<String> = opened.into_iter().filter(|path| self.is_shell_script(path)).collect();
        let mentions = Mentions::of(&from.words);
        let mut mentioned: Vec<String> = scripts.iter().filter(|path| mentions.has(path)).cloned().collect();
        if mentioned.iter().all(|path| known.contains(path) || self.found.contains_key(path)) && how == Unnamed::Script
        {
            mentioned = scripts.into_iter().filter(|path| from.step == 0 || looks_like_check(path)).collect();
        }
        // If one script failed in the baseline, later scripts were never opened. Add them by pattern.
        let folders: BTreeSet<String> = mentioned.iter().map(|path| folder_of(path).to_owned()).collect();
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

    /// The manifests of npm whose scripts were not read yet. Where opens are not known, those in the folders of the call.
    fn packages(&self, places: &[String]) -> Vec<String> {
        let mut found = match self.files.opened() {
            Some(_) => self.opened_named(|name| name == "package.json"),
            None => places.iter().map(|place| joined(place, "package.json")).collect(),
        };
        found.retain(|path| !self.texts.contains_key(path));
        found
    }

    /// The makefiles that were opened. Where that is not known, those in the folders in which make is run.
    fn makefiles(&mut self, places: &[String]) -> Vec<String> {
        let mut found = self.opened_named(is_makefile);
        if self.files.opened().is_none() {
            let inside = places.iter().flat_map(|place| self.files.inside(place));
            found.extend(inside.filter(|path| is_makefile(path)));
        }
        found.retain(|path| !self.found.contains_key(path) && self.files.text(path).is_some());
        // What they include, whatever it is called.
        let included: Vec<String> = found.iter().flat_map(|path| self.included(path, places)).collect();
        found.extend(included);
        found.retain(|path| self.found.insert(path.clone(), UseKind::Makefile).is_none());
        found
    }

    fn included(&self, path: &str, places: &[String]) -> Vec<String> {
        let text = self.files.text(path).unwrap_or_default();
        let lines = text
            .lines()
            .map(|line| line.trim_start_matches(['-', 's']))
            .filter_map(|line| line.strip_prefix("include "));
        let at = |word: &str| -> Vec<String> {
            let word = word.trim_start_matches("./");
            places.iter().flat_map(|place| self.expanded(&joined(place, word))).collect()
        };
        let words = lines.flat_map(str::split_whitespace).flat_map(at);
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
    pub(super) fn add_helpers(&mut self) {
        let programs = self.found.keys().filter(|path| OTHER_LANGUAGES.iter().any(|end| path.ends_with(end)));
        let is_check = |folder: &str| is_check_folder(name_of(folder));
        let folders: BTreeSet<String> =
            programs.map(|path| folder_of(path).to_owned()).filter(|folder| is_check(folder)).collect();
        let opened: Vec<String> = self.files.opened().into_iter().flatten().cloned().collect();
        for path in opened {
            let is_source = OTHER_LANGUAGES.iter().chain(CHECK_DATA).any(|end| path.ends_with(end));
            let is_beside = folders.iter().any(|folder| is_below(&path, folder));
            if is_source && is_beside && self.files.text(&path).is_some() {
                self.found.entry(path).or_insert(UseKind::Helper);
            }
        }
    }

    /// Sources that the programs of the check import by a relative path, where they are named as checks.
    pub(super) fn add_imported(&mut self) {
        let mut open: Vec<String> = self.found.keys().cloned().collect();
        let mut read = 0;
        while let Some(program) = open.pop() {
            read += 1;
            let Some(text) = self.text(&program).filter(|_| read <= TEXTS_MAX) else { continue };
            if let Some(text) = imports_outside(&program, &text) {
                let folders = vec![folder_of(&program).to_owned()];
                self.followed.push(GateText { path: program.clone(), text, folders });
            }
            for place in relative_imports(&program, &text) {
                let file =
                    IMPORT_ENDS.iter().map(|end| format!("{place}{end}")).find(|path| self.files.text(path).is_some());
                let Some(path) = file.filter(|path| looks_like_check(path) && !self.found.contains_key(path)) else {
                    continue;
                };
                self.found.insert(path.clone(), UseKind::Helper);
                open.push(path);
            }
        }
    }

    pub(super) fn add_runner_files(&mut self) {
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
