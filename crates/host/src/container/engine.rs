//! The calls of the engine's API that we use, as values.
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use thiserror::Error;

use super::http::{self, Request, Response, Upgraded, escaped};
use super::{ASKING_TAKES_MAX, MAKING_TAKES_MAX};

/// Why an engine did not do what it was asked.
#[derive(Debug, Error)]
pub enum EngineError {
    /// It cannot be reached, or did not answer in time.
    #[error("the container engine at {} does not answer: {source}", socket.display())]
    Unreachable {
        /// Where it should listen.
        socket: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// There is no such thing.
    #[error("{0}")]
    NotFound(String),
    /// It would not.
    #[error("the container engine refused: {message} ({status})")]
    Refused {
        /// The status of the answer.
        status: u16,
        /// Its own words.
        message: String,
    },
    /// The shell that it started in a container gives a wrong answer, or none.
    #[error("{shell} in the container does not answer: {0}", shell = super::watcher::SHELL)]
    Shell(String),
    /// Its answer makes no sense to us.
    #[error("the container engine's answer cannot be read: {0}")]
    Malformed(String),
}

/// An engine, by its socket.
#[derive(Debug, Clone)]
pub(super) struct Engine {
    pub(super) socket: PathBuf,
}

/// A container as `inspect` shows it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Container {
    pub(super) id: String,
    #[serde(default)]
    pub(super) state: ContainerState,
    #[serde(default)]
    pub(super) mounts: Option<Vec<Mount>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct ContainerState {
    pub(super) running: bool,
    pub(super) paused: bool,
    pub(super) status: String,
    /// Of its own command, as the engine's host numbers it.
    pub(super) pid: i32,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Mount {
    #[serde(default)]
    pub(super) source: String,
    pub(super) destination: String,
    #[serde(rename = "RW", default)]
    pub(super) writable: bool,
}

/// An exec as `inspect` shows it.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ExecState {
    pub(super) running: bool,
    #[serde(default)]
    pub(super) exit_code: Option<i64>,
}

/// A command for a running container.
#[derive(Debug, Default)]
pub(super) struct Exec<'a> {
    pub(super) argv: Vec<&'a str>,
    /// `NAME=VALUE`.
    pub(super) env: Vec<String>,
    pub(super) workdir: Option<&'a str>,
    pub(super) user: Option<&'a str>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Made {
    id: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Listed {
    id: String,
}

#[derive(Debug, Deserialize)]
struct Words {
    message: String,
}

impl Engine {
    pub(super) fn at(socket: &Path) -> Self {
        Self { socket: socket.to_owned() }
    }

    fn ask(&self, method: &str, path: &str, body: Option<&Value>, most: Duration) -> Result<Vec<u8>, EngineError> {
        let body = body.map(Value::to_string).unwrap_or_default();
        self.send(Request { method, path, body: body.as_bytes() }, most)
    }

    fn send(&self, request: Request<'_>, most: Duration) -> Result<Vec<u8>, EngineError> {
        let answer = http::ask(&self.socket, request, most).map_err(|source| self.unreachable(source))?;
        if (200..300).contains(&answer.status) || answer.status == 304 {
            Ok(answer.body)
        } else {
            Err(refused(&answer))
        }
    }

    fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, EngineError> {
        read(&self.ask("GET", path, None, ASKING_TAKES_MAX)?)
    }

    fn unreachable(&self, source: io::Error) -> EngineError {
        EngineError::Unreachable { socket: self.socket.clone(), source }
    }

    pub(super) fn container(&self, name: &str) -> Result<Container, EngineError> {
        self.get(&format!("/containers/{}/json", escaped(name)))
    }

    /// Whether a path is there inside a container.
    pub(super) fn has(&self, container: &str, path: &str) -> Result<bool, EngineError> {
        let path = format!("/containers/{}/archive?path={}", escaped(container), escaped(path));
        match self.ask("HEAD", &path, None, ASKING_TAKES_MAX) {
            Ok(_) => Ok(true),
            Err(EngineError::NotFound(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Takes an archive out at the root of a container.
    pub(super) fn put(&self, container: &str, archive: &[u8]) -> Result<(), EngineError> {
        let path = format!("/containers/{}/archive?path=%2F", escaped(container));
        self.send(Request { method: "PUT", path: &path, body: archive }, MAKING_TAKES_MAX).map(drop)
    }

    /// Whether the engine is an ordinary user's own, in whose containers root is that user.
    pub(super) fn is_rootless(&self) -> bool {
        let info: Result<Value, _> = self.get("/info");
        let options = info.ok().and_then(|info| info.get("SecurityOptions")?.as_array().cloned());
        options.unwrap_or_default().iter().filter_map(Value::as_str).any(|option| option.contains("rootless"))
    }

    /// Makes an exec, starts it, and returns its streams: frames come out, stdin goes in.
    pub(super) fn exec(&self, container: &str, exec: &Exec<'_>) -> Result<(String, Upgraded), EngineError> {
        let mut body = json!({
            "AttachStdin": true, "AttachStdout": true, "AttachStderr": true, "Tty": false,
            "Cmd": exec.argv, "Env": exec.env,
        });
        if let Some(fields) = body.as_object_mut() {
            let words = [("WorkingDir", exec.workdir), ("User", exec.user)];
            fields.extend(words.into_iter().filter_map(|(name, word)| Some((name.to_owned(), word?.into()))));
        }
        let path = format!("/containers/{}/exec", escaped(container));
        let made: Made = read(&self.ask("POST", &path, Some(&body), MAKING_TAKES_MAX)?)?;
        let body = json!({ "Detach": false, "Tty": false }).to_string();
        let path = format!("/exec/{}/start", escaped(&made.id));
        let request = Request { method: "POST", path: &path, body: body.as_bytes() };
        let upgraded = http::upgrade(&self.socket, request, MAKING_TAKES_MAX);
        match upgraded.map_err(|source| self.unreachable(source))? {
            Ok(upgraded) => Ok((made.id, upgraded)),
            Err(answer) => Err(refused(&answer)),
        }
    }

    pub(super) fn exec_state(&self, exec: &str) -> Result<ExecState, EngineError> {
        self.get(&format!("/exec/{}/json", escaped(exec)))
    }

    pub(super) fn create(&self, name: &str, body: &Value) -> Result<String, EngineError> {
        let path = format!("/containers/create?name={}", escaped(name));
        let made: Made = read(&self.ask("POST", &path, Some(body), MAKING_TAKES_MAX)?)?;
        Ok(made.id)
    }

    pub(super) fn start(&self, container: &str) -> Result<(), EngineError> {
        let path = format!("/containers/{}/start", escaped(container));
        self.ask("POST", &path, None, MAKING_TAKES_MAX).map(drop)
    }

    /// Ends and removes a container. One that is gone, or is being removed, is as good.
    pub(super) fn remove(&self, container: &str) -> Result<(), EngineError> {
        let path = format!("/containers/{}?force=true&v=true", escaped(container));
        match self.ask("DELETE", &path, None, MAKING_TAKES_MAX) {
            Ok(_) | Err(EngineError::NotFound(_) | EngineError::Refused { status: 409, .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// All containers with a label, also those that do not run.
    pub(super) fn labelled(&self, label: &str) -> Result<Vec<String>, EngineError> {
        let filters: BTreeMap<&str, [&str; 1]> = BTreeMap::from([("label", [label])]);
        let filters = json!(filters).to_string();
        let found: Vec<Listed> = self.get(&format!("/containers/json?all=true&filters={}", escaped(&filters)))?;
        Ok(found.into_iter().map(|container| container.id).collect())
    }
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, EngineError> {
    serde_json::from_slice(body).map_err(|error| EngineError::Malformed(error.to_string()))
}

/// How much of an engine's message is shown.
const MESSAGE_BYTES_MAX: usize = 500;

fn refused(answer: &Response) -> EngineError {
    let words: Option<Words> = serde_json::from_slice(&answer.body).ok();
    let message = words.map_or_else(|| String::from_utf8_lossy(&answer.body).into_owned(), |words| words.message);
    let message = loop_core::text::one_line(&message, MESSAGE_BYTES_MAX);
    if answer.status == 404 {
        return EngineError::NotFound(message);
    }
    EngineError::Refused { status: answer.status, message }
}
