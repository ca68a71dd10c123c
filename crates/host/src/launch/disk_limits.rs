//! Keeping the records and checkpoints of all runs within their limits.
use loop_core::ids::RunId;
use loop_core::settings::{Settings, keys};
use loop_core::text;

use super::caller::LaunchNote;
use super::settings::own_settings;
use crate::checkpoint::{Limit, tidy};
use crate::paths::Home;
use crate::retention::{Thinned, keep_within};

/// How much the records of all runs may take; none means any amount.
#[must_use]
pub fn records_max(settings: &Settings) -> Option<u64> {
    settings.values.output.keep_bytes.map(|most| most.0)
}

/// Removes what is over the limits, except the records of `spare`, and says so. A failure here stops no run.
pub(super) fn keep(home: &Home, settings: &Settings, spare: Option<&RunId>) -> Vec<LaunchNote> {
    thin_records(home, settings, spare).into_iter().chain(tidy_checkpoints(home)).collect()
}

/// Removes checkpoints past their time or limit, if a check is due.
fn tidy_checkpoints(home: &Home) -> Option<LaunchNote> {
    // The settings of one run are for that run alone.
    let settings = own_settings(home).ok()?;
    match tidy(home, Limit::of(&settings.values.checkpoint), crate::clock::now().wall_ms) {
        Ok(gone) if !gone.names.is_empty() => {
            let freed = text::size(gone.collected.freed);
            let count = gone.names.len();
            Some(LaunchNote::progress(format!("removed {count} checkpoints of loops that ended, freed {freed}")))
        }
        Ok(_) => None,
        Err(error) => Some(LaunchNote::progress(format!("warning: old checkpoints stay: {error}"))),
    }
}

/// Removes the outputs of the runs that ended longest ago, if all together take too much.
fn thin_records(home: &Home, settings: &Settings, spare: Option<&RunId>) -> Option<LaunchNote> {
    let thinned = records_max(settings).and_then(|most| keep_within(home, most, spare).ok().flatten())?;
    let limit = settings.resolved.text(keys::keep_bytes());
    let next = "loop list shows whose; more room: loop config set keep_bytes SIZE";
    Some(LaunchNote::progress(format!("{}, over keep_bytes = {limit}\n  {next}", removed(&thinned))))
}

/// `removed 2.1 GiB of outputs of the 3 loops that ended longest ago: all together took 10.3 GiB`.
fn removed(thinned: &Thinned) -> String {
    let freed = text::size(thinned.runs.iter().map(|(_, freed)| freed).sum());
    let whose = match thinned.runs.len() {
        1 => "the loop".to_owned(),
        count => format!("the {count} loops"),
    };
    let took = text::size(thinned.before);
    format!("removed {freed} of outputs of {whose} that ended longest ago: the records of all loops took {took}")
}
