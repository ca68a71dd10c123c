//! Where the engine listens: the user's setting, or the usual paths of Docker and Podman.
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::check::ContainerRefusal;

/// The engine's socket. `setting` is what the user named: a path, or `unix://` and a path.
///
/// # Errors
/// When there is none, or `DOCKER_HOST` does not name a unix socket.
pub fn find(setting: Option<&str>, lookup: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, ContainerRefusal> {
    let host = || lookup("DOCKER_HOST").filter(|host| !host.is_empty());
    if let Some(named) = setting.map(OsString::from).or_else(host) {
        return named_path(&named.to_string_lossy());
    }
    let below = |name: &str, rest: &str| lookup(name).map(|folder| Path::new(&folder).join(rest));
    let usual = [
        Some(PathBuf::from("/var/run/docker.sock")),
        below("XDG_RUNTIME_DIR", "docker.sock"),
        below("XDG_RUNTIME_DIR", "podman/podman.sock"),
        Some(PathBuf::from("/run/podman/podman.sock")),
        below("HOME", ".docker/run/docker.sock"),
    ];
    usual.into_iter().flatten().find(|path| path.exists()).ok_or_else(|| {
        ContainerRefusal::new(
            "no container engine",
            "neither Docker's nor Podman's socket is there, and DOCKER_HOST is not set",
            "start Docker, or: systemctl --user start podman.socket",
        )
    })
}

fn named_path(named: &str) -> Result<PathBuf, ContainerRefusal> {
    let path = named.strip_prefix("unix://").unwrap_or(named);
    if path.starts_with('/') {
        return Ok(PathBuf::from(path));
    }
    let why = format!("{named} is not a unix socket, and an engine on another machine does not see the workspace");
    Err(ContainerRefusal::new(
        "cannot reach the container engine",
        why,
        "export DOCKER_HOST=unix:///var/run/docker.sock",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_beats_the_environment_and_both_must_name_a_unix_socket() {
        let host = |_: &str| Some(OsString::from("unix:///run/host.sock"));
        assert_eq!(find(Some("/run/own.sock"), host).unwrap(), Path::new("/run/own.sock"));
        assert_eq!(find(None, host).unwrap(), Path::new("/run/host.sock"));
        let far = find(None, |_| Some(OsString::from("tcp://far:2375"))).unwrap_err();
        assert!(far.why.contains("tcp://far:2375"), "{far:?}");
    }
}
