//! `aider`: edits by text, no tools; its exit code says nothing.
use super::adapter::{Adapter, Begin, Gentle, SystemBy};
use super::ask::{Ask, Call};
use super::reading::Reader;
use super::text::TextReader;

/// How it is driven.
pub(super) const ADAPTER: Adapter = Adapter {
    name: "aider",
    program: "aider",
    install: "pip install aider-chat",
    sign_in: "set the key of your provider, for example ANTHROPIC_API_KEY",
    tried: Some("0.86.2"),
    system: SystemBy::Prompt,
    continues: false,
    gentle: Gentle::Terminate,
    litter: &[".aider*"],
    variables: &["AIDER_", "OPENAI_", "ANTHROPIC_", "GEMINI_", "OPENROUTER_", "DEEPSEEK_"],
    keys: &[],
    signed_in_files: &[".aider.conf.yml"],
    worst_cost_micros: 5_000_000,
    allow_hint: "--permissions all",
    call,
    reader,
};

fn call(ask: &Ask<'_>) -> Call {
    Call { argv: vec![ask.program.to_owned()], ..Call::default() }
}

fn reader(_: Begin) -> Box<dyn Reader> {
    Box::new(TextReader::default())
}
