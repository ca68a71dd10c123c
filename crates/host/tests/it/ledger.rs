//! The ledger of all runs: caps over several processes, what dead runs leave, damage.
use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Stdio};

use loop_core::ids::RunId;
use loop_core::policy::forecast::Outlook;
use loop_core::policy::limiter::HOUR_MS;
use loop_core::policy::reserve::{CallCost, Cap, DAY_MS, Day, Reserved, Wanted};
use loop_core::run::Outcome;
use loop_core::time::At;
use loop_host::ledger::{Caller, EndedRun, Ledger, LedgerError, is_dead};
use tempfile::TempDir;

const NOON: u64 = 20_000 * DAY_MS + DAY_MS / 2;
const MINUTE: u64 = 60_000;

fn at(ms: u64) -> At {
    At { wall_ms: NOON + ms, boot_ms: 5_000 + ms, boot_id: 1 }
}

fn run(name: &str) -> RunId {
    RunId::parse(name).unwrap()
}

/// A ledger in a folder of its own.
struct Scene {
    ledger: Ledger,
    _folder: TempDir,
    notices: RefCell<Vec<String>>,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(folder.path()).unwrap();
        Self { ledger, _folder: folder, notices: RefCell::default() }
    }

    /// What a call of this run is told; runs whose names begin with `dead` are.
    fn ask(&self, name: &str, now: At, wanted: &Wanted) -> Reserved {
        let id = run(name);
        let caller = Caller { run: &id, account: "claude", key: "project claude" };
        let dead = |run: &RunId| run.as_str().starts_with("dead");
        let (reserved, notices) = self.ledger.reserve(&caller, now, wanted, &dead).unwrap();
        self.notices.borrow_mut().extend(notices);
        reserved
    }

    /// The number of a call that must be granted.
    fn granted(&self, name: &str, now: At, wanted: &Wanted) -> i64 {
        number(self.ask(name, now, wanted))
    }

    fn day(&self) -> Day {
        self.ledger.day(at(0)).unwrap().values().fold(Day::default(), |sum, day| sum.plus(*day))
    }
}

fn number(reserved: Reserved) -> i64 {
    match reserved {
        Reserved::Granted { reservation, .. } => reservation,
        Reserved::Denied { .. } => panic!("{reserved:?}"),
    }
}

fn denied(reserved: Reserved) -> (Cap, Option<u64>) {
    match reserved {
        Reserved::Denied { cap, free_in_ms, .. } => (cap, free_in_ms),
        Reserved::Granted { .. } => panic!("{reserved:?}"),
    }
}

fn hourly(limit: u32) -> Wanted {
    Wanted { calls_per_hour: Some(limit), ..Wanted::default() }
}

/// Ten dollars a day, of which a call may take four.
const TEN_DOLLARS: Wanted = Wanted {
    calls_per_hour: None,
    calls_per_day: None,
    cost_per_day_micros: Some(10_000_000),
    tokens_per_day: None,
    worst_micros: 4_000_000,
    worst_tokens: 50,
    scarce_per_day: None,
};

#[test]
fn the_hour_slides_over_runs_of_the_same_project_and_the_next_free_moment_is_told() {
    // req: C-09 partly: without the command line
    let scene = Scene::new();
    let first = scene.ask("one", at(0), &hourly(2));
    let Reserved::Granted { hour_calls, oldest_ms, next_free_ms, .. } = first else { panic!("{first:?}") };
    assert_eq!((hour_calls, oldest_ms, next_free_ms), (1, Some(NOON), None));
    let second = scene.ask("two", at(10 * MINUTE), &hourly(2));
    let Reserved::Granted { hour_calls, oldest_ms, next_free_ms, .. } = second else { panic!("{second:?}") };
    assert_eq!((hour_calls, oldest_ms, next_free_ms), (2, Some(NOON), Some(NOON + HOUR_MS)));
    let third = scene.ask("three", at(20 * MINUTE), &hourly(2));
    assert_eq!(denied(third), (Cap::CallsPerHour, Some(40 * MINUTE)));
    assert_eq!(denied(scene.ask("three", at(HOUR_MS - 1), &hourly(2))), (Cap::CallsPerHour, Some(1)));
    scene.granted("three", at(HOUR_MS), &hourly(2));
    assert_eq!(denied(scene.ask("four", at(HOUR_MS), &hourly(2))), (Cap::CallsPerHour, Some(10 * MINUTE)));
    let id = run("five");
    let elsewhere = Caller { run: &id, account: "claude", key: "another project" };
    number(scene.ledger.reserve(&elsewhere, at(HOUR_MS), &hourly(1), &|_| false).unwrap().0);
    assert!(scene.notices.borrow().is_empty());
}

#[test]
fn a_jump_of_the_clock_frees_nothing_and_over_a_restart_the_future_is_dropped_once_and_said() {
    // req: C-09 partly: invalid stored state is dropped with a notice
    let scene = Scene::new();
    scene.granted("one", at(0), &hourly(1));
    for wall_ms in [3, NOON + 400 * DAY_MS] {
        assert_eq!(denied(scene.ask("two", At { wall_ms, ..at(MINUTE) }, &hourly(1))).1, Some(59 * MINUTE));
    }
    let restarted = At { boot_ms: 1, boot_id: 2, ..at(20 * MINUTE) };
    assert_eq!(denied(scene.ask("two", restarted, &hourly(1))).1, Some(40 * MINUTE));
    let back = At { wall_ms: NOON - DAY_MS, ..restarted };
    scene.granted("two", back, &hourly(1));
    assert_eq!(
        *scene.notices.borrow(),
        ["1 call lies in the future: the clock was set back. The limit of an hour counts without"]
    );
    let right_again = At { boot_ms: HOUR_MS + 1, ..restarted };
    scene.granted("two", right_again, &hourly(1));
    assert_eq!(scene.notices.borrow().len(), 1, "it is said once, and what was dropped does not come back");
}

#[test]
fn money_of_a_day_is_reserved_before_and_settled_after_and_only_the_last_call_may_go_beyond() {
    let scene = Scene::new();
    let first = scene.granted("one", at(0), &TEN_DOLLARS);
    let second = scene.granted("two", at(1), &TEN_DOLLARS);
    let third = scene.ask("three", at(2), &TEN_DOLLARS);
    let Reserved::Granted { reservation: third, day, left_micros, left_tokens, .. } = third else {
        panic!("{third:?}")
    };
    assert_eq!((left_micros, left_tokens), (Some(2_000_000), None), "the last call gets the remainder");
    assert_eq!(day, Day { calls: 2, cost_micros: 8_000_000, tokens: 100, untold: 2 }, "the day before this call");
    assert_eq!(
        denied(scene.ask("four", at(3), &TEN_DOLLARS)),
        (Cap::CostPerDay, None),
        "only running calls stand in the way"
    );
    for (reservation, cost) in [(first, Some(1_000_000)), (second, None), (third, Some(1_500_000))] {
        scene.ledger.begin(reservation, "claude").unwrap();
        scene.ledger.settle(reservation, cost, Some(7)).unwrap();
    }
    assert_eq!(scene.day(), Day { calls: 3, cost_micros: 6_500_000, tokens: 21, untold: 1 });
    let fourth = scene.granted("four", at(4), &TEN_DOLLARS);
    scene.ledger.settle(fourth, Some(30_000_000), None).unwrap();
    assert_eq!(denied(scene.ask("five", at(5), &TEN_DOLLARS)), (Cap::CostPerDay, Some(DAY_MS / 2 - 5)));
    scene.granted("five", at(DAY_MS / 2), &TEN_DOLLARS);
}

#[test]
fn calls_and_tokens_of_a_day_have_caps_too() {
    let scene = Scene::new();
    let calls = Wanted { calls_per_day: Some(1), ..Wanted::default() };
    let tokens = Wanted { tokens_per_day: Some(10), worst_tokens: 10, ..Wanted::default() };
    scene.granted("one", at(0), &calls);
    assert_eq!(denied(scene.ask("two", at(0), &calls)), (Cap::CallsPerDay, Some(DAY_MS / 2)));
    let call = scene.granted("three", at(0), &tokens);
    assert_eq!(denied(scene.ask("four", at(0), &tokens)), (Cap::TokensPerDay, None));
    scene.ledger.settle(call, None, Some(u64::MAX)).unwrap();
    assert_eq!(denied(scene.ask("four", at(0), &tokens)), (Cap::TokensPerDay, Some(DAY_MS / 2)));
}

#[test]
fn what_a_dead_run_left_open_counts_as_its_worst_case_if_it_was_begun_and_else_not_at_all() {
    let scene = Scene::new();
    let begun = scene.granted("dead1", at(0), &TEN_DOLLARS);
    scene.ledger.begin(begun, "claude").unwrap();
    // Asked as if alive: nobody has settled it yet.
    let id = run("dead2");
    let caller = Caller { run: &id, account: "codex", key: "project codex" };
    let taken_back = number(scene.ledger.reserve(&caller, at(1), &TEN_DOLLARS, &|_| false).unwrap().0);
    let alive = scene.granted("alive", at(2), &TEN_DOLLARS);
    let by_account = scene.ledger.day(at(3)).unwrap();
    assert_eq!(by_account["claude"], Day { calls: 2, cost_micros: 8_000_000, tokens: 100, untold: 2 });
    assert!(!by_account.contains_key("codex"), "it was never begun");
    assert_eq!(
        *scene.notices.borrow(),
        ["a call of loop dead1 was cut off before its cost was known: it counts as $4.00"]
    );
    assert!(
        matches!(scene.ledger.begin(taken_back, "claude"), Err(LedgerError::Gone { .. })),
        "so it must not be made now"
    );
    scene.granted("other", at(3), &hourly(10));
    assert_eq!(scene.notices.borrow().len(), 1, "it is settled once");
    scene.ledger.begin(alive, "claude").unwrap();
    // The same run comes back after a crash: what it had begun it does not get for nothing.
    scene.granted("alive", at(4), &hourly(10));
    assert_eq!(scene.notices.borrow().len(), 2);
    assert!(scene.ledger.begin(alive, "claude").is_err(), "what is settled is not begun again");
}

#[test]
fn settling_twice_changes_nothing_but_an_assumed_cost() {
    let scene = Scene::new();
    let call = scene.granted("one", at(0), &TEN_DOLLARS);
    scene.ledger.settle(call, None, None).unwrap();
    assert_eq!(scene.day(), Day { calls: 1, cost_micros: 4_000_000, tokens: 50, untold: 1 });
    for (cost, tokens) in [(Some(5), Some(6)), (Some(7), Some(8)), (None, None)] {
        scene.ledger.settle(call, cost, tokens).unwrap();
        assert_eq!(scene.day(), Day { calls: 1, cost_micros: 5, tokens: 6, untold: 0 });
    }
    assert!(matches!(scene.ledger.settle(99, None, None), Err(LedgerError::Gone { reservation: 99, .. })));
    let unused = scene.granted("one", at(1), &TEN_DOLLARS);
    let next = scene.granted("one", at(2), &TEN_DOLLARS);
    assert!(next > unused, "a number is never given twice");
}

#[test]
fn recorded_calls_count_for_everybody_and_no_amount_breaks_the_sum() {
    let scene = Scene::new();
    let id = run("one");
    let caller = Caller { run: &id, account: "codex", key: "project claude" };
    let spent = CallCost { cost_micros: u64::MAX, tokens: u64::MAX, told: true, tokens_told: true };
    for ms in 0..70 {
        scene.ledger.record(&caller, at(ms), spent).unwrap();
    }
    assert_eq!(scene.ledger.day(at(0)).unwrap()["codex"].calls, 70);
    assert_eq!(denied(scene.ask("two", at(80), &TEN_DOLLARS)).0, Cap::CostPerDay);
    assert_eq!(denied(scene.ask("two", at(80), &hourly(70))), (Cap::CallsPerHour, Some(HOUR_MS - 80)));
}

#[test]
fn calls_are_forgotten_after_a_hundred_days_and_not_by_a_clock_that_is_wrong_for_a_moment() {
    let scene = Scene::new();
    let id = run("one");
    let caller = Caller { run: &id, account: "claude", key: "k" };
    scene.ledger.record(&caller, at(0), CallCost::default()).unwrap();
    let later = |days: u64| At { boot_id: 2, ..at(days * DAY_MS) };
    assert_eq!(scene.ledger.prune(At { boot_id: 1, ..At { wall_ms: u64::MAX, ..at(DAY_MS) } }).unwrap(), 0);
    assert_eq!(scene.ledger.prune(later(100)).unwrap(), 0);
    assert_eq!(scene.ledger.prune(later(101)).unwrap(), 1);
    scene.ledger.record(&caller, at(0), CallCost::default()).unwrap();
    for _ in 0..64 {
        scene.ledger.record(&caller, later(200), CallCost::default()).unwrap();
    }
    assert!(scene.ledger.day(at(0)).unwrap().is_empty(), "writing forgets by itself");
}

/// What is done to the file, with its name.
type Damage<'a> = (&'a str, &'a dyn Fn(&Path));

#[test]
fn a_damaged_ledger_is_an_error_that_names_the_file_and_is_never_made_anew() {
    let damage: [Damage<'_>; 4] = [
        ("emptied", &|path| fs::write(path, "").unwrap()),
        ("other bytes", &|path| fs::write(path, "x".repeat(9000)).unwrap()),
        ("torn", &|path| fs::OpenOptions::new().write(true).open(path).unwrap().set_len(4096).unwrap()),
        ("written over", &|path| {
            let file = fs::OpenOptions::new().write(true).open(path).unwrap();
            file.write_all_at(&[0xa5; 4000], 4096).unwrap();
        }),
    ];
    for (what, spoil) in damage {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.db");
        drop(Ledger::open(folder.path()).unwrap());
        spoil(&path);
        let spoilt = fs::read(&path).unwrap();
        let id = run("one");
        let caller = Caller { run: &id, account: "claude", key: "k" };
        let asked = Ledger::open(folder.path())
            .and_then(|ledger| ledger.reserve(&caller, at(0), &hourly(1), &|_| false).map(drop));
        let error = asked.expect_err(what);
        assert!(matches!(error, LedgerError::Damaged { .. }), "{what}: {error}");
        assert!(
            error.to_string().contains("ledger.db") && error.hint().contains("--rebuild-ledger"),
            "{what}: {error}"
        );
        assert!(fs::read(&path).unwrap() == spoilt, "{what}: it was written to");
    }
}

#[test]
fn a_ledger_that_cannot_be_used_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let nowhere = Ledger::open(&folder.path().join("nowhere")).expect_err("there is no such folder");
    assert!(matches!(nowhere, LedgerError::Unusable { .. }), "{nowhere}");
    let path = folder.path().join("ledger.db");
    drop(Ledger::open(folder.path()).unwrap());
    // Where SQLite keeps the number of the form.
    let form = |number: u8| {
        fs::OpenOptions::new().write(true).open(&path).unwrap().write_all_at(&[0, 0, 0, number], 60).unwrap();
        Ledger::open(folder.path()).expect_err("another form")
    };
    assert!(matches!(form(9), LedgerError::Newer { .. }));
    assert!(matches!(form(0), LedgerError::Damaged { .. }));
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let no_file = Ledger::open(folder.path()).expect_err("it is a folder");
    assert!(matches!(no_file, LedgerError::Unusable { .. }) && !no_file.hint().is_empty(), "{no_file}");
}

#[test]
fn a_ledger_has_an_id_that_stays_and_one_of_before_gets_one() {
    // req: RT-R13
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let id = |state: &Path| Ledger::open(state).unwrap().id().unwrap();
    let first = id(folder.path());
    assert_eq!(id(folder.path()), first);
    assert_ne!(id(other.path()), first);
    let old = rusqlite::Connection::open(folder.path().join("ledger.db")).unwrap();
    old.execute_batch("DROP TABLE ids; PRAGMA user_version = 1;").unwrap();
    drop(old);
    let second = id(folder.path());
    assert_eq!(id(folder.path()), second);
    let ledger = Ledger::open(folder.path()).unwrap();
    assert!(ledger.continues(second) && !ledger.continues(first) && ledger.is_in_place());
    fs::remove_file(folder.path().join("ledger.db")).unwrap();
    assert!(!ledger.is_in_place(), "what is counted there is read by no other loop");
}

#[test]
fn the_ledger_is_private_and_nothing_else_is_left_of_making_it() {
    let folder = tempfile::tempdir().unwrap();
    drop(Ledger::open(folder.path()).unwrap());
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["ledger.db"]);
    let mode = fs::metadata(folder.path().join("ledger.db")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_run_is_dead_when_its_lock_is_free_or_gone() {
    let state = tempfile::tempdir().unwrap();
    let folder = state.path().join("runs/one");
    assert!(is_dead(state.path(), &run("one")));
    fs::create_dir_all(&folder).unwrap();
    let lock = fs::File::create(folder.join("lock")).unwrap();
    assert!(is_dead(state.path(), &run("one")));
    lock.lock().unwrap();
    assert!(!is_dead(state.path(), &run("one")));
}

/// How many calls all processes together may make.
const SHARED: usize = 40;

/// Not a test by itself: one of the processes of the next one.
#[test]
fn one_that_reserves() {
    let Some(state) = std::env::var_os("LEDGER_OF_TEST") else { return };
    let ledger = Ledger::open(Path::new(&state)).unwrap();
    let id = run(&format!("run{}", std::process::id()));
    let caller = Caller { run: &id, account: "claude", key: "project claude" };
    let limit = u32::try_from(SHARED).unwrap();
    let wanted = Wanted { calls_per_hour: Some(limit), cost_per_day_micros: Some(u64::MAX), ..Wanted::default() };
    for ms in 0..25 {
        let (reserved, _) = ledger.reserve(&caller, at(ms), &wanted, &|_| false).unwrap();
        if let Reserved::Granted { reservation, .. } = reserved {
            ledger.begin(reservation, "claude").unwrap();
            ledger.settle(reservation, Some(1), Some(1)).unwrap();
        }
    }
}

#[test]
fn processes_that_reserve_at_the_same_time_never_go_beyond_the_limit() {
    // Nobody made the ledger before: that they race for too.
    let state = tempfile::tempdir().unwrap();
    let start = || {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "ledger::one_that_reserves"]).env("LEDGER_OF_TEST", state.path());
        command.stdout(Stdio::null()).spawn().unwrap()
    };
    let processes: Vec<_> = (0..4).map(|_| start()).collect();
    for mut process in processes {
        assert!(process.wait().unwrap().success());
    }
    let day = Ledger::open(state.path()).unwrap().day(at(0)).unwrap()["claude"];
    assert_eq!(day, Day { calls: 40, cost_micros: 40, tokens: 40, untold: 0 });
}

/// Not a test by itself: the process of the next one, which is killed in the middle of a call.
#[test]
fn one_that_dies() {
    let Some(state) = std::env::var_os("DEAD_OF_TEST") else { return };
    let folder = Path::new(&state).join("runs/dead1");
    fs::create_dir_all(&folder).unwrap();
    let lock = fs::File::create(folder.join("lock")).unwrap();
    lock.lock().unwrap();
    let ledger = Ledger::open(Path::new(&state)).unwrap();
    let id = run("dead1");
    let caller = Caller { run: &id, account: "claude", key: "project claude" };
    let (reserved, _) = ledger.reserve(&caller, at(0), &TEN_DOLLARS, &|_| false).unwrap();
    ledger.begin(number(reserved), "claude").unwrap();
    std::process::abort();
}

#[test]
fn a_call_of_a_process_that_was_killed_counts_as_its_worst_case() {
    let state = tempfile::tempdir().unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "ledger::one_that_dies"]).env("DEAD_OF_TEST", state.path());
    assert!(!command.output().unwrap().status.success());
    let ledger = Ledger::open(state.path()).unwrap();
    let id = run("next");
    let caller = Caller { run: &id, account: "claude", key: "project claude" };
    let is_dead = |run: &RunId| is_dead(state.path(), run);
    let (reserved, notices) = ledger.reserve(&caller, at(1), &TEN_DOLLARS, &is_dead).unwrap();
    let Reserved::Granted { day, hour_calls, .. } = reserved else { panic!("{reserved:?}") };
    assert_eq!((day.calls, day.cost_micros, hour_calls, notices.len()), (1, 4_000_000, 2, 1));
}

#[test]
fn whoever_dies_and_whatever_is_hidden_a_day_costs_at_most_one_call_more_than_its_cap() {
    let scene = Scene::new();
    let mut mixed = 7_u64;
    let mut below = |most: u64| {
        mixed = mixed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (mixed >> 33) % most
    };
    let (cap, worst) = (2_000_u64, 100_u64);
    let wanted = Wanted { cost_per_day_micros: Some(cap), worst_micros: worst, ..Wanted::default() };
    let alive = ["alive1", "alive2", "alive3"];
    let mut running: Vec<(usize, i64)> = Vec::new();
    let (mut truly_spent, mut refused) = (0, 0);
    for step in 0..160 {
        let who = usize::try_from(below(3)).unwrap();
        if let Some(place) = running.iter().position(|(run, _)| *run == who) {
            let (_, call) = running.remove(place);
            let cost = 1 + below(worst);
            truly_spent += cost;
            // Some tell, some hide it, and some are gone: the run asks anew with a call still open.
            match below(3) {
                0 => scene.ledger.settle(call, Some(cost), None).unwrap(),
                1 => scene.ledger.settle(call, None, None).unwrap(),
                _ => {}
            }
            continue;
        }
        match scene.ask(alive[who], at(step), &wanted) {
            Reserved::Granted { reservation, .. } if below(5) > 0 => {
                scene.ledger.begin(reservation, "claude").unwrap();
                running.push((who, reservation));
            }
            // It dies before it calls.
            Reserved::Granted { .. } => {}
            Reserved::Denied { cap, .. } => {
                assert_eq!(cap, Cap::CostPerDay);
                refused += 1;
            }
        }
        let at_worst = truly_spent + worst * u64::try_from(running.len()).unwrap();
        assert!(at_worst < cap + worst, "step {step}: {at_worst}");
    }
    assert!(refused > 3 && truly_spent > cap / 3, "{refused} {truly_spent}: the law says something");
}

#[test]
fn a_ledger_of_the_form_before_gets_the_tables_of_limits_and_keeps_its_calls() {
    let folder = tempfile::tempdir().unwrap();
    let id = run("one");
    let caller = Caller { run: &id, account: "claude", key: "project claude" };
    let spent = CallCost::of(Some(250_000), Some(15), &TEN_DOLLARS);
    let ledger = Ledger::open(folder.path()).unwrap();
    ledger.record(&caller, at(0), spent).unwrap();
    let before = ledger.day(at(0)).unwrap();
    drop(ledger);
    let older = "DROP TABLE windows; DROP TABLE call_models; DROP TABLE ended_runs; PRAGMA user_version = 2;";
    rusqlite::Connection::open(folder.path().join("ledger.db")).unwrap().execute_batch(older).unwrap();
    let ledger = Ledger::open(folder.path()).unwrap();
    assert_eq!(ledger.day(at(0)).unwrap(), before);
    assert_eq!((ledger.windows_seen("claude", 0).unwrap(), ledger.finished_runs("claude").unwrap()), (vec![], vec![]));
    ledger.note_end(&EndedRun::of(&id, Outcome::Verified, at(5).wall_ms)).unwrap();
    let finished = ledger.finished_runs("claude").unwrap();
    assert_eq!((finished[0].calls, finished[0].cost_micros, finished[0].tokens), (1, Some(250_000), Some(15)));
    assert_eq!(ledger.used_since(0).unwrap()[0].run, "one");
}

#[test]
fn a_call_stands_on_the_account_of_the_agent_that_makes_it() {
    let scene = Scene::new();
    let reservation = scene.granted("one", at(0), &TEN_DOLLARS);
    scene.ledger.begin(reservation, "gemini").unwrap();
    scene.ledger.settle(reservation, Some(250_000), Some(15)).unwrap();
    let accounts: Vec<String> = scene.ledger.used_since(0).unwrap().into_iter().map(|row| row.account).collect();
    assert_eq!(accounts, ["gemini"], "it was asked for in the name of claude");
}

#[test]
fn a_limit_that_refused_calls_is_over_when_a_later_call_was_answered() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(folder.path()).unwrap();
    let database = rusqlite::Connection::open(folder.path().join("ledger.db")).unwrap();
    for name in ["five_hour", "seven_day_opus"] {
        let row = format!(
            "INSERT INTO windows (account, run, wall_ms, name, used_permille, resets_ms, state, source)
             VALUES ('claude', 'one', {}, '{name}', 1000, {}, 'reached', 'event')",
            at(0).wall_ms,
            at(60 * MINUTE).wall_ms
        );
        database.execute_batch(&row).unwrap();
    }
    let refused = |ledger: &Ledger| -> Vec<String> {
        let windows = ledger.forecast("claude", at(20 * MINUTE).wall_ms, None).unwrap();
        let reached = windows.into_iter().filter(|window| matches!(window.outlook, Outlook::Reached { .. }));
        reached.map(|window| window.name).collect()
    };
    assert_eq!(refused(&ledger), ["five_hour", "seven_day_opus"]);
    let id = run("one");
    let caller = Caller { run: &id, account: "claude", key: "project claude" };
    // One that was refused again has no tokens.
    ledger.record(&caller, at(5 * MINUTE), CallCost::of(None, None, &TEN_DOLLARS)).unwrap();
    assert_eq!(refused(&ledger), ["five_hour", "seven_day_opus"]);
    ledger.record(&caller, at(10 * MINUTE), CallCost::of(Some(250_000), Some(15), &TEN_DOLLARS)).unwrap();
    assert_eq!(refused(&ledger), ["seven_day_opus"], "another model may have answered");
}
