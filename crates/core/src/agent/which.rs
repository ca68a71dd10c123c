//! The agent of a run: one that we know, one that a person described, or a command of the person's own.
use std::sync::Arc;

use super::adapter::{Adapter, Begin, SessionRecord, StopSignal, SystemBy};
use super::command::{AgentCommand, AttemptSpec, Permissions};
use super::described::{Described, OutputFormat};
use super::env::environment::{self, AgentEnv, AgentVariables};
use super::plain_text::TextReader;
use super::reading::Reader;
use super::registry::{ADAPTERS, adapter};

/// What one run of an agent that we know nothing about is taken to cost at worst, in millionths of a dollar.
const WORST_COST_MICROS: u64 = 5_000_000;

/// The name of a command of the person's own.
pub(super) const CUSTOM: &str = "custom";

/// An agent to drive.
#[derive(Debug, Clone)]
pub enum Agent {
    /// One that we know.
    Known(&'static Adapter),
    /// One that the person described.
    Described(Arc<Described>),
    /// A shell command of theirs, which gets the prompt on stdin and prints text.
    Custom(String),
}

impl Agent {
    /// The one of that name among those that were described and those that we know. `command` is that of a custom one.
    #[must_use]
    pub fn find(name: &str, described: &[Described], command: &str) -> Option<Self> {
        if name == CUSTOM {
            return Some(Self::Custom(command.to_owned()));
        }
        let known = adapter(name).map(Self::Known);
        known.or_else(|| described.iter().find(|one| one.name == name).cloned().map(Arc::new).map(Self::Described))
    }

    /// The names of all that could be meant.
    pub fn names(described: &[Described]) -> impl Iterator<Item = &str> {
        let known = ADAPTERS.iter().map(|adapter| adapter.name);
        known.chain(described.iter().map(|one| one.name.as_str())).chain([CUSTOM])
    }

    /// What `--agent` calls it.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Known(adapter) => adapter.name,
            Self::Described(described) => &described.name,
            Self::Custom(_) => CUSTOM,
        }
    }

    /// The program that is looked for on PATH; none for a shell command.
    #[must_use]
    pub fn program(&self) -> Option<&str> {
        match self {
            Self::Known(adapter) => Some(adapter.program),
            Self::Described(described) => Some(described.program()),
            Self::Custom(_) => None,
        }
    }

    /// How to install it; empty where this is not known.
    #[must_use]
    pub fn install(&self) -> &str {
        match self {
            Self::Known(adapter) => adapter.install,
            Self::Described(described) => &described.install,
            Self::Custom(_) => "",
        }
    }

    /// How to sign in; empty where this is not known.
    #[must_use]
    pub fn sign_in(&self) -> &str {
        match self {
            Self::Known(adapter) => adapter.sign_in,
            Self::Described(described) => &described.sign_in,
            Self::Custom(_) => "",
        }
    }

    /// How to sign in where it failed with this error.
    #[must_use]
    pub fn sign_in_after(&self, error: &str) -> &str {
        let known = if let Self::Known(adapter) = self { adapter.sign_in_errors } else { &[] };
        known.iter().find(|(words, _)| error.contains(words)).map_or_else(|| self.sign_in(), |(_, hint)| hint)
    }

    /// The version it was tried with.
    #[must_use]
    pub fn tried(&self) -> Option<&'static str> {
        match self {
            Self::Known(adapter) => adapter.tried,
            Self::Described(_) | Self::Custom(_) => None,
        }
    }

    /// How its system prompt is added to.
    #[must_use]
    pub fn system(&self) -> SystemBy {
        match self {
            Self::Known(adapter) => adapter.system,
            Self::Described(described) => described.system(),
            Self::Custom(_) => SystemBy::Prompt,
        }
    }

    /// The levels of effort above its default, the next one first; empty where it has no switch for that.
    #[must_use]
    pub fn efforts(&self) -> &'static [&'static str] {
        match self {
            Self::Known(adapter) => adapter.efforts,
            Self::Described(_) | Self::Custom(_) => &[],
        }
    }

    /// Whether a session can be continued.
    #[must_use]
    pub fn continues(&self) -> bool {
        match self {
            Self::Known(adapter) => adapter.continues,
            Self::Described(described) => described.continues(),
            Self::Custom(_) => false,
        }
    }

    /// The signal that it ends on in order.
    #[must_use]
    pub fn stop_signal(&self) -> StopSignal {
        match self {
            Self::Known(adapter) => adapter.stop_signal,
            Self::Described(described) => described.stop_signal(),
            Self::Custom(_) => StopSignal::Terminate,
        }
    }

    /// What it leaves in the workspace, as globs.
    #[must_use]
    pub fn litter(&self) -> Vec<&str> {
        match self {
            Self::Known(adapter) => adapter.litter.to_vec(),
            Self::Described(described) => described.litter.iter().map(String::as_str).collect(),
            Self::Custom(_) => Vec::new(),
        }
    }

    /// What all agents leave in a workspace, as globs: those that we know and those that the person described.
    #[must_use]
    pub fn litter_of_all(described: &[Described]) -> Vec<String> {
        let known = ADAPTERS.iter().flat_map(|adapter| adapter.litter.iter().map(|glob| (*glob).to_owned()));
        let own = described.iter().flat_map(|one| one.litter.iter().cloned());
        let mut all: Vec<String> = known.chain(own).collect();
        all.sort();
        all.dedup();
        all
    }

    /// Names of variables any of which signs it in.
    #[must_use]
    pub fn keys(&self) -> &'static [&'static str] {
        match self {
            Self::Known(adapter) => adapter.keys,
            Self::Described(_) | Self::Custom(_) => &[],
        }
    }

    /// Files below HOME any of which shows that the user is signed in.
    #[must_use]
    pub fn signed_in_files(&self) -> &'static [&'static str] {
        match self {
            Self::Known(adapter) => adapter.signed_in_files,
            Self::Described(_) | Self::Custom(_) => &[],
        }
    }

    /// The record that its program keeps of a session.
    #[must_use]
    pub fn session_record(&self) -> Option<SessionRecord> {
        match self {
            Self::Known(adapter) => adapter.session_record,
            Self::Described(_) | Self::Custom(_) => None,
        }
    }

    /// Whether its program is given the money of a call, and stops by itself when it is spent.
    #[must_use]
    pub fn keeps_budget(&self) -> bool {
        match self {
            Self::Known(adapter) => adapter.keeps_budget,
            Self::Described(_) | Self::Custom(_) => false,
        }
    }

    /// The assumed worst cost of one run where the agent reports none, in millionths of a dollar.
    #[must_use]
    pub fn worst_cost_micros(&self) -> u64 {
        match self {
            Self::Known(adapter) => adapter.worst_cost_micros,
            Self::Described(_) | Self::Custom(_) => WORST_COST_MICROS,
        }
    }

    /// WithheldReason it will not be allowed everything as root, and the variable with which it will.
    #[must_use]
    pub fn as_root(&self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Known(adapter) => adapter.as_root,
            Self::Described(_) | Self::Custom(_) => None,
        }
    }

    /// What to allow it more by.
    #[must_use]
    pub fn allow_hint(&self) -> String {
        match self {
            Self::Known(adapter) => adapter.allow_hint.to_owned(),
            Self::Described(described) => format!("--permissions all, or [agents.{}.permissions]", described.name),
            Self::Custom(_) => "the command's own flags".to_owned(),
        }
    }

    /// Whether it can be limited to this. A shell command does what its own flags say.
    #[must_use]
    pub fn can(&self, permissions: Permissions) -> bool {
        match self {
            Self::Known(_) => true,
            Self::Described(described) => described.can(permissions),
            Self::Custom(_) => permissions != Permissions::Edit,
        }
    }

    /// Whether `--agent-model` reaches it.
    #[must_use]
    pub fn takes_model(&self) -> bool {
        match self {
            Self::Known(_) => true,
            Self::Described(described) => described.model.is_some() || described.output == OutputFormat::Acp,
            Self::Custom(_) => false,
        }
    }

    /// Which variables it gets.
    #[must_use]
    pub fn environment(&self, ambient: impl IntoIterator<Item = (String, String)>, extra: &AgentEnv) -> AgentVariables {
        match self {
            Self::Known(adapter) => environment::choose(adapter.variables, ambient, extra),
            Self::Described(described) => {
                let own = AgentEnv::of_names(described.env.iter().map(String::as_str));
                let mut chosen = environment::choose(&[], ambient, &own.and(extra));
                // What the agent could use and the person does not have is not worth a word.
                chosen.unset.retain(|name| extra.names(name));
                chosen
            }
            Self::Custom(_) => environment::everything(ambient, extra),
        }
    }

    /// Which variables it gets in a container.
    #[must_use]
    pub fn environment_inside(
        &self,
        ambient: impl IntoIterator<Item = (String, String)>,
        extra: &AgentEnv,
    ) -> AgentVariables {
        match self {
            Self::Known(adapter) => environment::choose_inside(adapter.variables, ambient, extra),
            Self::Described(described) => {
                let own = AgentEnv::of_names(described.env.iter().map(String::as_str));
                environment::choose_inside(&[], ambient, &own.and(extra))
            }
            Self::Custom(_) => environment::choose_inside(&[], ambient, extra),
        }
    }

    /// Whether a program of ours is between us and it, and uses a protocol to talk to it.
    #[must_use]
    pub fn is_behind_bridge(&self) -> bool {
        match self {
            Self::Known(adapter) => adapter.behind_bridge,
            Self::Described(described) => described.output == OutputFormat::Acp,
            Self::Custom(_) => false,
        }
    }

    /// From an ask to a program.
    #[must_use]
    pub fn call(&self, ask: &AttemptSpec<'_>) -> AgentCommand {
        match self {
            Self::Known(adapter) => (adapter.call)(ask),
            Self::Described(described) => described.call(ask),
            // What comes after the command's text are its own `$1`, `$2` …
            Self::Custom(command) => {
                let mut argv = vec!["sh".to_owned(), "-c".to_owned(), command.clone()];
                if !ask.args.is_empty() {
                    argv.push("sh".to_owned());
                    argv.extend(ask.args.iter().cloned());
                }
                AgentCommand { argv, ..AgentCommand::default() }
            }
        }
    }

    /// A reader for its stdout.
    #[must_use]
    pub fn reader(&self, begin: Begin) -> Box<dyn Reader> {
        match self {
            Self::Known(adapter) => (adapter.reader)(begin),
            Self::Described(described) => described.reader(begin),
            Self::Custom(_) => Box::new(TextReader::default()),
        }
    }
}
