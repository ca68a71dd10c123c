//! The command that starts `opencode`. All goes by the environment: no file of the user's is touched.
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::agent::command::{AgentCommand, AttemptSpec, Permissions, Stdin};

/// What bounds its own waiting.
const BOUNDS: &str = include_str!("bounds.mjs");
/// The variable that holds configuration, read after all files.
const CONFIG: &str = "OPENCODE_CONFIG_CONTENT";
/// The variable that names a file of configuration.
const CONFIG_FILE: &str = "OPENCODE_CONFIG";
/// The variable that holds permissions, put over those of all configuration.
const PERMISSION: &str = "OPENCODE_PERMISSION";

/// The program for an ask. `--auto` allows what the user's own rules would ask about; what they deny stays denied.
pub(super) fn call(ask: &AttemptSpec<'_>) -> AgentCommand {
    let mut argv: Vec<String> = [ask.program, "run", "--format", "json", "--auto"].map(str::to_owned).to_vec();
    match ask.session {
        Some(session) => argv.extend(["--session".to_owned(), session.to_owned()]),
        // Without a title it asks the model for one, and does not count that.
        None => argv.extend(["--title", "loop"].map(str::to_owned)),
    }
    if let Some(model) = ask.model {
        argv.extend(["--model".to_owned(), model.to_owned()]);
    }
    argv.extend(ask.args.iter().cloned());
    let bounds = format!("{}/opencode-bounds.mjs", ask.folder);
    let mut call = AgentCommand {
        argv,
        env: vec![
            ("OPENCODE_DISABLE_AUTOUPDATE".to_owned(), "1".to_owned()),
            ("OPENCODE_DISABLE_LSP_DOWNLOAD".to_owned(), "1".to_owned()),
            (PERMISSION.to_owned(), permission(ask).to_string()),
        ],
        without: Vec::new(),
        stdin: Stdin::Prompt,
        files: vec![(bounds.clone(), BOUNDS.to_owned())],
    };
    let ours = config(ask, &bounds);
    match ask.ambient.get(CONFIG).map(|text| serde_json::from_str(text)) {
        None => call.env.push((CONFIG.to_owned(), ours.to_string())),
        Some(Ok(theirs)) => call.env.push((CONFIG.to_owned(), merged(theirs, ours).to_string())),
        // With comments in it, which only opencode can read: ours goes by a file, if that way is free.
        Some(Err(_)) if !ask.ambient.contains_key(CONFIG_FILE) => {
            let path = format!("{}/opencode.json", ask.folder);
            call.files.push((path.clone(), ours.to_string()));
            call.env.push((CONFIG_FILE.to_owned(), path));
        }
        Some(Err(_)) => {}
    }
    call
}

fn config(ask: &AttemptSpec<'_>, bounds: &str) -> Value {
    let mut config = json!({"autoupdate": false, "share": "disabled", "plugin": [file_url(bounds)]});
    if !ask.system.is_empty() {
        config["instructions"] = json!([ask.system_file]);
    }
    config
}

/// What the user put into the variable, with ours on top; lists hold both.
fn merged(theirs: Value, ours: Value) -> Value {
    match (theirs, ours) {
        (Value::Object(mut theirs), Value::Object(ours)) => {
            for (name, value) in ours {
                let before = theirs.remove(&name).unwrap_or(Value::Null);
                theirs.insert(name, merged(before, value));
            }
            Value::Object(theirs)
        }
        (Value::Array(mut theirs), Value::Array(ours)) => {
            theirs.extend(ours);
            Value::Array(theirs)
        }
        (_, ours) => ours,
    }
}

/// The last rule that matches holds, and keys stand sorted: `*` comes before all paths and words.
fn permission(ask: &AttemptSpec<'_>) -> Value {
    let theirs = ask.ambient.get(PERMISSION).and_then(|text| serde_json::from_str::<Map<String, Value>>(text).ok());
    let mut rules = theirs.unwrap_or_default();
    if ask.permissions == Permissions::All {
        for name in ["*", "bash", "doom_loop", "edit", "external_directory", "read", "webfetch", "websearch"] {
            rules.insert(name.to_owned(), json!("allow"));
        }
        return Value::Object(rules);
    }
    // Long outputs of its own tools lie there, for it to read on.
    let mut outside = json!({"*": "deny", "*/opencode/tool-output/*": "allow", "/tmp/*": "allow"});
    if let Some(scratch) = ask.ambient.get("TMPDIR").filter(|path| path.starts_with('/') && path.len() > 1) {
        outside[format!("{}/*", scratch.trim_end_matches('/'))] = json!("allow");
    }
    rules.entry("external_directory").or_insert(outside);
    if !ask.network {
        rules.insert("webfetch".to_owned(), json!("deny"));
        rules.insert("websearch".to_owned(), json!("deny"));
    }
    if ask.permissions == Permissions::Edit {
        // With nothing allowed the tool would not be offered, and the model would not be told why. `true` does nothing.
        rules.insert("bash".to_owned(), json!({"*": "deny", "true": "allow"}));
    }
    Value::Object(rules)
}

/// A path as a URL.
fn file_url(path: &str) -> String {
    let mut url = "file://".to_owned();
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            url.push(char::from(byte));
        } else if write!(url, "%{byte:02X}").is_err() {
            // Writing to a text cannot fail.
            break;
        }
    }
    url
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn ask<'a>(ambient: &'a BTreeMap<String, String>, permissions: Permissions) -> AttemptSpec<'a> {
        AttemptSpec {
            program: "opencode",
            harness: "loop",
            workspace: "/w",
            folder: "/a folder",
            prompt_file: "/a folder/prompt.md",
            system: "Say it.",
            system_file: "/a folder/system.md",
            session: None,
            permissions,
            network: false,
            model: None,
            effort: None,
            args: &[],
            root: false,
            budget: None,
            ambient,
        }
    }

    fn variable(call: &AgentCommand, name: &str) -> Value {
        let (_, text) = call.env.iter().find(|(variable, _)| variable == name).expect("the variable is set");
        serde_json::from_str(text).expect("JSON")
    }

    // req: C-18 partly: what the default allows
    #[test]
    fn work_keeps_to_the_workspace_and_leaves_the_users_rules_for_commands_alone() {
        let ambient = BTreeMap::from([
            (PERMISSION.to_owned(), r#"{"bash":{"git push *":"deny"}}"#.to_owned()),
            ("TMPDIR".to_owned(), "/scratch/".to_owned()),
        ]);
        let call = call(&ask(&ambient, Permissions::Work));
        let rules = variable(&call, PERMISSION);
        assert_eq!(rules["bash"], json!({"git push *": "deny"}));
        assert_eq!(rules["external_directory"]["*"], "deny");
        assert_eq!(rules["external_directory"]["/scratch/*"], "allow");
        assert_eq!(rules["webfetch"], "deny");
        assert!(call.argv.contains(&"--auto".to_owned()));
    }

    #[test]
    fn edit_denies_commands_whatever_the_user_allows() {
        let ambient = BTreeMap::from([(PERMISSION.to_owned(), r#"{"bash":"allow"}"#.to_owned())]);
        let call = call(&ask(&ambient, Permissions::Edit));
        assert_eq!(variable(&call, PERMISSION)["bash"], json!({"*": "deny", "true": "allow"}));
    }

    #[test]
    fn all_allows_what_the_user_denies() {
        let ambient = BTreeMap::from([(PERMISSION.to_owned(), r#"{"bash":{"rm *":"deny"}}"#.to_owned())]);
        let call = call(&ask(&ambient, Permissions::All));
        assert_eq!(variable(&call, PERMISSION)["bash"], "allow");
        assert_eq!(variable(&call, PERMISSION)["external_directory"], "allow");
    }

    #[test]
    fn configuration_in_the_environment_is_added_to_and_not_replaced() {
        let theirs = r#"{"model":"a/b","instructions":["their.md"],"provider":{"a":{"npm":"x"}}}"#;
        let ambient = BTreeMap::from([(CONFIG.to_owned(), theirs.to_owned())]);
        let config = variable(&call(&ask(&ambient, Permissions::Work)), CONFIG);
        assert_eq!(config["model"], "a/b");
        assert_eq!(config["provider"]["a"]["npm"], "x");
        assert_eq!(config["instructions"], json!(["their.md", "/a folder/system.md"]));
        assert_eq!(config["plugin"], json!(["file:///a%20folder/opencode-bounds.mjs"]));
        assert_eq!(config["share"], "disabled");
    }

    #[test]
    fn configuration_with_comments_stays_as_it_is_and_ours_goes_by_a_file() {
        let ambient = BTreeMap::from([(CONFIG.to_owned(), "{ // mine\n }".to_owned())]);
        let call = call(&ask(&ambient, Permissions::Work));
        assert!(call.env.iter().all(|(name, _)| name != CONFIG));
        let path = "/a folder/opencode.json".to_owned();
        assert!(call.env.contains(&(CONFIG_FILE.to_owned(), path.clone())));
        assert!(call.files.iter().any(|(file, text)| *file == path && text.contains("system.md")));
    }

    #[test]
    fn a_session_is_gone_on_with_by_its_id_and_the_users_words_come_last() {
        let ambient = BTreeMap::new();
        let words = ["--thinking".to_owned()];
        let asked = AttemptSpec {
            session: Some("ses_1"),
            model: Some("a/b"),
            effort: None,
            args: &words,
            ..ask(&ambient, Permissions::Work)
        };
        let call = call(&asked);
        assert_eq!(call.argv[5..], ["--session", "ses_1", "--model", "a/b", "--thinking"].map(str::to_owned));
        assert!(!call.argv.iter().any(|word| word == "--continue" || word == "--title"));
    }
}
