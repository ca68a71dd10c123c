//! What only a person may do is refused in another PID namespace than that of the loop: an agent can make one, and from
//! inside it a process does not see who started it. A person who resumes a loop in another namespace, such as a restarted
//! container, speaks from there from then on.
use loop_core::ids::RunId;
use loop_core::run::RunState;

use crate::paths::Home;
use crate::process::{is_elsewhere, is_inside_run, pid_namespace};
use crate::refusal::LaunchRefusal;
use crate::{journal, run_folder};

const WHY: &str =
    "it was started in another PID namespace than this process is in, so an agent may have started this one";

/// Refuses what only a person may do with a run, in another PID namespace than that in which a person opened it last.
///
/// # Errors
/// When this process is in another one.
pub(crate) fn check_same_pid_namespace(state: &RunState, what: &str) -> Result<(), LaunchRefusal> {
    let Some(spec) = state.spec.as_ref().filter(|spec| is_elsewhere(spec)) else { return Ok(()) };
    let id = &spec.id;
    Err(LaunchRefusal::wrong(format!("{what} from here")).because(WHY).hint(format!(
        "do it where the loop was started: in a terminal of your own, or in the same container; if that was restarted: \
         loop resume {id}, which judges the work again, and then this once more"
    )))
}

/// Refuses what only a person may do with a run that has ended, in another PID namespace, while an agent of some loop may
/// have started this process.
///
/// # Errors
/// When a loop is driven in another namespace now.
pub(crate) fn check_no_agent_elsewhere(home: &Home, state: &RunState, what: &str) -> Result<(), LaunchRefusal> {
    if !state.spec.as_ref().is_some_and(|spec| is_elsewhere(spec)) {
        return Ok(());
    }
    let Some(other) = driven_elsewhere(home) else { return Ok(()) };
    let why = format!("loop {other} works in another PID namespace: an agent of it may have started this process");
    Err(LaunchRefusal::wrong(format!("{what} from here"))
        .because(why)
        .hint(format!("do it in a terminal of your own, or when loop {other} has ended")))
}

/// The PID namespace from which a person speaks who opens `own`; none where an agent may have started this process.
pub(crate) fn namespace_of_person(home: &Home, own: &RunId) -> Option<u64> {
    let may_be_agent = is_inside_run() || runs_elsewhere(home).any(|id| id != *own);
    pid_namespace().filter(|_| !may_be_agent)
}

/// The loop that is driven now in another PID namespace than that of this process, if there is one.
pub(crate) fn driven_elsewhere(home: &Home) -> Option<String> {
    runs_elsewhere(home).next().map(|id| id.to_string())
}

fn runs_elsewhere(home: &Home) -> impl Iterator<Item = RunId> {
    let runs = run_folder::all(home).unwrap_or_default().into_iter().filter(|run| run.holder().is_some());
    let is_elsewhere = |run: &run_folder::RunFolder| {
        let state = journal::read(&run.path).ok().map(|reading| reading.fold());
        state.and_then(|state| state.spec).is_some_and(|spec| is_elsewhere(&spec))
    };
    runs.filter(is_elsewhere).map(|run| run.id)
}
