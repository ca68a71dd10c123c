//! How a loop ends, and what it reports to other programs.
use super::{InProject, flag};
use crate::settings::amounts::Bytes;
use crate::settings::value::Kind;

topic! {
    /// How a loop ends, and what it reports to other programs.
    OutputSettings {
        /// A file that stops the loop: with the word stop after the iteration, with abort at once. A relative path
        /// starts at the workspace. Off unless set.
        stop_file: Option<String> {
            kind: Kind::Path,
            flag: flag("stop-file", "FILE"),
        }
        /// Remove a stop file that is there at the start instead of refusing to start.
        clear_stop: bool {
            kind: Kind::Switch,
            default: "false",
            flag: flag("clear-stop", ""),
            in_file: false,
            may_change: true,
        }
        /// A file for one JSON object that says how the loop ended, written at every end.
        result: Option<String> {
            kind: Kind::Path,
            flag: flag("result", "FILE"),
            in_file: false,
        }
        /// Run notification_cmd when the loop ends, however it ends.
        notify: bool {
            kind: Kind::Switch,
            default: "false",
            flag: flag("notify", ""),
            in_project: InProject::TurnOn,
            may_change: true,
        }
        /// The command that --notify runs, with two more arguments: a title and a text. If it fails, nothing else
        /// changes.
        notification_cmd: String {
            kind: Kind::Command,
            default: "notify-send",
            flag: flag("notification-cmd", "CMD"),
            may_change: true,
        }
        /// Commit what the loop changed when it is done, with your own git. Also after loop resume.
        commit: bool {
            kind: Kind::Switch,
            default: "false",
            flag: flag("commit", ""),
            in_file: false,
            may_change: true,
        }
        /// The message of --commit, in place of the first line of the task.
        commit_message: Option<String> {
            kind: Kind::Text,
            flag: flag("commit-message", "TEXT"),
            in_file: false,
            may_change: true,
        }
        /// With --commit: let programs run that the repository names (hooks, filters).
        commit_hooks: bool {
            kind: Kind::Switch,
            default: "false",
            flag: flag("commit-hooks", ""),
            in_file: false,
            may_change: true,
        }
        /// With --commit: commit files that had uncommitted edits of yours before the loop, too.
        with_own_edits: bool {
            kind: Kind::Switch,
            default: "false",
            flag: flag("with-own-edits", ""),
            in_file: false,
            may_change: true,
        }
        /// How much disk the records of all loops may use together. When a loop starts or ends over it, the outputs
        /// of the loops that ended first are removed; their history stays readable.
        keep_bytes: Option<Bytes> {
            kind: Kind::SizeOrUnlimited,
            default: "10GiB",
            flag: flag("keep-bytes", "SIZE"),
            in_project: InProject::Never,
        }
    }
}
