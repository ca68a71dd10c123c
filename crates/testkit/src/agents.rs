//! The real agent programs: pinned, installed once into a cache folder, and turned to a scripted model.
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::json;

use crate::environment::TestEnv;
use crate::model::ModelServer;

/// A real program, and how it is signed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RealAgent {
    /// `claude` with a key.
    Claude,
    /// `claude` with the token of a subscription: only then does it heed the headers of a plan's limits.
    ClaudeSubscribed,
    /// `codex`, with a provider of its own in its configuration.
    Codex,
    /// `gemini` with a key.
    Gemini,
    /// `opencode` with a provider that speaks Chat Completions.
    Opencode,
    /// `opencode` with a provider that speaks Anthropic's Messages.
    OpencodeAnthropic,
    /// `opencode` with a provider that speaks Responses.
    OpencodeResponses,
    /// `qwen` with a key.
    Qwen,
    /// `cline`, signed in by its own command.
    Cline,
    /// `aider`. It offers no tools: its script counts all requests.
    Aider,
    /// `claude-agent-acp` with a key.
    ClaudeAcp,
    /// `codex-acp`, with the configuration of codex.
    CodexAcp,
    /// `copilot` with a provider of its own, and without GitHub.
    Copilot,
    /// `grok` with a model of its own in its configuration.
    Grok,
    /// `kimi` with a provider of its own in its configuration.
    Kimi,
    /// `goose` with a provider that speaks Chat Completions.
    Goose,
    /// `pi` with a provider of its own in its configuration.
    Pi,
}

impl RealAgent {
    /// The name of its program.
    #[must_use]
    pub fn program(self) -> &'static str {
        match self {
            Self::Claude | Self::ClaudeSubscribed => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Opencode | Self::OpencodeAnthropic | Self::OpencodeResponses => "opencode",
            Self::Qwen => "qwen",
            Self::Cline => "cline",
            Self::Aider => "aider",
            Self::ClaudeAcp => "claude-agent-acp",
            Self::CodexAcp => "codex-acp",
            Self::Copilot => "copilot",
            Self::Grok => "grok",
            Self::Kimi => "kimi",
            Self::Goose => "goose",
            Self::Pi => "pi",
        }
    }
}

/// Where the program of an agent is; installs all of them when they are not there.
///
/// # Panics
/// When they are not there and cannot be installed: what to do then stands in the message.
#[must_use]
pub fn bin(program: &str) -> PathBuf {
    static FOLDER: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let folder = FOLDER.get_or_init(installed).as_ref().unwrap_or_else(|error| panic!("{error}"));
    let path = folder.join("bin").join(program);
    assert!(path.exists(), "{} is not there: remove its folder and run crates/testkit/agents/install", path.display());
    path
}

fn installed() -> Result<PathBuf, String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("agents/install");
    let run = |arguments: &[&str]| {
        let output = Command::new(&script).args(arguments).output().map_err(|error| {
            format!("{} cannot be run ({error}): the tests need bash and the whole checkout", script.display())
        })?;
        let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        if output.status.success() { Ok(said(&output.stdout)) } else { Err(said(&output.stderr)) }
    };
    run(&[])?;
    run(&["--where"]).map(PathBuf::from)
}

/// Makes a real program ready for a user of the built program: on the PATH, signed in, turned to this server.
///
/// # Panics
/// When the program is not available.
#[must_use]
pub fn with_real(env: TestEnv, agent: RealAgent, server: &ModelServer) -> TestEnv {
    for program in [agent.program(), "node"] {
        put_on_path(&env, program);
    }
    let url = server.url();
    match agent {
        RealAgent::Claude => claude(env, &url).with("ANTHROPIC_API_KEY", "dummy-key"),
        RealAgent::ClaudeSubscribed => claude(env, &url).with("CLAUDE_CODE_OAUTH_TOKEN", "dummy-token"),
        RealAgent::ClaudeAcp => {
            let path = bin("claude");
            claude(env, &url).with("ANTHROPIC_API_KEY", "dummy-key").with("CLAUDE_CODE_EXECUTABLE", path)
        }
        RealAgent::Codex => codex(env, &url),
        RealAgent::CodexAcp => {
            let path = bin("codex");
            codex(env, &url).with("CODEX_PATH", path)
        }
        RealAgent::Copilot => copilot(env, &url),
        RealAgent::Grok => grok(env, &url),
        RealAgent::Kimi => kimi(env, &url),
        RealAgent::Goose => goose(env, &url),
        RealAgent::Pi => pi(env, &url),
        RealAgent::Gemini => gemini(env, &url),
        RealAgent::Opencode => opencode(env, "@ai-sdk/openai-compatible", &url),
        RealAgent::OpencodeAnthropic => opencode(env, "@ai-sdk/anthropic", &url),
        RealAgent::OpencodeResponses => opencode(env, "@ai-sdk/openai", &url),
        RealAgent::Qwen => qwen(env, &url),
        RealAgent::Aider => aider(env, &url),
        RealAgent::Cline => cline(env, &url),
    }
}

fn put_on_path(env: &TestEnv, program: &str) {
    let link = env.root().join("bin").join(program);
    if !link.exists() {
        symlink(bin(program), &link).expect("a link to a program");
    }
}

fn claude(env: TestEnv, url: &str) -> TestEnv {
    env.with("ANTHROPIC_BASE_URL", url).with("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
}

fn codex(env: TestEnv, url: &str) -> TestEnv {
    let config = format!(
        r#"model = "gpt-5.5"
model_provider = "scripted"
check_for_update_on_startup = false

[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"

[analytics]
enabled = false
"#
    );
    env.write("home/.codex/config.toml", &config);
    env.with("OPENAI_API_KEY", "dummy-key")
}

fn gemini(env: TestEnv, url: &str) -> TestEnv {
    let settings = json!({
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": false},
        "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
        // Left to itself it asks a model which model to ask, in a form that no script speaks.
        "model": {"name": "gemini-2.5-pro"},
    });
    env.write("home/.gemini/settings.json", &settings.to_string());
    env.with("GEMINI_API_KEY", "dummy-key").with("GOOGLE_GEMINI_BASE_URL", url)
}

fn opencode(env: TestEnv, package: &str, url: &str) -> TestEnv {
    let model = json!({
        "name": "scripted", "limit": {"context": 200_000, "output": 8192}, "cost": {"input": 3, "output": 15},
    });
    let config = json!({
        "model": "scripted/test-model",
        "small_model": "scripted/test-model",
        "provider": {"scripted": {
            "npm": package,
            "options": {"baseURL": format!("{url}/v1"), "apiKey": "dummy-key"},
            "models": {"test-model": model},
        }},
    });
    env.with("OPENCODE_CONFIG_CONTENT", config.to_string()).with("OPENCODE_DISABLE_MODELS_FETCH", "1")
}

fn qwen(env: TestEnv, url: &str) -> TestEnv {
    let settings = json!({
        "security": {"auth": {"selectedType": "openai"}},
        "privacy": {"usageStatisticsEnabled": false},
    });
    env.write("home/.qwen/settings.json", &settings.to_string());
    env.with("OPENAI_API_KEY", "dummy-key")
        .with("OPENAI_BASE_URL", format!("{url}/v1"))
        .with("OPENAI_MODEL", "scripted-model")
}

fn aider(env: TestEnv, url: &str) -> TestEnv {
    env.with("OPENAI_API_KEY", "dummy-key")
        .with("OPENAI_API_BASE", format!("{url}/v1"))
        .with("AIDER_MODEL", "openai/scripted-model")
        .with("AIDER_ANALYTICS", "false")
        .with("AIDER_CHECK_UPDATE", "false")
}

fn cline(env: TestEnv, url: &str) -> TestEnv {
    let mut sign_in = Command::new(bin("cline"));
    env.apply_env(&mut sign_in);
    let url = format!("{url}/v1");
    sign_in.args(["auth", "-p", "openai-compatible", "-k", "dummy-key", "-m", "scripted-model", "-b", &url]);
    let output = sign_in.output().expect("cline can be run");
    assert!(output.status.success(), "cline auth: {}", String::from_utf8_lossy(&output.stderr));
    env
}

fn copilot(env: TestEnv, url: &str) -> TestEnv {
    env.with("COPILOT_PROVIDER_BASE_URL", format!("{url}/v1"))
        .with("COPILOT_PROVIDER_API_KEY", "dummy-key")
        .with("COPILOT_MODEL", "scripted-model")
        .with("COPILOT_OFFLINE", "true")
}

fn grok(env: TestEnv, url: &str) -> TestEnv {
    let config = format!(
        r#"[model.scripted]
model = "scripted-model"
name = "scripted"
base_url = "{url}/v1"
api_key = "dummy-key"
context_window = 200000

[models]
default = "scripted"
"#
    );
    env.write("home/.grok/config.toml", &config);
    env.with("XAI_API_KEY", "dummy-key")
}

fn kimi(env: TestEnv, url: &str) -> TestEnv {
    let config = format!(
        r#"default_model = "scripted"
telemetry = false

[providers.scripted]
type = "openai"
base_url = "{url}/v1"
api_key = "dummy-key"

[models.scripted]
provider = "scripted"
model = "scripted-model"
max_context_size = 200000
"#
    );
    env.write("home/.kimi-code/config.toml", &config);
    env
}

fn goose(env: TestEnv, url: &str) -> TestEnv {
    let config = "GOOSE_PROVIDER: openai\nGOOSE_MODEL: scripted-model\nextensions:\n  developer:\n    enabled: true\n    \
        type: builtin\n    name: developer\n    timeout: 300\n    bundled: true\n";
    env.write("home/.config/goose/config.yaml", config);
    env.with("OPENAI_HOST", url).with("OPENAI_API_KEY", "dummy-key").with("GOOSE_DISABLE_KEYRING", "1")
}

fn pi(env: TestEnv, url: &str) -> TestEnv {
    let model = json!({
        "id": "scripted-model", "name": "scripted", "reasoning": false, "input": ["text"],
        "cost": {"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75},
        "contextWindow": 200_000, "maxTokens": 8192,
    });
    let provider =
        json!({"baseUrl": format!("{url}/v1"), "apiKey": "dummy-key", "api": "openai-completions", "models": [model]});
    env.write("home/.pi/agent/models.json", &json!({"providers": {"scripted": provider}}).to_string());
    let settings =
        json!({"defaultProvider": "scripted", "defaultModel": "scripted-model", "retry": {"enabled": false}});
    env.write("home/.pi/agent/settings.json", &settings.to_string());
    env.with("PI_OFFLINE", "1")
}
