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
//! | `clean_copy/` | the copy: made, its gates run | change the workspace |
//! | `hidden` | runs the hidden gates on it, or in the workspace where there is none | write what they said into the run |
//! | `baseline` | what was there before the first agent: ignored files by stamp, settings in HOME | store ignored files |
//! | `ignored` | which of the ignored files come along, and how | bring what changed since |
//! | `variables` | variables that lead to homes of tools and to settings | |
//! | `home` | the HOME of the gates | block access to the real HOME by its absolute path |
//! | `place` | mounts that only this process and its children see | need root (if user namespaces are available) |
//! | `opened` | whether files of the workspace were opened | say by whom |
//! | `probe/` | changes the copy in a way that good gates notice | run gates |
//! | `tables` | tool homes, settings in HOME, caches, dependencies and their lock files | |
//!
//! | I want to … | I go to … |
//! |---|---|
//! | change hidden gates | `core/settings/hidden.rs`, `host/hidden.rs`, `host/judge/hidden.rs` |
//! | change what a probe changes in a copy | `core/policy/probe/` (which test, which files), `host/judge/probe.rs` |
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
mod variables;

pub(crate) use baseline::{check as check_baseline, take as take_baseline};
pub use child::run_if_asked;
pub use clean_copy::CleanError;
pub(crate) use clean_copy::{
    CleanCopy, CleanRequest, CopyKind, GateRange, LiveParts, RanGate, RunCopies, WorkspaceCheck,
};
pub(crate) use order::{JudgeWork, start};
