//! The tries of all runs: which agent worked on which class of task, what it cost, whether it passed. The learned router
//! and `loop agents --scores` read them.
//!
//! A run's tries are written when it ends, all at once. Nothing here limits a run, so nothing is synced.
use loop_core::policy::reserve::DAY_MS;
use loop_core::policy::router::{AgentArm, SCORE_ROWS_MAX, ScoreRow};
use loop_core::settings::{RouterMode, Settings};
use loop_core::view::Try;
use rusqlite::{Connection, OptionalExtension, params};

use super::{Ledger, LedgerResult, amount, exists, signed, unsigned, wrong};
use crate::paths::Home;

/// Made when it is first needed: an earlier ledger has no tries.
const TABLE: &str = "CREATE TABLE IF NOT EXISTS tries (id INTEGER PRIMARY KEY, run TEXT NOT NULL,
    wall_ms INTEGER NOT NULL, agent TEXT NOT NULL, model TEXT, class TEXT NOT NULL, passed INTEGER NOT NULL,
    cost_micros INTEGER)";

/// The rows of a run are together at most so long: its first fact has a limit, and long names of models are possible.
const SCORE_BYTES_MAX: usize = 3072;

const SCORES: &str = "SELECT agent, model, class, count(*), sum(passed), coalesce(sum(cost_micros), 0),
    count(cost_micros) FROM tries GROUP BY agent, model, class ORDER BY agent, model, class";

impl Ledger {
    /// Writes the tries of a run that ended. One that is resumed and ends again has those of its whole journal.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn note_tries(&self, run: &str, tries: &[Try]) -> LedgerResult<()> {
        self.change_unsynced(|change| note(change, run, tries))
    }

    /// What was recorded of each agent with each model in each class of tasks.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn scores(&self) -> LedgerResult<Vec<ScoreRow>> {
        let read = || {
            if !is_there(&self.connection)? {
                return Ok(Vec::new());
            }
            let mut select = self.connection.prepare(SCORES)?;
            let rows = select.query_map([], |row| {
                let count = |at: usize| row.get::<_, i64>(at).map(|count| u32::try_from(count).unwrap_or(u32::MAX));
                Ok(ScoreRow {
                    agent: row.get(0)?,
                    model: row.get(1)?,
                    class: row.get(2)?,
                    tries: count(3)?,
                    passes: count(4)?,
                    cost_micros: row.get(5).map(unsigned)?,
                    with_cost: count(6)?,
                })
            })?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        read().map_err(|error| wrong(&self.path, &error))
    }
}

/// What the ledger has recorded of the enabled agents, where the router of these settings learns from it: those with the
/// most tries, as many as a run takes. A ledger that cannot be read has nothing.
pub(crate) fn scores_for(home: &Home, settings: &Settings) -> Vec<ScoreRow> {
    let learns = matches!(settings.values.router.router, RouterMode::Learned | RouterMode::Shadow);
    let enabled: Vec<AgentArm> = settings.values.enabled();
    if !learns || enabled.len() < 2 || !exists(&home.state) {
        return Vec::new();
    }
    let mut rows = Ledger::open(&home.state).and_then(|ledger| ledger.scores()).unwrap_or_default();
    rows.retain(|row| enabled.contains(&row.arm()));
    rows.sort_by_key(|row| std::cmp::Reverse(row.tries));
    rows.truncate(SCORE_ROWS_MAX);
    let mut bytes = 0;
    rows.retain(|row| {
        bytes += serde_json::to_string(row).map_or(SCORE_BYTES_MAX, |text| text.len());
        bytes <= SCORE_BYTES_MAX
    });
    rows
}

fn is_there(connection: &Connection) -> rusqlite::Result<bool> {
    let found = connection.query_row("SELECT 1 FROM sqlite_master WHERE name = 'tries'", [], |_| Ok(()));
    found.optional().map(|found| found.is_some())
}

pub(super) fn note(connection: &Connection, run: &str, tries: &[Try]) -> rusqlite::Result<()> {
    if tries.is_empty() && !is_there(connection)? {
        return Ok(());
    }
    connection.execute(TABLE, [])?;
    connection.execute("DELETE FROM tries WHERE run = ?1", [run])?;
    let insert = "INSERT INTO tries (run, wall_ms, agent, model, class, passed, cost_micros)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    for one in tries {
        let AgentArm { agent, model } = &one.arm;
        let cost = one.cost_micros.map(amount);
        connection.prepare_cached(insert)?.execute(params![
            run,
            signed(one.at_ms),
            agent,
            model,
            one.class,
            one.passed,
            cost
        ])?;
    }
    Ok(())
}

/// Removes what belongs to days before this one.
pub(super) fn prune(connection: &Connection, before_day: u64) -> rusqlite::Result<()> {
    if !is_there(connection)? {
        return Ok(());
    }
    let before_ms = signed(before_day.saturating_mul(DAY_MS));
    connection.execute("DELETE FROM tries WHERE wall_ms < ?1", [before_ms]).map(drop)
}
