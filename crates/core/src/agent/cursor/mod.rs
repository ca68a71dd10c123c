//! `cursor`: Cursor's command line, by its documentation; it was never tried here.
mod stream;

use self::stream::CursorReader;
use crate::agent::adapter::{Adapter, BASE, Begin};
use crate::agent::command::{AgentCommand, AttemptSpec, Permissions};
use crate::agent::json::JsonLines;
use crate::agent::reading::Reader;

/// How it is driven.
pub(super) const ADAPTER: Adapter = Adapter {
    name: "cursor",
    title: "Cursor",
    program: "cursor-agent",
    install: "see the vendor's page for the Cursor CLI",
    sign_in: "run `cursor-agent login` once, or set CURSOR_API_KEY",
    tried: None,
    own_files: &["AGENTS.md", ".cursorrules", ".cursorignore", ".cursor/"],
    variables: &["CURSOR_"],
    markers: &["CURSOR_AGENT", "CURSOR_TRACE_ID", "CURSOR_INVOKED_AS"],
    keys: &["CURSOR_API_KEY"],
    allow_hint: "--permissions work, or \"permissions\" in ~/.cursor/cli-config.json",
    call,
    reader,
    ..BASE
};

/// Its only switch is `--force`. Without it, cursor changes nothing when no person watches. What may not be run even
/// with it is in the user's own `cli-config.json`. Only that file could refuse the shell and still allow changes of
/// files, so *edit* cannot be narrower than that.
fn call(ask: &AttemptSpec<'_>) -> AgentCommand {
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
    AgentCommand { argv, ..AgentCommand::default() }
}

fn reader(_: Begin) -> Box<dyn Reader> {
    JsonLines::reader(CursorReader::default())
}
