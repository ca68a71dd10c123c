//! Git objects as bytes: their ids, and how trees and commits are written.
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
    pub fn of(kind: ObjectKind, bytes: &[u8]) -> Self {
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
pub(in crate::checkpoint) struct Hasher(Sha1);

impl Hasher {
    pub(in crate::checkpoint) fn new(kind: ObjectKind, length: u64) -> Self {
        let mut hash = Sha1::new();
        hash.update(format!("{} {length}\0", kind.name()));
        Self(hash)
    }

    pub(in crate::checkpoint) fn update(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    pub(in crate::checkpoint) fn id(self) -> Id {
        Id(self.0.finalize().into())
    }
}

/// The kinds of object that we write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectKind {
    /// A checkpoint.
    Commit,
    /// A folder.
    Tree,
    /// A file, or where a link leads.
    Blob,
}

impl ObjectKind {
    pub(in crate::checkpoint) fn name(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Tree => "tree",
            Self::Blob => "blob",
        }
    }

    /// Its number in a pack.
    pub(in crate::checkpoint) fn number(self) -> u8 {
        match self {
            Self::Commit => 1,
            Self::Tree => 2,
            Self::Blob => 3,
        }
    }

    pub(in crate::checkpoint) fn of_number(number: u8) -> Option<Self> {
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
pub(in crate::checkpoint) const FOLDER: u32 = 0o40000;
/// The modes of the others.
pub(in crate::checkpoint) const LINK: u32 = 0o120_000;
pub(in crate::checkpoint) const PROGRAM: u32 = 0o100_755;
pub(in crate::checkpoint) const FILE: u32 = 0o100_644;

/// A folder as an object. Git sorts folders as if their names ended with a slash.
#[must_use]
pub fn tree(mut entries: Vec<TreeEntry>) -> Vec<u8> {
    entries.sort_unstable_by(|one, other| git_order(one.into(), other.into()));
    let mut bytes = Vec::with_capacity(entries.iter().map(|entry| entry.name.len() + 28).sum());
    for entry in entries {
        put_entry(&mut bytes, entry.mode, &entry.name, &entry.id);
    }
    bytes
}

/// A name in a folder, with what git needs to know of it to sort it.
#[derive(Debug, Clone, Copy)]
pub(in crate::checkpoint) struct SortName<'a> {
    pub(in crate::checkpoint) name: &'a [u8],
    pub(in crate::checkpoint) is_folder: bool,
}

impl<'a> From<&'a TreeEntry> for SortName<'a> {
    fn from(entry: &'a TreeEntry) -> Self {
        Self { name: &entry.name, is_folder: entry.mode == FOLDER }
    }
}

/// How git sorts names: that of a folder as if it ended with a slash.
pub(in crate::checkpoint) fn git_order(one: SortName<'_>, other: SortName<'_>) -> std::cmp::Ordering {
    let end = |is_folder: bool| is_folder.then_some(&b'/');
    one.name.iter().chain(end(one.is_folder)).cmp(other.name.iter().chain(end(other.is_folder)))
}

/// Adds one name to a folder's bytes.
pub(in crate::checkpoint) fn put_entry(bytes: &mut Vec<u8>, mode: u32, name: &[u8], id: &Id) {
    let word: &[u8] = match mode {
        FOLDER => b"40000 ",
        LINK => b"120000 ",
        PROGRAM => b"100755 ",
        _ => b"100644 ",
    };
    bytes.extend_from_slice(word);
    bytes.extend_from_slice(name);
    bytes.push(0);
    bytes.extend_from_slice(id.bytes());
}

/// The names in a folder's object; none if it is no such object.
#[must_use]
pub(in crate::checkpoint) fn read_tree(mut bytes: &[u8]) -> Option<Vec<TreeEntry>> {
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

/// The fields of a checkpoint's commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitParts {
    /// Its tree.
    pub tree: Id,
    /// The one before it.
    pub parent: Option<Id>,
    /// When it was made, in seconds.
    pub seconds: u64,
    /// Its message.
    pub words: String,
}

/// Reads a checkpoint's object; none if it is no such object.
#[must_use]
pub fn read_commit(bytes: &[u8]) -> Option<CommitParts> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (head, words) = text.split_once("\n\n")?;
    let line = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    let seconds = line("committer")?.rsplit(' ').nth(1)?.parse().ok()?;
    let parent = line("parent").map(Id::parse);
    if parent.is_some_and(|parent| parent.is_none()) {
        return None;
    }
    let words = words.trim_end_matches('\n').to_owned();
    Some(CommitParts { tree: Id::parse(line("tree")?)?, parent: parent.flatten(), seconds, words })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_of_git() {
        assert_eq!(Id::of(ObjectKind::Blob, b"").to_string(), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
        assert_eq!(Id::of(ObjectKind::Blob, b"hello\n").to_string(), "ce013625030ba8dba906f756967f9e9ca394464a");
        assert_eq!(Id::of(ObjectKind::Tree, b"").to_string(), "4b825dc642cb6eb9a060e54bf8d69288fbee4904");
        let id = Id::of(ObjectKind::Blob, b"x");
        assert_eq!(Id::parse(&id.to_string()), Some(id));
        assert_eq!(Id::parse("e69de29b"), None);
    }

    #[test]
    fn a_folder_is_read_back_sorted_as_git_sorts_it() {
        let id = Id::of(ObjectKind::Blob, b"");
        let entry = |mode, name: &[u8]| TreeEntry { mode, name: name.to_vec(), id };
        let bytes =
            tree(vec![entry(0o100644, b"a0"), entry(FOLDER, b"a"), entry(0o100644, b"a."), entry(0o120000, b"\xff\n")]);
        let names: Vec<_> = read_tree(&bytes).unwrap_or_default().into_iter().map(|entry| entry.name).collect();
        assert_eq!(names, [&b"a."[..], b"a", b"a0", b"\xff\n"]);
        assert_eq!(read_tree(b"100644 cut"), None);
    }
}
