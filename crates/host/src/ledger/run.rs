//! The calls of one run in the ledger of all runs: reserved before where a cap needs it, settled after.
use std::path::PathBuf;

use loop_core::ids::RunId;
use loop_core::machine::consult;
use loop_core::policy::prices::{Prices, cost_of};
use loop_core::policy::reserve::{CallCost, Wanted};
use loop_core::run::{Answer, RunState, wanted};
use loop_core::time::At;

use super::{Caller, Ledger, LedgerError, is_dead};
use crate::clock;
use crate::run_folder::RunFolder;

/// The ledger as one run uses it; opened when it is first needed.
#[derive(Debug)]
pub(crate) struct RunLedger {
    /// The folder of all runs' state.
    folder: PathBuf,
    ledger: Option<Ledger>,
}

/// A call of the agent under way, with what its entry in the ledger needs.
#[derive(Debug)]
pub(crate) struct CallRecord {
    run: RunId,
    account: String,
    key: String,
    reservation: Option<i64>,
    worst: Wanted,
    prices: Prices,
    model: Option<String>,
    at: At,
}

impl CallRecord {
    fn of(state: &RunState, reservation: Option<i64>) -> Option<Self> {
        let spec = state.spec.as_ref()?;
        let settings = state.settings.shown();
        let project = settings.values.start.project.as_deref().unwrap_or_default();
        // A worker with a name has the same key in its next run.
        let key = match &settings.values.start.agent_name {
            Some(name) => format!("{project}\u{1f}{name}"),
            None => spec.id.to_string(),
        };
        let model = state.budget.spent().model.clone().or_else(|| state.model_chosen().map(str::to_owned));
        Some(Self {
            run: spec.id.clone(),
            account: state.agent_name().to_owned(),
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

impl RunLedger {
    pub(crate) fn new(run: &RunFolder) -> Self {
        let folder = run.path.parent().and_then(|runs| runs.parent()).unwrap_or(&run.path);
        Self { folder: folder.to_owned(), ledger: None }
    }

    fn ledger(&mut self) -> Result<&Ledger, LedgerError> {
        match &mut self.ledger {
            Some(ledger) => Ok(ledger),
            none => Ok(none.insert(Ledger::open(&self.folder)?)),
        }
    }

    /// Reserves one call. Also gives messages for people.
    pub(crate) fn reserve(&mut self, state: &RunState, wanted: &Wanted) -> (Answer, Vec<String>) {
        let Some(record) = CallRecord::of(state, None) else {
            return (Answer::Failed { what: "there is no run to pay for".to_owned() }, Vec::new());
        };
        let folder = self.folder.clone();
        let reserved = self
            .ledger()
            .and_then(|ledger| ledger.reserve(&record.caller(), record.at, wanted, &|run| is_dead(&folder, run)));
        match reserved {
            Ok((reserved, messages)) => (Answer::Reserved(reserved), messages),
            Err(error) => (Answer::Failed { what: format!("{error}; {}", error.hint()) }, Vec::new()),
        }
    }

    /// Begins a call. None where nothing about it goes into the ledger.
    ///
    /// # Errors
    /// When the call must not be made, because its reservation is gone.
    pub(crate) fn begin(&mut self, state: &RunState, reservation: Option<i64>) -> Result<Option<CallRecord>, Answer> {
        // What a command of the user's costs is not known.
        if reservation.is_none() && state.agent_name() == "custom" {
            return Ok(None);
        }
        if let Some(number) = reservation {
            let begun = self.ledger().and_then(|ledger| ledger.begin(number));
            begun.map_err(|error| Answer::Failed { what: format!("{error}; {}", error.hint()) })?;
        }
        Ok(CallRecord::of(state, reservation))
    }

    /// Ends a call. Gives a message if it could not be written: the call was made all the same.
    pub(crate) fn settle(&mut self, record: &CallRecord, answer: &Answer) -> Option<String> {
        let report = if let Answer::AgentEnded(report) = answer { Some(&report.stream) } else { None };
        let usage = report.map(|report| report.usage).unwrap_or_default();
        let model = report.and_then(|report| report.model.as_deref()).or(record.model.as_deref());
        let cost = consult(|deciding| cost_of(&usage, model, &record.prices, deciding));
        let tokens = usage.tokens();
        let ledger = self.ledger();
        let written = ledger.and_then(|ledger| match record.reservation {
            Some(number) => ledger.settle(number, cost, tokens),
            None => ledger.record(&record.caller(), record.at, CallCost::of(cost, tokens, &record.worst)),
        });
        written.err().map(|error| format!("what this call cost is not in the ledger: {error}"))
    }
}
