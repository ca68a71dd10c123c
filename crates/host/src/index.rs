//! A list of all runs, quickly: ended ones from a derived index, live ones from their journals.
//!
//! The index is never believed further than its journal's length goes: a row counts only while the
//! file is as long as it was when the row was made. It can be deleted at any time.
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use loop_core::run::RunState;
use loop_core::view::{Liveness, Row};
use rusqlite::{Connection, params};

use crate::clock;
use crate::journal::{self, ReadError};
use crate::paths::Home;
use crate::retention;
use crate::runs::{self, RunFolder, RunsError};

/// One run in a list.
#[derive(Debug)]
pub struct Listed {
    /// Its folder.
    pub run: RunFolder,
    /// What is known of it.
    pub row: Result<Row, ReadError>,
    /// When it was made, for sorting: milliseconds since 1970.
    pub created_ms: u64,
}

impl Listed {
    /// What the index keeps of it: nothing while somebody drives it.
    fn entry(&self, journal_bytes: u64) -> Option<(u64, u64, Row)> {
        let row = self.row.as_ref().ok()?;
        let lies_still = row.outcome.is_some() || row.status == "crashed";
        lies_still.then(|| (journal_bytes, self.created_ms, row.clone()))
    }
}

/// All runs, the newest first. A run that cannot be read stands at the end.
///
/// # Errors
/// When the folder of the runs cannot be read.
pub fn list(home: &Home) -> Result<Vec<Listed>, RunsError> {
    let mut index = Index::open(home);
    let known = index.as_ref().map(Index::rows).unwrap_or_default();
    let mut listed = Vec::new();
    let mut fresh = Vec::new();
    for run in runs::all(home)? {
        let bytes = journal_bytes(&run);
        match known.get(run.id.as_str()) {
            Some((length, created_ms, row)) if *length == bytes && still_holds(row, &run) => {
                listed.push(Listed { run, row: Ok(row.clone()), created_ms: *created_ms });
            }
            Some(_) | None => {
                let found = look(run);
                if let Some(found) = found {
                    fresh.extend(found.entry(bytes));
                    listed.push(found);
                }
            }
        }
    }
    let gone: Vec<&String> =
        known.keys().filter(|id| !listed.iter().any(|listed| listed.run.id.as_str() == id.as_str())).collect();
    if let Some(index) = &mut index {
        index.keep(&fresh, &gone);
    }
    listed.sort_by(|left, right| right.created_ms.cmp(&left.created_ms).then_with(|| left.run.id.cmp(&right.run.id)));
    Ok(listed)
}

/// Whether a row as old as its journal is still true. Without an outcome that depends on whether
/// somebody drives the run.
fn still_holds(row: &Row, run: &RunFolder) -> bool {
    row.bytes.is_some() && (row.outcome.is_some() || run.holder().is_none())
}

fn journal_bytes(run: &RunFolder) -> u64 {
    fs::metadata(run.path.join(journal::FILE)).map_or(0, |found| found.len())
}

/// What the records of all runs take together that nobody drives. One look at the folder and one at
/// the index; only what is not in the index yet is read.
///
/// # Errors
/// When the folder of the runs cannot be read.
pub fn total(home: &Home) -> Result<u64, RunsError> {
    let mut index = Index::open(home);
    let sizes = index.as_ref().map(Index::sizes).unwrap_or_default();
    let (mut total, mut fresh) = (0_u64, Vec::new());
    for run in runs::all(home)? {
        if let Some(bytes) = sizes.get(run.id.as_str()) {
            total = total.saturating_add(*bytes);
        } else if run.holder().is_none() {
            let length = journal_bytes(&run);
            let found = look(run).and_then(|found| found.entry(length));
            total = total.saturating_add(found.as_ref().and_then(|(_, _, row)| row.bytes).unwrap_or(0));
            fresh.extend(found);
        }
    }
    if let Some(index) = &mut index {
        index.keep(&fresh, &[]);
    }
    Ok(total)
}

/// Takes a run in as it is now: it ended, or something of it was removed.
pub fn note(home: &Home, run: &RunFolder, state: &RunState) {
    let length = journal_bytes(run);
    let Some(row) = Row::of(state, Liveness::Free, clock::now()).map(|row| sized(row, run)) else { return };
    if let Some(mut index) = Index::open(home) {
        index.keep(&[(length, state.created.wall_ms, row)], &[]);
    }
}

/// The row with what is seen on disk.
fn sized(row: Row, run: &RunFolder) -> Row {
    Row { bytes: Some(runs::bytes_of(&run.path)), thinned: retention::is_thinned(run), ..row }
}

/// One run, from its journal; none if it vanished meanwhile.
#[must_use]
pub fn look(run: RunFolder) -> Option<Listed> {
    let liveness = if run.holder().is_some() { Liveness::Driven } else { Liveness::Free };
    let reading = match journal::read(&run.path) {
        Ok(reading) => reading,
        Err(_) if !run.path.exists() => return None,
        Err(error) => return Some(Listed { run, row: Err(error), created_ms: 0 }),
    };
    let state = reading.fold();
    let created_ms = state.created.wall_ms;
    let row = Row::of(&state, liveness, clock::now());
    let row = row.map(|row| sized(row, &run));
    let row = row.ok_or_else(|| ReadError::NoJournal { path: run.path.join(journal::FILE) });
    Some(Listed { run, row, created_ms })
}

/// The derived database. Whatever goes wrong with it, it is made anew or done without.
struct Index(Connection);

const SET_UP: &str = "PRAGMA synchronous = OFF; PRAGMA journal_mode = WAL; PRAGMA secure_delete = ON;";
/// `bytes` is the journal's length, `size` what the whole run takes.
const MAKE: &str = "CREATE TABLE IF NOT EXISTS runs
    (id TEXT PRIMARY KEY, bytes INTEGER, created_ms INTEGER, row TEXT, size INTEGER) WITHOUT ROWID;";

impl Index {
    fn open(home: &Home) -> Option<Self> {
        let path = home.state.join("index.db");
        if !home.runs().is_dir() {
            return None;
        }
        Self::open_at(&path)
            .or_else(|_| {
                // Damaged: it holds nothing that the journals do not.
                for end in ["", "-wal", "-shm"] {
                    fs::remove_file(home.state.join(format!("index.db{end}"))).ok();
                }
                Self::open_at(&path)
            })
            .ok()
    }

    fn open_at(path: &Path) -> rusqlite::Result<Self> {
        let connection = Connection::open(path)?;
        connection.busy_timeout(Duration::from_millis(200))?;
        connection.execute_batch(SET_UP)?;
        let knows = |connection: &Connection| connection.prepare("SELECT size FROM runs LIMIT 1").map(drop);
        if knows(&connection).is_err() {
            connection.execute_batch(MAKE)?;
            knows(&connection)?;
        }
        Ok(Self(connection))
    }

    fn sizes(&self) -> BTreeMap<String, u64> {
        let read = || {
            let mut select = self.0.prepare("SELECT id, size FROM runs")?;
            let rows = select.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)))?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        let rows = read().unwrap_or_default().into_iter();
        rows.map(|(id, size)| (id, u64::try_from(size).unwrap_or(0))).collect()
    }

    fn rows(&self) -> BTreeMap<String, (u64, u64, Row)> {
        let read = || {
            let mut select = self.0.prepare("SELECT id, bytes, created_ms, row FROM runs")?;
            let rows = select.query_map([], |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?, row.get::<_, String>(3)?))
            })?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        let unsigned = |number: i64| u64::try_from(number).unwrap_or(0);
        let rows = read().unwrap_or_default().into_iter();
        rows.filter_map(|(id, bytes, created, row)| {
            Some((id, (unsigned(bytes), unsigned(created), serde_json::from_str(&row).ok()?)))
        })
        .collect()
    }

    /// Takes new rows in, and those of removed runs out.
    fn keep(&mut self, fresh: &[(u64, u64, Row)], gone: &[&String]) {
        if fresh.is_empty() && gone.is_empty() {
            return;
        }
        let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let write = || {
            let change = self.0.unchecked_transaction()?;
            for (bytes, created, row) in fresh {
                let text = serde_json::to_string(row).unwrap_or_default();
                let size = signed(row.bytes.unwrap_or(0));
                let values = params![row.id, signed(*bytes), signed(*created), text, size];
                change.execute("INSERT OR REPLACE INTO runs VALUES (?1, ?2, ?3, ?4, ?5)", values)?;
            }
            for id in gone {
                change.execute("DELETE FROM runs WHERE id = ?1", [id])?;
            }
            change.commit()
        };
        // Another reader writes the same rows; whoever fails finds them there next time.
        drop::<rusqlite::Result<()>>(write());
    }
}
