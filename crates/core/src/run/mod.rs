//! The life of one run: events in, facts out.
mod apply;
mod attempt;
pub mod decide;
mod event;
mod fact;
mod keeping;
mod outcome;
mod report;
mod spec;
mod state;
mod step;
mod words;

pub use apply::{INITIAL, INJECTIONS_KEPT_MAX};
pub use event::{Change, Event, Injected, Input, Notice, ProcessId, Request, Target};
pub use fact::{
    CheckpointName, Entry, FACT_BYTES_MAX, Fact, GatePoint, HoldCause, News, Order, PAUSE_MS_MAX, RecallCause,
};
pub use outcome::{Ending, Outcome, Reason, ReasonCode, Standing, standing};
pub use report::{AgentReport, Answer, Changes, Ended, GateReport, Heard, Measured, Output, RolledBack, Saved};
pub use spec::{FileRef, INLINE_BYTES_MAX, Kept, RULES, RunSpec, WorkspaceRef};
pub use state::{Asked, GateMemory, Injections, Keeping, LastGate, OpenOrder, RunState, Session, Spent, Stage};
pub use step::step;
pub use words::{MANUAL, check_name, meant, numbered};
