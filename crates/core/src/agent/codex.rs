//! `codex`: Codex CLI.
use super::adapter::{Adapter, Begin, Gentle, SystemBy};
use super::ask::{Ask, Call};
use super::reading::Reader;
use super::text::TextReader;

/// How it is driven.
pub(super) const ADAPTER: Adapter = Adapter {
    name: "codex",
    program: "codex",
    install: "npm install -g @openai/codex",
    sign_in: "run `codex login` once, or set CODEX_API_KEY",
    tried: Some("0.166.0"),
    system: SystemBy::Call,
    continues: true,
    gentle: Gentle::Terminate,
    litter: &[],
    variables: &["CODEX_", "OPENAI_"],
    keys: &["CODEX_API_KEY", "OPENAI_API_KEY"],
    signed_in_files: &[".codex/auth.json"],
    worst_cost_micros: 5_000_000,
    allow_hint: "--permissions all, or --agent-network",
    call,
    reader,
};

fn call(ask: &Ask<'_>) -> Call {
    Call { argv: vec![ask.program.to_owned()], ..Call::default() }
}

fn reader(_: Begin) -> Box<dyn Reader> {
    Box::new(TextReader::default())
}
