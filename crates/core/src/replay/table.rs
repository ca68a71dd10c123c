//! The sums over many replayed runs.
use super::fold::{ReplayEnd, ReplayedRun};
use crate::run::standing;

/// What a policy makes of many runs. What cannot be known is in no other sum than that of runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReplaySums {
    /// All runs.
    pub runs: u32,
    /// What those that can be known cost as recorded, in millionths of a dollar.
    pub recorded_cost_micros: u64,
    /// What they cost under the policy.
    pub cost_micros: u64,
    /// Their calls under the policy.
    pub calls: u32,
    /// Calls whose cost was not reported.
    pub cost_untold: u32,
    /// Runs that are solved under the policy.
    pub solved: u32,
    /// Runs that end sooner and were not solved in the end.
    pub stopped_sooner: u32,
    /// What those that end sooner save, in millionths of a dollar.
    pub saved_micros: u64,
    /// Their calls that are not made.
    pub saved_calls: u32,
    /// The time that they do not work.
    pub saved_ms: u64,
    /// Runs that were solved and are not under the policy.
    pub lost: u32,
    /// Runs that cannot be known.
    pub unknown: u32,
    /// Runs that were on a long leash.
    pub on_leash: u32,
}

/// The sums of these runs.
#[must_use]
pub fn sums(runs: &[ReplayedRun]) -> ReplaySums {
    let mut sums = ReplaySums::default();
    for ReplayedRun { recorded, end } in runs {
        sums.runs += 1;
        sums.on_leash += u32::from(recorded.leash);
        let at = match end {
            ReplayEnd::Unknown(_) => {
                sums.unknown += 1;
                continue;
            }
            ReplayEnd::Same | ReplayEnd::OtherReason { .. } => {
                sums.solved += u32::from(recorded.is_solved());
                &recorded.at
            }
            ReplayEnd::Sooner { outcome, at, .. } => {
                let solved = standing(*outcome).exit_code == 0;
                sums.solved += u32::from(solved);
                sums.lost += u32::from(recorded.is_solved() && !solved);
                sums.stopped_sooner += u32::from(!recorded.is_solved());
                at
            }
        };
        let saved = recorded.at.cost_micros.saturating_sub(at.cost_micros);
        sums.recorded_cost_micros = sums.recorded_cost_micros.saturating_add(recorded.at.cost_micros);
        sums.cost_micros = sums.cost_micros.saturating_add(at.cost_micros);
        sums.calls = sums.calls.saturating_add(at.calls);
        sums.cost_untold = sums.cost_untold.saturating_add(at.cost_untold);
        sums.saved_micros = sums.saved_micros.saturating_add(saved);
        sums.saved_calls = sums.saved_calls.saturating_add(recorded.at.calls.saturating_sub(at.calls));
        sums.saved_ms = sums.saved_ms.saturating_add(recorded.at.active_ms.saturating_sub(at.active_ms));
    }
    sums
}
