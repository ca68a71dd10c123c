//! Existing packs in git's format (ours have no deltas) and their indexes: read, checked, and rebuilt from the pack
//! where the index was lost.
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use flate2::bufread::ZlibDecoder;
use sha1::{Digest, Sha1};

use super::object::{Hasher, Id, ObjectKind};
use super::pack_write::{PIECE_BYTES, Sealed, sum_of};

/// An offset past this needs the second table.
const OFFSET_MAX: u64 = 0x7fff_ffff;
/// Where the ids begin in an index.
const IDS_AT: usize = 8 + 256 * 4;

/// One object of a pack.
#[derive(Debug, Clone, Copy)]
pub(in crate::checkpoint) struct PackEntry {
    pub(in crate::checkpoint) id: Id,
    pub(in crate::checkpoint) crc: u32,
    pub(in crate::checkpoint) offset: u64,
}

pub(in crate::checkpoint) fn header(count: u32) -> [u8; 12] {
    let mut bytes = *b"PACK\0\0\0\x02\0\0\0\0";
    bytes[8..].copy_from_slice(&count.to_be_bytes());
    bytes
}

/// An index of the second version; the entries are sorted.
pub(in crate::checkpoint) fn index_of(entries: &[PackEntry], pack: [u8; 20]) -> Vec<u8> {
    let mut bytes = b"\xfftOc\0\0\0\x02".to_vec();
    for first in 0..=255_u8 {
        let below = entries.partition_point(|entry| entry.id.bytes()[0] <= first);
        bytes.extend_from_slice(&u32::try_from(below).unwrap_or(u32::MAX).to_be_bytes());
    }
    entries.iter().for_each(|entry| bytes.extend_from_slice(entry.id.bytes()));
    entries.iter().for_each(|entry| bytes.extend_from_slice(&entry.crc.to_be_bytes()));
    let mut far = Vec::new();
    for entry in entries {
        let near = u32::try_from(entry.offset).ok().filter(|_| entry.offset <= OFFSET_MAX);
        let near_offset = near.unwrap_or_else(|| {
            far.push(entry.offset);
            0x8000_0000 | u32::try_from(far.len() - 1).unwrap_or(0)
        });
        bytes.extend_from_slice(&near_offset.to_be_bytes());
    }
    far.iter().for_each(|offset| bytes.extend_from_slice(&offset.to_be_bytes()));
    bytes.extend_from_slice(&pack);
    let sum: [u8; 20] = Sha1::digest(&bytes).into();
    bytes.extend_from_slice(&sum);
    bytes
}

/// A pack that was written before. Its file is opened only to read from it: there may be thousands of packs.
#[derive(Debug)]
pub struct Pack {
    path: PathBuf,
    index: Vec<u8>,
    count: usize,
}

impl Pack {
    /// Opens one by the path of its `.pack`.
    ///
    /// # Errors
    /// When its index cannot be read, is not whole (kind `InvalidData`), or is not there (`NotFound`).
    pub fn open(path: &Path) -> io::Result<Self> {
        let odd = || io::Error::new(io::ErrorKind::InvalidData, format!("{}: no whole index", path.display()));
        let index = fs::read(path.with_extension("idx"))?;
        let (body, sum) = index.split_at_checked(index.len().wrapping_sub(20)).ok_or_else(odd)?;
        let whole: [u8; 20] = Sha1::digest(body).into();
        if sum != whole {
            return Err(odd());
        }
        Self::with_index(path, index).ok_or_else(odd)
    }

    /// One whose index is at hand.
    pub(in crate::checkpoint) fn with_index(path: &Path, index: Vec<u8>) -> Option<Self> {
        let count = index.get(IDS_AT - 4..IDS_AT)?.try_into().ok().map(u32::from_be_bytes)?;
        let count = usize::try_from(count).ok()?;
        let least = count.checked_mul(28)?.checked_add(IDS_AT + 40)?;
        let is_index = index.starts_with(b"\xfftOc\0\0\0\x02") && index.len() >= least;
        is_index.then(|| Self { path: path.to_owned(), index, count })
    }

    /// Its file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many objects it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The ids of all its objects, sorted.
    pub fn ids(&self) -> impl Iterator<Item = Id> + '_ {
        let ids = self.index.get(IDS_AT..IDS_AT + self.count * 20).unwrap_or_default();
        ids.chunks_exact(20).filter_map(|bytes| bytes.try_into().ok().map(Id::from_bytes))
    }

    fn number(&self, at: usize) -> Option<u32> {
        Some(u32::from_be_bytes(self.index.get(at..at + 4)?.try_into().ok()?))
    }

    /// Where an object lies; none if it is not in this pack.
    fn offset_of(&self, id: &Id) -> Option<u64> {
        let first = usize::from(id.bytes()[0]);
        let below = |first: usize| self.number(8 + first * 4).and_then(|count| usize::try_from(count).ok());
        let (mut low, mut high) = (if first == 0 { 0 } else { below(first - 1)? }, below(first)?);
        while low < high {
            let middle = low.midpoint(high);
            let at = IDS_AT + middle * 20;
            match self.index.get(at..at + 20)?.cmp(&id.bytes()[..]) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return self.offset(middle),
            }
        }
        None
    }

    fn offset(&self, at: usize) -> Option<u64> {
        let near_offset = self.number(IDS_AT + self.count * 24 + at * 4)?;
        if near_offset & 0x8000_0000 == 0 {
            return Some(u64::from(near_offset));
        }
        let far = IDS_AT + self.count * 28 + usize::try_from(near_offset & 0x7fff_ffff).ok()? * 8;
        Some(u64::from_be_bytes(self.index.get(far..far + 8)?.try_into().ok()?))
    }

    /// Whether it has an object.
    #[must_use]
    pub fn has(&self, id: &Id) -> bool {
        self.offset_of(id).is_some()
    }

    /// Writes an object's bytes and returns its kind; none if it is not in this pack. The hash is checked.
    ///
    /// # Errors
    /// When it cannot be read or written, or is damaged.
    pub fn read(&self, id: &Id, to: &mut dyn Write) -> io::Result<Option<ObjectKind>> {
        let Some(offset) = self.offset_of(id) else { return Ok(None) };
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(offset))?;
        let (found, kind) = inflate(&mut BufReader::new(file), to)?;
        if found == *id { Ok(Some(kind)) } else { Err(damaged(&format!("object {id}"))) }
    }

    /// The last objects of the pack that are commits, the newest first: a checkpoint's commit is written last.
    ///
    /// # Errors
    /// When it cannot be read, or is damaged.
    pub(in crate::checkpoint) fn commits(&self) -> io::Result<Vec<(Id, Vec<u8>)>> {
        let mut offsets: Vec<(u64, Id)> =
            self.ids().enumerate().filter_map(|(at, id)| Some((self.offset(at)?, id))).collect();
        offsets.sort_unstable_by(|one, other| other.cmp(one));
        let mut commits = Vec::new();
        for (_, id) in offsets {
            let mut bytes = Vec::new();
            match self.read(&id, &mut bytes)? {
                Some(ObjectKind::Commit) => commits.push((id, bytes)),
                Some(ObjectKind::Tree | ObjectKind::Blob) | None => break,
            }
        }
        Ok(commits)
    }

    /// Makes the index of a pack that has none, from the pack alone. A pack that is not whole is an error of the kind
    /// `InvalidData`.
    ///
    /// # Errors
    /// When it cannot be read, or the index cannot be written.
    pub(in crate::checkpoint) fn repair(path: &Path) -> io::Result<Self> {
        let torn = || damaged(&path.display().to_string());
        let mut file = File::open(path)?;
        let body = file.metadata()?.len().checked_sub(20).filter(|body| *body >= 12).ok_or_else(torn)?;
        let sum = sum_of(&mut file, body)?;
        let mut stored_sum = [0; 20];
        file.seek(SeekFrom::Start(body))?;
        file.read_exact(&mut stored_sum)?;
        if stored_sum != sum {
            return Err(torn());
        }
        file.seek(SeekFrom::Start(0))?;
        let mut entries = scan(BufReader::with_capacity(PIECE_BYTES, file)).map_err(|_| torn())?;
        entries.sort_unstable_by_key(|entry| entry.id);
        let sealed = Sealed { pack: path.to_owned(), index: index_of(&entries, sum) };
        sealed.write_index()?;
        Self::with_index(path, sealed.index).ok_or_else(torn)
    }
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{what} is damaged"))
}

/// Counts and sums what is taken from a reader.
struct Counted<R> {
    from: R,
    crc: crc32fast::Hasher,
    bytes: u64,
}

impl<R: io::BufRead> Read for Counted<R> {
    fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
        let count = {
            let have = self.fill_buf()?;
            let count = have.len().min(piece.len());
            piece[..count].copy_from_slice(&have[..count]);
            count
        };
        io::BufRead::consume(self, count);
        Ok(count)
    }
}

impl<R: io::BufRead> io::BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.from.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        // What is consumed is what was shown; nothing is read in between.
        if let Ok(have) = self.from.fill_buf() {
            self.crc.update(&have[..count.min(have.len())]);
        }
        self.bytes += u64::try_from(count).unwrap_or(0);
        self.from.consume(count);
    }
}

use std::io::BufRead as _;

/// All objects of a pack, in their order.
fn scan(mut file: BufReader<File>) -> io::Result<Vec<PackEntry>> {
    let mut head = [0; 12];
    file.read_exact(&mut head)?;
    if head[..8] != header(0)[..8] {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let count = u32::from_be_bytes([head[8], head[9], head[10], head[11]]);
    let (mut entries, mut offset) = (Vec::new(), 12);
    for _ in 0..count {
        let mut counted = Counted { from: &mut file, crc: crc32fast::Hasher::new(), bytes: 0 };
        let (id, _) = inflate(&mut counted, &mut io::sink())?;
        let Counted { crc, bytes, .. } = counted;
        entries.push(PackEntry { id, crc: crc.finalize(), offset });
        offset += bytes;
    }
    Ok(entries)
}

/// Reads one object at its offset, and returns its id and kind.
fn inflate(file: &mut dyn io::BufRead, to: &mut dyn Write) -> io::Result<(Id, ObjectKind)> {
    let mut byte = [0_u8; 1];
    file.read_exact(&mut byte)?;
    let kind = ObjectKind::of_number(byte[0] >> 4 & 7).ok_or_else(|| damaged("an object"))?;
    let (mut length, mut shift) = (u64::from(byte[0] & 0xf), 4_u32);
    while byte[0] & 0x80 != 0 {
        file.read_exact(&mut byte)?;
        if shift > 60 {
            return Err(damaged("an object"));
        }
        length |= u64::from(byte[0] & 0x7f) << shift;
        shift += 7;
    }
    let least = usize::try_from(length).unwrap_or(PIECE_BYTES).clamp(1, PIECE_BYTES);
    let (mut hash, mut piece) = (Hasher::new(kind, length), vec![0; least]);
    let mut bytes = ZlibDecoder::new(file);
    let mut left = length;
    loop {
        // To its very end, also where nothing is left: the sum behind it must be passed.
        let count = bytes.read(&mut piece)?;
        if count == 0 {
            break;
        }
        left = left.checked_sub(u64::try_from(count).unwrap_or(u64::MAX)).ok_or_else(|| damaged("an object"))?;
        hash.update(&piece[..count]);
        to.write_all(&piece[..count])?;
    }
    if left > 0 { Err(damaged("an object")) } else { Ok((hash.id(), kind)) }
}
