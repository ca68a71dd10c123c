//! What only a person may do is refused in another PID namespace than that of the loop: an agent can make one, and from
//! inside it a process does not see who started it.
use loop_core::run::RunState;

use crate::paths::Home;
use crate::process::is_elsewhere;
use crate::refusal::LaunchRefusal;
use crate::{journal, run_folder};

const WHY: &str =
    "it was started in another PID namespace than this process is in, so an agent may have started this one";

/// Refuses what only a person may do with a run, in another PID namespace than that in which it was started.
///
/// # Errors
/// When this process is in another one.
pub(crate) fn check_place(state: &RunState, what: &str) -> Result<(), LaunchRefusal> {
    let Some(spec) = state.spec.as_ref().filter(|spec| is_elsewhere(spec)) else { return Ok(()) };
    let id = &spec.id;
    Err(LaunchRefusal::wrong(format!("{what} from here")).because(WHY).hint(format!(
        "do it where the loop was started: in a terminal of your own, or in the same container; if that was restarted, let \
         the work be judged again: loop resume {id}"
    )))
}

/// The loop that is driven now in another PID namespace than that of this process, if there is one.
pub(crate) fn driven_elsewhere(home: &Home) -> Option<String> {
    let runs = run_folder::all(home).unwrap_or_default().into_iter().filter(|run| run.holder().is_some());
    let is_elsewhere = |run: &run_folder::RunFolder| {
        let state = journal::read(&run.path).ok().map(|reading| reading.fold());
        state.and_then(|state| state.spec).is_some_and(|spec| is_elsewhere(&spec))
    };
    runs.into_iter().find(is_elsewhere).map(|run| run.id.to_string())
}
