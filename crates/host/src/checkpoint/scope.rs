//! Which files belong to a run's checkpoints: by its settings, the user's and the repository's rules. The state
//! folder of loop itself never belongs to them.
use std::path::{Path, PathBuf};

use loop_core::text;

use super::context::CheckpointContext;
use super::{RuleTexts, Rules, ScanCache, user_git};

/// What the harness itself writes into a workspace: no part of the work. What a person writes there is.
const OURS: [&str; 4] = ["/.loopr/*", "!/.loopr/config", "!/.loopr/prompt.md", "/.harness/"];

/// The rules of a run.
pub(crate) fn rules_of(context: &CheckpointContext) -> Rules {
    let settings = &context.settings;
    let found = user_git::rules_of(&context.workspace, &context.user);
    let state = context.store.parent().and_then(Path::parent).and_then(|state| inside(&context.workspace, state));
    let ours = OURS.map(str::to_owned).into_iter().chain(context.litter.iter().cloned());
    let outside = ours.chain(state.as_deref().and_then(pattern_of)).collect();
    Rules::of(RuleTexts {
        repository: found.is_repository,
        excludes: found.texts,
        all: settings.checkpoint_ignored,
        skips: settings.checkpoint_skip.iter().map(|glob| unescaped(glob)).collect(),
        outside,
        size_max: settings.checkpoint_file_max.map(|size| size.0),
    })
}

/// Whether checkpoints of a workspace can be stored in this state folder.
///
/// # Errors
/// Why not.
pub fn check_state_folder(workspace: &Path, state: &Path) -> Result<(), String> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if real(workspace).starts_with(real(state)) {
        return Err("the workspace is in the folder where loop stores its records".to_owned());
    }
    match inside(workspace, state) {
        Some(path) if pattern_of(&path).is_none() => {
            Err("the folder where loop stores its records is in the workspace, and its name is not UTF-8".to_owned())
        }
        Some(_) | None => Ok(()),
    }
}

/// The path of the state folder from the workspace, if it lies in it.
fn inside(workspace: &Path, state: &Path) -> Option<PathBuf> {
    let (workspace, state) = (workspace.canonicalize().ok()?, state.canonicalize().ok()?);
    state.strip_prefix(workspace).ok().filter(|path| !path.as_os_str().is_empty()).map(Path::to_owned)
}

/// A path as a rule that matches it alone.
fn pattern_of(path: &Path) -> Option<String> {
    let special = |letter: char| "\\*?[]!#{} ".contains(letter);
    let escaped = path.to_str()?.chars().flat_map(|letter| special(letter).then_some('\\').into_iter().chain([letter]));
    Some(format!("/{}/", escaped.collect::<String>()))
}

/// Files that a nested repository tracks although they are ignored, and that are not known yet: they are in scope too.
pub(super) fn tracked_inside(context: &CheckpointContext, cache: &ScanCache) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for folder in cache.repositories() {
        use std::os::unix::ffi::OsStrExt;
        let path = context.workspace.join(std::ffi::OsStr::from_bytes(&folder));
        for tracked in user_git::tracked(&path).unwrap_or_default() {
            let tracked = [folder.as_slice(), b"/", &tracked].concat();
            let there = context.workspace.join(std::ffi::OsStr::from_bytes(&tracked)).symlink_metadata().is_ok();
            if there && !cache.knows(&tracked) {
                found.push(tracked);
            }
        }
    }
    found
}

fn unescaped(line: &str) -> String {
    String::from_utf8_lossy(&text::unescape_path(line)).into_owned()
}
