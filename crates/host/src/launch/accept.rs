//! `loop accept`: a person accepts a pass that something speaks against.
use loop_core::run::{Event, Outcome, Request};

use super::caller::LaunchNote;
use super::offline;
use super::person;
use super::result_file::ResultFile;
use crate::paths::{Home, path_of};
use crate::refusal::LaunchRefusal;
use crate::run_folder::RunFolder;
use crate::workspace::WorkspaceIdentity;

/// Accepts the pass of a run that something speaks against. Returns a warning where its result file cannot be written.
///
/// # Errors
/// When the run is not at such an end, another process drives it, or its journal cannot be written.
pub fn accept(home: &Home, run: &RunFolder, because: Option<String>) -> Result<Option<LaunchNote>, LaunchRefusal> {
    let id = &run.id;
    if crate::process::is_inside_run() {
        return Err(LaunchRefusal::wrong(format!("loop {id} cannot be accepted from inside a loop"))
            .because("an agent must not accept its own work")
            .hint("accept it in a terminal of your own"));
    }
    let state = crate::journal::read(&run.path)?.fold();
    person::check_same_pid_namespace(&state, &format!("loop {id} cannot be accepted"))?;
    match state.over.as_ref().map(|over| over.outcome) {
        Some(Outcome::PassedBut) => {}
        Some(Outcome::Verified) => {
            return Err(LaunchRefusal::wrong(format!("loop {id} is verified: there is nothing to accept"))
                .hint(format!("loop verify {id}")));
        }
        Some(Outcome::Accepted) => {
            return Err(
                LaunchRefusal::wrong(format!("loop {id} was accepted already")).hint(format!("loop history {id}"))
            );
        }
        Some(_) | None => {
            return Err(LaunchRefusal::wrong(format!("loop {id} cannot be accepted"))
                .because("only a loop that ended as passed, but not verified can be accepted")
                .hint(format!("loop status {id}")));
        }
    }
    let by = "loop accept";
    let event = Event::Requested { request: Request::Accept { because }, by: by.to_owned() };
    offline::record_request(home, run, by, event)?;
    // The file that a script reads says the same as every other face.
    let reading = crate::journal::read(&run.path)?;
    let entries = reading.entries.clone();
    let state = reading.fold();
    let workspace = state.spec.as_ref().map(|spec| path_of(&spec.workspace.path)).unwrap_or_default();
    Ok(ResultFile::new(&state, &entries, WorkspaceIdentity::of(&workspace, None)).write(&state))
}
