//! What the criteria of a list say before any work: whether the command that checks each is red now, already green, cannot
//! run, or is flaky.
use serde::{Deserialize, Serialize};

use crate::machine::Deciding;
use crate::policy::gate::Verdict;

/// So often each command is run.
pub const CHECK_TRIES: u32 = 3;
/// What is known of a criterion before any work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CriterionState {
    /// Its check fails, each time: a pass will show work.
    RedNow,
    /// Its check passes before any work: a pass will show nothing.
    AlreadyGreen,
    /// Its check cannot be run, or does not end in time.
    CannotRun,
    /// Its check passes at times.
    Flaky,
    /// Nothing checks it but a person.
    ForAPerson,
    /// Its command comes from the repository, and no person has approved it. It was not run.
    NotApproved,
}

impl CriterionState {
    /// For people.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::RedNow => "red now",
            Self::AlreadyGreen => "already green",
            Self::CannotRun => "cannot run",
            Self::Flaky => "flaky in 3 tries",
            Self::ForAPerson => "for a person",
            Self::NotApproved => "not approved",
        }
    }

    /// Something must be fixed or approved before the list can run.
    #[must_use]
    pub fn is_to_fix(self) -> bool {
        matches!(self, Self::CannotRun | Self::Flaky | Self::NotApproved)
    }
}

/// The state of a criterion by the tries of its command.
#[must_use]
pub fn criterion_state(tries: &[Verdict], _: &Deciding) -> CriterionState {
    let all = |wanted: Verdict| tries.iter().all(|one| *one == wanted);
    match () {
        () if tries.is_empty() => CriterionState::ForAPerson,
        () if tries.contains(&Verdict::Unverifiable) => CriterionState::CannotRun,
        () if all(Verdict::Pass) => CriterionState::AlreadyGreen,
        () if all(Verdict::Fail) => CriterionState::RedNow,
        () => CriterionState::Flaky,
    }
}

/// The state of a criterion that only names files.
#[must_use]
pub fn files_state(are_all_there: bool, _: &Deciding) -> CriterionState {
    if are_all_there { CriterionState::AlreadyGreen } else { CriterionState::RedNow }
}
