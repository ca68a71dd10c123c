//! What happened to which file, from the kernel's events: one entry for each path, from what it was at first to what it
//! is now. A file that came and went is none.
use std::collections::BTreeMap;

use rustix::fs::inotify::ReadFlags;

/// How many paths are known; further ones are counted.
const PATHS_MAX: usize = 4096;
/// How many halves of a move wait for the other.
const MOVING_MAX: usize = 256;

/// What happened to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchedFile {
    /// What.
    pub kind: WatchedKind,
    /// Its path from the workspace; that of a folder ends with `/`.
    pub path: Vec<u8>,
    /// When it was seen last, in milliseconds since 1970.
    pub at_ms: u64,
}

/// What can happen to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchedKind {
    /// It is new.
    Created,
    /// It was written to, or has other permissions.
    Modified,
    /// It is gone.
    Deleted,
    /// It had this name before.
    Moved(Vec<u8>),
}

/// The events of a time, put together by path.
#[derive(Debug, Default)]
pub struct FileLog {
    known: BTreeMap<Vec<u8>, Trace>,
    /// The paths that files were moved away from, by the number of the move.
    moving: BTreeMap<u32, Vec<u8>>,
    more: u32,
}

#[derive(Debug)]
struct Trace {
    was_there: bool,
    is_there: bool,
    from: Option<Vec<u8>>,
    at_ms: u64,
}

/// One event of the kernel about a path.
pub(super) struct PathEvent {
    pub(super) what: ReadFlags,
    pub(super) cookie: u32,
    pub(super) path: Vec<u8>,
    pub(super) at_ms: u64,
}

impl FileLog {
    /// Whether nothing happened.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.known.is_empty() && self.more == 0
    }

    pub(super) fn add(&mut self, event: PathEvent) {
        let PathEvent { what, cookie, path, at_ms } = event;
        let came = what.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO);
        let went = what.intersects(ReadFlags::DELETE | ReadFlags::MOVED_FROM);
        let from = if what.contains(ReadFlags::MOVED_TO) { self.moving.remove(&cookie) } else { None };
        if what.contains(ReadFlags::MOVED_FROM) && self.moving.len() < MOVING_MAX {
            self.moving.insert(cookie, path.clone());
        }
        if !self.known.contains_key(&path) && self.known.len() >= PATHS_MAX {
            self.more = self.more.saturating_add(1);
            return;
        }
        let trace = self.known.entry(path).or_insert(Trace { was_there: !came, is_there: true, from: None, at_ms });
        trace.is_there = !went;
        trace.at_ms = at_ms;
        if came {
            trace.from = from;
        }
    }

    /// What happened, the newest last, and how many paths are not named.
    #[must_use]
    pub fn finish(self) -> (Vec<WatchedFile>, u32) {
        let left = |path: &[u8]| self.known.get(path).is_some_and(|trace| trace.was_there && !trace.is_there);
        let arrived = |trace: &Trace| !trace.was_there && trace.is_there;
        let moved_away: Vec<&Vec<u8>> = self
            .known
            .values()
            .filter(|trace| arrived(trace))
            .filter_map(|trace| trace.from.as_ref())
            .filter(|from| left(from))
            .collect();
        let mut all: Vec<WatchedFile> = Vec::new();
        for (path, trace) in &self.known {
            let kind = match (trace.was_there, trace.is_there) {
                (false, false) => continue,
                (true, true) => WatchedKind::Modified,
                (true, false) if moved_away.contains(&path) => continue,
                (true, false) => WatchedKind::Deleted,
                (false, true) => match trace.from.as_ref().filter(|from| left(from)) {
                    Some(from) => WatchedKind::Moved(from.clone()),
                    None => WatchedKind::Created,
                },
            };
            all.push(WatchedFile { kind, path: path.clone(), at_ms: trace.at_ms });
        }
        all.sort_by_key(|file| file.at_ms);
        (all, self.more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn happened(events: &[(ReadFlags, u32, &str)]) -> Vec<String> {
        let mut log = FileLog::default();
        for ((what, cookie, path), at_ms) in events.iter().zip(1..) {
            log.add(PathEvent { what: *what, cookie: *cookie, path: path.as_bytes().to_vec(), at_ms });
        }
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let line = |file: &WatchedFile| match &file.kind {
            WatchedKind::Created => format!("created {}", text(&file.path)),
            WatchedKind::Modified => format!("modified {}", text(&file.path)),
            WatchedKind::Deleted => format!("deleted {}", text(&file.path)),
            WatchedKind::Moved(from) => format!("moved {} {}", text(from), text(&file.path)),
        };
        log.finish().0.iter().map(line).collect()
    }

    #[test]
    fn the_events_of_a_path_are_one_entry_from_its_first_state_to_its_last() {
        use ReadFlags as Is;
        assert_eq!(happened(&[(Is::CREATE, 0, "a"), (Is::MODIFY, 0, "a")]), ["created a"]);
        assert_eq!(happened(&[(Is::MODIFY, 0, "a"), (Is::DELETE, 0, "a")]), ["deleted a"]);
        assert!(happened(&[(Is::CREATE, 0, "a"), (Is::DELETE, 0, "a")]).is_empty(), "it came and went");
        assert_eq!(happened(&[(Is::MOVED_FROM, 7, "a"), (Is::MOVED_TO, 7, "b")]), ["moved a b"]);
        assert_eq!(happened(&[(Is::MOVED_FROM, 7, "a")]), ["deleted a"], "it was moved out of the workspace");
        assert_eq!(happened(&[(Is::MOVED_TO, 8, "a")]), ["created a"], "it was moved in");
    }

    #[test]
    fn an_editor_that_keeps_a_backup_while_it_writes_has_modified_the_file() {
        use ReadFlags as Is;
        let saved = [
            (Is::CREATE, 0, "4913"),
            (Is::DELETE, 0, "4913"),
            (Is::MOVED_FROM, 3, "f"),
            (Is::MOVED_TO, 3, "f~"),
            (Is::CREATE, 0, "f"),
            (Is::MODIFY, 0, "f"),
            (Is::DELETE, 0, "f~"),
        ];
        assert_eq!(happened(&saved), ["modified f"]);
    }
}
