//! What an agent is told: delimited, bounded sections in a fixed order.
mod compose;

pub use compose::{GATE_OUTPUT_BYTES_MAX, GateSaid, Material, TASK_BYTES_MAX, compose};
