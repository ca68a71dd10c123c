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
    CancelCause, CheckpointName, Entry, FACT_BYTES_MAX, Fact, GatePoint, GuardPoint, HoldCause, Order, PAUSE_MS_MAX,
    PromptNote,
};
pub use guarding::Guarding;
pub use judging::{Best, Judged};
pub use outcome::{Ending, Outcome, Proof, ProofGate, Reason, ReasonCode, Standing, standing};
pub use report::{
    AgentReport, Answer, CertifyReport, Changes, CheckpointReport, Ended, GateReport, GuardReport, Measurement,
    NameList, Output, RollbackReport, StreamReport, TestsSeen, TextDigest, Tool,
};
pub use spec::{FileRef, GuardSpec, INLINE_BYTES_MAX, RunSpec, StoredText, WorkspaceRef};
pub use spending::wanted;
pub use state::{
    Asked, GateMemory, Injections, IterationDelta, Keeping, LastGate, OpenOrder, RunState, Session, Spent, Stage,
};
pub use step::step;
pub use words::{MANUAL, check_name, meant, numbered};
