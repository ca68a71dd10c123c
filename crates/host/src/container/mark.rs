//! How processes that an agent started in a container are recognised: by a variable, and by a resource limit that
//! has no effect.
//!
//! A process that clears its environment loses the variable. The limit on resident memory has had no effect on
//! Linux for twenty years, but a child inherits it whatever it does with session, group, parent or environment, and
//! it can be read in `/proc`. So a number for the run is set there, by the shell that then becomes the agent.
use sha2::{Digest, Sha256};

use crate::process::MARK;

/// Petabytes, so that it has no effect where it is read as a limit.
const KIB_MIN: u64 = 1 << 41;

/// The marks of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark {
    run: String,
}

/// Sets the limit, then becomes the command. Where the limit cannot be set the variable has to do.
const WRAP: &str = r#"ulimit -m "$0" 2>/dev/null; exec "$@""#;

impl Mark {
    pub(super) fn of(run: &str) -> Self {
        Self { run: run.to_owned() }
    }

    /// What the variable is set to: a list between colons, as marks on the host are, with an end that can be seen.
    pub(super) fn value(&self) -> String {
        format!(":{}:", self.run)
    }

    /// The variable as it stands in the environment.
    pub(super) fn variable(&self) -> String {
        format!("{MARK}={}", self.value())
    }

    fn kib(&self) -> u64 {
        let digest = Sha256::digest(self.run.as_bytes());
        let number = digest.iter().take(5).fold(0_u64, |number, byte| (number << 8) | u64::from(*byte));
        KIB_MIN + number
    }

    /// The limit as `/proc` shows it.
    pub(super) fn limit(&self) -> String {
        (self.kib() * 1024).to_string()
    }

    /// The words that start a command with the limit set, where there is a shell.
    pub(super) fn wrapped(&self) -> [String; 4] {
        [super::watcher::SHELL.to_owned(), "-c".to_owned(), WRAP.to_owned(), self.kib().to_string()]
    }
}

/// What became of those who were left in a container.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Gone {
    /// How many were found and ended.
    pub ended: u32,
    /// What could not be ended, or why that is not known.
    pub left: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_runs_have_different_marks_and_no_mark_is_the_beginning_of_another() {
        let (one, other) = (Mark::of("a1b2"), Mark::of("a1b2c"));
        assert_ne!(one.limit(), other.limit());
        assert!(!other.variable().contains(&one.variable()));
        assert_eq!(one.limit(), Mark::of("a1b2").limit());
    }
}
