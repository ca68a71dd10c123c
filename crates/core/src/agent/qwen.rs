//! `qwen`: Qwen Code.
use super::adapter::{Adapter, Begin, Gentle, SystemBy};
use super::ask::{Ask, Call};
use super::reading::Reader;
use super::text::TextReader;

/// How it is driven.
pub(super) const ADAPTER: Adapter = Adapter {
    name: "qwen",
    program: "qwen",
    install: "npm install -g @qwen-code/qwen-code",
    sign_in: "run `qwen` once and sign in, or set OPENAI_API_KEY",
    tried: Some("0.15.10"),
    system: SystemBy::Call,
    continues: true,
    gentle: Gentle::Terminate,
    litter: &[],
    variables: &["QWEN_", "OPENAI_", "DASHSCOPE_"],
    keys: &["OPENAI_API_KEY"],
    signed_in_files: &[".qwen/oauth_creds.json"],
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
