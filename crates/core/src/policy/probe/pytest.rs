//! A failing test for pytest: a function at the end of a test file that surely runs.
use toml_edit::{DocumentMut, Item};

use super::calls::RunnerCall;
use super::filter::{TestSelection, fits_glob, option_value};
use super::project::{Probed, appended, is_identifier};
use super::{Canary, NoCanary};
use crate::policy::protect::paths::{folder_of, is_below, joined, name_of, upwards};
use crate::policy::protect::script::{Token, clean, tokens};

const NAME: &str = "pytest";
/// Options whose value is the next word.
const WITH_VALUE: &[&str] = &[
    "-p",
    "-n",
    "-r",
    "-W",
    "--tb",
    "--cov",
    "--rootdir",
    "--durations",
    "--maxfail",
    "--junitxml",
    "--junit-xml",
    "--timeout",
    "--log-level",
    "--confcutdir",
    "--basetemp",
    "--color",
    "--dist",
    "--cov-report",
    "--cov-config",
    "--cov-fail-under",
    "--reruns",
    "--import-mode",
    "--numprocesses",
    "--log-cli-level",
    "--verbosity",
    "--capture",
];
/// Options with which a further test may not run.
const SELECTING: &[&str] = &[
    "--lf",
    "--last-failed",
    "--sw",
    "--stepwise",
    "--co",
    "--collect-only",
    "--pyargs",
    "--deselect",
    "--testmon",
    "--picked",
    "--setup-only",
    "--setup-plan",
    "--fixtures",
    "--markers",
    "--version",
    "--help",
    "-h",
    "--nf",
    "--ignore-glob",
    "--splits",
    "--shard-id",
    "--override-ini",
    "-o",
    "--doctest-only",
    "--only-rerun",
];
/// Folders in which pytest does not search.
const NOT_SEARCHED: &[&str] = &["build", "dist", "node_modules", "venv", "CVS", "_darcs", "site-packages"];
/// What a file says that may skip all of its tests.
const SKIPS_ALL: &[&str] = &["allow_module_level", "importorskip", "__test__", "SkipTest"];

pub(super) fn canary(call: &RunnerCall, probed: &Probed<'_>) -> Result<Canary, NoCanary> {
    let mut args = Args::default();
    args.read(&call.words, call, probed)?;
    let config = Config::find(&args, call, probed);
    args.read(&config.addopts, call, probed)?;
    if let Some(names) =
        config.python_functions.iter().find(|names| !matches!(names.as_str(), "test" | "test_*" | "test*"))
    {
        return Err(NoCanary::Selected(format!("python_functions = {names}")));
    }
    let files = match args.candidates(call, probed, &config) {
        files if files.is_empty() => return Err(NoCanary::NoTestFile(NAME)),
        files => files,
    };
    // The file of a test that failed at the start comes first: an agent that hides just that one is noticed.
    let printed = probed.turned_green().filter_map(|id| id.split_once("::")).map(|(file, _)| file);
    let red: Vec<&str> = printed.filter_map(|file| probed.file_of(file, &call.folder)).collect();
    let red = if args.single.is_none() { probed.ranked(red) } else { Vec::new() };
    let mut why = NoCanary::NoTestFile(NAME);
    for path in red.into_iter().chain(probed.ranked(files)) {
        let Some(text) = probed.text(path) else { continue };
        match in_file(&args, probed, path, &text) {
            Ok(canary) => return Ok(canary),
            Err(reason) => why = reason,
        }
    }
    Err(why)
}

fn in_file(args: &Args, probed: &Probed<'_>, path: &str, text: &str) -> Result<Canary, NoCanary> {
    let base = base_name(probed, path, text).ok_or(NoCanary::NoTestFile(NAME))?;
    let mut name = format!("{base}_{}", probed.word);
    if let Some(keyword) = &args.keyword {
        let selection = TestSelection::parse(keyword);
        if !is_selected(&selection, &name, path) {
            for word in selection.words() {
                name.push('_');
                name.push_str(word);
            }
        }
        if !is_selected(&selection, &name, path) {
            return Err(NoCanary::Selected(format!("-k {keyword}")));
        }
    }
    let mut above = String::new();
    if let Some(marker) = &args.marker
        && TestSelection::parse(marker).holds(&|_| false) != Some(true)
    {
        if !is_identifier(marker) {
            return Err(NoCanary::Selected(format!("-m {marker}")));
        }
        above = format!("import pytest\n\n\n@pytest.mark.{marker}\n");
    }
    let function = format!("\n\n{above}def {name}() -> None:\n    wanted, got = 1, 2\n    assert wanted == got\n");
    Ok(Canary { path: path.to_owned(), contents: appended(text, &function), test: name, runner: NAME })
}

/// Whether `-k` takes a test, both by its own name alone and with the names of what it is in.
fn is_selected(selection: &TestSelection, name: &str, path: &str) -> bool {
    let has = |text: &str, word: &str| text.to_lowercase().contains(&word.to_lowercase());
    let alone = selection.holds(&|word| has(name, word)) == Some(true);
    alone && selection.holds(&|word| has(name, word) || has(path, word)) == Some(true)
}

/// The name of a test of the file, to which the word is added. A filter that selects the first also selects the second.
fn base_name<'a>(probed: &Probed<'_>, path: &str, text: &'a str) -> Option<&'a str> {
    let functions: Vec<&str> = text.lines().filter_map(test_function).collect();
    let has_passed = |name: &&&str| {
        probed.passed().any(|id| {
            let mut parts = id.split("::");
            let is_here = parts.next().is_some_and(|file| path.ends_with(file));
            is_here && parts.last().is_some_and(|last| last.split('[').next() == Some(**name))
        })
    };
    functions.iter().find(has_passed).or_else(|| functions.first()).copied()
}

fn test_function(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = line.strip_prefix("async ").unwrap_or(line);
    let name = line.strip_prefix("def ")?.split('(').next()?.trim();
    (name.starts_with("test") && is_identifier(name)).then_some(name)
}

/// What the command and the settings say.
#[derive(Debug, Default)]
struct Args {
    /// Files and folders to search.
    paths: Vec<String>,
    ignored: Vec<String>,
    keyword: Option<String>,
    marker: Option<String>,
    /// A word is known only when the line runs.
    has_unknown_argument: bool,
    /// Single tests are named.
    single: Option<String>,
}

impl Args {
    fn read(&mut self, words: &[String], call: &RunnerCall, probed: &Probed<'_>) -> Result<(), NoCanary> {
        let mut at = 0;
        while let Some(word) = words.get(at) {
            let has_next = usize::from(!word.contains('='));
            let name = word.split('=').next().unwrap_or(word);
            if SELECTING.contains(&name) || word.starts_with('@') {
                return Err(NoCanary::Selected(name.to_owned()));
            }
            if let Some(value) = joined_or_next(words, at, "-k") {
                self.keyword = Some(value.to_owned());
                at += usize::from(word == "-k");
            } else if let Some(value) = joined_or_next(words, at, "-m") {
                self.marker = Some(value.to_owned());
                at += usize::from(word == "-m");
            } else if let Some(value) = option_value(words, at, &["--ignore"]) {
                self.ignored.extend(clean(&call.folder, value));
                at += has_next;
            } else if word == "-c" || name == "--config-file" {
                return Err(NoCanary::Selected(word.clone()));
            } else if WITH_VALUE.contains(&word.as_str()) {
                at += 1;
            } else if !word.starts_with('-') {
                self.path(word, call, probed);
            }
            at += 1;
        }
        match [&self.keyword, &self.marker].into_iter().flatten().find(|value| value.contains(['$', '`'])) {
            Some(value) => Err(NoCanary::Selected(value.clone())),
            None => Ok(()),
        }
    }

    fn path(&mut self, word: &str, call: &RunnerCall, probed: &Probed<'_>) {
        if word.contains("::") {
            self.single = Some(word.to_owned());
            return;
        }
        if word.contains(['$', '`']) {
            self.has_unknown_argument = true;
            return;
        }
        let path = if word == "." { Some(call.folder.clone()) } else { clean(&call.folder, word) };
        let Some(path) = path else {
            self.has_unknown_argument = true;
            return;
        };
        if path.contains(['*', '?', '[']) {
            self.paths.extend(probed.files().filter(|file| fits_glob(&path, file)).map(str::to_owned));
            self.has_unknown_argument |= !path.ends_with(".py");
        } else if probed.has(&path) || probed.has_folder(&path) {
            self.paths.push(path);
        } else {
            // The value of an option that is not known here, or nothing at all.
            self.has_unknown_argument = true;
        }
    }

    /// The files that surely run.
    fn candidates<'a>(&self, call: &RunnerCall, probed: &Probed<'a>, config: &Config) -> Vec<&'a str> {
        if self.paths.is_empty() && self.single.is_some() {
            return Vec::new();
        }
        let may_run = |path: &&str| {
            let named = self.paths.iter().any(|given| given == path || is_below(path, given));
            (self.paths.is_empty() || named) && !self.ignored.iter().any(|no| no == path || is_below(path, no))
        };
        let is_marked = |path: &&str| {
            let text = probed.first_text(path).unwrap_or_default();
            marks(&text).any(|mark| mark.contains("skip") || mark.contains("xfail"))
        };
        // What the output names is what ran.
        let printed = probed.passed().filter_map(|id| id.split_once("::")).map(|(file, _)| file);
        let ran: Vec<&str> = printed.filter_map(|file| probed.file_of(file, &call.folder)).filter(may_run).collect();
        if !ran.is_empty() {
            return ran.into_iter().filter(|path| !is_marked(path)).collect();
        }
        if !call.is_certain || self.has_unknown_argument {
            return Vec::new();
        }
        let given = |path: &str| self.paths.iter().any(|given| given == path);
        let searched = |path: &&str| given(path) || config.is_searched(path, &self.paths, &call.folder);
        let skips = |path: &&str| {
            let text = probed.first_text(path).unwrap_or_default();
            let ignores = |folder: &&str| {
                let text = probed.setup_file(&joined(folder, "conftest.py")).unwrap_or_default();
                ["collect_ignore", "pytest_ignore_collect"].iter().any(|word| text.contains(word))
            };
            SKIPS_ALL.iter().any(|word| text.contains(word)) || upwards(folder_of(path)).iter().any(ignores)
        };
        probed.files().filter(may_run).filter(searched).filter(|path| !is_marked(path) && !skips(path)).collect()
    }
}

/// What a file says about all of its tests: `pytestmark = …`, up to the last bracket that is opened there. The next one
/// is looked for behind it: agents write these files, and no byte is read twice.
fn marks(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let found = rest.get(rest.find("pytestmark")?..)?;
        let mut open = 0_i32;
        let end = found.char_indices().find(|(_, letter)| {
            open += match letter {
                '(' | '[' | '{' => 1,
                ')' | ']' | '}' => -1,
                _ => 0,
            };
            *letter == '\n' && open <= 0
        });
        let (mark, behind) = found.split_at(end.map_or(found.len(), |(at, _)| at));
        rest = behind;
        Some(mark)
    })
}

/// `-k value` or `-kvalue`.
fn joined_or_next<'a>(words: &'a [String], at: usize, name: &str) -> Option<&'a str> {
    let word = words.get(at)?;
    match word.strip_prefix(name)? {
        "" => words.get(at + 1).map(String::as_str),
        value => Some(value.trim_start_matches('=')),
    }
}

/// The settings of pytest in its file.
#[derive(Debug, Default)]
struct Config {
    folder: String,
    addopts: Vec<String>,
    testpaths: Vec<String>,
    python_files: Vec<String>,
    python_functions: Vec<String>,
    norecursedirs: Vec<String>,
}

impl Config {
    fn find(args: &Args, call: &RunnerCall, probed: &Probed<'_>) -> Self {
        let start = match args.paths.as_slice() {
            [one] => one,
            _ => &call.folder,
        };
        let found = upwards(start).into_iter().find_map(|folder| Self::in_folder(folder, probed));
        found.unwrap_or_default()
    }

    fn in_folder(folder: &str, probed: &Probed<'_>) -> Option<Self> {
        let read = |name: &str| probed.setup_file(&joined(folder, name));
        let of = |value: &dyn Fn(&str) -> Vec<String>| Self {
            folder: folder.to_owned(),
            addopts: value("addopts"),
            testpaths: value("testpaths"),
            python_files: value("python_files"),
            python_functions: value("python_functions"),
            norecursedirs: value("norecursedirs"),
        };
        for name in ["pytest.toml", ".pytest.toml"] {
            if let Some(document) = read(name).and_then(|text| text.parse::<DocumentMut>().ok()) {
                let options = document.get("pytest");
                return Some(of(&|key| options.and_then(|part| part.get(key)).map(toml_words).unwrap_or_default()));
            }
        }
        for name in ["pytest.ini", ".pytest.ini"] {
            if let Some(text) = read(name) {
                return Some(of(&|key| ini_words(&text, "[pytest]", key)));
            }
        }
        let document = read("pyproject.toml").and_then(|text| text.parse::<DocumentMut>().ok());
        let part = document.as_ref().and_then(|document| document.get("tool")?.get("pytest"));
        if let Some(options) = part.map(|part| part.get("ini_options").unwrap_or(part)) {
            return Some(of(&|key| options.get(key).map(toml_words).unwrap_or_default()));
        }
        for (name, section) in [("tox.ini", "[pytest]"), ("setup.cfg", "[tool:pytest]")] {
            if let Some(text) = read(name).filter(|text| text.contains(section)) {
                return Some(of(&|key| ini_words(&text, section, key)));
            }
        }
        None
    }

    /// Whether pytest finds a file by itself.
    fn is_searched(&self, path: &str, given: &[String], folder: &str) -> bool {
        let name = name_of(path);
        let usual = (name.starts_with("test_") || name.ends_with("_test.py")) && name.ends_with(".py");
        let is_named = if self.python_files.is_empty() {
            usual
        } else {
            self.python_files.iter().any(|pattern| fits_glob(pattern, name))
        };
        let is_skipped = |part: &str| {
            let own = self.norecursedirs.iter().any(|pattern| fits_glob(pattern, part));
            own || part.starts_with('.') || NOT_SEARCHED.contains(&part)
        };
        let skipped = folder_of(path).split('/').any(is_skipped);
        let begin = |place: &String| joined(&self.folder, place);
        let in_paths = given.is_empty() && folder == self.folder && !self.testpaths.is_empty();
        let in_paths =
            !in_paths || self.testpaths.iter().any(|place| is_below(path, begin(place).trim_matches(['.', '/'])));
        is_named && !skipped && in_paths && is_below(path, folder)
    }
}

/// The words of a key of an INI file; its value may go on in further lines that are indented. Empty lines and comments
/// between them end nothing.
fn ini_words(text: &str, section: &str, key: &str) -> Vec<String> {
    let mut value = String::new();
    let mut lines = text
        .lines()
        .skip_while(|line| line.trim() != section)
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with(['#', ';']))
        .peekable();
    while let Some(line) = lines.next() {
        let Some((name, first)) = line.split_once('=') else { continue };
        if name.trim() != key {
            continue;
        }
        value.push_str(first);
        while let Some(more) = lines.next_if(|line| line.starts_with([' ', '\t'])) {
            value.push(' ');
            value.push_str(more);
        }
    }
    words_of(&value)
}

fn toml_words(item: &Item) -> Vec<String> {
    match (item.as_str(), item.as_array()) {
        (Some(text), _) => words_of(text),
        (None, Some(list)) => list.iter().filter_map(|value| value.as_str()).map(str::to_owned).collect(),
        (None, None) => Vec::new(),
    }
}

fn words_of(text: &str) -> Vec<String> {
    let word = |token| match token {
        Token::Word(word) => Some(word),
        Token::End | Token::Pipe | Token::Input | Token::Output => None,
    };
    tokens(text).into_iter().filter_map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_up_to_the_end_of_its_brackets() {
        let text = "pytestmark = [\n  pytest.mark.skip,\n]\nx = 1\npytestmark = pytest.mark.slow\ny = 2\n";
        let found: Vec<&str> = marks(text).collect();
        assert_eq!(found, ["pytestmark = [\n  pytest.mark.skip,\n]", "pytestmark = pytest.mark.slow"]);
    }

    #[test]
    fn no_byte_of_a_file_is_read_for_two_marks() {
        let text = "pytestmark(\n".repeat(1000);
        assert!(marks(&text).map(str::len).sum::<usize>() <= text.len());
    }
}
