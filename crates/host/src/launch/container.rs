//! The container that an agent works in: checked before anything is made, begun before the first order, removed at the end.
use std::path::{Path, PathBuf};

use loop_core::agent::Agent;
use loop_core::run::RunState;
use loop_core::settings::AgentSettings;

use super::caller::{LaunchCaller, LaunchNote};
use crate::container::{self, CheckedContainer, ContainerRecord, ContainerRefusal, ContainerRequest};
use crate::refusal::LaunchRefusal;
use crate::run_folder::{HeldRun, RunFolder};

/// A container that an agent can work in.
#[derive(Debug)]
pub struct LaunchContainer {
    socket: PathBuf,
    workspace: PathBuf,
    kind: ContainerKind,
    /// The program that must be there; none for a shell command.
    program: Option<String>,
}

#[derive(Debug)]
enum ContainerKind {
    /// One that runs already.
    Running { name: String, found: CheckedContainer },
    /// One of the run's own.
    Own { image: String, network: bool },
}

impl LaunchContainer {
    /// Where the workspace is inside.
    #[must_use]
    pub fn workdir(&self) -> &Path {
        match &self.kind {
            ContainerKind::Running { found, .. } => Path::new(&found.workdir),
            ContainerKind::Own { .. } => &self.workspace,
        }
    }
}

/// Finds the container that is asked for, or the engine that is to make one; none if the agent works on this machine.
pub(super) fn check(
    settings: &AgentSettings,
    agent: &Agent,
    workspace: &Path,
    caller: &mut dyn LaunchCaller,
) -> Result<Option<LaunchContainer>, LaunchRefusal> {
    if !settings.in_container() {
        return Ok(None);
    }
    if settings.container.is_some() && settings.image.is_some() {
        return Err(LaunchRefusal::wrong("--container and --image are both given")
            .because("the agent works in a container that runs already, or in one that is made for it")
            .hint("leave one of them out"));
    }
    if agent.is_behind_bridge() {
        return Err(LaunchRefusal::wrong(format!("{} cannot work in a container", agent.name()))
            .because("a program of loop's own speaks to it by a protocol, and cannot reach into a container yet")
            .hint("choose the same agent without -acp, or leave the container out"));
    }
    let socket =
        container::find(settings.container_socket.as_deref(), |name| std::env::var_os(name)).map_err(refusal)?;
    let kind = if let Some(name) = &settings.container {
        let found = container::check(&socket, name, workspace).map_err(refusal)?;
        for warning in &found.warnings {
            caller.note(LaunchNote::progress(format!("warning: {warning}")));
        }
        ContainerKind::Running { name: name.clone(), found }
    } else {
        ContainerKind::Own { image: settings.image.clone().unwrap_or_default(), network: settings.agent_network }
    };
    let program = agent.program().map(str::to_owned);
    if let (ContainerKind::Own { network: false, .. }, Some(_)) = (&kind, &program) {
        let name = agent.name();
        let text = format!("note: no network there; {name} reaches a provider only with --agent-network");
        caller.note(LaunchNote::progress(text));
    }
    let checked = LaunchContainer { socket, workspace: workspace.to_owned(), kind, program };
    if let ContainerKind::Running { name, found } = &checked.kind {
        refuse_missing(&checked, &found.id, &format!("the container {name}"))?;
    }
    Ok(Some(checked))
}

fn refusal(refusal: ContainerRefusal) -> LaunchRefusal {
    LaunchRefusal::wrong(refusal.what).because(refusal.why).hint(refusal.hint)
}

/// The agent's own program is looked for inside; what this machine has says nothing about that.
fn refuse_missing(checked: &LaunchContainer, id: &str, place: &str) -> Result<(), LaunchRefusal> {
    let Some(program) = &checked.program else { return Ok(()) };
    // Without a shell there is no answer.
    if !matches!(container::has_program(&checked.socket, id, program), Ok(Some(false))) {
        return Ok(());
    }
    Err(LaunchRefusal::wrong(format!("{program} is not installed in {place}"))
        .because("the agent's program must be in the container; the one on this machine is not seen there")
        .hint(format!("install {program} there, on its PATH, or use an image that has it")))
}

/// The same as [`begin`] for a run that was just made: where it fails, the run is removed.
pub(super) fn begin_first(checked: Option<&LaunchContainer>, held: HeldRun) -> Result<HeldRun, LaunchRefusal> {
    let Some(checked) = checked else { return Ok(held) };
    let folder = held.folder.clone();
    let Err(refusal) = begin(checked, &folder) else { return Ok(held) };
    drop(held);
    folder.remove()?;
    Err(refusal)
}

/// Makes the container where it is the run's own, and records where the agents will be. What is left of an earlier drive
/// of the run is ended first.
pub(super) fn begin(checked: &LaunchContainer, folder: &RunFolder) -> Result<(), LaunchRefusal> {
    if let Some(before) = ContainerRecord::read(&folder.path) {
        let gone = before.clean();
        if !gone.left.is_empty() {
            return Err(LaunchRefusal::wrong(format!("processes of loop {} are still in its container", folder.id))
                .because(format!("they could not be ended: {}", gone.left.join(", ")))
                .hint("end them by hand, then try again"));
        }
    }
    let run = folder.id.to_string();
    let mut record = ContainerRecord {
        socket: checked.socket.clone(),
        container: format!("loop-{run}"),
        workdir: checked.workdir().to_string_lossy().into_owned(),
        own: matches!(checked.kind, ContainerKind::Own { .. }),
        run,
    };
    let begun = match &checked.kind {
        ContainerKind::Running { found, .. } => {
            record.container = found.id.clone();
            write(&record, folder)
        }
        ContainerKind::Own { image, network } => make_own(checked, &mut record, folder, image, *network),
    };
    if begun.is_err() {
        // What cannot be removed now stays recorded.
        record.remove(&folder.path).ok();
    }
    begun
}

/// A container of the run's own. It is recorded before it is made: a kill between both must not leave it unknown.
fn make_own(
    checked: &LaunchContainer,
    record: &mut ContainerRecord,
    folder: &RunFolder,
    image: &str,
    network: bool,
) -> Result<(), LaunchRefusal> {
    write(record, folder)?;
    let wish = ContainerRequest { image, run: &record.run, workspace: &checked.workspace, network };
    record.container = container::start(&checked.socket, wish).map_err(refusal)?;
    refuse_missing(checked, &record.container, &format!("the image {image}"))?;
    write(record, folder)
}

fn write(record: &ContainerRecord, folder: &RunFolder) -> Result<(), LaunchRefusal> {
    record
        .write(&folder.path)
        .map_err(|error| LaunchRefusal::unable("cannot record where the agent works").because(error.to_string()))
}

/// The drive is over, or the run is to be removed: nothing of it stays in a container. Returns a warning.
#[must_use]
pub fn end_container(folder: &RunFolder, state: Option<&RunState>) -> Option<LaunchNote> {
    let record = ContainerRecord::read(&folder.path)?;
    if !record.own {
        // A driver that was killed, or could not write its journal, may have left processes.
        let clean = state.is_some_and(|state| state.trouble.unclean().is_none());
        let left = if clean { Vec::new() } else { record.clean().left };
        if !left.is_empty() {
            let left = left.join(", ");
            let text = format!("warning: could not be ended in the container of loop {}: {left}", record.run);
            return Some(LaunchNote::important(text));
        }
        // The prompt of the last attempt. A container that is gone has none.
        container::remove_folder(&record.socket, &record.container, &record.files()).ok();
    }
    let error = record.remove(&folder.path).err()?;
    let run = &record.run;
    Some(LaunchNote::important(format!(
        "warning: the container loop-{run} stays: {error}\n  docker rm --force loop-{run} removes it"
    )))
}
