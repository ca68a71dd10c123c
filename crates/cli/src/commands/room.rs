//! What the verbs that drive or tidy share: keeping the records of all loops within `keep_bytes`.
use loop_core::ids::RunId;
use loop_core::settings::{Settings, keys};
use loop_core::text;
use loop_host::checkpoint::{Limit, tidy};
use loop_host::retention::{Thinned, keep_within};

use crate::context::Context;

/// How much may be kept; none means any amount.
pub(crate) fn most(settings: &Settings) -> Option<u64> {
    settings.values.output.keep_bytes.map(|most| most.0)
}

/// Removes checkpoints past their time or bound, if it is time to look, and says so.
pub(crate) fn tidy_checkpoints(context: &Context) {
    // What one loop was given is for that loop alone.
    let Ok(settings) = super::setup::own_settings(context) else { return };
    let now = loop_host::clock::now().wall_ms;
    match tidy(&context.home, Limit::of(&settings.values.checkpoint), now) {
        Ok(gone) if !gone.names.is_empty() => {
            let freed = text::size(gone.collected.freed);
            context
                .printer
                .progress(&format!("removed {} checkpoints of loops that ended, freed {freed}\n", gone.names.len()));
        }
        Ok(_) => {}
        Err(error) => context.printer.progress(&format!("warning: old checkpoints stay: {error}\n")),
    }
}

/// Removes the outputs of the loops that ended longest ago, if all together take too much, and says
/// so. That this cannot be done is no reason for a loop not to start or to end.
pub(crate) fn make_room(context: &Context, settings: &Settings, spare: Option<&RunId>) {
    let thinned = most(settings).and_then(|most| keep_within(&context.home, most, spare).ok().flatten());
    if let Some(thinned) = thinned {
        let held = settings.resolved.text(keys::keep_bytes());
        let next = "loop list shows whose; more room: loop config set keep_bytes SIZE";
        context.printer.progress(&format!("{}, over keep_bytes = {held}\n  {next}\n", told(&thinned)));
    }
}

/// `removed 2.1 GiB of outputs of the 3 loops that ended longest ago: all together took 10.3 GiB`.
fn told(thinned: &Thinned) -> String {
    let freed = text::size(thinned.runs.iter().map(|(_, freed)| freed).sum());
    let whose = match thinned.runs.len() {
        1 => "the loop".to_owned(),
        count => format!("the {count} loops"),
    };
    let took = text::size(thinned.before);
    format!("removed {freed} of outputs of {whose} that ended longest ago: the records of all loops took {took}")
}
