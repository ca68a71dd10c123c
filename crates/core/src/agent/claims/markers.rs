//! `<promise>`, `<progress>`, `<note>` and `<strike>` in the agent's own final message.
use std::collections::BTreeSet;

use super::own_words::MessageLines;
use crate::text;

/// The most marks of progress that are kept.
pub const PROGRESS_MAX: usize = 32;
/// The most letters that are kept of one of them.
const PROGRESS_LETTERS_MAX: usize = 300;
/// How much of a line is looked at on either side of a tag.
const BESIDE_BYTES_MAX: usize = 512;
/// A tag with more between its ends is none.
const INNER_BYTES_MAX: usize = 2048;

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Markers {
    /// The words of the last promise.
    pub promise: Option<String>,
    /// All words of progress, a bounded number.
    pub progress: Vec<String>,
    /// All words of notes, a bounded number.
    pub notes: Vec<String>,
    /// The numbers of notes that are to be struck, a bounded number.
    pub struck: Vec<u32>,
}

/// The marks in a text that are neither quoted nor an echo of what was asked.
#[must_use]
pub fn find(text: &str, asked: &str) -> Markers {
    let clean = text::clean(text.as_bytes());
    if !clean.contains("</") {
        return Markers::default();
    }
    let message = MessageLines::of(&clean);
    let asked = Asked::of(asked);
    let promise =
        tags(&clean, "promise").into_iter().rev().find(|tag| counts(tag, &message) && !asked.has(tag, &message));
    let promise = promise.map(|tag| tag.inner.trim().to_owned()).filter(|words| !words.is_empty());
    let progress = own_words(&clean, "progress", &message, &asked.progress);
    let notes = own_words(&clean, "note", &message, &asked.notes);
    let struck = own_words(&clean, "strike", &message, &asked.struck);
    // `3`, `n3` or `N3`.
    let struck = struck.iter().filter_map(|words| words.trim_start_matches(['n', 'N']).parse().ok()).collect();
    Markers { promise, progress, notes, struck }
}

/// The words in tags of that name that are the agent's own: not quoted, and not what it was asked.
fn own_words(clean: &str, name: &str, message: &MessageLines<'_>, asked: &BTreeSet<String>) -> Vec<String> {
    let own = |tag: Tag<'_>| {
        let words = text::one_line(tag.inner, PROGRESS_LETTERS_MAX);
        let own = !words.is_empty() && !tag.is_code() && message.is_own(tag.line, tag.last_line);
        (own && !asked.contains(&words)).then_some(words)
    };
    tags(clean, name).into_iter().filter_map(own).take(PROGRESS_MAX).collect()
}

/// A tag and its place.
#[derive(Debug)]
struct Tag<'a> {
    /// What is between its ends.
    inner: &'a str,
    /// The text before it on its line.
    before: &'a str,
    /// The text after it on its last line.
    after: &'a str,
    line: usize,
    last_line: usize,
}

impl Tag<'_> {
    /// It is in inline code: an odd number of ticks is before it.
    fn is_code(&self) -> bool {
        self.before.matches('`').count() % 2 == 1
    }

    /// Whether there is nothing else on its line but emphasis.
    fn is_alone(&self) -> bool {
        bare(self.before).is_empty() && bare(self.after).is_empty()
    }
}

/// A promise is made and not only mentioned: it is alone, or after the end of a sentence and last on its line.
fn counts(tag: &Tag<'_>, message: &MessageLines<'_>) -> bool {
    let after_sentence = bare(tag.before).ends_with(['.', '!', '>', '✅', '。']);
    let said = tag.is_alone() || (after_sentence && bare(tag.after).is_empty());
    said && !tag.is_code() && message.is_own(tag.line, tag.last_line)
}

fn bare(text: &str) -> &str {
    text.trim_matches(|letter: char| letter.is_whitespace() || letter == '*' || letter == '_')
}

/// What was asked, as far as it is needed to recognise an echo.
#[derive(Debug)]
struct Asked {
    /// Lines with a promise, and for a promise alone on its line the line before it as well: if a prompt names its
    /// promise, the same words from the agent must still count.
    promises: BTreeSet<(String, String)>,
    /// The text between tags of progress.
    progress: BTreeSet<String>,
    /// The same for notes.
    notes: BTreeSet<String>,
    /// The same for notes to be struck.
    struck: BTreeSet<String>,
}

impl Asked {
    fn of(asked: &str) -> Self {
        let clean = text::clean(asked.as_bytes());
        let unquoted: Vec<&str> = clean.lines().map(|line| line.trim_start_matches(['>', ' ', '\t'])).collect();
        let clean = unquoted.join("\n");
        let message = MessageLines::of(&clean);
        let promises = tags(&clean, "promise").iter().map(|tag| place(tag, &message)).collect();
        let words = |tag: Tag<'_>| text::one_line(tag.inner, PROGRESS_LETTERS_MAX);
        let inside = |name: &str| tags(&clean, name).into_iter().map(words).collect();
        Self { promises, progress: inside("progress"), notes: inside("note"), struck: inside("strike") }
    }

    fn has(&self, tag: &Tag<'_>, message: &MessageLines<'_>) -> bool {
        let place = place(tag, message);
        !place.0.is_empty() && self.promises.contains(&place)
    }
}

/// The words before a tag, on its own line or else on the one above, and what is in it and after it.
fn place(tag: &Tag<'_>, message: &MessageLines<'_>) -> (String, String) {
    let above = if tag.is_alone() { message.before(tag.line).unwrap_or_default() } else { tag.before };
    (words(above), words(&format!("{} {}", tag.inner, tag.after)))
}

fn words(text: &str) -> String {
    let text = text.replace(['*', '_', '`'], "").to_lowercase();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// All tags of that name in order, in letters of any case. The innermost opening belongs to a closing.
fn tags<'a>(text: &'a str, name: &str) -> Vec<Tag<'a>> {
    let lower = text.to_ascii_lowercase();
    let (opening, closing) = (format!("<{name}>"), format!("</{name}>"));
    let mut tags = Vec::new();
    let (mut from, mut line) = (0, 0);
    while let Some(close) = find_from(&lower, from, &closing) {
        let open = lower.get(from..close).and_then(|piece| piece.rfind(&opening)).map_or(close, |at| from + at);
        let end = close + closing.len();
        let inner = text.get(open + opening.len()..close);
        line += newlines(text, from, open);
        let last_line = line + newlines(text, open, end);
        if let Some(inner) = inner.filter(|inner| inner.len() <= INNER_BYTES_MAX) {
            let before = text::tail(text.get(..open).unwrap_or_default(), BESIDE_BYTES_MAX);
            let after = text::head(text.get(end..).unwrap_or_default(), BESIDE_BYTES_MAX);
            let (before, after) = (before.rsplit('\n').next(), after.split('\n').next());
            let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
            tags.push(Tag { inner, before, after, line, last_line });
        }
        from = end;
        line = last_line;
    }
    tags
}

fn find_from(text: &str, from: usize, what: &str) -> Option<usize> {
    text.get(from..).and_then(|rest| rest.find(what)).map(|at| from + at)
}

fn newlines(text: &str, from: usize, to: usize) -> usize {
    memchr::memchr_iter(b'\n', text.get(from..to).unwrap_or_default().as_bytes()).count()
}
