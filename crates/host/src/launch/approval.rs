//! A project's settings file may say what is run, but only the user can allow that: asked once for each content.
use std::path::Path;

use loop_core::settings::{Given, Project, keys};
use loop_core::text;

use super::caller::{LaunchCaller, LaunchQuestion, PersonAnswer};
use crate::approvals;
use crate::paths::Home;
use crate::refusal::LaunchRefusal;
use crate::settings_files::ProjectFile;

/// How many of the wanted things are shown.
const SHOWN_MAX: usize = 20;

/// What the file of a workspace says, as far as it was approved before. It asks no question.
///
/// # Errors
/// When the file cannot be read, or says something wrong.
pub fn approved_project(home: &Home, workspace: &Path) -> Result<Option<Project>, LaunchRefusal> {
    let Some(file) = ProjectFile::find(workspace)? else { return Ok(None) };
    let approved = approvals::is_approved(&home.state, workspace, &file.text);
    Ok(Some(file.read(approved)?))
}

/// What the file of a workspace says. What it wants to run must be approved: before, by `--approve`, or now.
pub(super) fn project(
    home: &Home,
    workspace: &Path,
    flags: &[Given],
    caller: &mut dyn LaunchCaller,
) -> Result<Option<Project>, LaunchRefusal> {
    let Some(file) = ProjectFile::find(workspace)? else { return Ok(None) };
    let known = approvals::is_approved(&home.state, workspace, &file.text);
    let project = file.read(known)?;
    if known || project.wants.is_empty() {
        return Ok(Some(project));
    }
    let by_flag = flags.iter().any(|given| given.key == keys::approve() && given.value == "true");
    if !by_flag {
        ask(&file, &project, caller)?;
    }
    home.make()?;
    approvals::approve(&home.state, workspace, &file.text)
        .map_err(|error| LaunchRefusal::unable("the approval cannot be stored").because(error.to_string()))?;
    Ok(Some(file.read(true)?))
}

fn ask(file: &ProjectFile, project: &Project, caller: &mut dyn LaunchCaller) -> Result<(), LaunchRefusal> {
    let mut wants: Vec<String> = project.wants.iter().take(SHOWN_MAX).map(|want| text::one_line(want, 200)).collect();
    if project.wants.len() > SHOWN_MAX {
        wants.push(format!("and {} more", project.wants.len() - SHOWN_MAX));
    }
    let lines = wants.join("\n  ");
    let question = LaunchQuestion::ApproveProjectFile { file: file.name.to_owned(), wants };
    if caller.answer(&question) == PersonAnswer::Yes {
        return Ok(());
    }
    Err(LaunchRefusal::wrong(format!("{} is not approved as it is now", file.name))
        .because(format!("it says what is run, and a repository may not allow itself anything:\n  {lines}"))
        .hint("read it, then say --approve; it is asked again when the file changes"))
}
