//! A project's settings file may say what is run, but only the user can allow that: asked once for each content. The
//! answer is stored by `create`, when the start is possible; never in a dry run, never from inside a loop.
use std::path::{Path, PathBuf};

use loop_core::settings::{Given, Project, keys};

use super::caller::{LaunchCaller, LaunchNote, LaunchQuestion, PersonAnswer};
use super::person;
use crate::approvals;
use crate::paths::Home;
use crate::process;
use crate::refusal::LaunchRefusal;
use crate::settings_files::ProjectFile;

/// A yes of the user that is not stored yet.
#[derive(Debug)]
pub struct GivenApproval {
    workspace: PathBuf,
    text: String,
}

impl GivenApproval {
    /// Its line in the file of approvals.
    pub(super) fn name(&self) -> String {
        approvals::name_of(&self.workspace, &self.text)
    }

    /// Stores it, for this folder and this content.
    pub(super) fn store(&self, home: &Home) -> Result<(), LaunchRefusal> {
        approvals::approve(&home.state, &self.workspace, &self.text)
            .map_err(|error| LaunchRefusal::unable("the approval cannot be stored").because(error.to_string()))
    }
}

/// What the file of a workspace says, as far as it was approved before. It asks no question.
///
/// # Errors
/// When the file cannot be read, or says something wrong.
pub fn approved_project(home: &Home, workspace: &Path) -> Result<Option<Project>, LaunchRefusal> {
    let Some(file) = ProjectFile::find(workspace)? else { return Ok(None) };
    let approved = approvals::is_approved(&home.state, workspace, &file.text);
    Ok(Some(file.read(approved)?))
}

/// The file of a workspace, and the approval that was given for it now.
#[derive(Debug, Default)]
pub(super) struct ApprovedProject {
    pub(super) project: Option<Project>,
    pub(super) given: Option<GivenApproval>,
}

/// What the file of a workspace says. What it wants to run must be approved: before, by `--approve`, or now.
pub(super) fn project(
    home: &Home,
    workspace: &Path,
    flags: &[Given],
    caller: &mut dyn LaunchCaller,
) -> Result<ApprovedProject, LaunchRefusal> {
    let Some(file) = ProjectFile::find(workspace)? else { return Ok(ApprovedProject::default()) };
    let known = approvals::is_approved(&home.state, workspace, &file.text);
    let project = file.read(known)?;
    if known || project.wants.is_empty() {
        return Ok(ApprovedProject { project: Some(project), given: None });
    }
    if process::is_inside_run() {
        return Err(not_approved(&file, &project, "and a process inside a loop may not approve it")
            .hint("start it from a shell of your own, outside of the loop"));
    }
    if let Some(id) = person::driven_elsewhere(home) {
        let why = format!("and loop {id} works in another PID namespace: an agent of it may have started this process");
        return Err(
            not_approved(&file, &project, &why).hint("start it in a terminal of your own, or when that has ended")
        );
    }
    let by_flag = flags.iter().any(|given| given.key == keys::approve() && given.value == "true");
    if by_flag {
        let wants = project.wants.join("\n  ");
        caller
            .note(LaunchNote::important(format!("approved by --approve, for {} as it is now:\n  {wants}", file.name)));
    } else {
        ask(&file, &project, caller)?;
    }
    let approved = file.read(true)?;
    let given = GivenApproval { workspace: workspace.to_owned(), text: file.text };
    Ok(ApprovedProject { project: Some(approved), given: Some(given) })
}

fn ask(file: &ProjectFile, project: &Project, caller: &mut dyn LaunchCaller) -> Result<(), LaunchRefusal> {
    let question = LaunchQuestion::ApproveProjectFile { file: file.name.to_owned(), wants: project.wants.clone() };
    if caller.answer(&question) == PersonAnswer::Yes {
        return Ok(());
    }
    Err(not_approved(file, project, "and a repository may not allow itself anything")
        .hint("read it, then say --approve; it is asked again when the file changes"))
}

/// The refusal, with everything that the file wants.
fn not_approved(file: &ProjectFile, project: &Project, why: &str) -> LaunchRefusal {
    let lines = project.wants.join("\n  ");
    LaunchRefusal::wrong(format!("{} is not approved as it is now", file.name))
        .because(format!("it says what is run, {why}:\n  {lines}"))
}
