//! The prompt of an agent: delimited, bounded sections in a fixed order.
mod compose;
mod system;

pub use compose::{Claiming, GATE_OUTPUT_BYTES_MAX, GateSaid, Material, TASK_BYTES_MAX, compose};
pub use system::{status_instructions, system_prompt};
