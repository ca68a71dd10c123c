//! How long a loop and its agent may work.
use super::{Flag, InProject, flag};
use crate::settings::amounts::Millis;
use crate::settings::value::Kind;

topic! {
    /// How long a loop and its agent may work.
    LimitSettings {
        /// How many iterations at most.
        max_iterations: Option<u32> {
            kind: Kind::CountOrUnlimited(1_000_000),
            default: "10",
            flag: Flag { long: "max-iterations", short: Some('n'), value: "N" },
            env: Some("LOOP_MAX_ITER"),
            in_project: InProject::Narrow,
            may_change: true,
        }
        /// How long the agent may work in one iteration; by default 30m, for a custom command 5m. At the limit the
        /// agent is ended, its edits stay, the gates run and the loop continues.
        timeout: Millis {
            kind: Kind::Duration,
            default: "5m",
            flag: flag("timeout", "DURATION"),
            env: Some("LOOP_TIMEOUT"),
            in_project: InProject::Narrow,
            may_change: true,
        }
        /// How long the agent may be idle: no output, no changed file, no CPU time of it or of anything it started.
        /// By default 10m, for a custom command unlimited. At the limit it is ended as at its timeout.
        idle_timeout: Option<Millis> {
            kind: Kind::DurationOrUnlimited,
            default: "unlimited",
            flag: flag("idle-timeout", "DURATION"),
            in_project: InProject::Narrow,
            may_change: true,
        }
        /// How long the loop may work in all; time in which it is stopped does not count. At the limit the agent is
        /// ended and the gates run once more.
        max_time: Option<Millis> {
            kind: Kind::DurationOrUnlimited,
            default: "unlimited",
            flag: flag("max-time", "DURATION"),
            in_project: InProject::Narrow,
            may_change: true,
        }
        /// How long to wait between two iterations. A stop, a pause and a resume cut it short.
        delay: Option<Millis> {
            kind: Kind::DurationOrNone,
            default: "none",
            flag: flag("delay", "DURATION"),
            may_change: true,
        }
        /// Warn about more iterations than this where there is neither a time limit nor an iteration limit.
        max_iterations_warning: Option<u32> {
            kind: Kind::CountOrUnlimited(1_000_000),
            default: "100",
            flag: flag("max-iterations-warning", "N"),
            may_change: true,
        }
        /// Warn about so many equal answers in a row.
        identical_output_window: Option<u32> {
            kind: Kind::CountOrUnlimited(1_000_000),
            default: "5",
            flag: flag("identical-output-window", "N"),
            may_change: true,
        }
        /// Warn about iterations shorter than this.
        min_iteration_duration: Option<Millis> {
            kind: Kind::DurationOrNone,
            default: "1s",
            flag: flag("min-iteration-duration", "DURATION"),
            may_change: true,
        }
    }
}
