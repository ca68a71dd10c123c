//! Lists of work on this machine: items are read, checked, recorded and ticked. What is done, and when, is decided in
//! `core/plan/items`; what a loop came to, in `core/policy/item`.
//!
//! | file | what it does | what it does not do |
//! |---|---|---|
//! | `start` | from a list to a plan: everything is checked as a start | drive it |
//! | `read` | reads the list for the next item, and keeps its bytes | choose |
//! | `launch` | the request for the run of an item: its task, its settings, its note | start it |
//! | `check` | in a child process: edits are undone, the tree is recorded, the checks run | judge |
//! | `record` | what a loop came to, in the log and the last error; a tick with its files, all or none | |
//! | `files` | several files of the workspace, all written or none, also after a crash | |
//! | `folder` | where the records of an item are, and which files belong to the harness | |
mod check;
mod files;
mod folder;
mod launch;
mod read;
mod record;
mod start;

pub(super) use check::{ItemCheckRequest, run_check};
pub(super) use launch::{ItemLaunch, ItemPlaces, LoopBegin, gates_of_item};
pub(super) use read::ReadRequest;
pub(super) use record::RecordRequest;
pub use start::{ListRequest, PreparedList, create_list, prepare_list};
