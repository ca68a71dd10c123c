//! Everything that may speak against a pass: outputs, copies, probes, changes of the agent, hidden gates.
use super::{certificate, clean_copy, surroundings};
use crate::policy::promise_warning::{PromiseFlaw, promise_warnings};
use crate::policy::proof::{Finding, FindingKind, ProbeResult, RedBefore, StrengthReport};
use crate::policy::protect::{Opportunity, OpportunityKind, is_runner_file};
use crate::run::fact::GatePoint;
use crate::run::gates::Gate;
use crate::run::judge_report::JudgedTree;
use crate::run::judgement::CopyVerdict;
use crate::run::kept_tests::{KeptTests, count_text, kept};
use crate::run::state::RunState;
use crate::text::NameList;

/// All of them but those of the hidden gates.
pub(super) fn all_findings(state: &RunState, point: GatePoint, strength: &StrengthReport) -> Vec<Finding> {
    let mut all = output_findings(state);
    all.extend(copy_findings(state, point, strength));
    all.extend(surroundings::findings(state));
    all.extend(opportunities(state));
    all.extend(harmless_targets(state));
    all.extend(deceiving_promises(state));
    all.extend(without_tests(state));
    all.extend(installed_dependencies(state, point));
    all.extend(changed_ignored(state));
    all
}

pub(super) fn finding(kind: FindingKind, text: String) -> Finding {
    Finding { kind, text, because: None }
}

/// What the outputs of the gates themselves show.
pub(super) fn output_findings(state: &RunState) -> Vec<Finding> {
    let mut all = Vec::new();
    for gate in state.gates.required() {
        let (Some(last), name) = (gate.last(), &gate.spec().name) else { continue };
        if gate.spec().trust_exit {
            continue;
        }
        let most = gate.earlier_tests().most;
        let Some(now) = last.report.tests.as_deref() else {
            if most > 0 {
                let text = format!("{name}: it ran {most} tests before, and shows none now");
                all.push(finding(FindingKind::TestsNotShown, text));
            }
            continue;
        };
        if now.failed > 0 && !gate.spec().promise().wants_failure() {
            let then = if state.iteration > 0 { ", as before iteration 1" } else { "" };
            let text = format!("{name}: {} fail although it exits with 0{then}", count_text(now.failed));
            all.push(finding(FindingKind::FailingTests, text));
        }
        if !now.asked_away.is_nothing() {
            let which = now.asked_away.words();
            let text = format!("{name}: tests that the task asks to remove or rename do not run any more: {which}");
            all.push(finding(FindingKind::AllowedChanges, text));
        }
        if gate.is_selective() {
            let text = format!("{name}: it does not run the same tests each time; whether tests are gone is not known");
            all.push(finding(FindingKind::SelectiveGate, text));
        } else if let KeptTests::No { what } = kept(gate, now) {
            all.push(finding(FindingKind::RenamedTests, format!("{name}: {what}")));
        }
    }
    all
}

/// Which tests that must be there did not run in the workspace.
pub(super) fn lost_in_workspace(gate: &Gate) -> Option<String> {
    match kept(gate, gate.last()?.report.tests.as_deref()?) {
        KeptTests::No { what } => Some(what),
        KeptTests::OtherBrackets | KeptTests::Yes => None,
    }
}

/// What clean copies and probes show.
pub(super) fn copy_findings(state: &RunState, point: GatePoint, strength: &StrengthReport) -> Vec<Finding> {
    let mut all = Vec::new();
    let clean = clean_copy(state, point);
    let cannot = state.proving.workspace_only().is_some();
    let first = state.proving.copy(point, |tree| tree == JudgedTree::Final).map(|copy| &copy.verdict);
    let failed_first = matches!(first, Some(CopyVerdict::Disagrees { .. }));
    if failed_first && clean.is_some_and(|copy| copy.tree == JudgedTree::Again) {
        let text = "flaky: of two clean copies of the same files the gates failed in one and passed in the other";
        all.push(finding(FindingKind::SameTree, text.to_owned()));
    }
    match clean.map(|copy| &copy.verdict) {
        Some(CopyVerdict::Disagrees { what }) if !cannot => {
            let text = format!("the gates pass in the workspace, but not in a clean copy of the same files: {what}");
            all.push(finding(FindingKind::CleanCopy, text));
        }
        Some(CopyVerdict::NotDone { why }) if !cannot => {
            let text = format!("a clean copy of these files cannot be judged, and one of the initial state can: {why}");
            all.push(finding(FindingKind::CleanCopy, text));
        }
        Some(_) | None => all.extend(same_tree(state)),
    }
    let without_new = state.proving.copy(point, |tree| tree == JudgedTree::WithoutNewTests);
    if let Some(CopyVerdict::Disagrees { what }) = without_new.map(|copy| &copy.verdict) {
        let text = format!("without the new test files the gates do not pass: {what}");
        all.push(finding(FindingKind::NewTests, text));
    }
    if strength.canary == ProbeResult::NotNoticed {
        let text = "a failing test was added to a copy, and the gates still pass".to_owned();
        all.push(finding(FindingKind::Canary, text));
    }
    if strength.undo == ProbeResult::NotNoticed && strength.red_before != RedBefore::No {
        let text = "with the sources of the start and the tests of now the gates still pass".to_owned();
        all.push(finding(FindingKind::Undo, text));
    }
    all
}

/// Changed files that define how tests are run, and that have lost nothing by it. Those of the gates are named already.
fn harmless_targets(state: &RunState) -> Option<Finding> {
    let opportunities = || state.certified().into_iter().flat_map(|certified| &certified.opportunities);
    let is_named = |path: &&String| opportunities().any(|one| one.path == **path);
    let names = NameList::of(certificate::harmless_targets(state).filter(|path| !is_named(path)).map(String::as_str));
    let text = format!("files that define how tests are run were changed, and lost nothing: {}", names.words());
    (!names.is_nothing()).then(|| finding(FindingKind::GateFiles, text))
}

/// What the agent changed that could have made the pass easier, by kind.
fn opportunities(state: &RunState) -> Vec<Finding> {
    // Where no gate ever showed tests, no test runner reads these files.
    let runner = state.gates.required().any(|gate| gate.earlier_tests().most > 0);
    let counts =
        move |one: &&Opportunity| runner || one.kind != OpportunityKind::NewRunnerFile || !is_runner_file(&one.path);
    let all = || state.certified().into_iter().flat_map(|certified| &certified.opportunities).filter(counts);
    let kinds = [
        (OpportunityKind::ChangedTest, FindingKind::ChangedTests, "tests of the start were changed"),
        (
            OpportunityKind::NewRunnerFile,
            FindingKind::RunnerConfig,
            "files that a test runner reads are new or changed",
        ),
        (OpportunityKind::ChangedManifest, FindingKind::Manifest, "a file that says how tests are run was changed"),
        (OpportunityKind::GateFile, FindingKind::GateFiles, "files that the gates or the tests use are new or changed"),
        (OpportunityKind::AllowedFile, FindingKind::AllowedChanges, "changed, allowed"),
        (OpportunityKind::OutsideLink, FindingKind::OutsideLinks, "links lead out of the workspace"),
        (OpportunityKind::SuspectLine, FindingKind::SuspectLines, "lines of the change to look at"),
    ];
    let findings = kinds.into_iter().filter_map(|(wanted, kind, text)| {
        let paths = NameList::of(all().filter(|one| one.kind == wanted).map(|one| one.path.as_str()));
        (!paths.is_nothing()).then(|| finding(kind, format!("{text}: {}", paths.words())))
    });
    findings.collect()
}

/// Gates whose exit code does not say whether the work is done.
fn deceiving_promises(state: &RunState) -> Vec<Finding> {
    let gates = state.gates.required().filter_map(|gate| {
        let text = format!("{}: {}", gate.spec().name, hides_exit(state, gate)?);
        Some(finding(FindingKind::DeceivingPromise, text))
    });
    gates.collect()
}

/// How the command of a gate hides whether tests fail, in a sentence.
pub(super) fn hides_exit(state: &RunState, gate: &Gate) -> Option<String> {
    let workspace = state.spec.as_ref().map(|spec| spec.workspace.path.as_str()).unwrap_or_default();
    let hides = |flaw: PromiseFlaw| match flaw {
        PromiseFlaw::PipeHidesExit
        | PromiseFlaw::OutputMatched
        | PromiseFlaw::LastCommandDecides
        | PromiseFlaw::FailureAllowed
        | PromiseFlaw::InBackground
        | PromiseFlaw::ExpandedTooEarly => true,
        PromiseFlaw::ReadsOnlyFiles | PromiseFlaw::AlwaysPasses => false,
    };
    let warnings = promise_warnings(&gate.spec().command, workspace);
    warnings.into_iter().find(|warning| hides(warning.flaw)).map(|warning| warning.sentence)
}

/// Dependencies that came into the clean copy as the agent left them.
fn installed_dependencies(state: &RunState, point: GatePoint) -> Option<Finding> {
    let folders = &clean_copy(state, point)?.installed;
    let text = format!("dependencies are as the agent installed them: {}", folders.join(", "));
    (!folders.is_empty()).then(|| finding(FindingKind::InstalledDependencies, text))
}

/// Ignored files that changed, where the workspace decides because the copies do not have them.
fn changed_ignored(state: &RunState) -> Option<Finding> {
    let files = &state.proving.workspace_only()?.changed_ignored;
    let text = format!("ignored files changed since the start and may have decided: {}", files.words());
    (!files.is_nothing()).then(|| finding(FindingKind::IgnoredFiles, text))
}

/// Gates that run a test runner and pass, although no test ran, now or ever.
fn without_tests(state: &RunState) -> Vec<Finding> {
    let gates = state.gates.required().filter(|gate| {
        let tests = gate.last().and_then(|last| last.report.tests.as_deref());
        !gate.spec().trust_exit && gate.earlier_tests().most == 0 && tests.is_some_and(|now| now.total() == 0)
    });
    let text = |gate: &Gate| format!("{}: it passes, and no test ran", gate.spec().name);
    gates.map(|gate| finding(FindingKind::NoTestRan, text(gate))).collect()
}

/// A gate that failed on the same tree before. Without a clean copy, loop cannot tell which result is right.
fn same_tree(state: &RunState) -> Option<Finding> {
    let tree = state.checkpoints.tree().filter(|_| state.iteration > 0)?;
    let gate = state.gates.required().find(|gate| gate.failed_on(tree))?;
    let name = &gate.spec().name;
    let text = format!(
        "{name}: it failed on the same files before, and passes now: a test is flaky, or something changed that is not \
         recorded"
    );
    Some(finding(FindingKind::SameTree, text))
}

/// What the hidden gates say, without their names.
pub(super) fn hidden_findings(state: &RunState, point: GatePoint) -> Option<Finding> {
    match &state.proving.hidden_copy(point)?.verdict {
        CopyVerdict::Passes => None,
        CopyVerdict::Disagrees { what } => Some(finding(FindingKind::HiddenGate, what.clone())),
        CopyVerdict::NotDone { why } | CopyVerdict::NoProbe { why } => {
            Some(finding(FindingKind::HiddenGateNotRun, format!("the hidden gates could not be run: {why}")))
        }
        CopyVerdict::LikeBaseline | CopyVerdict::UnlikeBaseline { .. } | CopyVerdict::Cancelled => None,
    }
}

/// Hidden gates that were not run at all.
pub(super) fn hidden_not_run(state: &RunState, point: GatePoint) -> Option<Finding> {
    state.proving.hidden().filter(|_| state.proving.hidden_copy(point).is_none())?;
    Some(finding(FindingKind::HiddenGateNotRun, "the hidden gates were not run".to_owned()))
}
