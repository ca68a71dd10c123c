//! Which of the commands found are proposed: not two for the same thing, and those that continuous integration runs first.
use super::ci::CiLines;
use super::{Candidate, CheckUse, Language, ProposedCheck};
use crate::policy::protect::paths::is_below;

/// So many commands for one use are proposed.
const CHECKS_MAX: usize = 6;
/// A gate's name is not longer.
const NAME_LETTERS_MAX: usize = 40;

#[derive(Debug, Default)]
pub(super) struct Chosen {
    pub(super) parts: Vec<String>,
    pub(super) checks: Vec<ProposedCheck>,
    /// So many are left out.
    pub(super) more: usize,
}

/// A command, and the file of continuous integration that runs it.
struct Seen<'a> {
    candidate: Candidate,
    run_by: Option<&'a str>,
}

pub(super) fn choose(found: Vec<Candidate>, ci: &CiLines) -> Chosen {
    let mut chosen = Chosen { parts: parts_of(&found), ..Chosen::default() };
    let seen: Vec<Seen<'_>> =
        found.into_iter().map(|candidate| Seen { run_by: ci.running(&candidate.bare), candidate }).collect();
    for shows in CheckUse::ALL {
        let all: Vec<&Seen<'_>> = seen.iter().filter(|seen| seen.candidate.shows == shows).collect();
        let mut left: Vec<&Seen<'_>> =
            all.iter().copied().filter(|seen| !all.iter().any(|by| covers(by, seen))).collect();
        left.sort_by_key(|seen| {
            let Candidate { folder, language, .. } = &seen.candidate;
            (folder.split('/').filter(|part| !part.is_empty()).count(), seen.run_by.is_none(), *language, folder)
        });
        chosen.more += left.len().saturating_sub(CHECKS_MAX);
        for seen in left.into_iter().take(CHECKS_MAX) {
            let name = name_for(&seen.candidate, &chosen.checks);
            chosen.checks.push(proposed(seen, name));
        }
    }
    chosen
}

fn proposed(seen: &Seen<'_>, name: String) -> ProposedCheck {
    let Candidate { shows, command, reason, .. } = &seen.candidate;
    let also =
        seen.run_by.filter(|file| !reason.contains(file)).map_or(String::new(), |file| format!(", and {file} runs it"));
    ProposedCheck { shows: *shows, name, command: command.clone(), reason: format!("{reason}{also}") }
}

/// Whether the first makes the second superfluous.
fn covers(by: &Seen<'_>, seen: &Seen<'_>) -> bool {
    let (first, second) = (&by.candidate, &seen.candidate);
    let is_same_folder = first.folder == second.folder;
    let holds = is_same_folder || is_below(&second.folder, &first.folder);
    if !holds || std::ptr::eq(by, seen) {
        return false;
    }
    match (first.language, second.language) {
        // Continuous integration does not use the project's own name for it, but the command itself.
        (Language::Target, _) if by.run_by.is_none() && seen.run_by.is_some() => false,
        (Language::Target, Language::Target) => !is_same_folder && runs_in(first, &second.folder),
        (Language::Target, language) => runs(first, language) && (is_same_folder || runs_in(first, &second.folder)),
        (_, Language::Target) => {
            is_same_folder && by.run_by.is_some() && seen.run_by.is_none() && runs(second, first.language)
        }
        // A script is only for a project of which nothing else is known.
        (_, Language::Script) => true,
        (Language::Script, _) => false,
        (one, other) => one == other && !is_same_folder && first.covers_below,
    }
}

/// Whether a target runs tests of a language. One that names no program that is known may run anything.
fn runs(target: &Candidate, language: Language) -> bool {
    let Some(lines) = target.runs.as_deref().filter(|lines| !lines.trim().is_empty()) else { return true };
    let calls = |language: Language| words(lines).any(|word| language.programs().contains(&word));
    calls(language) || !ALL_LANGUAGES.into_iter().any(calls)
}

/// Whether a target names a folder.
fn runs_in(target: &Candidate, folder: &str) -> bool {
    let lines = target.runs.as_deref().unwrap_or_default();
    let is_named = |word: &str| word.trim_matches('/') == folder || word.starts_with(&format!("{folder}/"));
    words(lines).any(is_named) || lines.split_whitespace().any(|word| is_named(word.trim_start_matches("./")))
}

/// The words of some lines; a program with its path counts by its name.
fn words(lines: &str) -> impl Iterator<Item = &str> {
    let all = lines.split(|letter: char| letter.is_whitespace() || ";&|()'\"=".contains(letter));
    all.flat_map(|word| [word, word.rsplit('/').next().unwrap_or(word)])
}

const ALL_LANGUAGES: [Language; 13] = [
    Language::Rust,
    Language::Go,
    Language::Jvm,
    Language::Dotnet,
    Language::Python,
    Language::Ruby,
    Language::Php,
    Language::Elixir,
    Language::Swift,
    Language::Dart,
    Language::C,
    Language::Node,
    Language::Deno,
];

/// A name for the gate: what it shows, with its folder or its language where another gate shows the same.
fn name_for(candidate: &Candidate, taken: &[ProposedCheck]) -> String {
    let word = candidate.shows.word();
    let is_free = |name: &String| !taken.iter().any(|check| check.name == *name);
    let plain = |text: &str| -> String {
        let letters = text
            .chars()
            .map(|letter| if letter.is_ascii_alphanumeric() || "-_.".contains(letter) { letter } else { '-' });
        letters.take(NAME_LETTERS_MAX - 10).collect()
    };
    let long = match (candidate.folder.as_str(), candidate.language) {
        ("", language) => format!("{word}-{}", language.word()),
        (folder, _) => format!("{word}-{}", plain(folder)),
    };
    let numbered = (2..).map(|number| format!("{long}-{number}"));
    [word.to_owned(), long.clone()].into_iter().chain(numbered).find(is_free).unwrap_or(long)
}

/// The languages of a project with their folders.
fn parts_of(found: &[Candidate]) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let known = |candidate: &&Candidate| !matches!(candidate.language, Language::Target | Language::Script);
    for Candidate { language, folder, .. } in found.iter().filter(known) {
        let word = language.word();
        let part = if folder.is_empty() { word.to_owned() } else { format!("{word} in {folder}") };
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    parts
}
