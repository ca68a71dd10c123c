//! PASS, FAIL with its type, or a missing sensor: the evaluation of one loop of an item. No model judges a criterion.
use serde::{Deserialize, Serialize};

use super::artifact::{ArtifactFault, artifact_fault};
use super::evidence::{
    AgentEnd, CriterionEvidence, ItemArtifact, ItemSensor, LoopEvidence, MissingSensor, SensorReading, SensorState,
};
use super::scope::outside_item_scope;
use crate::machine::Deciding;
use crate::text;

/// So many of each list are recorded, and so many letters of each text.
const LISTED_MAX: usize = 20;
const LETTERS_MAX: usize = 200;
/// An evaluation is recorded with at most so many bytes.
const RECORD_BYTES_MAX: usize = 7 * 1024;
/// So much of an output is recorded.
const OUTPUT_BYTES_MAX: usize = 2_000;

/// The type of a failure. Retries are counted for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemFailure {
    /// The check command, or the command of a criterion.
    CheckFailed,
    /// Pre-commit or CI.
    HookFailed,
    /// A criterion has no artifact that counts.
    ArtifactMissing,
    /// Files outside of the scope were changed.
    ScopeLeft,
    /// The agent ended in an error.
    AgentFailed,
    /// The agent or a check took too long.
    Timeout,
}

impl ItemFailure {
    /// All types.
    pub const ALL: [Self; 6] =
        [Self::CheckFailed, Self::HookFailed, Self::ArtifactMissing, Self::ScopeLeft, Self::AgentFailed, Self::Timeout];

    /// Its name for people, as the files have it.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::CheckFailed => "check failed",
            Self::HookFailed => "pre-commit or CI failed",
            Self::ArtifactMissing => "artifact missing",
            Self::ScopeLeft => "scope left",
            Self::AgentFailed => "agent failed",
            Self::Timeout => "timeout",
        }
    }
}

/// What a loop of an item came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemVerdict {
    /// The post-check succeeded, and every criterion has its artifact.
    Pass,
    /// It did not.
    Fail(ItemFailure),
    /// It is not known: a sensor cannot be read. The item ends and a person is asked.
    SensorMissing(MissingSensor),
}

impl ItemVerdict {
    /// In words, as the files have it.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Pass => "PASS".to_owned(),
            Self::Fail(failure) => format!("FAIL ({})", failure.words()),
            Self::SensorMissing(missing) => format!("SENSOR MISSING ({})", missing.sensor.words()),
        }
    }
}

/// An artifact that does not count, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingArtifact {
    /// The criterion that needs it; empty where the item does.
    pub criterion: String,
    /// Its path, or what would have counted.
    pub path: String,
    /// Why it does not count.
    pub fault: ArtifactFault,
}

impl MissingArtifact {
    /// In one line.
    #[must_use]
    pub fn words(&self) -> String {
        let of = if self.criterion.is_empty() { String::new() } else { format!(" (criterion {})", self.criterion) };
        format!("{} {}{of}", self.path, self.fault.words())
    }
}

/// What proved a criterion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CriterionProof {
    /// Its name in the item.
    pub criterion: String,
    /// The artifacts that count for it. None: it is not proven.
    pub artifacts: Vec<String>,
    /// A command or a file of its own proved it. Else only the item's diff and check did, and the report says so.
    pub is_own: bool,
}

/// The command that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedSensor {
    /// Which one.
    pub sensor: ItemSensor,
    /// What was run.
    pub command: String,
    /// The exit code, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The end of its output.
    pub output_end: String,
}

/// The failure vector: what `loop/last_error.txt` has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureVector {
    /// The item.
    pub item: String,
    /// The number of the loop.
    pub number: u32,
    /// The verdict in words.
    pub verdict: String,
    /// What failed, where it is a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<FailedSensor>,
    /// Artifacts that do not count.
    pub missing: Vec<MissingArtifact>,
    /// Files outside of the scope.
    pub outside: Vec<String>,
    /// Why, in sentences.
    pub reasons: Vec<String>,
}

/// The evaluation. It is recorded as it is: all its lists are bounded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemEvaluation {
    /// What the loop came to.
    pub verdict: ItemVerdict,
    /// The failure vector; none after a pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureVector>,
    /// What proved each criterion.
    pub proofs: Vec<CriterionProof>,
    /// Files outside of the declared scope, also where that is only flagged.
    pub outside: Vec<String>,
    /// What a person should know, whatever the verdict is.
    pub flags: Vec<String>,
}

impl ItemEvaluation {
    /// The same, short enough to be recorded: the verdict and its reasons stay, long lists are cut.
    #[must_use]
    pub fn bounded(mut self) -> Self {
        for most in [10, 4, 1] {
            if serde_json::to_string(&self).is_ok_and(|text| text.len() <= RECORD_BYTES_MAX) {
                break;
            }
            if let Some(failure) = &mut self.failure {
                failure.missing.truncate(most);
                failure.outside.truncate(most);
                failure.reasons.truncate(most);
            }
            self.outside.truncate(most);
            self.flags.truncate(most);
            let proofs_max = most.saturating_mul(4);
            self.proofs.truncate(proofs_max);
        }
        self
    }
}

/// Evaluates one loop. The order is: a missing sensor, a time limit, the agent, the check, pre-commit and CI, the scope,
/// artifacts. An agent that ended in an error has failed only where the checks did not pass: they decide, not its end.
#[must_use]
pub fn evaluate(of: &LoopEvidence, _: &Deciding) -> ItemEvaluation {
    let outside = outside_item_scope(&of.changed, &of.scope);
    let (proofs, missing) = proofs_of(of);
    let found = Found { of, outside: &outside, missing: &missing };
    let cause = found.cause();
    let failure = cause.as_ref().map(|cause| found.vector(cause));
    let verdict = cause.map_or(ItemVerdict::Pass, |cause| cause.verdict);
    let (flags, outside) = (flags(of, &outside), bounded(&outside));
    ItemEvaluation { verdict, failure, proofs, outside, flags }
}

/// Why a loop did not pass.
struct Cause<'a> {
    verdict: ItemVerdict,
    failed: Option<&'a SensorReading>,
    reasons: Vec<String>,
}

impl<'a> Cause<'a> {
    fn new(failure: ItemFailure, reason: impl Into<String>) -> Self {
        Self { verdict: ItemVerdict::Fail(failure), failed: None, reasons: vec![reason.into()] }
    }

    fn with(mut self, failed: &'a SensorReading) -> Self {
        self.failed = Some(failed);
        self
    }
}

/// What was found in the evidence.
#[derive(Clone, Copy)]
struct Found<'a> {
    of: &'a LoopEvidence,
    outside: &'a [String],
    missing: &'a [MissingArtifact],
}

impl<'a> Found<'a> {
    /// All commands that decide, in the order in which they do.
    fn readings(self) -> impl Iterator<Item = &'a SensorReading> {
        let own = self.of.criteria.iter().filter_map(|criterion| criterion.check.as_ref());
        self.of.check.iter().chain(own).chain(&self.of.confirmations)
    }

    /// The first rule that speaks against a pass.
    fn cause(self) -> Option<Cause<'a>> {
        if let Some(missing) = self.missing_sensor() {
            let reasons = vec![format!("{}: {}", missing.sensor.words(), missing.why)];
            return Some(Cause { verdict: ItemVerdict::SensorMissing(missing), failed: None, reasons });
        }
        let by_command = self.failed_command();
        let by_files = self.failed_files();
        // The agent's own end explains a failure; it never takes a pass away.
        let explained = match (&self.of.agent, by_command.is_some() || by_files.is_some()) {
            (AgentEnd::TimedOut, true) => {
                Some(Cause::new(ItemFailure::Timeout, "the agent took too long and was ended"))
            }
            (AgentEnd::Failed(why), true) => {
                let why = text::one_line(why, LETTERS_MAX);
                Some(Cause::new(ItemFailure::AgentFailed, format!("the agent ended in an error: {why}")))
            }
            (AgentEnd::Ended | AgentEnd::NotStarted | AgentEnd::TimedOut | AgentEnd::Failed(_), _) => None,
        };
        let (Some(mut explained), Some(cause)) = (explained, by_command.as_ref().or(by_files.as_ref())) else {
            return by_command.or(by_files);
        };
        explained.failed = cause.failed;
        explained.reasons.extend(cause.reasons.iter().cloned());
        Some(explained)
    }

    /// A sensor that is needed and cannot be read.
    fn missing_sensor(self) -> Option<MissingSensor> {
        let missing = |sensor, why: &str| Some(MissingSensor { sensor, why: text::one_line(why, LETTERS_MAX) });
        if self.of.check.is_none() {
            return missing(ItemSensor::Check, "no check command is known: neither scripts/ralph/loop.sh nor --check");
        }
        for reading in self.readings() {
            match &reading.state {
                SensorState::CannotRun(why) => return missing(reading.sensor, &format!("it could not be run: {why}")),
                SensorState::NotApproved => {
                    return missing(reading.sensor, "it comes from the repository and is not approved as it is now");
                }
                SensorState::Green | SensorState::Red | SensorState::TimedOut => {}
            }
        }
        if let Some(known) = self.of.missing.first() {
            return missing(known.sensor, &known.why);
        }
        match &self.of.diff {
            None => missing(ItemSensor::Git, "what was changed could not be found"),
            Some(_) => None,
        }
    }

    /// A command that does not pass, or that cannot be believed.
    fn failed_command(self) -> Option<Cause<'a>> {
        if let Some(path) = self.of.sensor_files_changed.first() {
            let why = format!("the check cannot be believed: the agent changed {}", text::one_line(path, LETTERS_MAX));
            return Some(Cause::new(ItemFailure::CheckFailed, why));
        }
        if let Some(slow) = self.readings().find(|reading| reading.state == SensorState::TimedOut) {
            let why = format!("the {} took too long and was ended", slow.sensor.words());
            return Some(Cause::new(ItemFailure::Timeout, why).with(slow));
        }
        let red = self.readings().find(|reading| reading.state == SensorState::Red)?;
        let failure = match red.sensor {
            ItemSensor::PreCommit | ItemSensor::Ci => ItemFailure::HookFailed,
            ItemSensor::Check | ItemSensor::Log | ItemSensor::Git => ItemFailure::CheckFailed,
        };
        let code = red.exit_code.map_or_else(String::new, |code| format!(" with exit code {code}"));
        Some(Cause::new(failure, format!("the {} failed{code}", red.sensor.words())).with(red))
    }

    /// Files that should not have been changed, or that are missing.
    fn failed_files(self) -> Option<Cause<'a>> {
        if self.of.strict_scope && !self.outside.is_empty() {
            let named = bounded(self.outside).join(", ");
            return Some(Cause::new(ItemFailure::ScopeLeft, format!("files outside of the item's scope: {named}")));
        }
        if self.missing.is_empty() {
            return None;
        }
        let reasons = self.missing.iter().take(LISTED_MAX).map(MissingArtifact::words).collect();
        Some(Cause { verdict: ItemVerdict::Fail(ItemFailure::ArtifactMissing), failed: None, reasons })
    }

    fn vector(self, cause: &Cause<'_>) -> FailureVector {
        let failed = cause.failed.map(|reading| FailedSensor {
            sensor: reading.sensor,
            command: text::escaped_head(&reading.command, LETTERS_MAX),
            exit_code: reading.exit_code,
            output_end: text::tail(&text::clean(reading.output_end.as_bytes()), OUTPUT_BYTES_MAX).to_owned(),
        });
        FailureVector {
            item: text::one_line(&self.of.item, LETTERS_MAX),
            number: self.of.number,
            verdict: cause.verdict.words(),
            failed,
            missing: self.missing.iter().take(LISTED_MAX).cloned().collect(),
            outside: bounded(self.outside),
            reasons: cause.reasons.iter().take(LISTED_MAX).map(|why| text::one_line(why, 2 * LETTERS_MAX)).collect(),
        }
    }
}

/// What proves each criterion, and what does not count. An item without criteria needs its diff and its check output.
fn proofs_of(of: &LoopEvidence) -> (Vec<CriterionProof>, Vec<MissingArtifact>) {
    let (mut proofs, mut missing) = (Vec::new(), Vec::new());
    if of.criteria.is_empty() {
        by_item(of, "", &mut missing);
    }
    for criterion in &of.criteria {
        let before = missing.len();
        let is_own = criterion.check.is_some() || !criterion.artifacts.is_empty();
        let artifacts = match is_own {
            true => by_own(of, criterion, &mut missing),
            false => by_item(of, &criterion.id, &mut missing),
        };
        // Files prove nothing beside a check that does not pass.
        let decides = if is_own { criterion.check.as_ref() } else { of.check.as_ref() };
        let is_green = decides.is_none_or(|reading| reading.state == SensorState::Green);
        let artifacts = if is_green && missing.len() == before { artifacts } else { Vec::new() };
        proofs.push(CriterionProof { criterion: text::one_line(&criterion.id, LETTERS_MAX), artifacts, is_own });
    }
    (proofs, missing)
}

/// The criterion's own files, all of them, and the output of its own command.
fn by_own(of: &LoopEvidence, criterion: &CriterionEvidence, missing: &mut Vec<MissingArtifact>) -> Vec<String> {
    let mut counted = Vec::new();
    for artifact in &criterion.artifacts {
        count(of, &criterion.id, artifact, CountedIn { counted: &mut counted, missing });
    }
    if let Some(check) = &criterion.check {
        output_of(of, &criterion.id, check, CountedIn { counted: &mut counted, missing });
    }
    counted
}

/// The item's diff and the output of its check: a check that was green before proves no work, so the diff must be there.
fn by_item(of: &LoopEvidence, criterion: &str, missing: &mut Vec<MissingArtifact>) -> Vec<String> {
    let mut counted = Vec::new();
    if let Some(diff) = &of.diff {
        count(of, criterion, diff, CountedIn { counted: &mut counted, missing });
    }
    if let Some(check) = &of.check {
        output_of(of, criterion, check, CountedIn { counted: &mut counted, missing });
    }
    counted
}

/// Where artifacts are listed.
struct CountedIn<'a> {
    counted: &'a mut Vec<String>,
    missing: &'a mut Vec<MissingArtifact>,
}

fn output_of(of: &LoopEvidence, criterion: &str, check: &SensorReading, to: CountedIn<'_>) {
    match &check.output {
        Some(output) => count(of, criterion, output, to),
        None => {
            let path = format!("output of {}", text::escaped_head(&check.command, LETTERS_MAX));
            to.missing.push(MissingArtifact { criterion: criterion.to_owned(), path, fault: ArtifactFault::Absent });
        }
    }
}

fn count(of: &LoopEvidence, criterion: &str, artifact: &ItemArtifact, to: CountedIn<'_>) {
    let path = text::escaped_head(&artifact.path, LETTERS_MAX);
    match artifact_fault(artifact, of) {
        None => to.counted.push(path),
        Some(fault) => {
            to.missing.push(MissingArtifact { criterion: text::one_line(criterion, LETTERS_MAX), path, fault });
        }
    }
}

/// What is said beside the verdict.
fn flags(of: &LoopEvidence, outside: &[String]) -> Vec<String> {
    let mut flags = Vec::new();
    let mut flag = |what: &str, which: &[String]| {
        if !which.is_empty() {
            flags.push(format!("{what}: {}", bounded(which).join(", ")));
        }
    };
    flag("edits of the agent that were undone", &of.undone);
    flag("changed files outside of the item's scope", outside);
    flag("the agent changed files that its check uses", &of.sensor_files_changed);
    flag("the notes name files that do not exist", &of.notes_name_missing);
    let end = match &of.agent {
        AgentEnd::Failed(why) => Some(format!("the agent ended in an error: {}", text::one_line(why, LETTERS_MAX))),
        AgentEnd::TimedOut => Some("the agent took too long and was ended".to_owned()),
        AgentEnd::Ended | AgentEnd::NotStarted => None,
    };
    flags.extend(end);
    flags
}

fn bounded(all: &[String]) -> Vec<String> {
    let mut shown: Vec<String> =
        all.iter().take(LISTED_MAX).map(|path| text::escaped_head(path, LETTERS_MAX)).collect();
    if all.len() > LISTED_MAX {
        shown.push(format!("and {} more", all.len() - LISTED_MAX));
    }
    shown
}
