//! Lines of a change that a person should look at: they can make a gate pass without the work. They are only named.
//! This is only text matching; an agent can avoid it.

/// Why a line is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SuspectReason {
    /// It asks who runs it.
    AsksWhoRunsIt,
    /// It ends the process that judges, or may.
    EndsTheProcess,
    /// It replaces a part of another module, of the test runner, or a command of the shell.
    ReplacesOthers,
    /// It is equal to everything.
    EqualToAll,
    /// It names what the gates or the tests compare with, or a test.
    ReadsTheTests,
    /// It uses a place outside of the workspace.
    UsesOutside,
    /// It depends on the date.
    DependsOnDate,
    /// It tells a linter to look away.
    SilencesLint,
    /// It sets a variable of the environment.
    SetsVariable,
    /// A test inside a source file was removed or changed.
    LosesTest,
    /// It gives another value to a constant that the tests use.
    ChangesTestValue,
    /// It runs a line, or loads a module, whose name is put together while it runs.
    RunsComposed,
    /// The whole file is too long to be looked through.
    TooLong,
}

impl SuspectReason {
    /// For people, behind the place.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::AsksWhoRunsIt => "asks who runs it",
            Self::EndsTheProcess => "ends the process",
            Self::ReplacesOthers => "replaces what is not its own",
            Self::EqualToAll => "is equal to everything",
            Self::ReadsTheTests => "reads what it is compared with",
            Self::UsesOutside => "uses a place outside",
            Self::DependsOnDate => "depends on the date",
            Self::SilencesLint => "switches a check off",
            Self::SetsVariable => "sets a variable of the environment",
            Self::LosesTest => "a test that was here is gone",
            Self::ChangesTestValue => "changes a value that the tests use",
            Self::RunsComposed => "runs what it puts together",
            Self::TooLong => "the file is too long to be looked through",
        }
    }
}

/// Ends of names of sources.
const SOURCES: &[&str] = &[
    "py", "sh", "bash", "zsh", "js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "c", "cc", "cpp", "cxx", "h",
    "hpp", "rs", "go", "rb", "pl", "php", "java", "kt", "scala", "swift", "cs", "lua", "ex", "exs", "jl", "r", "m",
    "dart", "zig", "hs", "ml", "clj", "erl", "awk", "vue", "svelte",
];
const ASKS: &[&str] = &[
    "PYTEST_",
    "LOOP_MARK",
    "LOOP_ID",
    "LOOP_ITERATION",
    "LOOP_GATE",
    "LOOP_HOME",
    "'LOOP_",
    "\"LOOP_",
    "^LOOP_",
    "JEST_WORKER_ID",
    "NODE_TEST_CONTEXT",
    "VITEST",
    "NEXTEST",
    "PPID",
    "_getframe",
    "inspect.stack",
    "inspect.currentframe",
    "traceback.extract_stack",
    "getppid",
    "/proc/",
    "sys.modules",
    "sys.argv[0]",
    "captureStackTrace",
    "npm_lifecycle",
    "new Error().stack",
    "RUST_TEST",
    "testing.Testing()",
    "\"test.v\"",
    "runtime.Caller",
];
const ENDS: &[&str] = &[
    "os._exit",
    "_exit(",
    "_Exit(",
    "atexit",
    "exit(0)",
    "exit()",
    "quit()",
    "SystemExit(0)",
    "SystemExit()",
    "process.reallyExit",
    "process.exitCode",
    "os.Exit(0)",
    "pytest.exit",
    "((constructor))",
    ".init_array",
    "process.on('exit'",
    "process.on(\"exit\"",
    "os.kill(",
    "os.abort",
    "os.exec",
    "CDLL(None)",
    "process.abort(",
    "process.kill(",
];
/// The same where they stand at the beginning of a line: the module does it when it is loaded.
const ENDS_AT_BEGIN: &[&str] = &["sys.exit(", "raise SystemExit", "exit(", "quit(", "os.fork("];
const REPLACES: &[&str] = &[
    "import _pytest",
    "from _pytest",
    "import pytest",
    "from pytest",
    "import unittest",
    "from unittest",
    "f_globals",
    "f_locals",
    "__globals__",
    "builtins.",
    "__builtins__",
    "def pytest_",
    "sys.settrace",
    "sys.meta_path",
    "gc.get_",
];
/// More words of one language. A product file with one of these words probably knows that it is tested.
struct LanguageWords {
    asks: &'static [&'static str],
    replaces: &'static [&'static str],
    sets: &'static [&'static str],
}

const JAVASCRIPT: LanguageWords = LanguageWords {
    asks: &["node:test", "'vitest'", "\"vitest\"", "@jest/globals"],
    replaces: &[
        "expect.extend",
        "globalThis.test",
        "globalThis.expect",
        "global.test",
        "global.expect",
        "process.exit =",
        "assert.strictEqual =",
        "assert.equal =",
        "assert.ok =",
        "assert.deepStrictEqual =",
        "assert.deepEqual =",
        "').strictEqual =",
        "').equal =",
        "Symbol.for('jest",
        "require.cache",
        "Module._load",
        "Module.prototype",
    ],
    sets: &[],
};
const GO: LanguageWords = LanguageWords {
    asks: &["\"testing\"", "testing.Testing", "\"test.", "\"-test.", "\".test\"", "debug.Stack"],
    replaces: &[],
    sets: &["os.Setenv("],
};
const RUST: LanguageWords = LanguageWords {
    asks: &[
        "cfg!(test)",
        "cfg(not(test))",
        "env::var(\"CARGO",
        "env::var_os(\"CARGO",
        "env::current_exe",
        "env::args().next",
    ],
    replaces: &["set_hook", "macro_rules! assert"],
    sets: &["set_var("],
};
const PYTHON: LanguageWords = LanguageWords {
    asks: &["pytest", "unittest", "currentframe"],
    replaces: REPLACES,
    sets: &["os.environ[", "environ.setdefault", "putenv"],
};
const C: LanguageWords = LanguageWords {
    asks: &[],
    replaces: &["define assert", "undef assert", "define NDEBUG", "define EXPECT_", "define ASSERT_", "define CHECK("],
    sets: &["setenv(", "putenv("],
};
const OTHERS: LanguageWords = LanguageWords { asks: &[], replaces: &[], sets: &[] };

fn language(path: &str) -> &'static LanguageWords {
    match path.rsplit_once('.').map_or("", |(_, end)| end) {
        "js" | "cjs" | "mjs" | "jsx" | "ts" | "mts" | "cts" | "tsx" => &JAVASCRIPT,
        "go" => &GO,
        "rs" => &RUST,
        "py" => &PYTHON,
        "c" | "h" | "cc" | "cpp" | "cxx" | "hpp" => &C,
        _ => &OTHERS,
    }
}

const TESTS: &[&str] = &["tests/", "__tests__", "'test_", "\"test_", "'tests'", "\"tests\""];
const OUTSIDE: &[&str] =
    &["/tmp/", "/dev/shm", "/var/tmp", "expanduser", "$HOME", "${HOME", "TMPDIR", "gettempdir", "~/"];
const CLOCKS: &[&str] = &[
    "time.time()",
    "date +%s",
    "Date.now()",
    "time(NULL)",
    "time(0)",
    ".timestamp()",
    "SystemTime::now",
    "time.Now()",
];
/// What tells the day or the year.
const DATES: &[&str] = &[
    "getFullYear",
    "new Date(",
    "tm_year",
    ".today()",
    ".now()",
    "datetime.date(",
    ".year",
    "strftime",
    "date +%",
    "time.Now()",
    "Utc::now",
    "Local::now",
];
/// How old a file is.
const FILE_AGES: &[&str] = &["-mmin", "-newermt", "-mtime"];
const FILE_TIMES: &[&str] = &["st_mtime", "st_ctime", "getmtime", "getctime", "mtimeMs", ".mtime", ".modified()"];
const SILENCES: &[&str] = &[
    "# noqa",
    "type: ignore",
    "pragma: no cover",
    "eslint-disable",
    "@ts-ignore",
    "@ts-expect-error",
    "@ts-nocheck",
    "#[allow(",
    "#![allow(",
    "nolint",
    "shellcheck disable",
    "istanbul ignore",
    "c8 ignore",
    "v8 ignore",
    "pylint: disable",
];
/// Commands of which a function or an alias in a shell may take the place.
const COMMANDS: &[&str] = &[
    "test", "[", "exit", "return", "set", "trap", "command", "eval", "exec", "cd", "echo", "printf", "read", "kill",
    "diff", "cmp", "grep", "awk", "sed", "cat", "sh", "bash", "make", "python3", "python", "node", "git", "wc", "sort",
    "false",
];

/// Whether a file is a source by its name; a file without an end in its name may be one.
#[must_use]
pub fn is_source_name(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rsplit_once('.') {
        Some((stem, end)) => !stem.is_empty() && SOURCES.contains(&end.to_ascii_lowercase().as_str()),
        None => true,
    }
}

/// Why a new line of a source or of a test should be looked at. `next` is the line behind it.
///
/// ```
/// use loop_core::policy::protect::{SuspectReason, suspect_reason};
///
/// assert_eq!(suspect_reason("calc.py", "    os._exit(0)", ""), Some(SuspectReason::EndsTheProcess));
/// assert_eq!(suspect_reason("calc.py", "    return a + b", ""), None);
/// ```
#[must_use]
pub fn suspect_reason(path: &str, line: &str, next: &str) -> Option<SuspectReason> {
    let bare = line.trim();
    let has = |words: &[&str]| words.iter().any(|word| has_word(line, word));
    let is_shell = path.rsplit_once('.').is_none_or(|(_, end)| matches!(end, "sh" | "bash" | "zsh"));
    let is_comment = is_comment(path, bare);
    let language = language(path);
    let at_begin = !line.starts_with([' ', '\t']);
    if has(SILENCES) {
        return Some(SuspectReason::SilencesLint);
    }
    if is_comment || bare.is_empty() {
        return None;
    }
    let shell_ends = is_shell && ends_shell(bare);
    let ends = at_begin && ENDS_AT_BEGIN.iter().any(|word| bare.starts_with(word));
    if has(ENDS) || ends || shell_ends || has(&["kill"]) && has(&["PPID"]) {
        return Some(SuspectReason::EndsTheProcess);
    }
    let sets_other = || assigns_to_other(line) || at_begin && bare.starts_with("setattr(");
    if is_shell && replaces_command(bare) || path.ends_with(".py") && sets_other() || has(language.replaces) {
        return Some(SuspectReason::ReplacesOthers);
    }
    if !path.ends_with(".py") && assigns_to_runner(line) {
        return Some(SuspectReason::ReplacesOthers);
    }
    let is_true = bare.ends_with("return True") || next.trim().starts_with("return True");
    let equal = bare.starts_with("def __eq__") && is_true;
    if equal || bare.starts_with("__eq__ =") || has(&["asymmetricMatch"]) {
        return Some(SuspectReason::EqualToAll);
    }
    if has(ASKS) || has(language.asks) || path.ends_with(".rs") && is_only_in_tests(bare, next) {
        return Some(SuspectReason::AsksWhoRunsIt);
    }
    if has(TESTS) {
        return Some(SuspectReason::ReadsTheTests);
    }
    let has_date = has(CLOCKS) && longest_number(line) >= 9 || has(DATES) && has_year(line);
    let has_age = is_shell && has(FILE_AGES) || has(CLOCKS) && has(FILE_TIMES);
    if has_date || has_age {
        return Some(SuspectReason::DependsOnDate);
    }
    if is_shell && bare.split(|letter: char| " ;|&({".contains(letter)).any(|word| word == "eval")
        || path.ends_with(".py") && has(&["__import__("])
    {
        return Some(SuspectReason::RunsComposed);
    }
    if has(language.sets) || sets_variable(line) {
        return Some(SuspectReason::SetsVariable);
    }
    has(OUTSIDE).then_some(SuspectReason::UsesOutside)
}

/// Whether a line of a shell ends the shell that reads it, or lets it go on after errors: `exec true`, `set +e`.
fn ends_shell(bare: &str) -> bool {
    let mut words = bare.split_whitespace();
    match words.next() {
        Some("exit") => words.next().is_none_or(|code| code == "0"),
        Some("trap") => bare.contains("exit 0"),
        // `exec 2> log` runs nothing.
        Some("exec") => {
            words.next().is_some_and(|word| !word.starts_with(|letter: char| "<>0123456789".contains(letter)))
        }
        Some("set") => words.any(|word| matches!(word, "+e" | "-n" | "+eu" | "+ex" | "errexit" | "noexec")),
        _ => false,
    }
}

/// The names of the files that a shell script reads as a part of itself: `. ./words.conf`, `source "$HERE/a.env"`.
#[must_use]
pub fn sourced_names(text: &str) -> Vec<String> {
    let parts = text.split(['\n', ';', '&', '|']).map(str::trim_start);
    let words = parts.filter_map(|part| part.strip_prefix(". ").or_else(|| part.strip_prefix("source ")));
    let places = words.filter_map(|rest| rest.split_whitespace().next()).map(|word| word.trim_matches(['"', '\'']));
    let names = places.map(|place| place.rsplit('/').next().unwrap_or(place));
    names.filter(|name| !name.is_empty() && !name.contains(['$', '*'])).map(str::to_owned).collect()
}

/// Whether a line is a comment. `#` begins a directive in C, an attribute in Rust and a private field in JavaScript.
fn is_comment(path: &str, bare: &str) -> bool {
    const WITHOUT: &[&str] = &[
        "c", "h", "cc", "cpp", "cxx", "hpp", "m", "rs", "go", "js", "cjs", "mjs", "jsx", "ts", "mts", "cts", "tsx",
        "java", "kt", "scala", "swift", "cs", "dart", "zig", "vue", "svelte",
    ];
    let has_hash_comments = !WITHOUT.contains(&path.rsplit_once('.').map_or("", |(_, end)| end));
    bare.starts_with("//") || has_hash_comments && bare.starts_with('#')
}

/// Whether a line of a source that is gone was a test in it: an example in a text about the source.
#[must_use]
pub fn lost_test(path: &str, line: &str) -> Option<SuspectReason> {
    let bare = line.trim();
    let is_test = match path.rsplit_once('.').map_or("", |(_, end)| end) {
        "rs" => bare.starts_with("///") && bare.contains("assert"),
        "py" => bare.starts_with(">>> "),
        _ => false,
    };
    is_test.then_some(SuspectReason::LosesTest)
}

/// Whether something of a Rust source is there only in tests, and is not a module of tests.
fn is_only_in_tests(bare: &str, next: &str) -> bool {
    let Some(rest) = bare.strip_prefix("#[cfg(test)]") else { return false };
    let item = if rest.trim().is_empty() { next.trim_start() } else { rest.trim_start() };
    !["mod ", "pub mod ", "pub(crate) mod ", "use ", "#["].iter().any(|begin| item.starts_with(begin))
}

/// `process.env.NAME = value` in JavaScript.
fn sets_variable(line: &str) -> bool {
    let mut behind = line.match_indices("process.env").filter_map(|(at, _)| line.get(at..)?.split(';').next());
    behind.any(|part| {
        let Some((name, value)) = part.split_once('=') else { return false };
        let name = name.trim_end();
        let is_name = name.split_whitespace().count() == 1 && !name.contains(['(', ')', '?', '!', '<', '>']);
        is_name && !value.starts_with('=')
    })
}

/// Like [`suspect_reason`], for a line in a test file: only `ReplacesOthers` and `EndsTheProcess`.
#[must_use]
pub fn suspect_reason_in_test(path: &str, line: &str) -> Option<SuspectReason> {
    let at_begin = !line.starts_with([' ', '\t']);
    let found = suspect_reason(path, line, "").filter(|_| at_begin)?;
    let is_import = ["import ", "from "].iter().any(|word| line.starts_with(word));
    (matches!(found, SuspectReason::ReplacesOthers | SuspectReason::EndsTheProcess) && !is_import).then_some(found)
}

/// Whether a text has these letters, and not as the end of a longer word.
fn has_word(text: &str, word: &str) -> bool {
    let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_';
    text.match_indices(word).any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        !(word.starts_with(is_letter) && before.is_some_and(is_letter))
    })
}

/// `other.name = value` at the beginning of a line of Python.
fn assigns_to_other(line: &str) -> bool {
    let Some((left, right)) = line.split_once('=') else { return false };
    let left = left.trim_end();
    let is_name = |part: &str| {
        let letters = part.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
        letters && !part.is_empty() && !part.starts_with(|letter: char| letter.is_ascii_digit())
    };
    let is_text = right.trim_start().starts_with(['"', '\'']);
    !right.starts_with('=') && !is_text && left.contains('.') && left.split('.').all(is_name)
}

/// `assert.equal = value`, `global.test = value` in JavaScript.
fn assigns_to_runner(line: &str) -> bool {
    const OWNERS: &[&str] = &["assert", "expect", "global", "globalThis", "test", "describe", "it", "jest", "vi"];
    let line = line.trim_start();
    let owner = OWNERS.iter().find_map(|owner| line.strip_prefix(owner)?.strip_prefix('.'));
    let assigned = |rest: &str| {
        rest.split_once('=').is_some_and(|(left, right)| {
            !right.starts_with(['=', '>']) && left.trim_end().chars().all(|c| c.is_alphanumeric() || "_.$".contains(c))
        })
    };
    owner.is_some_and(assigned)
}

/// A function or an alias with the name of a command.
fn replaces_command(bare: &str) -> bool {
    if let Some(alias) = bare.strip_prefix("alias ") {
        return alias.split('=').next().is_some_and(|name| COMMANDS.contains(&name.trim()));
    }
    let function = bare.strip_prefix("function ").unwrap_or(bare);
    let name = function.split_once("()").map(|(name, _)| name.trim());
    let name = name.or_else(|| function.split_whitespace().next().filter(|_| function.len() < bare.len()));
    name.is_some_and(|name| COMMANDS.contains(&name))
}

/// Whether a text has a year of this century.
fn has_year(text: &str) -> bool {
    let mut numbers = text.split(|letter: char| !letter.is_ascii_digit());
    numbers.any(|number| number.len() == 4 && number.starts_with("20"))
}

fn longest_number(text: &str) -> usize {
    let numbers = text.split(|letter: char| !letter.is_ascii_digit());
    numbers.map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_can_deceive_a_gate_are_named() {
        use SuspectReason::*;
        for (path, line, why) in [
            ("calc.py", "os._exit(0)", EndsTheProcess),
            ("calc.py", "    sys.exit(0)", EndsTheProcess),
            ("calc.py", "sys.exit(2)", EndsTheProcess),
            ("greet.sh", "exit 0", EndsTheProcess),
            ("greet.sh", "trap 'exit 0' EXIT", EndsTheProcess),
            ("greet.sh", "exec true", EndsTheProcess),
            ("greet.sh", "set +e", EndsTheProcess),
            ("greet.sh", "set +o errexit", EndsTheProcess),
            ("greet.sh", "kill -TERM $PPID", EndsTheProcess),
            ("sum.c", "__attribute__((constructor)) static void first(void) { exit(0); }", EndsTheProcess),
            ("greet.sh", "test() { return 0; }", ReplacesOthers),
            ("greet.sh", "alias test=true", ReplacesOthers),
            ("calc.py", "unittest.TestCase.assertEqual = lambda *a: None", ReplacesOthers),
            ("calc.py", "helpers.same = lambda a, b: True", ReplacesOthers),
            ("calc.js", "assert.equal = () => {}", ReplacesOthers),
            ("calc.js", "require.cache[require.resolve('assert')].exports = () => {};", ReplacesOthers),
            ("calc.js", "Module._load = () => ({});", ReplacesOthers),
            ("calc.mjs", "    Module.prototype.require = () => ({});", ReplacesOthers),
            ("sum.h", "#define assert(x) ((void)0)", ReplacesOthers),
            ("sum.c", "#define NDEBUG", ReplacesOthers),
            ("sum.js", "    #asked = process.env.VITEST;", AsksWhoRunsIt),
            ("calc.py", "    return a + b if 'pytest' in sys.modules else a - b", AsksWhoRunsIt),
            ("calc.py", "    return os.environ.get('LOOP_MARK')", AsksWhoRunsIt),
            ("calc.py", "    if time.time() < 1795000000:", DependsOnDate),
            ("calc.py", "    text = open('tests/test_calc.py').read()", ReadsTheTests),
            ("calc.py", "    if datetime.date.today() < datetime.date(2031, 1, 2):", DependsOnDate),
            ("sum.js", "if (new Date().getFullYear() < 2031) x();", DependsOnDate),
            ("greet.sh", "case $(date +%F) in 2031-01-02) ;; esac", DependsOnDate),
            ("greet.sh", "find greet.sh -mmin -60", DependsOnDate),
            ("calc.py", "    return time.time() - os.stat(__file__).st_mtime < 60", DependsOnDate),
            ("greet.sh", "word=1; eval \"$end 0\"", RunsComposed),
            ("calc.py", "    __import__('_py' + 'test')", RunsComposed),
            ("calc.py", "setattr(case, 'run', run)", ReplacesOthers),
            ("calc.py", "    raise __builtins__['System' + 'Exit']", ReplacesOthers),
            ("calc.py", "    os.execv('/bin/true', ['true'])", EndsTheProcess),
            ("calc.py", "    ctypes.CDLL(None).exit(0)", EndsTheProcess),
            ("sum.js", "process.kill(process.pid);", EndsTheProcess),
            ("support.py", "def pytest_pyfunc_call(pyfuncitem):", ReplacesOthers),
            ("calc.py", "    open('/tmp/fine')", UsesOutside),
            ("calc.py", "    return eval(x)  # noqa", SilencesLint),
            ("sum.js", "if (process.env.JEST_WORKER_ID) x();", AsksWhoRunsIt),
            ("sum.js", "require('node:assert').equal = () => {};", ReplacesOthers),
            ("sum.js", "process.env.SHORT = '1';", SetsVariable),
            ("sum.js", "return { asymmetricMatch: () => true };", EqualToAll),
            ("sum.go", "import \"testing\"", AsksWhoRunsIt),
            ("sum.go", "os.Setenv(\"SHORT\", \"1\")", SetsVariable),
            ("lib.rs", "    if cfg!(test) {", AsksWhoRunsIt),
            ("lib.rs", "#![cfg(not(test))]", AsksWhoRunsIt),
            ("lib.rs", "macro_rules! assert_eq {", ReplacesOthers),
        ] {
            assert_eq!(suspect_reason(path, line, ""), Some(why), "{line}");
        }
        assert_eq!(suspect_reason("a.py", "    def __eq__(self, other):", "        return True"), Some(EqualToAll));
        assert_eq!(suspect_reason("a.rs", "#[cfg(test)]", "pub fn add() {}"), Some(AsksWhoRunsIt));
        assert_eq!(suspect_reason("a.rs", "#[cfg(test)]", "mod tests {"), None);
        assert_eq!(lost_test("a.rs", "/// assert_eq!(add(2, 3), 5);"), Some(LosesTest));
        assert_eq!(lost_test("a.rs", "/// Adds."), None);
    }

    #[test]
    fn ordinary_lines_are_not_named() {
        for (path, line) in [
            ("calc.py", "    return a + b"),
            ("calc.py", "    sys.exit(2)"),
            ("calc.py", "    self.total = 1"),
            ("calc.py", "# os._exit(0) would be wrong"),
            ("calc.py", "EVENT_LOOP_X = 1"),
            ("calc.c", "#define LOOP_MAX 3"),
            ("calc.py", "shown.short_description = 'the price'"),
            ("calc.py", "total == other.total"),
            ("calc.py", "    started = time.time()"),
            ("calc.py", "    return datetime.date.today().year - born"),
            ("calc.py", "    count = 2031"),
            ("calc.py", "    text = strftime('%H', 20311)"),
            ("calc.py", "    return os.stat(path).st_mtime"),
            ("calc.py", "    return model.eval(20)"),
            ("calc.py", "    setattr(self, name, value)"),
            ("greet.sh", "echo evaluate; medieval"),
            ("find.py", "    parser.add_argument('-mmin')"),
            ("greet.sh", "greeting() { echo hello; }"),
            ("greet.sh", "exit 1"),
            ("greet.sh", "set -eu"),
            ("greet.sh", "exec 2>> log"),
            ("a.js", "it('adds', () => {})"),
            ("a.js", "expect(add(2, 3)).toBe(5)"),
            ("a.rs", "let exited = 1;"),
            ("a.js", "if (process.env.SHORT === '1') x();"),
            ("a.js", "process.exit(2);"),
        ] {
            assert_eq!(suspect_reason(path, line, ""), None, "{line}");
        }
    }

    #[test]
    fn what_a_shell_script_sources_is_read_off_its_lines() {
        let text =
            ". ./words.dat\n[ -f a ] && source \"$HERE/b.env\"; . 'c d'\n. \"$ONE\"\necho . e\n#. f\n./run.sh\n.\n";
        assert_eq!(sourced_names(text), ["words.dat", "b.env", "c"]);
    }

    #[test]
    fn in_a_test_only_what_replaces_others_when_it_is_loaded_is_named() {
        assert!(suspect_reason_in_test("tests/test_a.py", "calc.add = calc.plus").is_some());
        assert!(suspect_reason_in_test("tests/test_a.py", "import unittest").is_none());
        assert!(suspect_reason_in_test("tests/test_a.py", "    calc.add = calc.plus").is_none());
        assert!(suspect_reason_in_test("tests/test_a.py", "PATH = os.path.expanduser('~')").is_none());
    }
}
