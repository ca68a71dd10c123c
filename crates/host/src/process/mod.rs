//! Processes: started where nothing of theirs can get away, ended with all that they started, and what they
//! wrote kept within bounds.
mod contain;
mod follow;
mod proc;
mod silence;
mod sweep;
mod task;
mod transcript;

pub use contain::{Containment, Mode, is_supervised, run_if_asked, try_out};
pub use follow::{Follower, Piece};
pub use proc::{check_proc, descendants, identity, lists_children};
pub use silence::Silence;
pub(crate) use sweep::end_with_mark;
pub use sweep::{MARK, become_reaper, descends_from_us, marked_runs, sweep, wake_supervisors};
pub use task::{MAIN, Task, TaskEnd, TaskSpec, Voice};
pub(crate) use transcript::STREAM_BYTES_MAX;
pub use transcript::{Transcript, tail_of};
