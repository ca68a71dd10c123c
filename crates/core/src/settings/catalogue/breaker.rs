//! When a loop without progress is stopped.
use super::{InProject, flag};
use crate::settings::choices::{BreakerMode, BreakerReset, TestOnlyBy};
use crate::settings::value::Kind;

topic! {
    /// When a loop without progress is stopped.
    BreakerSettings {
        /// Whether a loop that makes no progress is stopped before its last iteration.
        breaker: BreakerMode {
            kind: BreakerMode::KIND,
            default: "on",
            flag: flag("breaker", "WHAT"),
            may_change: true,
        }
        /// End the loop after so many iterations in a row without progress.
        max_no_progress: Option<u32> {
            kind: Kind::CountOrUnlimited(1_000_000),
            default: "3",
            flag: flag("max-no-progress", "N"),
            in_project: InProject::Narrow,
            may_change: true,
        }
        /// End the loop after so many iterations in a row in which the agent ends with the same error.
        max_same_error: Option<u32> {
            kind: Kind::CountOrUnlimited(1_000_000),
            default: "5",
            flag: flag("max-same-error", "N"),
            in_project: InProject::Narrow,
            may_change: true,
        }
        /// End the loop after the workspace has returned so many times to an earlier state.
        max_oscillation: Option<u32> {
            kind: Kind::CountOrUnlimited(1_000_000),
            default: "2",
            flag: flag("max-oscillation", "N"),
            in_project: InProject::Narrow,
            may_change: true,
        }
        /// End the loop after so many iterations in a row with the same words of the agent and the same output of the
        /// gates.
        max_identical_output: Option<u32> {
            kind: Kind::CountOrUnlimited(1_000_000),
            default: "5",
            flag: flag("max-identical-output", "N"),
            in_project: InProject::Narrow,
            may_change: true,
        }
        /// End the loop after so many iterations in a row that change only tests.
        max_test_only: Option<u32> {
            kind: Kind::CountOrUnlimited(1_000_000),
            default: "3",
            flag: flag("max-test-only", "N"),
            in_project: InProject::Narrow,
            may_change: true,
        }
        /// How loop recognises an iteration that changes only tests: by the changed files, or by what the agent says.
        test_only_by: TestOnlyBy {
            kind: TestOnlyBy::KIND,
            default: "measured",
            flag: flag("test-only-by", "HOW"),
            may_change: true,
        }
        /// End the loop when the agent's answer is shorter than the one before by so many percent, twice in a row.
        output_decline: Option<u32> {
            kind: Kind::CountOrUnlimited(100),
            default: "70",
            flag: flag("output-decline", "PERCENT"),
            in_project: InProject::Narrow,
            may_change: true,
        }
        /// Let shorter and shorter answers end the loop even when there was progress.
        decline_alone: bool {
            kind: Kind::Switch,
            default: "false",
            flag: flag("decline-alone", ""),
            may_change: true,
        }
        /// Without a gate: end the loop after so many iterations in a row without a status block.
        max_missing_status: Option<u32> {
            kind: Kind::CountOrUnlimited(1_000_000),
            default: "3",
            flag: flag("max-missing-status", "N"),
            in_project: InProject::Narrow,
            may_change: true,
        }
        /// Without a gate: end the loop after so many iterations in a row in which the agent says that it is done but
        /// gives no exit signal.
        max_done_claims: Option<u32> {
            kind: Kind::CountOrUnlimited(1_000_000),
            default: "5",
            flag: flag("max-done-claims", "N"),
            in_project: InProject::Narrow,
            may_change: true,
        }
        /// What closes a breaker that has tripped: resuming the loop, or only loop reset and --reset-circuit.
        breaker_reset: BreakerReset {
            kind: BreakerReset::KIND,
            default: "resume",
            flag: flag("breaker-reset", "HOW"),
            may_change: true,
        }
        /// Close the breaker that an earlier loop of this project and agent name has tripped, and start.
        reset_circuit: bool {
            kind: Kind::Switch,
            default: "false",
            flag: flag("reset-circuit", ""),
            in_file: false,
            may_change: true,
        }
    }
}
