//! The guard of one run at work: what is looked at when, and what else a measurement wants to know about the workspace.
use std::path::{Path, PathBuf};

use loop_core::run::{Answer, GatePoint, GuardPoint, GuardReport, GuardSpec, Measurement, NameList, RunState};
use loop_core::settings::OnTamper;
use loop_core::text::{self, unescape_path};

use crate::checkpoint::user_git::head_of;
use crate::checkpoint::{
    CheckpointContext, CheckpointError, IgnoredDigest, RunCheckpoints, ignored_digest, whole_digest,
};
use crate::guard::{Originals, ProtectRequest, TamperFound, Tampered};

/// So much is told at once.
const SAID_MAX: usize = 12;

/// What is known between two orders.
pub(crate) struct Guarding {
    run: PathBuf,
    context: CheckpointContext,
    originals: Option<Originals>,
    /// What stood in the way of an original and could only be moved aside: no work either.
    asides: Vec<Vec<u8>>,
    /// What lay in ignored files when that was last looked at.
    ignored: Option<String>,
    /// What lay in all files, where there are no checkpoints.
    whole: Option<IgnoredDigest>,
    /// The commit that the user's repository was at.
    head: Option<Option<String>>,
}

/// An order to look, with what the state knows about it.
#[derive(Debug)]
pub(crate) struct Look {
    point: GuardPoint,
    wanted: GuardSpec,
    on_tamper: OnTamper,
    parent: Option<String>,
}

impl Look {
    pub(crate) fn of(point: GuardPoint, state: &RunState) -> Self {
        let wanted = state.spec.as_ref().and_then(|spec| spec.guard.clone()).unwrap_or_default();
        let on_tamper = state.settings.shown().values.guard.on_tamper;
        Self { point, wanted, on_tamper, parent: state.checkpoints.newest().map(str::to_owned) }
    }

    /// What the tree as it was left is called.
    fn name(&self) -> String {
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

impl Guarding {
    pub(crate) fn new(run: &Path, context: &CheckpointContext) -> Self {
        Self {
            run: run.to_owned(),
            context: context.clone(),
            originals: None,
            asides: Vec::new(),
            ignored: None,
            whole: None,
            head: None,
        }
    }

    /// The state before an iteration is kept: what is compared with it later is looked at now.
    pub(crate) fn begins(&mut self) {
        if self.head.is_none() {
            self.head = Some(head_of(&self.context.workspace));
        }
    }

    /// Where nothing is kept: what the first iteration is compared with.
    pub(crate) fn notices(&mut self) {
        self.whole = self.whole_now();
    }

    /// Where nothing is kept: whether the workspace is what it was when that was last looked at, as far as that is known.
    pub(crate) fn noticed(&mut self) -> Measurement {
        let (before, now) = (self.whole.take(), self.whole_now());
        let noticed = before.as_ref().zip(now.as_ref()).and_then(|(before, now)| {
            let differ = before.digest != now.digest;
            // Of what nobody looks at nothing can be said.
            (differ || !now.is_cut).then_some(differ)
        });
        self.whole = now;
        Measurement { noticed, ..Measurement::default() }
    }

    fn whole_now(&self) -> Option<IgnoredDigest> {
        let originals = self.originals.as_ref();
        let is_protected = |path: &[u8]| is_theirs(originals, &self.asides, path);
        whole_digest(&self.context, &is_protected).ok()
    }

    /// The gates have spoken, and the next iteration begins: what they left in ignored files is not its work.
    pub(crate) fn goes_on(&mut self) {
        if self.ignored.is_some() {
            self.ignored = self.ignored_now();
        }
    }

    fn ignored_now(&self) -> Option<String> {
        let originals = self.originals.as_ref();
        let is_protected = |path: &[u8]| is_theirs(originals, &self.asides, path);
        ignored_digest(&self.context, &is_protected).ok().map(|seen| seen.digest)
    }

    /// Looks at the protected files and does what is wanted about those that were changed.
    pub(crate) fn look(&mut self, look: &Look, checkpoints: Option<&mut RunCheckpoints>) -> Answer {
        match self.looked(look, checkpoints) {
            Ok(guarded) => Answer::Guard(Box::new(guarded)),
            Err(Failed::Guard(error)) => {
                Answer::Failed { what: format!("the protected files cannot be kept: {error}") }
            }
            Err(Failed::Checkpoint(CheckpointError::Blocked(why) | CheckpointError::Refused(why))) => {
                Answer::Failed { what: format!("the tree with changed protected files cannot be kept: {why}") }
            }
            Err(Failed::Checkpoint(CheckpointError::Cancelled)) => {
                Answer::Failed { what: "keeping the workspace was stopped".to_owned() }
            }
        }
    }

    fn looked(&mut self, look: &Look, checkpoints: Option<&mut RunCheckpoints>) -> Result<GuardReport, Failed> {
        let wanted = ProtectRequest { globs: &look.wanted.globs, scripts: &look.wanted.scripts };
        let mut said = Vec::new();
        if self.originals.is_none() {
            let (originals, taken) = Originals::take(&self.run, &self.context, wanted)?;
            said = taken.left_out.iter().map(|why| format!("not protected: {why}")).collect();
            self.originals = Some(originals);
        }
        let Some(originals) = &mut self.originals else { return Ok(GuardReport::default()) };
        let mut guarded = match look.point {
            GuardPoint::Start => GuardReport::default(),
            GuardPoint::People => adopted(originals)?,
            GuardPoint::Gates(GatePoint::Baseline) => released(originals)?,
            GuardPoint::Agent(..) | GuardPoint::Gates(_) => {
                let kept = self.run.join("guard").join(look.name());
                judged(originals, look, (checkpoints, &kept), &mut self.asides)?
            }
        };
        // Also after the agent: what it did to test commands is not taken for a person's later.
        if let GuardPoint::Agent(..) | GuardPoint::Gates(_) = look.point {
            guarded.targets = originals.targets_changed();
            guarded.targets.truncate(SAID_MAX);
        }
        said.append(&mut guarded.remarks);
        said.truncate(SAID_MAX);
        guarded.remarks = said.iter().map(|line| text::one_line(line, 300)).collect();
        guarded.files = u32::try_from(originals.paths().count()).unwrap_or(u32::MAX);
        guarded.watched = originals.watched();
        Ok(guarded)
    }

    /// What an iteration changed, and what kind of files. Ignored ones are looked at only where nothing else changed.
    pub(crate) fn measure(
        &mut self,
        checkpoints: &RunCheckpoints,
        from: Option<&str>,
        to: &str,
    ) -> Result<Measurement, CheckpointError> {
        if self.originals.is_none() {
            self.originals = Originals::open(&self.run, &self.context).ok().flatten();
        }
        let originals = self.originals.as_ref();
        let is_protected = |path: &[u8]| is_theirs(originals, &self.asides, path);
        let (mut measured, tally) = checkpoints.measure_by_kind(from, to, &is_protected)?;
        let number = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        measured.protected = number(tally.protected);
        measured.tests = number(tally.tests);
        if tally.work() == 0 {
            let now = self.ignored_now();
            let differ = self.ignored.is_some() && now.is_some() && now != self.ignored;
            measured.ignored = differ || tally.folders > 0;
            self.ignored = now.or(self.ignored.take());
        } else {
            self.ignored = None;
        }
        let head = head_of(&self.context.workspace);
        measured.head_moved = self.head.as_ref().is_some_and(|before| *before != head);
        self.head = Some(head);
        Ok(measured)
    }
}

/// Whether a change of a path is none of the work: it is protected, or was moved aside for what is.
fn is_theirs(originals: Option<&Originals>, asides: &[Vec<u8>], path: &[u8]) -> bool {
    let below =
        |aside: &Vec<u8>| path.strip_prefix(aside.as_slice()).is_some_and(|rest| matches!(rest, [] | [b'/', ..]));
    originals.is_some_and(|originals| originals.is_protected(path)) || asides.iter().any(below)
}

/// What keeps us from looking.
enum Failed {
    Guard(std::io::Error),
    Checkpoint(CheckpointError),
}

impl From<std::io::Error> for Failed {
    fn from(error: std::io::Error) -> Self {
        Self::Guard(error)
    }
}

/// What people changed while nobody worked holds from now on.
fn adopted(originals: &mut Originals) -> std::io::Result<GuardReport> {
    let found = originals.inspect()?;
    let mut said = Vec::new();
    if !found.changed.is_empty() {
        said.push(format!("changed while nobody worked, and protected as it is now: {}", told(&found).words()));
    }
    said.extend(originals.adopt(&found)?);
    Ok(GuardReport { remarks: said, ..GuardReport::default() })
}

/// What the gates change themselves before any agent has worked is theirs.
fn released(originals: &mut Originals) -> std::io::Result<GuardReport> {
    let found = originals.inspect()?;
    if found.changed.is_empty() {
        return Ok(GuardReport::default());
    }
    originals.release(&found)?;
    let said = vec![format!("not protected, because the gates change it themselves: {}", told(&found).words())];
    Ok(GuardReport { remarks: said, ..GuardReport::default() })
}

fn judged(
    originals: &mut Originals,
    look: &Look,
    (checkpoints, folder): (Option<&mut RunCheckpoints>, &Path),
    asides: &mut Vec<Vec<u8>>,
) -> Result<GuardReport, Failed> {
    let found = originals.inspect()?;
    let added = NameList::of(found.added.iter().map(String::as_str));
    let mut guarded = GuardReport { tampered: told(&found), added, ..GuardReport::default() };
    if found.changed.is_empty() {
        return Ok(guarded);
    }
    match look.on_tamper {
        OnTamper::Stop => {}
        // Told once, not after each iteration.
        OnTamper::Allow => guarded.remarks = originals.adopt(&found)?,
        OnTamper::Restore => {
            if let Some(checkpoints) = checkpoints {
                let saved = checkpoints.take(&look.name(), look.parent.as_deref()).map_err(Failed::Checkpoint)?;
                guarded.checkpoint = saved.checkpoint;
            }
            // A checkpoint lacks what is ignored, and there may be none.
            let restored = originals.restore(&found, Some(folder))?;
            guarded.restored = restored.could_not.is_empty();
            guarded.remarks = restored.could_not.iter().map(|why| format!("could not be put back: {why}")).collect();
            let aside = restored.aside.iter().map(|(path, to)| format!("what stood at {path} is now {to}"));
            guarded.remarks.extend(aside);
            asides.extend(restored.aside.iter().map(|(_, to)| unescape_path(to)));
        }
    }
    Ok(guarded)
}

fn told(found: &TamperFound) -> NameList {
    let told: Vec<String> = found.changed.iter().map(Tampered::describe).collect();
    NameList::of(told.iter().map(String::as_str))
}
