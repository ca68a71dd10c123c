//! What a node of a plan is, as one hash: a node that is done and whose key did not change is not run again.
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::EnvVariable;
use crate::settings::{Layer, Resolved};

/// The hash of a task, its settings, its variables and the texts of its prompts. Where a value came from does not count,
/// and a default does not: a file whose lines moved, and a newer program, have the same keys.
#[must_use]
pub fn node_key(task: &str, settings: &Resolved, env: &[EnvVariable], inject: &[String]) -> String {
    let is_set = |valued: &crate::settings::Valued| valued.origin.layer != Layer::Default;
    let settings = settings.iter().filter(|(_, valued)| is_set(valued));
    let settings: Map<String, Value> =
        settings.map(|(name, valued)| (name.to_owned(), Value::String(valued.value.clone()))).collect();
    let whole = json!({"task": task, "settings": settings, "env": env, "inject": inject});
    Sha256::digest(whole.to_string().as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}
