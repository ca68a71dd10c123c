//! The project's own names for its checks: goals of makefiles, recipes of justfiles, tasks of a Taskfile.
use super::{Candidate, CheckUse, Language, Part};
use crate::policy::probe::{MAKEFILES, Rules};

/// The usual names, the best first.
const NAMES: [(CheckUse, &[&str]); 6] = [
    (CheckUse::Test, &["test", "check", "tests", "verify", "ci"]),
    (CheckUse::Lint, &["lint", "clippy", "vet"]),
    (CheckUse::Types, &["typecheck", "type-check", "types", "mypy"]),
    (CheckUse::Build, &["build", "compile"]),
    (CheckUse::Bench, &["bench", "benchmark", "perf"]),
    (CheckUse::Audit, &["audit", "security"]),
];

pub(super) fn candidates(part: &Part<'_>) -> Vec<Candidate> {
    let mut found = Vec::new();
    for (shows, names) in NAMES {
        found
            .extend(make(part, shows, names).or_else(|| just(part, shows, names)).or_else(|| task(part, shows, names)));
    }
    found
}

fn make(part: &Part<'_>, shows: CheckUse, names: &[&str]) -> Option<Candidate> {
    let file = part.first(&MAKEFILES)?;
    let rules = Rules::of_text(part.text(file));
    let (goal, lines) = names.iter().find_map(|goal| Some((goal, rules.lines(goal)?)))?;
    let reason = format!("{} has a goal {goal}", part.path(file));
    // `check: test` without lines of its own, and a goal of which nothing is known.
    let check = part.check(shows, Language::Target, &format!("make {goal}"), reason);
    Some(Candidate { runs: Some(lines.join("\n")), ..check })
}

fn just(part: &Part<'_>, shows: CheckUse, names: &[&str]) -> Option<Candidate> {
    let file = part.first(&["justfile", "Justfile", ".justfile"])?;
    let text = part.text(file);
    let (recipe, body) = names.iter().find_map(|name| Some((name, recipe(text, name)?)))?;
    let reason = format!("{} has a recipe {recipe}", part.path(file));
    let check = part.check(shows, Language::Target, &format!("just {recipe}"), reason);
    Some(Candidate { runs: Some(body), ..check })
}

/// The lines of a recipe, with its dependencies on the first one. A recipe with arguments cannot be called by its name alone.
fn recipe(text: &str, name: &str) -> Option<String> {
    let mut lines = text.lines();
    let head = lines.find_map(|line| {
        let rest = line.strip_prefix('@').unwrap_or(line).strip_prefix(name)?.strip_prefix(':')?;
        (!rest.starts_with('=')).then_some(rest)
    })?;
    let body = lines.take_while(|line| line.starts_with([' ', '\t']) || line.is_empty());
    Some(std::iter::once(head).chain(body).collect::<Vec<_>>().join("\n"))
}

fn task(part: &Part<'_>, shows: CheckUse, names: &[&str]) -> Option<Candidate> {
    let file = part.first(&["Taskfile.yml", "Taskfile.yaml"])?;
    let text = part.text(file);
    let has = |name: &&&str| text.lines().any(|line| line.trim_end() == format!("  {name}:"));
    let name = names.iter().find(has)?;
    let reason = format!("{} has a task {name}", part.path(file));
    Some(part.check(shows, Language::Target, &format!("task {name}"), reason))
}
