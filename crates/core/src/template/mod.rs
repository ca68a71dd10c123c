//! Templates: how a task is put to the agent, with gates and settings, under a name.
//!
//! A template is a TOML file with the keys of `config.toml`, and a few of its own: `description`, `goal` with `{{prompt}}`,
//! `find` in the place of a command, which stands for what the project has, and
//! `phases`, the templates of several loops one after the other.
//!
//! | file | what is there |
//! |---|---|
//! | `read` | from the text of a file to a template |
//! | `layer` | from a template and a project to a layer of settings |
//! | `write` | texts of new templates: from a run, and to begin with |
//!
//! The templates of the program are files of `built_in`.
//!
//! | I want to … | I go to … |
//! |---|---|
//! | change or add a built-in template | `core/template/built_in/`; what is read and found: `core/template/` |
//! | templates on disk, their approval | `host/templates.rs`; at a start: `host/launch/template.rs`, `approval.rs` |
//! | a template of several loops | `core/template/` (`phases`); as a workflow: `host/plan/phases.rs` |
mod layer;
mod read;
mod write;

use crate::project::CheckUse;
use crate::settings::{Given, Layer, SettingsError};

pub use layer::{FoundGate, TemplateLayer};
pub use write::{starting_text, text_of_run};

/// Stands for the prompt in the goal of a template.
pub const PROMPT_MARK: &str = "{{prompt}}";

/// The built-in templates: name and text.
pub const BUILT_IN: [(&str, &str); 6] = [
    ("tdd", include_str!("built_in/tdd.toml")),
    ("bugfix", include_str!("built_in/bugfix.toml")),
    ("refactor", include_str!("built_in/refactor.toml")),
    ("feature", include_str!("built_in/feature.toml")),
    ("security", include_str!("built_in/security.toml")),
    ("performance", include_str!("built_in/performance.toml")),
];

/// The loops of built-in templates that have several: name and text. They can be used alone, too.
pub const BUILT_IN_PHASES: [(&str, &str); 2] =
    [("tdd-red", include_str!("built_in/tdd-red.toml")), ("tdd-green", include_str!("built_in/tdd-green.toml"))];

/// A template.
#[derive(Debug, Clone)]
pub struct Template {
    /// Its name.
    pub name: String,
    /// What it is for, in one line.
    pub description: String,
    /// The task as the agent gets it, with [`PROMPT_MARK`] where the prompt goes.
    pub goal: String,
    /// Gates that are looked for in the project.
    pub wanted: Vec<WantedCheck>,
    /// Its settings, each with its place.
    pub given: Vec<Given>,
    /// As which layer its settings count.
    pub layer: Layer,
    /// The templates of its loops, where it is a workflow of several: each begins with what the one before left.
    pub phases: Vec<String>,
}

/// A gate that is looked for in the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedCheck {
    /// The name of the gate; `promise` for the promise.
    pub name: String,
    /// What it must show.
    pub find: CheckUse,
    /// The keys of the gate without its command, as they are in the file.
    pub options: Vec<(String, String)>,
    /// The loop must not start without it.
    pub needed: bool,
    /// Where it stands, for people.
    pub place: String,
}

impl Template {
    /// Reads a template. `file` is its name for people. As [`Layer::Project`] it follows the rules for files that come
    /// with a repository.
    ///
    /// # Errors
    /// The first thing that is wrong, with file, line and key.
    pub fn read(name: &str, text: &str, file: &str, layer: Layer) -> Result<Self, SettingsError> {
        read::template(name, text, file, layer)
    }

    /// Whether it can be used without a prompt.
    #[must_use]
    pub fn has_whole_task(&self) -> bool {
        !self.goal.contains(PROMPT_MARK)
    }

    /// The task for the agent. A goal without the mark stands behind the prompt.
    #[must_use]
    pub fn task(&self, prompt: Option<&str>) -> String {
        match prompt.map(str::trim_end) {
            Some(prompt) if self.has_whole_task() => format!("{prompt}\n\n{}", self.goal),
            Some(prompt) => self.goal.replace(PROMPT_MARK, prompt),
            None => self.goal.clone(),
        }
    }
}
