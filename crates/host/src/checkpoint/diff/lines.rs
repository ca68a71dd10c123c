//! Two texts line by line, with git's own algorithm and heuristics, so the counts are git's. The cost is estimated
//! before, so no input can make us compare for hours.
use std::ops::Range;

use gix_imara_diff::{Algorithm, Diff, InternedInput, Token};
use loop_core::policy::probe::LineChange;

/// How much of a file is read to decide whether it is text.
pub(super) const BINARY_CHECK_BYTES: usize = 8000;
/// The algorithm stops searching for the shortest edit after this many differences, or the square root of the lines.
const COST_MIN: u64 = 256;
/// Lines shown around a change.
const CONTEXT: u32 = 3;

/// Whether git would call it binary.
pub(crate) fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(BINARY_CHECK_BYTES).any(|byte| *byte == 0)
}

/// What a comparison found, and what it took.
pub(super) struct Counted {
    pub(super) insertions: u64,
    pub(super) deletions: u64,
    pub(super) steps: u64,
}

/// How many lines a text has; the last one may lack its end.
fn lines_of(text: &[u8]) -> u64 {
    let ends = text.iter().filter(|byte| **byte == b'\n').count();
    let open = usize::from(text.last().is_some_and(|byte| *byte != b'\n'));
    u64::try_from(ends + open).unwrap_or(u64::MAX)
}

/// How many lines came and went; none if it could take more steps than allowed.
pub(super) fn count(before: &[u8], after: &[u8], steps_max: u64) -> Option<Counted> {
    if before.is_empty() || after.is_empty() {
        let (insertions, deletions) = (lines_of(after), lines_of(before));
        return Some(Counted { insertions, deletions, steps: insertions + deletions });
    }
    let input = InternedInput::new(before, after);
    let cost = Cost::of(&input);
    if cost.worst() > steps_max {
        return None;
    }
    let diff = Diff::compute(Algorithm::Myers, &input);
    let (insertions, deletions) = (u64::from(diff.count_additions()), u64::from(diff.count_removals()));
    Some(Counted { insertions, deletions, steps: cost.with(insertions + deletions) })
}

/// What comparing may cost: only lines that both sides have, between the first and the last change, count.
struct Cost {
    lines: u64,
}

impl Cost {
    fn of(input: &InternedInput<&[u8]>) -> Self {
        let (before, after) = (&input.before, &input.after);
        let first = before.iter().zip(after).take_while(|(one, other)| one == other).count();
        let (before, after) = (&before[first..], &after[first..]);
        let last = before.iter().rev().zip(after.iter().rev()).take_while(|(one, other)| one == other).count();
        let (before, after) = (&before[..before.len() - last], &after[..after.len() - last]);
        let tokens = usize::try_from(input.interner.num_tokens()).unwrap_or(0);
        let shared = shared(before, after, tokens) + shared(after, before, tokens);
        Self { lines: u64::try_from(shared).unwrap_or(u64::MAX) }
    }

    fn with(&self, differences: u64) -> u64 {
        let most = self.lines.isqrt().max(COST_MIN).min(differences);
        self.lines + self.lines.min(differences).saturating_mul(most)
    }

    fn worst(&self) -> u64 {
        self.with(self.lines)
    }
}

/// How many of these tokens the others have too.
fn shared(these: &[Token], others: &[Token], tokens: usize) -> usize {
    let mut there = vec![false; tokens];
    let index = |token: &Token| usize::try_from(token.0).unwrap_or(usize::MAX);
    for token in others {
        if let Some(there) = there.get_mut(index(token)) {
            *there = true;
        }
    }
    these.iter().filter(|token| there.get(index(token)).is_some_and(|there| *there)).count()
}

/// Whether comparing two texts takes at most so many steps.
pub(crate) fn can_compare(input: &InternedInput<&[u8]>, steps_max: u64) -> bool {
    Cost::of(input).worst() <= steps_max
}

/// Which lines differ; none if comparing could take more steps than allowed.
pub(crate) fn line_changes(before: &[u8], after: &[u8], steps_max: u64) -> Option<Vec<LineChange>> {
    let input = InternedInput::new(before, after);
    if Cost::of(&input).worst() > steps_max {
        return None;
    }
    let mut diff = Diff::compute(Algorithm::Myers, &input);
    diff.postprocess_lines(&input);
    Some(diff.hunks().map(|hunk| LineChange { before: hunk.before, after: hunk.after }).collect())
}

/// One line of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line<'a> {
    Context(&'a [u8]),
    Removed(&'a [u8]),
    Added(&'a [u8]),
}

/// Changes that stand close together.
pub(super) struct Hunk<'a> {
    pub(super) before: Range<u32>,
    pub(super) after: Range<u32>,
    pub(super) lines: Vec<Line<'a>>,
}

/// All changes with what stands around them.
pub(super) fn hunks<'a>(before: &'a [u8], after: &'a [u8]) -> Vec<Hunk<'a>> {
    let input = InternedInput::new(before, after);
    let mut diff = Diff::compute(Algorithm::Myers, &input);
    diff.postprocess_lines(&input);
    let count = |tokens: &[Token]| u32::try_from(tokens.len()).unwrap_or(u32::MAX);
    let counts = LineCounts { before: count(&input.before), after: count(&input.after) };
    let mut groups: Vec<Vec<gix_imara_diff::Hunk>> = Vec::new();
    for hunk in diff.hunks() {
        match groups.last_mut() {
            Some(group) if group.last().is_some_and(|last| hunk.before.start <= last.before.end + 2 * CONTEXT) => {
                group.push(hunk);
            }
            Some(_) | None => groups.push(vec![hunk]),
        }
    }
    groups.iter().filter_map(|group| hunk(&input, group, counts)).collect()
}

/// How many lines both texts have.
#[derive(Debug, Clone, Copy)]
struct LineCounts {
    before: u32,
    after: u32,
}

fn hunk<'a>(input: &InternedInput<&'a [u8]>, group: &[gix_imara_diff::Hunk], counts: LineCounts) -> Option<Hunk<'a>> {
    let (first, last) = (group.first()?, group.last()?);
    let lead = CONTEXT.min(first.before.start);
    let trail = CONTEXT.min(counts.before.saturating_sub(last.before.end));
    let before = first.before.start - lead..last.before.end + trail;
    let after = first.after.start.saturating_sub(lead)..(last.after.end + trail).min(counts.after);
    let text = |tokens: &[Token], at: u32| -> &'a [u8] {
        usize::try_from(at).ok().and_then(|at| tokens.get(at)).map_or(&[], |token| input.interner[*token])
    };
    let mut lines = Vec::new();
    let mut at = before.start;
    for change in group {
        lines.extend((at..change.before.start).map(|at| Line::Context(text(&input.before, at))));
        lines.extend(change.before.clone().map(|at| Line::Removed(text(&input.before, at))));
        lines.extend(change.after.clone().map(|at| Line::Added(text(&input.after, at))));
        at = change.before.end;
    }
    lines.extend((at..before.end).map(|at| Line::Context(text(&input.before, at))));
    Some(Hunk { before, after, lines })
}
