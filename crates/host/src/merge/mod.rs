//! Three-way merges of checkpoints, and applying one to the workspace. A merge reads three checkpoints of one store
//! and writes a fourth one, or names conflicts. It never decides for one side: where both sides changed the same thing
//! differently, that is a conflict. Only `marked` writes both versions into a file, for an agent that resolves them.
//!
//! | file | what it does | what it does not do |
//! |---|---|---|
//! | `three_way` | reads three checkpoints, makes a fourth one or a list of conflicts | touch the workspace |
//! | `names` | files and links: changes, deletions, renames | read what only one side changed |
//! | `folders` | folders: also empty ones, and their permissions | |
//! | `links` | which names are one file | |
//! | `lines` | text that both sides changed: as git does it | guess: what touches is a conflict |
//! | `marked` | a merge with conflicts as a tree: texts with both versions between signs | mark other things than text |
//! | `assemble` | puts files, folders and links together; finds names that exclude each other | |
//! | `conflict` | what a conflict is, and its words | |
//! | `apply` | a merge with the workspace as it is now; the workspace becomes the result | change ignored files |
//! | `settle` | after a crash: what is ours, what a person changed since | |
mod apply;
mod assemble;
mod conflict;
mod folders;
mod lines;
mod links;
mod marked;
mod names;
mod settle;
mod three_way;

pub use apply::{APPLIED, ApplyOutcome, ApplyReport, ApplyRequest, BEFORE_APPLY, RefusedApply, apply};
pub use conflict::{Conflict, ConflictKind, ConflictSide};
pub use lines::{LineMerge, Signs, merge_lines};
pub use marked::{MarkedTree, mark};
pub use three_way::{MergeCounts, MergeOutcome, MergeRequest, Merged, three_way};
