//! A probe changes the copy of the final tree in a way that good gates must notice. What is changed is decided in core
//! (`policy/probe`); here it is read from the checkpoints and written into the copy.
//!
//! | file | what it does |
//! |---|---|
//! | `canary` | adds a failing test for each gate |
//! | `new_tests` | takes out the test files that the agent added |
//! | `undo` | sets all sources back to the start |
//! | `hunks` | takes back one piece of the change after the other |
//! | `writer` | writes into the copy, with times that build tools see |
mod canary;
mod hunks;
mod new_tests;
mod undo;
mod writer;

use std::io;
use std::path::Path;

use loop_core::policy::probe::NoUndo;
use loop_core::policy::protect::{FileChange, GateReads, OpportunityKind, judging_scripts_at, opportunity};
use loop_core::run::GateIndex;
use loop_core::settings::GateSpec;
use loop_core::test_output::Tests;
use thiserror::Error;

pub use canary::{PlacedCanary, apply_canary, probe_word};
pub use hunks::try_hunks;
pub use new_tests::{NewTests, new_tests};
pub use undo::{Undone, apply_undone};

use crate::checkpoint::{Recorded, RecordedTrees};
use crate::gate::opportunity::{gate_texts, read_changes};

/// What a probe has to work with.
#[derive(Debug, Clone, Copy)]
pub struct ProbeContext<'a> {
    /// The copy, which holds the final tree.
    pub copy: &'a Path,
    /// The tree before the first iteration.
    pub initial: &'a Recorded,
    /// The tree on which the gates passed.
    pub last: &'a Recorded,
    /// The required gates.
    pub gates: &'a [ProbeGate<'a>],
    /// The files that they use to judge.
    pub gate_files: &'a [String],
}

/// A gate, and what is known of its last run on the final tree.
#[derive(Debug, Clone, Copy)]
pub struct ProbeGate<'a> {
    /// Which one.
    pub gate: GateIndex,
    /// Its command.
    pub spec: &'a GateSpec,
    /// What its output said about tests.
    pub tests: Option<&'a Tests>,
    /// The ids of the tests that failed before the first iteration.
    pub red: &'a [String],
}

/// Why a probe was not made.
#[derive(Debug, Error)]
pub enum ProbeError {
    /// There is no such probe for these gates and this change.
    #[error("{0}")]
    NotApplicable(String),
    /// The copy or a checkpoint could not be read or written.
    #[error("the copy could not be changed: {0}")]
    Unable(#[from] io::Error),
}

impl From<NoUndo> for ProbeError {
    fn from(why: NoUndo) -> Self {
        Self::NotApplicable(why.to_string())
    }
}

/// What stays with the tests: the scripts of the gates, and new files that a test runner or make reads by itself.
fn gate_files(context: &ProbeContext<'_>) -> Vec<String> {
    let trees = RecordedTrees::new(context.initial, context.last);
    let commands: Vec<String> = context.gates.iter().map(|gate| gate.spec.command.clone()).collect();
    let mut files: Vec<String> = commands.iter().flat_map(|command| judging_scripts_at(command, "")).collect();
    files.extend(context.gate_files.iter().cloned());
    // Only what the gates themselves name makes a file one of a runner.
    let reads = GateReads::of(&gate_texts(&trees, &commands, context.gate_files), &[]);
    for change in read_changes(&trees).into_iter().filter(|change| change.what == FileChange::New) {
        let by_name = opportunity(&change.path, FileChange::New).filter(|_| !change.path.ends_with("build.rs"));
        if by_name.or_else(|| reads.kind(&change.borrowed(), &|_, _| None)) == Some(OpportunityKind::NewRunnerFile) {
            files.push(change.path);
        }
    }
    files
}
