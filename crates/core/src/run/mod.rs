//! The life of one run: events in, facts out.
mod apply;
mod attempt;
pub mod decide;
mod due;
mod event;
mod fact;
mod guarding;
mod judging;
mod keeping;
mod outcome;
mod report;
mod spec;
mod spending;
mod state;
mod step;
mod words;

pub use apply::{INITIAL, INJECTIONS_KEPT_MAX};
pub use due::Timing;
pub use event::{Change, Event, Injected, Input, Notice, ProcessId, Request, Target};
pub use fact::{
    CheckpointName, Entry, FACT_BYTES_MAX, Fact, GatePoint, GuardPoint, HoldCause, News, Order, PAUSE_MS_MAX,
    RecallCause,
};
pub use guarding::Guarding;
pub use judging::{Best, Judged};
pub use outcome::{Ending, Outcome, Proof, ProofGate, Reason, ReasonCode, Standing, standing};
pub use report::{
    AgentReport, Answer, Certified, Changes, Ended, Few, GateReport, Guarded, Heard, Measured, Output, RolledBack,
    Saved, TestsSeen, Tool, WordsDigest,
};
pub use spec::{FileRef, GuardSpec, INLINE_BYTES_MAX, Kept, RULES, RunSpec, WorkspaceRef};
pub use spending::wanted;
pub use state::{
    Asked, Counted, GateMemory, Injections, Keeping, LastGate, OpenOrder, RunState, Session, Spent, Stage,
};
pub use step::step;
pub use words::{MANUAL, check_name, meant, numbered};
