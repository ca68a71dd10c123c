//! Lists of work: what checks an item, and how much it may use.
use super::{InProject, flag};
use crate::policy::item::ItemBudget;
use crate::settings::amounts::Millis;
use crate::settings::value::Kind;

topic! {
    /// What checks an item of a list, and how much it may use.
    ListSettings {
        /// The command that checks each item of a list. Without it: scripts/ralph/loop.sh, where the project has it and
        /// you approved it, or what the list names.
        check: Option<String> {
            kind: Kind::Command,
            flag: flag("check", "CMD"),
        }
        /// A command that says whether CI passes. Where it is set, an item of a list passes only with it.
        ci_command: Option<String> {
            kind: Kind::Command,
            flag: flag("ci-command", "CMD"),
        }
        /// An item of a list fails where files outside of its declared scope were changed. Without it they are reported.
        strict_scope: bool {
            kind: Kind::Switch,
            default: "false",
            flag: flag("strict-scope", ""),
        }
        /// How many loops an item of a list may take, counted over restarts.
        item_loops: Option<u32> {
            kind: Kind::CountOrUnlimited(1000),
            default: "3",
            flag: flag("item-loops", "N"),
            in_project: InProject::Narrow,
            may_change: true,
        }
        /// How many retries an item of a list has for each type of failure.
        item_retries: Option<u32> {
            kind: Kind::CountOrUnlimited(1000),
            default: "2",
            flag: flag("item-retries", "N"),
            in_project: InProject::Narrow,
            may_change: true,
        }
        /// How long all loops of an item of a list may take together.
        item_time: Option<Millis> {
            kind: Kind::DurationOrUnlimited,
            default: "unlimited",
            flag: flag("item-time", "DURATION"),
            in_project: InProject::Narrow,
            may_change: true,
        }
        /// How many tokens all loops of an item of a list may use together.
        item_tokens: Option<u32> {
            kind: Kind::CountOrUnlimited(u32::MAX),
            default: "unlimited",
            flag: flag("item-tokens", "N"),
            in_project: InProject::Narrow,
            may_change: true,
        }
    }
}

impl ListSettings {
    /// How much an item may use.
    #[must_use]
    pub fn budget(&self) -> ItemBudget {
        ItemBudget {
            loops: self.item_loops.unwrap_or(u32::MAX),
            retries: self.item_retries.unwrap_or(u32::MAX),
            time_ms: self.item_time.map(|time| time.0),
            tokens: self.item_tokens.map(u64::from),
        }
    }
}
