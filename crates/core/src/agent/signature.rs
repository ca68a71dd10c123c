//! A short text that is the same for the same error: what changes each time (numbers, paths, times) is taken out.
use sha2::{Digest, Sha256};

use crate::text;

/// How long a signature may be.
pub const SIGNATURE_BYTES_MAX: usize = 200;
/// How much of an error is looked at.
const ERROR_BYTES_MAX: usize = 64 * 1024;
/// From this length on letters mixed with digits are an id, not a word.
const ID_LETTERS_MIN: usize = 16;
/// From this length on hexadecimal digits are a hash.
const HASH_LETTERS_MIN: usize = 7;
/// Digits at the end of a word that belong to it: `u32`, `sha256`.
const NAME_DIGITS_MAX: usize = 3;

/// The signature of an error's text; empty where there is nothing to tell.
///
/// ```
/// use loop_core::agent::signature::signature;
/// assert_eq!(signature("error[E0308]: mismatched types\n --> src/a.rs:3:9"), signature("error[E0308]: mismatched types\n --> src/a.rs:41:2"));
/// ```
#[must_use]
pub fn signature(error: &str) -> String {
    let cleaned = text::clean(text::head(error, ERROR_BYTES_MAX).as_bytes());
    let lines: Vec<&str> = cleaned.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let told = meaningful(&lines);
    let words: Vec<&str> = told.split_whitespace().collect();
    let mut out: Vec<String> = Vec::with_capacity(words.len());
    for (at, word) in words.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| words.get(at)).copied().unwrap_or_default();
        let after = words.get(at + 1).copied().unwrap_or_default();
        let normal = normal_word(word, before, after);
        // A date and its time are one.
        if normal != TIME || out.last().map(String::as_str) != Some(TIME) {
            out.push(normal);
        }
    }
    bounded(&out.join(" "))
}

const TIME: &str = "<time>";

fn bounded(text: &str) -> String {
    if text.len() <= SIGNATURE_BYTES_MAX {
        return text.to_owned();
    }
    let mut short = text::head(text, SIGNATURE_BYTES_MAX - 17).to_owned();
    short.push('~');
    short.push_str(&short_hash(text));
    short
}

/// Sixteen hexadecimal digits that are the same for the same text.
#[must_use]
pub fn short_hash(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// The line that says what is wrong, with the one that belongs to it.
fn meaningful(lines: &[&str]) -> String {
    if lines.first().is_some_and(|line| line.starts_with("Traceback (most recent call last)")) {
        let last = lines.iter().rev().find(|line| is_exception(line)).or(lines.last());
        return last.copied().unwrap_or_default().to_owned();
    }
    let at = lines.iter().position(|line| is_error(line)).unwrap_or(0);
    let Some(line) = lines.get(at) else { return String::new() };
    match lines.get(at + 1) {
        // The place of a compiler's message, and what follows a panic or a colon.
        Some(next) if next.starts_with("--> ") || line.ends_with(':') => format!("{line} {next}"),
        Some(_) | None => (*line).to_owned(),
    }
}

fn is_exception(line: &str) -> bool {
    let name = line.split([':', ' ']).next().unwrap_or_default();
    let last = name.rsplit('.').next().unwrap_or_default();
    ["Error", "Exception", "Interrupt", "Exit", "Warning"].iter().any(|end| last.ends_with(end))
}

const ERROR_WORDS: [&str; 16] = [
    "error",
    "exception",
    "panic",
    "fatal",
    "fail",
    "cannot",
    "could not",
    "can't",
    "unable",
    "denied",
    "refused",
    "not found",
    "invalid",
    "no such",
    "timed out",
    "unexpected",
];

fn is_error(line: &str) -> bool {
    let low = line.to_ascii_lowercase();
    ERROR_WORDS.iter().any(|word| low.contains(word)) || line.split(is_sign).any(is_code)
}

/// `ENOENT`, `E0308`, `TS2345`.
fn is_code(piece: &str) -> bool {
    let letters = piece.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let digits = piece.len() - letters.len();
    let upper = !letters.is_empty() && letters.bytes().all(|byte| byte.is_ascii_uppercase());
    upper
        && ((letters.len() <= 5 && (3..=5).contains(&digits))
            || (digits == 0 && letters.starts_with('E') && letters.len() >= 5))
}

fn is_sign(letter: char) -> bool {
    !letter.is_alphanumeric()
}

fn normal_word(word: &str, before: &str, after: &str) -> String {
    let begin = word.len() - word.trim_start_matches(opens).len();
    let end = word.trim_end_matches(closes).len().max(begin);
    let (Some(head), Some(core), Some(tail)) = (word.get(..begin), word.get(begin..end), word.get(end..)) else {
        return word.to_owned();
    };
    format!("{head}{}{tail}", normal(core, before, after))
}

fn opens(letter: char) -> bool {
    matches!(letter, '(' | '[' | '{' | '<' | '"' | '\'' | '`' | '“' | '‘')
}

fn closes(letter: char) -> bool {
    opens(letter) || matches!(letter, ')' | ']' | '}' | '>' | ',' | ';' | ':' | '.' | '!' | '?' | '”' | '’')
}

fn normal(core: &str, before: &str, after: &str) -> String {
    if is_status(core, before, after) {
        return core.to_owned();
    }
    if is_time(core) {
        return TIME.to_owned();
    }
    if is_duration(core) {
        return "#s".to_owned();
    }
    let core = without_uuids(core);
    match core.split_once('=') {
        Some((name, value)) => format!("{}={}", pieces(name), pieces(file_name(value))),
        None => pieces(file_name(&core)),
    }
}

/// The lengths of the parts of a UUID.
const UUID_PARTS: [usize; 5] = [8, 4, 4, 4, 12];
const UUID_BYTES: usize = 36;

fn without_uuids(core: &str) -> String {
    let mut out = String::with_capacity(core.len());
    let mut rest = core;
    while let Some(first) = rest.chars().next() {
        let uuid = rest.get(..UUID_BYTES).is_some_and(is_uuid);
        let width = if uuid { UUID_BYTES } else { first.len_utf8() };
        out.push_str(if uuid { ID } else { rest.get(..width).unwrap_or_default() });
        rest = rest.get(width..).unwrap_or_default();
    }
    out
}

fn is_uuid(text: &str) -> bool {
    let mut parts = text.split('-');
    let fits = |length: &usize| {
        parts.next().is_some_and(|part| part.len() == *length && part.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    UUID_PARTS.iter().all(fits)
}

/// A number that says what went wrong: an exit code, an answer of a server.
fn is_status(core: &str, before: &str, after: &str) -> bool {
    if core.is_empty() || core.len() > 3 || !core.bytes().all(|byte| byte.is_ascii_digit()) {
        return false;
    }
    let before = before.trim_matches(is_sign).to_ascii_lowercase();
    if ["status", "code", "errno", "exit", "signal"].contains(&before.as_str()) {
        return true;
    }
    let answer = core.len() == 3 && core.starts_with(['4', '5']);
    let follows = before == "error" || before.starts_with("http");
    answer && (follows || after.starts_with(|letter: char| letter.is_ascii_uppercase() || letter == '{'))
}

/// `2026-11-16T09:03:38.85Z`, `2026-11-16`, `09:03:38`.
fn is_time(core: &str) -> bool {
    let shape: String = core.chars().map(|letter| if letter.is_ascii_digit() { '0' } else { letter }).collect();
    shape.starts_with("0000-00-00") || shape.starts_with("0000/00/00") || shape.starts_with("00:00:00")
}

fn is_duration(core: &str) -> bool {
    let units = ["ns", "us", "µs", "μs", "ms", "s", "sec", "secs", "m", "min", "mins", "h"];
    let mut rest = core;
    let mut many = 0;
    while !rest.is_empty() {
        let unit = rest.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
        let end = unit.find(|letter: char| letter.is_ascii_digit()).unwrap_or(unit.len());
        let (name, after) = unit.split_at(end);
        if unit.len() == rest.len() || !units.contains(&name) {
            return false;
        }
        many += 1;
        rest = after;
    }
    many > 0
}

/// An absolute path as its last part; anything else as it is.
fn file_name(core: &str) -> &str {
    let windows =
        core.as_bytes().get(1..3) == Some(b":\\") && core.starts_with(|letter: char| letter.is_ascii_alphabetic());
    let absolute = core.starts_with('/') || core.starts_with("~/") || core.starts_with("file:///") || windows;
    if !absolute {
        return core;
    }
    let bare = core.trim_end_matches(['/', '\\']);
    let name = bare.rsplit(['/', '\\']).next().filter(|name| !name.is_empty()).unwrap_or(core);
    // Names that are new each time.
    if name.starts_with("tmp") && !name.contains('.') { "<tmp>" } else { name }
}

/// Letters and digits between signs, each made the same where it changes.
fn pieces(core: &str) -> String {
    let mut out = String::with_capacity(core.len());
    let mut rest = core;
    while let Some(first) = rest.chars().next() {
        if is_sign(first) {
            let fraction =
                matches!(first, '.' | ',') && out.ends_with('#') && rest.get(1..).is_some_and(begins_with_digit);
            if !fraction {
                out.push(first);
            }
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
            continue;
        }
        let end = rest.find(is_sign).unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        let normal = piece_of(piece);
        // `1,024` and `0.5` are one number.
        if normal != "#" || !out.ends_with('#') {
            out.push_str(&normal);
        }
        rest = after;
    }
    out
}

const ID: &str = "<id>";

fn begins_with_digit(text: &str) -> bool {
    text.starts_with(|letter: char| letter.is_ascii_digit())
}

fn piece_of(piece: &str) -> String {
    let digits = piece.bytes().filter(u8::is_ascii_digit).count();
    if digits == 0 {
        return piece.to_owned();
    }
    if digits == piece.len() {
        return "#".to_owned();
    }
    if is_code(piece) {
        return piece.to_owned();
    }
    let hex = piece.strip_prefix("0x").unwrap_or(piece);
    let is_hex = hex.bytes().all(|byte| byte.is_ascii_hexdigit());
    let lower =
        !hex.bytes().any(|byte| byte.is_ascii_uppercase()) || !hex.bytes().any(|byte| byte.is_ascii_lowercase());
    if piece.starts_with("0x") || (is_hex && lower && hex.len() >= HASH_LETTERS_MIN) || piece.len() >= ID_LETTERS_MIN {
        return ID.to_owned();
    }
    let named = piece.starts_with(|letter: char| letter.is_alphabetic());
    let mut out = String::with_capacity(piece.len());
    let mut run = String::new();
    for letter in piece.chars().chain(['\0']) {
        if letter.is_ascii_digit() {
            run.push(letter);
            continue;
        }
        if !run.is_empty() {
            out.push_str(if named && run.len() <= NAME_DIGITS_MAX { &run } else { "#" });
            run.clear();
        }
        if letter != '\0' {
            out.push(letter);
        }
    }
    out
}
