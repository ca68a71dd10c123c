//! The agents of this machine: programs, versions, sign-ins, sockets. Nothing here uses the network.
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use loop_core::agent::{ADAPTERS, Agent};
use loop_core::text;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Access, access};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::paths::program_on_path;

/// A program that has not printed its version by then is ended.
const VERSION_TAKES_MAX: Duration = Duration::from_secs(20);
/// How many are asked at once: each may be a large interpreter, and has its time limit.
const AT_ONCE_MAX: usize = 2;
/// How much of an answer is read.
const VERSION_BYTES_MAX: usize = 16 * 1024;
/// How much of a version is shown.
const VERSION_LETTERS_MAX: usize = 60;
/// How often is checked whether a child has ended with its output left open: std has no handle to wait on.
const CHECK_EVERY: Duration = Duration::from_millis(100);

/// The file of a program: on PATH, or where its path says.
#[must_use]
pub fn find(program: &str) -> Option<PathBuf> {
    if !program.contains('/') {
        return program_on_path(program);
    }
    let path = PathBuf::from(program);
    access(&path, Access::EXEC_OK).is_ok().then_some(path).filter(|path| path.is_file())
}

/// The first known agent that is installed here, for a command line to start with.
#[must_use]
pub fn first_installed() -> Option<&'static str> {
    let installed = ADAPTERS.iter().find(|known| !known.behind_bridge && program_on_path(known.program).is_some());
    installed.map(|known| known.name)
}

/// The versions of programs, by `--version` with exactly these variables, a few at once; or why there is none.
#[must_use]
pub fn versions(programs: Vec<(PathBuf, BTreeMap<String, String>)>) -> Vec<Result<String, String>> {
    let mut waiting = programs.into_iter();
    let mut asked: Vec<Result<VersionQuery, String>> = Vec::new();
    loop {
        let open = asked.iter().flatten().filter(|one| !one.is_over()).count();
        let next = waiting.by_ref().take(AT_ONCE_MAX.saturating_sub(open));
        let started = next.map(|(path, env)| VersionQuery::start(&path, env).map_err(|error| error.to_string()));
        asked.extend(started);
        if waiting.len() == 0 && asked.iter().flatten().all(VersionQuery::is_over) {
            return asked.into_iter().map(|one| one.and_then(VersionQuery::finish)).collect();
        }
        wait(&asked);
        asked.iter_mut().flatten().for_each(VersionQuery::poll);
    }
}

fn wait(asked: &[Result<VersionQuery, String>]) {
    let pipes = asked.iter().flatten().filter(|one| !one.is_over()).flat_map(|one| one.pipes.iter().flatten());
    let mut fds: Vec<PollFd<'_>> = pipes.map(|pipe| PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN)).collect();
    poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: CHECK_EVERY.subsec_nanos().into() })).ok();
}

/// One program that was asked.
struct VersionQuery {
    child: Child,
    pipes: [Option<File>; 2],
    output: [Vec<u8>; 2],
    ended: bool,
    succeeded: bool,
    is_gone: bool,
    until: Instant,
}

impl VersionQuery {
    fn is_over(&self) -> bool {
        self.ended || Instant::now() >= self.until
    }

    fn start(path: &Path, env: BTreeMap<String, String>) -> io::Result<Self> {
        let until = Instant::now() + VERSION_TAKES_MAX;
        let mut command = Command::new(path);
        command.arg("--version").env_clear().envs(env).current_dir("/").process_group(0);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let stdout = child.stdout.take().map(|pipe| File::from(std::os::fd::OwnedFd::from(pipe)));
        let stderr = child.stderr.take().map(|pipe| File::from(std::os::fd::OwnedFd::from(pipe)));
        for pipe in [&stdout, &stderr].into_iter().flatten() {
            rustix::io::ioctl_fionbio(pipe, true)?;
        }
        Ok(Self {
            child,
            pipes: [stdout, stderr],
            output: [Vec::new(), Vec::new()],
            ended: false,
            succeeded: false,
            is_gone: false,
            until,
        })
    }

    /// Reads what came. It is over when the program has ended, also if another process still holds its output.
    fn poll(&mut self) {
        if self.is_over() {
            return self.end();
        }
        let status = self.child.try_wait();
        let mut buffer = [0_u8; 4096];
        for (pipe, said) in self.pipes.iter_mut().zip(&mut self.output) {
            while let Some(from) = pipe {
                match from.read(&mut buffer) {
                    Ok(count) if count > 0 && said.len() < VERSION_BYTES_MAX => {
                        said.extend_from_slice(&buffer[..count])
                    }
                    Ok(_) => *pipe = None,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(_) => *pipe = None,
                }
            }
        }
        match status {
            Ok(Some(status)) => {
                self.ended = true;
                self.succeeded = status.success();
            }
            Ok(None) => {}
            Err(_) => self.ended = true,
        }
    }

    fn finish(mut self) -> Result<String, String> {
        self.end();
        if !self.ended {
            return Err(format!("no answer to --version within {} s", VERSION_TAKES_MAX.as_secs()));
        }
        let said = std::mem::take(&mut self.output).map(|output| text::clean(&output));
        let line = said.iter().flat_map(|said| said.lines()).map(str::trim).find(|line| number(line).is_some());
        match line {
            Some(line) if self.succeeded => Ok(text::one_line(line, VERSION_LETTERS_MAX)),
            Some(_) | None => Err("its answer to --version is not a version".to_owned()),
        }
    }

    /// Ends it, with whatever it started in its group.
    fn end(&mut self) {
        if std::mem::replace(&mut self.is_gone, true) {
            return;
        }
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            kill_process_group(group, Signal::KILL).ok();
        }
        self.child.wait().ok();
    }
}

/// The number in a version: the first word with digits around a dot.
#[must_use]
pub fn number(version: &str) -> Option<&str> {
    let words = version.split(|letter: char| !letter.is_ascii_alphanumeric() && !".-+_".contains(letter));
    words.map(|word| word.trim_start_matches('v').trim_end_matches('.')).find(|word| {
        let (before, after) = word.split_once('.').unwrap_or_default();
        let digit = |letter: Option<char>| letter.is_some_and(|letter| letter.is_ascii_digit());
        digit(before.chars().next()) && digit(after.chars().next())
    })
}

/// Whether the agent is signed in, as far as files and variables show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignIn {
    /// A key is in this variable.
    Key(&'static str),
    /// This file below HOME says so.
    File(&'static str),
    /// Neither is there; it may be signed in all the same.
    NotSeen,
    /// It is not known where to look.
    Unknown,
}

/// Whether the agent is signed in, found out without the network.
#[must_use]
pub fn sign_in(agent: &Agent, passed: &BTreeMap<String, String>, home: Option<&Path>) -> SignIn {
    let set = |name: &&&str| passed.get(**name).is_some_and(|value| !value.is_empty());
    if let Some(name) = agent.keys().iter().find(set) {
        return SignIn::Key(name);
    }
    let there = |file: &&&str| home.is_some_and(|home| home.join(**file).exists());
    if let Some(file) = agent.signed_in_files().iter().find(there) {
        return SignIn::File(file);
    }
    if agent.keys().is_empty() { SignIn::Unknown } else { SignIn::NotSeen }
}

/// Sockets of container engines that a program of this user can write to: with one it can do anything on this machine.
#[must_use]
pub fn engine_sockets() -> Vec<PathBuf> {
    let mut places: Vec<PathBuf> = ["/var/run/docker.sock", "/run/podman/podman.sock"].map(PathBuf::from).to_vec();
    if let Some(folder) = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|folder| folder.is_absolute()) {
        places.extend(["docker.sock", "podman/podman.sock"].map(|name| folder.join(name)));
    }
    for name in ["DOCKER_HOST", "CONTAINER_HOST"] {
        let named = std::env::var(name).ok();
        places.extend(named.as_deref().and_then(|place| place.strip_prefix("unix://")).map(PathBuf::from));
    }
    let mut found: Vec<PathBuf> = Vec::new();
    for place in places {
        let socket = std::fs::metadata(&place).is_ok_and(|found| found.file_type().is_socket());
        if socket && access(&place, Access::WRITE_OK).is_ok() && !found.contains(&place) {
            found.push(place);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_version_is_found_in_what_programs_say() {
        let said = [
            ("2.1.197 (Claude Code)", Some("2.1.197")),
            ("codex-cli 0.166.0", Some("0.166.0")),
            ("aider 0.86.2", Some("0.86.2")),
            ("v1.18.33", Some("1.18.33")),
            ("GitHub Copilot CLI 1.0.102.", Some("1.0.102")),
            ("1.0.0-beta.2+x", Some("1.0.0-beta.2+x")),
            ("Error: no such option", None),
            ("see a.b", None),
        ];
        for (text, expected) in said {
            assert_eq!(number(text), expected, "{text}");
        }
    }
}
