//! Containment: nothing that an agent or a gate started is left when it ends, is recalled, or when we are
//! killed. Least invasive first, so that sudo, groups and `/proc` work as the user knows them.
//!
//! ```text
//! loop (harness) ── shim, one a run ── init, one an order ── the command ── whatever it starts
//! ```
//! Each of the three is the one that orphans below it come to, so that whoever kills one falls to the next.
//! This is the only place that knows what is Linux about it.
mod cgroup;
mod init;
mod namespace;
mod raw;
mod shim;
mod wire;

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use loop_core::run::ProcessId;
use rustix::fs::{FlockOperation, flock};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use signal_hook::SigId;
use signal_hook::consts::SIGCHLD;
use signal_hook::low_level::{pipe, unregister};

use self::cgroup::Cgroup;
use self::wire::Kind;
use super::proc::identity;
use super::sweep::{MARK, end_adopted, mark};
use crate::paths::program_on_path;

pub use self::shim::run_if_asked;
pub(crate) use self::wire::{Ask, Command, Report};

/// The word that makes this program a shim.
const SHIM: &str = "__shim";
/// Stands for the group where there is none.
const NO_CGROUP: &str = "-";
/// So long a command may take to be started.
const START_TAKES_MAX: Duration = Duration::from_secs(10);
/// So long a shim may take to go when nothing is left to do.
const GOING_TAKES_MAX: Duration = Duration::from_secs(5);

/// How a run's processes are kept together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// In control groups.
    Cgroup,
    /// By descent.
    Plain,
    /// In PID namespaces.
    Namespace,
}

impl Mode {
    /// All of them, the one that catches most first.
    pub const ALL: [Self; 3] = [Self::Cgroup, Self::Namespace, Self::Plain];

    /// Its word in settings.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cgroup => "cgroup",
            Self::Plain => "plain",
            Self::Namespace => "namespace",
        }
    }

    fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == word)
    }

    /// What gets away from it, for people.
    #[must_use]
    pub fn misses(self) -> &'static str {
        match self {
            Self::Cgroup => "nothing that we know of",
            Self::Plain => {
                "what runs as another user (sudo); and if loop and its shim are both killed with SIGKILL, \
                 what has cleared its environment"
            }
            Self::Namespace => {
                "nothing that we know of; inside, other processes cannot be seen, and sudo works only for root"
            }
        }
    }
}

/// The containment of one run.
#[derive(Debug)]
pub struct Containment {
    run: String,
    /// Asked for by name, so that nothing else will do.
    strict: bool,
    mode: Mode,
    program: PathBuf,
    cgroup: Option<Cgroup>,
    shim: Option<Shim>,
    /// The file that the shim and its inits hold locked; it names the group.
    register: Option<PathBuf>,
    /// Says that the shim was stopped, or is dead.
    changed: Option<(UnixStream, SigId)>,
    said: Vec<String>,
    /// Where a program was found on PATH: looked for once, not with every order.
    found: Option<(String, PathBuf)>,
}

#[derive(Debug)]
struct Shim {
    child: Child,
    socket: OwnedFd,
}

/// An order that has begun.
#[derive(Debug)]
pub(crate) struct Begun {
    pub(crate) order: UnixStream,
    /// What was heard of the init already.
    pub(crate) heard: Vec<u8>,
    pub(crate) process: ProcessId,
    pub(crate) init: ProcessId,
}

impl Containment {
    /// For a run; `word` is the setting: a mode, or `auto`. `register` is where the next command finds out
    /// about us if we are killed.
    ///
    /// # Errors
    /// When the mode that was asked for by name cannot be had.
    pub fn new(run: &str, word: &str, register: Option<PathBuf>) -> io::Result<Self> {
        Self::with_program(Path::new("/proc/self/exe"), run, word, register)
    }

    /// The same with another program as shim: tests are no shims.
    ///
    /// # Errors
    /// When the mode that was asked for by name cannot be had.
    pub fn with_program(program: &Path, run: &str, word: &str, register: Option<PathBuf>) -> io::Result<Self> {
        let wish = Mode::of(word);
        let (mode, cgroup) = match wish {
            Some(mode @ (Mode::Plain | Mode::Namespace)) => (mode, None),
            Some(Mode::Cgroup) => (Mode::Cgroup, Some(Cgroup::of_run(run).map_err(io::Error::other)?)),
            None => match Cgroup::of_run(run) {
                Ok(cgroup) => (Mode::Cgroup, Some(cgroup)),
                Err(_) => (Mode::Plain, None),
            },
        };
        let changed = UnixStream::pair().and_then(|(read, write)| {
            read.set_nonblocking(true)?;
            Ok((read, pipe::register(SIGCHLD, write)?))
        });
        let program = program.to_owned();
        let (run, strict, changed) = (run.to_owned(), wish.is_some(), changed.ok());
        Ok(Self { run, strict, mode, program, cgroup, shim: None, register, changed, said: Vec::new(), found: None })
    }

    /// The mode in force.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// What people should know, once.
    pub(crate) fn said(&mut self) -> Vec<String> {
        std::mem::take(&mut self.said)
    }

    /// The file of a program.
    pub(crate) fn file_of(&mut self, program: &str) -> PathBuf {
        if let Some((_, file)) = self.found.as_ref().filter(|(known, file)| known == program && file.exists()) {
            return file.clone();
        }
        let file = Some(program).filter(|name| !name.contains('/')).and_then(program_on_path);
        self.found = file.map(|file| (program.to_owned(), file));
        self.found.as_ref().map_or_else(|| PathBuf::from(program), |(_, file)| file.clone())
    }

    /// What should wake us.
    pub fn wants(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.changed.iter().map(|(pipe, _)| pipe.as_fd())
    }

    /// A shim that somebody stopped goes on; one that is dead is replaced with the next order.
    pub(crate) fn look(&mut self) {
        let Some((pipe, _)) = &mut self.changed else { return };
        let mut bytes = [0_u8; 64];
        if !matches!(pipe.read(&mut bytes), Ok(count) if count > 0) {
            return;
        }
        while matches!(pipe.read(&mut bytes), Ok(count) if count > 0) {}
        let Some(pid) = self.shim.as_ref().and_then(Shim::pid) else { return };
        match waitpid(Some(pid), WaitOptions::NOHANG | WaitOptions::UNTRACED) {
            Ok(Some((_, status))) if status.stopped() => {
                kill_process(pid, Signal::CONT).ok();
            }
            Ok(None) => {}
            Ok(Some(_)) | Err(_) => self.shim = None,
        }
    }

    /// Begins an order of a kind (`lane`) with these streams.
    ///
    /// # Errors
    /// When it cannot be started, with the system's own error where there is one.
    pub(crate) fn begin(
        &mut self,
        lane: &'static str,
        stdio: [BorrowedFd<'_>; 3],
        command: &Command,
    ) -> io::Result<Begun> {
        let command = command.encode()?;
        let mut again = true;
        loop {
            match self.try_begin(lane, stdio, &command) {
                Ok((order, heard, Report::Started { process, init })) => {
                    return Ok(Begun { order, heard, process, init });
                }
                Ok((_, _, Report::NotStarted { errno, why })) => {
                    return Err(errno.map_or_else(|| io::Error::other(why), io::Error::from_raw_os_error));
                }
                Ok((_, _, Report::NotContained { why })) => {
                    if self.strict || self.mode == Mode::Plain {
                        return Err(io::Error::other(format!("containment {}: {why}", self.mode.name())));
                    }
                    self.said.push(format!(
                        "containment {} does not work here ({why}): plain from now on",
                        self.mode.name()
                    ));
                    self.mode = Mode::Plain;
                }
                Ok((_, _, report)) => return Err(io::Error::other(format!("the shim answered {report:?}"))),
                Err(error) if again => {
                    // Somebody ended or stopped it: a new one, once.
                    again = false;
                    self.said.push(format!("the shim was lost ({error}): a new one is started"));
                    self.drop_shim();
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn try_begin(
        &mut self,
        lane: &'static str,
        [stdin, stdout, stderr]: [BorrowedFd<'_>; 3],
        command: &[u8],
    ) -> io::Result<(UnixStream, Vec<u8>, Report)> {
        if self.shim.is_none() {
            self.shim = Some(self.start_shim()?);
        }
        let root = rustix::process::geteuid().is_root();
        let (mut ours, theirs) = UnixStream::pair()?;
        let mut fds = vec![theirs.as_fd(), stdin, stdout, stderr];
        let kind = match (self.mode, &mut self.cgroup) {
            (Mode::Cgroup, Some(cgroup)) => {
                cgroup.lane(lane)?;
                Kind::Cgroup
            }
            (Mode::Namespace, _) if root => Kind::Namespace,
            (Mode::Namespace, _) => Kind::UserNamespace,
            (Mode::Plain | Mode::Cgroup, _) => Kind::Plain,
        };
        if let (Kind::Cgroup, Some(cgroup)) = (kind, &mut self.cgroup) {
            let lane = cgroup.lane(lane)?.as_fd().try_clone_to_owned()?;
            let run = cgroup.run().try_clone()?;
            fds.extend([lane.as_fd(), run.as_fd()]);
            self.send(kind, &fds)?;
        } else {
            self.send(kind, &fds)?;
        }
        drop(theirs);
        ours.set_write_timeout(Some(START_TAKES_MAX))?;
        ours.set_read_timeout(Some(START_TAKES_MAX))?;
        ours.write_all(command)?;
        let (report, heard) = first_report(&mut ours)?;
        ours.set_nonblocking(true)?;
        Ok((ours, heard, report))
    }

    fn send(&self, kind: Kind, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
        let shim = self.shim.as_ref().ok_or_else(|| io::Error::other("no shim"))?;
        wire::send_order(&shim.socket, kind, fds)
    }

    fn start_shim(&self) -> io::Result<Shim> {
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        let register = self.register.as_ref().and_then(|path| self.sign(path).ok());
        let group = self.cgroup.as_ref().map_or(Path::new(NO_CGROUP), Cgroup::path);
        let mut command = std::process::Command::new(&self.program);
        command.arg0("loop").arg(SHIM).arg(group).arg(&self.run).env(MARK, mark(&self.run)).current_dir("/");
        command.stdin(theirs).stdout(register.map_or_else(Stdio::null, Stdio::from)).stderr(Stdio::null());
        let child = command.spawn()?;
        Ok(Shim { child, socket: ours })
    }

    /// The register: locked by whoever keeps watch, so that the lock is free when nobody does.
    fn sign(&self, path: &Path) -> io::Result<File> {
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(true).mode(0o600).open(path)?;
        file.write_all(self.cgroup.as_ref().map_or(Path::new(""), Cgroup::path).as_os_str().as_encoded_bytes())?;
        // Inits of a shim that was killed may hold it still.
        flock(&file, FlockOperation::NonBlockingLockExclusive).ok();
        Ok(file)
    }

    /// Ends everybody whom the shim kept, in whatever way is left: an init was killed. Says who is still there.
    pub(crate) fn end_all(&mut self) -> Vec<String> {
        self.drop_shim();
        if let Some(cgroup) = &self.cgroup {
            cgroup::end(cgroup.path());
        }
        let left = end_adopted(&self.run);
        // The group went with them.
        if let Some(cgroup) = self.cgroup.take() {
            drop(cgroup);
            match Cgroup::of_run(&self.run) {
                Ok(cgroup) => self.cgroup = Some(cgroup),
                Err(why) => {
                    self.said.push(format!("containment plain from now on: {why}"));
                    self.mode = Mode::Plain;
                }
            }
        }
        left
    }

    /// An order in whose lane somebody had to be ended is over.
    pub(crate) fn spend(&mut self, lane: &'static str) {
        if let Some(cgroup) = &mut self.cgroup {
            cgroup.spend(lane);
        }
    }

    fn drop_shim(&mut self) {
        if let Some(mut shim) = self.shim.take() {
            shim.child.kill().ok();
            shim.child.wait().ok();
        }
    }
}

/// The first line of an init, and what came after it.
fn first_report(from: &mut UnixStream) -> io::Result<(Report, Vec<u8>)> {
    let mut heard = Vec::new();
    let mut bytes = [0_u8; 1024];
    loop {
        if let Some(end) = heard.iter().position(|byte| *byte == b'\n') {
            let rest = heard.split_off(end + 1);
            return Ok((serde_json::from_slice(&heard)?, rest));
        }
        match from.read(&mut bytes) {
            Ok(0) => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it said nothing")),
            Ok(count) => heard.extend_from_slice(&bytes[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

impl Shim {
    fn pid(&self) -> Option<Pid> {
        i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
    }
}

impl Drop for Containment {
    /// The shim goes when its socket closes; we take its end in.
    fn drop(&mut self) {
        if let Some((_, handler)) = self.changed.take() {
            unregister(handler);
        }
        if let Some(Shim { mut child, socket }) = self.shim.take() {
            drop(socket);
            let until = Instant::now() + GOING_TAKES_MAX;
            if !ended_until(&mut child, until) {
                child.kill().ok();
                child.wait().ok();
            }
        }
        self.cgroup = None;
        if let Some(register) = &self.register {
            std::fs::remove_file(register).ok();
        }
    }
}

/// Waits for a child, but not for ever.
fn ended_until(child: &mut Child, until: Instant) -> bool {
    let handle = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let handle = handle.and_then(|pid| rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok());
    let Some(handle) = handle else { return child.try_wait().is_ok_and(|ended| ended.is_some()) };
    let most = until.saturating_duration_since(Instant::now());
    let most = rustix::event::Timespec {
        tv_sec: i64::try_from(most.as_secs()).unwrap_or(0),
        tv_nsec: most.subsec_nanos().into(),
    };
    let mut fds = [rustix::event::PollFd::new(&handle, rustix::event::PollFlags::IN)];
    rustix::event::poll(&mut fds, Some(&most)).ok();
    child.try_wait().is_ok_and(|ended| ended.is_some())
}

/// Whether somebody keeps watch over the run with this register.
#[must_use]
pub fn is_kept(register: &Path) -> bool {
    let file = OpenOptions::new().read(true).write(true).open(register);
    file.is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockExclusive).is_err())
}

/// What a register left by a killed harness says: the group, once nobody keeps watch any more.
pub(super) fn wait_for_keepers(register: &Path, most: Duration) -> Option<PathBuf> {
    let mut file = OpenOptions::new().read(true).write(true).open(register).ok()?;
    let until = Instant::now() + most;
    while flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut path = Vec::new();
    file.read_to_end(&mut path).ok()?;
    (!path.is_empty()).then(|| PathBuf::from(std::ffi::OsString::from_vec(path)))
}

/// Ends whoever is left in a group of a run that nobody keeps any more, and says how many they were.
pub(super) fn end_group(group: &Path, run: &str) -> u32 {
    // Only a group of that run, whatever the register says.
    let ours = group.file_name().is_some_and(|name| name == std::ffi::OsStr::new(&format!("loop-{run}")));
    if ours { cgroup::end(group) } else { 0 }
}

/// Whether each mode can be had here, tried for real; else why not.
///
/// # Errors
/// Why not, for people.
pub fn try_out(mode: Mode) -> Result<(), String> {
    let name = format!("try-{}", std::process::id());
    let tried = || -> io::Result<()> {
        let mut containment = Containment::new(&name, mode.name(), None)?;
        let nothing = File::options().read(true).write(true).open("/dev/null")?;
        let argv = vec!["true".into()];
        let command = Command { file: PathBuf::from("true"), argv, folder: PathBuf::from("/"), env: Vec::new() };
        let mut begun = containment.begin("try", [nothing.as_fd(), nothing.as_fd(), nothing.as_fd()], &command)?;
        begun.order.set_nonblocking(false)?;
        begun.order.set_read_timeout(Some(START_TAKES_MAX))?;
        begun.order.read_to_end(&mut begun.heard)?;
        let gone = serde_json::to_string(&Report::Gone)?;
        let heard = String::from_utf8_lossy(&begun.heard).into_owned();
        if heard.lines().any(|line| line == gone) { Ok(()) } else { Err(io::Error::other(heard)) }
    };
    tried().map_err(|error| error.to_string())
}

/// Whether the process is who it was.
pub(super) fn is_same(process: ProcessId) -> bool {
    identity(process.pid) == Some(process)
}
