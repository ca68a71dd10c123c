//! Renames: a file that was removed and one that was added with the same or similar content. With git's rules: the
//! same bytes first, then the same base name, then the most similar.
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::io;

use super::lines::is_binary;
use super::{Content, FileKind, Pair, Reader, SIMILARITY_MIN, Side};
use crate::checkpoint::git::object::Id;
use crate::fs::handle::split;

/// Pieces that files are compared by: lines, but no longer than this.
const PIECE_BYTES_MAX: usize = 64;
/// What is entirely the same.
const SCORE_MAX: u64 = 60_000;
/// How alike those must be that are paired for their last name alone.
const SAME_NAME_MIN: u64 = SCORE_MAX / 4 * 3;
/// How many of the most alike are remembered of each file that came.
const CANDIDATES_MAX: usize = 4;

/// Which pairs are one.
#[derive(Debug, Default)]
pub(super) struct Renames {
    /// By where it stands: where its source stands, and how alike they are in percent.
    pub(super) renamed: BTreeMap<usize, (usize, u8)>,
    /// Where the sources stand.
    pub(super) gone: BTreeSet<usize>,
    /// Too many to compare.
    pub(super) given_up: bool,
}

impl Renames {
    fn unite(&mut self, source: usize, target: usize, score: u64) {
        self.gone.insert(source);
        self.renamed.insert(target, (source, u8::try_from(score * 100 / SCORE_MAX).unwrap_or(100)));
    }
}

/// A file that came or went.
struct Candidate<'a> {
    at: usize,
    path: &'a [u8],
    side: Side,
    id: Id,
}

/// How often each piece is in a file, in bytes; sorted.
struct Pieces {
    bytes: u64,
    pieces: Vec<(u64, u64)>,
}

pub(super) fn find(pairs: &[Pair], reader: &Reader<'_>) -> io::Result<Renames> {
    let mut renames = Renames::default();
    let (mut gone, mut came) = (Vec::new(), Vec::new());
    for (at, pair) in pairs.iter().enumerate() {
        // A folder where a file was means that the file was removed, or moved into it.
        let file = |side: Option<Side>| side.filter(|side| !side.is_folder());
        let (side, list) = match (file(pair.from), file(pair.to)) {
            (Some(side), None) => (side, &mut gone),
            (None, Some(side)) => (side, &mut came),
            _ => continue,
        };
        if let Some(id) = side.id {
            list.push(Candidate { at, path: &pair.path, side, id });
        }
    }
    exact(&gone, &came, &mut renames);
    gone.retain(|one| one.side.kind == FileKind::File && !renames.gone.contains(&one.at));
    came.retain(|one| one.side.kind == FileKind::File && !renames.renamed.contains_key(&one.at));
    if gone.is_empty() || came.is_empty() {
        return Ok(renames);
    }
    if gone.len().saturating_mul(came.len()) > reader.bounds.rename_pairs {
        renames.given_up = true;
        return Ok(renames);
    }
    let mut room = reader.bounds.rename_bytes;
    let (sources, targets) = (pieces_of(&gone, reader, &mut room)?, pieces_of(&came, reader, &mut room)?);
    let (Some(sources), Some(targets)) = (sources, targets) else {
        renames.given_up = true;
        return Ok(renames);
    };
    if steps(&sources, &targets) > reader.bounds.rename_steps {
        renames.given_up = true;
        return Ok(renames);
    }
    let both = Both { gone: &gone, came: &came, sources: &sources, targets: &targets };
    both.by_last_name(&mut renames);
    both.by_likeness(&mut renames);
    Ok(renames)
}

fn exact(gone: &[Candidate<'_>], came: &[Candidate<'_>], renames: &mut Renames) {
    let mut by_id: BTreeMap<(Id, bool), Vec<&Candidate<'_>>> = BTreeMap::new();
    for one in gone {
        by_id.entry((one.id, one.side.kind == FileKind::Link)).or_default().push(one);
    }
    for target in came {
        let Some(sources) = by_id.get_mut(&(target.id, target.side.kind == FileKind::Link)) else { continue };
        let same_name = sources.iter().position(|source| split(source.path).1 == split(target.path).1);
        if !sources.is_empty() {
            let source = sources.remove(same_name.unwrap_or(0));
            renames.unite(source.at, target.at, SCORE_MAX);
        }
    }
}

/// The pieces of each, where it is not too long; none at all if they are more bytes than there is room for.
fn pieces_of(
    candidates: &[Candidate<'_>],
    reader: &Reader<'_>,
    room: &mut u64,
) -> io::Result<Option<Vec<Option<Pieces>>>> {
    let mut all = Vec::new();
    for one in candidates {
        let content = reader.contents.read(&one.id, reader.bounds.file_bytes)?;
        match room.checked_sub(u64::try_from(content.bytes().len()).unwrap_or(u64::MAX)) {
            Some(left) => *room = left,
            None => return Ok(None),
        }
        all.push(match content {
            Content::Whole(bytes) => Some(Pieces::of(&bytes)),
            Content::Beginning(_) => None,
        });
    }
    Ok(Some(all))
}

/// How many comparisons of pieces there would be.
fn steps(sources: &[Option<Pieces>], targets: &[Option<Pieces>]) -> u64 {
    let pieces = |list: &[Option<Pieces>]| list.iter().flatten().map(|one| one.pieces.len()).sum::<usize>();
    let steps = pieces(sources).saturating_mul(targets.len()) + pieces(targets).saturating_mul(sources.len());
    u64::try_from(steps).unwrap_or(u64::MAX)
}

impl Pieces {
    fn of(bytes: &[u8]) -> Self {
        let text = !is_binary(bytes);
        let hash = BuildHasherDefault::<DefaultHasher>::default();
        let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
        let mut piece = Vec::with_capacity(PIECE_BYTES_MAX);
        let mut rest = bytes.iter().peekable();
        while let Some(byte) = rest.next() {
            // Both line endings are the same here.
            if text && *byte == b'\r' && rest.peek() == Some(&&b'\n') {
                continue;
            }
            piece.push(*byte);
            if *byte == b'\n' || piece.len() == PIECE_BYTES_MAX || rest.peek().is_none() {
                *counts.entry(hash.hash_one(&piece)).or_default() += u64::try_from(piece.len()).unwrap_or(0);
                piece.clear();
            }
        }
        Self { bytes: u64::try_from(bytes.len()).unwrap_or(u64::MAX), pieces: counts.into_iter().collect() }
    }

    /// How much of the larger one both have.
    fn score(&self, other: &Self) -> u64 {
        let (least, most) = (self.bytes.min(other.bytes), self.bytes.max(other.bytes));
        if most == 0 || least * 100 < most * u64::from(SIMILARITY_MIN) {
            return 0;
        }
        let (mut one, mut two) = (self.pieces.iter().peekable(), other.pieces.iter().peekable());
        let mut same = 0;
        while let (Some((left, count)), Some((right, many))) = (one.peek(), two.peek()) {
            match left.cmp(right) {
                std::cmp::Ordering::Less => drop(one.next()),
                std::cmp::Ordering::Greater => drop(two.next()),
                std::cmp::Ordering::Equal => {
                    same += count.min(many);
                    one.next();
                    two.next();
                }
            }
        }
        same * SCORE_MAX / most
    }
}

/// What is left to be paired by how alike it is.
struct Both<'a> {
    gone: &'a [Candidate<'a>],
    came: &'a [Candidate<'a>],
    sources: &'a [Option<Pieces>],
    targets: &'a [Option<Pieces>],
}

impl Both<'_> {
    fn score(&self, source: usize, target: usize) -> u64 {
        let pieces =
            (self.sources.get(source).and_then(Option::as_ref), self.targets.get(target).and_then(Option::as_ref));
        if let (Some(source), Some(target)) = pieces { source.score(target) } else { 0 }
    }

    /// A last name that went once and came once is most likely a file that was moved.
    fn by_last_name(&self, renames: &mut Renames) {
        let (gone, came) = (last_names(self.gone), last_names(self.came));
        for (name, source) in gone {
            let (Some(source), Some(Some(target))) = (source, came.get(name)) else { continue };
            let score = self.score(source, *target);
            if let (true, Some(source), Some(target)) =
                (score >= SAME_NAME_MIN, self.gone.get(source), self.came.get(*target))
            {
                renames.unite(source.at, target.at, score);
            }
        }
    }

    fn by_likeness(&self, renames: &mut Renames) {
        let least = SCORE_MAX * u64::from(SIMILARITY_MIN) / 100;
        let mut candidates = Vec::new();
        for (number, target) in self.came.iter().enumerate() {
            if renames.renamed.contains_key(&target.at) {
                continue;
            }
            let open = self.gone.iter().enumerate().filter(|(_, source)| !renames.gone.contains(&source.at));
            let scores = open.map(|(index, source)| {
                let same_name = split(source.path).1 == split(target.path).1;
                (self.score(index, number), same_name, source.at, target.at)
            });
            let mut best: Vec<_> = scores.filter(|(score, ..)| *score >= least).collect();
            best.sort_by_key(|(score, same_name, ..)| std::cmp::Reverse((*score, *same_name)));
            candidates.extend(best.into_iter().take(CANDIDATES_MAX));
        }
        candidates.sort_by_key(|(score, same_name, ..)| std::cmp::Reverse((*score, *same_name)));
        for (score, _, source, target) in candidates {
            if !renames.gone.contains(&source) && !renames.renamed.contains_key(&target) {
                renames.unite(source, target, score);
            }
        }
    }
}

/// Last names with the one that has it; none where several do.
fn last_names<'a>(candidates: &[Candidate<'a>]) -> BTreeMap<&'a [u8], Option<usize>> {
    let mut names = BTreeMap::new();
    for (number, one) in candidates.iter().enumerate() {
        names.entry(split(one.path).1).and_modify(|only| *only = None).or_insert(Some(number));
    }
    names
}
