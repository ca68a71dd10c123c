//! `custom`: a shell command of the user's, run in the workspace with the prompt on stdin.

/// The program of a custom agent. Values go by environment, never into the command's text.
#[must_use]
pub fn shell_line(agent_cmd: &str) -> Vec<String> {
    vec!["sh".into(), "-c".into(), agent_cmd.to_owned()]
}
