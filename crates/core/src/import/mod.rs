//! What users of other tools have, as settings and prompts of ours: `loop import`.
//!
//! Texts come in, a plan comes out: what is set, what only the user may set, what is copied, what a later command
//! reads, and what has no counterpart, with the reason. Every line of every file has exactly one of these fates, or says
//! nothing (empty, a comment, a bracket). Nothing here runs or expands what a file says.
//!
//! | file | what is there |
//! |---|---|
//! | `tool` | the tools, how a path names one, and which files of it are read |
//! | `account` | a line and its fate; the builder that all tools fill |
//! | `plan` | the result: limits of a project file, the text of `.loop.toml`, the next command |
//! | `assignments` `leaves` | readers with line numbers: `KEY=VALUE` lines; TOML, JSON and YAML |
//! | `agent_flags` | arguments that another tool gives to an agent |
//! | `task_list` | Markdown lists with boxes: counted, and a prompt for them |
//! | `ralph` `ralph_tui` `prd` `ralphex` `loopr` `daedalos` | the tools, a file each |
//!
//! | I want to … | I go to … |
//! |---|---|
//! | import files of another tool, or map one more key | `core/import/<tool>.rs`; reading: `host/import_source.rs` |
mod account;
mod agent_flags;
mod assignments;
mod daedalos;
mod leaves;
mod loopr;
mod plan;
mod prd;
mod ralph;
mod ralph_tui;
mod ralphex;
mod task_list;
mod tool;

pub use account::{ImportLine, LineFate};
pub use plan::{FileAccount, ImportPlan, ImportedFile, NextCommand, plan_import};
pub use tool::{BesideFile, ImportSource, PeerTool, SourceFile, SourcePlace, WantedFiles, WantedNames};

use thiserror::Error;

/// A file that cannot be read as what it should be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{place}: not a valid {format} file")]
pub struct ImportError {
    /// The file, with the line where it is known.
    pub place: String,
    /// TOML, JSON or YAML.
    pub format: &'static str,
    /// What the reader said.
    pub why: String,
}
