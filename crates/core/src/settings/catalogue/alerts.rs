//! What is reported at once, and where it is published.
use super::{InProject, flag};
use crate::settings::value::Kind;

topic! {
    /// What is reported at once, and where it is published.
    AlertSettings {
        /// Tell alerts of all types: no progress, recovery, a limit that is near, another model, the end. Signs of a
        /// runaway loop are reported without it, too.
        alerts: bool {
            kind: Kind::Switch,
            default: "false",
            flag: flag("alerts", ""),
            in_project: InProject::TurnOn,
            may_change: true,
        }
        /// After every so many iterations, tell a milestone and show the status of the loop in a box. Off unless set.
        alert_every: Option<u32> {
            kind: Kind::CountOrUnlimited(1_000_000),
            default: "unlimited",
            flag: flag("alert-every", "N"),
            may_change: true,
        }
        /// End the loop as paused (alert_pause, exit code 1) after a critical alert. loop resume continues it.
        pause_on_critical: bool {
            kind: Kind::Switch,
            default: "false",
            flag: flag("pause-on-critical", ""),
            in_project: InProject::TurnOn,
            may_change: true,
        }
        /// A file that gets each alert as one line of JSON: a path in .harness of the workspace, or one outside of the
        /// workspace. Off unless set.
        alerts_log: Option<String> {
            kind: Kind::Path,
            flag: flag("alerts-log", "FILE"),
        }
        /// Write a log of iterations, progress markers and recovery to .harness/harness.log, and show its lines.
        harness_log: bool {
            kind: Kind::Switch,
            default: "false",
            flag: flag("harness-log", ""),
            in_project: InProject::TurnOn,
        }
        /// Publish the state and the iterations of the loop as an SQLite file, .harness/state.db.
        state_db: bool {
            kind: Kind::Switch,
            default: "false",
            flag: flag("state-db", ""),
            in_project: InProject::TurnOn,
        }
    }
}
