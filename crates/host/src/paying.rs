//! What calls cost, written into the ledger of all runs: asked for before where a cap wants it, settled after.
use std::path::PathBuf;

use loop_core::ids::RunId;
use loop_core::machine::consult;
use loop_core::policy::prices::{Prices, cost_of};
use loop_core::policy::reserve::{CallCost, Wanted};
use loop_core::run::{Answer, RunState, wanted};
use loop_core::time::At;

use crate::clock;
use crate::ledger::{Caller, Ledger, LedgerError, is_dead};
use crate::runs::RunFolder;

/// The ledger of a run, opened when it is first needed.
#[derive(Debug)]
pub(crate) struct Paying {
    state: PathBuf,
    ledger: Option<Ledger>,
}

/// A call under way.
#[derive(Debug)]
pub(crate) struct Bill {
    run: RunId,
    account: String,
    key: String,
    reservation: Option<i64>,
    worst: Wanted,
    prices: Prices,
    model: Option<String>,
    at: At,
}

impl Bill {
    fn of(state: &RunState, reservation: Option<i64>) -> Option<Self> {
        let spec = state.spec.as_ref()?;
        let settings = state.settings.shown();
        let project = settings.values.start.project.as_deref().unwrap_or_default();
        // A worker with a name is the same one in its next run.
        let key = match &settings.values.start.agent_name {
            Some(name) => format!("{project}\u{1f}{name}"),
            None => spec.id.to_string(),
        };
        let model = state.budget.spent().model.clone().or_else(|| settings.values.agent.agent_model.clone());
        Some(Self {
            run: spec.id.clone(),
            account: settings.agent.clone(),
            key,
            reservation,
            worst: wanted(state, settings),
            prices: settings.values.budget.prices.clone(),
            model,
            at: clock::now(),
        })
    }

    fn caller(&self) -> Caller<'_> {
        Caller { run: &self.run, account: &self.account, key: &self.key }
    }
}

impl Paying {
    pub(crate) fn new(run: &RunFolder) -> Self {
        let state = run.path.parent().and_then(|runs| runs.parent()).unwrap_or(&run.path);
        Self { state: state.to_owned(), ledger: None }
    }

    fn ledger(&mut self) -> Result<&Ledger, LedgerError> {
        match &mut self.ledger {
            Some(ledger) => Ok(ledger),
            none => Ok(none.insert(Ledger::open(&self.state)?)),
        }
    }

    /// Asks for one call, and says what a person should know.
    pub(crate) fn reserve(&mut self, state: &RunState, wanted: &Wanted) -> (Answer, Vec<String>) {
        let Some(bill) = Bill::of(state, None) else {
            return (Answer::Failed { what: "there is no run to pay for".to_owned() }, Vec::new());
        };
        let folder = self.state.clone();
        let reserved = self
            .ledger()
            .and_then(|ledger| ledger.reserve(&bill.caller(), bill.at, wanted, &|run| is_dead(&folder, run)));
        match reserved {
            Ok((reserved, said)) => (Answer::Reserved(reserved), said),
            Err(error) => (Answer::Failed { what: format!("{error}; {}", error.hint()) }, Vec::new()),
        }
    }

    /// A call is made now. None where nothing about it is to be written down.
    ///
    /// # Errors
    /// When it must not be made, because what was reserved for it is gone.
    pub(crate) fn begin(&mut self, state: &RunState, reservation: Option<i64>) -> Result<Option<Bill>, Answer> {
        // Nobody knows what a command of the user's costs, and nobody asked.
        if reservation.is_none() && state.settings.shown().agent == "custom" {
            return Ok(None);
        }
        if let Some(number) = reservation {
            let begun = self.ledger().and_then(|ledger| ledger.begin(number));
            begun.map_err(|error| Answer::Failed { what: format!("{error}; {}", error.hint()) })?;
        }
        Ok(Bill::of(state, reservation))
    }

    /// A call is over. Says what could not be written down: the call was made all the same.
    pub(crate) fn settle(&mut self, bill: &Bill, answer: &Answer) -> Option<String> {
        let heard = if let Answer::AgentEnded(report) = answer { Some(&report.stream) } else { None };
        let usage = heard.map(|heard| heard.usage).unwrap_or_default();
        let model = heard.and_then(|heard| heard.model.as_deref()).or(bill.model.as_deref());
        let (cost, tokens) = (consult(|deciding| cost_of(&usage, model, &bill.prices, deciding)), usage.tokens());
        let ledger = self.ledger();
        let written = ledger.and_then(|ledger| match bill.reservation {
            Some(number) => ledger.settle(number, cost, tokens),
            None => ledger.record(&bill.caller(), bill.at, CallCost::of(cost, tokens, &bill.worst)),
        });
        written.err().map(|error| format!("what this call cost is not in the ledger: {error}"))
    }
}
