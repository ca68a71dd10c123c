//! A project's file may name what is run, but only its user lets it: asked once for every content.
use std::io::{IsTerminal, Write};
use std::path::Path;

use loop_core::settings::{Given, Project, keys};
use loop_core::text;
use loop_host::approvals;
use loop_host::settings_files::ProjectFile;

use super::setup::files_error;
use crate::context::{Context, home_error};
use crate::render::error::{CommandError, Kind};

/// How many of the wanted things are shown.
const SHOWN_MAX: usize = 20;

/// What the file of a workspace says, as far as it was approved; asks nobody.
pub(crate) fn as_approved(context: &Context, workspace: &Path) -> Result<Option<Project>, CommandError> {
    let Some(file) = ProjectFile::find(workspace).map_err(|error| files_error(&error))? else { return Ok(None) };
    let approved = approvals::is_approved(&context.home.state, workspace, &file.text);
    file.read(approved).map(Some).map_err(|error| files_error(&error))
}

/// What the file of a workspace says. What it wants to run must be approved: before, by `--approve`, or now.
pub(crate) fn asked(context: &Context, workspace: &Path, flags: &[Given]) -> Result<Option<Project>, CommandError> {
    let Some(file) = ProjectFile::find(workspace).map_err(|error| files_error(&error))? else { return Ok(None) };
    let read = |approved: bool| file.read(approved).map_err(|error| files_error(&error));
    let known = approvals::is_approved(&context.home.state, workspace, &file.text);
    let project = read(known)?;
    if known || project.wants.is_empty() {
        return Ok(Some(project));
    }
    let by_flag = flags.iter().any(|given| given.key == keys::approve() && given.value == "true");
    if !by_flag {
        ask(context, &file, &project)?;
    }
    context.home.make().map_err(|error| home_error(&error))?;
    approvals::approve(&context.home.state, workspace, &file.text)
        .map_err(|error| CommandError::new(Kind::Unable, "the approval cannot be stored").because(error.to_string()))?;
    read(true).map(Some)
}

fn ask(context: &Context, file: &ProjectFile, project: &Project) -> Result<(), CommandError> {
    let mut lines: Vec<String> = project.wants.iter().take(SHOWN_MAX).map(|want| text::one_line(want, 200)).collect();
    if project.wants.len() > SHOWN_MAX {
        lines.push(format!("and {} more", project.wants.len() - SHOWN_MAX));
    }
    let lines = lines.join("\n  ");
    let terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    if terminal {
        let question = "This project's file wants to run or allow, and nobody has approved it as it is now";
        context.printer.error(&format!("{question}:\n  {lines}\nApprove it? [y/N] "));
        std::io::stderr().flush().ok();
        let mut answer = String::new();
        let read = std::io::stdin().read_line(&mut answer);
        if read.is_ok() && ["y", "yes"].contains(&answer.trim().to_lowercase().as_str()) {
            return Ok(());
        }
    }
    Err(CommandError::new(Kind::Wrong, format!("{} is not approved as it is now", file.name))
        .because(format!("it says what is run, and a repository grants itself nothing:\n  {lines}"))
        .hint("read it, then say --approve; it is asked again when the file changes"))
}
