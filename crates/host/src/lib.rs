//! The only crate that touches this machine: files, processes, sockets, clocks. It acts and never decides.
//!
//! One thread: a run's whole harness is a single loop around `poll`, so that nothing is written
//! from two places and no lock is ever held while waiting.
pub mod acp_bridge;
pub mod agents;
pub mod approvals;
pub mod attempt;
mod attempt_container;
pub mod attestation;
pub mod bug_report;
pub mod changes;
pub mod checkpoint;
mod checkpoint_thread;
pub mod clock;
pub mod container;
pub mod control;
pub mod driver;
mod executor;
pub mod fs;
pub mod gate;
pub mod guard;
pub mod hidden;
pub mod index;
pub mod journal;
pub mod judge;
pub mod launch;
pub mod ledger;
mod measure;
pub mod notify;
pub mod orphans;
pub mod paths;
pub mod process;
mod prompt_file;
pub mod publish;
pub mod refusal;
mod requests;
pub mod retention;
pub mod reverify;
pub mod run_folder;
pub mod secrets;
pub mod settings_files;
pub mod signals;
pub mod stop_file;
pub mod terminal;
pub mod usable_agent;
pub mod user_commit;
pub mod workspace;
