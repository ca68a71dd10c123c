//! What lies outside of the workspace and may decide what a gate says: which paths its command names, which files of the
//! folders above tools read, which variables name places, and what a change there means. Nothing is read here.
//!
//! | file | what is there |
//! |---|---|
//! | `script` | the text of a script with its own folder and its variables written out |
mod script;

use serde::{Deserialize, Serialize};

use self::script::written_out;
use super::protect::paths::name_of;
use super::protect::script::{RUNNERS, SHELLS, Token, behind_first_words, tokens};
use super::protect::{FileChange, OpportunityKind, is_manifest, is_runner_file, opportunity};

/// So many paths of one command are named.
const PATHS_MAX: usize = 40;
/// So deep a line stands in a word of another.
const DEPTH_MAX: usize = 3;
/// Letters of a pattern.
const PATTERN: [char; 4] = ['*', '?', '{', '['];
/// What is below these was not written by a person.
const NO_FILES: &[&str] = &["/dev", "/proc", "/sys", "/run"];
/// make, and programs like it.
const MAKERS: &[&str] = &["make", "gmake", "bmake", "just", "task"];
/// What make and programs like it read in the folder that they are started in.
pub const MAKER_FILES: &[&str] =
    &["GNUmakefile", "makefile", "Makefile", "justfile", "Justfile", ".justfile", "Taskfile.yml", "Taskfile.yaml"];
/// Files that tools look for in the folders above, beside those that only runners read and manifests.
const ABOVE: &[&str] = &[
    "setup.cfg",
    "pytest.toml",
    ".pytest.toml",
    "go.work",
    "tsconfig.json",
    "deno.json",
    "babel.config.js",
    "babel.config.json",
    ".babelrc",
    ".tool-versions",
    ".python-version",
    "mise.toml",
    "pnpm-workspace.yaml",
];
/// The same with the folder that they lie in.
pub const ABOVE_IN_FOLDERS: &[&str] = &[".cargo/config.toml", ".cargo/config", ".config/nextest.toml"];
/// Folders that are not looked into: caches, repositories, what builds make, and dependencies, which are too many.
const NOT_READ: &[&str] = &[
    ".git",
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".hypothesis",
    "node_modules",
    "target",
    "build",
    "dist",
    "coverage",
    ".tox",
    ".nox",
    ".venv",
    "venv",
];
/// Ends of files that programs make.
const MADE: &[&str] = &[".o", ".a", ".so", ".d", ".class", ".pyc", ".log", ".tmp", ".swp", ".gcda", ".gcno"];
/// A folder with one of these is made by a build.
const BUILD_MARKS: &[&str] = &["CMakeCache.txt", "CACHEDIR.TAG", "build.ninja", "meson-private", ".ninja_log"];
/// Parts of the names of options whose value is written.
const WRITTEN: &[&str] =
    &["out", "target", "tmp", "temp", "cache", "log", "xml", "report", "cov", "dest", "artifact", "build"];
/// Programs that write what they name, and programs that write the last of it.
const WRITERS: &[&str] = &["tee", "mkdir", "rm", "rmdir", "touch", "mktemp", "chmod", "truncate"];
const LAST_WRITTEN: &[&str] = &["cp", "mv", "ln", "rsync", "install"];

/// Why a path outside of the workspace is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutsideBy {
    /// A gate's command names it.
    Command,
    /// It is a folder above the workspace, in which tools look for their settings.
    Above,
    /// A variable names it.
    Variable,
    /// The Python of a gate loads what is there when it starts.
    Python,
}

/// A file outside of the workspace that is not as it was before the agent worked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutsideChange {
    /// The file, as [`crate::text::escape_path`] writes it.
    pub path: String,
    /// Why it is looked at.
    pub by: OutsideBy,
    /// What became of it.
    pub what: OutsideWhat,
}

/// What became of a file outside of the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutsideWhat {
    /// It has another content.
    Changed,
    /// It is gone.
    Removed,
    /// It is new, in a folder that was there.
    New,
    /// The folder or file that was named was not there at all.
    #[serde(rename = "made")]
    NewPlace,
    /// The record of what was there is missing, or not the one that was written.
    NoRecord,
}

impl OutsideChange {
    /// True if a file that the gate's command names was changed or removed. A file that did not exist before may be the work,
    /// unless a test runner reads it by its name.
    ///
    /// ```
    /// use loop_core::policy::outside::{OutsideBy, OutsideChange, OutsideWhat};
    ///
    /// let change = |path: &str, by, what| OutsideChange { path: path.to_owned(), by, what };
    /// assert!(change("/p/spec/test_a.py", OutsideBy::Command, OutsideWhat::Changed).decides());
    /// assert!(change("/p/spec/conftest.py", OutsideBy::Command, OutsideWhat::New).decides());
    /// assert!(change("/p/spec/.cargo/config.toml", OutsideBy::Command, OutsideWhat::New).decides());
    /// assert!(!change("/p/spec/test_b.py", OutsideBy::Command, OutsideWhat::New).decides());
    /// assert!(!change("/p/out.txt", OutsideBy::Command, OutsideWhat::NewPlace).decides());
    /// assert!(!change("/p/pytest.ini", OutsideBy::Above, OutsideWhat::Changed).decides());
    /// ```
    #[must_use]
    pub fn decides(&self) -> bool {
        match (self.by, self.what) {
            (_, OutsideWhat::NoRecord) | (OutsideBy::Command, OutsideWhat::Changed | OutsideWhat::Removed) => true,
            (OutsideBy::Command, OutsideWhat::New) => {
                // Some count by their name alone, and some by the folder that they lie in.
                let above = self.path.rmatch_indices('/').nth(1).map_or(0, |(at, _)| at);
                let names = [name_of(&self.path), self.path.get(above..).unwrap_or_default()];
                names.iter().any(|name| opportunity(name, FileChange::New) == Some(OpportunityKind::NewRunnerFile))
            }
            (OutsideBy::Command, OutsideWhat::NewPlace)
            | (OutsideBy::Above | OutsideBy::Variable | OutsideBy::Python, _) => false,
        }
    }

    /// The file, and what became of it.
    #[must_use]
    pub fn words(&self) -> String {
        let what = match self.what {
            OutsideWhat::Changed => "changed",
            OutsideWhat::Removed => "gone",
            OutsideWhat::New | OutsideWhat::NewPlace => "new",
            OutsideWhat::NoRecord => "the record of what was there is not the one that was written",
        };
        format!("{} ({what})", self.path)
    }
}

/// The absolute paths outside of the workspace that a gate's command names, after `cd` and as values of options too. A
/// folder that holds the workspace is not among them; what make reads there is.
///
/// ```
/// use loop_core::policy::outside::named_outside;
///
/// let named = |line: &str| named_outside(line, "/p/work", Some("/h/a"));
/// assert_eq!(named("pytest -q ../spec::test_a tests/b.py"), ["/p/spec"]);
/// assert_eq!(named("cd .. && sh check.sh > ../log"), ["/p/check.sh"]);
/// assert!(named("cd .. && make test").contains(&"/p/Makefile".to_owned()));
/// assert_eq!(named("sh -c 'make -C ../ci' && sh ~/checks/a.sh"), ["/p/ci", "/h/a/checks/a.sh"]);
/// assert_eq!(named("cd .. && pytest spec"), ["/p/spec"]);
/// assert_eq!(named("pytest ../spec/test_*.py; sh ../ci/{a,b}.sh; pytest \"$(pwd)/../e2e\""), ["/p/spec", "/p/ci", "/p/e2e"]);
/// assert_eq!(named("make CONF=../c.mk"), ["/p/c.mk"]);
/// assert_eq!(named("PYTHONPATH=../lib:/opt TMPDIR=/tmp py.test"), ["/p/lib", "/opt"]);
/// assert!(named("cargo test --target-dir ../t && pytest --junitxml=/tmp/x.xml | tee ../log").is_empty());
/// assert!(named("cargo test --manifest-path=./Cargo.toml 2>/dev/null && ls /p/work/a").is_empty());
/// ```
#[must_use]
pub fn named_outside(command: &str, workspace: &str, home: Option<&str>) -> Vec<String> {
    let mut named = Named::new(workspace, home);
    named.line(command, 0);
    named.found
}

/// A path outside of the workspace that a script names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptPath {
    /// The absolute path.
    pub path: String,
    /// A test runner or make gets it: of a folder everything counts. A script may name other folders for other reasons.
    pub is_judged: bool,
}

/// The same for the text of a shell script or makefile: `own` is the folder that it lies in, `started` the one that it is
/// started in.
///
/// ```
/// use loop_core::policy::outside::named_by_script;
///
/// let named = |text: &str, own: &str| -> Vec<String> {
///     let named = named_by_script(text, own, "/p/work", "/p/work", None).into_iter();
///     named.map(|named| format!("{}{}", named.path, if named.is_judged { " judged" } else { "" })).collect()
/// };
/// let text = "#!/bin/sh\n. \"$(dirname \"$0\")/lib.sh\"\ncd \"$(dirname \"$0\")\" && sh part.sh\n";
/// assert_eq!(named(text, "/p/ci"), ["/p/ci/lib.sh", "/p/ci", "/p/ci/part.sh"]);
/// assert_eq!(named("S=../a.sh; sh $S\npython3 -m pytest ../spec", "/p/work"), ["/p/a.sh", "/p/spec judged"]);
/// ```
#[must_use]
pub fn named_by_script(text: &str, own: &str, started: &str, workspace: &str, home: Option<&str>) -> Vec<ScriptPath> {
    let mut named = Named { folder: started.to_owned(), ..Named::new(workspace, home) };
    named.line(&written_out(text, own), 0);
    let Named { found, judged, .. } = named;
    found.into_iter().map(|path| ScriptPath { is_judged: judged.contains(&path), path }).collect()
}

/// Whether what a file of this name and beginning says is read as lines of a shell.
#[must_use]
pub fn is_shell_text(name: &str, text: &str) -> bool {
    let is_named = [".sh", ".bash", ".mk"].iter().any(|end| name.ends_with(end)) || MAKER_FILES.contains(&name);
    let shebang = text.lines().next().and_then(|first| first.strip_prefix("#!")).unwrap_or_default();
    is_named || shebang.split_whitespace().take(2).any(|word| SHELLS.contains(&name_of(word)))
}

struct Named<'a> {
    workspace: &'a str,
    home: Option<&'a str>,
    /// Where `cd` led.
    folder: String,
    /// The program that is read now is make, or one like it.
    makes: bool,
    /// The command that is read now runs tests or make.
    judges: bool,
    /// It runs what it gets: tests, or lines of a shell.
    runs: bool,
    found: Vec<String>,
    /// Those that a test runner or make gets.
    judged: Vec<String>,
}

impl<'a> Named<'a> {
    fn new(workspace: &'a str, home: Option<&'a str>) -> Self {
        let folder = workspace.to_owned();
        Self {
            workspace,
            home,
            folder,
            makes: false,
            judges: false,
            runs: false,
            found: Vec::new(),
            judged: Vec::new(),
        }
    }

    fn line(&mut self, line: &str, depth: usize) {
        let mut words: Vec<String> = Vec::new();
        let mut is_written = false;
        for token in tokens(line).into_iter().chain([Token::End]) {
            match token {
                // What a command writes does not judge.
                Token::Word(_) if std::mem::take(&mut is_written) => {}
                Token::Word(word) => words.push(word),
                Token::Output => is_written = true,
                Token::Input => {}
                Token::End | Token::Pipe => self.command(&std::mem::take(&mut words), depth),
            }
        }
    }

    fn command(&mut self, words: &[String], depth: usize) {
        self.makes = false;
        self.judges = false;
        self.runs = false;
        let (assigned, rest) = words.split_at(words.len() - behind_first_words(words).len());
        for (name, value) in assigned.iter().filter_map(|word| word.split_once('=')) {
            for path in places_of(name, value, self.workspace, self.home) {
                self.push(path);
            }
        }
        let Some((program, rest)) = rest.split_first() else { return };
        let is_runner = |word: &String| RUNNERS.contains(&name_of(word));
        if program == "cd" {
            let to = rest.iter().find(|word| !word.starts_with('-')).map_or("~", String::as_str);
            if let Some(folder) = self.resolved(&self.folder, to) {
                self.add(&folder);
                self.folder = folder;
            }
            return;
        }
        self.makes = MAKERS.contains(&name_of(program));
        self.judges = self.makes || is_runner(program) || rest.iter().take(2).any(is_runner);
        if self.makes {
            self.add(&self.folder.clone());
        }
        self.word(program);
        self.runs = self.judges || program == "for" || SHELLS.contains(&name_of(program));
        if WRITERS.contains(&program.as_str()) {
            return;
        }
        let is_last_written = LAST_WRITTEN.contains(&program.as_str());
        let read = rest.len().saturating_sub(usize::from(is_last_written));
        let mut before = "";
        for word in rest.iter().take(read) {
            if word.contains([' ', '\n', ';']) && depth < DEPTH_MAX {
                // A line in quotes.
                let folder = self.folder.clone();
                self.line(word, depth + 1);
                self.folder = folder;
            }
            let (option, value) = match word.strip_prefix('-') {
                // `--option=../x`, `-C../x`.
                Some(option) => match option.split_once('=') {
                    Some((option, value)) => (option, value),
                    None => {
                        ("", option.get(1..).filter(|value| value.starts_with(['.', '/', '~'])).unwrap_or_default())
                    }
                },
                // `make CONF=../c.mk`
                None => match word.split_once('=').filter(|(name, _)| self.makes && !name.contains('/')) {
                    Some((_, value)) => (before, value),
                    None => (before, word.as_str()),
                },
            };
            if !is_written_by(option) {
                self.word(value);
            }
            before = word.strip_prefix('-').unwrap_or_default();
        }
    }

    /// A word that may be a path.
    fn word(&mut self, word: &str) {
        let word = word.split("::").next().unwrap_or(word);
        // Of a pattern the whole folder counts: only where it is run.
        if word.contains(PATTERN) && !self.runs {
            return;
        }
        // A `cd` in brackets holds only there: both are possible.
        let folders = [self.folder.clone(), self.workspace.to_owned()];
        for folder in folders {
            let is_outside = !is_below(&folder, self.workspace);
            let is_path = word.starts_with(['/', '~', '$']) || word.split('/').any(|part| part == "..");
            // A runner gets names of folders too: `cd .. && pytest spec`.
            let is_name =
                word.contains(['/', '.']) || self.runs && self.judges && !self.makes && !RUNNERS.contains(&word);
            let is_file = is_name && !word.chars().all(|letter| letter == '.');
            if (is_path || is_outside && is_file)
                && let Some(path) = self.resolved(&folder, word)
            {
                self.add(&path);
            }
        }
    }

    fn add(&mut self, path: &str) {
        if is_below(path, self.workspace) || NO_FILES.iter().any(|none| is_below(path, none)) {
            return;
        }
        if !is_below(self.workspace, path) {
            self.push(path.to_owned());
        } else if self.makes {
            for file in MAKER_FILES {
                self.push(format!("{}/{file}", path.trim_end_matches('/')));
            }
        }
    }

    fn push(&mut self, path: String) {
        if self.judges && !self.judged.contains(&path) {
            self.judged.push(path.clone());
        }
        if self.found.len() < PATHS_MAX && !self.found.contains(&path) {
            self.found.push(path);
        }
    }

    fn resolved(&self, folder: &str, word: &str) -> Option<String> {
        absolute(folder, word, self.workspace, self.home)
    }
}

/// An absolute path without `.` and `..`; none where it is not known before it is run.
fn absolute(folder: &str, word: &str, workspace: &str, home: Option<&str>) -> Option<String> {
    let behind = |begins: &[&str]| begins.iter().find_map(|begin| word.strip_prefix(begin));
    let path = if let Some(rest) = behind(&["~/", "$HOME/", "${HOME}/"]) {
        format!("{}/{rest}", home?)
    } else if matches!(word, "~" | "$HOME" | "${HOME}") {
        home?.to_owned()
    } else if let Some(rest) = behind(&["$PWD/", "${PWD}/", "$(pwd)/"]) {
        format!("{workspace}/{rest}")
    } else if word.starts_with('/') {
        word.to_owned()
    } else {
        format!("{folder}/{word}")
    };
    // What a pattern stands for is named by the folder above it.
    let path = match path.find(PATTERN) {
        Some(at) => path.get(..at).and_then(|begin| Some(begin.rsplit_once('/')?.0.to_owned()))?,
        None => path,
    };
    if word.is_empty() || path.contains(['$', '`', '\0', '\n']) || word.starts_with("~") && home.is_none() {
        return None;
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    Some(format!("/{}", parts.join("/")))
}

/// Whether the value of an option is written.
fn is_written_by(option: &str) -> bool {
    option == "o" || WRITTEN.iter().any(|part| option.contains(part))
}

/// Whether a path is another one or lies below it.
fn is_below(path: &str, above: &str) -> bool {
    let above = above.trim_end_matches('/');
    path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether tools read a file of this name also where it lies in a folder above the workspace.
///
/// ```
/// use loop_core::policy::outside::is_read_above;
///
/// assert!(is_read_above("pytest.ini") && is_read_above("package.json") && is_read_above("jest.config.js"));
/// assert!(!is_read_above("notes.md") && !is_read_above("main.py"));
/// ```
#[must_use]
pub fn is_read_above(name: &str) -> bool {
    is_runner_file(name) || is_manifest(name) || ABOVE.contains(&name)
}

/// Whether a file of Python's library is read when Python or a runner starts.
#[must_use]
pub fn is_read_by_python(name: &str) -> bool {
    matches!(name, "sitecustomize.py" | "usercustomize.py" | "entry_points.txt") || name.ends_with(".pth")
}

/// Whether a name in a folder outside of the workspace is looked at.
#[must_use]
pub fn is_looked_at(name: &str, is_folder: bool) -> bool {
    if is_folder { !NOT_READ.contains(&name) } else { !MADE.iter().any(|end| name.ends_with(end)) }
}

/// Whether a name says that the folder that it lies in was made by a build.
#[must_use]
pub fn is_build_mark(name: &str) -> bool {
    BUILD_MARKS.contains(&name)
}

/// How a variable names places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Names {
    /// Files or folders, with `:` between them.
    Places,
    /// Options, some of which have a file.
    Options,
    /// A folder, of which these files count.
    Folder(&'static [&'static str]),
}

/// Variables that name files or folders that a gate reads.
const VARIABLES: &[(&str, Names)] = &[
    ("PYTHONPATH", Names::Places),
    ("NODE_PATH", Names::Places),
    ("RUBYLIB", Names::Places),
    ("PERL5LIB", Names::Places),
    ("MAKEFILES", Names::Options),
    ("BASH_ENV", Names::Places),
    ("ENV", Names::Places),
    ("NPM_CONFIG_USERCONFIG", Names::Places),
    ("npm_config_userconfig", Names::Places),
    ("PIP_CONFIG_FILE", Names::Places),
    ("GIT_CONFIG_GLOBAL", Names::Places),
    ("GOENV", Names::Places),
    ("RUSTC_WRAPPER", Names::Places),
    ("NODE_OPTIONS", Names::Options),
    ("RUBYOPT", Names::Options),
    ("PERL5OPT", Names::Options),
    ("PYTEST_ADDOPTS", Names::Options),
    ("CARGO_HOME", Names::Folder(&["config.toml", "config"])),
    (
        "XDG_CONFIG_HOME",
        Names::Folder(&[
            "pip/pip.conf",
            "git/config",
            "pnpm/rc",
            "uv/uv.toml",
            "mise/config.toml",
            "go/env",
            "npm/npmrc",
        ]),
    ),
];

/// The variables that name places.
pub fn place_variables() -> impl Iterator<Item = &'static str> {
    VARIABLES.iter().map(|(name, _)| *name)
}

/// The absolute paths outside of the workspace that a variable names.
///
/// ```
/// use loop_core::policy::outside::places_of;
///
/// let places = |name: &str, value: &str| places_of(name, value, "/p/work", Some("/h/a"));
/// assert_eq!(places("PYTHONPATH", "/opt/lib:src:../shared"), ["/opt/lib", "/p/shared"]);
/// assert_eq!(places("NODE_OPTIONS", "--max-old-space-size=9 --require=/opt/hook.js"), ["/opt/hook.js"]);
/// assert_eq!(places("CARGO_HOME", "/h/a/.cargo")[0], "/h/a/.cargo/config.toml");
/// ```
#[must_use]
pub fn places_of(variable: &str, value: &str, workspace: &str, home: Option<&str>) -> Vec<String> {
    let Some((_, names)) = VARIABLES.iter().find(|(name, _)| *name == variable) else { return Vec::new() };
    let words: Vec<String> = match names {
        Names::Places => value.split(':').map(str::to_owned).collect(),
        Names::Options => value.split_whitespace().filter_map(option_file).collect(),
        Names::Folder(files) => files.iter().map(|file| format!("{}/{file}", value.trim_end_matches('/'))).collect(),
    };
    let path = |word: &String| absolute(workspace, word, workspace, home);
    let is_outside = |path: &String| !is_below(path, workspace) && !is_below(workspace, path);
    words.iter().filter(|word| !word.is_empty()).filter_map(path).filter(is_outside).take(PATHS_MAX).collect()
}

/// The file of an option.
fn option_file(word: &str) -> Option<String> {
    let value = word.split_once('=').map_or(word, |(_, value)| value);
    value.contains('/').then(|| value.to_owned())
}
