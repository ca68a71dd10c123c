//! `loop set`: change a setting of a loop that is at work.
use clap::Args;
use loop_core::control::Ask;
use loop_core::run::{Change, Event, Fact, Request};
use loop_host::changes::{ChangeForm, RunActivity, check_changes};
use loop_host::run_folder::RunFolder;

use super::ask;
use crate::args::IdArg;
use crate::context::{Context, Done, read_error};
use crate::render::error::{CommandError, Kind};

/// Change settings of a loop that is at work
#[derive(Debug, Args)]
pub(crate) struct SetArgs {
    #[command(flatten)]
    id: IdArg,
    /// key=value, for keys that may change in a run
    #[arg(value_name = "KEY=VALUE", required = true)]
    pairs: Vec<String>,
}

pub(crate) fn run(context: &Context, args: &SetArgs) -> Done {
    let folder = context.find(&args.id.id)?;
    let change = |pair: &String| {
        let (key, value) = pair.split_once('=').ok_or_else(|| {
            CommandError::new(Kind::Wrong, format!("{pair:?} is not key=value"))
                .because("a setting needs a name and a value")
                .hint("for example: loop set ID max_iterations=20 timeout=10m")
        })?;
        Ok(Change::new(&key.replace('-', "_"), value.to_owned()))
    };
    let changes = args.pairs.iter().map(change).collect::<Result<Vec<_>, CommandError>>()?;
    if folder.holder().is_some() {
        // Checked here too, so that a refusal has its hint. The run itself adds, and finds what is implied.
        let state = loop_host::journal::read(&folder.path).map_err(|error| read_error(&error))?.fold();
        check_changes(&changes, &state, RunActivity::AtWork, ChangeForm::Pairs)?;
    }
    let seq = ask::ask(&folder, Ask::Set(changes), "loop set")?;
    let said: Vec<String> = recorded(&folder, seq)?.iter().map(in_words).collect();
    ask::told(context, &folder, &format!("{} from now on", said.join(", ")), seq)
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
