//! `cursor`: Cursor's command line, by its documentation: nobody here could try it.
use super::adapter::{Adapter, Begin, Gentle, SystemBy};
use super::ask::{Ask, Call};
use super::reading::Reader;
use super::text::TextReader;

/// How it is driven.
pub(super) const ADAPTER: Adapter = Adapter {
    name: "cursor",
    program: "cursor-agent",
    install: "see the vendor's page for the Cursor CLI",
    sign_in: "run `cursor-agent login` once, or set CURSOR_API_KEY",
    tried: None,
    system: SystemBy::Prompt,
    continues: true,
    gentle: Gentle::Terminate,
    litter: &[],
    variables: &["CURSOR_"],
    keys: &["CURSOR_API_KEY"],
    signed_in_files: &[],
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
