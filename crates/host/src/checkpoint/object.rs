//! Git objects as bytes: what they are called and how trees and commits are written.
use std::fmt;

use sha1::{Digest, Sha1};

/// The name of an object: a hash of its kind, length and bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id([u8; 20]);

impl Id {
    /// From its bytes.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 20]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8; 20] {
        &self.0
    }

    /// The id of an object.
    #[must_use]
    pub fn of(kind: Kind, bytes: &[u8]) -> Self {
        let mut hash = Hasher::new(kind, u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        hash.update(bytes);
        hash.id()
    }

    /// From forty hexadecimal digits.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        if digits.len() != 40 {
            return None;
        }
        let mut bytes = [0; 20];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(Self(bytes))
    }
}

impl fmt::Display for Id {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(to, "{byte:02x}"))
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, to)
    }
}

/// Finds the id of an object that comes in pieces.
#[derive(Debug)]
pub(super) struct Hasher(Sha1);

impl Hasher {
    pub(super) fn new(kind: Kind, length: u64) -> Self {
        let mut hash = Sha1::new();
        hash.update(format!("{} {length}\0", kind.name()));
        Self(hash)
    }

    pub(super) fn update(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    pub(super) fn id(self) -> Id {
        Id(self.0.finalize().into())
    }
}

/// The kinds of object that we write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A checkpoint.
    Commit,
    /// A folder.
    Tree,
    /// A file, or where a link leads.
    Blob,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Tree => "tree",
            Self::Blob => "blob",
        }
    }

    /// Its number in a pack.
    pub(super) fn number(self) -> u8 {
        match self {
            Self::Commit => 1,
            Self::Tree => 2,
            Self::Blob => 3,
        }
    }

    pub(super) fn of_number(number: u8) -> Option<Self> {
        [Self::Commit, Self::Tree, Self::Blob].into_iter().find(|kind| kind.number() == number)
    }
}

/// One name in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    /// What git calls its mode: `100644`, `100755`, `120000` or `40000`.
    pub mode: u32,
    /// Its name: any bytes but NUL and `/`.
    pub name: Vec<u8>,
    /// What it is.
    pub id: Id,
}

/// The mode of a folder in a tree.
pub(super) const FOLDER: u32 = 0o40000;

/// A folder as an object. Git sorts folders as if their names ended with a slash.
#[must_use]
pub fn tree(mut entries: Vec<TreeEntry>) -> Vec<u8> {
    let key = |entry: &TreeEntry| {
        let mut key = entry.name.clone();
        if entry.mode == FOLDER {
            key.push(b'/');
        }
        key
    };
    entries.sort_by_cached_key(key);
    let mut bytes = Vec::new();
    for entry in entries {
        bytes.extend_from_slice(format!("{:o} ", entry.mode).as_bytes());
        bytes.extend_from_slice(&entry.name);
        bytes.push(0);
        bytes.extend_from_slice(entry.id.bytes());
    }
    bytes
}

/// The names in a folder's object; none if it is no such object.
#[must_use]
pub(super) fn read_tree(mut bytes: &[u8]) -> Option<Vec<TreeEntry>> {
    let mut entries = Vec::new();
    while !bytes.is_empty() {
        let space = bytes.iter().position(|byte| *byte == b' ')?;
        let mode = u32::from_str_radix(std::str::from_utf8(&bytes[..space]).ok()?, 8).ok()?;
        let rest = &bytes[space + 1..];
        let end = rest.iter().position(|byte| *byte == 0)?;
        let id = rest.get(end + 1..end + 21)?.try_into().ok()?;
        entries.push(TreeEntry { mode, name: rest[..end].to_vec(), id: Id::from_bytes(id) });
        bytes = &rest[end + 21..];
    }
    Some(entries)
}

/// A checkpoint as an object: who wrote it is always us, and when is when it was.
#[must_use]
pub fn commit(tree: Id, parent: Option<Id>, seconds: u64, words: &str) -> Vec<u8> {
    let parent = parent.map_or_else(String::new, |parent| format!("parent {parent}\n"));
    let by = format!("loop <loop@localhost> {seconds} +0000");
    format!("tree {tree}\n{parent}author {by}\ncommitter {by}\n\n{words}\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_of_git() {
        assert_eq!(Id::of(Kind::Blob, b"").to_string(), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
        assert_eq!(Id::of(Kind::Blob, b"hello\n").to_string(), "ce013625030ba8dba906f756967f9e9ca394464a");
        assert_eq!(Id::of(Kind::Tree, b"").to_string(), "4b825dc642cb6eb9a060e54bf8d69288fbee4904");
        let id = Id::of(Kind::Blob, b"x");
        assert_eq!(Id::parse(&id.to_string()), Some(id));
        assert_eq!(Id::parse("e69de29b"), None);
    }

    #[test]
    fn a_folder_is_read_back_sorted_as_git_sorts_it() {
        let id = Id::of(Kind::Blob, b"");
        let entry = |mode, name: &[u8]| TreeEntry { mode, name: name.to_vec(), id };
        let bytes =
            tree(vec![entry(0o100644, b"a0"), entry(FOLDER, b"a"), entry(0o100644, b"a."), entry(0o120000, b"\xff\n")]);
        let names: Vec<_> = read_tree(&bytes).unwrap_or_default().into_iter().map(|entry| entry.name).collect();
        assert_eq!(names, [&b"a."[..], b"a", b"a0", b"\xff\n"]);
        assert_eq!(read_tree(b"100644 cut"), None);
    }
}
