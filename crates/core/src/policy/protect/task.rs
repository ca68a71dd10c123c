//! Whether a task names a file as one that may be changed, and whether it asks for a test to be removed or renamed.
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
    "correct", "drop",
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
/// Words between a verb and what it removes, and between the names of a list.
const FILLERS: &[&str] = &[
    "the", "a", "an", "all", "both", "these", "those", "old", "obsolete", "outdated", "unused", "dead", "and", "or",
    "named", "called",
];
/// Words that say what a name is: "the test case test_a".
const KINDS: &[&str] = &["test", "tests", "file", "files", "case", "cases", "function", "functions", "module", "class"];
/// Words before a place.
const PLACES: &[&str] = &["in", "of", "from", "for", "at", "inside", "within", "under", "below", "on"];
/// Words that begin something else about what was named: "the tests that import a.py".
const RELATIVES: &[&str] =
    &["that", "which", "who", "whose", "using", "when", "where", "because", "since", "if", "once"];
/// Words that may follow a name without changing what it is. Any other word makes it a part of something: "the test_a
/// decorator".
const BEHIND_NAMES: &[&str] = &[
    "too",
    "also",
    "now",
    "please",
    "entirely",
    "completely",
    "altogether",
    "it",
    "they",
    "this",
    "these",
    "after",
    "before",
    "plus",
    "there",
];
/// Words between a subject and its verb: "test_a should be removed".
const AUXILIARIES: &[&str] = &[
    "be", "being", "is", "are", "to", "should", "must", "can", "could", "may", "might", "shall", "will", "would",
    "has", "have", "need", "needs", "ought",
];
/// Words before what comes in its place.
const BY_WHAT: &[&str] = &["to", "by", "with", "into", "as"];
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

/// Whether a text asks for a test to be removed, renamed or replaced. It must name the test or its file, and this must be
/// what the verb stands for: "remove test_old", "rename `test_a` to `test_b`", "delete the tests in tests/test_old.py",
/// "test_old should be removed". A test is named by its whole name or by the last part of it; a part that is a plain word
/// (`adds`) names none.
///
/// ```
/// use loop_core::policy::protect::asks_to_remove_test;
///
/// let id = "tests/test_api.py::test_old";
/// assert!(asks_to_remove_test("Drop the old API and remove test_old.", id));
/// assert!(asks_to_remove_test("Delete the tests of the old API in tests/test_api.py", id));
/// assert!(!asks_to_remove_test("Remove the old API.", id));
/// assert!(!asks_to_remove_test("Remove the debug prints from tests/test_api.py", id));
/// ```
#[must_use]
pub fn asks_to_remove_test(text: &str, id: &str) -> bool {
    let mut asked = false;
    for sentence in sentences(text) {
        let mut before = Mood::Allows;
        for clause in clauses(&sentence) {
            let mood = clause.mood(before);
            if clause.words.iter().any(|word| is_test_name(word, id)) && mood == Mood::Forbids {
                return false;
            }
            asked |= mood == Mood::Allows && clause.removes_test(id);
            before = mood;
        }
    }
    asked
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

impl Clause {
    /// Whether this clause asks that a test is removed.
    fn removes_test(&self, id: &str) -> bool {
        let lower: Vec<String> = self.words.iter().map(|word| word.to_ascii_lowercase()).collect();
        lower.iter().enumerate().any(|(at, verb)| {
            let (before, behind) =
                (self.words.get(..at).unwrap_or_default(), self.words.get(at + 1..).unwrap_or_default());
            let said = lower.get(..at).unwrap_or_default();
            let last = said.last().map_or("", String::as_str);
            // "it is not allowed to remove test_a"
            let is_denied = said.iter().any(|word| NEGATIONS.contains(&word.as_str()) || word.ends_with("n't"));
            match removal(verb) {
                _ if is_denied => false,
                Some(Removal::Asked) => is_removed(behind, id),
                Some(Removal::Way) => last == "by" && is_removed(behind, id),
                Some(Removal::Done) => matches!(last, "be" | "being") && is_subject(before, id),
                None => false,
            }
        })
    }
}

/// How a verb says that something is removed.
enum Removal {
    /// "remove"
    Asked,
    /// "by removing"
    Way,
    /// "removed"
    Done,
}

fn removal(word: &str) -> Option<Removal> {
    match word {
        "remove" | "delete" | "rename" | "replace" | "drop" => Some(Removal::Asked),
        "removing" | "deleting" | "renaming" | "replacing" | "dropping" => Some(Removal::Way),
        "removed" | "deleted" | "renamed" | "replaced" | "dropped" => Some(Removal::Done),
        _ => None,
    }
}

fn is_one_of(word: &str, list: &[&str]) -> bool {
    list.contains(&word.to_ascii_lowercase().as_str())
}

/// A word that is written like the name of something, not like a word of the language.
fn is_like_name(word: &str) -> bool {
    word.contains(['_', '.', '/']) || word.chars().any(char::is_uppercase)
}

/// Whether the words behind a verb name a test as what is removed. The place of something else is not it: "remove the
/// prints from tests/test_api.py".
fn is_removed(behind: &[String], id: &str) -> bool {
    let mut words = behind.iter().map(String::as_str).peekable();
    while words.next_if(|word| is_one_of(word, FILLERS)).is_some() {}
    if words.peek().is_some_and(|word| is_one_of(word, &["test", "tests"])) {
        return is_among_tests(words, id);
    }
    while let Some(word) = words.next() {
        let next = words.peek().copied();
        if is_test_name(word, id) {
            return next.is_none_or(may_follow_name);
        }
        // "remove mul and test_mul": one plain word may be the name of something.
        let is_listed = next.is_some_and(|next| is_one_of(next, &["and", "or"]));
        let goes_on = is_listed || is_one_of(word, FILLERS) || is_one_of(word, KINDS) || is_like_name(word);
        if !goes_on {
            return false;
        }
    }
    false
}

/// The same behind the word `tests`: a list of names, or a place. Where single tests are named, the place says only
/// where these are.
fn is_among_tests<'a>(words: impl Iterator<Item = &'a str>, id: &str) -> bool {
    let mut words = words.peekable();
    while words.next_if(|word| is_one_of(word, KINDS)).is_some() {}
    // "the test helper"
    if words.peek().is_some_and(|word| !may_follow_name(word)) {
        return false;
    }
    let mut has_named_one = false;
    while let Some(word) = words.next() {
        let next = words.peek().copied();
        let ends_list = is_one_of(word, &["and", "or"])
            && next.is_some_and(|next| !is_like_name(next) && !is_one_of(next, FILLERS) && !is_one_of(next, KINDS));
        if ends_list || is_one_of(word, BY_WHAT) || is_one_of(word, RELATIVES) {
            return false;
        }
        let is_path = word.contains(['/', '.']) && !word.contains("::");
        if is_test_name(word, id) && !(is_path && has_named_one) {
            return next.is_none_or(may_follow_name);
        }
        has_named_one |= !is_path && is_like_name(word) && word.to_ascii_lowercase().starts_with("test");
    }
    false
}

/// Whether a name before this word is the thing itself, not a part of another one.
fn may_follow_name(word: &str) -> bool {
    [FILLERS, KINDS, PLACES, BY_WHAT, RELATIVES, BEHIND_NAMES].iter().any(|list| is_one_of(word, list))
        || is_like_name(word)
}

/// Whether a test is the subject before a verb: a list of names from the beginning of the clause on, or the tests in a
/// file.
fn is_subject(before: &[String], id: &str) -> bool {
    let is_aux = |word: &&String| is_one_of(word, AUXILIARIES);
    let count = before.iter().rev().take_while(is_aux).count();
    let subject = before.get(..before.len().saturating_sub(count)).unwrap_or_default();
    let begin = subject.iter().take_while(|word| is_one_of(word, CLAUSES) || is_one_of(word, FILLERS)).count();
    let subject = subject.get(begin..).unwrap_or_default();
    let is_list = |word: &String| is_one_of(word, FILLERS) || is_one_of(word, KINDS) || is_like_name(word);
    let is_tests = subject.first().is_some_and(|word| is_one_of(word, &["test", "tests"]));
    if is_tests {
        return is_among_tests(subject.iter().map(String::as_str), id);
    }
    subject.iter().all(is_list) && subject.iter().any(|word| is_test_name(word, id))
}

/// Whether a word names a test or its file: by the whole id, the path in it, or its last part.
fn is_test_name(word: &str, id: &str) -> bool {
    // "test_a's mock" is something else.
    if word.ends_with("'s") {
        return false;
    }
    let bare = id.split(['[', '(']).next().unwrap_or(id).trim();
    let path = bare.split("::").next().filter(|path| path.contains('.') && !path.contains(' '));
    let last = bare.rsplit([':', '.', ' ', '/', '>', '#']).next().unwrap_or(bare);
    let is_telling = last.contains('_') || last.len() > 4 && last.to_ascii_lowercase().starts_with("test");
    word == bare || is_telling && word == last || path.is_some_and(|path| is_name(word, path))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_task_that_names_the_test_or_its_file_asks_for_its_removal() {
        let id = "tests/test_api.py::TestOld::test_a";
        for text in [
            "Remove test_a.",
            "it is obsolete now: remove mul and test_a",
            "rename test_a to test_b",
            "Rename `test_a` in tests/test_api.py to `test_b`.",
            "The old API goes: delete tests/test_api.py and the module.",
            "Delete the tests of the old API (test_a, test_c)",
            "test_a should be removed",
            "Replace the obsolete test test_a by a new one",
            "drop tests/test_api.py::TestOld::test_a",
        ] {
            assert!(asks_to_remove_test(text, id), "{text}");
        }
        for text in [
            "",
            "Remove the tests of the old API",
            "Rename test_b to test_a",
            "Fix test_a",
            "Do not remove test_a",
            "never drop test_a or rename it",
            "Remove the flaky sleep from test_a",
            "Remove the prints in tests/test_api.py",
            "Remove the old API without deleting test_a",
            "Make test_a pass; remove the old module",
            "Remove the function that test_a calls",
        ] {
            assert!(!asks_to_remove_test(text, id), "{text}");
        }
    }

    #[test]
    fn a_test_that_is_only_the_place_of_what_is_removed_stays() {
        let id = "tests/test_api.py::TestOld::test_a";
        for text in [
            "Replace FooClient in tests/test_api.py by BarClient",
            "Remove old_helper from tests/test_api.py",
            "Rename OldName in tests/test_api.py",
            "Replace test_a's mock with a real server",
            "Replace tests/test_api.py's client by BarClient",
            "Remove the test helper from tests/test_api.py",
            "Delete the test data of tests/test_api.py",
            "Remove the tests' mocks in tests/test_api.py",
            "Remove the test_a decorator",
            "Rename test_b in tests/test_api.py to test_c",
            "Remove the test test_b from tests/test_api.py",
            "Remove the tests of the old API and run tests/test_api.py",
            "Delete the tests that import tests/test_api.py",
            "The sleep in test_a should be removed",
            "Mocks of tests/test_api.py must be removed",
        ] {
            assert!(!asks_to_remove_test(text, id), "{text}");
        }
    }

    #[test]
    fn what_a_text_tells_of_removals_asks_for_none() {
        let id = "tests/test_api.py::test_a";
        for text in [
            "Since the client was removed test_a fails",
            "clean.sh deletes test_a every night",
            "Removing test_a is not allowed",
            "It is not allowed to remove test_a",
            "The script does not remove test_a",
            "The removal of test_a was wrong",
        ] {
            assert!(!asks_to_remove_test(text, id), "{text}");
        }
    }

    #[test]
    fn a_list_of_tests_and_files_is_removed_as_a_whole() {
        let id = "tests/test_api.py::test_a";
        for text in [
            "Remove test_b, test_a and test_c from tests/test_other.py",
            "delete old_api.py, tests/test_api.py and the module",
            "Get the build green by deleting test_a",
            "All tests in tests/test_api.py should be removed",
            "Remove all test cases from tests/test_api.py",
            "test_b and test_a must be deleted",
            "Remove test_a, it is obsolete",
            "Please drop the test file tests/test_api.py too",
        ] {
            assert!(asks_to_remove_test(text, id), "{text}");
        }
    }

    #[test]
    fn a_plain_word_names_no_test() {
        assert!(!asks_to_remove_test("remove add", "calc.test.js > add"));
        assert!(asks_to_remove_test("remove calc.test.js", "calc.test.js::add"));
        assert!(asks_to_remove_test("delete TestParse", "TestParse"));
        assert!(asks_to_remove_test("drop parses_old", "parser::tests::parses_old"));
    }
}
