//! When processes of the run itself were alive. A file that changed then may be the agent's or a gate's: they run as the
//! same user, and the kernel tells no person without special rights who wrote a file.
use loop_core::run::{Order, RunState};

/// The kernel's time of a file lags behind the clock by up to this.
const SLACK_MS: u64 = 20;
/// How many times of work are remembered; older ones become one.
const TIMES_MAX: usize = 64;
/// For so long after the last line of the journal files may be put back into the inbox, which is a change of theirs.
const PUT_BACK_MS: u64 = 2000;

/// The times in which processes of the run were alive.
#[derive(Debug)]
pub(super) struct WorkTimes {
    past: Vec<WorkTime>,
    since_ms: Option<u64>,
    /// Until when an earlier process may have put files back into the inbox.
    put_back_ms: u64,
}

/// From when to when, in milliseconds since 1970.
#[derive(Debug, Clone, Copy)]
struct WorkTime {
    from_ms: u64,
    to_ms: u64,
}

impl WorkTimes {
    /// For a run that is opened. What changed before the last line of its journal may be from its own work.
    pub(super) fn new(state: &RunState) -> Self {
        let worked = state.iteration > 0;
        let before = WorkTime { from_ms: 0, to_ms: state.now.wall_ms };
        let put_back_ms = if worked { before.to_ms.saturating_add(PUT_BACK_MS) } else { 0 };
        Self { past: if worked { vec![before] } else { Vec::new() }, since_ms: None, put_back_ms }
    }

    /// The state is another one since this time. It was taken after the processes of an order had ended, and before
    /// those of the next one begin.
    pub(super) fn on_entry(&mut self, at_ms: u64, state: &RunState) {
        let works = state.orders.iter().any(|(_, open)| has_processes(&open.order));
        match (works, self.since_ms) {
            (true, None) => self.since_ms = Some(at_ms.saturating_sub(SLACK_MS)),
            (false, Some(from_ms)) => {
                self.since_ms = None;
                self.past.push(WorkTime { from_ms, to_ms: at_ms });
                if self.past.len() > TIMES_MAX {
                    let first = self.past.remove(0);
                    if let Some(next) = self.past.first_mut() {
                        next.from_ms = first.from_ms;
                    }
                }
            }
            (true, Some(_)) | (false, None) => {}
        }
    }

    /// The same for a file of the inbox: it may have been put back there when the run ended.
    pub(super) fn covers_in_inbox(&self, changed_ms: u64) -> bool {
        changed_ms <= self.put_back_ms || self.covers(changed_ms)
    }

    /// Whether a process of the run may have changed a file whose status changed at this time.
    pub(super) fn covers(&self, changed_ms: u64) -> bool {
        let now = self.since_ms.is_some_and(|since| changed_ms >= since);
        now || self.past.iter().any(|time| (time.from_ms..=time.to_ms).contains(&changed_ms))
    }
}

/// Whether something that the user or the agent wrote runs for it.
fn has_processes(order: &Order) -> bool {
    match order {
        Order::RunAgent { .. }
        | Order::RunGate { .. }
        | Order::Judge { .. }
        | Order::Branches { .. }
        | Order::Certify { .. } => true,
        // It works in a folder of its own.
        Order::WriteText { .. }
        | Order::CleanUp { .. }
        | Order::Checkpoint { .. }
        | Order::Reserve { .. }
        | Order::Guard { .. }
        | Order::Hold { .. }
        | Order::Measure { .. }
        | Order::ManualCheckpoint { .. }
        | Order::Rollback { .. }
        | Order::Notify { .. } => false,
    }
}
