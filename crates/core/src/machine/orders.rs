//! Orders that have no answer yet: the crash rules of every machine.
//!
//! An order is a fact before it is begun, and its answer is a fact before anything follows from it. So after a crash the
//! open orders are exactly those whose end is not known. The machine decides about each of them when it is opened again.
use std::collections::BTreeMap;

use crate::ids::{OrderId, ProcessId};
use crate::time::At;

/// Orders that have no answer yet. `O` is the order, `C` why one is cancelled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Orders<O, C> {
    open: BTreeMap<OrderId, OpenOrder<O, C>>,
    count: u32,
}

impl<O, C> Default for Orders<O, C> {
    fn default() -> Self {
        Self { open: BTreeMap::new(), count: 0 }
    }
}

/// An order without an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenOrder<O, C> {
    /// What is being done.
    pub order: O,
    /// Since when.
    pub since: At,
    /// The process that does it.
    pub process: Option<ProcessId>,
    stop: Stop<C>,
}

/// Whether an order is to end early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop<C> {
    No,
    /// It was asked to end.
    Asked(C),
    /// It had its time to end and is killed.
    Killed(Option<C>),
}

impl<O, C: Copy> OpenOrder<O, C> {
    /// Why it was cancelled, if it was.
    #[must_use]
    pub fn cancelled(&self) -> Option<C> {
        match self.stop {
            Stop::No => None,
            Stop::Asked(cause) => Some(cause),
            Stop::Killed(cause) => cause,
        }
    }

    /// Whether it was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled().is_some()
    }

    /// Whether it had its time to end and is killed.
    #[must_use]
    pub fn is_killed(&self) -> bool {
        matches!(self.stop, Stop::Killed(_))
    }
}

impl<O: Clone, C: Copy> Orders<O, C> {
    /// One that is open.
    #[must_use]
    pub fn get(&self, id: OrderId) -> Option<&OpenOrder<O, C>> {
        self.open.get(&id)
    }

    /// All orders that are open. When a machine is opened after a crash, these are the orders whose end is not known.
    pub fn iter(&self) -> impl Iterator<Item = (OrderId, &OpenOrder<O, C>)> {
        self.open.iter().map(|(id, open)| (*id, open))
    }

    /// Whether none is open.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// How many orders were given.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The number of the next order.
    #[must_use]
    pub fn next_id(&self) -> OrderId {
        OrderId(self.count.saturating_add(1))
    }

    /// An order was given.
    pub fn add(&mut self, id: OrderId, order: &O, since: At) {
        self.count = self.count.max(id.0);
        self.open.insert(id, OpenOrder { order: order.clone(), since, process: None, stop: Stop::No });
    }

    /// An order was asked to end.
    pub fn cancel(&mut self, id: OrderId, cause: C) {
        if let Some(open) = self.open.get_mut(&id) {
            open.stop = Stop::Asked(cause);
        }
    }

    /// An order is killed. Why it was asked to end before stays known.
    pub fn kill(&mut self, id: OrderId) {
        if let Some(open) = self.open.get_mut(&id) {
            open.stop = Stop::Killed(open.cancelled());
        }
    }

    /// The process of an order is known.
    pub fn started(&mut self, id: OrderId, process: ProcessId) {
        if let Some(open) = self.open.get_mut(&id) {
            open.process = Some(process);
        }
    }

    /// An order was answered, or dropped after a crash. An answer from before a crash finds no open order.
    pub fn close(&mut self, id: OrderId) -> Option<OpenOrder<O, C>> {
        self.open.remove(&id)
    }

    /// Orders that have had their time and were not asked to end yet.
    pub fn overdue(&self, is_late: impl Fn(&OpenOrder<O, C>) -> bool) -> impl Iterator<Item = OrderId> {
        self.open.iter().filter(move |(_, open)| !open.is_cancelled() && is_late(open)).map(|(id, _)| *id)
    }
}
