//! What a start takes: whose defaults, names, more text for the prompt, questions to the person.
use super::{InProject, flag};
use crate::settings::choices::Profile;
use crate::settings::value::Kind;

topic! {
    /// What a start takes: whose defaults, names, more text for the prompt, questions to the person.
    StartSettings {
        /// Which defaults apply: those of loop, of loopr, of the container profile, or of the autonomous profile. Values
        /// that you set count more.
        profile: Profile {
            kind: Profile::KIND,
            default: "loop",
            flag: flag("profile", "NAME"),
        }
        /// A template: how the task is put to the agent, with gates and settings. loop template list names them. Whatever
        /// you set by a flag or a variable counts more.
        template: Option<String> {
            kind: Kind::Word,
            flag: flag("template", "NAME"),
        }
        /// The name of the project, for people and for lists.
        project: Option<String> {
            kind: Kind::Text,
            flag: flag("project", "NAME"),
            in_project: InProject::Yes,
        }
        /// The name of this worker, for people and for lists. --agent says which program works.
        agent_name: Option<String> {
            kind: Kind::Text,
            flag: flag("agent-name", "NAME"),
        }
        /// A file whose text is added to every prompt, beside the task. May be given several times.
        inject: Vec<String> {
            kind: Kind::Paths,
            flag: flag("inject", "FILE"),
        }
        /// Approve what the project file wants to run, as it is now.
        approve: bool {
            kind: Kind::Switch,
            default: "false",
            flag: flag("approve", ""),
            in_file: false,
        }
        /// Answer every question of loop's own with yes, instead of asking on a terminal.
        auto_confirm: bool {
            kind: Kind::Switch,
            default: "false",
            flag: flag("auto-confirm", ""),
            may_change: true,
            in_project: InProject::Never,
        }
        /// Work even in your home folder, in / or at the root of a mount.
        allow_any_workspace: bool {
            kind: Kind::Switch,
            default: "false",
            flag: flag("allow-any-workspace", ""),
            in_project: InProject::Never,
        }
    }
}
