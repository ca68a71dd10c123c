//! `pi`: the coding agent pi, by its JSON events.
mod stream;

use self::stream::PiReader;
use crate::agent::adapter::{Adapter, BASE, Begin, SystemBy};
use crate::agent::command::{AgentCommand, AttemptSpec, Permissions};
use crate::agent::json::JsonLines;
use crate::agent::reading::Reader;

/// How it is driven.
pub(super) const ADAPTER: Adapter = Adapter {
    name: "pi",
    title: "pi",
    program: "pi",
    install: "npm install -g @earendil-works/pi-coding-agent",
    sign_in: "run `pi` once and use /login, or set the key of your provider",
    tried: Some("0.87.1"),
    system: SystemBy::Call,
    own_files: &["AGENTS.md", "CLAUDE.md", ".pi/"],
    variables: &["PI_", "ANTHROPIC_", "OPENAI_", "OPENROUTER_", "GEMINI_", "GROQ_", "XAI_", "MISTRAL_"],
    markers: &["PI_CODING_AGENT", "PI_SESSION_*", "PI_REASONING_LEVEL", "PI_PROVIDER", "PI_MODEL"],
    keys: &["ANTHROPIC_API_KEY", "ANTHROPIC_OAUTH_TOKEN", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "GEMINI_API_KEY"],
    signed_in_files: &[".pi/agent/auth.json", ".pi/agent/models.json"],
    allow_hint: "--permissions work",
    call,
    reader,
    ..BASE
};

/// The prompt comes by stdin. It asks for nothing and has no sandbox: *edit* takes the shell away, and *work* is all.
fn call(ask: &AttemptSpec<'_>) -> AgentCommand {
    let mut argv = vec![ask.program, "--print", "--mode", "json"];
    if ask.permissions == Permissions::Edit {
        argv.extend(["--tools", "read,edit,write,grep,find,ls"]);
    }
    if !ask.system.is_empty() {
        argv.extend(["--append-system-prompt", ask.system_file]);
    }
    if let Some(session) = ask.session {
        argv.extend(["--session", session]);
    }
    if let Some(model) = ask.model {
        argv.extend(["--model", model]);
    }
    let quiet = [("PI_SKIP_VERSION_CHECK", "1"), ("PI_TELEMETRY", "0")];
    let ours = quiet.iter().filter(|(name, _)| !ask.ambient.contains_key(*name));
    AgentCommand {
        argv: argv.into_iter().map(str::to_owned).chain(ask.args.iter().cloned()).collect(),
        env: ours.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        ..AgentCommand::default()
    }
}

fn reader(_: Begin) -> Box<dyn Reader> {
    JsonLines::reader(PiReader::default())
}
