//! Files that tell a test runner what to do and are nothing else, and what a change of a file may mean for the gates.
use serde::{Deserialize, Serialize};

use super::is_test_path;
use super::paths::matches_path;
use super::uses::names::is_check_folder;
use crate::agent::ADAPTERS;

/// Names of such files, with at most one `*`; those with a `/` are paths from the workspace or a folder in it.
const RUNNER_FILES: &[&str] = &[
    // Python
    "pytest.ini",
    ".pytest.ini",
    "pytest.toml",
    ".pytest.toml",
    "tox.ini",
    "conftest.py",
    "noxfile.py",
    ".coveragerc",
    // JavaScript
    "jest.config.*",
    "jest.setup.*",
    "vitest.config.*",
    "vitest.workspace.*",
    "vitest.setup.*",
    "playwright.config.*",
    "cypress.config.*",
    "karma.conf.*",
    "ava.config.*",
    ".mocharc*",
    ".nycrc*",
    ".c8rc*",
    ".taprc",
    ".npmrc",
    ".yarnrc*",
    "bunfig.toml",
    // Rust
    ".cargo/config.toml",
    ".cargo/config",
    ".config/nextest.toml",
    "rust-toolchain.toml",
    "rust-toolchain",
    // Others
    ".rspec",
    "phpunit.xml*",
    ".bats.conf",
];
/// Where these are new, a runner reads them too.
const NEW_RUNNER_FILES: &[&str] = &[
    "sitecustomize.py",
    "usercustomize.py",
    "build.rs",
    "GNUmakefile",
    "makefile",
    "Makefile",
    "*.mk",
    "*.pth",
    "setup.cfg",
    ".pythonrc",
    "rustfmt.toml",
    ".rustfmt.toml",
    "clippy.toml",
    ".clippy.toml",
    ".eslintrc*",
    "eslint.config.*",
    "babel.config.*",
    ".babelrc*",
    "ruff.toml",
    ".ruff.toml",
    "mypy.ini",
    ".env",
    "*.env",
    ".envrc",
    "go.work",
    "entry_points.txt",
    ".python-version",
    ".tool-versions",
    "mise.toml",
];
/// Modules that a runner imports: a file of this name in a folder that Python searches first takes their place.
const SHADOWED: &[&str] = &[
    "pytest",
    "_pytest",
    "unittest",
    "pluggy",
    "iniconfig",
    "nose",
    "nose2",
    "coverage",
    "tox",
    "hypothesis",
    "doctest",
    "json",
    "os",
    "sys",
    "re",
    "io",
    "ast",
    "abc",
    "site",
    "types",
    "typing",
    "enum",
    "math",
    "random",
    "time",
    "datetime",
    "subprocess",
    "pathlib",
    "shutil",
    "tempfile",
    "logging",
    "argparse",
    "importlib",
    "inspect",
    "functools",
    "itertools",
    "collections",
    "contextlib",
    "dataclasses",
    "copy",
    "string",
    "struct",
    "traceback",
    "warnings",
    "pprint",
    "difflib",
    "operator",
    "platform",
    "signal",
    "socket",
    "threading",
    "tokenize",
    "textwrap",
    "numbers",
    "decimal",
    "fractions",
    "statistics",
    "csv",
    "hashlib",
    "glob",
    "fnmatch",
    "runpy",
    "code",
    "codecs",
    "builtins",
    "array",
    "asyncio",
    "atexit",
    "base64",
    "bisect",
    "bz2",
    "calendar",
    "cgi",
    "cmd",
    "codeop",
    "colorsys",
    "compileall",
    "concurrent",
    "configparser",
    "contextvars",
    "copyreg",
    "ctypes",
    "curses",
    "dbm",
    "dis",
    "email",
    "encodings",
    "errno",
    "faulthandler",
    "fcntl",
    "filecmp",
    "fileinput",
    "ftplib",
    "gc",
    "genericpath",
    "getopt",
    "getpass",
    "gettext",
    "graphlib",
    "grp",
    "gzip",
    "heapq",
    "hmac",
    "html",
    "http",
    "imaplib",
    "imp",
    "ipaddress",
    "keyword",
    "linecache",
    "locale",
    "lzma",
    "mailbox",
    "marshal",
    "mimetypes",
    "mmap",
    "modulefinder",
    "multiprocessing",
    "netrc",
    "nntplib",
    "ntpath",
    "nturl2path",
    "opcode",
    "optparse",
    "pdb",
    "pickle",
    "pickletools",
    "pkgutil",
    "plistlib",
    "poplib",
    "posix",
    "posixpath",
    "profile",
    "pstats",
    "pty",
    "pwd",
    "py_compile",
    "pyclbr",
    "pydoc",
    "queue",
    "quopri",
    "readline",
    "reprlib",
    "resource",
    "rlcompleter",
    "sched",
    "secrets",
    "select",
    "selectors",
    "shelve",
    "shlex",
    "smtplib",
    "sndhdr",
    "socketserver",
    "sqlite3",
    "sre_compile",
    "sre_constants",
    "sre_parse",
    "ssl",
    "stat",
    "stringprep",
    "symtable",
    "sysconfig",
    "tarfile",
    "termios",
    "timeit",
    "tkinter",
    "token",
    "tomllib",
    "trace",
    "tracemalloc",
    "tty",
    "turtle",
    "unicodedata",
    "urllib",
    "uu",
    "uuid",
    "venv",
    "wave",
    "weakref",
    "webbrowser",
    "winreg",
    "wsgiref",
    "xml",
    "xmlrpc",
    "zipapp",
    "zipfile",
    "zipimport",
    "zlib",
    "zoneinfo",
    "mock",
    "packaging",
    "attr",
    "attrs",
    "py",
    "numpy",
    "pandas",
    "yaml",
    "requests",
    "parameterized",
    "ddt",
    "hamcrest",
    "assertpy",
    "freezegun",
    "responses",
    "toml",
    "tomli",
    "pygments",
    "exceptiongroup",
    "colorama",
    "setuptools",
    "pkg_resources",
    "xdist",
    "pytest_cov",
    "pytest_asyncio",
    "pytest_mock",
];
/// Further modules of Python's library. Some are the compiled part of another one (`_json`), which is imported first.
const SHADOWED_FURTHER: &str = "\
    __future__ _abc _ast _asyncio _bisect _blake2 _bz2 _codecs _collections _collections_abc _colorize _compat_pickle \
    _compression _contextvars _csv _ctypes _curses _datetime _dbm _decimal _elementtree _functools _hashlib _heapq _io \
    _json _locale _lsprof _lzma _markupbase _md5 _multibytecodec _multiprocessing _opcode _operator _pickle \
    _posixshmem _posixsubprocess _py_abc _pydatetime _pydecimal _pyio _pyrepl _queue _random _sha1 _sha2 _sha256 \
    _sha3 _sha512 _signal _sitebuiltins _socket _sqlite3 _ssl _stat _statistics _string _strptime _struct _suggestions \
    _symtable _sysconfig _thread _threading_local _tkinter _tokenize _tracemalloc _typing _uuid _warnings _weakref \
    _weakrefset _winapi _zoneinfo aifc annotationlib asynchat asyncore bdb binascii cProfile cgitb chunk cmath \
    compression crypt distutils ensurepip imghdr lib2to3 mailcap msvcrt nis nt pipes pydoc_data pyexpat smtpd spwd \
    sunau syslog tabnanny telnetlib this winsound xdrlib";
/// Ends of names of a module, the compiled ones too.
const MODULE_ENDS: &[&str] = &["py", "pyc", "so", "pyd"];
/// Manifests, of which a runner reads a part.
const MANIFESTS: &[&str] =
    &["package.json", "pyproject.toml", "Cargo.toml", "setup.cfg", "composer.json", "deno.json", "deno.jsonc"];
/// What CI and hooks run. Lists of dependencies and the like are not named: honest work changes them.
const NAMED_FILES: &[&str] =
    &[".gitlab-ci.yml", "Jenkinsfile", ".github/", ".circleci/", ".husky/", ".githooks/", ".ci/"];

/// Whether a file only tells a test runner what to do.
///
/// ```
/// use loop_core::policy::protect::is_runner_file;
///
/// assert!(is_runner_file("pytest.ini") && is_runner_file("web/jest.config.ts") && is_runner_file(".cargo/config.toml"));
/// assert!(!is_runner_file("package.json") && !is_runner_file("src/config.toml"));
/// ```
#[must_use]
pub fn is_runner_file(path: &str) -> bool {
    matches_any(RUNNER_FILES, path)
}

fn matches_any(patterns: &[&str], path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    patterns.iter().any(|pattern| match pattern.contains('/') {
        true => path == *pattern || path.strip_suffix(pattern).is_some_and(|above| above.ends_with('/')),
        false => matches_path(pattern, name),
    })
}

/// Something that an agent changed and that could make a gate pass without the work. It is no proof of anything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opportunity {
    /// What it is.
    pub kind: OpportunityKind,
    /// Where, as facts write paths.
    pub path: String,
}

/// What an agent changed that a gate may depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OpportunityKind {
    /// A test of the baseline was changed or removed.
    ChangedTest,
    /// A file is new, or another one, that a test runner reads by itself.
    NewRunnerFile,
    /// The part of a manifest that a test runner reads was changed.
    ChangedManifest,
    /// A file that the gates or the tests use or name, or a manifest that leads their imports elsewhere. It is only named.
    GateFile,
    /// A file of the gates that a person allowed to change. It is only named.
    AllowedFile,
    /// A link that leads out of the workspace. It is only named.
    OutsideLink,
    /// A line that a person should look at, with its place. It is only named.
    SuspectLine,
}

/// What became of a file between the start and the pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileChange {
    /// It was not there.
    New,
    /// It is another one.
    Changed,
    /// It is gone.
    Removed,
}

/// Whether a test runner reads a part of a file, and other programs the rest.
#[must_use]
pub fn is_manifest(name: &str) -> bool {
    MANIFESTS.contains(&name)
}

/// What the change of a file may mean for the gates. Of a manifest only that it is one: whether the part that a runner
/// reads was changed is another question.
///
/// ```
/// use loop_core::policy::protect::{FileChange, OpportunityKind, opportunity};
///
/// assert_eq!(opportunity("conftest.py", FileChange::New), Some(OpportunityKind::NewRunnerFile));
/// assert_eq!(opportunity("tests/test_a.py", FileChange::Changed), Some(OpportunityKind::ChangedTest));
/// assert_eq!(opportunity("tests/test_new.py", FileChange::New), None);
/// assert_eq!(opportunity("src/calc.py", FileChange::Changed), None);
/// ```
#[must_use]
pub fn opportunity(path: &str, change: FileChange) -> Option<OpportunityKind> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let reads = is_runner_file(path) || matches_any(NEW_RUNNER_FILES, path);
    match change {
        FileChange::New if is_manifest(name) => Some(OpportunityKind::NewRunnerFile),
        _ if is_manifest(name) => Some(OpportunityKind::ChangedManifest),
        _ if is_runner_file(path) => Some(OpportunityKind::NewRunnerFile),
        FileChange::New if reads || shadows(path) => Some(OpportunityKind::NewRunnerFile),
        FileChange::Changed | FileChange::Removed if is_test_path(path) || is_checks_package(path) => {
            Some(OpportunityKind::ChangedTest)
        }
        FileChange::New | FileChange::Changed | FileChange::Removed => None,
    }
}

/// Whether a file makes a package of a folder of checks: without it unittest does not search there.
fn is_checks_package(path: &str) -> bool {
    let above = path.strip_suffix("/__init__.py");
    above.is_some_and(|above| above.split('/').any(is_check_folder))
}

/// Whether a file takes the place of a module that runners import: at the top, or in a folder of checks or tests.
fn shadows(path: &str) -> bool {
    let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
    // `_json.cpython-312-x86_64-linux-gnu.so` is the module `_json`.
    let stem = name.split('.').next().unwrap_or(name);
    if !name.rsplit_once('.').is_some_and(|(_, ending)| MODULE_ENDS.contains(&ending)) {
        return false;
    }
    let (above, module) = match stem {
        "__init__" => above.rsplit_once('/').unwrap_or(("", above)),
        stem => (above, stem),
    };
    let searched = above.is_empty()
        || above.split('/').all(|part| matches!(part, "src" | "lib" | "test" | "tests" | "t") || is_check_folder(part));
    searched && (SHADOWED.contains(&module) || SHADOWED_FURTHER.split_whitespace().any(|known| known == module))
}

/// Whether a change of a file is named and nothing else: instructions and settings of agents, and what CI and hooks run.
///
/// ```
/// use loop_core::policy::protect::is_named_only;
///
/// assert!(is_named_only("CLAUDE.md") && is_named_only(".github/workflows/ci.yml") && !is_named_only("README.md"));
/// ```
#[must_use]
pub fn is_named_only(path: &str) -> bool {
    let of_agents = ADAPTERS.iter().flat_map(|agent| agent.own_files);
    NAMED_FILES.iter().chain(of_agents).any(|named| match named.ends_with('/') {
        true => path.starts_with(named),
        false => matches_any(&[named], path),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_disarm_a_gate_is_an_opportunity_and_other_work_is_not() {
        use FileChange::{Changed, New, Removed};
        use OpportunityKind::{ChangedManifest, ChangedTest, NewRunnerFile};
        for (path, change, kind) in [
            ("conftest.py", New, NewRunnerFile),
            ("sub/conftest.py", Changed, NewRunnerFile),
            ("pytest.ini", New, NewRunnerFile),
            ("pytest.toml", New, NewRunnerFile),
            ("sub/.pytest.toml", Changed, NewRunnerFile),
            (".npmrc", New, NewRunnerFile),
            (".cargo/config.toml", New, NewRunnerFile),
            ("build.rs", New, NewRunnerFile),
            ("sitecustomize.py", New, NewRunnerFile),
            ("pytest.py", New, NewRunnerFile),
            ("pytest/__init__.py", New, NewRunnerFile),
            ("tools/json.py", New, NewRunnerFile),
            ("_json.py", New, NewRunnerFile),
            ("bdb.pyc", New, NewRunnerFile),
            ("tests/_struct.cpython-312-x86_64-linux-gnu.so", New, NewRunnerFile),
            ("_bisect/__init__.py", New, NewRunnerFile),
            ("pygments/__init__.pyc", New, NewRunnerFile),
            ("pyproject.toml", New, NewRunnerFile),
            ("package.json", Changed, ChangedManifest),
            ("tests/test_a.py", Changed, ChangedTest),
            ("pkg/a_test.go", Removed, ChangedTest),
        ] {
            assert_eq!(opportunity(path, change), Some(kind), "{path}");
        }
        for (path, change) in [
            ("src/a.py", Changed),
            ("tests/test_b.py", New),
            ("build.rs", Changed),
            ("app/models/json.py", New),
            ("_sums.py", New),
            ("json.md", New),
            ("json", New),
            ("json/notes.py", New),
            ("_json.py", Changed),
            ("README.md", New),
            ("package-lock.json", Changed),
        ] {
            assert_eq!(opportunity(path, change), None, "{path}");
        }
    }
}
