//! The store on disk: a bare git folder with our packs and refs, which any git can read.
//!
//! | file | what it does | what it does not do |
//! |---|---|---|
//! | `object` | ids, trees and commits as bytes | read files |
//! | `pack`, `pack_write` | reads packs and their indexes; writes one pack for each checkpoint | write deltas |
//! | `store` | opens the store, reads objects, takes its lock | scan a workspace |
//! | `refs` | names of checkpoints; repairs the store when it is opened | sync refs: they can be found from the packs |
//! | `manifest` | what git cannot store: permissions, empty folders, hard links, rules | store contents |
//! | `between` | which entries differ between two trees | read file contents |
//! | `gc` | removes checkpoints and unreachable objects; joins small packs | decide which: see `retention` |
pub(super) mod between;
pub(super) mod gc;
pub(super) mod manifest;
pub(super) mod object;
pub(super) mod pack;
pub(super) mod pack_write;
pub(super) mod refs;
pub(super) mod store;
