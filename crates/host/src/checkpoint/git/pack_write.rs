//! Writing a pack: the objects of one checkpoint in one file. It is written under a temporary name and renamed once
//! it is synced, so a pack is either complete or absent. The index is derived from the pack and is therefore not
//! synced.
use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use flate2::write::ZlibEncoder;
use flate2::{Compress, Compression, FlushCompress, Status};
use sha1::{Digest, Sha1};

use super::object::{Hasher, Id, ObjectKind};
use super::pack::{PackEntry, header, index_of};

/// Sources are small texts: more effort buys little and costs much.
const LEVEL: u32 = 1;
/// The most that is read of a file at a time.
pub(in crate::checkpoint) const PIECE_BYTES: usize = 128 * 1024;
/// How the name of one that is not whole yet begins.
pub(in crate::checkpoint) const HALF_MADE: &str = "tmp_";

/// A pack that is being written.
#[derive(Debug)]
pub struct PackWriter {
    folder: PathBuf,
    path: PathBuf,
    file: BufWriter<File>,
    offset: u64,
    entries: Vec<PackEntry>,
    known: HashSet<Id>,
    deflater: Deflater,
}

/// An object that was written at the end of the pack, and how many bytes it takes there.
struct WrittenEntry {
    entry: PackEntry,
    bytes: u64,
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

/// An object as it stands in a pack.
#[derive(Debug)]
pub(in crate::checkpoint) struct Packed {
    pub(in crate::checkpoint) id: Id,
    bytes: Vec<u8>,
}

/// Makes objects small. One is used again and again: beginning one costs more than a small file.
#[derive(Debug, Default)]
pub(in crate::checkpoint) struct Deflater(Option<Compress>);

impl Deflater {
    /// An object whose id is known, as it stands in a pack.
    pub(in crate::checkpoint) fn pack(&mut self, kind: ObjectKind, id: Id, bytes: &[u8]) -> io::Result<Packed> {
        let mut out = entry_header(kind, u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        // What cannot be made smaller grows by a few bytes for each 16 KB.
        out.reserve(bytes.len() + bytes.len() / 1000 + 64);
        let compress = self.0.get_or_insert_with(|| Compress::new(Compression::new(LEVEL), true));
        compress.reset();
        loop {
            let done = usize::try_from(compress.total_in()).unwrap_or(usize::MAX).min(bytes.len());
            let status = compress.compress_vec(&bytes[done..], &mut out, FlushCompress::Finish);
            match status.map_err(io::Error::other)? {
                Status::StreamEnd => return Ok(Packed { id, bytes: out }),
                Status::Ok | Status::BufError => out.reserve(out.capacity().max(PIECE_BYTES)),
            }
        }
    }
}

impl PackWriter {
    /// Begins one in the `pack` folder of a git folder.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn begin(folder: &Path) -> io::Result<Self> {
        let path = folder.join(format!("{HALF_MADE}{}", crate::fs::fresh_id()?));
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
        let mut file = BufWriter::with_capacity(PIECE_BYTES, file);
        file.write_all(&header(0))?;
        let folder = folder.to_owned();
        let (entries, known) = (Vec::new(), HashSet::new());
        Ok(Self { folder, path, file, offset: 12, entries, known, deflater: Deflater::default() })
    }

    pub(in crate::checkpoint) fn has(&self, id: &Id) -> bool {
        self.known.contains(id)
    }

    /// Adds an object, unless it or one of the others has it already.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add(&mut self, kind: ObjectKind, bytes: &[u8], others: &dyn Fn(&Id) -> bool) -> io::Result<Id> {
        let id = Id::of(kind, bytes);
        if !self.known.contains(&id) && !others(&id) {
            let packed = self.deflater.pack(kind, id, bytes)?;
            self.put(&packed)?;
        }
        Ok(id)
    }

    /// Adds one that was made ready elsewhere, unless it is there.
    pub(in crate::checkpoint) fn put(&mut self, packed: &Packed) -> io::Result<()> {
        if self.known.contains(&packed.id) {
            return Ok(());
        }
        self.file.write_all(&packed.bytes)?;
        let entry = PackEntry { id: packed.id, crc: crc32fast::hash(&packed.bytes), offset: self.offset };
        self.record(WrittenEntry { entry, bytes: u64::try_from(packed.bytes.len()).unwrap_or(0) });
        Ok(())
    }

    /// Adds a file of this length. Another length is an error of the kind
    /// `UnexpectedEof`: another process writes it.
    ///
    /// # Errors
    /// When it cannot be read, or written.
    pub fn add_file(&mut self, from: &mut dyn Read, length: u64, others: &dyn Fn(&Id) -> bool) -> io::Result<Id> {
        let written = self.write(ObjectKind::Blob, length, from);
        match written {
            Ok(written) if !self.known.contains(&written.entry.id) && !others(&written.entry.id) => {
                let id = written.entry.id;
                self.record(written);
                Ok(id)
            }
            // Not needed, or not whole: as if nothing had come.
            written => {
                self.file.flush()?;
                self.file.get_ref().set_len(self.offset)?;
                self.file.seek(SeekFrom::Start(self.offset))?;
                written.map(|written| written.entry.id)
            }
        }
    }

    /// From now on the object at the end is a part of the pack.
    fn record(&mut self, WrittenEntry { entry, bytes }: WrittenEntry) {
        self.known.insert(entry.id);
        self.entries.push(entry);
        self.offset += bytes;
    }

    /// Writes an object at the end; it counts when it is recorded.
    fn write(&mut self, kind: ObjectKind, length: u64, from: &mut dyn Read) -> io::Result<WrittenEntry> {
        let mut out = Summed { to: &mut self.file, crc: crc32fast::Hasher::new(), bytes: 0 };
        out.write_all(&entry_header(kind, length))?;
        let mut packed = ZlibEncoder::new(out, Compression::new(LEVEL));
        let id = hashed(kind, length, from, &mut packed)?;
        let out = packed.finish()?;
        let entry = PackEntry { id, crc: out.crc.finalize(), offset: self.offset };
        Ok(WrittenEntry { entry, bytes: out.bytes })
    }

    /// Makes it safe and gives it its name; the caller syncs the folder, then writes the index. None where it has
    /// nothing.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(in crate::checkpoint) fn seal(mut self) -> io::Result<Option<Sealed>> {
        if self.entries.is_empty() {
            return Ok(None);
        }
        self.file.flush()?;
        let mut file = self.file.get_ref().try_clone()?;
        let count = u32::try_from(self.entries.len()).map_err(|_| io::Error::other("too many objects for one pack"))?;
        file.write_all_at(&header(count), 0)?;
        let sum = sum_of(&mut file, self.offset)?;
        file.write_all_at(&sum, self.offset)?;
        file.sync_data()?;
        self.entries.sort_unstable_by_key(|entry| entry.id);
        let ids: Sha1 = self.entries.iter().fold(Sha1::new(), |hash, entry| hash.chain_update(entry.id.bytes()));
        let name = Id::from_bytes(ids.finalize().into());
        let pack = self.folder.join(format!("pack-{name}.pack"));
        fs::rename(&self.path, &pack)?;
        Ok(Some(Sealed { index: index_of(&self.entries, sum), pack }))
    }

    /// Makes it safe and gives it its name and its index. Its folder is not synced yet. None where it has nothing.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(self) -> io::Result<Option<PathBuf>> {
        let sealed = self.seal()?;
        sealed.map(|sealed| sealed.write_index().map(|()| sealed.pack)).transpose()
    }
}

impl Drop for PackWriter {
    fn drop(&mut self) {
        // Gone already where it was finished.
        fs::remove_file(&self.path).ok();
    }
}

/// A pack that is safe, and its index that is not written yet.
#[derive(Debug)]
pub(in crate::checkpoint) struct Sealed {
    pub(in crate::checkpoint) pack: PathBuf,
    pub(in crate::checkpoint) index: Vec<u8>,
}

impl Sealed {
    /// Writes the index beside the pack: whole or not at all, as long as the machine runs.
    pub(in crate::checkpoint) fn write_index(&self) -> io::Result<()> {
        let beside = self.pack.with_file_name(format!("{HALF_MADE}{}", crate::fs::fresh_id()?));
        let mut to = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
        let written = to.write_all(&self.index).and_then(|()| fs::rename(&beside, self.pack.with_extension("idx")));
        if written.is_err() {
            fs::remove_file(&beside).ok();
        }
        written
    }
}

/// Copies `from` and returns its id. It must have this length.
pub(in crate::checkpoint) fn hashed(
    kind: ObjectKind,
    length: u64,
    from: &mut dyn Read,
    to: &mut dyn Write,
) -> io::Result<Id> {
    let mut hash = Hasher::new(kind, length);
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
        to.write_all(&piece[..count])?;
    }
    if left > 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(hash.id()) }
}

/// The kind and length of an object: four bits of the length, then seven at a time.
fn entry_header(kind: ObjectKind, length: u64) -> Vec<u8> {
    let low = |bits: u64, mask: u64| u8::try_from(bits & mask).unwrap_or(0);
    let (mut byte, mut rest) = (kind.number() << 4 | low(length, 0xf), length >> 4);
    let mut bytes = Vec::new();
    while rest > 0 {
        bytes.push(byte | 0x80);
        byte = low(rest, 0x7f);
        rest >>= 7;
    }
    bytes.push(byte);
    bytes
}

/// The sum of so many bytes of a file.
pub(in crate::checkpoint) fn sum_of(file: &mut File, length: u64) -> io::Result<[u8; 20]> {
    file.seek(SeekFrom::Start(0))?;
    let mut file = file.take(length);
    let (mut hash, mut piece) = (Sha1::new(), vec![0; PIECE_BYTES]);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(hash.finalize().into()),
            count => hash.update(&piece[..count]),
        }
    }
}
