//! The state and configuration folders of this user, private to them; reading and writing single files.
use std::ffi::OsString;
use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use loop_core::text;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use thiserror::Error;

/// The folders of one user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    /// Runs, index and checkpoints.
    pub state: PathBuf,
    /// The user's own settings.
    pub config: PathBuf,
}

/// Why the folders cannot be used.
#[derive(Debug, Error)]
pub enum HomeError {
    /// No variable names a home folder.
    #[error("neither LOOP_HOME, XDG_STATE_HOME nor HOME is set to an absolute path")]
    Homeless,
    /// A relative path would name another folder for every caller.
    #[error("LOOP_HOME is not an absolute path")]
    Relative,
    /// Another user could have written to it.
    #[error("{} is not a private folder of yours: {why}", path.display())]
    NotPrivate {
        /// The folder.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// It cannot be created or read.
    #[error("cannot make or read {}", path.display())]
    Io {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl Home {
    /// Finds the folders by the environment; creates nothing.
    ///
    /// # Errors
    /// When no variable names a home folder.
    pub fn find(lookup: impl Fn(&str) -> Option<OsString>) -> Result<Self, HomeError> {
        let absolute = |name: &str| lookup(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let under_home = |rest: &str| absolute("HOME").map(|home| home.join(rest));
        // A relative LOOP_HOME would name another folder for every caller.
        let own = lookup("LOOP_HOME").filter(|path| !path.is_empty()).map(PathBuf::from);
        if own.as_ref().is_some_and(|path| !path.is_absolute()) {
            return Err(HomeError::Relative);
        }
        let config = absolute("XDG_CONFIG_HOME").or_else(|| under_home(".config")).map(|path| path.join("loop"));
        if let Some(own) = own {
            let config = config.unwrap_or_else(|| own.join("config"));
            return Ok(Self { state: own, config });
        }
        let state = absolute("XDG_STATE_HOME").or_else(|| under_home(".local/state")).ok_or(HomeError::Homeless)?;
        Ok(Self { state: state.join("loop"), config: config.ok_or(HomeError::Homeless)? })
    }

    /// The folder of the stores of checkpoints.
    #[must_use]
    pub fn checkpoints(&self) -> PathBuf {
        self.state.join("checkpoints")
    }

    /// The folder of copies of checkpoints, which last no longer than the process that made them.
    #[must_use]
    pub fn copies(&self) -> PathBuf {
        self.state.join("copies")
    }

    /// The folder of the runs.
    #[must_use]
    pub fn runs(&self) -> PathBuf {
        self.state.join("runs")
    }

    /// The folder of the plans.
    #[must_use]
    pub fn plans(&self) -> PathBuf {
        self.state.join("plans")
    }

    /// The folder of the copies that the runs of plans work in. They stay until their plan has ended.
    #[must_use]
    pub fn plan_copies(&self) -> PathBuf {
        self.state.join("plan-copies")
    }

    /// Creates the state folder, or checks the one that is there: only this user may write to it.
    ///
    /// # Errors
    /// When it cannot be created, or is not private.
    pub fn make(&self) -> Result<(), HomeError> {
        let runs = self.runs();
        let error = |path: &Path| {
            let path = path.to_owned();
            move |source| HomeError::Io { path, source }
        };
        let plans = self.plans();
        for path in [&runs, &plans] {
            DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(error(path))?;
        }
        for path in [&self.state, &runs, &plans] {
            let found = fs::metadata(path).map_err(error(path))?;
            let refuse = |why: &str| HomeError::NotPrivate { path: path.clone(), why: why.to_owned() };
            if found.uid() != rustix::process::geteuid().as_raw() {
                return Err(refuse("it belongs to another user"));
            }
            if found.mode() & 0o022 != 0 {
                return Err(refuse("others may write to it; chmod 700 it if you trust what is in there"));
            }
            if found.mode() & 0o077 != 0 {
                fs::set_permissions(path, Permissions::from_mode(0o700)).map_err(error(path))?;
            }
        }
        Ok(())
    }
}

/// The user's home folder, which must not be a workspace.
#[must_use]
pub fn user_home() -> Option<PathBuf> {
    std::env::var_os("HOME").map(PathBuf::from)
}

/// A path that a person wrote, with `~/` as their home folder.
#[must_use]
pub fn from_home(text: &str) -> PathBuf {
    match (text.strip_prefix("~/"), user_home()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(text),
    }
}

/// The path of the control socket of a run: in the runtime folder, or in the state folder where there is no runtime
/// folder or LOOP_HOME is set.
#[must_use]
pub fn socket_of(state: &Path, run: &str) -> PathBuf {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    let own = std::env::var_os("LOOP_HOME").is_some_and(|path| !path.is_empty());
    let runtime = runtime.filter(|path| !own && path.is_dir()).map(|path| path.join("loop"));
    let folder = runtime.filter(|path| is_private(path)).unwrap_or_else(|| state.join("run"));
    folder.join(format!("{run}.sock"))
}

/// Whether this is, or can be created as, a folder that only this user can use.
fn is_private(path: &Path) -> bool {
    DirBuilder::new().mode(0o700).create(path).ok();
    let ours = |found: &fs::Metadata| found.is_dir() && found.uid() == rustix::process::geteuid().as_raw();
    path.symlink_metadata().is_ok_and(|found| ours(&found) && found.mode() & 0o077 == 0)
}

/// Whether a folder is the top of a repository: `.git` is a file, or a folder with a HEAD. An empty one is none; some
/// agents leave such folders where they were ended.
#[must_use]
pub fn is_git_top(folder: &Path) -> bool {
    let git = folder.join(".git");
    git.is_file() || git.join("HEAD").exists()
}

/// The path that a text of [`text::escape_path`] names.
#[must_use]
pub fn path_of(text: &str) -> PathBuf {
    PathBuf::from(OsString::from_vec(text::unescape_path(text)))
}

/// A path as a text that [`path_of`] turns back.
#[must_use]
pub fn text_of(path: &Path) -> String {
    text::escape_path(path.as_os_str().as_bytes())
}

/// Where programs are looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchPath {
    /// The absolute entries of the caller's PATH.
    pub value: OsString,
    /// How many entries are left out: relative and empty ones mean another folder in every folder, such as one of the
    /// workspace.
    pub left_out: usize,
}

/// Where programs stand if PATH names no place at all.
const USUAL_PATH: &str = "/usr/bin:/bin";

/// The caller's PATH without its relative and empty entries; none where there is none.
#[must_use]
pub fn search_path() -> Option<SearchPath> {
    let path = std::env::var_os("PATH")?;
    let (absolute, relative): (Vec<PathBuf>, Vec<PathBuf>) =
        std::env::split_paths(&path).partition(|folder| folder.is_absolute());
    let value = std::env::join_paths(absolute).ok().filter(|value| !value.is_empty());
    Some(SearchPath { value: value.unwrap_or_else(|| USUAL_PATH.into()), left_out: relative.len() })
}

/// What is said about entries of PATH that are left out.
#[must_use]
pub fn relative_entries(count: usize) -> String {
    format!("relative entries of PATH are not used for gates ({count}): they would lead to files of the workspace")
}

/// The program of that name on the caller's PATH. Relative entries are not looked into.
#[must_use]
pub fn program_on_path(name: &str) -> Option<PathBuf> {
    programs_on_path(name).into_iter().next()
}

/// All programs of that name on the caller's PATH, the first first. Relative entries are not looked into.
#[must_use]
pub fn programs_on_path(name: &str) -> Vec<PathBuf> {
    let Some(search) = search_path() else { return Vec::new() };
    std::env::split_paths(&search.value).map(|folder| folder.join(name)).filter(|file| is_program(file)).collect()
}

fn is_program(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|found| found.is_file() && found.mode() & 0o111 != 0)
}

/// The shell that runs gates, commands and notifications: never one of the workspace. `/bin/sh`, or where a system has
/// none, the first on PATH outside of this folder.
#[must_use]
pub fn shell(workspace: &Path) -> PathBuf {
    let usual = PathBuf::from("/bin/sh");
    if is_program(&usual) {
        return usual;
    }
    let inside = workspace.canonicalize().unwrap_or_else(|_| workspace.to_owned());
    let is_outside =
        |file: &PathBuf| inside.parent().is_none() || file.canonicalize().is_ok_and(|file| !file.starts_with(&inside));
    let folders = search_path().map(|search| search.value).unwrap_or_else(|| USUAL_PATH.into());
    let mut found = std::env::split_paths(&folders).map(|folder| folder.join("sh"));
    found.find(|file| is_program(file) && !file.starts_with(workspace) && is_outside(file)).unwrap_or(usual)
}

/// Whether we are root.
#[must_use]
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// How long a pipe may have no writer.
const WRITER_WITHIN: Duration = Duration::from_secs(5);

/// Reads a file, at most so many bytes. A pipe is read to its end however slowly it is written, but a pipe without a
/// writer is not waited for.
///
/// # Errors
/// When it cannot be read, or has no writer.
pub fn read_bounded(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path)?;
    if !file.metadata()?.file_type().is_fifo() {
        rustix::io::ioctl_fionbio(&file, false).ok();
        file.take(bytes_max).read_to_end(&mut bytes)?;
        return Ok(bytes);
    }
    let within = Timespec { tv_sec: WRITER_WITHIN.as_secs().cast_signed(), tv_nsec: 0 };
    let mut writer_came = false;
    let mut file = file.take(bytes_max);
    loop {
        match file.read_to_end(&mut bytes) {
            Ok(0) if !writer_came && bytes.is_empty() => {}
            Ok(_) => return Ok(bytes),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => writer_came = true,
            Err(error) => return Err(error),
        }
        let mut fds = [PollFd::new(file.get_ref(), PollFlags::IN)];
        if poll(&mut fds, (!writer_came).then_some(&within))? == 0 {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "it is a pipe, and no program writes into it"));
        }
        writer_came = true;
    }
}

/// Writes a file completely or not at all, also over a power cut. A link is followed; the file that it names stays where
/// it is and keeps its mode.
///
/// # Errors
/// When it cannot be written, or is not a plain file.
pub fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    let target = if path.symlink_metadata().is_ok() { path.canonicalize()? } else { path.to_owned() };
    let found = target.symlink_metadata().ok();
    if found.as_ref().is_some_and(|found| !found.is_file()) {
        return Err(io::Error::other("it is not a plain file"));
    }
    let mut beside = target.clone().into_os_string();
    beside.push(format!(".{}.new", crate::fs::fresh_id()?));
    let mut file = OpenOptions::new().write(true).create_new(true).open(&beside)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| {
        if let Some(found) = found {
            file.set_permissions(found.permissions())?;
        }
        file.sync_data()?;
        fs::rename(&beside, &target)
    });
    if written.is_err() {
        fs::remove_file(&beside).ok();
    }
    written?;
    let folder = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    crate::fs::sync_folder(folder)
}

/// Whether a file could be written there by [`write_whole`]; creates nothing.
///
/// # Errors
/// Why not.
pub fn can_write(path: &Path) -> io::Result<()> {
    let target = if path.symlink_metadata().is_ok() { path.canonicalize()? } else { path.to_owned() };
    if target.symlink_metadata().is_ok_and(|found| !found.is_file()) {
        return Err(io::Error::other("it is not a plain file"));
    }
    let folder = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).map_err(Into::into)
}
