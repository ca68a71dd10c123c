//! Reading what changed: contents become ids, and objects of a pack where they are stored. A file that is written
//! meanwhile is read up to three times.
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};

use rustix::fs::{FileType, Mode, OFlags, fstat, openat2, readlinkat};
use rustix::io::Errno;

use super::cache::{EntryKind, EntryState, Stamp, wall_nanos};
use crate::checkpoint::git::object::{Id, ObjectKind};
use crate::checkpoint::git::pack_write::{Deflater, PackWriter, Packed, hashed};
use crate::checkpoint::git::store::Store;
use crate::fs::handle::{BENEATH, folder_beneath, split};

/// How often a file that changes while it is read is read again.
const READS_MAX: u32 = 3;
/// What is longer is read in pieces, by one thread.
const SMALL_MAX: u64 = 1024 * 1024;
/// Fewer are read by one thread.
const FEW: usize = 32;
/// So many files wait to be written at most.
const WAITING_MAX: usize = 64;

/// How much of a checkpoint is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// All of it.
    Whole,
    /// Everything but the contents of files: a snapshot has these.
    Trees,
    /// Nothing: only the ids are wanted.
    Ids,
}

/// Something to read.
#[derive(Debug)]
pub(in crate::checkpoint) struct FileToRead {
    pub(in crate::checkpoint) folder: u32,
    pub(in crate::checkpoint) at: usize,
    pub(in crate::checkpoint) path: Vec<u8>,
    pub(in crate::checkpoint) kind: EntryKind,
}

/// What was read of a name.
#[derive(Debug)]
pub(in crate::checkpoint) enum Got {
    /// Its content.
    Content { id: Id, stamp: Stamp, mode: u16, state: EntryState, is_stable: bool },
    /// It is gone.
    Gone,
    /// It is something else by now.
    Other,
    /// It cannot be read.
    Failed(String),
}

/// Where objects go.
pub(in crate::checkpoint) struct Sink<'a> {
    pub(in crate::checkpoint) store: &'a Store,
    pub(in crate::checkpoint) depth: Depth,
    /// When what is there was there, where that is not now.
    read_at: Option<i64>,
    writer: Option<PackWriter>,
}

/// Whether the content of a name is stored. Ignore rules always are: a restore needs them.
pub(in crate::checkpoint) fn stores_content(depth: Depth, kind: EntryKind, name: &[u8]) -> bool {
    match depth {
        Depth::Whole => true,
        Depth::Trees => kind == EntryKind::Link || name == b".gitignore",
        Depth::Ids => false,
    }
}

impl<'a> Sink<'a> {
    pub(in crate::checkpoint) fn new(store: &'a Store, depth: Depth, read_at: Option<i64>) -> Self {
        Self { store, depth, read_at, writer: None }
    }

    fn writer(&mut self) -> io::Result<&mut PackWriter> {
        let writer = match self.writer.take() {
            Some(writer) => writer,
            None => PackWriter::begin(&self.store.pack_folder())?,
        };
        Ok(self.writer.insert(writer))
    }

    pub(in crate::checkpoint) fn object(&mut self, kind: ObjectKind, bytes: &[u8]) -> io::Result<Id> {
        let id = Id::of(kind, bytes);
        let store = self.store;
        if self.depth != Depth::Ids && !store.has(&id) {
            self.writer()?.add(kind, bytes, &|_| false)?;
        }
        Ok(id)
    }

    /// Whether an object is in the store, or will be with this checkpoint.
    pub(in crate::checkpoint) fn has(&self, id: &Id) -> bool {
        self.writer.as_ref().is_some_and(|writer| writer.has(id)) || self.store.has(id)
    }

    pub(in crate::checkpoint) fn into_writer(self) -> Option<PackWriter> {
        self.writer
    }

    fn put(&mut self, packed: Option<&Packed>) -> io::Result<()> {
        packed.map_or(Ok(()), |packed| self.writer()?.put(packed))
    }
}

/// A file or link that was read, with its object where it is needed; or a file that is read in pieces.
enum Ready {
    Got(Got, Option<Packed>),
    Big,
}

/// What a thread needs to read.
struct Reader<'a> {
    workspace: &'a OwnedFd,
    store: &'a Store,
    depth: Depth,
    read_at: Option<i64>,
    deflater: Deflater,
    buffer: Vec<u8>,
}

/// Reads everything that is wanted; none when it was cancelled.
pub(in crate::checkpoint) fn read_all(
    workspace: &OwnedFd,
    wanted: &[FileToRead],
    sink: &mut Sink<'_>,
    cancel: &AtomicBool,
) -> io::Result<Option<Vec<Got>>> {
    let reader = || Reader {
        workspace,
        store: sink.store,
        depth: sink.depth,
        read_at: sink.read_at,
        deflater: Deflater::default(),
        buffer: Vec::new(),
    };
    if wanted.len() > FEW {
        let readers = (0..std::thread::available_parallelism().map_or(2, usize::from).clamp(2, 4)).map(|_| reader());
        let readers = readers.collect();
        return read_parallel(workspace, wanted, readers, sink, cancel);
    }
    let mut reader = reader();
    let mut all = Vec::with_capacity(wanted.len());
    for one in wanted {
        if cancel.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let ready = reader.read(one);
        all.push(finish(workspace, one, ready, sink)?);
    }
    Ok(Some(all))
}

fn finish(workspace: &OwnedFd, wanted: &FileToRead, ready: Ready, sink: &mut Sink<'_>) -> io::Result<Got> {
    match ready {
        Ready::Got(got, packed) => sink.put(packed.as_ref()).map(|()| got),
        Ready::Big => big(workspace, &wanted.path, sink),
    }
}

fn read_parallel(
    workspace: &OwnedFd,
    wanted: &[FileToRead],
    readers: Vec<Reader<'_>>,
    sink: &mut Sink<'_>,
    cancel: &AtomicBool,
) -> io::Result<Option<Vec<Got>>> {
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let mut all: Vec<Got> = Vec::new();
    all.resize_with(wanted.len(), || Got::Gone);
    let written = std::thread::scope(|scope| {
        let (give, take) = sync_channel(WAITING_MAX);
        for mut reader in readers {
            let (give, next, stop): (SyncSender<_>, _, _) = (give.clone(), &next, &stop);
            scope.spawn(move || {
                while !cancel.load(Ordering::Relaxed) && !stop.load(Ordering::Relaxed) {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(one) = wanted.get(at) else { break };
                    if give.send((at, reader.read(one))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(give);
        let mut written = Ok(());
        for (at, ready) in take {
            if written.is_ok()
                && let (Some(one), Some(got)) = (wanted.get(at), all.get_mut(at))
            {
                written = finish(workspace, one, ready, sink).map(|read| *got = read);
                stop.store(written.is_err(), Ordering::Relaxed);
            }
        }
        written
    });
    written?;
    Ok((!cancel.load(Ordering::Relaxed)).then_some(all))
}

impl Reader<'_> {
    fn read(&mut self, wanted: &FileToRead) -> Ready {
        let read = if wanted.kind == EntryKind::Link { self.link(&wanted.path) } else { self.file(&wanted.path) };
        read.unwrap_or_else(|error| Ready::Got(failed(&error), None))
    }

    /// The object of some bytes, if it has to be stored.
    fn object(&mut self, id: Id, bytes: &[u8], kind: EntryKind, path: &[u8]) -> io::Result<Option<Packed>> {
        if !stores_content(self.depth, kind, split(path).1) || self.store.has(&id) {
            return Ok(None);
        }
        self.deflater.pack(ObjectKind::Blob, id, bytes).map(Some)
    }

    fn link(&mut self, path: &[u8]) -> io::Result<Ready> {
        let read_at = self.read_at.unwrap_or_else(wall_nanos);
        let (above, name) = split(path);
        let folder = folder_beneath(self.workspace, above)?;
        let stat = rustix::fs::statat(&folder, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::Symlink {
            return Ok(Ready::Got(Got::Other, None));
        }
        let leads = readlinkat(&folder, name, Vec::new())?.into_bytes();
        let id = Id::of(ObjectKind::Blob, &leads);
        let packed = self.object(id, &leads, EntryKind::Link, path)?;
        Ok(Ready::Got(content(id, &stat, read_at, true), packed))
    }

    fn file(&mut self, path: &[u8]) -> io::Result<Ready> {
        let mut turn = 1;
        loop {
            let read_at = self.read_at.unwrap_or_else(wall_nanos);
            let Some((mut file, stat)) = open_file(self.workspace, path)? else {
                return Ok(Ready::Got(Got::Other, None));
            };
            let length = u64::try_from(stat.st_size).unwrap_or(0);
            if length > SMALL_MAX {
                return Ok(Ready::Big);
            }
            let mut bytes = std::mem::take(&mut self.buffer);
            bytes.clear();
            bytes.resize(usize::try_from(length).unwrap_or(0), 0);
            let count = fill(&mut file, &mut bytes)?;
            bytes.truncate(count);
            let after = fstat(&file)?;
            let is_stable = u64::try_from(count).ok() == Some(length) && Stamp::of(&after) == Stamp::of(&stat);
            if is_stable || turn == READS_MAX {
                let id = Id::of(ObjectKind::Blob, &bytes);
                let packed = self.object(id, &bytes, EntryKind::File, path)?;
                self.buffer = bytes;
                return Ok(Ready::Got(content(id, &stat, read_at, is_stable), packed));
            }
            self.buffer = bytes;
            turn += 1;
        }
    }
}

/// Reads until there is no room or no more.
fn fill(file: &mut File, bytes: &mut [u8]) -> io::Result<usize> {
    let mut count = 0;
    while let Some(rest) = bytes.get_mut(count..).filter(|rest| !rest.is_empty()) {
        match file.read(rest) {
            Ok(0) => break,
            Ok(more) => count += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(count)
}

fn content(id: Id, stat: &rustix::fs::Stat, read_at: i64, is_stable: bool) -> Got {
    let stamp = Stamp::of(stat);
    let state = if is_stable && stamp.is_sure(read_at) { EntryState::Sure } else { EntryState::Racy };
    let mode = u16::try_from(stat.st_mode & 0o7777).unwrap_or(0);
    Got::Content { id, stamp, mode, state, is_stable }
}

fn failed(error: &io::Error) -> Got {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOENT) => Got::Gone,
        Some(Errno::NOTDIR | Errno::LOOP | Errno::ISDIR | Errno::NXIO) => Got::Other,
        _ => Got::Failed(error.to_string()),
    }
}

/// A long file, in pieces. What is read is as long as it was when it was opened.
fn big(workspace: &OwnedFd, path: &[u8], sink: &mut Sink<'_>) -> io::Result<Got> {
    let store = sink.store;
    let mut turn = 1;
    loop {
        let read_at = sink.read_at.unwrap_or_else(wall_nanos);
        let (file, stat) = match open_file(workspace, path) {
            Ok(Some(opened)) => opened,
            Ok(None) => return Ok(Got::Other),
            Err(error) => return Ok(failed(&error)),
        };
        let length = u64::try_from(stat.st_size).unwrap_or(0);
        let mut source = ContentSource { file: file.take(length), failed: None };
        let read = if stores_content(sink.depth, EntryKind::File, split(path).1) {
            sink.writer()?.add_file(&mut source, length, &|id| store.has(id))
        } else {
            hashed(ObjectKind::Blob, length, &mut source, &mut io::sink())
        };
        let ContentSource { file, failed: unread } = source;
        let is_stable = fstat(file.get_ref()).is_ok_and(|after| Stamp::of(&after) == Stamp::of(&stat));
        match read {
            Ok(id) if is_stable || turn == READS_MAX => return Ok(content(id, &stat, read_at, is_stable)),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                if turn == READS_MAX {
                    return Ok(Got::Failed("it gets shorter while it is read, again and again".to_owned()));
                }
            }
            Err(error) => return unread.map_or(Err(error), |why| Ok(Got::Failed(why))),
        }
        turn += 1;
    }
}

/// Remembers that it was the file that could not be read, and not the store that could not be written.
struct ContentSource {
    file: io::Take<File>,
    failed: Option<String>,
}

impl Read for ContentSource {
    fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
        self.file.read(piece).inspect_err(|error| self.failed = Some(error.to_string()))
    }
}

/// A file of the workspace, by no link and never outside of it; none if it is no file any more.
fn open_file(workspace: &OwnedFd, path: &[u8]) -> io::Result<Option<(File, rustix::fs::Stat)>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat2(workspace, path, flags, Mode::empty(), BENEATH)?;
    let stat = fstat(&file)?;
    let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    Ok(is_file.then(|| (File::from(file), stat)))
}
