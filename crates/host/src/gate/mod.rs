//! How a gate is run, for every caller: the executor of a run, the dry run and `loop verify`. What an end means is judged
//! by `loop_core::policy::gate`.
//!
//! | file | what it has |
//! |---|---|
//! | `run` | one try of a gate: how it is started, and its report; nothing waits |
//! | `environment` | what a gate sees of its surroundings |
//! | `runner` | the same for callers that wait: time limit, Ctrl-C, tries until there is a verdict |
//! | `rehearsal` | the gates of a dry run, once each, with nothing stored |
//! | `results` | the tests of a try, stored and compared with earlier tries |
//! | `programs` | which files the programs of a gate are, then and now |
//! | `baseline_watch` | which files a gate opens when it runs first, and what it uses of them |
//! | `opportunity` | what the agent changed that the gates may depend on |
//! | `outside` | what lies outside of the workspace and may decide, then and now |
//! | `rest` | which files a gate uses beyond those that are protected |
//! | `tools` | the versions of the programs that the gates name |
//!
//! | I want to … | I go to … |
//! |---|---|
//! | change what a gate's exit means, when it is tried again or waits | rows in `core/policy/mod.rs` |
//! | change which tests must be there at the end | `core/test_output/known.rs`; in a pass: `core/run/kept_tests.rs` |
pub(crate) mod baseline_watch;
mod environment;
pub(crate) mod opportunity;
pub(crate) mod outside;
pub(crate) mod programs;
mod rehearsal;
mod rest;
pub(crate) mod results;
pub(crate) mod run;
mod runner;
pub(crate) mod tools;

pub(crate) use environment::OF_A_REPOSITORY;
pub use rehearsal::{Rehearsal, rehearse};
pub(crate) use rehearsal::{RehearsedTask, rehearse_watched};
pub(crate) use results::{TestHistory, store_tests, stored_tests};
pub use run::{GateContext, GateFailure, GateTry, missing_command, syntax_error};
pub use runner::{GateMemory, GateProgress, GateRunner};
