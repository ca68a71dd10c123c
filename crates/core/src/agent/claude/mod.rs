//! `claude`: Claude Code.
mod lines;
mod result;
pub(super) mod stream;

use self::stream::{ClaudeStream, Habits};
use crate::agent::adapter::{Adapter, BASE, Begin, StopSignal, SystemBy};
use crate::agent::command::{AgentCommand, AttemptSpec, Permissions, Stdin};
use crate::agent::json::JsonLines;
use crate::agent::provider::wording::Vendor;
use crate::agent::reading::Reader;

/// How it is driven.
pub(super) const ADAPTER: Adapter = Adapter {
    name: "claude",
    title: "Claude Code",
    program: "claude",
    install: "npm install -g @anthropic-ai/claude-code",
    sign_in: "run `claude` once and sign in, or set ANTHROPIC_API_KEY",
    tried: Some("2.1.326"),
    efforts: &["high", "max"],
    system: SystemBy::Call,
    stop_signal: StopSignal::Interrupt,
    own_files: &["CLAUDE.md", "CLAUDE.local.md", ".mcp.json", ".claude/"],
    variables: &["ANTHROPIC_", "CLAUDE_", "AWS_", "VERTEX_", "GOOGLE_", "CLOUD_ML_REGION", "IS_SANDBOX"],
    markers: &[
        "CLAUDECODE",
        "CLAUDE_CODE_AGENT_VIEW_RELAUNCH",
        "CLAUDE_CODE_CHILD_SESSION",
        "CLAUDE_CODE_ENTRYPOINT",
        "CLAUDE_CODE_EXECPATH",
        "CLAUDE_CODE_REMOTE",
        "CLAUDE_CODE_REMOTE_*",
        "CLAUDE_CODE_SESSION_*",
        "CLAUDE_CODE_SSE_PORT",
        "CLAUDE_CODE_TEAMMATE_COMMAND",
        "CLAUDE_BG_*",
        "CLAUDE_EFFORT",
        "CLAUDE_ENV_FILE",
        "CLAUDE_PROJECT_DIR",
        "CLAUDE_PLUGIN_ROOT",
        "CLAUDE_SESSION_*",
        "CLAUDE_AGENT_SDK_VERSION",
    ],
    keys: &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
    signed_in_files: &[".claude/.credentials.json"],
    as_root: Some((AS_ROOT, "IS_SANDBOX")),
    allow_hint: "--permissions all, or permissions.allow in .claude/settings.json",
    call,
    reader,
    keeps_budget: true,
    ..BASE
};

/// Its stream has no habits but its own.
const HABITS: Habits = Habits {
    asks: &["AskUserQuestion"],
    error_as_message: None,
    counts_all: false,
    vendor: Vendor::Anthropic,
    lost: &["No conversation found with session ID", "does not match any session"],
    explained: &[("cannot be used with root", AS_ROOT)],
};

/// What it says, as root, to being allowed everything, and what can be done.
pub(super) const AS_ROOT: &str = "claude refuses --permissions all (its --dangerously-skip-permissions) as root, because nothing would hold \
     it back: run loop as another user, use --permissions work, or, where the whole machine may be thrown away, \
     pass --agent-env IS_SANDBOX=1";

/// What a person's own session sets for what it starts: with it, ours would take itself for a part of that one.
const MARKS: [&str; 10] = [
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_EXECPATH",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_EFFORT",
    "CLAUDE_ENV_FILE",
    "CLAUDE_PROJECT_DIR",
    "AI_AGENT",
];

/// Only we wait and try again, nothing is sent that the work does not need, and no update comes between two iterations.
const ENV: [(&str, &str); 5] = [
    ("CLAUDE_CODE_MAX_RETRIES", "0"),
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    ("DISABLE_AUTOUPDATER", "1"),
    ("DISABLE_TELEMETRY", "1"),
    ("DISABLE_ERROR_REPORTING", "1"),
];

fn call(ask: &AttemptSpec<'_>) -> AgentCommand {
    let mut argv = vec![ask.program, "-p"];
    // A list of tools takes every word up to the next flag, so these stand before the user's own arguments.
    argv.extend(permissions(ask));
    argv.extend(["--output-format", "stream-json", "--verbose", "--include-partial-messages"]);
    if !ask.system.is_empty() {
        argv.extend(["--append-system-prompt-file", ask.system_file]);
    }
    if let Some(session) = ask.session {
        argv.extend(["--resume", session]);
    }
    if let Some(model) = ask.model {
        argv.extend(["--model", model]);
    }
    if let Some(effort) = ask.effort {
        argv.extend(["--effort", effort]);
    }
    let budget = ask.budget.map(dollars);
    if let Some(budget) = &budget {
        argv.extend(["--max-budget-usd", budget]);
    }
    AgentCommand {
        argv: argv.into_iter().map(str::to_owned).chain(ask.args.iter().cloned()).collect(),
        env: ENV.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        without: MARKS.iter().map(|name| (*name).to_owned()).collect(),
        stdin: Stdin::Prompt,
        files: Vec::new(),
    }
}

/// In no mode may it move to a worktree of its own: no gate would see what it does there.
/// A rule for every command still offers the shell, so that a call of it is refused and reported. Without the shell the
/// model needs tools to read files, and these are offered only where they are named.
fn permissions(ask: &AttemptSpec<'_>) -> &'static [&'static str] {
    match (ask.permissions, ask.network) {
        (Permissions::Edit, _) => &[
            "--permission-mode",
            "acceptEdits",
            "--allowedTools",
            "Glob,Grep",
            "--disallowedTools",
            "Bash(**),EnterWorktree",
        ],
        (Permissions::Work, false) => {
            &["--permission-mode", "acceptEdits", "--allowedTools", "Bash", "--disallowedTools", "EnterWorktree"]
        }
        (Permissions::Work, true) => &[
            "--permission-mode",
            "acceptEdits",
            "--allowedTools",
            "Bash,WebFetch,WebSearch",
            "--disallowedTools",
            "EnterWorktree",
        ],
        (Permissions::All, _) => &["--dangerously-skip-permissions", "--disallowedTools", "EnterWorktree"],
    }
}

/// An amount as the program reads it: never nothing, which it would not take.
fn dollars(micros: u64) -> String {
    let micros = micros.max(1);
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

fn reader(begin: Begin) -> Box<dyn Reader> {
    JsonLines::reader(ClaudeStream::new(&HABITS, begin))
}
