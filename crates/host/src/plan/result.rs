//! How a run of a plan ended, as the plan records it: read from the state that the run's own journal gives.
use loop_core::plan::{ResultStrength, RunDigest};
use loop_core::policy::gate::Verdict;
use loop_core::policy::proof::{FindingKind, ProbeResult, RedBefore, StrengthReport};
use loop_core::policy::reserve::Reserved;
use loop_core::run::{Order, Outcome, Proof, ProofJudge, ReasonCode, RunState};

/// The result of a run that has an end.
pub(super) fn result_of(state: &RunState) -> Option<RunDigest> {
    let (spec, over, standing) = (state.spec.as_ref()?, state.over.as_ref()?, state.standing()?);
    let proof = over.proof.as_deref();
    let done = matches!(over.outcome, Outcome::Verified | Outcome::Accepted | Outcome::Claimed);
    // Of a run that is not done, its best state counts.
    let best = state.progress.best().filter(|_| !done);
    let newest = || state.checkpoints.newest().map(str::to_owned);
    let proved = proof.and_then(|proof| proof.checkpoint.clone());
    let name = best.and_then(|best| best.checkpoint.clone()).or(proved).or_else(newest);
    let watched = |passes: bool| {
        let gates = state.gates.iter().filter(|gate| !gate.is_required());
        let counted = gates.filter_map(|gate| gate.last()).filter(|last| (last.verdict == Verdict::Pass) == passes);
        u32::try_from(counted.count()).unwrap_or(u32::MAX)
    };
    let regressions = state.progress.regressed().len();
    Some(RunDigest {
        run: spec.id.clone(),
        outcome: over.outcome,
        reason: over.reason.clone(),
        exit_code: standing.exit_code,
        iterations: if done { state.iteration } else { state.iterations_done() },
        cost_micros: counted_micros(state),
        cost_unknown: state.budget.spent().cost_untold > 0,
        elapsed_ms: state.active_ms(state.now),
        tokens: state.budget.spent().usage.tokens().unwrap_or(0),
        checkpoint: name,
        // The store has the tree of a state that is not the newest.
        tree: proof.and_then(|proof| proof.tree.clone()).or_else(|| state.checkpoints.tree().map(str::to_owned)),
        rank: best.map(|best| best.rank).or_else(|| state.progress.rank()).unwrap_or_default(),
        gates_passed: state.gated() && (state.gates_pass() || done),
        clean_copy: proof.is_some_and(|proof| matches!(proof.judge, Some(ProofJudge::CleanCopy { .. }))),
        watched_passed: watched(true),
        watched_failed: watched(false),
        regressions: u32::try_from(regressions).unwrap_or(u32::MAX),
        tampered: over.outcome == Outcome::Tampered || state.guard.stands_tampered(),
        weaker: weaker(proof),
        strength: proof.and_then(|proof| proof.strength.as_deref()).map(strength),
        changed: state.progress.changes().unwrap_or_default(),
        share_used_up: false,
    })
}

/// Whether it ended because of its own limit of money.
pub(super) fn is_out_of_money(state: &RunState) -> bool {
    let caps = &state.settings.shown().caps;
    let by_budget = state.over.as_ref().is_some_and(|over| over.reason.code == ReasonCode::BudgetLimit);
    let of_all_runs = matches!(state.budget.call(), Some(Reserved::Denied { .. }));
    let tokens = caps.tokens.is_some_and(|most| state.tokens(state.settings.shown()) >= most);
    by_budget && caps.cost_micros.is_some() && !of_all_runs && !tokens
}

/// What a run has cost as it is counted. Without a limit nothing is reserved, and a call that reports no cost is not
/// counted at its worst.
pub(super) fn counted_micros(state: &RunState) -> u64 {
    let settings = state.settings.shown();
    match settings.caps.cost_micros {
        Some(_) => state.cost_micros(settings),
        None => state.budget.spent().usage.cost_micros.unwrap_or(0),
    }
}

/// What a run without an end has cost as it is counted. Where it has a limit and an agent was at work, that call counts as
/// what it may have cost, as the run itself counts it when it is opened again.
pub(super) fn cut_off_cost(state: &RunState) -> u64 {
    let at_work = state.orders.iter().any(|(_, open)| matches!(open.order, Order::RunAgent { .. }));
    let settings = state.settings.shown();
    let call = if at_work && settings.caps.cost_micros.is_some() { state.worst_micros(settings) } else { 0 };
    counted_micros(state).saturating_add(call)
}

/// In how many ways the tests are weaker than at the start.
fn weaker(proof: Option<&Proof>) -> u32 {
    let Some(proof) = proof else { return 0 };
    let is_weaker = |kind: FindingKind| {
        matches!(kind, FindingKind::WeakerTests | FindingKind::RenamedTests | FindingKind::ChangedTests)
    };
    let found = proof.findings.iter().filter(|finding| is_weaker(finding.kind)).count();
    u32::try_from(found.max(proof.weaker.len())).unwrap_or(u32::MAX)
}

fn strength(report: &StrengthReport) -> ResultStrength {
    let probes = [&report.canary, &report.undo];
    let tried = |probe: &&&ProbeResult| !matches!(probe, ProbeResult::NotTried(_));
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let noticed = probes.iter().filter(|probe| matches!(probe, ProbeResult::Noticed)).count();
    ResultStrength {
        red_before: report.red_before != RedBefore::No,
        noticed: count(noticed).saturating_add(report.hunks_noticed),
        tried: count(probes.iter().filter(tried).count()).saturating_add(report.hunks_tried),
    }
}

/// Millionths of a dollar as `max_cost` reads them.
pub(super) fn dollars(micros: u64) -> String {
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}
