//! When a loop is done: the gates, and what counts without one.
use super::{Flag, InProject, flag};
use crate::settings::amounts::Millis;
use crate::settings::choices::{JudgeChoice, KeepState, OnRegression, StrengthChoice};
use crate::settings::gates::GateSpec;
use crate::settings::value::Kind;

topic! {
    /// When a loop is done: the gates, and what counts without one.
    GateSettings {
        /// The shell command that must exit 0 in the workspace for the loop to be done: the gate called promise. A
        /// leading ! negates it.
        promise: Option<String> {
            kind: Kind::Command,
            flag: Flag { long: "promise", short: Some('p'), value: "CMD" },
        }
        /// Another gate that must pass, by name: NAME=CMD, or NAME[2of3,timeout=2m,order=1,watch]=CMD. May be given
        /// several times. 2of3 runs it up to three times, and it must pass twice; watch only shows the result;
        /// trust-exit believes exit 0 whatever the output says about tests; among gates of the same order the
        /// quickest runs first.
        gate: Vec<GateSpec> {
            kind: Kind::Gates,
            flag: flag("gate", "NAME=CMD"),
        }
        /// Start without any gate: the loop ends when the agent says twice in a row that it is done and changes
        /// nothing more. The outcome is claimed, not verified.
        no_promise: bool {
            kind: Kind::Switch,
            default: "false",
            flag: flag("no-promise", ""),
        }
        /// Let the agent work although the gates pass at the start. The loop is done when the gates pass and an iteration
        /// has changed something.
        work_first: bool {
            kind: Kind::Switch,
            default: "false",
            flag: flag("work-first", ""),
            may_change: true,
        }
        /// Where the gates run once more before the loop is verified: in a clean copy of the recorded tree (auto), or
        /// not again, so that the workspace alone decides (workspace).
        judge: JudgeChoice {
            kind: JudgeChoice::KIND,
            default: "auto",
            flag: flag("judge", "WHERE"),
        }
        /// How strong the gates are: do not try it, try it and report it, or require it for done. It is tried in
        /// clean copies: a failing test is added, and pieces of the change are taken back; the gates must notice.
        strength: StrengthChoice {
            kind: StrengthChoice::KIND,
            default: "report",
            flag: flag("strength", "WHAT"),
            may_change: true,
        }
        /// What may speak against a pass and is accepted from the start: renamed-tests, failing-tests, clean-copy,
        /// same-tree, canary, undo, new-tests, swapped-program, changed-tests, runner-config, reinstalled-program,
        /// manifest, tests-not-shown, selective-gate, deceiving-promise, no-test-ran, gate-files,
        /// installed-dependencies, ignored-files, outside-links, suspect-lines, weaker-tests, strength, outside-files or
        /// outside-settings. May be given several times. It is named with the proof.
        accept: Vec<String> {
            kind: Kind::Findings,
            flag: flag("accept", "WHAT"),
            may_change: true,
        }
        /// The promise passes when its tests run and at least one of them fails: for tests that are written first. No
        /// pass is a run without tests, and one that does not build. Tests that fail before iteration 1 do not count.
        red: bool {
            kind: Kind::Switch,
            default: "false",
            flag: flag("red", ""),
        }
        /// A command that installs the dependencies, such as npm ci. It runs in each clean copy before the gates,
        /// in the place of the dependencies of the workspace, and in the copy of each branch before its first agent call.
        setup: Option<String> {
            kind: Kind::Command,
            flag: flag("setup", "CMD"),
        }
        /// How long the setup command may take.
        setup_timeout: Millis {
            kind: Kind::Duration,
            default: "10m",
            flag: flag("setup-timeout", "DURATION"),
            in_project: InProject::Narrow,
        }
        /// A folder or file of your HOME that clean copies get, as it is: the home of a tool that loop does not know, such
        /// as .mytool/cache. May be given several times.
        judge_home: Vec<String> {
            kind: Kind::Paths,
            flag: flag("judge-home", "PATH"),
        }
        /// How long the promise command may take.
        gate_timeout: Millis {
            kind: Kind::Duration,
            default: "10m",
            flag: flag("gate-timeout", "DURATION"),
            in_project: InProject::Narrow,
            may_change: true,
        }
        /// Without a gate: the loop is done only if the agent gives its exit signal and has said so often enough.
        /// Off: one statement that it is done is enough.
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
        /// What to do when an iteration breaks something that passed: keep it, keep it and tell the agent what broke,
        /// or tell the agent and restore the state before the iteration.
        on_regression: OnRegression {
            kind: OnRegression::KIND,
            default: "tell",
            flag: flag("on-regression", "WHAT"),
            may_change: true,
        }
        /// Which state of the workspace stays when the loop ends without success: the last one, or the one with the
        /// best gate results.
        keep: KeepState {
            kind: KeepState::KIND,
            default: "last",
            flag: flag("keep", "WHICH"),
            may_change: true,
        }
    }
}
