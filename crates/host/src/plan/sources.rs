//! Where the events of a plan come from beside its orders: signals, the control socket, a word that is typed.
use std::io;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use loop_core::control::{Ask, Call};
use loop_core::plan::{NodeId, Plan, PlanEntry, PlanEvent, PlanOrder, PlanQuestion, PlanRequest, PlanState};

use crate::control::{Asked, Control};
use crate::driver::Sources;
use crate::requests::name_of;
use crate::signals::{CaughtSignal, Signals};
use crate::terminal;

/// The sources of a plan.
#[derive(Debug)]
pub(super) struct PlanSources {
    signals: Signals,
    control: Option<Control>,
}

impl PlanSources {
    pub(super) fn new(signals: Signals, control: Option<Control>) -> Self {
        Self { signals, control }
    }

    /// The question that a typed line answers: the first that is open.
    fn asked(state: &PlanState) -> Option<&PlanQuestion> {
        let mut open = state.orders.iter().map(|(_, open)| open).filter(|open| !open.is_cancelled());
        open.find_map(|open| if let PlanOrder::Ask(question) = &open.order { Some(question) } else { None })
    }

    /// Whether a typed line answers a question.
    fn takes_word(state: &PlanState) -> bool {
        Self::asked(state).is_some() && terminal::is_ours(rustix::stdio::stdin())
    }

    /// What a person typed.
    fn typed(state: &PlanState) -> Option<PlanEvent> {
        let line = terminal::line_typed(rustix::stdio::stdin()).filter(|_| Self::takes_word(state))?;
        let line = line.trim();
        let request = match Self::asked(state)? {
            PlanQuestion::Pick => PlanRequest::Pick { node: NodeId::parse(line).ok()? },
            PlanQuestion::Node(_) if line.is_empty() => return None,
            PlanQuestion::Node(node) => PlanRequest::answer(node.clone(), line),
        };
        // What cannot be picked is no answer: the question stays.
        state.check_request(&request).ok()?;
        Some(PlanEvent::Requested { request, by: "a key".to_owned() })
    }
}

/// What a signal asks of a plan: to stop after the iterations, or now.
fn request_of_signal(signal: CaughtSignal) -> PlanEvent {
    let request = if signal.is_urgent { PlanRequest::Abort } else { PlanRequest::Stop };
    PlanEvent::Requested { request, by: signal.name.to_owned() }
}

/// What another command asks.
fn request_of(call: &Call, state: &PlanState) -> Result<PlanRequest, String> {
    if state.over.is_some() {
        return Err("the plan has ended".to_owned());
    }
    match &call.ask {
        Ask::Stop => Ok(PlanRequest::Stop),
        Ask::Pause => Ok(PlanRequest::Pause),
        Ask::Resume => Ok(PlanRequest::Resume),
        Ask::Cancel => Ok(PlanRequest::Cancel),
        Ask::Pick { branch } => {
            let request = PlanRequest::Pick { node: NodeId::parse(branch).map_err(|refusal| refusal.why)? };
            let checked = state.check_request(&request);
            checked.map(|()| request).map_err(|refusal| format!("{}; {}", refusal.why, refusal.hint))
        }
        Ask::Answer { node, text, proceed } => {
            let node = NodeId::parse(node).map_err(|refusal| refusal.why)?;
            let request = PlanRequest::Answer { node, text: text.clone(), proceed: *proceed };
            let checked = state.check_request(&request);
            checked.map(|()| request).map_err(|refusal| format!("{}; {}", refusal.why, refusal.hint))
        }
        Ask::Inject { .. }
        | Ask::Set(_)
        | Ask::Checkpoint { .. }
        | Ask::Rollback(_)
        | Ask::RollbackPaths(_)
        | Ask::CancelRollback
        | Ask::Reset { .. } => Err("a plan takes this for each of its loops: name one of them".to_owned()),
    }
}

impl Sources<Plan> for PlanSources {
    fn poll(&mut self, state: &PlanState) -> Vec<PlanEvent> {
        let mut events: Vec<PlanEvent> = self.signals.take().into_iter().map(request_of_signal).collect();
        if Self::takes_word(state) {
            events.extend(Self::typed(state));
        }
        events
    }

    fn calls(&mut self) -> Vec<Asked> {
        self.control.as_mut().map(Control::take).unwrap_or_default()
    }

    fn request(&mut self, call: &Call, state: &PlanState) -> Result<PlanEvent, String> {
        let request = request_of(call, state)?;
        Ok(PlanEvent::Requested { request, by: name_of(&call.by) })
    }

    fn sync_requests(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn suspended(&mut self) -> bool {
        self.signals.suspended()
    }

    fn on_entry(&mut self, _: &PlanEntry, _: &PlanState) -> Vec<PlanEvent> {
        Vec::new()
    }

    fn fds(&self, state: &PlanState) -> Vec<BorrowedFd<'_>> {
        let control = self.control.iter().flat_map(Control::wants);
        let word = Self::takes_word(state).then(rustix::stdio::stdin);
        self.signals.wants().chain(control).chain(word).collect()
    }

    fn wakes_in(&self, _: Instant) -> Option<Duration> {
        None
    }
}
