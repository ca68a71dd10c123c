//! The input and the output of an adapter: one attempt, and the command that starts it.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How much an agent may do by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permissions {
    /// Change files in the workspace, and run nothing.
    Edit,
    /// Change files in the workspace and run commands there, by the program's own lists and sandbox.
    #[default]
    Work,
    /// Everything.
    All,
}

/// All of them by the words that people use.
pub const PERMISSIONS: [(&str, Permissions); 3] =
    [("edit", Permissions::Edit), ("work", Permissions::Work), ("all", Permissions::All)];

impl Permissions {
    /// The one of that name; work where there is none.
    #[must_use]
    pub fn of(word: &str) -> Self {
        PERMISSIONS.iter().find(|(name, _)| *name == word).map_or(Self::Work, |(_, mode)| *mode)
    }

    /// Its name.
    #[must_use]
    pub fn word(self) -> &'static str {
        PERMISSIONS.iter().find(|(_, mode)| *mode == self).map_or("work", |(name, _)| *name)
    }
}

/// One attempt, as an adapter needs to know it. Paths are absolute; both files exist when the program starts.
#[derive(Debug, Clone)]
pub struct AttemptSpec<'a> {
    /// The program to start: the adapter's own name for it, or the path that was found.
    pub program: &'a str,
    /// Our own program, for agents that need one between us and them.
    pub harness: &'a str,
    /// Where it works.
    pub workspace: &'a str,
    /// The folder of the attempt, in which [`AgentCommand::files`] may lie.
    pub folder: &'a str,
    /// The file that holds the prompt.
    pub prompt_file: &'a str,
    /// What is to be added to its system prompt; may be empty.
    pub system: &'a str,
    /// The file that holds the same.
    pub system_file: &'a str,
    /// The session to resume; none begins a new one.
    pub session: Option<&'a str>,
    /// How much it may do.
    pub permissions: Permissions,
    /// Whether what it runs may use the network.
    pub network: bool,
    /// The model, where the user named one.
    pub model: Option<&'a str>,
    /// How long the model is to think, by the program's own word; none is its default.
    pub effort: Option<&'a str>,
    /// The user's own arguments, passed on as they are.
    pub args: &'a [String],
    /// Whether we are root.
    pub root: bool,
    /// What may still be spent, in millionths of a dollar.
    pub budget: Option<u64>,
    /// The variables that it will get beside those of [`AgentCommand::env`].
    pub ambient: &'a BTreeMap<String, String>,
}

/// What is on its stdin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stdin {
    /// The prompt file.
    #[default]
    Prompt,
    /// Nothing.
    Nothing,
}

/// A program to start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentCommand {
    /// The program and its arguments. The prompt is never among them.
    pub argv: Vec<String>,
    /// Variables that it gets for certain.
    pub env: Vec<(String, String)>,
    /// Variables that it must not get, whatever the user has set.
    pub without: Vec<String>,
    /// Its stdin.
    pub stdin: Stdin,
    /// Files to write before it is started: absolute path below [`AttemptSpec::folder`], and text.
    pub files: Vec<(String, String)>,
}
