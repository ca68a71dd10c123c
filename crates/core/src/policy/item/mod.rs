//! The rules of one item of a list: whether a loop of it passed, what the next one changes, and when the item ends.
//!
//! They follow the PRD loop specification. The harness measures; these rules decide. No word of an agent is an input but
//! its notes, and those only add remarks.
//!
//! For one loop: [`evaluate`] makes an [`ItemEvaluation`] from [`LoopEvidence`] (measured by `host/item`), then
//! [`ItemTries::after`] counts and [`next_of_item`] says what follows. Before any loop: `list::planned_checks` and
//! [`criterion_state`].
//!
//! | file | what is there |
//! |---|---|
//! | `acceptance` | which command checks each criterion, and what it says before any work |
//! | `evidence` | what the harness measured of one loop: sensors, artifacts, changes |
//! | `artifact` | whether one artifact counts, and if not, why |
//! | `evaluate` | PASS, FAIL with its type, or a missing sensor |
//! | `retry` | what the next loop changes; which rule ended the item |
//! | `scope` | which changed files are outside of the item's scope |
mod acceptance;
mod artifact;
mod evaluate;
mod evidence;
mod retry;
mod scope;

pub use acceptance::{CHECK_TRIES, CriterionState, criterion_state, files_state};
pub use artifact::{ARTIFACT_AHEAD_MS, ArtifactFault, artifact_fault, paths_in_notes};
pub use evaluate::{
    CriterionProof, FailedSensor, FailureVector, ItemEvaluation, ItemFailure, ItemVerdict, MissingArtifact, evaluate,
};
pub use evidence::{
    AgentEnd, ArtifactKind, ArtifactOnDisk, CriterionEvidence, ItemArtifact, ItemSensor, LoopEvidence, MissingSensor,
    SensorReading, SensorState,
};
pub use retry::{ItemBudget, ItemEnd, ItemNext, ItemRetry, ItemTries, RetryChange, next_of_item};
pub use scope::{is_in_item_scope, outside_item_scope};
