//! Two recorded trees, to read from: the one of the start and the last one.
use std::collections::BTreeSet;
use std::io::{self, Read};

use loop_core::policy::probe::{ChangedFile, TreeVersion};

use super::diff::{Content, ContentReader};
use super::git::store::{StoredEntry, StoredKind};
use super::recorded::{ContentSource, Recorded};

/// A longer text file is not looked into.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// Both trees, to read from.
#[derive(Debug)]
pub(crate) struct RecordedTrees<'a> {
    initial: &'a Recorded,
    last: &'a Recorded,
}

/// A file whose lines are searched.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ScannedText {
    /// What it says.
    Text(String),
    /// It is longer than wanted.
    TooLong,
    /// There is none.
    None,
}

impl<'a> RecordedTrees<'a> {
    pub(crate) fn new(initial: &'a Recorded, last: &'a Recorded) -> Self {
        Self { initial, last }
    }

    /// The paths of a tree that are UTF-8.
    pub(crate) fn files(&self, version: TreeVersion) -> impl Iterator<Item = &'a str> {
        let names = &self.recorded(version).checkpoint.names;
        let files = names.iter().filter(|(_, entry)| matches!(entry.what, StoredKind::File(_)));
        files.filter_map(|(path, _)| std::str::from_utf8(path).ok())
    }

    fn recorded(&self, version: TreeVersion) -> &'a Recorded {
        match version {
            TreeVersion::Initial => self.initial,
            TreeVersion::Last => self.last,
        }
    }

    pub(crate) fn entry(&self, version: TreeVersion, path: &[u8]) -> Option<&'a StoredEntry> {
        self.recorded(version).checkpoint.names.get(path)
    }

    pub(crate) fn bytes(&self, version: TreeVersion, path: &[u8], bytes_max: usize) -> io::Result<Option<Vec<u8>>> {
        let Some(StoredEntry { what: StoredKind::File(id), .. }) = self.entry(version, path) else { return Ok(None) };
        match self.recorded(version).source() {
            ContentSource::Store(store) => match ContentReader::read(store, id, bytes_max)? {
                Content::Whole(bytes) => Ok(Some(bytes)),
                Content::Beginning(_) => Ok(None),
            },
            ContentSource::Snapshot(snapshot) => {
                let mut bytes = Vec::new();
                let most = u64::try_from(bytes_max).unwrap_or(u64::MAX).saturating_add(1);
                snapshot.file(path)?.take(most).read_to_end(&mut bytes)?;
                Ok(Some(bytes).filter(|bytes| bytes.len() <= bytes_max))
            }
        }
    }

    pub(crate) fn text(&self, version: TreeVersion, path: &str) -> Option<String> {
        let bytes = self.bytes(version, path.as_bytes(), TEXT_BYTES_MAX).ok().flatten()?;
        String::from_utf8(bytes).ok()
    }

    /// The same for lines that are only searched: letters that are not UTF-8 are replaced. A file without an ending may
    /// be a program: then it is none.
    pub(crate) fn lossy_text(&self, version: TreeVersion, path: &str, bytes_max: usize) -> ScannedText {
        let is_file =
            matches!(self.entry(version, path.as_bytes()).map(|entry| &entry.what), Some(StoredKind::File(_)));
        let has_ending = path.rsplit('/').next().is_some_and(|name| name.contains('.'));
        match self.bytes(version, path.as_bytes(), bytes_max) {
            Ok(Some(bytes)) if has_ending || !bytes.contains(&0) => {
                ScannedText::Text(String::from_utf8_lossy(&bytes).into_owned())
            }
            Ok(None) if is_file && has_ending => ScannedText::TooLong,
            Ok(_) | Err(_) => ScannedText::None,
        }
    }

    /// The files and links that differ. A path that is not UTF-8 is left as it is.
    pub(crate) fn changed(&self) -> Vec<ChangedFile> {
        let (before, after) = (&self.initial.checkpoint.names, &self.last.checkpoint.names);
        let all: BTreeSet<&Vec<u8>> = before.keys().chain(after.keys()).collect();
        let mut changed = Vec::new();
        for path in all {
            let [was, is] =
                [before.get(path), after.get(path)].map(|entry| entry.filter(|entry| entry.what != StoredKind::Folder));
            let Ok(name) = String::from_utf8(path.clone()) else { continue };
            if was != is {
                changed.push(ChangedFile { path: name, was_there: was.is_some(), is_there: is.is_some() });
            }
        }
        changed
    }
}
