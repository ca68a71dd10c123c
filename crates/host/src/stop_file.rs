//! The stop file: a word in a file ends a run. Off unless a setting names it.
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use loop_core::run::{Event, Notice, Request};
use loop_core::text;
use rustix::fs::OFlags;

use crate::paths::{path_of, text_of};

/// How often it is looked for: well within the second that is promised.
const LOOK_EVERY: Duration = Duration::from_millis(400);
/// Longest word, in bytes; a longer text is not read as a word.
const WORD_BYTES_MAX: u64 = 64;

/// A stop file that is watched.
#[derive(Debug)]
pub struct StopFile {
    path: PathBuf,
    look_at: Instant,
    reported: Option<String>,
}

/// What a stop file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopWord {
    /// End after the work under way. The file was taken away, as far as that was possible.
    Stop {
        /// Who asks, for people.
        by: String,
    },
    /// End now.
    Abort {
        /// Who asks, for people.
        by: String,
    },
    /// Something else, for people. It is left.
    Other(String),
}

impl StopFile {
    /// Watches a file; a relative path counts from the workspace.
    #[must_use]
    pub fn new(workspace: &Path, setting: &str) -> Self {
        Self { path: workspace.join(path_of(setting)), look_at: Instant::now(), reported: None }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether something is there.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.path.symlink_metadata().is_ok()
    }

    /// Takes it away.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn clear(&self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }

    /// When it must be checked next.
    #[must_use]
    pub fn wakes_in(&self, now: Instant) -> Duration {
        self.look_at.saturating_duration_since(now)
    }

    /// The same as an event of a run.
    pub fn look(&mut self, now: Instant) -> Option<Event> {
        Some(match self.found(now)? {
            StopWord::Stop { by } => Event::Requested { request: Request::Stop, by },
            StopWord::Abort { by } => Event::Requested { request: Request::Abort, by },
            StopWord::Other(text) => Event::Noticed(Notice::Message { text }),
        })
    }

    /// Looks, if it is time. An obeyed file is taken away; another content is reported once and left.
    pub fn found(&mut self, now: Instant) -> Option<StopWord> {
        if now < self.look_at {
            return None;
        }
        self.look_at = now + LOOK_EVERY;
        let word = match self.word() {
            Ok(word) => word?,
            Err(what) => what.to_owned(),
        };
        if self.reported.as_ref() == Some(&word) {
            return None;
        }
        let at_once = match word.trim() {
            "stop" => false,
            "abort" => true,
            other => {
                let said =
                    format!("{} says {:?}, which is neither stop nor abort", self.named(), text::one_line(other, 40));
                self.reported = Some(word);
                return Some(StopWord::Other(said));
            }
        };
        let by = match self.clear() {
            Ok(()) => "the stop file".to_owned(),
            Err(error) => {
                // Obeyed once all the same.
                self.reported = Some(word);
                format!("the stop file, which cannot be removed ({error})")
            }
        };
        Some(if at_once { StopWord::Abort { by } } else { StopWord::Stop { by } })
    }

    fn named(&self) -> String {
        text_of(&self.path)
    }

    /// Its content, if something is there; a link is not followed.
    fn word(&self) -> Result<Option<String>, &'static str> {
        let Ok(found) = self.path.symlink_metadata() else { return Ok(None) };
        if !found.is_file() {
            return Err("nothing: it is not a plain file");
        }
        if found.len() == 0 {
            return Ok(None); // Being written.
        }
        let mut bytes = Vec::new();
        // A pipe or a link that is put there meanwhile is neither waited for nor followed.
        let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
        let file = fs::File::options().read(true).custom_flags(flags).open(&self.path);
        let read = file.and_then(|file| file.take(WORD_BYTES_MAX).read_to_end(&mut bytes));
        read.map(|_| Some(String::from_utf8_lossy(&bytes).into_owned())).map_err(|_| "nothing: it cannot be read")
    }
}
