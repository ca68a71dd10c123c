//! The calls of one run in the ledger of all runs: reserved before where a cap needs it, settled after.
use std::path::PathBuf;

use loop_core::agent::LimitWindow;
use loop_core::ids::RunId;
use loop_core::machine::consult;
use loop_core::policy::prices::{Prices, cost_of};
use loop_core::policy::reserve::{CallCost, Wanted};
use loop_core::policy::router::ModelTable;
use loop_core::run::{AgentChoice, Answer, RunState, StreamReport, wanted};
use loop_core::time::At;

use super::quota::CallNote;
use super::{CUSTOM, Caller, FILE, Ledger, LedgerError, is_dead, known};
use crate::clock::{self, LocalDay};
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
    /// Which names are those of the scarcest model.
    models: ModelTable,
    at: At,
    /// What it cost and used, as far as it was reported.
    cost: Option<u64>,
    tokens: Option<u64>,
    /// When it ended, and what the provider said about its limits meanwhile.
    ended_ms: u64,
    windows: Vec<LimitWindow>,
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

    /// A call for a short text that begins: by the agent that was chosen for it.
    pub(super) fn begun_text(state: &RunState, choice: &AgentChoice, reservation: Option<i64>, at: At) -> Option<Self> {
        let record = Self::of(state, reservation)?;
        Some(Self { at, account: choice.agent.clone(), model: choice.model.clone(), ..record })
    }

    /// It has ended with this report.
    pub(super) fn ended(&mut self, report: &StreamReport, at: At) {
        self.model = report.model.clone().or(self.model.take());
        let model = self.model.as_deref();
        self.cost = consult(|deciding| cost_of(&report.usage, model, &self.prices, deciding));
        self.tokens = report.usage.tokens();
        self.ended_ms = at.wall_ms;
        self.windows.clone_from(&report.windows);
    }

    /// What else is written down about it.
    pub(super) fn note(&self) -> CallNote<'_> {
        CallNote {
            run: &self.run,
            account: &self.account,
            model: self.model.as_deref(),
            ended_ms: self.ended_ms,
            windows: &self.windows,
        }
    }

    /// Whether it was a call of the scarcest model, by its name or by what its program reported.
    pub(super) fn is_scarce(&self) -> bool {
        self.model.as_deref().is_some_and(|model| self.models.is_scarcest(&self.account, model))
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
            models: settings.values.router.models.clone(),
            at: clock::now(),
            cost: None,
            tokens: None,
            ended_ms: 0,
            windows: Vec::new(),
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
        let Some(mut record) = CallRecord::of(state, None) else {
            return (Answer::Failed { what: "there is no run to pay for".to_owned() }, Vec::new());
        };
        // The agent that works next may be another one than the last.
        record.account = state.next_choice(state.settings.shown()).agent;
        let folder = self.folder.clone();
        let reserved = self
            .checked_ledger()
            .and_then(|ledger| ledger.reserve(&record.caller(), record.at, wanted, &|run| is_dead(&folder, run)));
        match reserved {
            Ok((reserved, messages)) => (Answer::Reserved(reserved), messages),
            Err(error) => (Answer::Failed { what: format!("{error}; {}", error.hint()) }, Vec::new()),
        }
    }

    /// Begins a call for a short text.
    ///
    /// # Errors
    /// When the call must not be made, because its reservation is gone.
    pub(crate) fn begin_text(
        &mut self,
        state: &RunState,
        choice: &AgentChoice,
        reservation: Option<i64>,
    ) -> Result<Option<CallRecord>, Answer> {
        self.begin_as(&choice.agent, reservation)?;
        Ok(CallRecord::begun_text(state, choice, reservation, clock::now()))
    }

    /// Begins a call. None where nothing about it goes into the ledger.
    ///
    /// # Errors
    /// When the call must not be made, because its reservation is gone.
    pub(crate) fn begin(&mut self, state: &RunState, reservation: Option<i64>) -> Result<Option<CallRecord>, Answer> {
        self.begin_as(state.agent_name(), reservation)?;
        Ok(CallRecord::begun(state, reservation, clock::now()))
    }

    /// The call that was reserved is made by this agent. It may be another one than the reservation was asked for.
    fn begin_as(&mut self, agent: &str, reservation: Option<i64>) -> Result<(), Answer> {
        let Some(number) = reservation else { return Ok(()) };
        let begun = self.ledger().and_then(|ledger| ledger.begin(number, agent));
        begun.map_err(|error| Answer::Failed { what: format!("{error}; {}", error.hint()) })
    }

    /// Ends a call. Gives a message if it could not be written: the call was made all the same.
    pub(crate) fn settle(&mut self, record: &mut CallRecord, answer: &Answer) -> Option<String> {
        if let Answer::AgentEnded(report) = answer {
            record.ended(&report.stream, clock::now());
        }
        if let Answer::TextEnded(report) = answer {
            record.ended(&report.stream, clock::now());
        }
        let ledger = self.ledger();
        let written = ledger.and_then(|ledger| {
            let number = match record.reservation {
                Some(number) => ledger.settle(number, record.cost, record.tokens).map(|()| number),
                None => ledger.record(&record.caller(), record.at, record.spent()),
            }?;
            if record.is_scarce() {
                ledger.count_scarce(number, record.at, LocalDay::here(record.at.wall_ms))?;
            }
            ledger.note_call(number, &record.note())
        });
        written.err().map(|error| format!("what this call cost is not in the ledger: {error}"))
    }
}
