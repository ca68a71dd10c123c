//! A project's settings file may say what is run, but only the user can allow that: asked once for each content. The
//! answer is stored by `create`, when the start is possible; never in a dry run, never from inside a loop.
use std::path::{Path, PathBuf};

use loop_core::settings::{Given, Project, keys, lines_of_value};
use loop_core::template::Template;
use loop_core::text;

use super::caller::{LaunchCaller, LaunchNote, LaunchQuestion, PersonAnswer};
use super::person;
use crate::approvals;
use crate::paths::Home;
use crate::process;
use crate::refusal::LaunchRefusal;
use crate::settings_files::ProjectFile;
use crate::templates::KnownTemplate;

/// A yes of the user that is not stored yet.
#[derive(Debug)]
pub struct GivenApproval {
    /// The workspace, or the file of a template.
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
    let wanted = Wanted { file: file.name, wants: &project.wants };
    approve(home, &wanted, flags, caller)?;
    let approved = file.read(true)?;
    let given = GivenApproval { workspace: workspace.to_owned(), text: file.text };
    Ok(ApprovedProject { project: Some(approved), given: Some(given) })
}

/// A template that comes with a repository, if the user approves it as it is: before, by `--approve`, or now.
pub(super) fn template(
    home: &Home,
    known: &KnownTemplate,
    flags: &[Given],
    caller: &mut dyn LaunchCaller,
) -> Result<Option<GivenApproval>, LaunchRefusal> {
    let Some(file) = known.file.as_ref().filter(|_| !known.is_approved(home)) else { return Ok(None) };
    let (place, wants) = (known.place(), lines_of_template(&known.read()?));
    approve(home, &Wanted { file: &place, wants: &wants }, flags, caller)?;
    Ok(Some(GivenApproval { workspace: file.clone(), text: known.text.clone() }))
}

/// All that a template says, in lines for the person who approves it.
fn lines_of_template(template: &Template) -> Vec<String> {
    let goal = template.goal.lines().map(|line| format!("goal: {}", text::escaped(line)));
    let given = template.given.iter().flat_map(|given| lines_of_value(&given.origin.place, given.key, &given.value));
    let wanted = template
        .wanted
        .iter()
        .map(|wanted| format!("{}: {} = what the project has as {}", wanted.place, wanted.name, wanted.find.word()));
    given.chain(wanted).chain(goal).collect()
}

/// What a file of a repository wants.
struct Wanted<'a> {
    file: &'a str,
    wants: &'a [String],
}

/// Only a person outside of any loop can allow it.
fn approve(
    home: &Home,
    wanted: &Wanted<'_>,
    flags: &[Given],
    caller: &mut dyn LaunchCaller,
) -> Result<(), LaunchRefusal> {
    if process::is_inside_run() {
        return Err(not_approved(wanted, "and a process inside a loop may not approve it")
            .hint("start it from a shell of your own, outside of the loop"));
    }
    if let Some(id) = person::driven_elsewhere(home) {
        let why = format!("and loop {id} works in another PID namespace: an agent of it may have started this process");
        return Err(not_approved(wanted, &why).hint("start it in a terminal of your own, or when that has ended"));
    }
    let by_flag = flags.iter().any(|given| given.key == keys::approve() && given.value == "true");
    if by_flag {
        let wants = wanted.wants.join("\n  ");
        let text = format!("approved by --approve, for {} as it is now:\n  {wants}", wanted.file);
        caller.note(LaunchNote::important(text));
        return Ok(());
    }
    let question = LaunchQuestion::ApproveProjectFile { file: wanted.file.to_owned(), wants: wanted.wants.to_vec() };
    if caller.answer(&question) == PersonAnswer::Yes {
        return Ok(());
    }
    Err(not_approved(wanted, "and a repository may not allow itself anything")
        .hint("read it, then say --approve; it is asked again when the file changes"))
}

/// The refusal, with everything that the file wants.
fn not_approved(wanted: &Wanted<'_>, why: &str) -> LaunchRefusal {
    let lines = wanted.wants.join("\n  ");
    LaunchRefusal::wrong(format!("{} is not approved as it is now", wanted.file))
        .because(format!("it says what is run, {why}:\n  {lines}"))
}

/// Approves the settings file of a workspace that a person has just written by a command of theirs.
///
/// # Errors
/// When an agent may have given the command, or the approval cannot be stored.
pub fn approve_written(home: &Home, workspace: &Path, text: &str) -> Result<(), LaunchRefusal> {
    check_person(home, "a settings file cannot be approved")?;
    home.make()?;
    GivenApproval { workspace: workspace.to_owned(), text: text.to_owned() }.store(home)
}

/// Refuses what only a person may do, where an agent may have given the command.
///
/// # Errors
/// Inside a loop, or while one is driven in another PID namespace.
pub fn check_person(home: &Home, what: &str) -> Result<(), LaunchRefusal> {
    if process::is_inside_run() {
        return Err(LaunchRefusal::wrong(format!("{what} from here"))
            .because("this process is inside a loop, and only a person may do that")
            .hint("do it in a shell of your own, outside of the loop"));
    }
    if let Some(id) = person::driven_elsewhere(home) {
        let why = format!("loop {id} works in another PID namespace: an agent of it may have started this process");
        return Err(LaunchRefusal::wrong(format!("{what} from here"))
            .because(why)
            .hint("do it in a terminal of your own, or when that has ended"));
    }
    Ok(())
}
