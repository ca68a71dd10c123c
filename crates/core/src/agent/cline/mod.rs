//! `cline`: Cline's command line.
//!
//! It prints events only where a prompt is among its arguments, and reads its stdin only where that is a pipe. So a few
//! fixed words are the argument, and the prompt itself comes through `cat`; cline puts it after them. By default it
//! would leave a daemon behind; it starts none when the process itself keeps its sessions.
//!
//! Without asking a person it allows either all tools or none, so *work* is the same as *all*. *edit* removes the shell
//! by a settings file of ours, which replaces the user's own preferences for that run; where the user names such a
//! file, everything is refused instead. Its retries (six requests, up to a minute) have no setting.
mod stream;

use serde_json::json;

use self::stream::ClineReader;
use crate::agent::adapter::{Adapter, BASE, Begin, StopSignal};
use crate::agent::command::{AgentCommand, AttemptSpec, Permissions, Stdin};
use crate::agent::json::JsonLines;
use crate::agent::reading::Reader;

/// How it is driven.
pub(super) const ADAPTER: Adapter = Adapter {
    name: "cline",
    title: "Cline",
    program: "cline",
    install: "npm install -g cline",
    sign_in: "run `cline auth` once",
    tried: Some("3.0.65"),
    continues: false,
    stop_signal: StopSignal::Interrupt,
    own_files: &[".clinerules", ".clinerules/", ".cline/"],
    variables: &["CLINE_"],
    markers: &["CLINE_ACTIVE"],
    keys: &["CLINE_API_KEY"],
    signed_in_files: &[".cline/data/settings/providers.json", ".cline/data/secrets.json"],
    allow_hint: "--permissions work",
    call,
    reader,
    ..BASE
};

/// Turns stdin into a pipe. The program and its arguments are values to the shell, never text of its own.
const THROUGH_A_PIPE: &str = "cat | exec \"$@\"";
/// Stands before the prompt. Without a space it would be taken for a command.
const LEAD: &str = "Your task:";
/// The variable that names the file of preferences.
const SETTINGS: &str = "CLINE_GLOBAL_SETTINGS_PATH";

fn call(ask: &AttemptSpec<'_>) -> AgentCommand {
    let shell = ["sh", "-c", THROUGH_A_PIPE, "sh", ask.program, "--json"].map(str::to_owned);
    let mut call = AgentCommand { argv: shell.to_vec(), stdin: Stdin::Prompt, ..AgentCommand::default() };
    let refuses_all = ask.permissions == Permissions::Edit && ask.ambient.contains_key(SETTINGS);
    if ask.permissions == Permissions::Edit && !refuses_all {
        let file = format!("{}/cline-settings.json", ask.folder);
        call.env.push((SETTINGS.to_owned(), file.clone()));
        let settings = json!({
            "disabledTools": ["run_commands"],
            "toolAutoApprove": true,
            "telemetryOptOut": true,
            "autoUpdateEnabled": false,
        });
        call.files.push((file, settings.to_string()));
    }
    let approve = if refuses_all { "false" } else { "true" };
    call.argv.extend(["--auto-approve", approve].map(str::to_owned));
    if let Some(model) = ask.model {
        call.argv.extend(["--model".to_owned(), model.to_owned()]);
    }
    call.argv.push(LEAD.to_owned());
    call.argv.extend(ask.args.iter().cloned());
    for (name, value) in [("CLINE_SESSION_BACKEND_MODE", "local"), ("CLINE_NO_AUTO_UPDATE", "1")] {
        if !ask.ambient.contains_key(name) {
            call.env.push((name.to_owned(), value.to_owned()));
        }
    }
    call
}

fn reader(_: Begin) -> Box<dyn Reader> {
    JsonLines::reader(ClineReader::default())
}
