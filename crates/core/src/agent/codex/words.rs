//! What codex says in words alone: retries that it announces, refusals on its stderr.
use crate::agent::provider::failure::Failure;
use crate::agent::provider::wording::{ProviderError, Vendor};
use crate::agent::shell_words;
use crate::text;

/// How many lines of stderr make up an error.
const PLAIN_LINES_MAX: usize = 6;

/// Tools that are a shell by any of its names.
const SHELLS: [&str; 7] =
    ["exec_command", "shell", "shell_command", "local_shell", "container.exec", "unified_exec", "write_stdin"];

/// What an error means.
pub(in crate::agent) fn class(message: &str) -> Failure {
    ProviderError::of_words(Vendor::OpenAi, message).class().unwrap_or(Failure::Crash)
}

/// A retry that is announced.
pub(in crate::agent) struct Retry<'a> {
    /// Which one it is; 0 where it is not counted.
    pub(in crate::agent) count: u32,
    /// It would go on for ever.
    pub(in crate::agent) endless: bool,
    /// What it retries because of.
    pub(in crate::agent) why: &'a str,
}

/// "Reconnecting... 2/5 (why)".
pub(in crate::agent) fn retry(message: &str) -> Option<Retry<'_>> {
    let rest = message.strip_prefix("Reconnecting")?.trim_start_matches(['.', '…', ' ']);
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let count = rest.get(..digits).and_then(|digits| digits.parse().ok()).unwrap_or(0);
    let why = rest.split_once('(').map_or(rest, |(_, why)| why.strip_suffix(')').unwrap_or(why));
    Some(Retry { count, endless: rest.starts_with("waiting"), why })
}

/// Refusals that are reported on stderr only.
#[derive(Debug, Default)]
pub(in crate::agent) struct Refused {
    /// How many calls were refused.
    pub(in crate::agent) count: u32,
    /// The first of them.
    pub(in crate::agent) first: Option<String>,
    /// It wanted to ask something.
    pub(in crate::agent) asked: bool,
}

/// Tool calls that the program refused. The stream does not show them; its log does.
pub(in crate::agent) fn refused(stderr: &[u8]) -> Refused {
    let mut refused = Refused::default();
    for line in text::clean(stderr).lines() {
        let Some((_, said)) = line.split_once("tools::router: error=") else { continue };
        refused.asked |= said.starts_with("request_user_input is unavailable");
        if let Some(what) = refusal(said) {
            refused.count = refused.count.saturating_add(1);
            refused.first.get_or_insert(what);
        }
    }
    refused
}

/// What was refused, if that is what this line of the log says.
fn refusal(said: &str) -> Option<String> {
    if let Some(tool) = said.strip_prefix("unsupported call: ") {
        return SHELLS.contains(&tool.trim()).then(|| tool.trim().to_owned());
    }
    if let Some((_, rest)) = said.split_once("Rejected(") {
        let command = rest.split('`').nth(1).unwrap_or(rest);
        return Some(text::one_line(&bare_command(command), 300));
    }
    let refused = said.starts_with("patch rejected") || said.contains("reject command");
    refused.then(|| text::one_line(said, 300))
}

/// The session that was to be continued does not exist.
pub(in crate::agent) fn session_lost(stderr: &[u8]) -> bool {
    let said = text::clean(stderr).to_lowercase();
    ["no rollout found", "thread not found", "session not found", "no saved session", "conversation not found"]
        .iter()
        .any(|words| said.contains(words))
}

/// What stderr says beside its log and its remarks on stdin.
pub(in crate::agent) fn plain(stderr: &[u8]) -> String {
    let said = text::clean(stderr);
    let lines = said.lines().map(str::trim_end).filter(|line| {
        let remark = line.starts_with("Reading ") && line.ends_with("stdin...");
        let log =
            line.get(..4).is_some_and(|year| year.bytes().all(|byte| byte.is_ascii_digit())) && line.contains("Z ");
        !(line.is_empty() || remark || log || line.starts_with("WARNING:"))
    });
    lines.take(PLAIN_LINES_MAX).collect::<Vec<_>>().join("\n")
}

/// A command without the shell that it was given to.
pub(in crate::agent) fn bare_command(command: &str) -> String {
    let inner = [" -lc ", " -c "].iter().find_map(|flag| {
        let (shell, rest) = command.split_once(flag)?;
        ["bash", "sh", "zsh"].iter().any(|name| shell == *name || shell.ends_with(&format!("/{name}"))).then_some(rest)
    });
    let Some(inner) = inner else { return command.to_owned() };
    match shell_words::split(inner) {
        // One word to the shell that it was given to.
        Ok(words) if words.len() == 1 => words.into_iter().next().unwrap_or_default(),
        Ok(_) | Err(_) => inner.to_owned(),
    }
}
