//! Watching a workspace: one inotify instance over its folders in scope. It is read only when a caller wants to
//! know, so nothing wakes an idle harness. The result is a hint where something changed, never a proof that nothing
//! else did.
//!
//! Checkpoints do not use it: for small trees it saves little, and its set-up costs a full walk
//! (docs/decisions/0029). Other parts of the program may.
//!
//! Call `take`, then inspect what it names. What changes after `take` is in the next hint. In addition, inspect
//! - every file that had more than one name at the last inspection, and every other name of a named file that has
//!   more than one: a write by one name gives no event for the others;
//! - every path that counts although the rules leave it out: ignored folders are not watched.
//!
//! The kernel gives no event for: writing through a memory map (only for its end); writing by a hard link
//! elsewhere, or by one that was made and removed in between; what is mounted over a folder; what another machine
//! writes.
//!
//! | file | what it does |
//! |---|---|
//! | `folders` | the watched folders as a tree |
//! | `file_log` | what happened to which file, for callers that ask for it |
//! | `hint` | the result: a list of paths, or why there is none |
//! | `opens` | another watch, for a short time: which files are opened |
mod file_log;
mod folders;
mod hint;
mod opens;

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, fstat, fstatfs, openat2, statat};
use rustix::io::Errno;

pub use file_log::{FileLog, WatchedFile, WatchedKind};
pub use hint::{Changes, NoListReason, WatchHint};
pub use opens::{OpenWatch, OpenedFiles};

use self::file_log::PathEvent;
use self::folders::{FolderLocation, Folders, Number};
use self::hint::List;
use crate::checkpoint::{DirRules, Rules};

/// Each takes about a kilobyte in the kernel, and other programs of the user need some too.
const FOLDERS_MAX: usize = 65_536;
/// As deep as the walk goes.
const DEPTH_MAX: usize = 512;
/// One that makes changes faster than we read of them does not hold us up.
const EVENTS_MAX: usize = 1 << 17;
/// Events are read in pieces of this size.
const PIECE: usize = 16 * 1024;
/// File systems whose every change passes through this kernel: ext, xfs, btrfs, tmpfs, f2fs, bcachefs, zfs, overlay.
const LOCAL: &[u64] =
    &[0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0xf2f5_2010, 0xca45_1a4e, 0x2fc1_2fc1, 0x794c_7630];

/// A watch over a workspace. It holds one handle, and is never waited for.
#[derive(Debug)]
pub struct Watch {
    workspace: OwnedFd,
    device: u64,
    rules: Rules,
    /// The stamp of the repository's own list of rules.
    exclude: Option<ExcludeStamp>,
    inotify: Option<OwnedFd>,
    folders: Folders,
    /// Why the next hint has no list of paths.
    doubt: Option<NoListReason>,
    /// The folders known may not be those that are there.
    stale: bool,
    off: Option<String>,
    notice: Option<String>,
    /// What happened to which file, where that is asked for.
    log: Option<FileLog>,
}

/// A folder that is about to be watched.
struct FolderToWatch<'a> {
    handle: OwnedFd,
    location: FolderLocation,
    path: Vec<u8>,
    /// What holds in the folder above it.
    above: &'a DirRules,
    depth: usize,
}

/// Why there is no list.
enum Trouble {
    /// Only this time.
    Doubt(NoListReason),
    /// For the rest of the run.
    Off(String),
}

/// One event of the kernel.
struct Event {
    number: Number,
    what: ReadFlags,
    /// Two events of one move have the same.
    cookie: u32,
    name: Option<Vec<u8>>,
}

type ExcludeStamp = (u64, i64, [i64; 2], [u64; 2]);

/// What stands for a name that came, went or was moved.
const NAMED: ReadFlags =
    ReadFlags::CREATE.union(ReadFlags::DELETE).union(ReadFlags::MOVED_FROM).union(ReadFlags::MOVED_TO);

impl Watch {
    /// Begins to watch a workspace. Where that is not possible it is off from the start; [`Self::notice`] has the
    /// reason.
    ///
    /// # Errors
    /// When the workspace itself cannot be read.
    pub fn new(workspace: &OwnedFd, rules: &Rules) -> io::Result<Self> {
        let mut watch = Self {
            workspace: workspace.try_clone()?,
            device: fstat(workspace)?.st_dev,
            rules: rules.clone(),
            exclude: None,
            inotify: None,
            folders: Folders::default(),
            doubt: Some(NoListReason::Start),
            stale: false,
            off: None,
            notice: None,
            log: None,
        };
        let kind = fstatfs(workspace)?.f_type;
        if !u64::try_from(kind).is_ok_and(|kind| LOCAL.contains(&kind)) {
            watch.turn_off("other machines may change its file system".to_owned());
            return Ok(watch);
        }
        watch.begin();
        Ok(watch)
    }

    /// Where something may have changed since the last time. It does not wait.
    ///
    /// After `NoListReason::Rules` the rules are to be read again; if they differ, make a new watch.
    pub fn take(&mut self) -> WatchHint {
        if self.off.is_some() {
            return WatchHint::Everything(NoListReason::Off);
        }
        let mut list = List::default();
        let began =
            if self.stale || self.is_gone() { Err(Trouble::Doubt(NoListReason::Doubt)) } else { self.drain(&mut list) };
        let doubt = self.doubt.take();
        match began {
            Ok(()) if self.exclude == self.exclude_stamp() => {
                doubt.map_or_else(|| list.finish(), WatchHint::Everything)
            }
            Ok(()) => self.again(NoListReason::Rules),
            Err(Trouble::Doubt(why)) => self.again(why),
            Err(Trouble::Off(why)) => {
                self.turn_off(why);
                WatchHint::Everything(NoListReason::Off)
            }
        }
    }

    /// From now on it remembers what happened to which file.
    pub fn log_files(&mut self) {
        self.log = Some(FileLog::default());
    }

    /// What happened to which file in the hints since the last time. What the rules leave out is not in it.
    pub fn take_log(&mut self) -> FileLog {
        self.log.replace(FileLog::default()).unwrap_or_default()
    }

    /// Whether something happened that [`Self::take_log`] has not returned.
    #[must_use]
    pub fn has_log(&self) -> bool {
        self.log.as_ref().is_some_and(|log| !log.is_empty())
    }

    /// Continues with the log of another watch.
    pub fn keep_log(&mut self, log: FileLog) {
        self.log = Some(log);
    }

    /// Why there is no watch and will be none: returned once.
    pub fn notice(&mut self) -> Option<String> {
        self.notice.take()
    }

    /// How many folders are watched.
    #[must_use]
    pub fn folders(&self) -> usize {
        self.folders.len()
    }

    /// Readable when something has changed. Polling it is optional.
    #[must_use]
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.inotify.as_ref().map(AsFd::as_fd)
    }

    fn turn_off(&mut self, why: String) {
        self.inotify = None;
        self.folders = Folders::default();
        self.notice = Some(why.clone());
        self.off = Some(why);
    }

    /// Watches again, so that the walk that follows misses nothing that comes later.
    fn again(&mut self, why: NoListReason) -> WatchHint {
        self.begin();
        self.doubt = None;
        WatchHint::Everything(if self.off.is_some() { NoListReason::Off } else { why })
    }

    fn begin(&mut self) {
        self.stale = false;
        self.exclude = self.exclude_stamp();
        self.folders = Folders::default();
        match self.watch_all() {
            Ok(()) => {}
            Err(Trouble::Doubt(_)) => self.stale = true,
            Err(Trouble::Off(why)) => self.turn_off(why),
        }
    }

    fn watch_all(&mut self) -> Result<(), Trouble> {
        let off = |what: &str, errno: Errno| Trouble::Off(format!("{what}: {}", io::Error::from(errno)));
        let inotify = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)
            .map_err(|errno| off("the kernel gives no watch", errno))?;
        self.inotify = Some(inotify);
        let top = Self::open(self.workspace.as_fd(), b".").map_err(|errno| off("cannot read it", errno))?;
        if self.is_gone() {
            return Err(Trouble::Off("it is gone".to_owned()));
        }
        let scope = DirRules::above_all();
        self.enter(FolderToWatch { handle: top, location: None, path: Vec::new(), above: &scope, depth: 0 })
    }

    /// The kernel reports it only when the folder is no longer open, and we have it open.
    fn is_gone(&self) -> bool {
        fstat(&self.workspace).map_or(0, |stat| stat.st_nlink) == 0
    }

    /// A folder by its path below another: by no link, into no other mount.
    fn open(folder: BorrowedFd<'_>, path: &[u8]) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_XDEV;
        openat2(folder, path, flags, Mode::empty(), resolve)
    }

    /// A folder in scope, if it is there and may be read. A later change of that is an event of the folder above.
    fn open_in_scope(&self, folder: BorrowedFd<'_>, path: &[u8]) -> Result<Option<OwnedFd>, Trouble> {
        match Self::open(folder, path) {
            Ok(opened) => {
                let same = fstat(&opened).is_ok_and(|stat| stat.st_dev == self.device);
                Ok(same.then_some(opened))
            }
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS | Errno::PERM) => Ok(None),
            Err(Errno::XDEV) => {
                let stat = statat(folder, path, AtFlags::SYMLINK_NOFOLLOW);
                if stat.is_ok_and(|stat| stat.st_dev != self.device) {
                    return Ok(None);
                }
                // One folder by two names has one watch only.
                Err(Trouble::Off("a part of the same file system is mounted in it".to_owned()))
            }
            Err(_) => Err(Trouble::Doubt(NoListReason::Doubt)),
        }
    }

    /// Watches a folder and all below it. The watch comes first and reading after it, so that nothing is made
    /// in between unseen.
    fn enter(&mut self, folder: FolderToWatch<'_>) -> Result<(), Trouble> {
        let FolderToWatch { handle: folder, location, path, above, depth } = folder;
        let Some(number) = self.add(&folder, location.is_none())? else { return Ok(()) };
        let scope = above.inside(folder.as_fd(), &path);
        let gone = self.folders.put(number, location, scope.clone()).ok_or(Trouble::Doubt(NoListReason::Doubt))?;
        self.give_up(&gone);
        let mut folder = Dir::new(folder).map_err(|_| Trouble::Doubt(NoListReason::Doubt))?;
        let mut names = Vec::new();
        for entry in &mut folder {
            let entry = entry.map_err(|_| Trouble::Doubt(NoListReason::Doubt))?;
            let name = entry.file_name().to_bytes();
            let may_be = matches!(entry.file_type(), FileType::Directory | FileType::Unknown);
            if may_be && name != b"." && name != b".." {
                names.push(name.to_vec());
            }
        }
        for name in names {
            let path = joined(&path, &name);
            if depth >= DEPTH_MAX || self.is_out(&scope, &path) {
                continue;
            }
            let handle = folder.fd().map_err(|_| Trouble::Doubt(NoListReason::Doubt))?;
            if let Some(inside) = self.open_in_scope(handle, &name)? {
                let location = Some((number, name));
                self.enter(FolderToWatch { handle: inside, location, path, above: &scope, depth: depth + 1 })?;
            }
        }
        Ok(())
    }

    fn is_out(&self, scope: &DirRules, path: &[u8]) -> bool {
        path == b".git" || scope.leaves_out(&self.rules, path)
    }

    /// Asks the kernel for events of a folder. None if it may not be read.
    fn add(&self, folder: &OwnedFd, is_top: bool) -> Result<Option<Number>, Trouble> {
        let Some(inotify) = &self.inotify else { return Err(Trouble::Doubt(NoListReason::Doubt)) };
        if self.folders.len() >= FOLDERS_MAX {
            return Err(Trouble::Off(format!("it has more than {FOLDERS_MAX} folders")));
        }
        let mut what = WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MOVE
            | WatchFlags::MODIFY
            | WatchFlags::ATTRIB
            // For writes through a memory map.
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::ONLYDIR;
        if is_top {
            what |= WatchFlags::MOVE_SELF | WatchFlags::DELETE_SELF;
        }
        // By the handle: the name cannot be replaced by a link.
        let by_handle = format!("/proc/self/fd/{}", folder.as_raw_fd());
        match inotify::add_watch(inotify, by_handle, what) {
            Ok(number) => Ok(Some(number)),
            Err(Errno::ACCESS | Errno::PERM) => Ok(None),
            Err(Errno::NOSPC) => {
                Err(Trouble::Off("the user has no watches left (fs.inotify.max_user_watches)".to_owned()))
            }
            Err(Errno::NOENT | Errno::NOTDIR) => Err(Trouble::Off("there is no /proc to watch by".to_owned())),
            Err(_) => Err(Trouble::Doubt(NoListReason::Doubt)),
        }
    }

    /// Their events are not needed any more.
    fn give_up(&self, gone: &[Number]) {
        for number in gone {
            if let Some(inotify) = &self.inotify {
                // It may be gone already, with its folder.
                inotify::remove_watch(inotify, *number).ok();
            }
        }
    }

    /// Reads all events that are there now.
    fn drain(&mut self, list: &mut List) -> Result<(), Trouble> {
        let mut piece = vec![MaybeUninit::uninit(); PIECE];
        let mut seen = 0;
        loop {
            let Some(inotify) = &self.inotify else { return Err(Trouble::Doubt(NoListReason::Doubt)) };
            let events = read_piece(inotify, &mut piece)?;
            if events.is_empty() {
                return Ok(());
            }
            seen += events.len();
            if seen > EVENTS_MAX {
                return Err(Trouble::Doubt(NoListReason::TooMany));
            }
            for event in events {
                self.event(event, list)?;
            }
        }
    }

    fn event(&mut self, event: Event, list: &mut List) -> Result<(), Trouble> {
        let Event { number, what, cookie, name } = event;
        if what.contains(ReadFlags::QUEUE_OVERFLOW) {
            return Err(Trouble::Doubt(NoListReason::Overflow));
        }
        let itself = ReadFlags::MOVE_SELF | ReadFlags::DELETE_SELF | ReadFlags::IGNORED;
        let is_top = self.folders.is_top(number);
        if what.contains(ReadFlags::UNMOUNT) || (is_top && what.intersects(itself)) {
            return Err(Trouble::Doubt(NoListReason::Moved));
        }
        if what.contains(ReadFlags::IGNORED) {
            let gone = self.folders.forget(number);
            self.give_up(&gone);
            return Ok(());
        }
        // A forgotten folder was put on the list as a whole; its later events do not matter.
        let (Some(name), Some(_)) = (name, self.folders.scope(number)) else { return Ok(()) };
        self.log_event(number, &PathEvent { what, cookie, path: name.clone(), at_ms: 0 });
        if name == b".gitignore" || (is_top && name == b".git") {
            return Err(Trouble::Doubt(NoListReason::Rules));
        }
        let is_folder = what.contains(ReadFlags::ISDIR);
        let is_known = self.folders.at(number, &name).is_some();
        let came_or_went = what.intersects(NAMED) && (is_folder || is_known);
        // One that could not be read may be readable now.
        if came_or_went || (is_folder && !is_known) {
            return self.watch_again(number, &name, list);
        }
        let folder = self.folders.path(number).ok_or(Trouble::Doubt(NoListReason::Doubt))?;
        list.name(joined(&folder, &name));
        Ok(())
    }

    /// Remembers an event of a name in a folder, if a caller asked for that and it is in scope.
    fn log_event(&mut self, folder: Number, event: &PathEvent) {
        let (Some(_), Some(above), Some(scope)) =
            (&self.log, self.folders.path(folder), self.folders.scope(folder).cloned())
        else {
            return;
        };
        let mut path = joined(&above, &event.path);
        let is_folder = event.what.contains(ReadFlags::ISDIR);
        // A folder changes with every name in it; that is said of the names.
        let out = if is_folder { self.is_out(&scope, &path) } else { scope.leaves_out_file(&self.rules, &path) };
        if out || path == b".git" || (is_folder && !event.what.intersects(NAMED)) {
            return;
        }
        if is_folder {
            path.push(b'/');
        }
        let at_ms = crate::clock::now().wall_ms;
        if let Some(log) = &mut self.log {
            log.add(PathEvent { what: event.what, cookie: event.cookie, path, at_ms });
        }
    }

    /// A folder came, went or was swapped: whatever is there now is watched, and all of it is on the list.
    fn watch_again(&mut self, above: Number, name: &[u8], list: &mut List) -> Result<(), Trouble> {
        let doubt = || Trouble::Doubt(NoListReason::Doubt);
        let folder = self.folders.path(above).ok_or_else(doubt)?;
        let depth = folder.split(|byte| *byte == b'/').filter(|part| !part.is_empty()).count();
        let path = joined(&folder, name);
        list.folder(path.clone());
        if let Some(old) = self.folders.at(above, name) {
            let gone = self.folders.forget(old);
            self.give_up(&gone);
        }
        let scope = self.folders.scope(above).ok_or_else(doubt)?.clone();
        if depth >= DEPTH_MAX || self.is_out(&scope, &path) {
            return Ok(());
        }
        match self.open_in_scope(self.workspace.as_fd(), &path)? {
            Some(handle) => {
                let location = Some((above, name.to_vec()));
                self.enter(FolderToWatch { handle, location, path, above: &scope, depth: depth + 1 })
            }
            None => Ok(()),
        }
    }

    /// The stamp of the repository's own list of rules; it is not watched, because its folder changes all the time.
    fn exclude_stamp(&self) -> Option<ExcludeStamp> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let file = openat2(&self.workspace, ".git/info/exclude", flags, Mode::empty(), resolve).ok()?;
        let stat = fstat(&file).ok()?;
        let (seconds, rest) = ([stat.st_mtime, stat.st_ctime], [stat.st_mtime_nsec, stat.st_ctime_nsec]);
        Some((stat.st_ino, stat.st_size, seconds, rest))
    }
}

/// The next events, none if there are none now.
fn read_piece(inotify: &OwnedFd, piece: &mut [MaybeUninit<u8>]) -> Result<Vec<Event>, Trouble> {
    let mut reader = Reader::new(inotify, piece);
    let mut events = Vec::new();
    loop {
        match reader.next() {
            Ok(event) => {
                let name = event.file_name().map(|name| name.to_bytes().to_vec());
                events.push(Event { number: event.wd(), what: event.events(), cookie: event.cookie(), name });
            }
            Err(Errno::INTR) => continue,
            Err(Errno::AGAIN) => return Ok(events),
            Err(_) => return Err(Trouble::Doubt(NoListReason::Doubt)),
        }
        if reader.is_buffer_empty() {
            return Ok(events);
        }
    }
}

fn joined(folder: &[u8], name: &[u8]) -> Vec<u8> {
    if folder.is_empty() { name.to_vec() } else { [folder, b"/", name].concat() }
}
