//! The evidence that is recorded with the end of a run.
use super::clean_copy;
use crate::policy::protect::target_sentence;
use crate::run::gates::Gate;
use crate::run::judgement::CopyVerdict;
use crate::run::outcome::{Outcome, Proof, ProofGate, ProofHidden, ProofJudge};
use crate::run::state::RunState;

/// The evidence for an end that is done.
pub(in crate::run) fn proof_of(state: &RunState, outcome: Outcome) -> Proof {
    let verified = outcome == Outcome::Verified;
    let gates = state.gates.iter().filter_map(|gate| {
        let last = gate.last()?;
        let tests = last.report.tests.as_ref().map(|tests| (tests.passed, tests.failed, tests.skipped));
        Some(ProofGate {
            name: gate.spec().name.clone(),
            verdict: last.verdict,
            ended: last.report.ended.clone(),
            sha256: last.report.output.sha256.clone(),
            duration_ms: last.report.duration_ms,
            tests,
        })
    });
    let judgement = state.phase.point().and_then(|point| state.proving.judgement(point));
    Proof {
        verified,
        checkpoint: state.checkpoints.newest().map(str::to_owned),
        tree: state.checkpoints.tree().map(str::to_owned),
        git_tree: state.certified().and_then(|certified| certified.git_tree.clone()),
        gates: gates.collect(),
        tools: state.certified().map(|certified| certified.tools.clone()).unwrap_or_default(),
        weaker: weaker(state),
        judge: proof_judge(state, verified),
        judging_ms: state.proving.spent_ms(),
        judge_remarks: judge_remarks(state),
        strength: judgement.and_then(|judgement| judgement.strength.clone()),
        findings: judgement.map(|judgement| judgement.findings.clone()).unwrap_or_default(),
        context_files: state.certified().map(|certified| certified.context_files.clone()).unwrap_or_default(),
        accepted: None,
        named: judgement.map(|judgement| judgement.named.clone()).unwrap_or_default(),
        hidden: proof_hidden(state),
    }
}

/// What the hidden gates said of the pass.
fn proof_hidden(state: &RunState) -> Option<ProofHidden> {
    let count = state.proving.hidden()?.count;
    let copy = state.phase.point().and_then(|point| state.proving.hidden_copy(point));
    // Where they could not be run, nothing ran anywhere.
    let ran = copy.filter(|copy| matches!(copy.verdict, CopyVerdict::Passes | CopyVerdict::Disagrees { .. }));
    let passed = ran.is_some_and(|copy| copy.verdict == CopyVerdict::Passes);
    Some(ProofHidden { count, passed, place: ran.map(|copy| copy.place) })
}

/// What a person should know about the clean copy. If the copy passes, the left-out files are not mentioned.
fn judge_remarks(state: &RunState) -> Vec<String> {
    let copy = state.phase.point().and_then(|point| clean_copy(state, point));
    let remarks = copy.into_iter().flat_map(|copy| &copy.remarks);
    remarks.filter(|remark| remark.left_out().is_none()).map(|remark| remark.words()).collect()
}

/// Where the pass was judged.
fn proof_judge(state: &RunState, verified: bool) -> Option<ProofJudge> {
    let point = state.phase.point().filter(|_| verified)?;
    let accepted = |what: &str, why: &str| format!("a clean copy {what}, which was accepted at the start: {why}");
    let why = match (state.proving.workspace_only(), clean_copy(state, point)) {
        (Some(only), _) => only.why.clone(),
        (None, Some(copy)) => match &copy.verdict {
            CopyVerdict::Passes => return Some(ProofJudge::CleanCopy { place: copy.place }),
            CopyVerdict::Disagrees { what } | CopyVerdict::UnlikeBaseline { what } => accepted("does not pass", what),
            CopyVerdict::NotDone { why } | CopyVerdict::NoProbe { why } => accepted("cannot be judged", why),
            CopyVerdict::LikeBaseline | CopyVerdict::Cancelled => "there is no clean copy".to_owned(),
        },
        (None, None) if state.has_checkpoints() => "it was asked for (--judge workspace)".to_owned(),
        (None, None) => "there are no checkpoints to copy".to_owned(),
    };
    Some(ProofJudge::Workspace { why })
}

/// How the tests are weaker than at the start.
pub(super) fn weaker(state: &RunState) -> Vec<String> {
    weaker_in(state, state.gates.iter())
}

/// The same for the required gates alone.
pub(super) fn weaker_required(state: &RunState) -> Vec<String> {
    weaker_in(state, state.gates.required())
}

/// Sentences about changed files that define how tests are run, without those that have lost nothing by it.
fn lossy_targets(state: &RunState) -> impl Iterator<Item = &String> {
    let harmless: Vec<String> = harmless_targets(state).map(|path| target_sentence(path)).collect();
    state.guard.targets().iter().filter(move |sentence| !harmless.contains(sentence))
}

/// Changed files that define how tests are run, and that have lost nothing by it.
pub(super) fn harmless_targets(state: &RunState) -> impl Iterator<Item = &String> {
    let known = |path: &&String| state.guard.targets().contains(&target_sentence(path));
    state.certified().into_iter().flat_map(|certified| &certified.nothing_lost).filter(known)
}

fn weaker_in<'a>(state: &RunState, gates: impl Iterator<Item = &'a Gate>) -> Vec<String> {
    let mut all = Vec::new();
    for gate in gates {
        let (Some(first), Some(last)) = (gate.first_tests(), gate.last()) else { continue };
        let (name, total, skipped) = (&gate.spec().name, first.total, first.skipped);
        match &last.report.tests {
            None if total > 0 => all.push(format!("{name}: it ran {total} tests at the start, and none now")),
            None => {}
            // What the task asks for is named, and makes nothing weaker.
            Some(now) if now.total().saturating_add(now.asked_away.count) < total && !now.by_suites => {
                let gone = if now.gone.is_nothing() { String::new() } else { format!(" (gone: {})", now.gone.words()) };
                all.push(format!("{name}: {total} tests at the start, {} now{gone}", now.total()));
            }
            Some(_) => {}
        }
        if let Some(now) = last.report.tests.as_ref().filter(|now| now.skipped > skipped) {
            let which = &now.newly_skipped;
            let which = if which.is_nothing() { String::new() } else { format!(" ({})", which.words()) };
            let before = if skipped == 1 { "1 test was".to_owned() } else { format!("{skipped} tests were") };
            let now = if now.skipped == 1 { "1 is".to_owned() } else { format!("{} are", now.skipped) };
            all.push(format!("{name}: {before} skipped at the start, {now} now{which}"));
        }
    }
    all.extend(lossy_targets(state).cloned());
    all.extend(state.certified().into_iter().flat_map(|certified| certified.weaker.iter().cloned()));
    all
}
