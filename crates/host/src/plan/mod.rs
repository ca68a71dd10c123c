//! Plans on this machine: several runs for one goal, each in a copy of the workspace and in a process of its own. What is
//! done, and when, is decided in `core/plan`.
//!
//! | file | what it does | what it does not do |
//! |---|---|---|
//! | `best_of` | what `--best-of` says; from a request for one run to the nodes of a plan | make anything |
//! | `budget` | changed limits for a plan that exists: money of the whole, and those of its loops | |
//! | `workflow` | from a workflow file to a plan: every loop is checked as a start | read the file |
//! | `again` | a workflow file that is read again: what becomes of each node | read the file |
//! | `start` | makes a plan: complete or not at all; holds one again to resume it | drive it |
//! | `drive` | drives a plan to its end, and removes its copies | show anything |
//! | `list` | items of a list of work: read, checked, recorded, ticked | decide |
//! | `phases` | a template of several loops, as a workflow | |
//! | `ports` | ranges of network ports, each for one process at a time | keep other programs from a port |
//! | `sources` | signals, stop file, control socket, words that are typed | decide |
//! | `executor` | one match from an order to what does it | decide |
//! | `open_child` | a child process of a plan, and what its end means | start it |
//! | `answers` | answers to questions, for the environment and for tasks | ask |
//! | `worker` | a thread for checkpoints, copies, merges and the apply | run gates or agents |
//! | `trees` | a tree by its hash, as a checkpoint of the plan or of its runs | |
//! | `recovery` | branches of a run that is stuck: a plan that applies nothing | choose among them |
//! | `resolve` | the run that resolves a conflict: its task and its gates | merge |
//! | `child` | the process that drives one run or runs gates, and ends with its plan | say how the run ended |
//! | `child_process` | the same, seen from the plan | |
//! | `coverage` | how much tests cover, by a report that is there | run a tool |
//! | `merged_tests` | what the loops of a plan know of their tests, for gates on a merged tree | run gates |
//! | `result` | how a run ended, read from its journal | |
//! | `rollback` | a person's rollback of the workspace to a checkpoint of the plan | drive the plan |
//! | `folder` | where plans are, which runs belong to one, whose copies are removed | |
//!
//! | I want to … | I go to … |
//! |---|---|
//! | the process of one branch | `host/plan/child.rs`, `child_process.rs`; its request: `PlanLaunch` in `launch/start.rs` |
//! | what the copy of a branch has: setup, temp folder, ports | `host/plan/executor.rs` (`start`, `setup`), `ports.rs` |
//! | what a branch is ranked by | `core/policy/candidate.rs`; where its numbers come from: `host/plan/result.rs` |
//! | merge checkpoints, apply one to the workspace | `host/merge/` (0043 (`docs/decisions/0043-merge.md`)) |
//! | change which branch of a best-of wins | `core/policy/candidate.rs` |
//! | change what is kept when a plan is resumed | `core/plan/carry.rs`; a larger budget: `host/plan/budget.rs` |
mod again;
mod answers;
mod best_of;
mod budget;
mod child;
mod child_process;
mod coverage;
mod drive;
mod executor;
mod folder;
mod list;
mod merged_tests;
mod open_child;
mod phases;
mod ports;
mod recovery;
mod resolve;
mod result;
mod rollback;
mod sources;
mod start;
mod trees;
mod worker;
mod workflow;

pub use again::{WorkflowBefore, WorkflowChange, preview_workflow, reopen_workflow, workflow_before};
pub use best_of::{BestOf, BranchAgent, Branches};
pub use budget::{budget_request, limits_request, more_budget};
pub use child::run_if_asked;
pub use drive::{DrivenPlan, drive_plan};
pub use folder::{plan_context, read_plan, runs_of_plan, sweep_copies};
pub use list::{ListRequest, PreparedList, create_list, prepare_list};
pub use phases::phases_of_template;
pub use rollback::{is_own_hook, roll_back_plan};
pub use start::{PreparedPlan, ReadyPlan, create_plan, prepare_best_of, reopen_plan};
pub use workflow::{PreparedWorkflow, WorkflowRequest, WorkflowStart, create_workflow, prepare_workflow};
