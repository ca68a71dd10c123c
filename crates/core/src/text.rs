//! Texts from outside made safe to show: no control bytes, a known length; lists of names; digests.
use serde::{Deserialize, Serialize};

/// Text of an agent or a gate without anything that could steer a terminal: escape sequences are
/// taken out whole, other control characters and direction marks are dropped; line breaks and tabs stay.
///
/// ```
/// assert_eq!(loop_core::text::clean(b"\x1b[31mred\x07\n"), "red\n");
/// ```
#[must_use]
pub fn clean(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    // Most text is clean already.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t')) {
        return text.into_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(letter) = rest.next() {
        match letter {
            '\u{1b}' => skip_sequence(&mut rest),
            '\u{9b}' => skip_until_final(&mut rest),
            '\r' if rest.peek() == Some(&'\n') => {}
            '\r' => out.push('\n'),
            '\n' | '\t' => out.push(letter),
            letter if letter.is_control() || turns_direction(letter) => {}
            letter => out.push(letter),
        }
    }
    out
}

fn turns_direction(letter: char) -> bool {
    matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
}

type Letters<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// How far a string sequence (title, link, device control) is looked at before it is given up.
const SEQUENCE_LETTERS_MAX: usize = 4096;

fn skip_sequence(rest: &mut Letters<'_>) {
    match rest.peek() {
        Some('[') => {
            rest.next();
            skip_until_final(rest);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            for _ in 0..SEQUENCE_LETTERS_MAX {
                match rest.next() {
                    None | Some('\u{7}' | '\u{9c}') => return,
                    Some('\u{1b}') => {
                        rest.next_if_eq(&'\\');
                        return;
                    }
                    Some(_) => {}
                }
            }
        }
        Some(letter) if letter.is_ascii() && !letter.is_control() => {
            // A choice of letters, `ESC ( B`, has signs before its last.
            while rest.next_if(|letter| (' '..='/').contains(letter)).is_some() {}
            rest.next_if(|letter| ('0'..='~').contains(letter));
        }
        Some(_) | None => {}
    }
}

fn skip_until_final(rest: &mut Letters<'_>) {
    while let Some(letter) = rest.next_if(|letter| (' '..='~').contains(letter)) {
        if ('@'..='~').contains(&letter) {
            return;
        }
    }
}

/// One line of at most `letters_max` characters, for a table cell or a title; `…` says that it was cut.
#[must_use]
pub fn one_line(text: &str, letters_max: usize) -> String {
    let clean = clean(text.as_bytes());
    let joined = clean.split_whitespace().collect::<Vec<_>>().join(" ");
    if joined.chars().count() <= letters_max {
        return joined;
    }
    let mut cut: String = joined.chars().take(letters_max.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

/// Text that is executed or approved, as one line in which nothing is hidden: control characters and characters that
/// have no width or turn the direction of the text are written as escapes, never dropped.
///
/// ```
/// assert_eq!(loop_core::text::escaped("make\u{1b}]0;x\u{7}\ntrue\u{202e}"), r"make\x1b]0;x\x07\ntrue\u{202e}");
/// ```
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            letter if letter.is_ascii_control() => out.push_str(&format!("\\x{:02x}", u32::from(letter))),
            letter if letter.is_control() || is_invisible(letter) => {
                out.push_str(&format!("\\u{{{:x}}}", u32::from(letter)));
            }
            letter => out.push(letter),
        }
    }
    out
}

/// The same for a text of several lines: line breaks and tabs stay.
#[must_use]
pub fn escaped_lines(text: &str) -> String {
    let piece = |piece: &str| piece.split('\t').map(escaped).collect::<Vec<_>>().join("\t");
    text.split('\n').map(piece).collect::<Vec<_>>().join("\n")
}

/// The same as [`escaped`], of at most `letters_max` characters; `…` says that it was cut.
#[must_use]
pub fn escaped_head(text: &str, letters_max: usize) -> String {
    let whole = escaped(text.trim());
    if whole.chars().count() <= letters_max {
        return whole;
    }
    let mut cut: String = whole.chars().take(letters_max.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

/// The first control character in a text that a shell command of several lines does not need.
#[must_use]
pub fn control_character(text: &str) -> Option<char> {
    text.chars().find(|letter| letter.is_control() && !['\n', '\t'].contains(letter))
}

/// Whether a character is not seen, or looks like the usual space and is none. These are the format characters of
/// Unicode, its spaces but for the usual one, fillers, and selectors of variants.
fn is_invisible(letter: char) -> bool {
    turns_direction(letter)
        || matches!(letter,
            '\u{a0}' | '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}'
            | '\u{890}' | '\u{891}' | '\u{8e2}' | '\u{115f}' | '\u{1160}' | '\u{1680}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{2000}'..='\u{200f}' | '\u{2028}' | '\u{2029}' | '\u{202f}'
            | '\u{205f}'..='\u{206f}' | '\u{2800}' | '\u{3000}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}'
            | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// How large something is, for people.
///
/// ```
/// assert_eq!(loop_core::text::size(1_610_612_736), "1.5 GiB");
/// ```
#[must_use]
pub fn size(bytes: u64) -> String {
    let (unit, shift) = match bytes {
        0..0x10_0000 => return format!("{} KiB", bytes.div_ceil(1024)),
        0x10_0000..0x4000_0000 => ("MiB", 20),
        _ => ("GiB", 30),
    };
    let tenths = (u128::from(bytes) * 10) >> shift;
    format!("{}.{} {unit}", tenths / 10, tenths % 10)
}

/// The last `bytes_max` bytes of a text, beginning at a whole character.
#[must_use]
pub fn tail(text: &str, bytes_max: usize) -> &str {
    let mut from = text.len().saturating_sub(bytes_max);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    &text[from..]
}

/// The first `bytes_max` bytes of a text, ending at a whole character.
#[must_use]
pub fn head(text: &str, bytes_max: usize) -> &str {
    let mut to = text.len().min(bytes_max);
    while !text.is_char_boundary(to) {
        to -= 1;
    }
    &text[..to]
}

/// A path as one line of text that can be turned back: bytes that are not UTF-8, control
/// characters and the backslash are written `\xNN`.
#[must_use]
pub fn escape_path(path: &[u8]) -> String {
    let mut out = String::with_capacity(path.len());
    for chunk in path.utf8_chunks() {
        for letter in chunk.valid().chars() {
            if letter == '\\' || letter.is_control() || turns_direction(letter) {
                let mut buffer = [0; 4];
                escape_bytes(letter.encode_utf8(&mut buffer).as_bytes(), &mut out);
            } else {
                out.push(letter);
            }
        }
        escape_bytes(chunk.invalid(), &mut out);
    }
    out
}

fn escape_bytes(bytes: &[u8], out: &mut String) {
    for byte in bytes {
        out.push_str(&format!("\\x{byte:02x}"));
    }
}

/// The bytes of a path that [`escape_path`] wrote.
#[must_use]
pub fn unescape_path(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escaped = bytes
            .get(at..at + 4)
            .filter(|piece| piece.starts_with(b"\\x"))
            .and_then(|piece| std::str::from_utf8(&piece[2..]).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        if let Some(byte) = escaped {
            out.push(byte);
            at += 4;
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    out
}

/// The known word nearest to a mistyped one, if any is near.
#[must_use]
pub fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let letters = typed.chars().count();
    let allowed = (letters / 4).clamp(1, 2);
    let plain = typed.trim_start_matches('-');
    let is_word = |word: &str| plain.len() >= 3 && word.split(['-', '_']).any(|part| part == plain);
    let close = |word: &str| -> Option<(u8, usize)> {
        let far = distance(typed, word);
        if letters >= 3 && word.starts_with(typed) {
            Some((0, word.len()))
        } else if far <= allowed {
            Some((1, far))
        } else {
            is_word(word).then_some((2, word.len()))
        }
    };
    known.into_iter().filter_map(|word| Some((close(word)?, word))).min_by_key(|(rank, _)| *rank).map(|(_, word)| word)
}

/// How many letters must be put in, taken out, changed or swapped with their neighbour.
fn distance(left: &str, right: &str) -> usize {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let mut rows = vec![(0..=right.len()).collect::<Vec<usize>>()];
    for i in 1..=left.len() {
        let mut row = vec![i];
        for j in 1..=right.len() {
            let change = usize::from(left[i - 1] != right[j - 1]);
            let mut best = (rows[i - 1][j] + 1).min(row[j - 1] + 1).min(rows[i - 1][j - 1] + change);
            if i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[left.len()][right.len()]
}

/// Cuts the beginning off a text that has grown to more than twice this, so that its end stays.
pub fn keep_end(text: &mut String, bytes_max: usize) {
    if text.len() > 2 * bytes_max {
        let end = tail(text, bytes_max).len();
        text.drain(..text.len() - end);
    }
}

/// A list of names of which only the first are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameList {
    /// How many there are.
    pub count: u32,
    /// The first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub first: Vec<String>,
}

/// How many names of a list are kept, and how much of each.
const NAMES_MAX: usize = 10;
const NAMES_BYTES_MAX: usize = 120;

impl NameList {
    /// The first of them.
    #[must_use]
    pub fn of<'a>(all: impl Iterator<Item = &'a str>) -> Self {
        let mut few = Self::default();
        for name in all {
            few.count = few.count.saturating_add(1);
            if few.first.len() < NAMES_MAX {
                few.first.push(one_line(name, NAMES_BYTES_MAX));
            }
        }
        few
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.count == 0
    }

    /// For people: `a, b and 3 more`.
    #[must_use]
    pub fn words(&self) -> String {
        let more = usize::try_from(self.count).unwrap_or(usize::MAX).saturating_sub(self.first.len());
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        format!("{}{more}", self.first.join(", "))
    }
}

/// A text by hash and length.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextDigest {
    /// The hash.
    pub sha256: String,
    /// How long it is.
    pub bytes: u64,
}
