//! What a project is, from the names of its files and the texts of some: which commands check it, and which files an
//! agent should leave alone, each with its reason. Nothing is run.
//!
//! | file | what is there |
//! |---|---|
//! | `listing` | the files of a project, as host found them, and which of them are read |
//! | `targets` | goals of makefiles, recipes of justfiles, tasks, scripts: the project's own names for its checks |
//! | `node` `python` `rust` `golang` | what each of these languages has |
//! | `others` | languages that need one look each |
//! | `ci` | what continuous integration runs |
//! | `choose` | which of the commands found are proposed |
//! | `protect` | which files should be protected |
//! | `plan` | the settings file that is proposed |
mod choose;
mod ci;
mod golang;
mod listing;
mod node;
mod others;
mod plan;
mod protect;
mod python;
mod rust;
mod targets;

use serde::Serialize;

pub use listing::{ProjectListing, is_read, is_skipped_folder};
pub use plan::{PlannedGate, PlannedLine, ProjectFilePlan};

use self::ci::CiLines;
use crate::agent::shell_words::quoted;

/// What a command shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckUse {
    /// The tests pass.
    Test,
    /// A linter has nothing to say.
    Lint,
    /// The types fit.
    Types,
    /// It builds.
    Build,
    /// How quick it is.
    Bench,
    /// No known hole, as far as a scanner sees it.
    Audit,
}

impl CheckUse {
    /// All of them, in their order.
    pub const ALL: [Self; 6] = [Self::Test, Self::Lint, Self::Types, Self::Build, Self::Bench, Self::Audit];

    /// Its word in files.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Test => "test",
            Self::Lint => "lint",
            Self::Types => "types",
            Self::Build => "build",
            Self::Bench => "bench",
            Self::Audit => "audit",
        }
    }

    /// The use of a word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.word() == word)
    }
}

/// A command that checks the project, or a part of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProposedCheck {
    /// What it shows.
    #[serde(rename = "use")]
    pub shows: CheckUse,
    /// A name for the gate; no two have the same.
    pub name: String,
    /// The shell command, from the root of the project.
    pub command: String,
    /// Why it is proposed, in one sentence without a full stop.
    pub reason: String,
}

/// A path that an agent should leave alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProposedPath {
    /// As in a `.gitignore`.
    pub glob: String,
    /// Why it is proposed.
    pub reason: String,
}

/// What is proposed for a project.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ProjectProposals {
    /// Languages and tools of the project with their folders: `rust`, `node in web`.
    pub parts: Vec<String>,
    /// Commands, by what they show, the most important of each first.
    pub checks: Vec<ProposedCheck>,
    /// So many more commands were found and are not named.
    pub more_checks: usize,
    /// What should be protected.
    pub protect: Vec<ProposedPath>,
    /// How many files are tests, by their names.
    pub test_files: usize,
}

impl ProjectProposals {
    /// The commands that show one thing, the most important first.
    pub fn showing(&self, shows: CheckUse) -> impl Iterator<Item = &ProposedCheck> {
        self.checks.iter().filter(move |check| check.shows == shows)
    }

    /// The command that a loop should end by: the tests, else that it builds.
    #[must_use]
    pub fn promise(&self) -> Option<&ProposedCheck> {
        self.showing(CheckUse::Test).next().or_else(|| self.showing(CheckUse::Build).next())
    }
}

/// What is proposed for the project with these files.
///
/// ```
/// use loop_core::project::{ProjectListing, propose};
///
/// let mut files = ProjectListing::default();
/// files.add("package.json", false, Some(r#"{"scripts": {"test": "jest"}}"#.to_owned()));
/// let proposed = propose(&files);
/// let promise = proposed.promise().unwrap();
/// assert_eq!((promise.command.as_str(), promise.reason.as_str()), ("npm test", "package.json has a script test"));
/// ```
#[must_use]
pub fn propose(listing: &ProjectListing) -> ProjectProposals {
    let ci = CiLines::of(listing);
    let mut found = Vec::new();
    for folder in listing.folders() {
        let part = Part { listing, ci: &ci, folder };
        for look in LOOKS {
            found.extend(look(&part));
        }
    }
    let test_files = listing.paths().filter(|path| crate::policy::protect::is_test_path(path)).count();
    let chosen = choose::choose(found, &ci);
    let protect = protect::proposed(listing, &chosen.checks);
    ProjectProposals { parts: chosen.parts, checks: chosen.checks, more_checks: chosen.more, protect, test_files }
}

/// What is looked for in each folder.
const LOOKS: [fn(&Part<'_>) -> Vec<Candidate>; 6] = [
    targets::candidates,
    rust::candidates,
    golang::candidates,
    python::candidates,
    others::candidates,
    node::candidates,
];

/// One folder of a project.
#[derive(Debug, Clone, Copy)]
struct Part<'a> {
    listing: &'a ProjectListing,
    ci: &'a CiLines,
    /// From the root; empty for the root.
    folder: &'a str,
}

impl<'a> Part<'a> {
    fn has(&self, name: &str) -> bool {
        self.listing.has(&self.path(name))
    }

    /// The text of a file of this folder; empty where there is none.
    fn text(&self, name: &str) -> &'a str {
        self.listing.text(&self.path(name))
    }

    /// The path of a file of this folder, from the root.
    fn path(&self, name: &str) -> String {
        crate::policy::protect::paths::joined(self.folder, name)
    }

    /// The first of these files that is there.
    fn first<'n>(&self, names: &[&'n str]) -> Option<&'n str> {
        names.iter().copied().find(|name| self.has(name))
    }

    /// The paths below this folder, from it.
    fn below(&self) -> impl Iterator<Item = &'a str> {
        let folder = self.folder;
        self.listing.paths().filter_map(move |path| {
            if folder.is_empty() { Some(path) } else { path.strip_prefix(folder)?.strip_prefix('/') }
        })
    }

    /// A command in this folder.
    fn check(&self, shows: CheckUse, language: Language, command: &str, reason: String) -> Candidate {
        let whole = if self.folder.is_empty() {
            command.to_owned()
        } else {
            format!("cd {} && {command}", quoted(self.folder))
        };
        Candidate {
            shows,
            language,
            folder: self.folder.to_owned(),
            bare: command.to_owned(),
            command: whole,
            reason,
            runs: None,
            covers_below: false,
        }
    }
}

/// A language or tool that has checks of its own. The order is that of the gates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Language {
    /// The project's own names for its checks.
    Target,
    Rust,
    Go,
    Jvm,
    Dotnet,
    Python,
    Ruby,
    Php,
    Elixir,
    Swift,
    Dart,
    C,
    Node,
    Deno,
    /// A script of the project.
    Script,
}

impl Language {
    const fn word(self) -> &'static str {
        match self {
            Self::Target => "make",
            Self::Rust => "rust",
            Self::Go => "go",
            Self::Jvm => "jvm",
            Self::Dotnet => "dotnet",
            Self::Python => "python",
            Self::Ruby => "ruby",
            Self::Php => "php",
            Self::Elixir => "elixir",
            Self::Swift => "swift",
            Self::Dart => "dart",
            Self::C => "c",
            Self::Node => "node",
            Self::Deno => "deno",
            Self::Script => "script",
        }
    }

    /// Words of commands that run tests of this language.
    const fn programs(self) -> &'static [&'static str] {
        match self {
            Self::Rust => &["cargo"],
            Self::Go => &["go", "gotestsum"],
            Self::Jvm => &["gradle", "gradlew", "mvn", "mvnw"],
            Self::Dotnet => &["dotnet"],
            Self::Python => &["python", "python3", "pytest", "tox", "nox", "uv", "poetry", "pipenv", "pdm", "hatch"],
            Self::Ruby => &["rake", "rspec", "bundle", "ruby"],
            Self::Php => &["php", "phpunit", "composer"],
            Self::Elixir => &["mix"],
            Self::Swift => &["swift"],
            Self::Dart => &["dart", "flutter"],
            Self::C => &["ctest", "cmake", "meson", "ninja", "gcc", "cc", "clang"],
            Self::Node => &["npm", "npx", "yarn", "pnpm", "node", "jest", "vitest", "mocha", "bun"],
            Self::Deno => &["deno"],
            Self::Target | Self::Script => &[],
        }
    }
}

/// A command that was found.
#[derive(Debug, Clone)]
struct Candidate {
    shows: CheckUse,
    language: Language,
    folder: String,
    /// Without its folder, as continuous integration would write it.
    bare: String,
    command: String,
    reason: String,
    /// What it runs, where that is known: the lines of a target.
    runs: Option<String>,
    /// Whether it also checks what lies below, of the same language.
    covers_below: bool,
}

impl Candidate {
    /// The same, which also checks what lies below.
    fn covering(self) -> Self {
        Self { covers_below: true, ..self }
    }
}
