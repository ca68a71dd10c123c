//! The store on disk: a bare git folder with our packs and refs, which any git can read.
//!
//! `object` (encoding), `pack` and `pack_write`, `store` (reading), `refs` (names of checkpoints), `manifest` (what git
//! cannot hold), `between` (what differs between two trees), `gc` (removing, joining small packs).
pub(super) mod between;
pub(super) mod gc;
pub(super) mod manifest;
pub(super) mod object;
pub(super) mod pack;
pub(super) mod pack_write;
pub(super) mod refs;
pub(super) mod store;
