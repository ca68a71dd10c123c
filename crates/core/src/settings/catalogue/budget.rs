//! How many calls, tokens and dollars may be spent.
use super::{InProject, flag};
use crate::policy::prices::Prices;
use crate::settings::amounts::Micros;
use crate::settings::value::Kind;

topic! {
    /// How many calls, tokens and dollars may be spent.
    BudgetSettings {
        /// How many times an agent is called in any hour at most; at the limit the loop waits.
        max_calls_per_hour: Option<u32> {
            kind: Kind::CountOrUnlimited(10_000),
            default: "unlimited",
            flag: flag("max-calls-per-hour", "N"),
            in_project: InProject::Narrow,
            may_change: true,
        }
        /// How many times agents are called in a day at most, by all loops together.
        max_calls_per_day: Option<u32> {
            kind: Kind::CountOrUnlimited(1_000_000),
            default: "unlimited",
            flag: flag("max-calls-per-day", "N"),
            may_change: true,
            in_project: InProject::Never,
        }
        /// How much the loop may cost, in dollars. At most the running call goes over it; an agent that accepts a
        /// limit gets what is left.
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
        /// What a call counts as when its cost is not reported, in dollars. Without it: as much as the dearest call so
        /// far; where none is known, a value for each agent, and never more than the whole limit.
        worst_cost: Option<Micros> {
            kind: Kind::MoneyOrUnlimited,
            flag: flag("worst-cost", "USD"),
            may_change: true,
        }
        /// What a call counts as when its tokens are not reported. Without it: as many as the largest call so far; where
        /// none is known, 1000000, and never more than the whole limit.
        worst_tokens: Option<u32> {
            kind: Kind::CountOrUnlimited(u32::MAX),
            flag: flag("worst-tokens", "N"),
            may_change: true,
        }
        /// Prices for agents that report tokens but no cost, in dollars per million tokens, one model per line:
        /// MODEL-GLOB input=3.00 output=15.00 cache_read=0.30 cache_write=3.75.
        prices: Prices {
            kind: Kind::Prices,
            flag: flag("prices", "PRICES"),
            may_change: true,
        }
        /// Show how many calls are left in the hour, where there is a limit.
        rate_line: bool {
            kind: Kind::Switch,
            default: "true",
            flag: flag("rate-line", ""),
            may_change: true,
        }
    }
}
