//! `loop history --diff`: which two checkpoints are meant, and what differs between them.
use std::io::{self, Write};

use loop_core::run::iteration_of;
use loop_host::checkpoint::Comparison;
use loop_host::checkpoint::diff::{Bounds, PatchPiece};
use loop_host::run_folder::RunFolder;

use super::{checkpoint_lookup, history};
use crate::context::{Context, Done};
use crate::render::diff as show;
use crate::render::error::{CommandError, Kind};
use crate::render::pager;
use crate::render::printer::{stdout_is_terminal, width};

/// The state before iteration 1.
const INITIAL: &str = "initial";

/// How a difference is shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manner {
    pub(crate) json: bool,
    pub(crate) stat: bool,
    pub(crate) pager: bool,
}

/// Shows what differs.
pub(crate) fn run(context: &Context, folder: &RunFolder, words: &str, manner: Manner) -> Done {
    let (comparison, from, to) = points_of(folder, words)?;
    show_between(context, &comparison, &Points { id: folder.id.as_str(), from: &from, to: &to }, manner)
}

/// Two checkpoints by their names, and whose they are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Points<'a> {
    pub(crate) id: &'a str,
    pub(crate) from: &'a str,
    pub(crate) to: &'a str,
}

/// Shows what differs between two checkpoints.
pub(crate) fn show_between(context: &Context, comparison: &Comparison, points: &Points<'_>, manner: Manner) -> Done {
    let Points { id, from, to } = *points;
    let bounds = Bounds::default();
    let difference = comparison.changes(&bounds).map_err(|error| unreadable(&error))?;
    let by_agent = is_by_agent(from, to);
    if manner.json {
        context.printer.json(&show::json(&difference, id, from, to, by_agent));
        return Ok(0);
    }
    if difference.is_empty() {
        context.printer.progress(&format!("nothing differs between {from} and {to}\n"));
        return Ok(0);
    }
    let (printer, terminal) = (context.printer, stdout_is_terminal());
    let shown = pager::show(&printer, manner.pager, &mut |sink| {
        let mut line = |piece, bytes: &[u8]| show::line(sink, &printer, terminal, piece, bytes);
        if !by_agent {
            let words = format!("# not by the agent: changed between {from} and {to}\n");
            line(PatchPiece::Note, words.as_bytes())?;
        }
        if manner.stat {
            let paint = |paint, text: &str| printer.paint(paint, text);
            return sink.write_all(show::stat(&difference, &paint, width()).as_bytes());
        }
        comparison.patch(&difference, &bounds, &mut line)
    });
    shown.map_err(|error| unreadable(&error)).map(|()| 0)
}

/// What a whole loop changed, as a patch without colours; none where it is longer than `most` bytes.
pub(crate) fn whole_patch(folder: &RunFolder, most: usize) -> Result<Option<String>, CommandError> {
    let (place, state) = checkpoint_lookup::checkpoints_of(folder)?;
    let newest = state.checkpoints.newest().unwrap_or(INITIAL);
    let comparison = Comparison::open(&place, INITIAL, newest).map_err(|error| unreadable(&error))?;
    patch_of(&comparison, most)
}

/// What differs as a patch without colours; none where it is longer than `most` bytes.
pub(crate) fn patch_of(comparison: &Comparison, most: usize) -> Result<Option<String>, CommandError> {
    let bounds = Bounds::default();
    let difference = comparison.changes(&bounds).map_err(|error| unreadable(&error))?;
    let mut patch = String::new();
    let mut too_long = false;
    let written = comparison.patch(&difference, &bounds, &mut |_, bytes: &[u8]| {
        patch.push_str(&show::visible(bytes));
        too_long = patch.len() > most;
        if too_long { Err(io::Error::other("too long")) } else { Ok(()) }
    });
    match written {
        _ if too_long => Ok(None),
        Ok(()) => Ok(Some(patch)),
        Err(error) => Err(unreadable(&error)),
    }
}

/// Whether an agent worked between two checkpoints, as far as their names tell.
fn is_by_agent(from: &str, to: &str) -> bool {
    to.strip_suffix('+') != Some(from)
}

/// The two checkpoints that `N`, `N+` or `A..B` mean.
fn points_of(folder: &RunFolder, words: &str) -> Result<(Comparison, String, String), CommandError> {
    let (place, _) = checkpoint_lookup::checkpoints_of(folder)?;
    let (from, to) = meant(folder, words)
        .map_err(|error| error.hint(format!("loop diff {id} 1, or loop diff {id} {INITIAL}..2", id = folder.id)))?;
    // What was asked for first: what it is compared with may follow from it.
    let (to, _) = checkpoint_lookup::find(folder, &to)?;
    let (from, _) = checkpoint_lookup::find(folder, &from)?;
    let comparison = Comparison::open(&place, &from, &to).map_err(|error| unreadable(&error))?;
    Ok((comparison, from, to))
}

/// The words for the two checkpoints. No words mean the whole change.
fn meant(folder: &RunFolder, words: &str) -> Result<(String, String), CommandError> {
    let wrong = |why: &str| CommandError::new(Kind::Wrong, format!("a difference cannot be {words:?}")).because(why);
    if let Some((from, to)) = words.split_once("..") {
        let both = !from.is_empty() && !to.is_empty();
        return both.then(|| (from.to_owned(), to.to_owned())).ok_or_else(|| wrong("one side of the dots is missing"));
    }
    if let Some(before) = words.strip_suffix('+').filter(|before| !before.is_empty()) {
        return Ok((before.to_owned(), words.to_owned()));
    }
    if words.is_empty() {
        return whole(folder);
    }
    let number = words.parse::<u32>().ok().filter(|number| *number > 0);
    let number = number.ok_or_else(|| wrong("alone it is the number of an iteration; two checkpoints are A..B"))?;
    let (_, history) = history::read(folder)?;
    let row = history.iterations.iter().find(|row| row.iteration == number);
    // After a rollback the one before is not the one with the number before.
    let before = row.and_then(|row| row.before.clone());
    Ok((before.unwrap_or_else(|| INITIAL.to_owned()), number.to_string()))
}

/// The first state of a loop and the last: where it was rolled back to its beginning, what its last iteration left.
fn whole(folder: &RunFolder) -> Result<(String, String), CommandError> {
    let (place, state) = checkpoint_lookup::checkpoints_of(folder)?;
    let newest = state.checkpoints.newest().filter(|newest| *newest != INITIAL).map(str::to_owned);
    let last = || {
        let names: Vec<String> = checkpoint_lookup::listed(&place).ok()?.into_iter().map(|row| row.name).collect();
        names.into_iter().filter(|name| iteration_of(name).is_some()).max_by_key(|name| iteration_of(name))
    };
    Ok((INITIAL.to_owned(), newest.or_else(last).unwrap_or_else(|| INITIAL.to_owned())))
}

pub(crate) fn unreadable(error: &io::Error) -> CommandError {
    CommandError::new(Kind::Unable, "the checkpoints cannot be read")
        .because(error.to_string())
        .hint("`loop doctor` looks at the state folder")
}
