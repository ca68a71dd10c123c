//! Whether the agent can work at all: counts iterations that ended in a crash and changed nothing.
use crate::changes::Changes;
use crate::machine::Deciding;

/// So many such iterations in a row end the run.
pub const CRASHES_MAX: u32 = 3;

/// What one iteration showed.
#[derive(Debug, Clone, Copy)]
pub struct CrashEvidence {
    /// Whether the agent failed by itself.
    pub failed: bool,
    /// What was measured, where something measures.
    pub changes: Option<Changes>,
    /// Where nothing is counted: whether something is not what it was.
    pub noticed: Option<bool>,
    /// Whether the gates said, byte for byte, what they had said before.
    pub gates_said_the_same: bool,
}

/// Whether the iteration counts: the agent failed by itself, and nothing shows that it changed anything.
/// Where the tree is not measured, an unchanged gate output is the best evidence there is.
#[must_use]
pub fn counts(signs: CrashEvidence, _: &Deciding) -> bool {
    let unchanged = match (signs.changes, signs.noticed) {
        (Some(changes), _) => changes.files == 0,
        (None, Some(noticed)) => !noticed,
        (None, None) => signs.gates_said_the_same,
    };
    signs.failed && unchanged
}
