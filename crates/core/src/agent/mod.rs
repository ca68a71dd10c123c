//! How agents are called and understood. Pure: argv, environment and bytes as values.
pub mod adapter;
mod aider;
mod aider_text;
pub mod ask;
mod claude;
mod claude_fault;
mod claude_lines;
mod claude_reset;
mod claude_result;
mod claude_stream;
mod cline;
mod cline_stream;
mod codex;
mod codex_stream;
mod codex_words;
mod cursor;
mod cursor_stream;
mod custom;
pub mod failure;
mod gemini;
mod gemini_stream;
mod known;
pub mod limits;
pub mod markers;
mod opencode;
mod own_words;
mod provider_words;
mod qwen;
pub mod reading;
pub mod status_block;
pub mod stream;
pub mod text;

pub use adapter::{Adapter, Begin, Gentle, SystemBy};
pub use ask::{Ask, Call, PERMISSIONS, Permissions, Stdin};
pub use claude::AS_ROOT as CLAUDE_AS_ROOT;
pub use custom::{CommandSpec, command};
pub use failure::{FAILURES, Failure, Reset, ResetSource};
pub use known::{KNOWN, Known, known};
pub use reading::{Denials, End, Live, Reader, Reading, Terminal, Usage};
pub use status_block::{Claim, DIALECTS, Dialect};
pub use stream::Stream;

/// Every agent that is driven, the default first. A command of the user's is no entry: see [`command`].
pub(super) const ADAPTERS: [Adapter; 8] = [
    opencode::ADAPTER,
    claude::ADAPTER,
    codex::ADAPTER,
    gemini::ADAPTER,
    aider::ADAPTER,
    cursor::ADAPTER,
    cline::ADAPTER,
    qwen::ADAPTER,
];

/// The one of that name.
#[must_use]
pub fn adapter(name: &str) -> Option<&'static Adapter> {
    ADAPTERS.iter().find(|adapter| adapter.name == name)
}
