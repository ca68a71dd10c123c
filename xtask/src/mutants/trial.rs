//! One change: the tests that reach it, until one of them fails.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Result, anyhow};

use super::earlier::EarlierFates;
use super::list::Mutant;
use super::suite::{Call, CallEnd, CoreTest};

/// A call of tests gets ten times what it needs, and never less than this.
const LIMIT_MIN: Duration = Duration::from_secs(10);
/// The first call of a change has tests for this long; each further one twice as much.
const FIRST_CALL: Duration = Duration::from_millis(200);
/// Tests that take longer are tried last.
const QUICK_MAX: Duration = Duration::from_secs(1);
/// A call has at least so many, if there are so many: it takes a while to start a process.
const BATCH_MIN: usize = 12;
/// How many tests that caught a neighbour are tried first.
const FIRST_TESTS: usize = 6;

/// What came of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// A test fails; its name, if the process did not end before it was written.
    Caught(Option<String>),
    /// Tests do not end any more.
    TimedOut,
    DoesNotCompile,
    /// All tests that reach it pass.
    Missed,
    /// No test reaches it.
    NotReached,
    /// It cannot be behind a switch.
    LeftOut,
}

/// Where trials run.
#[derive(Debug)]
pub struct TrialPlace<'a> {
    pub folder: &'a Path,
    pub scratch: &'a Path,
    pub kept: &'a EarlierFates,
    pub jobs: usize,
    /// Without the slow tests.
    pub quick: bool,
}

/// Tries the changes, several at a time: first with all quick tests, then those that these miss with the slow ones.
///
/// # Errors
/// When a test program cannot be started.
pub fn all(
    mutants: &[&Mutant],
    tests: &[CoreTest],
    place: &TrialPlace<'_>,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<BTreeMap<usize, Fate>> {
    let (slow, quick): (Vec<&CoreTest>, Vec<&CoreTest>) = tests.iter().partition(|test| test.time > QUICK_MAX);
    let mut fates = pass(mutants, &quick, place, tell)?;
    let survives = |mutant: &&&Mutant| matches!(fates.get(&mutant.id), Some(Fate::Missed | Fate::NotReached));
    let survivors: Vec<&Mutant> = mutants.iter().filter(survives).copied().collect();
    tell(&format!("{} are not caught by quick tests; {} slow ones", survivors.len(), slow.len()));
    let slow = if place.quick { Vec::new() } else { slow };
    for (id, fate) in pass(&survivors, &slow, place, tell)? {
        if fate != Fate::NotReached {
            fates.insert(id, fate);
        }
    }
    place.kept.keep_fates(mutants, &fates)?;
    Ok(fates)
}

fn pass(
    mutants: &[&Mutant],
    tests: &[&CoreTest],
    place: &TrialPlace<'_>,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<BTreeMap<usize, Fate>> {
    let next = AtomicUsize::new(0);
    let fates = Mutex::new(BTreeMap::new());
    let catchers: Catchers = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..place.jobs)
            .map(|worker| {
                let (next, fates, catchers) = (&next, &fates, &catchers);
                scope.spawn(move || -> Result<()> {
                    let output = place.scratch.join(format!("trial-{worker}.out"));
                    while let Some(mutant) = mutants.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let fate = Trial { mutant, folder: place.folder, output: &output }.fate(tests, catchers)?;
                        let mut fates = fates.lock().map_err(|_| anyhow!("a worker failed"))?;
                        fates.insert(mutant.id, fate);
                        if fates.len() % 100 == 0 {
                            tell(&format!("{} of {} tried", fates.len(), mutants.len()));
                            place.kept.keep_fates(mutants, &fates)?;
                        }
                    }
                    Ok(())
                })
            })
            .collect();
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| anyhow!("a worker panicked"))?)
    })?;
    fates.into_inner().map_err(|_| anyhow!("a worker failed"))
}

/// The tests that caught a change of a function, the newest last.
type Catchers = Mutex<BTreeMap<String, Vec<String>>>;

struct Trial<'a> {
    mutant: &'a Mutant,
    folder: &'a Path,
    output: &'a Path,
}

impl Trial<'_> {
    fn fate(&self, tests: &[&CoreTest], catchers: &Catchers) -> Result<Fate> {
        let place = format!("{} {}", self.mutant.file, self.mutant.function);
        let reaching: Vec<&CoreTest> =
            tests.iter().copied().filter(|test| test.reaches.contains(&self.mutant.id)).collect();
        if reaching.is_empty() {
            return Ok(Fate::NotReached);
        }
        let known = catchers.lock().map_err(|_| anyhow!("a worker failed"))?.get(&place).cloned().unwrap_or_default();
        let known: Vec<&String> = known.iter().rev().take(FIRST_TESTS).collect();
        let (first, rest): (Vec<&CoreTest>, Vec<&CoreTest>) =
            reaching.into_iter().partition(|test| known.contains(&&test.name));
        for batch in batches(first, rest) {
            match self.run(&batch)? {
                CallEnd::Passed => {}
                CallEnd::TimedOut => return Ok(Fate::TimedOut),
                CallEnd::Failed(name) => {
                    if let Some(name) = &name {
                        let mut catchers = catchers.lock().map_err(|_| anyhow!("a worker failed"))?;
                        let names = catchers.entry(place).or_default();
                        names.retain(|one| one != name);
                        names.push(name.clone());
                    }
                    return Ok(Fate::Caught(name));
                }
            }
        }
        Ok(Fate::Missed)
    }

    fn run(&self, batch: &[&CoreTest]) -> Result<CallEnd> {
        let Some(first) = batch.first() else { return Ok(CallEnd::Passed) };
        let names: Vec<&str> = batch.iter().map(|test| test.name.as_str()).collect();
        let needed: Duration = batch.iter().map(|test| test.time).sum();
        let call = Call {
            program: &first.program,
            folder: self.folder,
            names: &names,
            variable: ("MUTANT", &self.mutant.id.to_string()),
            limit: LIMIT_MIN.max(needed * 10),
            output: self.output,
        };
        call.run()
    }
}

/// The tests of one call are all of one program.
fn batches<'a>(first: Vec<&'a CoreTest>, rest: Vec<&'a CoreTest>) -> Vec<Vec<&'a CoreTest>> {
    let mut batches: Vec<Vec<&CoreTest>> = vec![first];
    let mut time = Duration::ZERO;
    let mut most = FIRST_CALL;
    let mut batch = Vec::new();
    for test in rest {
        if time + test.time > most && batch.len() >= BATCH_MIN {
            batches.push(std::mem::take(&mut batch));
            time = Duration::ZERO;
            most *= 2;
        }
        time += test.time;
        batch.push(test);
    }
    batches.push(batch);
    batches.into_iter().flat_map(by_program).collect()
}

fn by_program(batch: Vec<&CoreTest>) -> Vec<Vec<&CoreTest>> {
    let mut programs: BTreeMap<&Path, Vec<&CoreTest>> = BTreeMap::new();
    for test in batch {
        programs.entry(&test.program).or_default().push(test);
    }
    programs.into_values().collect()
}
