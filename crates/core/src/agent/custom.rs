//! `custom`: a shell command of the user's, run in the workspace with the prompt on stdin.

/// What to start for one attempt. Values go by environment, never into the command's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandSpec {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Variables beside the inherited ones; the prompt file's is added by the host, which knows where it is.
    pub env: Vec<(String, String)>,
}

/// The command of one attempt of a custom agent.
#[must_use]
pub fn command(agent_cmd: &str, run: &str, iteration: u32, attempt: u32) -> CommandSpec {
    CommandSpec {
        argv: vec!["sh".into(), "-c".into(), agent_cmd.to_owned()],
        env: vec![
            ("LOOP_ID".into(), run.to_owned()),
            ("LOOP_ITERATION".into(), iteration.to_string()),
            ("LOOP_ATTEMPT".into(), attempt.to_string()),
        ],
    }
}
