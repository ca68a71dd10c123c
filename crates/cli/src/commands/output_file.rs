//! A file that a person asks for with `-o`: no link that an agent put into a workspace is followed.
use std::path::{Path, PathBuf};

use loop_host::workspace::{WorkspaceIdentity, write_own_file};

use crate::render::error::{CommandError, Kind};

/// Writes the file, completely or not at all. The workspaces are those in which agents of the loops worked.
pub(crate) fn write(workspaces: &[PathBuf], output: &Path, text: &str) -> Result<(), CommandError> {
    let done = std::path::absolute(output).and_then(|path| {
        let inside = |workspace: &&PathBuf| path.starts_with(workspace) || is_really_inside(&path, workspace);
        // A loop that is not among these may have worked in the folder of the file: no link is followed there either.
        let folder = path.parent().map_or_else(|| PathBuf::from("/"), Path::to_owned);
        let workspace = workspaces.iter().find(inside).unwrap_or(&folder);
        write_own_file(&WorkspaceIdentity::of(workspace, None), &path, text)
    });
    done.map_err(|error| {
        CommandError::new(Kind::Unable, format!("cannot write {}", output.display()))
            .because(error.to_string())
            .hint("name another file: -o FILE")
    })
}

/// Whether the folder of a file is in the workspace by another path.
fn is_really_inside(path: &Path, workspace: &Path) -> bool {
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    folder.zip(workspace.canonicalize().ok()).is_some_and(|(folder, workspace)| folder.starts_with(workspace))
}
