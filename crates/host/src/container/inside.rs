//! Short questions to a container, by a command in it.
use std::io::{self, Read};
use std::path::Path;
use std::time::{Duration, Instant};

use super::ASKING_TAKES_MAX;
use super::engine::{Engine, EngineError, Exec};
use super::watcher::SHELL;

const POLL_EVERY: Duration = Duration::from_millis(20);

/// Whether a program is found in a container by its default user. None where there is no shell.
///
/// # Errors
/// When the engine refuses.
pub fn has_program(socket: &Path, container: &str, program: &str) -> Result<Option<bool>, EngineError> {
    let engine = Engine::at(socket);
    if !engine.has(container, SHELL)? {
        return Ok(None);
    }
    let code = run(&engine, container, vec![SHELL, "-c", "command -v \"$0\"", program])?;
    Ok(Some(code == Some(0)))
}

/// Removes a folder of ours from a container, as far as its default user may.
///
/// # Errors
/// When the engine refuses.
pub fn remove_folder(socket: &Path, container: &str, folder: &str) -> Result<(), EngineError> {
    run(&Engine::at(socket), container, vec!["rm", "-rf", folder]).map(drop)
}

/// Runs a command that ends soon; its exit code, where the engine knows it.
fn run(engine: &Engine, container: &str, argv: Vec<&str>) -> Result<Option<i64>, EngineError> {
    let exec = Exec { argv, workdir: Some("/"), ..Exec::default() };
    let (id, streams) = engine.exec(container, &exec)?;
    let until = Instant::now() + ASKING_TAKES_MAX;
    let mut bytes = [0_u8; 4096];
    let mut stream = streams.stream;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        stream.set_read_timeout(Some(left)).map_err(|error| EngineError::Shell(error.to_string()))?;
        match stream.read(&mut bytes) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(EngineError::Shell(error.to_string())),
        }
    }
    // Its streams are closed a moment before the engine knows how it ended.
    loop {
        let state = engine.exec_state(&id)?;
        if !state.running || Instant::now() >= until {
            return Ok(state.exit_code.filter(|_| !state.running));
        }
        std::thread::sleep(POLL_EVERY);
    }
}
