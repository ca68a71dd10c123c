//! For tests only: scratch homes, the built program, programs on PATH, and waiting for facts.
//!
//! | file | what is there |
//! |---|---|
//! | `environment` | a user with nothing: own HOME, own folders, a PATH that holds only what a test puts there |
//! | `ran` | what a run of the built program showed |
//! | `agents` `model/` | the real agent programs, pinned; a scripted model that speaks their APIs on loopback |
//! | `engine` `loop_image` | container engines and file systems that are private to a test |
//! | `strace` `census` `flood` | system calls; which processes are alive; floods of output |
//! | `users_git` | repositories with traps, or in the middle of something |
//! | `parallel` | many cases of one test, several at once |
#![forbid(unsafe_code)]
#![expect(clippy::expect_used, clippy::panic, reason = "a test may stop at the first surprise")]
pub mod agents;
mod census;
mod engine;
mod environment;
mod escape_agents;
mod flood;
mod loop_image;
pub mod model;
mod parallel;
mod ran;
pub mod scripted_agents;
mod strace;
mod users_git;

pub use census::{Being, Escapees, kill, processes_of, signal};
pub use engine::{Engine, IDLE, IMAGE, IMAGE_WITHOUT_SHELL};
pub use environment::{TestEnv, built, folder_in_memory, wait_at_most, wait_until};
pub use escape_agents::{ESCAPE_KINDS, ODD_AGENTS, acp_agent, behaviour_program, escape_agents};
pub use flood::{Memory, flood_program};
pub use loop_image::{Format, LoopImage, MountScratch};
pub use parallel::for_all;
pub use ran::{Ran, Running};
pub use strace::{Call, strace};
pub use users_git::{GIT_STATES, SENTINELS, Sight, disagreeing_repository, fired, must, sight, trapped, with_git};
