//! What a run whose driver was killed left running is ended by the next command, and reported.
use loop_core::ids::RunId;
use loop_core::run::WorkspaceRef;

use super::caller::LaunchNote;
use crate::orphans::{self, Orphans};
use crate::paths::Home;
use crate::refusal::LaunchRefusal;
use crate::workspace::copy::sweep;
use crate::workspace::overlap;

/// Ends what killed runs left running, as far as it is registered. Cheap enough for every command.
#[must_use]
pub fn end_registered(home: &Home) -> Vec<LaunchNote> {
    let ended_runs = orphans::end_registered(home);
    // Copies whose processes are dead. What stays is tried again by the next command.
    sweep(&home.copies()).ok();
    ended_runs.iter().filter_map(|orphans| ended(&orphans.run.id, orphans.ended)).collect()
}

fn ended(id: &RunId, count: u32) -> Option<LaunchNote> {
    let what = if count == 1 { "1 process".to_owned() } else { format!("{count} processes") };
    let text = format!("ended {what} that loop {id} had left running when it was killed");
    (count > 0).then(|| LaunchNote::progress(text))
}

/// Ends everything that killed runs left running, so that it does not work beside a new run. `notes` gets what was ended.
///
/// # Errors
/// When something cannot be ended and works in this place.
pub fn end_orphans(
    home: &Home,
    place: Option<&WorkspaceRef>,
    notes: &mut dyn FnMut(LaunchNote),
) -> Result<(), LaunchRefusal> {
    for Orphans { run, ended: count, left } in orphans::end_orphans(home) {
        let id = &run.id;
        if let Some(note) = ended(id, count) {
            notes(note);
        }
        if left.is_empty() {
            continue;
        }
        let spec = crate::journal::read(&run.path).ok().and_then(|reading| reading.fold().spec);
        if spec.zip(place).is_some_and(|(spec, place)| overlap(&spec.workspace, place)) {
            return Err(LaunchRefusal::wrong(format!("processes of loop {id} still work in this folder"))
                .because(format!("they could not be ended: {}", left.join(", ")))
                .hint("end them by hand, then start again"));
        }
        let text = format!("warning: processes of loop {id} could not be ended: {}", left.join(", "));
        notes(LaunchNote::progress(text));
    }
    Ok(())
}
