//! Processes: started in containment, ended with everything they started, their output stored within limits.
//!
//! | file or folder | what it does | what it does not do |
//! |---|---|---|
//! | `task` | one process from its start to the end of everything it started | wait: the driver polls and wakes it |
//! | `transcript` | stores output in files of bounded size | interpret it |
//! | `follow` | reads such a stream while it is written | |
//! | `silence` | whether a process shows any sign of life | end it |
//! | `proc` | reads `/proc`; sends signals by handle | trust a process number alone |
//! | `sweep` | ends what a killed harness left behind | touch processes without our mark |
//! | `contain/` | shim, init, control groups, namespaces | know what an order is for |
mod contain;
mod follow;
mod proc;
mod silence;
mod sweep;
mod task;
mod transcript;

pub(crate) use contain::same_user;
pub use contain::{Containment, Mode, is_supervised, run_if_asked, try_out};
pub use follow::{Follower, Piece};
pub use proc::{check_proc, descendants, identity, is_suspended, lists_children};
pub use silence::Silence;
pub(crate) use sweep::end_with_mark;
pub use sweep::{
    MARK, become_reaper, carries_mark, descends_from_us, is_elsewhere, is_inside_run, marked_runs, pid_namespace,
    sweep, wake_supervisors,
};
pub use task::{MAIN, Task, TaskEnd, TaskSpec, Voice};
pub(crate) use transcript::STREAM_BYTES_MAX;
pub use transcript::{Transcript, tail_of};
