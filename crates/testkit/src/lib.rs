//! For tests only: scratch homes, the built program, programs on PATH, and waiting for facts.
#![forbid(unsafe_code)]
#![expect(clippy::expect_used, clippy::panic, reason = "a test may stop at the first surprise")]
mod environment;
mod flood;
mod ran;
mod strace;

pub use environment::{TestEnv, built, wait_until};
pub use flood::{Memory, flood_program};
pub use ran::{Ran, Running};
pub use strace::{Call, strace};
