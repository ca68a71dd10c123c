//! Protected files that were changed and restored: the final tree does not show it, so the record of the run must.
use serde::Serialize;

use crate::run::{Answer, Entry, Event, Fact, GatePoint, GuardPoint, Order, RunState};
use crate::text::NameList;

/// Protected files that were restored once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RestoredRow {
    /// In which iteration; 0 before the first.
    pub iteration: u32,
    /// Whether they were changed while the gates ran, and not by the agent.
    pub by_gates: bool,
    /// Which files, a bounded number.
    pub files: NameList,
    /// The checkpoint of the tree as it was left; null where there is none.
    pub checkpoint: Option<String>,
}

impl RestoredRow {
    /// What an entry says of it. The state is the one before the entry.
    pub(super) fn of(entry: &Entry, before: &RunState) -> Option<Self> {
        let Fact::Happened(input) = &entry.fact else { return None };
        let Event::Answered { order, answer: Answer::Guard(report) } = &input.event else { return None };
        let Order::Guard { point } = before.orders.get(*order)?.order else { return None };
        if !report.restored || report.tampered.is_nothing() {
            return None;
        }
        let named = NameList::of(report.paths.iter().map(String::as_str));
        let (iteration, by_gates) = match point {
            GuardPoint::Agent(iteration, _) => (iteration, false),
            GuardPoint::Gates(GatePoint::Baseline) => (0, true),
            GuardPoint::Gates(_) => (before.iteration, true),
            GuardPoint::Start | GuardPoint::People => (before.iteration, false),
        };
        let count = named.count.max(report.tampered.count);
        Some(Self { iteration, by_gates, files: NameList { count, ..named }, checkpoint: report.checkpoint.clone() })
    }

    /// In a line, for people.
    #[must_use]
    pub fn words(&self) -> String {
        let whose = if self.by_gates { "changed while the gates ran" } else { "the agent's version" };
        let version = match (&self.checkpoint, self.by_gates) {
            (Some(name), _) => format!("; {whose}: {name}"),
            (None, true) => format!("; {whose}"),
            (None, false) => String::new(),
        };
        format!("{} (iteration {}{version})", self.files.words(), self.iteration)
    }
}
