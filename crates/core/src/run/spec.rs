//! What a run was started with: the first fact of its journal.
use serde::{Deserialize, Serialize};

use crate::agent::Described;
use crate::ids::RunId;
use crate::policy::router::{ScoreRow, TaskSigns};
use crate::settings::{Resolved, keys};

/// A text of at most so many bytes is in the fact itself.
pub const INLINE_BYTES_MAX: usize = 2048;

/// Everything that holds from the start of a run on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSpec {
    /// Its name.
    pub id: RunId,
    /// The version of the program that started it.
    pub program: String,
    /// What the agent is asked to reach.
    pub goal: StoredText,
    /// What the words of the whole goal say about the task; none in journals of before: then its beginning is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskSigns>,
    /// Texts that are in every prompt beside the goal.
    pub inject: Vec<StoredText>,
    /// Where it works.
    pub workspace: WorkspaceRef,
    /// The checkpoint backend that was chosen.
    pub backend: String,
    /// Where checkpoints are: the name of the store beside those of other workspaces.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub store: String,
    /// The agent, where the user's own settings describe it: a file that changes later changes nothing here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub described: Option<Described>,
    /// What agents leave in a workspace, as globs: of all agents, so that another agent changes no measurement.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub litter: Vec<String>,
    /// What of the workspace is protected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<GuardSpec>,
    /// The hash of the approval of the project's file, where the run relies on one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<String>,
    /// Every setting with its origin.
    pub settings: Resolved,
    /// The hidden gates, where the user's own settings have some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden: Option<HiddenGates>,
    /// The PID namespace in which it was started, or opened again by a person since, by its number: who speaks for a person
    /// comes from there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid_namespace: Option<u64>,
    /// No person can see it work: a failure of the host does not wait for one without an end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unattended: bool,
    /// The plan that it is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanRef>,
    /// It was drawn for a long leash: the thresholds of its breaker are higher than its settings said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leash: Option<Leash>,
    /// What the ledger had recorded of its agents at the start, where the router learns from it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scores: Vec<ScoreRow>,
}

/// A run on a long leash: how it was drawn, and what it got. `loop replay` counts these runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leash {
    /// So many of 10,000 runs are drawn.
    pub share: u32,
    /// So many times higher its thresholds are.
    pub times: u32,
}

/// The place of a run in a plan: several runs for one goal, each in a copy of the plan's workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanRef {
    /// The plan.
    pub plan: RunId,
    /// The node, or branch, by its name in the plan.
    pub node: String,
    /// Which attempt at the node, from 1.
    pub attempt: u32,
    /// The workspace of the plan, written by [`crate::text::escape_path`]: settings that hold for a folder are those of
    /// this one.
    pub workspace: String,
}

impl RunSpec {
    /// The folder whose settings hold: of a run of a plan, the workspace of the plan.
    #[must_use]
    pub fn settings_folder(&self) -> &str {
        self.plan.as_ref().map_or(&self.workspace.path, |plan| &plan.workspace)
    }

    /// The task in short, for lists: where a template put more behind the prompt, its first paragraph.
    #[must_use]
    pub fn title(&self) -> &str {
        let head = &self.goal.head;
        if self.settings.text(keys::template()).is_empty() { head } else { head.split("\n\n").next().unwrap_or(head) }
    }

    /// Whether checkpoints are taken at all.
    #[must_use]
    pub fn has_checkpoints(&self) -> bool {
        self.backend != "none"
    }
}

/// The hidden gates of a run. What they are called and what they run is in the user's own settings, and nowhere else.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HiddenGates {
    /// How many there are.
    pub count: u32,
    /// A hash of all of them and of the id of the run: those of the settings are compared with it before they run.
    pub sha256: String,
    /// How many tries they have together.
    pub tries: u32,
    /// The longest time limit that one of them has of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

impl HiddenGates {
    /// How long all of them may take, where one without a limit of its own may take `gate_timeout_ms`.
    #[must_use]
    pub fn limit_ms(&self, gate_timeout_ms: u64) -> u64 {
        gate_timeout_ms.max(self.timeout_ms.unwrap_or(0)).saturating_mul(u64::from(self.tries))
    }
}

/// What of the workspace the agent may not change. Only what is there at the start counts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuardSpec {
    /// Globs, as in a `.gitignore`.
    pub globs: Vec<String>,
    /// Script files that the gates name.
    pub scripts: Vec<String>,
}

/// The folder that a run works in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceRef {
    /// Its path, written by [`crate::text::escape_path`].
    pub path: String,
    /// The device it is on.
    pub device: u64,
    /// Its inode there: the same folder by any path.
    pub inode: u64,
}

/// A text of any length: short ones inline, long ones as a file of the run named by hash and length.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredText {
    /// The whole text, or its beginning where a file holds it.
    pub head: String,
    /// The file in the run's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<FileRef>,
}

/// A file of the run, written before the fact that names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRef {
    /// Its name in the run's folder.
    pub name: String,
    /// The hash of its bytes.
    pub sha256: String,
    /// How long it is.
    pub bytes: u64,
}
