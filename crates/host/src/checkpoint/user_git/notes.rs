//! Notes in `refs/notes/loop`: texts that stand beside an object, here beside a tree, so that a squash or a rebase that
//! leaves the files alone does not lose them. Read as data; written only when a person asks for it, as loose objects and
//! one ref, under git's own lock. No git program is run, so no hook, filter or setting of the repository is executed.
use std::io::{self, Write};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use rustix::fs::{AtFlags, renameat, unlinkat};
use thiserror::Error;

use super::lookup::Checkout;
use super::objects::id_of;
use super::packs::GitObjectKind;
use super::refs::RefValue;
use crate::checkpoint::git::object::{FILE, FOLDER, Id, TreeEntry, tree};

/// The ref of our notes.
const NOTES: &[u8] = b"refs/notes/loop";
const REF_BYTES_MAX: u64 = 8 * 1024;
/// A longer note is not read.
const NOTE_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// Notes are sorted into folders by two digits at a time.
const FOLDERS_MAX: usize = 19;

/// Why a note was not written.
#[derive(Debug, Error)]
pub enum NoteError {
    /// The repository is of a kind that is not written here.
    #[error("{0}")]
    Refused(String),
    /// Another program holds the lock of the ref.
    #[error("another program changes refs/notes/loop (refs/notes/loop.lock is there)")]
    Locked,
    /// The machine does not allow it.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// A notes tree, and the folders on the way to one note.
struct NotePath {
    /// Each folder's entries, and the digits that lead on.
    folders: Vec<(Vec<TreeEntry>, Vec<u8>)>,
    /// The name of the note in the last folder.
    name: Vec<u8>,
    note: Option<Id>,
}

impl Checkout {
    /// The note beside an object.
    ///
    /// # Errors
    /// Why it cannot be read, as a sentence.
    pub fn note(&mut self, of: &str) -> Result<Option<Vec<u8>>, String> {
        self.check_readable()?;
        let Some(commit) = self.notes_commit()? else { return Ok(None) };
        let top = self.tree_of(&commit)?;
        let path = self.note_path(Some(top), of)?;
        let Some(note) = path.note else { return Ok(None) };
        match self.objects.read(&note, NOTE_BYTES_MAX) {
            Ok(Some((GitObjectKind::Blob, bytes))) => Ok(Some(bytes.as_ref().clone())),
            Ok(_) => Err(format!("the note {note} is not in this clone")),
            Err(()) => Err(format!("the note {note} is damaged, or longer than {NOTE_BYTES_MAX} bytes")),
        }
    }

    fn notes_commit(&self) -> Result<Option<Id>, String> {
        let odd = |error: io::Error| format!("refs/notes/loop cannot be read: {error}");
        // Read again and not from the list: another program may have changed it.
        if let Some(text) = self.location.common.read(NOTES, REF_BYTES_MAX).map_err(odd)? {
            return match RefValue::parse(&text) {
                Some(RefValue::Id(id)) => Ok(Some(id)),
                Some(RefValue::Ref(_)) | None => Err("refs/notes/loop does not name a commit".to_owned()),
            };
        }
        Ok(self.known_ref(NOTES))
    }

    fn note_path(&mut self, top: Option<Id>, of: &str) -> Result<NotePath, String> {
        let mut path = NotePath { folders: Vec::new(), name: of.as_bytes().to_vec(), note: None };
        let mut next = top;
        for _ in 0..=FOLDERS_MAX {
            let entries = next.map_or(Ok(Vec::new()), |id| self.entries(&id))?;
            let find = |name: &[u8], is_folder: bool| {
                entries
                    .iter()
                    .find(|entry| entry.name == name && (entry.mode == FOLDER) == is_folder)
                    .map(|entry| entry.id)
            };
            path.note = find(&path.name, false);
            let (digits, rest) = path.name.split_at_checked(2).unwrap_or((&[], &[]));
            let below = find(digits, true).filter(|_| path.note.is_none() && !rest.is_empty());
            let (digits, rest) = (digits.to_vec(), rest.to_vec());
            path.folders.push((entries, if below.is_some() { digits } else { Vec::new() }));
            match below {
                None => break,
                Some(id) => {
                    next = Some(id);
                    path.name = rest;
                }
            }
        }
        Ok(path)
    }

    /// Adds a line to the note beside an object, unless it is there. Says whether it was added.
    ///
    /// # Errors
    /// When the repository cannot be written, or another program changes these notes.
    pub fn add_note(&mut self, of: &str, line: &str, seconds: u64) -> Result<bool, NoteError> {
        self.check_readable().map_err(NoteError::Refused)?;
        if Id::parse(of).is_none() {
            return Err(NoteError::Refused(format!("{of} is not an id of this repository")));
        }
        let mut moved = Vec::new();
        let folder = self.location.common.made(b"refs/notes", &mut moved)?;
        let lock = match folder.created(b"loop.lock", 0o666) {
            Ok(lock) => lock,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(NoteError::Locked),
            Err(error) => return Err(error.into()),
        };
        let written = self.written(of, line, seconds, lock);
        let done = match written {
            Ok(true) => renameat(&folder.0, "loop.lock", &folder.0, "loop").map_err(io::Error::from),
            Ok(false) => {
                return unlinkat(&folder.0, "loop.lock", AtFlags::empty())
                    .map(|()| false)
                    .map_err(|error| io::Error::from(error).into());
            }
            Err(error) => {
                unlinkat(&folder.0, "loop.lock", AtFlags::empty()).ok();
                return Err(error);
            }
        };
        done.map(|()| true).map_err(Into::into)
    }

    /// Writes the objects of the new note, and the id of its commit into the lock. False where it is there already.
    fn written(&mut self, of: &str, line: &str, seconds: u64, mut lock: std::fs::File) -> Result<bool, NoteError> {
        let parent = self.notes_commit().map_err(NoteError::Refused)?;
        let top = parent.map(|parent| self.tree_of(&parent)).transpose().map_err(NoteError::Refused)?;
        let mut text = self.note(of).map_err(NoteError::Refused)?.unwrap_or_default();
        if text.split(|byte| *byte == b'\n').any(|known| known == line.as_bytes()) {
            return Ok(false);
        }
        if !text.is_empty() && !text.ends_with(b"\n") {
            text.push(b'\n');
        }
        text.extend_from_slice(line.as_bytes());
        text.push(b'\n');
        if u64::try_from(text.len()).unwrap_or(u64::MAX) > NOTE_BYTES_MAX {
            return Err(NoteError::Refused("the note of this tree is full".to_owned()));
        }
        let path = self.note_path(top, of).map_err(NoteError::Refused)?;
        let mut below = TreeEntry { mode: FILE, name: path.name, id: self.put_object(GitObjectKind::Blob, &text)? };
        for (mut entries, digits) in path.folders.into_iter().rev() {
            if !digits.is_empty() {
                below.name = digits;
            }
            entries.retain(|entry| entry.name != below.name);
            entries.push(below);
            let id = self.put_object(GitObjectKind::Tree, &tree(entries))?;
            below = TreeEntry { mode: FOLDER, name: Vec::new(), id };
        }
        let commit = crate::checkpoint::commit(below.id, parent, seconds, "Notes added by loop");
        let id = self.put_object(GitObjectKind::Commit, &commit)?;
        lock.write_all(format!("{id}\n").as_bytes())?;
        lock.sync_all()?;
        Ok(true)
    }

    /// Writes a loose object, unless it is there.
    fn put_object(&mut self, kind: GitObjectKind, bytes: &[u8]) -> Result<Id, NoteError> {
        let id = id_of(kind, bytes);
        if self.objects.find(&id).is_some() {
            return Ok(id);
        }
        let digits = id.to_string();
        let (first, rest) = digits.split_at(2);
        let folder = self.location.common.made(format!("objects/{first}").as_bytes(), &mut Vec::new())?;
        folder.put_for_good(rest.as_bytes(), |to| {
            let mut to = ZlibEncoder::new(to, Compression::default());
            to.write_all(format!("{} {}\0", kind.name(), bytes.len()).as_bytes())?;
            to.write_all(bytes)?;
            to.finish().map(drop)
        })?;
        Ok(id)
    }
}
