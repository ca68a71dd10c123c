//! Small pure machines that judge. They keep no state of their own: the run's state is handed in.
pub mod breaker;
pub mod crash;
pub mod gate;
pub mod rank;
pub mod reserve;
pub mod wait;
