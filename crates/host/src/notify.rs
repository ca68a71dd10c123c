//! The notification at the end of a run, by the user's own command.
use std::path::PathBuf;
use std::sync::Arc;

use loop_core::run::{Answer, Ended, RunState};
use loop_core::view::qualification;

use crate::process::{Containment, Task, TaskEnd, TaskSpec};

/// Starts the notification. The command gets two arguments, a title and a text; values are never part of the command.
pub(crate) fn start(
    state: &RunState,
    result: &str,
    text: &str,
    output: PathBuf,
    containment: &mut Containment,
) -> Result<Task, Answer> {
    let failed = |what: String| Answer::Failed { what };
    let spec = state.spec.as_ref().ok_or_else(|| failed("the run has no name".to_owned()))?;
    let id = spec.id.as_str();
    let qualification = qualification(state).unwrap_or_default();
    let qualified = if qualification.is_empty() { String::new() } else { format!(" ({qualification})") };
    let outcome = state.over.as_ref().map_or("", |over| over.outcome.name());
    let argv = [
        "sh".to_owned(),
        "-c".to_owned(),
        format!("{} \"$@\"", state.settings.shown().values.output.notification_cmd),
        "loop".to_owned(),
        format!("loop {id}: {result}{qualified}"),
        // A text that begins with a dash would be an option to most commands.
        if text.starts_with('-') { format!(" {text}") } else { text.to_owned() },
    ];
    let env = [
        ("LOOP_ID", id),
        ("LOOP_RESULT", result),
        ("LOOP_OUTCOME", outcome),
        ("LOOP_QUALIFICATION", &qualification),
        ("LOOP_REASON", text),
    ];
    let env = env.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
    let spec = TaskSpec {
        lane: "notify",
        argv: &argv,
        clear: false,
        env,
        folder: PathBuf::from("/"),
        same: None,
        stdin: None,
        output,
        secrets: Arc::default(),
    };
    Task::start(spec, containment).map_err(|error| failed(error.to_string()))
}

/// The answer to the order. Nothing depends on it.
pub(crate) fn answer(end: &TaskEnd) -> Answer {
    let exit_code = match end.ended {
        Ended::Exit(code) => Some(code),
        Ended::Signal(_) | Ended::ByUs | Ended::NotStarted(_) => None,
    };
    Answer::Notified { exit_code }
}
