//! Which files of the workspace a gate's line *runs*. A file that a line only reads (`grep -q done notes.txt`) is
//! not one of them: most often it is a file that the agent has to write.
use super::paths::name_of;
pub(in crate::policy) use super::shell_line::{Token, clean, tokens};
use super::shell_line::{first_file, full_path, has_letter, is_compared, option_values, simple_commands};
use super::uses::names::looks_like_check;
pub(in crate::policy) use super::wrappers::behind_first_words;
use super::wrappers::{READERS, behind_first_word, is_assignment, is_before_program, lines_in_options};

/// A line in a line in a line is looked into so deep.
const DEPTH_MAX: usize = 4;
/// So many files are named at most.
const SCRIPTS_MAX: usize = 100;

/// Words of the shell's own grammar.
const KEYWORDS: &[&str] = &[
    "!", "{", "}", "if", "then", "elif", "else", "fi", "for", "in", "while", "until", "do", "done", "case", "esac",
    "time", "select", "function", "[[", "]]",
];
/// Commands that a shell does itself.
const BUILTINS: &[&str] = &[
    ".", ":", "[", "alias", "bg", "break", "builtin", "cd", "command", "continue", "declare", "echo", "eval", "exec",
    "exit", "export", "false", "fg", "getopts", "hash", "jobs", "kill", "let", "local", "printf", "pwd", "read",
    "readonly", "return", "set", "shift", "shopt", "source", "test", "times", "trap", "true", "type", "typeset",
    "ulimit", "umask", "unalias", "unset", "wait",
];
/// Shells that read the same language.
pub(in crate::policy) const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "ash"];
/// What else runs a file of commands as a shell does.
const LIKE_SHELLS: &[&str] = &["fish", "busybox"];
/// The first file behind these is run.
const INTERPRETERS: &[&str] = &[
    "node", "nodejs", "deno", "bun", "tsx", "ts-node", "ruby", "perl", "php", "lua", "luajit", "Rscript", "julia",
    "pwsh", "tclsh", "awk", "gawk", "swift", "groovy", "elixir", ".", "source",
];
/// Every file behind these is run.
pub(in crate::policy) const RUNNERS: &[&str] = &[
    "pytest",
    "py.test",
    "unittest",
    "bats",
    "jest",
    "vitest",
    "mocha",
    "ava",
    "tap",
    "jasmine",
    "rspec",
    "phpunit",
    "prove",
    "busted",
    "playwright",
    "cypress",
    "nose2",
    "shellspec",
];
/// These read what to do from a file that an option names.
const MAKERS: &[&str] = &["make", "gmake", "just", "ninja", "task"];
/// These run a script of `package.json`.
const PACKAGE_RUNNERS: &[&str] = &["npm", "pnpm", "yarn"];
/// Ends of the names of script files.
const SCRIPT_ENDS: &[&str] =
    &[".sh", ".bash", ".ksh", ".zsh", ".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".rb", ".pl", ".php", ".lua"];

/// The programs that a gate's line names: the first word of each simple command, and the programs behind one that starts
/// another (`timeout 9 make`); also scripts outside of the workspace. Builtins and functions of a shell are none, nor is a
/// word that is only known when the line is run.
///
/// ```
/// use loop_core::policy::protect::programs_in;
///
/// assert_eq!(programs_in("cd sub && CI=1 timeout 9 make test | tee log", ""), ["timeout", "make", "tee"]);
/// assert_eq!(programs_in("sh -c 'python3 -m pytest' && /opt/check x", ""), ["sh", "python3", "/opt/check"]);
/// ```
#[must_use]
pub fn programs_in(command: &str, workspace: &str) -> Vec<String> {
    let functions = functions_in(command);
    let mut programs = Found::of(command, workspace).programs;
    programs.retain(|program| !functions.contains(program));
    programs
}

/// A text with the path of HOME in place of `~/`, `$HOME/` and `${HOME}/`.
///
/// ```
/// use loop_core::policy::protect::with_home;
///
/// assert_eq!(with_home("sh ~/w/a.sh \"$HOME/b\" x~/c", "/h/ann"), "sh /h/ann/w/a.sh \"/h/ann/b\" x~/c");
/// ```
#[must_use]
pub fn with_home(text: &str, home: &str) -> String {
    let home = home.trim_end_matches('/');
    if home.is_empty() {
        return text.to_owned();
    }
    let text =
        ["$HOME/", "${HOME}/"].iter().fold(text.to_owned(), |text, name| text.replace(name, &format!("{home}/")));
    let mut whole = String::with_capacity(text.len());
    let mut before = ' ';
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let begins = before.is_whitespace() || matches!(before, '=' | ':' | ';' | '&' | '|' | '(' | '`' | '\'');
        match letter {
            '~' if begins && letters.peek() == Some(&'/') => whole.push_str(home),
            letter => whole.push(letter),
        }
        before = letter;
    }
    whole
}

/// The names of the functions that a line defines.
fn functions_in(command: &str) -> Vec<String> {
    let name = |before: &str| {
        let before = before.trim_end();
        let begin =
            before.rfind(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').map_or(0, |at| at + 1);
        before.get(begin..).map(str::to_owned)
    };
    command.match_indices("()").filter_map(|(at, _)| name(command.get(..at)?)).collect()
}

/// How a line runs a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunBy {
    /// A shell reads it: `sh x.sh`, `. x.sh`.
    Shell,
    /// It is the program itself: `./x`.
    Program,
    /// Another program runs it: `python3 x.py`.
    Interpreter,
    /// A test runner gets it as a file of tests.
    Runner,
    /// make or a program like it reads it.
    Maker,
    /// `python3 -m x`: the file that the module would be.
    Module,
    /// A program that is not known here gets it: it may run it.
    Argument,
}

/// A file that a line runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamedScript {
    pub(super) path: String,
    pub(super) by: RunBy,
    /// What it prints is used by the line: `$(x)`, `x | diff - expected`.
    pub(super) captured: bool,
    /// The folder in which it is run, where the line changes to one.
    pub(super) folder: String,
}

/// What a text hands to a shell without naming it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Unnamed {
    #[default]
    Nothing,
    /// A program in a variable, or a script whose output the text uses: it may be the product.
    Program,
    /// A script that judges: `sh "$f"`, `… | sh`, `xargs sh`.
    Script,
}

impl NamedScript {
    /// Whether it is only run for what it prints, and is not named as a check: it is the work then.
    pub(super) fn is_product(&self) -> bool {
        let is_program = match self.by {
            RunBy::Shell | RunBy::Program | RunBy::Interpreter | RunBy::Module | RunBy::Argument => true,
            RunBy::Runner | RunBy::Maker => false,
        };
        is_program && self.captured && !looks_like_check(&self.path)
    }
}

/// The script files that a gate's own line runs to judge, as clean paths of the workspace. They may hold `*` and `?`;
/// whether they exist is another matter. `workspace` is its own absolute path, where that is known: a path below it is one
/// of it. What the line runs only for what that prints is the work.
///
/// ```
/// use loop_core::policy::protect::judging_scripts_at;
///
/// let line = "sh greet.sh ann | diff - expected.txt && sh ./check.sh && bash -c 'scripts/x.sh --all'";
/// assert_eq!(judging_scripts_at(line, ""), ["check.sh", "scripts/x.sh"]);
/// assert!(judging_scripts_at("npm test && grep -q done notes.txt", "").is_empty());
/// ```
#[must_use]
pub fn judging_scripts_at(command: &str, workspace: &str) -> Vec<String> {
    let named = reading(command, workspace).named.into_iter();
    let is_sure = |by: RunBy| !matches!(by, RunBy::Module | RunBy::Argument);
    named.filter(|script| is_sure(script.by) && !script.is_product()).map(|script| script.path).collect()
}

/// What a text of shell lines runs.
#[derive(Debug, Default)]
pub(super) struct ShellReading {
    pub(super) named: Vec<NamedScript>,
    pub(super) unnamed: Unnamed,
    /// The folders in which it runs make, just or a program like these.
    pub(super) make_folders: Vec<String>,
    /// The folders in which it runs a script of `package.json`.
    pub(super) package_folders: Vec<String>,
    /// The programs that it names without a path.
    pub(super) programs: Vec<String>,
}

/// Everything that a text of shell lines runs.
pub(super) fn reading(text: &str, workspace: &str) -> ShellReading {
    let Found { read, programs, .. } = Found::of(text, workspace);
    let functions = functions_in(text);
    let is_bare = |program: &String| !program.contains('/') && !functions.contains(program);
    ShellReading { programs: programs.into_iter().filter(is_bare).collect(), ..read }
}

struct Found<'a> {
    workspace: &'a str,
    /// Where `cd` led.
    folder: String,
    /// What is read now stands in `$(…)`.
    captured: bool,
    read: ShellReading,
    programs: Vec<String>,
}

impl<'a> Found<'a> {
    fn of(command: &str, workspace: &'a str) -> Self {
        let workspace = workspace.trim_end_matches('/');
        let mut found = Self {
            workspace,
            folder: String::new(),
            captured: false,
            read: ShellReading::default(),
            programs: Vec::new(),
        };
        found.line(command, 0);
        found
    }

    /// Every program of a simple command.
    fn name_programs(&mut self, words: &[String]) {
        let mut rest = words;
        while let Some(word) = rest.first() {
            self.name_program(word);
            if !is_before_program(word) {
                return;
            }
            rest = behind_first_word(rest);
        }
    }

    fn name_program(&mut self, word: &str) {
        let is_plain = !word.starts_with(['-', '~']) && !word.contains(['$', '`', '*', '?', '[', '{', '}', '\0', '\n']);
        let is_own = KEYWORDS.contains(&word) || BUILTINS.contains(&word) || is_assignment(word);
        let is_named = self.programs.iter().any(|program| program == word);
        if !word.is_empty() && is_plain && !is_own && !is_named && self.programs.len() < SCRIPTS_MAX {
            self.programs.push(word.to_owned());
        }
    }
    fn line(&mut self, line: &str, depth: usize) {
        if depth > DEPTH_MAX {
            return;
        }
        let outer = self.captured;
        let commands = simple_commands(line);
        let mut opened = false;
        for (at, command) in commands.iter().enumerate() {
            self.captured = outer || opened || is_compared(commands.get(at..).unwrap_or_default());
            for word in &command.words {
                // A command in a quoted word.
                if let Some((_, inner)) = word.split_once("$(").or_else(|| word.split_once('`')) {
                    let own = std::mem::replace(&mut self.captured, true);
                    self.line(inner.trim_end_matches([')', '`']), depth + 1);
                    self.captured = own;
                }
            }
            self.name_programs(&command.words);
            self.command(&command.words, command.input.clone(), depth);
            opened = command.words.last().is_some_and(|word| word.ends_with('$'));
        }
        self.captured = outer;
    }

    fn command(&mut self, words: &[String], input: Option<String>, depth: usize) {
        if depth > DEPTH_MAX {
            return;
        }
        lines_in_options(words).into_iter().for_each(|line| self.line(line, depth + 1));
        let words = behind_first_words(words);
        let Some((program, rest)) = words.split_first() else { return };
        if program == "cd" {
            let to = rest.iter().find(|word| !word.starts_with('-'));
            self.folder = to.and_then(|to| clean(&self.folder, to)).unwrap_or_default();
            return;
        }
        let name = name_of(program);
        if program.contains('/') {
            self.add(program, RunBy::Program);
        } else if SCRIPT_ENDS.iter().any(|end| program.ends_with(end)) {
            // `uv run check.py`
            self.add(program, RunBy::Interpreter);
        } else if program.starts_with('$') && program.len() > 1 {
            // A program in a variable: what it gets first is run by it.
            self.read.unnamed = self.read.unnamed.max(Unnamed::Program);
            first_file(rest).into_iter().for_each(|(file, _)| self.add(file, RunBy::Interpreter));
        }
        if name == "bun" {
            self.package(rest);
        }
        if name == "eval" {
            self.line(&rest.join(" "), depth + 1);
        } else if is_shell(name) {
            self.shell(rest, input, depth);
        } else if is_python(name) || name == "pypy3" || INTERPRETERS.contains(&name) {
            self.interpreter(name, rest, depth);
        } else if RUNNERS.contains(&name) {
            self.all_of(rest);
        } else if MAKERS.contains(&name) {
            self.maker(rest);
        } else if PACKAGE_RUNNERS.contains(&name) {
            self.package(rest);
        } else if name == "run-parts" {
            self.hands_on();
        } else if name == "find" {
            let at = rest.iter().position(|word| matches!(word.as_str(), "-exec" | "-execdir" | "-ok"));
            let behind = at.and_then(|at| rest.get(at + 1..)).unwrap_or_default();
            if behind.first().is_some_and(|word| word == "{}") {
                self.hands_on();
            }
            self.command(behind, None, depth + 1);
        } else if !program.contains('/') && !READERS.contains(&name) {
            self.unknown(rest, depth);
        }
    }

    /// A program that is not known here may start another one.
    fn unknown(&mut self, rest: &[String], depth: usize) {
        let starts = |word: &String| {
            let name = name_of(word);
            let is_plain = name == word || word.starts_with('/');
            is_plain && (is_shell(name) || is_python(name) || INTERPRETERS.contains(&name) && name != ".")
        };
        if let Some(at) = rest.iter().position(starts) {
            return self.command(rest.get(at..).unwrap_or_default(), None, depth + 1);
        }
        for word in rest.iter().filter(|word| !word.starts_with('-')) {
            if word.starts_with("./") || SCRIPT_ENDS.iter().any(|end| word.ends_with(end)) {
                self.add(word, RunBy::Argument);
            }
        }
    }

    /// A shell gets a script that is not named.
    fn hands_on(&mut self) {
        let how = if self.captured { Unnamed::Program } else { Unnamed::Script };
        self.read.unnamed = self.read.unnamed.max(how);
    }

    fn shell(&mut self, rest: &[String], input: Option<String>, depth: usize) {
        let is_line = |word: &String| has_letter(word, 'c');
        let options = |behind: &[String]| rest.iter().take(rest.len().saturating_sub(behind.len()));
        match first_file(rest) {
            Some((line, behind)) if options(behind).any(is_line) => self.line(line, depth + 1),
            // `busybox sh x.sh`
            Some((file, rest)) if is_shell(file) && depth <= DEPTH_MAX => self.shell(rest, input, depth + 1),
            // It is only read for errors.
            Some((_, behind)) if options(behind).any(|word| has_letter(word, 'n')) => {}
            Some((file, _)) => {
                if file.contains(['$', '`', '{']) {
                    self.hands_on();
                }
                self.add(file, RunBy::Shell);
            }
            None => {
                if input.is_none() {
                    self.hands_on();
                }
                input.iter().for_each(|file| self.add(file, RunBy::Shell));
            }
        }
    }

    fn interpreter(&mut self, name: &str, rest: &[String], depth: usize) {
        let sources = matches!(name, "." | "source");
        if only_parses(name, rest) {
            return;
        }
        for (at, word) in rest.iter().enumerate() {
            let behind = rest.get(at + 1..).unwrap_or_default();
            match word.as_str() {
                "-m" if is_python(name) => {
                    behind.iter().take(1).for_each(|module| self.module(module));
                    return self.command(behind, None, depth + 1);
                }
                "--test" | "test" => return self.all_of(behind),
                "-c" | "-e" | "-E" | "-p" | "--eval" | "--print" => return,
                word if !word.starts_with('-') => break,
                _ => {}
            }
        }
        let rest = rest.strip_prefix(&["run".to_owned()]).unwrap_or(rest);
        for pair in rest.windows(2) {
            // What is loaded before it runs too.
            if let [option, value] = pair
                && matches!(option.as_str(), "-r" | "--require" | "--import" | "-f")
            {
                self.add(value, RunBy::Interpreter);
            }
        }
        if let Some((file, _)) = first_file(rest) {
            let by = if sources { RunBy::Shell } else { RunBy::Interpreter };
            if sources && file.contains(['$', '`']) {
                self.hands_on();
            }
            self.add(file, by);
        }
    }

    /// The files that a module may be.
    fn module(&mut self, module: &str) {
        let plain = module.chars().all(|letter| letter.is_alphanumeric() || letter == '_' || letter == '.');
        if plain && !RUNNERS.contains(&module) {
            let path = module.replace('.', "/");
            self.add(&format!("{path}.py"), RunBy::Module);
            self.add(&format!("{path}/__main__.py"), RunBy::Module);
        }
    }

    fn all_of(&mut self, rest: &[String]) {
        for word in rest.iter().filter(|word| !word.starts_with('-')) {
            self.add(word.split("::").next().unwrap_or(word), RunBy::Runner);
        }
    }

    fn maker(&mut self, rest: &[String]) {
        let folder = option_values(rest, &["-C", "--directory", "-d", "--working-directory"]).pop();
        let folders = self.folders(folder);
        let files = option_values(rest, &["-f", "--file", "--makefile", "--justfile"]);
        let own = std::mem::replace(&mut self.folder, folders.first().cloned().unwrap_or_default());
        files.into_iter().for_each(|file| self.add(file, RunBy::Maker));
        self.folder = own;
        self.read.make_folders.extend(folders);
    }

    fn package(&mut self, rest: &[String]) {
        let folder = option_values(rest, &["--prefix", "-C", "--dir", "--cwd"]).pop();
        let folders = self.folders(folder);
        self.read.package_folders.extend(folders);
    }

    /// Where a program runs that may be told a folder. A `cd` in brackets holds only there: both are possible.
    fn folders(&self, told: Option<&str>) -> Vec<String> {
        let at = |folder: &str| match told {
            None => folder.to_owned(),
            Some(told) => clean(folder, &self.below(told)).unwrap_or_default(),
        };
        let mut all = vec![at(&self.folder), at("")];
        all.dedup();
        all
    }

    /// A path from the workspace on, where it is one into the workspace.
    fn below(&self, word: &str) -> String {
        let word = ["$PWD/", "${PWD}/", "$(pwd)/"].iter().find_map(|here| word.strip_prefix(here)).unwrap_or(word);
        let full = if word.starts_with('/') { full_path(word) } else { word.to_owned() };
        let below = full.strip_prefix(self.workspace).and_then(|rest| rest.strip_prefix('/'));
        below.filter(|_| !self.workspace.is_empty()).unwrap_or(word).to_owned()
    }

    fn add(&mut self, word: &str, by: RunBy) {
        let word = &self.below(word);
        if word.starts_with('/') || word.starts_with("../") {
            self.name_program(word);
        }
        // A `cd` in brackets holds only there: both are possible.
        for folder in [self.folder.clone(), String::new()] {
            let Some(path) = clean(&folder, word) else { continue };
            let named = &mut self.read.named;
            if let Some(known) = named.iter_mut().find(|script| script.path == path) {
                known.captured &= self.captured;
            } else if named.len() < SCRIPTS_MAX {
                named.push(NamedScript { path, by, captured: self.captured, folder });
            }
        }
    }
}

fn is_python(name: &str) -> bool {
    name.strip_prefix("python").is_some_and(|end| end.chars().all(|c| c.is_ascii_digit() || c == '.'))
}

/// Whether a program only reads a file for errors of its grammar: `node --check x.js`.
fn only_parses(name: &str, words: &[String]) -> bool {
    let mut options = words.iter().take_while(|word| word.starts_with('-'));
    match name {
        "node" | "nodejs" => options.any(|word| word == "--check" || word == "-c"),
        "ruby" | "perl" => options.any(|word| has_letter(word, 'c')),
        "php" => options.any(|word| matches!(word.as_str(), "-l" | "--syntax-check")),
        _ => false,
    }
}

fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name) || LIKE_SHELLS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The files that a line surely runs, also for what they print.
    fn scripts_at(command: &str, workspace: &str) -> Vec<String> {
        let named = reading(command, workspace).named.into_iter();
        let is_sure = |by: RunBy| !matches!(by, RunBy::Module | RunBy::Argument);
        named.filter(|script| is_sure(script.by)).map(|script| script.path).collect()
    }

    fn scripts_in(command: &str) -> Vec<String> {
        scripts_at(command, "")
    }

    #[test]
    fn the_programs_of_a_line_are_named_and_what_the_shell_does_itself_is_not() {
        let cases: &[(&str, &[&str])] = &[
            ("cargo test --locked", &["cargo"]),
            ("cd sub && CI=1 cargo test | tee log; echo done", &["cargo", "tee"]),
            ("timeout 30s env A=1 nice -n 5 make test", &["timeout", "env", "nice", "make"]),
            ("! grep -q TODO a && test -e b", &["grep"]),
            ("python3 -m pytest -q", &["python3"]),
            ("bash -lc 'npm test && ./run'", &["bash", "npm", "./run"]),
            ("for f in t/*.sh; do sh \"$f\" || exit 1; done", &["sh"]),
            ("check() { pytest -q; }; check && [ -e x ]", &["pytest"]),
            ("if node a.js; then go test ./...; else false; fi # make", &["node", "go"]),
            ("test \"$(wc -l < log)\" -ge 2", &["wc"]),
            ("\"$TOOL\" x; ~/bin/x; eval 'ruff check'", &["ruff"]),
            (
                "sh /opt/check.sh && python3 ../judge.py && sh in/side.sh",
                &["sh", "/opt/check.sh", "python3", "../judge.py"],
            ),
            ("make && make test", &["make"]),
            ("", &[]),
        ];
        for (line, expected) in cases {
            assert_eq!(programs_in(line, "/place"), *expected, "{line}");
        }
        assert_eq!(programs_in("/place/run.sh; sh /place/a.sh", "/place"), ["/place/run.sh", "sh"]);
    }

    #[test]
    fn what_a_line_runs_is_named() {
        let cases: &[(&str, &[&str])] = &[
            ("sh run_tests.sh", &["run_tests.sh"]),
            ("./check --all", &["check"]),
            ("! ./check", &["check"]),
            ("bash -c 'scripts/x.sh && y'", &["scripts/x.sh"]),
            ("bash -euo pipefail ci/all.sh fast", &["ci/all.sh"]),
            ("bash -lc \"./one; sh two\"", &["one", "two"]),
            ("bash -eo pipefail -c './one'", &["one"]),
            ("python tests/run.py --fast data.csv", &["tests/run.py"]),
            ("python3 -u ./a//b/../c.py", &["a/c.py"]),
            (
                "python3.12 -m pytest -q tests/test_a.py::test_x tests/test_b.py",
                &["tests/test_a.py", "tests/test_b.py"],
            ),
            ("timeout 30s env A=1 B=2 sh x.sh", &["x.sh"]),
            ("A=1 ./x", &["x"]),
            ("cargo build 2>&1 | ./judge.py > out.txt", &["judge.py"]),
            ("make -f build/Makefile test", &["build/Makefile"]),
            ("just --justfile=ci.just test", &["ci.just"]),
            ("cd sub && ./check.sh", &["sub/check.sh", "check.sh"]),
            ("(cd sub; ../check.sh)", &["check.sh"]),
            ("node -r ./setup.js test/all.js", &["setup.js", "test/all.js"]),
            ("node --test test/a.test.js", &["test/a.test.js"]),
            ("bun run ci.ts", &["ci.ts"]),
            ("npx jest src/a.test.ts", &["src/a.test.ts"]),
            ("sh < in.sh", &["in.sh"]),
            (". ./env.sh && run", &["env.sh"]),
            ("\"$PWD/check me.sh\" -v", &["check me.sh"]),
            ("test \"$(sh count.sh)\" = 3", &["count.sh"]),
            ("[ `./count` = 3 ]", &["count"]),
            ("bats checks/*.bats", &["checks/*.bats"]),
            ("if ./a; then ./b; else ./c; fi # ./d", &["a", "b", "c"]),
            (".venv/bin/python check.py", &[".venv/bin/python", "check.py"]),
            ("sh a.sh && sh a.sh", &["a.sh"]),
            ("sh -e x.sh", &["x.sh"]),
            ("bash --norc x.sh", &["x.sh"]),
            ("bash -o pipefail +o errexit x.sh", &["x.sh"]),
            ("busybox sh x.sh", &["x.sh"]),
            ("node --test a.js b.js", &["a.js", "b.js"]),
            ("bun test a.ts", &["a.ts"]),
            ("perl -m sh y.pl", &["sh"]),
            ("python x.py -c y", &["x.py"]),
            ("make -fbuild.mk", &["build.mk"]),
            ("uv run ./x", &["x"]),
            ("bundle exec ./x", &["x"]),
            ("MY_VAR=1 ./x", &["x"]),
            ("echo $(./a) $(sh b.sh)", &["a", "b.sh"]),
            ("A=$(./a) ./x", &["a", "x"]),
            ("sh a#b.sh", &["a#b.sh"]),
            ("# ./d\n./a", &["a"]),
            ("#x ; ./d\n./a", &["a"]),
            ("sh a\\ b.sh", &["a b.sh"]),
            ("sh x.sh>out", &["x.sh"]),
            ("sh 2>&1 x.sh", &["x.sh"]),
            ("sh 2>&- x.sh", &["x.sh"]),
        ];
        for (line, expected) in cases {
            assert_eq!(scripts_in(line), *expected, "{line}");
        }
    }

    #[test]
    fn what_another_program_starts_is_named_behind_its_options() {
        let cases: &[(&str, &[&str])] = &[
            ("timeout -s KILL 60 sh check.sh", &["check.sh"]),
            ("env -u X sh check.sh", &["check.sh"]),
            ("sudo -u ci ./check.sh", &["check.sh"]),
            ("/usr/bin/env bash check.sh", &["check.sh"]),
            ("flock l sh check.sh", &["check.sh"]),
            ("flock l -c './check.sh -v'", &["check.sh"]),
            ("nix develop -c ./check.sh", &["check.sh"]),
            ("nix-shell --run 'sh check.sh'", &["check.sh"]),
            ("tsx --tsconfig t.json check.ts", &["check.ts"]),
            ("node --env-file .env check.js", &["check.js"]),
            ("uv run --with rich check.py", &["check.py"]),
            ("docker run --rm -v .:/w -w /w img sh check.sh", &["check.sh"]),
            ("retry -t 3 python3 check.py", &["check.py"]),
        ];
        for (line, expected) in cases {
            assert_eq!(scripts_in(line), *expected, "{line}");
        }
    }

    #[test]
    fn what_a_line_only_reads_or_what_lies_elsewhere_is_not_named() {
        for line in [
            "",
            "npm test",
            "cargo test --workspace",
            "grep -q done notes.txt",
            "! grep -rq TODO src/main.rs",
            "test -f out.txt",
            "diff expected.txt out.txt",
            "test \"$(cat counter)\" = 4",
            "python -c 'import a.b'",
            "node -e 'require(\"./x.js\")'",
            "/usr/bin/true",
            "sh ../outside.sh",
            "sh /tmp/x.sh",
            "sh ~/x.sh",
            "sh \"$SCRIPT\"",
            "go test ./...",
            "cat notes.md > ./out",
            "sh -c 'sh -c \"sh -c '",
            "python -u -c 'import x' y.py",
            "a-b=1 ./x",
            "sh $X.sh",
            "./x$(y)",
            "sh > out.sh",
            "sh << EOF.sh",
            "node --check calc.js",
            "node -c calc.js && nodejs --check lib/a.js",
            "ruby -c a.rb; ruby -wc a.rb",
            "perl -c a.pl; perl -wc a.pl",
            "php -l a.php; php --syntax-check a.php",
            "bash -n a.sh; sh -en a.sh",
            "python3 -m py_compile a.py; python -m compileall -q src",
            "shellcheck sh a.sh; echo sh a.sh; which python3 a.py",
            "retry -t 3 ./a.sh",
        ] {
            let found = scripts_in(line);
            assert!(found.is_empty(), "{line}: {found:?}");
        }
    }

    #[test]
    fn an_absolute_path_into_the_workspace_is_one_of_it() {
        assert_eq!(scripts_at("sh /w/me/work/ci/x.sh", "/w/me/work/"), ["ci/x.sh"]);
        assert!(scripts_at("sh /w/me/work2/x.sh", "/w/me/work").is_empty());
    }

    #[test]
    fn a_line_in_a_line_is_looked_into_just_so_deep() {
        let deep = |levels: usize, line: &str| {
            let line = (0..levels).fold(line.to_owned(), |line, _| format!("sh -c '{}'", line.replace('\'', r"'\''")));
            scripts_in(&line).len()
        };
        assert_eq!([deep(DEPTH_MAX, "./a"), deep(DEPTH_MAX + 1, "./a")], [1, 0]);
        assert_eq!([deep(DEPTH_MAX - 1, "eval ./a"), deep(DEPTH_MAX, "eval ./a")], [1, 0]);
        let two_more = "python -m bash -c ./a";
        assert_eq!([deep(DEPTH_MAX - 2, two_more), deep(DEPTH_MAX - 1, two_more)], [1, 0]);
        let many: String = (0..SCRIPTS_MAX + 9).map(|number| format!("./a{number};")).collect();
        assert_eq!(scripts_in(&many).len(), SCRIPTS_MAX);
    }

    #[test]
    fn no_line_is_too_odd() {
        let odd =
            ["'", "\"", "\\", "$(", "`", "<<EOF", "2>&", "cd", "cd -", "sh -c", "-m", "python -m", "((((", "eval"];
        for line in odd {
            assert!(scripts_in(line).len() <= 1, "{line}");
        }
        assert!(scripts_in(&"sh -c 'x' ; ./a".repeat(2000)).len() <= SCRIPTS_MAX);
    }
}
