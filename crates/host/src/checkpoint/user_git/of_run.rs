//! The user's own repository beside the checkpoints of a run: saved before the first iteration, restored when a
//! person asks for it.
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use loop_core::text;

use super::Limits;
use super::save::IS_ABOVE;
use crate::checkpoint::context::CheckpointContext;
use crate::checkpoint::user_git;
use crate::paths::{path_of, text_of};

/// The most that is reported of a repository.
const REMARKS_MAX: usize = 10;

/// Where it is saved.
pub(super) fn folder_of(context: &CheckpointContext) -> PathBuf {
    context.store.join("user-git").join(&context.run)
}

/// Saves it as it is before anything is done. That it cannot be saved is reported and no hindrance: a loop does not
/// need it.
pub(in crate::checkpoint) fn save(context: &CheckpointContext) -> Vec<String> {
    let folder = folder_of(context);
    if folder.exists() {
        return Vec::new();
    }
    let made = folder.parent().map_or(Ok(()), |above| DirBuilder::new().recursive(true).mode(0o700).create(above));
    let saved = made.map_err(|error| error.to_string()).and_then(|()| {
        user_git::save(&context.workspace, &folder, Limits::default()).map_err(|error| error.to_string())
    });
    let remarks = saved.map_or_else(|why| vec![why], |saved| saved.remarks);
    let of = |text: String| if text == IS_ABOVE { text } else { format!("of your repository: {text}") };
    remarks.into_iter().take(REMARKS_MAX).map(of).collect()
}

/// What a person should know who rolls back without restoring the repository.
pub(in crate::checkpoint) fn missing(context: &CheckpointContext) -> Option<String> {
    let gone = folder_of(context).is_dir() && !context.workspace.join(".git").exists();
    gone.then(|| {
        format!("your repository (.git) is gone; to restore it: loop rollback {} initial --restore-git", context.run)
    })
}

/// Restores it; what cannot be is reported. Whether it is whole comes first.
pub(in crate::checkpoint) fn restore(context: &CheckpointContext, to: &str) -> (bool, Vec<String>) {
    let folder = folder_of(context);
    let undone = folder.with_extension("undo");
    let folder = match fs::read_to_string(&undone) {
        Ok(path) if to.starts_with("undo") => path_of(path.trim_end()),
        Ok(_) | Err(_) => folder,
    };
    if !folder.is_dir() {
        return (false, vec!["nothing of your repository was saved, so nothing can be restored".to_owned()]);
    }
    let back = match user_git::restore(&folder, &context.workspace) {
        Ok(back) => back,
        Err(error) => return (false, vec![format!("your repository was not restored: {error}")]),
    };
    if let Some(undo) = &back.undo {
        // Without it the restore cannot be undone, which is no reason to stop now.
        fs::write(&undone, text_of(undo)).ok();
    }
    let counted = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let (refs, files) = (counted(back.refs.len(), "ref"), counted(back.files.len(), "file"));
    let mut remarks = vec![format!("your repository is back: {refs}, {files}")];
    if !back.stayed.is_empty() {
        remarks.push(format!("made since, and still there: {}", back.stayed.join(", ")));
    }
    if !back.waiting.is_empty() {
        let waiting = text::one_line(&back.waiting.join(", "), 300);
        remarks.push(format!("only a remote has what these need: {waiting}; git fetch, then the same again"));
    }
    (back.waiting.is_empty(), remarks.into_iter().chain(back.remarks).take(REMARKS_MAX).collect())
}
