//! Agents in containers. The run starts a program of our own ([`exec`]), which runs the agent by the Docker Engine
//! API; Podman has the same API. Only this folder knows it.
//!
//! ```text
//! loop (harness) ── shim ── init ── loop container-exec ══ socket ══ engine ── in the container: agent, watcher
//! ```
//! Time limits, transcripts and the end of a run work as without a container. Everything that the agent starts in
//! the container has two marks, and a shell of ours waits beside it (`watcher`) to end it, also when we are
//! killed.
//!
//! | file | what it does | what it does not do |
//! |---|---|---|
//! | `socket`, `http`, `engine` | finds the engine; HTTP; its API as values | use an async runtime |
//! | `check` | whether an agent can work in a container, before anything is made | change it |
//! | `own` | makes and removes a container for the run | remove others |
//! | `inside`, `put` | short commands in a container; copies files into it | |
//! | `exec`, `bridge`, `frames` | `container-exec`: connects our streams with the agent's | interpret the output |
//! | `mark`, `watcher` | marks processes; ends those that are left | touch processes without the mark |
//! | `record` | a file with what the next command has to clean up | |
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
