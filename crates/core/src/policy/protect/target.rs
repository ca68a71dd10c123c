//! How a project's own files say that its tests are run, as lines that can be compared: whoever turns `jest` into
//! `true` has not made the tests pass.
use std::collections::BTreeMap;

use toml_edit::{DocumentMut, Item, Value};

use super::target_make::{of_make, with_included};
use crate::text;

/// A value in a sentence.
const VALUE_LETTERS_MAX: usize = 120;
/// So many differences of one file are told.
const TOLD_MAX: usize = 8;
/// What npm writes where nobody said anything.
const NO_TEST: &str = "no test specified";

/// What is said under which name.
type Said = BTreeMap<String, String>;

/// Whether a file of this name may say how tests are run.
#[must_use]
pub fn is_target_file(file_name: &str) -> bool {
    Sort::of(file_name).is_some()
}

/// What a file says about how tests are run, as sorted lines `name = value`; none where it says nothing.
///
/// ```
/// use loop_core::policy::protect::test_target;
///
/// let text = r#"{"name": "a", "scripts": {"test": "jest", "build": "tsc"}}"#;
/// assert_eq!(test_target("package.json", text).as_deref(), Some("scripts.test = jest"));
/// ```
#[must_use]
pub fn test_target(file_name: &str, content: &str) -> Option<String> {
    let said = match Sort::of(file_name)? {
        Sort::Json => of_json(content),
        Sort::Make => of_make(content, false),
        Sort::Just => of_make(content, true),
        Sort::Pyproject => of_toml(content, &["tool.pytest", "tool.tox", "tool.coverage.report.fail_under"]),
        Sort::Cargo => of_cargo(content),
        Sort::Ini => of_ini(content),
        // A program: all of it counts.
        Sort::Whole => Said::from([("content".to_owned(), one_line(content))]),
    };
    let lines: Vec<String> = said.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// What differs between two answers of [`test_target`], in sentences. What only came to be is told where it can change
/// what the tests do.
///
/// ```
/// use loop_core::policy::protect::target_changes;
///
/// let told = target_changes("package.json", Some("scripts.test = jest"), Some("scripts.test = true"));
/// assert_eq!(told, [r#"package.json: scripts.test was "jest" and is now "true""#]);
/// ```
#[must_use]
pub fn target_changes(path: &str, before: Option<&str>, after: Option<&str>) -> Vec<String> {
    // Where nothing was said, the first to say something has changed nothing.
    let Some(before) = before else { return Vec::new() };
    let (before, after) = (by_name(before), by_name(after.unwrap_or_default()));
    let names: std::collections::BTreeSet<&str> = before.keys().chain(after.keys()).copied().collect();
    let mut told = Vec::new();
    for key in names {
        // What is there for another's sake is told as long as that other was there and is.
        let (name, root) = of_root(key);
        let (was_root, is_root) = root.map_or((true, true), |r| (before.contains_key(r), after.contains_key(r)));
        let sentence = match (before.get(key), after.get(key)) {
            (Some(was), Some(is))
                if was != is && (was.len() + is.len() > 2 * VALUE_LETTERS_MAX || name == "content") =>
            {
                format!("{path}: {name} was changed")
            }
            (Some(was), Some(is)) if was != is => {
                format!("{path}: {name} was {} and is now {}", shown(was), shown(is))
            }
            (Some(was), None) if is_root => format!("{path}: {name} was {} and is gone", shown(was)),
            (None, Some(is)) if was_root && (root.is_some() || !is_harmless(name)) => {
                format!("{path}: {name} was not there and is now {}", shown(is))
            }
            _ => continue,
        };
        if !told.contains(&sentence) && told.len() < TOLD_MAX {
            told.push(sentence);
        }
    }
    told
}

/// What a new file takes the place of, in a sentence: a makefile that make prefers, or settings of a test runner where
/// tests were run already. `known` are the files of the same folder that said how tests are run.
///
/// ```
/// use loop_core::policy::protect::new_target;
///
/// let told = new_target("GNUmakefile", Some("test = true"), &["Makefile"]);
/// assert_eq!(told.as_deref(), Some("GNUmakefile is new and is read instead of Makefile"));
/// ```
#[must_use]
pub fn new_target(path: &str, says: Option<&str>, known: &[&str]) -> Option<String> {
    const MAKE: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];
    let name = path.rsplit('/').next().unwrap_or(path);
    if let Some(rank) = MAKE.iter().position(|make| *make == name) {
        // Whatever it says: a rule for every name tests nothing either.
        let lesser = MAKE.iter().skip(rank + 1).find(|make| known.contains(make))?;
        return Some(format!("{path} is new and is read instead of {lesser}"));
    }
    match Sort::of(name)? {
        Sort::Ini | Sort::Whole if !known.is_empty() => {
            says.map(|_| format!("{path} is new and says how tests are run"))
        }
        Sort::Ini | Sort::Whole | Sort::Json | Sort::Make | Sort::Just | Sort::Pyproject | Sort::Cargo => None,
    }
}

/// The content of a target file with what it includes, for [`test_target`]: `read` gets each path as it is written.
pub fn target_content(file_name: &str, content: &str, read: &mut dyn FnMut(&str) -> Option<String>) -> String {
    match Sort::of(file_name) {
        Some(Sort::Make | Sort::Just) => with_included(content, read),
        Some(Sort::Json | Sort::Pyproject | Sort::Cargo | Sort::Ini | Sort::Whole) | None => content.to_owned(),
    }
}

/// A name without the one for whose sake it is there, and that one.
fn of_root(key: &str) -> (&str, Option<&str>) {
    let parts = key.strip_suffix(']').and_then(|key| key.rsplit_once(" [for "));
    parts.map_or((key, None), |(name, root)| (name, Some(root)))
}

fn by_name(lines: &str) -> BTreeMap<&str, &str> {
    lines.lines().filter_map(|line| line.split_once(" = ")).collect()
}

/// One more test changes no other.
fn is_harmless(name: &str) -> bool {
    name.starts_with("scripts.test:")
        || name.starts_with("tasks.test:")
        || name.starts_with("test.")
        || name.starts_with("rule ")
        || name.starts_with("phony ")
}

fn shown(value: &str) -> String {
    format!("\"{}\"", text::one_line(value, VALUE_LETTERS_MAX))
}

fn one_line(value: &str) -> String {
    value.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[derive(Debug, Clone, Copy)]
enum Sort {
    Json,
    Make,
    Just,
    Pyproject,
    Cargo,
    Ini,
    Whole,
}

impl Sort {
    fn of(file_name: &str) -> Option<Self> {
        let name = file_name.rsplit('/').next().unwrap_or(file_name);
        let begins = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
        match name {
            "package.json" | "deno.json" | "composer.json" => Some(Self::Json),
            "Makefile" | "makefile" | "GNUmakefile" => Some(Self::Make),
            "justfile" | "Justfile" | ".justfile" => Some(Self::Just),
            "pyproject.toml" => Some(Self::Pyproject),
            "Cargo.toml" => Some(Self::Cargo),
            "pytest.ini" | ".pytest.ini" | "tox.ini" | "setup.cfg" => Some(Self::Ini),
            _ if begins(&["jest.config.", "vitest.config.", ".mocharc.", "playwright.config."]) => Some(Self::Whole),
            _ => None,
        }
    }
}

/// Scripts of a name with *test* in it, and what the test runners read.
fn of_json(content: &str) -> Said {
    let mut said = Said::new();
    let Ok(serde_json::Value::Object(all)) = serde_json::from_str(content) else { return said };
    for key in ["scripts", "tasks"] {
        let scripts = all.get(key).and_then(serde_json::Value::as_object).into_iter().flatten();
        let scripts: Said = scripts
            .map(|(name, value)| (name.clone(), value.as_str().map_or_else(|| value.to_string(), one_line)))
            .collect();
        for (name, value) in &scripts {
            let plain = name.strip_prefix("pre").or_else(|| name.strip_prefix("post")).unwrap_or(name);
            if (plain == "test" || plain.starts_with("test:")) && !value.contains(NO_TEST) {
                let called = called_by(name, &scripts);
                said.extend(called.map(|(called, value)| (format!("{key}.{called} [for {key}.{name}]"), value)));
                said.insert(format!("{key}.{name}"), value.clone());
            }
        }
    }
    for key in ["jest", "vitest", "mocha", "ava", "c8", "nyc"] {
        said.extend(all.get(key).map(|value| (key.to_owned(), one_line(&value.to_string()))));
    }
    said
}

/// The scripts that a script calls, with what runs before and after them.
fn called_by(name: &str, scripts: &Said) -> impl Iterator<Item = (String, String)> {
    let (mut called, mut wanted) = (Said::new(), vec![name.to_owned()]);
    while let Some(next) = wanted.pop() {
        for word in scripts.get(&next).into_iter().flat_map(|value| calls_in(value)) {
            let is_meant = |script: &str| {
                script == word || word.split_once('*').is_some_and(|(start, _)| script.starts_with(start))
            };
            for (script, value) in scripts {
                let plain = script.strip_prefix("pre").or_else(|| script.strip_prefix("post"));
                let is_called = is_meant(script) || plain.is_some_and(is_meant);
                if is_called && script != name && called.insert(script.clone(), value.clone()).is_none() {
                    wanted.push(script.clone());
                }
            }
        }
    }
    called.into_iter()
}

/// The words of a script that may name others: those behind what runs scripts, up to the end of the command.
fn calls_in(script: &str) -> Vec<String> {
    const RUNS: &[&str] = &["npm", "yarn", "pnpm", "bun", "deno", "npm-run-all", "run-s", "run-p", "--run", "wireit"];
    let mut all = Vec::new();
    for command in script.split([';', '&', '|', '(', ')', ',', '[', ']', '`']) {
        let words = command.split_whitespace().map(|word| word.trim_matches(['"', '\'', '\\']));
        // Of composer's scripts each may name another with `@`.
        all.extend(words.clone().filter_map(|word| word.strip_prefix('@')).map(str::to_owned));
        let behind = words.skip_while(|word| !RUNS.contains(word)).skip(1).take_while(|word| *word != "--");
        all.extend(behind.map(|word| word.strip_prefix("npm:").unwrap_or(word).to_owned()));
        all.extend(command.split(['"', ' ']).filter_map(|word| word.strip_prefix("npm:")).map(str::to_owned));
    }
    all
}

/// Everything below some places of a TOML file.
fn of_toml(content: &str, places: &[&str]) -> Said {
    let mut said = Said::new();
    let Ok(document) = content.parse::<DocumentMut>() else { return said };
    for place in places {
        let item = place.split('.').try_fold(document.as_item(), |item, name| item.get(name));
        if let Some(item) = item {
            flatten(place, item, &mut said);
        }
    }
    said
}

fn flatten(name: &str, item: &Item, said: &mut Said) {
    match item {
        Item::Table(table) => table.iter().for_each(|(key, item)| flatten(&format!("{name}.{key}"), item, said)),
        Item::ArrayOfTables(tables) => {
            for table in tables {
                // A place in a list says less than the name of what stands there.
                let own = table.get("name").and_then(Item::as_str).unwrap_or("");
                for (key, item) in table.iter().filter(|(key, _)| *key != "name") {
                    flatten(&format!("{name}.{own}.{key}"), item, said);
                }
                said.insert(format!("{name}.{own}"), "listed".to_owned());
            }
        }
        Item::Value(value) => {
            said.insert(name.to_owned(), plain(value));
        }
        Item::None => {}
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| one_line(&value.to_string()), one_line)
}

/// Which targets of a crate are tested, and how tests are built.
fn of_cargo(content: &str) -> Said {
    let mut said =
        of_toml(content, &["test", "profile.test", "package.autotests", "lib.test", "lib.harness", "lib.doctest"]);
    let Ok(document) = content.parse::<DocumentMut>() else { return said };
    let bins = document.get("bin").and_then(Item::as_array_of_tables).into_iter().flatten();
    for bin in bins {
        let own = bin.get("name").and_then(Item::as_str).unwrap_or("");
        if let Some(value) = bin.get("test").and_then(Item::as_value) {
            said.insert(format!("bin.{own}.test"), plain(value));
        }
    }
    said
}

/// The sections that pytest and tox read.
fn of_ini(content: &str) -> Said {
    let mut said = Said::new();
    let (mut section, mut open) = (String::new(), None::<String>);
    for line in content.lines() {
        let clean = line.trim();
        if clean.is_empty() || clean.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = clean.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            (section, open) = (name.trim().to_owned(), None);
            continue;
        }
        let is_read = ["pytest", "tool:pytest", "tox"].contains(&section.as_str()) || section.starts_with("testenv");
        if !is_read {
            continue;
        }
        if line.starts_with([' ', '\t']) {
            if let Some(value) = open.as_ref().and_then(|name| said.get_mut(name)) {
                *value = format!("{value} {}", one_line(clean)).trim().to_owned();
            }
            continue;
        }
        let (name, value) = clean.split_once('=').unwrap_or((clean, ""));
        let name = format!("{section}.{}", name.trim());
        said.insert(name.clone(), one_line(value));
        open = Some(name);
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(file: &str, before: &str, after: &str) -> Vec<String> {
        target_changes(file, test_target(file, before).as_deref(), test_target(file, after).as_deref())
    }

    #[test]
    fn a_package_that_tests_otherwise_is_told() {
        let before = r#"{"version": "1", "scripts": {"test": "jest  --ci", "build": "tsc"}, "jest": {"bail": true}}"#;
        let same = r#"{"scripts": {"build": "true", "test": "jest --ci", "test:new": "x"}, "jest": {"bail": true}}"#;
        assert!(told("package.json", before, same).is_empty());
        let after = r#"{"scripts": {"test": "true", "pretest": "rm -r tests"}}"#;
        assert_eq!(
            told("sub/package.json", before, after),
            [
                r#"sub/package.json: jest was "{"bail":true}" and is gone"#,
                r#"sub/package.json: scripts.pretest was not there and is now "rm -r tests""#,
                r#"sub/package.json: scripts.test was "jest --ci" and is now "true""#,
            ]
        );
        assert_eq!(told("package.json", before, "{ broken").len(), 2, "what cannot be read tests nothing");
    }

    #[test]
    fn a_program_or_a_long_value_is_only_said_to_be_changed() {
        assert_eq!(told("jest.config.js", "a", "b"), ["jest.config.js: content was changed"]);
        assert!(told("jest.config.js", "a", "a").is_empty());
        let value = |letter: &str, length: usize| format!("a = {}", letter.repeat(length));
        let changed = |was: usize, is: usize| {
            target_changes("f", Some(&value("y", was)), Some(&value("z", is))) == ["f: a was changed"]
        };
        assert!(!changed(VALUE_LETTERS_MAX, VALUE_LETTERS_MAX) && changed(VALUE_LETTERS_MAX, VALUE_LETTERS_MAX + 1));
        assert!(!changed(2, VALUE_LETTERS_MAX) && changed(1, 2 * VALUE_LETTERS_MAX));
    }

    #[test]
    fn what_is_there_for_the_sake_of_another_is_told_where_that_one_was_there_and_is() {
        let changes = |before: &str, after: &str| target_changes("f", Some(before), Some(after)).len();
        assert_eq!(changes("a [for test] = x\ntest = y", "test = y"), 1);
        assert_eq!(changes("a [for test] = x\ntest = y", ""), 1, "only that the other is gone");
        assert_eq!(changes("test = y", "a [for test] = x\ntest = y"), 1);
        assert_eq!(changes("other = y", "a [for test] = x\nother = y"), 0);
        let many: String = (0..TOLD_MAX + 4).map(|number| format!("a{number} = x\n")).collect();
        assert_eq!(changes(&many, ""), TOLD_MAX);
    }

    #[test]
    fn the_scripts_that_a_test_calls_are_told_and_the_others_are_not() {
        let before = r#"{"scripts": {"test": "npm run lint && yarn unit -- --ci", "lint": "eslint .", "unit": "pnpm run go", "go": "jest", "docs": "x"}}"#;
        let edited = |from: &str, to: &str| told("package.json", before, &before.replace(from, to));
        assert_eq!(edited("\"jest\"", "\"true\""), [r#"package.json: scripts.go was "jest" and is now "true""#]);
        assert_eq!(edited("eslint .", "true").len(), 1);
        let hook = edited("\"docs\"", r#""prego": "rm -r tests", "docs""#);
        assert_eq!(hook, [r#"package.json: scripts.prego was not there and is now "rm -r tests""#]);
        assert!(edited("\"x\"", "\"y\"").is_empty());
        assert!(edited("\"docs\"", r#""test:new": "npm run new", "new": "x", "predocs": "z", "docs""#).is_empty());
        let composer = r#"{"scripts": {"test": ["@unit"], "unit": "phpunit"}}"#;
        assert_eq!(told("composer.json", composer, &composer.replace("phpunit", "true")).len(), 1);
    }

    #[test]
    fn a_new_file_that_is_read_instead_of_a_known_one_is_told() {
        let some = Some("a = b");
        let is_told = |path: &str, known: &[&str]| new_target(path, some, known).is_some();
        assert!(is_told("GNUmakefile", &["makefile"]) && is_told("sub/makefile", &["Makefile"]));
        assert!(!is_told("makefile", &["makefile"]));
        assert!(!is_told("Makefile", &["GNUmakefile"]) && !is_told("GNUmakefile", &["package.json"]));
        assert!(is_told("pytest.ini", &["Makefile"]) && is_told("jest.config.ts", &["package.json"]));
        assert!(!is_told("pytest.ini", &[]), "where nothing was said, the first to say something changes nothing");
        assert!(new_target("setup.cfg", None, &["Makefile"]).is_none(), "it says nothing of tests");
        assert!(!is_told("sub/Cargo.toml", &["Makefile"]));
    }

    #[test]
    fn the_first_to_say_how_to_test_has_changed_nothing() {
        let none = r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#;
        assert_eq!(test_target("package.json", none), None);
        assert!(told("package.json", none, r#"{"scripts": {"test": "jest"}}"#).is_empty());
        assert!(told("Makefile", "build:\n\tcc a.c\n", "test:\n\tpytest\n").is_empty());
    }

    #[test]
    fn a_makefile_that_tests_otherwise_is_told_and_one_that_builds_otherwise_is_not() {
        let before =
            "PYTEST = pytest -q\nbuild:\n\tcc a.c\n\ntest: unit-test\n\t$(PYTEST) \\\n\t  tests\nunit-test:\n\t./u\n";
        assert_eq!(
            test_target("Makefile", before).unwrap(),
            "PYTEST = pytest -q\nrule unit-test = ./u\ntest = unit-test; $(PYTEST) tests"
        );
        let builds = before.replace("cc a.c", "cc -O2 a.c").replace("$(PYTEST) \\\n\t  tests", "$(PYTEST)   tests");
        assert!(told("Makefile", before, &builds).is_empty());
        assert_eq!(
            told("Makefile", before, &before.replace("\t./u", "\ttrue")),
            [r#"Makefile: rule unit-test was "./u" and is now "true""#]
        );
        assert_eq!(told("Makefile", before, &before.replace("pytest -q", "true")).len(), 1);
        assert_eq!(told("Makefile", before, "").len(), 3);
        assert_eq!(
            test_target("justfile", "test *args: build\n    cargo test\nlatest:\n    x\n"),
            Some("test = build; cargo test".to_owned())
        );
    }

    #[test]
    fn what_pytest_and_tox_read_is_compared() {
        let before = "[pytest]\naddopts = -q\n  --strict\ntestpaths = tests\n[flake8]\nmax = 3\n";
        assert_eq!(
            test_target("pytest.ini", before).unwrap(),
            "pytest.addopts = -q --strict\npytest.testpaths = tests"
        );
        assert!(told("setup.cfg", before, &before.replace("max = 3", "max = 4")).is_empty());
        assert!(told("setup.cfg", before, &before.replace("testpaths", "# a = b\n\n; c = d\ntestpaths")).is_empty());
        assert_eq!(
            told("tox.ini", before, &before.replace("= tests", "= docs")),
            [r#"tox.ini: pytest.testpaths was "tests" and is now "docs""#]
        );
        let toml = "[project]\nname='a'\n[tool.pytest.ini_options]\naddopts = \"-q\"\ntestpaths = ['tests']\n";
        let told = told("pyproject.toml", toml, &toml.replace("-q", "-q --deselect tests/a.py"));
        assert_eq!(
            told,
            [r#"pyproject.toml: tool.pytest.ini_options.addopts was "-q" and is now "-q --deselect tests/a.py""#]
        );
    }

    #[test]
    fn a_crate_that_leaves_tests_out_is_told() {
        let before =
            "[package]\nname = 'a'\nversion = '1'\n[[test]]\nname = 'it'\npath = 'tests/it.rs'\n[[bin]]\nname='b'\n";
        let bumped = before.replace("'1'", "'2'") + "[[test]]\nname = 'new'\npath = 'x'\n";
        assert!(told("Cargo.toml", before, &bumped).is_empty());
        let after = "[package]\nname = 'a'\nautotests = false\n[lib]\ntest = false\n[[bin]]\nname='b'\ntest=false\n";
        assert_eq!(
            told("Cargo.toml", before, after),
            [
                r#"Cargo.toml: bin.b.test was not there and is now "false""#,
                r#"Cargo.toml: lib.test was not there and is now "false""#,
                r#"Cargo.toml: package.autotests was not there and is now "false""#,
                r#"Cargo.toml: test.it was "listed" and is gone"#,
                r#"Cargo.toml: test.it.path was "tests/it.rs" and is gone"#,
            ]
        );
    }

    #[test]
    fn a_configuration_that_is_a_program_counts_as_a_whole() {
        assert_eq!(told("jest.config.js", "module.exports = {}", "module.exports = {bail: 1}").len(), 1);
        assert!(!is_target_file("main.js") && is_target_file("a/vitest.config.ts"));
    }
}
