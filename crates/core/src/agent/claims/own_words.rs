//! Which parts of a message are its writer's own words, and which are only shown: fences, quotations, examples.
//!
//! Models often put their real last block into a code fence, and they also explain a block in one. The place decides
//! which one it is: a fenced block counts only at the end of a message (`docs/decisions/0019-status-block.md`).

use std::ops::Range;

use crate::text;

/// How much of the line before something is looked at.
const BEFORE_BYTES_MAX: usize = 512;

/// A message by its lines.
#[derive(Debug)]
pub(super) struct MessageLines<'a> {
    lines: Vec<Line<'a>>,
    /// The closed fences, in order: first and last line, the marks themselves included.
    fences: Vec<(usize, usize)>,
    /// The last line that says anything but marks.
    last_said: Option<usize>,
}

/// One line, and how it stands there.
#[derive(Debug)]
struct Line<'a> {
    text: &'a str,
    /// The fence in which it is, as an index.
    fence: Option<usize>,
    /// How many lines before it say something in words.
    said: usize,
    /// The last line before it with words: neither empty nor a mark of a fence or of a block.
    before: Option<usize>,
    /// Where the indented lines begin among which it is.
    run: Option<usize>,
}

/// A line that could open or close a fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mark {
    letter: char,
    length: usize,
    /// Nothing follows the letters: only such a mark can close.
    bare: bool,
}

impl<'a> MessageLines<'a> {
    /// The lines of a clean text.
    pub(super) fn of(text: &'a str) -> Self {
        let texts: Vec<&str> = text.lines().collect();
        let mut lines = Vec::with_capacity(texts.len());
        let mut fences = Vec::new();
        let mut open: Option<(Mark, usize)> = None;
        let (mut said, mut before, mut run) = (0, None, None);
        for ((at, text), closable) in texts.iter().enumerate().zip(closable(&texts)) {
            let mark = mark(text);
            let fence = match (open, mark) {
                (None, Some(mark)) if closable => {
                    open = Some((mark, at));
                    Some(fences.len())
                }
                (None, _) => None,
                (Some((opened, from)), Some(mark)) if closes(mark, opened) => {
                    open = None;
                    fences.push((from, at));
                    Some(fences.len() - 1)
                }
                (Some(_), _) => Some(fences.len()),
            };
            if !text.trim().is_empty() {
                run = if is_indented(text) { run.or(Some(at)) } else { None };
            }
            lines.push(Line { text, fence, said, before, run });
            said += usize::from(!is_aside(text));
            before = if mark.is_none() && has_words(text) { Some(at) } else { before };
        }
        let last_said = lines.iter().rposition(|line| !is_aside(line.text));
        Self { lines, fences, last_said }
    }

    /// Every line with its number.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, &'a str)> + '_ {
        self.lines.iter().enumerate().map(|(at, line)| (at, line.text))
    }

    /// The texts of these lines, first and last included.
    pub(super) fn between(&self, first: usize, last: usize) -> impl Iterator<Item = &'a str> + '_ {
        self.lines.get(first..=last).unwrap_or_default().iter().map(|line| line.text)
    }

    /// Whether this line is a mark of a closed fence.
    pub(super) fn is_fence_mark(&self, at: usize) -> bool {
        self.fence_at(at).is_some_and(|(first, last)| first == at || last == at)
    }

    /// Whether these lines are the writer's own words: neither quoted nor set apart within an explanation.
    pub(super) fn is_own(&self, first: usize, last: usize) -> bool {
        let Some(line) = self.lines.get(first) else { return false };
        let fence = self.fence_at(first);
        let apart = fence.is_some() || line.run.is_some();
        let (from, to) = fence.unwrap_or((line.run.unwrap_or(first), last));
        let is_last = || self.last_said.is_none_or(|said| said <= to);
        let alone = || fence.is_none() || (self.is_silent(from..first) && self.is_silent(last..to));
        let counts = !apart || (is_last() && alone());
        !is_quote(line.text) && counts && !self.is_introduced_as_shown(from, apart)
    }

    /// Nothing is said in words between the first line and the line behind the last.
    fn is_silent(&self, lines: Range<usize>) -> bool {
        let said = |at: usize| self.lines.get(at).map_or(0, |line| line.said);
        lines.start + 1 >= lines.end || said(lines.start + 1) == said(lines.end)
    }

    /// The last line with words before this one, as far as it matters.
    pub(super) fn before(&self, at: usize) -> Option<&'a str> {
        let before = self.lines.get(at).and_then(|line| line.before).and_then(|before| self.lines.get(before));
        before.map(|line| text::tail(line.text, BEFORE_BYTES_MAX))
    }

    fn fence_at(&self, at: usize) -> Option<(usize, usize)> {
        self.lines.get(at).and_then(|line| line.fence).and_then(|fence| self.fences.get(fence)).copied()
    }

    /// `For example:` and the like in the sentence right before it, or a tag such as `<example>`.
    fn is_introduced_as_shown(&self, at: usize, apart: bool) -> bool {
        let Some(before) = self.before(at) else { return false };
        let sentence = before.rsplit(['.', '!', '?']).find(|piece| piece.trim().len() > 1).unwrap_or(before);
        // "e.g.:" is all stops: there the whole line is looked at.
        let sentence = if before.contains("e.g") { before } else { sentence };
        let words = spaced_words(sentence);
        let has = |list: &[&str]| list.iter().any(|word| words.contains(word));
        let announces = before.trim_end_matches(|letter: char| letter.is_whitespace() || "*_`".contains(letter));
        if announces.ends_with([':', '：', '>']) { has(EXAMPLE) || has(TELLING) } else { apart && has(EXAMPLE) }
    }
}

/// Words that announce something as an example.
const EXAMPLE: &[&str] =
    &[" example ", " examples ", " e g ", " for instance ", " look like ", " looks like ", " template ", " sample "];
/// Words that announce what is not so yet, or what somebody else says; only in front of a colon.
const TELLING: &[&str] = &[
    " would ",
    " will ",
    " ll ",
    " d ",
    " when ",
    " once ",
    " until ",
    " if ",
    " says ",
    " said ",
    " reads ",
    " contains ",
    " contained ",
    " contents ",
    " quote ",
    " quotes ",
    " quoted ",
    " quoting ",
    " to end with ",
    " told ",
    " wrote ",
    " printed ",
    " such as ",
];

/// The words of a sentence in small letters, each with a space on both sides.
fn spaced_words(sentence: &str) -> String {
    let lower = sentence.to_lowercase();
    let words = lower.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    format!(" {} ", words.collect::<Vec<_>>().join(" "))
}

/// Four columns make a block of code in Markdown.
fn is_indented(line: &str) -> bool {
    line.starts_with('\t')
        || line.starts_with("    ")
        || (line.starts_with(' ') && line.trim_start_matches(' ').starts_with('\t'))
}

fn has_words(line: &str) -> bool {
    !line.trim().is_empty() && super::status_block::marker(line).is_none()
}

fn is_quote(line: &str) -> bool {
    line.trim_start().starts_with('>')
}

/// A line that says nothing in words: empty, a rule, or only marks of promise and progress.
fn is_aside(line: &str) -> bool {
    let line = line.trim();
    let tagged = |name: &str| line.starts_with(&format!("<{name}>")) && line.ends_with(&format!("</{name}>"));
    !line.contains(char::is_alphanumeric) || tagged("promise") || tagged("progress")
}

fn mark(line: &str) -> Option<Mark> {
    let line = line.trim();
    let letter = line.chars().next().filter(|letter| matches!(letter, '`' | '~'))?;
    let rest = line.trim_start_matches(letter);
    let length = line.len() - rest.len();
    // An inline piece of code is no fence.
    let inline = letter == '`' && rest.contains('`');
    (length >= 3 && !inline).then_some(Mark { letter, length, bare: rest.is_empty() })
}

fn closes(mark: Mark, opened: Mark) -> bool {
    mark.bare && mark.letter == opened.letter && mark.length >= opened.length
}

/// For every line, whether what it opens is closed further down. A fence without an end is a mistake, often of a model
/// that put one fence into another; the rest of the message must still be read.
fn closable(texts: &[&str]) -> Vec<bool> {
    let (mut ticks, mut tildes) = (0, 0);
    let mut closable: Vec<bool> = texts
        .iter()
        .rev()
        .map(|text| {
            let Some(mark) = mark(text) else { return false };
            let longest = if mark.letter == '`' { &mut ticks } else { &mut tildes };
            let answer = *longest >= mark.length;
            if mark.bare {
                *longest = mark.length.max(*longest);
            }
            answer
        })
        .collect();
    closable.reverse();
    closable
}
