//! How alike two texts are: the ratio of Python's `difflib.SequenceMatcher(None, a, b, autojunk=False)`.
//!
//! Up to [`EXACT_CHARS_MAX`] characters on both sides the value is the one of Python, character for character. Above that
//! it would take minutes, so longer texts are compared by line in linear time: equal lines in the same order first, then
//! the short pieces between them by character, within a budget. `docs/decisions/0047-progress-score.md` has the measured
//! error.
use std::collections::BTreeMap;

use super::score::WHOLE;

/// Texts of at most so many characters are compared exactly.
pub const EXACT_CHARS_MAX: usize = 4096;
/// A line that is longer is cut at words, so that texts without line breaks have pieces, too.
const LINE_CHARS_MAX: usize = 200;
/// A word of which the hash ends so ends a piece of a long line: the same words are cut at the same places.
const CUT_MASK: u64 = 7;
/// A gap between equal lines is compared by character up to so many characters on a side.
const GAP_CHARS_MAX: u64 = 2048;
/// How often a gap is searched again for pieces that are in it once.
const DEPTH_MAX: u32 = 4;
/// The length of a block where a long gap is only sampled.
const BLOCK_CHARS: u64 = 1000;
/// How many blocks are compared then.
const SAMPLES_MAX: usize = 32;
/// So much work all gaps together may cost: pairs of equal characters that are looked at.
const GAP_WORK_MAX: u64 = 40_000_000;

/// How much of two texts is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Similarity {
    /// How many characters match, in the same order.
    pub matching: u64,
    /// How many characters both have together.
    pub all: u64,
}

impl Similarity {
    /// The ratio in ten-thousandths, rounded. Two empty texts are the same.
    #[must_use]
    pub fn ratio(self) -> u32 {
        let all = u128::from(self.all);
        if all == 0 {
            return WHOLE;
        }
        let rounded = (u128::from(self.matching) * 2 * u128::from(WHOLE) + all / 2) / all;
        u32::try_from(rounded).unwrap_or(WHOLE).min(WHOLE)
    }
}

/// How alike two texts are, as they are: nothing is normalised.
#[must_use]
pub fn similarity(before: &str, now: &str) -> Similarity {
    if !is_short(before.chars()) || !is_short(now.chars()) {
        return Lines::of(before, now).similarity();
    }
    let (first, second): (Vec<char>, Vec<char>) = (before.chars().collect(), now.chars().collect());
    let mut free = u64::MAX;
    let matching = matching_chars(&first, &second, &mut free).unwrap_or(0);
    Similarity { matching, all: size(first.len()) + size(second.len()) }
}

/// Whether it is compared exactly. Not more than that is counted.
fn is_short(chars: impl Iterator<Item = char>) -> bool {
    chars.take(EXACT_CHARS_MAX + 1).count() <= EXACT_CHARS_MAX
}

/// A text without the differences that do not count: whitespace at its ends removed and squeezed, lower case.
#[must_use]
pub fn normalised(text: &str) -> String {
    let mut squeezed = String::with_capacity(text.len());
    squeeze(text, &mut squeezed);
    squeezed.to_lowercase()
}

/// The same for each line, without empty ones.
fn normalised_lines(text: &str) -> String {
    let mut squeezed = String::with_capacity(text.len());
    for line in text.lines() {
        let before = squeezed.len();
        squeeze(line, &mut squeezed);
        if squeezed.len() > before {
            squeezed.push('\n');
        }
    }
    squeezed.to_lowercase()
}

/// Adds the words of a text with one space between two.
fn squeeze(text: &str, to: &mut String) {
    for (word, at) in text.split_whitespace().zip(0_u64..) {
        if at > 0 {
            to.push(' ');
        }
        to.push_str(word);
    }
}

/// How much of an output is not in the one before, in ten-thousandths. An empty output counts as the same; without an
/// earlier output all of it is new.
#[must_use]
pub fn output_difference(before: Option<&str>, now: &str) -> u32 {
    let is_empty = |text: &str| text.trim().is_empty();
    if is_empty(now) {
        return 0;
    }
    let Some(before) = before.filter(|before| !is_empty(before)) else { return WHOLE };
    let stays_short = |text: &str| is_short(text.split_whitespace().flat_map(|word| word.chars().chain([' '])));
    let compared = if stays_short(before) && stays_short(now) {
        similarity(&normalised(before), &normalised(now))
    } else {
        similarity(&normalised_lines(before), &normalised_lines(now))
    };
    WHOLE - compared.ratio()
}

fn size(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// A part of both texts that is still to be compared. No match in it is longer than the one that it was cut at.
struct Part {
    first: std::ops::Range<usize>,
    second: std::ops::Range<usize>,
    longest: usize,
}

/// How many characters match: the longest common piece, the earliest where several are equally long, then the same to
/// the left and to the right of it. None where that costs more than `work`.
fn matching_chars(first: &[char], second: &[char], work: &mut u64) -> Option<u64> {
    let index = CharIndex::of(first, second);
    let mut table = Table { lengths: vec![(0, 0); second.len() + 1], row: 0 };
    let whole = Part { first: 0..first.len(), second: 0..second.len(), longest: first.len().min(second.len()) };
    let (mut parts, mut matching) = (vec![whole], 0);
    while let Some(part) = parts.pop() {
        let found = index.longest(&part, &mut table, work)?;
        if found.length == 0 {
            continue;
        }
        matching += size(found.length);
        let left = Part {
            first: part.first.start..found.first,
            second: part.second.start..found.second,
            longest: found.length,
        };
        let right = Part {
            first: found.first + found.length..part.first.end,
            second: found.second + found.length..part.second.end,
            longest: found.length,
        };
        parts.extend([left, right].into_iter().filter(|part| !part.first.is_empty() && !part.second.is_empty()));
    }
    Some(matching)
}

/// The longest common piece of a part.
struct Found {
    first: usize,
    second: usize,
    length: usize,
}

/// For each character of the first text, where the second one has it.
struct CharIndex {
    /// The places in the second text, by character and then in order.
    places: Vec<usize>,
    /// For each character of the first text its range in `places`.
    ranges: Vec<(usize, usize)>,
}

/// How long the common piece is that ends before a place of the second text, and in which row that was found.
struct Table {
    lengths: Vec<(u64, usize)>,
    row: u64,
}

impl CharIndex {
    fn of(first: &[char], second: &[char]) -> Self {
        let mut pairs: Vec<(char, usize)> = second.iter().copied().zip(0..).collect();
        pairs.sort_unstable();
        let mut ranges = BTreeMap::new();
        for (at, (letter, _)) in pairs.iter().enumerate() {
            ranges.entry(*letter).or_insert((at, at)).1 = at + 1;
        }
        let ranges = first.iter().map(|letter| ranges.get(letter).copied().unwrap_or((0, 0))).collect();
        Self { places: pairs.into_iter().map(|(_, place)| place).collect(), ranges }
    }

    /// As in Python: of the longest pieces the one that ends first in the first text, then first in the second. It stops
    /// as soon as none can be longer.
    fn longest(&self, part: &Part, table: &mut Table, work: &mut u64) -> Option<Found> {
        let mut best = Found { first: part.first.start, second: part.second.start, length: 0 };
        let most = part.longest.min(part.first.len()).min(part.second.len());
        table.row += 1;
        for at in part.first.clone() {
            table.row += 1;
            let (from, to) = self.ranges.get(at).copied().unwrap_or_default();
            let places = self.places.get(from..to).unwrap_or_default();
            let begin = places.partition_point(|place| *place < part.second.start);
            let end = places.partition_point(|place| *place < part.second.end);
            let places = places.get(begin..end).unwrap_or_default();
            *work = work.checked_sub(size(places.len()) + 1)?;
            // From the right, so that the row before is still there for the place to the left.
            let (mut length, mut second) = (0, 0);
            for place in places.iter().rev() {
                let (row, before) = table.lengths.get(*place).copied().unwrap_or_default();
                let now = if row + 1 == table.row { before + 1 } else { 1 };
                if let Some(slot) = table.lengths.get_mut(*place + 1) {
                    *slot = (table.row, now);
                }
                if now >= length {
                    length = now;
                    second = *place;
                }
            }
            if length > best.length {
                best = Found { first: at + 1 - length, second: second + 1 - length, length };
            }
            if best.length == most {
                break;
            }
        }
        Some(best)
    }
}

/// Two long texts as their pieces.
struct Lines<'a> {
    first: Vec<Piece<'a>>,
    second: Vec<Piece<'a>>,
    all: u64,
}

/// A line, or a part of a long one. Its number is the hash of its text.
#[derive(Clone, Copy)]
struct Piece<'a> {
    number: u64,
    text: &'a str,
    chars: u64,
}

impl<'a> Lines<'a> {
    fn of(before: &'a str, now: &'a str) -> Self {
        let piece = |text: &'a str| Piece { number: hash(text), text, chars: size(text.chars().count()) };
        let first: Vec<Piece<'a>> = pieces(before).into_iter().map(piece).collect();
        let second: Vec<Piece<'a>> = pieces(now).into_iter().map(piece).collect();
        let all = first.iter().chain(&second).map(|piece| piece.chars).sum();
        Self { first, second, all }
    }

    fn similarity(&self) -> Similarity {
        let mut work = GAP_WORK_MAX;
        let matching = between(&self.first, &self.second, 0, &mut work);
        Similarity { matching: matching.min(self.all / 2), all: self.all }
    }
}

/// Two texts with the same hash are taken to be the same: nothing but a score depends on it.
fn hash(text: &str) -> u64 {
    let add = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, add)
}

/// The lines of a text, long ones cut at words. Each piece ends with its line break or space.
fn pieces(text: &str) -> Vec<&str> {
    let mut all = Vec::new();
    for line in text.split_inclusive('\n') {
        if line.len() <= LINE_CHARS_MAX {
            all.push(line);
            continue;
        }
        let (mut from, mut at) = (0, 0);
        for word in line.split_inclusive(' ') {
            at += word.len();
            if (hash(word) >> 32) & CUT_MASK == 0 || at - from > LINE_CHARS_MAX {
                all.extend(line.get(from..at));
                from = at;
            }
        }
        all.extend(line.get(from..).filter(|rest| !rest.is_empty()));
    }
    all
}

/// How many characters match between two rows of pieces: equal pieces at both ends, then pieces that are there once in
/// both, in the same order, then what is between these.
fn between(first: &[Piece<'_>], second: &[Piece<'_>], depth: u32, work: &mut u64) -> u64 {
    let same = |(one, other): &(&Piece<'_>, &Piece<'_>)| one.number == other.number;
    let head = first.iter().zip(second).take_while(same).count();
    let (same_head, first) = first.split_at(head);
    let second = second.get(head..).unwrap_or_default();
    let tail = first.iter().rev().zip(second.iter().rev()).take_while(same).count();
    let (first, same_tail) = first.split_at(first.len() - tail);
    let second = second.get(..second.len() - tail).unwrap_or_default();
    let ends = chars_of(same_head) + chars_of(same_tail);
    if first.is_empty() || second.is_empty() {
        return ends;
    }
    if chars_of(first) * chars_of(second) <= GAP_CHARS_MAX * GAP_CHARS_MAX
        && let Some(matching) = exactly(first, second, work)
    {
        return ends + matching;
    }
    let anchors = if depth < DEPTH_MAX { anchors(first, second) } else { Vec::new() };
    if anchors.is_empty() {
        return ends + same_pieces(first, second).max(sampled(first, second, work));
    }
    let (mut matching, mut left, mut right) = (ends, 0, 0);
    let last = Anchor { first: first.len(), second: second.len() };
    for anchor in anchors.into_iter().chain([last]) {
        let gap = (first.get(left..anchor.first), second.get(right..anchor.second));
        if let (Some(first), Some(second)) = gap {
            matching += between(first, second, depth + 1, work);
        }
        matching += first.get(anchor.first).map_or(0, |piece| piece.chars);
        left = anchor.first + 1;
        right = anchor.second + 1;
    }
    matching
}

fn chars_of(pieces: &[Piece<'_>]) -> u64 {
    pieces.iter().map(|piece| piece.chars).sum()
}

/// The same by character, where that is not too much work.
fn exactly(first: &[Piece<'_>], second: &[Piece<'_>], work: &mut u64) -> Option<u64> {
    let text = |pieces: &[Piece<'_>]| pieces.iter().flat_map(|piece| piece.text.chars()).collect::<Vec<char>>();
    matching_chars(&text(first), &text(second), work)
}

/// A piece that both have once.
#[derive(Clone, Copy)]
struct Anchor {
    first: usize,
    second: usize,
}

/// The pieces that both have once, as many as are in the same order in both.
fn anchors(first: &[Piece<'_>], second: &[Piece<'_>]) -> Vec<Anchor> {
    let (once, others) = (only_once(first), only_once(second));
    let mut common = Vec::new();
    let mut others = others.into_iter().peekable();
    for (number, at) in once {
        while others.next_if(|(other, _)| *other < number).is_some() {}
        if let Some((_, second)) = others.next_if(|(other, _)| *other == number) {
            common.push(Anchor { first: at, second });
        }
    }
    common.sort_unstable_by_key(|anchor| anchor.first);
    increasing(&common)
}

/// The numbers that are there once, with their places, by number.
fn only_once(pieces: &[Piece<'_>]) -> Vec<(u64, usize)> {
    let mut numbers: Vec<(u64, usize)> = pieces.iter().map(|piece| piece.number).zip(0..).collect();
    numbers.sort_unstable();
    let groups = numbers.chunk_by(|one, other| one.0 == other.0);
    groups.filter(|group| group.len() == 1).flatten().copied().collect()
}

/// The longest row of anchors that increases in both texts.
fn increasing(anchors: &[Anchor]) -> Vec<Anchor> {
    // For each length the anchor with the smallest end, and for each anchor the one before it.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(anchors.len());
    let second = |at: usize| anchors.get(at).map_or(0, |anchor| anchor.second);
    for (at, anchor) in anchors.iter().enumerate() {
        let length = ends.partition_point(|end| second(*end) < anchor.second);
        before.push(length.checked_sub(1).and_then(|length| ends.get(length)).copied());
        match ends.get_mut(length) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut row = Vec::with_capacity(ends.len());
    let mut next = ends.last().copied();
    while let Some(at) = next {
        row.extend(anchors.get(at));
        next = before.get(at).copied().flatten();
    }
    row.reverse();
    row
}

/// How many characters are in pieces that both have, in whatever order.
fn same_pieces(first: &[Piece<'_>], second: &[Piece<'_>]) -> u64 {
    let sorted = |pieces: &[Piece<'_>]| {
        let mut all: Vec<(u64, u64)> = pieces.iter().map(|piece| (piece.number, piece.chars)).collect();
        all.sort_unstable();
        all
    };
    let mut others = sorted(second).into_iter().peekable();
    let mut matching = 0;
    for (number, chars) in sorted(first) {
        while others.next_if(|(other, _)| *other < number).is_some() {}
        matching += others.next_if(|(other, _)| *other == number).map_or(0, |_| chars);
    }
    matching
}

/// An estimate: both rows are cut into the same number of blocks, some blocks are compared by character, each with the
/// one at its place, and the others are taken to be like these.
fn sampled(first: &[Piece<'_>], second: &[Piece<'_>], work: &mut u64) -> u64 {
    let longer = chars_of(first).max(chars_of(second));
    let blocks = usize::try_from(longer.div_ceil(BLOCK_CHARS)).unwrap_or(1).max(1);
    let samples = blocks.min(SAMPLES_MAX);
    let (mut matching, mut seen) = (0, 0);
    for sample in 0..samples {
        let block = sample * blocks / samples;
        let cut = |pieces: &[Piece<'_>], block: usize| pieces.len() * block / blocks;
        let one = first.get(cut(first, block)..cut(first, block + 1)).unwrap_or_default();
        let other = second.get(cut(second, block)..cut(second, block + 1)).unwrap_or_default();
        if chars_of(one) * chars_of(other) > GAP_CHARS_MAX * GAP_CHARS_MAX {
            continue;
        }
        let Some(found) = exactly(one, other, work) else { break };
        matching += found;
        seen += chars_of(one) + chars_of(other);
    }
    let all = chars_of(first) + chars_of(second);
    if seen == 0 { 0 } else { u64::try_from(u128::from(matching) * u128::from(all) / u128::from(seen)).unwrap_or(0) }
}
