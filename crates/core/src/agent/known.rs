//! The agents people have: what their program is called, how to get it, and how to call it today.

/// One agent CLI that we know by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// What `--agent` calls it.
    pub name: &'static str,
    /// The program looked for on PATH.
    pub program: &'static str,
    /// A command line that reads the prompt from stdin and works unattended, for `--agent-cmd`.
    /// Where its permissions are left as the user set them, it may stop to ask.
    pub command: &'static str,
    /// How to install it.
    pub install: &'static str,
}

/// All of them, the default first.
pub const KNOWN: [Known; 7] = [
    Known { name: "opencode", program: "opencode", command: "opencode run", install: "npm install -g opencode-ai" },
    Known {
        name: "claude",
        program: "claude",
        command: "claude -p",
        install: "npm install -g @anthropic-ai/claude-code",
    },
    Known { name: "codex", program: "codex", command: "codex exec -", install: "npm install -g @openai/codex" },
    Known { name: "gemini", program: "gemini", command: "gemini", install: "npm install -g @google/gemini-cli" },
    Known {
        name: "aider",
        program: "aider",
        command: "aider --yes-always --no-auto-commits --message-file \"$LOOP_PROMPT_FILE\"",
        install: "pip install aider-chat",
    },
    Known {
        name: "cursor",
        program: "cursor-agent",
        command: "cursor-agent -p",
        install: "see the vendor's page for the Cursor CLI",
    },
    Known { name: "cline", program: "cline", command: "cline", install: "npm install -g cline" },
];

/// The one of that name.
#[must_use]
pub fn known(name: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|agent| agent.name == name)
}
