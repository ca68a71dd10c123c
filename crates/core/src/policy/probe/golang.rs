//! A failing test for `go test`: a function at the end of a test file of a package that ran.
use super::broken::broken_go;
use super::calls::RunnerCall;
use super::filter::option_value;
use super::project::{Probed, appended, capital, is_identifier};
use super::{Canary, NoCanary};
use crate::policy::protect::paths::{folder_of, is_below, name_of, upwards};
use crate::policy::protect::script::clean;

const NAME: &str = "go test";
const SELECTING: &[&str] = &["-list", "-c", "-skip", "-fuzz", "-args", "-exec", "-n"];
const WITH_VALUE: &[&str] = &[
    "-count",
    "-timeout",
    "-p",
    "-parallel",
    "-cpu",
    "-tags",
    "-coverprofile",
    "-covermode",
    "-coverpkg",
    "-bench",
    "-benchtime",
    "-o",
    "-mod",
    "-modfile",
    "-ldflags",
    "-gcflags",
    "-shuffle",
    "-vet",
    "-outputdir",
    "-C",
];
/// A file whose name ends so is built only for one system.
const SYSTEMS: &[&str] = &[
    "windows",
    "darwin",
    "linux",
    "freebsd",
    "openbsd",
    "netbsd",
    "android",
    "ios",
    "js",
    "wasip1",
    "plan9",
    "solaris",
    "aix",
    "illumos",
    "dragonfly",
    "amd64",
    "arm64",
    "386",
    "arm",
    "wasm",
    "riscv64",
    "ppc64le",
    "s390x",
    "unix",
];

pub(super) fn canary(call: &RunnerCall, probed: &Probed<'_>) -> Result<Canary, NoCanary> {
    let args = Args::read(call)?;
    let folders = folders(call, probed, &args);
    let files = probed.files().filter(|path| folders.iter().any(|folder| folder == folder_of(path)));
    let files = probed.ranked(files.filter(|path| is_built_everywhere(path)));
    // Of subtests the function that has them.
    let green = probed.turned_green().filter_map(|id| id.split(' ').nth(1)?.split('/').next());
    let is_taken = |test: &&str| args.run.as_deref().is_none_or(|run| test.contains(run.trim_start_matches('^')));
    for test in green.filter(is_taken) {
        let mut found = files.iter().filter_map(|path| {
            let contents = broken_go(&probed.text(path).filter(|text| is_usable(text))?, test)?;
            Some(Canary { path: (*path).to_owned(), contents, test: test.to_owned(), runner: NAME })
        });
        if let (Some(canary), None) = (found.next(), found.next()) {
            return Ok(canary);
        }
    }
    for path in files {
        let Some(text) = probed.text(path).filter(|text| is_usable(text)) else { continue };
        let Some(base) = base_name(probed, &text) else { continue };
        let Some(test) = args.test_name(base, probed.word) else {
            return Err(NoCanary::Selected(format!("-run {}", args.run.as_deref().unwrap_or_default())));
        };
        let code = format!("\nfunc {test}(t *testing.T) {{\n\tt.Fatal(\"not as expected\")\n}}\n");
        return Ok(Canary { path: path.to_owned(), contents: appended(&text, &code), test, runner: NAME });
    }
    Err(NoCanary::NoTestFile(NAME))
}

fn is_built_everywhere(path: &str) -> bool {
    let Some(stem) = name_of(path).strip_suffix("_test.go") else { return false };
    !stem.starts_with(['_', '.']) && !SYSTEMS.iter().any(|system| stem.ends_with(&format!("_{system}")))
}

fn is_usable(text: &str) -> bool {
    let has_testing = text.lines().any(|line| matches!(line.trim(), "\"testing\"" | "import \"testing\""));
    has_testing && !text.contains("//go:build") && !text.contains("// +build") && !text.contains("import \"C\"")
}

fn base_name<'a>(probed: &Probed<'_>, text: &'a str) -> Option<&'a str> {
    let function = |line: &'a str| {
        let name = line.strip_prefix("func ")?.split('(').next()?;
        (name.starts_with("Test") && name != "TestMain" && line.contains("testing.T)")).then_some(name)
    };
    let all: Vec<&str> = text.lines().filter_map(function).collect();
    let has_passed =
        |name: &&&str| probed.passed().any(|id| id.split_once(' ').is_some_and(|(_, test)| test == **name));
    all.iter().find(has_passed).or_else(|| all.first()).copied()
}

/// The folders of the packages that ran.
fn folders(call: &RunnerCall, probed: &Probed<'_>, args: &Args) -> Vec<String> {
    let mut folders: Vec<String> = Vec::new();
    for id in probed.passed() {
        let package = id.split(' ').next().unwrap_or(id);
        folders.extend(folder_of_package(package, probed).filter(|folder| !folders.contains(folder)));
    }
    if !folders.is_empty() || args.has_unknown_argument || !call.is_certain {
        return folders;
    }
    let patterns = if args.patterns.is_empty() { vec![".".to_owned()] } else { args.patterns.clone() };
    for path in probed.files().filter(|path| path.ends_with("_test.go")) {
        let folder = folder_of(path);
        let hidden =
            folder.split('/').any(|part| part.starts_with(['.', '_']) || matches!(part, "testdata" | "vendor"));
        let is_meant = patterns.iter().any(|pattern| match pattern.strip_suffix("...") {
            Some(start) => {
                let start = joined(&call.folder, start.trim_end_matches('/'));
                start.is_some_and(|start| {
                    (folder == start || is_below(folder, &start)) && same_module(folder, &start, probed)
                })
            }
            None => joined(&call.folder, pattern).is_some_and(|start| folder == start),
        });
        if is_meant && !hidden {
            folders.push(folder.to_owned());
        }
    }
    folders
}

fn joined(folder: &str, word: &str) -> Option<String> {
    if matches!(word, "." | "" | "./") { Some(folder.to_owned()) } else { clean(folder, word) }
}

/// Whether no other module begins between the two folders.
fn same_module(folder: &str, start: &str, probed: &Probed<'_>) -> bool {
    let between = upwards(folder).into_iter().take_while(|at| *at != start);
    between.into_iter().all(|at| !probed.has(&format!("{at}/go.mod")))
}

fn folder_of_package(package: &str, probed: &Probed<'_>) -> Option<String> {
    for module in probed.files().filter(|path| name_of(path) == "go.mod") {
        let text = probed.text(module).unwrap_or_default();
        let Some(name) = text.lines().find_map(|line| line.trim().strip_prefix("module ")).map(str::trim) else {
            continue;
        };
        let Some(rest) = package.strip_prefix(name) else { continue };
        let at = folder_of(module);
        let folder = match rest.strip_prefix('/') {
            Some(rest) if at.is_empty() => rest.to_owned(),
            Some(rest) => format!("{at}/{rest}"),
            None if rest.is_empty() => at.to_owned(),
            None => continue,
        };
        let has_tests = probed.files().any(|path| folder_of(path) == folder && path.ends_with("_test.go"));
        if has_tests {
            return Some(folder);
        }
    }
    None
}

#[derive(Debug, Default)]
struct Args {
    patterns: Vec<String>,
    run: Option<String>,
    has_unknown_argument: bool,
}

impl Args {
    fn read(call: &RunnerCall) -> Result<Self, NoCanary> {
        let mut args = Self::default();
        let words: Vec<String> =
            call.words.iter().map(|word| word.replacen("--", "-", 1).replacen("-test.", "-", 1)).collect();
        let mut at = 0;
        while let Some(word) = words.get(at) {
            let name = word.split('=').next().unwrap_or(word);
            if SELECTING.contains(&name) || word == "-C" {
                return Err(NoCanary::Selected(name.to_owned()));
            }
            if let Some(value) = option_value(&words, at, &["-run"]) {
                args.run = Some(value.to_owned());
                at += usize::from(!word.contains('='));
            } else if WITH_VALUE.contains(&word.as_str()) {
                at += 1;
            } else if !word.starts_with('-') {
                let is_plain = word.starts_with('.') && !word.contains(['$', '`', '*']);
                if is_plain { args.patterns.push(word.clone()) } else { args.has_unknown_argument = true }
            }
            at += 1;
        }
        Ok(args)
    }

    /// A name that `-run` takes too; none where that is not certain.
    fn test_name(&self, base: &str, word: &str) -> Option<String> {
        let Some(run) = self.run.as_deref().filter(|run| !matches!(*run, "." | ".*" | "Test" | "^Test")) else {
            return Some(format!("{base}_{word}"));
        };
        let (plain, is_begin) = run.strip_prefix('^').map_or((run, false), |plain| (plain, true));
        if !is_identifier(plain) {
            return None;
        }
        let is_test =
            plain.strip_prefix("Test").is_some_and(|rest| !rest.starts_with(|first: char| first.is_ascii_lowercase()));
        match (is_test, is_begin) {
            (true, _) => Some(format!("{plain}_{word}")),
            (false, false) => Some(format!("Test{}_{plain}", capital(word))),
            (false, true) => None,
        }
    }
}
