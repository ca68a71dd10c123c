//! Orders to look at the protected files of a run: what is compared when, and what is done about a change.
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use loop_core::run::{Answer, GatePoint, GuardPoint, GuardReport, GuardSpec, NameList, RunState};
use loop_core::settings::OnTamper;
use loop_core::text::{self, unescape_path};

use super::{GuardRecordError, Originals, ProtectRequest, TamperFound, Tampered};
use crate::checkpoint::{CheckpointContext, CheckpointError, RunCheckpoints};

/// The most remarks, and changed test commands, in one report.
const REMARKS_MAX: usize = 12;

/// So many changed paths are in one report.
const PATHS_MAX: usize = 40;
/// What to do where the record of the originals is gone.
pub(crate) const RECORD_HINT: &str =
    "put the folder guard/ of the loop back from a backup, or roll back to initial and start a new loop";

/// The guard of one run.
pub(crate) struct RunGuard {
    run: PathBuf,
    context: CheckpointContext,
    originals: Option<Originals>,
    /// What was in the place of an original and was moved aside. It does not count as work of the agent.
    moved_aside: Vec<Vec<u8>>,
}

/// An order for the guard, with what the state knows about it.
#[derive(Debug)]
pub(crate) struct GuardOrder {
    point: GuardPoint,
    wanted: GuardSpec,
    on_tamper: OnTamper,
    /// The hash of the record of the originals, as the journal has it.
    record: Option<String>,
    no_agent_worked: bool,
    parent: Option<String>,
    /// What the gates use: its originals are taken before any agent has worked.
    learned: Vec<String>,
    allow: Vec<String>,
    /// Files that a person is asked about: not restored a third time, or not at all because they may be the work.
    asked: Vec<String>,
}

impl GuardOrder {
    pub(crate) fn of(point: GuardPoint, state: &RunState) -> Self {
        let wanted = state.spec.as_ref().and_then(|spec| spec.guard.clone()).unwrap_or_default();
        let settings = &state.settings.shown().values.guard;
        let learned = if state.iteration == 0 { state.guard.learned().to_vec() } else { Vec::new() };
        let asked = match point {
            GuardPoint::Agent(iteration, _) | GuardPoint::Gates(GatePoint::Iteration(iteration)) => {
                let twice = state.guard.restored_twice_before(iteration).map(str::to_owned);
                twice.chain(state.guard.maybe_work().iter().cloned()).collect()
            }
            GuardPoint::Start | GuardPoint::Gates(_) | GuardPoint::People => Vec::new(),
        };
        let record = state.guard.record().map(str::to_owned);
        let parent = state.checkpoints.newest().map(str::to_owned);
        let (on_tamper, allow) = (settings.on_tamper, settings.allow.clone());
        let no_agent_worked = state.iteration == 0;
        Self { point, wanted, on_tamper, record, no_agent_worked, parent, learned, allow, asked }
    }

    /// Whether a person is asked about one of these instead of restoring it.
    fn asks_about(&self, found: &TamperFound) -> bool {
        found.changed.iter().any(|tampered| self.asked.contains(&tampered.path))
    }

    /// The name of the checkpoint with the changed files.
    fn checkpoint_name(&self) -> String {
        match self.point {
            GuardPoint::Agent(iteration, 1) => format!("tampered-{iteration}"),
            GuardPoint::Agent(iteration, attempt) => format!("tampered-{iteration}.{attempt}"),
            GuardPoint::Gates(GatePoint::Iteration(iteration)) => format!("tampered-{iteration}.gates"),
            GuardPoint::Gates(
                GatePoint::Interrupted(iteration, _)
                | GatePoint::Reopened(iteration)
                | GatePoint::RolledBack(iteration),
            ) => format!("tampered-{iteration}.gates-again"),
            GuardPoint::Gates(GatePoint::Baseline) | GuardPoint::Start | GuardPoint::People => "tampered-0".to_owned(),
        }
    }
}

/// Why an order cannot be carried out.
enum GuardError {
    Files(std::io::Error),
    Record(GuardRecordError),
    Checkpoint(CheckpointError),
}

impl From<std::io::Error> for GuardError {
    fn from(error: std::io::Error) -> Self {
        Self::Files(error)
    }
}

impl From<GuardRecordError> for GuardError {
    fn from(error: GuardRecordError) -> Self {
        Self::Record(error)
    }
}

impl RunGuard {
    pub(crate) fn new(run: &Path, context: &CheckpointContext) -> Self {
        Self { run: run.to_owned(), context: context.clone(), originals: None, moved_aside: Vec::new() }
    }

    /// The folder that is looked at; none before it was opened.
    pub(crate) fn folder(&self) -> Option<&OwnedFd> {
        self.originals.as_ref().map(Originals::folder)
    }

    /// Reads the originals that were stored before, where there are any with this hash.
    pub(crate) fn open(&mut self, record: Option<&str>) {
        if self.originals.is_none() {
            self.originals = record.and_then(|record| Originals::open(&self.run, &self.context, record).ok());
        }
    }

    /// Whether a change of a path does not count as work: the path is protected, or was moved aside for one that is.
    pub(crate) fn is_excluded(&self, path: &[u8]) -> bool {
        let is_below =
            |aside: &Vec<u8>| path.strip_prefix(aside.as_slice()).is_some_and(|rest| matches!(rest, [] | [b'/', ..]));
        self.originals.as_ref().is_some_and(|originals| originals.is_protected(path))
            || self.moved_aside.iter().any(is_below)
    }

    /// Compares the protected files with the originals, and does what is wanted about those that were changed.
    pub(crate) fn carry_out(&mut self, order: &GuardOrder, checkpoints: Option<&mut RunCheckpoints>) -> Answer {
        match self.report(order, checkpoints) {
            Ok(report) => Answer::Guard(Box::new(report)),
            Err(GuardError::Files(error)) => {
                Answer::Failed { what: format!("the protected files cannot be stored: {error}") }
            }
            Err(GuardError::Record(error)) => Answer::Failed {
                what: format!("{error}; without it loop does not know what these files were: {RECORD_HINT}"),
            },
            Err(GuardError::Checkpoint(
                CheckpointError::Blocked(why) | CheckpointError::Refused(why) | CheckpointError::Gone(why),
            )) => Answer::Failed { what: format!("the tree with changed protected files cannot be stored: {why}") },
            Err(GuardError::Checkpoint(CheckpointError::Cancelled)) => {
                Answer::Failed { what: "the checkpoint of the workspace was cancelled".to_owned() }
            }
        }
    }

    fn report(
        &mut self,
        order: &GuardOrder,
        checkpoints: Option<&mut RunCheckpoints>,
    ) -> Result<GuardReport, GuardError> {
        let wanted = ProtectRequest { globs: &order.wanted.globs, scripts: &order.wanted.scripts };
        let mut remarks = Vec::new();
        if let (None, Some(record)) = (&self.originals, &order.record) {
            self.originals = Some(Originals::open(&self.run, &self.context, record)?);
        }
        if self.originals.is_none() {
            // Only before anything ran: later they would be what the agent left.
            let is_first = order.point == GuardPoint::Start || (order.record.is_none() && order.no_agent_worked);
            if !is_first {
                return Err(GuardRecordError::Missing { path: self.run.join(super::FOLDER) }.into());
            }
            let (originals, taken) = Originals::take(&self.run, &self.context, wanted)?;
            remarks = taken.left_out.iter().map(|why| format!("not protected: {why}")).collect();
            self.originals = Some(originals);
        }
        let Some(originals) = &mut self.originals else { return Ok(GuardReport::default()) };
        originals.leave(&order.allow)?;
        // These orders are synced, and so is everything before them.
        if let (GuardPoint::Agent(..) | GuardPoint::Gates(_), Some(record)) = (order.point, &order.record) {
            originals.remove_other_records(record);
        }
        let mut report = match order.point {
            GuardPoint::Start => GuardReport::default(),
            GuardPoint::People => adopt(originals)?,
            GuardPoint::Gates(GatePoint::Baseline) => release(originals)?,
            GuardPoint::Agent(..) | GuardPoint::Gates(_) => {
                let found = originals.inspect()?;
                let is_tampered = !found.changed.is_empty();
                let mut report = report_of(&found);
                match order.on_tamper {
                    // Reported once, not after each iteration.
                    OnTamper::Allow if is_tampered => report.remarks = originals.adopt(&found)?,
                    OnTamper::Restore if is_tampered && !order.asks_about(&found) => {
                        if let Some(checkpoints) = checkpoints {
                            let saved = checkpoints.take(&order.checkpoint_name(), order.parent.as_deref());
                            report.checkpoint = saved.map_err(GuardError::Checkpoint)?.checkpoint;
                        }
                        // A checkpoint lacks ignored files, and there may be no checkpoints.
                        let copies = self.run.join("guard").join(order.checkpoint_name());
                        self.moved_aside.extend(restore(originals, &found, &copies, &mut report)?);
                    }
                    OnTamper::Allow | OnTamper::Restore | OnTamper::Stop => {}
                }
                report
            }
        };
        // Also after the agent: what it did to test commands is not taken for a person's later.
        if let GuardPoint::Agent(..) | GuardPoint::Gates(_) = order.point {
            report.targets = originals.targets_changed();
            report.targets.truncate(REMARKS_MAX);
        }
        if let GuardPoint::Gates(_) = order.point {
            let new = originals.add(&order.learned)?;
            let names = NameList::of(new.iter().map(String::as_str)).words();
            report.remarks.extend((!new.is_empty()).then(|| format!("protected, because the gates use it: {names}")));
        }
        remarks.append(&mut report.remarks);
        remarks.truncate(REMARKS_MAX);
        report.remarks = remarks.iter().map(|line| text::one_line(line, 300)).collect();
        report.files = u32::try_from(originals.paths().count()).unwrap_or(u32::MAX);
        report.watched = originals.watched();
        report.record = Some(originals.record_hash().to_owned());
        Ok(report)
    }
}

/// What people changed while no agent worked is the original from now on.
fn adopt(originals: &mut Originals) -> std::io::Result<GuardReport> {
    let found = originals.inspect()?;
    let mut remarks = Vec::new();
    if !found.changed.is_empty() {
        let names = report_of(&found).tampered.words();
        remarks.push(format!("changed while no agent worked, and protected in its new form: {names}"));
    }
    remarks.extend(originals.adopt(&found)?);
    Ok(GuardReport { remarks, ..GuardReport::default() })
}

/// What the gates change themselves before any agent has worked is not protected.
fn release(originals: &mut Originals) -> std::io::Result<GuardReport> {
    let found = originals.inspect()?;
    if found.changed.is_empty() {
        return Ok(GuardReport::default());
    }
    originals.release(&found)?;
    let names = report_of(&found).tampered.words();
    let remarks = vec![format!("not protected, because the gates change it themselves: {names}")];
    Ok(GuardReport { remarks, ..GuardReport::default() })
}

/// Restores the originals and stores what was there in `copies`. Gives the paths that had to be moved aside.
fn restore(
    originals: &mut Originals,
    found: &TamperFound,
    copies: &Path,
    report: &mut GuardReport,
) -> std::io::Result<Vec<Vec<u8>>> {
    let restored = originals.restore(found, Some(copies))?;
    report.restored = restored.could_not.is_empty();
    report.remarks = restored.could_not.iter().map(|why| format!("could not be restored: {why}")).collect();
    report.remarks.extend(restored.aside.iter().map(|(path, to)| format!("what was at {path} is now at {to}")));
    Ok(restored.aside.iter().map(|(_, to)| unescape_path(to)).collect())
}

fn report_of(found: &TamperFound) -> GuardReport {
    let changed: Vec<String> = found.changed.iter().map(Tampered::describe).collect();
    GuardReport {
        tampered: NameList::of(changed.iter().map(String::as_str)),
        paths: found.changed.iter().map(|tampered| tampered.path.clone()).take(PATHS_MAX).collect(),
        added: NameList::of(found.added.iter().map(String::as_str)),
        ..GuardReport::default()
    }
}
