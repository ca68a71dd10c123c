//! Which agent and model work next, where several are enabled.
//!
//! | file | what is there |
//! |---|---|
//! | `agents` | the enabled agents: `claude,codex:gpt-5.2` |
//! | `task` | what kind of task it is |
//! | `rules` | the rules of `--agent auto` |
//! | `learned` | cost per pass by class of task, from the user's own runs |
//! | `models` | the table of models: strength, cost, context, use; its order is the order of escalation |
//!
//! | I want to … | I go to … |
//! |---|---|
//! | which of several agents works, fail-over, the daily guard | `core/run/choice.rs`; data: `core/policy/router/` |
//! | from `--agent a,b` or `auto` to a list; the count of the guard | `host/agent_list.rs`; `host/ledger/daily.rs` |
//! | the learned router, what counts as a try | `core/policy/router/learned.rs`, `view/tries.rs`; `host/ledger/tries.rs` |
mod agents;
mod learned;
mod models;
mod rules;
mod task;

pub use agents::{AUTO, AgentArm, AgentList, parse_agents};
pub use learned::{ArmScore, PRIOR_TRIES, SCORE_ROWS_MAX, ScoreRow, draw, score, seed_of, task_class};
pub use models::{CostClass, ModelRow, ModelTable, cheapest, next_up};
pub use rules::{Routed, most_capable, route};
pub use task::{COMPLEX, IMPLEMENTATION, RESEARCH, TaskAnalysis, TaskEvidence, TaskSigns, TaskWords, analyse};
