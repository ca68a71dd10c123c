//! Small pure judgements. They keep no state of their own: they get the run's state as an argument.
pub mod breaker;
pub mod budget;
pub mod crash;
pub mod gate;
pub mod limiter;
pub mod prices;
pub mod protect;
pub mod rank;
pub mod reserve;
pub mod runaway;
pub mod time_budget;
pub mod wait;
