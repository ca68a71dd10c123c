//! The messages of a run's control socket: one line of JSON each way.
use serde::{Deserialize, Serialize};

use crate::run::{Change, NoteChange, Target};

/// A question to a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// What is wanted.
    pub ask: Ask,
    /// By which command.
    pub by: String,
}

/// What can be wanted of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// End after this iteration; it can be resumed.
    Stop,
    /// Hold after this iteration.
    Pause,
    /// Go on.
    Resume,
    /// End now, for good.
    Cancel,
    /// Tell the agent something.
    Inject {
        /// What.
        text: String,
        /// In all later prompts too.
        keep: bool,
    },
    /// Add a note to all later prompts, or strike one.
    Note(NoteChange),
    /// Let these settings hold.
    Set(Vec<Change>),
    /// Keep the workspace as it is, under this name or one that it gets.
    Checkpoint {
        /// The name.
        name: Option<String>,
    },
    /// Restore a checkpoint.
    Rollback(Target),
    /// Restore some paths of a checkpoint. A process that does not know this word refuses it; with the other word it
    /// would restore everything.
    RollbackPaths(Target),
    /// End now, for good, and restore the initial checkpoint.
    CancelRollback,
    /// Of a plan: apply this branch.
    Pick {
        /// Its name in the plan.
        branch: String,
    },
    /// Of a plan: the answer to the question of a node.
    Answer {
        /// Its name in the plan.
        node: String,
        /// The words.
        text: String,
        /// Whether what depends on it may start.
        proceed: bool,
    },
    /// Close the breaker: every count of it is gone.
    Reset {
        /// The agent's conversation is forgotten, too.
        session: bool,
    },
}

impl Ask {
    /// What is sent: a rollback of some paths has a word of its own.
    #[must_use]
    pub fn as_sent(self) -> Self {
        if let Self::Rollback(target) = &self
            && !target.paths.is_empty()
        {
            return Self::RollbackPaths(target.clone());
        }
        self
    }
}

/// What the run says to that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// It is written down, safe on disk, as this line of the journal.
    Taken {
        /// The number of the line.
        seq: u64,
    },
    /// It is not taken.
    Refused {
        /// Why.
        why: String,
    },
}

/// The most that one line may be long: a text to inject and its escapes.
pub const LINE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// The most that one injected text may be long.
pub const INJECT_BYTES_MAX: usize = 256 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rollback_of_some_paths_has_a_word_that_older_processes_refuse() {
        let target = Target { to: "initial".to_owned(), now: false, git: false, paths: vec!["a.txt".to_owned()] };
        let sent = |target: &Target| serde_json::to_value(Ask::Rollback(target.clone()).as_sent()).unwrap();
        assert_eq!(sent(&target)["rollback_paths"]["paths"][0], "a.txt");
        let whole = Target { paths: Vec::new(), ..target };
        assert_eq!(sent(&whole)["rollback"]["to"], "initial");
    }
}
