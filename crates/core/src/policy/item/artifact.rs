//! Whether one artifact counts: it is a file, not a link; it is newer than the loop; its time is not in the future.
use serde::{Deserialize, Serialize};

use super::evidence::{ArtifactKind, ArtifactOnDisk, ItemArtifact, LoopEvidence};

/// A file may be so much ahead of the clock: file servers have clocks of their own.
pub const ARTIFACT_AHEAD_MS: u64 = 2_000;
/// So many paths are taken from notes, each not longer than this.
const NOTED_PATHS_MAX: usize = 40;
const NOTED_PATH_BYTES_MAX: usize = 200;

/// Why an artifact does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArtifactFault {
    /// It does not exist.
    Absent,
    /// It is a link, or a link leads to it.
    Link,
    /// It is something else than a file.
    NotAFile,
    /// It is not in the workspace.
    Outside,
    /// It cannot be read.
    Unreadable,
    /// It has no bytes.
    Empty,
    /// It was written before the loop began.
    Old,
    /// Its time is in the future.
    Future,
    /// It has a new time and its old bytes, and no check wrote it.
    OnlyNewTime,
    /// Neither the log nor the notes name it.
    NotReferenced,
}

impl ArtifactFault {
    /// The fault as a part of a sentence.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Absent => "does not exist",
            Self::Link => "is a link, not a file",
            Self::NotAFile => "is not a regular file",
            Self::Outside => "is not in the workspace",
            Self::Unreadable => "cannot be read",
            Self::Empty => "is empty",
            Self::Old => "is older than the loop",
            Self::Future => "has a time in the future",
            Self::OnlyNewTime => "has a new time, but the bytes from before the loop",
            Self::NotReferenced => "is named neither in the log nor in the notes",
        }
    }
}

/// Why an artifact does not count; none where it does.
#[must_use]
pub fn artifact_fault(artifact: &ItemArtifact, of: &LoopEvidence) -> Option<ArtifactFault> {
    let (modified_ms, bytes) = match &artifact.now {
        ArtifactOnDisk::Absent => return Some(ArtifactFault::Absent),
        ArtifactOnDisk::Link => return Some(ArtifactFault::Link),
        ArtifactOnDisk::NotAFile => return Some(ArtifactFault::NotAFile),
        ArtifactOnDisk::Outside => return Some(ArtifactFault::Outside),
        ArtifactOnDisk::Unreadable(_) => return Some(ArtifactFault::Unreadable),
        ArtifactOnDisk::File { modified_ms, bytes } => (*modified_ms, *bytes),
    };
    let is_named = artifact.kind == ArtifactKind::Named;
    match () {
        () if bytes == 0 => Some(ArtifactFault::Empty),
        () if modified_ms <= of.began_ms => Some(ArtifactFault::Old),
        () if modified_ms > of.seen_ms.saturating_add(ARTIFACT_AHEAD_MS) => Some(ArtifactFault::Future),
        () if is_named && artifact.same_bytes && modified_ms < of.checks_began_ms => Some(ArtifactFault::OnlyNewTime),
        () if !artifact.referenced => Some(ArtifactFault::NotReferenced),
        () => None,
    }
}

/// What looks like a path in notes of an agent: words with a slash, or with an ending as files have it. Addresses of the
/// web and words with other signs are none.
#[must_use]
pub fn paths_in_notes(notes: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for word in notes.split(|sign: char| sign.is_whitespace() || "`'\"()<>,;".contains(sign)) {
        let word = word.trim_end_matches(['.', ':', '!', '?']).trim_start_matches("./");
        let is_short = !word.is_empty() && word.len() <= NOTED_PATH_BYTES_MAX;
        if is_short && looks_like_path(word) && !found.iter().any(|known| known == word) {
            found.push(word.to_owned());
        }
        if found.len() >= NOTED_PATHS_MAX {
            break;
        }
    }
    found
}

fn looks_like_path(word: &str) -> bool {
    let is_usual = |sign: char| sign.is_alphanumeric() || "._-/+@[]".contains(sign);
    let Some((_, ending)) = word.rsplit_once('.') else { return false };
    let is_ending = (1..=8).contains(&ending.len())
        && ending.chars().all(|sign| sign.is_ascii_alphanumeric())
        && ending.starts_with(|sign: char| sign.is_ascii_alphabetic());
    let name = word.rsplit('/').next().unwrap_or(word);
    // A sentence has `e.g` and `i.e`; a file has more before its ending.
    let is_abbreviation = name.len() <= 3 && !word.contains('/');
    is_ending && !is_abbreviation && word.chars().all(is_usual) && !word.starts_with("www.")
}
