//! The calls of the scarcest model: how many all runs of the user made today, by local time.
//!
//! A call is counted in the step that reserves it. The day is the one that the clock shows at the call. A clock that is
//! set back frees nothing: what this start of the machine has seen since midnight counts whatever day it was called.
use loop_core::time::At;
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::{Ledger, LedgerResult, signed, wrong};
use crate::clock::LocalDay;

/// Made when it is first needed: an earlier ledger has no such call.
const TABLE: &str = "CREATE TABLE IF NOT EXISTS scarce_calls (call INTEGER PRIMARY KEY, day INTEGER NOT NULL,
    boot_ms INTEGER NOT NULL, boot_id INTEGER NOT NULL)";

/// A call that was reserved and never made is not in `calls` any more.
const COUNT: &str = "SELECT count(*) FROM scarce_calls WHERE (day = ?1 OR (boot_id = ?2 AND boot_ms >= ?3))
    AND EXISTS (SELECT 1 FROM calls WHERE calls.id = scarce_calls.call)";

/// How many calls of the scarcest model count today.
pub(super) fn used(change: &Connection, at: At, today: LocalDay) -> rusqlite::Result<u32> {
    let is_there = change
        .query_row("SELECT 1 FROM sqlite_master WHERE name = 'scarce_calls'", [], |_| Ok(()))
        .optional()?
        .is_some();
    if !is_there {
        return Ok(0);
    }
    let since_midnight = at.wall_ms.saturating_sub(today.began_ms);
    let since = signed(at.boot_ms.saturating_sub(since_midnight));
    let values = params![signed(today.number), at.boot_id, since];
    let count: i64 = change.query_row(COUNT, values, |row| row.get(0))?;
    Ok(u32::try_from(count).unwrap_or(u32::MAX))
}

/// Counts a call of the scarcest model, once.
pub(super) fn count(change: &Connection, call: i64, at: At, today: LocalDay) -> rusqlite::Result<()> {
    change.execute(TABLE, [])?;
    let insert = "INSERT OR IGNORE INTO scarce_calls (call, day, boot_ms, boot_id) VALUES (?1, ?2, ?3, ?4)";
    change.execute(insert, params![call, signed(today.number), signed(at.boot_ms), at.boot_id])?;
    // What belongs to no call any more is of no use.
    if call % super::PRUNE_EVERY == 0 {
        change.execute("DELETE FROM scarce_calls WHERE call NOT IN (SELECT id FROM calls)", [])?;
    }
    Ok(())
}

/// How long the scarcest model is used up, where this call would be one too many.
pub(super) fn denied(change: &Transaction<'_>, at: At, today: LocalDay, most: u32) -> rusqlite::Result<Option<u64>> {
    let used = used(change, at, today)?;
    Ok((used >= most).then(|| today.ends_ms.saturating_sub(at.wall_ms).max(1)))
}

impl Ledger {
    /// How many calls of the scarcest model all runs made today.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn scarce_calls(&self, at: At, today: LocalDay) -> LedgerResult<u32> {
        used(&self.connection, at, today).map_err(|error| wrong(&self.path, &error))
    }

    /// Counts a call that turned out to be one of the scarcest model: its program reported it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn count_scarce(&self, call: i64, at: At, today: LocalDay) -> LedgerResult<()> {
        self.change(|change| count(change, call, at, today))
    }
}
