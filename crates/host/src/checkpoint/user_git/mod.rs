//! The user's own repository, read as data: its ignore rules, its index, and what is saved of it at the start of a
//! run so that it can be restored later. No git program is run, nothing that the repository configures is executed,
//! and nothing in it is changed unless a person asks for it ([`restore()`]).
//!
//! | file | what it does | what it does not do |
//! |---|---|---|
//! | `location` | finds `.git`, also of worktrees and submodules | follow a pointer that does not point back |
//! | `folder`, `write` | reading and writing below a folder by handle, with limits | follow links |
//! | `config`, `index`, `refs`, `head` | decoders of git's files | execute anything; follow includes |
//! | `ignores` | ignore rules of the user, the repository and the folders above | use the repository's `core.excludesFile` |
//! | `lookup` | trees and files of revisions, for a check of a proof | read SHA-256 objects or a reftable |
//! | `notes` | reads and adds a note in `refs/notes/loop` | touch any other ref |
//! | `objects`, `packs` | reads loose and packed objects, with deltas | map files into memory |
//! | `walk` | which objects no remote is known to have | read a whole fetched history |
//! | `copy` | writes these objects as one pack | unpack what can be copied |
//! | `state` | files to save as they are: HEAD, index, operations in progress | save hooks |
//! | `save`, `saved` | saves all of it; its format on disk | change the repository |
//! | `present` | whether a commit is complete again after the restore | fetch |
//! | `restore`, `restore_files` | writes it back | remove what was made since |
//! | `clean` | writes it as it was at the start into a copy of the workspace | write hooks, or what runs programs |
//! | `of_run` | all of this for one run | stop the run when it fails |
//! | `remarks` | sentences for people, each once, with a limit | |
pub(crate) mod clean;
mod config;
mod copy;
mod folder;
mod head;
mod ignores;
mod index;
mod location;
mod lookup;
mod notes;
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
pub use ignores::{GitUser, IgnoreTexts, rules_of, tracked};
pub use lookup::{Checkout, CommittedFiles, user_setting};
pub use notes::NoteError;
pub use restore::{RestoredGit, restore};
pub(crate) use save::is_foreign;
pub use save::{SavedGit, save};
pub use walk::Limits;

/// Why a repository could not be saved or restored.
#[derive(Debug, thiserror::Error)]
pub enum UserGitError {
    /// The machine does not allow it.
    #[error("{what}: {source}")]
    Io {
        /// What was being done.
        what: String,
        /// Its message.
        source: std::io::Error,
    },
    /// Something there forbids it; nothing was changed.
    #[error("{0}")]
    Refused(String),
}
