//! Decisions about a pass: whether it is judged again in a clean copy, which probes are tried, what speaks against it.
//!
//! | file | what is there |
//! |---|---|
//! | `next.rs` | which copy or probe is ordered next |
//! | `copy.rs` | what the gates said on a copy, as a decision |
//! | `findings.rs` | everything that may speak against the pass |
//! | `surroundings.rs` | programs of the gates and files outside of the workspace that are not those of the start |
//! | `strength.rs` | how the gates failed at the start, and what the probes showed |
//! | `weigh.rs` | which findings count, and what follows |
//! | `certificate.rs` | the evidence that is recorded with the end |
mod certificate;
mod copy;
mod findings;
mod next;
mod strength;
mod surroundings;
mod weigh;

pub(super) use certificate::proof_of;
pub(super) use copy::judge_copy;
pub(super) use next::next_order;
pub(super) use weigh::judge_pass;

use super::event::GateIndex;
use super::fact::GatePoint;
use super::gates::Gate;
use super::proving::JudgedCopy;
use super::state::RunState;

/// The gates without which the run is not done, by their number.
fn required(state: &RunState) -> impl Iterator<Item = (GateIndex, &Gate)> {
    (0..).zip(state.gates.iter()).filter(|(_, gate)| gate.is_required())
}

/// What a clean copy of the tree that passed showed, now or earlier in this run.
fn clean_copy(state: &RunState, point: GatePoint) -> Option<&JudgedCopy> {
    state.proving.clean_copy(point, state.checkpoints.tree())
}
