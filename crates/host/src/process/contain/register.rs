//! The register of a run: a file beside its control socket that its shim and inits hold locked. The lock is free
//! when none of them is alive. The file names the run's control group.
use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use super::cgroup;

/// Writes the group into it, and takes the lock; processes that inherit the file hold it too.
pub(super) fn sign(path: &Path, group: &Path) -> io::Result<File> {
    let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(group.as_os_str().as_encoded_bytes())?;
    // Inits of a shim that was killed may hold it still.
    flock(&file, FlockOperation::NonBlockingLockExclusive).ok();
    Ok(file)
}

/// Whether a shim or init of the run with this register is alive.
#[must_use]
pub fn is_supervised(register: &Path) -> bool {
    let file = OpenOptions::new().read(true).write(true).open(register);
    file.is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockExclusive).is_err())
}

/// The group in a register that a killed harness left, once its shim and inits are gone.
pub(crate) fn wait_for_supervisors(register: &Path, most: Duration) -> Option<PathBuf> {
    let mut file = OpenOptions::new().read(true).write(true).open(register).ok()?;
    let until = Instant::now() + most;
    while flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut path = Vec::new();
    file.read_to_end(&mut path).ok()?;
    (!path.is_empty()).then(|| PathBuf::from(OsString::from_vec(path)))
}

/// Ends every process that is left in the group of an unsupervised run, and returns how many they were.
pub(crate) fn end_group(group: &Path, run: &str) -> u32 {
    // Only a group of that run, whatever the register contains.
    let ours = group.file_name().is_some_and(|name| name == OsStr::new(&format!("loop-{run}")));
    if ours { cgroup::end(group) } else { 0 }
}
