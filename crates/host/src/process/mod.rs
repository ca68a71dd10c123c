//! Processes: started in a group of their own, ended with all that they started, and what they wrote
//! kept within bounds.
mod follow;
mod silence;
mod sweep;
mod task;
mod transcript;
mod tree;

pub use follow::{Follower, Piece};
pub use silence::Silence;
pub use sweep::{MARK, descends_from_us, marked_runs, sweep};
pub use task::{Task, TaskEnd, TaskSpec};
pub(crate) use transcript::STREAM_BYTES_MAX;
pub use transcript::{Transcript, tail_of};
pub use tree::{Tree, become_reaper, identity};
