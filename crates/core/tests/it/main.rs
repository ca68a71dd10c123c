//! Stories, laws and storms of the core.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod acp;
mod adversarial;
mod agent_aider;
mod agent_codex;
mod agent_copilot;
mod agent_cursor;
mod agent_play;
mod agent_usage;
mod breaker;
mod budget;
mod caps;
mod choice;
mod claims;
mod claude;
mod cline;
mod decide;
mod described;
mod environment;
mod failure_message;
mod fuzz;
mod gate;
mod gate_uses;
mod gates;
mod gemini;
mod guard;
mod hidden;
mod history;
mod iteration;
mod judge;
mod laws;
mod limited;
mod limiter;
mod limits;
mod markers;
mod now;
mod outside;
mod play;
mod precedence;
mod probe;
mod probing;
mod promise_lines;
mod promise_warning;
mod prompt;
mod proof;
mod provider_wording;
mod record;
mod registry;
mod regressions;
mod reopen;
mod rollback;
mod secrets;
mod session_names;
mod settings;
mod signature;
mod simulation;
mod status_block;
mod steering;
mod storm;
mod test_output;
mod test_output_compared;
mod test_output_excerpt;
mod text;
mod time;
mod time_budget;
mod transcripts;
mod unattended;
mod waits;
mod world;

/// The bytes of a file; empty where there is none.
#[expect(clippy::disallowed_methods, reason = "the recordings that tests read are files")]
fn bytes_of(path: impl AsRef<std::path::Path>) -> Vec<u8> {
    std::fs::read(path).unwrap_or_default()
}
