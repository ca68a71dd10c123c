//! The ledger of all runs: every call with what it may cost and what it did, so that caps hold over all of them.
//!
//! It is synced, and one that cannot be read is an error and never a new one. It has a random id, which the journals of
//! runs have too: one that is missing or was replaced is an error as well. A call is reserved in one transaction, begun,
//! and settled; what a run that died left open is settled at its worst case by the next run that reserves.
//!
//! | file | does |
//! |---|---|
//! | `mod` | the ledger itself |
//! | `daily` | the calls of the scarcest model today |
//! | `known` | which ledgers the journals name |
//! | `quota` | what providers said about their limits, the models of calls, the runs that ended |
//! | `rebuild` | makes it again from the journals |
//! | `run` | the ledger as one run uses it |
//! | `tries` | which agent worked on which class of task, and whether it passed |
mod daily;
mod known;
mod quota;
mod rebuild;
mod run;
mod tries;

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use loop_core::ids::RunId;
use loop_core::policy::budget::{money_text, remainder};
use loop_core::policy::limiter::{HOUR_MS, age_ms, judge};
use loop_core::policy::reserve::{CallCost, Cap, DAY_MS, Day, LedgerId, Reserved, Wanted, day_cap, day_of};
use loop_core::time::At;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, Transaction, TransactionBehavior, params};
use rustix::fs::{CWD, FlockOperation, RenameFlags, flock, renameat_with};
use rustix::io::Errno;
use thiserror::Error;

use crate::clock::LocalDay;
use crate::run_folder::LOCK;

pub use quota::{EndedRun, FinishedRun, SEEN_DAYS, UsedRow, note_ended};
pub use rebuild::{RebuildError, Rebuilt, calls_of_commands, check, rebuild};
pub(crate) use run::{CallRecord, RunLedger};
pub(crate) use tries::scores_for;

const FILE: &str = "ledger.db";
/// The account of a command of the user's.
const CUSTOM: &str = "custom";
/// The form of the table.
const FORM: i64 = 3;
/// One without an id.
const FORM_WITHOUT_ID: i64 = 1;
/// How long another process may write before we give up; each of them takes moments.
const BUSY: Duration = Duration::from_secs(5);
/// So long calls are kept.
const KEPT_DAYS: u64 = 100;
/// And by the boot clock at least so long, so that a clock that is wrong for a moment throws nothing away.
const KEPT_MS: u64 = 2 * DAY_MS;
/// Old calls are looked for once in so many new ones.
const PRUNE_EVERY: i64 = 64;
/// No call counts more than this, in millionths of a dollar or tokens: a sum over a day stays a number.
const AMOUNT_MAX: i64 = 100_000_000_000_000;

/// A call has no key any more when it has left the window of an hour by a clock that was wrong. Ids are never used
/// again: one that was removed may still be asked for.
const MAKE: &str = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; BEGIN;
    CREATE TABLE calls (id INTEGER PRIMARY KEY AUTOINCREMENT, run TEXT NOT NULL, account TEXT NOT NULL, key TEXT,
        day INTEGER NOT NULL, wall_ms INTEGER NOT NULL, boot_ms INTEGER NOT NULL, boot_id INTEGER NOT NULL,
        open INTEGER NOT NULL, begun INTEGER NOT NULL, worst_micros INTEGER NOT NULL, worst_tokens INTEGER NOT NULL,
        cost_micros INTEGER NOT NULL, tokens INTEGER NOT NULL, told INTEGER NOT NULL);
    CREATE INDEX by_boot ON calls (key, boot_id, boot_ms, wall_ms);
    CREATE INDEX by_wall ON calls (key, wall_ms, boot_id, boot_ms);
    CREATE INDEX by_day ON calls (day, account, open, told, cost_micros, tokens);
    CREATE INDEX still_open ON calls (run) WHERE open = 1;
    CREATE TABLE ids (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE); COMMIT;";

/// What a ledger of the first form lacks.
const ADD_IDS: &str = "CREATE TABLE ids (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE);";

/// Calls of this start of the machine by its own clock, and others by the clock of the world.
const HOUR: &str = "SELECT id, wall_ms, boot_ms, boot_id FROM calls WHERE key = ?1 AND boot_id = ?2 AND boot_ms > ?3
    UNION ALL SELECT id, wall_ms, boot_ms, boot_id FROM calls WHERE key = ?1 AND wall_ms > ?4 AND boot_id <> ?2";

const INSERT: &str = "INSERT INTO calls (run, account, key, day, wall_ms, boot_ms, boot_id, open, begun,
    worst_micros, worst_tokens, cost_micros, tokens, told)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?10, ?11, ?12)";

/// Who calls.
#[derive(Debug, Clone, Copy)]
pub struct Caller<'a> {
    /// The run.
    pub run: &'a RunId,
    /// Whose money it is: the agent's name.
    pub account: &'a str,
    /// What the calls of an hour are counted by: project and agent, or the run.
    pub key: &'a str,
}

/// What calls reported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reported {
    /// All calls.
    pub calls: u32,
    /// Those that reported their cost, or whose tokens have a price.
    pub with_cost: u32,
    /// Those that reported their tokens.
    pub with_tokens: u32,
    /// Those that reported none of both, or still run.
    pub without: u32,
    /// The reported cost in millionths of a dollar.
    pub cost_micros: u64,
    /// The reported tokens.
    pub tokens: u64,
}

impl Reported {
    /// Both together.
    #[must_use]
    pub fn plus(self, more: Self) -> Self {
        Self {
            calls: self.calls.saturating_add(more.calls),
            with_cost: self.with_cost.saturating_add(more.with_cost),
            with_tokens: self.with_tokens.saturating_add(more.with_tokens),
            without: self.without.saturating_add(more.without),
            cost_micros: self.cost_micros.saturating_add(more.cost_micros),
            tokens: self.tokens.saturating_add(more.tokens),
        }
    }
}

/// What the calls of one account reported on one day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportedDay {
    /// The day, UTC, counted from 1970.
    pub day: u64,
    /// The agent's name.
    pub account: String,
    /// Calls, and what they reported.
    pub used: Reported,
}

/// Whether a ledger was ever made here.
#[must_use]
pub fn exists(state: &Path) -> bool {
    state.join(FILE).exists()
}

/// Why the ledger cannot be used.
#[derive(Debug, Error)]
pub enum LedgerError {
    /// It is not what we wrote.
    #[error("{} is damaged: {why}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found.
        why: String,
    },
    /// It is gone, and a run has used it.
    #[error("{} is missing, and loop {known_by} has used it", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
        /// The run whose journal names it.
        known_by: String,
    },
    /// Another one is in its place.
    #[error("{} is not the ledger that loop {known_by} has used", path.display())]
    Replaced {
        /// The file.
        path: PathBuf,
        /// The run whose journal names it.
        known_by: String,
    },
    /// A newer program wrote it.
    #[error("{} was written by a newer loop", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
    },
    /// Others write without end.
    #[error("{} is held by another process", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// The operating system refused.
    #[error("cannot use {}: {why}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// The call was never reserved, or was taken back because its run seemed dead.
    #[error("{} has no open call {reservation}", path.display())]
    Gone {
        /// The file.
        path: PathBuf,
        /// Its number.
        reservation: i64,
    },
}

impl LedgerError {
    /// What to do, in one line.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Damaged { .. } | Self::Missing { .. } | Self::Replaced { .. } => {
                "put a copy of it back, or make it again from the journals: loop doctor --rebuild-ledger".to_owned()
            }
            Self::Newer { .. } => "use that loop, or another LOOP_HOME".to_owned(),
            Self::Busy { .. } => "try again; `fuser` says who holds it".to_owned(),
            Self::Unusable { .. } => {
                "see that the file and its folder can be written, and that the disk is not full".to_owned()
            }
            Self::Gone { .. } => "resume the loop: it reserves its call again".to_owned(),
        }
    }
}

/// Whether a run has no driver any more. One that cannot be checked counts as driven.
#[must_use]
pub fn is_dead(state: &Path, run: &RunId) -> bool {
    match File::open(state.join("runs").join(run.as_str()).join(LOCK)) {
        Ok(lock) => flock(&lock, FlockOperation::NonBlockingLockShared).is_ok(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// The ledger, open.
#[derive(Debug)]
pub struct Ledger {
    connection: Connection,
    path: PathBuf,
    /// Its own id, then those of ledgers that it took the place of.
    ids: Vec<LedgerId>,
    /// Device and inode of the open file.
    file: Option<(u64, u64)>,
}

type LedgerResult<T> = Result<T, LedgerError>;

impl Ledger {
    /// Opens the ledger in the state folder; makes one where there was none.
    ///
    /// # Errors
    /// When it is damaged, missing though a journal names one, or cannot be opened or made.
    pub fn open(state: &Path) -> LedgerResult<Self> {
        let path = state.join(FILE);
        if !path.exists() {
            // Only now, so it may take a while.
            if let Some(known_by) = known::named_by_journals(state, None).into_values().next() {
                return Err(LedgerError::Missing { path, known_by });
            }
            let id = fresh_id(&path)?;
            make(&path, &|connection| add_id(connection, id))?;
        }
        let open = || {
            let connection = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
            connection.busy_timeout(BUSY)?;
            connection.execute_batch("PRAGMA synchronous = FULL;")?;
            let form: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
            Ok((connection, form))
        };
        let (connection, form) = open().map_err(|error| wrong(&path, &error))?;
        if form > FORM {
            return Err(LedgerError::Newer { path });
        }
        if form < FORM_WITHOUT_ID {
            return Err(LedgerError::Damaged { path, why: "it holds no table of calls".to_owned() });
        }
        let file = file_at(&path);
        let mut ledger = Self { connection, path, ids: Vec::new(), file };
        if form < FORM {
            ledger.upgrade()?;
        }
        ledger.ids = ledger.read_ids()?;
        Ok(ledger)
    }

    /// Whether all of it can be read.
    ///
    /// # Errors
    /// When it is damaged.
    pub fn check_whole(&self) -> LedgerResult<()> {
        let found: String = self
            .connection
            .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
            .map_err(|error| wrong(&self.path, &error))?;
        if found == "ok" { Ok(()) } else { Err(LedgerError::Damaged { path: self.path.clone(), why: found }) }
    }

    /// Which ledger it is.
    #[must_use]
    pub fn id(&self) -> Option<LedgerId> {
        self.ids.first().copied()
    }

    /// Whether a run that used this ledger used this one, or one that it took the place of.
    #[must_use]
    pub fn continues(&self, id: LedgerId) -> bool {
        self.ids.contains(&id)
    }

    /// Whether the file that is open is still the one at its path.
    #[must_use]
    pub fn is_in_place(&self) -> bool {
        self.file.is_some() && self.file == file_at(&self.path)
    }

    /// A ledger of an earlier form gets what it lacks, in one step: another process may do the same.
    fn upgrade(&self) -> LedgerResult<()> {
        let id = fresh_id(&self.path)?;
        self.change(|change| {
            let form: i64 = change.query_row("PRAGMA user_version", [], |row| row.get(0))?;
            if form == FORM_WITHOUT_ID {
                change.execute_batch(ADD_IDS)?;
                change.execute("INSERT INTO ids (id) VALUES (?1)", [id.to_string()])?;
            }
            add_tables(change, form)
        })
    }

    fn read_ids(&self) -> LedgerResult<Vec<LedgerId>> {
        let read = || {
            let mut select = self.connection.prepare("SELECT id FROM ids ORDER BY number DESC")?;
            let ids = select.query_map([], |row| row.get::<_, String>(0))?;
            ids.collect::<rusqlite::Result<Vec<String>>>()
        };
        let ids = read().map_err(|error| wrong(&self.path, &error))?;
        let ids: Vec<LedgerId> = ids.iter().filter_map(|id| LedgerId::parse(id)).collect();
        if ids.is_empty() {
            return Err(LedgerError::Damaged { path: self.path.clone(), why: "it has no id".to_owned() });
        }
        Ok(ids)
    }

    /// Asks for one call, in one step for all processes: what dead runs left open is settled, the caps are looked at,
    /// and the call is written down. Also gives what a person should know.
    ///
    /// # Errors
    /// When the ledger cannot be read or written; nothing is reserved then.
    pub fn reserve(
        &self,
        caller: &Caller<'_>,
        at: At,
        wanted: &Wanted,
        is_dead: &dyn Fn(&RunId) -> bool,
    ) -> LedgerResult<(Reserved, Vec<String>)> {
        self.reserve_on(caller, at, LocalDay::here(at.wall_ms), wanted, is_dead)
    }

    /// The same, where this is the day by local time.
    ///
    /// # Errors
    /// When the ledger cannot be read or written; nothing is reserved then.
    #[expect(clippy::too_many_arguments, reason = "a moment by two clocks: the day by local time is its own")]
    pub fn reserve_on(
        &self,
        caller: &Caller<'_>,
        at: At,
        today: LocalDay,
        wanted: &Wanted,
        is_dead: &dyn Fn(&RunId) -> bool,
    ) -> LedgerResult<(Reserved, Vec<String>)> {
        self.change(|change| {
            let mut notices = settle_left_open(change, caller.run, is_dead)?;
            let (calls, dropped) = hour(change, caller.key, at)?;
            if dropped > 0 {
                let calls = if dropped == 1 { "1 call lies" } else { &format!("{dropped} calls lie") };
                let why = "the clock was set back. The limit of an hour counts without";
                notices.push(format!("{calls} in the future: {why}"));
            }
            let limit = wanted.calls_per_hour.unwrap_or(0);
            let before = judge(&calls, at, limit);
            let (day, open) = day_with_open(change, day_of(at.wall_ms))?;
            let (hour_calls, denied) = (before.calls, |cap, free_in_ms| Reserved::Denied {
                ledger: self.id(),
                cap,
                free_in_ms,
                hour_calls: before.calls,
                day,
            });
            if let Some(most) = wanted.scarce_per_day
                && let Some(free_in_ms) = daily::denied(change, at, today, most)?
            {
                return Ok((denied(Cap::ScarcePerDay, Some(free_in_ms)), notices));
            }
            if let Some((cap, free_in_ms)) = day_cap(wanted, day, open, at.wall_ms) {
                return Ok((denied(cap, free_in_ms), notices));
            }
            if before.free_in_ms > 0 {
                return Ok((denied(Cap::CallsPerHour, Some(before.free_in_ms)), notices));
            }
            let reservation = insert(change, caller, at, Entry::open(wanted))?;
            if wanted.scarce_per_day.is_some() {
                daily::count(change, reservation, at, today)?;
            }
            let with_this: Vec<At> = calls.into_iter().chain([at]).collect();
            let after = judge(&with_this, at, limit);
            let oldest_age = after.oldest.and_then(|oldest| age_ms(oldest, at));
            let granted = Reserved::Granted {
                ledger: self.id(),
                reservation,
                hour_calls: hour_calls.saturating_add(1),
                oldest_ms: oldest_age.map(|age| at.wall_ms.saturating_sub(age)),
                next_free_ms: (after.free_in_ms > 0).then(|| at.wall_ms.saturating_add(after.free_in_ms)),
                day,
                left_micros: wanted.cost_per_day_micros.map(|cap| remainder(cap, day.cost_micros)),
                left_tokens: wanted.tokens_per_day.map(|cap| remainder(cap, day.tokens)),
            };
            Ok((granted, notices))
        })
    }

    /// The call is made now: from here on it counts, whatever becomes of us.
    ///
    /// # Errors
    /// When it cannot be written, or another process has taken the reservation back; then the call must not be made.
    pub fn begin(&self, reservation: i64, account: &str) -> LedgerResult<()> {
        let update = "UPDATE calls SET begun = 1, account = ?2 WHERE id = ?1 AND open = 1";
        self.touch(reservation, self.connection.execute(update, params![reservation, account]))
    }

    /// The call is over. What was not reported counts as the worst case. Settling once more changes nothing, unless the
    /// first time it was only assumed what the call cost.
    ///
    /// # Errors
    /// When it cannot be written, or there is no such call.
    pub fn settle(&self, reservation: i64, cost: Option<u64>, tokens: Option<u64>) -> LedgerResult<()> {
        let update = "UPDATE calls SET open = 0, begun = 1, cost_micros = coalesce(?2, worst_micros),
            tokens = coalesce(?3, worst_tokens), told = (?2 IS NOT NULL) + 2 * (?3 IS NOT NULL) WHERE id = ?1 AND (open = 1 OR (told & 1) = 0)";
        self.change(|change| {
            let values = params![reservation, cost.map(amount), tokens.map(amount)];
            let changed = change.execute(update, values)?;
            let is_there = || {
                let found = change.query_row("SELECT 1 FROM calls WHERE id = ?1", [reservation], |_| Ok(()));
                found.optional().map(|found| found.is_some())
            };
            Ok(changed > 0 || is_there()?)
        })
        .and_then(|is_there| if is_there { Ok(()) } else { Err(self.gone(reservation)) })
    }

    /// Writes a call down that needed no leave, for runs without caps over all runs; gives its number. It is not synced:
    /// a power cut may lose the last of them.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn record(&self, caller: &Caller<'_>, at: At, spent: CallCost) -> LedgerResult<i64> {
        self.change_unsynced(|change| insert(change, caller, at, Entry::settled(spent)))
    }

    /// A change that a power cut may lose.
    fn change_unsynced<T>(&self, work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>) -> LedgerResult<T> {
        let pragma = |how: &str| self.connection.execute_batch(how).map_err(|error| wrong(&self.path, &error));
        pragma("PRAGMA synchronous = NORMAL;")?;
        let changed = self.change(work);
        pragma("PRAGMA synchronous = FULL;")?;
        changed
    }

    /// What was used on the day of this moment (UTC), by account.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn day(&self, at: At) -> LedgerResult<BTreeMap<String, Day>> {
        let read = || {
            let select = format!("SELECT account, {SUMS} FROM calls WHERE day = ?1 GROUP BY account");
            let mut select = self.connection.prepare_cached(&select)?;
            let days = select.query_map([signed(day_of(at.wall_ms))], |row| Ok((row.get(0)?, sums(row)?)))?;
            days.collect::<rusqlite::Result<BTreeMap<_, _>>>()
        };
        read().map_err(|error| wrong(&self.path, &error))
    }

    /// What the calls since this day (UTC, counted from 1970) reported, by day and account, the newest day first. What a
    /// call did not report is not in its sums.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn reported_since(&self, day: u64) -> LedgerResult<Vec<ReportedDay>> {
        let read = || {
            let mut select = self.connection.prepare_cached(REPORTED)?;
            let days = select.query_map([signed(day)], |row| {
                Ok(ReportedDay { day: unsigned(row.get(0)?), account: row.get(1)?, used: reported(row)? })
            })?;
            days.collect::<rusqlite::Result<Vec<_>>>()
        };
        read().map_err(|error| wrong(&self.path, &error))
    }

    /// Forgets calls that are older than a hundred days. Writing does that by itself now and then.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn prune(&self, at: At) -> LedgerResult<usize> {
        self.change(|change| prune(change, at))
    }

    fn change<T>(&self, work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>) -> LedgerResult<T> {
        let all = || {
            let change = Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?;
            let made = work(&change)?;
            change.commit()?;
            Ok(made)
        };
        all().map_err(|error| wrong(&self.path, &error))
    }

    fn touch(&self, reservation: i64, changed: rusqlite::Result<usize>) -> LedgerResult<()> {
        match changed {
            Ok(0) => Err(self.gone(reservation)),
            Ok(_) => Ok(()),
            Err(error) => Err(wrong(&self.path, &error)),
        }
    }

    fn gone(&self, reservation: i64) -> LedgerError {
        LedgerError::Gone { path: self.path.clone(), reservation }
    }
}

/// Device and inode of a file.
fn file_at(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

fn fresh_id(path: &Path) -> LedgerResult<LedgerId> {
    let mut bytes = [0_u8; 8];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .map_err(|error| LedgerError::Unusable { path: path.to_owned(), why: error.to_string() })?;
    Ok(LedgerId::from_random(u64::from_le_bytes(bytes)))
}

/// The tables of later forms, and the number of the newest.
fn add_tables(connection: &Connection, form: i64) -> rusqlite::Result<()> {
    if form < quota::FORM {
        connection.execute_batch(quota::TABLES)?;
    }
    connection.pragma_update(None, "user_version", FORM.max(form))
}

fn add_id(connection: &Connection, id: LedgerId) -> rusqlite::Result<()> {
    connection.execute("INSERT INTO ids (id) VALUES (?1)", [id.to_string()]).map(drop)
}

/// Makes a ledger beside its place and puts it there whole, so that an empty or half a file is always damage.
fn make(path: &Path, fill: &dyn Fn(&Connection) -> rusqlite::Result<()>) -> LedgerResult<()> {
    let failed =
        |error: &dyn std::fmt::Display| LedgerError::Unusable { path: path.to_owned(), why: error.to_string() };
    let id = crate::fs::fresh_id().map_err(|error| failed(&error))?;
    let half = path.with_file_name(format!("{FILE}.{id}.new"));
    let made = || {
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&half).map_err(|error| failed(&error))?;
        let write = || {
            let connection = Connection::open_with_flags(&half, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
            connection.execute_batch(MAKE)?;
            add_tables(&connection, 0)?;
            fill(&connection)?;
            connection.close().map_err(|(_, error)| error)
        };
        write().map_err(|error: rusqlite::Error| failed(&error))?;
        match renameat_with(CWD, &half, CWD, path, RenameFlags::NOREPLACE) {
            // Another process was faster.
            Ok(()) | Err(Errno::EXIST) => {}
            Err(Errno::INVAL | Errno::NOSYS) => fs::rename(&half, path).map_err(|error| failed(&error))?,
            Err(error) => return Err(failed(&error)),
        }
        crate::fs::sync_folder(path.parent().unwrap_or(path)).map_err(|error| failed(&error))
    };
    let made = made();
    for end in ["", "-wal", "-shm", "-journal"] {
        fs::remove_file(path.with_file_name(format!("{FILE}.{id}.new{end}"))).ok();
    }
    made
}

/// What is written of a call.
struct Entry {
    open: bool,
    spent: CallCost,
}

impl Entry {
    fn open(wanted: &Wanted) -> Self {
        Self { open: true, spent: CallCost::of(None, None, wanted) }
    }

    fn settled(spent: CallCost) -> Self {
        Self { open: false, spent }
    }
}

fn insert(change: &Transaction<'_>, caller: &Caller<'_>, at: At, entry: Entry) -> rusqlite::Result<i64> {
    let Entry { open, spent } = entry;
    let values = params![
        caller.run.as_str(),
        caller.account,
        caller.key,
        signed(day_of(at.wall_ms)),
        signed(at.wall_ms),
        signed(at.boot_ms),
        at.boot_id,
        open,
        !open,
        amount(spent.cost_micros),
        amount(spent.tokens),
        i64::from(spent.told) + 2 * i64::from(spent.tokens_told),
    ];
    change.prepare_cached(INSERT)?.execute(values)?;
    let id = change.last_insert_rowid();
    if id % PRUNE_EVERY == 0 {
        prune(change, at)?;
    }
    Ok(id)
}

/// Settles what this run and dead ones left open: at the worst case where the call was begun, else as if it had never
/// been. Says so.
fn settle_left_open(
    change: &Transaction<'_>,
    own: &RunId,
    is_dead: &dyn Fn(&RunId) -> bool,
) -> rusqlite::Result<Vec<String>> {
    let mut select = change.prepare_cached("SELECT id, run, begun, worst_micros FROM calls WHERE open = 1")?;
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
    let open = select.query_map([], read)?.collect::<rusqlite::Result<Vec<(i64, String, bool, i64)>>>()?;
    let mut notices = Vec::new();
    for (id, run, begun, worst_micros) in open {
        // Text that is not an id belongs to no run.
        if RunId::parse(&run).is_ok_and(|run| run != *own && !is_dead(&run)) {
            continue;
        }
        if begun {
            change.execute("UPDATE calls SET open = 0 WHERE id = ?1", [id])?;
            let cost = money_text(unsigned(worst_micros));
            notices.push(format!("a call of loop {run} was cut off before its cost was known: it counts as {cost}"));
        } else {
            change.execute("DELETE FROM calls WHERE id = ?1", [id])?;
        }
    }
    Ok(notices)
}

/// The calls of the last hour, and how many were left out because they lie in the future. Those never come back.
fn hour(change: &Transaction<'_>, key: &str, now: At) -> rusqlite::Result<(Vec<At>, usize)> {
    let since = |ms: u64| signed(ms).saturating_sub(signed(HOUR_MS));
    let mut select = change.prepare_cached(HOUR)?;
    let values = params![key, now.boot_id, since(now.boot_ms), since(now.wall_ms)];
    let calls = select.query_map(values, |row| {
        let at = At { wall_ms: unsigned(row.get(1)?), boot_ms: unsigned(row.get(2)?), boot_id: row.get(3)? };
        Ok((row.get(0)?, at))
    })?;
    let calls = calls.collect::<rusqlite::Result<Vec<(i64, At)>>>()?;
    let (known, ahead): (Vec<_>, Vec<_>) = calls.into_iter().partition(|(_, call)| age_ms(*call, now).is_some());
    for (id, _) in &ahead {
        change.execute("UPDATE calls SET key = NULL WHERE id = ?1", [id])?;
    }
    Ok((known.into_iter().map(|(_, call)| call).collect(), ahead.len()))
}

/// The columns of [`sums`].
const SUMS: &str = "count(*), sum(cost_micros), sum(tokens), sum(1 - (told & 1))";

/// What was reported: `told` is 1 for the cost, 2 for the tokens, 3 for both.
const REPORTED: &str = "SELECT day, account, count(*), sum(told & 1), sum((told >> 1) & 1), sum(told = 0),
    sum(cost_micros * (told & 1)), sum(tokens * ((told >> 1) & 1))
    FROM calls WHERE day >= ?1 GROUP BY day, account ORDER BY day DESC, account";

/// What a group of calls used; its second column is the first of [`SUMS`].
fn sums(row: &rusqlite::Row<'_>) -> rusqlite::Result<Day> {
    let count = |column: usize| row.get::<_, i64>(column).map(|number| u32::try_from(number).unwrap_or(u32::MAX));
    let amount = |column: usize| row.get::<_, i64>(column).map(unsigned);
    Ok(Day { calls: count(1)?, cost_micros: amount(2)?, tokens: amount(3)?, untold: count(4)? })
}

/// What a group of calls reported, from the third column of [`REPORTED`] on.
fn reported(row: &rusqlite::Row<'_>) -> rusqlite::Result<Reported> {
    let count = |column: usize| row.get::<_, i64>(column).map(|number| u32::try_from(number).unwrap_or(u32::MAX));
    Ok(Reported {
        calls: count(2)?,
        with_cost: count(3)?,
        with_tokens: count(4)?,
        without: count(5)?,
        cost_micros: row.get(6).map(unsigned)?,
        tokens: row.get(7).map(unsigned)?,
    })
}

/// What all runs used on a day, and that part of it which is only reserved.
fn day_with_open(change: &Transaction<'_>, day: u64) -> rusqlite::Result<(Day, Day)> {
    let select = format!("SELECT open, {SUMS} FROM calls WHERE day = ?1 GROUP BY open");
    let mut select = change.prepare_cached(&select)?;
    let parts = select.query_map([signed(day)], |row| Ok((row.get::<_, bool>(0)?, sums(row)?)))?;
    let (mut all, mut open) = (Day::default(), Day::default());
    for part in parts {
        let (is_open, part) = part?;
        all = all.plus(part);
        if is_open {
            open = part;
        }
    }
    Ok((all, open))
}

/// By the clock of the world; what this start of the machine saw two days ago stays whatever that clock says.
fn prune(change: &Transaction<'_>, at: At) -> rusqlite::Result<usize> {
    let before = day_of(at.wall_ms).saturating_sub(KEPT_DAYS);
    let spared = signed(at.boot_ms).saturating_sub(signed(KEPT_MS));
    let delete = "DELETE FROM calls WHERE day < ?1 AND open = 0 AND NOT (boot_id = ?2 AND boot_ms > ?3)";
    let removed = change.execute(delete, params![signed(before), at.boot_id, spared])?;
    quota::prune(change, before)?;
    tries::prune(change, before)?;
    Ok(removed)
}

fn wrong(path: &Path, error: &rusqlite::Error) -> LedgerError {
    let path = path.to_owned();
    let why = error.to_string();
    // No code: a value is not of the kind that we write. Unknown is how SQLite says that a table is not there.
    let code = error.sqlite_error_code().unwrap_or(ErrorCode::DatabaseCorrupt);
    let damage = [ErrorCode::DatabaseCorrupt, ErrorCode::NotADatabase, ErrorCode::Unknown];
    if [ErrorCode::DatabaseBusy, ErrorCode::DatabaseLocked].contains(&code) {
        LedgerError::Busy { path }
    } else if damage.contains(&code) {
        LedgerError::Damaged { path, why }
    } else {
        LedgerError::Unusable { path, why }
    }
}

fn amount(number: u64) -> i64 {
    signed(number).min(AMOUNT_MAX)
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
