//! `cline`: Cline's command line.
use super::adapter::{Adapter, Begin, Gentle, SystemBy};
use super::ask::{Ask, Call};
use super::reading::Reader;
use super::text::TextReader;

/// How it is driven.
pub(super) const ADAPTER: Adapter = Adapter {
    name: "cline",
    program: "cline",
    install: "npm install -g cline",
    sign_in: "run `cline auth` once",
    tried: Some("3.0.65"),
    system: SystemBy::Prompt,
    continues: false,
    gentle: Gentle::Interrupt,
    litter: &[],
    variables: &["CLINE_"],
    keys: &[],
    signed_in_files: &[".cline/data/secrets.json"],
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
