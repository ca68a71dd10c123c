//! Pieces of a change, to be taken back one at a time: which are worth it, in which order, and what they are called.
use std::ops::Range;

/// Changes with fewer lines between them are one piece.
const GAP_LINES: u32 = 3;

/// Lines that differ between two versions of a file, counted from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineChange {
    /// The lines of the initial file.
    pub before: Range<u32>,
    /// The lines of the final file.
    pub after: Range<u32>,
}

/// A piece that can be taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// The file.
    pub path: String,
    /// Which lines; none is the whole file.
    pub lines: Option<LineChange>,
    /// How many lines it changes.
    pub size: u64,
}

impl Hunk {
    /// For people: `src/a.rs:40-52`, with the lines of the final file.
    ///
    /// ```
    /// use loop_core::policy::probe::{LineChange, Hunk};
    ///
    /// let lines = Some(LineChange { before: 4..5, after: 39..52 });
    /// let piece = Hunk { path: "src/a.rs".to_owned(), lines, size: 14 };
    /// assert_eq!(piece.name(), "src/a.rs:40-52");
    /// ```
    #[must_use]
    pub fn name(&self) -> String {
        match &self.lines {
            None => self.path.clone(),
            Some(lines) if lines.after.end > lines.after.start + 1 => {
                format!("{}:{}-{}", self.path, lines.after.start + 1, lines.after.end)
            }
            Some(lines) => format!("{}:{}", self.path, lines.after.start + 1),
        }
    }
}

/// The largest first; among equal ones by name.
pub fn in_order(pieces: &mut [Hunk]) {
    pieces.sort_by(|one, other| other.size.cmp(&one.size).then_with(|| one.name().cmp(&other.name())));
}

/// Joins changes that stand close together. They come in the order of their lines.
#[must_use]
pub fn join_near(changes: &[LineChange]) -> Vec<LineChange> {
    let mut joined: Vec<LineChange> = Vec::new();
    for change in changes {
        match joined.last_mut() {
            Some(last) if change.after.start.saturating_sub(last.after.end) < GAP_LINES => {
                last.before.end = change.before.end;
                last.after.end = change.after.end;
            }
            Some(_) | None => joined.push(change.clone()),
        }
    }
    joined
}

/// Whether a gate can be expected to notice these lines: not all of them are blank or comments.
///
/// ```
/// use loop_core::policy::probe::is_worth_trying;
///
/// assert!(!is_worth_trying("a.py", ["# why", "", "   # more"].into_iter()));
/// assert!(is_worth_trying("a.rs", ["#[derive(Debug)]"].into_iter()));
/// ```
pub fn is_worth_trying<'a>(path: &str, mut lines: impl Iterator<Item = &'a str>) -> bool {
    let signs = comment_signs(path);
    lines.any(|line| {
        let line = line.trim();
        !line.is_empty() && !signs.iter().any(|sign| line == sign.trim_end() || line.starts_with(sign))
    })
}

/// How a line begins that is a comment. `* ` is the middle of a longer one.
fn comment_signs(path: &str) -> &'static [&'static str] {
    match path.rsplit('.').next().unwrap_or_default() {
        "rs" | "go" | "c" | "h" | "cc" | "cpp" | "hpp" | "cs" | "java" | "kt" | "kts" | "swift" | "scala" | "dart"
        | "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "cts" | "zig" | "groovy" => &["//", "/*", "* ", "*/"],
        "php" => &["//", "#", "/*", "* ", "*/"],
        "css" | "scss" | "less" => &["/*", "* ", "*/"],
        "py" | "pyi" | "rb" | "sh" | "bash" | "pl" | "pm" | "r" | "yml" | "yaml" | "toml" | "ex" | "exs" | "jl"
        | "nix" | "tf" => &["#"],
        "lua" | "sql" | "hs" | "elm" | "adb" => &["--"],
        "el" | "lisp" | "clj" | "cljs" | "scm" | "asm" | "ini" => &[";"],
        "erl" | "tex" => &["%"],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(before: Range<u32>, after: Range<u32>) -> LineChange {
        LineChange { before, after }
    }

    #[test]
    fn changes_with_less_than_three_lines_between_them_are_one_piece() {
        let near = [change(0..1, 0..1), change(3..4, 3..5)];
        assert_eq!(join_near(&near), [change(0..4, 0..5)]);
        let far = [change(0..1, 0..1), change(4..5, 4..5)];
        assert_eq!(join_near(&far), far);
    }

    #[test]
    fn pieces_are_tried_from_the_largest_and_named_by_the_lines_of_the_final_file() {
        let piece = |path: &str, lines: Option<LineChange>, size| Hunk { path: path.to_owned(), lines, size };
        let mut pieces = [
            piece("b.rs", Some(change(0..0, 9..10)), 1),
            piece("a.rs", None, 30),
            piece("a.rs", Some(change(4..9, 4..4)), 5),
            piece("a.rs", Some(change(0..0, 0..1)), 1),
        ];
        in_order(&mut pieces);
        assert_eq!(pieces.map(|piece| piece.name()), ["a.rs", "a.rs:5", "a.rs:1", "b.rs:10"]);
    }

    #[test]
    fn only_what_is_surely_a_comment_is_left_out() {
        for (path, line) in
            [("a.rs", "*count = 3;"), ("a.c", "#define A"), ("a.py", "x = 1  # why"), ("a.unknown", "# x")]
        {
            assert!(is_worth_trying(path, [line].into_iter()), "{line}");
        }
        for (path, line) in
            [("a.rs", "/// A doc."), ("a.js", "*/"), ("a.js", " * more"), ("a.sql", "-- x"), ("a.unknown", "  ")]
        {
            assert!(!is_worth_trying(path, [line].into_iter()), "{line}");
        }
    }
}
