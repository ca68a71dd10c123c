//! How many calls, tokens and dollars may be spent.
use super::{InProject, flag};
use crate::policy::prices::Prices;
use crate::settings::amounts::Micros;
use crate::settings::value::Kind;

topic! {
    /// How many calls, tokens and dollars may be spent.
    BudgetSettings {
        /// How often an agent is called at most in any hour; the loop waits.
        max_calls_per_hour: Option<u32> {
            kind: Kind::CountOrUnlimited(10_000),
            default: "unlimited",
            flag: flag("max-calls-per-hour", "N"),
            in_project: InProject::Narrow,
            may_change: true,
        }
        /// How often agents are called at most in a day by all loops together.
        max_calls_per_day: Option<u32> {
            kind: Kind::CountOrUnlimited(1_000_000),
            default: "unlimited",
            flag: flag("max-calls-per-day", "N"),
            may_change: true,
            in_project: InProject::Never,
        }
        /// How much the loop may cost, in dollars. At most the call that runs goes past it; an agent that takes a limit
        /// is given what is left.
        max_cost: Option<Micros> {
            kind: Kind::MoneyOrUnlimited,
            default: "unlimited",
            flag: flag("max-cost", "USD"),
            in_project: InProject::Narrow,
            may_change: true,
        }
        /// How much all loops together may cost in a day, in dollars.
        max_cost_per_day: Option<Micros> {
            kind: Kind::MoneyOrUnlimited,
            default: "unlimited",
            flag: flag("max-cost-per-day", "USD"),
            may_change: true,
            in_project: InProject::Never,
        }
        /// How many tokens the loop may use, in and out.
        max_tokens: Option<u32> {
            kind: Kind::CountOrUnlimited(u32::MAX),
            default: "unlimited",
            flag: flag("max-tokens", "N"),
            in_project: InProject::Narrow,
            may_change: true,
        }
        /// How many tokens all loops together may use in a day.
        max_tokens_per_day: Option<u32> {
            kind: Kind::CountOrUnlimited(u32::MAX),
            default: "unlimited",
            flag: flag("max-tokens-per-day", "N"),
            may_change: true,
            in_project: InProject::Never,
        }
        /// What a call counts as whose cost nobody tells, in dollars; each known agent has a value of its own.
        worst_cost: Option<Micros> {
            kind: Kind::MoneyOrUnlimited,
            flag: flag("worst-cost", "USD"),
            may_change: true,
        }
        /// What a call counts as whose tokens nobody tells.
        worst_tokens: Option<u32> {
            kind: Kind::CountOrUnlimited(u32::MAX),
            default: "1000000",
            flag: flag("worst-tokens", "N"),
            may_change: true,
        }
        /// Prices for agents that tell tokens but no cost, in dollars a million tokens, one model a line: MODEL-GLOB
        /// input=3.00 output=15.00 cache_read=0.30 cache_write=3.75.
        prices: Prices {
            kind: Kind::Prices,
            flag: flag("prices", "PRICES"),
            may_change: true,
        }
        /// Say how many calls are left in the hour, where there is a limit.
        rate_line: bool {
            kind: Kind::Switch,
            default: "true",
            flag: flag("rate-line", ""),
            may_change: true,
        }
    }
}
