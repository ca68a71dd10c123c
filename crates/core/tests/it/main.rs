//! Stories, laws and storms of the core.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod decide;
mod described;
mod environment;
mod gate;
mod history;
mod iteration;
mod laws;
mod limited;
mod limits;
mod markers;
mod play;
mod precedence;
mod prompt;
mod reopen;
mod rollback;
mod secrets;
mod settings;
mod status_block;
mod steering;
mod storm;
mod text;
mod time;
mod transcripts;
mod world;
