//! What a loop sees of its surroundings while it works.
use super::flag;
use crate::settings::choices::{RunMode, RunPriority};
use crate::settings::value::Kind;

topic! {
    /// What a loop sees of its surroundings while it works.
    EnvironmentSettings {
        /// Watch the files of the workspace: what others create, change, delete or move between two iterations is
        /// named in the next prompt.
        watch_workspace: bool {
            kind: Kind::Switch,
            default: "false",
            flag: flag("watch-workspace", ""),
        }
        /// A glob of paths, as in a .gitignore, that --watch-workspace leaves out. May be given several times.
        watch_ignore: Vec<String> {
            kind: Kind::Paths,
            flag: flag("watch-ignore", "GLOB"),
        }
        /// Take instructions from the files of the inbox: NAME.txt goes into the next prompt, 000-NAME.txt at once,
        /// cmd-NAME.txt holds the word pause, resume or status.
        enable_inbox: bool {
            kind: Kind::Switch,
            default: "false",
            flag: flag("enable-inbox", ""),
        }
        /// The folder of the inbox. A relative path starts at the workspace.
        inbox_path: String {
            kind: Kind::Path,
            default: ".harness/inbox",
            flag: flag("inbox-path", "DIR"),
        }
        /// Follow HARNESS_MODE, HARNESS_PAUSE, HARNESS_CLI and HARNESS_PRIORITY: as variables at the start, and in the
        /// file .harness/env while the loop works.
        check_env_vars: bool {
            kind: Kind::Switch,
            default: "false",
            flag: flag("check-env-vars", ""),
        }
        /// How fast it works: normal, turbo (no delay between iterations), or conservative (at
        /// most 100 iterations, a milestone every 5, a pause on a critical alert).
        mode: RunMode {
            kind: RunMode::KIND,
            default: "normal",
            flag: flag("mode", "MODE"),
            may_change: true,
        }
        /// Where several agents may work: speed or cost takes the cheapest model that can work now, quality the most
        /// capable one. None leaves the choice to --router.
        priority: RunPriority {
            kind: RunPriority::KIND,
            default: "none",
            flag: flag("priority", "WHAT"),
            may_change: true,
        }
    }
}

impl EnvironmentSettings {
    /// Whether the loop looks around at all.
    #[must_use]
    pub fn looks_around(&self) -> bool {
        self.watch_workspace || self.enable_inbox || self.check_env_vars
    }
}
