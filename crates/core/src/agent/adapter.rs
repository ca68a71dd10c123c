//! An adapter: one agent program as values and two functions, from an attempt to a command, from bytes to a reading.
use serde::Deserialize;

use super::command::{AgentCommand, AttemptSpec};
use super::plain_text::TextReader;
use super::provider::window::LimitWindow;
use super::reading::{Reader, Usage};

/// How what is added to the system prompt reaches the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SystemBy {
    /// The adapter passes it by a flag, a file or a setting.
    Call,
    /// There is no other way: it is put at the end of the prompt.
    Prompt,
}

/// Which signal lets the program end in order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopSignal {
    /// SIGTERM.
    #[default]
    Terminate,
    /// SIGINT.
    Interrupt,
}

/// What a reader must know before the first byte.
#[derive(Debug, Clone, Copy, Default)]
pub struct Begin {
    /// What the session had used before, for programs that count over the whole of it.
    pub used: Usage,
}

/// Where a program keeps records of its sessions, in folders by year, month and day, and how the end of one is read.
#[derive(Debug, Clone, Copy)]
pub struct SessionRecord {
    /// The variable that names the program's folder.
    pub home_variable: &'static str,
    /// Without it, this folder below HOME.
    pub home_folder: &'static str,
    /// The folder of all records in there.
    pub folder: &'static str,
    /// What the end of a record says about limits.
    pub read: fn(&[u8]) -> Vec<LimitWindow>,
}

/// One agent program.
#[derive(Debug, Clone, Copy)]
pub struct Adapter {
    /// What `--agent` calls it.
    pub name: &'static str,
    /// What its maker calls it, for lists that people read.
    pub title: &'static str,
    /// The program looked for on PATH.
    pub program: &'static str,
    /// How to install it.
    pub install: &'static str,
    /// How to sign in, said when that is what is missing.
    pub sign_in: &'static str,
    /// What else fixes the sign-in, by words of the error: where the way above was taken already.
    pub sign_in_errors: &'static [(&'static str, &'static str)],
    /// The version it was tried with; none means: by its documentation alone.
    pub tried: Option<&'static str>,
    /// How the system prompt is added to.
    pub system: SystemBy,
    /// Whether a session can be continued.
    pub continues: bool,
    /// Whether it can run commands at all.
    pub runs_commands: bool,
    /// The levels of effort above its default, the next one first; empty where it has no switch for that.
    pub efforts: &'static [&'static str],
    /// The signal that it ends on in order.
    pub stop_signal: StopSignal,
    /// What it leaves in the workspace, as globs.
    pub litter: &'static [&'static str],
    /// Its instructions and settings in a workspace: names with at most one `*`, in any folder; with a `/` at the end, folders
    /// of the workspace. A change of one is named with the proof.
    pub own_files: &'static [&'static str],
    /// Beginnings of the names of its own variables, such as `ANTHROPIC_`; a whole name is a beginning of itself.
    pub variables: &'static [&'static str],
    /// Variables that it sets for what it starts, as seen in the shells of its tools or in its program; `*` stands for
    /// anything. With them another agent would take itself for a part of that session, so none gets them.
    pub markers: &'static [&'static str],
    /// Names of variables any of which signs it in.
    pub keys: &'static [&'static str],
    /// Files below HOME any of which shows that the user is signed in.
    pub signed_in_files: &'static [&'static str],
    /// The assumed worst cost of one run where the agent reports none, in millionths of a dollar.
    pub worst_cost_micros: u64,
    /// Whether its program is given the money of a call, and stops by itself when it is spent.
    pub keeps_budget: bool,
    /// Why it will not be allowed everything as root, and the variable with which it will; none where root makes no difference.
    pub as_root: Option<(&'static str, &'static str)>,
    /// How to allow it more, for the message about refused commands.
    pub allow_hint: &'static str,
    /// The record that its program keeps of a session, where that says what the stream does not.
    pub session_record: Option<SessionRecord>,
    /// It speaks the Agent Client Protocol: a program of ours is between us and it.
    pub behind_bridge: bool,
    /// From an ask to a program.
    pub call: fn(&AttemptSpec<'_>) -> AgentCommand,
    /// A reader for its stdout.
    pub reader: fn(Begin) -> Box<dyn Reader>,
}

/// What most have in common; the names and both functions are each agent's own.
pub(super) const BASE: Adapter = Adapter {
    name: "",
    title: "",
    program: "",
    install: "",
    sign_in: "",
    sign_in_errors: &[],
    tried: None,
    system: SystemBy::Prompt,
    continues: true,
    runs_commands: true,
    efforts: &[],
    stop_signal: StopSignal::Terminate,
    litter: &[],
    own_files: &[],
    variables: &[],
    markers: &[],
    keys: &[],
    signed_in_files: &[],
    worst_cost_micros: 5_000_000,
    keeps_budget: false,
    as_root: None,
    allow_hint: "",
    session_record: None,
    behind_bridge: false,
    call: |_| AgentCommand::default(),
    reader: |_| Box::new(TextReader::default()),
};
