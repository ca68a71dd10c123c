//! Whether a request of a person makes sense now. The host asks before it writes one down; the machine ignores others.
use super::event::PlanRequest;
use super::fact::NodeEnd;
use super::outcome::PlanOutcome;
use super::spec::NodeId;
use super::state::{NodeStage, NodeState, PlanState};
use crate::policy::budget::money_text;
use crate::refusal::Refusal;
use crate::run::DriverMode;

impl PlanState {
    /// Whether a request makes sense now.
    ///
    /// # Errors
    /// Why it does not, and what would.
    pub fn check_request(&self, request: &PlanRequest) -> Result<(), Refusal> {
        match request {
            PlanRequest::Pick { node, anyway: false } => self.check_pick(node),
            PlanRequest::Pick { node, anyway: true } => self.check_take(node),
            PlanRequest::Budget { most_micros } => self.check_budget(*most_micros),
            PlanRequest::Limits { budget, .. } => {
                self.check_goes_on()?;
                budget.map_or(Ok(()), |budget| self.check_budget(budget.most_micros))
            }
            PlanRequest::Answer { node, .. } => self.check_answer(node),
            PlanRequest::Rollback { .. } if self.driver == DriverMode::Driving && self.over.is_none() => {
                Err(Refusal::new("the plan is at work", "cancel it first"))
            }
            PlanRequest::Rollback { .. } => Ok(()),
            PlanRequest::Stop | PlanRequest::Abort | PlanRequest::Pause | PlanRequest::Resume | PlanRequest::Cancel => {
                match self.over.as_ref().filter(|_| !self.resumable()) {
                    Some(over) => {
                        let why = format!("the plan has ended: {}", over.reason.text);
                        Err(Refusal::new(why, "start a new one"))
                    }
                    None => Ok(()),
                }
            }
        }
    }

    fn check_pick(&self, id: &NodeId) -> Result<(), Refusal> {
        let is_best = self.spec.as_ref().is_some_and(|spec| spec.selection().is_some());
        if !is_best {
            return Err(Refusal::new("it is a workflow: there is nothing to pick", "pick a branch of a best-of"));
        }
        if self.applying.report.is_some() || !self.resumable() {
            return Err(Refusal::new(
                "a branch is applied already, or the plan has ended",
                "undo it with loop rollback",
            ));
        }
        let passed = |node: &&NodeState| node.end() == Some(&NodeEnd::Passed);
        let names: Vec<&str> = self.nodes.iter().filter(passed).map(|node| node.id().as_str()).collect();
        if names.contains(&id.as_str()) {
            return Ok(());
        }
        let hint = match names.as_slice() {
            [] => "no branch has passed yet".to_owned(),
            names => format!("these pass: {}", names.join(", ")),
        };
        let why = match self.node(id) {
            None => format!("there is no branch {id}"),
            Some(node) => format!("branch {id} cannot be applied: {}", self.node_words(node)),
        };
        Err(Refusal::new(why, hint))
    }

    /// Whether a branch that does not pass can be taken.
    fn check_take(&self, id: &NodeId) -> Result<(), Refusal> {
        let is_best = self.spec.as_ref().is_some_and(|spec| spec.selection().is_some());
        if !is_best {
            return Err(Refusal::new("it is a workflow: there is nothing to pick", "pick a branch of a best-of"));
        }
        if self.applying.report.is_some() {
            return Err(Refusal::new("a branch is applied already", "undo it with loop rollback, and start again"));
        }
        let Some(over) = self.over.as_ref().filter(|over| over.outcome != PlanOutcome::Cancelled) else {
            return Err(Refusal::new("the plan is at work, or was cancelled", "wait until it has ended"));
        };
        if self.node(id).is_some_and(NodeState::has_state) {
            return Ok(());
        }
        let names: Vec<&str> =
            self.nodes.iter().filter(|node| node.has_state()).map(|node| node.id().as_str()).collect();
        let hint = match names.as_slice() {
            [] => format!("no branch has a state to take: {}", over.reason.text),
            names => format!("these have a state: {}", names.join(", ")),
        };
        let why = match self.node(id) {
            None => format!("there is no branch {id}"),
            Some(node) => format!("branch {id} left no state: {}", self.node_words(node)),
        };
        Err(Refusal::new(why, hint))
    }

    /// Whether a resume can continue it.
    fn check_goes_on(&self) -> Result<(), Refusal> {
        let Some(over) = self.over.as_ref().filter(|_| !self.resumable()) else { return Ok(()) };
        let none_passed = over.outcome == PlanOutcome::NonePassed;
        let take = "take its best state with loop pick and --anyway, or start a new one";
        let hint = if none_passed { take } else { "start a new one" };
        Err(Refusal::new(format!("the plan has ended: {}", over.reason.text), hint))
    }

    fn check_budget(&self, most_micros: Option<u64>) -> Result<(), Refusal> {
        self.check_goes_on()?;
        let spent = self.money.spent_micros;
        if most_micros.is_some_and(|most| most <= spent) {
            let why = format!("its loops have cost {} already", money_text(spent));
            return Err(Refusal::new(why, "give a larger one, or add to it: --max-cost +5"));
        }
        Ok(())
    }

    fn check_answer(&self, id: &NodeId) -> Result<(), Refusal> {
        let asks = |node: &&NodeState| node.stage == NodeStage::Asking;
        if self.node(id).as_ref().is_some_and(asks) {
            return Ok(());
        }
        let names: Vec<&str> = self.nodes.iter().filter(asks).map(|node| node.id().as_str()).collect();
        let hint = match names.as_slice() {
            [] => "no question is open".to_owned(),
            names => format!("these ask something: {}", names.join(", ")),
        };
        Err(Refusal::new(format!("{id} does not ask anything now"), hint))
    }
}
