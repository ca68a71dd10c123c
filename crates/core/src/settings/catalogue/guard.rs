//! Files and tests that the agent must leave alone.
use super::{InProject, flag};
use crate::settings::choices::OnTamper;
use crate::settings::value::Kind;

topic! {
    /// Files and tests that the agent must leave alone.
    GuardSettings {
        /// A glob of files, as in a .gitignore, that the agent may not change; scripts that the gates name are always
        /// protected. Only files that exist at the start count. May be given several times.
        protect: Vec<String> {
            kind: Kind::Paths,
            flag: flag("protect", "GLOB"),
            in_project: InProject::Extend,
        }
        /// A glob of files that the agent may change although a gate uses them: a script that the gate runs, a Makefile,
        /// the settings of a test runner. It is stronger than --protect and --protect-tests. May be given several times.
        allow: Vec<String> {
            kind: Kind::Paths,
            flag: flag("allow", "GLOB"),
            may_change: true,
        }
        /// Protect the usual test folders and files, too.
        protect_tests: bool {
            kind: Kind::Switch,
            default: "false",
            flag: flag("protect-tests", ""),
            in_project: InProject::TurnOn,
        }
        /// What to do when a protected file was changed: restore it before the gates run and tell the agent, stop the
        /// loop, or allow it.
        on_tamper: OnTamper {
            kind: OnTamper::KIND,
            default: "restore",
            flag: flag("on-tamper", "WHAT"),
            may_change: true,
        }
        /// Not done while there are fewer tests than at the start, more skipped ones, or another test command.
        require_tests_kept: bool {
            kind: Kind::Switch,
            default: "false",
            flag: flag("require-tests-kept", ""),
            in_project: InProject::TurnOn,
            may_change: true,
        }
    }
}
