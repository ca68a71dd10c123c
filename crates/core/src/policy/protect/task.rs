//! Whether a task names a file as one that may be changed.
//!
//! A file is named by its path or by its whole name; a shell script also by its name without the end, where that is not a
//! common word (`calc` for `calc.sh`). A mention that forbids a change does not count, and one such mention is enough:
//! "do not change", "without touching", "leave … alone", "must stay unchanged", "except", "instead of editing". The
//! words are English. A sentence is read in clauses, and each clause allows or forbids as a whole.
use super::paths::name_of;
use super::uses::names::looks_like_check;

/// Beginnings of words for a change.
const CHANGES: &[&str] = &[
    "chang", "touch", "modif", "edit", "alter", "delet", "remov", "weak", "rewrit", "updat", "adjust", "adapt",
    "tamper", "replac", "overwrit", "mov", "renam", "break", "disabl", "patch", "fix", "repair", "extend", "improv",
    "correct",
];
/// Words that forbid the change that follows.
const NEGATIONS: &[&str] = &[
    "not",
    "never",
    "without",
    "no",
    "dont",
    "don't",
    "mustn't",
    "shouldn't",
    "avoid",
    "refrain",
    "instead",
    "rather",
];
/// Before `not`, these describe what is: "run.sh does not update the list" forbids nothing.
const DESCRIBES: &[&str] = &["does", "did", "is", "are", "was", "were", "has", "have", "had"];
/// Words that forbid a change by themselves.
const FORBIDS: &[&str] = &[
    "unchanged",
    "untouched",
    "unmodified",
    "intact",
    "alone",
    "off-limits",
    "read-only",
    "readonly",
    "forbidden",
    "nothing",
];
/// Words that begin another clause.
const CLAUSES: &[&str] = &["but", "instead", "rather", "without", "leave", "keep", "then", "however", "while", "so"];
/// Words that turn what was said before: "all except".
const EXCEPTIONS: &[&str] = &["except", "excluding", "apart"];
/// So many words may stand between a negation and the change: "not, under any condition, be changed".
const WORDS_BETWEEN: usize = 4;

/// Whether a text names a file as one that may be changed.
#[must_use]
pub fn names_file(text: &str, path: &str) -> bool {
    let (mut is_named, mut is_forbidden) = (false, false);
    for sentence in sentences(text) {
        let mut before = Mood::Allows;
        for clause in clauses(&sentence) {
            let mood = clause.mood(before);
            if clause.words.iter().any(|word| is_name(word, path)) {
                is_named = true;
                is_forbidden |= mood == Mood::Forbids;
            }
            before = mood;
        }
    }
    is_named && !is_forbidden
}

/// What a clause says about changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mood {
    Allows,
    Forbids,
}

struct Clause {
    words: Vec<String>,
    /// It names exceptions to the one before it.
    is_exception: bool,
}

impl Clause {
    fn mood(&self, before: Mood) -> Mood {
        match (self.is_exception, before) {
            (true, Mood::Allows) => return Mood::Forbids,
            (true, Mood::Forbids) => return Mood::Allows,
            (false, _) => {}
        }
        let lower: Vec<String> = self.words.iter().map(|word| word.to_ascii_lowercase()).collect();
        let is_forbidden = lower.iter().enumerate().any(|(at, word)| {
            let mut next = lower.iter().skip(at + 1).take(WORDS_BETWEEN).map(String::as_str);
            let before = at.checked_sub(1).and_then(|at| lower.get(at)).map_or("", String::as_str);
            match word.as_str() {
                "leave" => true,
                // "as is", "as it was", "as they are"
                "as" => next.next().is_some_and(|word| matches!(word, "is" | "it" | "they")),
                // "is not to be changed"
                "not" if DESCRIBES.contains(&before) => next.next() == Some("to") && next.any(is_change),
                word => FORBIDS.contains(&word) || NEGATIONS.contains(&word) && next.any(is_change),
            }
        });
        if is_forbidden { Mood::Forbids } else { Mood::Allows }
    }
}

fn is_change(word: &str) -> bool {
    CHANGES.iter().any(|begin| word.starts_with(begin))
}

/// A word or a sign of a text.
enum Piece {
    Word(String),
    Comma,
}

/// The sentences of a text. The point in a name of a file ends none.
fn sentences(text: &str) -> Vec<Vec<Piece>> {
    let mut all = vec![Vec::new()];
    for word in text.replace('\u{2019}', "'").split_whitespace() {
        let is_part = |letter: char| letter.is_alphanumeric() || "_-./'".contains(letter);
        let pieces: Vec<&str> = word.split(|letter: char| !is_part(letter)).collect();
        for piece in pieces {
            let bare = piece.trim_matches('\'').trim_end_matches('.').trim_start_matches("./");
            if let Some(sentence) = all.last_mut().filter(|_| !bare.is_empty()) {
                sentence.push(Piece::Word(bare.to_owned()));
            }
        }
        let end = word.trim_end_matches(|letter: char| "\"')`]*".contains(letter));
        if end.ends_with(['.', '!', '?', ';', ':']) {
            all.push(Vec::new());
        } else if end.ends_with(',')
            && let Some(sentence) = all.last_mut()
        {
            sentence.push(Piece::Comma);
        }
    }
    all
}

/// The clauses of a sentence. A list of names is one clause: "do not change a, b or c".
fn clauses(sentence: &[Piece]) -> Vec<Clause> {
    let words: Vec<&str> = sentence
        .iter()
        .map(|piece| match piece {
            Piece::Word(word) => word.as_str(),
            Piece::Comma => ",",
        })
        .collect();
    let lower = |at: usize| words.get(at).map(|word| word.to_ascii_lowercase()).unwrap_or_default();
    let is_any = |at: usize| matches!(lower(at).as_str(), "anything" | "nothing" | "everything" | "all" | "none");
    let mut all = vec![Clause { words: Vec::new(), is_exception: false }];
    for at in 0..words.len() {
        let (word, before) = (lower(at), at.checked_sub(1).map(lower).unwrap_or_default());
        let is_but_these =
            word == "but" && (at.checked_sub(1).is_some_and(is_any) || at.checked_sub(2).is_some_and(is_any));
        let is_other_than = word == "than" && before == "other";
        let is_exception = EXCEPTIONS.contains(&word.as_str()) || is_but_these || is_other_than;
        let is_joined = matches!(before.as_str(), "," | "and" | "then");
        let is_verb = is_change(&word) || matches!(word.as_str(), "do" | "don't" | "never" | "only" | "make");
        let begins = is_exception || CLAUSES.contains(&word.as_str()) || is_joined && is_verb;
        if begins {
            all.push(Clause { words: Vec::new(), is_exception });
        }
        if let Some(clause) = all.last_mut().filter(|_| word != ",") {
            clause.words.extend(words.get(at).map(|word| (*word).to_owned()));
        }
    }
    all
}

fn is_name(word: &str, path: &str) -> bool {
    let name = name_of(path);
    let is_plain = name.contains('.') || name.starts_with(char::is_uppercase);
    let stem = name.strip_suffix(".sh").filter(|stem| stem.len() > 2 && !looks_like_check(name));
    let word = word.strip_suffix("'s").unwrap_or(word);
    word == path && (is_plain || path.contains('/')) || is_plain && word == name || stem == Some(word)
}
