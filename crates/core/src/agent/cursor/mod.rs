//! `cursor`: Cursor's command line, by its documentation: nobody here could try it.
mod stream;

use self::stream::CursorReader;
use crate::agent::adapter::{Adapter, Begin, StopSignal, SystemBy};
use crate::agent::ask::{Ask, Call, Permissions};
use crate::agent::reading::Reader;

/// How it is driven.
pub(super) const ADAPTER: Adapter = Adapter {
    name: "cursor",
    program: "cursor-agent",
    install: "see the vendor's page for the Cursor CLI",
    sign_in: "run `cursor-agent login` once, or set CURSOR_API_KEY",
    tried: None,
    system: SystemBy::Prompt,
    continues: true,
    stop_signal: StopSignal::Terminate,
    litter: &[],
    variables: &["CURSOR_"],
    keys: &["CURSOR_API_KEY"],
    signed_in_files: &[],
    worst_cost_micros: 5_000_000,
    as_root: None,
    allow_hint: "--permissions work, or \"permissions\" in ~/.cursor/cli-config.json",
    call,
    reader,
};

/// Its only switch is `--force`, without which it changes nothing when nobody watches. What may not be run even then stands in the
/// person's own `cli-config.json`; by it alone could a shell be refused and files be changed, so *edit* is no narrower than that.
fn call(ask: &Ask<'_>) -> Call {
    let mut argv: Vec<String> =
        [ask.program, "--print", "--output-format", "stream-json", "--stream-partial-output"].map(str::to_owned).into();
    match ask.permissions {
        Permissions::Edit => {}
        Permissions::Work | Permissions::All => argv.push("--force".to_owned()),
    }
    if let Some(session) = ask.session {
        argv.extend(["--resume".to_owned(), session.to_owned()]);
    }
    if let Some(model) = ask.model {
        argv.extend(["--model".to_owned(), model.to_owned()]);
    }
    argv.extend(ask.args.iter().cloned());
    Call { argv, ..Call::default() }
}

fn reader(_: Begin) -> Box<dyn Reader> {
    Box::new(CursorReader::default())
}
