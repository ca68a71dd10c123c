//! The life of one run: events in, facts out.
//!
//! | file | what is there |
//! |---|---|
//! | `event` | what can happen: events, requests, notices |
//! | `report` | answers to orders, as digests |
//! | `fact` `judgement` | what is recorded: facts, orders, decisions and their content; which facts must be synced |
//! | `spec` | what a run was started with: the first fact |
//! | `phase` | where an iteration is, one variant for each step |
//! | `state` | the phase and the parts; requests, open orders, trouble |
//! | `clock` `gates` `agent` `provider` `routing` `budget` | parts of the state |
//! | `progress` `guard` `checkpoints` `prompt_memory` `memory` | parts of the state |
//! | `alerts` | a part of the state; also says which alert is due |
//! | `surroundings` | a part of the state: inbox, variables of the harness, files that others changed |
//! | `apply_judged` | a part of `apply`: what judgements change |
//! | `apply` | bookkeeping: the only code that changes the state; it asks no policy |
//! | `evidence` | what must stand before a fact that says *verified* |
//! | `step` | an event in, facts out; what is ordered next |
//! | `deadline` | when something is due: the limits of orders, the time of the run |
//! | `judge` | decisions about what ended: attempt, measurement, gate, round, guard |
//! | `text_order` | short texts that an agent writes for the harness: when, by whom, what came of it |
//! | `remember` | decides what later prompts say about an iteration |
//! | `prove` `judge_report` `proving` | decisions about a pass; what a clean copy showed; what is remembered of it |
//! | `kept_tests` | whether the tests that must be there did run |
//! | `recovery` `recover` | a part of the state: being stuck, and what is tried; the decisions about it |
//! | `choice` `rung_choice` `session` | which agent, model and prompt the next attempt uses; which conversation it continues |
//! | `alert_due` | decisions about alerts: which is due |
//! | `decide` | the one list of everything that ends, holds or continues a run |
//! | `branches` | what a run that is stuck tries in copies, and what came of it |
//! | `checkpoint_name` | how people name checkpoints |
//! | `outcome` | outcomes, reasons, and the one table to status and exit code |
//!
//! | I want to … | I go to … |
//! |---|---|
//! | add a limit | a rule in `decide.rs`, `ReasonCode`, a setting, `RunLimit` in `view/limits.rs`; then the compiler leads |
//! | measure over the whole run | between which trees: `host/checkpoint_thread.rs`; a rollback: `Progress::rolled_back` |
//! | a limit that needs checkpoints | at a start: `host/launch/checks.rs`, `start.rs`; resume and set: `host/changes.rs` |
//! | stuck: what a rung changes | `core/run/rung_choice.rs`; stored: `recovery.rs`; its prompt: `core/prompt/mutate.rs` |
//! | stuck: another agent | checked first: `host/usable_agent.rs`, `launch/container.rs`; described: `run/agent.rs` |
//! | add an alert, change when it is reported | `core/policy/alert.rs`; its evidence: `core/run/alerts.rs` |
//! | remember something for later prompts | decided in `core/run/remember.rs`, stored in `run/memory.rs` |
//! | let an agent write a short text | `core/run/text_order.rs`, `core/prompt/summary.rs`, `host/text_writer.rs` |
mod agent;
mod alert_due;
mod alerts;
mod apply;
mod apply_judged;
mod branches;
mod budget;
mod checkpoint_name;
mod checkpoints;
mod choice;
mod clock;
mod deadline;
pub mod decide;
mod event;
mod evidence;
mod fact;
mod gates;
mod guard;
mod judge;
mod judge_report;
mod judgement;
mod kept_tests;
mod memory;
mod outcome;
mod phase;
mod progress;
mod prompt_memory;
mod prove;
mod provider;
mod proving;
mod recover;
mod recovery;
mod remember;
mod report;
mod routing;
mod rung_choice;
mod session;
mod spec;
mod state;
mod step;
mod surroundings;
mod text_order;

pub use agent::{AgentMemory, Session};
pub use alerts::{ALERTS_MAX, AlertMemory, TimedAlert};
pub use branches::{BestBranch, BranchPlan, BranchesLack, BranchesReport, BranchesSpent};
pub use budget::{Budget, Spent, wanted};
pub use checkpoint_name::{CheckpointClass, MANUAL, check_name, iteration_of, meant, numbered};
pub use checkpoints::{Checkpoints, INITIAL, RollbackCause};
pub use choice::{AgentChoice, AttemptRequest, ChoiceCause, Drawn, PromptVariant, task_signs};
pub use clock::{DriverMode, RunClock};
pub use event::{Change, Event, GateIndex, Injected, Input, NoteChange, Notice, Request, Target};
pub use fact::{
    CancelCause, CheckpointName, Decision, Entry, Fact, GatePoint, GuardPoint, HoldCause, Order, PAUSE_MS_MAX,
    PromptNote,
};
pub use gates::{Gate, Gates, LastGate, TestCount};
pub use guard::Guard;
pub use judge_report::{HunkReport, JudgePlace, JudgeReport, JudgedGate, JudgedTree, LeftOut, NotJudged, Remark};
pub use judgement::{
    AttemptJudgement, AttemptResult, BestJudgement, CleanJudgement, CopyVerdict, DroppedOrder, GateJudgement,
    GuardJudgement, IterationJudgement, IterationMemory, MeasurementJudgement, ProofJudgement, RawMemory,
    RoundJudgement, Tamper, TestSetStability, TextJudgement, WorkspaceOnly,
};
pub use kept_tests::{MergedTests, lost_in_merge, lost_on_copy};
pub use memory::{
    ATTEMPTS_MAX, AttemptLine, DEAD_ENDS_MAX, Memory, Mutation, NOTE_LETTERS_MAX, NOTES_MAX, Note, NoteAuthor,
    RawIteration, SinceBest, Summary,
};
pub use outcome::{
    Acceptance, Ending, LooprState, Outcome, Proof, ProofGate, ProofHidden, ProofJudge, Reason, ReasonCode, Standing,
    Status, standing,
};
pub use phase::{AfterAttempt, Phase};
pub use progress::{Best, IterationDelta, Progress, ScoredIteration};
pub use prompt_memory::{INJECTIONS_KEPT_MAX, Injections, PromptMemory};
pub use provider::Provider;
pub use recovery::{
    ActiveRung, Climb, CutOffBranches, QuestionPack, Recovery, RecoveryDecision, RungBegan, RungChoice, RungEnded,
    RungOutcome, TakenBranch, TriedRung,
};
pub use report::{
    Answer, CertifyReport, CheckpointReport, FileAction, GateProgram, GateReport, GuardReport, Measurement,
    OTHERS_NAMES_MAX, ProgramFile, RollbackReport, RolledBackFile, RolledBackFiles, Tool, ToolChange,
};
pub use routing::Routing;
pub use session::SessionUse;
pub use spec::{FileRef, GuardSpec, HiddenGates, INLINE_BYTES_MAX, Leash, PlanRef, RunSpec, StoredText, WorkspaceRef};
pub use state::{OpenRunOrder, Requests, RunOrders, RunSettings, RunState, Trouble};
pub use step::{Run, next_deadline, step};
pub use surroundings::{
    AroundEvent, EnvChange, FILE_EVENTS_MAX, FileEvent, FileEventKind, FilesChanged, InboxEffect, InboxFile,
    Surroundings, URGENT_INTERRUPTIONS_MAX,
};
pub use text_order::{TextPurpose, TextReport};

// What reports are made of lies below this room, since agents and policies use it too.
pub use crate::agent::{AgentReport, StreamReport};
pub use crate::changes::Changes;
pub use crate::ended::{Ended, Output};
pub use crate::ids::ProcessId;
pub use crate::test_output::{SameNames, TestsSeen};
pub use crate::text::{NameList, TextDigest};
