//! Pieces of lines that several formats share: durations, counts, indentation.

/// How many blanks a line begins with, and the rest.
pub(super) fn indented(line: &str) -> (usize, &str) {
    let rest = line.trim_start_matches(' ');
    (line.len() - rest.len(), rest)
}

/// `3 passed` as number and words.
pub(super) fn counted(piece: &str) -> Option<(u32, &str)> {
    let (number, word) = piece.trim().split_once(' ')?;
    Some((number.parse().ok()?, word.trim()))
}

/// `12ms`, `1.5s`, `2m`: how long something took.
pub(super) fn is_duration(word: &str) -> bool {
    let unit = word.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    unit.len() < word.len() && matches!(unit, "ms" | "s" | "m" | "h" | "μs" | "µs" | "us" | "ns")
}

/// A name without the `(12 ms)` after it.
pub(super) fn without_parens_duration(name: &str) -> &str {
    let name = name.trim_end();
    let Some((before, inside)) = name.strip_suffix(')').and_then(|rest| rest.rsplit_once(" (")) else { return name };
    if is_duration(&inside.replace(' ', "")) { before.trim_end() } else { name }
}

/// A name without the `12ms` after it.
pub(super) fn without_duration(name: &str) -> &str {
    let name = name.trim_end();
    match name.rsplit_once(' ') {
        Some((before, last)) if is_duration(last) => before.trim_end(),
        Some(_) | None => name,
    }
}

/// Only digits, and at least one.
pub(super) fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}
