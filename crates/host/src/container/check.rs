//! Whether an agent can work in a container, checked before anything is made: it exists, it runs, and the workspace
//! is in it.
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::engine::{Container, Engine, EngineError, Mount};
use super::watcher::SHELL;

/// Why not: what, why, and what to do next.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{what}: {why}")]
pub struct ContainerRefusal {
    /// What cannot be.
    pub what: String,
    /// Why.
    pub why: String,
    /// The next thing to type.
    pub hint: String,
}

impl ContainerRefusal {
    pub(super) fn new(what: impl Into<String>, why: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { what: what.into(), why: why.into(), hint: hint.into() }
    }
}

/// A container in which an agent can work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedContainer {
    /// Its id: a name can go to another one.
    pub id: String,
    /// Where the workspace is inside.
    pub workdir: String,
    /// What people should know.
    pub warnings: Vec<String>,
}

/// Checks a container by its name or id.
///
/// # Errors
/// When there is none, it does not run, or the workspace is not in it.
pub fn check(socket: &Path, name: &str, workspace: &Path) -> Result<CheckedContainer, ContainerRefusal> {
    let engine = Engine::at(socket);
    let container = engine.container(name).map_err(|error| not_there(name, &error))?;
    is_up(name, &container)?;
    let mounts = container.mounts.unwrap_or_default();
    let workdir = path_inside(&mounts, workspace).map_err(|missing| missing.refusal(name, workspace))?;
    let mut warnings = Vec::new();
    if let Some(mount) = mounts.iter().find(|mount| shows(mount, socket)) {
        let path_inside = &mount.destination;
        warnings.push(format!(
            "{name} has the container engine's own socket in it ({path_inside}): an agent there can do whatever you can"
        ));
    }
    if matches!(engine.has(&container.id, SHELL), Ok(false)) {
        warnings.push(format!(
            "{name} has no {SHELL}: what the agent leaves running there can be ended only from this machine's side"
        ));
    }
    Ok(CheckedContainer { id: container.id, workdir, warnings })
}

fn not_there(name: &str, error: &EngineError) -> ContainerRefusal {
    match error {
        EngineError::NotFound(why) => {
            ContainerRefusal::new(format!("no container {name}"), why.clone(), "docker ps   shows those that run")
        }
        EngineError::Unreachable { .. } => ContainerRefusal::new(
            format!("cannot inspect the container {name}"),
            error.to_string(),
            "start the engine, or name its socket by DOCKER_HOST=unix://…; you may need to be in the group docker",
        ),
        EngineError::Refused { .. } | EngineError::Shell(_) | EngineError::Malformed(_) => ContainerRefusal::new(
            format!("cannot inspect the container {name}"),
            error.to_string(),
            format!("docker inspect {name}"),
        ),
    }
}

fn is_up(name: &str, container: &Container) -> Result<(), ContainerRefusal> {
    let state = &container.state;
    let (why, verb) = match (state.running, state.paused) {
        (true, false) => return Ok(()),
        (true, true) => ("it is paused".to_owned(), "unpause"),
        (false, _) if state.status.is_empty() => ("it does not run".to_owned(), "start"),
        (false, _) => (format!("it is {}", state.status), "start"),
    };
    Err(ContainerRefusal::new(format!("the container {name} does not run"), why, format!("docker {verb} {name}")))
}

/// Why the workspace cannot be worked in.
#[derive(Debug, PartialEq, Eq)]
enum Missing {
    NotMounted,
    ReadOnly(String),
}

impl Missing {
    fn refusal(&self, name: &str, workspace: &Path) -> ContainerRefusal {
        let folder = workspace.display();
        let hint = format!("docker run -v {folder}:{folder} …   mounts it; or --image IMAGE instead of --container");
        let why = match self {
            Self::NotMounted => {
                format!("{folder} is not mounted in it, so what an agent does there would not be seen outside")
            }
            Self::ReadOnly(path_inside) => format!("{folder} is there as {path_inside}, but read-only"),
        };
        ContainerRefusal::new(format!("the workspace is not in the container {name}"), why, hint)
    }
}

/// Where a folder of ours is inside, by what is mounted.
fn path_inside(mounts: &[Mount], workspace: &Path) -> Result<String, Missing> {
    let mut candidates: Vec<(&Mount, PathBuf)> = mounts
        .iter()
        .filter_map(|mount| {
            let rest = below(Path::new(&mount.source), workspace)?;
            let inside = Path::new(&mount.destination);
            Some((mount, if rest.as_os_str().is_empty() { inside.to_owned() } else { inside.join(rest) }))
        })
        // What another mount lies over is not what we see.
        .filter(|(mount, inside)| !mounts.iter().any(|over| lies_over(over, mount, inside)))
        .collect();
    // The nearest one.
    candidates.sort_by_key(|(mount, _)| std::cmp::Reverse(mount.source.len()));
    let shown = |path: &Path| path.to_string_lossy().into_owned();
    if let Some((_, inside)) = candidates.iter().find(|(mount, _)| mount.writable) {
        return Ok(shown(inside));
    }
    Err(candidates.first().map_or(Missing::NotMounted, |(_, inside)| Missing::ReadOnly(shown(inside))))
}

fn lies_over(over: &Mount, mount: &Mount, inside: &Path) -> bool {
    over.destination.len() > mount.destination.len() && inside.starts_with(&over.destination)
}

/// The path from a folder to one in it, with links resolved.
fn below(folder: &Path, path: &Path) -> Option<PathBuf> {
    if !folder.is_absolute() {
        return None;
    }
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    real(path).strip_prefix(real(folder)).ok().map(Path::to_owned)
}

/// Whether the engine's socket, or another's, can be reached through a mount.
fn shows(mount: &Mount, socket: &Path) -> bool {
    let source = Path::new(&mount.source);
    let named = source.file_name().is_some_and(|name| name == "docker.sock" || name == "podman.sock");
    named || below(source, socket).is_some()
}

/// Whether a folder that would be mounted holds the engine's socket.
pub(super) fn holds_socket(folder: &Path, socket: &Path) -> bool {
    below(folder, socket).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mount(source: &str, destination: &str, writable: bool) -> Mount {
        Mount { source: source.to_owned(), destination: destination.to_owned(), writable }
    }

    #[test]
    fn the_workspace_is_found_by_the_nearest_mount_that_is_not_covered() {
        let mounts = [
            mount("/nowhere/me", "/inside/me", true),
            mount("/nowhere/me/code", "/code", true),
            mount("/nowhere/me/code/secret", "/code/secret", false),
        ];
        let at = |path: &str| path_inside(&mounts, Path::new(path));
        assert_eq!(at("/nowhere/me/code/app").unwrap(), "/code/app");
        assert_eq!(at("/nowhere/me/code").unwrap(), "/code");
        assert_eq!(at("/nowhere/me/other").unwrap(), "/inside/me/other");
        assert_eq!(at("/nowhere/code"), Err(Missing::NotMounted));
        // By the nearest it can only be read; the wider one shows the same files.
        assert_eq!(at("/nowhere/me/code/secret").unwrap(), "/inside/me/code/secret");
        let only = [mount("/nowhere/me", "/me", false)];
        assert_eq!(path_inside(&only, Path::new("/nowhere/me")), Err(Missing::ReadOnly("/me".to_owned())));
    }

    #[test]
    fn what_is_covered_by_another_mount_is_not_taken() {
        let mounts = [mount("/nowhere/me", "/me", true), mount("/elsewhere", "/me/code", true)];
        assert_eq!(path_inside(&mounts, Path::new("/nowhere/me/code/app")), Err(Missing::NotMounted));
    }

    #[test]
    fn a_mount_that_shows_the_engines_socket_is_known() {
        let socket = Path::new("/nowhere/run/engine.sock");
        assert!(shows(&mount("/nowhere/run", "/host", true), socket));
        assert!(shows(&mount("/other/docker.sock", "/var/run/docker.sock", true), socket));
        assert!(!shows(&mount("/nowhere/runs", "/host", true), socket));
    }
}
