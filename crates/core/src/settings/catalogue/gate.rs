//! When a loop is done: the gates, and what counts without one.
use super::{Flag, InProject, flag};
use crate::settings::amounts::Millis;
use crate::settings::choices::{KeepState, OnRegression};
use crate::settings::gates::GateSpec;
use crate::settings::value::Kind;

topic! {
    /// When a loop is done: the gates, and what counts without one.
    GateSettings {
        /// The shell command that must exit 0 in the workspace for the loop to be done: the gate called promise. A
        /// leading ! turns the answer round.
        promise: Option<String> {
            kind: Kind::Command,
            flag: Flag { long: "promise", short: Some('p'), value: "CMD" },
        }
        /// Another condition that must hold, by name: NAME=CMD, or NAME[2of3,timeout=2m,order=1,watch]=CMD. May be
        /// given several times. 2of3 runs it up to three times, two of which must hold; watch only shows it; cheap ones
        /// run first among those of the same order.
        gate: Vec<GateSpec> {
            kind: Kind::Gates,
            flag: flag("gate", "NAME=CMD"),
        }
        /// Start without any gate: the loop ends when the agent says twice in a row that it is done and changes nothing
        /// more, and the outcome is claimed, not verified.
        no_promise: bool {
            kind: Kind::Switch,
            default: "false",
            flag: flag("no-promise", ""),
        }
        /// How long the promise command may take.
        gate_timeout: Millis {
            kind: Kind::Duration,
            default: "10m",
            flag: flag("gate-timeout", "DURATION"),
            in_project: InProject::Narrow,
            may_change: true,
        }
        /// Without a gate: believe that it is done only if the agent gives its exit signal and has said so often
        /// enough. Off, one word of completion is enough.
        strict_completion: bool {
            kind: Kind::Switch,
            default: "true",
            flag: flag("strict-completion", ""),
            may_change: true,
        }
        /// Without a gate: how often in a row the agent must say that it is done.
        completion_threshold: Option<u32> {
            kind: Kind::CountOrUnlimited(1_000_000),
            default: "2",
            flag: flag("completion-threshold", "N"),
            may_change: true,
        }
        /// Without a gate: the words in <promise>…</promise> by which the agent says, once, that it is done.
        completion_promise: Option<String> {
            kind: Kind::Text,
            default: "COMPLETE",
            flag: flag("completion-promise", "WORDS"),
            may_change: true,
        }
        /// What becomes of an iteration after which something fails that had passed: it is kept, the agent is told
        /// which, or it is told and the workspace goes back to before the iteration.
        on_regression: OnRegression {
            kind: OnRegression::KIND,
            default: "tell",
            flag: flag("on-regression", "WHAT"),
            may_change: true,
        }
        /// Which state of the workspace stays when the loop ends without success: the last one, or the best by its
        /// gates.
        keep: KeepState {
            kind: KeepState::KIND,
            default: "last",
            flag: flag("keep", "WHICH"),
            may_change: true,
        }
    }
}
