//! Which of several agents works.
use super::{InProject, flag};
use crate::policy::router::{AgentList, COMPLEX, IMPLEMENTATION, ModelTable, RESEARCH};
use crate::settings::choices::RouterMode;
use crate::settings::value::{Kind, UNLIMITED};

topic! {
    /// Which of several agents works.
    RouterSettings {
        /// The agents that may work, separated by commas, each with its model where you name one: claude,codex:gpt-5.2.
        /// The first works; the others work while it waits for a limit or cannot work. --agent with a list is the same.
        agents: AgentList {
            kind: Kind::Agents,
            flag: flag("agents", "NAME[:MODEL],…"),
            may_change: true,
        }
        /// The agent of a list that works first, where it is in the list. Without it, the first of the list does.
        cli_default: Option<String> {
            kind: Kind::Word,
            flag: flag("cli-default", "NAME"),
            may_change: true,
        }
        /// How agent and model are chosen: the first of the list that can work (fixed), or before each iteration by the
        /// kind of task and the table of models (auto). --agent auto means auto, over all agents that are installed.
        /// Or before each iteration by what a pass cost in your own loops (learned): loop agents --scores shows it.
        /// With shadow the first of the list works, and what learned would have chosen is recorded.
        router: RouterMode {
            kind: RouterMode::KIND,
            default: "fixed",
            flag: flag("router", "HOW"),
            may_change: true,
        }
        /// So many calls a day of the scarcest model of the table (claude-opus-4.5), by all loops together, until midnight
        /// by local time. After that the next most capable enabled model works. With --agent auto it is 50.
        opus_daily_limit: Option<u32> {
            kind: Kind::CountOrUnlimited(100_000),
            default: UNLIMITED,
            flag: flag("opus-daily-limit", "N"),
            in_project: InProject::Narrow,
            may_change: true,
        }
        /// With --router auto: a task that fits no rule goes to the cheapest model. Off: to the most capable one below
        /// the scarcest.
        prefer_cheap: bool {
            kind: Kind::Switch,
            default: "true",
            flag: flag("prefer-cheap", ""),
            may_change: true,
        }
        /// With --router auto: whole words of the task that make it an implementation, separated by commas.
        implementation_words: String {
            kind: Kind::Text,
            default: IMPLEMENTATION,
            flag: flag("implementation-words", "WORD,…"),
            may_change: true,
        }
        /// The same for research.
        research_words: String {
            kind: Kind::Text,
            default: RESEARCH,
            flag: flag("research-words", "WORD,…"),
            may_change: true,
        }
        /// The same for a complex task.
        complex_words: String {
            kind: Kind::Text,
            default: COMPLEX,
            flag: flag("complex-words", "WORD,…"),
            may_change: true,
        }
        /// The table of models, one a line, the cheapest first: AGENT MODEL COST CONTEXT STRENGTH: USE. For example:
        /// codex gpt-5.2 $$ 400k implementation: builds. Their order is the order of escalation. Without it, the
        /// built-in table holds: loop agents shows it.
        models: ModelTable {
            kind: Kind::Models,
            flag: flag("models", "ROW"),
            in_project: InProject::Never,
            may_change: true,
        }
    }
}
