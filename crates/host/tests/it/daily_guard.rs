//! The daily guard of the scarcest model on the real ledger: many connections and two processes at the same time, clocks that
//! jump, days of 23 and 25 hours. The judge counts by itself.
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

use jiff::tz::TimeZone;
use loop_core::ids::RunId;
use loop_core::policy::reserve::{Cap, Reserved, Wanted};
use loop_core::time::At;
use loop_host::clock::LocalDay;
use loop_host::ledger::{Caller, Ledger, LedgerError};

const MINUTE: u64 = 60_000;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
/// 20 October 2026, 10:00 UTC; in this zone the clocks are set back on the 25th.
const BEGIN: u64 = 1_792_490_400_000;
/// 23 March 2027, 10:00 UTC; in this zone the clocks are set forward on the 28th.
const SPRING: u64 = BEGIN + 154 * DAY;
const ZONE: &str = "CET-1CEST,M3.5.0,M10.5.0/3";
const WORKERS: usize = 8;
const DAYS: u64 = 12;
/// So often a worker asks again.
const BUSY_MAX: u32 = 100;
/// Each task is a synced transaction or three: 10,000 take minutes where a sync takes milliseconds. `./check` has 400.
const TASKS: usize = 10_000;
/// What tells a process of this test that it is one of several, and which.
const PART: &str = "GUARD_PART";

fn zone() -> TimeZone {
    TimeZone::posix(ZONE).unwrap()
}

/// A small generator, so that a run can be repeated.
struct Seed(u64);

impl Seed {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most.max(1)
    }
}

/// When each task asks: the boot clock only goes forward, the other one jumps now and then and comes back.
fn schedule(begin: u64, tasks: usize, seed: u64) -> Vec<At> {
    let mut seed = Seed(seed);
    let step = DAYS * DAY / tasks as u64;
    let (mut boot, mut boot_id, mut ahead) = (HOUR, 1_u32, 0_i64);
    let mut all = Vec::new();
    for task in 0..tasks {
        boot += seed.below(2 * step);
        if task % (tasks / 23).max(1) == 7 {
            let jumps = [90, -90, 26 * 60, -26 * 60, -180, 5];
            let jump = jumps[usize::try_from(seed.below(6)).unwrap()] * i64::try_from(MINUTE).unwrap();
            ahead = if ahead == 0 { jump } else { 0 };
        }
        // Half-way the machine is started again.
        if task == tasks / 2 {
            boot_id = 2;
        }
        let wall = (begin + boot).checked_add_signed(ahead).unwrap();
        all.push(At { wall_ms: wall, boot_ms: boot, boot_id });
    }
    all
}

/// One call that was made.
#[derive(Debug, Clone, Copy)]
struct Made {
    /// Its number: numbers grow in the order of the transactions.
    call: i64,
    at: At,
}

/// The answer of the ledger. On a machine with slow syncs another worker may write for longer than a process waits: then it
/// is asked again.
fn answered<T>(ask: impl Fn() -> Result<T, LedgerError>) -> T {
    for _ in 0..BUSY_MAX {
        match ask() {
            Err(LedgerError::Busy { .. }) => {}
            other => return other.unwrap(),
        }
    }
    panic!("the ledger was busy {BUSY_MAX} times in a row")
}

/// What is played: the same in each process.
#[derive(Debug, Clone, Copy)]
struct Play {
    begin: u64,
    tasks: usize,
    seed: u64,
}

impl Play {
    fn beginning(begin: u64) -> Self {
        let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
        let seed = number("GUARD_SEED").unwrap_or(42) as u64;
        Self { begin, tasks: number("GUARD_TASKS").unwrap_or(TASKS), seed }
    }

    /// How many calls a day may have.
    fn most(self) -> u32 {
        u32::try_from(self.tasks as u64 / DAYS / 3).unwrap()
    }

    fn schedule(self) -> Vec<At> {
        schedule(self.begin, self.tasks, self.seed)
    }
}

/// The number of the next task, counted in a file: all threads and processes go through the same days together.
fn next_task(folder: &Path) -> usize {
    let mut file = File::options().read(true).append(true).create(true).open(folder.join("next")).unwrap();
    file.lock().unwrap();
    let number = file.metadata().unwrap().len();
    file.write_all(b".").unwrap();
    usize::try_from(number).unwrap()
}

/// Each worker has a connection of its own and takes the next task.
fn play(folder: &Path, schedule: &[At], most: u32, seed: u64) -> Vec<Made> {
    let made: Mutex<Vec<Made>> = Mutex::default();
    std::thread::scope(|scope| {
        for worker in 0..WORKERS {
            let made = &made;
            scope.spawn(move || {
                let ledger = Ledger::open(folder).unwrap();
                let run = RunId::parse(&format!("run{seed}x{worker}")).unwrap();
                let mut seed = Seed(seed + worker as u64);
                let wanted = Wanted { scarce_per_day: Some(most), ..Wanted::default() };
                while let Some(at) = schedule.get(next_task(folder)) {
                    let caller = Caller { run: &run, account: "claude", key: run.as_str() };
                    let today = LocalDay::of(at.wall_ms, &zone());
                    let ask = || ledger.reserve_on(&caller, *at, today, &wanted, &|_| false);
                    let (reserved, _) = answered(ask);
                    match reserved {
                        // One that is killed before its call: it is not counted.
                        Reserved::Granted { .. } if seed.below(10) == 0 => {}
                        Reserved::Granted { reservation, .. } => {
                            answered(|| ledger.begin(reservation, "claude"));
                            made.lock().unwrap().push(Made { call: reservation, at: *at });
                            answered(|| ledger.settle(reservation, Some(1), Some(1)));
                        }
                        Reserved::Denied { cap, free_in_ms, .. } => {
                            assert_eq!(cap, Cap::ScarcePerDay);
                            let until = LocalDay::of(at.wall_ms + free_in_ms.unwrap(), &zone());
                            assert_eq!(until.number, today.number + 1, "it is free at the next midnight");
                        }
                    }
                }
            });
        }
    });
    let mut made = made.into_inner().unwrap();
    made.sort_by_key(|made| made.call);
    made
}

/// The date that a person would read off the wall.
fn date(at: At) -> String {
    let stamp = jiff::Timestamp::from_millisecond(i64::try_from(at.wall_ms).unwrap()).unwrap();
    stamp.to_zoned(zone()).strftime("%F").to_string()
}

/// How long it is since local midnight.
fn since_midnight(at: At) -> u64 {
    let mut began = at.wall_ms;
    while date(At { wall_ms: began - MINUTE, ..at }) == date(at) {
        began -= MINUTE;
    }
    at.wall_ms - began
}

/// No day has too many calls, the limit is used, and the day of another length was played.
fn judge(made: &[Made], play: Play, day: &str) {
    let (most, seed) = (play.most(), play.seed);
    let mut days: BTreeMap<String, u32> = BTreeMap::new();
    for one in made {
        *days.entry(date(one.at)).or_default() += 1;
    }
    assert!(days.values().all(|count| *count <= most), "seed {seed}: more than {most} on a day: {days:?}");
    assert!(days.values().filter(|count| **count + 2 >= most).count() >= 5, "the limit is used: {days:?}");
    assert!(days.contains_key(day), "{day} was played: {days:?}");
    // A clock that is set back frees nothing that this start of the machine has seen since its midnight.
    let since = |one: &Made| one.at.boot_ms.saturating_sub(since_midnight(one.at).saturating_sub(MINUTE));
    for (index, one) in made.iter().enumerate() {
        let since = since(one);
        let same = |before: &&Made| {
            before.at.boot_id == one.at.boot_id && before.at.boot_ms >= since && before.at.boot_ms <= one.at.boot_ms
        };
        let before = made[..index].iter().filter(same).count();
        assert!(before < most as usize, "seed {seed}: call {} is one too many", one.call);
    }
}

#[test]
fn the_guard_is_never_overshot_over_concurrent_runs_midnight_clock_changes_and_clock_jumps() {
    // req: A-19
    let play_of = Play::beginning(BEGIN);
    let folder = tempfile::tempdir().unwrap();
    let made = play(folder.path(), &play_of.schedule(), play_of.most(), play_of.seed);
    judge(&made, play_of, "2026-10-25");
}

/// One of two processes, which writes down its calls.
fn part(folder: &Path, number: usize) {
    let play_of = Play::beginning(SPRING);
    let made = play(folder, &play_of.schedule(), play_of.most(), play_of.seed + number as u64 * 100);
    let line = |one: &Made| format!("{} {} {} {}\n", one.call, one.at.wall_ms, one.at.boot_ms, one.at.boot_id);
    std::fs::write(folder.join(format!("made-{number}")), made.iter().map(line).collect::<String>()).unwrap();
}

/// The calls of a process as it wrote them down.
fn made_by(folder: &Path, number: usize) -> Vec<Made> {
    let text = std::fs::read_to_string(folder.join(format!("made-{number}"))).unwrap();
    let made = |line: &str| {
        let numbers: Vec<u64> = line.split(' ').map(|number| number.parse().unwrap()).collect();
        let [call, wall_ms, boot_ms, boot_id] = numbers[..] else { panic!("{line}") };
        let boot_id = u32::try_from(boot_id).unwrap();
        Made { call: i64::try_from(call).unwrap(), at: At { wall_ms, boot_ms, boot_id } }
    };
    text.lines().map(made).collect()
}

#[test]
fn the_guard_is_never_overshot_by_two_processes_and_on_the_day_of_23_hours() {
    // req: A-19
    if let Ok(told) = std::env::var(PART) {
        let (number, folder) = told.split_once(' ').unwrap();
        return part(Path::new(folder), number.parse().unwrap());
    }
    let folder = tempfile::tempdir().unwrap();
    // The table is made before two processes want to make it at the same time.
    drop(Ledger::open(folder.path()).unwrap());
    let name = "daily_guard::the_guard_is_never_overshot_by_two_processes_and_on_the_day_of_23_hours";
    let process = |number: usize| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([name, "--exact", "--nocapture"]).env(PART, format!("{number} {}", folder.path().display()));
        command.spawn().unwrap()
    };
    for mut process in [process(0), process(1)] {
        assert!(process.wait().unwrap().success());
    }
    let mut made = [made_by(folder.path(), 0), made_by(folder.path(), 1)].concat();
    made.sort_by_key(|made| made.call);
    assert!(made.windows(2).all(|pair| pair[0].call < pair[1].call), "each call has a number of its own");
    assert!(!made_by(folder.path(), 0).is_empty() && !made_by(folder.path(), 1).is_empty(), "both made calls");
    judge(&made, Play::beginning(SPRING), "2027-03-28");
}

#[test]
fn a_local_day_has_23_24_or_25_hours() {
    let noon = |day: u64| BEGIN + day * DAY + 2 * HOUR;
    let hours = |wall: u64| {
        let day = LocalDay::of(wall, &zone());
        (day.ends_ms - day.began_ms) / HOUR
    };
    assert_eq!([hours(noon(4)), hours(noon(5)), hours(noon(6))], [24, 25, 24]);
    // 28 March 2027.
    assert_eq!(hours(BEGIN + 159 * DAY), 23);
    let before = LocalDay::of(noon(5), &zone());
    let after = LocalDay::of(before.ends_ms, &zone());
    assert_eq!((after.number, after.began_ms), (before.number + 1, before.ends_ms));
}

#[test]
fn a_call_that_turns_out_to_be_of_the_scarcest_model_counts_once() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(folder.path()).unwrap();
    let run = RunId::parse("run0001").unwrap();
    let caller = Caller { run: &run, account: "claude", key: "run0001" };
    let at = At { wall_ms: BEGIN, boot_ms: 5000, boot_id: 1 };
    let today = LocalDay::of(BEGIN, &zone());
    assert_eq!(ledger.scarce_calls(at, today).unwrap(), 0, "an earlier ledger has no such table");
    let (reserved, _) = ledger.reserve_on(&caller, at, today, &Wanted::default(), &|_| false).unwrap();
    let Reserved::Granted { reservation, .. } = reserved else { panic!("{reserved:?}") };
    ledger.begin(reservation, "claude").unwrap();
    for _ in 0..2 {
        ledger.count_scarce(reservation, at, today).unwrap();
    }
    assert_eq!(ledger.scarce_calls(at, today).unwrap(), 1);
    let wanted = Wanted { scarce_per_day: Some(1), ..Wanted::default() };
    let (denied, _) = ledger.reserve_on(&caller, at, today, &wanted, &|_| false).unwrap();
    assert!(matches!(denied, Reserved::Denied { cap: Cap::ScarcePerDay, .. }), "{denied:?}");
}
