//! Makes the ledger again from the journals of all runs, where it is missing, damaged or another one.
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use loop_core::ids::{OrderId, RunId};
use loop_core::policy::reserve::{LedgerId, day_of};
use loop_core::run::{Answer, Entry, Event, Fact, Order, RunState};
use loop_core::view::tries_of;
use rusqlite::Connection;
use thiserror::Error;

use super::quota::{self, EndedRun, UsedRow};
use super::run::{CallRecord, is_only_in_the_journal};
use super::{CUSTOM, FILE, Ledger, LedgerError, LedgerResult, Reported, add_id, fresh_id, known, make};
use super::{daily, tries};
use crate::clock::LocalDay;
use crate::journal;
use crate::paths::Home;
use crate::run_folder::{self, RunFolder, RunsError, StartLock};

/// What was made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rebuilt {
    /// How many calls were found.
    pub calls: usize,
    /// In how many runs.
    pub runs: usize,
    /// Runs whose journals cannot be read: their calls are not in it.
    pub unreadable: Vec<RunId>,
    /// Where the ledger of before is now.
    pub moved_to: Option<PathBuf>,
}

/// Why it was not made.
#[derive(Debug, Error)]
pub enum RebuildError {
    /// Nothing is wrong with the ledger.
    #[error("{} is as the journals say", path.display())]
    NotNeeded {
        /// The file.
        path: PathBuf,
    },
    /// Their calls have numbers in the ledger of before.
    #[error("loops are at work: {}", runs.join(", "))]
    Driven {
        /// Which.
        runs: Vec<String>,
    },
    /// The runs cannot be read.
    #[error(transparent)]
    Runs(#[from] RunsError),
    /// It cannot be written.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// Whether the ledger is there and is the one that the journals name; or there is none, and none was ever used.
///
/// # Errors
/// When it is damaged, missing or another one.
pub fn check(home: &Home) -> LedgerResult<()> {
    let path = home.state.join(FILE);
    let named = known::named_by_journals(&home.state, None);
    if !path.exists() {
        return named.into_values().next().map_or(Ok(()), |known_by| Err(LedgerError::Missing { path, known_by }));
    }
    let ledger = Ledger::open(&home.state)?;
    ledger.check_whole()?;
    match named.into_iter().find(|(id, _)| !ledger.continues(*id)) {
        Some((_, known_by)) => Err(LedgerError::Replaced { path, known_by }),
        None => Ok(()),
    }
}

/// Makes the ledger again: every call of every run that can be read, with the cost that its journal has, or the worst
/// case. The ledger of before is moved aside.
///
/// # Errors
/// When nothing is wrong with it, a run is driven, or it cannot be written.
pub fn rebuild(home: &Home) -> Result<Rebuilt, RebuildError> {
    let _start = StartLock::take(home)?;
    let path = home.state.join(FILE);
    let runs = run_folder::all(home)?;
    let driven: Vec<String> = runs.iter().filter(|run| run.holder().is_some()).map(|run| run.id.to_string()).collect();
    if !driven.is_empty() {
        return Err(RebuildError::Driven { runs: driven });
    }
    if path.exists() && check(home).is_ok() {
        return Err(RebuildError::NotNeeded { path });
    }
    let mut rebuilt = Rebuilt::default();
    let (mut calls, mut ended, mut tries) = (Vec::new(), Vec::new(), Vec::new());
    for run in runs {
        let Ok(reading) = journal::read(&run.path) else {
            rebuilt.unreadable.push(run.id);
            continue;
        };
        let before = calls.len();
        calls.extend(calls_of(&reading.entries));
        let end = end_of(&run.id, &reading.entries);
        tries.extend(end.iter().map(|_| (run.id.to_string(), tries_of(&reading.entries))));
        ended.extend(end);
        rebuilt.runs += usize::from(calls.len() > before);
    }
    rebuilt.calls = calls.len();
    let mut ids: Vec<LedgerId> = known::named_by_journals(&home.state, None).into_keys().collect();
    ids.push(fresh_id(&path)?);
    rebuilt.moved_to = move_aside(&path)?;
    make(&path, &|connection| {
        fill(connection, &ids, &calls, &ended)?;
        tries.iter().try_for_each(|(run, tries)| tries::note(connection, run, tries))
    })?;
    Ok(rebuilt)
}

/// The ids of before come first, so that the newest is its own.
fn fill(connection: &Connection, ids: &[LedgerId], calls: &[CallRecord], ended: &[EndedRun]) -> rusqlite::Result<()> {
    let change = connection.unchecked_transaction()?;
    ids.iter().try_for_each(|id| add_id(connection, *id))?;
    for call in calls {
        let number = super::insert(&change, &call.caller(), call.at(), super::Entry::settled(call.spent()))?;
        quota::note_call(&change, number, &call.note())?;
        if call.is_scarce() {
            daily::count(&change, number, call.at(), LocalDay::here(call.at().wall_ms))?;
        }
    }
    ended.iter().try_for_each(|run| quota::note_end(&change, run))?;
    change.commit()
}

/// Moves what is there away, with the files that SQLite has beside it.
fn move_aside(path: &std::path::Path) -> LedgerResult<Option<PathBuf>> {
    let failed = |error: std::io::Error| LedgerError::Unusable { path: path.to_owned(), why: error.to_string() };
    let aside = path.with_file_name(format!("{FILE}.old-{}", crate::fs::fresh_id().map_err(failed)?));
    for end in ["-wal", "-shm", "-journal", ""] {
        let named = |path: &std::path::Path| {
            let mut name = path.as_os_str().to_owned();
            name.push(end);
            PathBuf::from(name)
        };
        match fs::rename(named(path), named(&aside)) {
            Ok(()) if end.is_empty() => return Ok(Some(aside)),
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(None)
}

/// The calls since a day that only journals have: those by a command of the user's. A journal that cannot be read has
/// none.
///
/// # Errors
/// When the runs cannot be read.
pub fn calls_of_commands(home: &Home, first_day: u64) -> Result<Vec<UsedRow>, RunsError> {
    let mut rows: BTreeMap<(u64, String), u32> = BTreeMap::new();
    for run in run_folder::all(home)? {
        if day_of(changed_ms(&run)) < first_day {
            continue;
        }
        let Ok(reading) = journal::read(&run.path) else { continue };
        let mut state = RunState::default();
        for entry in &reading.entries {
            state.apply(&entry.fact);
            let Fact::Ordered { order: Order::RunAgent { reservation, .. }, .. } = &entry.fact else { continue };
            let day = day_of(entry.at.wall_ms);
            if day >= first_day && is_only_in_the_journal(&state, *reservation) {
                *rows.entry((day, run.id.to_string())).or_default() += 1;
            }
        }
    }
    let used = |calls| Reported { calls, without: calls, ..Reported::default() };
    let row = |((day, run), calls)| UsedRow { day, account: CUSTOM.to_owned(), model: None, run, used: used(calls) };
    Ok(rows.into_iter().map(row).collect())
}

/// How a run ended last, where it did.
fn end_of(run: &RunId, entries: &[Entry]) -> Option<EndedRun> {
    entries.iter().rev().find_map(|entry| match &entry.fact {
        Fact::Concluded { outcome, .. } => Some(EndedRun::of(run, *outcome, entry.at.wall_ms)),
        Fact::Happened(_) | Fact::Ordered { .. } | Fact::OrderCancelled { .. } | Fact::Decided(_) => None,
    })
}

/// When its journal was written last.
fn changed_ms(run: &RunFolder) -> u64 {
    let changed = fs::metadata(run.path.join(journal::FILE)).and_then(|found| found.modified()).ok();
    let since = changed.and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    since.and_then(|since| u64::try_from(since.as_millis()).ok()).unwrap_or(u64::MAX)
}

/// Every call of a run that belongs into the ledger.
fn calls_of(entries: &[Entry]) -> Vec<CallRecord> {
    let mut state = RunState::default();
    let mut calls: Vec<(OrderId, CallRecord)> = Vec::new();
    for entry in entries {
        state.apply(&entry.fact);
        match &entry.fact {
            Fact::Ordered { id, order: Order::RunAgent { reservation, .. } } => {
                let call = CallRecord::begun(&state, *reservation, entry.at);
                calls.extend(call.map(|call| (*id, call)));
            }
            Fact::Ordered { id, order: Order::WriteText { choice, reservation, .. } } => {
                let call = CallRecord::begun_text(&state, choice, *reservation, entry.at);
                calls.extend(call.map(|call| (*id, call)));
            }
            Fact::Happened(input) => {
                let Event::Answered { order, answer } = &input.event else { continue };
                let stream = match answer {
                    Answer::AgentEnded(report) => &report.stream,
                    Answer::TextEnded(report) => &report.stream,
                    Answer::Checkpoint(_)
                    | Answer::Measurement(_)
                    | Answer::GateEnded(_)
                    | Answer::Cleaned { .. }
                    | Answer::Held
                    | Answer::Reserved(_)
                    | Answer::Guard(_)
                    | Answer::Certify(_)
                    | Answer::Judged(_)
                    | Answer::Branches(_)
                    | Answer::ManualCheckpoint(_)
                    | Answer::RolledBack(_)
                    | Answer::Refused { .. }
                    | Answer::Blocked { .. }
                    | Answer::Notified { .. }
                    | Answer::Failed { .. }
                    | Answer::Lost { .. } => continue,
                };
                if let Some((_, call)) = calls.iter_mut().find(|(id, _)| id == order) {
                    call.ended(stream, entry.at);
                }
            }
            Fact::Ordered { .. } | Fact::OrderCancelled { .. } | Fact::Decided(_) | Fact::Concluded { .. } => {}
        }
    }
    calls.into_iter().map(|(_, call)| call).collect()
}
