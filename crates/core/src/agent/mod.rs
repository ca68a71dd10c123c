//! How agents are called and understood. Pure: argv, environment and bytes as values.
pub mod acp;
pub mod adapter;
mod aider;
mod aider_text;
pub mod ask;
pub mod catalogue;
mod claude;
mod claude_fault;
mod claude_lines;
mod claude_reset;
mod claude_result;
mod claude_stream;
mod cline;
mod cline_stream;
mod codex;
pub mod codex_args;
mod codex_stream;
mod codex_words;
mod cursor;
mod cursor_stream;
pub mod described;
pub mod environment;
pub mod failure;
mod gemini;
mod gemini_stream;
pub mod limits;
pub mod markers;
mod opencode;
mod own_words;
mod provider_words;
mod qwen;
pub mod reading;
pub mod secrets;
pub mod signature;
pub mod status_block;
pub mod stream;
pub mod text;
mod which;
pub mod words;

pub use adapter::{Adapter, Begin, Gentle, SystemBy};
pub use ask::{Ask, Call, PERMISSIONS, Permissions, Stdin};
pub use described::Described;
pub use environment::{AgentEnv, AgentEnvError, Chosen, Why, choose, choose_inside, everything, is_token};
pub use failure::{FAILURES, Failure, Reset, ResetSource};
pub use reading::{Denials, End, Live, Reader, Reading, Terminal, Usage};
pub use secrets::{Redactor, Secrets};
pub use status_block::{Claim, DIALECTS, Dialect};
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
        .map_or_else(|| Box::new(text::TextReader::default()) as Box<dyn Reader>, |found| (found.reader)(begin))
}
