//! The agents that are driven by the protocol: their programs, which our own process starts, and how each is made to
//! ask before it acts.
use serde_json::{Value, json};

use super::reader::{AcpHabits, reader_of};
use crate::agent::adapter::{Adapter, BASE, SystemBy};
use crate::agent::command::{AgentCommand, AttemptSpec, Permissions, Stdin};
use crate::agent::provider::wording::Vendor;
use crate::agent::reading::Usage;
use crate::agent::{claude, codex, gemini, opencode};

/// opencode by the protocol.
pub(in crate::agent) const OPENCODE: Adapter = Adapter {
    name: "opencode-acp",
    title: "opencode",
    program: "opencode",
    install: "npm install -g opencode-ai",
    sign_in: "run `opencode auth login`, or set the provider's key",
    tried: Some("1.18.33"),
    own_files: opencode::ADAPTER.own_files,
    variables: &["OPENCODE_", "ANTHROPIC_", "OPENAI_", "OPENROUTER_", "GEMINI_", "GOOGLE_"],
    keys: &["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "GEMINI_API_KEY"],
    signed_in_files: &[".local/share/opencode/auth.json"],
    call: opencode,
    // What it costs is told for the whole session, from whichever process.
    reader: |begin| reader_of(of(Vendor::Opencode), begin.used),
    ..COMMON
};

/// Claude Code by the protocol.
pub(in crate::agent) const CLAUDE: Adapter = Adapter {
    name: "claude-acp",
    title: "Claude Code",
    program: "claude-agent-acp",
    install: "npm install -g @agentclientprotocol/claude-agent-acp",
    sign_in: "run `claude` once and sign in, or set ANTHROPIC_API_KEY",
    tried: Some("0.99.1"),
    own_files: claude::ADAPTER.own_files,
    variables: &["ANTHROPIC_", "CLAUDE_CODE_", "CLAUDE_CONFIG_DIR", "IS_SANDBOX"],
    keys: &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
    signed_in_files: &[".claude/.credentials.json", ".claude.json"],
    call: claude,
    reader: |_| reader_of(of(Vendor::Anthropic), Usage::default()),
    ..COMMON
};

/// Codex by the protocol. Its sandbox needs `bwrap` on PATH: without it commands fail, and edits are asked for.
pub(in crate::agent) const CODEX: Adapter = Adapter {
    name: "codex-acp",
    title: "Codex CLI",
    program: "codex-acp",
    install: "npm install -g @agentclientprotocol/codex-acp",
    sign_in: "run `codex login`, or set OPENAI_API_KEY",
    tried: Some("2.6.0"),
    own_files: codex::ADAPTER.own_files,
    variables: &["CODEX_", "OPENAI_"],
    keys: &["CODEX_API_KEY", "OPENAI_API_KEY"],
    signed_in_files: &[".codex/auth.json"],
    call: codex,
    ..COMMON
};

/// Gemini CLI by the protocol. It loses a session that is loaded within the minute in which it began: its new file
/// for it has the name of the old one. It is reported like any other session that is not there.
pub(in crate::agent) const GEMINI: Adapter = Adapter {
    name: "gemini-acp",
    title: "Gemini CLI",
    program: "gemini",
    install: "npm install -g @google/gemini-cli",
    sign_in: "run `gemini` once and sign in, or set GEMINI_API_KEY",
    sign_in_errors: gemini::SIGN_IN_ERRORS,
    tried: Some("0.61.0"),
    own_files: gemini::ADAPTER.own_files,
    variables: &["GEMINI_", "GOOGLE_"],
    keys: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    signed_in_files: &[".gemini/oauth_creds.json"],
    call: gemini,
    reader: |_| reader_of(of(Vendor::Google), Usage::default()),
    ..COMMON
};

/// Kimi Code by the protocol, which is its own way to be driven. It reports no tokens, and says nothing where the
/// provider refused for another reason than the sign-in.
pub(in crate::agent) const KIMI: Adapter = Adapter {
    name: "kimi",
    title: "Kimi Code",
    program: "kimi",
    install: "npm install -g @moonshot-ai/kimi-code",
    sign_in: "run `kimi login`",
    tried: Some("2.1.0"),
    own_files: &["AGENTS.md", ".kimi-code/"],
    variables: &["KIMI_", "MOONSHOT_"],
    keys: &["KIMI_API_KEY"],
    signed_in_files: &[".kimi-code/credentials", ".kimi-code/config.toml"],
    call: kimi,
    reader: |_| reader_of(AcpHabits { silent_errors: true, ..AcpHabits::default() }, Usage::default()),
    ..COMMON
};

/// goose by the protocol. It says errors of the provider as words of the model.
pub(in crate::agent) const GOOSE: Adapter = Adapter {
    name: "goose",
    title: "goose",
    program: "goose",
    install: "npm install -g @aaif/goose",
    sign_in: "run `goose configure`, or set the key of your provider",
    tried: Some("1.34.0"),
    own_files: &["AGENTS.md", ".goosehints", ".goose/"],
    variables: &["GOOSE_", "ANTHROPIC_", "OPENAI_", "OPENROUTER_", "GOOGLE_", "GEMINI_", "XAI_"],
    keys: &["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "GOOGLE_API_KEY"],
    signed_in_files: &[".config/goose/config.yaml"],
    call: goose,
    reader: |_| reader_of(GOOSE_HABITS, Usage::default()),
    ..COMMON
};

const GOOSE_HABITS: AcpHabits = AcpHabits {
    vendor: Vendor::Any,
    error_as_message: Some("Ran into this error: "),
    silent_errors: false,
    counts_last_call: true,
};

/// The habits of an agent of which only the vendor matters.
fn of(vendor: Vendor) -> AcpHabits {
    AcpHabits { vendor, ..AcpHabits::default() }
}

/// What they have in common.
const COMMON: Adapter = Adapter {
    system: SystemBy::Call,
    allow_hint: "--permissions work or all",
    behind_bridge: true,
    reader: |_| reader_of(of(Vendor::OpenAi), Usage::default()),
    ..BASE
};

/// Whether the model goes to the agent by the protocol, or by its own flag.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ModelBy {
    Protocol,
    Flag,
}

/// Our own process with the agent's program below it; the user's arguments stand last.
fn bridge(ask: &AttemptSpec<'_>, own: &[&str], model: ModelBy) -> AgentCommand {
    let program = [ask.program].into_iter().chain(own.iter().copied()).map(str::to_owned);
    let model = ask.model.filter(|_| model == ModelBy::Protocol);
    below_bridge(ask, model, program.chain(ask.args.iter().cloned()))
}

/// Our own process with this program below it. A model that is named goes by the protocol.
pub(in crate::agent) fn below_bridge(
    ask: &AttemptSpec<'_>,
    model: Option<&str>,
    program: impl IntoIterator<Item = String>,
) -> AgentCommand {
    let mut argv = vec![ask.harness, "acp-bridge", "--permissions", ask.permissions.word()];
    if ask.network {
        argv.push("--network");
    }
    argv.extend(["--prompt-file", ask.prompt_file]);
    if !ask.system.is_empty() {
        argv.extend(["--system-file", ask.system_file]);
    }
    if let Some(session) = ask.session {
        argv.extend(["--session", session]);
    }
    if let Some(model) = model {
        argv.extend(["--model", model]);
    }
    argv.push("--");
    let argv = argv.into_iter().map(str::to_owned).chain(program).collect();
    AgentCommand { argv, stdin: Stdin::Nothing, ..AgentCommand::default() }
}

fn set(call: &mut AgentCommand, ask: &AttemptSpec<'_>, variables: &[(&str, &str)]) {
    let ours = variables.iter().filter(|(name, _)| !ask.ambient.contains_key(*name));
    call.env.extend(ours.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
}

fn opencode(ask: &AttemptSpec<'_>) -> AgentCommand {
    let mut call = bridge(ask, &["acp"], ModelBy::Protocol);
    let quiet = ["OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_LSP_DOWNLOAD"].map(|name| (name, "1"));
    set(&mut call, ask, &quiet);
    call.env.push(("OPENCODE_PERMISSION".to_owned(), opencode_permission(ask).to_string()));
    call
}

/// Opencode allows everything unless it is set to ask; then our answers decide. What the user denied stays denied.
fn opencode_permission(ask: &AttemptSpec<'_>) -> Value {
    let mut keys = match ask.permissions {
        Permissions::All => json!({"*": "allow", "external_directory": "allow"}),
        Permissions::Work => {
            json!({"edit": "ask", "bash": "allow", "webfetch": "ask", "websearch": "ask", "external_directory": "ask"})
        }
        Permissions::Edit => {
            json!({"edit": "ask", "bash": "ask", "webfetch": "ask", "websearch": "ask", "external_directory": "ask"})
        }
    };
    let theirs = ask.ambient.get("OPENCODE_PERMISSION").and_then(|text| serde_json::from_str::<Value>(text).ok());
    let theirs = theirs.as_ref().and_then(Value::as_object);
    for (name, value) in theirs.into_iter().flatten().filter(|(_, value)| value.as_str() == Some("deny")) {
        keys[name.as_str()] = value.clone();
    }
    keys
}

fn claude(ask: &AttemptSpec<'_>) -> AgentCommand {
    let mut call = bridge(ask, &[], ModelBy::Protocol);
    let quiet = ["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER", "DISABLE_TELEMETRY"];
    set(&mut call, ask, &quiet.map(|name| (name, "1")));
    set(&mut call, ask, &[("CLAUDE_CODE_MAX_RETRIES", "1")]);
    // After each answer the bridge asks the model what a person could type next: a paid call that nobody reads.
    set(&mut call, ask, &[("CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION", "false")]);
    call
}

fn codex(ask: &AttemptSpec<'_>) -> AgentCommand {
    let mut own = Vec::new();
    if ask.network {
        own.extend(["-c", "sandbox_workspace_write.network_access=true"]);
    }
    // Its `read-only` asks before an edit, and lets commands run that change nothing.
    if ask.permissions == Permissions::Edit {
        own.extend(["-c", "features.shell_tool=false"]);
    }
    bridge(ask, &own, ModelBy::Protocol)
}

fn kimi(ask: &AttemptSpec<'_>) -> AgentCommand {
    let mut call = bridge(ask, &["acp"], ModelBy::Protocol);
    // Only the harness waits: by itself it would ask three times.
    set(&mut call, ask, &[("KIMI_DISABLE_TELEMETRY", "1"), ("KIMI_LOOP_MAX_ATTEMPTS_PER_STEP", "1")]);
    call
}

fn goose(ask: &AttemptSpec<'_>) -> AgentCommand {
    let mut call = bridge(ask, &["acp"], ModelBy::Protocol);
    set(&mut call, ask, &[("GOOSE_TELEMETRY_ENABLED", "false")]);
    call
}

fn gemini(ask: &AttemptSpec<'_>) -> AgentCommand {
    let mut own = vec!["--acp"];
    own.extend(ask.model.into_iter().flat_map(|model| ["-m", model]));
    let mut call = bridge(ask, &own, ModelBy::Flag);
    // Without these it asks whether to trust the folder, and works in a child that it does not end.
    let needed = [("GEMINI_CLI_TRUST_WORKSPACE", "true"), ("GEMINI_CLI_NO_RELAUNCH", "true")];
    call.env.extend(needed.map(|(name, value)| (name.to_owned(), value.to_owned())));
    // The lowest of its settings: what the user set stands above them. It takes them from root's files alone; for
    // others nothing bounds its own retries but what they set themselves.
    if ask.root && !ask.ambient.contains_key("GEMINI_CLI_SYSTEM_DEFAULTS_PATH") {
        let file = format!("{}/gemini-defaults.json", ask.folder);
        let quiet = json!({
            "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false, "maxAttempts": 1},
            "privacy": {"usageStatisticsEnabled": false},
        });
        call.env.push(("GEMINI_CLI_SYSTEM_DEFAULTS_PATH".to_owned(), file.clone()));
        call.files.push((file, quiet.to_string()));
    }
    call
}
