//! What people and programs see: folds over the journal, never a source of truth.
//!
//! | file | what is there |
//! |---|---|
//! | `now` | what a run is doing now; live line, `loop status` and `loop watch` format it |
//! | `row` | one run in a list |
//! | `history` | iterations with their attempts |
//! | `report` | `loop report`: one run, or all runs of a period, as a page |
//! | `rungs` | what was tried because a run was stuck |
//! | `restored` | protected files that were changed and restored |
//! | `record` `limits` `breaker` | details of one run: claims and events; what is used; the counts of the breaker |
//! | `score` | the progress score of an iteration and of a run |
//! | `result` `certificate` `verification` | the end of a run; its proof; `loop verify` |
//! | `qualification` | what must stand beside the word for an end, on every face |
//! | `plan` | a plan: its nodes with words, the ranking of its branches |
//! | `plan_history` | what happened in a plan: runs of its nodes, merges, requests, the apply |
//! | `alert` | an alert as files and programs see it |
//! | `events` | the events of `loop start --json` |
//! | `harness` | what the autonomous specification shows: lines of its log, its status, its box |
//! | `tries` | which agent worked on which class of task, and whether it passed: for the ledger |
//! | `item_acceptance` | what checks the criteria of a list: before any work, and after a pass |
//! | `item_files` | what is written for one item of a list: log, last error, progress, notes, diagnostics, prompt |
//! | `loopr` | what the Loopr specification asks to publish |
//!
//! A view is never read back to decide anything.
mod alert;
mod breaker;
mod certificate;
mod events;
mod harness;
mod history;
mod item_acceptance;
mod item_files;
mod limits;
mod loopr;
mod now;
mod plan;
mod plan_history;
mod qualification;
mod record;
mod report;
mod restored;
mod result;
mod row;
mod rungs;
mod score;
mod tries;
mod verification;

pub use alert::AlertRow;
pub use breaker::{BreakerCounts, BreakerThresholds, BreakerView, is_tripped};
pub use certificate::{Certificate, CertifiedGate, TestCounts, short_hash};
pub use events::{gate_with_verdict, public_event};
pub use harness::{
    HarnessFold, HarnessLine, HarnessStatus, HarnessStyle, MARKERS_SHOWN_MAX, progress_score, rung_details, strategy,
};
pub use history::{
    AttemptOutcome, AttemptRow, Baseline, GateVerdict, History, IterationOutcome, IterationRow, RollbackRow,
};
pub use item_acceptance::{AcceptanceView, CheckedCriterion, ItemJudgedAgain, OldSources, item_proof_report};
pub use item_files::{
    ItemEscalation, ItemLogEntry, ItemPass, ItemPrompt, RADIUS_LINES, item_diagnostics, item_escalation_line,
    item_last_error, item_log_line, item_log_radius, item_note, item_notes, item_progress_entry, item_prompt,
    item_task, item_verdict_word,
};
pub use limits::{BudgetView, CallsView, RunLimit, SessionView, Used, used};
pub use loopr::{LooprCounts, LooprExitReason, LooprFiles, LooprFold, LooprStatus, exit_reason};
pub use now::{Activity, AgentActivity, GateActivity, LiveDigest, Now, PendingRequest, ToolUse, iteration_text};
pub use plan::{ItemRow, ListRow, NodeRow, PlanView, RankingRow, RankingTable, ViewWord};
pub use plan_history::{AppliedPlan, NodeMerge, NodeRun, PlanHistory, PlanRequestRow};
pub use qualification::{end_words, qualification};
pub use record::{
    BreakerState, CircuitEvent, Claims, EVENTS_MAX, Events, Record, SessionEvent, SessionEventKind, expired,
};
pub use report::{Attention, NextStep, PeriodReport, ReportFold, ReportedIteration, ReportedWait, RunReport};
pub use restored::RestoredRow;
pub use result::{GateResult, RunResult};
pub use row::{Listing, Liveness, Row, Waiting, WaitingSource};
pub use rungs::{RecoveryView, RungRow};
pub use score::{ProgressView, ScoreView, decides as score_decides, markers, score_words};
pub use tries::{Try, tries_of};
pub use verification::{GateRun, HiddenAgain, JudgedAgain, Verification, VerifiedGate, WorkspaceNow};

/// The version of every JSON form that these views have.
pub const JSON_VERSION: u32 = 1;

/// Milliseconds as seconds with three digits, as JSON has them.
#[expect(clippy::cast_precision_loss, reason = "a duration in ms is far below 2^52")]
pub(crate) fn seconds(ms: u64) -> f64 {
    ms as f64 / 1000.0
}
