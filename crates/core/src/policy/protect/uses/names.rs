//! What the name of a file says: a check, the product, a makefile.
use crate::policy::protect::paths::name_of;

/// Names of folders in which checks lie.
const CHECK_FOLDERS: &[&str] = &[
    "tools",
    "tool",
    "scripts",
    "script",
    "ci",
    ".ci",
    "checks",
    "check",
    "hack",
    "qa",
    "dev",
    "devtools",
    "build-aux",
    "t",
    "test",
    "tests",
    "spec",
    "e2e",
    "testing",
    ".github",
    ".gitlab",
];
/// Names of folders in which the product lies.
const PRODUCT_FOLDERS: &[&str] =
    &["src", "lib", "app", "apps", "bin", "sbin", "libexec", "cmd", "pkg", "internal", "packages", "crates"];
/// Names of the product's own programs.
const PRODUCT_STEMS: &[&str] = &["main", "index", "app", "server", "cli"];
/// Parts of a name that say that it is a check.
const CHECK_WORDS: &[&str] = &["test", "check", "verify", "lint", "assert", "spec", "ci-", "-ci", "_ci", "ci_"];

/// Whether a folder of this name holds checks, and no tests.
pub(in crate::policy::protect) fn is_check_folder(name: &str) -> bool {
    CHECK_FOLDERS.contains(&name) && !is_test_folder(name)
}

fn is_test_folder(name: &str) -> bool {
    matches!(name, "t" | "test" | "tests" | "spec" | "e2e" | "testing")
}

pub(in crate::policy::protect) fn is_makefile(path: &str) -> bool {
    let name = name_of(path);
    matches!(name, "Makefile" | "makefile" | "GNUmakefile" | "justfile" | "Justfile" | ".justfile")
        || matches!(name, "Taskfile.yml" | "Taskfile.yaml")
        || name.ends_with(".mk")
        || name.ends_with(".just")
}

pub(in crate::policy::protect) fn looks_like_check(path: &str) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.split('.').next().unwrap_or(name);
    CHECK_WORDS.iter().any(|word| name.to_ascii_lowercase().contains(word))
        || matches!(stem, "ci" | "run" | "lib" | "helper" | "helpers" | "common" | "setup" | "functions")
        || folders.split('/').any(|folder| CHECK_FOLDERS.contains(&folder))
}

pub(in crate::policy::protect) fn looks_like_product(path: &str) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.split('.').next().unwrap_or(name);
    let by_folder = folders.split('/').any(|folder| PRODUCT_FOLDERS.contains(&folder));
    (by_folder || PRODUCT_STEMS.contains(&stem)) && !looks_like_check(path)
}
