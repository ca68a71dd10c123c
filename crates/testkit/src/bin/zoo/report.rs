//! The folder in which escapees say who they are.
use std::fs;
use std::path::{Path, PathBuf};

use crate::sys;

/// The folder of one case.
#[derive(Debug, Clone)]
pub(crate) struct Folder {
    path: PathBuf,
}

impl Folder {
    pub(crate) fn new(path: &str) -> Self {
        Self { path: PathBuf::from(path) }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Says under which pid and since when we live, as the /proc that we see has it.
    pub(crate) fn report(&self) {
        let (pid, text) = identity();
        self.say(&pid, &text);
    }

    /// The same under a fixed name, for one who has a new pid each moment.
    pub(crate) fn report_as(&self, name: &str) {
        self.say(name, &identity().1);
    }

    /// A file that is there whole or not at all.
    pub(crate) fn say(&self, name: &str, text: &str) {
        let draft = self.path.join(format!(".{name}-{}", sys::own_pid()));
        if fs::write(&draft, text).is_ok() {
            fs::rename(&draft, self.path.join(name)).ok();
        }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.path.join(name).exists()
    }

    /// Whether everybody is to go: it was said, or the folder is gone.
    pub(crate) fn is_over(&self) -> bool {
        self.has("stop") || !self.path.exists()
    }

    /// How many have reported.
    pub(crate) fn reports(&self) -> usize {
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        names.filter(|name| name == "hopper" || name.parse::<i32>().is_ok()).count()
    }
}

/// Our pid in the namespace of /proc, which need not be our own, and `pid start`.
fn identity() -> (String, String) {
    let pid = fs::read_link("/proc/self").map(|path| path.to_string_lossy().into_owned()).unwrap_or_default();
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let start = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(19)).unwrap_or("0").to_owned();
    let text = format!("{pid} {start}\n");
    (pid, text)
}
