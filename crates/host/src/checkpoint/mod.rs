//! Checkpoints: the workspace as it was, kept outside of it as ordinary git objects in a git folder of ours,
//! with a manifest for what git cannot hold. No git program is run, and nothing in the workspace's own `.git`
//! is touched.
mod between;
pub mod diff;
mod gc;
mod keeper;
mod lasting;
mod look;
mod look_folder;
mod manifest;
mod object;
mod pack;
mod pack_write;
mod picture;
mod picture_file;
mod place;
mod read;
mod refs;
mod restore;
mod rules;
mod save;
mod scope;
mod store;
mod unsynced;
pub mod user_git;

pub use between::Differences;
pub use gc::{Collected, Listed};
pub use keeper::{Keeper, NotKept, Place, choose};
pub use lasting::{Bound, Gone, collect, forget_run, tidy};
pub use look::Hint;
pub use manifest::{Manifest, Modes};
pub use object::{CommitParts, Id, Kind, TreeEntry, commit, read_commit, tree};
pub use pack::Pack;
pub use pack_write::PackWriter;
pub use picture::{Picture, Stamp, open_folder};
pub use read::Depth;
pub use restore::{Content, Restored, Way, restore};
pub use rules::{RuleTexts, Rules};
pub use save::{Ask, Measured, Taken};
pub(crate) use scope::Scope;
pub use store::{Checkpoint, Kept, KeptWhat, Parts, Store};
