//! What the verbs that steer a run share: asking it, and saying what it answered.
use std::time::Duration;

use loop_core::control::{Ask, Call, Reply};
use loop_core::ids::OrderId;
use loop_core::run::{Event, Fact, Input, Order, Status};
use loop_core::view::{JSON_VERSION, Row};
use loop_host::control::call;
use loop_host::index;
use loop_host::launch::RequestOutcome;
use loop_host::paths::path_of;
use loop_host::process::is_suspended;
use loop_host::run_folder::RunFolder;
use loop_host::signals::Signals;
use serde_json::json;

use crate::context::{Context, Done, read_error};
use crate::render::error::{CommandError, Kind};
use crate::render::printer::Loudness;

/// How often a waiting command looks.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Sends a request to a running loop. Returns the number of the journal's line that recorded it.
pub(crate) fn ask(folder: &RunFolder, ask: Ask, by: &str) -> Result<u64, CommandError> {
    let Some(holder) = folder.holder() else {
        return Err(CommandError::new(Kind::Wrong, format!("loop {} is not running", folder.id))
            .because("no process drives it, so it cannot take a request")
            .hint(format!("loop status {}", folder.id)));
    };
    if holder.socket.is_empty() {
        return Err(CommandError::new(Kind::Wrong, format!("another command works on loop {} right now", folder.id))
            .because("one at a time")
            .hint("try again in a moment"));
    }
    if is_suspended(holder.pid) {
        return Err(CommandError::new(Kind::Silent, format!("loop {} is suspended", folder.id))
            .because("it was stopped in its terminal (Ctrl-Z), so it cannot take a request")
            .hint("continue it with fg in its terminal"));
    }
    let reply = call(&path_of(&holder.socket), &Call { ask: ask.as_sent(), by: by.to_owned() });
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
        if is_so(&row) || row.status == Status::Crashed || row.outcome.is_some() {
            return Ok(Some(row));
        }
        signals.wait(LOOK_EVERY);
    }
    Ok(None)
}

/// Waits for the answer to the order that a request led to; none if the person did not ask to wait.
pub(crate) fn came(
    folder: &RunFolder,
    seq: u64,
    is_it: fn(&Order) -> bool,
) -> Result<Option<RequestOutcome>, CommandError> {
    let mut signals = Signals::listen().map_err(|error| CommandError::of(Kind::Unable, &error))?;
    while signals.take().is_empty() {
        let reading = loop_host::journal::read(&folder.path).map_err(|error| read_error(&error))?;
        let after = || reading.entries.iter().filter(|entry| entry.seq > seq).map(|entry| &entry.fact);
        let orders: Vec<OrderId> = after()
            .filter_map(|fact| match fact {
                Fact::Ordered { id, order } if is_it(order) => Some(*id),
                Fact::Happened(_)
                | Fact::Ordered { .. }
                | Fact::OrderCancelled { .. }
                | Fact::Decided(_)
                | Fact::Concluded { .. } => None,
            })
            .collect();
        let answer = after().find_map(|fact| match fact {
            Fact::Happened(Input { event: Event::Answered { order, answer }, .. }) if orders.contains(order) => {
                RequestOutcome::of(answer)
            }
            Fact::Happened(_)
            | Fact::Ordered { .. }
            | Fact::OrderCancelled { .. }
            | Fact::Decided(_)
            | Fact::Concluded { .. } => None,
        });
        if answer.is_some() {
            return Ok(answer);
        }
        if folder.holder().is_none() {
            return Err(CommandError::new(Kind::Unable, "the loop ended before that was done")
                .hint(format!("loop status {}", folder.id)));
        }
        signals.wait(LOOK_EVERY);
    }
    Ok(None)
}

/// Prints what was recorded.
pub(crate) fn told(context: &Context, folder: &RunFolder, what: &str, seq: u64, as_json: bool) -> Done {
    if as_json {
        context.printer.json(&json!({"version": JSON_VERSION, "id": folder.id, "said": what, "noted": seq}));
        return Ok(0);
    }
    let line =
        if context.printer.loudness == Loudness::Verbose { format!(" (journal line {seq})") } else { String::new() };
    context.printer.answer(&format!("loop {}: {what}{line}\n", folder.id));
    Ok(0)
}
