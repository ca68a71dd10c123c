//! `opencode`: many providers behind one program.
use super::adapter::{Adapter, Begin, Gentle, SystemBy};
use super::ask::{Ask, Call};
use super::reading::Reader;
use super::text::TextReader;

/// How it is driven.
pub(super) const ADAPTER: Adapter = Adapter {
    name: "opencode",
    program: "opencode",
    install: "npm install -g opencode-ai",
    sign_in: "run `opencode auth login` once, or set the key of your provider",
    tried: Some("1.18.33"),
    system: SystemBy::Call,
    continues: true,
    gentle: Gentle::Terminate,
    litter: &[],
    variables: &["OPENCODE", "ANTHROPIC_", "OPENAI_", "GOOGLE_", "GEMINI_", "OPENROUTER_"],
    keys: &[],
    signed_in_files: &[".local/share/opencode/auth.json"],
    worst_cost_micros: 5_000_000,
    allow_hint: "--permissions all, or permission keys in opencode.json",
    call,
    reader,
};

fn call(ask: &Ask<'_>) -> Call {
    Call { argv: vec![ask.program.to_owned()], ..Call::default() }
}

fn reader(_: Begin) -> Box<dyn Reader> {
    Box::new(TextReader::default())
}
