//! What is known of the programs in a promise.
use super::Options;
use super::line::ShellWord;
use crate::policy::protect::script::SHELLS;

/// Words before a program that are none of it.
const BEFORE: &[&str] = &[
    "time", "exec", "command", "builtin", "env", "nice", "ionice", "nohup", "sudo", "setsid", "stdbuf", "unbuffer",
    "timeout", "xvfb-run", "npx", "bunx", "uv", "uvx", "poetry", "pipenv", "pdm", "hatch", "bundle", "pnpm", "yarn",
];
/// Those of them that run a program only as `uv run …` or `bundle exec …`.
const ONLY_WITH_RUN: &[&str] = &["uv", "poetry", "pipenv", "pdm", "hatch", "bundle", "pnpm", "yarn"];
/// Programs whose exit code is a judgement of the work.
const JUDGES: &[&str] = &[
    "pytest",
    "py.test",
    "tox",
    "nox",
    "jest",
    "vitest",
    "mocha",
    "ava",
    "rspec",
    "phpunit",
    "bats",
    "prove",
    "ctest",
    "mypy",
    "pyright",
    "flake8",
    "pylint",
    "eslint",
    "tsc",
    "golangci-lint",
    "shellcheck",
    "playwright",
    "cypress",
    "unittest",
    "nose2",
    "cargo-nextest",
];
/// Words behind `make`, `npm run` and their like that ask for a judgement.
const JUDGING_WORDS: [&str; 5] = ["test", "check", "lint", "verify", "spec"];
/// They do not fail, or only where the machine does.
const SURE: &[&str] = &["echo", "printf", "true", ":", "date", "pwd", "sleep", "tee"];
/// They tidy up or show something; that they succeed says nothing about the work.
const CLEANUP: &[&str] = &["cat", "tail", "head", "ls", "rm", "kill", "pkill", "wait", "popd", "touch", "cp", "mv"];
/// They pass their input on.
const FILTERS: &[&str] = &[
    "tee", "cat", "head", "tail", "less", "more", "sort", "uniq", "wc", "tr", "cut", "nl", "ts", "column", "fold",
    "sed",
];
const PREPARATION: &[&str] = &[
    "cd", "export", "set", "unset", ".", "source", "mkdir", "umask", "trap", "ulimit", "shopt", "pushd", "popd",
    "alias",
];

/// A command of a promise by its program.
#[derive(Debug)]
pub(super) struct Program<'a> {
    /// Without its folder.
    pub(super) name: &'a str,
    /// The words from the program on.
    pub(super) words: Vec<&'a str>,
    all: &'a [ShellWord],
    /// How many words stand before it.
    skipped: usize,
}

/// Where a command may look to be one that only reads files.
pub(super) struct FileLook<'a> {
    pub(super) workspace: &'a str,
    /// What it reads by `<`.
    pub(super) inputs: &'a [String],
    /// It reads what the command before it prints.
    pub(super) piped: bool,
}

impl<'a> Program<'a> {
    /// None where there are only assignments.
    pub(super) fn of(all: &'a [ShellWord]) -> Option<Self> {
        let texts: Vec<&str> = all.iter().map(|word| word.text.as_str()).collect();
        let mut skipped = 0;
        while let Some(word) = texts.get(skipped) {
            let behind = texts.get(skipped + 1).copied().unwrap_or_default();
            let is_before =
                BEFORE.contains(word) && (!ONLY_WITH_RUN.contains(word) || ["run", "exec"].contains(&behind));
            if !is_before && !is_assignment(word) {
                break;
            }
            skipped += 1;
            while is_before
                && texts.get(skipped).is_some_and(|word| {
                    word.starts_with('-')
                        || ["run", "exec"].contains(word)
                        || word.starts_with(|c: char| c.is_ascii_digit())
                })
            {
                skipped += 1;
            }
        }
        let words: Vec<&str> = texts.get(skipped..)?.to_vec();
        let name = words.first()?.rsplit('/').next()?;
        Some(Self { name, words, all, skipped })
    }

    fn has(&self, word: &str) -> bool {
        self.words.iter().skip(1).any(|known| *known == word)
    }

    fn asks_for_judgement(&self) -> bool {
        let mut rest = self.words.iter().skip(1).filter(|word| !word.starts_with('-') && !word.contains('='));
        rest.any(|word| JUDGING_WORDS.iter().any(|known| word.contains(known)))
    }

    /// Whether its exit code is a judgement of the work.
    pub(super) fn judges(&self) -> bool {
        let second = self.words.iter().skip(1).find(|word| !word.starts_with(['-', '+'])).copied().unwrap_or_default();
        let is_python = self.name.starts_with("python") || self.name == "pypy3";
        match self.name {
            name if JUDGES.contains(&name) => true,
            "ruff" => second == "check" || self.has("--check"),
            "cargo" => ["test", "nextest", "clippy", "miri", "t"].contains(&second) || self.has("--check"),
            "go" => ["test", "vet"].contains(&second),
            "dotnet" | "mix" | "swift" | "deno" | "rake" | "bazel" => second.contains("test"),
            "npm" | "pnpm" | "yarn" | "bun" | "make" | "gmake" | "just" | "task" | "ninja" | "mvn" | "gradle"
            | "gradlew" | "mvnw" => self.asks_for_judgement() || (self.name == "npm" && second == "t"),
            "node" => self.has("--test"),
            _ if is_python => {
                let module = self.words.iter().skip_while(|word| **word != "-m").nth(1).copied().unwrap_or_default();
                JUDGES.contains(&module)
            }
            _ => false,
        }
    }

    /// Whether it passes its input on, and fails only where the machine does.
    pub(super) fn is_filter(&self) -> bool {
        FILTERS.contains(&self.name) && !(self.name == "sed" && self.words.iter().any(|word| word.contains('q')))
    }

    /// Whether it looks for a text.
    pub(super) fn searches(&self) -> bool {
        ["grep", "egrep", "fgrep", "rg", "ag", "ack"].contains(&self.name)
    }

    /// Whether it never fails.
    pub(super) fn is_sure(&self) -> bool {
        SURE.contains(&self.name) || (["exit", "return"].contains(&self.name) && self.words.get(1) == Some(&"0"))
    }

    /// Whether it tidies up or shows something.
    pub(super) fn is_cleanup(&self) -> bool {
        CLEANUP.contains(&self.name)
    }

    /// Whether it prepares something, or says something.
    pub(super) fn prepares(&self) -> bool {
        PREPARATION.contains(&self.name) || self.is_sure()
    }

    /// The line of `sh -c LINE`, and what the options of that shell turn on.
    pub(super) fn shell_line(&self) -> Option<(&'a ShellWord, Options)> {
        let at = self.line_at()?;
        let mut options = Options::default();
        options.set(self.words.get(1..at)?);
        Some((self.all.get(self.skipped + at)?, options))
    }

    fn line_at(&self) -> Option<usize> {
        if !SHELLS.contains(&self.name) {
            return None;
        }
        let is_flag = |word: &str| word.starts_with('-') && !word.starts_with("--") && word.contains('c');
        let mut at = self.words.iter().position(|word| is_flag(word))?;
        // `bash -c -e LINE`, `bash -co pipefail LINE`
        while self.words.get(at).is_some_and(|word| word.starts_with('-') || *word == "pipefail") {
            at += 1;
        }
        Some(at)
    }

    /// All words of the command before the line of `sh -c`.
    pub(super) fn words_before_line(&self) -> Vec<&'a str> {
        let end = self.line_at().map_or(0, |at| self.skipped + at);
        self.all.iter().take(end).map(|word| word.text.as_str()).collect()
    }

    /// Whether it only reads files of the workspace. `inner` judges the line of a `$(…)`.
    pub(super) fn only_reads(&self, look: &FileLook<'_>, inner: &dyn Fn(&str) -> bool) -> bool {
        let is_ours = |path: &str| is_in_workspace(path, look.workspace);
        let files = |skip: usize| {
            let named: Vec<&str> =
                self.words.iter().skip(1).filter(|word| !word.starts_with('-')).copied().skip(skip).collect();
            let all = named.iter().copied().chain(look.inputs.iter().map(String::as_str));
            let count = named.len() + look.inputs.len();
            (count > 0 || look.piped) && all.into_iter().all(is_ours)
        };
        match self.name {
            // The first word is a pattern, or each one behind such an option.
            "grep" | "egrep" | "fgrep" | "rg" => {
                files(self.words.iter().filter(|word| ["-e", "-f"].contains(word)).count().max(1))
            }
            "jq" => files(1),
            // Its words are no files.
            "tr" => files(self.words.len()),
            "cat" | "head" | "tail" | "wc" | "diff" | "cmp" | "sort" | "uniq" | "cut" => files(0),
            "test" | "[" => self.tests_files(&is_ours, inner),
            _ => false,
        }
    }

    fn tests_files(&self, is_ours: &dyn Fn(&str) -> bool, inner: &dyn Fn(&str) -> bool) -> bool {
        let words: Vec<&str> = self.words.iter().skip(1).copied().filter(|word| *word != "]").collect();
        if words.contains(&"!") || words.contains(&"-z") {
            return false;
        }
        match &words[..] {
            [option, path] if ["-f", "-e", "-s", "-d", "-r", "-x"].contains(option) => is_ours(path),
            [.., _] => {
                let mut lines = words.iter().filter_map(|word| {
                    let open = word.find("$(")?;
                    let close = word.rfind(')')?;
                    word.get(open + 2..close)
                });
                let is_first = lines.next().is_some_and(inner);
                is_first && lines.all(inner) && !words.iter().any(|word| word.contains('`'))
            }
            [] => false,
        }
    }
}

fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map_or("", |(name, _)| name);
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) && name.chars().all(plain)
}

/// Whether a path of a promise is in the workspace, as far as it can be known before it is run.
fn is_in_workspace(path: &str, workspace: &str) -> bool {
    if path.starts_with('/') {
        return !workspace.is_empty() && path.strip_prefix(workspace).is_some_and(|rest| rest.starts_with('/'));
    }
    !path.is_empty()
        && !path.starts_with(['~', '$'])
        && !path.contains("$(")
        && !path.contains('`')
        && !path.starts_with("..")
}
