//! What the verbs that steer a run share: asking it, and saying what it answered.
use std::time::Duration;

use loop_core::control::{Ask, Call, Reply};
use loop_core::run::{Event, Fact, Input, Order};
use loop_core::view::Row;
use loop_host::control::call;
use loop_host::index;
use loop_host::paths::path_of;
use loop_host::runs::RunFolder;
use loop_host::signals::Signals;

use super::checkpoint;
use super::visit::Came;
use crate::context::{Context, Done, read_error};
use crate::render::error::{CommandError, Kind};

/// How often a waiting command looks.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Asks a run that is at work; what comes back is the number of the journal's line that took it in.
pub(crate) fn ask(folder: &RunFolder, ask: Ask, by: &str) -> Result<u64, CommandError> {
    let Some(holder) = folder.holder() else {
        return Err(CommandError::new(Kind::Wrong, format!("loop {} is not at work", folder.id))
            .because("only a loop that somebody drives can be asked for something")
            .hint(format!("loop status {}", folder.id)));
    };
    let reply = call(&path_of(&holder.socket), &Call { ask, by: by.to_owned() });
    match reply.map_err(|error| CommandError::of(Kind::Silent, &error).hint(format!("loop status {}", folder.id)))? {
        Reply::Taken { seq } => Ok(seq),
        Reply::Refused { why } => Err(CommandError::new(Kind::Wrong, format!("loop {} refuses", folder.id))
            .because(why)
            .hint(format!("loop status {}", folder.id))),
    }
}

/// Waits until the run is as it should be, or has an end; Ctrl-C leaves it as it is.
pub(crate) fn wait(folder: &RunFolder, is_so: impl Fn(&Row) -> bool) -> Result<Option<Row>, CommandError> {
    let mut signals = Signals::listen().map_err(|error| CommandError::of(Kind::Unable, &error))?;
    while signals.take().is_empty() {
        let Some(listed) = index::look(folder.clone()) else { return Ok(None) };
        let row = listed.row.map_err(|error| read_error(&error))?;
        if is_so(&row) || row.status == "crashed" || row.outcome.is_some() {
            return Ok(Some(row));
        }
        signals.wait(LOOK_EVERY);
    }
    Ok(None)
}

/// Waits for the answer to the order that a request led to, and says what came of it.
pub(crate) fn kept(context: &Context, folder: &RunFolder, seq: u64) -> Done {
    let mut signals = Signals::listen().map_err(|error| CommandError::of(Kind::Unable, &error))?;
    while signals.take().is_empty() {
        let reading = loop_host::journal::read(&folder.path).map_err(|error| read_error(&error))?;
        let mut after = reading.entries.iter().filter(|entry| entry.seq > seq).map(|entry| &entry.fact);
        let order = after.clone().find_map(|fact| match fact {
            Fact::Ordered { id, order: Order::Keep { .. } } => Some(*id),
            Fact::Ordered { .. } | Fact::Happened(_) | Fact::Recalled { .. } | Fact::Concluded { .. } => None,
        });
        let answer = after.find_map(|fact| match fact {
            Fact::Happened(Input { event: Event::Answered { order: id, answer }, .. }) if Some(*id) == order => {
                Some(answer)
            }
            Fact::Ordered { .. } | Fact::Happened(_) | Fact::Recalled { .. } | Fact::Concluded { .. } => None,
        });
        if let Some(answer) = answer {
            let came = Came::of(answer).unwrap_or_else(|| Came::Blocked("it was given up".to_owned()));
            return checkpoint::answered(context, folder.id.as_str(), &came);
        }
        if folder.holder().is_none() {
            return Err(CommandError::new(Kind::Unable, "the loop ended before the checkpoint was taken")
                .hint(format!("loop status {}", folder.id)));
        }
        signals.wait(LOOK_EVERY);
    }
    Ok(2)
}

/// Says what was taken in.
pub(crate) fn told(context: &Context, folder: &RunFolder, what: &str, seq: u64) -> Done {
    context.printer.answer(&format!("loop {}: {what} (noted as {seq})\n", folder.id));
    Ok(0)
}
