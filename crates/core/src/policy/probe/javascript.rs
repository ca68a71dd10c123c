//! A failing test for the runners of JavaScript and TypeScript: one call at the end of a test file that surely runs.
use super::broken::{broken_javascript, javascript_body};
use super::calls::RunnerCall;
use super::filter::{fits_glob, is_plain_pattern, option_value};
use super::project::{Probed, appended};
use super::runners::RunnerKind;
use super::{Canary, NoCanary};
use crate::policy::protect::paths::{folder_of, is_below, joined, name_of, upwards};
use crate::policy::protect::script::clean;

/// What differs between the runners.
struct Habits {
    /// Options for the name of a test.
    by_name: &'static [&'static str],
    /// Options with which a further test may not run.
    selecting: &'static [&'static str],
    /// Options whose value is the next word.
    with_value: &'static [&'static str],
    /// What a test file surely mentions, one of it.
    mentions: &'static [&'static str],
}

const NODE: Habits = Habits {
    by_name: &["--test-name-pattern"],
    selecting: &["--test-only", "--test-shard", "--test-skip-pattern", "--test-rerun-failures", "--watch"],
    with_value: &[
        "--import",
        "--require",
        "-r",
        "--loader",
        "--experimental-loader",
        "--test-reporter",
        "--test-reporter-destination",
        "--test-concurrency",
        "--test-timeout",
        "--env-file",
        "-C",
        "--conditions",
    ],
    mentions: &["node:test"],
};
const JEST: Habits = Habits {
    by_name: &["-t", "--testNamePattern"],
    selecting: &[
        "-o",
        "--onlyChanged",
        "--changedSince",
        "--findRelatedTests",
        "--shard",
        "--listTests",
        "--onlyFailures",
        "-f",
        "--lastCommit",
        "--filter",
        "--showConfig",
        "--testPathIgnorePatterns",
        "--watch",
    ],
    with_value: &[
        "-c",
        "--config",
        "--maxWorkers",
        "-w",
        "--reporters",
        "--testTimeout",
        "--env",
        "--rootDir",
        "--projects",
        "--coverageReporters",
        "--selectProjects",
    ],
    mentions: &["test(", "it(", "describe(", "test.each", "it.each"],
};
const VITEST: Habits = Habits {
    by_name: &["-t", "--testNamePattern"],
    selecting: &[
        "--changed",
        "--related",
        "--shard",
        "bench",
        "list",
        "related",
        "--tags-filter",
        "--exclude",
        "--watch",
    ],
    with_value: &[
        "-c",
        "--config",
        "-r",
        "--root",
        "--reporter",
        "--pool",
        "--project",
        "--dir",
        "--maxWorkers",
        "--testTimeout",
        "--environment",
        "--mode",
        "--outputFile",
    ],
    mentions: &["test(", "it(", "describe(", "test.each", "it.each"],
};
const MOCHA: Habits = Habits {
    by_name: &["-g", "--grep", "-f", "--fgrep"],
    selecting: &[
        "-i",
        "--invert",
        "--watch",
        "--dry-run",
        "--ignore",
        "--exclude",
        "--config",
        "--spec",
        "--package",
        "-p",
    ],
    with_value: &[
        "-R",
        "--reporter",
        "-r",
        "--require",
        "-t",
        "--timeout",
        "-s",
        "--slow",
        "-u",
        "--ui",
        "--retries",
        "-O",
        "-j",
        "--jobs",
        "--extension",
        "--import",
        "--loader",
    ],
    mentions: &["it(", "it.each"],
};
/// The settings files of mocha: they may name other files.
const MOCHA_SETTINGS: &[&str] = &[
    ".mocharc.js",
    ".mocharc.cjs",
    ".mocharc.mjs",
    ".mocharc.json",
    ".mocharc.jsonc",
    ".mocharc.yml",
    ".mocharc.yaml",
];
/// What a file says that lets only some of its tests run, or ends the process.
const ONLY: &[&str] =
    &[".only(", ".only.each", "fit(", "fdescribe(", "process.exit", "it.skip.all", ".skipIf(", ".runIf("];
const ENDINGS: &[&str] = &["js", "jsx", "cjs", "mjs", "ts", "tsx", "cts", "mts"];

fn habits(kind: RunnerKind) -> &'static Habits {
    match kind {
        RunnerKind::Jest => &JEST,
        RunnerKind::Vitest => &VITEST,
        RunnerKind::Mocha => &MOCHA,
        RunnerKind::Node
        | RunnerKind::Pytest
        | RunnerKind::Unittest
        | RunnerKind::PythonFile
        | RunnerKind::Cargo
        | RunnerKind::Nextest
        | RunnerKind::Go => &NODE,
    }
}

pub(super) fn canary(call: &RunnerCall, probed: &Probed<'_>) -> Result<Canary, NoCanary> {
    let habits = habits(call.kind);
    let runner = call.kind.name();
    let args = Args::read(call, probed, habits)?;
    let files = match call.kind {
        RunnerKind::Jest | RunnerKind::Vitest => files_that_ran(call, probed, &args),
        _ if args.has_unknown_argument || !call.is_certain => Vec::new(),
        RunnerKind::Mocha => mocha_files(call, probed, &args),
        RunnerKind::Node
        | RunnerKind::Pytest
        | RunnerKind::Unittest
        | RunnerKind::PythonFile
        | RunnerKind::Cargo
        | RunnerKind::Nextest
        | RunnerKind::Go => node_files(call, probed, &args),
    };
    // With mocha `.only` in one file leaves out the others.
    let has_only = |path: &&str| {
        let text = probed.first_text(path).unwrap_or_default();
        ONLY.iter().any(|word| text.contains(word))
    };
    if call.kind == RunnerKind::Mocha && files.iter().any(has_only) {
        return Err(NoCanary::Selected(".only".to_owned()));
    }
    let files = probed.ranked(files.into_iter().filter(|path| !has_only(path)));
    if let Some(canary) = files.iter().find_map(|path| broken(call, probed, path, &args)) {
        return Ok(canary);
    }
    for path in files {
        let Some(text) = probed.text(path) else { continue };
        let Some(code) =
            habits.mentions.iter().any(|word| text.contains(word)).then(|| added(call, probed, path, &text))
        else {
            continue;
        };
        let Some(code) = code else { continue };
        let name = test_name(probed, args.pattern.as_deref());
        let code = code.replace("NAME", &name);
        return Ok(Canary { path: path.to_owned(), contents: appended(&text, &code), test: name, runner });
    }
    Err(NoCanary::NoTestFile(runner))
}

/// A test of this file that failed at the start, made to fail.
fn broken(call: &RunnerCall, probed: &Probed<'_>, path: &str, args: &Args) -> Option<Canary> {
    let text = probed.text(path)?;
    let statement = if matches!(call.kind, RunnerKind::Jest | RunnerKind::Vitest) {
        javascript_body(&text, text.contains("expect(").then_some("expect"), None)
    } else {
        javascript_body(&text, None, own_assert(&text))
    };
    let is_taken = |title: &&str| args.pattern.as_deref().is_none_or(|pattern| title.contains(pattern));
    let titles = probed.turned_green().filter_map(|id| id.rsplit(" › ").next()?.rsplit(" > ").next());
    let found = titles.filter(is_taken).find_map(|title| Some((title, broken_javascript(&text, title, &statement)?)));
    let (title, contents) = found?;
    Some(Canary { path: path.to_owned(), contents, test: title.to_owned(), runner: call.kind.name() })
}

/// What a file calls `node:assert`, where it is the usual name.
fn own_assert(text: &str) -> Option<&'static str> {
    let names = ["const assert = require(", "import assert from ", "import * as assert from "];
    let modules = ["node:assert", "'assert", "\"assert"];
    let is_one_of = |line: &str| modules.iter().any(|module| line.contains(module));
    text.lines().any(|line| names.iter().any(|name| line.starts_with(name)) && is_one_of(line)).then_some("assert")
}

fn test_name(probed: &Probed<'_>, pattern: Option<&str>) -> String {
    match pattern {
        Some(pattern) => format!("{pattern} {}", probed.word),
        None => format!("holds {}", probed.word),
    }
}

/// The code of one failing test; none where it is not known how the file loads modules.
fn added(call: &RunnerCall, probed: &Probed<'_>, path: &str, text: &str) -> Option<String> {
    let own = format!("{}Test", probed.word);
    let expect = text.contains("expect(").then_some("expect");
    let body = |expect, assert| format!("('NAME', () => {{\n  {}\n}});\n", javascript_body(text, expect, assert));
    let loads = |module: &str, body: String| match style(probed, path, text)? {
        Style::Import => Some(format!("\nimport {{ test as {own} }} from '{module}';\n{own}{body}")),
        Style::Require => Some(format!("\nrequire('{module}').test{body}")),
    };
    match call.kind {
        RunnerKind::Vitest => Some(format!("\nimport {{ test as {own} }} from 'vitest';\n{own}{}", body(expect, None))),
        RunnerKind::Jest if text.contains("@jest/globals") => loads("@jest/globals", body(expect, None)),
        RunnerKind::Jest => Some(format!("\ntest{}", body(expect, None))),
        RunnerKind::Mocha if text.contains("from 'mocha'") || text.contains("from \"mocha\"") => {
            Some(format!("\nimport {{ it as {own} }} from 'mocha';\n{own}{}", body(None, own_assert(text))))
        }
        RunnerKind::Mocha => Some(format!("\nit{}", body(None, own_assert(text)))),
        RunnerKind::Node
        | RunnerKind::Pytest
        | RunnerKind::Unittest
        | RunnerKind::PythonFile
        | RunnerKind::Cargo
        | RunnerKind::Nextest
        | RunnerKind::Go => loads("node:test", body(None, own_assert(text))),
    }
}

enum Style {
    Import,
    Require,
}

/// How a file loads modules.
fn style(probed: &Probed<'_>, path: &str, text: &str) -> Option<Style> {
    let ending = path.rsplit('.').next().unwrap_or_default();
    let imports = text.lines().any(|line| line.starts_with("import ") || line.starts_with("import{"));
    let requires = text.contains("require(");
    match (ending, imports, requires) {
        ("mjs" | "mts", ..) => Some(Style::Import),
        ("cjs" | "cts", ..) => Some(Style::Require),
        (_, true, _) => Some(Style::Import),
        (_, false, true) => {
            // In a package of modules `require` exists only where the file makes it.
            let of_modules =
                upwards(folder_of(path)).into_iter().find_map(|folder| probed.text(&joined(folder, "package.json")));
            let is_module = of_modules.is_some_and(|text| text.replace(' ', "").contains("\"type\":\"module\""));
            Some(if is_module { Style::Import } else { Style::Require })
        }
        (_, false, false) => None,
    }
}

#[derive(Debug, Default)]
struct Args {
    paths: Vec<String>,
    patterns: Vec<String>,
    pattern: Option<String>,
    has_unknown_argument: bool,
    recursive: bool,
}

impl Args {
    fn read(call: &RunnerCall, probed: &Probed<'_>, habits: &Habits) -> Result<Self, NoCanary> {
        let mut args = Self::default();
        let words = call.words.as_slice();
        let mut at = 0;
        while let Some(word) = words.get(at) {
            let name = word.split('=').next().unwrap_or(word);
            let next = usize::from(!word.contains('='));
            if habits.selecting.contains(&name) {
                return Err(NoCanary::Selected(name.to_owned()));
            }
            if let Some(value) = option_value(words, at, habits.by_name) {
                if !is_plain_pattern(value) || args.pattern.is_some() {
                    return Err(NoCanary::Selected(format!("{name} {value}")));
                }
                args.pattern = Some(value.to_owned());
                at += next;
            } else if habits.with_value.contains(&word.as_str()) {
                at += 1;
            } else if word == "--recursive" {
                args.recursive = true;
            } else if !word.starts_with('-') && !matches!(word.as_str(), "run" | "watch" | "dev") {
                args.path(word, call, probed);
            }
            at += 1;
        }
        Ok(args)
    }

    fn path(&mut self, word: &str, call: &RunnerCall, probed: &Probed<'_>) {
        let path = if word == "." { Some(call.folder.clone()) } else { clean(&call.folder, word) };
        match path {
            Some(path) if path.contains(['*', '?']) => self.patterns.push(path),
            Some(path) if probed.has(&path) || probed.has_folder(&path) => self.paths.push(path),
            // A part of a path, as jest and vitest take it; or nothing that is known before the line runs.
            Some(_) | None => self.has_unknown_argument = true,
        }
    }
}

/// jest and vitest name the files that they ran.
fn files_that_ran<'a>(call: &RunnerCall, probed: &Probed<'a>, args: &Args) -> Vec<&'a str> {
    let ending = |path: &&str| ENDINGS.contains(&path.rsplit('.').next().unwrap_or_default());
    let printed =
        probed.passed().map(|id| id.split(" › ").next().unwrap_or(id)).map(|id| id.split(" > ").next().unwrap_or(id));
    let ran: Vec<&str> = printed.filter_map(|file| probed.file_of(file, &call.folder)).filter(ending).collect();
    if !ran.is_empty() {
        return ran;
    }
    // Without names: only files that the line names, whole.
    let is_sure = call.is_certain && !args.has_unknown_argument && args.patterns.is_empty();
    probed.files().filter(|path| is_sure && args.paths.iter().any(|given| given == path)).filter(ending).collect()
}

/// The files that `node --test` runs: those that are named, or those of the names that it searches.
fn node_files<'a>(call: &RunnerCall, probed: &Probed<'a>, args: &Args) -> Vec<&'a str> {
    let named = |path: &&str| {
        args.paths.iter().any(|given| given == path) || args.patterns.iter().any(|glob| fits_glob(glob, path))
    };
    let is_searched = |path: &&str| {
        let (above, name) = (folder_of(path), name_of(path));
        let Some((stem, "js" | "cjs" | "mjs")) = name.rsplit_once('.') else { return false };
        let by_name = stem == "test"
            || stem.starts_with("test-")
            || [".test", "-test", "_test"].iter().any(|end| stem.ends_with(end));
        let below = above.strip_prefix(call.folder.as_str()).unwrap_or(above);
        !above.split('/').any(|part| part == "node_modules" || part.starts_with('.'))
            && (by_name || below.split('/').any(|part| part == "test"))
    };
    let given = |path: &&str| args.paths.iter().any(|given| is_below(path, given));
    if args.paths.is_empty() && args.patterns.is_empty() {
        return probed.files().filter(|path| is_below(path, &call.folder)).filter(is_searched).collect();
    }
    probed.files().filter(|path| named(path) || given(path) && is_searched(path)).collect()
}

/// The files that mocha runs: those that are named, or `test/*.js`.
fn mocha_files<'a>(call: &RunnerCall, probed: &Probed<'a>, args: &Args) -> Vec<&'a str> {
    let at = |name: &str| joined(&call.folder, name);
    let has_settings = MOCHA_SETTINGS.iter().any(|name| probed.setup_file(&at(name)).is_some())
        || probed
            .text(&at("package.json"))
            .is_some_and(|text| text.contains("\"mocha\": {") || text.contains("\"mocha\":{"));
    let is_named = !args.paths.is_empty() || !args.patterns.is_empty();
    if has_settings && !is_named {
        return Vec::new();
    }
    let is_script = |path: &&str| matches!(path.rsplit('.').next(), Some("js" | "cjs" | "mjs"));
    let folders: Vec<String> = if is_named { args.paths.clone() } else { vec![at("test")] };
    let in_folder = |path: &&str| {
        folders.iter().any(|folder| if args.recursive { is_below(path, folder) } else { folder_of(path) == folder })
    };
    let named = |path: &&str| {
        args.paths.iter().any(|given| given == path) || args.patterns.iter().any(|glob| fits_glob(glob, path))
    };
    probed.files().filter(|path| named(path) || in_folder(path) && is_script(path)).collect()
}
