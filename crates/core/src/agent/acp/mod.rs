//! Agents that speak the Agent Client Protocol on their stdio: newline-delimited JSON-RPC.
//!
//! A process of our own is between the harness and such an agent. What it says and answers is decided by
//! [`Conversation`], what both sides said is its stdout, and [`reader`] reads that like the stream of any other agent.
pub(super) mod agents;
mod choose;
mod machine;
mod permission;
mod reader;
#[cfg(test)]
mod tests;
mod trouble;

pub(super) use agents::below_bridge;
pub use machine::{AcpTask, Conversation, Finish, FinishReason};
pub use reader::reader;

use serde_json::Value;

/// The text at a path of names, where there is one.
fn text_at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a str> {
    at(value, path)?.as_str()
}

/// The value at a path of names.
fn at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, name| value.get(name))
}

/// The list at a path of names; an empty one where there is none.
fn list_at<'a>(value: &'a Value, path: &[&str]) -> &'a [Value] {
    at(value, path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
