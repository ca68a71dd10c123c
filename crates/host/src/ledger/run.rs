//! The calls of one run in the ledger of all runs: reserved before where a cap needs it, settled after.
use std::path::PathBuf;

use loop_core::ids::RunId;
use loop_core::machine::consult;
use loop_core::policy::prices::{Prices, cost_of};
use loop_core::policy::reserve::{CallCost, Wanted};
use loop_core::run::{Answer, RunState, StreamReport, wanted};
use loop_core::time::At;

use super::{CUSTOM, Caller, FILE, Ledger, LedgerError, is_dead, known};
use crate::clock;
use crate::run_folder::RunFolder;

/// The ledger as one run uses it; opened when it is first needed.
#[derive(Debug)]
pub(crate) struct RunLedger {
    /// The folder of all runs' state.
    folder: PathBuf,
    run: RunId,
    ledger: Option<Ledger>,
    /// It was compared with what the journals of today say.
    is_checked: bool,
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
    /// What it cost and used, as far as it was reported.
    cost: Option<u64>,
    tokens: Option<u64>,
}

/// Whether a call is in no ledger: one by a command of the user's, whose cost is not known, where nothing limits calls.
pub(super) fn is_only_in_the_journal(state: &RunState, reservation: Option<i64>) -> bool {
    reservation.is_none() && state.agent_name() == CUSTOM
}

impl CallRecord {
    /// A call that begins, where it belongs into the ledger: what a command of the user's costs is not known.
    pub(super) fn begun(state: &RunState, reservation: Option<i64>, at: At) -> Option<Self> {
        if is_only_in_the_journal(state, reservation) {
            return None;
        }
        Some(Self { at, ..Self::of(state, reservation)? })
    }

    /// It has ended with this report.
    pub(super) fn ended(&mut self, report: &StreamReport) {
        let model = report.model.as_deref().or(self.model.as_deref());
        self.cost = consult(|deciding| cost_of(&report.usage, model, &self.prices, deciding));
        self.tokens = report.usage.tokens();
    }

    /// What it counts.
    pub(super) fn spent(&self) -> CallCost {
        CallCost::of(self.cost, self.tokens, &self.worst)
    }

    pub(super) fn at(&self) -> At {
        self.at
    }

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
            cost: None,
            tokens: None,
        })
    }

    pub(super) fn caller(&self) -> Caller<'_> {
        Caller { run: &self.run, account: &self.account, key: &self.key }
    }
}

impl RunLedger {
    pub(crate) fn new(run: &RunFolder) -> Self {
        let folder = run.path.parent().and_then(|runs| runs.parent()).unwrap_or(&run.path);
        Self { folder: folder.to_owned(), run: run.id.clone(), ledger: None, is_checked: false }
    }

    /// The open ledger. One that was removed or replaced since is read by no other loop.
    fn ledger(&mut self) -> Result<&Ledger, LedgerError> {
        let ledger = match &mut self.ledger {
            Some(ledger) => ledger,
            none => none.insert(Ledger::open(&self.folder)?),
        };
        if ledger.is_in_place() {
            return Ok(ledger);
        }
        let (path, known_by) = (self.folder.join(FILE), self.run.to_string());
        Err(if path.exists() {
            LedgerError::Replaced { path, known_by }
        } else {
            LedgerError::Missing { path, known_by }
        })
    }

    /// The ledger, where it is the one that the journals of today name. They are read once.
    fn checked_ledger(&mut self) -> Result<&Ledger, LedgerError> {
        let is_checked = std::mem::replace(&mut self.is_checked, true);
        let folder = self.folder.clone();
        let ledger = self.ledger()?;
        if !is_checked {
            let named = known::named_by_journals(&folder, Some(known::day_begins(clock::now().wall_ms)));
            if let Some((_, known_by)) = named.into_iter().find(|(id, _)| !ledger.continues(*id)) {
                return Err(LedgerError::Replaced { path: folder.join(FILE), known_by });
            }
        }
        Ok(ledger)
    }

    /// Reserves one call. Also gives messages for people.
    pub(crate) fn reserve(&mut self, state: &RunState, wanted: &Wanted) -> (Answer, Vec<String>) {
        let Some(record) = CallRecord::of(state, None) else {
            return (Answer::Failed { what: "there is no run to pay for".to_owned() }, Vec::new());
        };
        let folder = self.folder.clone();
        let reserved = self
            .checked_ledger()
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
        if let Some(number) = reservation {
            let begun = self.ledger().and_then(|ledger| ledger.begin(number));
            begun.map_err(|error| Answer::Failed { what: format!("{error}; {}", error.hint()) })?;
        }
        Ok(CallRecord::begun(state, reservation, clock::now()))
    }

    /// Ends a call. Gives a message if it could not be written: the call was made all the same.
    pub(crate) fn settle(&mut self, record: &mut CallRecord, answer: &Answer) -> Option<String> {
        if let Answer::AgentEnded(report) = answer {
            record.ended(&report.stream);
        }
        let ledger = self.ledger();
        let written = ledger.and_then(|ledger| match record.reservation {
            Some(number) => ledger.settle(number, record.cost, record.tokens),
            None => ledger.record(&record.caller(), record.at, record.spent()),
        });
        written.err().map(|error| format!("what this call cost is not in the ledger: {error}"))
    }
}
