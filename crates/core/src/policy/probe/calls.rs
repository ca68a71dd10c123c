//! Which test runners a gate's line calls. npm scripts, makefile rules and shell scripts are followed. Nothing is run.
use serde_json::Value as Json;

use super::makefile::{MAKEFILES, Rules, Variable, assignment};
use super::project::Probed;
use super::runners::RunnerKind;
use crate::policy::protect::paths::{joined, name_of};
use crate::policy::protect::script::{SHELLS, Token, behind_first_words, clean, tokens};

/// Maximum nesting of scripts that are followed.
const DEPTH_MAX: usize = 5;
/// So many calls are looked at.
const CALLS_MAX: usize = 20;

/// These run commands where the files of the copy are not, or are those of an image.
const ELSEWHERE: &[&str] = &["docker", "docker-compose", "podman", "ssh", "kubectl", "vagrant", "nerdctl", "act"];
/// Commands that run no tests by themselves.
const HARMLESS: &[&str] = &[
    "cd", "echo", "printf", "true", "test", "[", "export", "set", "mkdir", "rm", "cp", "mv", "ls", "cat", "grep",
    "source", ".", "ruff", "black", "mypy", "flake8", "isort", "eslint", "prettier", "tsc", "gofmt", "pip", "pip3",
    "fi", "done", "exit", "touch", "pwd", "command", "tee", "sync", "install",
];

/// One call of a runner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RunnerCall {
    pub(super) kind: RunnerKind,
    /// What stands after its name.
    pub(super) words: Vec<String>,
    /// Where it is called.
    pub(super) folder: String,
    /// Whether the gate calls it in any case. Not so where it is known from the output alone.
    pub(super) is_certain: bool,
}

/// What a line calls.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) calls: Vec<RunnerCall>,
    /// A program that runs the rest elsewhere.
    pub(super) elsewhere: Option<String>,
    /// Something is called under a condition, or in a loop.
    pub(super) conditional: bool,
    /// A program is called that is not known here.
    pub(super) unknown: bool,
}

pub(super) fn of(command: &str, probed: &Probed<'_>) -> Found {
    let mut search = Search { probed, found: Found::default(), addopts: words_of(probed.addopts) };
    search.line(command, &mut String::new(), 0);
    search.found
}

struct Search<'a, 'b> {
    probed: &'a Probed<'b>,
    found: Found,
    /// `PYTEST_ADDOPTS`, as the commands before exported it.
    addopts: Vec<String>,
}

/// The variable whose words pytest adds to its own.
const ADDOPTS: &str = "PYTEST_ADDOPTS=";

fn words_of(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

impl Search<'_, '_> {
    fn line(&mut self, line: &str, folder: &mut String, depth: usize) {
        if depth > DEPTH_MAX || self.found.calls.len() >= CALLS_MAX {
            self.found.unknown = true;
            return;
        }
        self.found.conditional |= has_condition(line);
        let mut words: Vec<String> = Vec::new();
        let mut tokens = tokens(line).into_iter().chain([Token::End]);
        while let Some(token) = tokens.next() {
            match token {
                Token::Word(word) => words.push(word),
                Token::Input | Token::Output => drop(tokens.next()),
                Token::End | Token::Pipe => self.command(&std::mem::take(&mut words), folder, depth),
            }
        }
    }

    fn command(&mut self, words: &[String], folder: &mut String, depth: usize) {
        if words.first().is_some_and(|word| word == "export") {
            let value = words.iter().rev().find_map(|word| word.strip_prefix(ADDOPTS));
            self.addopts = value.map_or_else(|| self.addopts.clone(), words_of);
        }
        let before = words.len() - behind_first_words(words).len();
        let own = words.iter().take(before).rev().find_map(|word| word.strip_prefix(ADDOPTS));
        let extra: Vec<String> = own.map_or_else(|| self.addopts.clone(), words_of);
        let words = behind_first_words(words);
        let Some((program, rest)) = words.split_first() else { return };
        let name = name_of(program);
        if ELSEWHERE.contains(&name) {
            // What only starts a service runs no tests.
            let runs = rest.iter().any(|word| matches!(word.as_str(), "run" | "exec"));
            if !runs && matches!(name, "docker" | "docker-compose" | "podman" | "nerdctl") {
                return;
            }
            self.found.elsewhere.get_or_insert_with(|| name.to_owned());
            return;
        }
        let is_python =
            name.strip_prefix("python").is_some_and(|end| end.chars().all(|c| c.is_ascii_digit() || c == '.'));
        if let Some(kind) = RunnerKind::of_program(name) {
            let extra = if kind == RunnerKind::Pytest { extra } else { Vec::new() };
            return self.add(kind, &[rest, &extra].concat(), folder);
        }
        match name {
            "cd" | "pushd" => {
                let to = rest.iter().find(|word| !word.starts_with('-'));
                *folder = to.and_then(|to| clean(folder, to)).unwrap_or_default();
            }
            "go" => self.go(rest, folder),
            "cargo" => self.cargo(rest, folder),
            "npm" | "yarn" | "pnpm" | "bun" => self.package_script(name, rest, folder, depth),
            "make" | "gmake" => self.make(rest, folder, depth),
            "node" | "nodejs" => self.node(rest, folder),
            _ if is_python => self.python(rest, &extra, folder),
            _ if SHELLS.contains(&name) => self.shell(rest, folder, depth),
            _ if program.contains('/') => self.script_file(program, folder, depth),
            _ if HARMLESS.contains(&name) => {}
            _ => self.found.unknown = true,
        }
    }

    fn add(&mut self, kind: RunnerKind, words: &[String], folder: &str) {
        let (words, folder) = (words.to_vec(), folder.to_owned());
        self.found.calls.push(RunnerCall { kind, words, folder, is_certain: true });
    }

    fn python(&mut self, rest: &[String], extra: &[String], folder: &str) {
        let mut words = rest;
        while let Some((word, behind)) = words.split_first() {
            match word.as_str() {
                "-m" => {
                    let Some((module, behind)) = behind.split_first() else { return };
                    match module.as_str() {
                        "pytest" | "py.test" => self.add(RunnerKind::Pytest, &[behind, extra].concat(), folder),
                        "unittest" => self.add(RunnerKind::Unittest, behind, folder),
                        "coverage" => self.python(behind, extra, folder),
                        _ => self.found.unknown = true,
                    }
                    return;
                }
                "-W" | "-X" => words = behind.get(1..).unwrap_or_default(),
                "run" => words = behind,
                word if word.starts_with('-') => words = behind,
                _ => return self.add(RunnerKind::PythonFile, words, folder),
            }
        }
    }

    fn node(&mut self, rest: &[String], folder: &str) {
        if rest.iter().any(|word| word == "--test") {
            self.add(RunnerKind::Node, rest, folder);
            return;
        }
        let file = rest.iter().find(|word| !word.starts_with('-')).map_or("", |word| name_of(word));
        let program = file.trim_end_matches(".js").trim_end_matches(".mjs");
        match RunnerKind::of_program(program).filter(|kind| kind.facts().runs_on == Some("node")) {
            Some(kind) => self.add(kind, behind_first_file(rest), folder),
            None => self.found.unknown = true,
        }
    }

    fn go(&mut self, rest: &[String], folder: &str) {
        match rest.split_first() {
            Some((verb, rest)) if verb == "test" => self.add(RunnerKind::Go, rest, folder),
            Some(_) | None => {}
        }
    }

    fn cargo(&mut self, rest: &[String], folder: &str) {
        let at = rest.iter().position(|word| !word.starts_with(['-', '+']));
        let Some((verb, behind)) = at.and_then(|at| rest.get(at..)).and_then(<[String]>::split_first) else { return };
        match verb.as_str() {
            "test" | "t" => self.add(RunnerKind::Cargo, behind, folder),
            "nextest" => match behind.split_first() {
                Some((verb, behind)) if verb == "run" || verb == "r" => self.add(RunnerKind::Nextest, behind, folder),
                Some(_) | None => {}
            },
            "build" | "b" | "check" | "c" | "clippy" | "fmt" | "doc" | "fetch" => {}
            _ => self.found.unknown = true,
        }
    }

    /// `npm test`, `npm run ci`, `yarn test`: the script of `package.json`, with what stands after `--`.
    fn package_script(&mut self, program: &str, rest: &[String], folder: &str, depth: usize) {
        let mut words: Vec<&String> = rest.iter().filter(|word| *word != "--silent" && *word != "-s").collect();
        let mut script = None;
        while script.is_none() && !words.is_empty() {
            match words.remove(0).as_str() {
                "run" | "run-script" | "rum" => {}
                "exec" | "x" | "dlx" => {
                    let line: Vec<String> =
                        words.iter().filter(|word| **word != "--").map(|word| (*word).clone()).collect();
                    return self.command(&line, &mut folder.to_owned(), depth + 1);
                }
                "t" | "tst" => script = Some("test".to_owned()),
                // Options such as `--workspace` lead to other packages; no script has their name.
                word => script = Some(word.to_owned()),
            }
        }
        let Some(script) = script else { return };
        let is_ci = script == "ci" && program == "npm" && !rest.iter().any(|word| word == "run");
        if is_ci || matches!(script.as_str(), "install" | "i") {
            return;
        }
        let text = self.probed.setup_file(&joined(folder, "package.json")).unwrap_or_default();
        let parsed: Option<Json> = serde_json::from_str(&text).ok();
        let line = parsed.as_ref().and_then(|json| json.get("scripts")?.get(&script)?.as_str());
        let Some(line) = line else { return self.found.unknown = true };
        let further: Vec<String> = words.iter().filter(|word| **word != "--").map(|word| quoted(word)).collect();
        self.line(&format!("{line} {}", further.join(" ")), &mut folder.to_owned(), depth + 1);
    }

    fn make(&mut self, rest: &[String], folder: &str, depth: usize) {
        let mut folder = folder.to_owned();
        let mut goals: Vec<&str> = Vec::new();
        let mut fixed: Vec<Variable> = Vec::new();
        let mut words = rest.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "-C" | "--directory" => {
                    folder = words.next().and_then(|to| clean(&folder, to)).unwrap_or_default();
                }
                word if word.starts_with("-C") => folder = clean(&folder, &word[2..]).unwrap_or_default(),
                word if word.starts_with("--directory=") => {
                    folder = clean(&folder, &word["--directory=".len()..]).unwrap_or_default();
                }
                word if ["-f", "--file", "--makefile"].iter().any(|option| word.starts_with(option)) => {
                    return self.found.unknown = true;
                }
                // `-j 4`, and variables.
                word if word.starts_with(['-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']) => {}
                word if word.contains('=') => {
                    fixed.extend(assignment(word).map(|(variable, _)| variable));
                }
                word => goals.push(word),
            }
        }
        let text = MAKEFILES.iter().find_map(|name| self.probed.setup_file(&joined(&folder, name)));
        let Some(text) = text else { return self.found.unknown = true };
        let rules = Rules::of(&text, fixed);
        if let Some(value) = rules.exported("PYTEST_ADDOPTS") {
            self.addopts = words_of(&value);
        }
        let goals = if goals.is_empty() { rules.first().into_iter().collect() } else { goals };
        for goal in goals {
            let Some(lines) = rules.lines(goal) else { return self.found.unknown = true };
            for line in lines {
                self.line(&line, &mut folder.clone(), depth + 1);
            }
        }
    }

    fn shell(&mut self, rest: &[String], folder: &str, depth: usize) {
        let is_line = |word: &String| word.starts_with('-') && !word.starts_with("--") && word.contains('c');
        let has_line = rest.iter().take_while(|word| word.starts_with('-')).any(is_line);
        let file = rest.iter().find(|word| !word.starts_with(['-', '+']) && *word != "pipefail");
        match file {
            Some(line) if has_line => self.line(line, &mut folder.to_owned(), depth + 1),
            Some(file) => self.script_file(file, folder, depth),
            None => self.found.unknown = true,
        }
    }

    fn script_file(&mut self, word: &str, folder: &str, depth: usize) {
        let text = clean(folder, word).and_then(|path| self.probed.setup_file(&path));
        let is_shell = |text: &String| {
            let first = text.lines().next().unwrap_or_default();
            !first.starts_with("#!")
                || SHELLS.iter().any(|shell| first.ends_with(shell) || first.contains(&format!("/{shell} ")))
        };
        match text.filter(is_shell) {
            // Variables are not expanded, and `cd` inside the script does not change the caller's folder.
            Some(text) => self.line(&text.replace("\\\n", " "), &mut folder.to_owned(), depth + 1),
            None => self.found.unknown = true,
        }
    }
}

fn behind_first_file(words: &[String]) -> &[String] {
    let at = words.iter().position(|word| !word.starts_with('-')).map_or(words.len(), |at| at + 1);
    words.get(at..).unwrap_or_default()
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Whether a line may leave out some of its commands, or ignores an exit code.
fn has_condition(line: &str) -> bool {
    const WORDS: &[&str] = &["if", "case", "while", "until", "for", "trap", "function"];
    let line = line.replace("|| exit", "").replace("|| return", "");
    line.contains("||")
        || line.split(|letter: char| letter.is_whitespace() || letter == ';').any(|word| WORDS.contains(&word))
}
