//! `loop set`: change a setting of a loop that is at work.
use clap::Args;
use loop_core::control::Ask;
use loop_core::run::Change;
use loop_host::changes::added;

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
    let state = loop_host::journal::read(&folder.path).map_err(|error| read_error(&error))?.fold();
    let change = |pair: &String| {
        let (key, value) = pair.split_once('=').ok_or_else(|| {
            CommandError::new(Kind::Wrong, format!("{pair:?} is not key=value"))
                .because("a setting needs a name and a value")
                .hint("for example: loop set ID max_iterations=20 timeout=10m")
        })?;
        let name = key.replace('-', "_");
        let value = match (value.strip_prefix('+'), loop_core::settings::key(&name)) {
            (Some(more), Some(key)) => added(key, more, &state)?,
            (_, _) => value.to_owned(),
        };
        Ok(Change::new(&name, value))
    };
    let changes = args.pairs.iter().map(change).collect::<Result<Vec<_>, CommandError>>()?;
    let said: Vec<String> = changes.iter().map(|change| format!("{} = {}", change.key, change.value)).collect();
    let seq = ask::ask(&folder, Ask::Set(changes), "loop set")?;
    ask::told(context, &folder, &format!("{} from now on", said.join(", ")), seq)
}
