//! A worker: a project and the name of an agent in it. The breaker of its newest run holds for the next one.
use loop_core::run::{Event, Request, RunState};
use loop_core::settings::Values;
use loop_core::text;
use loop_core::view::{BreakerView, is_tripped};

use super::caller::{LaunchCaller, LaunchNote};
use super::{offline, person};
use crate::paths::Home;
use crate::refusal::LaunchRefusal;
use crate::run_folder::RunFolder;
use crate::{clock, index, journal};

/// How much of a name is compared: as much as a list keeps.
const NAME_LETTERS_MAX: usize = 200;

/// The newest run with these names. A name that is not asked for fits any.
///
/// # Errors
/// When the runs cannot be listed.
pub fn newest_run(
    home: &Home,
    project: Option<&str>,
    agent_name: Option<&str>,
) -> Result<Option<RunFolder>, LaunchRefusal> {
    let is = |asked: Option<&str>, name: &Option<String>| {
        asked.is_none_or(|asked| text::one_line(asked, NAME_LETTERS_MAX) == name.as_deref().unwrap_or_default())
    };
    let mut fitting = index::list(home)?.into_iter().filter(|listed| {
        listed.row.as_ref().is_ok_and(|row| is(project, &row.project) && is(agent_name, &row.agent_name))
    });
    Ok(fitting.next().map(|listed| listed.run))
}

/// Refuses a start where the newest run of the same worker has tripped its breaker, or closes it where that is asked
/// for. A worker without a name is a new one every time.
pub(super) fn check_breaker(
    home: &Home,
    settings: &Values,
    dry_run: bool,
    caller: &mut dyn LaunchCaller,
) -> Result<(), LaunchRefusal> {
    let Some(name) = settings.start.agent_name.as_deref().filter(|_| home.runs().is_dir()) else {
        return Ok(());
    };
    let project = settings.start.project.as_deref().unwrap_or_default();
    let Some(run) = newest_run(home, Some(project), Some(name))? else { return Ok(()) };
    let state = crate::journal::read(&run.path)?.fold();
    if !is_tripped(&state) {
        return Ok(());
    }
    if !settings.breaker.reset_circuit {
        return Err(tripped(&run, &state, "start"));
    }
    if dry_run {
        return Ok(());
    }
    close_breaker(home, &run, false, "loop start --reset-circuit")?;
    caller.note(LaunchNote::progress(format!("note: the breaker that loop {} had tripped is closed", run.id)));
    Ok(())
}

/// Closes the breaker of a run that has no driver.
///
/// # Errors
/// When another process drives it, or its journal cannot be written.
pub fn close_breaker(home: &Home, run: &RunFolder, session: bool, by: &str) -> Result<(), LaunchRefusal> {
    let state = journal::read(&run.path)?.fold();
    person::check_no_agent_elsewhere(home, &state, &format!("the breaker of loop {} is not closed", run.id))?;
    let event = Event::Requested { request: Request::Reset { session }, by: by.to_owned() };
    offline::record_request(home, run, by, event)
}

/// A tripped breaker stays so until a person closes it.
pub(super) fn tripped(run: &RunFolder, state: &RunState, verb: &str) -> LaunchRefusal {
    let breaker = BreakerView::of(state);
    let at = clock::local_text_of(&breaker.tripped_at.unwrap_or_default());
    let why = breaker.why.unwrap_or_default();
    let id = &run.id;
    LaunchRefusal::wrong(format!("the breaker has tripped: loop {id}, at {at}"))
        .because(format!("{why} ({})", breaker.reason.unwrap_or_default()))
        .hint(format!("when that is fixed: loop reset {id}, or loop {verb} --reset-circuit …"))
}
