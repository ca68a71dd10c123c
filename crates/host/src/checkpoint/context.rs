//! What the checkpoints of a run need to know: the run, the store, the workspace, the rules. Also: which backend a
//! workspace can use.
use std::path::{Path, PathBuf};

use loop_core::run::RunSpec;
use loop_core::settings::{CheckpointBackend, CheckpointSettings, Values};

use super::btrfs;
use super::user_git::GitUser;
use crate::paths::path_of;
use crate::run_folder::RunFolder;

/// The stores of all workspaces lie in this folder of the state folder.
const CHECKPOINTS: &str = "checkpoints";

/// The backend that stores contents as snapshots.
pub(super) const BTRFS: &str = "btrfs";

/// What the checkpoints of a run are taken of, and how.
#[derive(Debug, Clone)]
pub struct CheckpointContext {
    /// The run, which names its checkpoints.
    pub run: String,
    /// Where the store is.
    pub store: PathBuf,
    /// Where the work is done.
    pub workspace: PathBuf,
    /// What is recorded, and how.
    pub settings: CheckpointSettings,
    /// Where the contents of files are stored: `git` or `btrfs`.
    pub backend: String,
    /// Files that the agent's program leaves behind, as rules: not part of the work either.
    pub litter: Vec<String>,
    /// Whose excludes hold.
    pub user: GitUser,
}

impl RunFolder {
    /// Its checkpoints.
    #[must_use]
    pub fn checkpoints(&self, spec: &RunSpec) -> CheckpointContext {
        let state = self.path.parent().and_then(Path::parent).unwrap_or(&self.path);
        CheckpointContext {
            litter: spec.litter.clone(),
            run: self.id.to_string(),
            store: state.join(CHECKPOINTS).join(&spec.store),
            workspace: path_of(&spec.workspace.path),
            settings: Values::of(&spec.settings).checkpoint,
            backend: spec.backend.clone(),
            user: GitUser::of_environment(),
        }
    }
}

impl GitUser {
    /// By the environment of this process.
    #[must_use]
    pub fn of_environment() -> Self {
        Self { home: folder_of("HOME"), config: folder_of("XDG_CONFIG_HOME") }
    }
}

fn folder_of(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// How a workspace is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackendChoice {
    /// `git`, `btrfs` or `none`.
    pub backend: &'static str,
    /// Why it is not btrfs, where the workspace is on btrfs and the setting is automatic.
    pub why: Option<String>,
}

/// How a workspace can be recorded: as the setting asks, or the best that works.
///
/// # Errors
/// Why what the setting asks for does not work here.
pub fn choose(asked: CheckpointBackend, workspace: &Path) -> Result<BackendChoice, String> {
    let (backend, why) = match asked {
        CheckpointBackend::None => ("none", None),
        CheckpointBackend::Git => ("git", None),
        CheckpointBackend::Auto | CheckpointBackend::Btrfs => match btrfs::trial(workspace) {
            Ok(context) => {
                context.drop_if_empty();
                (BTRFS, None)
            }
            Err(why) if asked == CheckpointBackend::Btrfs => return Err(why),
            Err(why) => ("git", Some(why).filter(|_| btrfs::is_on_btrfs(workspace))),
        },
    };
    Ok(BackendChoice { backend, why })
}
