//! The scripted model, alone and with real agent programs.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod model;
mod opencode;
mod programs;
mod readings;
