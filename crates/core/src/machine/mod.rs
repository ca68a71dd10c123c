//! What every machine has: it decides, it records, and its state is the fold of what was recorded.
//!
//! A decision is made by [`Machine::step`] and is itself a fact. [`Machine::apply`] copies, counts and stores. So a
//! policy may change from version to version, and an old journal still means what it meant.
//!
//! | file | has |
//! |---|---|
//! | `mod` | the trait, the token of a decision, one line of a journal, what the executor has to do |
//! | `orders` | orders that have no answer yet, whether they are overdue, and what a crash leaves of them |
//!
//! Journal, driver and index of the host know nothing else of a machine. It has no clock and no files.
//!
//! | I want to … | I go to … |
//! |---|---|
//! | another machine: what decides | `DECIDING` in `xtask/src/rules/bookkeeping.rs`; its folder: `host/paths.rs` |
//! | another machine: its example | `core/plan/`; `host/plan/` (`folder`, `start`, `sources`, `drive`, `executor`) |
//! | another machine: its list | `Indexed` in `host/index.rs`; `HasFolder` in `host/run_folder.rs` |
//! | another machine: its requests | `host/plan/sources.rs` translates `Ask` of `core/control.rs` |
//! | another machine: beside runs | one process drives one machine: signals and orphans are per process (`daemon/lib.rs`) |
mod orders;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use orders::{OpenOrder, Orders};

use crate::ids::OrderId;
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

/// No fact is longer than this in a journal; what is larger is a file that the fact names.
pub const FACT_BYTES_MAX: usize = 16 * 1024;

/// A machine: events in, facts out.
pub trait Machine: Sized + 'static {
    /// Its name. It is in the first line of its journals, so that no other machine reads them.
    const NAME: &'static str;

    /// What can happen.
    type Event;
    /// What is to be done by the executor.
    type Order;
    /// What is recorded.
    type Fact: Clone + Serialize + DeserializeOwned;
    /// Its state: the fold of its facts.
    type State: Default + Clone;

    /// Decides. Total: no event makes it fail.
    fn step(state: &Self::State, at: At, event: Self::Event, deciding: &Deciding) -> Vec<Self::Fact>;

    /// Bookkeeping: copies and counts.
    fn apply(state: &mut Self::State, fact: &Self::Fact);

    /// When the driver must send an event even if nothing happens.
    fn next_deadline(state: &Self::State, deciding: &Deciding) -> Option<Deadline>;

    /// A moment by the wall clock at which the same is so, also when that clock is set.
    fn next_wall_ms(state: &Self::State) -> Option<u64>;

    /// The event that says that a deadline has passed.
    fn deadline_passed() -> Self::Event;

    /// What the executor has to do because of a fact.
    fn act(fact: &Self::Fact) -> Option<Act<'_, Self::Order>>;

    /// Whether a fact must be safe on disk before anything follows from it.
    fn needs_sync(fact: &Self::Fact) -> bool;

    /// Whether a fact may only stand in a journal where the facts before it bear it out, such as a success.
    fn needs_evidence(_fact: &Self::Fact) -> bool {
        false
    }

    /// Whether the state before such a fact bears it out. It asks no policy: it only looks for what must be recorded.
    ///
    /// # Errors
    /// What is missing.
    fn check_evidence(_state: &Self::State, _fact: &Self::Fact) -> Result<(), &'static str> {
        Ok(())
    }

    /// Puts the time of its line into a fact that was read: it is not written twice.
    fn set_time(fact: &mut Self::Fact, at: At);

    /// Whether nothing is left to drive: no order is open, and none will be given.
    fn is_at_rest(state: &Self::State) -> bool;
}

/// One line of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalEntry<F> {
    /// Numbers the lines from 1.
    pub seq: u64,
    /// When it was written.
    pub at: At,
    /// What is recorded.
    pub fact: F,
}

/// What the executor has to do because of a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act<'a, O> {
    /// Begin an order.
    Begin(OrderId, &'a O),
    /// End an order early; its answer still comes.
    Cancel(OrderId),
    /// End it at once; its answer still comes.
    Kill(OrderId),
}

/// One decision of a machine.
#[must_use]
pub fn decide<M: Machine>(state: &M::State, at: At, event: M::Event) -> Vec<M::Fact> {
    M::step(state, at, event, &Deciding(()))
}

/// The state that these facts make.
#[must_use]
pub fn fold<'a, M: Machine>(facts: impl IntoIterator<Item = &'a M::Fact>) -> M::State {
    let mut state = M::State::default();
    facts.into_iter().for_each(|fact| M::apply(&mut state, fact));
    state
}

/// When the driver of a machine must send an event even if nothing happens.
#[must_use]
pub fn next_deadline<M: Machine>(state: &M::State) -> Option<Deadline> {
    M::next_deadline(state, &Deciding(()))
}

/// Whether a deadline has passed, by either clock.
#[must_use]
pub fn is_due<M: Machine>(state: &M::State, now: At) -> bool {
    let by_wall = M::next_wall_ms(state).is_some_and(|until| now.wall_ms >= until);
    by_wall || next_deadline::<M>(state).is_some_and(|deadline| deadline.is_due(now))
}

/// Asks policies outside of a machine: for `loop verify`, a dry run, the ledger, and what people are shown.
///
/// Tidy refuses it in the files of a machine's bookkeeping.
pub fn consult<T>(question: impl FnOnce(&Deciding) -> T) -> T {
    question(&Deciding(()))
}
