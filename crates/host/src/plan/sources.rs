//! Where the events of a plan come from beside its orders: signals, the control socket, a word that is typed.
use std::io;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use loop_core::control::{Ask, Call};
use loop_core::plan::{
    NodeEnd, NodeId, NodeState, Plan, PlanEntry, PlanEvent, PlanNotice, PlanOrder, PlanQuestion, PlanRequest, PlanState,
};
use loop_core::refusal::Refusal;
use loop_core::text;

use super::budget::budget_request;
use crate::control::{Asked, Control};
use crate::driver::Sources;
use crate::requests::name_of;
use crate::signals::{CaughtSignal, Signals};
use crate::stop_file::{StopFile, StopWord};
use crate::terminal;

/// The sources of a plan.
#[derive(Debug)]
pub(super) struct PlanSources {
    signals: Signals,
    control: Option<Control>,
    stop_file: Option<StopFile>,
}

impl PlanSources {
    pub(super) fn new(signals: Signals, control: Option<Control>, stop_file: Option<StopFile>) -> Self {
        Self { signals, control, stop_file }
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
            PlanQuestion::Pick => NodeId::parse(line).map(|node| PlanRequest::Pick { node, anyway: false }),
            PlanQuestion::Node(_) if line.is_empty() => return None,
            PlanQuestion::Node(node) => Ok(PlanRequest::answer(node.clone(), line)),
        };
        // What cannot be picked is no answer: the question stays.
        Some(match request.and_then(|request| state.check_request(&request).map(|()| request)) {
            Ok(request) => PlanEvent::Requested { request, by: "a key".to_owned() },
            Err(refusal) => PlanEvent::Noticed(PlanNotice::Message { text: not_picked(line, &refusal, state) }),
        })
    }
}

/// Why what was typed picks no branch, and what can be typed.
fn not_picked(line: &str, refusal: &Refusal, state: &PlanState) -> String {
    let passes = |node: &&NodeState| node.end() == Some(&NodeEnd::Passed);
    let names: Vec<&str> = state.nodes.iter().filter(passes).map(|node| node.id().as_str()).collect();
    let known = state.nodes.iter().any(|node| node.id().as_str() == line);
    let why = match line {
        "" => "no branch was typed".to_owned(),
        _ if known => refusal.why.clone(),
        line => format!("there is no branch {:?}", text::one_line(line, 40)),
    };
    format!("{why}; type one that passes ({}) and Enter", names.join(", "))
}

/// What a signal asks of a plan: to stop after the iterations, or now.
fn request_of_signal(signal: CaughtSignal) -> PlanEvent {
    let request = if signal.is_urgent { PlanRequest::Abort } else { PlanRequest::Stop };
    PlanEvent::Requested { request, by: signal.name.to_owned() }
}

/// What the stop file asks of a plan.
fn request_of_file(word: StopWord) -> PlanEvent {
    match word {
        StopWord::Stop { by } => PlanEvent::Requested { request: PlanRequest::Stop, by },
        StopWord::Abort { by } => PlanEvent::Requested { request: PlanRequest::Abort, by },
        StopWord::Other(text) => PlanEvent::Noticed(PlanNotice::Message { text }),
    }
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
            let node = NodeId::parse(branch).map_err(|refusal| refusal.why)?;
            checked(PlanRequest::Pick { node, anyway: false }, state)
        }
        Ask::Set(changes) => {
            let request = budget_request(changes, state).map_err(|refusal| refusal.sentence())?;
            checked(request, state)
        }
        Ask::Answer { node, text, proceed } => {
            let node = NodeId::parse(node).map_err(|refusal| refusal.why)?;
            checked(PlanRequest::Answer { node, text: text.clone(), proceed: *proceed }, state)
        }
        Ask::Inject { .. }
        | Ask::Checkpoint { .. }
        | Ask::Rollback(_)
        | Ask::RollbackPaths(_)
        | Ask::CancelRollback
        | Ask::Note(_)
        | Ask::Reset { .. } => Err("a plan takes this for each of its loops: name one of them".to_owned()),
    }
}

/// The request, where it makes sense now.
fn checked(request: PlanRequest, state: &PlanState) -> Result<PlanRequest, String> {
    let fits = state.check_request(&request);
    fits.map(|()| request).map_err(|refusal| format!("{}; {}", refusal.why, refusal.hint))
}

impl Sources<Plan> for PlanSources {
    fn poll(&mut self, state: &PlanState) -> Vec<PlanEvent> {
        let mut events: Vec<PlanEvent> = self.signals.take().into_iter().map(request_of_signal).collect();
        events.extend(self.stop_file.as_mut().and_then(|file| file.found(Instant::now())).map(request_of_file));
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

    fn wakes_in(&self, now: Instant) -> Option<Duration> {
        self.stop_file.as_ref().map(|file| file.wakes_in(now))
    }
}
