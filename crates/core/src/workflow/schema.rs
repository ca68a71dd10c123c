//! The JSON Schema of a workflow file, for editors. The reader knows more: ids, circles, and values of settings.
use serde_json::{Map, Value, json};

use super::entry::NOT_IN_A_WORKFLOW;
use super::read::{CONFLICT_WORDS, PARALLEL_MAX};
use crate::plan::NODES_MAX;
use crate::settings::reference::property;
use crate::settings::{Key, Kind, UNLIMITED, catalogue};

/// A text with a variable in it: what it becomes is known when it is filled in.
pub(super) const HAS_VARIABLE: &str = "\\{\\{";

/// The schema.
#[must_use]
pub fn schema() -> String {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "loop: a workflow file",
        "type": "object",
        "additionalProperties": false,
        "required": ["loops"],
        "properties": {
            "name": described(text(), "What the workflow is called; without it, the name of the file."),
            "description": described(json!({"type": "string"}), "What it is for."),
            "env": {
                "type": "object",
                "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
                "additionalProperties": {"type": ["string", "number", "boolean"]},
                "description": "Variables of the environment for agents, promises and commands.",
            },
            "loops": {
                "type": "array", "minItems": 1, "maxItems": NODES_MAX, "items": entry(),
                "description": "The loops, and questions to a person. Results are merged in this order.",
            },
            "parallel": described(
                or_variable(json!({"oneOf": [
                    {"type": "integer", "minimum": 1, "maximum": PARALLEL_MAX}, {"const": UNLIMITED},
                ]})),
                "How many loops work at once; without it, 2.",
            ),
            "budget": described(
                json!({"oneOf": [{"type": "number", "exclusiveMinimum": 0}, text()]}),
                "What all loops together may cost, in dollars.",
            ),
            "on_conflict": described(
                or_variable(json!({"enum": CONFLICT_WORDS})),
                "What to do when two results cannot be merged: end, run the second loop again from the merged state, \
                 or let an agent resolve it.",
            ),
            "hook_timeout": described(text(), "How long each command of on_complete and on_failure may take; without it, 10m."),
            "on_complete": described(texts(), "Shell commands for the end, when every loop is merged."),
            "on_failure": described(
                texts(), "Shell commands for an end without that. {{failed_loop}} is the id of the loop that failed."
            ),
        },
    });
    format!("{schema:#}\n")
}

fn described(mut schema: Value, doc: &str) -> Value {
    schema["description"] = json!(doc);
    schema
}

fn text() -> Value {
    json!({"type": "string", "minLength": 1})
}

fn texts() -> Value {
    json!({"oneOf": [text(), {"type": "array", "items": text()}]})
}

fn or_variable(schema: Value) -> Value {
    json!({"anyOf": [schema, {"type": "string", "pattern": HAS_VARIABLE}]})
}

/// An entry of `loops`: a question, or a loop with any setting that it may have.
fn entry() -> Value {
    let id = json!({
        "type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_.-]{0,47}$",
        "description": "A short name, for depends_on and for people.",
    });
    let depends_on = described(texts(), "The ids of loops that must be merged before this one starts.");
    let mut properties: Map<String, Value> = Map::new();
    properties.insert("id".to_owned(), id.clone());
    properties.insert("prompt".to_owned(), described(text(), "The task of the agent."));
    properties.insert("depends_on".to_owned(), depends_on.clone());
    let touches = "The files that it changes, as globs: two loops that share one do not run at the same time.";
    properties.insert("touches".to_owned(), described(texts(), touches));
    let is_here = |key: &&Key| NOT_IN_A_WORKFLOW.iter().all(|(name, ..)| *name != key.name);
    properties.extend(catalogue().filter(is_here).map(|key| (key.name.to_owned(), setting(key))));
    let ask = described(text(), "A question to a person. What depends on it starts when it is answered.");
    json!({"oneOf": [
        {
            "type": "object", "additionalProperties": false, "required": ["id", "prompt"], "properties": properties,
            "anyOf": [{"required": ["promise"]}, {"required": ["gate"]}, {"required": ["no_promise"]}],
        },
        {
            "type": "object", "additionalProperties": false, "required": ["id", "ask"],
            "properties": {"id": id, "ask": ask, "depends_on": depends_on},
        },
    ]})
}

/// The value of a setting in YAML: also a number where it is one, a map of gates, and a variable everywhere.
fn setting(key: &Key) -> Value {
    let mut plain = property(key);
    let doc = plain["description"].take();
    let default = plain.get_mut("default").map(Value::take);
    if let Some(parts) = plain.as_object_mut() {
        parts.remove("description");
        parts.remove("default");
    }
    let gate = || json!({"type": "object", "additionalProperties": {"type": ["string", "object"]}});
    let schema = match key.kind {
        Kind::MoneyOrUnlimited => json!({"oneOf": [plain, {"type": "number", "exclusiveMinimum": 0}]}),
        Kind::Gates => json!({"anyOf": [plain, gate()]}),
        Kind::CountOrUnlimited(_) | Kind::Fraction | Kind::Switch | Kind::Choice(_) => or_variable(plain),
        Kind::Duration
        | Kind::DurationOrUnlimited
        | Kind::DurationOrNone
        | Kind::SizeOrUnlimited
        | Kind::Prices
        | Kind::Agents
        | Kind::Models
        | Kind::Failures
        | Kind::Ladder
        | Kind::Command
        | Kind::Word
        | Kind::Text
        | Kind::Path
        | Kind::Paths
        | Kind::Findings => plain,
    };
    let mut schema = described(schema, doc.as_str().unwrap_or_default());
    if let Some(default) = default {
        schema["default"] = default;
    }
    schema
}
