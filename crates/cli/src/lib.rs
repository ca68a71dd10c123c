//! Shows: the commands `loop`, `loopr` and `loopd`, and everything that people read.
#![forbid(unsafe_code)]
pub mod args;
mod build_facts;
mod commands;
mod context;
mod deferred;
mod flags;
mod here;
#[cfg(test)]
mod hints;
mod kept;
mod person;
mod plans;
mod render;

pub use commands::loopd::run_loopd;
pub use commands::loopr::run_loopr;
pub use commands::run;
pub use render::error::{CommandError, Kind};
