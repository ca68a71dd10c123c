//! The reference page and the schema, written from the catalogue.
use std::fmt::Write;

use serde_json::{Map, Value, json};

use super::catalogue::{InProject, Key, catalogue};
use super::profiles::container;
use super::value::{Kind, UNLIMITED};

/// The page `docs/reference/settings.md`.
#[must_use]
pub fn page() -> String {
    let mut page = String::from(
        "# Settings\n\n<!-- written by `cargo xtask generate` from the catalogue; do not edit -->\n\n\
         A value is taken from the first of these that gives one: flag, environment variable, entry of a workflow, template,\n\
         project file (`.loop.toml` in the workspace), your own file (`config.toml` in `$XDG_CONFIG_HOME/loop`), profile,\n\
         default.\n\
         `loop config show` prints each value with its origin. Every switch has a `--no-` form.\n",
    );
    for key in catalogue() {
        section(&mut page, key);
    }
    page.push_str(
        "\n## `hidden_gates`, `hidden_gates_file`\n\nGates that the agent is not told about: only in your own file, with no flag \
         and no variable, and never shown\n([Hidden gates](../guide/hidden-gates.md)).\n",
    );
    page.push_str(
        "\n## Other names\n\nThe container profile has other names for some settings: in files as here, as flags with dashes.\n\n",
    );
    for name in container::NAMES {
        page.push_str(&format!("- `{}`: {}\n", name.name, name.help()));
    }
    page
}

fn section(page: &mut String, key: &Key) {
    let short = key.flag.short.map(|short| format!(", `-{short}`")).unwrap_or_default();
    let value = if key.flag.value.is_empty() { String::new() } else { format!(" {}", key.flag.value) };
    let default = if key.default.is_empty() { "not set".to_owned() } else { format!("`{}`", key.default) };
    let project = match key.in_project {
        _ if !key.in_file => "may not set it",
        InProject::Yes => "may set it",
        InProject::Narrow => "may lower it",
        InProject::TurnOn => "may turn it on",
        InProject::Extend => "may add to it",
        InProject::Approved => "may set it once you have approved the file",
        InProject::Never => "may not set it",
    };
    let mut rows = vec![
        ("takes", key.kind.describe()),
        ("default", default),
        ("flag", format!("`--{}{value}`{short}", key.flag.long)),
    ];
    rows.extend(key.env.map(|variable| ("variable", format!("`{variable}`"))));
    let own = if key.in_file { "may set it" } else { "may not set it" };
    rows.push(("your file", own.to_owned()));
    rows.push(("project file", project.to_owned()));
    rows.push(("on resume", if key.may_change { "may change" } else { "stays" }.to_owned()));
    let rows = rows.iter().fold(String::new(), |mut rows, (name, text)| {
        rows.push_str(&format!("| {name} | {text} |\n"));
        rows
    });
    // Writing to a String cannot fail.
    let _written = write!(page, "\n## `{}`\n\n{}\n\n| | |\n|---|---|\n{rows}", key.name, key.doc);
}

/// The schema of `config.toml`, for editors.
#[must_use]
pub fn schema() -> String {
    let keys = catalogue().filter(|key| key.in_file);
    let mut properties: Map<String, Value> = keys.map(|key| (key.name.to_owned(), property(key))).collect();
    for name in container::NAMES {
        let about = json!({"type": "integer", "description": name.help()});
        properties.insert(name.name.to_owned(), about);
    }
    // Agents of the user's own: `loop config check` knows more about them.
    properties.insert("agents".to_owned(), json!({"type": "object", "additionalProperties": {"type": "object"}}));
    let gate = json!({"oneOf": [{"type": "string"}, {"type": "object"}]});
    properties.insert(
        "hidden_gates".to_owned(),
        json!({"oneOf": [
            {"type": "object", "additionalProperties": gate},
            {"type": "array", "items": {"type": "string"}},
        ], "description": "Gates that the agent is not told about: docs/guide/hidden-gates.md."}),
    );
    let file = json!({"type": "string", "minLength": 1, "description": "A file with more hidden_gates."});
    properties.insert("hidden_gates_file".to_owned(), file);
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "loop: config.toml",
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
    });
    format!("{schema:#}\n")
}

/// The schema of a value, for editors.
pub(crate) fn property(key: &Key) -> Value {
    let mut property = match key.kind {
        Kind::CountOrUnlimited(most) => {
            json!({"oneOf": [{"type": "integer", "minimum": 1, "maximum": most}, {"const": UNLIMITED}]})
        }
        Kind::Fraction => json!({"type": "number", "minimum": 0, "maximum": 1}),
        Kind::Duration
        | Kind::DurationOrUnlimited
        | Kind::DurationOrNone
        | Kind::SizeOrUnlimited
        | Kind::MoneyOrUnlimited
        | Kind::Command
        | Kind::Word
        | Kind::Agents
        | Kind::Text
        | Kind::Path => json!({"type": "string", "minLength": 1}),
        Kind::Switch => json!({"type": "boolean"}),
        Kind::Choice(words) => json!({"enum": words}),
        Kind::Paths | Kind::Findings | Kind::Gates | Kind::Prices | Kind::Models | Kind::Failures | Kind::Ladder => {
            json!({"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]})
        }
    };
    property["description"] = json!(key.doc);
    if !key.default.is_empty() {
        property["default"] = json!(key.default);
    }
    property
}
