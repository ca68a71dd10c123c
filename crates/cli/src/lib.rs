//! Shows: the commands `loop` and `loopr`, and everything that people read.
pub mod args;
mod commands;
mod context;
mod flags;
mod render;

pub use commands::run;
pub use render::error::{CommandError, Kind};
