//! Hands on this machine: the only crate that may touch it. It does, it never decides.
//!
//! One thread: a run's whole harness is a single loop around `poll`, so that nothing is written
//! from two places and no lock is ever held while waiting.
pub mod acp_bridge;
pub mod agents;
pub mod approvals;
pub mod attempt;
mod attempt_container;
mod certify;
pub mod checkpoint;
mod checkpoint_thread;
pub mod clock;
pub mod container;
pub mod control;
pub mod driver;
pub mod fs;
pub mod guard;
mod guarding;
mod hands;
pub mod index;
pub mod journal;
pub mod ledger;
pub mod notify;
pub mod orphans;
pub mod paths;
mod paying;
pub mod process;
mod prompt_file;
pub mod proving;
pub mod publish;
pub mod requests;
pub mod retention;
pub mod runs;
pub mod secrets;
pub mod settings_files;
pub mod signals;
pub mod stop_file;
pub mod terminal;
mod tests_seen;
pub mod verify;
pub mod workspace;
