//! How agents are called and understood. Pure: argv, environment and bytes as values.
pub mod acp;
pub mod adapter;
mod aider;
pub mod ask;
pub mod claims;
mod claude;
mod cline;
pub mod codex;
mod cursor;
pub mod described;
pub mod env;
mod gemini;
mod opencode;
pub mod plain_text;
pub mod provider;
mod qwen;
pub mod reading;
pub mod shell_words;
pub mod signature;
pub mod stream;
mod which;

pub use adapter::{Adapter, Begin, StopSignal, SystemBy};
pub use ask::{Ask, Call, PERMISSIONS, Permissions, Stdin};
pub use claims::status_block::{Claim, DIALECTS, Dialect};
pub use described::Described;
pub use env::environment::{
    AgentEnv, AgentEnvError, AgentVariables, WithheldReason, choose, choose_inside, everything, is_token,
};
pub use env::secrets::{Redactor, Secrets};
pub use provider::failure::{FAILURES, Failure, Reset, ResetSource};
pub use reading::{Denials, End, Live, Reader, Reading, Terminal, Usage};
pub use stream::Stream;
pub use which::Agent;

/// Every agent that is driven, the default first. A command of the user's is no entry: see [`Agent`].
pub const ADAPTERS: [Adapter; 12] = [
    opencode::ADAPTER,
    claude::ADAPTER,
    codex::ADAPTER,
    gemini::ADAPTER,
    aider::ADAPTER,
    cursor::ADAPTER,
    cline::ADAPTER,
    qwen::ADAPTER,
    ACP_ADAPTERS[0],
    ACP_ADAPTERS[1],
    ACP_ADAPTERS[2],
    ACP_ADAPTERS[3],
];

/// Those among them that speak the Agent Client Protocol.
pub const ACP_ADAPTERS: [Adapter; 4] = acp::ADAPTERS;

/// The one of that name.
#[must_use]
pub fn adapter(name: &str) -> Option<&'static Adapter> {
    ADAPTERS.iter().find(|adapter| adapter.name == name)
}

/// The reader of the one of that name; of text where there is none.
fn known_reader(name: &str, begin: Begin) -> Box<dyn Reader> {
    adapter(name)
        .map_or_else(|| Box::new(plain_text::TextReader::default()) as Box<dyn Reader>, |found| (found.reader)(begin))
}
