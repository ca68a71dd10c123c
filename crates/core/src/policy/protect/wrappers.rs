//! Programs that start another program: `env`, `timeout 30`, `sudo -u ci`. Where the other one begins in a line, and which
//! programs start none.
use super::paths::name_of;

/// Words of the shell's grammar before a command.
const GRAMMAR: &[&str] = &["!", "{", "}", "if", "then", "elif", "else", "while", "until", "do"];
/// Folders in which the programs of the system lie: one of these is known by its name alone.
const OF_THE_SYSTEM: &[&str] = &["/usr/", "/bin/", "/sbin/", "/opt/", "/nix/", "/snap/"];

/// Programs whose words are texts, names or files that they only read.
pub(super) const READERS: &[&str] = &[
    "alias",
    "apk",
    "apt",
    "apt-get",
    "awk",
    "bandit",
    "biome",
    "black",
    "brew",
    "cargo",
    "cat",
    "cc",
    "chmod",
    "chown",
    "cksum",
    "clang",
    "clang-format",
    "clang-tidy",
    "cmp",
    "codespell",
    "comm",
    "cp",
    "cppcheck",
    "curl",
    "cut",
    "diff",
    "docformatter",
    "du",
    "echo",
    "egrep",
    "eslint",
    "exit",
    "export",
    "false",
    "fgrep",
    "file",
    "flake8",
    "for",
    "g++",
    "gcc",
    "git",
    "go",
    "gofmt",
    "golangci-lint",
    "grep",
    "hadolint",
    "head",
    "isort",
    "javac",
    "jq",
    "kill",
    "ln",
    "ls",
    "markdownlint",
    "mkdir",
    "mv",
    "mypy",
    "patch",
    "pip",
    "pip3",
    "prettier",
    "printf",
    "pycodestyle",
    "pydocstyle",
    "pyflakes",
    "pylint",
    "pyright",
    "read",
    "return",
    "rg",
    "rm",
    "rubocop",
    "ruff",
    "rustc",
    "rustfmt",
    "sed",
    "semgrep",
    "set",
    "sha1sum",
    "sha256sum",
    "shasum",
    "md5sum",
    "shellcheck",
    "shfmt",
    "sleep",
    "sort",
    "stat",
    "stylelint",
    "tail",
    "tar",
    "tee",
    "test",
    "touch",
    "tr",
    "trap",
    "true",
    "tsc",
    "type",
    "uniq",
    "unset",
    "vulture",
    "wait",
    "wc",
    "wget",
    "which",
    "yamllint",
    "yapf",
    "[",
    "[[",
    ":",
];

/// A program that starts another one.
struct Wrapper {
    name: &'static str,
    /// Its options whose value is the next word.
    with_value: &'static [&'static str],
    /// So many other words stand before the program.
    words: usize,
    /// Its options whose value is a line for a shell.
    line: &'static [&'static str],
}

const fn plain(name: &'static str) -> Wrapper {
    Wrapper { name, with_value: &[], words: 0, line: &[] }
}

const fn with(name: &'static str, with_value: &'static [&'static str], words: usize) -> Wrapper {
    Wrapper { name, with_value, words, line: &[] }
}

const WRAPPERS: &[Wrapper] = &[
    plain("builtin"),
    plain("bundle"),
    plain("chronic"),
    plain("hatch"),
    plain("nohup"),
    plain("setsid"),
    plain("unbuffer"),
    with("bunx", &["-p", "--package"], 0),
    with("chroot", &["--userspec", "--groups"], 1),
    with("command", &[], 0),
    with("conda", &["-n", "--name", "-p", "--prefix", "--cwd"], 0),
    with("coverage", &["--source", "--omit", "--include", "--rcfile", "--data-file", "--context", "--concurrency"], 0),
    with("direnv", &[], 1),
    with("doas", &["-u", "-C"], 0),
    with("dotenv", &["-f", "--file", "-e"], 0),
    Wrapper { line: &["-S", "--split-string"], ..with("env", &["-u", "--unset", "-C", "--chdir", "-a", "--argv0"], 0) },
    with("exec", &["-a"], 0),
    with("faketime", &["-p", "--pid"], 1),
    Wrapper {
        line: &["-c", "--command"],
        ..with("flock", &["-w", "--wait", "--timeout", "-E", "--conflict-exit-code"], 1)
    },
    with("ionice", &["-c", "--class", "-n", "--classdata"], 0),
    with("mamba", &["-n", "--name", "-p", "--prefix"], 0),
    with("micromamba", &["-n", "--name", "-p", "--prefix"], 0),
    with("mise", &["-C", "--cd", "-E", "--env", "-j", "--jobs"], 0),
    with("nice", &["-n", "--adjustment"], 0),
    Wrapper { line: &["--run", "--command"], ..with("nix-shell", &["-p", "--packages", "-A", "--attr", "-I"], 0) },
    Wrapper { line: &["-c", "--call"], ..with("npx", &["-p", "--package", "-w", "--workspace", "--prefix"], 0) },
    with("parallel", &["-j", "--jobs", "-I", "-a", "--arg-file", "--colsep", "--timeout", "--retries", "-n", "-N"], 0),
    with("pdm", &["-p", "--project"], 0),
    with("pipenv", &[], 0),
    with("pixi", &["-e", "--environment", "--manifest-path"], 0),
    with("poetry", &["-C", "--directory", "-P", "--project"], 0),
    with("rye", &[], 0),
    Wrapper { line: &["-c", "--command"], ..with("script", &["-O", "-I", "-B", "-T", "-E", "-m", "-o"], 0) },
    with("setpriv", &["--reuid", "--regid", "--groups", "--bounding-set", "--inh-caps", "--ambient-caps"], 0),
    with("stdbuf", &["-i", "--input", "-o", "--output", "-e", "--error"], 0),
    with("strace", &["-e", "-o", "-s", "-p", "-u", "-E", "-a", "-b", "-I", "-O", "-P", "-S", "-X"], 0),
    Wrapper { line: &["-c", "--command"], ..with("su", &["-s", "--shell", "-g", "--group", "-w"], 1) },
    Wrapper { line: &["-c", "--command"], ..with("runuser", &["-u", "--user", "-s", "--shell", "-g", "--group"], 0) },
    with(
        "sudo",
        &[
            "-u",
            "--user",
            "-g",
            "--group",
            "-h",
            "--host",
            "-p",
            "--prompt",
            "-C",
            "--close-from",
            "-D",
            "--chdir",
            "-R",
            "--chroot",
            "-T",
            "--command-timeout",
            "-r",
            "--role",
            "-t",
            "--type",
            "-U",
            "--other-user",
        ],
        0,
    ),
    with("systemd-run", &["-p", "--property", "-u", "--unit", "-E", "--setenv", "-M", "--machine", "--slice"], 0),
    with("taskset", &[], 1),
    with("time", &["-f", "--format", "-o", "--output"], 0),
    with("timeout", &["-s", "--signal", "-k", "--kill-after"], 1),
    with(
        "uv",
        &[
            "--with",
            "--with-editable",
            "--with-requirements",
            "-p",
            "--python",
            "--project",
            "--extra",
            "--group",
            "--only-group",
            "--no-group",
            "--directory",
            "--index",
            "--index-url",
            "--default-index",
            "--env-file",
            "--package",
            "--refresh-package",
            "--cache-dir",
            "--config-file",
            "-m",
            "--module",
        ],
        0,
    ),
    with("uvx", &["--from", "--with", "-p", "--python", "--index", "--index-url"], 0),
    with("xargs", &["-a", "-d", "-E", "-I", "-L", "-n", "-P", "-s", "--max-args", "--max-procs", "--arg-file"], 0),
    with(
        "xvfb-run",
        &["-e", "--error-file", "-f", "--auth-file", "-n", "--server-num", "-s", "--server-args", "-p", "-w"],
        0,
    ),
];

/// Programs whose other program comes behind one of these options.
const BEHIND_OPTION: &[(&str, &[&str])] = &[("nix", &["-c", "--command"])];
/// What a wrapper may be told to do: `uv run`, `bundle exec`, `mise x`.
const VERBS: &[&str] = &["run", "exec", "x"];

fn known_name(word: &str) -> &str {
    if OF_THE_SYSTEM.iter().any(|folder| word.starts_with(folder)) { name_of(word) } else { word }
}

fn wrapper(word: &str) -> Option<&'static Wrapper> {
    let name = known_name(word);
    WRAPPERS.iter().find(|wrapper| wrapper.name == name)
}

/// Whether a program comes behind this word.
pub(super) fn is_before_program(word: &str) -> bool {
    GRAMMAR.contains(&word) || is_assignment(word) || wrapper(word).is_some() || options_before(word).is_some()
}

fn options_before(word: &str) -> Option<&'static [&'static str]> {
    BEHIND_OPTION.iter().find(|(name, _)| *name == known_name(word)).map(|(_, options)| *options)
}

/// The words from the program on.
pub(in crate::policy) fn behind_first_words(words: &[String]) -> &[String] {
    let mut rest = words;
    while rest.first().is_some_and(|word| is_before_program(word)) {
        rest = behind_first_word(rest);
    }
    rest
}

/// The words behind the first one and, where that starts a program, behind its options.
pub(super) fn behind_first_word(words: &[String]) -> &[String] {
    let Some((first, mut rest)) = words.split_first() else { return words };
    if let Some(options) = options_before(first) {
        let at = rest.iter().position(|word| options.contains(&word.as_str()));
        return at.and_then(|at| rest.get(at + 1..)).unwrap_or_default();
    }
    let Some(wrapper) = wrapper(first) else { return rest };
    let mut words_left = wrapper.words;
    while let Some((word, behind)) = rest.split_first() {
        if word == "--" {
            return behind.get(words_left..).unwrap_or_default();
        }
        let has_value = [wrapper.with_value, wrapper.line].iter().any(|list| list.contains(&word.as_str()));
        // A module of Python is the program: `coverage run -m pytest`, `uv run -m pytest`.
        let is_module = matches!(word.as_str(), "-m" | "--module") && matches!(wrapper.name, "uv" | "coverage");
        if is_module {
            return behind;
        }
        if word.starts_with('-') {
            rest = behind.get(usize::from(has_value)..).unwrap_or_default();
        } else if VERBS.contains(&word.as_str()) {
            rest = behind;
        } else if words_left > 0 && !is_assignment(word) {
            words_left -= 1;
            rest = behind;
        } else {
            break;
        }
    }
    rest
}

/// The lines for a shell in the options of the programs before a command: `flock l -c 'sh x.sh'`.
pub(super) fn lines_in_options(words: &[String]) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = words;
    while let Some(first) = rest.first().filter(|word| is_before_program(word)) {
        let next = behind_first_word(rest);
        // What begins a program is no option; where only options follow, all of them are of the first word.
        let own = rest.get(..rest.len() - next.len()).unwrap_or_default();
        let options = wrapper(first).map(|wrapper| wrapper.line).unwrap_or_default();
        for (at, word) in own.iter().enumerate() {
            let value = match options.iter().find_map(|option| word.strip_prefix(option)) {
                Some("") => own.get(at + 1).map(String::as_str),
                Some(joined) => joined.strip_prefix('='),
                None => None,
            };
            found.extend(value);
        }
        rest = next;
    }
    found
}

pub(super) fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map_or("", |(name, _)| name);
    !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn the_options_of_a_program_that_starts_another_one_are_not_the_other_one() {
        for line in [
            "timeout -s KILL 60 sh check.sh",
            "timeout --kill-after=5 60 sh check.sh",
            "timeout 60 sh check.sh",
            "env -u X A=1 sh check.sh",
            "/usr/bin/env sh check.sh",
            "sudo -u ci -- sh check.sh",
            "sudo -E nice -n 5 sh check.sh",
            "flock -w 5 lock sh check.sh",
            "nix develop .#ci -c sh check.sh",
            "uv run --with pytest sh check.sh",
            "uv --directory sub run sh check.sh",
            "taskset 0x1 sh check.sh",
            "taskset -c 0 sh check.sh",
            "direnv exec . sh check.sh",
            "xargs -n 1 sh check.sh",
            "nice -5 sh check.sh",
            "stdbuf -oL sh check.sh",
            "! { sh check.sh",
            "conda run -n ci sh check.sh",
            "mise x -- sh check.sh",
        ] {
            assert_eq!(behind_first_words(&words(line)), words("sh check.sh"), "{line}");
        }
        assert_eq!(behind_first_words(&words("coverage run -m pytest -q")), words("pytest -q"));
    }

    #[test]
    fn a_program_of_the_workspace_is_none_of_the_system_by_its_name() {
        for line in ["./env sh x.sh", "tools/timeout 5 sh x.sh", "/w/nice sh x.sh"] {
            assert_eq!(behind_first_words(&words(line)), words(line), "{line}");
        }
    }

    #[test]
    fn a_line_in_an_option_is_found() {
        let line = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            lines_in_options(&words).into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(line(&["flock", "lock", "-c", "sh x.sh"]), ["sh x.sh"]);
        assert_eq!(line(&["sudo", "su", "ci", "-c", "./x.sh"]), ["./x.sh"]);
        assert_eq!(line(&["nix-shell", "--run", "sh x.sh"]), ["sh x.sh"]);
        assert_eq!(line(&["env", "-S", "bash -e x.sh"]), ["bash -e x.sh"]);
        assert_eq!(line(&["env", "--split-string=bash x.sh"]), ["bash x.sh"]);
        assert!(line(&["sh", "-c", "x"]).is_empty());
    }
}
