//! The commands of one loop: found, run, and their outputs kept as files.
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use loop_core::list::{CommandSource, planned_checks};
use loop_core::list::{Item, List};
use loop_core::policy::gate::Verdict;
use loop_core::policy::item::{
    AgentEnd, ArtifactKind, CriterionEvidence, ItemArtifact, ItemSensor, LoopEvidence, MissingSensor, SensorReading,
    SensorState, paths_in_notes,
};
use loop_core::run::Ended;
use loop_core::settings::GateSpec;
use loop_core::text;
use loop_core::view::GateRun;

use super::approval::ProposedCheck;
use super::artifacts::{hash_of, look_at_artifact};
use super::changes::ItemChanges;
use super::own_files::{LoopStart, UndoneEdits};
use crate::clock;
use crate::fs::handle::open_folder;
use crate::gate::{GateFailure, GateMemory, GateRunner};
use crate::paths::{Home, read_bounded, text_of};
use crate::process::tail_of;

/// The check of the PRD loop specification.
const SCRIPT: &str = "scripts/ralph/loop.sh";
/// Hooks of the repository, and how they are run.
const HOOKS: &str = ".pre-commit-config.yaml";
const RUN_HOOKS: &str = "pre-commit run --all-files";
/// A longer script is not run.
const SCRIPT_BYTES_MAX: u64 = 1024 * 1024;
/// So much of each stream is kept as an artifact, and so much is in the failure vector.
const KEPT_BYTES_MAX: u64 = 1024 * 1024;
const END_BYTES_MAX: usize = 2_000;

/// What a person set for all items.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GivenSensors {
    /// The check command.
    pub check: Option<String>,
    /// The CI command.
    pub ci: Option<String>,
}

/// A command that is to be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownSensor {
    /// What is run.
    pub command: String,
    /// It is a person's own, or they approved it as it is.
    pub is_approved: bool,
    /// What a person would approve, where it comes from the repository.
    pub proposal: Option<ProposedCheck>,
}

/// The commands of one item.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ItemSensors {
    /// The check command. None: no one is known.
    pub check: Option<KnownSensor>,
    /// Pre-commit and CI, where they are configured.
    pub confirmations: Vec<(ItemSensor, KnownSensor)>,
    /// The commands that criteria name, by the criterion.
    pub criteria: Vec<(String, KnownSensor)>,
    /// Files of the repository that are run: they belong to the harness while a loop works.
    pub files: Vec<String>,
}

/// Where the commands of an item are looked for.
#[derive(Debug, Clone, Copy)]
pub struct SensorPlaces<'a> {
    /// The folder by which a person approved them.
    pub workspace: &'a Path,
    /// The folder in which files are read: the same, or a copy of it.
    pub read_in: &'a Path,
    /// The list by its real path.
    pub file: &'a Path,
}

impl ItemSensors {
    /// Finds the commands of an item.
    ///
    /// # Errors
    /// When a file that would be run cannot be read.
    pub fn find(
        home: &Home,
        places: &SensorPlaces<'_>,
        list: &List,
        item: &Item,
        given: &GivenSensors,
    ) -> io::Result<Self> {
        let SensorPlaces { workspace, read_in, file } = *places;
        let own = |command: &String| KnownSensor { command: command.clone(), is_approved: true, proposal: None };
        let proposed = |command: &str, proposal: ProposedCheck| KnownSensor {
            command: command.to_owned(),
            is_approved: proposal.is_approved(home),
            proposal: Some(proposal),
        };
        let of_list =
            |command: &str| proposed(command, ProposedCheck { file: file.to_owned(), text: command.to_owned() });
        let of_file = |name: &str, command: &str| -> io::Result<Option<KnownSensor>> {
            let path = read_in.join(name);
            if path.symlink_metadata().is_err() {
                return Ok(None);
            }
            let bytes = read_bounded(&path, SCRIPT_BYTES_MAX)?;
            let text = String::from_utf8_lossy(&bytes).into_owned();
            Ok(Some(proposed(command, ProposedCheck { file: workspace.join(name), text })))
        };
        let mut found = Self::default();
        let planned = planned_checks(list, Some(&item.id), None);
        for check in &planned {
            let Some(command) = &check.command else { continue };
            if command.source == CommandSource::Criterion {
                found.criteria.push((check.criterion.clone(), of_list(&command.command)));
            }
        }
        let shared = planned.iter().filter_map(|check| check.command.as_ref());
        let shared = shared.filter(|command| command.source != CommandSource::Criterion).map(|one| &one.command).next();
        let script = of_file(SCRIPT, &format!("sh {SCRIPT}"))?;
        found.files.extend(script.iter().map(|_| SCRIPT.to_owned()));
        found.check = given.check.as_ref().map(own).or_else(|| shared.map(|command| of_list(command))).or(script);
        if let Some(hooks) = of_file(HOOKS, RUN_HOOKS)? {
            found.files.push(HOOKS.to_owned());
            found.confirmations.push((ItemSensor::PreCommit, hooks));
        }
        found.confirmations.extend(given.ci.as_ref().map(|command| (ItemSensor::Ci, own(command))));
        Ok(found)
    }

    /// Commands of the repository that no person has approved.
    #[must_use]
    pub fn not_approved(&self) -> Vec<ProposedCheck> {
        let confirmations = self.confirmations.iter().map(|(_, sensor)| sensor);
        let all = self.check.iter().chain(confirmations).chain(self.criteria.iter().map(|(_, sensor)| sensor));
        all.filter(|sensor| !sensor.is_approved).filter_map(|sensor| sensor.proposal.clone()).collect()
    }
}

/// One loop whose agent has ended, with all its processes.
#[derive(Debug, Clone, Copy)]
pub struct LoopReading<'a> {
    /// Where the item was worked on.
    pub workspace: &'a Path,
    /// The folder that gets the outputs of the checks. Outside of the workspace.
    pub outputs: &'a Path,
    /// The item.
    pub item: &'a Item,
    /// The number of the loop, counted over restarts.
    pub number: u32,
    /// What the loop began with.
    pub start: &'a LoopStart,
    /// The commands.
    pub sensors: &'a ItemSensors,
    /// How the agent ended.
    pub agent: &'a AgentEnd,
    /// What changed since the item began. None: it could not be found.
    pub changes: Option<&'a ItemChanges>,
    /// Edits to files of the harness.
    pub edits: &'a UndoneEdits,
    /// What the agent proposes as a note.
    pub notes: &'a str,
    /// `loop/log.txt` and the like that cannot be written.
    pub missing: &'a [MissingSensor],
    /// A change outside of the scope is a failure.
    pub strict_scope: bool,
}

/// Runs the checks and looks at the artifacts. None when a signal stopped it.
///
/// # Errors
/// When a process cannot be ended, or an output cannot be kept.
pub fn read_loop(of: &LoopReading<'_>, runner: &mut GateRunner<'_>) -> Result<Option<LoopEvidence>, GateFailure> {
    let checks_began_ms = clock::now().wall_ms;
    let mut check = None;
    if let Some(sensor) = &of.sensors.check {
        let Some(read) = read_sensor(of, "check", ItemSensor::Check, sensor, runner)? else { return Ok(None) };
        check = Some(read);
    }
    let mut criteria = Vec::new();
    for (at, criterion) in of.item.criteria.iter().enumerate() {
        let sensor = of.sensors.criteria.iter().find(|(id, _)| *id == criterion.id);
        let mut own = None;
        if let Some((_, sensor)) = sensor {
            let name = format!("criterion-{}", at + 1);
            let Some(read) = read_sensor(of, &name, ItemSensor::Check, sensor, runner)? else { return Ok(None) };
            own = Some(read);
        }
        let (id, text) = (criterion.id.clone(), criterion.text.clone());
        criteria.push((CriterionEvidence { id, text, check: own, artifacts: Vec::new() }, &criterion.artifacts));
    }
    let mut confirmations = Vec::new();
    for (which, sensor) in &of.sensors.confirmations {
        let name = if *which == ItemSensor::PreCommit { "pre-commit" } else { "ci" };
        let Some(read) = read_sensor(of, name, *which, sensor, runner)? else { return Ok(None) };
        confirmations.push(read);
    }
    // Checks may write artifacts: they are looked at after all of them.
    let criteria = criteria
        .into_iter()
        .map(|(evidence, paths)| CriterionEvidence {
            artifacts: paths.iter().map(|path| named_artifact(of, path)).collect(),
            ..evidence
        })
        .collect();
    let exists = |path: &String| of.workspace.join(path).symlink_metadata().is_ok();
    Ok(Some(LoopEvidence {
        item: of.item.id.clone(),
        number: of.number,
        began_ms: of.start.began_ms,
        checks_began_ms,
        seen_ms: clock::now().wall_ms,
        agent: of.agent.clone(),
        check,
        confirmations,
        missing: of.missing.to_vec(),
        diff: of.changes.map(|changes| own_artifact(&changes.diff, ArtifactKind::Diff)),
        criteria,
        changed: of.changes.map(|changes| changes.changed.clone()).unwrap_or_default(),
        scope: of.item.scope.clone(),
        strict_scope: of.strict_scope,
        sensor_files_changed: of.edits.not_undone.clone(),
        undone: of.edits.undone.clone(),
        notes_name_missing: paths_in_notes(of.notes).into_iter().filter(|path| !exists(path)).collect(),
    }))
}

/// A file that a criterion names. The harness names it in its log entry, so it is referenced.
fn named_artifact(of: &LoopReading<'_>, path: &str) -> ItemArtifact {
    let before = of.start.artifacts.get(path).cloned().flatten();
    let after = open_folder(of.workspace).ok().and_then(|folder| hash_of(&folder, path));
    ItemArtifact {
        path: path.to_owned(),
        kind: ArtifactKind::Named,
        now: look_at_artifact(of.workspace, path),
        same_bytes: before.is_some() && before == after,
        referenced: true,
    }
}

/// A file that the harness wrote itself.
fn own_artifact(path: &Path, kind: ArtifactKind) -> ItemArtifact {
    let name = path.file_name().map(PathBuf::from).unwrap_or_default();
    let folder = path.parent().unwrap_or_else(|| Path::new("/"));
    let now = look_at_artifact(folder, &text_of(&name));
    ItemArtifact { path: text_of(path), kind, now, same_bytes: false, referenced: true }
}

/// Runs one command, where a person approved it, and keeps its output.
fn read_sensor(
    of: &LoopReading<'_>,
    name: &str,
    which: ItemSensor,
    sensor: &KnownSensor,
    runner: &mut GateRunner<'_>,
) -> Result<Option<SensorReading>, GateFailure> {
    let mut reading = SensorReading {
        sensor: which,
        command: sensor.command.clone(),
        state: SensorState::NotApproved,
        exit_code: None,
        output_end: String::new(),
        output: None,
    };
    if !sensor.is_approved {
        return Ok(Some(reading));
    }
    let gate = GateSpec::new(name, &sensor.command);
    let Some(ran) = runner.judge(&gate, &GateMemory::fresh(false), &mut |_| {})? else { return Ok(None) };
    reading.state = state_of(&ran);
    if let Ended::Exit(code) = &ran.report.ended {
        reading.exit_code = Some(*code);
    }
    let output = runner.output();
    let stream = |voice: &str| text::clean(&tail_of(&output.join(voice), KEPT_BYTES_MAX));
    let (stdout, stderr) = (stream("stdout"), stream("stderr"));
    let kept = format!("$ {}\n{}\n{stdout}{stderr}", sensor.command, ran.report.ended.brief());
    let path = of.outputs.join(format!("{name}.txt"));
    fs::write(&path, kept).map_err(|error| GateFailure::NotStored(error.to_string()))?;
    let shown = if stderr.trim().is_empty() { stdout } else { stderr };
    text::tail(shown.trim_end(), END_BYTES_MAX).clone_into(&mut reading.output_end);
    reading.output = Some(own_artifact(&path, ArtifactKind::CheckOutput));
    Ok(Some(reading))
}

fn state_of(ran: &GateRun) -> SensorState {
    match (ran.verdict, &ran.report.ended) {
        (Verdict::Pass, _) => SensorState::Green,
        (Verdict::Fail | Verdict::Unverifiable, Ended::ByUs) => SensorState::TimedOut,
        (Verdict::Fail, _) => SensorState::Red,
        (Verdict::Unverifiable, ended) => SensorState::CannotRun(ended.brief()),
    }
}
