//! One item of a list on this machine: its commands are found and run, its artifacts are looked at, edits of the agent to
//! files of the harness are undone. `loop_core::policy::item` decides; nothing here does.
//!
//! For one loop, in this order:
//!
//! 1. [`ItemSensors::find`]: the commands of the item, and which of them a person has approved.
//! 2. [`LoopStart::take`] before the agent begins.
//! 3. After all processes of the agent are dead: [`LoopStart::undo_edits`], a checkpoint, [`ItemChanges::between`].
//! 4. [`read_loop`] runs the checks and gives the `LoopEvidence` for `evaluate`.
//!
//! Before any loop: [`check_acceptance`], which is all of `loop prd check`.
//!
//! | file | what it does | what it does not do |
//! |---|---|---|
//! | `acceptance` | runs the command of each criterion three times, in a copy | tick anything |
//! | `approval` | which commands of a repository a person has approved | ask |
//! | `artifacts` | looks at a file by no link and never outside of the workspace | judge it |
//! | `changes` | what changed since the item began, as a file and as names | |
//! | `check_copy` | a copy of the workspace for checks | change the workspace |
//! | `own_files` | what the agent must leave alone: recorded, compared, restored | |
//! | `sensors` | finds and runs the commands of one loop | judge what they mean |
mod acceptance;
mod approval;
mod artifacts;
mod changes;
mod check_copy;
mod own_files;
mod sensors;

pub use acceptance::{AcceptanceRequest, check_acceptance};
pub use approval::{ProposedCheck, approve_checks};
pub use artifacts::look_at_artifact;
pub use changes::ItemChanges;
pub use own_files::{LoopStart, UndoneEdits};
pub use sensors::{GivenSensors, ItemSensors, KnownSensor, LoopReading, SensorPlaces, read_loop};
