//! Agents in containers: a program of our own ([`exec`]) is what the run starts and keeps, and it drives a non-TTY exec
//! by the Docker Engine API, which Podman speaks too. What is Docker's about it is known here alone.
//!
//! ```text
//! loop (harness) ── shim ── init ── loop container-exec ══ socket ══ engine ── in the container: agent, watcher
//! ```
//! All limits of time, transcripts and the ending of a run stay where they are. Whoever the agent started in the container
//! carries two marks, and a shell of ours waits beside it ([`watcher`]) to end them: also when we are killed ourselves.
mod bridge;
mod check;
mod engine;
pub mod exec;
mod frames;
mod http;
mod inside;
mod mark;
mod own;
mod put;
mod record;
mod socket;
mod watcher;

pub use self::check::{CheckedContainer, ContainerRefusal, check};
pub use self::engine::EngineError;
pub use self::inside::{has_program, remove_folder};
pub use self::mark::Gone;
pub use self::own::{ContainerRequest, remove, remove_of_run, start};
pub use self::put::put;
pub use self::record::{ContainerRecord, clean};
pub use self::socket::find;

/// How long a call that only asks may take.
const ASKING_TAKES_MAX: std::time::Duration = std::time::Duration::from_secs(10);
/// How long it may take to make, start or remove something.
const MAKING_TAKES_MAX: std::time::Duration = std::time::Duration::from_secs(60);
