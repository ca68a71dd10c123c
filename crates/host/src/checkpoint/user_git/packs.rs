//! Packs that git wrote, read with their deltas. By positioned reads and not by a memory map: if another process
//! truncated a mapped file, ours would be killed. Sizes in a damaged or hostile pack are never trusted without a
//! limit.
use std::cell::OnceCell;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::rc::Rc;

use flate2::{Decompress, FlushDecompress, Status};

use super::folder::{GitFolder, read_bounded};
use crate::checkpoint::git::object::Id;

/// An index of a pack that is longer is not read: it would be more than twenty million objects.
const INDEX_BYTES_MAX: u64 = 640 * 1024 * 1024;
/// Git itself makes chains of at most 4095.
const CHAIN_MAX: usize = 5000;
/// So many bytes of bases are remembered.
const CACHE_BYTES_MAX: usize = 96 * 1024 * 1024;
const PIECE_BYTES: usize = 8 * 1024;
const FANOUT: usize = 1024;

/// What an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GitObjectKind {
    Commit,
    Tree,
    Blob,
    Tag,
}

impl GitObjectKind {
    pub(super) const ALL: [Self; 4] = [Self::Commit, Self::Tree, Self::Blob, Self::Tag];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Tree => "tree",
            Self::Blob => "blob",
            Self::Tag => "tag",
        }
    }

    /// Its number in a pack.
    pub(super) fn number(self) -> u8 {
        match self {
            Self::Commit => 1,
            Self::Tree => 2,
            Self::Blob => 3,
            Self::Tag => 4,
        }
    }
}

/// Bytes of an object and what it is.
pub(super) type Body = (GitObjectKind, Rc<Vec<u8>>);

/// How an object lies in a pack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Whole(GitObjectKind),
    /// A delta to the object at this offset of the same pack.
    Delta(u64),
}

/// What stands before an object's compressed bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    pub(super) form: Form,
    /// Of the object, or of the difference, before compression.
    pub(super) size: u64,
    /// Where the compressed bytes begin.
    pub(super) data: u64,
}

/// A pack of the user's.
#[derive(Debug)]
pub(super) struct UserPack {
    file: File,
    /// Where its objects end.
    pub(super) end: u64,
    index: Vec<u8>,
    pub(super) count: usize,
    /// Whether the index is of the second version, which has sums.
    pub(super) summed: bool,
    /// The offsets of all objects, sorted, each with its number in the index.
    offsets: OnceCell<Vec<(u64, usize)>>,
}

/// Where a base is: the number of its pack, and its offset there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct BaseKey {
    pack: usize,
    offset: u64,
}

/// Bases that were needed lately, of all packs.
#[derive(Debug, Default)]
pub(super) struct Bases {
    bodies: HashMap<BaseKey, Body>,
    bytes: usize,
}

impl Bases {
    fn put(&mut self, key: BaseKey, body: &Body) {
        if self.bytes + body.1.len() > CACHE_BYTES_MAX {
            self.bodies.clear();
            self.bytes = 0;
        }
        if body.1.len() <= CACHE_BYTES_MAX / 4 {
            self.bytes += body.1.len();
            self.bodies.insert(key, (body.0, Rc::clone(&body.1)));
        }
    }
}

fn number_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

/// A number whose bytes have seven bits each, the highest first; one is added for each byte after the first.
pub(super) fn offset_number(next: &mut dyn FnMut() -> Option<u8>) -> Option<u64> {
    let mut byte = next()?;
    let mut number = u64::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        byte = next()?;
        number = number.checked_add(1)?.checked_mul(128)?.checked_add(u64::from(byte & 0x7f))?;
    }
    Some(number)
}

impl UserPack {
    /// Opens `pack-….idx` of a folder with its pack.
    pub(super) fn open(folder: &GitFolder, index_name: &[u8]) -> Result<Self, String> {
        let shown = String::from_utf8_lossy(index_name).into_owned();
        let odd = |error: io::Error| format!("{shown}: {error}");
        let index = folder.file(index_name).and_then(|file| read_bounded(file, INDEX_BYTES_MAX)).map_err(odd)?;
        let stem = index_name.strip_suffix(b"idx").unwrap_or(index_name);
        let file = folder.file(&[stem, b"pack"].concat()).map_err(odd)?;
        let length = file.metadata().map_err(odd)?.len();
        Self::of(file, length, index).ok_or_else(|| format!("{shown}: the pack or its index is damaged"))
    }

    fn of(file: File, length: u64, index: Vec<u8>) -> Option<Self> {
        let summed = index.starts_with(b"\xfftOc\0\0\0\x02");
        let fanout = if summed { 8 } else { 0 };
        let count = usize::try_from(number_at(&index, fanout + FANOUT - 4)?).ok()?;
        let each = if summed { 28 } else { 24 };
        let least = count.checked_mul(each)?.checked_add(fanout + FANOUT + 40)?;
        let end = length.checked_sub(20)?;
        let (mut sum, mut first) = ([0; 20], [0; 12]);
        file.read_exact_at(&mut sum, end).ok()?;
        file.read_exact_at(&mut first, 0).ok()?;
        let begins = first.starts_with(b"PACK\0\0\0\x02") && number_at(&first, 8) == u32::try_from(count).ok();
        // The index names the sum of its pack: one that was cut short or replaced is found out here.
        let named = index.get(index.len().checked_sub(40)?..index.len() - 20)?;
        let whole = begins && index.len() >= least && named == &sum[..];
        whole.then(|| Self { file, end, index, count, summed, offsets: OnceCell::new() })
    }

    /// The id of the object with this number in the index.
    pub(super) fn id(&self, at: usize) -> Option<Id> {
        let begin = if self.summed { 8 + FANOUT + at * 20 } else { FANOUT + at * 24 + 4 };
        Some(Id::from_bytes(self.index.get(begin..begin + 20)?.try_into().ok()?))
    }

    fn offset(&self, at: usize) -> Option<u64> {
        if !self.summed {
            return number_at(&self.index, FANOUT + at * 24).map(u64::from);
        }
        let near = number_at(&self.index, 8 + FANOUT + self.count * 24 + at * 4)?;
        if near & 0x8000_0000 == 0 {
            return Some(u64::from(near));
        }
        let far = 8 + FANOUT + self.count * 28 + usize::try_from(near & 0x7fff_ffff).ok()? * 8;
        Some(u64::from_be_bytes(self.index.get(far..far + 8)?.try_into().ok()?))
    }

    /// The sum of an object's bytes as they lie in the pack.
    pub(super) fn sum(&self, at: usize) -> Option<u32> {
        if self.summed { number_at(&self.index, 8 + FANOUT + self.count * 20 + at * 4) } else { None }
    }

    /// The number of an object in the index; none if it is not in this pack.
    pub(super) fn find(&self, id: &Id) -> Option<usize> {
        let [first, ..] = id.bytes();
        let fanout = if self.summed { 8 } else { 0 };
        let bound = |byte: usize| number_at(&self.index, fanout + byte * 4).and_then(|at| usize::try_from(at).ok());
        let byte = usize::from(*first);
        let mut low = if byte == 0 { 0 } else { bound(byte - 1)? };
        let mut high = bound(byte)?.min(self.count);
        while low < high {
            let middle = low.midpoint(high);
            match self.id(middle)?.cmp(id) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Some(middle),
            }
        }
        None
    }

    /// Where the object with this number lies.
    pub(super) fn offset_of(&self, at: usize) -> Option<u64> {
        self.offset(at).filter(|offset| (12..self.end).contains(offset))
    }

    fn offsets(&self) -> &[(u64, usize)] {
        self.offsets.get_or_init(|| {
            let mut offsets: Vec<(u64, usize)> =
                (0..self.count).filter_map(|at| Some((self.offset_of(at)?, at))).collect();
            offsets.sort_unstable();
            offsets
        })
    }

    /// The ids of all objects as they lie in the pack.
    pub(super) fn in_order(&self) -> impl Iterator<Item = Id> {
        self.offsets().iter().filter_map(|(_, at)| self.id(*at))
    }

    /// The number of the object at an offset.
    pub(super) fn at_offset(&self, offset: u64) -> Option<usize> {
        let offsets = self.offsets();
        offsets
            .binary_search_by_key(&offset, |(offset, _)| *offset)
            .ok()
            .and_then(|at| offsets.get(at))
            .map(|(_, at)| *at)
    }

    /// Where the object at an offset ends: where the next begins.
    pub(super) fn end_of(&self, offset: u64) -> u64 {
        let offsets = self.offsets();
        offsets.get(offsets.partition_point(|(other, _)| *other <= offset)).map_or(self.end, |(next, _)| *next)
    }

    /// Fills as much as there is.
    pub(super) fn bytes_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end.saturating_sub(offset)).unwrap_or(usize::MAX);
        let most = into.len().min(left);
        let into = into.get_mut(..most).unwrap_or_default();
        loop {
            match self.file.read_at(into, offset) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }

    /// The header of the object at an offset.
    pub(super) fn head(&self, offset: u64) -> Option<Head> {
        let mut piece = [0; 64];
        let count = self.bytes_at(offset, &mut piece).ok()?;
        let mut bytes = piece.get(..count)?.iter().copied();
        let first = bytes.next()?;
        let (mut byte, mut size, mut shift) = (first, u64::from(first & 0xf), 4);
        while byte & 0x80 != 0 {
            byte = bytes.next()?;
            if shift > 57 {
                return None;
            }
            size |= u64::from(byte & 0x7f) << shift;
            shift += 7;
        }
        let number = first >> 4 & 7;
        let form = match number {
            6 => {
                let back = offset_number(&mut || bytes.next())?;
                // Backwards only, so that a chain of these ends.
                Form::Delta(offset.checked_sub(back).filter(|base| *base >= 12 && *base < offset)?)
            }
            7 => {
                let id: Vec<u8> = bytes.by_ref().take(20).collect();
                let id = Id::from_bytes(id.try_into().ok()?);
                Form::Delta(self.offset_of(self.find(&id)?)?)
            }
            _ => Form::Whole(GitObjectKind::ALL.into_iter().find(|kind| kind.number() == number)?),
        };
        let data = offset + u64::try_from(count - bytes.len()).ok()?;
        Some(Head { form, size, data })
    }

    /// The bytes of the object at an offset, at most `most` of them. The caller checks their hash.
    pub(super) fn read(&self, key: usize, offset: u64, most: u64, bases: &mut Bases) -> Option<Body> {
        let (mut deltas, mut at, mut held) = (Vec::new(), offset, 0_u64);
        let mut body: Body = loop {
            if let Some((kind, bytes)) = bases.bodies.get(&BaseKey { pack: key, offset: at }) {
                break (*kind, Rc::clone(bytes));
            }
            let head = self.head(at)?;
            held = held.checked_add(head.size)?;
            // Differences that lean on each other in a circle end here as well.
            if head.size > most || held > most.saturating_mul(2) || deltas.len() > CHAIN_MAX {
                return None;
            }
            let bytes = self.inflate(head)?;
            match head.form {
                Form::Whole(kind) => {
                    let body = (kind, Rc::new(bytes));
                    if !deltas.is_empty() {
                        bases.put(BaseKey { pack: key, offset: at }, &body);
                    }
                    break body;
                }
                Form::Delta(base) => {
                    deltas.push((at, bytes));
                    at = base;
                }
            }
        };
        while let Some((at, delta)) = deltas.pop() {
            body = (body.0, Rc::new(apply(&body.1, &delta, most)?));
            if !deltas.is_empty() {
                bases.put(BaseKey { pack: key, offset: at }, &body);
            }
        }
        Some(body)
    }

    fn inflate(&self, head: Head) -> Option<Vec<u8>> {
        let size = usize::try_from(head.size).ok()?;
        // The size in the header is not trusted: memory grows as bytes come.
        let mut bytes = Vec::with_capacity(size.min(1024 * 1024) + 1);
        let (mut zlib, mut offset, mut piece) = (Decompress::new(true), head.data, [0; PIECE_BYTES]);
        loop {
            let count = self.bytes_at(offset, &mut piece).ok()?;
            let mut given = piece.get(..count)?;
            loop {
                if bytes.len() == bytes.capacity() {
                    bytes.reserve(bytes.len().min(size + 1 - bytes.len().min(size)).max(64));
                }
                let before = zlib.total_in();
                let status = zlib.decompress_vec(given, &mut bytes, FlushDecompress::None).ok()?;
                given = given.get(usize::try_from(zlib.total_in() - before).ok()?..)?;
                if bytes.len() > size {
                    return None;
                }
                if status == Status::StreamEnd {
                    return (bytes.len() == size).then_some(bytes);
                }
                if given.is_empty() && bytes.len() < bytes.capacity() {
                    break;
                }
                if zlib.total_in() == before && bytes.len() < bytes.capacity() {
                    return None;
                }
            }
            if count == 0 {
                return None;
            }
            offset += u64::try_from(count).ok()?;
        }
    }
}

/// A size in a difference: seven bits a byte, the lowest first.
fn size_number(bytes: &mut std::slice::Iter<'_, u8>) -> Option<u64> {
    let (mut number, mut shift) = (0, 0);
    loop {
        let byte = *bytes.next()?;
        if shift > 56 {
            return None;
        }
        number |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
}

/// An object out of its base and the difference.
fn apply(base: &[u8], delta: &[u8], most: u64) -> Option<Vec<u8>> {
    let mut rest = delta.iter();
    let from = size_number(&mut rest)?;
    let size = size_number(&mut rest)?;
    if from != u64::try_from(base.len()).ok()? || size > most {
        return None;
    }
    let size = usize::try_from(size).ok()?;
    let mut bytes = Vec::with_capacity(size.min(16 * 1024 * 1024));
    while let Some(order) = rest.next() {
        if order & 0x80 == 0 {
            let count = usize::from(*order);
            // An instruction of zero is reserved for later versions.
            if count == 0 {
                return None;
            }
            let (fresh, behind) = rest.as_slice().split_at_checked(count)?;
            bytes.extend_from_slice(fresh);
            rest = behind.iter();
        } else {
            let mut number = |bits: std::ops::Range<u8>| {
                let mut number = 0;
                for (byte, bit) in bits.enumerate() {
                    if order & 1 << bit != 0 {
                        number |= usize::from(*rest.next()?) << (8 * byte);
                    }
                }
                Some(number)
            };
            let begin = number(0..4)?;
            let count = match number(4..7)? {
                0 => 0x10000,
                count => count,
            };
            bytes.extend_from_slice(base.get(begin..begin.checked_add(count)?)?);
        }
        if bytes.len() > size {
            return None;
        }
    }
    (bytes.len() == size).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_applied_within_its_bounds() {
        let base = b"hello, world";
        // Five from the beginning, then two of its own.
        assert_eq!(apply(base, &[12, 7, 0x90, 5, 2, b'!', b'?'], 100).as_deref(), Some(&b"hello!?"[..]));
        let bad: [&[u8]; 6] =
            [&[], &[12], &[11, 5, 0x90, 5], &[12, 5, 0x91, 250, 5], &[12, 5, 0x90, 4], &[12, 5, 0, 0x90, 5]];
        for delta in bad {
            assert_eq!(apply(base, delta, 100), None, "{delta:?}");
        }
        assert_eq!(apply(base, &[12, 7, 0x90, 7], 6), None, "longer than it may be");
    }

    #[test]
    fn numbers_are_bounded() {
        let mut many = std::iter::repeat_n(0xff_u8, 100);
        assert_eq!(offset_number(&mut || many.next()), None);
        let mut two = [0x81_u8, 0x00].into_iter();
        assert_eq!(offset_number(&mut || two.next()), Some(256));
        assert_eq!(size_number(&mut [0xff; 30].iter()), None);
    }
}
