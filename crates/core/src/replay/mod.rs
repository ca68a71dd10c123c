//! Recorded runs under another policy: where it would have ended them, what that saves, and what it loses.
//!
//! | file | what is there |
//! |---|---|
//! | `policy` | which settings a policy may replace, and why others are refused |
//! | `fold` | one run: its facts are folded with the settings replaced, and every decision point is decided again |
//! | `table` | many runs: the sums that people compare |
//! | `selection` | plans with several branches: ranked again by other columns |
//!
//! Only rules that stop are replaced. Until such a rule would have stopped a run, the agent saw the same and did the same,
//! so what was recorded holds. After that nothing is needed. A run that the recorded policy ended, and the other one
//! would have continued, cannot be known, and is counted as that.
//!
//! | I want to … | I go to … |
//! |---|---|
//! | replay recorded runs under another policy | `core/replay/`; which keys: `policy.rs`; `cli/commands/replay.rs` |
mod fold;
mod policy;
mod selection;
mod table;

pub use fold::{RecordedRun, ReplayEnd, ReplayPoint, ReplayedRun, WhyUnknown, replay};
pub use policy::{LADDER_KEYS, PolicyError, ReplayPolicy, STOPPING_KEYS};
pub use selection::{ReplayedPlan, SelectionOrder, replay_plan};
pub use table::{ReplaySums, sums};
