//! What providers said about their limits, with which models calls were made, and which runs ended: for `loop usage`,
//! `loop limits`, and for what `loop start` expects.
//!
//! Nothing here limits a run, so nothing is synced: a power cut may lose the newest rows.
use loop_core::agent::provider::window::UNNAMED;
use loop_core::agent::{LimitWindow, WindowSource, WindowState};
use loop_core::ids::RunId;
use loop_core::policy::forecast::{LikelyLimit, WindowForecast, WindowSeen, forecast, likely_limits};
use loop_core::policy::reserve::{DAY_MS, Day};
use loop_core::run::{Outcome, RunState};
use loop_core::text;
use loop_core::view::tries_of;
use rusqlite::{Connection, params};

use super::{Ledger, LedgerResult, Reported, amount, exists, signed, unsigned, wrong};
use crate::journal;
use crate::paths::Home;
use crate::run_folder::RunFolder;

/// Since this form of the ledger these tables are there.
pub(super) const FORM: i64 = 3;

/// Tables of their own: what limits runs does not read them.
pub(super) const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS windows (id INTEGER PRIMARY KEY, account TEXT NOT NULL, run TEXT NOT NULL,
        wall_ms INTEGER NOT NULL, name TEXT NOT NULL, used_permille INTEGER, resets_ms INTEGER,
        state TEXT NOT NULL, source TEXT NOT NULL);
    CREATE INDEX IF NOT EXISTS windows_of_account ON windows (account, wall_ms);
    CREATE TABLE IF NOT EXISTS call_models (call INTEGER PRIMARY KEY, model TEXT NOT NULL);
    CREATE TABLE IF NOT EXISTS ended_runs (run TEXT PRIMARY KEY, wall_ms INTEGER NOT NULL, outcome TEXT NOT NULL);";

/// The longest name of a model that is kept.
const MODEL_BYTES_MAX: usize = 120;
/// The most that is read about the windows of an account.
const SEEN_MAX: i64 = 5_000;
/// What was said longer ago is not looked at.
pub const SEEN_DAYS: u64 = 35;

/// What is written down about a call beside what it cost.
#[derive(Debug)]
pub(crate) struct CallNote<'a> {
    pub(super) run: &'a RunId,
    pub(super) account: &'a str,
    pub(super) model: Option<&'a str>,
    pub(super) ended_ms: u64,
    pub(super) windows: &'a [LimitWindow],
}

/// A run that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedRun {
    /// Which.
    pub run: String,
    /// How: the word of its outcome.
    pub outcome: String,
    /// When.
    pub at_ms: u64,
}

impl EndedRun {
    /// A run that ended so.
    #[must_use]
    pub fn of(run: &RunId, outcome: Outcome, at_ms: u64) -> Self {
        let word = serde_json::to_value(outcome).ok().and_then(|word| word.as_str().map(str::to_owned));
        Self { run: run.to_string(), outcome: word.unwrap_or_default(), at_ms }
    }
}

/// What the calls of one run with one model reported on one day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedRow {
    /// The day, UTC, counted from 1970.
    pub day: u64,
    /// The agent's name.
    pub account: String,
    /// The model, where it is known.
    pub model: Option<String>,
    /// The run.
    pub run: String,
    /// Calls, and what they reported.
    pub used: Reported,
}

/// What a finished run of one agent used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishedRun {
    /// Which.
    pub run: String,
    /// Its calls.
    pub calls: u64,
    /// What they cost, where all of them reported it.
    pub cost_micros: Option<u64>,
    /// Their tokens, where all of them reported them.
    pub tokens: Option<u64>,
}

const USED: &str = "SELECT day, account, model, run, count(*), sum(told & 1), sum((told >> 1) & 1), sum(told = 0),
    sum(cost_micros * (told & 1)), sum(tokens * ((told >> 1) & 1))
    FROM calls LEFT JOIN call_models ON call_models.call = calls.id
    WHERE day >= ?1 GROUP BY day, account, model, run ORDER BY day DESC, account, model, run";

const FINISHED: &str = "SELECT calls.run, count(*), sum(told & 1), sum((told >> 1) & 1), sum(cost_micros), sum(tokens)
    FROM calls JOIN ended_runs ON ended_runs.run = calls.run
    WHERE account = ?1 AND open = 0 GROUP BY calls.run ORDER BY max(calls.id) DESC LIMIT 200";

const SEEN: &str = "SELECT wall_ms, run, name, used_permille, resets_ms, state, source FROM windows
    WHERE account = ?1 AND wall_ms >= ?2 ORDER BY wall_ms DESC, id DESC LIMIT ?3";

impl Ledger {
    /// Writes down what else is known about a call.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn note_call(&self, call: i64, note: &CallNote<'_>) -> LedgerResult<()> {
        if note.model.is_none() && note.windows.is_empty() {
            return Ok(());
        }
        self.change_unsynced(|change| note_call(change, call, note))
    }

    /// What the calls since this day reported, by day, agent, model and run, the newest day first.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn used_since(&self, day: u64) -> LedgerResult<Vec<UsedRow>> {
        let read = || {
            let mut select = self.connection.prepare(USED)?;
            let rows = select.query_map([signed(day)], |row| {
                let count = |at: usize| row.get::<_, i64>(at).map(|count| u32::try_from(count).unwrap_or(u32::MAX));
                let used = Reported {
                    calls: count(4)?,
                    with_cost: count(5)?,
                    with_tokens: count(6)?,
                    without: count(7)?,
                    cost_micros: row.get(8).map(unsigned)?,
                    tokens: row.get(9).map(unsigned)?,
                };
                let day = unsigned(row.get(0)?);
                Ok(UsedRow { day, account: row.get(1)?, model: row.get(2)?, run: row.get(3)?, used })
            })?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        read().map_err(|error| wrong(&self.path, &error))
    }

    /// Which accounts providers said something about since then.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn accounts_seen(&self, since_ms: u64) -> LedgerResult<Vec<String>> {
        let read = || {
            let select = "SELECT DISTINCT account FROM windows WHERE wall_ms >= ?1 ORDER BY account";
            let mut select = self.connection.prepare(select)?;
            let names = select.query_map([signed(since_ms)], |row| row.get::<_, String>(0))?;
            names.collect::<rusqlite::Result<Vec<_>>>()
        };
        read().map_err(|error| wrong(&self.path, &error))
    }

    /// What the provider of an account said since then about its limits, the newest last.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn windows_seen(&self, account: &str, since_ms: u64) -> LedgerResult<Vec<WindowSeen>> {
        let read = || {
            let mut select = self.connection.prepare(SEEN)?;
            let seen = select.query_map(params![account, signed(since_ms), SEEN_MAX], seen)?;
            seen.collect::<rusqlite::Result<Vec<_>>>()
        };
        let mut seen = read().map_err(|error| wrong(&self.path, &error))?;
        seen.reverse();
        if let Some(served) = self.served_ms(account)? {
            seen.iter_mut().for_each(|one| lift(one, served));
        }
        Ok(seen)
    }

    /// When the newest call of an account began that its provider answered: it reported tokens.
    fn served_ms(&self, account: &str) -> LedgerResult<Option<u64>> {
        let select = "SELECT max(wall_ms) FROM calls WHERE account = ?1 AND open = 0 AND (told & 2) = 2 AND tokens > 0";
        let read = self.connection.query_row(select, [account], |row| row.get::<_, Option<i64>>(0));
        read.map(|ms| ms.map(unsigned)).map_err(|error| wrong(&self.path, &error))
    }

    /// What the limits of the provider of an account will become, if work goes on for so long from now.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn forecast(&self, account: &str, now_ms: u64, work_ms: Option<u64>) -> LedgerResult<Vec<WindowForecast>> {
        let seen = self.windows_seen(account, now_ms.saturating_sub(SEEN_DAYS * DAY_MS))?;
        Ok(forecast(&seen, now_ms, work_ms))
    }

    /// Which limits a run of this agent that starts now is likely to meet.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn likely_limits(&self, account: &str, now_ms: u64) -> LedgerResult<Vec<LikelyLimit>> {
        let seen = self.windows_seen(account, now_ms.saturating_sub(SEEN_DAYS * DAY_MS))?;
        let finished = self.finished_runs(account)?;
        let is_finished = |run: &str| finished.iter().any(|one| one.run == run);
        Ok(likely_limits(&seen, &is_finished, now_ms))
    }

    /// What the calls of all runs used since a moment, what was only assumed included, as caps count it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn counted_since(&self, wall_ms: u64) -> LedgerResult<Day> {
        let select =
            "SELECT count(*), coalesce(sum(cost_micros), 0), coalesce(sum(tokens), 0), coalesce(sum(1 - (told & 1)), 0)
            FROM calls WHERE wall_ms >= ?1";
        let read = |row: &rusqlite::Row<'_>| {
            let count = |at: usize| row.get::<_, i64>(at).map(|count| u32::try_from(count).unwrap_or(u32::MAX));
            let (cost_micros, tokens) = (row.get(1).map(unsigned)?, row.get(2).map(unsigned)?);
            Ok(Day { calls: count(0)?, cost_micros, tokens, untold: count(3)? })
        };
        self.connection.query_row(select, [signed(wall_ms)], read).map_err(|error| wrong(&self.path, &error))
    }

    /// The newest finished runs of an agent, with what each used.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn finished_runs(&self, account: &str) -> LedgerResult<Vec<FinishedRun>> {
        let read = || {
            let mut select = self.connection.prepare(FINISHED)?;
            let runs = select.query_map([account], |row| {
                let calls: i64 = row.get(1)?;
                let told = |count: i64, sum: i64| (count == calls).then(|| unsigned(sum));
                Ok(FinishedRun {
                    run: row.get(0)?,
                    calls: unsigned(calls),
                    cost_micros: told(row.get(2)?, row.get(4)?),
                    tokens: told(row.get(3)?, row.get(5)?),
                })
            })?;
            runs.collect::<rusqlite::Result<Vec<_>>>()
        };
        read().map_err(|error| wrong(&self.path, &error))
    }

    /// Writes down that a run ended. One that is resumed and ends again ends then.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn note_end(&self, run: &EndedRun) -> LedgerResult<()> {
        self.change_unsynced(|change| note_end(change, run))
    }
}

/// A run has ended: the ledger notes it, and its tries, where there is one. What goes wrong is not the run's matter.
pub fn note_ended(home: &Home, folder: &RunFolder, state: &RunState, at_ms: u64) {
    let Some((spec, over)) = state.spec.as_ref().zip(state.over.as_ref()) else { return };
    if !exists(&home.state) {
        return;
    }
    let run = EndedRun::of(&spec.id, over.outcome, at_ms);
    let tries = journal::read(&folder.path).map(|reading| tries_of(&reading.entries));
    let write = |ledger: Ledger| {
        ledger.note_end(&run)?;
        tries.map_or(Ok(()), |tries| ledger.note_tries(&run.run, &tries))
    };
    Ledger::open(&home.state).and_then(write).ok();
}

pub(super) fn note_call(connection: &Connection, call: i64, note: &CallNote<'_>) -> rusqlite::Result<()> {
    if let Some(model) = note.model {
        let model = text::one_line(model, MODEL_BYTES_MAX);
        let insert = "INSERT OR REPLACE INTO call_models (call, model) VALUES (?1, ?2)";
        connection.prepare_cached(insert)?.execute(params![call, model])?;
    }
    for window in note.windows {
        let insert = "INSERT INTO windows (account, run, wall_ms, name, used_permille, resets_ms, state, source)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
        let values = params![
            note.account,
            note.run.as_str(),
            signed(note.ended_ms),
            window.name,
            window.used_permille,
            window.resets_ms.map(amount),
            window.state.word(),
            window.source.word(),
        ];
        connection.prepare_cached(insert)?.execute(values)?;
    }
    Ok(())
}

pub(super) fn note_end(connection: &Connection, run: &EndedRun) -> rusqlite::Result<()> {
    let insert = "INSERT OR REPLACE INTO ended_runs (run, wall_ms, outcome) VALUES (?1, ?2, ?3)";
    connection.execute(insert, params![run.run, signed(run.at_ms), run.outcome]).map(drop)
}

/// What belongs to days before this one, and to calls that were removed.
pub(super) fn prune(connection: &Connection, before_day: u64) -> rusqlite::Result<()> {
    let before_ms = signed(before_day.saturating_mul(DAY_MS));
    connection.execute("DELETE FROM windows WHERE wall_ms < ?1", [before_ms])?;
    connection.execute("DELETE FROM ended_runs WHERE wall_ms < ?1", [before_ms])?;
    connection.execute("DELETE FROM call_models WHERE call NOT IN (SELECT id FROM calls)", []).map(drop)
}

/// A limit that refused calls does not do so any more where a later call was answered. How much is used is not known then.
/// A limit of some models only may still hold: a call with another model says nothing about it.
fn lift(seen: &mut WindowSeen, served_ms: u64) {
    let of_all = [UNNAMED, "five_hour", "seven_day", "day"].contains(&seen.window.name.as_str());
    if seen.window.state == WindowState::Reached && of_all && served_ms > seen.at_ms {
        seen.window.state = WindowState::Open;
        seen.window.used_permille = None;
    }
}

/// A row of [`SEEN`]. A word that a newer program wrote is read as the usual one.
fn seen(row: &rusqlite::Row<'_>) -> rusqlite::Result<WindowSeen> {
    let state: String = row.get(5)?;
    let source: String = row.get(6)?;
    Ok(WindowSeen {
        at_ms: unsigned(row.get(0)?),
        run: row.get(1)?,
        window: LimitWindow {
            name: row.get(2)?,
            used_permille: row.get(3)?,
            resets_ms: row.get::<_, Option<i64>>(4)?.map(unsigned),
            state: WindowState::of_word(&state).unwrap_or_default(),
            source: WindowSource::of_word(&source).unwrap_or(WindowSource::Event),
        },
    })
}
