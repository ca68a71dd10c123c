//! The gates once more, in a clean copy of a recorded tree: what no checkpoint holds and an agent may have changed does
//! not decide. The copy is mounted at the workspace's own path, in mounts that only its processes see; where the machine
//! does not allow that, it lies elsewhere, and whether the workspace was opened all the same is watched.
//!
//! `loop` ── a child of its own for one order (`child`) ── the gates. `loop verify` uses the same parts in its own process.
//!
//! | file | what it does | what it does not do |
//! |---|---|---|
//! | `order` | starts the child of an order, and reads its report | wait |
//! | `child` | what that process does, from the request to the report | decide what follows |
//! | `clean_copy` | the copy: made, changed by a probe, its gates run | change the workspace |
//! | `hidden` | runs the hidden gates on it, or in the workspace where there is none | write what they said into the run |
//! | `baseline` | what was there before the first agent: ignored files by stamp, settings in HOME | store ignored files |
//! | `ignored` | which of the ignored files come along, and how | bring what changed since |
//! | `home` | the HOME of the gates | hide the user's own HOME from who knows its path |
//! | `place` | mounts that only this process and its children see | need root, where the kernel allows it |
//! | `opened` | whether files of the workspace were opened | say by whom |
//! | `probe` | changes the copy in a way that good gates notice | run gates |
//! | `tables` | tool homes, settings in HOME, caches, dependencies and their lock files | |
mod baseline;
mod child;
mod clean_copy;
mod hidden;
mod home;
mod ignored;
mod opened;
mod order;
mod place;
pub mod probe;
mod tables;

pub(crate) use baseline::{check as check_baseline, take as take_baseline};
pub use child::run_if_asked;
pub(crate) use clean_copy::{CleanCopy, CleanError, CleanRequest, FromWorkspace, RanGate};
pub(crate) use order::{JudgeWork, start};
