//! What a conflict is: a path, why both versions cannot be kept, and both versions.
use loop_core::text;

use crate::checkpoint::{Id, StoredEntry, StoredKind};

/// Why two versions cannot be one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConflictKind {
    /// Both changed the same lines of a text.
    BothChanged,
    /// One side changed or renamed it, the other one deleted it.
    ChangedAndDeleted,
    /// Both sides have something new under this name, and it is not the same.
    BothAdded,
    /// One side has a file or a link, the other one a folder.
    FileAgainstFolder,
    /// Both changed its permissions, differently.
    Mode,
    /// Both changed where a link leads, or one side made a link of it.
    Link,
    /// Both changed a file that is not text.
    Binary,
    /// Both changed a file that is too large to compare line by line.
    TooLarge,
    /// Both renamed it, to two names.
    RenamedTwice,
    /// Both changed which names are one file, or names that are one file would get two contents.
    HardLinks,
    /// Both changed the own files of a nested repository.
    NestedRepository,
    /// One side changed it, and the checkpoint of the other side could not hold it.
    NotRecorded,
    /// Something is in the workspace under this name that belongs to no checkpoint, such as an ignored file.
    InTheWay,
}

impl ConflictKind {
    /// For programs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::BothChanged => "both_changed",
            Self::ChangedAndDeleted => "changed_and_deleted",
            Self::BothAdded => "both_added",
            Self::FileAgainstFolder => "file_against_folder",
            Self::Mode => "mode",
            Self::Link => "link",
            Self::Binary => "binary",
            Self::TooLarge => "too_large",
            Self::RenamedTwice => "renamed_twice",
            Self::HardLinks => "hard_links",
            Self::NestedRepository => "nested_repository",
            Self::NotRecorded => "not_recorded",
            Self::InTheWay => "in_the_way",
        }
    }

    /// For people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::BothChanged => "both changed the same lines",
            Self::ChangedAndDeleted => "one side changed it, the other one deleted it",
            Self::BothAdded => "both added it, with different contents",
            Self::FileAgainstFolder => "a file on one side, a folder on the other one",
            Self::Mode => "both changed its permissions",
            Self::Link => "both changed it, and on one side it is a link",
            Self::Binary => "both changed it, and it is not text",
            Self::TooLarge => "both changed it, and it is too large to compare",
            Self::RenamedTwice => "both renamed it, to different names",
            Self::HardLinks => "both changed which names are one file",
            Self::NestedRepository => "both changed the git data of this nested repository",
            Self::NotRecorded => "one side changed it, and the other side's checkpoint does not hold it",
            Self::InTheWay => "something that no checkpoint holds has this name in the workspace",
        }
    }
}

/// What one side has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConflictSide {
    /// Its path on this side, which differs where it was renamed.
    pub path: Vec<u8>,
    /// What it is there.
    pub entry: StoredEntry,
}

impl ConflictSide {
    /// The content of a file.
    #[must_use]
    pub fn content(&self) -> Option<Id> {
        if let StoredKind::File(id) = self.entry.what { Some(id) } else { None }
    }
}

/// A path that both sides changed so that not both can be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The path.
    pub path: Vec<u8>,
    /// Why.
    pub kind: ConflictKind,
    /// What our side has; none where it has nothing there.
    pub ours: Option<ConflictSide>,
    /// What the other side has.
    pub theirs: Option<ConflictSide>,
}

impl Conflict {
    /// `src/a.rs: both changed the same lines`.
    #[must_use]
    pub fn words(&self) -> String {
        format!("{}: {}", text::escape_path(&self.path), self.kind.words())
    }
}
