//! `loop verify`: the gates of a run that is done are run again on a clean copy of the tree that was judged. The workspace,
//! the run and its checkpoints are not changed, and nothing is left behind.
use std::path::Path;

use loop_core::machine::consult;
use loop_core::policy::gate::Verdict;
use loop_core::run::{JudgePlace, RunState, lost_on_copy};
use loop_core::settings::{GateSpec, JudgeChoice};
use loop_core::view::{GateRun, JudgedAgain, WorkspaceNow};

use crate::checkpoint::{CheckpointContext, open_folder};
use crate::gate::GateProgress;
pub use crate::judge::CleanError;
use crate::judge::{CleanCopy, CleanRequest, CopyKind, GateRange, LiveParts, RanGate, RunCopies, WorkspaceCheck};
use crate::signals::Signals;

/// How often a gate that fails is asked again, to tell whether it is flaky; one that takes longer only once.
const FLAKY_TRIES: u32 = 3;
const QUICK_MS: u64 = 10_000;

/// What is verified again, and how.
#[derive(Debug, Clone, Copy)]
pub struct ReverifyRequest<'a> {
    /// The state of the run.
    pub state: &'a RunState,
    /// Its folder.
    pub run: &'a Path,
    /// Its checkpoints.
    pub context: &'a CheckpointContext,
    /// The checkpoint that was judged.
    pub checkpoint: &'a str,
    /// The hash of its tree.
    pub tree: &'a str,
    /// The folder of all copies.
    pub copies: &'a Path,
    /// Where the copy is made and left; none means that it is removed.
    pub keep: Option<&'a Path>,
    /// Whether the copy also gets what checkpoints leave out, as it is in the workspace now.
    pub ignored: bool,
    /// Whether the copy also gets the workspace's repository.
    pub git: bool,
    /// The hidden gates that are run after the others.
    pub hidden: &'a [GateSpec],
}

/// The result.
#[derive(Debug)]
pub struct Reverified {
    /// The verdicts of the gates, in the order in which they were run.
    pub gates: Vec<GateRun>,
    /// How many of the hidden gates passed.
    pub hidden_passed: u32,
    /// How the workspace differs from the recorded tree now.
    pub workspace: WorkspaceNow,
    /// How the gates were run.
    pub judged: JudgedAgain,
    /// Why everything that no checkpoint holds was as it is in the workspace now, where the run was judged so.
    pub as_workspace: Option<String>,
    /// Required gates that failed first and passed when they were asked again.
    pub flaky: Vec<String>,
}

/// Runs the gates of a run again, judged as the run judges them. The copy and all outputs are removed in any case, unless
/// the copy is to stay. From here on this process may see the copy at the path of the workspace.
///
/// # Errors
/// When the tree is gone, it cannot be copied, or a signal stopped it.
pub fn reverify(
    request: &ReverifyRequest<'_>,
    show: &mut dyn FnMut(GateProgress<'_>),
) -> Result<Reverified, CleanError> {
    let mut signals = Signals::listen()?;
    show(GateProgress::Message("copying the recorded tree".to_owned()));
    let is_auto = request.state.settings.shown().values.gate.judge == JudgeChoice::Auto;
    // Without the workspace the recorded tree is all there is.
    let has_workspace = open_folder(&request.context.workspace).is_ok();
    let kind = if is_auto && has_workspace { CopyKind::Clean } else { CopyKind::RecordedTree };
    // A run that no clean copy could judge was judged in the workspace.
    let as_workspace =
        request.state.proving.workspace_only().filter(|_| kind == CopyKind::Clean).map(|only| only.why.clone());
    let is_workspace = as_workspace.is_some();
    let live =
        LiveParts { ignored: request.ignored || is_workspace, git: request.git || is_workspace, home: is_workspace };
    // Same form as a run id, so that a gate cannot detect a re-run.
    let owner = crate::fs::fresh_id()?;
    let ReverifyRequest { state, run, context, copies, .. } = *request;
    let of = RunCopies { state, run, context, copies };
    let mut copy = CleanCopy::make(CleanRequest {
        kind,
        live,
        workspace: WorkspaceCheck::Compared,
        keep: request.keep,
        hidden: request.hidden,
        ..CleanRequest::new(of, owner.as_str(), request.checkpoint)
    })?;
    let verified = reverify_in(&mut copy, request, &mut signals, show);
    let mut why = Vec::new();
    why.extend(is_workspace.then(|| "it has what is in the workspace now".to_owned()));
    if !is_workspace && live != LiveParts::default() {
        why.push("it has parts of the workspace as they are now".to_owned());
    }
    if kind == CopyKind::RecordedTree {
        let cause = if has_workspace { "--judge workspace" } else { "the workspace is gone" };
        why.push(format!("only the recorded files, with your HOME as it is now ({cause})"));
    }
    let judged = judged(&copy, why);
    let verified = verified.map(|verified| Reverified { as_workspace, judged, ..verified });
    match (verified, copy.close()) {
        (Ok(_), Err(error)) => Err(CleanError::Unable(format!("the copy could not be removed: {error}"))),
        (verified, _) => verified,
    }
}

fn reverify_in(
    copy: &mut CleanCopy<'_>,
    request: &ReverifyRequest<'_>,
    signals: &mut Signals,
    show: &mut dyn FnMut(GateProgress<'_>),
) -> Result<Reverified, CleanError> {
    if copy.last.tree != request.tree {
        let (name, tree) = (request.checkpoint, &copy.last.tree);
        let why = format!("checkpoint {name} holds another tree than the one that was judged: {tree}");
        return Err(CleanError::Gone(why));
    }
    if !signals.take().is_empty() {
        return Err(CleanError::Stopped);
    }
    for remark in copy.remarks() {
        show(GateProgress::Message(remark.words()));
    }
    copy.set_up(signals, show)?;
    let ran = copy.run_gates(GateRange::All, signals, show)?;
    let mut flaky = Vec::new();
    for failed in ran.iter().filter(|ran| ran.run.verdict == Verdict::Fail) {
        if passes_once(copy, failed, signals)? {
            flaky.push(failed.run.name.clone());
        }
    }
    let mut hidden_passed = 0;
    if !request.hidden.is_empty() {
        show(GateProgress::Message("running the hidden gates".to_owned()));
        let ran = copy.run_hidden(request.hidden, GateRange::All, signals)?;
        let passed = ran.iter().filter(|ran| ran.passed()).count();
        hidden_passed = u32::try_from(passed).unwrap_or(u32::MAX);
    }
    let workspace = std::mem::take(&mut copy.workspace_now);
    let gates = ran.into_iter().map(|ran| believed(request.state, ran, show)).collect();
    Ok(Reverified { gates, hidden_passed, workspace, judged: JudgedAgain::default(), as_workspace: None, flaky })
}

/// Where the gates ran, and why that is not clean.
fn judged(copy: &CleanCopy<'_>, mut why: Vec<String>) -> JudgedAgain {
    let place = copy.place();
    if place == JudgePlace::WorkspaceOpened {
        why.push("files of the workspace were opened meanwhile".to_owned());
    }
    why.extend(copy.not_watched());
    JudgedAgain { place, not_clean: (!why.is_empty()).then(|| why.join("; ")) }
}

/// Whether a gate that failed passes when it is asked again: once, and more often where that is quick.
fn passes_once(copy: &CleanCopy<'_>, failed: &RanGate, signals: &mut Signals) -> Result<bool, CleanError> {
    let tries = if failed.run.report.duration_ms < QUICK_MS { FLAKY_TRIES } else { 1 };
    for _ in 0..tries {
        let again = copy.run_some(&|gate| gate == failed.gate, GateRange::All, signals, &mut |_| {})?;
        if again.iter().any(|ran| ran.run.verdict == Verdict::Pass) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The same rule as for the clean copies of a run: a gate does not pass without the tests that must be there.
fn believed(state: &RunState, ran: RanGate, show: &mut dyn FnMut(GateProgress<'_>)) -> GateRun {
    let judged = ran.judged();
    let mut again = ran.run;
    if let Some(lost) = consult(|deciding| lost_on_copy(state, &judged, deciding)) {
        show(GateProgress::Message(format!("{}: not a pass: {lost}", again.name)));
        again.verdict = Verdict::Fail;
        again.not_believed = Some(lost);
    }
    again
}
