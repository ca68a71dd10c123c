//! A proof to hand over: one line that any other machine can check. It is an in-toto statement about a tree of files, in a
//! DSSE envelope that can be signed. Its form: docs/formats/proof.md.
//!
//! | file | what is there |
//! |---|---|
//! | `base64` | bytes as text |
//! | `canonical` | JSON in its one form: keys sorted, no white space, no fractions |
//! | `envelope` | the envelope: read, write, and the bytes that are signed |
//! | `ssh_signature` | what an SSH signature says about itself: its key and its namespace |
//! | `statement` | the statement, made from what a run recorded |
//! | `withhold` | what must not leave this machine: local paths, things that look like secrets |
//! | `claims` | a statement read back; it is untrusted input |
//! | `base` | the gates of the base, compared with those of a proof; which gates may be run |
//! | `check` | what a check of a proof found, what that means, and its exit code |
//!
//! Nothing here signs, reads a file or runs anything; `loop_host::attestation` does.
//!
//! | I want to … | I go to … |
//! |---|---|
//! | change the proof that is handed over, or its check | `core/attestation/`, `host/attestation/`; notes: `user_git/` |
pub mod base;
pub mod base64;
pub mod canonical;
pub mod check;
pub mod claims;
pub mod envelope;
pub mod ssh_signature;
pub mod statement;
pub mod withhold;

pub use base::{BaseGates, GateToRun, GatesSource, covered_gates, gates_to_run};
pub use check::{CheckResults, GatesMatch, ProofCheck, Rerun, SignatureTrust, TreeMatch};
pub use claims::{ClaimedGate, ClaimedScope, ProofClaims};
pub use envelope::{Envelope, EnvelopeSignature, FormError};
pub use statement::{GateInput, PortableTree, StatementRequest, statement};
pub use withhold::LocalTexts;
