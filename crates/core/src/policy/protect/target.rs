//! Which files of a project define how its tests are run, and which part of each does. Nothing is interpreted: the
//! parts are compared as texts, and what differs is reported as *changed*. So an edit elsewhere in the same part is
//! reported too.
use serde_json::Value as Json;
use toml_edit::{DocumentMut, Item};

/// Files that a makefile or justfile includes, and how deep.
const INCLUDED_MAX: usize = 50;
const DEPTH_MAX: usize = 3;
/// What `npm init` writes where no test command is given.
const NO_TEST: &str = "no test specified";

/// The parts of a JSON file that test runners read.
pub(super) const JSON_PARTS: &[&str] =
    &["scripts", "tasks", "jest", "vitest", "mocha", "ava", "tap", "jasmine", "c8", "nyc"];
/// Names of scripts that gates are made of: a part of the name, or the whole.
const CHECK_PARTS: &[&str] = &["test", "check", "verify", "lint", "spec", "validate", "e2e"];
const CHECK_NAMES: &[&str] = &["ci", "qa", "all", "types", "tsc"];
const PYPROJECT_PARTS: &[&str] = &["tool.pytest", "tool.tox", "tool.coverage", "tool.nox", "tool.poe", "tool.taskipy"];
const CARGO_PARTS: &[&str] = &[
    "test",
    "profile.test",
    "profile.dev",
    "package.autotests",
    "package.build",
    "lib.test",
    "lib.harness",
    "lib.doctest",
    "bin",
];
/// The sections of an INI file that pytest and tox read.
const INI_SECTIONS: &[&str] = &["[pytest]", "[tool:pytest]", "[tox]", "[testenv"];

/// Whether a file of this name may define how tests are run.
#[must_use]
pub fn is_target_file(file_name: &str) -> bool {
    TargetFormat::of(file_name).is_some()
}

/// The part of a file that defines how tests are run; none where it defines nothing. `read` gets the path of each file
/// that a makefile or justfile includes, as it is written there.
///
/// ```
/// use loop_core::policy::protect::test_definition;
///
/// let says = |text: &str| test_definition("package.json", text, &mut |_| None);
/// let before = says(r#"{"version": "1", "scripts": {"test": "jest"}}"#);
/// assert_eq!(before, says(r#"{"version": "2", "scripts": {"test": "jest"}}"#));
/// assert_ne!(before, says(r#"{"version": "2", "scripts": {"test": "true"}}"#));
/// ```
pub fn test_definition(file_name: &str, content: &str, read: &mut dyn FnMut(&str) -> Option<String>) -> Option<String> {
    match TargetFormat::of(file_name)? {
        TargetFormat::Json => of_json(content),
        TargetFormat::Make => {
            let whole = with_included(content, read);
            let lower = whole.to_ascii_lowercase();
            ["test", "check"].iter().any(|word| lower.contains(word)).then_some(whole)
        }
        TargetFormat::Pyproject => of_toml(content, PYPROJECT_PARTS),
        TargetFormat::Cargo => of_toml(content, CARGO_PARTS),
        TargetFormat::Ini => INI_SECTIONS.iter().any(|section| content.contains(section)).then(|| content.to_owned()),
        TargetFormat::Whole => Some(content.to_owned()),
    }
}

/// What to report of a file: `before` and `after` are its [`test_definition`], or a hash of it. Where nothing was
/// defined, the first definition has changed nothing.
///
/// ```
/// use loop_core::policy::protect::target_change;
///
/// let told = target_change("Makefile", Some("a hash"), Some("another"));
/// assert_eq!(told.as_deref(), Some("Makefile: changed; it defines how tests are run"));
/// ```
#[must_use]
pub fn target_change(path: &str, before: Option<&str>, after: Option<&str>) -> Option<String> {
    let before = before?;
    match after {
        Some(after) if after == before => None,
        Some(_) => Some(target_sentence(path)),
        None => Some(format!("{path}: changed; it does not define any more how tests are run")),
    }
}

/// That a file was changed which still defines how tests are run.
#[must_use]
pub fn target_sentence(path: &str) -> String {
    format!("{path}: changed; it defines how tests are run")
}

/// What to report of a new file: a makefile that make prefers, or settings of a test runner where tests were run
/// already. `known` are the files of the same folder that defined how tests are run.
///
/// ```
/// use loop_core::policy::protect::new_target;
///
/// let told = new_target("GNUmakefile", Some("test: ; true"), &["Makefile"]);
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
    match TargetFormat::of(name)? {
        TargetFormat::Ini | TargetFormat::Whole if !known.is_empty() => {
            says.map(|_| format!("{path} is new and says how tests are run"))
        }
        TargetFormat::Ini
        | TargetFormat::Whole
        | TargetFormat::Json
        | TargetFormat::Make
        | TargetFormat::Pyproject
        | TargetFormat::Cargo => None,
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) enum TargetFormat {
    Json,
    Make,
    Pyproject,
    Cargo,
    Ini,
    Whole,
}

impl TargetFormat {
    pub(super) fn of(file_name: &str) -> Option<Self> {
        let name = file_name.rsplit('/').next().unwrap_or(file_name);
        let begins = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
        match name {
            "package.json" | "deno.json" | "composer.json" => Some(Self::Json),
            "Makefile" | "makefile" | "GNUmakefile" | "justfile" | "Justfile" | ".justfile" => Some(Self::Make),
            "pyproject.toml" => Some(Self::Pyproject),
            "Cargo.toml" => Some(Self::Cargo),
            "pytest.ini" | ".pytest.ini" | "tox.ini" | "setup.cfg" => Some(Self::Ini),
            "pytest.toml" | ".pytest.toml" => Some(Self::Whole),
            _ if begins(&["jest.config.", "vitest.config.", ".mocharc.", "playwright.config."]) => Some(Self::Whole),
            _ => None,
        }
    }
}

/// All scripts, since any of them may be called by a test, and what test runners read.
fn of_json(content: &str) -> Option<String> {
    let Ok(Json::Object(all)) = serde_json::from_str(content) else { return None };
    let is_check = |name: &str| CHECK_PARTS.iter().any(|part| name.contains(part)) || CHECK_NAMES.contains(&name);
    let is_test = |(name, value): (&String, &Json)| is_check(name) && !value.to_string().contains(NO_TEST);
    let has_test = |value: &Json| value.as_object().is_some_and(|scripts| scripts.iter().any(is_test));
    let parts: Vec<(&str, &Json)> = JSON_PARTS.iter().filter_map(|name| Some((*name, all.get(*name)?))).collect();
    let defines = parts.iter().any(|(name, value)| !["scripts", "tasks"].contains(name) || has_test(value));
    let lines = parts.iter().map(|(name, value)| format!("{name} = {value}\n"));
    defines.then(|| lines.collect())
}

/// Some parts of a TOML file, by their paths, as lines `name = value`.
fn of_toml(content: &str, paths: &[&str]) -> Option<String> {
    let document = content.parse::<DocumentMut>().ok()?;
    let mut text = String::new();
    for path in paths {
        if let Some(item) = path.split('.').try_fold(document.as_item(), |item, name| item.get(name)) {
            add_lines(path, item, &mut text);
        }
    }
    (!text.is_empty()).then_some(text)
}

fn add_lines(name: &str, item: &Item, text: &mut String) {
    match item {
        Item::Table(table) => table.iter().for_each(|(key, item)| add_lines(&format!("{name}.{key}"), item, text)),
        Item::ArrayOfTables(tables) => {
            for table in tables {
                // A place in a list says less than the name of what stands there.
                let own = table.get("name").and_then(Item::as_str).unwrap_or("");
                // Of programs only whether they are tested.
                let keys = table.iter().filter(|(key, _)| name != "bin" || *key == "test");
                keys.for_each(|(key, item)| add_lines(&format!("{name}.{own}.{key}"), item, text));
            }
        }
        Item::Value(value) => *text += &format!("{name} = {value}\n"),
        Item::None => {}
    }
}

/// A makefile or justfile, and what it includes. `read` gets a path as it is written: from the folder in which make
/// runs.
fn with_included(content: &str, read: &mut dyn FnMut(&str) -> Option<String>) -> String {
    let mut left = INCLUDED_MAX;
    included(content, read, &mut left, DEPTH_MAX)
}

fn included(content: &str, read: &mut dyn FnMut(&str) -> Option<String>, left: &mut usize, depth: usize) -> String {
    const WORDS: &[&str] = &["include", "-include", "sinclude", "import", "import?"];
    let mut text = content.to_owned();
    for line in content.replace("\\\n", " ").lines() {
        let bare = line.split_once('#').map_or(line, |(line, _)| line);
        let mut words = bare.split_whitespace();
        if depth == 0 || line.starts_with('\t') || !words.next().is_some_and(|word| WORDS.contains(&word)) {
            continue;
        }
        for path in words.map(|word| word.trim_matches(['\'', '"'])).filter(|path| !path.starts_with('/')) {
            if *left == 0 {
                break;
            }
            *left -= 1;
            let plain = path.replace("$(CURDIR)/", "").replace("${CURDIR}/", "");
            if let Some(found) = read(&plain) {
                text += &included(&found, read, left, depth - 1);
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(file: &str, text: &str) -> Option<String> {
        test_definition(file, text, &mut |_| None)
    }

    fn is_told(file: &str, before: &str, after: &str) -> bool {
        target_change(file, says(file, before).as_deref(), says(file, after).as_deref()).is_some()
    }

    #[test]
    fn a_package_that_tests_otherwise_is_told() {
        let before = r#"{"version": "1", "scripts": {"test": "jest --ci", "build": "tsc"}, "jest": {"bail": true}}"#;
        let same = r#"{"jest": {"bail": true},
            "scripts": {"test": "jest --ci", "build": "tsc"}, "version": "2", "dependencies": {"a": "1"}}"#;
        assert!(!is_told("package.json", before, same), "another version, other dependencies, another layout");
        for after in [
            r#"{"scripts": {"test": "true", "build": "tsc"}, "jest": {"bail": true}}"#,
            r#"{"scripts": {"test": "jest --ci", "pretest": "rm -r tests", "build": "tsc"}, "jest": {"bail": true}}"#,
            r#"{"scripts": {"test": "jest --ci", "build": "tsc"}, "jest": {"bail": false}}"#,
            r#"{"scripts": {"test": "jest --ci", "build": "tsc"}}"#,
            r#"{"scripts": {"build": "tsc"}}"#,
            "{ broken",
            "",
        ] {
            assert!(is_told("sub/package.json", before, after), "{after}");
        }
        let before = r#"{"scripts": {"test": "npm run lint && yarn unit -- --ci", "lint": "eslint .", "unit": "pnpm run go", "go": "jest"}}"#;
        for (from, to) in [("\"jest\"", "\"true\""), ("eslint .", "true"), ("\"go\"", r#""prego": "rm", "go""#)] {
            assert!(is_told("package.json", before, &before.replace(from, to)), "{from}");
        }
        let composer = r#"{"scripts": {"test": ["@unit"], "unit": "phpunit"}}"#;
        assert!(is_told("composer.json", composer, &composer.replace("phpunit", "true")));
        let tasks = r#"{"tasks": {"test": "deno test"}}"#;
        assert!(is_told("deno.json", tasks, &tasks.replace("deno test", "true")));
    }

    #[test]
    fn what_was_changed_is_said_in_one_sentence() {
        let told = |after: Option<&str>| target_change("a/Makefile", Some("x"), after);
        assert_eq!(told(Some("x")), None);
        assert_eq!(told(Some("y")).unwrap(), "a/Makefile: changed; it defines how tests are run");
        assert_eq!(told(None).unwrap(), "a/Makefile: changed; it does not define any more how tests are run");
        assert_eq!(target_change("Makefile", None, Some("y")), None);
        assert_eq!(target_change("Makefile", None, None), None);
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
        assert_eq!(says("package.json", none), None);
        assert!(!is_told("package.json", none, r#"{"scripts": {"test": "jest"}}"#));
        assert!(!is_told("package.json", r#"{"name": "a"}"#, r#"{"scripts": {"test": "jest"}}"#));
        assert!(!is_told("Makefile", "build:\n\tcc a.c\n", "test:\n\tpytest\n"));
        assert!(!is_told("setup.cfg", "[metadata]\nname = a\n", "[tool:pytest]\naddopts = -q\n"));
        assert!(!is_told("pyproject.toml", "[project]\nname = 'a'\n", "[tool.pytest.ini_options]\naddopts = '-q'\n"));
        assert!(!is_told("Cargo.toml", "[package]\nname = 'a'\n", "[package]\nname = 'a'\nautotests = false\n"));
        assert_eq!(says("Makefile", "SHELL = bash\nbuild:\n\tcc\n"), None, "where there are no tests");
    }

    const MAKEFILE: &str = "\
include ci.mk
T = $(RUN) -q
RUN = pytest
ifdef CI
  ARGS = -x
endif
.PHONY: test
test: ready gen.o
	$(T) $(ARGS) tests
ready: deps
	./ready
deps:
	pip install -e .
%.o: %.c
	cc $<
";
    const INCLUDED: &str = "-include more.mk\n";

    fn make(makefile: &str, more: &str) -> Option<String> {
        test_definition("Makefile", makefile, &mut |path: &str| match path {
            "ci.mk" => Some(INCLUDED.to_owned()),
            "more.mk" => Some(more.to_owned()),
            _ => None,
        })
    }

    #[test]
    fn a_makefile_that_tests_otherwise_is_told_whatever_in_it_does() {
        let is_told = |after: &str, more: &str| {
            target_change("Makefile", make(MAKEFILE, "").as_deref(), make(after, more).as_deref()).is_some()
        };
        assert!(!is_told(MAKEFILE, ""));
        for (from, to) in [
            ("./ready", "true"),
            ("pip install -e .", "-rm -r tests"),
            ("cc $<", "true"),
            ("RUN = pytest", "RUN = true"),
            ("T = $(RUN) -q", "T := ${RUN} -k no"),
            ("RUN = pytest", "RUN = pytest\noverride RUN = true"),
            ("  ARGS = -x", "  ARGS = --co"),
            ("ifdef CI", "ifndef CI"),
            ("\t$(T)", "\t-$(T)"),
            (" tests\n", " tests || true\n"),
            (".PHONY: test\n", ""),
        ] {
            assert!(MAKEFILE.contains(from) && is_told(&MAKEFILE.replace(from, to), ""), "{from}");
        }
        for line in [
            ".IGNORE:",
            ".IGNORE: test",
            "MAKEFLAGS += -i",
            "SHELL = /bin/true",
            "SHELL:=/bin/true",
            "export SHELL = /bin/true",
            ".SHELLFLAGS = -c true",
            ".ONESHELL:",
            "define SHELL\n/bin/true\nendef",
            "ready: SHELL = /bin/true",
            "test: ; true",
            "ready:\n\ttrue",
        ] {
            assert!(is_told(&format!("{line}\n{MAKEFILE}"), ""), "{line}");
            assert!(is_told(MAKEFILE, &format!("{line}\n")), "{line} in a file that is included");
        }
        assert!(is_told(&MAKEFILE.replace("include ci.mk", "sinclude more.mk"), "T = true\n"));
        assert!(is_told("", ""));
    }

    #[test]
    fn so_many_files_are_included_and_so_deep() {
        let reads = |content: &str| {
            let mut count = 0;
            with_included(content, &mut |path| {
                count += 1;
                path.strip_prefix("deep").map(|number| format!("include deep{}", number.len()))
            });
            count
        };
        let many: Vec<String> = (0..INCLUDED_MAX + 5).map(|number| format!("f{number}.mk")).collect();
        assert_eq!(reads(&format!("include {}\n", many.join(" "))), INCLUDED_MAX);
        assert_eq!(reads("include deep1\n"), DEPTH_MAX);
        assert_eq!(reads("include a.mk \\\n  b.mk # c.mk\n"), 2);
        assert_eq!(reads("import 'a.just'\nimport? \"b.just\"\n"), 2);
        assert_eq!(reads("include /etc/passwd\n\tinclude a.mk\n# include b.mk\n"), 0);
        let mut path = String::new();
        with_included("include $(CURDIR)/a.mk\n", &mut |read| {
            path = read.to_owned();
            None
        });
        assert_eq!(path, "a.mk");
        let endless = with_included("include a.mk a.mk\n", &mut |_| Some("include a.mk a.mk\n".to_owned()));
        assert!(endless.len() < 10_000, "what includes itself comes to an end");
    }

    #[test]
    fn a_justfile_that_tests_otherwise_is_told() {
        let before = "import 'x.just'\nrun := 'pytest'\n@test arg='a': build\n    {{run}} tests\nbuild:\n    cc\n";
        for (from, to) in
            [("'pytest'", "'true'"), ("    cc", "    true"), ("build:\n", "set shell := ['true']\nbuild:\n")]
        {
            assert!(is_told("justfile", before, &before.replace(from, to)), "{from}");
        }
    }

    #[test]
    fn what_pytest_and_tox_read_is_compared() {
        let before = "[pytest]\naddopts = -q\n  --strict\ntestpaths = tests\n";
        for file in ["tox.ini", "pytest.ini", ".pytest.ini", "setup.cfg"] {
            assert!(is_told(file, before, &before.replace("= tests", "= docs")), "{file}");
        }
        for file in ["pytest.toml", "sub/.pytest.toml"] {
            assert!(is_told(file, "[pytest]\naddopts = ['-q']\n", "[pytest]\naddopts = ['-k', 'no']\n"), "{file}");
            assert!(new_target(file, Some("[pytest]"), &["Makefile"]).is_some(), "{file}");
        }
        for section in ["[tool:pytest]", "[tox]", "[testenv]", "[testenv:py3]"] {
            assert!(is_told("tox.ini", &before.replace("[pytest]", section), "[flake8]\n"), "{section}");
        }
        let toml = "[project]\nname='a'\n[tool.pytest.ini_options]\naddopts = \"-q\"\n[tool.tox]\na = 1\n[tool.coverage.report]\nfail_under = 90\n";
        for (from, to) in [("-q", "-q --deselect tests/a.py"), ("a = 1", "a = 2"), ("90", "10")] {
            assert!(is_told("pyproject.toml", toml, &toml.replace(from, to)), "{from}");
        }
        assert!(!is_told("pyproject.toml", toml, &toml.replace("name='a'", "name='b'")));
    }

    #[test]
    fn a_script_of_another_name_that_gates_run_is_told() {
        // req: RT-R9 partly: npm run ci
        let before = r#"{"scripts": {"ci": "exit 1"}}"#;
        assert!(is_told("package.json", before, &before.replace("exit 1", "exit 0")));
        let before = r#"{"scripts": {"build": "tsc"}}"#;
        assert!(!is_told("package.json", before, &before.replace("tsc", "tsc -b")), "it builds only");
    }

    #[test]
    fn a_crate_that_leaves_tests_out_is_told() {
        let before =
            "[package]\nname = 'a'\nversion = '1'\n[[test]]\nname = 'it'\npath = 'tests/it.rs'\n[[bin]]\nname='b'\n";
        assert!(!is_told("Cargo.toml", before, &(before.replace("'1'", "'2'") + "[dependencies]\nb = '1'\n")));
        for (from, to) in [
            ("version", "autotests = false\nversion"),
            ("version", "build = 'other.rs'\nversion"),
            ("[[bin]]", "[lib]\ntest = false\n[[bin]]"),
            ("[[bin]]", "[lib]\nharness = false\n[[bin]]"),
            ("[[bin]]", "[lib]\ndoctest = false\n[[bin]]"),
            ("[[bin]]", "[profile.test]\nopt-level = 3\n[[bin]]"),
            ("name='b'", "name='b'\ntest=false"),
            ("path = 'tests/it.rs'", "path = 'tests/none.rs'"),
            ("[[test]]\nname = 'it'\npath = 'tests/it.rs'\n", ""),
        ] {
            assert!(is_told("Cargo.toml", before, &before.replace(from, to)), "{to}");
        }
        assert!(!is_told("Cargo.toml", before, &before.replace("name='b'", "name='b'\npath='x.rs'")));
    }

    #[test]
    fn a_configuration_that_is_a_program_counts_as_a_whole() {
        assert!(is_told("jest.config.js", "module.exports = {}", "module.exports = {bail: 1}"));
        assert!(!is_told("jest.config.js", "a", "a"));
        assert!(!is_target_file("main.js") && is_target_file("a/vitest.config.ts"));
    }

    #[test]
    fn an_edit_elsewhere_in_the_same_part_is_told_too() {
        let package = r#"{"scripts": {"test": "jest", "docs": "x"}}"#;
        assert!(is_told("package.json", package, &package.replace("\"x\"", "\"y\"")));
        assert!(is_told("Makefile", "test:\n\tpytest\n", "test:\n\tpytest\ndocs:\n\tmkdocs\n"));
        assert!(is_told("setup.cfg", "[tool:pytest]\na = b\n", "[tool:pytest]\na = b\n[metadata]\nversion = 2\n"));
    }
}
