//! What the verbs about checkpoints share: finding the store of a loop, and the checkpoint that a word means.
use std::sync::Arc;

use loop_core::run::{Changes, RunState, meant};
use loop_host::checkpoint::{self, CheckpointContext, CheckpointRow, RunCheckpoints};
use loop_host::run_folder::RunFolder;

use crate::context::{Context, read_error};
use crate::here::Wanted;
use crate::kept::local_time;
use crate::render::diff::brief;
use crate::render::error::{CommandError, Kind};

/// How many checkpoints an error names.
const NAMED_MAX: usize = 12;

/// The checkpoints of a loop and its state; refused where it has no checkpoints.
pub(crate) fn checkpoints_of(folder: &RunFolder) -> Result<(CheckpointContext, RunState), CommandError> {
    let state = loop_host::journal::read(&folder.path).map_err(|error| read_error(&error))?.fold();
    let Some(spec) = state.spec.clone().filter(|spec| spec.has_checkpoints()) else {
        return Err(CommandError::new(Kind::Wrong, format!("loop {} keeps no checkpoints", folder.id))
            .because("it was started with --checkpoint none")
            .hint("start with --checkpoint auto to be able to go back"));
    };
    Ok((folder.checkpoints(&spec), state))
}

/// The checkpoints of a loop, the oldest first.
pub(crate) fn listed(place: &CheckpointContext) -> Result<Vec<CheckpointRow>, CommandError> {
    checkpoint::listed(place).map_err(|error| {
        CommandError::new(Kind::Unable, "the checkpoints cannot be read").because(error.to_string()).hint("loop doctor")
    })
}

/// The checkpoint that a word means; refused where there is none.
pub(crate) fn find(folder: &RunFolder, word: &str) -> Result<(String, RunState), CommandError> {
    let (place, state) = checkpoints_of(folder)?;
    let listed = listed(&place)?;
    let names: Vec<String> = listed.into_iter().map(|listed| listed.name).collect();
    let not_kept = checkpoint::kept_names(&place).map(|kept| kept.not_kept).unwrap_or_default();
    let is_fresh = state.phase.is_fresh();
    let wrong = |why: String| {
        let mut shown = names.clone();
        // Nobody looks for these by their number: `undo` means the newest.
        let is_undo = |name: &String| name.starts_with("undo-");
        if shown.len() > NAMED_MAX && !shown.iter().all(is_undo) {
            shown.retain(|name| !is_undo(name));
        }
        let more = shown.len().saturating_sub(NAMED_MAX);
        // The first one is what people want most.
        let first = (more > 0).then(|| shown.first().cloned()).flatten();
        shown.drain(..more);
        shown.splice(0..0, first);
        let earlier = match names.len() - shown.len() {
            0 => String::new(),
            1 => " and 1 more".to_owned(),
            more => format!(" and {more} more"),
        };
        let hint = match (shown.is_empty(), is_fresh) {
            (true, true) => "none was taken yet".to_owned(),
            (true, false) => format!("none is kept any more; what it did: loop history {}", folder.id),
            (false, _) => {
                format!("there are: {}{earlier} (loop checkpoint list {})", shown.join(", "), folder.id)
            }
        };
        CommandError::new(Kind::Wrong, format!("no checkpoint {word:?} of loop {}", folder.id)).because(why).hint(hint)
    };
    let name = meant(word, &state).map_err(&wrong)?;
    if !names.contains(&name) {
        let why = match not_kept.get(&name) {
            Some(since) => format!("{name} is not kept any more since {}", local_time(*since)),
            None if is_fresh => "the first one is being taken".to_owned(),
            None => "it was never taken, or is not kept any more".to_owned(),
        };
        return Err(wrong(why));
    }
    Ok((name, state))
}

/// The loop of which a checkpoint was named by one word or two, and the word for the checkpoint.
pub(crate) fn find_loop<'a>(
    context: &Context,
    first: Option<&'a str>,
    second: Option<&'a str>,
    verb: &str,
) -> Result<(RunFolder, &'a str), CommandError> {
    match (first, second) {
        (id, Some(word)) => Ok((context.find_or_here(id, Wanted::Newest)?, word)),
        (Some(word), None) => {
            let is_checkpoint = |folder: &RunFolder| find(folder, word).map(|_| ());
            Ok((context.find_by_part(word, verb, is_checkpoint)?, word))
        }
        (None, None) => Err(CommandError::new(Kind::Wrong, "the checkpoint is missing")
            .because(format!("loop {verb} needs the name of a checkpoint"))
            .hint("those of the newest loop of this folder: loop checkpoint list")),
    }
}

/// What a whole loop changed, in brief, or why that is not known.
pub(crate) fn changes_of(folder: &RunFolder, state: &RunState) -> String {
    match total_changes(folder, state) {
        Some(changes) => brief(changes),
        None if state.checkpoints.newest().is_none() => "not measured (no checkpoint was taken)".to_owned(),
        None => "not measured (its checkpoints cannot be compared)".to_owned(),
    }
}

/// What a whole loop changed; none where that is not known.
pub(crate) fn total_changes(folder: &RunFolder, state: &RunState) -> Option<Changes> {
    let spec = state.spec.as_ref().filter(|spec| spec.has_checkpoints())?;
    let newest = state.checkpoints.newest()?;
    let keeper = RunCheckpoints::open(folder.checkpoints(spec), Arc::default()).ok()?;
    keeper.measure(Some("initial"), newest).ok()?.changes
}
