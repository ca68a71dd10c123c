//! A failing test for unittest: a class at the end of a test file, or before its `unittest.main()`.
use super::calls::RunnerCall;
use super::filter::{fits_glob, option_value};
use super::project::{Probed, appended, capital, is_identifier};
use super::runners::RunnerKind;
use super::{Canary, NoCanary};
use crate::policy::protect::paths::{folder_of, is_below, joined, name_of};
use crate::policy::protect::script::clean;

const NAME: &str = "unittest";
/// Options that select nothing.
const HARMLESS: &[&str] =
    &["-v", "--verbose", "-q", "--quiet", "-f", "--failfast", "-b", "--buffer", "-c", "--catch", "--locals"];
/// What a file says that may skip all of its tests, or decide by itself which of them run.
const SKIPS_ALL: &[&str] = &["load_tests", "SkipTest", "setUpModule", "sys.exit", "os._exit"];

pub(super) fn canary(call: &RunnerCall, probed: &Probed<'_>) -> Result<Canary, NoCanary> {
    if call.kind == RunnerKind::PythonFile {
        return script(call, probed);
    }
    let args = Args::read(call)?;
    let files: Vec<&str> = if args.names.is_empty() {
        probed.files().filter(|path| args.finds(path, probed)).collect()
    } else {
        args.names.iter().filter_map(|name| module(name, call, probed)).collect()
    };
    // The file of a test that failed at the start comes first, also where discovery does not find it any more: an agent
    // that hides just that one is noticed.
    let red = if args.names.is_empty() { red_files(&args, call, probed) } else { Vec::new() };
    for path in probed.ranked(red).into_iter().chain(probed.ranked(files)) {
        let first = probed.first_text(path).unwrap_or_default();
        let Some(text) = probed.text(path) else { continue };
        if !text.contains("TestCase") || !text.contains("def test") || SKIPS_ALL.iter().any(|word| first.contains(word))
        {
            continue;
        }
        return with_class(probed, path, &text, args.pattern.as_deref());
    }
    Err(NoCanary::NoTestFile(NAME))
}

/// The files of the tests that failed at the start: `tests.test_a.A.test_one`, or `test_one (tests.test_a.A)`.
fn red_files<'a>(args: &Args, call: &RunnerCall, probed: &Probed<'a>) -> Vec<&'a str> {
    let mut files = Vec::new();
    for id in probed.turned_green() {
        let words = id.split(|letter: char| !(letter.is_alphanumeric() || matches!(letter, '_' | '.')));
        for word in words.filter(|word| word.contains('.')) {
            let parts: Vec<&str> = word.split('.').collect();
            let of = |count: usize| {
                let path = format!("{}.py", parts.get(..count)?.join("/"));
                let places = [joined(&call.folder, &path), joined(&args.start, &path)];
                probed.files().find(|file| places.iter().any(|place| place == file))
            };
            files.extend((1..parts.len()).rev().find_map(of));
        }
    }
    files
}

fn with_class(probed: &Probed<'_>, path: &str, text: &str, pattern: Option<&str>) -> Result<Canary, NoCanary> {
    let mut test = format!("test_{}", probed.word);
    if let Some(pattern) = pattern {
        if !is_identifier(pattern) {
            return Err(NoCanary::Selected(format!("-k {pattern}")));
        }
        test = format!("{test}_{pattern}");
    }
    let class = format!("Test{}", capital(probed.word));
    let code = format!(
        "import unittest\n\n\nclass {class}(unittest.TestCase):\n    def {test}(self) -> None:\n        self.assertEqual(1, 2)\n"
    );
    let main = text.lines().find(|line| line.starts_with("if __name__"));
    let contents = match main.and_then(|line| text.find(line)) {
        Some(at) => format!("{}{code}\n\n{}", &text[..at], &text[at..]),
        None => appended(text, &format!("\n\n{code}")),
    };
    Ok(Canary { path: path.to_owned(), contents, test: format!("{class}.{test}"), runner: NAME })
}

/// `python file.py` with a plain `unittest.main()`.
fn script(call: &RunnerCall, probed: &Probed<'_>) -> Result<Canary, NoCanary> {
    let Some((file, rest)) = call.words.split_first() else { return Err(NoCanary::NoRunner) };
    let path = clean(&call.folder, file).filter(|path| probed.has(path)).ok_or(NoCanary::NoRunner)?;
    let first = probed.first_text(&path).unwrap_or_default();
    let is_main = |text: &str| {
        text.lines().any(|line| matches!(line.trim(), "unittest.main()" | "unittest.main(verbosity=2)" | "main()"))
            && text.contains("TestCase")
            && text.lines().any(|line| line.starts_with("if __name__"))
    };
    let has_others = rest.iter().any(|word| !HARMLESS.contains(&word.as_str()));
    let Some(text) = probed.text(&path).filter(|text| is_main(text) && is_main(&first)) else {
        return Err(NoCanary::NoRunner);
    };
    if has_others || SKIPS_ALL.iter().any(|word| first.contains(word)) {
        return Err(NoCanary::NoTestFile(NAME));
    }
    with_class(probed, &path, &text, None)
}

/// The file of a module or a path on the command line. A class or a single test is none.
fn module<'a>(name: &str, call: &RunnerCall, probed: &Probed<'a>) -> Option<&'a str> {
    let path = if name.ends_with(".py") { name.to_owned() } else { format!("{}.py", name.replace('.', "/")) };
    let path = clean(&call.folder, &path)?;
    probed.files().find(|file| **file == path)
}

#[derive(Debug, Default)]
struct Args {
    start: String,
    glob: String,
    pattern: Option<String>,
    names: Vec<String>,
}

impl Args {
    fn read(call: &RunnerCall) -> Result<Self, NoCanary> {
        let mut args = Self { start: call.folder.clone(), glob: "test*.py".to_owned(), ..Self::default() };
        let mut words = call.words.as_slice();
        let discovers = words.first().is_none_or(|word| word == "discover");
        words = words.strip_prefix(&["discover".to_owned()]).unwrap_or(words);
        let mut has_start = false;
        let mut at = 0;
        while let Some(word) = words.get(at) {
            let next = usize::from(!word.contains('='));
            if let Some(start) = option_value(words, at, &["-s", "--start-directory"]) {
                args.start = if start == "." { call.folder.clone() } else { args.folder(call, start)? };
                at += next;
            } else if let Some(glob) = option_value(words, at, &["-p", "--pattern"]) {
                args.glob = glob.to_owned();
                at += next;
            } else if let Some(pattern) = option_value(words, at, &["-k"]) {
                args.pattern = Some(pattern.to_owned());
                at += next;
            } else if option_value(words, at, &["-t", "--top-level-directory"]).is_some() {
                at += next;
            } else if word.starts_with('-') {
                if !HARMLESS.contains(&word.as_str()) {
                    return Err(NoCanary::Selected(word.clone()));
                }
            } else if discovers && !has_start {
                has_start = true;
                args.start = if word == "." { call.folder.clone() } else { args.folder(call, word)? };
            } else if discovers {
                return Err(NoCanary::Selected(word.clone()));
            } else {
                args.names.push(word.clone());
            }
            at += 1;
        }
        Ok(args)
    }

    fn folder(&self, call: &RunnerCall, word: &str) -> Result<String, NoCanary> {
        clean(&call.folder, word).ok_or_else(|| NoCanary::Selected(word.to_owned()))
    }

    /// Whether discovery finds a file: it goes only into packages.
    fn finds(&self, path: &str, probed: &Probed<'_>) -> bool {
        let above = folder_of(path);
        if !fits_glob(&self.glob, name_of(path)) || !(above == self.start || is_below(above, &self.start)) {
            return false;
        }
        let mut at = above;
        while at != self.start {
            if !probed.has(&format!("{at}/__init__.py")) {
                return false;
            }
            at = folder_of(at);
        }
        true
    }
}
