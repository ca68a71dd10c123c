//! Lines of a Markdown file with their places, and the one reader of boxes: `- [ ] text`.
use std::ops::Range;

use super::draft::ByteEdit;

/// A line without its end.
#[derive(Debug, Clone, Copy)]
pub(super) struct MarkdownLine<'a> {
    /// Counted from 1.
    pub(super) number: u32,
    /// The place of its first byte.
    pub(super) start: usize,
    pub(super) text: &'a str,
    /// It stands in fenced code, in a comment of HTML or in the front matter.
    pub(super) is_hidden: bool,
}

impl<'a> MarkdownLine<'a> {
    /// The level and the text of a heading.
    pub(super) fn heading(&self) -> Option<Heading<'a>> {
        if self.is_hidden {
            return None;
        }
        let level = self.text.bytes().take_while(|byte| *byte == b'#').count();
        let rest = self.text.get(level..)?;
        if !(1..=6).contains(&level) || !(rest.is_empty() || rest.starts_with([' ', '\t'])) {
            return None;
        }
        Some(Heading { level, text: rest.trim().trim_end_matches('#').trim_end() })
    }

    /// How far the text is from the left; a tab counts as four.
    pub(super) fn indent(&self) -> usize {
        let space = self.text.chars().take_while(|letter| letter.is_whitespace());
        space.map(|letter| if letter == '\t' { 4 } else { 1 }).sum()
    }

    pub(super) fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// The place of a part of this line.
    pub(super) fn place_of(&self, part: &str) -> usize {
        let offset = (part.as_ptr() as usize).wrapping_sub(self.text.as_ptr() as usize);
        self.start + if offset <= self.text.len() { offset } else { 0 }
    }
}

/// A heading.
#[derive(Debug, Clone, Copy)]
pub(super) struct Heading<'a> {
    pub(super) level: usize,
    pub(super) text: &'a str,
}

/// The lines of a text, the byte order mark left out.
pub(super) fn lines(text: &str) -> Vec<MarkdownLine<'_>> {
    let mut all: Vec<MarkdownLine<'_>> = Vec::new();
    let mut start = 0;
    let mut number = 0;
    let mut hiding = Hiding::default();
    for whole in text.split_inclusive('\n') {
        number += 1;
        let skipped = if start == 0 && whole.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let line = whole.get(skipped..).unwrap_or_default();
        let line = line.strip_suffix('\n').unwrap_or(line);
        let line = line.strip_suffix('\r').unwrap_or(line);
        let is_hidden = hiding.hides(line, number == 1);
        all.push(MarkdownLine { number, start: start + skipped, text: line, is_hidden });
        start += whole.len();
    }
    all
}

/// What hides lines from the reader.
#[derive(Default)]
struct Hiding {
    /// The sign that opened the fenced code, and how often it stands there.
    fence: Option<Fence>,
    is_comment: bool,
    is_front_matter: bool,
}

#[derive(Clone, Copy)]
struct Fence {
    sign: char,
    count: usize,
}

impl Hiding {
    fn hides(&mut self, line: &str, is_first: bool) -> bool {
        let trimmed = line.trim();
        if self.is_front_matter || (is_first && trimmed == "---") {
            self.is_front_matter = is_first || !["---", "..."].contains(&trimmed);
            return true;
        }
        if let Some(fence) = self.fence {
            let count = trimmed.chars().take_while(|letter| *letter == fence.sign).count();
            if count >= fence.count && trimmed.chars().count() == count {
                self.fence = None;
            }
            return true;
        }
        if self.is_comment {
            self.is_comment = !trimmed.contains("-->");
            return true;
        }
        for sign in ['`', '~'] {
            let count = trimmed.chars().take_while(|letter| *letter == sign).count();
            let is_inline = sign == '`' && trimmed.trim_start_matches('`').contains('`');
            if count >= 3 && !is_inline {
                self.fence = Some(Fence { sign, count });
                return true;
            }
        }
        if trimmed.starts_with("<!--") {
            self.is_comment = !trimmed.contains("-->");
            return true;
        }
        if let Some(open) = trimmed.rfind("<!--") {
            self.is_comment = !trimmed.get(open..).unwrap_or_default().contains("-->");
        }
        false
    }
}

/// A line of a list with a box.
#[derive(Debug, Clone)]
pub(super) struct BoxLine<'a> {
    /// Between the brackets.
    pub(super) mark: &'a str,
    pub(super) mark_at: Range<usize>,
    pub(super) is_done: bool,
    /// A star behind the bracket: it need not be done.
    pub(super) has_star: bool,
    /// Behind the box.
    pub(super) text: &'a str,
}

impl BoxLine<'_> {
    /// The bytes that tick it.
    pub(super) fn tick(&self, letter: char) -> ByteEdit {
        let inside = self.mark.char_indices().find(|(_, letter)| !letter.is_whitespace());
        let inside = inside.or_else(|| self.mark.char_indices().next());
        let at = match inside {
            Some((at, letter)) => self.mark_at.start + at..self.mark_at.start + at + letter.len_utf8(),
            None => self.mark_at.clone(),
        };
        ByteEdit { at, put: letter.to_string() }
    }
}

/// The text behind the sign of a list: `- `, `* `, `+ `, `1. `, `1) `.
pub(super) fn list_text(line: &str) -> Option<&str> {
    let line = line.trim_start();
    if let Some(rest) = line.strip_prefix(['-', '*', '+']) {
        return rest.starts_with([' ', '\t', '[']).then(|| rest.trim_start());
    }
    let rest = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let digits = line.len() - rest.len();
    if !(1..=9).contains(&digits) {
        return None;
    }
    let rest = rest.strip_prefix(['.', ')'])?;
    rest.starts_with([' ', '\t']).then(|| rest.trim_start())
}

/// The box of a line. `[x]`, `[X]` and `[ x]` are done, every other sign is open, `[c](…)` is a link and `[P]` a word.
pub(super) fn box_of<'a>(line: &MarkdownLine<'a>) -> Option<BoxLine<'a>> {
    let (mark, behind) = list_text(line.text)?.strip_prefix('[')?.split_once(']')?;
    let inside = mark.trim();
    if mark.chars().count() > 3 || inside.chars().count() > 1 || behind.starts_with(['(', '[', ':']) {
        return None;
    }
    let is_done = inside.eq_ignore_ascii_case("x");
    let has_star = behind.starts_with('*') && !behind.starts_with("**");
    let behind = if has_star { behind.get(1..).unwrap_or_default() } else { behind };
    // `[P] text` of a legend is not a box, `[-] text` is.
    if !is_done && inside.starts_with(char::is_alphanumeric) {
        return None;
    }
    // `[-]b` is not a box, `[ ]b` is.
    let is_known = is_done || inside.is_empty();
    if !is_known && !behind.is_empty() && !behind.starts_with([' ', '\t']) {
        return None;
    }
    let start = line.place_of(mark);
    Some(BoxLine { mark, mark_at: start..start + mark.len(), is_done, has_star, text: without_comment(behind).trim() })
}

/// A comment of HTML at the end is not part of a text.
fn without_comment(text: &str) -> &str {
    let head = text.split("<!--").next().unwrap_or_default();
    let is_code = head.matches('`').count() % 2 == 1;
    if is_code { text } else { head }
}

/// The lines without the space that all of them have.
pub(super) fn unindented<T: AsRef<str>>(lines: &[T]) -> String {
    let lines = lines.iter().map(AsRef::as_ref);
    let space = |line: &str| line.len() - line.trim_start().len();
    let least = lines.clone().filter(|line| !line.trim().is_empty()).map(space).min().unwrap_or_default();
    let mut cut: Vec<&str> = lines.map(|line| line.get(least..).unwrap_or_default().trim_end()).collect();
    cut.dedup_by(|one, other| one.is_empty() && other.is_empty());
    cut.join("\n").trim().to_owned()
}

/// A number at the beginning, `2`, `2.1`, and what is behind it.
pub(super) fn numbered(text: &str) -> Option<NumberedText<'_>> {
    let digits = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let head = text.get(..digits)?;
    let id = head.trim_end_matches('.');
    if id.is_empty() || id.starts_with('.') || id.contains("..") {
        return None;
    }
    let rest = text.get(digits..)?;
    let has_star = rest.starts_with('*') && !rest.starts_with("**");
    let rest = if has_star { rest.get(1..)? } else { rest };
    let rest = if has_star { rest.strip_prefix('.').unwrap_or(rest) } else { rest };
    (rest.is_empty() || rest.starts_with([' ', '\t'])).then(|| NumberedText { id, has_star, rest: rest.trim() })
}

/// A text that begins with a number.
#[derive(Debug, Clone, Copy)]
pub(super) struct NumberedText<'a> {
    pub(super) id: &'a str,
    /// A star behind the number: it need not be done.
    pub(super) has_star: bool,
    pub(super) rest: &'a str,
}

/// A field in bold letters: `**Priority:** P1` or `**Priority**: P1`.
pub(super) fn bold_field(line: &str) -> Option<BoldField<'_>> {
    let line = line.trim();
    let line = list_text(line).unwrap_or(line);
    let (name, value) = line.strip_prefix("**")?.split_once("**")?;
    let inside = name.strip_suffix(':');
    let behind = value.strip_prefix(':');
    if inside.is_none() && behind.is_none() {
        return None;
    }
    Some(BoldField { name: inside.unwrap_or(name).trim(), value: behind.unwrap_or(value).trim() })
}

/// A name in bold letters and its value.
#[derive(Debug, Clone, Copy)]
pub(super) struct BoldField<'a> {
    pub(super) name: &'a str,
    pub(super) value: &'a str,
}

/// The text between the first two backticks, where a text begins with one.
pub(super) fn in_backticks(text: &str) -> Option<&str> {
    let (inside, _) = text.trim().strip_prefix('`')?.split_once('`')?;
    Some(inside.trim()).filter(|inside| !inside.is_empty())
}
