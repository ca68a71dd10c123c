//! How a project's own files say that its tests are run, as lines that can be compared: whoever turns `jest` into
//! `true` has not made the tests pass.
use std::collections::BTreeMap;

use toml_edit::{DocumentMut, Item, Value};

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
        Sort::Make => of_make(content),
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
    let told = names.into_iter().filter_map(|name| match (before.get(name), after.get(name)) {
        (Some(was), Some(is)) if was != is && (was.len() + is.len() > 2 * VALUE_LETTERS_MAX || name == "content") => {
            Some(format!("{path}: {name} was changed"))
        }
        (Some(was), Some(is)) if was != is => {
            Some(format!("{path}: {name} was {} and is now {}", shown(was), shown(is)))
        }
        (Some(was), None) => Some(format!("{path}: {name} was {} and is gone", shown(was))),
        (None, Some(is)) if !is_harmless(name) => {
            Some(format!("{path}: {name} was not there and is now {}", shown(is)))
        }
        _ => None,
    });
    told.take(TOLD_MAX).collect()
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
            "Makefile" | "makefile" | "GNUmakefile" | "justfile" | "Justfile" | ".justfile" => Some(Self::Make),
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
        for (name, value) in scripts {
            let plain = name.strip_prefix("pre").or_else(|| name.strip_prefix("post")).unwrap_or(name);
            let value = value.as_str().map_or_else(|| value.to_string(), one_line);
            if (plain == "test" || plain.starts_with("test:")) && !value.contains(NO_TEST) {
                said.insert(format!("{key}.{name}"), value);
            }
        }
    }
    for key in ["jest", "vitest", "mocha", "ava", "c8", "nyc"] {
        said.extend(all.get(key).map(|value| (key.to_owned(), one_line(&value.to_string()))));
    }
    said
}

/// The rules `test` and `check` and those of a like name that they need, and the variables of a like name.
fn of_make(content: &str) -> Said {
    let text = content.replace("\\\n", " ");
    let (mut rules, mut said) = (BTreeMap::<String, String>::new(), Said::new());
    let mut open: Vec<String> = Vec::new();
    for line in text.lines() {
        if line.starts_with(['\t', ' ']) {
            for name in open.iter().filter(|_| !line.trim().is_empty()) {
                let rule = rules.entry(name.clone()).or_default();
                *rule = format!("{rule}; {}", one_line(line));
            }
            continue;
        }
        let line = line.split_once('#').map_or(line, |(line, _)| line);
        if line.trim().is_empty() {
            continue;
        }
        open.clear();
        let head = line.find([':', '=', '?', '+']).map(|at| line.split_at(at));
        let Some((names, rest)) = head else { continue };
        let is_variable = rest.trim_start_matches([':', '?', '+']).starts_with('=');
        if is_variable {
            let is_alike = ["TEST", "CHECK"].iter().any(|part| names.to_ascii_uppercase().contains(part));
            if is_alike {
                said.insert(names.trim().to_owned(), one_line(rest.trim_start_matches([':', '?', '+', '='])));
            }
            continue;
        }
        let needs = one_line(rest.trim_start_matches(':'));
        for name in names.split_whitespace().filter(|name| is_test_name(name)) {
            let rule = rules.entry(name.to_owned()).or_default();
            *rule = format!("{rule}{needs}");
            open.push(name.to_owned());
        }
    }
    said.extend(rules.into_iter().map(|(name, rule)| {
        let kind = if ["test", "tests", "check"].contains(&name.as_str()) { name } else { format!("rule {name}") };
        (kind, rule.trim_start_matches("; ").to_owned())
    }));
    said
}

/// Whether a rule is called like one that runs tests: `unit-test`, but neither `latest` nor `contest`.
fn is_test_name(name: &str) -> bool {
    name.split(|letter: char| !letter.is_alphanumeric()).any(|part| ["test", "tests", "check"].contains(&part))
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
    fn the_first_to_say_how_to_test_has_changed_nothing() {
        let none = r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#;
        assert_eq!(test_target("package.json", none), None);
        assert!(told("package.json", none, r#"{"scripts": {"test": "jest"}}"#).is_empty());
        assert!(told("Makefile", "build:\n\tcc a.c\n", "test:\n\tpytest\n").is_empty());
    }

    #[test]
    fn a_makefile_that_tests_otherwise_is_told_and_one_that_builds_otherwise_is_not() {
        let before = "PYTEST = pytest -q\nbuild:\n\tcc a.c\n\ntest: build unit-test\n\t$(PYTEST) \\\n\t  tests\nunit-test:\n\t./u\n";
        assert_eq!(
            test_target("Makefile", before).unwrap(),
            "PYTEST = pytest -q\nrule unit-test = ./u\ntest = build unit-test; $(PYTEST) tests"
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
