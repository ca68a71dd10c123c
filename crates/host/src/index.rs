//! A list of all runs, quickly: ended ones from a derived index, live ones from their journals.
//!
//! The index is never believed further than its journal's length goes: a row counts only while the
//! file is as long as it was when the row was made. It can be deleted at any time.
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

use loop_core::run::{RunState, Status};
use loop_core::view::{Liveness, Row};
use rusqlite::{Connection, ErrorCode, params};
use rustix::fs::{AtFlags, statat};

use crate::clock;
use crate::journal::{self, ReadError};
use crate::paths::Home;
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
    /// When something was last written down.
    pub updated_ms: u64,
}

impl Listed {
    /// What the index keeps of it: nothing while somebody drives it.
    fn entry(&self, journal_bytes: u64) -> Option<(Times, Row)> {
        let row = self.row.as_ref().ok()?;
        let lies_still = row.outcome.is_some() || row.status == Status::Crashed;
        lies_still.then(|| (Times::of((self.created_ms, self.updated_ms), row, journal_bytes), row.clone()))
    }
}

/// All runs, the newest first. A run that cannot be read stands at the end.
///
/// # Errors
/// When the folder of the runs cannot be read.
pub fn list(home: &Home) -> Result<Vec<Listed>, RunsError> {
    list_since(home, 0)
}

/// The same without those that were over before this moment. However many there are, they cost hardly anything.
///
/// # Errors
/// When the folder of the runs cannot be read.
pub fn list_since(home: &Home, since_ms: u64) -> Result<Vec<Listed>, RunsError> {
    let mut index = Index::open(home);
    let mut known = index.as_ref().map(|index| index.rows(since_ms)).unwrap_or_default();
    let mut listed = Vec::new();
    let mut fresh = Vec::new();
    // Short paths from the folder itself: half the work of a long one, for each of thousands.
    let folder = File::open(home.runs());
    let length_of = |id: &str| {
        let found = statat(folder.as_ref().ok()?, format!("{id}/{}", journal::FILE), AtFlags::empty()).ok()?;
        u64::try_from(found.st_size).ok()
    };
    for run in runs::all(home)? {
        let bytes = length_of(run.id.as_str()).unwrap_or(0);
        match known.remove(run.id.as_str()).filter(|known| known.bytes == bytes && known.still_holds(&run)) {
            Some(Known { row: Some(row), created_ms, updated_ms, .. }) => {
                listed.push(Listed { run, row: Ok(*row), created_ms, updated_ms });
            }
            Some(Known { row: None, .. }) => {}
            None => {
                let Some(found) = look(run) else { continue };
                fresh.extend(found.entry(bytes));
                let is_old = |row: &Row| row.is_over() && found.updated_ms < since_ms;
                if !found.row.as_ref().is_ok_and(is_old) {
                    listed.push(found);
                }
            }
        }
    }
    if let Some(index) = &mut index {
        // What is left of the known ones has no folder any more.
        index.keep(&fresh, known.keys());
    }
    listed.sort_by(|left, right| right.created_ms.cmp(&left.created_ms).then_with(|| left.run.id.cmp(&right.run.id)));
    Ok(listed)
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
            total = total.saturating_add(found.as_ref().and_then(|(_, row)| row.bytes).unwrap_or(0));
            fresh.extend(found);
        }
    }
    if let Some(index) = &mut index {
        index.keep(&fresh, [].iter());
    }
    Ok(total)
}

/// Takes a run in as it is now: it ended, or something of it was removed.
pub fn note(home: &Home, run: &RunFolder, state: &RunState) {
    let length = journal_bytes(run);
    let Some(row) = Row::of(state, Liveness::Free, clock::now()).map(|row| sized(row, run)) else { return };
    if let Some(mut index) = Index::open(home) {
        index.keep(&[(Times::of((state.created.wall_ms, state.now.wall_ms), &row, length), row)], [].iter());
    }
}

/// The row with what is seen on disk.
fn sized(row: Row, run: &RunFolder) -> Row {
    Row { bytes: Some(crate::fs::bytes_of(&run.path)), thinned: run.is_thinned(), ..row }
}

/// One run, from its journal; none if it vanished meanwhile.
#[must_use]
pub fn look(run: RunFolder) -> Option<Listed> {
    let liveness = if run.holder().is_some() { Liveness::Driven } else { Liveness::Free };
    let reading = match journal::read(&run.path) {
        Ok(reading) => reading,
        Err(_) if !run.path.exists() => return None,
        Err(error) => return Some(Listed { run, row: Err(error), created_ms: 0, updated_ms: 0 }),
    };
    let state = reading.fold();
    let (created_ms, updated_ms) = (state.created.wall_ms, state.now.wall_ms);
    let row = Row::of(&state, liveness, clock::now());
    let row = row.map(|row| sized(row, &run));
    let row = row.ok_or_else(|| ReadError::NoJournal { path: run.path.join(journal::FILE) });
    Some(Listed { run, row, created_ms, updated_ms })
}

/// The derived database. Whatever goes wrong with it, it is made anew or done without.
struct Index(Connection);

/// What the index has of a run.
struct Known {
    bytes: u64,
    created_ms: u64,
    updated_ms: u64,
    /// None where it was over before the moment that was asked for.
    row: Option<Box<Row>>,
}

impl Known {
    /// Whether a row as old as its journal is still true. Without an outcome that depends on whether
    /// somebody drives the run.
    fn still_holds(&self, run: &RunFolder) -> bool {
        self.row.as_ref().is_none_or(|row| row.bytes.is_some() && (row.outcome.is_some() || run.holder().is_none()))
    }
}

/// The numbers that stand beside a row.
struct Times {
    bytes: u64,
    created_ms: u64,
    updated_ms: u64,
    /// When it stopped to matter: never, while a person may still be waited for.
    over_ms: u64,
}

impl Times {
    fn of((created_ms, updated_ms): (u64, u64), row: &Row, bytes: u64) -> Self {
        let over_ms = if row.is_over() { updated_ms } else { u64::MAX };
        Self { bytes, created_ms, updated_ms, over_ms }
    }
}

/// The form of the tables. One of another form is emptied: it holds nothing that the journals do not.
const FORM: i64 = 3;

/// `bytes` is the journal's length, `size` what the whole run takes. Numbers and texts lie apart, so that those who want few texts read few pages. A reader of a file without a
/// write-ahead log writes nothing and makes no file.
const MAKE: &str = "PRAGMA journal_mode = DELETE; PRAGMA secure_delete = ON; PRAGMA synchronous = OFF;
    DROP TABLE IF EXISTS runs; DROP TABLE IF EXISTS texts;
    CREATE TABLE runs (id TEXT PRIMARY KEY, bytes INTEGER, created_ms INTEGER, updated_ms INTEGER, over_ms INTEGER,
        size INTEGER) WITHOUT ROWID;
    CREATE TABLE texts (id TEXT PRIMARY KEY, row TEXT) WITHOUT ROWID;
    PRAGMA user_version = 3;";

/// As a question of its own for each row, because a join would look up every text.
const SELECT: &str = "SELECT id, bytes, created_ms, updated_ms, over_ms < ?1,
    CASE WHEN over_ms >= ?1 THEN (SELECT row FROM texts WHERE texts.id = runs.id) END FROM runs";

impl Index {
    fn open(home: &Home) -> Option<Self> {
        let path = home.state.join("index.db");
        if !home.runs().is_dir() {
            return None;
        }
        Self::open_at(&path)
            .or_else(|error| {
                // Somebody else writes, or we have no handle left: done without, this time.
                let elsewhere =
                    [ErrorCode::DatabaseBusy, ErrorCode::DatabaseLocked, ErrorCode::CannotOpen, ErrorCode::DiskFull];
                if error.sqlite_error_code().is_some_and(|code| elsewhere.contains(&code)) {
                    return Err(error);
                }
                // Damaged: it holds nothing that the journals do not.
                for end in ["", "-wal", "-shm", "-journal"] {
                    fs::remove_file(home.state.join(format!("index.db{end}"))).ok();
                }
                Self::open_at(&path)
            })
            .ok()
    }

    fn open_at(path: &Path) -> rusqlite::Result<Self> {
        let connection = Connection::open(path)?;
        connection.busy_timeout(Duration::from_millis(200))?;
        let form: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        if form != FORM {
            connection.execute_batch(MAKE)?;
        }
        connection.prepare(SELECT)?;
        Ok(Self(connection))
    }

    fn sizes(&self) -> BTreeMap<String, u64> {
        let read = || {
            let mut select = self.0.prepare("SELECT id, size FROM runs")?;
            let rows = select.query_map([], |row| Ok((row.get::<_, String>(0)?, unsigned(row.get(1)?))))?;
            rows.collect::<rusqlite::Result<BTreeMap<_, _>>>()
        };
        read().unwrap_or_default()
    }

    fn rows(&self, since_ms: u64) -> BTreeMap<String, Known> {
        let read = || {
            let mut select = self.0.prepare(SELECT)?;
            let rows = select.query_map([signed(since_ms)], |row| {
                let number = |column: usize| row.get::<_, i64>(column).map(unsigned);
                let text = row.get_ref(5)?.as_str_or_null()?;
                let parsed = text.and_then(|text| serde_json::from_str(text).ok()).map(Box::new);
                let old = row.get::<_, bool>(4)?;
                // One that is wanted and cannot be read has no length that a journal could have.
                let bytes = if old || parsed.is_some() { number(1)? } else { u64::MAX };
                let known = Known { bytes, created_ms: number(2)?, updated_ms: number(3)?, row: parsed };
                Ok((row.get::<_, String>(0)?, known))
            })?;
            rows.collect::<rusqlite::Result<BTreeMap<_, _>>>()
        };
        read().unwrap_or_default()
    }

    /// Takes new rows in, and those of removed runs out.
    fn keep<'a>(&mut self, fresh: &[(Times, Row)], gone: impl ExactSizeIterator<Item = &'a String>) {
        if fresh.is_empty() && gone.len() == 0 {
            return;
        }
        let write = || {
            self.0.execute_batch("PRAGMA secure_delete = ON; PRAGMA synchronous = OFF;")?;
            let change = self.0.unchecked_transaction()?;
            for (times, row) in fresh {
                let Times { bytes, created_ms, updated_ms, over_ms } = *times;
                let values = params![
                    row.id,
                    signed(bytes),
                    signed(created_ms),
                    signed(updated_ms),
                    signed(over_ms),
                    signed(row.bytes.unwrap_or(0))
                ];
                let insert = "INSERT OR REPLACE INTO runs VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
                change.prepare_cached(insert)?.execute(values)?;
                let text = serde_json::to_string(row).unwrap_or_default();
                change.prepare_cached("INSERT OR REPLACE INTO texts VALUES (?1, ?2)")?.execute([&row.id, &text])?;
            }
            for id in gone {
                change.execute("DELETE FROM runs WHERE id = ?1", [id])?;
                change.execute("DELETE FROM texts WHERE id = ?1", [id])?;
            }
            change.commit()
        };
        // Another reader writes the same rows; whoever fails finds them there next time.
        drop::<rusqlite::Result<()>>(write());
    }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
