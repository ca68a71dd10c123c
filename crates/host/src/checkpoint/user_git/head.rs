//! The commit that HEAD of a repository is at, read as data: a change means that somebody committed or checked
//! something out.
use std::path::Path;

use super::folder::GitFolder;
use super::ignores::above;
use super::location::GitLocation;
use super::refs::is_name;

/// A file with one ref is a line.
const REF_BYTES_MAX: u64 = 8 * 1024;
const PACKED_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// A ref may name another, and so on.
const STEPS_MAX: usize = 8;

/// The commit at `HEAD` of the repository that a workspace is, or is a part of. None where there is no repository, no
/// commit yet, or nothing that can be understood (such as refs in a reftable).
#[must_use]
pub fn head_of(workspace: &Path) -> Option<String> {
    let location = GitLocation::of(&above(workspace)?.folder).ok()??;
    let mut text = location.git.read(b"HEAD", REF_BYTES_MAX).ok()??;
    for _ in 0..STEPS_MAX {
        let Some(name) = text.strip_prefix(b"ref:").map(<[u8]>::trim_ascii) else { return commit(&text) };
        if !is_name(name) {
            return None;
        }
        // What is a worktree's own lies in its folder, all else in the common one.
        let loose = [&location.git, &location.common].into_iter().find_map(|folder| loose(folder, name));
        match loose {
            Some(next) => text = next,
            None => return packed(&location.common, name),
        }
    }
    None
}

fn loose(folder: &GitFolder, name: &[u8]) -> Option<Vec<u8>> {
    folder.read(name, REF_BYTES_MAX).ok().flatten()
}

fn packed(common: &GitFolder, name: &[u8]) -> Option<String> {
    let text = common.read(b"packed-refs", PACKED_BYTES_MAX).ok()??;
    let line = text.split(|byte| *byte == b'\n').find(|line| {
        let named = line.iter().position(|byte| *byte == b' ').and_then(|at| line.get(at + 1..));
        named.is_some_and(|named| named.trim_ascii_end() == name)
    })?;
    commit(line)
}

/// The hash that a line begins with, of either kind.
fn commit(text: &[u8]) -> Option<String> {
    let digits = text.split(u8::is_ascii_whitespace).next()?;
    let is_hash = matches!(digits.len(), 40 | 64) && digits.iter().all(u8::is_ascii_hexdigit);
    is_hash.then(|| String::from_utf8_lossy(digits).into_owned())
}
