//! The files of a checkout, recorded outside of it by the rules of a proof, and compared with it.
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use loop_core::attestation::{ClaimedScope, ProofClaims, TreeMatch};
use loop_core::settings::{Bytes, Values};
use loop_core::text::{NameList, escape_path};

use super::check::CheckError;
use crate::checkpoint::user_git::{Checkout, CommittedFiles, GitUser};
use crate::checkpoint::{CheckpointContext, ObjectFormat, PortableFiles, Recorded, RunCheckpoints, open_folder};

/// The name of the one checkpoint.
const NAME: &str = "checkout";

/// The files of a checkout.
#[derive(Debug)]
pub(super) struct RecordedCheckout {
    /// Where they are.
    pub(super) opened: OwnedFd,
    /// What is recorded of them.
    pub(super) recorded: Recorded,
    /// By hashes that are the same everywhere.
    pub(super) files: PortableFiles,
}

/// Records the files of a checkout in a store of its own.
pub(super) fn record(
    top: &Path,
    claims: &ProofClaims,
    scratch: &Path,
    user: &GitUser,
) -> Result<RecordedCheckout, CheckError> {
    record_in(&scratch.join("checkpoints/checkout"), top, claims, user)
}

/// The files that the rules of a proof leave out, where there is no commit to compare with: all files are recorded.
pub(super) fn left_out_by_rules(
    now: &RecordedCheckout,
    top: &Path,
    claims: &ProofClaims,
    scratch: &Path,
    user: &GitUser,
) -> Result<NameList, CheckError> {
    let ClaimedScope { folder, ignored, skip, litter, file_max, .. } = claims.scope.clone();
    if skip.is_empty() && litter.is_empty() && file_max.is_none() {
        return Ok(NameList::default());
    }
    let scope = ClaimedScope { folder, ignored, ..ClaimedScope::default() };
    let whole = ProofClaims { scope, git_tree: claims.git_tree.clone(), ..ProofClaims::default() };
    let whole = record_in(&scratch.join("checkpoints/whole"), top, &whole, user)?;
    let (whole, found) = (whole.recorded.leaves(), now.recorded.leaves());
    let names: Vec<String> =
        whole.keys().filter(|path| !found.contains_key(*path)).map(|path| escape_path(path)).collect();
    Ok(NameList::of(names.iter().map(String::as_str)))
}

fn record_in(store: &Path, top: &Path, claims: &ProofClaims, user: &GitUser) -> Result<RecordedCheckout, CheckError> {
    let ClaimedScope { ignored, skip, file_max, litter, .. } = &claims.scope;
    let folder = top.join(OsStr::from_bytes(&claims.scope.folder_bytes()));
    let unable = |error: &dyn std::fmt::Display| {
        CheckError::Unable(format!("the files of the checkout cannot be read: {error}"))
    };
    let real = |path: &Path| path.canonicalize().map_err(|error| unable(&error));
    if !real(&folder)?.starts_with(real(top)?) {
        return Err(unable(&"the folder of the proof leads out of it"));
    }
    let opened = open_folder(&folder).map_err(|error| unable(&error))?;
    let mut settings = Values::default().checkpoint;
    settings.checkpoint_ignored = *ignored;
    settings.checkpoint_skip.clone_from(skip);
    settings.checkpoint_file_max = file_max.map(Bytes);
    let context = CheckpointContext {
        run: "proof".to_owned(),
        store: store.to_owned(),
        workspace: folder.clone(),
        settings,
        backend: "git".to_owned(),
        litter: litter.clone(),
        user: user.clone(),
    };
    let cancel = Arc::new(AtomicBool::new(false));
    let mut checkpoints = RunCheckpoints::open(context.clone(), cancel).map_err(|error| unable(&error))?;
    checkpoints.take(NAME, None).map_err(|error| unable(&error))?;
    let recorded = Recorded::open(&context, NAME).map_err(|error| unable(&error))?;
    let format = if claims.git_tree.len() == 64 { ObjectFormat::Sha256 } else { ObjectFormat::Sha1 };
    let files = recorded.portable(format).map_err(|error| unable(&error))?;
    Ok(RecordedCheckout { opened, recorded, files })
}

/// What a proof has to do with a checkout.
#[derive(Debug)]
pub(super) struct TreeComparison {
    /// Whether it is about this checkout.
    pub(super) tree: TreeMatch,
    /// Files that are not as in the commit that is checked out.
    pub(super) dirty: NameList,
    /// Files of the commit, or without one of the folder, that the rules of the proof leave out.
    pub(super) left_out: NameList,
}

impl TreeComparison {
    /// It could not be seen.
    pub(super) fn unseen(why: String) -> Self {
        Self { tree: TreeMatch::Unseen { why }, dirty: NameList::default(), left_out: NameList::default() }
    }
}

/// Whether the proof is about this checkout. `left_out` finds what the rules of the proof leave out, where there is no
/// commit to compare with.
pub(super) fn compare(
    claims: &ProofClaims,
    mut checkout: Option<&mut Checkout>,
    now: &RecordedCheckout,
    left_out: impl FnOnce() -> Result<NameList, CheckError>,
) -> Result<TreeComparison, CheckError> {
    let same_tree = now.files.git_tree == claims.git_tree;
    let same_lines = claims.sha256.as_ref().map(|sha256| *sha256 == now.files.sha256);
    if same_lines.is_some_and(|same| same != same_tree) {
        let nothing = NameList::default;
        return Ok(TreeComparison { tree: TreeMatch::Contradiction, dirty: nothing(), left_out: nothing() });
    }
    let folder = claims.scope.folder_bytes();
    let mut tree_of = |second| checkout.as_mut().and_then(|checkout| checkout.head_tree(second, &folder));
    let (head, second) = (tree_of(false), tree_of(true));
    let committed = checkout.as_mut().zip(head.as_ref()).and_then(|(checkout, head)| checkout.files_of(head));
    let LocalChanges { names: dirty, left_out } = match committed {
        Some(committed) => local_changes(&committed, now),
        None => LocalChanges { names: NameList::default(), left_out: left_out()? },
    };
    let tree = if head.as_ref() == Some(&claims.git_tree) {
        TreeMatch::Head
    } else if second.as_ref() == Some(&claims.git_tree) {
        TreeMatch::BranchTip
    } else if same_tree && left_out.is_nothing() {
        files(claims)
    } else if same_tree {
        TreeMatch::Partial { names: left_out.clone() }
    } else {
        let names = checkout.zip(head).map(|(checkout, head)| checkout.differing(&claims.git_tree, &head));
        TreeMatch::Other { names: names.unwrap_or_default() }
    };
    Ok(TreeComparison { tree, dirty, left_out })
}

fn files(claims: &ProofClaims) -> TreeMatch {
    TreeMatch::Files { why: claims.scope.not_git.as_ref().map(|why| loop_core::text::one_line(why, 200)) }
}

/// How the files of a checkout differ from its commit.
#[derive(Debug)]
struct LocalChanges {
    /// Each name, and how.
    names: NameList,
    /// Those that are on disk, and that the rules of the proof leave out.
    left_out: NameList,
}

fn local_changes(committed: &CommittedFiles, now: &RecordedCheckout) -> LocalChanges {
    let found = now.recorded.leaves();
    let is_in_module = |path: &[u8]| {
        let below = |module: &Vec<u8>| path.strip_prefix(module.as_slice()).is_some_and(|rest| rest.starts_with(b"/"));
        committed.modules.iter().any(below)
    };
    let mut names: BTreeMap<&[u8], &str> = BTreeMap::new();
    let mut left_out = Vec::new();
    for (path, leaf) in &committed.files {
        match found.get(path) {
            Some(now) if now == leaf => {}
            Some(_) => drop(names.insert(path, "changed")),
            None if now.is_on_disk(path) => {
                left_out.push(escape_path(path));
                names.insert(path, "not compared");
            }
            None => drop(names.insert(path, "removed")),
        }
    }
    for path in found.keys().filter(|path| !committed.files.contains_key(*path) && !is_in_module(path)) {
        names.insert(path, "added");
    }
    let words: Vec<String> = names.iter().map(|(path, how)| format!("{how} {}", escape_path(path))).collect();
    LocalChanges {
        names: NameList::of(words.iter().map(String::as_str)),
        left_out: NameList::of(left_out.iter().map(String::as_str)),
    }
}

impl RecordedCheckout {
    fn is_on_disk(&self, path: &[u8]) -> bool {
        rustix::fs::statat(&self.opened, path, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }
}
