//! Workflow files: several loops with dependencies, written in YAML.
//!
//! A text and values for its variables come in; a [`Workflow`] goes out, or everything that is wrong with the file, each
//! fault with its line. There is no expression language: a file has texts, variables and settings.
//!
//! | file | what is there |
//! |---|---|
//! | `tree` | the YAML text as nodes with positions |
//! | `error` | what is wrong with a file, and where |
//! | `variables` | `{{name}}` in a text |
//! | `shell` | a value in a shell command, quoted for where it stands |
//! | `read` `entry` `fields` | nodes to a workflow: the top of a file, an entry of `loops`, single values |
//! | `graph` | what waits for what: circles, steps, the longest chain, a part of it |
//! | `draw` | a workflow as text, `dot`, SVG and JSON |
//! | `key` | what a node is, as one hash |
//! | `schema` | the JSON Schema for editors |
//!
//! | I want to … | I go to … |
//! |---|---|
//! | how a value gets into a shell command | `core/workflow/shell.rs`; tried in `host/tests/it/workflow_shell.rs` |
mod draw;
mod entry;
mod error;
mod fields;
mod graph;
mod key;
mod read;
mod schema;
mod shell;
mod tree;
mod variables;

use serde::{Deserialize, Serialize};

use crate::plan::OnConflict;
use crate::settings::Given;

pub use draw::{dot, json, svg, text};
pub use error::{FilePosition, WorkflowError};
pub use graph::{Steps, only};
pub use key::node_key;
pub use read::{WorkflowSource, read};
pub use schema::schema;
pub use variables::{
    FAILED_LOOP, FAILED_LOOP_VARIABLE, Variables, VariablesError, answer_variable, variables_in, wants_ports,
    with_answers, with_ports,
};

/// How long a command of `on_complete` and `on_failure` may take, where the file does not say it.
pub const HOOK_TIMEOUT_MS: u64 = 10 * 60 * 1000;
/// How many loops work at once, where neither the file nor the command line says it.
pub const PARALLEL_DEFAULT: u32 = 2;

/// A workflow: its entries, in the order of the file, and what holds for all of them. Variables are filled in.
#[derive(Debug, Clone)]
pub struct Workflow {
    /// What it is called; the name of the file where it has no other.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Variables of the environment for agents, gates and commands.
    pub env: Vec<EnvVariable>,
    /// The entries of `loops`.
    pub entries: Vec<WorkflowEntry>,
    /// How many work at once.
    pub parallel: Option<u32>,
    /// What all loops together may cost, in millionths of a dollar.
    pub budget_micros: Option<u64>,
    /// What happens if a result cannot be merged.
    pub on_conflict: OnConflict,
    /// How long each command below may take.
    pub hook_timeout_ms: u64,
    /// Shell commands for the end, when every loop is merged.
    pub on_complete: Vec<String>,
    /// Shell commands for an end without that.
    pub on_failure: Vec<String>,
}

/// A variable of the environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvVariable {
    pub name: String,
    pub value: String,
}

/// An entry of `loops`.
#[derive(Debug, Clone)]
pub struct WorkflowEntry {
    /// Its name in the file.
    pub id: String,
    /// The line of its id.
    pub line: usize,
    /// Which entries must be done before, as places in the list of entries.
    pub depends_on: Vec<usize>,
    /// What it does.
    pub work: EntryWork,
}

/// What an entry does.
#[derive(Debug, Clone)]
pub enum EntryWork {
    /// A loop.
    Loop(LoopEntry),
    /// A question to a person. What depends on it starts when it is answered.
    Ask(String),
}

/// A loop of a workflow.
#[derive(Debug, Clone)]
pub struct LoopEntry {
    /// The task. Answers to questions are filled in when it starts.
    pub prompt: String,
    /// The questions whose answers stand in the task.
    pub answers: Vec<String>,
    /// Its own settings, the promise among them.
    pub given: Vec<Given>,
    /// Which files it changes, as globs: two loops that share one are not run at the same time.
    pub touches: Vec<String>,
}

impl Workflow {
    /// The questions that an entry waits for, over any number of entries, by their places.
    #[must_use]
    pub fn questions_before(&self, place: usize) -> Vec<usize> {
        let mut seen: Vec<usize> = Vec::new();
        let mut open = vec![place];
        while let Some(entry) = open.pop().and_then(|place| self.entries.get(place)) {
            let new: Vec<usize> = entry.depends_on.iter().copied().filter(|place| !seen.contains(place)).collect();
            seen.extend(&new);
            open.extend(new);
        }
        let is_question =
            |place: &usize| self.entries.get(*place).is_some_and(|entry| matches!(entry.work, EntryWork::Ask(_)));
        seen.sort_unstable();
        seen.dedup();
        seen.into_iter().filter(is_question).collect()
    }
}

impl LoopEntry {
    /// The value of a setting that the entry itself gives.
    #[must_use]
    pub fn setting(&self, name: &str) -> Option<&str> {
        self.given.iter().rfind(|given| given.key.name == name).map(|given| given.value.as_str())
    }
}
