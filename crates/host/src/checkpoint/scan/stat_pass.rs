//! Which paths of a workspace differ from its cache, by `stat` alone. A snapshot that was taken just before is then
//! scanned only there: its own inodes are not in memory yet, and a full scan would take many times longer.
use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, fstat, statat};

use super::cache::{EntryKind, EntryState, Moment, ScanCache, Stamp, TOP};
use crate::fs::handle::{folder_beneath, joined};

/// So many folders are worth a thread.
const FOLDERS_EACH: usize = 64;
const THREADS_MAX: usize = 4;

impl ScanCache {
    /// Every path that may be something else than it was when the cache was last true; the workspace itself always.
    /// Whatever changed before this began is among them or below them: a name that came and went left its mark on its
    /// folder.
    pub(in crate::checkpoint) fn changed_paths(&self, workspace: &OwnedFd) -> Vec<Vec<u8>> {
        let sure_before = self.moment.least_since(&Moment::now());
        let folders: Vec<u32> =
            (0_u32..).zip(&self.arena.folders).filter_map(|(index, folder)| folder.as_ref().map(|_| index)).collect();
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
        let part = folders.len().div_ceil(threads).max(FOLDERS_EACH);
        let mut paths = vec![Vec::new()];
        std::thread::scope(|scope| {
            let scan_part = |part: &[u32]| {
                let mut found = Vec::new();
                for index in part {
                    self.changed_paths_in(workspace, *index, sure_before, &mut found);
                }
                found
            };
            let others: Vec<_> =
                folders.chunks(part).skip(1).map(|part| scope.spawn(move || scan_part(part))).collect();
            paths.extend(folders.chunks(part).take(1).flat_map(scan_part));
            for other in others {
                // A thread that failed has found nothing: then everything has to be scanned.
                paths.extend(other.join().unwrap_or_else(|_| vec![Vec::new(); usize::from(u16::MAX)]));
            }
        });
        paths
    }

    fn changed_paths_in(&self, workspace: &OwnedFd, index: u32, sure_before: i64, found: &mut Vec<Vec<u8>>) {
        let Some(folder) = self.arena.get(index) else { return };
        let path = self.arena.path(index);
        let opened = folder_beneath(workspace, &path);
        let stat =
            opened.as_ref().map_err(io::Error::kind).and_then(|opened| fstat(opened).map_err(|error| error.kind()));
        let (Ok(opened), Ok(stat)) = (&opened, &stat) else { return found.push(path) };
        let known = if index == TOP { None } else { self.arena.entry(&path).map(|entry| entry.stamp) };
        let is_same = |known: Stamp, now: Stamp| known == now && now.is_sure(sure_before);
        if known.is_none_or(|known| !is_same(known, Stamp::of(stat))) {
            found.push(path.clone());
        }
        for entry in folder.entries.iter().filter(|entry| entry.kind != EntryKind::Folder) {
            let now = statat(opened, &*entry.name, AtFlags::SYMLINK_NOFOLLOW).map(|stat| Stamp::of(&stat));
            if entry.state != EntryState::Sure || !now.is_ok_and(|now| is_same(entry.stamp, now)) {
                found.push(joined(&path, &entry.name));
            }
        }
    }
}
