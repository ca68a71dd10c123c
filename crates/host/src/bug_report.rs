//! What a report of a bug must not have, by what is set on this machine now, and the parts of it that are files of a run.
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use loop_core::agent::{ADAPTERS, Secrets};
use loop_core::attestation::withhold::is_secret_name;
use loop_core::redaction::Redaction;
use loop_core::run::RunState;
use loop_core::text;

use crate::paths::{Home, path_of, text_of, user_home};
use crate::process::tail_of;
use crate::run_folder::RunFolder;

/// Names of variables with these parts have secret values, too.
const SECRET_PARTS: [&str; 6] = ["_KEY", "_PAT", "AUTH", "COOKIE", "WEBHOOK", "_DSN"];

/// Settings and fields of facts whose values are removed: variables, and what agents, gates and people wrote.
const PRIVATE: [&str; 5] = ["agent_env", "excerpt", "last_text", "question", "summary"];
/// So much of the end of a journal is in a report, beside its first line.
const JOURNAL_BYTES_MAX: usize = 256 * 1024;
/// So much of the end of each output.
const OUTPUT_BYTES_MAX: u64 = 16 * 1024;
/// So many outputs of gates.
const GATES_MAX: usize = 8;

/// All that is taken out of a report: secrets of the environment and of the run, folders, the user and the machine.
#[must_use]
pub fn redaction(home: &Home, state: Option<&RunState>) -> Redaction {
    let declared: Vec<String> =
        state.iter().flat_map(|state| state.settings.shown().values.agent.secret_names().map(str::to_owned)).collect();
    let is_secret = |name: &str| {
        let upper = name.to_ascii_uppercase();
        is_secret_name(name)
            || SECRET_PARTS.iter().any(|part| upper.contains(part))
            || declared.iter().any(|known| known == name)
            || ADAPTERS.iter().any(|adapter| adapter.keys.contains(&name))
    };
    let all =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, OsString::into_vec(value))));
    // A path is no secret, whatever the name of its variable is (SSH_AUTH_SOCK).
    let values = all.filter(|(name, value)| is_secret(name) && !value.starts_with(b"/"));
    let secrets = Secrets::new(values).0;
    let mut folders = Vec::new();
    let mut add = |path: &Path, instead: &str| {
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        folders.extend([text_of(&real), text_of(path)].map(|path| (path, instead.to_owned())));
    };
    if let Some(spec) = state.and_then(|state| state.spec.as_ref()) {
        add(&path_of(&spec.workspace.path), "<workspace>");
    }
    add(&home.state, "<state>");
    add(&home.config, "<config>");
    if let Some(user) = user_home() {
        add(&user, "~");
    }
    folders.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty() && value != "root");
    let of_home =
        user_home().and_then(|home| Some(home.file_name()?.to_str()?.to_owned())).filter(|name| name != "root");
    let machine = std::fs::read_to_string("/proc/sys/kernel/hostname").ok().map(|name| name.trim().to_owned());
    let users = [variable("USER"), variable("LOGNAME"), of_home].into_iter().flatten();
    let mut names: Vec<(String, String)> = users.map(|name| (name, "<user>".to_owned())).collect();
    names.extend(machine.map(|name| (name, "<host>".to_owned())));
    Redaction { secrets, folders, names, private: PRIVATE.map(str::to_owned).to_vec() }
}

/// The platform: system, its release, processor.
#[must_use]
pub fn platform() -> String {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let named = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let name = named.lines().find_map(|line| line.strip_prefix("PRETTY_NAME=")).unwrap_or_default().trim_matches('"');
    let (system, processor) = (std::env::consts::OS, std::env::consts::ARCH);
    format!("{system} {} ({name}), {processor}", release.trim())
}

/// The first line of a journal and its end, as text.
#[must_use]
pub fn journal(run: &RunFolder) -> String {
    let all = std::fs::read(run.path.join("journal.jsonl")).unwrap_or_default();
    let all = text::clean(&all);
    if all.len() <= JOURNAL_BYTES_MAX {
        return all;
    }
    let first = all.lines().take(2).collect::<Vec<_>>().join("\n");
    let end = text::tail(&all, JOURNAL_BYTES_MAX);
    let end = end.split_once('\n').map_or(end, |(_, rest)| rest);
    format!("{first}\n… (lines skipped)\n{end}")
}

/// An output of an agent or a gate.
#[derive(Debug)]
pub struct RunOutput {
    /// Where it is, below the folder of the run.
    pub name: String,
    /// Its end.
    pub text: String,
}

/// The ends of the last outputs: of the newest attempt, and of the newest gates.
#[must_use]
pub fn outputs(run: &RunFolder, state: &RunState) -> Vec<RunOutput> {
    let attempt = run.attempt(state.iteration, state.attempt);
    let mut folders = vec![attempt.join("stdout"), attempt.join("stderr")];
    let gates = run.iteration(state.iteration).join("gates");
    let mut newest: Vec<_> =
        std::fs::read_dir(gates).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    newest.sort();
    let newest = newest.into_iter().rev().take(GATES_MAX);
    folders.extend(newest.flat_map(|gate| [gate.join("stdout"), gate.join("stderr")]));
    let read = |folder: &std::path::PathBuf| {
        let text = text::clean(&tail_of(folder, OUTPUT_BYTES_MAX));
        let name = folder.strip_prefix(&run.path).unwrap_or(folder).display().to_string();
        (!text.trim().is_empty()).then_some(RunOutput { name, text })
    };
    folders.iter().filter_map(read).collect()
}
