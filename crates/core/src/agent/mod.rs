//! How agents are called and understood. Pure: argv, environment and bytes as values.
//!
//! | room | what is there |
//! |---|---|
//! | `<agent>/` | one program: its values and call in `mod.rs`, the reader of its stream beside it; qwen and grok read claude's |
//! | `acp/` | agents that speak the Agent Client Protocol |
//! | [`registry`] | the list of agents: everything else that names all agents comes from it |
//! | [`adapter`] [`command`] [`reading`] | what an adapter is, what it is asked for, what a stream amounted to |
//! | `report` | what of an attempt is written down |
//! | [`stream`] `json` [`plain_text`] | bytes to lines; lines to events, counted; plain text |
//! | [`provider`] | classes of failure, the wording of errors, when a limit ends |
//! | [`claims`] | what an agent claims in its final message, and which words are its own |
//! | [`env`] | which variables an agent gets; secrets taken out of bytes |
//! | [`described`] [`error_words`] `which` [`shell_words`] | an agent that a person described, how it words errors; the agent of a run; arguments split |
//! | [`signature`] | an error as a short text that is the same when it comes again |
//!
//! | I want to … | I go to … |
//! |---|---|
//! | read limits from another agent's output | `windows` of `Reading`; `core/agent/provider/window.rs` |
//! | change what the words of an error mean | `core/agent/provider/wording.rs` |
//! | raise the version of an agent program | `crates/testkit/agents/raise`, new releases (`docs/agents.md`) |
//! | change what an agent sees of the environment | `core/agent/env/catalogue.rs` |
pub mod acp;
pub mod adapter;
mod aider;
pub mod claims;
mod claude;
mod cline;
pub mod codex;
pub mod command;
mod copilot;
mod cursor;
pub mod described;
pub mod env;
pub mod error_words;
mod gemini;
mod grok;
mod json;
mod opencode;
mod pi;
pub mod plain_text;
pub mod provider;
mod qwen;
pub mod reading;
pub mod registry;
mod report;
pub mod shell_words;
pub mod signature;
pub mod stream;
mod which;

pub use adapter::{Adapter, Begin, SessionRecord, StopSignal, SystemBy};
pub use claims::status_block::{Claim, DIALECTS, Dialect};
pub use command::{AgentCommand, AttemptSpec, PERMISSIONS, Permissions, Stdin};
pub use described::Described;
pub use env::environment::{
    AgentEnv, AgentEnvError, AgentVariables, WithheldReason, choose, choose_inside, everything, is_token,
};
pub use env::secrets::{Redactor, Secrets};
pub use provider::failure::{FAILURES, Failure, Reset, ResetSource};
pub use provider::window::{LimitWindow, WindowSource, WindowState};
pub use reading::{Denials, End, Live, ProgramReport, Reader, Reading, Terminal, Usage};
pub use registry::{ADAPTERS, adapter};
pub use report::{AgentReport, StreamReport};
pub use stream::Stream;
pub use which::Agent;
