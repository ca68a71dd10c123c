//! Text that both sides changed, merged line by line as git does it: git's comparison for merges (histogram, hunks slid
//! down) on top of `gix-imara-diff`, and git's rule that changes which touch each other are a conflict.
use std::ops::Range;

use gix_imara_diff::{Algorithm, Diff, InternedInput};

use crate::checkpoint::diff::can_compare;

/// What became of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineMerge {
    /// Both changes are in it.
    Merged(Vec<u8>),
    /// Both changed the same lines, or lines that touch.
    Conflict,
    /// Comparing could take more steps than allowed.
    TooLarge,
}

/// Lines of the base that one side replaced by others.
#[derive(Debug, Clone)]
struct Hunk {
    base: Range<usize>,
    own: Range<usize>,
}

/// One side: its lines, and how they differ from the base.
struct LineSide<'a> {
    lines: Vec<&'a [u8]>,
    hunks: Vec<Hunk>,
}

impl<'a> LineSide<'a> {
    fn of(base: &'a [u8], own: &'a [u8], steps_max: u64) -> Option<Self> {
        let input = InternedInput::new(base, own);
        if !can_compare(&input, steps_max) {
            return None;
        }
        let mut diff = Diff::compute(Algorithm::Histogram, &input);
        diff.postprocess_no_heuristic(&input);
        let wide = |range: Range<u32>| usize::try_from(range.start).ok().zip(usize::try_from(range.end).ok());
        let hunks = diff.hunks().filter_map(|hunk| {
            let (before, after) = (wide(hunk.before)?, wide(hunk.after)?);
            Some(Hunk { base: before.0..before.1, own: after.0..after.1 })
        });
        Some(Self { hunks: hunks.collect(), lines: lines_of(own) })
    }

    /// The lines that stand in the place of these lines of the base. `hunks` are those that lie in it.
    fn place(&self, hunks: &[Hunk], base: &Range<usize>) -> Option<&[&'a [u8]]> {
        let (first, last) = (hunks.first()?, hunks.last()?);
        let start = first.own.start.checked_sub(first.base.start.checked_sub(base.start)?)?;
        let end = last.own.end + base.end.checked_sub(last.base.end)?;
        self.lines.get(start..end)
    }
}

/// Lines with their ends.
fn lines_of(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

/// Merges two texts that began as a third one.
#[must_use]
pub fn merge_lines(base: &[u8], ours: &[u8], theirs: &[u8], steps_max: u64) -> LineMerge {
    let sides = (LineSide::of(base, ours, steps_max), LineSide::of(base, theirs, steps_max));
    let (Some(ours), Some(theirs)) = sides else { return LineMerge::TooLarge };
    let Some(parts) = merged(&lines_of(base), &ours, &theirs) else { return LineMerge::Conflict };
    let lines = |part: &Part<'_>| if let Part::Lines(lines) = part { Some(lines.concat()) } else { None };
    match parts.iter().map(lines).collect::<Option<Vec<_>>>() {
        Some(texts) => LineMerge::Merged(texts.concat()),
        None => LineMerge::Conflict,
    }
}

/// The same two texts with both versions of each conflict in it, between lines of signs as git writes them. None where
/// comparing could take more steps than allowed.
pub(super) fn mark_lines(texts: [&[u8]; 3], signs: &Signs, steps_max: u64) -> Option<Vec<u8>> {
    let [base, ours, theirs] = texts;
    let (ours, theirs) = (LineSide::of(base, ours, steps_max)?, LineSide::of(base, theirs, steps_max)?);
    let mut out = Vec::new();
    for part in merged(&lines_of(base), &ours, &theirs)? {
        match part {
            Part::Lines(lines) => out.extend(lines.concat()),
            Part::Conflict { ours, theirs } => signs.write(&ours.concat(), &theirs.concat(), &mut out),
        }
    }
    Some(out)
}

/// The lines around both versions of a conflict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signs {
    /// What our version is called.
    pub ours: String,
    /// What the other version is called.
    pub theirs: String,
    /// Stands in each of the three lines, so that they are known from lines of the text.
    pub label: String,
}

impl Signs {
    /// Both versions, each with its last line end.
    pub(super) fn write(&self, ours: &[u8], theirs: &[u8], out: &mut Vec<u8>) {
        let Self { ours: our_name, theirs: their_name, label } = self;
        let mut side = |head: String, text: &[u8]| {
            out.extend(head.into_bytes());
            out.extend(text);
            if !text.is_empty() && !text.ends_with(b"\n") {
                out.push(b'\n');
            }
        };
        side(format!("<<<<<<< {our_name} ({label})\n"), ours);
        side(format!("======= ({label})\n"), theirs);
        side(format!(">>>>>>> {their_name} ({label})\n"), b"");
    }
}

/// A part of a merged text.
enum Part<'a> {
    Lines(Vec<&'a [u8]>),
    /// Both changed the same lines, or lines that touch.
    Conflict {
        ours: Vec<&'a [u8]>,
        theirs: Vec<&'a [u8]>,
    },
}

fn merged<'a>(base: &[&'a [u8]], ours: &LineSide<'a>, theirs: &LineSide<'a>) -> Option<Vec<Part<'a>>> {
    let mut out = Vec::new();
    let (mut at, mut left, mut right) = (0, &ours.hunks[..], &theirs.hunks[..]);
    while let Some(start) = left.first().into_iter().chain(right.first()).map(|hunk| hunk.base.start).min() {
        let (mut end, mut counts) = (start, (0, 0));
        // All that touches belongs together.
        loop {
            let next = |hunks: &[Hunk], count: usize| {
                hunks.get(count).filter(|hunk| hunk.base.start <= end).map(|hunk| hunk.base.end)
            };
            if let Some(later) = next(left, counts.0) {
                counts.0 += 1;
                end = end.max(later);
            } else if let Some(later) = next(right, counts.1) {
                counts.1 += 1;
                end = end.max(later);
            } else {
                break;
            }
        }
        out.push(Part::Lines(base.get(at..start)?.to_vec()));
        let (own, rest) = left.split_at(counts.0);
        let (other, rest_of_other) = right.split_at(counts.1);
        at = end;
        left = rest;
        right = rest_of_other;
        let place = start..end;
        let lines = match (own.is_empty(), other.is_empty()) {
            (false, true) => ours.place(own, &place)?,
            (true, _) => theirs.place(other, &place)?,
            (false, false) => {
                let (one, other) = (ours.place(own, &place)?, theirs.place(other, &place)?);
                if one != other {
                    out.push(Part::Conflict { ours: one.to_vec(), theirs: other.to_vec() });
                    continue;
                }
                one
            }
        };
        out.push(Part::Lines(lines.to_vec()));
    }
    out.push(Part::Lines(base.get(at..)?.to_vec()));
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merge(base: &str, ours: &str, theirs: &str) -> Option<String> {
        match merge_lines(base.as_bytes(), ours.as_bytes(), theirs.as_bytes(), 1_000_000) {
            LineMerge::Merged(bytes) => String::from_utf8(bytes).ok(),
            LineMerge::Conflict | LineMerge::TooLarge => None,
        }
    }

    #[test]
    fn changes_with_a_line_between_them_are_both_kept() {
        assert_eq!(merge("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n").as_deref(), Some("A\nb\nC\n"));
        assert_eq!(merge("a\nb\nc\n", "x\na\nb\nc\n", "a\nb\nc\ny\n").as_deref(), Some("x\na\nb\nc\ny\n"));
    }

    #[test]
    fn changes_that_touch_or_overlap_are_a_conflict() {
        assert_eq!(merge("a\nb\nc\n", "A\nb\nc\n", "a\nB\nc\n"), None);
        assert_eq!(merge("a\nb\n", "a\nx\nb\n", "a\ny\nb\n"), None);
        assert_eq!(merge("a\n", "", "b\n"), None);
    }

    #[test]
    fn both_versions_of_a_conflict_stand_between_signs_and_the_rest_is_merged() {
        let signs = Signs { ours: "merged".to_owned(), theirs: "web".to_owned(), label: "conflict p/web".to_owned() };
        let marked = |base: &str, ours: &str, theirs: &str| {
            let texts = [base.as_bytes(), ours.as_bytes(), theirs.as_bytes()];
            String::from_utf8(mark_lines(texts, &signs, 1_000_000).unwrap()).unwrap()
        };
        let text = marked("a\nb\nc\nd\ne\n", "a\nX\nc\nd\ne\n", "a\nY\nc\nd\nE\n");
        let (head, tail) = ("<<<<<<< merged (conflict p/web)\n", ">>>>>>> web (conflict p/web)\n");
        assert_eq!(text, format!("a\n{head}X\n======= (conflict p/web)\nY\n{tail}c\nd\nE\n"));
        let text = marked("", "one", "two");
        assert_eq!(text, format!("{head}one\n======= (conflict p/web)\ntwo\n{tail}"));
    }

    #[test]
    fn the_same_change_on_both_sides_is_one_change() {
        assert_eq!(merge("a\nb\nc\n", "a\nB\nc\n", "a\nB\nc\n").as_deref(), Some("a\nB\nc\n"));
        assert_eq!(merge("a\nb\nc\nd\n", "a\nB\nc\nd\n", "a\nB\nc\nD\n").as_deref(), Some("a\nB\nc\nD\n"));
    }

    #[test]
    fn line_ends_are_bytes_of_their_line() {
        assert_eq!(merge("a\r\nb\r\nc\r\n", "A\r\nb\r\nc\r\n", "a\r\nb\r\nC\r\n").as_deref(), Some("A\r\nb\r\nC\r\n"));
        assert_eq!(merge("a\nb\nc\n", "a\r\nb\r\nc\r\n", "a\nB\nc\n"), None);
        assert_eq!(merge("a\nb\nc", "A\nb\nc", "a\nb\nc\n").as_deref(), Some("A\nb\nc\n"));
        assert_eq!(merge("a\nb\nc", "a\nb\nc\n", "a\nb\nc\nd"), None);
    }
}
