//! What every machine has: it decides, it records, and its state is the fold of what was recorded.
//!
//! A decision is made by [`Machine::step`] and is itself a fact. [`Machine::apply`] copies, counts and stores. So a
//! policy may change from version to version, and an old journal still means what it meant.
use crate::time::{At, Deadline};

/// The right to ask policies and settings. Only a decision has one, for as long as it lasts.
///
/// `apply` gets none, so bookkeeping cannot ask a policy: it would not compile.
///
/// ```compile_fail
/// let deciding = loop_core::machine::Deciding(());
/// ```
#[derive(Debug)]
pub struct Deciding(());

/// A machine: events in, facts out.
pub trait Machine {
    /// What can happen.
    type Event;
    /// What is recorded.
    type Fact;
    /// Where it stands.
    type State: Default;

    /// Decides. Total: no event makes it fail.
    fn step(state: &Self::State, at: At, event: Self::Event, deciding: &Deciding) -> Vec<Self::Fact>;

    /// Bookkeeping: copies and counts.
    fn apply(state: &mut Self::State, fact: &Self::Fact);

    /// When the driver must send an event even if nothing happens.
    fn next_deadline(state: &Self::State, deciding: &Deciding) -> Option<Deadline>;
}

/// One decision of a machine.
#[must_use]
pub fn decide<M: Machine>(state: &M::State, at: At, event: M::Event) -> Vec<M::Fact> {
    M::step(state, at, event, &Deciding(()))
}

/// When the driver of a machine must send an event even if nothing happens.
#[must_use]
pub fn next_deadline<M: Machine>(state: &M::State) -> Option<Deadline> {
    M::next_deadline(state, &Deciding(()))
}

/// Asks policies outside of a machine: for `loop verify`, a dry run, the ledger, and what people are shown.
///
/// Tidy refuses it in the files of a machine's bookkeeping.
pub fn consult<T>(question: impl FnOnce(&Deciding) -> T) -> T {
    question(&Deciding(()))
}
