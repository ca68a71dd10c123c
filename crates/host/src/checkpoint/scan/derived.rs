//! Names of files and folders that tools build from sources. They are no work of the agent.

/// Folders that are always made, never written.
const MADE: &[&str] = &[
    ".git",
    ".hg",
    ".svn",
    ".jj",
    "node_modules",
    "target",
    ".venv",
    "venv",
    "__pycache__",
    ".tox",
    ".nox",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".gradle",
    ".next",
    ".nuxt",
    ".svelte-kit",
    ".turbo",
    ".parcel-cache",
    ".cache",
    ".nyc_output",
    ".terraform",
    "bower_components",
    ".eggs",
];
/// Folders that are most often made; where they are ignored too, they are.
const MOSTLY_MADE: &[&str] = &[
    "dist",
    "build",
    "out",
    "obj",
    "bin",
    "coverage",
    "htmlcov",
    "_build",
    "deps",
    "vendor",
    "tmp",
    "temp",
    "log",
    "logs",
    ".idea",
    ".vscode",
    "DerivedData",
    "cmake-build-debug",
    "cmake-build-release",
];
/// Names of files.
const FILES: &[&str] = &[".DS_Store", "Thumbs.db", ".coverage", "lcov.info", ".eslintcache", "nohup.out", "core"];
/// How the names of files end.
const ENDS: &[&str] = &[
    ".pyc",
    ".pyo",
    ".log",
    ".tmp",
    ".temp",
    ".swp",
    ".swo",
    ".bak",
    ".o",
    ".obj",
    ".a",
    ".so",
    ".dylib",
    ".dll",
    ".exe",
    ".class",
    ".jar",
    ".rlib",
    ".rmeta",
    ".d",
    ".gch",
    ".gcda",
    ".gcno",
    ".profraw",
    ".pid",
    ".lock",
    ".tsbuildinfo",
    "~",
];

/// Whether a folder of this name is made from the sources wherever it lies.
pub(crate) fn is_made(folder: &[u8]) -> bool {
    MADE.iter().any(|name| name.as_bytes() == folder) || folder.ends_with(b".egg-info")
}

/// Whether an ignored name is usually built by tools, so that a change of it means nothing.
pub(crate) fn is_derived(name: &[u8], is_folder: bool) -> bool {
    if is_folder {
        return is_made(name) || MOSTLY_MADE.iter().any(|known| known.as_bytes() == name);
    }
    FILES.iter().any(|known| known.as_bytes() == name) || ENDS.iter().any(|end| name.ends_with(end.as_bytes()))
}
