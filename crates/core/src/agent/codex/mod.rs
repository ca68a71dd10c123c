//! `codex`: Codex CLI, driven by `codex exec --json`.
pub mod args;
mod session;
mod stream;
pub(super) mod words;

use self::args::has_any;
use self::stream::CodexReader;
use crate::agent::adapter::{Adapter, BASE, Begin, SessionRecord, SystemBy};
use crate::agent::command::{AgentCommand, AttemptSpec, Permissions};
use crate::agent::json::JsonLines;
use crate::agent::reading::Reader;

/// How it is driven.
pub(super) const ADAPTER: Adapter = Adapter {
    name: "codex",
    title: "Codex CLI",
    program: "codex",
    install: "npm install -g @openai/codex",
    sign_in: "run `codex login` once, or set CODEX_API_KEY",
    tried: Some("0.169.0"),
    system: SystemBy::Call,
    efforts: &["high", "xhigh"],
    own_files: &["AGENTS.md", "AGENTS.override.md", ".codex/"],
    variables: &["CODEX_", "OPENAI_"],
    markers: &[
        "CODEX_CI",
        "CODEX_MANAGED_*",
        "CODEX_SANDBOX",
        "CODEX_SANDBOX_*",
        "CODEX_SESSION_ID",
        "CODEX_THREAD_ID",
        "CODEX_TOOL_CALL_ID",
        "CODEX_VERSION",
        "CODEX_APPLY_PATCH_PRESERVE_LINE_ENDINGS",
        "CODEX_INTERNAL_*",
    ],
    keys: &["CODEX_API_KEY", "OPENAI_API_KEY"],
    signed_in_files: &[".codex/auth.json"],
    allow_hint: "--permissions all, or --agent-network",
    session_record: Some(SessionRecord {
        home_variable: "CODEX_HOME",
        home_folder: ".codex",
        folder: "sessions",
        read: session::windows,
    }),
    call,
    reader,
    ..BASE
};

/// Settings that hold in every mode: no waiting without end, no look-ups elsewhere. Given by `-c`, since an older or newer
/// program passes over a setting that it does not know, and refuses a `--disable` that it does not know.
const ALWAYS: [&str; 4] = [
    "features.unbounded_connection_retries=false",
    "features.plugins=false",
    "check_for_update_on_startup=false",
    "analytics.enabled=false",
];

/// Said where no shell is offered: the model would look for one.
const NO_SHELL: &str =
    "In this run no commands can be run: there is no shell tool. Change files with apply_patch alone.";

/// Flags that say what it may do: where the user gives one, ours would be one too many.
const ALLOWING: [&str; 7] = [
    "-s",
    "--sandbox",
    "--full-auto",
    "--dangerously-bypass-approvals-and-sandbox",
    "--yolo",
    "--approve-for-me",
    "--not-so-yolo",
];

fn call(ask: &AttemptSpec<'_>) -> AgentCommand {
    let mut argv: Vec<String> = vec![ask.program.to_owned()];
    let mut add = |words: &[&str]| argv.extend(words.iter().map(|word| (*word).to_owned()));
    let users = |flags: &[&str]| has_any(ask.args, flags);
    // It refuses a flag that stands there twice.
    add(&["exec"]);
    if !users(&["--json", "--experimental-json"]) {
        add(&["--json"]);
    }
    if !users(&["--skip-git-repo-check"]) {
        add(&["--skip-git-repo-check"]);
    }
    for setting in ALWAYS {
        add(&["-c", setting]);
    }
    let sandbox: &[&str] = if users(&ALLOWING) { &[] } else { &["-s", "workspace-write"] };
    add(if ask.permissions == Permissions::All { &[] } else { sandbox });
    match ask.permissions {
        Permissions::Edit => add(&["-c", "features.shell_tool=false"]),
        Permissions::Work => add(&["-c", &format!("sandbox_workspace_write.network_access={}", ask.network)]),
        Permissions::All if users(&ALLOWING) => {}
        Permissions::All => add(&["--dangerously-bypass-approvals-and-sandbox"]),
    }
    if let Some(setting) = instructions(ask) {
        add(&["-c", &setting]);
    }
    if let Some(model) = ask.model.filter(|_| !users(&["-m", "--model"])) {
        add(&["-m", model]);
    }
    if let Some(effort) = ask.effort {
        add(&["-c", &format!("model_reasoning_effort={effort}")]);
    }
    // What belongs to the user stands before `resume`, which takes fewer arguments than `exec`.
    argv.extend(ask.args.iter().cloned());
    if has_any(ask.args, &["-i", "--image"]) {
        // A list of images takes the words behind it: a flag of ours ends it.
        argv.extend(["-c", ALWAYS[0]].map(str::to_owned));
    }
    if let Some(session) = ask.session {
        argv.extend(["resume".to_owned(), session.to_owned()]);
    }
    argv.push("-".to_owned());
    AgentCommand { argv, ..AgentCommand::default() }
}

/// What is added to its own instructions, as a value that it reads as TOML. A string of JSON is one of TOML, too.
fn instructions(ask: &AttemptSpec<'_>) -> Option<String> {
    let parts = [(ask.permissions == Permissions::Edit).then_some(NO_SHELL), Some(ask.system)];
    let text: Vec<&str> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    let text = text.join("\n\n").replace('\u{7f}', "");
    (!text.is_empty()).then(|| format!("developer_instructions={}", serde_json::Value::String(text)))
}

fn reader(begin: Begin) -> Box<dyn Reader> {
    JsonLines::reader(CodexReader::new(begin.used))
}
