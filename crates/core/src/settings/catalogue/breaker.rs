//! When a loop without progress is stopped.
use super::{InProject, flag};
use crate::settings::choices::{BreakerMode, BreakerReset, TestOnlyBy};
use crate::settings::value::Kind;

topic! {
    /// When a loop without progress is stopped.
    BreakerSettings {
        /// Whether a loop that gets nowhere is stopped before its last iteration.
        breaker: BreakerMode {
            kind: BreakerMode::KIND,
            default: "on",
            flag: flag("breaker", "WHAT"),
            may_change: true,
        }
        /// So many iterations in a row without progress end the loop.
        max_no_progress: Option<u32> {
            kind: Kind::CountOrUnlimited(1_000_000),
            default: "3",
            flag: flag("max-no-progress", "N"),
            in_project: InProject::Narrow,
            may_change: true,
        }
        /// So many iterations in a row in which the agent ends in the same error end the loop.
        max_same_error: Option<u32> {
            kind: Kind::CountOrUnlimited(1_000_000),
            default: "5",
            flag: flag("max-same-error", "N"),
            in_project: InProject::Narrow,
            may_change: true,
        }
        /// So many returns of the workspace to a state that it had before end the loop.
        max_oscillation: Option<u32> {
            kind: Kind::CountOrUnlimited(1_000_000),
            default: "2",
            flag: flag("max-oscillation", "N"),
            in_project: InProject::Narrow,
            may_change: true,
        }
        /// So many iterations in a row in which the agent says the same words, and the gates too, end the loop.
        max_identical_output: Option<u32> {
            kind: Kind::CountOrUnlimited(1_000_000),
            default: "5",
            flag: flag("max-identical-output", "N"),
            in_project: InProject::Narrow,
            may_change: true,
        }
        /// So many iterations in a row that work on nothing but tests end the loop.
        max_test_only: Option<u32> {
            kind: Kind::CountOrUnlimited(1_000_000),
            default: "3",
            flag: flag("max-test-only", "N"),
            in_project: InProject::Narrow,
            may_change: true,
        }
        /// How an iteration that works on nothing but tests is told: by the files that changed, or by the word of the
        /// agent.
        test_only_by: TestOnlyBy {
            kind: TestOnlyBy::KIND,
            default: "measured",
            flag: flag("test-only-by", "HOW"),
            may_change: true,
        }
        /// An answer that is by so many percent shorter than the one before, twice in a row, ends the loop.
        output_decline: Option<u32> {
            kind: Kind::CountOrUnlimited(100),
            default: "70",
            flag: flag("output-decline", "PERCENT"),
            in_project: InProject::Narrow,
            may_change: true,
        }
        /// Let ever shorter answers end the loop even when there was progress.
        decline_alone: bool {
            kind: Kind::Switch,
            default: "false",
            flag: flag("decline-alone", ""),
            may_change: true,
        }
        /// Without a gate: so many iterations in a row without a status block end the loop.
        max_missing_status: Option<u32> {
            kind: Kind::CountOrUnlimited(1_000_000),
            default: "3",
            flag: flag("max-missing-status", "N"),
            in_project: InProject::Narrow,
            may_change: true,
        }
        /// Without a gate: so many iterations in a row in which the agent says that it is done but gives no exit signal
        /// end the loop.
        max_done_claims: Option<u32> {
            kind: Kind::CountOrUnlimited(1_000_000),
            default: "5",
            flag: flag("max-done-claims", "N"),
            in_project: InProject::Narrow,
            may_change: true,
        }
        /// What closes a breaker that has tripped: going on with the loop, or only loop reset and --reset-circuit.
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
