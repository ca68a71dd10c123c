//! The prompt of an agent: bounded sections in a fixed order, what is the same in every iteration first.
//!
//! | file | what is there |
//! |---|---|
//! | `material` | what a prompt is made of |
//! | `section` | a section with its size; all of them are a prompt |
//! | `compose` | which form the prompt has, and that it is not too long |
//! | `facts` | the form of `loop start`: what the harness measured |
//! | `history` | the form of the autonomous specification: a summary and the last iterations |
//! | `summary` | the summary of older iterations; how an agent is asked for a text |
//! | `ledger` | iterations and notes, one line each |
//! | `mutate` | the end of a prompt of a loop that is stuck |
//! | `news` | the words of each note of the run |
//! | `system` | what is added to an agent's system prompt |
mod compose;
mod facts;
mod history;
mod ledger;
mod material;
mod mutate;
mod news;
mod section;
mod summary;
mod system;

pub use compose::{GATE_OUTPUT_BYTES_MAX, HARNESS_TOKENS_MAX, TASK_BYTES_MAX, compose};
pub use material::{Claiming, GateSaid, Material, RankWords};
pub use mutate::branch_task;
pub use section::{Prompt, Section, estimated_tokens};
pub use summary::{SUMMARY_TOKENS_MAX, cut, progress_summary, request};
pub use system::{status_instructions, system_prompt};
