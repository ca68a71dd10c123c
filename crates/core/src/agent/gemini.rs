//! `gemini`: Gemini CLI.
use super::adapter::{Adapter, Begin, Gentle, SystemBy};
use super::ask::{Ask, Call};
use super::reading::Reader;
use super::text::TextReader;

/// How it is driven.
pub(super) const ADAPTER: Adapter = Adapter {
    name: "gemini",
    program: "gemini",
    install: "npm install -g @google/gemini-cli",
    sign_in: "run `gemini` once and sign in, or set GEMINI_API_KEY",
    tried: Some("0.61.0"),
    system: SystemBy::Prompt,
    continues: true,
    gentle: Gentle::Terminate,
    litter: &[],
    variables: &["GEMINI_", "GOOGLE_"],
    keys: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    signed_in_files: &[".gemini/oauth_creds.json"],
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
