//! Which checkpoints are removed, and when: some time after the end of their run, or when all stores together take
//! too much space. Checkpoints of runs that are active, paused or waiting stay, and so do those that people named.
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use loop_core::run::{Status, check_name};
use loop_core::settings::{CheckpointSettings, keys};

use super::git::gc::Collected;
use super::git::store::Store;
use crate::index::{self, Listed};
use crate::paths::Home;

/// How often this is checked automatically.
const CHECK_EVERY: Duration = Duration::from_secs(3600);
/// Checkpoints without a run are given up after this: a start makes the store before the run.
const ORPHANED_MS: u64 = 3600 * 1000;
/// The file whose time is that of the last check.
const LAST_CHECK: &str = "looked";

/// What went, or would go.
#[derive(Debug, Default)]
pub struct Removed {
    /// Names with their runs, `run/name`.
    pub names: Vec<String>,
    /// What that freed.
    pub collected: Collected,
    /// What all stores take then.
    pub bytes: u64,
}

/// How much may be stored, by the user's settings.
#[derive(Debug, Clone, Copy)]
pub struct Limit {
    /// How long after the end of a run, unless the run has its own setting.
    pub retention_ms: Option<u64>,
    /// How much in all.
    pub bytes: Option<u64>,
}

impl Limit {
    /// From the settings.
    #[must_use]
    pub fn of(settings: &CheckpointSettings) -> Self {
        Self {
            retention_ms: settings.checkpoint_retention.map(|time| time.0),
            bytes: settings.checkpoint_bytes.map(|size| size.0),
        }
    }
}

/// Removes what is due: once an hour at most, and whenever all stores together take too much.
///
/// # Errors
/// When a store cannot be read.
pub fn tidy(home: &Home, limit: Limit, now_ms: u64) -> io::Result<Removed> {
    let last_check = home.checkpoints().join(LAST_CHECK);
    let lately = fs::metadata(&last_check)
        .and_then(|found| found.modified())
        .is_ok_and(|then| SystemTime::now().duration_since(then).is_ok_and(|age| age < CHECK_EVERY));
    if !home.checkpoints().is_dir() || lately && limit.bytes.is_none_or(|most| total(home).is_ok_and(|all| all <= most))
    {
        return Ok(Removed::default());
    }
    fs::write(&last_check, b"")?;
    collect(home, limit, now_ms, false)
}

/// Removes what is due; in a dry run, only lists it.
///
/// # Errors
/// When a store cannot be read.
pub fn collect(home: &Home, limit: Limit, now_ms: u64, dry_run: bool) -> io::Result<Removed> {
    let runs = known(home)?;
    let mut removed = Removed::default();
    let mut left: Vec<(u64, PathBuf, String, Vec<String>)> = Vec::new();
    for path in stores(home)? {
        let mut store = Store::open(&path)?;
        let mut going = Vec::new();
        for (run, names) in by_run(&store)? {
            match decide(runs.get(&run), limit.retention_ms, now_ms, &store, &names) {
                Decision::Remove => going.extend(names),
                Decision::RemoveIfFull(ended) => left.push((ended, path.clone(), run, names)),
                Decision::Keep => {}
            }
        }
        take(&mut store, &going, dry_run, &mut removed)?;
    }
    removed.bytes = total(home)?.saturating_sub(if dry_run { removed.collected.freed } else { 0 });
    left.sort();
    for (_, path, _, names) in left {
        if limit.bytes.is_none_or(|most| removed.bytes <= most) {
            break;
        }
        let before = removed.collected.freed;
        take(&mut Store::open(&path)?, &names, dry_run, &mut removed)?;
        removed.bytes = removed.bytes.saturating_sub(removed.collected.freed - before);
    }
    Ok(removed)
}

/// Removes every checkpoint of a run, whose records are going.
///
/// # Errors
/// When its store cannot be read.
pub fn forget_run(context: &crate::checkpoint::context::CheckpointContext) -> io::Result<()> {
    if !context.store.is_dir() {
        return Ok(());
    }
    let mut store = Store::open(&context.store)?;
    let names: Vec<String> = store.names_of(&context.run)?.into_iter().map(|(name, _)| name).collect();
    let collected = store.collect(&names, false)?;
    forget_all_of(&store, &context.run);
    collected.stuck.into_iter().next().map_or(Ok(()), |why| Err(io::Error::other(why)))
}

/// What is known for a run beside its checkpoints.
fn forget_all_of(store: &Store, run: &str) {
    store.forget_cache(run);
    let folder = store.folder().join("user-git").join(run);
    // What is not there is gone already.
    fs::remove_dir_all(&folder).ok();
    fs::remove_file(folder.with_extension("undo")).ok();
    if crate::checkpoint::run_checkpoints::cut_off(store.folder()).is_some_and(|(of, _)| of == run) {
        fs::remove_file(store.folder().join(crate::checkpoint::run_checkpoints::ROLLING_BACK)).ok();
    }
}

fn take(store: &mut Store, names: &[String], dry_run: bool, removed: &mut Removed) -> io::Result<()> {
    let collected = store.collect(names, dry_run)?;
    removed.collected.objects += collected.objects;
    removed.collected.freed += collected.freed;
    removed.collected.packs += collected.packs;
    removed.collected.snapshots += collected.snapshots;
    removed.collected.stuck.extend(collected.stuck);
    removed.names.extend_from_slice(names);
    let runs: BTreeSet<&str> = names.iter().filter_map(|name| name.split_once('/')).map(|(run, _)| run).collect();
    for run in runs.into_iter().filter(|_| !dry_run) {
        if store.names_of(run)?.is_empty() {
            forget_all_of(store, run);
        }
    }
    Ok(())
}

/// What is to become of the checkpoints of a run.
enum Decision {
    /// They are past their time.
    Remove,
    /// They may go before their time; when the run ended.
    RemoveIfFull(u64),
    /// They are needed, or a person wanted them.
    Keep,
}

fn decide(run: Option<&Listed>, retention: Option<u64>, now: u64, store: &Store, names: &[String]) -> Decision {
    let Some(listed) = run else {
        let newest =
            names.iter().filter_map(|name| store.commit(&store.named(name).ok()?).ok()).map(|made| made.seconds);
        let newest = newest.max().unwrap_or(0) * 1000;
        return if now.saturating_sub(newest) > ORPHANED_MS { Decision::Remove } else { Decision::Keep };
    };
    let Ok(row) = &listed.row else { return Decision::Keep };
    let over = row.outcome.is_some() && row.status != Status::Paused && listed.run.holder().is_none();
    if !over {
        return Decision::Keep;
    }
    let Ok(state) = crate::journal::read(&listed.run.path).map(|reading| reading.fold()) else { return Decision::Keep };
    // During a rollback they are the only copy; and after one a person may want to undo it.
    if state.over.is_none() || state.checkpoints.rolling_back() {
        return Decision::Keep;
    }
    let ended = state.now.wall_ms;
    // The run's own setting counts before the general one.
    let own = state.settings.shown().resolved.is_typed(keys::checkpoint_retention());
    let retention =
        if own { state.settings.shown().values.checkpoint.checkpoint_retention.map(|time| time.0) } else { retention };
    match retention {
        Some(retention) if now.saturating_sub(ended) > retention => Decision::Remove,
        Some(_) | None => Decision::RemoveIfFull(ended),
    }
}

/// The names of each run that no person gave.
fn by_run(store: &Store) -> io::Result<BTreeMap<String, Vec<String>>> {
    let mut runs: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (full, _) in store.names()? {
        let Some((run, name)) = full.split_once('/') else { continue };
        let own = check_name(name).is_ok() || name.starts_with("manual-");
        if !own {
            runs.entry(run.to_owned()).or_default().push(full.clone());
        }
    }
    Ok(runs)
}

fn known(home: &Home) -> io::Result<BTreeMap<String, Listed>> {
    let listed = index::list(home).map_err(io::Error::other)?;
    Ok(listed.into_iter().map(|listed| (listed.run.id.to_string(), listed)).collect())
}

fn stores(home: &Home) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(home.checkpoints()) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut stores: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.join("HEAD").exists()).collect();
    stores.sort();
    Ok(stores)
}

fn total(home: &Home) -> io::Result<u64> {
    Ok(stores(home)?.iter().map(|store| crate::fs::bytes_of(store)).sum())
}
