//! The user's own repository, read as data: what its ignore rules and its index say, and what of it is kept at the
//! start of a run so that it can be brought back after anything. No git program is run, nothing that the repository
//! configures is obeyed, and nothing in it is changed unless it is asked for ([`restore`]).
mod config;
mod copy;
mod folder;
mod head;
mod ignores;
mod index;
mod location;
mod objects;
pub(super) mod of_run;
mod packs;
mod present;
mod refs;
mod remarks;
mod restore;
mod restore_files;
mod save;
mod saved;
mod state;
mod walk;
mod write;

pub use head::head_of;
pub use ignores::{GitUser, IgnoreTexts, excludes, rules_of, tracked};
pub use restore::{RestoredGit, restore};
pub use save::{SavedGit, save};
pub use walk::Limits;

/// Why a repository could not be kept or brought back.
#[derive(Debug, thiserror::Error)]
pub enum UserGitError {
    /// The machine would not let us.
    #[error("{what}: {source}")]
    Io {
        /// What was being done.
        what: String,
        /// What it said.
        source: std::io::Error,
    },
    /// Something there forbids it; nothing was changed.
    #[error("{0}")]
    Refused(String),
}
