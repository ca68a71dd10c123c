//! How agents are called. Pure: names, argv and environment as values.
mod custom;
mod known;

pub use custom::{CommandSpec, command};
pub use known::{KNOWN, Known, known};
