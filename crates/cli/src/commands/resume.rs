//! `loop resume`: go on with a run that was stopped, crashed or ran out of room.

use clap::Args;
use loop_core::control::Ask;
use loop_core::policy::budget::money_exact;
use loop_core::run::{Change, Event, Order, Outcome, RunSettings, RunState};
use loop_core::settings::{
    BreakerReset, Key, Kind as Takes, Settings, UNLIMITED, duration_text, keys, micros, millis, parse_value,
};
use loop_core::time;
use loop_core::view::is_tripped;
use loop_host::paths::path_of;
use loop_host::run_folder::{RunFolder, RunsError, StartLock};
use loop_host::workspace::{WorkspaceError, claim};

use super::start::{check_stop_file, clear_stop_file, go, write_result};
use super::{ask, container_setup, setup, worker};
use crate::args::IdArg;
use crate::context::{Context, Done, read_error, runs_error};
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
    if folder.holder().is_some() {
        return ask_it(context, args, &folder);
    }
    let held = folder.hold().map_err(|error| runs_error(&error))?;
    let Some(spec) = held.state.spec.clone() else {
        return Err(CommandError::new(Kind::Wrong, "the loop never began").hint("loop list"));
    };
    if !held.state.resumable() {
        // Killed between the end and the result file: that much can still be done.
        let result = held.state.settings.shown().values.output.result.as_ref();
        if let Some(result) = result.filter(|result| !path_of(result).exists()) {
            let warning = write_result(&held.folder, &held.state);
            context
                .printer
                .progress(&warning.unwrap_or_else(|| format!("the result file {result} was missing and is written\n")));
            return Ok(held.state.standing().map_or(0, |standing| standing.exit_code));
        }
        let cancelled = held.state.over.as_ref().is_some_and(|over| over.outcome == Outcome::Cancelled);
        let (what, why) = if cancelled {
            ("was cancelled", "that is for good")
        } else {
            ("is completed", "its promise holds; there is nothing to go on with")
        };
        return Err(CommandError::new(Kind::Wrong, format!("loop {} {what}", spec.id))
            .because(why)
            .hint(format!("loop history {}, or start another one", spec.id)));
    }
    let mut changes = changes(&args.flags, &held.state)?;
    // Of this call alone, so it is not written down.
    let clear_stop = changes.iter().any(|change| change.key == keys::clear_stop().name && change.value == "true");
    changes.retain(|change| change.key != keys::clear_stop().name);
    let mut settings = held.state.settings.shown().clone();
    changes.iter().for_each(|change| settings.change(&change.key, &change.value));
    refuse_used_up(&settings, &changes, &held.state)?;
    once_only(&mut changes, &held.state);
    if settings.values.breaker.breaker_reset == BreakerReset::Manual && is_tripped(&held.state) && !resets(&changes) {
        return Err(worker::tripped(&held.folder, &held.state, "resume"));
    }
    check_stop_file(&settings.values.output, &path_of(&spec.workspace.path), clear_stop)?;
    let workspace = path_of(&spec.workspace.path);
    let changed = RunState { settings: RunSettings::new(&settings.resolved), ..held.state.clone() };
    let agent = changed.agent_in_use().filter(|_| workspace.is_dir());
    let inside = agent.map(|agent| container_setup::look(context, &settings.values.agent, &agent, &workspace));
    let start = StartLock::take(&context.home).map_err(|error| runs_error(&error))?;
    let claimed = claim(&context.home, &start, &spec.id, &spec.workspace);
    let claimed = claimed.map_err(|error| gone(&error).unwrap_or_else(|| setup::workspace_error(&error)))?;
    drop(start);
    if clear_stop {
        clear_stop_file(&settings.values.output, &path_of(&spec.workspace.path))?;
    }
    if let Some(inside) = inside.transpose()?.flatten() {
        container_setup::begin(&inside, &held.folder)?;
    }
    let opening = Event::Reopened { by: "loop resume".to_owned(), changes };
    go(context, held.with_claim(claimed), &workspace, opening, args.json)
}

/// A run that is at work is asked: settings first, then to go on.
fn ask_it(context: &Context, args: &ResumeArgs, folder: &RunFolder) -> Done {
    let reading = loop_host::journal::read(&folder.path).map_err(|error| read_error(&error))?;
    let state = reading.fold();
    let changes = changes(&args.flags, &state)?;
    let holds = state.main_order().is_some_and(|(_, open)| matches!(open.order, Order::Hold { .. }));
    if !holds && state.requests.pause.is_none() && changes.is_empty() {
        return Err(runs_error(&RunsError::Driven {
            id: folder.id.clone(),
            pid: folder.holder().map_or(0, |holder| holder.pid),
        }));
    }
    if !changes.is_empty() {
        ask::ask(folder, Ask::Set(changes), "loop resume")?;
    }
    let seq = ask::ask(folder, Ask::Resume, "loop resume")?;
    ask::told(context, folder, "goes on", seq)
}

/// Whether the breaker is to be closed.
fn resets(changes: &[Change]) -> bool {
    changes.iter().any(|change| change.key == keys::reset_circuit().name && change.value == "true")
}

/// `--reset-circuit` of an earlier resume was meant for that one alone.
fn once_only(changes: &mut Vec<Change>, state: &RunState) {
    if state.settings.shown().values.breaker.reset_circuit && !resets(changes) {
        changes.push(Change::new(keys::reset_circuit().name, "false".to_owned()));
    }
}

/// The folder of a run cannot be changed, so the usual hint would lead nowhere.
fn gone(error: &WorkspaceError) -> Option<CommandError> {
    matches!(error, WorkspaceError::Io { .. })
        .then(|| CommandError::of(Kind::Wrong, error).hint("put the folder back where it was, or start a new loop"))
}

/// A limit below what is used up already would only end the run again, with a sentence that is not true.
fn refuse_used_up(settings: &Settings, changes: &[Change], state: &RunState) -> Result<(), CommandError> {
    let changed = |key: &Key| changes.iter().any(|change| change.key == key.name);
    let wrong = |flag: &str, value: String, used: String| {
        CommandError::new(Kind::Wrong, format!("{flag} cannot be {value}"))
            .because(format!("{used} used up already"))
            .hint(format!("give a larger one, or add to it: {flag} +…"))
    };
    let done = state.iterations_done();
    if let Some(most) = settings.max_iterations.filter(|most| changed(keys::max_iterations()) && *most <= done) {
        let used = if done == 1 { "1 iteration is".to_owned() } else { format!("{done} iterations are") };
        return Err(wrong("--max-iterations", most.to_string(), used));
    }
    let spent = state.active_ms(state.now);
    if let Some(most) = settings.max_time_ms.filter(|most| changed(keys::max_time()) && *most <= spent) {
        return Err(wrong("--max-time", time::spaced(most), format!("{} are", time::spaced(spent))));
    }
    Ok(())
}

fn changes(flags: &ResumeFlags, state: &RunState) -> Result<Vec<Change>, CommandError> {
    let mut changes = Vec::new();
    for (key, typed) in flags.raw() {
        let text = match typed.strip_prefix('+') {
            Some(more) => added(key, more, state)?,
            None => typed.clone(),
        };
        let given = given(key, &text).map_err(|error| setup::settings_error(&error))?;
        if *key == keys::containment() {
            setup::check_mode(&given.value)?;
        }
        changes.push(Change::new(key.name, given.value));
    }
    Ok(changes)
}

/// What holds and so much more.
pub(super) fn added(key: &'static Key, more: &str, state: &RunState) -> Result<String, CommandError> {
    let held = state.settings.shown().resolved.text(key);
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
            let more = more.parse::<u32>().ok().filter(|more| *more > 0);
            let sum = more.and_then(|more| held.parse::<u32>().ok()?.checked_add(more));
            sum.map(|sum| sum.to_string()).ok_or_else(|| wrong("it is no whole number above zero"))
        }
        Takes::Duration | Takes::DurationOrUnlimited | Takes::DurationOrNone => {
            parse_value(Takes::Duration, more).map_err(|refusal| wrong(&refusal.why))?;
            let sum = millis(held).unwrap_or(0).saturating_add(millis(more).unwrap_or(0));
            Ok(duration_text(sum))
        }
        Takes::MoneyOrUnlimited => {
            parse_value(Takes::MoneyOrUnlimited, more).map_err(|refusal| wrong(&refusal.why))?;
            let sum = micros(held).unwrap_or(0).saturating_add(micros(more).unwrap_or(0));
            Ok(money_exact(sum))
        }
        Takes::SizeOrUnlimited
        | Takes::Gates
        | Takes::Prices
        | Takes::Switch
        | Takes::Choice(_)
        | Takes::Command
        | Takes::Word
        | Takes::Text
        | Takes::Path
        | Takes::Paths => Err(wrong("only numbers and durations can be added to")),
    }
}
