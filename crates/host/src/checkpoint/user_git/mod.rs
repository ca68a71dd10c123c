//! The user's own repository, read as data: what its ignore rules and its index say, and what of it is kept at the
//! start of a run so that it can be brought back after anything. No git program is run, nothing that the repository
//! configures is obeyed, and nothing in it is changed unless it is asked for ([`bring_back`]).
mod bring;
mod bring_files;
mod config;
mod copy;
mod folder;
mod head;
mod ignores;
mod index;
mod keep;
mod kept;
mod objects;
mod packs;
mod place;
mod present;
mod put;
mod refs;
mod said;
mod state;
mod walk;

pub use bring::{BroughtBack, bring_back};
pub use head::head_of;
pub use ignores::{RulesFound, User, excludes, rules_of, tracked};
pub use keep::{KeptGit, keep};
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
