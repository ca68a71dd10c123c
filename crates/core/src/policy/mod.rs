//! Small pure machines that judge. They keep no state of their own: the run's state is handed in.
pub mod breaker;
pub mod budget;
pub mod crash;
pub mod gate;
pub mod hours;
pub mod limiter;
pub mod prices;
pub mod protect;
pub mod rank;
pub mod reserve;
pub mod runaway;
pub mod wait;
