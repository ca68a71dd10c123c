//! A second machine in small: journal, tail, driver, crash rules and index work for it without a change.
//!
//! A batch has tasks. They are done one after the other; a task that takes too long is cancelled and counts as failed.
use std::fs;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use loop_core::control::Call;
use loop_core::ids::OrderId;
use loop_core::machine::{self, Act, Deciding, JournalEntry, Machine, Orders};
use loop_core::time::{At, Deadline};
use loop_core::view::{LiveDigest, Liveness};
use loop_host::control::Asked;
use loop_host::driver::{Driver, Executes, Reporter, Sources};
use loop_host::index::{self, DiskSize, Indexed, Rest, RowTimes};
use loop_host::journal::{FILE, Journal, JournalError, ReadError, Tail, read, read_of};
use loop_host::paths::Home;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

#[derive(Debug)]
struct Batch;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum BatchEvent {
    Created { tasks: u32, limit_ms: u64 },
    Opened,
    Ended { order: OrderId, passed: bool },
    DeadlinePassed,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct DoTask {
    task: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum BatchFact {
    Happened {
        #[serde(skip)]
        at: At,
        event: BatchEvent,
    },
    Ordered {
        id: OrderId,
        order: DoTask,
    },
    Cancelled {
        id: OrderId,
    },
    /// Nobody saw how it ended: it is done again.
    Dropped {
        id: OrderId,
    },
    Concluded {
        failed: u32,
    },
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct TooLong;

#[derive(Debug, Clone, Default, PartialEq)]
struct BatchState {
    created: At,
    now: At,
    tasks: u32,
    limit_ms: u64,
    done: u32,
    failed: u32,
    open: bool,
    orders: Orders<DoTask, TooLong>,
    result: Option<u32>,
}

struct Turn {
    after: BatchState,
    facts: Vec<BatchFact>,
}

impl Turn {
    fn push(&mut self, fact: BatchFact) {
        Batch::apply(&mut self.after, &fact);
        self.facts.push(fact);
    }
}

impl Machine for Batch {
    const NAME: &'static str = "batch";

    type Event = BatchEvent;
    type Order = DoTask;
    type Fact = BatchFact;
    type State = BatchState;

    fn step(state: &BatchState, at: At, event: BatchEvent, _: &Deciding) -> Vec<BatchFact> {
        let mut turn = Turn { after: state.clone(), facts: Vec::new() };
        turn.push(BatchFact::Happened { at, event: event.clone() });
        match event {
            BatchEvent::Opened => {
                for id in turn.after.orders.iter().map(|(id, _)| id).collect::<Vec<_>>() {
                    turn.push(BatchFact::Dropped { id });
                }
            }
            BatchEvent::DeadlinePassed => {
                let limit = turn.after.limit_ms;
                let late: Vec<OrderId> = turn.after.orders.overdue(|open| at.ms_since(open.since) >= limit).collect();
                late.into_iter().for_each(|id| turn.push(BatchFact::Cancelled { id }));
            }
            BatchEvent::Created { .. } | BatchEvent::Ended { .. } => {}
        }
        let after = &turn.after;
        if after.open && after.orders.is_empty() && after.result.is_none() {
            let next = if after.done == after.tasks {
                BatchFact::Concluded { failed: after.failed }
            } else {
                BatchFact::Ordered { id: after.orders.next_id(), order: DoTask { task: after.done + 1 } }
            };
            turn.push(next);
        }
        turn.facts
    }

    fn apply(state: &mut BatchState, fact: &BatchFact) {
        match fact {
            BatchFact::Happened { at, event } => {
                state.now = *at;
                match event {
                    BatchEvent::Created { tasks, limit_ms } => {
                        state.created = *at;
                        state.tasks = *tasks;
                        state.limit_ms = *limit_ms;
                    }
                    BatchEvent::Opened => state.open = true,
                    BatchEvent::Ended { order, passed } => {
                        if state.orders.close(*order).is_some() {
                            state.done += 1;
                            state.failed += u32::from(!passed);
                        }
                    }
                    BatchEvent::DeadlinePassed => {}
                }
            }
            BatchFact::Ordered { id, order } => state.orders.add(*id, order, state.now),
            BatchFact::Cancelled { id } => state.orders.cancel(*id, TooLong),
            BatchFact::Dropped { id } => drop(state.orders.close(*id)),
            BatchFact::Concluded { failed } => state.result = Some(*failed),
        }
    }

    fn next_deadline(state: &BatchState, _: &Deciding) -> Option<Deadline> {
        let open = state.orders.iter().find(|(_, open)| !open.is_cancelled())?.1;
        Some(Deadline { since: open.since, after_ms: state.limit_ms })
    }

    fn next_wall_ms(_: &BatchState) -> Option<u64> {
        None
    }

    fn deadline_passed() -> BatchEvent {
        BatchEvent::DeadlinePassed
    }

    fn act(fact: &BatchFact) -> Option<Act<'_, DoTask>> {
        match fact {
            BatchFact::Ordered { id, order } => Some(Act::Begin(*id, order)),
            BatchFact::Cancelled { id } => Some(Act::Cancel(*id)),
            BatchFact::Happened { .. } | BatchFact::Dropped { .. } | BatchFact::Concluded { .. } => None,
        }
    }

    fn needs_sync(fact: &BatchFact) -> bool {
        matches!(fact, BatchFact::Ordered { .. } | BatchFact::Concluded { .. })
    }

    fn set_time(fact: &mut BatchFact, line: At) {
        if let BatchFact::Happened { at, .. } = fact {
            *at = line;
        }
    }

    fn is_at_rest(state: &BatchState) -> bool {
        state.result.is_some() && state.orders.is_empty()
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct BatchRow {
    done: u32,
    failed: Option<u32>,
    bytes: Option<u64>,
}

impl Indexed for Batch {
    type Row = BatchRow;

    fn folder(home: &Home) -> PathBuf {
        home.state.join("batches")
    }

    fn row(state: &BatchState, _: Liveness, _: At) -> Option<BatchRow> {
        (state.tasks > 0).then_some(BatchRow { done: state.done, failed: state.result, bytes: None })
    }

    fn times(state: &BatchState) -> RowTimes {
        RowTimes { created_ms: state.created.wall_ms, updated_ms: state.now.wall_ms }
    }

    fn rest(row: &BatchRow) -> Rest {
        if row.failed.is_some() { Rest::Over } else { Rest::Crashed }
    }

    fn on_disk(row: BatchRow, size: DiskSize) -> BatchRow {
        BatchRow { bytes: Some(size.bytes), ..row }
    }

    fn size(row: &BatchRow) -> Option<u64> {
        row.bytes
    }
}

/// Does tasks at once, but those that hang: they end when they are cancelled.
#[derive(Default)]
struct Worker {
    hangs: Option<u32>,
    ready: Vec<BatchEvent>,
    done: Vec<u32>,
}

impl Executes<Batch> for Worker {
    fn begin(&mut self, id: OrderId, order: &DoTask, _: &BatchState) -> Option<BatchEvent> {
        self.done.push(order.task);
        if self.hangs != Some(order.task) {
            self.ready.push(BatchEvent::Ended { order: id, passed: true });
        }
        None
    }

    fn cancel(&mut self, id: OrderId) {
        self.ready.push(BatchEvent::Ended { order: id, passed: false });
    }

    fn kill(&mut self, _: OrderId) {}

    fn freeze(&mut self, _: bool) {}

    fn poll(&mut self, on_output: &mut dyn FnMut(&[u8])) -> Vec<BatchEvent> {
        on_output(b"worked\n");
        std::mem::take(&mut self.ready)
    }

    fn fds(&self) -> Vec<BorrowedFd<'_>> {
        Vec::new()
    }

    fn wakes_in(&self, _: Instant) -> Option<Duration> {
        (!self.ready.is_empty()).then_some(Duration::ZERO)
    }
}

/// Nobody asks a batch for anything.
struct NoSources;

impl Sources<Batch> for NoSources {
    fn poll(&mut self, _: &BatchState) -> Vec<BatchEvent> {
        Vec::new()
    }

    fn calls(&mut self) -> Vec<Asked> {
        Vec::new()
    }

    fn request(&mut self, _: &Call, _: &BatchState) -> Result<BatchEvent, String> {
        Err("a batch takes no requests".to_owned())
    }

    fn sync_requests(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn suspended(&mut self) -> bool {
        false
    }

    fn on_entry(&mut self, _: &JournalEntry<BatchFact>, _: &BatchState) -> Vec<BatchEvent> {
        Vec::new()
    }

    fn fds(&self, _: &BatchState) -> Vec<BorrowedFd<'_>> {
        Vec::new()
    }

    fn wakes_in(&self, _: Instant) -> Option<Duration> {
        None
    }
}

/// Reads the journal on at each line, as `loop watch` does.
struct Follows {
    tail: Tail<Batch>,
    seen: Vec<u64>,
}

impl Reporter<Batch> for Follows {
    fn on_entry(&mut self, _: &JournalEntry<BatchFact>, _: &BatchState) {
        self.seen.extend(self.tail.next_entries().unwrap().iter().map(|entry| entry.seq));
    }

    fn on_output(&mut self, _: &[u8]) {}

    fn on_live(&mut self, _: &LiveDigest) {}

    fn tick(&self) -> Option<Duration> {
        None
    }

    fn draw(&mut self, _: &BatchState, _: At) {}
}

/// Opens the journal in this folder and drives it to its end.
fn drive(folder: &Path, hangs: Option<u32>) -> (BatchState, Follows) {
    let (journal, reading) = Journal::<Batch>::open(folder).unwrap();
    let mut follows = Follows { tail: Tail::new(folder), seen: Vec::new() };
    let worker = Worker { hangs, ..Worker::default() };
    let mut driver = Driver::new(journal, reading.fold(), worker, NoSources);
    driver.run([BatchEvent::Opened], &mut follows).unwrap();
    (driver.into_state(), follows)
}

fn create(folder: &Path, tasks: u32, limit_ms: u64) {
    fs::create_dir_all(folder).unwrap();
    let mut journal = Journal::<Batch>::create(folder, "test").unwrap();
    let created = BatchEvent::Created { tasks, limit_ms };
    let facts = machine::decide::<Batch>(&BatchState::default(), At::default(), created);
    journal.append(At::default(), &facts).unwrap();
}

const MINUTE_MS: u64 = 60_000;

#[test]
fn a_second_machine_uses_the_same_journal_driver_and_tail() {
    let folder = TempDir::new().unwrap();
    create(folder.path(), 3, MINUTE_MS);
    let (state, follows) = drive(folder.path(), None);
    assert_eq!((state.done, state.result), (3, Some(0)));
    let reading = read_of::<Batch>(folder.path()).unwrap();
    assert_eq!(reading.fold(), state);
    assert_eq!(follows.seen, reading.entries.iter().map(|entry| entry.seq).collect::<Vec<_>>());
}

#[test]
fn an_order_of_a_second_machine_is_cancelled_at_its_deadline() {
    let folder = TempDir::new().unwrap();
    create(folder.path(), 2, 20);
    let (state, _) = drive(folder.path(), Some(1));
    assert_eq!((state.done, state.failed, state.result), (2, 1, Some(1)));
}

#[test]
fn a_second_machine_goes_on_from_any_byte_at_which_its_journal_was_cut() {
    let folder = TempDir::new().unwrap();
    create(folder.path(), 3, MINUTE_MS);
    let created = fs::metadata(folder.path().join(FILE)).unwrap().len();
    let head = fs::read(folder.path().join("journal.head")).unwrap();
    drive(folder.path(), None);
    let whole = fs::read(folder.path().join(FILE)).unwrap();
    for cut in usize::try_from(created).unwrap()..=whole.len() {
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join(FILE), &whole[..cut]).unwrap();
        fs::write(folder.path().join("journal.head"), &head).unwrap();
        let (state, _) = drive(folder.path(), None);
        assert_eq!((state.done, state.failed, state.result), (3, 0, Some(0)), "cut at {cut}");
        assert_eq!(read_of::<Batch>(folder.path()).unwrap().fold(), state, "cut at {cut}");
    }
}

#[test]
fn a_flipped_bit_or_a_lost_line_in_the_journal_of_a_second_machine_is_damage_with_its_line() {
    let folder = TempDir::new().unwrap();
    create(folder.path(), 3, MINUTE_MS);
    drive(folder.path(), None);
    let path = folder.path().join(FILE);
    let text = fs::read_to_string(&path).unwrap();
    let entries = read_of::<Batch>(folder.path()).unwrap().entries;
    let count = text.lines().count();
    let mut torn = 0;
    for at in 0..text.len() {
        let line = text[..at].matches('\n').count() + 1;
        let mut flipped = text.clone().into_bytes();
        flipped[at] ^= 1 << (at % 8);
        // As after a crash: the file that says where it ended is not there.
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join(FILE), &flipped).unwrap();
        match read_of::<Batch>(folder.path()) {
            Err(ReadError::Damaged { line: found, .. }) => assert_eq!(found, line, "byte {at}"),
            Err(other) => panic!("byte {at}: {other}"),
            Ok(reading) => {
                assert_eq!((line, &reading.entries[..]), (count, &entries[..count - 2]), "byte {at}");
                torn += 1;
            }
        }
        let shown = Tail::<Batch>::new(folder.path()).next_entries().unwrap_or_default();
        assert!(shown.len() <= line.saturating_sub(2), "byte {at}: no line from there on is shown");
    }
    assert!(torn <= 2, "{torn}");
    for lost in 1..count {
        let rest = text.lines().enumerate().filter(|(at, _)| *at != lost).map(|(_, line)| format!("{line}\n"));
        fs::write(&path, rest.collect::<String>()).unwrap();
        let error = read_of::<Batch>(folder.path()).unwrap_err();
        assert!(matches!(error, ReadError::Damaged { line, .. } if line == lost + 1), "{error}");
    }
}

#[test]
fn a_driver_of_a_second_machine_stops_where_something_else_writes_to_its_journal() {
    struct Forger(PathBuf);
    impl Reporter<Batch> for Forger {
        fn on_entry(&mut self, entry: &JournalEntry<BatchFact>, _: &BatchState) {
            if entry.seq == 4 {
                let text = fs::read_to_string(&self.0).unwrap();
                fs::write(&self.0, text + "{\"seq\":5}\n").unwrap();
            }
        }

        fn on_output(&mut self, _: &[u8]) {}

        fn on_live(&mut self, _: &LiveDigest) {}

        fn tick(&self) -> Option<Duration> {
            None
        }

        fn draw(&mut self, _: &BatchState, _: At) {}
    }
    let folder = TempDir::new().unwrap();
    create(folder.path(), 3, MINUTE_MS);
    let (journal, reading) = Journal::<Batch>::open(folder.path()).unwrap();
    let mut driver = Driver::new(journal, reading.fold(), Worker::default(), NoSources);
    let error = driver.run([BatchEvent::Opened], &mut Forger(folder.path().join(FILE))).unwrap_err();
    assert!(matches!(error, JournalError::Changed { .. }), "{error}");
}

#[test]
fn a_journal_of_one_machine_is_refused_to_another_by_name() {
    let folder = TempDir::new().unwrap();
    create(folder.path(), 1, MINUTE_MS);
    let error = read(folder.path()).unwrap_err();
    assert!(matches!(&error, ReadError::OtherMachine { found, wanted: "run", .. } if found == "batch"), "{error}");
    assert!(error.to_string().ends_with("is the journal of a batch, not of a run"), "{error}");
}

#[test]
fn a_second_machine_is_listed_by_the_same_index() {
    let folder = TempDir::new().unwrap();
    let home = Home { state: folder.path().to_owned(), config: folder.path().join("config") };
    create(&Batch::folder(&home).join("one"), 2, MINUTE_MS);
    create(&Batch::folder(&home).join("two"), 1, MINUTE_MS);
    drive(&Batch::folder(&home).join("two"), None);
    for _ in 0..2 {
        let mut rows: Vec<_> = index::list_of::<Batch>(&home, 0)
            .unwrap()
            .into_iter()
            .map(|listed| {
                let row = listed.row.unwrap();
                (listed.run.id.to_string(), row.done, row.failed)
            })
            .collect();
        rows.sort();
        assert_eq!(rows, [("one".to_owned(), 0, None), ("two".to_owned(), 1, Some(0))]);
        assert!(index::list(&home).unwrap().is_empty(), "a run is listed for itself");
    }
    let listed = index::list_of::<Batch>(&home, 0).unwrap();
    let sizes: u64 = listed.iter().filter_map(|listed| listed.row.as_ref().unwrap().bytes).sum();
    assert_eq!((index::total_of::<Batch>(&home).unwrap(), index::total(&home).unwrap()), (sizes, 0));
    let one = listed.into_iter().find(|listed| listed.run.id.as_str() == "one").unwrap().run;
    let done = BatchState { tasks: 2, done: 2, result: Some(0), ..BatchState::default() };
    index::note_of::<Batch>(&home, &one, &done);
    assert_eq!(index::look_of::<Batch>(one).unwrap().row.unwrap().done, 0, "the journal counts, not what was noted");
}
