//! What comes from around a run while it works: files of the inbox, variables of the harness, files that others
//! changed. The host reports it; here is what is remembered of it.
use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::event::{Change, Injected};
use super::fact::PromptNote;

/// How many changed paths one report, and one prompt, names. The rest is a number.
pub const FILE_EVENTS_MAX: usize = 50;
/// How often urgent texts end the agent in one iteration. A further one waits for the next iteration: otherwise an agent
/// that writes such texts would get any number of calls.
pub const URGENT_INTERRUPTIONS_MAX: u32 = 3;
/// How many changes of variables one prompt names.
const ENV_CHANGES_MAX: usize = 8;
/// How many taken files are remembered. Only a file whose move a crash prevented is looked up, and one turn takes
/// fewer.
const TAKEN_MAX: usize = 64;

/// Something around the run changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AroundEvent {
    /// A file of the inbox is taken. It is moved after this is recorded.
    Inbox {
        /// Which file.
        file: InboxFile,
        /// What it means.
        effect: InboxEffect,
    },
    /// Variables of the harness have other values.
    Environment {
        /// Which, a bounded number.
        changes: Vec<EnvChange>,
        /// The settings that follow from it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        set: Vec<Change>,
        /// Whether the run is to pause (true), or to continue (false).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pause: Option<bool>,
        /// Where the new values come from.
        by: String,
    },
    /// Others changed files.
    Files(FilesChanged),
}

/// A file of the inbox, as it is known again after a crash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InboxFile {
    /// Its name in the inbox.
    pub name: String,
    /// Its number in the file system.
    pub inode: u64,
    /// When it was changed last, in nanoseconds.
    pub modified_ns: u64,
    /// How long it is.
    pub bytes: u64,
    /// The hash of its content.
    pub sha256: String,
    /// It came while the agent or a gate worked: one of them could have written it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_work: bool,
}

/// What a file of the inbox means.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InboxEffect {
    /// A text for the next prompt.
    Text(Injected),
    /// A text that begins the next prompt; the running agent is ended.
    Urgent(Injected),
    /// Hold after this iteration.
    Pause,
    /// Go on.
    Resume,
    /// Show how the run is.
    Status,
    /// Nothing follows from it.
    Ignored {
        /// Why.
        why: String,
    },
}

/// A variable of the harness that has another value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvChange {
    /// Its name.
    pub name: String,
    /// The value before; none where it was not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<String>,
    /// The value now; none where it is not set any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new: Option<String>,
}

/// Files that others changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilesChanged {
    /// The first of them, at most [`FILE_EVENTS_MAX`].
    pub events: Vec<FileEvent>,
    /// How many more there are.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u32,
    /// Why some may be missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// One change of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEvent {
    /// What happened to it.
    #[serde(rename = "type")]
    pub kind: FileEventKind,
    /// Its path from the workspace, escaped.
    pub path: String,
    /// Its path before it was moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// When it was seen, in milliseconds since 1970.
    pub at_ms: u64,
}

/// What can happen to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileEventKind {
    /// It is new.
    Created,
    /// It has another content, or other permissions.
    Modified,
    /// It is gone.
    Deleted,
    /// It has another name.
    Moved,
}

impl FileEventKind {
    /// Its word for people and prompts.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Modified => "modified",
            Self::Deleted => "deleted",
            Self::Moved => "moved",
        }
    }
}

impl FilesChanged {
    /// Whether there is nothing to say.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.events.is_empty() && self.more == 0 && self.lost.is_none()
    }

    /// Adds what came later. A path has one entry, at its last place.
    pub fn add(&mut self, newer: &Self) {
        for event in &newer.events {
            if let Some(known) = self.events.iter().position(|known| known.path == event.path) {
                self.events.remove(known);
            }
            if self.events.len() < FILE_EVENTS_MAX {
                self.events.push(event.clone());
            } else {
                self.more = self.more.saturating_add(1);
            }
        }
        self.more = self.more.saturating_add(newer.more);
        self.lost = newer.lost.clone().or_else(|| self.lost.take());
    }

    fn take(&mut self) -> Self {
        std::mem::take(self)
    }
}

/// What is remembered of the surroundings of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// Variables of the harness, as they were seen last.
    variables: BTreeMap<String, String>,
    /// Taken files, the newest last.
    taken: VecDeque<InboxFile>,
    waiting: News,
    /// What the prompt of this iteration has said: another attempt of it gets the same.
    given: News,
    /// How often urgent texts ended the agent in this iteration.
    urgent_interruptions: u32,
}

/// What a prompt says of the surroundings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct News {
    files: FilesChanged,
    variables: Vec<EnvChange>,
}

impl News {
    fn add(&mut self, newer: Self) {
        self.files.add(&newer.files);
        for change in newer.variables {
            self.variable(change);
        }
    }

    /// A variable that changed twice has one entry: from the first value to the last.
    fn variable(&mut self, change: EnvChange) {
        let known = self.variables.iter().position(|known| known.name == change.name);
        let old = match known {
            Some(at) => self.variables.remove(at).old,
            None => change.old.clone(),
        };
        if old != change.new && self.variables.len() < ENV_CHANGES_MAX {
            self.variables.push(EnvChange { old, ..change });
        }
    }
}

impl Surroundings {
    /// The value of a variable of the harness, as it was seen last.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// Whether this file was taken already.
    #[must_use]
    pub fn has_taken(&self, file: &InboxFile) -> bool {
        self.taken.iter().any(|known| {
            known.name == file.name
                && known.inode == file.inode
                && known.modified_ns == file.modified_ns
                && known.sha256 == file.sha256
        })
    }

    /// What the next prompt says.
    pub(super) fn notes(&self) -> Vec<PromptNote> {
        let mut news = self.given.clone();
        news.add(self.waiting.clone());
        let mut notes = Vec::new();
        if !news.variables.is_empty() {
            notes.push(PromptNote::EnvironmentChanged { changes: news.variables });
        }
        if !news.files.is_nothing() {
            notes.push(PromptNote::FilesChanged(news.files));
        }
        notes
    }

    /// Whether another urgent text may end the agent in this iteration.
    pub(super) fn may_interrupt(&self) -> bool {
        self.urgent_interruptions < URGENT_INTERRUPTIONS_MAX
    }

    pub(super) fn agent_interrupted(&mut self) {
        self.urgent_interruptions = self.urgent_interruptions.saturating_add(1);
    }

    pub(super) fn took(&mut self, file: &InboxFile) {
        if self.taken.len() == TAKEN_MAX {
            self.taken.pop_front();
        }
        self.taken.push_back(file.clone());
    }

    pub(super) fn changed(&mut self, changes: &[EnvChange]) {
        for change in changes {
            match &change.new {
                Some(new) => self.variables.insert(change.name.clone(), new.clone()),
                None => self.variables.remove(&change.name),
            };
            self.waiting.variable(change.clone());
        }
    }

    pub(super) fn files(&mut self, files: &FilesChanged) {
        self.waiting.files.add(files);
    }

    pub(super) fn attempt_begins(&mut self, first: bool) {
        if first {
            self.urgent_interruptions = 0;
        }
        let files = self.waiting.files.take();
        let variables = std::mem::take(&mut self.waiting.variables);
        self.given.add(News { files, variables });
    }

    pub(super) fn iteration_ended(&mut self) {
        self.given = News::default();
    }
}
