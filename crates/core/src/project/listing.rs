//! The files of a project, as host found them, and which of them are read.
use std::collections::BTreeMap;

use crate::policy::probe::MAKEFILES;
use crate::policy::protect::paths::{folder_of, name_of};

/// The files of a project that were found: not those of dependencies, and none behind a link.
#[derive(Debug, Clone, Default)]
pub struct ProjectListing {
    files: BTreeMap<String, ListedFile>,
}

#[derive(Debug, Clone, Default)]
struct ListedFile {
    is_executable: bool,
    text: Option<String>,
}

impl ProjectListing {
    /// Adds a file. `path` begins at the root of the project; `text` is its content, where it was read.
    pub fn add(&mut self, path: &str, is_executable: bool, text: Option<String>) {
        self.files.insert(path.to_owned(), ListedFile { is_executable, text });
    }

    pub(super) fn has(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    /// The text of a file; empty where there is none.
    pub(super) fn text(&self, path: &str) -> &str {
        self.files.get(path).and_then(|file| file.text.as_deref()).unwrap_or_default()
    }

    pub(super) fn is_executable(&self, path: &str) -> bool {
        self.files.get(path).is_some_and(|file| file.is_executable)
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// The folders that have a file which says how something is checked, the root first. Folders of tests, examples and
    /// fixtures are no parts of the project.
    pub(super) fn folders(&self) -> Vec<&str> {
        let mut folders = vec![""];
        for path in self.paths().filter(|path| is_manifest(name_of(path))) {
            let folder = folder_of(path);
            // No command can name such a folder in a way that a person could read.
            let is_plain = !folder.chars().any(char::is_control);
            if is_plain && !folders.contains(&folder) && !folder.split('/').any(|part| NO_PART.contains(&part)) {
                folders.push(folder);
            }
        }
        folders.sort_by_key(|folder| (folder.split('/').filter(|part| !part.is_empty()).count(), *folder));
        folders
    }
}

/// Folders whose manifests are material of the project, and not parts of it.
const NO_PART: [&str; 15] = [
    "tests",
    "test",
    "testdata",
    "fixtures",
    "fixture",
    "__tests__",
    "__fixtures__",
    "examples",
    "example",
    "samples",
    "templates",
    "template",
    "e2e",
    "third_party",
    "benches",
];

/// Folders that are dependencies, results of a build, or of a tool.
const SKIPPED: [&str; 22] = [
    ".git",
    ".hg",
    ".svn",
    "node_modules",
    "bower_components",
    "target",
    "vendor",
    "venv",
    ".venv",
    "env",
    ".tox",
    ".nox",
    "__pycache__",
    "dist",
    "build",
    "out",
    "_build",
    "deps",
    "Pods",
    "DerivedData",
    "coverage",
    "site-packages",
];
/// Hidden folders that are looked into.
const HIDDEN: [&str; 7] = [".github", ".gitlab", ".circleci", ".forgejo", ".gitea", ".cargo", ".config"];

/// Whether a folder of this name is not looked into.
#[must_use]
pub fn is_skipped_folder(name: &str) -> bool {
    SKIPPED.contains(&name) || name.starts_with('.') && !HIDDEN.contains(&name)
}

/// Files that say how a folder is built or checked.
const MANIFESTS: [&str; 29] = [
    "package.json",
    "pnpm-workspace.yaml",
    "Cargo.toml",
    "clippy.toml",
    "pyproject.toml",
    "pytest.ini",
    "tox.ini",
    "setup.cfg",
    "requirements.txt",
    "requirements-dev.txt",
    "dev-requirements.txt",
    "Pipfile",
    "go.mod",
    "CMakeLists.txt",
    "build.gradle",
    "build.gradle.kts",
    "settings.gradle",
    "settings.gradle.kts",
    "pom.xml",
    "composer.json",
    "Gemfile",
    "Rakefile",
    "deno.json",
    "deno.jsonc",
    "justfile",
    "Justfile",
    ".justfile",
    "Taskfile.yml",
    "Taskfile.yaml",
];
/// The same, without a text that counts.
const NAMES: [&str; 14] = [
    "setup.py",
    "noxfile.py",
    "conftest.py",
    "manage.py",
    "mix.exs",
    "Package.swift",
    "pubspec.yaml",
    "meson.build",
    "gradlew",
    "mvnw",
    "phpunit.xml",
    "phpunit.xml.dist",
    "go.work",
    "deny.toml",
];

fn is_manifest(name: &str) -> bool {
    let is_dotnet = [".sln", ".slnx", ".csproj", ".fsproj"].iter().any(|end| name.ends_with(end));
    is_dotnet || MANIFESTS.contains(&name) || NAMES.contains(&name) || MAKEFILES.contains(&name)
}

/// Whether the text of this file says something about checks, so that host reads it.
#[must_use]
pub fn is_read(path: &str) -> bool {
    let name = name_of(path);
    let is_python_test = name.starts_with("test_") && name.ends_with(".py");
    MANIFESTS.contains(&name) || MAKEFILES.contains(&name) || is_python_test || super::ci::is_ci_file(path)
}
