//! What the harness measured of one loop of an item. Every part is a digest: no bytes of an agent are here.
use serde::{Deserialize, Serialize};

use super::scope::outside_item_scope;
use crate::text;

/// So much of a command, of a path and of a sentence is in the record of a loop, in letters; the whole is in its file.
const WORDS_MAX: usize = 160;
/// So many changed files, and so many of the other names, are in the record.
const NAMES_MAX: usize = 40;
/// So many commands that do not pass have the end of their output in the record, each so much of it.
const OUTPUTS_MAX: usize = 2;
const OUTPUT_BYTES_MAX: usize = 1_500;

/// Something that the harness reads to decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemSensor {
    /// The check command.
    Check,
    /// The hooks of `.pre-commit-config.yaml`.
    PreCommit,
    /// The CI command.
    Ci,
    /// `loop/log.txt`.
    Log,
    /// What was changed.
    Git,
}

impl ItemSensor {
    /// Its name for people.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Check => "check command",
            Self::PreCommit => "pre-commit",
            Self::Ci => "CI command",
            Self::Log => "loop/log.txt",
            Self::Git => "changes (diff and status)",
        }
    }
}

/// What a command said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SensorState {
    /// It passed.
    Green,
    /// It ran to its end and did not pass.
    Red,
    /// It took too long.
    TimedOut,
    /// It is configured, and it could not be read. That is never green.
    CannotRun(String),
    /// It comes from the repository, and no person has approved it.
    NotApproved,
}

/// A command that the harness ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SensorReading {
    /// Which one.
    pub sensor: ItemSensor,
    /// What was run.
    pub command: String,
    /// What it said.
    pub state: SensorState,
    /// The exit code, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The end of its output.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output_end: String,
    /// The file in which its output is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<ItemArtifact>,
}

/// A sensor that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingSensor {
    /// Which one.
    pub sensor: ItemSensor,
    /// Why not.
    pub why: String,
}

/// What kind of evidence a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArtifactKind {
    /// What changed since the item began. The harness wrote it.
    Diff,
    /// What a check printed. The harness wrote it.
    CheckOutput,
    /// A file that a criterion names.
    Named,
}

/// A file as the harness found it, without following links.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArtifactOnDisk {
    /// There is nothing.
    Absent,
    /// A regular file.
    File {
        /// When it was written last, by the wall clock.
        modified_ms: u64,
        /// Its size.
        bytes: u64,
    },
    /// It is a link, or a link leads to it.
    Link,
    /// A folder, a socket, a device.
    NotAFile,
    /// Its path leads out of the workspace.
    Outside,
    /// It could not be read.
    Unreadable(String),
}

/// A file that may prove something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemArtifact {
    /// Relative to the workspace, or to the folder of the run for what the harness wrote.
    pub path: String,
    /// What kind it is.
    pub kind: ArtifactKind,
    /// What is there.
    pub now: ArtifactOnDisk,
    /// It has the same bytes as at the start of the loop.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub same_bytes: bool,
    /// The log or the notes name it. What the harness writes itself is always named.
    pub referenced: bool,
}

/// A criterion with what was found for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CriterionEvidence {
    /// Its name in the item.
    pub id: String,
    /// The sentence.
    pub text: String,
    /// What its own command said, where it has one.
    pub check: Option<SensorReading>,
    /// The files that it names.
    pub artifacts: Vec<ItemArtifact>,
}

/// How the agent of the loop ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentEnd {
    /// It ended by itself without an error.
    Ended,
    /// It ended in an error.
    Failed(String),
    /// It took too long and was ended.
    TimedOut,
    /// No agent worked: only the checks ran again.
    NotStarted,
}

/// All that was measured of one loop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopEvidence {
    /// The item.
    pub item: String,
    /// The number of the loop, counted from 1 over restarts.
    pub number: u32,
    /// When it began, by the wall clock.
    pub began_ms: u64,
    /// When its checks began, after the agent's processes were dead.
    pub checks_began_ms: u64,
    /// When the artifacts were looked at.
    pub seen_ms: u64,
    /// How the agent ended.
    pub agent: AgentEnd,
    /// What the check command said. None: no check command is known.
    pub check: Option<SensorReading>,
    /// What pre-commit and CI said, where they are configured.
    pub confirmations: Vec<SensorReading>,
    /// Sensors that are not commands and cannot be read.
    pub missing: Vec<MissingSensor>,
    /// What changed since the item began, as a file. None: it could not be found.
    pub diff: Option<ItemArtifact>,
    /// The criteria of the item.
    pub criteria: Vec<CriterionEvidence>,
    /// Files that changed since the item began, without those that the harness writes itself.
    pub changed: Vec<String>,
    /// Globs of the files that the item may change. None: not declared.
    pub scope: Vec<String>,
    /// A change outside of the scope is a failure.
    pub strict_scope: bool,
    /// Files that decide what a sensor says, which the agent changed and which were not restored before it ran.
    pub sensor_files_changed: Vec<String>,
    /// Edits of the agent to the list, the log or the progress that were undone.
    pub undone: Vec<String>,
    /// Files that the agent's notes name and that do not exist.
    pub notes_name_missing: Vec<String>,
}

impl LoopEvidence {
    /// The same, short enough to be recorded. What decides stays: states, faults, and changes outside of the scope first.
    #[must_use]
    pub fn bounded(mut self) -> Self {
        let mut outputs = 0;
        let own = self.criteria.iter_mut().filter_map(|criterion| criterion.check.as_mut());
        for reading in self.check.iter_mut().chain(own).chain(&mut self.confirmations) {
            reading.command = text::escaped_head(&reading.command, WORDS_MAX);
            if let SensorState::CannotRun(why) = &mut reading.state {
                *why = text::one_line(why, WORDS_MAX);
            }
            let is_shown = reading.state != SensorState::Green && outputs < OUTPUTS_MAX;
            outputs += usize::from(is_shown);
            let clean = text::clean(reading.output_end.as_bytes());
            reading.output_end = text::tail(&clean, if is_shown { OUTPUT_BYTES_MAX } else { 0 }).to_owned();
        }
        for criterion in &mut self.criteria {
            criterion.text = String::new();
            criterion.id = text::one_line(&criterion.id, WORDS_MAX);
        }
        if let AgentEnd::Failed(why) = &mut self.agent {
            *why = text::one_line(why, WORDS_MAX);
        }
        let outside = outside_item_scope(&self.changed, &self.scope);
        let (mut first, rest): (Vec<String>, Vec<String>) =
            std::mem::take(&mut self.changed).into_iter().partition(|path| outside.contains(path));
        first.extend(rest);
        self.changed = first;
        for names in [&mut self.changed, &mut self.undone, &mut self.sensor_files_changed, &mut self.notes_name_missing]
        {
            names.truncate(NAMES_MAX);
            names.iter_mut().for_each(|name| *name = text::escaped_head(name, WORDS_MAX));
        }
        self
    }
}
