//! Small pure machines that judge. They keep no state of their own: the run's state is handed in.
pub mod crash;
pub mod gate;
pub mod protect;
pub mod wait;
