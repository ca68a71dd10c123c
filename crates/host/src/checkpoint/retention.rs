//! Which checkpoints are removed, and when, in two steps after the end of their run: the iterations in between first,
//! the main ones later. Both go before their time when all stores together take too much space. Checkpoints of runs
//! that are active, paused or waiting stay, and so do those that people named.
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use loop_core::run::{CheckpointClass, RunState, Status, iteration_of, standing};
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
    /// How long iterations in between are kept after the end of a run, unless the run has its own setting.
    pub between_ms: Option<u64>,
    /// The same of the main checkpoints.
    pub main_ms: Option<u64>,
    /// How much in all.
    pub bytes: Option<u64>,
}

impl Limit {
    /// From the settings.
    #[must_use]
    pub fn of(settings: &CheckpointSettings) -> Self {
        Self {
            between_ms: settings.checkpoint_retention.map(|time| time.0),
            main_ms: settings.checkpoint_retention_main.map(|time| time.0),
            bytes: settings.checkpoint_bytes.map(|size| size.0),
        }
    }
}

/// Until when the checkpoints of a run are kept that is over: milliseconds since 1970. None means for any time. All of
/// them may go earlier where all stores together take too much space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeptUntil {
    /// The iterations in between.
    pub between: Option<u64>,
    /// The main checkpoints.
    pub main: Option<u64>,
}

impl KeptUntil {
    /// Of a run by its own settings, else by the general ones. None while it is not over, was stopped by a person and
    /// waits to be resumed, or a rollback is in progress: then all are kept.
    #[must_use]
    pub fn of(state: &RunState, limit: Limit) -> Option<Self> {
        // During a rollback they are the only copy.
        let is_stopped = state.over.as_ref().is_none_or(|over| standing(over.outcome).status == Status::Paused);
        if is_stopped || state.checkpoints.rolling_back() {
            return None;
        }
        let settings = state.settings.shown();
        let (own, typed) = (Limit::of(&settings.values.checkpoint), |key| settings.resolved.is_typed(key));
        let between = if typed(keys::checkpoint_retention()) { own.between_ms } else { limit.between_ms };
        let main = if typed(keys::checkpoint_retention_main()) { own.main_ms } else { limit.main_ms };
        let ended = state.now.wall_ms;
        let until = |kept_ms: Option<u64>| kept_ms.map(|kept_ms| ended.saturating_add(kept_ms));
        let between = until(between);
        // The main ones do not go before the others.
        Some(Self { between, main: between.zip(until(main)).map(|(between, main)| between.max(main)) })
    }

    /// Of a checkpoint; none means for any time.
    #[must_use]
    pub fn of_class(&self, class: CheckpointClass) -> Option<u64> {
        match class {
            CheckpointClass::Between => self.between,
            CheckpointClass::Main => self.main,
            CheckpointClass::Named => None,
        }
    }
}

/// The last iteration among names of checkpoints.
pub fn last_iteration<'a>(names: impl Iterator<Item = &'a str>) -> Option<u32> {
    names.filter_map(iteration_of).max()
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
    let mut left: Vec<(CheckpointClass, u64, PathBuf, Vec<String>)> = Vec::new();
    for path in stores(home)? {
        let mut store = Store::open(&path)?;
        let mut going = Vec::new();
        for (run, names) in by_run(&store)? {
            let Some(listed) = runs.get(&run) else {
                // Those of a plan stay as long as its records do.
                if !home.plans().join(&run).is_dir() && is_orphaned(&store, &names, now_ms) {
                    going.extend(own_names(&names));
                }
                continue;
            };
            // A plan that is not at its end merges, compares and applies them.
            if listed.row.as_ref().is_ok_and(|row| index::open_plan_of(home, row).is_some()) {
                continue;
            }
            let Some((until, state)) = over(listed, limit) else { continue };
            for (class, names) in by_class(&names, &state) {
                if until.of_class(class).is_some_and(|until| now_ms > until) {
                    going.extend(names);
                } else {
                    left.push((class, state.now.wall_ms, path.clone(), names));
                }
            }
        }
        take(&mut store, &going, dry_run, &mut removed)?;
        if !dry_run {
            going
                .iter()
                .filter_map(|full| full.split_once('/'))
                .filter(|(run, _)| !runs.contains_key(*run))
                .for_each(|(run, _)| store.forget_not_kept(run));
        }
    }
    removed.bytes = total(home)?.saturating_sub(if dry_run { removed.collected.freed } else { 0 });
    left.sort();
    for (_, _, path, names) in left {
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
    store.forget_not_kept(&context.run);
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

/// Whether checkpoints without a run are given up.
fn is_orphaned(store: &Store, names: &[String], now_ms: u64) -> bool {
    let made = names.iter().filter_map(|name| store.commit(&store.named(name).ok()?).ok()).map(|made| made.seconds);
    now_ms.saturating_sub(made.max().unwrap_or(0) * 1000) > ORPHANED_MS
}

/// Until when the checkpoints of a run are kept, and its state; none where all of them stay.
fn over(listed: &Listed, limit: Limit) -> Option<(KeptUntil, RunState)> {
    let row = listed.row.as_ref().ok()?;
    if row.outcome.is_none() || row.status == Status::Paused || listed.run.holder().is_some() {
        return None;
    }
    let state = crate::journal::read(&listed.run.path).ok()?.fold();
    KeptUntil::of(&state, limit).map(|until| (until, state))
}

/// The names that no person gave, by how long they are kept.
fn by_class(names: &[String], state: &RunState) -> BTreeMap<CheckpointClass, Vec<String>> {
    let short = |full: &str| full.split_once('/').map_or_else(String::new, |(_, name)| name.to_owned());
    let shorts: Vec<String> = names.iter().map(|full| short(full)).collect();
    let last = last_iteration(shorts.iter().map(String::as_str));
    let mut classes: BTreeMap<CheckpointClass, Vec<String>> = BTreeMap::new();
    for (full, name) in names.iter().zip(&shorts) {
        classes.entry(CheckpointClass::of(name, last, state)).or_default().push(full.clone());
    }
    classes.remove(&CheckpointClass::Named);
    classes
}

/// The names of a run that is not known, without those that a person gave.
fn own_names(names: &[String]) -> Vec<String> {
    by_class(names, &RunState::default()).into_values().flatten().collect()
}

/// The names of each run.
fn by_run(store: &Store) -> io::Result<BTreeMap<String, Vec<String>>> {
    let mut runs: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (full, _) in store.names()? {
        if let Some((run, _)) = full.split_once('/') {
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
