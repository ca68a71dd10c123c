//! A failing test for `cargo test` and `cargo nextest run`: beside a test that ran, so that the same filter takes both;
//! where no names are known, a module at the end of the library.
use toml_edit::DocumentMut;

use super::broken::{broken_rust, rust_body};
use super::calls::RunnerCall;
use super::filter::option_value;
use super::project::{Probed, appended, is_identifier};
use super::runners::RunnerKind;
use super::{Canary, NoCanary};
use crate::policy::protect::paths::{folder_of, is_below, joined, name_of};
use crate::policy::protect::script::clean;

const SELECTING: &[&str] = &[
    "--no-run",
    "--ignored",
    "--exact",
    "--list",
    "--doc",
    "--partition",
    "--skip",
    "--example",
    "--examples",
    "--benches",
    "--bench",
    "--run-ignored",
    "--archive-file",
    "-P",
    "--profile-nextest",
];
const WITH_VALUE: &[&str] = &[
    "--features",
    "-F",
    "--target",
    "--target-dir",
    "--profile",
    "--jobs",
    "-j",
    "--color",
    "--message-format",
    "--config",
    "-Z",
    "--test-threads",
    "--retries",
    "--status-level",
    "--format",
    "--cargo-profile",
    "--build-jobs",
    "--final-status-level",
    "--no-tests",
    "--max-fail",
    "--report-time",
    "--logfile",
    "--shuffle-seed",
];
/// The attributes of a test, as they begin.
const TEST_ATTRIBUTES: &[&str] =
    &["#[test]", "#[tokio::test", "#[async_std::test", "#[actix_rt::test", "#[test_log::test"];

pub(super) fn canary(call: &RunnerCall, probed: &Probed<'_>) -> Result<Canary, NoCanary> {
    let runner = call.kind.name();
    let args = Args::read(call)?;
    if call.kind == RunnerKind::Nextest
        && probed.setup_file(".config/nextest.toml").is_some_and(|text| text.contains("default-filter"))
    {
        return Err(NoCanary::Selected("default-filter in .config/nextest.toml".to_owned()));
    }
    for id in probed.turned_green() {
        let found = beside(id, probed, runner, true);
        if let Some(canary) = found.filter(|canary| args.takes(&canary.test)) {
            return Ok(canary);
        }
    }
    for id in probed.passed() {
        if let Some(canary) = beside(id, probed, runner, false) {
            return if args.takes(&canary.test) { Ok(canary) } else { Err(NoCanary::Selected(args.filters.join(" "))) };
        }
    }
    // The names do not match any file, so we do not know which file ran.
    if probed.knows_names() || args.has_unknown_argument {
        return Err(NoCanary::NoTestFile(runner));
    }
    at_the_end(call, probed, &args).ok_or(NoCanary::NoTestFile(runner))
}

/// A copy of the head of a test that ran, right before it; or the test itself, made to fail.
fn beside(id: &str, probed: &Probed<'_>, runner: &'static str, is_broken: bool) -> Option<Canary> {
    let (binary, path) = id.split_once(' ')?;
    let (package, target) = binary.split_once("::").map_or((binary, None), |(package, target)| (package, Some(target)));
    let leaf = path.rsplit("::").next().unwrap_or(path);
    let folder = package_folder(package, probed);
    // Where only tests of a package ran, their file alone is named.
    let (folder, target) = match (folder, target) {
        (Some(folder), target) => (folder, target),
        (None, None) => (test_folder(binary, probed)?, Some(binary)),
        (None, Some(_)) => return None,
    };
    let place = |part: &str| joined(&folder, part);
    let (tests, source) = (place("tests"), place("src"));
    let is_of = |file: &&str| match target {
        Some(target) => {
            let (own, inner) = (format!("{tests}/{target}.rs"), format!("{tests}/{target}"));
            **file == *own || is_below(file, &inner) || (target.starts_with("bin/") && is_below(file, &source))
        }
        None => is_below(file, &source),
    };
    let head = format!("fn {leaf}(");
    let mut found: Vec<(&str, String)> = Vec::new();
    for file in probed.files().filter(|file| file.ends_with(".rs")).filter(is_of) {
        let Some(text) = probed.text(file).filter(|text| text.contains(&head)) else { continue };
        // Twice in one file, or in two files: it is not certain which of them ran.
        if !found.is_empty() || text.matches(&head).count() != 1 {
            return None;
        }
        found.push((file, text));
    }
    let (file, text) = found.pop()?;
    let name = format!("{leaf}_{}", probed.word);
    let contents = with_test_before(&text, &head, &name)?;
    if is_broken {
        let contents = broken_rust(&text, &head)?;
        return Some(Canary { path: file.to_owned(), contents, test: path.to_owned(), runner });
    }
    let test = path.strip_suffix(leaf).map_or_else(|| name.clone(), |above| format!("{above}{name}"));
    Some(Canary { path: file.to_owned(), contents, test, runner })
}

/// The text with another test before the attributes of this function.
fn with_test_before(text: &str, head: &str, name: &str) -> Option<String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let at = lines.iter().position(|line| line.contains(head))?;
    let line = lines.get(at)?;
    let before = line.split(head).next()?.trim();
    let is_function = matches!(before, "" | "async" | "pub" | "pub async") || before.starts_with("#[test]");
    let mut first = at;
    while first > 0
        && lines
            .get(first - 1)
            .is_some_and(|line| line.trim_start().starts_with("#[") || line.trim_start().starts_with("///"))
    {
        first -= 1;
    }
    let head_lines = lines.get(first..=at)?;
    let is_test =
        head_lines.iter().any(|line| TEST_ATTRIBUTES.iter().any(|attribute| line.trim_start().starts_with(attribute)));
    let expects_panic =
        head_lines.iter().any(|line| line.contains("should_panic") || line.contains("ignore") || line.contains("cfg"));
    if !is_function || !is_test || expects_panic {
        return None;
    }
    let indent: String = line.chars().take_while(|letter| matches!(letter, ' ' | '\t')).collect();
    let body = rust_body(text);
    let test = format!("{indent}#[test]\n{indent}fn {name}() {{\n{indent}    {body}\n{indent}}}\n\n");
    Some([lines.get(..first)?.concat(), test, lines.get(first..)?.concat()].concat())
}

/// The folder of the package with an integration test of this name, if there is only one.
fn test_folder(target: &str, probed: &Probed<'_>) -> Option<String> {
    let ends = [format!("tests/{target}.rs"), format!("tests/{target}/main.rs")];
    let of = |path: &str| {
        let above = ends.iter().find_map(|end| path.strip_suffix(end.as_str()))?;
        (above.is_empty() || above.ends_with('/')).then(|| above.trim_end_matches('/').to_owned())
    };
    let mut found = probed.files().filter_map(of);
    let only = found.next()?;
    found.next().is_none().then_some(only)
}

/// The folder of a package by its name; `-` and `_` are the same there.
fn package_folder(package: &str, probed: &Probed<'_>) -> Option<String> {
    let same = |name: &str| name.replace('-', "_") == package.replace('-', "_");
    let manifests = probed.files().filter(|path| name_of(path) == "Cargo.toml");
    let mut found = manifests.filter(|path| {
        let document = probed.text(path).and_then(|text| text.parse::<DocumentMut>().ok());
        let Some(document) = document else { return false };
        let name = |part: &str| document.get(part).and_then(|part| part.get("name")?.as_str()).is_some_and(same);
        name("package") || name("lib")
    });
    let only = found.next()?;
    found.next().is_none().then(|| folder_of(only).to_owned())
}

/// A module at the end of the library or the program, where the whole package is tested.
fn at_the_end(call: &RunnerCall, probed: &Probed<'_>, args: &Args) -> Option<Canary> {
    let at = match &args.package {
        Some(package) => package_folder(package, probed)?,
        None => args.manifest.as_deref().map_or(call.folder.clone(), |manifest| folder_of(manifest).to_owned()),
    };
    let place = |part: &str| if at.is_empty() { part.to_owned() } else { format!("{at}/{part}") };
    let document = probed.text(&place("Cargo.toml"))?.parse::<DocumentMut>().ok()?;
    document.get("package")?;
    let has_members = document.get("workspace").is_some_and(|part| part.get("default-members").is_some());
    let of = |part: &str, key: &str| document.get(part).and_then(|part| part.get(key)).is_some();
    let is_odd = of("lib", "test") || of("lib", "harness") || of("lib", "path") || document.get("bin").is_some();
    if is_odd || has_members && args.package.is_none() {
        return None;
    }
    let library = Some(place("src/lib.rs")).filter(|path| args.takes_library() && probed.has(path));
    let program = || Some(place("src/main.rs")).filter(|path| args.takes_programs() && probed.has(path));
    let path = library.or_else(program)?;
    let text = probed.text(&path).filter(|text| !text.contains("#![cfg"))?;
    let name = match args.filters.as_slice() {
        [] => probed.word.to_owned(),
        [filter] if is_identifier(filter) => format!("{}_{filter}", probed.word),
        _ => return None,
    };
    let code = format!(
        "\n#[cfg(test)]\nmod probe_{name} {{\n    #[test]\n    fn {name}() {{\n        panic!(\"not as expected\");\n    }}\n}}\n"
    );
    let test = format!("probe_{name}::{name}");
    Some(Canary { path, contents: appended(&text, &code), test, runner: call.kind.name() })
}

#[derive(Debug, Default)]
struct Args {
    package: Option<String>,
    manifest: Option<String>,
    filters: Vec<String>,
    /// `--lib`, `--bins`, `--test x`: only these targets.
    targets: Vec<String>,
    has_unknown_argument: bool,
}

impl Args {
    fn read(call: &RunnerCall) -> Result<Self, NoCanary> {
        let mut args = Self::default();
        let words = call.words.as_slice();
        let mut at = 0;
        while let Some(word) = words.get(at) {
            let name = word.split('=').next().unwrap_or(word);
            let next = usize::from(!word.contains('='));
            if SELECTING.contains(&name) {
                return Err(NoCanary::Selected(name.to_owned()));
            }
            if let Some(value) = option_value(words, at, &["-p", "--package"]) {
                args.has_unknown_argument |= args.package.replace(value.to_owned()).is_some();
                at += next;
            } else if let Some(value) = option_value(words, at, &["--manifest-path"]) {
                args.manifest = clean(&call.folder, value);
                args.has_unknown_argument |= args.manifest.is_none();
                at += next;
            } else if let Some(value) = option_value(words, at, &["-E", "--filter-expr", "--filterset"]) {
                // Sets of packages and of parts of names also select a test added next to it.
                if value.contains(['=', '/', '$', '~', '#']) {
                    return Err(NoCanary::Selected(format!("-E {value}")));
                }
                args.has_unknown_argument = true;
                at += next;
            } else if option_value(words, at, &["--exclude"]).is_some() {
                args.has_unknown_argument = true;
                at += next;
            } else if matches!(name, "--test" | "--bin") {
                args.targets.push(name.to_owned());
                at += next;
            } else if matches!(name, "--lib" | "--bins" | "--tests" | "--all-targets") {
                args.targets.push(name.to_owned());
            } else if WITH_VALUE.contains(&word.as_str()) {
                at += 1;
            } else if word.contains(['$', '`']) {
                args.has_unknown_argument = true;
            } else if !word.starts_with('-') {
                args.filters.push(word.clone());
            }
            at += 1;
        }
        Ok(args)
    }

    fn takes(&self, test: &str) -> bool {
        self.filters.is_empty() || self.filters.iter().any(|filter| test.contains(filter.as_str()))
    }

    fn takes_library(&self) -> bool {
        self.targets.is_empty()
            || self.targets.iter().any(|target| matches!(target.as_str(), "--lib" | "--tests" | "--all-targets"))
    }

    fn takes_programs(&self) -> bool {
        self.targets.is_empty()
            || self.targets.iter().any(|target| matches!(target.as_str(), "--bins" | "--tests" | "--all-targets"))
    }
}
