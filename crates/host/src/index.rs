//! A list of all runs, quickly: ended ones from a derived index, live ones from their journals.
//!
//! A row of the index is valid only while the journal is as long as it was when the row was made. The index can be
//! deleted at any time. It is made for any machine that says what a row of it is.
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::time::Duration;

use loop_core::machine::Machine;
use loop_core::plan::{Plan, PlanState};
use loop_core::run::{Run, RunState, Status};
use loop_core::time::At;
use loop_core::view::{Liveness, PlanView, Row};
use rusqlite::{Connection, ErrorCode, params};
use rustix::fs::{AtFlags, statat};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::clock;
use crate::journal::{self, ReadError};
use crate::paths::Home;
use crate::run_folder::{self, RunFolder, RunsError};

/// The plan of a run, where that plan is not at its end for good: it needs the records and the checkpoints of its runs.
#[must_use]
pub fn open_plan_of(home: &Home, row: &Row) -> Option<String> {
    let plan = row.plan.clone()?;
    let path = home.plans().join(&plan);
    // Of one that cannot be read nobody knows.
    let is_open = || journal::read_of::<Plan>(&path).map_or(true, |reading| reading.fold().resumable());
    (path.is_dir() && is_open()).then_some(plan)
}

/// A machine whose journals can be listed.
pub trait Indexed: Machine {
    /// One line of the list.
    type Row: Clone + Serialize + DeserializeOwned;

    /// The folder that has a folder for each of them.
    fn folder(home: &Home) -> PathBuf;

    /// The row of this state; none where the journal has no first fact.
    fn row(state: &Self::State, liveness: Liveness, now: At) -> Option<Self::Row>;

    /// When it was created and when it changed last.
    fn times(state: &Self::State) -> RowTimes;

    /// Whether it can still change.
    fn rest(row: &Self::Row) -> Rest;

    /// The row with what is seen on disk.
    fn on_disk(row: Self::Row, size: DiskSize) -> Self::Row;

    /// What the row says of the disk.
    fn size(row: &Self::Row) -> Option<u64>;
}

/// When something was created and when it changed last: milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowTimes {
    /// When it was made.
    pub created_ms: u64,
    /// When something was last recorded.
    pub updated_ms: u64,
}

/// Whether something can change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    /// Its driver changes it.
    Driven,
    /// Its driver died without an end. That is so until another one drives it.
    Crashed,
    /// It has an end, and a person may still be needed.
    Ended,
    /// It is over.
    Over,
}

impl Rest {
    /// Whether old ones need not be listed.
    fn is_over(self) -> bool {
        matches!(self, Self::Crashed | Self::Over)
    }

    /// Whether it has an end.
    fn has_end(self) -> bool {
        matches!(self, Self::Ended | Self::Over)
    }
}

/// What something takes on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskSize {
    /// How much.
    pub bytes: u64,
    /// Outputs of it were removed to make room for others.
    pub thinned: bool,
}

impl Indexed for Run {
    type Row = Row;

    fn folder(home: &Home) -> PathBuf {
        home.runs()
    }

    fn row(state: &RunState, liveness: Liveness, now: At) -> Option<Row> {
        Row::of(state, liveness, now)
    }

    fn times(state: &RunState) -> RowTimes {
        RowTimes { created_ms: state.clock.created().wall_ms, updated_ms: state.now.wall_ms }
    }

    fn rest(row: &Row) -> Rest {
        match row.outcome {
            Some(_) if row.is_over() => Rest::Over,
            Some(_) => Rest::Ended,
            None if row.status == Status::Crashed => Rest::Crashed,
            None => Rest::Driven,
        }
    }

    fn on_disk(row: Row, size: DiskSize) -> Row {
        Row { bytes: Some(size.bytes), thinned: size.thinned, ..row }
    }

    fn size(row: &Row) -> Option<u64> {
        row.bytes
    }
}

impl Indexed for Plan {
    type Row = PlanView;

    fn folder(home: &Home) -> PathBuf {
        home.plans()
    }

    fn row(state: &PlanState, liveness: Liveness, now: At) -> Option<PlanView> {
        PlanView::of(state, liveness == Liveness::Driven, now)
    }

    fn times(state: &PlanState) -> RowTimes {
        RowTimes { created_ms: state.created.wall_ms, updated_ms: state.now.wall_ms }
    }

    fn rest(view: &PlanView) -> Rest {
        match view.outcome {
            Some(_) if view.resumable => Rest::Ended,
            Some(_) => Rest::Over,
            None if view.status == Status::Crashed => Rest::Crashed,
            None => Rest::Driven,
        }
    }

    fn on_disk(view: PlanView, size: DiskSize) -> PlanView {
        PlanView { bytes: Some(size.bytes), ..view }
    }

    fn size(view: &PlanView) -> Option<u64> {
        view.bytes
    }
}

/// One run in a list, or another machine.
#[derive(Debug)]
pub struct Listed<M: Indexed = Run> {
    /// Its folder.
    pub run: RunFolder,
    /// What is known of it.
    pub row: Result<M::Row, ReadError>,
    /// When it was made and changed, for sorting.
    pub times: RowTimes,
}

impl<M: Indexed> Listed<M> {
    /// What the index stores of it: nothing while it is driven.
    fn stored(&self, journal_bytes: u64) -> Option<StoredRow<M>> {
        let row = self.row.as_ref().ok()?;
        let settled = M::rest(row) != Rest::Driven;
        settled.then(|| StoredRow::new(self.run.id.as_str(), self.times, row.clone(), journal_bytes))
    }
}

/// All runs, the newest first. A run that cannot be read is at the end.
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
    list_of::<Run>(home, since_ms)
}

/// From which moment on a list has about so many runs that are over, and how many it then leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShortList {
    /// Runs that were over before are left out.
    pub since_ms: u64,
    /// How many of them were over after the moment that was asked for.
    pub left_out: u64,
}

impl ShortList {
    /// The newest `most` of those that were over after `since_ms`, as far as the index knows them.
    #[must_use]
    pub fn of_newest(home: &Home, since_ms: u64, most: u32) -> Self {
        let all = Self { since_ms, left_out: 0 };
        Index::<Run>::open(home).and_then(|index| index.short_list(since_ms, most)).unwrap_or(all)
    }
}

/// The same for any machine.
///
/// # Errors
/// When their folder cannot be read.
pub fn list_of<M: Indexed>(home: &Home, since_ms: u64) -> Result<Vec<Listed<M>>, RunsError> {
    let mut index = Index::<M>::open(home);
    let mut known = index.as_ref().map(|index| index.rows(since_ms)).unwrap_or_default();
    let mut listed = Vec::new();
    let mut fresh = Vec::new();
    // Short paths from the folder itself: half the work of a long one, for each of thousands.
    let all = M::folder(home);
    let folder = File::open(&all);
    let length_of = |id: &str| {
        let found = statat(folder.as_ref().ok()?, format!("{id}/{}", journal::FILE), AtFlags::empty()).ok()?;
        u64::try_from(found.st_size).ok()
    };
    for run in run_folder::all_in(&all)? {
        let bytes = length_of(run.id.as_str()).unwrap_or(0);
        match known.remove(run.id.as_str()).filter(|known| known.bytes == bytes && known.still_holds(&run)) {
            Some(Known { row: Some(row), times, .. }) => listed.push(Listed { run, row: Ok(*row), times }),
            Some(Known { row: None, .. }) => {}
            None => {
                let Some(found) = look_of::<M>(run) else { continue };
                fresh.extend(found.stored(bytes));
                let is_old = |row: &M::Row| M::rest(row).is_over() && found.times.updated_ms < since_ms;
                if !found.row.as_ref().is_ok_and(is_old) {
                    listed.push(found);
                }
            }
        }
    }
    if let Some(index) = &mut index {
        // What is left of the known ones has no folder any more.
        index.store(&fresh, known.keys());
    }
    listed.sort_by(|left, right| {
        right.times.created_ms.cmp(&left.times.created_ms).then_with(|| left.run.id.cmp(&right.run.id))
    });
    Ok(listed)
}

/// What the index has of a run. A run that it does not know has no row: mostly one that is driven.
#[derive(Debug)]
pub struct KnownRun {
    /// Its folder.
    pub run: RunFolder,
    /// What is known of it; as old as the index.
    pub row: Option<Row>,
}

/// All runs without reading a journal, the newest first; those without a row come before. For what must be quick and
/// may be old.
#[must_use]
pub fn known_runs(home: &Home) -> Vec<KnownRun> {
    let mut rows = Index::<Run>::open(home).map(|index| index.rows(0)).unwrap_or_default();
    let known = |run: RunFolder| match rows.remove(run.id.as_str()) {
        Some(Known { row: Some(row), times, .. }) => (times.created_ms, KnownRun { run, row: Some(*row) }),
        Some(Known { row: None, .. }) | None => (u64::MAX, KnownRun { run, row: None }),
    };
    let mut all: Vec<_> = run_folder::all(home).unwrap_or_default().into_iter().map(known).collect();
    all.sort_by_key(|(created_ms, _)| std::cmp::Reverse(*created_ms));
    all.into_iter().map(|(_, known)| known).collect()
}

fn journal_bytes(run: &RunFolder) -> u64 {
    fs::metadata(run.path.join(journal::FILE)).map_or(0, |found| found.len())
}

/// The size of the records of all runs that have no driver. It lists the folder and the index once; only what is
/// not in the index yet is read.
///
/// # Errors
/// When the folder of the runs cannot be read.
pub fn total(home: &Home) -> Result<u64, RunsError> {
    total_of::<Run>(home)
}

/// The same for any machine.
///
/// # Errors
/// When their folder cannot be read.
pub fn total_of<M: Indexed>(home: &Home) -> Result<u64, RunsError> {
    let mut index = Index::<M>::open(home);
    let sizes = index.as_ref().map(Index::sizes).unwrap_or_default();
    let mut total = 0_u64;
    let mut fresh = Vec::new();
    for run in run_folder::all_in(&M::folder(home))? {
        if let Some(bytes) = sizes.get(run.id.as_str()) {
            total = total.saturating_add(*bytes);
        } else if run.holder().is_none() {
            let length = journal_bytes(&run);
            let found = look_of::<M>(run).and_then(|found| found.stored(length));
            total = total.saturating_add(found.as_ref().and_then(|stored| M::size(&stored.row)).unwrap_or(0));
            fresh.extend(found);
        }
    }
    if let Some(index) = &mut index {
        index.store(&fresh, [].iter());
    }
    Ok(total)
}

/// Stores the row of a run as it is now: it ended, or something of it was removed.
pub fn note(home: &Home, run: &RunFolder, state: &RunState) {
    note_of::<Run>(home, run, state);
}

/// The same for any machine.
pub fn note_of<M: Indexed>(home: &Home, run: &RunFolder, state: &M::State) {
    let length = journal_bytes(run);
    let Some(row) = M::row(state, Liveness::Free, clock::now()).map(|row| sized::<M>(row, run)) else { return };
    if let Some(mut index) = Index::<M>::open(home) {
        index.store(&[StoredRow::new(run.id.as_str(), M::times(state), row, length)], [].iter());
    }
}

/// The row with what is seen on disk.
fn sized<M: Indexed>(row: M::Row, run: &RunFolder) -> M::Row {
    M::on_disk(row, DiskSize { bytes: crate::fs::bytes_of(&run.path), thinned: run.is_thinned() })
}

/// One run, from its journal; none if it vanished meanwhile.
#[must_use]
pub fn look(run: RunFolder) -> Option<Listed> {
    look_of::<Run>(run)
}

/// The same for any machine.
#[must_use]
pub fn look_of<M: Indexed>(run: RunFolder) -> Option<Listed<M>> {
    let liveness = if run.holder().is_some() { Liveness::Driven } else { Liveness::Free };
    let reading = match journal::read_of::<M>(&run.path) {
        Ok(reading) => reading,
        Err(_) if !run.path.exists() => return None,
        Err(error) => {
            return Some(Listed { run, row: Err(error), times: RowTimes { created_ms: 0, updated_ms: 0 } });
        }
    };
    let state = reading.fold();
    let row = M::row(&state, liveness, clock::now()).map(|row| sized::<M>(row, &run));
    let row = row.ok_or_else(|| ReadError::NoJournal { path: run.path.join(journal::FILE) });
    Some(Listed { run, row, times: M::times(&state) })
}

/// The derived database. Where something is wrong with it, it is made again or not used.
struct Index<M: Indexed> {
    database: Connection,
    machine: PhantomData<M>,
}

/// What the index has of a run.
struct Known<M: Indexed> {
    bytes: u64,
    times: RowTimes,
    /// None where it was over before the moment that was asked for.
    row: Option<Box<M::Row>>,
}

impl<M: Indexed> Known<M> {
    /// Whether a row as old as its journal is still true. Without an outcome that depends on whether a driver works.
    fn still_holds(&self, run: &RunFolder) -> bool {
        let holds = |row: &M::Row| M::size(row).is_some() && (M::rest(row).has_end() || run.holder().is_none());
        self.row.as_ref().is_none_or(|row| holds(row))
    }
}

/// A row as the index stores it.
struct StoredRow<M: Indexed> {
    id: String,
    bytes: u64,
    times: RowTimes,
    /// When it stopped to matter: never, while a person may still be needed.
    over_ms: u64,
    row: M::Row,
}

impl<M: Indexed> StoredRow<M> {
    fn new(id: &str, times: RowTimes, row: M::Row, bytes: u64) -> Self {
        let over_ms = if M::rest(&row).is_over() { times.updated_ms } else { u64::MAX };
        Self { id: id.to_owned(), bytes, times, over_ms, row }
    }
}

/// The form of the tables. One of another form is emptied: it holds nothing that the journals do not.
const FORM: i64 = 5;

/// `bytes` is the journal's length, `size` what the whole run takes. Numbers and texts are in two tables, so that a
/// reader who wants few texts reads few pages. A reader of a file without a write-ahead log writes nothing and makes no
/// file.
fn tables<M: Machine>() -> String {
    let name = M::NAME;
    format!(
        "CREATE TABLE IF NOT EXISTS {name}s (id TEXT PRIMARY KEY, bytes INTEGER, created_ms INTEGER,
            updated_ms INTEGER, over_ms INTEGER, size INTEGER) WITHOUT ROWID;
        CREATE TABLE IF NOT EXISTS {name}_texts (id TEXT PRIMARY KEY, row TEXT) WITHOUT ROWID;"
    )
}

/// As a question of its own for each row, because a join would look up every text.
fn select<M: Machine>() -> String {
    let name = M::NAME;
    format!(
        "SELECT id, bytes, created_ms, updated_ms, over_ms < ?1,
        CASE WHEN over_ms >= ?1 THEN (SELECT row FROM {name}_texts WHERE {name}_texts.id = {name}s.id) END
        FROM {name}s"
    )
}

/// Removes the tables of another form.
fn make_again(database: &Connection) -> rusqlite::Result<()> {
    database.execute_batch("PRAGMA journal_mode = DELETE; PRAGMA secure_delete = ON; PRAGMA synchronous = OFF;")?;
    let names = database
        .prepare("SELECT name FROM sqlite_master WHERE type = 'table'")?
        .query_map([], |row| row.get::<_, String>(0))?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    for name in names {
        database.execute_batch(&format!("DROP TABLE \"{}\"", name.replace('"', "\"\"")))?;
    }
    database.pragma_update(None, "user_version", FORM)
}

impl<M: Indexed> Index<M> {
    fn open(home: &Home) -> Option<Self> {
        let path = home.state.join("index.db");
        if !M::folder(home).is_dir() {
            return None;
        }
        Self::open_at(&path)
            .or_else(|error| {
                // Another process writes, or no handle is left: not used, this time.
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
        let database = Connection::open(path)?;
        database.busy_timeout(Duration::from_millis(200))?;
        let form: i64 = database.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        if form != FORM {
            make_again(&database)?;
        }
        database.execute_batch(&tables::<M>())?;
        database.prepare(&select::<M>())?;
        Ok(Self { database, machine: PhantomData })
    }

    fn sizes(&self) -> BTreeMap<String, u64> {
        let read = || {
            let mut select = self.database.prepare(&format!("SELECT id, size FROM {}s", M::NAME))?;
            let rows = select.query_map([], |row| Ok((row.get::<_, String>(0)?, unsigned(row.get(1)?))))?;
            rows.collect::<rusqlite::Result<BTreeMap<_, _>>>()
        };
        read().unwrap_or_default()
    }

    /// None where there are no more than `most`.
    fn short_list(&self, since_ms: u64, most: u32) -> Option<ShortList> {
        let name = M::NAME;
        // The greatest number stands for a run that is not over.
        let last = format!(
            "SELECT over_ms FROM {name}s WHERE over_ms >= ?1 AND over_ms < {} ORDER BY over_ms DESC LIMIT 1 OFFSET ?2",
            i64::MAX
        );
        let last: i64 =
            self.database.query_row(&last, params![signed(since_ms), most.saturating_sub(1)], |row| row.get(0)).ok()?;
        let before = format!("SELECT count(*) FROM {name}s WHERE over_ms >= ?1 AND over_ms < ?2");
        let left_out: i64 = self.database.query_row(&before, [signed(since_ms), last], |row| row.get(0)).ok()?;
        Some(ShortList { since_ms: unsigned(last), left_out: unsigned(left_out) })
    }

    fn rows(&self, since_ms: u64) -> BTreeMap<String, Known<M>> {
        let read = || {
            let mut select = self.database.prepare(&select::<M>())?;
            let rows = select.query_map([signed(since_ms)], |row| {
                let number = |column: usize| row.get::<_, i64>(column).map(unsigned);
                let text = row.get_ref(5)?.as_str_or_null()?;
                let parsed = text.and_then(|text| serde_json::from_str(text).ok()).map(Box::new);
                let old = row.get::<_, bool>(4)?;
                // One that is wanted and cannot be read has no length that a journal could have.
                let bytes = if old || parsed.is_some() { number(1)? } else { u64::MAX };
                let times = RowTimes { created_ms: number(2)?, updated_ms: number(3)? };
                let known = Known { bytes, times, row: parsed };
                Ok((row.get::<_, String>(0)?, known))
            })?;
            rows.collect::<rusqlite::Result<BTreeMap<_, _>>>()
        };
        read().unwrap_or_default()
    }

    /// Stores new rows, and removes those of removed runs.
    fn store<'a>(&mut self, fresh: &[StoredRow<M>], gone: impl ExactSizeIterator<Item = &'a String>) {
        if fresh.is_empty() && gone.len() == 0 {
            return;
        }
        let name = M::NAME;
        let write = || {
            self.database.execute_batch("PRAGMA secure_delete = ON; PRAGMA synchronous = OFF;")?;
            let change = self.database.unchecked_transaction()?;
            for stored in fresh {
                let values = params![
                    stored.id,
                    signed(stored.bytes),
                    signed(stored.times.created_ms),
                    signed(stored.times.updated_ms),
                    signed(stored.over_ms),
                    signed(M::size(&stored.row).unwrap_or(0))
                ];
                let insert = format!("INSERT OR REPLACE INTO {name}s VALUES (?1, ?2, ?3, ?4, ?5, ?6)");
                change.prepare_cached(&insert)?.execute(values)?;
                let text = serde_json::to_string(&stored.row).unwrap_or_default();
                let insert = format!("INSERT OR REPLACE INTO {name}_texts VALUES (?1, ?2)");
                change.prepare_cached(&insert)?.execute([&stored.id, &text])?;
            }
            for id in gone {
                change.execute(&format!("DELETE FROM {name}s WHERE id = ?1"), [id])?;
                change.execute(&format!("DELETE FROM {name}_texts WHERE id = ?1"), [id])?;
            }
            change.commit()
        };
        // Another reader writes the same rows; if this fails, they are there next time.
        drop::<rusqlite::Result<()>>(write());
    }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
