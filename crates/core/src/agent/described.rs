//! An agent that a person described in their own settings: its command, its arguments, how its output is read.
use serde::{Deserialize, Serialize};

use super::acp;
use super::adapter::{Begin, StopSignal, SystemBy};
use super::command::{AgentCommand, AttemptSpec, Permissions, Stdin};
use super::error_words::{ErrorWords, WithErrorWords};
use super::plain_text::TextReader;
use super::provider::failure::Failure;
use super::reading::{End, Live, Reader, Reading, Terminal};
use super::registry::known_reader;
use crate::ended::Ended;

/// In a command: where the arguments go that depend on the attempt; at its end where this is missing.
pub const ARGS: &str = "{args}";

/// How the prompt reaches it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptBy {
    /// On its stdin.
    #[default]
    Stdin,
    /// As a file: `{prompt_file}` in the command.
    File,
}

/// What it prints.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutputFormat {
    /// Text: all of it is its message.
    #[default]
    Text,
    /// What `claude --output-format stream-json` prints.
    ClaudeStream,
    /// What `codex exec --json` prints.
    CodexJsonl,
    /// What `gemini --output-format stream-json` prints.
    GeminiStream,
    /// What `opencode run --format json` prints.
    OpencodeJson,
    /// It speaks the Agent Client Protocol.
    Acp,
}

/// How to know whether it did its work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Success {
    /// By its exit code alone.
    #[default]
    Exit,
    /// By its exit code and by what its stream says at the end.
    Terminal,
}

/// Arguments for each way of working.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByPermissions {
    /// For *edit*; without them it is not known that the agent does not use the shell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edit: Option<Vec<String>>,
    /// For *work*.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<Vec<String>>,
    /// For *all*.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all: Option<Vec<String>>,
}

/// One such agent, as it was when the run began.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Described {
    /// What `--agent` calls it.
    pub name: String,
    /// The program and its first arguments.
    pub command: Vec<String>,
    /// How the prompt reaches it.
    pub prompt: PromptBy,
    /// Arguments that continue a session: `{session}` is its id. Without them each iteration starts a new one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<Vec<String>>,
    /// Arguments that choose a model: `{model}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Vec<String>>,
    /// Arguments that add to its system prompt: `{system_file}`. Without them it stands in the prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<Vec<String>>,
    /// Arguments by how much it may do.
    pub permissions: ByPermissions,
    /// What it prints.
    pub output: OutputFormat,
    /// How to know whether it did its work.
    pub success: Success,
    /// The signal that it ends on in order is SIGINT.
    pub interrupt: bool,
    /// Variables that it needs beside the common ones; `*` stands for anything.
    pub env: Vec<String>,
    /// What it leaves in the workspace, as globs.
    pub litter: Vec<String>,
    /// How to install it.
    pub install: String,
    /// How to sign in.
    pub sign_in: String,
    /// Words of its last message that are errors of its provider, by class.
    #[serde(skip_serializing_if = "ErrorWords::is_empty")]
    pub error_words: ErrorWords,
}

impl Described {
    /// The program.
    #[must_use]
    pub fn program(&self) -> &str {
        self.command.first().map_or("", String::as_str)
    }

    /// How its system prompt is added to.
    #[must_use]
    pub fn system(&self) -> SystemBy {
        if self.system.is_some() || self.output == OutputFormat::Acp { SystemBy::Call } else { SystemBy::Prompt }
    }

    /// Whether a session can be continued.
    #[must_use]
    pub fn continues(&self) -> bool {
        self.session.is_some() || self.output == OutputFormat::Acp
    }

    /// The signal that it ends on in order.
    #[must_use]
    pub fn stop_signal(&self) -> StopSignal {
        if self.interrupt { StopSignal::Interrupt } else { StopSignal::Terminate }
    }

    /// Whether it was said how it keeps to this. *work* is how it works anyway; more than that need not be asked for.
    #[must_use]
    pub fn can(&self, permissions: Permissions) -> bool {
        match permissions {
            Permissions::Edit => self.permissions.edit.is_some() || self.output == OutputFormat::Acp,
            Permissions::Work | Permissions::All => true,
        }
    }

    /// From an ask to a program.
    #[must_use]
    pub fn call(&self, ask: &AttemptSpec<'_>) -> AgentCommand {
        let mut inserted = Vec::new();
        let permissions = match ask.permissions {
            Permissions::Edit => self.permissions.edit.as_ref(),
            Permissions::Work => self.permissions.work.as_ref(),
            Permissions::All => self.permissions.all.as_ref().or(self.permissions.work.as_ref()),
        };
        let model = self.model.as_ref().filter(|_| ask.model.is_some());
        // By the protocol these two are told in its own words.
        let told = self.output == OutputFormat::Acp;
        let session = self.session.as_ref().filter(|_| ask.session.is_some() && !told);
        let system = self.system.as_ref().filter(|_| !ask.system.is_empty() && !told);
        for template in [permissions, model, session, system].into_iter().flatten() {
            inserted.extend(template.iter().map(|word| filled(word, ask)));
        }
        inserted.extend(ask.args.iter().cloned());
        let mut argv = vec![ask.program.to_owned()];
        for word in self.command.iter().skip(1) {
            if word == ARGS {
                argv.append(&mut inserted);
            } else {
                argv.push(filled(word, ask));
            }
        }
        argv.append(&mut inserted);
        if told {
            return acp::below_bridge(ask, ask.model.filter(|_| self.model.is_none()), argv);
        }
        let stdin = match self.prompt {
            PromptBy::Stdin => Stdin::Prompt,
            PromptBy::File => Stdin::Nothing,
        };
        AgentCommand { argv, stdin, ..AgentCommand::default() }
    }

    /// A reader for its stdout.
    #[must_use]
    pub fn reader(&self, begin: Begin) -> Box<dyn Reader> {
        let reader = self.stream_reader(begin);
        if self.error_words.is_empty() {
            return reader;
        }
        Box::new(WithErrorWords { reader, words: self.error_words.clone() })
    }

    fn stream_reader(&self, begin: Begin) -> Box<dyn Reader> {
        let reader = match self.output {
            OutputFormat::Text => return Box::new(TextReader::default()),
            OutputFormat::ClaudeStream => known_reader("claude", begin),
            OutputFormat::CodexJsonl => known_reader("codex", begin),
            OutputFormat::GeminiStream => known_reader("gemini", begin),
            OutputFormat::OpencodeJson => known_reader("opencode", begin),
            OutputFormat::Acp => known_reader("codex-acp", begin),
        };
        match self.success {
            Success::Terminal => reader,
            Success::Exit => Box::new(ByExit(reader)),
        }
    }
}

/// The names that may stand in braces, and where.
pub const PLACEHOLDERS: [&str; 5] = ["prompt_file", "session", "model", "system_file", "workspace"];

/// The next `{name}` in a text: what is before it, the name, what is after it. Braces around anything else are text.
fn placeholder(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    while let Some(open) = text.get(from..)?.find('{').map(|at| from + at) {
        let after = text.get(open + 1..)?;
        let length = after.find(|letter: char| !letter.is_ascii_lowercase() && letter != '_').unwrap_or(after.len());
        if length > 0 && after.get(length..)?.starts_with('}') {
            return Some((text.get(..open)?, after.get(..length)?, after.get(length + 1..)?));
        }
        from = open + 1;
    }
    None
}

/// The names that stand in braces in a text.
pub(crate) fn placeholders(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (_, name, after) = placeholder(rest)?;
        rest = after;
        Some(name)
    })
}

/// A word of a template with its values put in, each once: a value is never looked into.
fn filled(word: &str, ask: &AttemptSpec<'_>) -> String {
    let mut out = String::new();
    let mut rest = word;
    while let Some((before, name, after)) = placeholder(rest) {
        out.push_str(before);
        match name {
            "prompt_file" => out.push_str(ask.prompt_file),
            "session" => out.push_str(ask.session.unwrap_or_default()),
            "model" => out.push_str(ask.model.unwrap_or_default()),
            "system_file" => out.push_str(ask.system_file),
            "workspace" => out.push_str(ask.workspace),
            name => out.push_str(&format!("{{{name}}}")),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// A stream whose own account of its end does not count: the exit code does.
#[derive(Debug)]
struct ByExit(Box<dyn Reader>);

impl Reader for ByExit {
    fn line(&mut self, line: &[u8], live: &mut Vec<Live>) {
        self.0.line(line, live);
    }

    fn long_line(&mut self, head: &[u8]) {
        self.0.long_line(head);
    }

    fn session(&self) -> Option<&str> {
        self.0.session()
    }

    fn is_plain(&self) -> bool {
        self.0.is_plain()
    }

    fn line_bytes_max(&self) -> usize {
        self.0.line_bytes_max()
    }

    fn stderr(&mut self, bytes: &[u8]) {
        self.0.stderr(bytes);
    }

    fn stderr_is_private(&self) -> bool {
        self.0.stderr_is_private()
    }

    fn is_retrying(&self) -> bool {
        self.0.is_retrying()
    }

    fn end(self: Box<Self>, end: &End<'_>) -> Reading {
        let mut reading = self.0.end(end);
        match end.ended {
            Ended::Exit(0) => {
                reading.terminal = Terminal::Success;
                // What was refused by the model or asked of a person happened all the same.
                reading.failure = reading.failure.filter(|why| matches!(why, Failure::Question | Failure::Refusal));
            }
            Ended::ByUs => {}
            Ended::Exit(_) | Ended::Signal(_) | Ended::NotStarted(_) => {
                reading.terminal = Terminal::Error;
                reading.failure = reading.failure.or(Some(Failure::Crash));
            }
        }
        reading
    }
}
