//! `loop prd check`: the command of each criterion, run three times in a copy of the workspace. Commands of the file are
//! run only where a person approved them.
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use loop_core::list::PlannedCheck;
use loop_core::machine::consult;
use loop_core::policy::gate::Verdict;
use loop_core::policy::item::{ArtifactOnDisk, CHECK_TRIES, CriterionState, criterion_state, files_state};
use loop_core::settings::{GateSpec, Values};
use loop_core::view::CheckedCriterion;

use super::approval::{ProposedCheck, approve_checks};
use super::artifacts::look_at_artifact;
use super::check_copy::CheckCopy;
use crate::gate::{GateContext, GateMemory, GateProgress, GateRunner};
use crate::paths::Home;
use crate::process::{Containment, become_reaper};
use crate::refusal::LaunchRefusal;
use crate::signals::Signals;

/// What is checked, and how.
#[derive(Debug, Clone, Copy)]
pub struct AcceptanceRequest<'a> {
    /// The user's folders.
    pub home: &'a Home,
    /// Where the commands belong.
    pub workspace: &'a Path,
    /// The list, by its real path.
    pub file: &'a Path,
    /// The criteria.
    pub planned: &'a [PlannedCheck],
    /// A person approves the commands of the file as they are now.
    pub approve: bool,
}

/// What the tries of a command said.
#[derive(Debug, Default)]
struct CommandTries {
    verdicts: Vec<Verdict>,
    ends: Vec<String>,
}

/// Runs each command three times. None when a signal stopped it.
///
/// # Errors
/// When an approval is refused, or there is no copy to run them in.
pub fn check_acceptance(
    request: &AcceptanceRequest<'_>,
    show: &mut dyn FnMut(GateProgress<'_>),
) -> Result<Option<Vec<CheckedCriterion>>, LaunchRefusal> {
    if request.approve {
        let proposed: Vec<ProposedCheck> = request.planned.iter().filter_map(|check| request.proposal(check)).collect();
        approve_checks(request.home, &proposed)?;
    }
    let mut commands: BTreeMap<&str, CommandTries> = BTreeMap::new();
    for check in request.planned.iter().filter(|check| request.may_run(check)) {
        if let Some(command) = &check.command {
            commands.entry(&command.command).or_default();
        }
    }
    if !commands.is_empty() && !run_all(request, &mut commands, show).map_err(|error| unable(&error))? {
        return Ok(None);
    }
    Ok(Some(request.planned.iter().map(|check| request.checked(check, &commands)).collect()))
}

fn unable(error: &io::Error) -> LaunchRefusal {
    LaunchRefusal::unable("the checks cannot be run").because(error.to_string())
}

impl AcceptanceRequest<'_> {
    /// What a person must approve, where the command comes from the file.
    fn proposal(&self, check: &PlannedCheck) -> Option<ProposedCheck> {
        let command = check.command.as_ref().filter(|command| command.source.is_proposal())?;
        Some(ProposedCheck { file: self.file.to_owned(), text: command.command.clone() })
    }

    fn may_run(&self, check: &PlannedCheck) -> bool {
        self.proposal(check).is_none_or(|proposed| proposed.is_approved(self.home))
    }

    fn checked(&self, check: &PlannedCheck, commands: &BTreeMap<&str, CommandTries>) -> CheckedCriterion {
        let tried = check.command.as_ref().and_then(|command| commands.get(command.command.as_str()));
        let are_there = || {
            let there = |path: &String| matches!(look_at_artifact(self.workspace, path), ArtifactOnDisk::File { .. });
            check.artifacts.iter().all(there)
        };
        let state = match (tried, &check.command) {
            (Some(tried), _) => consult(|deciding| criterion_state(&tried.verdicts, deciding)),
            (None, Some(_)) => CriterionState::NotApproved,
            (None, None) if check.artifacts.is_empty() => CriterionState::ForAPerson,
            (None, None) => consult(|deciding| files_state(are_there(), deciding)),
        };
        CheckedCriterion {
            item: check.item.clone(),
            criterion: check.criterion.clone(),
            text: check.text.clone(),
            command: check.command.as_ref().map(|command| command.command.clone()),
            source: check.command.as_ref().map(|command| command.source),
            artifacts: check.artifacts.clone(),
            state,
            tries: tried.map(|tried| tried.ends.clone()).unwrap_or_default(),
            line: check.line,
        }
    }
}

/// Runs the commands in one copy, one after the other. Says whether no signal stopped it.
fn run_all(
    request: &AcceptanceRequest<'_>,
    commands: &mut BTreeMap<&str, CommandTries>,
    show: &mut dyn FnMut(GateProgress<'_>),
) -> io::Result<bool> {
    let mut signals = Signals::listen()?;
    become_reaper()?;
    show(GateProgress::Message("copying the workspace".to_owned()));
    let copy = CheckCopy::make(&request.home.copies(), request.workspace)?;
    let values = Values::default();
    let owner = crate::fs::fresh_id()?;
    let containment = Containment::new(owner.as_str(), values.agent.containment.word(), None)?;
    let context =
        GateContext { folder: &copy.tree, same: None, is_copy: true, secrets: Arc::default(), variables: Vec::new() };
    let outputs = copy.room.join("outputs");
    let mut runner = GateRunner::new(context, values.gate.gate_timeout.0, outputs, containment, &mut signals);
    for (command, tries) in commands {
        let gate = GateSpec::new("check", command);
        for _ in 0..CHECK_TRIES {
            match runner.judge(&gate, &GateMemory::fresh(false), show) {
                Ok(Some(ran)) => {
                    tries.verdicts.push(ran.verdict);
                    tries.ends.push(ran.report.ended.brief());
                }
                Ok(None) => return Ok(false),
                Err(failure) => {
                    tries.verdicts.push(Verdict::Unverifiable);
                    tries.ends.push(failure.to_string());
                }
            }
            // What cannot run once is not asked again: it may have taken the whole time limit.
            if tries.verdicts.contains(&Verdict::Unverifiable) {
                break;
            }
        }
    }
    Ok(true)
}
