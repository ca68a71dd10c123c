//! What tests and test runners use, read off the texts that a project had at the start: files that they name, and where
//! imports lead. Nothing of it is wrong by itself: it is named with the proof.
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;
use toml_edit::{DocumentMut, Item};

use super::is_test_path;
use super::paths::matches_path;
use super::paths::name_of;
use super::runner_files::is_runner_file;

/// Files that a test run reads whatever the tests say, with at most one `*`.
const READ_BY_RUNS: &[&str] = &[
    "build.rs",
    "babel.config.*",
    ".babelrc*",
    ".swcrc",
    "vite.config.*",
    "tsconfig*.json",
    "jsconfig.json",
    ".env",
    ".env.*",
    "go.work",
    "sitecustomize.py",
    "usercustomize.py",
];
/// Ends of names of data.
const DATA_ENDS: &[&str] = &[
    "txt", "json", "csv", "tsv", "yaml", "yml", "xml", "html", "out", "dat", "golden", "snap", "expected", "sql",
    "toml",
];
/// Parts of the names of scripts that run tests.
const TEST_SCRIPTS: &[&str] = &["test", "check", "verify", "spec", "e2e", "ci", "unit"];
/// What a manifest of JavaScript says about where imports lead.
const IMPORT_KEYS: &[&str] =
    &["imports", "exports", "main", "module", "type", "overrides", "resolutions", "workspaces", "browser"];

/// A text of the project, or of a gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectText {
    /// Where it lies; empty for the command of a gate.
    pub path: String,
    /// What it says.
    pub text: String,
}

/// What the tests and their runners name.
#[derive(Debug, Default)]
pub(super) struct TestReads {
    paths: Vec<String>,
    in_tests: Words,
    in_runners: Words,
    in_sources: Words,
    crates: Vec<LocalCrates>,
    /// The names of the files of tests, where no other file has such a name.
    test_names: BTreeSet<String>,
    /// The modules that Python tests import and that no file of the project was.
    imported_by_tests: BTreeSet<String>,
}

/// The words of some texts.
#[derive(Debug, Default)]
struct Words {
    all: BTreeMap<String, NamedBy>,
    /// Those at the end of a place in quotes: `'./support/check'`.
    imported: BTreeMap<String, NamedBy>,
}

/// Which text has a word.
#[derive(Debug, Clone, Copy)]
struct NamedBy {
    text: usize,
    is_in_more: bool,
}

/// The folders of crates that a manifest needs.
#[derive(Debug)]
struct LocalCrates {
    for_tests: Vec<String>,
    others: Vec<String>,
}

impl Words {
    fn add(&mut self, text: &str, number: usize) {
        let mut before = ' ';
        for piece in text.split_inclusive(|letter: char| !is_part_of_name(letter)) {
            let after = piece.chars().next_back().filter(|letter| !is_part_of_name(*letter));
            let word = piece.trim_end_matches(|letter: char| !is_part_of_name(letter));
            if word.chars().any(char::is_alphanumeric) {
                add_word(&mut self.all, word.trim_end_matches('.'), number);
                if before == '/' && matches!(after, Some('\'' | '"' | '`')) {
                    add_word(&mut self.imported, word, number);
                }
            }
            before = after.unwrap_or(' ');
        }
    }

    /// Whether a text other than `own` names a file: by its name, or by its place without the ending as imports do.
    fn name(&self, path: &str, own: Option<usize>) -> bool {
        let by_other = |by: &NamedBy| by.is_in_more || own != Some(by.text);
        let name = name_of(path);
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        self.all.get(name).is_some_and(by_other) || self.imported.get(stem).is_some_and(by_other)
    }
}

fn add_word(words: &mut BTreeMap<String, NamedBy>, word: &str, number: usize) {
    match words.get_mut(word) {
        Some(by) => by.is_in_more |= by.text != number,
        None => drop(words.insert(word.to_owned(), NamedBy { text: number, is_in_more: false })),
    }
}

fn is_part_of_name(letter: char) -> bool {
    letter.is_alphanumeric() || "._-".contains(letter)
}

impl TestReads {
    /// From texts of the start.
    pub(super) fn of(texts: &[ProjectText]) -> Self {
        let mut reads = Self::default();
        let mut others: BTreeSet<&str> = BTreeSet::new();
        for (number, ProjectText { path, text }) in texts.iter().enumerate() {
            reads.paths.push(path.clone());
            if is_test_path(path) {
                reads.test_names.insert(name_of(path).to_owned());
            } else {
                others.insert(name_of(path));
            }
            if is_runner_file(path) || is_read_by_runs(path) {
                reads.in_runners.add(text, number);
            } else if name_of(path) == "package.json" {
                reads.in_runners.add(&test_scripts(text), number);
                reads.in_sources.add(text, number);
            } else if name_of(path) == "Cargo.toml" {
                reads.crates.extend(LocalCrates::of(path, text));
            } else if is_test_path(path) {
                reads.in_tests.add(text, number);
                reads.imported_by_tests.extend(python_imports(path, text));
            } else {
                reads.in_sources.add(text, number);
            }
        }
        reads.test_names.retain(|name| !others.contains(name.as_str()));
        let is_own = |module: &str| {
            let mut paths = reads.paths.iter();
            paths.any(|path| path.split('/').any(|part| part.split('.').next() == Some(module)))
        };
        let imported = std::mem::take(&mut reads.imported_by_tests);
        reads.imported_by_tests = imported.into_iter().filter(|module| !is_own(module)).collect();
        reads
    }

    /// Whether a test has this word.
    pub(super) fn has_word(&self, word: &str) -> bool {
        self.in_tests.all.contains_key(word)
    }

    /// Whether a test has this word, or it is a part of one: `support.asserts`.
    pub(super) fn has_part(&self, part: &str) -> bool {
        self.has_word(part) || self.in_tests.all.keys().any(|word| word.split('.').any(|one| one == part))
    }

    /// Whether a test names the folder of a file, and the name of the file may be put together there:
    /// `open(f'cases/add-{name}.json')`.
    pub(super) fn name_folder_of(&self, path: &str) -> bool {
        named_folders(path).any(|folder| self.has_word(folder))
    }

    /// The same for a test or a source.
    pub(super) fn or_sources_name_folder_of(&self, path: &str) -> bool {
        let of_sources = |folder: &str| self.in_sources.all.contains_key(folder);
        self.name_folder_of(path) || named_folders(path).any(of_sources)
    }

    /// Whether a Python test imports a module, at the top of the project or below a folder that Python searches.
    pub(super) fn import_module(&self, path: &str) -> bool {
        module_of(path).is_some_and(|module| self.imported_by_tests.contains(module))
    }

    /// Whether a line has the name of a test file.
    pub(super) fn names_test(&self, line: &str) -> bool {
        line.split(|letter: char| !is_part_of_name(letter)).any(|word| self.test_names.contains(word))
    }

    /// Whether tests or test runners used a file that held this text.
    pub(super) fn use_file(&self, path: &str, text: &str) -> bool {
        let own = self.paths.iter().position(|known| known == path);
        if is_for_tests(path, text)
            || self.in_runners.name(path, own)
            || self.crates.iter().any(|crates| crates.is_for_tests(path))
        {
            return true;
        }
        let asserts = ["assert", "expect(", "panic!", "t.Fatal"].iter().any(|part| text.contains(part));
        (is_data_name(path) || asserts) && self.in_tests.name(path, own) && !self.in_sources.name(path, own)
    }
}

/// The folders above a file whose names say something: not those in which all sources lie.
fn named_folders(path: &str) -> impl Iterator<Item = &str> {
    const GENERAL: &[&str] = &["src", "lib", "app", "apps", "bin", "cmd", "pkg", "internal", "packages", "crates"];
    let above = path.rsplit_once('/').map_or("", |(above, _)| above);
    above.split('/').filter(|part| part.len() > 1 && !GENERAL.contains(part))
}

/// The module that a file of Python is, where it lies at the top or in a folder that Python searches.
pub(super) fn module_of(path: &str) -> Option<&str> {
    let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
    let is_searched =
        |above: &str| above.is_empty() || matches!(above, "src" | "lib") || is_test_path(&format!("{above}/a"));
    match name {
        "__init__.py" => {
            let (above, module) = above.rsplit_once('/').unwrap_or(("", above));
            Some(module).filter(|module| !module.is_empty() && is_searched(above))
        }
        _ => name.strip_suffix(".py").filter(|_| is_searched(above)),
    }
}

/// The first names of the modules that a Python text imports.
pub(super) fn python_imports<'a>(path: &str, text: &'a str) -> impl Iterator<Item = String> + use<'a> {
    let lines = path.ends_with(".py").then(|| text.lines()).into_iter().flatten();
    let modules = |line: &'a str| {
        let line = line.trim_start();
        let of_import = line.strip_prefix("import ").map(|rest| rest.split(',').collect::<Vec<_>>());
        let of_from = || line.strip_prefix("from ").map(|rest| vec![rest]);
        of_import.or_else(of_from).unwrap_or_default()
    };
    let first = |module: &str| module.split([' ', '.', '#', '\t']).find(|part| !part.is_empty()).map(str::to_owned);
    lines.flat_map(modules).filter(|module| !module.trim_start().starts_with('.')).filter_map(first)
}

impl LocalCrates {
    fn of(path: &str, manifest: &str) -> Option<Self> {
        let document = manifest.parse::<DocumentMut>().ok()?;
        let above = path.strip_suffix("Cargo.toml").unwrap_or_default();
        let folders = |part: &str| -> Vec<String> {
            let all = document.get(part).and_then(Item::as_table_like);
            let folders = all.into_iter().flat_map(|all| all.iter()).filter_map(|(_, item)| item.get("path")?.as_str());
            folders.map(|folder| format!("{above}{folder}/")).collect()
        };
        Some(Self { for_tests: folders("dev-dependencies"), others: folders("dependencies") })
    }

    /// Whether a file lies in a crate that the manifest needs for its tests alone.
    fn is_for_tests(&self, path: &str) -> bool {
        let is_below = |folders: &[String]| folders.iter().any(|folder| path.starts_with(folder.as_str()));
        is_below(&self.for_tests) && !is_below(&self.others)
    }
}

/// Whether a file is data by its name.
pub(super) fn is_data_name(path: &str) -> bool {
    DATA_ENDS.contains(&ending(path))
}

/// Whether a file belongs to an installed dependency that is kept with the project.
pub(super) fn is_installed(path: &str) -> bool {
    let above = path.rsplit_once('/').map_or("", |(above, _)| above);
    above.split('/').any(|part| matches!(part, "node_modules" | "vendor" | "site-packages"))
}

/// Whether a test run reads this file whatever the tests say.
#[must_use]
pub fn is_read_by_runs(path: &str) -> bool {
    READ_BY_RUNS.iter().any(|pattern| matches_path(pattern, name_of(path)))
}

/// Whether a source is written for tests: it takes or extends what only test runners have.
///
/// ```
/// use loop_core::policy::protect::is_for_tests;
///
/// assert!(is_for_tests("check.go", "package check\n\nimport \"testing\"\n\nfunc Same(t *testing.T) {}\n"));
/// assert!(!is_for_tests("sum.js", "require('node:assert')(1);\n"));
/// ```
#[must_use]
pub fn is_for_tests(path: &str, text: &str) -> bool {
    match ending(path) {
        "go" => text.contains("*testing.T") || text.contains("testing.TB"),
        "js" | "cjs" | "mjs" | "jsx" | "ts" | "mts" | "cts" | "tsx" => {
            text.contains("expect.extend(")
                || text.contains("expect(")
                    && ["'vitest'", "@jest/globals", "'chai'"].iter().any(|part| text.contains(part))
        }
        "py" => text.contains("@pytest.fixture") || text.contains("(unittest.TestCase)"),
        _ => false,
    }
}

/// The scripts of a manifest that run tests, and what test runners read there.
fn test_scripts(content: &str) -> String {
    let Ok(Json::Object(all)) = serde_json::from_str(content) else { return String::new() };
    let scripts = all.get("scripts").and_then(Json::as_object);
    let is_test = |name: &&String| TEST_SCRIPTS.iter().any(|part| name.contains(part));
    let scripts = scripts.into_iter().flatten().filter(|(name, _)| is_test(name)).map(|(_, line)| line.to_string());
    let parts = ["jest", "vitest", "mocha", "ava", "tap", "babel"].iter().filter_map(|name| all.get(*name));
    scripts.chain(parts.map(Json::to_string)).collect::<Vec<_>>().join("\n")
}

/// Whether a file says where imports lead.
pub(super) fn leads_imports(path: &str) -> bool {
    matches!(name_of(path), "package.json" | "Cargo.toml" | "go.mod")
}

/// What a manifest says about where imports lead and which parts are built; none where it says nothing of it.
pub(super) fn redirections(path: &str, content: &str) -> Option<String> {
    match name_of(path) {
        "package.json" => {
            let Ok(Json::Object(all)) = serde_json::from_str::<Json>(content) else { return None };
            let mut lines: Vec<String> =
                IMPORT_KEYS.iter().filter_map(|key| Some(format!("{key} = {}", all.get(*key)?))).collect();
            for part in ["dependencies", "devDependencies", "optionalDependencies"] {
                let entries = all.get(part).and_then(Json::as_object).into_iter().flatten();
                let is_local = |value: &Json| {
                    value.as_str().is_some_and(|text| {
                        ["file:", "link:", "portal:", "npm:"].iter().any(|begin| text.starts_with(begin))
                    })
                };
                lines.extend(
                    entries.filter(|(_, value)| is_local(value)).map(|(name, value)| format!("{name} = {value}")),
                );
            }
            Some(lines.join("\n"))
        }
        "Cargo.toml" => {
            let document = content.parse::<DocumentMut>().ok()?;
            let mut lines: Vec<String> = Vec::new();
            for part in ["patch", "replace", "lib"] {
                lines.extend(document.get(part).map(|item| format!("{part} = {item}")));
            }
            lines.extend(
                document.get("features").and_then(|all| all.get("default")).map(|item| format!("default = {item}")),
            );
            lines.extend(local_crates(document.as_item(), ""));
            lines.extend(document.get("workspace").into_iter().flat_map(|item| local_crates(item, "workspace ")));
            let targets = document.get("target").and_then(Item::as_table_like);
            for (name, item) in targets.into_iter().flat_map(|all| all.iter()) {
                lines.extend(local_crates(item, &format!("{name} ")));
            }
            Some(lines.join("\n"))
        }
        "go.mod" => {
            let is_one = |line: &&str| line.contains("=>") || line.starts_with("exclude");
            Some(content.lines().map(str::trim).filter(is_one).collect::<Vec<_>>().join("\n"))
        }
        _ => None,
    }
}

/// The crates at a path of their own that a table of a manifest needs, one on each line.
fn local_crates(table: &Item, owner: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for part in ["dependencies", "dev-dependencies", "build-dependencies"] {
        let all = table.get(part).and_then(Item::as_table_like);
        let local =
            all.into_iter().flat_map(|all| all.iter()).filter_map(|(name, item)| Some((name, item.get("path")?)));
        lines.extend(local.map(|(name, path)| format!("{owner}{part} {name} = {path}")));
    }
    lines
}

fn ending(path: &str) -> &str {
    name_of(path).rsplit_once('.').map_or("", |(_, ending)| ending)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(all: &[(&str, &str)]) -> Vec<ProjectText> {
        all.iter().map(|(path, text)| ProjectText { path: (*path).to_owned(), text: (*text).to_owned() }).collect()
    }

    #[test]
    fn what_tests_or_their_runner_read_is_used_by_tests() {
        let all = texts(&[
            ("sum.test.js", "require('./support/check'); read('data/cases.json'); require('./sum.js')"),
            ("jest.config.js", "module.exports = { setupFiles: ['./config/setup.js'] };"),
            (
                "package.json",
                r#"{"main": "sum.js", "scripts": {"test": "node -r ./lib/hook.js --test", "start": "node cli.js"}}"#,
            ),
            (
                "Cargo.toml",
                "[dependencies]\nnames = { path = 'names' }\n[dev-dependencies]\ncheck = { path = 'check' }\n",
            ),
            ("cli.js", "require('./sum.js'); read('data/words.json')"),
        ]);
        let reads = TestReads::of(&all);
        let is_used = |path: &str, text: &str| reads.use_file(path, text);
        for (path, text) in [
            ("support/check.js", "assert.ok(a)"),
            ("data/cases.json", "[]"),
            ("config/setup.js", ""),
            ("lib/hook.js", ""),
            ("check/src/lib.rs", ""),
            ("internal/tell/tell.go", "func Same(t *testing.T) {}"),
        ] {
            assert!(is_used(path, text), "{path}");
        }
        for (path, text) in [
            ("sum.js", "assert(a)"),
            ("cli.js", "assert(a)"),
            ("data/words.json", "[]"),
            ("names/src/lib.rs", ""),
            ("support/other.js", "assert.ok(a)"),
        ] {
            assert!(!is_used(path, text), "{path}");
        }
    }

    #[test]
    fn a_manifest_whose_imports_lead_elsewhere_says_something_else() {
        for (file, before, after) in [
            ("package.json", r##"{"imports": {"#a": "./a.js"}}"##, r##"{"imports": {"#a": "./b.js"}}"##),
            ("package.json", r#"{"dependencies": {"a": "1"}}"#, r#"{"dependencies": {"a": "file:stub"}}"#),
            ("go.mod", "module a\nreplace b => ./b\n", "module a\nreplace b => ./stub\n"),
            ("Cargo.toml", "[features]\ndefault = []\n", "[features]\ndefault = ['quick']\n"),
            ("Cargo.toml", "[dev-dependencies]\na = { path = 'a' }\n", "[dev-dependencies]\na = { path = 'b' }\n"),
            ("Cargo.toml", "", "[patch.crates-io]\na = { path = 'b' }\n"),
            ("Cargo.toml", "", "[target.'cfg(unix)'.dev-dependencies]\na = { path = 'b' }\n"),
            ("Cargo.toml", "", "[workspace.dependencies]\na = { path = 'b' }\n"),
        ] {
            assert_ne!(redirections(file, before), redirections(file, after), "{after}");
        }
        for (file, before, after) in [
            ("package.json", r#"{"version": "1"}"#, r#"{"version": "2", "dependencies": {"a": "^1.0.0"}}"#),
            ("go.mod", "module a\n", "module a\nrequire b v1.0.0\n"),
            ("Cargo.toml", "[package]\nversion = '1'\n", "[package]\nversion = '2'\n[dependencies]\na = '1'\n"),
        ] {
            assert_eq!(redirections(file, before), redirections(file, after), "{after}");
        }
    }

    #[test]
    fn a_line_with_the_name_of_a_test_file_is_told_from_one_with_a_name_that_sources_have_too() {
        let reads = TestReads::of(&texts(&[("sum.test.js", ""), ("tests/index.js", ""), ("index.js", "")]));
        assert!(reads.names_test("readFileSync('./sum.test.js')"));
        assert!(!reads.names_test("require('./index.js')"));
    }
}
