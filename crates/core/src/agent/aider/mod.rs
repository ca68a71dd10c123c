//! `aider`: edits by text, without tools. Its exit code does not show whether it failed.
mod output;

use self::output::AiderReader;
use crate::agent::adapter::{Adapter, BASE, Begin};
use crate::agent::command::{AgentCommand, AttemptSpec, Permissions, Stdin};
use crate::agent::reading::Reader;

/// How it is driven.
pub(super) const ADAPTER: Adapter = Adapter {
    name: "aider",
    title: "aider",
    program: "aider",
    install: "pip install aider-chat",
    sign_in: "set the key of your provider, for example ANTHROPIC_API_KEY",
    tried: Some("0.86.2"),
    continues: false,
    runs_commands: false,
    // Not `.aider*`: a person's `.aider.conf.yml` is a part of the work.
    litter: &[".aider.chat.history.md", ".aider.input.history", ".aider.llm.history", ".aider.tags.cache.v*"],
    own_files: &[".aider.conf.yml", ".aiderignore", ".aider.model.*"],
    variables: &[
        "AIDER_",
        "LITELLM_",
        "OPENAI_",
        "ANTHROPIC_",
        "GEMINI_",
        "OPENROUTER_",
        "DEEPSEEK_",
        "AZURE_",
        "GROQ_",
        "MISTRAL_",
        "OLLAMA_",
        "XAI_",
    ],
    keys: &["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY", "DEEPSEEK_API_KEY"],
    signed_in_files: &[".aider.conf.yml", ".aider/oauth-keys.env"],
    allow_hint: "running the commands as a gate: aider runs none by itself",
    call,
    reader,
    ..BASE
};

/// With `--yes-always` aider would make a repository where there is none. So the script adds `--no-git` there.
const START: &str = r#"at=$(pwd -P)
until [ -f "$at/.git" ] || [ -e "$at/.git/HEAD" ] || [ "$at" = / ]; do at=$(dirname "$at"); done
[ "$at" != / ] || set -- --no-git "$@"
exec "$0" "$@""#;

/// What holds in every mode. Checkpoints are ours, so it commits nothing.
const ALWAYS: [&str; 12] = [
    "--yes-always",
    "--no-auto-commits",
    "--no-dirty-commits",
    "--no-pretty",
    "--no-fancy-input",
    "--no-gitignore",
    "--no-show-model-warnings",
    "--no-show-release-notes",
    "--no-detect-urls",
    "--no-analytics",
    "--no-check-update",
    "--no-restore-chat-history",
];

fn call(ask: &AttemptSpec<'_>) -> AgentCommand {
    let mut argv: Vec<String> = ["sh", "-c", START, ask.program].map(str::to_owned).into();
    argv.extend(ALWAYS.map(str::to_owned));
    argv.extend(["--message-file".to_owned(), ask.prompt_file.to_owned()]);
    argv.extend(["--chat-history-file".to_owned(), format!("{}/aider.chat.md", ask.folder)]);
    argv.extend(["--input-history-file".to_owned(), format!("{}/aider.input", ask.folder)]);
    // Its stdout mixes what the model says with what it says itself; here every line says whose it is.
    argv.extend(["--llm-history-file", "/dev/stderr"].map(str::to_owned));
    match ask.permissions {
        Permissions::Edit => argv.extend(["--no-suggest-shell-commands", "--no-auto-test"].map(str::to_owned)),
        Permissions::Work | Permissions::All => {}
    }
    if let Some(model) = ask.model {
        argv.extend(["--model".to_owned(), model.to_owned()]);
    }
    argv.extend(ask.args.iter().cloned());
    // Its library retries each request of itself; what is left is told of and counted.
    let env = [("DEFAULT_MAX_RETRIES", "0"), ("LITELLM_LOCAL_MODEL_COST_MAP", "true")];
    let env = env.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    AgentCommand { argv, env, stdin: Stdin::Nothing, ..AgentCommand::default() }
}

fn reader(_: Begin) -> Box<dyn Reader> {
    Box::new(AiderReader::default())
}
