//! What a file is for a probe, by its name.
use crate::policy::protect::{is_target_file, is_test_path};

/// Folders of what tests read, and of tests that the usual names do not know.
const TEST_FOLDERS: &[&str] = &[
    "fixtures",
    "__fixtures__",
    "fixture",
    "golden",
    "goldens",
    "snapshots",
    "testdata",
    "test-data",
    "test_data",
    "t",
];
/// What is installed, and how: new tests may need it.
const MANIFESTS: &[&str] = &[
    "package.json",
    "pyproject.toml",
    "Cargo.toml",
    "setup.py",
    "setup.cfg",
    "go.mod",
    "go.work",
    "Gemfile",
    "composer.json",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "settings.gradle",
    "deno.json",
    "bunfig.toml",
    "Pipfile",
    "environment.yml",
    "requirements.txt",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "pnpm-workspace.yaml",
    "bun.lock",
    "bun.lockb",
    "Cargo.lock",
    "go.sum",
    "poetry.lock",
    "uv.lock",
    "pdm.lock",
    "Pipfile.lock",
    "Gemfile.lock",
    "composer.lock",
    "gradle.lockfile",
    "rust-toolchain",
    "rust-toolchain.toml",
    ".python-version",
    ".nvmrc",
    ".node-version",
    ".tool-versions",
];
/// How files are loaded and tests are run.
const SETTINGS: &[&str] = &[
    "noxfile.py",
    "nextest.toml",
    ".npmrc",
    ".coveragerc",
    "tsconfig.json",
    "babel.config.js",
    ".babelrc",
    ".taprc",
    "sitecustomize.py",
    "usercustomize.py",
    "Taskfile.yml",
    "phpunit.xml",
    ".rspec",
    "CMakeLists.txt",
    ".gitignore",
    ".gitattributes",
];
const SETTINGS_BEGIN: &[&str] = &[
    "requirements-",
    "requirements_",
    "jest.",
    "vitest.",
    "vite.config.",
    "karma.conf.",
    "tsconfig.",
    "playwright.config.",
];
const DOCUMENTS: &[&str] = &["md", "markdown", "rst", "adoc", "txt", "pdf", "png", "jpg", "jpeg", "gif", "svg"];

/// What a file is for a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileRole {
    /// A test, or what tests read.
    Test,
    /// It says how tests are run, or what is installed. It stays with the tests.
    Setup,
    /// For people: no gate is expected to notice it.
    Document,
    /// What the tests are about.
    Source,
}

/// What a file is, by its name. `gate_files` are the scripts that the gates run.
///
/// ```
/// use loop_core::policy::probe::{FileRole, role_of};
///
/// assert_eq!(role_of("tests/data/a.json", &[]), FileRole::Test);
/// assert_eq!(role_of("Cargo.lock", &[]), FileRole::Setup);
/// assert_eq!(role_of("check.sh", &["check.sh".to_owned()]), FileRole::Setup);
/// assert_eq!(role_of("src/lib.rs", &[]), FileRole::Source);
/// ```
#[must_use]
pub fn role_of(path: &str, gate_files: &[String]) -> FileRole {
    let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    let in_tests = above.split('/').any(|part| TEST_FOLDERS.contains(&part));
    if is_test_path(path) || in_tests || ending == "snap" || matches!(stem, "test" | "tests") && !ending.is_empty() {
        return FileRole::Test;
    }
    let is_setup = is_target_file(name)
        || MANIFESTS.contains(&name)
        || SETTINGS.contains(&name)
        || SETTINGS_BEGIN.iter().any(|begin| name.starts_with(begin))
        || ending == "mk"
        || above.split('/').any(|part| part == ".cargo")
        || gate_files.iter().any(|file| file == path);
    if is_setup {
        return FileRole::Setup;
    }
    if DOCUMENTS.contains(&ending.to_ascii_lowercase().as_str()) || above.split('/').any(|part| part == ".github") {
        return FileRole::Document;
    }
    FileRole::Source
}
