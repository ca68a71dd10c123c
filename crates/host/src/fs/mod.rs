//! Tools for files that other modules share. Nothing here knows runs, checkpoints or workspaces, and nothing here
//! uses another module of this crate.
//!
//! | file | what it has |
//! |---|---|
//! | `id` | fresh random ids, bytes as hexadecimal digits |
//! | `durable` | writing so that a power cut loses nothing, or leaves the old file |
//! | `hashed` | files that a journal names by their hash |
//! | `lock` | a file that one process holds |
//! | `handle` | folders and files by handle: through no link and never outside |
//! | `content` | the content of one file into another, shared where the file system can |
//! | `walk`, `clear` | all names of a tree; removing a tree, whatever was done to it |
//! | `mounts`, `btrfs` | what is mounted where; the system calls for subvolumes |
//! | `size` | how much space a tree takes on disk |
pub(crate) mod btrfs;
pub(crate) mod clear;
pub(crate) mod content;
mod durable;
pub(crate) mod handle;
pub(crate) mod hashed;
mod id;
mod lock;
pub(crate) mod mounts;
mod size;
pub(crate) mod walk;

pub use durable::sync_folder;
pub(crate) use durable::{write_beside, write_synced};
pub use handle::{FolderId, open_folder};
pub use id::{fresh_id, hex};
pub(crate) use lock::lock;
pub use size::bytes_of;
