//! Containment: nothing that an agent or a gate started is left when it ends, is cancelled, or when we are killed.
//! The least invasive method is tried first, so that sudo, groups and `/proc` work as usual. This folder is the
//! only one that knows Linux's mechanisms for it.
//!
//! ```text
//! loop (harness) ── shim, one for a run ── init, one for each running order ── the command ── everything it starts
//! ```
//! Each of the three is a subreaper: when one of them is killed, its orphans go to the next.
//!
//! | file | what it does | what it does not do |
//! |---|---|---|
//! | `mode` | the modes, what each cannot catch, and whether it works here | choose silently |
//! | `shim` | forks inits; ends orphans when the harness is gone | run commands |
//! | `init` | starts one command, reaps, ends everything below it | decide when |
//! | `wire` | messages between harness, shim and init | |
//! | `cgroup`, `namespace` | control groups; PID and user namespaces | need root, where the kernel allows it |
//! | `register` | the lock file that shows whether a shim or init is alive | |
//! | `raw` | the few unsafe system calls | run in a process with several threads |
mod cgroup;
mod init;
mod mode;
mod namespace;
mod raw;
mod register;
mod shim;
mod wire;

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use loop_core::agent::is_token;
use loop_core::run::ProcessId;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use signal_hook::SigId;
use signal_hook::consts::SIGCHLD;
use signal_hook::low_level::{pipe, unregister};

use self::cgroup::Cgroup;
use self::wire::Kind;
use super::proc::{check_proc, identity};
use super::sweep::{MARK, end_adopted, mark};
use crate::paths::program_on_path;

pub use self::mode::{Mode, try_out};
pub(crate) use self::namespace::same_user;
pub use self::register::is_supervised;
pub(super) use self::register::{end_group, wait_for_supervisors};
pub use self::shim::run_if_asked;
pub(crate) use self::wire::{Ask, Command, Report};

/// The word that makes this program a shim.
const SHIM: &str = "__shim";
/// Stands for the group where there is none.
const NO_CGROUP: &str = "-";
/// Who is stopped so often is attacked.
const STOPS_MAX: u32 = 8;
/// So long a command may take to be started.
const START_TAKES_MAX: Duration = Duration::from_secs(10);
/// So long a killed one may take to be gone.
const DYING_TAKES_MAX: Duration = Duration::from_secs(1);
/// So long a shim may take to go when nothing is left to do.
const GOING_TAKES_MAX: Duration = Duration::from_secs(5);

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
    /// How often the shim was stopped.
    stops: u32,
    /// Inits that have served an order and wait for the next.
    idle: Vec<(&'static str, UnixStream)>,
    /// The file that the shim and its inits hold locked; it names the group.
    register: Option<PathBuf>,
    /// Becomes readable when the shim was stopped or is dead.
    changed: Option<(UnixStream, SigId)>,
    remarks: Vec<String>,
    /// Where a program was found on PATH: searched once, not with every order.
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
    /// What was received from the init already.
    pub(crate) received: Vec<u8>,
    pub(crate) process: ProcessId,
    pub(crate) init: ProcessId,
}

impl Containment {
    /// For a run; `word` is the setting: a mode, or `auto`. `register` is where the next command finds out
    /// about us if we are killed.
    ///
    /// # Errors
    /// When the mode that was asked for by name is not available.
    pub fn new(run: &str, word: &str, register: Option<PathBuf>) -> io::Result<Self> {
        Self::with_program(Path::new("/proc/self/exe"), run, word, register)
    }

    /// The same with another program as shim: tests are no shims.
    ///
    /// # Errors
    /// When the mode that was asked for by name is not available.
    pub fn with_program(program: &Path, run: &str, word: &str, register: Option<PathBuf>) -> io::Result<Self> {
        check_proc().map_err(io::Error::other)?;
        let wanted = Mode::of(word);
        let (mode, cgroup) = match wanted {
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
        let (run, strict, changed) = (run.to_owned(), wanted.is_some(), changed.ok());
        Ok(Self {
            run,
            strict,
            mode,
            program,
            cgroup,
            shim: None,
            stops: 0,
            idle: Vec::new(),
            register,
            changed,
            remarks: Vec::new(),
            found: None,
        })
    }

    /// The mode in force.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// What people should know, once.
    pub(crate) fn take_remarks(&mut self) -> Vec<String> {
        std::mem::take(&mut self.remarks)
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

    /// A stopped shim is continued; a dead one is replaced with the next order.
    pub(crate) fn check_shim(&mut self) {
        let Some((pipe, _)) = &mut self.changed else { return };
        let mut bytes = [0_u8; 64];
        if !matches!(pipe.read(&mut bytes), Ok(count) if count > 0) {
            return;
        }
        while matches!(pipe.read(&mut bytes), Ok(count) if count > 0) {}
        let Some(pid) = self.shim.as_ref().and_then(Shim::pid) else { return };
        match waitpid(Some(pid), WaitOptions::NOHANG | WaitOptions::UNTRACED) {
            Ok(Some((_, status))) if status.stopped() => {
                self.stops += 1;
                kill_process(pid, Signal::CONT).ok();
            }
            Ok(None) => {}
            Ok(Some(_)) | Err(_) => self.shim = None,
        }
    }

    /// Whether the shim is stopped again and again. Then all processes have to be ended before we exit.
    pub(crate) fn is_attacked(&self) -> bool {
        self.stops >= STOPS_MAX
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
                Ok((order, received, Report::Started { process, init })) => {
                    return Ok(Begun { order, received, process, init });
                }
                Ok((_, _, Report::NotStarted { errno, why })) => {
                    return Err(errno.map_or_else(|| io::Error::other(why), io::Error::from_raw_os_error));
                }
                Ok((_, _, Report::NotContained { why })) => {
                    if self.strict || self.mode == Mode::Plain {
                        return Err(io::Error::other(format!("containment {}: {why}", self.mode.name())));
                    }
                    self.remarks.push(format!(
                        "containment {} does not work here ({why}): plain from now on",
                        self.mode.name()
                    ));
                    self.mode = Mode::Plain;
                }
                Ok((_, _, report)) => return Err(io::Error::other(format!("the shim answered {report:?}"))),
                Err(error) if again => {
                    // The shim or init was killed or stopped: try again, once. The command may have begun all the same,
                    // and is never started beside itself.
                    again = false;
                    self.remarks.push(format!(
                        "the process that supervises the commands was lost ({error}): it is started again"
                    ));
                    let left = self.end_all();
                    if !left.is_empty() {
                        return Err(io::Error::other(format!("could not be ended: {}", left.join(", "))));
                    }
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
        if let Some(at) = self.idle.iter().position(|(known, _)| *known == lane) {
            let (_, mut idle) = self.idle.swap_remove(at);
            idle.set_nonblocking(false)?;
            // An idle one that was killed is replaced.
            if wire::send_command(&idle, command, [stdin, stdout, stderr]).is_ok() {
                let (report, received) = first_report(&mut idle)?;
                idle.set_nonblocking(true)?;
                return Ok((idle, received, report));
            }
        }
        let mut ours = self.new_init(lane)?;
        let sent = wire::send_command(&ours, command, [stdin, stdout, stderr]);
        // An init that failed has sent the reason, and reads nothing.
        let (report, received) = first_report(&mut ours).map_err(|error| sent.err().unwrap_or(error))?;
        ours.set_nonblocking(true)?;
        Ok((ours, received, report))
    }

    /// Has the shim fork an init.
    fn new_init(&mut self, lane: &'static str) -> io::Result<UnixStream> {
        if self.shim.is_none() {
            self.shim = Some(self.start_shim()?);
        }
        let root = rustix::process::geteuid().is_root();
        let (ours, theirs) = UnixStream::pair()?;
        let kind = match (self.mode, &self.cgroup) {
            (Mode::Cgroup, Some(_)) => Kind::Cgroup,
            (Mode::Namespace, _) if root => Kind::Namespace,
            (Mode::Namespace, _) => Kind::UserNamespace,
            (Mode::Plain, _) => Kind::Plain,
            (Mode::Cgroup, None) => return Err(io::Error::other("the control group is lost")),
        };
        if let (Kind::Cgroup, Some(cgroup)) = (kind, &mut self.cgroup) {
            let lane = cgroup.lane(lane)?.try_clone()?;
            let run = cgroup.run().try_clone()?;
            self.send(kind, &[theirs.as_fd(), lane.as_fd(), run.as_fd()])?;
        } else {
            self.send(kind, &[theirs.as_fd()])?;
        }
        ours.set_write_timeout(Some(START_TAKES_MAX))?;
        ours.set_read_timeout(Some(START_TAKES_MAX))?;
        Ok(ours)
    }

    /// An order is over and nothing had to be killed: its init can serve another.
    pub(crate) fn give_back(&mut self, lane: &'static str, init: UnixStream) {
        self.idle.push((lane, init));
    }

    fn send(&self, kind: Kind, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
        let shim = self.shim.as_ref().ok_or_else(|| io::Error::other("no shim"))?;
        wire::ask_for_init(&shim.socket, kind, fds)
    }

    fn start_shim(&self) -> io::Result<Shim> {
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        let named = self.cgroup.as_ref().map_or(Path::new(""), Cgroup::path);
        let register = self.register.as_ref().and_then(|path| register::sign(path, named).ok());
        let group = self.cgroup.as_ref().map_or(Path::new(NO_CGROUP), Cgroup::path);
        let mut command = std::process::Command::new(&self.program);
        // Whatever is started inherits from here.
        let tokens = std::env::vars_os().map(|(name, _)| name).filter(|name| name.to_str().is_some_and(is_token));
        tokens.for_each(|name| {
            command.env_remove(name);
        });
        command.arg0("loop").arg(SHIM).arg(group).arg(&self.run).env(MARK, mark(&self.run)).current_dir("/");
        command.stdin(theirs).stdout(register.map_or_else(Stdio::null, Stdio::from)).stderr(Stdio::null());
        let child = command.spawn()?;
        Ok(Shim { child, socket: ours })
    }

    /// Ends every process of the shim, by whatever still works: an init was killed. Returns what is still there.
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
                // Asked for by name: nothing else is allowed, and the next order fails.
                Err(_) if self.strict => {}
                Err(why) => {
                    self.remarks.push(format!("containment plain from now on: {why}"));
                    self.mode = Mode::Plain;
                }
            }
        }
        left
    }

    /// An order is over in whose lane a process had to be ended.
    pub(crate) fn spend(&mut self, lane: &'static str) {
        if let Some(cgroup) = &mut self.cgroup {
            cgroup.spend(lane);
        }
    }

    fn drop_shim(&mut self) {
        self.idle.clear();
        self.stops = 0;
        if let Some(mut shim) = self.shim.take() {
            end_shim(&mut shim.child);
        }
    }
}

/// Kills it and reaps it, unless a tracer prevents that.
fn end_shim(child: &mut Child) {
    child.kill().ok();
    ended_until(child, Instant::now() + DYING_TAKES_MAX);
}

/// The first line of an init, and what came after it.
fn first_report(from: &mut UnixStream) -> io::Result<(Report, Vec<u8>)> {
    next_report(from, Vec::new())
}

/// The next line of an init after what was received already, and what came after it.
fn next_report(from: &mut UnixStream, mut received: Vec<u8>) -> io::Result<(Report, Vec<u8>)> {
    let mut bytes = [0_u8; 1024];
    loop {
        if let Some(end) = received.iter().position(|byte| *byte == b'\n') {
            let rest = received.split_off(end + 1);
            return Ok((serde_json::from_slice(&received)?, rest));
        }
        match from.read(&mut bytes) {
            Ok(0) => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it sent nothing")),
            Ok(count) => received.extend_from_slice(&bytes[..count]),
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
        self.idle.clear();
        if let Some(Shim { mut child, socket }) = self.shim.take() {
            drop(socket);
            if !ended_until(&mut child, Instant::now() + GOING_TAKES_MAX) {
                end_shim(&mut child);
            }
        }
        let populated = self.cgroup.as_ref().is_some_and(|cgroup| cgroup::is_populated(cgroup.path()));
        self.cgroup = None;
        // As long as a process is left, the next command must be able to find it.
        if let Some(register) = self.register.as_ref().filter(|register| !populated && !is_supervised(register)) {
            std::fs::remove_file(register).ok();
        }
    }
}

/// Waits for a child, but not for ever.
fn ended_until(child: &mut Child, until: Instant) -> bool {
    let handle = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let handle = handle.and_then(|pid| rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok());
    let Some(handle) = handle else { return child.try_wait().is_ok_and(|ended| ended.is_some()) };
    loop {
        let most = until.saturating_duration_since(Instant::now());
        let most = rustix::event::Timespec {
            tv_sec: i64::try_from(most.as_secs()).unwrap_or(0),
            tv_nsec: most.subsec_nanos().into(),
        };
        let mut fds = [rustix::event::PollFd::new(&handle, rustix::event::PollFlags::IN)];
        rustix::event::poll(&mut fds, Some(&most)).ok();
        let ended = child.try_wait().is_ok_and(|ended| ended.is_some());
        if ended || Instant::now() >= until {
            return ended;
        }
    }
}

/// Whether the process is who it was.
pub(super) fn is_same(process: ProcessId) -> bool {
    identity(process.pid) == Some(process)
}
