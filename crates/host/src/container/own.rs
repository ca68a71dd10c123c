//! A container of the run's own, made from an image: with the workspace at the same path, without network unless it
//! is allowed, removed with the run.
use std::path::Path;

use serde_json::{Value, json};

use super::check::{ContainerRefusal, holds_socket};
use super::engine::{Engine, EngineError};
use super::watcher::SHELL;

/// The label with the run's id.
const LABEL: &str = "loop.run";
/// The agent's home: any user can write to it.
const HOME: &str = "/loop-home";
/// What the container itself runs: nothing, until it gets a signal. It reaps orphans where the engine has no init.
const IDLE: &str = "trap 'exit 0' TERM INT; while :; do sleep 3600 & wait $!; done";

/// What container is wanted.
#[derive(Debug, Clone, Copy)]
pub struct ContainerRequest<'a> {
    /// The image.
    pub image: &'a str,
    /// The run.
    pub run: &'a str,
    /// The folder to mount, at the same path.
    pub workspace: &'a Path,
    /// Whether it gets a network.
    pub network: bool,
}

/// Makes and starts it. Returns its id. One that is there already for the run is removed first.
///
/// # Errors
/// When the image is not there, or the engine refuses.
pub fn start(socket: &Path, request: ContainerRequest<'_>) -> Result<String, ContainerRefusal> {
    let engine = Engine::at(socket);
    if holds_socket(request.workspace, socket) {
        return Err(ContainerRefusal::new(
            "the workspace cannot be mounted",
            "the container engine's socket is in it, and an agent that has it can do whatever you can",
            "work in a folder of the project alone",
        ));
    }
    let failed = |error: &EngineError| refusal(request.image, error);
    remove_of_run(socket, request.run).map_err(|error| failed(&error))?;
    let user = user(&engine);
    let with_init = made(&engine, &request, &user, true);
    // An engine without an init of its own cannot start one that needs it.
    with_init.or_else(|_| made(&engine, &request, &user, false)).map_err(|error| failed(&error))
}

/// Our own user, so that files in the workspace stay ours. With a rootless engine, root in the container is our user.
fn user(engine: &Engine) -> String {
    if engine.is_rootless() {
        return "0:0".to_owned();
    }
    format!("{}:{}", rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw())
}

fn made(engine: &Engine, request: &ContainerRequest<'_>, user: &str, init: bool) -> Result<String, EngineError> {
    let id = engine.create(&format!("loop-{}", request.run), &body(request, user, init))?;
    let started = engine.start(&id);
    if let Err(error) = started {
        engine.remove(&id).ok();
        return Err(error);
    }
    Ok(id)
}

fn body(request: &ContainerRequest<'_>, user: &str, init: bool) -> Value {
    let workspace = request.workspace.to_string_lossy();
    json!({
        "Image": request.image,
        "Entrypoint": [SHELL, "-c", IDLE],
        "Cmd": [],
        "User": user,
        "WorkingDir": workspace,
        "Env": [format!("HOME={HOME}")],
        "Labels": { LABEL: request.run },
        "HostConfig": {
            "Init": init,
            "NetworkMode": if request.network { "default" } else { "none" },
            "Mounts": [{ "Type": "bind", "Source": workspace, "Target": workspace }],
            "Tmpfs": { HOME: "rw,exec,nosuid,mode=1777" },
        },
    })
}

fn refusal(image: &str, error: &EngineError) -> ContainerRefusal {
    let what = format!("no container of the image {image}");
    match error {
        EngineError::NotFound(why) => ContainerRefusal::new(what, why.clone(), format!("docker pull {image}")),
        EngineError::Unreachable { .. }
        | EngineError::Refused { .. }
        | EngineError::Shell(_)
        | EngineError::Malformed(_) => ContainerRefusal::new(
            what,
            error.to_string(),
            format!("docker run --rm -it {image} {SHELL}   shows what it lacks"),
        ),
    }
}

/// Removes a container, whatever runs in it.
///
/// # Errors
/// When the engine refuses. It is not an error if the container is gone already.
pub fn remove(socket: &Path, id: &str) -> Result<(), EngineError> {
    Engine::at(socket).remove(id)
}

/// Removes whatever containers of its own a run has, known by their label: after a crash nothing else names them.
///
/// # Errors
/// When the engine refuses.
pub fn remove_of_run(socket: &Path, run: &str) -> Result<u32, EngineError> {
    let engine = Engine::at(socket);
    let found = engine.labelled(&format!("{LABEL}={run}"))?;
    found.iter().try_for_each(|id| engine.remove(id))?;
    Ok(u32::try_from(found.len()).unwrap_or(u32::MAX))
}
