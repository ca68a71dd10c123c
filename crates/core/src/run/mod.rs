//! The life of one run: events in, facts out.
mod agent;
mod apply;
mod budget;
mod checkpoint_name;
mod checkpoints;
mod clock;
pub mod decide;
mod event;
mod fact;
mod gates;
mod guard;
mod judge;
mod judgement;
mod outcome;
mod phase;
mod progress;
mod prompt_memory;
mod provider;
mod report;
mod spec;
mod state;
mod step;

pub use agent::{AgentMemory, Session};
pub use budget::{Budget, Spent, wanted};
pub use checkpoint_name::{MANUAL, check_name, meant, numbered};
pub use checkpoints::{Checkpoints, INITIAL, RollbackCause};
pub use clock::{DriverMode, RunClock};
pub use event::{Change, Event, GateIndex, Injected, Input, Notice, ProcessId, Request, Target};
pub use fact::{
    Act, CancelCause, CheckpointName, Decision, Entry, FACT_BYTES_MAX, Fact, GatePoint, GuardPoint, HoldCause, Order,
    PAUSE_MS_MAX, PromptNote,
};
pub use gates::{Gate, Gates, LastGate, TestCount};
pub use guard::Guard;
pub use judgement::{
    AttemptJudgement, AttemptResult, BestJudgement, DroppedOrder, GateJudgement, GuardJudgement, IterationJudgement,
    MeasurementJudgement, ProofJudgement, RoundJudgement, Tamper,
};
pub use outcome::{Ending, Outcome, Proof, ProofGate, Reason, ReasonCode, Standing, standing};
pub use phase::{AfterAttempt, Phase};
pub use progress::{Best, IterationDelta, Progress};
pub use prompt_memory::{INJECTIONS_KEPT_MAX, Injections, PromptMemory};
pub use provider::Provider;
pub use report::{Answer, CertifyReport, CheckpointReport, GateReport, GuardReport, Measurement, RollbackReport, Tool};
pub use spec::{FileRef, GuardSpec, INLINE_BYTES_MAX, RunSpec, StoredText, WorkspaceRef};
pub use state::{OpenOrder, Orders, Requests, RunSettings, RunState, Trouble};
pub use step::{Run, next_deadline, step};

// What reports are made of lies below this room, since agents and policies use it too.
pub use crate::agent::{AgentReport, StreamReport};
pub use crate::changes::Changes;
pub use crate::ended::{Ended, Output};
pub use crate::test_output::TestsSeen;
pub use crate::text::{NameList, TextDigest};
