//! What a gate sees of its surroundings: the same in a run, in a dry run and in `loop verify`. It is the user's whole
//! environment, less our tokens and less every `LOOP_*` variable: a product must not know where it is judged. One marker
//! is left, `LOOP_MARK`, by which the processes of a run are found; agents have it too, and its value is always an id.
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use loop_core::agent::is_token;

use crate::paths::search_path;

/// Variables that tell git of another repository, index or configuration: git's own list (`git rev-parse
/// --local-env-vars`). Its hooks set some of them.
pub(crate) const OF_A_REPOSITORY: [&str; 17] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NAMESPACE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

/// Variables with this beginning are ours.
const OURS: &[u8] = b"LOOP_";

/// The variables of a gate that runs in this folder; the marker is added where it is started. `is_copy`: the folder is a
/// copy of the workspace, and a repository above it is not its own. `others` take the place of variables of that name.
pub(crate) fn gate_environment(
    folder: &Path,
    is_copy: bool,
    others: &[(String, OsString)],
) -> Vec<(OsString, OsString)> {
    let is_passed = |name: &OsStr| !name.as_bytes().starts_with(OURS) && !name.to_str().is_some_and(is_token);
    let mut all: Vec<(OsString, OsString)> = std::env::vars_os().filter(|(name, _)| is_passed(name)).collect();
    all.retain(|(name, _)| name != "PATH" && name != "PWD");
    all.extend(search_path().map(|search| ("PATH".into(), search.value)));
    all.push(("PWD".into(), folder.into()));
    if is_copy {
        let above = folder.parent().unwrap_or(folder);
        let is_of_repository = |name: &OsString| name.to_str().is_some_and(|name| OF_A_REPOSITORY.contains(&name));
        all.retain(|(name, _)| name != "GIT_CEILING_DIRECTORIES" && !is_of_repository(name));
        all.push(("GIT_CEILING_DIRECTORIES".into(), above.into()));
    }
    for (name, value) in others {
        all.retain(|(known, _)| known.to_str() != Some(name));
        all.push((name.into(), value.clone()));
    }
    all
}
