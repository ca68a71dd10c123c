//! Writing a checkpoint of the store into an empty folder.
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, OFlags, fchmod, linkat, mkdirat, openat, symlinkat};

use super::copy_tree::{above, last};
use crate::checkpoint::{Checkpoint, FileContent, StoredEntry, StoredKind};
use crate::fs::handle::open_below;

/// Makes everything that a checkpoint holds. Files have the present time.
pub(super) fn check_out(then: &Checkpoint, content: &dyn FileContent, to: &OwnedFd) -> io::Result<()> {
    let mut folder = (Vec::new(), open_below(to.as_fd(), b"")?);
    let others: BTreeSet<&Vec<u8>> = then.manifest.same.iter().flat_map(|names| names.iter().skip(1)).collect();
    // A folder comes before what is in it.
    for (path, entry) in then.names.iter().filter(|(path, _)| !others.contains(path)) {
        if folder.0 != above(path) {
            folder = (above(path).to_vec(), open_below(to.as_fd(), above(path))?);
        }
        put(&folder.1, path, entry, content)?;
    }
    for names in &then.manifest.same {
        let Some((first, others)) = names.split_first() else { continue };
        let from = open_below(to.as_fd(), above(first))?;
        for other in others {
            linkat(&from, last(first), open_below(to.as_fd(), above(other))?, last(other), AtFlags::empty())?;
        }
    }
    for (path, entry) in then.names.iter().rev().filter(|(_, entry)| entry.what == StoredKind::Folder) {
        fchmod(open_below(to.as_fd(), path)?, Mode::from_raw_mode(entry.mode))?;
    }
    Ok(())
}

fn put(folder: &OwnedFd, path: &[u8], entry: &StoredEntry, content: &dyn FileContent) -> io::Result<()> {
    match &entry.what {
        StoredKind::Folder => mkdirat(folder, last(path), Mode::RWXU).map_err(Into::into),
        StoredKind::Link(leads) => symlinkat(leads.as_slice(), folder, last(path)).map_err(Into::into),
        StoredKind::File(id) => {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let mut file = File::from(openat(folder, last(path), flags, Mode::RUSR | Mode::WUSR)?);
            content.write(path, id, &mut file)?;
            fchmod(&file, Mode::from_raw_mode(entry.mode)).map_err(Into::into)
        }
    }
}
