//! The task of a run and the files that go into its prompts.
use std::path::PathBuf;

use loop_core::prompt::TASK_BYTES_MAX;
use loop_core::template::Template;
use serde::{Deserialize, Serialize};

use super::caller::LaunchCaller;
use crate::paths::{path_of, read_bounded, text_of};
use crate::refusal::LaunchRefusal;

/// How much is read of a text: one byte more than allowed is enough to refuse it.
const TEXT_BYTES_MAX: u64 = TASK_BYTES_MAX as u64 + 1;
/// Each one is named in the first fact, which has a limit.
const INJECT_FILES_MAX: usize = 32;

/// Where the task comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskSource {
    /// These bytes.
    Text(Vec<u8>),
    /// This file.
    File(PathBuf),
    /// The caller has it, such as from stdin. It is asked only when the settings are right.
    Caller,
    /// Nowhere, which is refused.
    Missing,
}

/// The task as text.
pub(super) fn read(
    source: &TaskSource,
    template: Option<&Template>,
    caller: &mut dyn LaunchCaller,
) -> Result<String, LaunchRefusal> {
    match template {
        // Its goal says everything, and a prompt only adds to it.
        Some(template) if *source == TaskSource::Missing && template.has_whole_task() => Ok(template.task(None)),
        Some(template) => prompt(source, caller).map(|prompt| template.task(Some(&prompt))),
        None => prompt(source, caller),
    }
}

/// The prompt as text.
///
/// # Errors
/// When there is none, or it cannot be read.
pub fn prompt(source: &TaskSource, caller: &mut dyn LaunchCaller) -> Result<String, LaunchRefusal> {
    let bytes = match source {
        TaskSource::Caller => caller
            .task(TEXT_BYTES_MAX)
            .map_err(|error| LaunchRefusal::wrong("cannot read the prompt from stdin").because(error.to_string()))?,
        TaskSource::Text(bytes) => bytes.clone(),
        TaskSource::File(path) => read_bounded(path, TEXT_BYTES_MAX).map_err(|error| {
            LaunchRefusal::wrong(format!("cannot read the prompt file {}", text_of(path)))
                .because(error.to_string())
                .hint("name a readable file, or give the prompt itself")
        })?,
        TaskSource::Missing => {
            return Err(LaunchRefusal::wrong("the prompt is missing")
                .because("the agent needs a task")
                .hint("loop start \"fix the failing tests\" …, or --prompt-file FILE, or - for stdin"));
        }
    };
    let task = String::from_utf8(bytes).map_err(|_| {
        LaunchRefusal::wrong("the prompt is not valid UTF-8").because("agents take text").hint("convert it to UTF-8")
    })?;
    if task.trim().is_empty() {
        return Err(LaunchRefusal::wrong("the prompt is empty")
            .because("the agent needs a task")
            .hint("loop start \"fix the failing tests\" …"));
    }
    Ok(task)
}

/// The texts of the injected files. Together with the task they must not be too long.
pub(super) fn injected(paths: &[String], task: &str) -> Result<Vec<String>, LaunchRefusal> {
    if paths.len() > INJECT_FILES_MAX {
        return Err(LaunchRefusal::wrong("too many injected files")
            .because(format!("there may be {INJECT_FILES_MAX}"))
            .hint("join them into one"));
    }
    let read = |path: &String| {
        let path = path_of(path);
        let text = read_bounded(&path, TEXT_BYTES_MAX)
            .and_then(|bytes| String::from_utf8(bytes).map_err(std::io::Error::other));
        text.map_err(|error| {
            LaunchRefusal::wrong(format!("cannot read the injected file {}", text_of(&path)))
                .because(error.to_string())
                .hint("name a readable text file with --inject")
        })
    };
    let texts = paths.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    if task.len() + texts.iter().map(String::len).sum::<usize>() > TASK_BYTES_MAX {
        return Err(LaunchRefusal::wrong("the prompt is too long")
            .because(format!("prompt and injected files together are at most {TASK_BYTES_MAX} bytes"))
            .hint("put the material into files of the workspace and name them in the prompt"));
    }
    Ok(texts)
}
