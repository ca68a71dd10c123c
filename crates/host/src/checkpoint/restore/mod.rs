//! Making a workspace equal to a checkpoint.
//!
//! | file | what it does | what it does not do |
//! |---|---|---|
//! | `tree` | plans and restores all names | remove what the checkpoint before does not have |
//! | `entry` | replaces or removes one name, checked before and after | overwrite what changed meanwhile |
//! | `paths` | which paths a restore is limited to | match patterns |
//! | `ignored` | writes small ignored files that are missing or changed | remove an ignored file |
//! | `unsynced` | syncs everything once, at the end | |
pub(super) mod entry;
pub(super) mod ignored;
pub(super) mod paths;
pub(super) mod tree;
pub(super) mod unsynced;
