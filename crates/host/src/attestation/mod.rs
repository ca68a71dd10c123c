//! A proof to hand over: made from a run, signed by a person's key, and checked in a checkout of another machine. Its form
//! is `loop_core::attestation`.
//!
//! | file | what it does | what it does not do |
//! |---|---|---|
//! | `export` | makes the statement of a run | sign; touch the workspace |
//! | `ssh` | signs and checks signatures with `ssh-keygen` | take that program from the workspace |
//! | `checkout` | records the files of a checkout, and compares them with a proof | change the checkout |
//! | `check` | the whole check, from the file to the answer | run untrusted commands |
//! | `hints` | what a person should know to read the answer | decide |
//! | `rerun` | runs gates in a separate copy of a checkout | decide which |
mod check;
mod checkout;
mod export;
mod hints;
mod rerun;
mod ssh;

pub use check::{CheckError, CheckRequest, check_proof, find_note, read_proof};
pub use export::{Exported, export, hint_to_verified, keep_proved_end};
pub use ssh::{SignError, SigningKey, sign};
