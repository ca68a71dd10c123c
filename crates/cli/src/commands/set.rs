//! `loop set`: change settings of a loop that is at work, or that can be resumed.
use clap::Args;
use loop_core::control::Ask;
use loop_core::run::{Change, Event, Fact, Request};
use loop_core::settings::catalogue;
use loop_core::text;
use loop_core::view::JSON_VERSION;
use loop_host::changes::{ChangeForm, PAUSE, RunActivity, check_changes};
use loop_host::launch;
use loop_host::run_folder::RunFolder;
use serde_json::{Value, json};

use super::ask;
use crate::args::IdArg;
use crate::context::{Context, Done, read_error};
use crate::here::Wanted;
use crate::render::error::{CommandError, Kind};
use crate::render::summary;

/// Change settings of a loop that is running or can be resumed
#[derive(Debug, Args)]
pub(crate) struct SetArgs {
    #[command(flatten)]
    id: IdArg,
    /// key=value, for keys that may change in a run; without any, these keys are listed with their values
    #[arg(value_name = "KEY=VALUE")]
    pairs: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(context: &Context, args: &SetArgs) -> Done {
    // An id has no sign in it, so a pair in its place is a pair.
    let (id, first) = match &args.id.id {
        Some(word) if word.contains('=') => (None, Some(word)),
        word => (word.as_deref(), None),
    };
    let folder = context.find_or_here(id, Wanted::Resumable)?;
    let pairs: Vec<&String> = first.into_iter().chain(&args.pairs).collect();
    if pairs.is_empty() {
        return list(context, &folder, args.json);
    }
    let change = |pair: &&String| {
        let (key, value) = pair.split_once('=').ok_or_else(|| {
            CommandError::new(Kind::Wrong, format!("{pair:?} is not key=value"))
                .because("a setting needs a name and a value")
                .hint("for example: loop set ID max_iterations=20 timeout=10m")
        })?;
        Ok(Change::new(&key.replace('-', "_"), value.to_owned()))
    };
    let changes = pairs.iter().map(change).collect::<Result<Vec<_>, CommandError>>()?;
    if folder.holder().is_none() {
        return record(context, &folder, &changes, args.json);
    }
    // Checked here too, so that a refusal has its hint. The run itself adds, and finds what is implied.
    let state = loop_host::journal::read(&folder.path).map_err(|error| read_error(&error))?.fold();
    if let [Change { key, value, .. }] = &changes[..]
        && key == PAUSE
        && matches!(value.as_str(), "true" | "false")
    {
        let said = if value == "true" { "it pauses after this iteration" } else { "it continues" };
        let seq = ask::ask(&folder, Ask::Set(changes), "loop set")?;
        return ask::told(context, &folder, said, seq, args.json);
    }
    check_changes(&changes, &state, RunActivity::AtWork, ChangeForm::Pairs)?;
    let seq = ask::ask(&folder, Ask::Set(changes), "loop set")?;
    let recorded = recorded(&folder, seq)?;
    if args.json {
        return answer(context, &folder, &recorded, Some(seq));
    }
    let said: Vec<String> = recorded.iter().map(in_words).collect();
    ask::told(context, &folder, &format!("{} from now on", said.join(", ")), seq, false)
}

/// What was set, for programs.
fn answer(context: &Context, folder: &RunFolder, changes: &[Change], seq: Option<u64>) -> Done {
    let set: serde_json::Map<String, Value> =
        changes.iter().map(|change| (change.key.clone(), change.value.clone().into())).collect();
    context.printer.json(&json!({"version": JSON_VERSION, "id": folder.id, "set": set, "noted": seq}));
    Ok(0)
}

/// The settings that may change, as they are now.
fn list(context: &Context, folder: &RunFolder, as_json: bool) -> Done {
    let state = loop_host::journal::read(&folder.path).map_err(|error| read_error(&error))?.fold();
    let resolved = &state.settings.shown().resolved;
    if as_json {
        let keys = catalogue().filter(|key| key.may_change);
        let all: serde_json::Map<String, Value> =
            keys.map(|key| (key.name.to_owned(), resolved.text(key).into())).collect();
        context.printer.json(&json!({"version": JSON_VERSION, "id": folder.id, "settings": all}));
        return Ok(0);
    }
    let lines = catalogue().filter(|key| key.may_change).map(|key| {
        let value = resolved.text(key);
        let value = if value.is_empty() { "not set".to_owned() } else { text::one_line(value, 200) };
        format!("{} = {value}\n", key.name)
    });
    context.printer.answer(&lines.collect::<String>());
    Ok(0)
}

/// Records the changes for a loop that no process drives: they hold from `loop resume` on.
fn record(context: &Context, folder: &RunFolder, changes: &[Change], as_json: bool) -> Done {
    let recorded = launch::set(&context.home, folder, changes)?;
    if as_json {
        return answer(context, folder, &recorded, None);
    }
    let (id, said) = (&folder.id, recorded.iter().map(in_words).collect::<Vec<_>>().join(", "));
    let keys: Vec<&str> = recorded.iter().map(|change| change.key.as_str()).collect();
    let next = summary::next_after_change(folder, &keys);
    context.printer.answer(&format!("loop {id}: {said} from now on\n  next:       {next}\n"));
    Ok(0)
}

/// The changes as the run recorded them: with whole values, and with what they imply.
fn recorded(folder: &RunFolder, seq: u64) -> Result<Vec<Change>, CommandError> {
    let reading = loop_host::journal::read(&folder.path).map_err(|error| read_error(&error))?;
    let fact = reading.entries.into_iter().find(|entry| entry.seq == seq).map(|entry| entry.fact);
    let Some(Fact::Happened(input)) = fact else { return Ok(Vec::new()) };
    let Event::Requested { request: Request::Set(changes), .. } = input.event else { return Ok(Vec::new()) };
    Ok(changes)
}

fn in_words(change: &Change) -> String {
    let value = if change.value.is_empty() { "not set" } else { &change.value };
    format!("{} = {value}", change.key)
}
