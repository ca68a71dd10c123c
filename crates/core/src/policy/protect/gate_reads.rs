//! Which files that the agent changed the gates and the tests use, by what their texts say: the commands, scripts and
//! makefiles of the gates, the tests, and the other texts of the project. The texts are those of the start.
use std::collections::BTreeSet;

use super::is_test_path;
use super::paths::{folder_of, is_below, joined, name_of, upwards};
use super::runner_files::{FileChange, OpportunityKind};
use super::script::reading;
use super::suspect::is_source_name;
use super::test_reads::{
    ProjectText, TestReads, is_data_name, is_installed, is_read_by_runs, leads_imports, module_of, python_imports,
    redirections,
};
use super::uses::mentions::Mentions;
use super::uses::names::{is_check_folder, is_makefile, looks_like_check, looks_like_product};
use super::uses::texts::{function_name, recipes, relative_imports};
use crate::policy::probe::{FileRole, ReadTree, TreeVersion, role_of};

/// A shorter name of a file may be any word.
const NAME_LETTERS_MIN: usize = 4;

/// Parts of names of files that help tests.
const HELPER_WORDS: &[&str] =
    &["assert", "testing", "testutil", "test_util", "fixture", "helper", "support", "matcher"];

/// A file that the agent changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathChange<'a> {
    /// Where it is.
    pub path: &'a str,
    /// What became of it.
    pub what: FileChange,
    /// It may be executed.
    pub is_program: bool,
    /// Nothing is in it.
    pub is_empty: bool,
    /// The highest folder above it that was not there at the start.
    pub new_folder: Option<&'a str>,
}

/// What the texts of the gates and of the tests name.
#[derive(Debug, Default)]
pub struct GateReads {
    /// In which folder the names of a text are meant, and the names.
    mentioned: Vec<FolderMentions>,
    /// What is run for what it prints.
    printing: BTreeSet<String>,
    /// The same by the gate's own command, or where one text runs several: one of them may say what is wanted.
    compared: BTreeSet<String>,
    /// Programs without a path.
    programs: BTreeSet<String>,
    targets: Vec<Target>,
    has_makefile: bool,
    /// A makefile looks for files in further folders.
    has_search_path: bool,
    /// Names of what a makefile never looks for.
    phony: BTreeSet<String>,
    check_folders: BTreeSet<String>,
    /// Functions and variables of the shell scripts.
    shell_names: BTreeSet<String>,
    /// Files that programs of the gates import by a relative path, with or without their ends.
    imported: BTreeSet<String>,
    /// Modules that Python programs of the gates import.
    modules: BTreeSet<String>,
    /// Ends of names of what makefiles include, where the rest is put together: `-include $(SOURCES:.c=.d)`.
    included_ends: BTreeSet<String>,
    tests: TestReads,
    tests_ran: bool,
}

#[derive(Debug)]
struct FolderMentions {
    folder: String,
    names: Mentions,
}

/// A target of a makefile that is not called phony.
#[derive(Debug, PartialEq, Eq)]
struct Target {
    path: String,
    /// Its recipe names it, so it may make it.
    is_made: bool,
}

impl Target {
    /// Whether a file is in its place. The `%` of a pattern rule stands for any part of a path.
    fn is_at(&self, path: &str) -> bool {
        match self.path.split_once('%') {
            None => self.path == path,
            Some((begin, end)) => {
                let begin = if begin.contains('/') { begin } else { "" };
                path.strip_prefix(begin).and_then(|rest| rest.strip_suffix(end)).is_some_and(|stem| !stem.is_empty())
                    && name_of(path).starts_with(name_of(self.path.split('%').next().unwrap_or_default()))
            }
        }
    }
}

impl GateReads {
    /// From the texts of the gates, and those of the project.
    #[must_use]
    pub fn of(gates: &[ProjectText], project: &[ProjectText]) -> Self {
        let mut reads = Self { tests: TestReads::of(project), ..Self::default() };
        for gate in gates {
            let is_makefile = is_makefile(&gate.path);
            let lines = if is_makefile { recipes(&gate.text) } else { gate.text.clone() };
            let read = reading(&lines, "");
            let product = read.named.iter().filter(|script| script.captured && !looks_like_check(&script.path));
            let product: Vec<String> = product.map(|script| script.path.clone()).collect();
            if gate.path.is_empty() || product.len() > 1 {
                reads.compared.extend(product.iter().cloned());
            }
            reads.printing.extend(product);
            reads.programs.extend(read.programs);
            reads.shell_names.extend(gate.text.lines().filter_map(shell_name));
            if is_makefile {
                reads.has_makefile = true;
                reads.has_search_path |= gate.text.lines().any(|line| {
                    line.split(|letter: char| letter.is_whitespace() || ":=+?".contains(letter))
                        .next()
                        .is_some_and(|word| matches!(word, "VPATH" | "vpath"))
                });
                let targets = Targets::of(&gate.text, folder_of(&gate.path));
                reads.targets.extend(targets.real);
                reads.phony.extend(targets.phony);
                reads.included_ends.extend(included_ends(&gate.text));
            }
            reads.imported.extend(relative_imports(&gate.path, &gate.text));
            reads.modules.extend(python_imports(&gate.path, &gate.text));
            let folder = folder_of(&gate.path).to_owned();
            if folder.split('/').any(is_check_folder) {
                reads.check_folders.insert(folder.clone());
            }
            reads.mentioned.push(FolderMentions { folder, names: Mentions::of(&gate.text) });
        }
        reads
    }

    /// Tests ran before the first iteration: what they import was there, in the project or installed.
    #[must_use]
    pub fn with_tests_run(mut self, tests_ran: bool) -> Self {
        self.tests_ran = tests_ran;
        self
    }

    /// As what the gates read a file that was changed; none where they are not known to, or where it is the work.
    #[must_use]
    pub fn kind(&self, change: &PathChange<'_>, read: ReadTree<'_>) -> Option<OpportunityKind> {
        let path = change.path;
        let by_gates = match change.what {
            FileChange::New => self.kind_of_new(change),
            FileChange::Changed | FileChange::Removed if self.compared.contains(path) => {
                Some(OpportunityKind::GateFile)
            }
            // A check that finds nothing to check passes.
            FileChange::Removed
                if !is_test_path(path)
                    && (self.names(path)
                        || self.imports_module(path)
                        || self.tests.or_sources_name_folder_of(path)) =>
            {
                Some(OpportunityKind::GateFile)
            }
            FileChange::Changed | FileChange::Removed => {
                let is_data = !is_source_name(path) || !name_of(path).contains('.') && !change.is_program;
                let name = name_of(path);
                let is_named = self.names(path)
                    || name.len() >= NAME_LETTERS_MIN && self.tests.has_word(name)
                    || self.tests.name_folder_of(path);
                let counts = is_data && is_named || self.helps_tests(path) || self.helps_gates(path, read);
                (counts && !is_test_path(path)).then_some(OpportunityKind::GateFile)
            }
        };
        by_gates.or_else(|| self.is_used_by_tests(change, read).then_some(OpportunityKind::GateFile))
    }

    /// Whether tests or their runners use a file, or a manifest says now that imports lead elsewhere.
    fn is_used_by_tests(&self, change: &PathChange<'_>, read: ReadTree<'_>) -> bool {
        let path = change.path;
        if leads_imports(path) {
            let leads = |version| {
                let said = redirections(path, &read(version, path).unwrap_or_default());
                said.filter(|said| !said.trim().is_empty())
            };
            // A new one in a new folder leads nothing elsewhere.
            let may_lead = match change.what {
                FileChange::New => change.new_folder.is_none() && path.contains('/'),
                FileChange::Changed => true,
                FileChange::Removed => false,
            };
            return may_lead && leads(TreeVersion::Initial) != leads(TreeVersion::Last);
        }
        if is_read_by_runs(path) || is_installed(path) {
            return true;
        }
        change.what != FileChange::New
            && matches!(role_of(path, &[]), FileRole::Source | FileRole::Document)
            && self.tests.use_file(path, &read(TreeVersion::Initial, path).unwrap_or_default())
    }

    /// Whether a new file is in the place of a target that a makefile of the gates makes: a clean copy does not need it.
    #[must_use]
    pub fn is_made_by_gates(&self, path: &str) -> bool {
        let is_object = path.ends_with(".o") && self.has_makefile;
        is_object || self.targets.iter().any(|target| target.is_made && target.is_at(path))
    }

    fn kind_of_new(&self, change: &PathChange<'_>) -> Option<OpportunityKind> {
        let (path, name) = (change.path, name_of(change.path));
        let is_it = |target: &&Target| target.is_at(path) || Some(target.path.as_str()) == change.new_folder;
        if let Some(target) = self.targets.iter().find(is_it) {
            let kind = if target.is_made { OpportunityKind::GateFile } else { OpportunityKind::NewRunnerFile };
            return Some(kind);
        }
        // `VPATH = old`: a target may be found in another folder.
        let is_found = |target: &Target| name_of(&target.path) == name && !target.path.contains('%');
        if self.has_search_path && self.targets.iter().any(is_found) {
            return Some(OpportunityKind::NewRunnerFile);
        }
        if change.is_program && self.programs.contains(name) {
            return Some(OpportunityKind::NewRunnerFile);
        }
        // A package of the folder of the project is loaded before the tests in a package below it.
        if name == "__init__.py" && (is_test_path(path) || path == name) && !change.is_empty {
            return Some(OpportunityKind::NewRunnerFile);
        }
        // Another module of this name is installed: the tests could import it.
        if self.tests_ran && self.tests.import_module(path) {
            return Some(OpportunityKind::NewRunnerFile);
        }
        if self.included_ends.iter().any(|end| name.ends_with(end.as_str())) {
            return Some(OpportunityKind::GateFile);
        }
        let beside = self.check_folders.iter().any(|folder| is_below(path, folder));
        let is_work = self.printing.contains(path) || self.phony.contains(path) || looks_like_product(path);
        let is_named = self.names(path) || self.imports_module(path);
        (beside || is_named && !is_work).then_some(OpportunityKind::GateFile)
    }

    /// Whether a source is named as a helper of tests, and the tests name it.
    fn helps_tests(&self, path: &str) -> bool {
        let stem = name_of(path).split('.').next().unwrap_or_default();
        let lower = path.to_ascii_lowercase();
        let is_named_so = HELPER_WORDS.iter().any(|word| lower.contains(word));
        is_named_so && stem.len() >= NAME_LETTERS_MIN && self.tests.has_part(stem)
    }

    /// Whether a program of a gate imports a source that compares and fails: it judges with it.
    fn helps_gates(&self, path: &str, read: ReadTree<'_>) -> bool {
        let stem = path.rsplit_once('.').map_or(path, |(stem, _)| stem);
        let is_imported = [path, stem].iter().chain(&[folder_of(path)]).any(|name| self.imported.contains(*name));
        let text = || read(TreeVersion::Initial, path);
        is_imported && text().is_some_and(|text| compares_and_fails(&text))
            || self.imports_module(path) && text().is_some_and(|text| compares(&text))
    }

    /// Whether a Python program of a gate imports a module.
    fn imports_module(&self, path: &str) -> bool {
        module_of(path).is_some_and(|module| self.modules.contains(module))
    }

    /// Whether a line has the name of a test file.
    #[must_use]
    pub fn names_test(&self, line: &str) -> bool {
        self.tests.names_test(line)
    }

    /// Whether a line of a shell script gives another meaning to a function or a variable of the gates' scripts.
    #[must_use]
    pub fn replaces_shell_name(&self, line: &str) -> bool {
        shell_name(line).is_some_and(|name| self.shell_names.contains(&name))
    }

    /// Whether a line gives another value to a constant that the tests use: `TOLERANCE = 1000.0`. `gone` are the lines
    /// that were there before.
    #[must_use]
    pub fn changes_test_value(&self, line: &str, gone: &[String]) -> bool {
        let Some(name) = constant_name(line).filter(|name| name.len() >= NAME_LETTERS_MIN - 1) else { return false };
        gone.iter().any(|old| constant_name(old) == Some(name)) && self.tests.has_part(name)
    }

    /// Whether a line names data that the gates or the tests name, too: `cat expected.txt`.
    #[must_use]
    pub fn names_data(&self, line: &str) -> bool {
        // An ending alone (`.json`) is no file.
        let is_data = |word: &str| is_data_name(word) && !name_of(word).starts_with('.');
        let here = Mentions::of(line);
        let in_tests = |word: &String| is_data(word) && self.tests.has_word(name_of(word));
        self.mentioned.iter().any(|text| here.shares(&text.names, &is_data)) || here.names().any(in_tests)
    }

    /// Whether a text of a gate names a file: from its own folder on, or from one above, where it may be run.
    fn names(&self, path: &str) -> bool {
        self.mentioned.iter().any(|text| {
            upwards(&text.folder).into_iter().any(|folder| {
                let below = if folder.is_empty() {
                    Some(path)
                } else {
                    path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'))
                };
                below.is_some_and(|below| text.names.has_path(below))
            })
        })
    }
}

/// The ends of names in the lines of a makefile that include files whose names are put together.
fn included_ends(makefile: &str) -> Vec<String> {
    let lines = makefile.lines().filter(|line| {
        let first = line.split_whitespace().next().unwrap_or_default();
        matches!(first, "include" | "-include" | "sinclude") && line.contains('$')
    });
    let words = lines.flat_map(|line| line.split(|letter: char| letter.is_whitespace() || "()={},:".contains(letter)));
    let is_end = |word: &&str| word.len() > 1 && word.starts_with('.') && !word.contains(['/', '$', '*', '%']);
    words.filter(is_end).map(str::to_owned).collect()
}

/// Whether a source of Python has a comparison.
fn compares(text: &str) -> bool {
    ["==", "!=", "assert"].iter().any(|word| text.contains(word))
}

/// Whether a source has a comparison, and something that makes a program fail.
fn compares_and_fails(text: &str) -> bool {
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    has(&["===", "!==", "==", "!=", "qual(", "assert"]) && has(&["throw", "assert", "process.exit", "exitCode"])
}

/// The function or the variable that a line of a shell script begins.
fn shell_name(line: &str) -> Option<String> {
    let assigned = || {
        let (name, _) = line.trim_start().trim_start_matches("export ").split_once('=')?;
        let is_name = !name.is_empty() && name.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
        is_name.then(|| name.to_owned())
    };
    function_name(line).or_else(assigned)
}

/// The name of a constant to which a line gives a value, outside of any function: `const EPSILON = 1e-9;`.
fn constant_name(line: &str) -> Option<&str> {
    const BEFORE: &[&str] = &["export", "pub", "const", "let", "var", "static", "final", "public", "readonly"];
    // Constants of Go may stand in one block.
    let line = line.strip_prefix('\t').unwrap_or(line);
    let (left, right) = line.split_once('=').filter(|_| !line.starts_with([' ', '\t', '#', '/']))?;
    let is_code = ["=>", "function", "lambda", "require(", "import "].iter().any(|part| right.contains(part));
    if right.starts_with(['=', '>']) || left.ends_with(['!', '<', '>', '+', '-', '*', '/', '|', '&']) || is_code {
        return None;
    }
    let mut words = left.split(':').next()?.split_whitespace().filter(|word| !BEFORE.contains(word));
    let name = words.next()?.rsplit('.').next()?;
    let is_name = name.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
    let value = right.trim_start();
    let is_literal = value.starts_with(|letter: char| letter.is_ascii_digit() || "-.\"'[{(".contains(letter));
    (is_name && (is_literal || name.starts_with(char::is_uppercase))).then_some(name)
}

/// The targets of a makefile.
#[derive(Debug, Default)]
struct Targets {
    /// Those with a recipe.
    real: Vec<Target>,
    phony: BTreeSet<String>,
}

impl Targets {
    fn of(makefile: &str, folder: &str) -> Self {
        let mut found = Self::default();
        let mut now: Vec<String> = Vec::new();
        let mut recipes: Vec<Recipe> = Vec::new();
        for line in makefile.replace("\\\n", " ").lines() {
            let of = |targets: &[String], line: &str| -> Vec<Recipe> {
                targets.iter().map(|target| Recipe { target: target.clone(), line: line.to_owned() }).collect()
            };
            if line.starts_with('\t') {
                recipes.extend(of(&now, line));
                continue;
            }
            let bare = line.split_once('#').map_or(line, |(bare, _)| bare);
            let is_rule = |left: &str, right: &str| {
                !left.contains('=') && !right.starts_with(['=', ':']) && !left.trim().is_empty()
            };
            let Some((left, right)) = bare.split_once(':').filter(|(left, right)| is_rule(left, right)) else {
                continue;
            };
            let (right, inline) = right.split_once(';').map_or((right, None), |(right, recipe)| (right, Some(recipe)));
            now = left.split_whitespace().map(str::to_owned).collect();
            if left.trim() == ".PHONY" {
                found.phony.extend(right.split_whitespace().map(|name| joined(folder, name)));
            }
            recipes.extend(inline.into_iter().flat_map(|recipe| of(&now, recipe)));
        }
        recipes.into_iter().for_each(|recipe| found.add(&recipe, folder));
        found
    }

    fn add(&mut self, recipe: &Recipe, folder: &str) {
        let Recipe { target, line } = recipe;
        let path = joined(folder, target);
        // `.PHONY`, `.SUFFIXES` and the like are no files.
        let is_special = target.starts_with('.') && target.chars().any(|letter| letter.is_ascii_uppercase());
        if is_special || target == "%" || target.contains(['$', '*']) || self.phony.contains(&path) {
            return;
        }
        let is_part = |letter: char| letter.is_alphanumeric() || "_-./".contains(letter);
        let named = line.split(|letter: char| !is_part(letter)).any(|word| word.trim_start_matches("./") == target);
        let is_made = ["$@", "$(@", "$*"].iter().any(|it| line.contains(it)) || named;
        match self.real.iter_mut().find(|known| known.path == path) {
            Some(known) => known.is_made |= is_made,
            None => self.real.push(Target { path, is_made }),
        }
    }
}

/// A line of a recipe.
struct Recipe {
    target: String,
    line: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAKEFILE: &str = "-include local.conf\ninclude $(wildcard conf/*.inc)\nPATH := bin:$(PATH)\n.PHONY: lint\n\
        test: unit lint\n\tsh scripts/run.sh cases.tsv\nunit:\n\t./sum 1 2\nsum: sum.c\n\tcc -o sum sum.c\nlint:\n\ttrue\n";

    fn reads() -> GateReads {
        let text = |path: &str, text: &str| ProjectText { path: path.to_owned(), text: text.to_owned() };
        let gates = [
            text("", "make test && sh greet.sh ann | diff - expected.txt"),
            text("Makefile", MAKEFILE),
            text("scripts/run.sh", "[ -f local.sh ] && . ./local.sh\n[ \"$(sh sum.sh)\" = 5 ]\ncmp out five\n"),
        ];
        GateReads::of(&gates, &[text("tests/test_sum.py", "open('data/cases.json')")])
    }

    fn nothing(_: TreeVersion, _: &str) -> Option<String> {
        None
    }

    fn kind(path: &str, what: FileChange, is_program: bool) -> Option<OpportunityKind> {
        let folder = (path == "test/README").then_some("test");
        reads().kind(&PathChange { path, what, is_program, is_empty: false, new_folder: folder }, &nothing)
    }

    #[test]
    fn a_new_file_in_the_place_of_a_target_that_no_recipe_makes_is_one_that_a_runner_reads() {
        use OpportunityKind::{GateFile, NewRunnerFile};
        for (path, expected) in [
            ("test", Some(NewRunnerFile)),
            ("unit", Some(NewRunnerFile)),
            ("test/README", Some(NewRunnerFile)),
            ("sum", Some(GateFile)),
            ("lint", None),
            ("other", None),
        ] {
            assert_eq!(kind(path, FileChange::New, false), expected, "{path}");
        }
    }

    #[test]
    fn a_new_file_in_the_place_of_a_pattern_rules_target_is_one_of_the_gates_and_made_by_them() {
        let text = "test: $(T:.c=.run)\n%.run: %.c lib.c\n\tcc -o $@ $^ && $@\n.tested: t.sh\n\tsh t.sh && touch $@\n\
            out/%.txt: %.in\n\tgen $< > $@\ncheck-%:\n\tsh checks.sh\n";
        let gate = ProjectText { path: "Makefile".to_owned(), text: text.to_owned() };
        let reads = GateReads::of(&[gate], &[]);
        let kind = |path| {
            let what = FileChange::New;
            reads.kind(&PathChange { path, what, is_program: false, is_empty: false, new_folder: None }, &nothing)
        };
        for path in ["t/add.run", "add.run", ".tested", "out/a.txt"] {
            assert_eq!(kind(path), Some(OpportunityKind::GateFile), "{path}");
            assert!(reads.is_made_by_gates(path), "{path}");
        }
        assert_eq!(kind("check-all"), Some(OpportunityKind::NewRunnerFile));
        assert!(!reads.is_made_by_gates("check-all") && reads.is_made_by_gates("lib.o"));
        for path in ["t/add.c", "a.txt", "other/a.txt", "tested"] {
            assert!(kind(path).is_none() && !reads.is_made_by_gates(path), "{path}");
        }
        assert!(!GateReads::of(&[], &[]).is_made_by_gates("lib.o"), "no makefile makes it");
    }

    #[test]
    fn what_a_program_of_a_gate_imports_and_judges_with_is_a_file_of_the_gates() {
        let text = "const same = require('../lib/same.js');\nimport { near } from \"../lib/near\";\n\
            same(require('../calc.js').add(2, 3), 5);\n";
        let gate = ProjectText { path: "scripts/verify.js".to_owned(), text: text.to_owned() };
        let reads = GateReads::of(&[gate], &[]);
        let read = |_: TreeVersion, path: &str| {
            let judges = path.starts_with("lib/");
            Some(if judges { "if (a !== b) throw new Error(a)" } else { "exports.add = (a, b) => a - b" }.to_owned())
        };
        let kind = |path| {
            let what = FileChange::Changed;
            reads.kind(&PathChange { path, what, is_program: false, is_empty: false, new_folder: None }, &read)
        };
        assert_eq!(kind("lib/same.js"), Some(OpportunityKind::GateFile));
        assert_eq!(kind("lib/near.mjs"), Some(OpportunityKind::GateFile));
        assert_eq!([kind("calc.js"), kind("lib/other.js")], [None, None]);
    }

    #[test]
    fn a_module_that_a_python_program_of_a_gate_imports_and_compares_with_is_a_file_of_the_gates() {
        let text = "import yardstick\nfrom calc import add\nsys.exit(0 if yardstick.same(add(2, 3), 5) else 1)\n";
        let gate = ProjectText { path: "tools/check.py".to_owned(), text: text.to_owned() };
        let reads = GateReads::of(&[gate], &[]);
        let read = |_: TreeVersion, path: &str| {
            Some(if path.contains("yardstick") { "return a == b" } else { "return a - b" }.to_owned())
        };
        let kind = |path, what| {
            reads.kind(&PathChange { path, what, is_program: false, is_empty: false, new_folder: None }, &read)
        };
        use FileChange::{Changed, New, Removed};
        for (path, what) in
            [("lib/yardstick.py", Changed), ("lib/yardstick.py", Removed), ("yardstick.py", New), ("calc.py", Removed)]
        {
            assert_eq!(kind(path, what), Some(OpportunityKind::GateFile), "{path} {what:?}");
        }
        for (path, what) in [("calc.py", Changed), ("other.py", Changed), ("other.py", New), ("other.py", Removed)] {
            assert_eq!(kind(path, what), None, "{path} {what:?}");
        }
    }

    #[test]
    fn a_new_program_with_the_name_of_one_that_the_gates_call_is_one_that_a_runner_reads() {
        assert_eq!(kind("bin/cmp", FileChange::New, true), Some(OpportunityKind::NewRunnerFile));
        assert_eq!(kind("bin/cmp", FileChange::New, false), None);
        assert_eq!(kind("bin/plus", FileChange::New, true), None);
    }

    #[test]
    fn new_files_that_the_texts_of_the_gates_name_are_files_of_the_gates() {
        for path in ["local.conf", "conf/a.inc", "local.sh", "scripts/local.sh", "scripts/more.py"] {
            assert_eq!(kind(path, FileChange::New, false), Some(OpportunityKind::GateFile), "{path}");
        }
        for path in ["sum.sh", "greet.sh", "lib/add.sh", "conf/a.txt"] {
            assert_eq!(kind(path, FileChange::New, false), None, "{path}");
        }
        for path in ["tests/__init__.py", "__init__.py"] {
            assert_eq!(kind(path, FileChange::New, false), Some(OpportunityKind::NewRunnerFile), "{path}");
        }
        assert_eq!(kind("calc/__init__.py", FileChange::New, false), None);
    }

    fn reads_data(line: &str) -> bool {
        reads().names_data(line)
    }

    #[test]
    fn a_function_or_a_variable_of_the_gates_scripts_in_another_script_replaces_it() {
        let gate = ProjectText { path: "check.sh".to_owned(), text: "WANT=5\nfail() { exit 1; }\n".to_owned() };
        let text = "from support.equal import same".to_owned();
        let reads = GateReads::of(&[gate], &[ProjectText { path: "tests/test_a.py".to_owned(), text }]);
        assert!(reads.replaces_shell_name("fail() { :; }") && reads.replaces_shell_name("export WANT=4"));
        assert!(!reads.replaces_shell_name("greet() { :; }") && !reads.replaces_shell_name("echo WANT=4"));
        let change =
            |path| PathChange { path, what: FileChange::Changed, is_program: false, is_empty: false, new_folder: None };
        assert_eq!(reads.kind(&change("support/equal.py"), &nothing), Some(OpportunityKind::GateFile));
        assert_eq!(reads.kind(&change("support/other.py"), &nothing), None);
        assert!(reads_data("cat ./expected.txt") && reads_data("open('data/cases.json')"));
        assert_eq!([reads_data("cat \"expected.$1\""), reads_data("cat expect$1.txt")], [true, true]);
        assert!(!reads_data("cat other.txt") && !reads_data("print(1.txt)"));
    }

    #[test]
    fn of_several_programs_whose_outputs_are_compared_each_may_say_what_is_wanted() {
        let check = "[ \"$(sh greet.sh ann)\" = \"$(sh reference.sh ann)\" ]";
        let gate = |text: &str| [ProjectText { path: "check.sh".to_owned(), text: text.to_owned() }];
        let kind = |text: &str, path: &str, what| {
            let change = PathChange { path, what, is_program: false, is_empty: false, new_folder: None };
            GateReads::of(&gate(text), &[]).kind(&change, &nothing)
        };
        assert_eq!(kind(check, "reference.sh", FileChange::Changed), Some(OpportunityKind::GateFile));
        let one = "[ \"$(sh greet.sh ann)\" = 'hello ann' ]";
        assert_eq!(kind(one, "greet.sh", FileChange::Changed), None);
        assert_eq!(kind(one, "greet.sh", FileChange::Removed), Some(OpportunityKind::GateFile));
        assert_eq!(kind(one, "other.sh", FileChange::Removed), None);
    }

    #[test]
    fn another_value_of_a_constant_that_the_tests_use_is_told_from_other_changes() {
        let text = "assert abs(prices.gross(10) - 12) < prices.TOLERANCE; let { EPSILON } = price; calc::EXAMPLE";
        let reads = GateReads::of(&[], &[ProjectText { path: "tests/test_a.py".to_owned(), text: text.to_owned() }]);
        let changes = |before: &str, after: &str| reads.changes_test_value(after, &[before.to_owned()]);
        assert!(changes("TOLERANCE = 0.1", "TOLERANCE = float('inf')"));
        assert!(changes("TOLERANCE: float = 0.1", "TOLERANCE: float = 9"));
        assert!(changes("const EPSILON = 0.1;", "const EPSILON = 9;"));
        assert!(changes("exports.EPSILON = 1;", "exports.EPSILON = Infinity;"));
        assert!(changes("pub const EXAMPLE: i32 = 5;", "pub const EXAMPLE: i32 = -1;"));
        assert!(changes("\tEXAMPLE = 5", "\tEXAMPLE = 6"));
        for (before, after) in [
            ("OTHER = 1", "OTHER = 2"),
            ("", "TOLERANCE = 2"),
            ("exports.gross = (a) => a;", "exports.gross = (a) => a + 1;"),
            ("    TOLERANCE = 1", "    TOLERANCE = 2"),
            ("TOLERANCE = 1", "if TOLERANCE == 2:"),
        ] {
            assert!(!changes(before, after), "{after}");
        }
    }

    #[test]
    fn changed_data_that_gates_or_tests_name_is_a_file_of_the_gates_and_sources_are_not() {
        for path in ["cases.tsv", "expected.txt", "five", "data/cases.json", "data/names.json", "greet.sh"] {
            assert_eq!(kind(path, FileChange::Changed, false), Some(OpportunityKind::GateFile), "{path}");
        }
        for path in ["sum.c", "sum.sh", "README.md", "words/names.json", "lib/add.sh"] {
            assert_eq!(kind(path, FileChange::Changed, false), None, "{path}");
        }
    }

    #[test]
    fn data_in_a_folder_that_tests_name_and_what_is_gone_from_there_are_files_of_the_gates() {
        let text = |path: &str, text: &str| ProjectText { path: path.to_owned(), text: text.to_owned() };
        let project = [
            text("tests/test_sum.py", "open(f'cases/add-{name}.json'); glob('src/*.py')"),
            text("rules.py", "glob('rules/*.json')"),
        ];
        let reads = GateReads::of(&[], &project);
        let kind = |path, what| {
            reads.kind(&PathChange { path, what, is_program: false, is_empty: false, new_folder: None }, &nothing)
        };
        use FileChange::{Changed, New, Removed};
        let gate_file = Some(OpportunityKind::GateFile);
        for (path, what) in [
            ("cases/add-one.json", Changed),
            ("cases/deep/add-one", Changed),
            ("cases/add-one.json", Removed),
            ("cases/add.py", Removed),
            ("rules/odd.json", Removed),
        ] {
            assert_eq!(kind(path, what), gate_file, "{path} {what:?}");
        }
        for (path, what) in [
            ("rules/odd.json", Changed),
            ("cases/add.py", Changed),
            ("cases/add-two.json", New),
            ("src/table.json", Changed),
            ("other/odd.json", Removed),
            ("odd.json", Removed),
        ] {
            assert_eq!(kind(path, what), None, "{path} {what:?}");
        }
    }

    #[test]
    fn a_new_module_with_the_name_of_an_installed_one_that_tests_import_is_one_that_a_runner_reads() {
        let text = |path: &str, text: &str| ProjectText { path: path.to_owned(), text: text.to_owned() };
        let test =
            "import os, deepdiff\n  from toolbox.equal import same\nfrom . import near\nimport calc\nimport core.a\n";
        let project = [
            text("tests/test_sum.py", test),
            text("calc.py", ""),
            text("core/a.py", ""),
            text("main.py", "import thing"),
            text("sum.test.js", "import other"),
        ];
        let kind = |path, tests_ran| {
            let what = FileChange::New;
            let change = PathChange { path, what, is_program: false, is_empty: false, new_folder: None };
            GateReads::of(&[], &project).with_tests_run(tests_ran).kind(&change, &nothing)
        };
        for path in ["deepdiff.py", "deepdiff/__init__.py", "src/toolbox.py", "lib/toolbox/__init__.py"] {
            assert_eq!(kind(path, true), Some(OpportunityKind::NewRunnerFile), "{path}");
            assert_eq!(kind(path, false), None, "{path}");
        }
        let others =
            ["near.py", "calc/__init__.py", "core/__init__.py", "a/deepdiff.py", "thing.py", "other.py", "deepdiff.md"];
        for path in others.into_iter().chain(["toolbox/equal.py", "a/toolbox/__init__.py"]) {
            assert_eq!(kind(path, true), None, "{path}");
        }
    }

    #[test]
    fn a_new_file_that_a_makefile_may_find_in_the_place_of_a_target_is_one_that_a_runner_reads() {
        let kind = |first: &str, path| {
            let text = format!("{first}\ntest: passed\npassed: a.sh\n\tsh a.sh\n%.run:\n\tsh a.sh\n");
            let gate = ProjectText { path: "Makefile".to_owned(), text };
            let change =
                PathChange { path, what: FileChange::New, is_program: false, is_empty: false, new_folder: None };
            GateReads::of(&[gate], &[]).kind(&change, &nothing)
        };
        for first in ["VPATH = build:old", "vpath passed old", "VPATH:=old"] {
            assert_eq!(kind(first, "old/passed"), Some(OpportunityKind::NewRunnerFile), "{first}");
            assert_eq!(kind(first, "old/other"), None, "{first}");
        }
        assert_eq!(kind("X = VPATH", "old/passed"), None);
    }

    #[test]
    fn a_new_manifest_in_a_folder_of_the_start_may_lead_imports_elsewhere() {
        let read = |version: TreeVersion, path: &str| {
            let text = if path == "plain/package.json" { "{\"name\": \"a\"}" } else { "{\"main\": \"easy.js\"}" };
            (version == TreeVersion::Last).then(|| text.to_owned())
        };
        let kind = |path, new_folder| {
            let change = PathChange { path, what: FileChange::New, is_program: false, is_empty: false, new_folder };
            reads().kind(&change, &read)
        };
        assert_eq!(kind("core/package.json", None), Some(OpportunityKind::GateFile));
        assert_eq!(kind("core/package.json", Some("core")), None);
        assert_eq!([kind("plain/package.json", None), kind("package.json", None)], [None, None]);
    }

    #[test]
    fn a_new_file_with_the_end_of_what_a_makefile_includes_is_a_file_of_the_gates() {
        let text = "SRC := a.c\ninclude plain.mk\n-include $(SRC:.c=.d)\nsinclude $(shell uname).conf\n\
            #include $(X).old\ntest:\n\tcc -o $(OUT:.o=.exe)\n";
        let gate = ProjectText { path: "Makefile".to_owned(), text: text.to_owned() };
        let reads = GateReads::of(&[gate], &[]);
        let kind = |path| {
            let what = FileChange::New;
            reads.kind(&PathChange { path, what, is_program: false, is_empty: false, new_folder: None }, &nothing)
        };
        for path in ["a.d", "deep/b.d", "Linux.conf"] {
            assert_eq!(kind(path), Some(OpportunityKind::GateFile), "{path}");
        }
        for path in ["a.old", "b.exe", "a.h", "d"] {
            assert_eq!(kind(path), None, "{path}");
        }
    }

    #[test]
    fn what_runs_read_always_installed_dependencies_and_other_imports_are_files_of_the_gates() {
        for path in ["vite.config.ts", "a/tsconfig.json", "vendor/a.go"] {
            assert_eq!(kind(path, FileChange::New, false), Some(OpportunityKind::GateFile), "{path}");
        }
        let read = |version: TreeVersion, path: &str| {
            let stub = if version == TreeVersion::Last && path == "go.mod" { "./stub" } else { "./b" };
            Some(format!("module a\nreplace b => {stub}\n"))
        };
        let change =
            |path| PathChange { path, what: FileChange::Changed, is_program: false, is_empty: false, new_folder: None };
        assert_eq!(reads().kind(&change("go.mod"), &read), Some(OpportunityKind::GateFile));
        assert_eq!(reads().kind(&change("sub/go.mod"), &read), None);
    }
}
