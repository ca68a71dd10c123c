//! `copilot`: GitHub Copilot CLI, by its own JSON lines. They report failures with their status, but no tokens.
mod stream;

use self::stream::CopilotReader;
use crate::agent::adapter::{Adapter, BASE, Begin};
use crate::agent::command::{AgentCommand, AttemptSpec, Permissions};
use crate::agent::json::JsonLines;
use crate::agent::reading::Reader;

/// How it is driven.
pub(super) const ADAPTER: Adapter = Adapter {
    name: "copilot",
    title: "Copilot CLI",
    program: "copilot",
    install: "npm install -g @github/copilot",
    sign_in: "run `copilot login` once, or set COPILOT_GITHUB_TOKEN",
    tried: Some("1.0.102"),
    own_files: &["AGENTS.md", ".github/copilot-instructions.md", ".github/instructions/", ".copilot/"],
    variables: &["COPILOT_", "GH_TOKEN", "GITHUB_TOKEN", "GH_HOST"],
    markers: &[
        "COPILOT_CLI",
        "COPILOT_AGENT_SESSION_ID",
        "COPILOT_CLI_BINARY_VERSION",
        "COPILOT_CLI_RESOLVED_DIST_DIR",
        "COPILOT_LOADER_PID",
    ],
    keys: &["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "COPILOT_PROVIDER_API_KEY"],
    signed_in_files: &[".copilot/config.json"],
    allow_hint: "--permissions work or all",
    call,
    reader,
    ..BASE
};

/// The prompt comes by stdin. A denied tool stands above every rule that allows it.
fn call(ask: &AttemptSpec<'_>) -> AgentCommand {
    let mut argv = vec![ask.program];
    argv.extend(match ask.permissions {
        Permissions::Edit => &["--allow-tool=write", "--deny-tool=shell"][..],
        Permissions::Work => &["--allow-tool=write", "--allow-tool=shell"],
        Permissions::All => &["--allow-all-tools", "--allow-all-paths", "--allow-all-urls"],
    });
    if ask.network && ask.permissions == Permissions::Work {
        argv.push("--allow-all-urls");
    }
    argv.extend(["--output-format", "json", "--no-ask-user", "--no-auto-update", "--log-level", "none"]);
    let session = ask.session.map(|session| format!("--resume={session}"));
    argv.extend(session.as_deref());
    if let Some(model) = ask.model {
        argv.extend(["--model", model]);
    }
    AgentCommand {
        argv: argv.into_iter().map(str::to_owned).chain(ask.args.iter().cloned()).collect(),
        ..AgentCommand::default()
    }
}

fn reader(_: Begin) -> Box<dyn Reader> {
    JsonLines::reader(CopilotReader::default())
}
