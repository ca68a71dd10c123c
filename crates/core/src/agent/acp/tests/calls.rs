//! How an agent is called.
use expect_test::expect;

use crate::agent::command::{AttemptSpec, Permissions};

/// The lines of what an adapter would start.
fn called(name: &str, permissions: Permissions, more: bool) -> String {
    let ambient = [("OPENCODE_PERMISSION".to_owned(), r#"{"webfetch":"deny","bash":"allow"}"#.to_owned())].into();
    let args = ["--own".to_owned()];
    let ask = AttemptSpec {
        program: "/bin/agent",
        harness: "/bin/loop",
        workspace: "/ws",
        folder: "/attempt",
        prompt_file: "/attempt/prompt.md",
        system: if more { "block" } else { "" },
        system_file: "/attempt/system.md",
        session: more.then_some("s1"),
        permissions,
        network: more,
        model: more.then_some("big"),
        effort: None,
        args: if more { &args } else { &[] },
        root: more,
        budget: None,
        ambient: &ambient,
    };
    let call = (crate::agent::adapter(name).unwrap().call)(&ask);
    let env: Vec<String> = call.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let files: Vec<&str> = call.files.iter().map(|(path, _)| path.as_str()).collect();
    let parts = [call.argv.join(" "), env.join(" "), files.join(" ")];
    parts.iter().filter(|part| !part.is_empty()).map(|part| format!("{part}\n")).collect()
}

#[test]
fn an_agent_is_called_below_our_own_process_and_never_with_the_prompt_in_its_words() {
    let mut out = String::new();
    for name in ["opencode-acp", "claude-acp", "codex-acp", "gemini-acp"] {
        out.push_str(&called(name, Permissions::Edit, false));
        out.push_str(&called(name, Permissions::Work, true));
    }
    expect![[r#"
        /bin/loop acp-bridge --permissions edit --prompt-file /attempt/prompt.md -- /bin/agent acp
        OPENCODE_DISABLE_AUTOUPDATE=1 OPENCODE_DISABLE_LSP_DOWNLOAD=1 OPENCODE_PERMISSION={"bash":"ask","edit":"ask","external_directory":"ask","webfetch":"deny","websearch":"ask"}
        /bin/loop acp-bridge --permissions work --network --prompt-file /attempt/prompt.md --system-file /attempt/system.md --session s1 --model big -- /bin/agent acp --own
        OPENCODE_DISABLE_AUTOUPDATE=1 OPENCODE_DISABLE_LSP_DOWNLOAD=1 OPENCODE_PERMISSION={"bash":"allow","edit":"ask","external_directory":"ask","webfetch":"deny","websearch":"ask"}
        /bin/loop acp-bridge --permissions edit --prompt-file /attempt/prompt.md -- /bin/agent
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 DISABLE_AUTOUPDATER=1 DISABLE_TELEMETRY=1 CLAUDE_CODE_MAX_RETRIES=1 CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION=false
        /bin/loop acp-bridge --permissions work --network --prompt-file /attempt/prompt.md --system-file /attempt/system.md --session s1 --model big -- /bin/agent --own
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 DISABLE_AUTOUPDATER=1 DISABLE_TELEMETRY=1 CLAUDE_CODE_MAX_RETRIES=1 CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION=false
        /bin/loop acp-bridge --permissions edit --prompt-file /attempt/prompt.md -- /bin/agent -c features.shell_tool=false
        /bin/loop acp-bridge --permissions work --network --prompt-file /attempt/prompt.md --system-file /attempt/system.md --session s1 --model big -- /bin/agent -c sandbox_workspace_write.network_access=true --own
        /bin/loop acp-bridge --permissions edit --prompt-file /attempt/prompt.md -- /bin/agent --acp
        GEMINI_CLI_TRUST_WORKSPACE=true GEMINI_CLI_NO_RELAUNCH=true
        /bin/loop acp-bridge --permissions work --network --prompt-file /attempt/prompt.md --system-file /attempt/system.md --session s1 -- /bin/agent --acp -m big --own
        GEMINI_CLI_TRUST_WORKSPACE=true GEMINI_CLI_NO_RELAUNCH=true GEMINI_CLI_SYSTEM_DEFAULTS_PATH=/attempt/gemini-defaults.json
        /attempt/gemini-defaults.json
    "#]].assert_eq(&out);
}
