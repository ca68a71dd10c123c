//! `grok`: Grok Build. It prints Claude's stream; its counts are of the run alone.
use crate::agent::adapter::{Adapter, BASE, Begin};
use crate::agent::claude::stream::{ClaudeStream, Habits};
use crate::agent::command::{AgentCommand, AttemptSpec, Permissions, Stdin};
use crate::agent::json::JsonLines;
use crate::agent::provider::wording::Vendor;
use crate::agent::reading::Reader;

/// How it is driven. Its flag for an addition to the system prompt takes text only, and prompts do not go by argv.
pub(super) const ADAPTER: Adapter = Adapter {
    name: "grok",
    title: "Grok Build",
    program: "grok",
    install: "npm install -g @xai-official/grok",
    sign_in: "run `grok login`, or set XAI_API_KEY",
    tried: Some("1.0.41"),
    own_files: &["AGENTS.md", "GROK.md", ".grok/"],
    variables: &["GROK_", "XAI_"],
    markers: &["GROK_AGENT", "GROK_SESSION_ID"],
    keys: &["XAI_API_KEY", "GROK_CODE_XAI_API_KEY"],
    signed_in_files: &[".grok/auth.json"],
    allow_hint: "--permissions work or all",
    call,
    reader,
    ..BASE
};

/// In what its stream differs.
const HABITS: Habits = Habits {
    asks: &["ask_user_question"],
    error_as_message: None,
    counts_all: false,
    vendor: Vendor::Any,
    lost: &["not found locally", "No session found"],
    explained: &[],
};

/// Few tries of its own, no request for a line about each turn, nothing sent that the work does not need, and no update
/// between two iterations.
const ENV: [(&str, &str); 4] = [
    ("GROK_MAX_RETRIES", "1"),
    ("GROK_TURN_SUMMARY", "0"),
    ("GROK_DISABLE_AUTOUPDATER", "1"),
    ("GROK_TELEMETRY_ENABLED", "false"),
];

fn call(ask: &AttemptSpec<'_>) -> AgentCommand {
    let mut argv = vec![ask.program];
    // Without a person its mode for edits refuses them, and a rule that allows the shell refuses `>` in it. A denied tool
    // stays denied with `--always-approve`; `--disallowed-tools` does not take it away.
    argv.extend(match ask.permissions {
        Permissions::Edit => &["--always-approve", "--deny", "Bash"][..],
        Permissions::Work | Permissions::All => &["--always-approve"],
    });
    if !ask.network && ask.permissions != Permissions::All {
        argv.push("--disable-web-search");
    }
    argv.extend(["--output-format", "streaming-messages-json", "--include-partial-messages"]);
    argv.extend(["--prompt-file", ask.prompt_file]);
    if let Some(session) = ask.session {
        argv.extend(["--resume", session]);
    }
    if let Some(model) = ask.model {
        argv.extend(["--model", model]);
    }
    let ours = ENV.iter().filter(|(name, _)| !ask.ambient.contains_key(*name));
    AgentCommand {
        argv: argv.into_iter().map(str::to_owned).chain(ask.args.iter().cloned()).collect(),
        env: ours.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        stdin: Stdin::Nothing,
        ..AgentCommand::default()
    }
}

fn reader(begin: Begin) -> Box<dyn Reader> {
    JsonLines::reader(ClaudeStream::new(&HABITS, begin))
}
