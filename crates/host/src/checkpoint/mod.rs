//! Checkpoints: the workspace as it was, kept outside of it as ordinary git objects in a git folder of ours,
//! with a manifest for what git cannot hold. No git program is run, and nothing in the workspace's own `.git`
//! is touched.
mod manifest;
mod object;
mod pack;
mod restore;
mod rules;
mod scan;
mod store;
pub mod user_git;

pub use manifest::Manifest;
pub use object::{Id, Kind, TreeEntry, commit, tree};
pub use pack::{Pack, PackWriter};
pub use restore::{Restored, restore};
pub use rules::Rules;
pub use scan::{Found, Seen, Stamp, What, open_folder, scan};
pub use store::{Checkpoint, Kept, KeptWhat, Saved, StatCache, Store};
