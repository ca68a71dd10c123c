//! What is chosen from what an agent offers: its mode, its model, a way to sign in that needs no person.
use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{list_at, text_at};
use crate::agent::command::Permissions;

/// The modes that fit, the best first. In *edit* every step is to be asked for: the modes that take edits for
/// granted let some commands through with them.
const MODES: [(Permissions, &[&str]); 3] = [
    (Permissions::Edit, &["read-only", "default", "approve"]),
    (Permissions::Work, &["acceptEdits", "autoEdit", "auto-edit", "approve", "auto"]),
    (Permissions::All, &["bypassPermissions", "full-access", "yolo", "auto"]),
];

/// Ways to sign in by a variable, for agents that do not say so themselves.
const KEYS: [(&str, &str); 6] = [
    ("gemini-api-key", "GEMINI_API_KEY"),
    ("vertex-ai", "GOOGLE_API_KEY"),
    ("openai", "OPENAI_API_KEY"),
    ("openai-api-key", "OPENAI_API_KEY"),
    ("codex-api-key", "CODEX_API_KEY"),
    ("anthropic-api-key", "ANTHROPIC_API_KEY"),
];

/// One setting to make: a method and its parameters, the session left out.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Setting {
    pub(super) method: &'static str,
    pub(super) params: Value,
    /// It was asked for by name, so nothing goes on without it.
    pub(super) needed: bool,
}

/// The mode to set, if any has to be.
pub(super) fn mode(session: &Value, permissions: Permissions, asked: Option<&str>) -> Option<Setting> {
    let (offered, current, by_option) = modes(session);
    let fits = |word: &&&str| {
        // Of the agents with an `auto`, some let a model judge. One has a sandbox, and a `read-only` too. In another it
        // allows everything, beside an `approve` that asks before every step.
        let sandboxed = offered.contains(&"read-only") && permissions == Permissions::Work;
        let unasked = offered.contains(&"approve") && permissions == Permissions::All;
        offered.contains(*word) && (**word != "auto" || sandboxed || unasked)
    };
    let wanted = MODES.iter().find(|(of, _)| *of == permissions).map_or(&[][..], |(_, words)| words);
    let chosen = asked.or_else(|| wanted.iter().find(fits).copied())?;
    if current == Some(chosen) {
        return None;
    }
    let (method, params) = match by_option {
        Some(option) => ("session/set_config_option", json!({"configId": option, "value": chosen})),
        None => ("session/set_mode", json!({"modeId": chosen})),
    };
    Some(Setting { method, params, needed: asked.is_some() })
}

/// The modes that are offered, the one that holds, and the option that changes it where there is no other way.
fn modes(session: &Value) -> (Vec<&str>, Option<&str>, Option<&str>) {
    let offered: Vec<&str> =
        list_at(session, &["modes", "availableModes"]).iter().filter_map(|mode| text_at(mode, &["id"])).collect();
    let option = config_option(session, "mode");
    match option {
        Some(option) if offered.is_empty() => {
            let values = list_at(option, &["options"]).iter().filter_map(|value| text_at(value, &["value"]));
            (values.collect(), text_at(option, &["currentValue"]), text_at(option, &["id"]))
        }
        Some(_) | None => (offered, text_at(session, &["modes", "currentModeId"]), None),
    }
}

/// The option of a kind among those of a session.
pub(super) fn config_option<'a>(session: &'a Value, category: &str) -> Option<&'a Value> {
    let options = list_at(session, &["configOptions"]);
    let is = |option: &&Value, name: &str| text_at(option, &[name]) == Some(category);
    options.iter().find(|option| is(option, "category")).or_else(|| options.iter().find(|option| is(option, "id")))
}

/// The model to set.
///
/// # Errors
/// Where the agent has no way to choose one.
pub(super) fn model(session: &Value, asked: Option<&str>) -> Result<Option<Setting>, ()> {
    let Some(asked) = asked else { return Ok(None) };
    let offered = list_at(session, &["models", "availableModels"]);
    let option = config_option(session, "model");
    let named = |list: &'_ [Value], id: &str| {
        let entry = list.iter().find(|entry| text_at(entry, &["name"]) == Some(asked));
        entry.and_then(|entry| text_at(entry, &[id])).unwrap_or(asked).to_owned()
    };
    let (current, method, params) = match option {
        _ if !offered.is_empty() => {
            let current = text_at(session, &["models", "currentModelId"]);
            (current, "session/set_model", json!({"modelId": named(offered, "modelId")}))
        }
        Some(option) => {
            let id = text_at(option, &["id"]).unwrap_or("model");
            let value = named(list_at(option, &["options"]), "value");
            let current = text_at(option, &["currentValue"]);
            (current, "session/set_config_option", json!({"configId": id, "value": value}))
        }
        None => return Err(()),
    };
    Ok((current != Some(asked)).then_some(Setting { method, params, needed: true }))
}

/// A way to sign in that needs no person: a key that is in the environment.
pub(super) fn sign_in<'a>(initialized: &'a Value, variables: &BTreeSet<String>) -> Option<&'a str> {
    let able = |method: &&Value| {
        let named = list_at(method, &["vars"]);
        let told = !named.is_empty()
            && named.iter().all(|variable| {
                let optional = variable.get("optional").and_then(Value::as_bool) == Some(true);
                optional || text_at(variable, &["name"]).is_some_and(|name| variables.contains(name))
            });
        let id = text_at(method, &["id"]).unwrap_or_default();
        told || KEYS.iter().any(|(known, variable)| *known == id && variables.contains(*variable))
    };
    list_at(initialized, &["authMethods"]).iter().find(able).and_then(|method| text_at(method, &["id"]))
}
