//! Where an iteration is: one variant for each of its steps.
use super::fact::GatePoint;

/// Which step of an iteration is under way, or comes next.
///
/// A step that is *not judged yet* ends with a decision; if a journal was cut before it, the decision is made first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Phase {
    /// Nothing was recorded yet.
    #[default]
    New,
    /// The protected files are recorded, before anything runs.
    StartGuard,
    /// The initial checkpoint is taken.
    InitialCheckpoint,
    /// The agent works.
    Agent,
    /// The attempt ended; what it was is not judged yet.
    AttemptEnded,
    /// The protected files are checked after an attempt.
    AttemptGuard(AfterAttempt),
    /// The checkpoint of what an interrupted attempt left is taken.
    InterruptedCheckpoint,
    /// That checkpoint exists; whether the workspace is rolled back is not judged yet.
    InterruptedSaved,
    /// The checkpoint of the iteration is taken.
    IterationCheckpoint,
    /// The changes of the iteration are measured.
    Measuring,
    /// They are measured; what follows for the agent is not judged yet.
    Measured,
    /// The gates come next; before them, what people changed is recorded.
    BeforeGates {
        /// What they judge.
        point: GatePoint,
    },
    /// The gates run.
    Gates {
        /// What they judge.
        point: GatePoint,
        /// How many have a verdict.
        next: u32,
    },
    /// A gate ended; its verdict is not judged yet.
    GateEnded {
        /// What it judges.
        point: GatePoint,
        /// How many have a verdict.
        next: u32,
    },
    /// All gates have a verdict; what the round means is not judged yet.
    RoundEnded {
        /// What they judged.
        point: GatePoint,
    },
    /// The protected files are checked after the gates.
    GatesGuard {
        /// What they judged.
        point: GatePoint,
    },
    /// The list of [`super::decide`] says what is next.
    Deciding {
        /// What the gates judged last, or what was skipped without gates.
        point: GatePoint,
    },
}

/// What follows when the protected files were checked after an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterAttempt {
    /// The attempt ended the agent's work on the iteration.
    Iteration,
    /// It was cut off, or waits so long that the gates run first.
    Interrupted,
    /// Another attempt follows; the gates have nothing new to judge.
    Retry,
}

impl Phase {
    /// Whether nothing was judged yet: the initial checkpoint does not exist.
    #[must_use]
    pub fn is_fresh(self) -> bool {
        matches!(self, Self::New | Self::StartGuard | Self::InitialCheckpoint)
    }

    /// Which state of the workspace is judged, from the gates to the decision.
    #[must_use]
    pub fn point(self) -> Option<GatePoint> {
        match self {
            Self::BeforeGates { point }
            | Self::Gates { point, .. }
            | Self::GateEnded { point, .. }
            | Self::RoundEnded { point }
            | Self::GatesGuard { point }
            | Self::Deciding { point } => Some(point),
            Self::New
            | Self::StartGuard
            | Self::InitialCheckpoint
            | Self::Agent
            | Self::AttemptEnded
            | Self::AttemptGuard(_)
            | Self::InterruptedCheckpoint
            | Self::InterruptedSaved
            | Self::IterationCheckpoint
            | Self::Measuring
            | Self::Measured => None,
        }
    }

    /// Whether all gates have a verdict, or were skipped.
    #[must_use]
    pub fn gates_are_done(self) -> bool {
        matches!(self, Self::RoundEnded { .. } | Self::GatesGuard { .. } | Self::Deciding { .. })
    }
}
