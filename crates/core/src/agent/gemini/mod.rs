//! `gemini`: Gemini CLI.
//!
//! Without a person it offers writing and shell tools only where its policy allows them. *work* and *edit* are its mode
//! `auto_edit`, which keeps writes inside the workspace, and a policy file of ours: the rule that allows the shell is the
//! weakest of the user's own tier, so that what the user denies stays denied. The rule that refuses it is the
//! strongest. The refused shell tool is still offered: the model does not ask for a tool that is not offered, so the
//! refusal would not be seen.
//!
//! It retries by itself without a message (ten times, about four minutes in all). That is a setting without a flag.
//! A file of default settings sets it to none, but Gemini CLI reads such a file only where the file and all folders
//! above it belong to root and no other user can write there. Elsewhere `general.maxAttempts` in the user's own
//! settings decides.
mod stream;

use serde_json::json;

use self::stream::GeminiReader;
use crate::agent::adapter::{Adapter, BASE, Begin};
use crate::agent::command::{AgentCommand, AttemptSpec, Permissions, Stdin};
use crate::agent::json::JsonLines;
use crate::agent::reading::Reader;

/// How it is driven.
pub(super) const ADAPTER: Adapter = Adapter {
    name: "gemini",
    title: "Gemini CLI",
    program: "gemini",
    install: "npm install -g @google/gemini-cli",
    sign_in: "run `gemini` once and sign in, or set GEMINI_API_KEY",
    sign_in_errors: SIGN_IN_ERRORS,
    tried: Some("0.61.0"),
    own_files: &["GEMINI.md", ".geminiignore", ".gemini/"],
    variables: &["GEMINI_", "GOOGLE_"],
    markers: &["GEMINI_CLI", "GEMINI_CLI_NO_RELAUNCH", "GEMINI_CLI_ACTIVITY_*"],
    keys: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    signed_in_files: &[".gemini/oauth_creds.json"],
    allow_hint: "--permissions all, or a rule in ~/.gemini/policies",
    call,
    reader,
    ..BASE
};

/// With an address of one's own it insists on a kind of sign-in that it has no way to do, even where the key is set. A
/// setting of the user's says which kind is meant; ours are read only where root starts it.
pub(in crate::agent) const SIGN_IN_ERRORS: &[(&str, &str)] = &[(
    "Invalid auth method selected",
    "put {\"security\": {\"auth\": {\"selectedType\": \"gemini-api-key\"}}} into ~/.gemini/settings.json \
     (GOOGLE_GEMINI_BASE_URL alone selects another kind), or unset GOOGLE_GEMINI_BASE_URL",
)];

/// Weaker than any rule of the user's. What belongs to the shell, and the user's own skills, are offered with it.
const WORK_POLICY: &str = r#"[[rule]]
toolName = "run_shell_command"
decision = "allow"
priority = 0
allowRedirection = true

[[rule]]
toolName = ["list_background_processes", "read_background_output", "write_todos", "activate_skill"]
decision = "allow"
priority = 0
"#;

/// The pattern keeps the tool on offer; the second rule does so too where a default would take it away.
const EDIT_POLICY: &str = r#"[[rule]]
toolName = "run_shell_command"
argsPattern = ".*"
decision = "deny"
priority = 999
denyMessage = "Commands are not allowed in this run (--permissions edit): change files only."

[[rule]]
toolName = "run_shell_command"
decision = "allow"
priority = 998

[[rule]]
toolName = ["write_todos", "activate_skill"]
decision = "allow"
priority = 0
"#;

/// The variable that names a file of default settings.
const DEFAULTS: &str = "GEMINI_CLI_SYSTEM_DEFAULTS_PATH";
/// The variable that says that the workspace is trusted.
const TRUST: &str = "GEMINI_CLI_TRUST_WORKSPACE";

fn call(ask: &AttemptSpec<'_>) -> AgentCommand {
    let mut call = AgentCommand { argv: vec![ask.program.to_owned()], stdin: Stdin::Prompt, ..AgentCommand::default() };
    permit(ask, &mut call);
    call.argv.extend(["--output-format", "stream-json"].map(str::to_owned));
    if let Some(session) = ask.session {
        call.argv.extend(["--resume".to_owned(), session.to_owned()]);
    }
    if let Some(model) = ask.model {
        call.argv.extend(["--model".to_owned(), model.to_owned()]);
    }
    call.argv.extend(ask.args.iter().cloned());
    call.env.push(("GEMINI_CLI_NO_RELAUNCH".to_owned(), "true".to_owned()));
    if !ask.ambient.contains_key(TRUST) {
        call.env.push((TRUST.to_owned(), "true".to_owned()));
    }
    if ask.root && !ask.ambient.contains_key(DEFAULTS) {
        let file = format!("{}/gemini-defaults.json", ask.folder);
        call.env.push((DEFAULTS.to_owned(), file.clone()));
        call.files.push((file, defaults(ask)));
    }
    call
}

/// The approval mode and the policy. A mode among the user's own arguments stands instead of ours: it takes only one.
fn permit(ask: &AttemptSpec<'_>, call: &mut AgentCommand) {
    let policy = match ask.permissions {
        Permissions::Edit => Some(EDIT_POLICY),
        Permissions::Work => Some(WORK_POLICY),
        Permissions::All => None,
    };
    if let Some(policy) = policy {
        let file = format!("{}/gemini-policy.toml", ask.folder);
        call.argv.extend(["--policy".to_owned(), file.clone()]);
        call.files.push((file, policy.to_owned()));
        // Where a policy is named, those of the user are no longer read by themselves.
        let home = ["GEMINI_CLI_HOME", "HOME"].iter().find_map(|name| ask.ambient.get(*name));
        if let Some(home) = home {
            call.argv.extend(["--policy".to_owned(), format!("{home}/.gemini/policies")]);
        }
    }
    let own = |arg: &String| arg == "-y" || arg == "--yolo" || arg.starts_with("--approval-mode");
    if !ask.args.iter().any(own) {
        let mode = if policy.is_some() { "auto_edit" } else { "yolo" };
        call.argv.extend(["--approval-mode".to_owned(), mode.to_owned()]);
    }
}

/// Settings that the user's own overrule.
fn defaults(ask: &AttemptSpec<'_>) -> String {
    let mut settings = json!({
        "general": {"maxAttempts": 1, "enableAutoUpdate": false, "enableAutoUpdateNotification": false},
        "privacy": {"usageStatisticsEnabled": false},
        "telemetry": {"enabled": false},
    });
    // With an address of one's own and a key it would insist on a kind of sign-in that it has no way to do.
    let set = |name: &str| ask.ambient.get(name).is_some_and(|value| !value.is_empty());
    if set("GEMINI_API_KEY") && set("GOOGLE_GEMINI_BASE_URL") && !set("GOOGLE_GENAI_USE_VERTEXAI") {
        settings["security"] = json!({"auth": {"selectedType": "gemini-api-key"}});
    }
    settings.to_string()
}

fn reader(_: Begin) -> Box<dyn Reader> {
    JsonLines::reader(GeminiReader::default())
}
