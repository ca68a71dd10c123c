//! `loop resume`: go on with a run that was stopped, crashed or ran out of room.
use clap::Args;
use loop_core::run::{Change, Event, RunState};
use loop_core::settings::{Key, Kind as Takes, UNLIMITED, parse_value};
use loop_host::paths::path_of;
use loop_host::runs::StartLock;
use loop_host::workspace::claim;

use super::setup;
use super::start::go;
use crate::args::IdArg;
use crate::context::{Context, Done, runs_error};
use crate::flags::{ResumeFlags, given};
use crate::render::error::{CommandError, Kind};

/// Go on with a loop
#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    #[command(flatten)]
    id: IdArg,
    /// Print events as lines of JSON instead of a summary
    #[arg(long)]
    json: bool,
    /// Settings that are to hold from now on; a number or duration with + adds to what holds
    #[command(flatten)]
    flags: ResumeFlags,
}

pub(crate) fn run(context: &Context, args: &ResumeArgs) -> Done {
    let folder = context.find(&args.id.id)?;
    let held = folder.hold().map_err(|error| runs_error(&error))?;
    let Some(spec) = held.state.spec.clone() else {
        return Err(CommandError::new(Kind::Wrong, "the loop never began").hint("loop list"));
    };
    if held.state.standing().is_some_and(|standing| !standing.resumable) {
        return Err(CommandError::new(Kind::Wrong, format!("loop {} is completed", spec.id))
            .because("its promise holds; there is nothing to go on with")
            .hint(format!("loop history {}, or start another one", spec.id)));
    }
    let changes = changes(&args.flags, &held.state)?;
    let start = StartLock::take(&context.home).map_err(|error| runs_error(&error))?;
    let claimed = claim(&context.home, &start, &spec.id, &spec.workspace);
    let claimed = claimed.map_err(|error| setup::workspace_error(&error))?;
    drop(start);
    let opening = Event::Reopened { by: "loop resume".to_owned(), changes };
    go(context, held.with_claim(claimed), &path_of(&spec.workspace.path), opening, args.json)
}

fn changes(flags: &ResumeFlags, state: &RunState) -> Result<Vec<Change>, CommandError> {
    let mut changes = Vec::new();
    for (key, typed) in flags.raw() {
        let text = match typed.strip_prefix('+') {
            Some(more) => added(key, more, state)?,
            None => typed.clone(),
        };
        let given = given(key, &text).map_err(|error| setup::settings_error(&error))?;
        setup::refuse_unbuilt_value(key, &given.value)?;
        changes.push(Change { key: key.name.to_owned(), value: given.value });
    }
    Ok(changes)
}

/// What holds and so much more.
fn added(key: &'static Key, more: &str, state: &RunState) -> Result<String, CommandError> {
    let held = state.settings.resolved.get(key.name);
    if held == UNLIMITED {
        return Ok(UNLIMITED.to_owned());
    }
    let wrong = |why: &str| {
        CommandError::new(Kind::Wrong, format!("--{} cannot be +{more}", key.flag.long))
            .because(why.to_owned())
            .hint(format!("it is {held} now; give a whole value, or an addition such as +5 or +1h"))
    };
    match key.kind {
        Takes::CountOrUnlimited(_) => {
            let sum = more.parse::<u32>().ok().and_then(|more| held.parse::<u32>().ok()?.checked_add(more));
            sum.map(|sum| sum.to_string()).ok_or_else(|| wrong("it is no whole number"))
        }
        Takes::Duration | Takes::DurationOrUnlimited => {
            parse_value(Takes::Duration, more).map_err(|(why, _)| wrong(&why))?;
            Ok(format!("{held} {more}"))
        }
        Takes::Switch | Takes::Choice(_) | Takes::Command | Takes::Path | Takes::Paths => {
            Err(wrong("only numbers and durations can be added to"))
        }
    }
}
