//! Stories, laws and storms of the core.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod adversarial;
mod claude;
mod agent_aider;
mod agent_codex;
mod agent_cursor;
mod agent_play;
mod decide;
mod gate;
mod history;
mod iteration;
mod laws;
mod limits;
mod markers;
mod play;
mod precedence;
mod prompt;
mod reopen;
mod rollback;
mod settings;
mod status_block;
mod steering;
mod storm;
mod text;
mod time;
mod transcripts;
mod world;
