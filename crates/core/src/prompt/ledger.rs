//! The ledger of iterations and the notes, as lines of a prompt.
use super::section::harmless;
use crate::changes::Changes;
use crate::run::{AttemptLine, Memory, NoteAuthor};
use crate::text::{self, NameList};

/// How many bytes the ledger has at most.
const ATTEMPTS_BYTES_MAX: usize = 3_200;
/// How many bytes the notes have at most.
const NOTES_BYTES_MAX: usize = 3_200;
/// How long a line is at most, in letters.
const LINE_LETTERS_MAX: usize = 360;

/// Every distinct dead end, then the newest iterations, one line each.
pub(super) fn attempts(memory: &Memory) -> String {
    let newest: Vec<String> = memory.attempts().iter().map(line).collect();
    let first = memory.attempts().first().map_or(0, |line| line.iteration);
    // One that is among the newest is not told twice.
    let older = memory.dead_ends().iter().filter(|dead_end| dead_end.iteration < first);
    let mut older: Vec<String> = older.map(|dead_end| format!("dead end: {}", line(dead_end))).collect();
    let room = ATTEMPTS_BYTES_MAX.saturating_sub(newest.iter().map(|line| line.len() + 1).sum());
    let mut left_out = memory.dead_ends_left_out();
    while older.iter().map(|line| line.len() + 1).sum::<usize>() > room && !older.is_empty() {
        older.remove(0);
        left_out += 1;
    }
    let left_out = match left_out {
        0 => None,
        1 => Some("1 older dead end is left out".to_owned()),
        left_out => Some(format!("{left_out} older dead ends are left out")),
    };
    left_out.into_iter().chain(older).chain(newest).collect::<Vec<_>>().join("\n")
}

/// `3 · codex gpt-5 · 2 files +12 -3 (a.rs, b.rs) · fixed 1 (x), broke 0 · error · claimed: "…"`.
fn line(line: &AttemptLine) -> String {
    let measured = &line.measured;
    let model = line.model.as_ref().map_or_else(String::new, |model| format!(" {model}"));
    let mut parts = vec![format!("{}", line.iteration), format!("{}{model}", line.agent)];
    parts.push(changes(line.changes, &measured.files));
    if !measured.fixed.is_nothing() || !measured.broken.is_nothing() {
        parts.push(format!("fixed {}, broke {}", counted(&measured.fixed), counted(&measured.broken)));
    }
    if line.improved {
        parts.push("better than before".to_owned());
    }
    if line.reverted_to.is_some() {
        parts.push("reverted".to_owned());
    }
    parts.extend(measured.error.clone());
    parts.extend(measured.claim.as_ref().map(|claim| format!("claimed: \"{claim}\"")));
    harmless(&text::one_line(&parts.join(" · "), LINE_LETTERS_MAX))
}

fn changes(changes: Option<Changes>, files: &[String]) -> String {
    let names = if files.is_empty() { String::new() } else { format!(" ({})", files.join(", ")) };
    match changes {
        None => "changes not measured".to_owned(),
        Some(Changes { files: 0, .. }) => "nothing changed".to_owned(),
        Some(Changes { files: 1, insertions, deletions }) => format!("1 file +{insertions} -{deletions}{names}"),
        Some(Changes { files, insertions, deletions }) => format!("{files} files +{insertions} -{deletions}{names}"),
    }
}

fn counted(names: &NameList) -> String {
    if names.is_nothing() { "0".to_owned() } else { format!("{} ({})", names.count, names.first.join(", ")) }
}

/// One line each, with its number; who said it is named.
pub(super) fn notes(memory: &Memory) -> String {
    let one = |note: &crate::run::Note| {
        let who = match note.author {
            NoteAuthor::Agent => "claimed",
            NoteAuthor::Person => "by a person",
        };
        harmless(&format!("n{} ({who}, iteration {}): {}", note.id, note.iteration, note.text))
    };
    let mut all: Vec<(NoteAuthor, String)> = memory.notes().iter().map(|note| (note.author, one(note))).collect();
    let mut left_out = 0;
    while all.iter().map(|(_, line)| line.len() + 1).sum::<usize>() > NOTES_BYTES_MAX && all.len() > 1 {
        // Those of people stay as long as there is one of an agent.
        let at = all.iter().position(|(author, _)| *author == NoteAuthor::Agent).unwrap_or(0);
        all.remove(at);
        left_out += 1;
    }
    let left_out = (left_out > 0).then(|| format!("({left_out} older notes are left out)"));
    left_out.into_iter().chain(all.into_iter().map(|(_, line)| line)).collect::<Vec<_>>().join("\n")
}
