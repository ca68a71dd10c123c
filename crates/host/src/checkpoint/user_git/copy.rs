//! The saved pack: objects are copied from the user's packs as they are, compressed and as deltas, so nothing is
//! unpacked and packed again. A delta whose base is not saved is replaced by the whole object.
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Instant;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use sha1::{Digest, Sha1};

use super::objects::{HELD_BYTES_MAX, Loose, ObjectLocation, Objects, PackedObject};
use super::packs::Form;
use super::walk::{Limits, ObjectsToSave, Stopped};
use crate::checkpoint::git::object::Id;

const PIECE_BYTES: usize = 64 * 1024;
/// A difference to an object that is named.
const NAMED_DELTA: u8 = 7;

/// Why a pack could not be made.
pub(super) enum Failed {
    Io(io::Error),
    /// A limit was passed.
    Stopped(Stopped),
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Writes all that is wanted as one pack with its index; what is not there or damaged is added to what is missing.
/// None where there is nothing to write.
pub(super) fn copy(
    objects: &mut Objects,
    wanted: &mut ObjectsToSave,
    folder: &Path,
    limits: Limits,
    began: Instant,
) -> Result<Option<(PathBuf, u64)>, Failed> {
    // Where a base turned out to be damaged, differences to it would be worth nothing: then all are made whole.
    for whole in [false, true] {
        let mut pack = Writer::begin(&folder.join("objects.pack"))?;
        let mut damaged = false;
        for at in 0..wanted.ids.len() {
            let Some(id) = wanted.ids.get(at).copied() else { break };
            if pack.offset > limits.bytes {
                return Err(Failed::Stopped(format!("its objects are more than {} bytes", limits.bytes)));
            }
            if at.is_multiple_of(256) && began.elapsed() > limits.time {
                return Err(Failed::Stopped(format!("saving it took more than {} seconds", limits.time.as_secs())));
            }
            if !pack.take(objects, wanted, &id, whole)? {
                damaged = true;
                wanted.miss(id);
            }
        }
        if !damaged || whole {
            return pack.finish().map_err(Failed::Io);
        }
    }
    Ok(None)
}

struct Writer {
    path: PathBuf,
    file: BufWriter<File>,
    offset: u64,
    /// Id, checksum and offset.
    entries: Vec<(Id, u32, u64)>,
}

/// Counts and sums what is written.
struct Summed<'a> {
    to: &'a mut BufWriter<File>,
    sum: crc32fast::Hasher,
    count: u64,
}

impl Write for Summed<'_> {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.to.write_all(piece)?;
        self.sum.update(piece);
        self.count += u64::try_from(piece.len()).unwrap_or(0);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

impl Writer {
    fn begin(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).mode(0o600).open(path)?;
        let mut file = BufWriter::with_capacity(PIECE_BYTES, file);
        file.write_all(b"PACK\0\0\0\x02\0\0\0\0")?;
        Ok(Self { path: path.to_owned(), file, offset: 12, entries: Vec::new() })
    }

    /// Takes an object over. Whether it could be read.
    fn take(&mut self, objects: &mut Objects, wanted: &ObjectsToSave, id: &Id, whole: bool) -> io::Result<bool> {
        match objects.find(id) {
            None => return Ok(false),
            Some(ObjectLocation::Loose(folder)) => {
                let Some(loose) = objects.loose(folder, id) else { return Ok(false) };
                return self.add_loose(id, loose);
            }
            Some(ObjectLocation::Packed(packed)) if !whole => {
                if let Some(copied) = self.add_as_it_is(objects, wanted, id, packed)? {
                    return Ok(copied);
                }
            }
            Some(ObjectLocation::Packed(_)) => {}
        }
        let Ok(Some((kind, bytes))) = objects.read(id, HELD_BYTES_MAX) else { return Ok(false) };
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.add(id, |out| {
            out.write_all(&head(kind.number(), size))?;
            let mut packed = ZlibEncoder::new(out, Compression::fast());
            packed.write_all(&bytes)?;
            packed.finish().map(|_| true)
        })
    }

    /// Writes one object; if `write` returns false, nothing is added.
    fn add(&mut self, id: &Id, write: impl FnOnce(&mut Summed<'_>) -> io::Result<bool>) -> io::Result<bool> {
        let mut out = Summed { to: &mut self.file, sum: crc32fast::Hasher::new(), count: 0 };
        if write(&mut out)? {
            let (sum, count) = (out.sum.finalize(), out.count);
            self.entries.push((*id, sum, self.offset));
            self.offset += count;
            return Ok(true);
        }
        self.file.flush()?;
        self.file.get_ref().set_len(self.offset)?;
        self.file.seek(SeekFrom::Start(self.offset))?;
        Ok(false)
    }

    /// Loose objects are compressed together with what they are: they are packed again, piece by piece.
    fn add_loose(&mut self, id: &Id, mut loose: Loose) -> io::Result<bool> {
        let mut hash = Sha1::new().chain_update(format!("{} {}\0", loose.kind.name(), loose.size));
        self.add(id, |out| {
            out.write_all(&head(loose.kind.number(), loose.size))?;
            let mut packed = ZlibEncoder::new(out, Compression::fast());
            let mut piece = vec![0; usize::try_from(loose.size).unwrap_or(PIECE_BYTES).clamp(1, PIECE_BYTES)];
            loop {
                // An error in the user's file is damage; one in ours is ours.
                let count = match loose.bytes.read(&mut piece) {
                    Ok(0) => break,
                    Ok(count) => count,
                    Err(_) => return Ok(false),
                };
                let piece = piece.get(..count).unwrap_or_default();
                hash.update(piece);
                packed.write_all(piece)?;
            }
            packed.finish()?;
            Ok(hash.finalize()[..] == id.bytes()[..])
        })
    }

    /// Copies an object as it lies in its pack, if that can be done: none if it has to be made whole, `false` if
    /// its bytes are not those that the index sums up.
    fn add_as_it_is(
        &mut self,
        objects: &Objects,
        wanted: &ObjectsToSave,
        id: &Id,
        packed: PackedObject,
    ) -> io::Result<Option<bool>> {
        let Some(pack) = objects.packs.get(packed.pack) else { return Ok(None) };
        let (Some(offset), Some(sum)) = (pack.offset_of(packed.at), pack.sum(packed.at)) else { return Ok(None) };
        let Some(found) = pack.head(offset) else { return Ok(Some(false)) };
        let mut start = match found.form {
            Form::Whole(kind) => head(kind.number(), found.size),
            Form::Delta(base) => {
                let base = pack.at_offset(base).and_then(|base| pack.id(base));
                let Some(base) = base.filter(|base| base != id && wanted.known.contains(base)) else { return Ok(None) };
                [head(NAMED_DELTA, found.size), base.bytes().to_vec()].concat()
            }
        };
        let end = pack.end_of(offset);
        self.add(id, |out| {
            out.write_all(&start)?;
            start.clear();
            let at_once = |left: u64| usize::try_from(left).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
            let mut piece = vec![0; at_once(end.saturating_sub(offset))];
            let (mut summed, mut from) = (crc32fast::Hasher::new(), offset);
            while from < end {
                let most = at_once(end - from);
                let count = pack.bytes_at(from, piece.get_mut(..most).unwrap_or_default()).unwrap_or(0);
                let bytes = piece.get(..count).unwrap_or_default();
                if bytes.is_empty() {
                    return Ok(false);
                }
                summed.update(bytes);
                // What stands before the compressed bytes was written in its own form already.
                let skip = usize::try_from(found.data.saturating_sub(from)).unwrap_or(0).min(count);
                out.write_all(bytes.get(skip..).unwrap_or_default())?;
                from += u64::try_from(count).unwrap_or(0);
            }
            Ok(summed.finalize() == sum)
        })
        .map(Some)
    }

    /// Makes pack and index safe.
    fn finish(mut self) -> io::Result<Option<(PathBuf, u64)>> {
        if self.entries.is_empty() {
            fs::remove_file(&self.path)?;
            return Ok(None);
        }
        self.file.flush()?;
        let mut file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        let count = u32::try_from(self.entries.len()).map_err(|_| io::Error::other("too many objects for one pack"))?;
        file.write_all_at(&count.to_be_bytes(), 8)?;
        file.seek(SeekFrom::Start(0))?;
        let (mut hash, mut piece) = (Sha1::new(), vec![0; PIECE_BYTES]);
        loop {
            match file.read(&mut piece)? {
                0 => break,
                count => hash.update(piece.get(..count).unwrap_or_default()),
            }
        }
        let sum: [u8; 20] = hash.finalize().into();
        file.write_all_at(&sum, self.offset)?;
        file.sync_data()?;
        self.entries.sort_unstable();
        let index = self.path.with_extension("idx");
        let mut to = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(index)?;
        to.write_all(&index_of(&self.entries, &sum))?;
        to.sync_data()?;
        Ok(Some((self.path, self.offset + 20)))
    }
}

/// What stands before an object: its number and size.
fn head(number: u8, size: u64) -> Vec<u8> {
    let low = |bits: u64| u8::try_from(bits & 0x7f).unwrap_or(0);
    let (mut byte, mut rest) = (number << 4 | low(size & 0xf), size >> 4);
    let mut bytes = Vec::new();
    while rest > 0 {
        bytes.push(byte | 0x80);
        byte = low(rest);
        rest >>= 7;
    }
    bytes.push(byte);
    bytes
}

/// An index of the second version.
fn index_of(entries: &[(Id, u32, u64)], sum: &[u8]) -> Vec<u8> {
    let mut bytes = b"\xfftOc\0\0\0\x02".to_vec();
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX).to_be_bytes();
    for first in 0..=u8::MAX {
        bytes.extend(number(entries.partition_point(|(id, ..)| id.bytes().first() <= Some(&first))));
    }
    bytes.extend(entries.iter().flat_map(|(id, ..)| id.bytes()));
    bytes.extend(entries.iter().flat_map(|(_, sum, _)| sum.to_be_bytes()));
    let mut far = Vec::new();
    for (.., offset) in entries {
        let near = u32::try_from(*offset).ok().filter(|offset| offset >> 31 == 0);
        bytes.extend(near.map_or_else(
            || {
                far.extend(offset.to_be_bytes());
                number(0x8000_0000 | (far.len() / 8 - 1))
            },
            u32::to_be_bytes,
        ));
    }
    bytes.extend(far);
    bytes.extend(sum);
    let own = Sha1::digest(&bytes);
    bytes.extend(own);
    bytes
}
