//! Packs: the objects of one checkpoint in one file, with an index beside it, as git writes them (without
//! deltas). Made under a name of their own and renamed when they are safe, so that a pack is whole or absent.
use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use sha1::{Digest, Sha1};

use super::object::{Hasher, Id, Kind};

/// Sources are small texts: more effort buys little and costs much.
const LEVEL: u32 = 1;
/// The most that is read of a file at a time.
const PIECE_BYTES: usize = 128 * 1024;
/// An offset past this needs the second table.
const OFFSET_MAX: u64 = 0x7fff_ffff;

/// A pack that is being written.
#[derive(Debug)]
pub struct PackWriter {
    folder: PathBuf,
    path: PathBuf,
    file: BufWriter<File>,
    offset: u64,
    entries: Vec<Entry>,
    known: HashSet<Id>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    id: Id,
    crc: u32,
    offset: u64,
}

/// Counts and sums what goes through.
struct Summed<'a> {
    to: &'a mut BufWriter<File>,
    crc: crc32fast::Hasher,
    bytes: u64,
}

impl Write for Summed<'_> {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let count = self.to.write(piece)?;
        self.crc.update(&piece[..count]);
        self.bytes += u64::try_from(count).unwrap_or(0);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

impl PackWriter {
    /// Begins one in the `pack` folder of a git folder.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn begin(folder: &Path) -> io::Result<Self> {
        let path = folder.join(format!("tmp_{}", crate::runs::fresh_id()?));
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
        let mut file = BufWriter::with_capacity(PIECE_BYTES, file);
        file.write_all(&header(0))?;
        let folder = folder.to_owned();
        Ok(Self { folder, path, file, offset: 12, entries: Vec::new(), known: HashSet::new() })
    }

    /// How many objects it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds an object, unless it or one of the others has it already.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add(&mut self, kind: Kind, bytes: &[u8], others: &dyn Fn(&Id) -> bool) -> io::Result<Id> {
        let id = Id::of(kind, bytes);
        if self.known.contains(&id) || others(&id) {
            return Ok(id);
        }
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let entry = self.write(kind, length, &mut &bytes[..])?;
        self.take(entry);
        Ok(id)
    }

    /// Adds a file that is as long as it was said to be. One that is not is an error of the kind
    /// `UnexpectedEof`: somebody writes it.
    ///
    /// # Errors
    /// When it cannot be read, or written.
    pub fn add_file(&mut self, from: &mut dyn Read, length: u64, others: &dyn Fn(&Id) -> bool) -> io::Result<Id> {
        let written = self.write(Kind::Blob, length, from);
        match written {
            Ok((entry, bytes)) if !self.known.contains(&entry.id) && !others(&entry.id) => {
                self.take((entry, bytes));
                Ok(entry.id)
            }
            // Not needed, or not whole: as if nothing had come.
            written => {
                self.file.flush()?;
                self.file.get_ref().set_len(self.offset)?;
                self.file.seek(SeekFrom::Start(self.offset))?;
                written.map(|(entry, _)| entry.id)
            }
        }
    }

    fn take(&mut self, (entry, bytes): (Entry, u64)) {
        self.known.insert(entry.id);
        self.entries.push(entry);
        self.offset += bytes;
    }

    /// Writes an object at the end; it counts when it is taken.
    fn write(&mut self, kind: Kind, length: u64, from: &mut dyn Read) -> io::Result<(Entry, u64)> {
        let mut hash = Hasher::new(kind, length);
        let mut out = Summed { to: &mut self.file, crc: crc32fast::Hasher::new(), bytes: 0 };
        out.write_all(&entry_header(kind, length))?;
        let mut packed = ZlibEncoder::new(out, Compression::new(LEVEL));
        let (mut left, mut piece) =
            (length, vec![0; PIECE_BYTES.min(usize::try_from(length).unwrap_or(PIECE_BYTES).max(1))]);
        loop {
            let count = match from.read(&mut piece) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if count == 0 {
                break;
            }
            left = left.checked_sub(u64::try_from(count).unwrap_or(u64::MAX)).ok_or(io::ErrorKind::UnexpectedEof)?;
            hash.update(&piece[..count]);
            packed.write_all(&piece[..count])?;
        }
        if left > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let out = packed.finish()?;
        Ok((Entry { id: hash.id(), crc: out.crc.finalize(), offset: self.offset }, out.bytes))
    }

    /// Makes it safe and gives it its name. Its folder is not synced yet. None where it has nothing.
    ///
    /// # Errors
    /// When the machine could not.
    pub fn finish(mut self) -> io::Result<Option<PathBuf>> {
        if self.entries.is_empty() {
            return Ok(None);
        }
        self.file.flush()?;
        let mut file = self.file.get_ref().try_clone()?;
        let count = u32::try_from(self.entries.len()).map_err(|_| io::Error::other("too many objects for one pack"))?;
        file.write_all_at(&header(count), 0)?;
        let sum = sum_of(&mut file)?;
        file.seek(SeekFrom::End(0))?;
        file.write_all(&sum)?;
        self.entries.sort_by_key(|entry| entry.id);
        let ids: Sha1 = self.entries.iter().fold(Sha1::new(), |hash, entry| hash.chain_update(entry.id.bytes()));
        let name = Id::from_bytes(ids.finalize().into());
        let index = self.path.with_extension("idx");
        let mut to = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&index)?;
        to.write_all(&index_of(&self.entries, sum))?;
        to.sync_data()?;
        file.sync_data()?;
        let pack = self.folder.join(format!("pack-{name}.pack"));
        // The pack first: git looks for packs by their index.
        fs::rename(&self.path, &pack)?;
        fs::rename(&index, pack.with_extension("idx"))?;
        Ok(Some(pack))
    }
}

impl Drop for PackWriter {
    fn drop(&mut self) {
        // Gone already where it was finished.
        fs::remove_file(&self.path).ok();
        fs::remove_file(self.path.with_extension("idx")).ok();
    }
}

fn header(count: u32) -> [u8; 12] {
    let mut bytes = *b"PACK\0\0\0\x02\0\0\0\0";
    bytes[8..].copy_from_slice(&count.to_be_bytes());
    bytes
}

/// The kind and length of an object: four bits of the length, then seven at a time.
fn entry_header(kind: Kind, length: u64) -> Vec<u8> {
    let low = |bits: u64, mask: u64| u8::try_from(bits & mask).unwrap_or(0);
    let (mut byte, mut rest) = (kind.number() << 4 | low(length, 0xf), length >> 4);
    let mut bytes = Vec::new();
    while rest > 0 {
        bytes.push(byte | 0x80);
        (byte, rest) = (low(rest, 0x7f), rest >> 7);
    }
    bytes.push(byte);
    bytes
}

fn sum_of(file: &mut File) -> io::Result<[u8; 20]> {
    file.seek(SeekFrom::Start(0))?;
    let (mut hash, mut piece) = (Sha1::new(), vec![0; PIECE_BYTES]);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(hash.finalize().into()),
            count => hash.update(&piece[..count]),
        }
    }
}

/// An index of the second version; the entries are sorted.
fn index_of(entries: &[Entry], pack: [u8; 20]) -> Vec<u8> {
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
        let place = near.unwrap_or_else(|| {
            far.push(entry.offset);
            0x8000_0000 | u32::try_from(far.len() - 1).unwrap_or(0)
        });
        bytes.extend_from_slice(&place.to_be_bytes());
    }
    far.iter().for_each(|offset| bytes.extend_from_slice(&offset.to_be_bytes()));
    bytes.extend_from_slice(&pack);
    let sum: [u8; 20] = Sha1::digest(&bytes).into();
    bytes.extend_from_slice(&sum);
    bytes
}

/// A pack that was written before.
#[derive(Debug)]
pub struct Pack {
    file: File,
    index: Vec<u8>,
    count: usize,
}

impl Pack {
    /// Opens one by the path of its `.pack`.
    ///
    /// # Errors
    /// When it cannot be read, or is none of ours.
    pub fn open(path: &Path) -> io::Result<Self> {
        let odd = || io::Error::new(io::ErrorKind::InvalidData, format!("{}: not a pack of ours", path.display()));
        let index = fs::read(path.with_extension("idx"))?;
        let count = index.get(8 + 255 * 4..8 + 256 * 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_be_bytes);
        let count = count.and_then(|count| usize::try_from(count).ok()).ok_or_else(odd)?;
        let least = count.checked_mul(28).and_then(|bytes| bytes.checked_add(8 + 1024 + 40)).ok_or_else(odd)?;
        if !index.starts_with(b"\xfftOc\0\0\0\x02") || index.len() < least {
            return Err(odd());
        }
        Ok(Self { file: File::open(path)?, index, count })
    }

    /// Where an object lies; none if it is not in this pack.
    fn place_of(&self, id: &Id) -> Option<u64> {
        let ids = self.index.get(1032..1032 + self.count * 20)?;
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low.midpoint(high);
            match ids.get(middle * 20..middle * 20 + 20)?.cmp(&id.bytes()[..]) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return self.offset(middle),
            }
        }
        None
    }

    fn offset(&self, at: usize) -> Option<u64> {
        let near = 1032 + self.count * 24 + at * 4;
        let place = u32::from_be_bytes(self.index.get(near..near + 4)?.try_into().ok()?);
        if place & 0x8000_0000 == 0 {
            return Some(u64::from(place));
        }
        let far = 1032 + self.count * 28 + usize::try_from(place & 0x7fff_ffff).ok()? * 8;
        Some(u64::from_be_bytes(self.index.get(far..far + 8)?.try_into().ok()?))
    }

    /// How much it takes on disk.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        use std::os::unix::fs::MetadataExt;
        self.file.metadata().map_or(0, |found| found.blocks() * 512)
    }

    /// Whether it has an object.
    #[must_use]
    pub fn has(&self, id: &Id) -> bool {
        self.place_of(id).is_some()
    }

    /// Writes an object's bytes out, and says its kind; none if it is not in this pack. Its hash is checked.
    ///
    /// # Errors
    /// When it cannot be read or written, or is damaged.
    pub fn read(&self, id: &Id, to: &mut dyn Write) -> io::Result<Option<Kind>> {
        let Some(offset) = self.place_of(id) else { return Ok(None) };
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, format!("object {id} is damaged"));
        let mut file = self.file.try_clone()?;
        file.seek(SeekFrom::Start(offset))?;
        let mut file = io::BufReader::new(file);
        let mut byte = [0_u8; 1];
        file.read_exact(&mut byte)?;
        let kind = Kind::of_number(byte[0] >> 4 & 7).ok_or_else(damaged)?;
        let (mut length, mut shift) = (u64::from(byte[0] & 0xf), 4);
        while byte[0] & 0x80 != 0 {
            file.read_exact(&mut byte)?;
            length |= u64::from(byte[0] & 0x7f).checked_shl(shift).ok_or_else(damaged)?;
            shift += 7;
        }
        let (mut hash, mut piece) = (Hasher::new(kind, length), vec![0; PIECE_BYTES]);
        let mut bytes = ZlibDecoder::new(file).take(length);
        loop {
            let count = bytes.read(&mut piece)?;
            if count == 0 {
                break;
            }
            hash.update(&piece[..count]);
            to.write_all(&piece[..count])?;
        }
        if hash.id() == *id { Ok(Some(kind)) } else { Err(damaged()) }
    }
}
