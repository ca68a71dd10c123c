//! Which findings count against a pass, and what follows.
use super::certificate::{weaker, weaker_required};
use super::clean_copy;
use super::findings::{all_findings, finding, hidden_findings, hidden_not_run, hides_exit};
use super::strength::{fails_under_exit_0, red_before, strength};
use crate::machine::Deciding;
use crate::policy::gate::Verdict;
use crate::policy::proof::{
    self, Finding, FindingKind, FindingWeight, NotTried, NotedBecause, ProbeResult, ProofResult, RedBefore,
    StrengthReport,
};
use crate::run::fact::{GatePoint, PromptNote};
use crate::run::gates::Gate;
use crate::run::judgement::{CopyVerdict, ProofJudgement};
use crate::run::state::RunState;
use crate::settings::{JudgeChoice, StrengthChoice};

/// Collects all findings about this pass, separates those that do not count, and decides: verified, refused, or
/// passed-but.
pub(in crate::run) fn judge_pass(state: &RunState, deciding: &Deciding) -> ProofJudgement {
    let settings = state.settings.read(deciding);
    let point = state.phase.point().unwrap_or(GatePoint::Baseline);
    let strength = strength(state, point, deciding);
    let mut findings = all_findings(state, point, &strength);
    let has_evidence = findings.iter().any(|finding| is_evidence(state, finding.kind, deciding));
    findings.extend(hidden_findings(state, point));
    if !has_evidence {
        findings.extend(hidden_not_run(state, point));
    }
    let required = weaker_required(state);
    if settings.values.guard.require_tests_kept && !required.is_empty() {
        findings.push(finding(FindingKind::WeakerTests, format!("the tests are weaker: {}", required.join("; "))));
    }
    if settings.values.gate.strength == StrengthChoice::Require && !strength.is_shown(deciding) {
        let text = format!("--strength require, and it is not shown: {}", strength.text());
        findings.push(finding(FindingKind::Strength, text));
    }
    let noted = |finding: Finding| {
        let because = why_noted(state, finding.kind, &strength, deciding);
        Finding { because, ..finding }
    };
    let (named, findings): (Vec<Finding>, Vec<Finding>) =
        findings.into_iter().map(noted).partition(|finding| finding.because.is_some());
    let worked = state.iteration > 0;
    let result = proof::result(&findings, state.proving.refused(), worked, deciding);
    let refused_by_hidden = findings.iter().any(|finding| finding.kind == FindingKind::HiddenGate);
    let note = (result == ProofResult::Refused)
        .then(|| PromptNote::NotProven { findings: findings.iter().map(prompt_text).collect() });
    let strength = (worked && strength != StrengthReport::default()).then_some(Box::new(strength));
    ProofJudgement { weaker: weaker(state), findings, named, strength, result, refused_by_hidden, note }
}

/// Why a finding does not count against the pass; none where it does.
fn why_noted(
    state: &RunState,
    kind: FindingKind,
    strength: &StrengthReport,
    deciding: &Deciding,
) -> Option<NotedBecause> {
    let settings = state.settings.read(deciding);
    let gate = &settings.values.gate;
    // With `--judge workspace`, changes in ignored files count as work. So the same tree may honestly get two results.
    let by_choice = gate.judge == JudgeChoice::Workspace;
    let probes = gate.strength != StrengthChoice::Off && !by_choice;
    let opportunity = kind.weight() == FindingWeight::Opportunity;
    if settings.accepted.contains(&kind) {
        return Some(NotedBecause::Accepted);
    }
    if failed_at_start(state, kind) {
        return Some(NotedBecause::AtStart);
    }
    if undo_says_little(state, kind) {
        return Some(NotedBecause::NoTestFailedBefore);
    }
    // The clean copy passes too. The earlier failure came from outside the files, or by chance.
    let point = state.phase.point();
    let clean = point.and_then(|point| clean_copy(state, point));
    let clean_passes = clean.is_some_and(|copy| copy.verdict == CopyVerdict::Passes);
    if kind == FindingKind::SameTree && (by_choice || clean_passes) {
        return Some(NotedBecause::ChanceOrOutside);
    }
    if kind.is_only_named() {
        return Some(NotedBecause::OnlyNamed);
    }
    if opportunity && is_cleared(kind, strength) {
        return Some(NotedBecause::Cleared);
    }
    (opportunity && !probes).then_some(NotedBecause::NoProbes)
}

/// If no test failed at the start, the final tests may pass with the old sources for honest reasons. Then *undo not
/// noticed* is only reported.
fn undo_says_little(state: &RunState, kind: FindingKind) -> bool {
    kind == FindingKind::Undo && red_before(state) != RedBefore::Assertion
}

/// After iteration 0 the gate verdict already excludes new failing tests. So those seen here failed before iteration 1. They
/// are known failures only where something else was to be repaired, and where the exit code can say that tests fail.
fn failed_at_start(state: &RunState, kind: FindingKind) -> bool {
    let is_red = |gate: &Gate| gate.first_round().is_some_and(|first| first.verdict != Verdict::Pass);
    kind == FindingKind::FailingTests
        && state.gates.required().any(is_red)
        && !state.gates.required().any(|gate| fails_under_exit_0(gate) && hides_exit(state, gate).is_some())
}

/// A finding in the words of the next prompt. Of a hidden gate the agent learns nothing more than this.
fn prompt_text(finding: &Finding) -> String {
    if matches!(finding.kind, FindingKind::HiddenGate | FindingKind::HiddenGateNotRun) {
        return "the work is not accepted by a further check".to_owned();
    }
    finding.text.clone()
}

/// True for evidence, unless `--accept` covers it or it was already so at the start.
pub(super) fn is_evidence(state: &RunState, kind: FindingKind, deciding: &Deciding) -> bool {
    let is_accepted = state.settings.read(deciding).accepted.contains(&kind);
    let is_fine = is_accepted || failed_at_start(state, kind) || undo_says_little(state, kind);
    kind.weight() == FindingWeight::Evidence && !is_fine
}

/// Whether a probe shows that nothing came of an opportunity.
fn is_cleared(kind: FindingKind, strength: &StrengthReport) -> bool {
    match kind {
        FindingKind::ChangedTests => strength.undo == ProbeResult::Noticed,
        FindingKind::RunnerConfig
        | FindingKind::ReinstalledProgram
        | FindingKind::Manifest
        | FindingKind::TestsNotShown
        | FindingKind::SelectiveGate => {
            // No canary possible: then *undo noticed* is enough, because the gates still fail with the old sources and
            // these files.
            let no_canary = matches!(strength.canary, ProbeResult::NotTried(NotTried::NotPossible { .. }));
            strength.canary == ProbeResult::Noticed || no_canary && strength.undo == ProbeResult::Noticed
        }
        FindingKind::DeceivingPromise
        | FindingKind::NoTestRan
        | FindingKind::GateFiles
        | FindingKind::AllowedChanges
        | FindingKind::InstalledDependencies
        | FindingKind::IgnoredFiles
        | FindingKind::OutsideLinks
        | FindingKind::SuspectLines
        | FindingKind::OutsideSettings
        | FindingKind::OutsideFiles
        | FindingKind::RenamedTests
        | FindingKind::FailingTests
        | FindingKind::CleanCopy
        | FindingKind::SameTree
        | FindingKind::Canary
        | FindingKind::Undo
        | FindingKind::NewTests
        | FindingKind::SwappedProgram
        | FindingKind::WeakerTests
        | FindingKind::Strength
        | FindingKind::HiddenGate
        | FindingKind::HiddenGateNotRun => false,
    }
}
