//! `qwen`: Qwen Code. It prints Claude's stream, but errors of the provider come as words of the model.
use crate::agent::adapter::{Adapter, BASE, Begin};
use crate::agent::claude::stream::{ClaudeStream, Habits};
use crate::agent::command::{AgentCommand, AttemptSpec, Permissions, Stdin};
use crate::agent::json::JsonLines;
use crate::agent::provider::wording::Vendor;
use crate::agent::reading::Reader;

/// How it is driven. Its flag for an addition to the system prompt takes text only, and prompts do not go by argv.
pub(super) const ADAPTER: Adapter = Adapter {
    name: "qwen",
    title: "Qwen Code",
    program: "qwen",
    install: "npm install -g @qwen-code/qwen-code",
    sign_in: "run `qwen` once and sign in, or set OPENAI_API_KEY",
    tried: Some("0.24.4"),
    own_files: &["QWEN.md", ".qwenignore", ".qwen/"],
    variables: &["QWEN_", "OPENAI_", "DASHSCOPE_", "BAILIAN_"],
    markers: &["QWEN_CODE", "QWEN_CODE_NO_RELAUNCH"],
    keys: &["OPENAI_API_KEY"],
    signed_in_files: &[".qwen/oauth_creds.json"],
    allow_hint: "--permissions all, or tools.allowed in .qwen/settings.json",
    call,
    reader,
    ..BASE
};

/// In what its stream differs.
const HABITS: Habits = Habits {
    asks: &["ask_user_question"],
    error_as_message: Some("[API Error: "),
    counts_all: true,
    vendor: Vendor::Any,
    lost: &["No saved session found with ID"],
    explained: &[],
};

/// The lowest layer of its settings, below the user's own. Seven tries of one request it makes all the same.
const SETTINGS: &str = "{\"model\":{\"generationConfig\":{\"maxRetries\":0}},\"privacy\":{\"usageStatisticsEnabled\":false},\
     \"general\":{\"enableAutoUpdate\":false}}\n";
/// The variable that names the file of that layer.
const LAYER: &str = "QWEN_CODE_SYSTEM_DEFAULTS_PATH";

fn call(ask: &AttemptSpec<'_>) -> AgentCommand {
    let mut argv = vec![ask.program];
    // A list of tools takes every word up to the next flag, so these stand before the user's own arguments.
    argv.extend(permissions(ask.permissions));
    argv.extend(["--output-format", "stream-json", "--include-partial-messages"]);
    if let Some(session) = ask.session {
        argv.extend(["--resume", session]);
    }
    if let Some(model) = ask.model {
        argv.extend(["--model", model]);
    }
    let layer = format!("{}/qwen-defaults.json", ask.folder);
    // Without it a parent stays between us and the program, and dies alone.
    let mut env = vec![("QWEN_CODE_NO_RELAUNCH".to_owned(), "true".to_owned())];
    let mut files = Vec::new();
    if !ask.ambient.contains_key(LAYER) {
        env.push((LAYER.to_owned(), layer.clone()));
        files.push((layer, SETTINGS.to_owned()));
    }
    AgentCommand {
        argv: argv.into_iter().map(str::to_owned).chain(ask.args.iter().cloned()).collect(),
        env,
        // With it, it would wait by itself and for ever.
        without: vec!["QWEN_CODE_UNATTENDED_RETRY".to_owned()],
        stdin: Stdin::Prompt,
        files,
    }
}

/// In its mode for edits the shell is on offer only where it is named.
fn permissions(permissions: Permissions) -> &'static [&'static str] {
    match permissions {
        Permissions::Edit => &["--approval-mode", "auto-edit"],
        Permissions::Work => &["--approval-mode", "auto-edit", "--allowed-tools", "run_shell_command"],
        Permissions::All => &["--approval-mode", "yolo"],
    }
}

fn reader(begin: Begin) -> Box<dyn Reader> {
    JsonLines::reader(ClaudeStream::new(&HABITS, begin))
}
