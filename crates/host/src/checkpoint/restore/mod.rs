//! Making a workspace what a checkpoint holds: `tree` (all names), `entry` (one name, replaced or removed), `unsynced`
//! (what is synced at the end).
pub(super) mod entry;
pub(super) mod tree;
pub(super) mod unsynced;
