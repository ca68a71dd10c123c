//! The container that an agent works in: looked at before anything is made, begun before the first order, gone at the end.
use std::path::{Path, PathBuf};

use loop_core::agent::Agent;
use loop_core::run::RunState;
use loop_core::settings::AgentSettings;
use loop_core::text;
use loop_host::container::{self, CheckedContainer, ContainerRecord, ContainerRefusal, ContainerRequest};
use loop_host::runs::{HeldRun, RunFolder};

use crate::context::{Context, runs_error};
use crate::render::error::{CommandError, Kind};

/// A container that an agent can work in.
#[derive(Debug)]
pub(crate) struct Inside {
    socket: PathBuf,
    workspace: PathBuf,
    place: Place,
    /// The program that must be there; none for a shell command.
    program: Option<String>,
}

#[derive(Debug)]
enum Place {
    /// One that runs already.
    Running { name: String, found: CheckedContainer },
    /// One of the run's own.
    Own { image: String, network: bool },
}

impl Inside {
    /// Where the workspace is inside.
    pub(crate) fn workdir(&self) -> &Path {
        match &self.place {
            Place::Running { found, .. } => Path::new(&found.workdir),
            Place::Own { .. } => &self.workspace,
        }
    }
}

/// Where the agent works, in words; none on this machine.
pub(crate) fn place(settings: &AgentSettings) -> Option<String> {
    match (&settings.container, &settings.image) {
        (Some(name), _) => Some(format!("in container {}", text::one_line(name, 60))),
        (None, Some(image)) => Some(format!("in a container of {}", text::one_line(image, 60))),
        (None, None) => None,
    }
}

/// Finds the container that is asked for, or the engine that is to make one; none if the agent works on this machine.
pub(crate) fn look(
    context: &Context,
    settings: &AgentSettings,
    agent: &Agent,
    workspace: &Path,
) -> Result<Option<Inside>, CommandError> {
    if !settings.in_container() {
        return Ok(None);
    }
    if settings.container.is_some() && settings.image.is_some() {
        return Err(CommandError::new(Kind::Wrong, "--container and --image are both given")
            .because("the agent works in a container that runs already, or in one that is made for it")
            .hint("leave one of them out"));
    }
    if agent.is_behind_bridge() {
        return Err(CommandError::new(Kind::Wrong, format!("{} cannot work in a container", agent.name()))
            .because("a program of loop's own speaks to it by a protocol, and cannot reach into a container yet")
            .hint("choose the same agent without -acp, or leave the container out"));
    }
    let socket =
        container::find(settings.container_socket.as_deref(), |name| std::env::var_os(name)).map_err(refused)?;
    let place = if let Some(name) = &settings.container {
        let found = container::check(&socket, name, workspace).map_err(refused)?;
        for warning in &found.warnings {
            context.printer.progress(&format!("warning: {warning}\n"));
        }
        Place::Running { name: name.clone(), found }
    } else {
        Place::Own { image: settings.image.clone().unwrap_or_default(), network: settings.agent_network }
    };
    let program = agent.program().map(str::to_owned);
    if let (Place::Own { network: false, .. }, Some(_)) = (&place, &program) {
        let name = agent.name();
        context
            .printer
            .progress(&format!("note: no network there; {name} reaches a provider only with --agent-network\n"));
    }
    let inside = Inside { socket, workspace: workspace.to_owned(), place, program };
    if let Place::Running { name, found } = &inside.place {
        refuse_missing(&inside, &found.id, &format!("the container {name}"))?;
    }
    Ok(Some(inside))
}

fn refused(refusal: ContainerRefusal) -> CommandError {
    CommandError::new(Kind::Wrong, refusal.what).because(refusal.why).hint(refusal.hint)
}

/// The agent's own program is looked for inside; what this machine has says nothing about that.
fn refuse_missing(inside: &Inside, id: &str, place: &str) -> Result<(), CommandError> {
    let Some(program) = &inside.program else { return Ok(()) };
    // Without a shell nobody can tell.
    if !matches!(container::has_program(&inside.socket, id, program), Ok(Some(false))) {
        return Ok(());
    }
    Err(CommandError::new(Kind::Wrong, format!("{program} is not installed in {place}"))
        .because("the agent's program must be in the container; the one on this machine is not seen there")
        .hint(format!("install {program} there, on its PATH, or use an image that has it")))
}

/// The same as [`begin`] for a run that was just made: where it fails there is none.
pub(crate) fn begin_first(inside: Option<&Inside>, held: HeldRun) -> Result<HeldRun, CommandError> {
    let Some(inside) = inside else { return Ok(held) };
    let folder = held.folder.clone();
    let Err(error) = begin(inside, &folder) else { return Ok(held) };
    drop(held);
    folder.remove().map_err(|error| runs_error(&error))?;
    Err(error)
}

/// Makes the container where it is the run's own, and writes down where the agents will be. Whatever is left of an earlier drive of
/// the run is ended first.
pub(crate) fn begin(inside: &Inside, folder: &RunFolder) -> Result<(), CommandError> {
    if let Some(before) = ContainerRecord::read(&folder.path) {
        let gone = before.clean();
        if !gone.left.is_empty() {
            return Err(CommandError::new(
                Kind::Wrong,
                format!("processes of loop {} are still in its container", folder.id),
            )
            .because(format!("they could not be ended: {}", gone.left.join(", ")))
            .hint("end them by hand, then try again"));
        }
    }
    let run = folder.id.to_string();
    let mut kept = ContainerRecord {
        socket: inside.socket.clone(),
        container: format!("loop-{run}"),
        workdir: inside.workdir().to_string_lossy().into_owned(),
        own: matches!(inside.place, Place::Own { .. }),
        run,
    };
    let begun = match &inside.place {
        Place::Running { found, .. } => {
            kept.container = found.id.clone();
            write(&kept, folder)
        }
        Place::Own { image, network } => own(inside, &mut kept, folder, image, *network),
    };
    if begun.is_err() {
        // What cannot be removed now is remembered.
        kept.remove(&folder.path).ok();
    }
    begun
}

/// A container of the run's own. That there will be one is written down first: who is killed here must not leave it unknown.
fn own(
    inside: &Inside,
    kept: &mut ContainerRecord,
    folder: &RunFolder,
    image: &str,
    network: bool,
) -> Result<(), CommandError> {
    write(kept, folder)?;
    let wish = ContainerRequest { image, run: &kept.run, workspace: &inside.workspace, network };
    kept.container = container::start(&inside.socket, wish).map_err(refused)?;
    refuse_missing(inside, &kept.container, &format!("the image {image}"))?;
    write(kept, folder)
}

fn write(kept: &ContainerRecord, folder: &RunFolder) -> Result<(), CommandError> {
    kept.write(&folder.path).map_err(|error| {
        CommandError::new(Kind::Unable, "it cannot be written down where the agent works").because(error.to_string())
    })
}

/// The drive is over, or the run is to be removed: nothing of it stays in a container.
pub(crate) fn end(context: &Context, folder: &RunFolder, state: Option<&RunState>) {
    let Some(kept) = ContainerRecord::read(&folder.path) else { return };
    if !kept.own {
        // Who was killed, or could not write down what it did, may have left somebody.
        let clean = state.is_some_and(|state| state.trouble.unclean().is_none());
        let left = if clean { Vec::new() } else { kept.clean().left };
        if !left.is_empty() {
            let left = left.join(", ");
            context
                .printer
                .error(&format!("warning: could not be ended in the container of loop {}: {left}\n", kept.run));
            return;
        }
        // The prompt of the last attempt is nobody else's. A container that is gone has none.
        container::remove_folder(&kept.socket, &kept.container, &kept.files()).ok();
    }
    remove(context, &kept, folder);
}

fn remove(context: &Context, kept: &ContainerRecord, folder: &RunFolder) {
    if let Err(error) = kept.remove(&folder.path) {
        context.printer.error(&format!(
            "warning: the container loop-{} stays: {error}\n  docker rm --force loop-{} removes it\n",
            kept.run, kept.run
        ));
    }
}
