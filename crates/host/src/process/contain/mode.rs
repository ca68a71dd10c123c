//! The modes of containment, what each of them cannot catch, and whether it works on this machine.
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;

use super::{Command, Containment, Report, START_TAKES_MAX, next_report};

/// How a run's processes are contained.
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

    pub(super) fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == word)
    }

    /// What gets away from it, for people.
    #[must_use]
    pub fn misses(self) -> &'static str {
        match self {
            Self::Cgroup => {
                "only, as root, what has left its group and cleared its environment, if loop, its shim and its init are all \
                 killed with SIGKILL"
            }
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

/// Whether each mode is available here, by trying it; else why not.
///
/// # Errors
/// Why not, for people.
pub fn try_out(mode: Mode) -> Result<(), String> {
    let name = format!("try-{}", std::process::id());
    let tried = || -> io::Result<()> {
        let mut containment = Containment::new(&name, mode.name(), None)?;
        let nothing = File::options().read(true).write(true).open("/dev/null")?;
        let argv = vec!["true".into()];
        let command = Command {
            file: PathBuf::from("true"),
            argv,
            folder: PathBuf::from("/"),
            same: None,
            clear: false,
            env: Vec::new(),
        };
        let mut begun = containment.begin("try", [nothing.as_fd(), nothing.as_fd(), nothing.as_fd()], &command)?;
        begun.order.set_nonblocking(false)?;
        begun.order.set_read_timeout(Some(START_TAKES_MAX))?;
        loop {
            let (report, rest) = next_report(&mut begun.order, begun.received)?;
            begun.received = rest;
            if report == Report::Gone {
                return Ok(());
            }
        }
    };
    tried().map_err(|error| error.to_string())
}
